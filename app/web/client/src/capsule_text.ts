// One HTML file from its parts. `app/web/capsule.py` does the same on the desktop; both fill the same template.
import type { Recording } from './formats';

const embedded = (text: string) => text.replace(/</g, '\\u003c');

async function hashOf(script: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(script)));
  return btoa(String.fromCharCode(...digest));
}

export async function capsule(template: string, script: string, style: string, recording: Recording, live: string): Promise<string> {
  const escape = (text: string) => text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);
  const code = script.replace(/<\/(?=script)/gi, '<\\/');
  const parts: Record<string, string> = {
    TITLE: escape(recording.title), HASH: await hashOf(code), STYLE: style.replace(/<\/(?=style)/gi, '<\\/'), SCRIPT: code, LIVE: escape(/^https?:/.test(live) ? live : ''), RECORDING: embedded(JSON.stringify(recording)),
  };
  return template.replace(/\{\{([A-Z]+)\}\}/g, (_, name: string) => parts[name] ?? '');
}
