// The document on its way out: downloads, replays, and links that hold it.
import type { App } from './app';
import { dialog, say } from './dialogs';
import { bytesText, download, h } from './dom';
import { type Recording, writeIpynb, writePercent } from './formats';
import { LIMIT, pack } from './share';

export class Sharing {
  constructor(private app: App) {}

  fileName(): string { return this.app.title.replace(/[^\p{L}\p{N}._ -]+/gu, '').trim().replace(/\s+/g, '_').slice(0, 60) || 'notebook'; }

  download(format: 'ipynb' | 'py'): void {
    if (format === 'py') download(`${this.fileName()}.py`, writePercent(this.app.notebook), 'text/x-python');
    else download(`${this.fileName()}.ipynb`, `${JSON.stringify(writeIpynb(this.app.notebook), null, 1)}\n`, 'application/x-ipynb+json');
  }

  /** What is on the page as a recording. */
  record(): Recording {
    const runs = Object.fromEntries([...this.app.runs].map(([id, r]) => [id, { status: r.state === 'recorded' ? 'ok' : r.state, seconds: r.seconds, line: r.line ?? null }]));
    return {
      format: 'tapescope-recording', version: 1, title: this.app.title, notebook: writeIpynb(this.app.notebook), runs, tapes: Object.fromEntries([...this.app.links.tapes].map(([cell, tape]) => [cell, tape.json])), costs: Object.fromEntries(this.app.links.costs), hints: Object.fromEntries(this.app.links.hints), steps: Object.fromEntries(this.app.links.steps), ...this.app.links.captured,
      variables: [], kernel: { ...this.app.documents.recording?.kernel, ...this.app.kernel.facts },
    };
  }

  async exportCapsule(): Promise<void> {
    try {
      const [template, script, style] = await Promise.all(['capsule.html', 'capsule.js', 'capsule.css'].map(async (f) => { const a = await fetch(new URL(f, this.app.base)); if (!a.ok) throw new Error(`${f}: ${a.status}`); return a.text(); }));
      const { capsule } = await import('./capsule_text');
      download(`${this.fileName()}.html`, await capsule(template!, script!, style!, this.record(), new URL('.', location.href).href), 'text/html');
    } catch (error) {
      say(`The replay could not be made (${(error as Error).message}).`);
    }
  }

  async share(): Promise<void> {
    if (this.app.host) { say('A link would lead to this machine. Share the file itself, or a replay.', { label: 'Download as a replay', act: () => void this.exportCapsule() }); return; }
    const value = (outputs: boolean) => ({ ...(writeIpynb(this.app.notebook, outputs) as object), title: this.app.title });
    let hash = await pack(value(true)), outputs = true;
    if (hash.length > LIMIT) { hash = await pack(value(false)); outputs = false; }
    const link = `${location.origin}${location.pathname}${hash}`;
    if (hash.length > LIMIT) {
      dialog('Share by file', (close) => [
        h('p', null, `This document is too large for a link (${bytesText(hash.length)} compressed; links stay below ${bytesText(LIMIT)}). Share it as a file:`),
        h('div', { class: 'buttons left' }, h('button', { type: 'button', class: 'primary', onclick: () => { close(); this.download('ipynb'); } }, 'Download .ipynb'), h('button', { type: 'button', onclick: () => { close(); void this.exportCapsule(); } }, 'Download as a replay (.html)'))]);
      return;
    }
    dialog('Share by link', (close) => {
      const field = h('input', { type: 'text', readonly: true, value: link, 'aria-label': 'The link' });
      const copy = h('button', { type: 'button', class: 'primary', onclick: () => { field.select(); void navigator.clipboard?.writeText(link).then(() => { close(); say('The link is on the clipboard.'); }, () => document.execCommand('copy')); } }, 'Copy');
      setTimeout(() => { field.focus(); field.select(); });
      return [h('p', null, `The whole document${outputs ? ' with its outputs' : ' (its outputs are too large and stay behind)'} is in the link itself; no server gets it. Who opens it sees a recording, and runs it only by pressing Run.`), h('div', { class: 'share-row' }, field, copy)];
    });
  }
}
