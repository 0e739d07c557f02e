// Where the page begins: makes itself isolated where the host could not, then opens the app.
import './style.css';
import { App } from './app';
import type { Site } from './shared';

async function isolate(): Promise<boolean> {
  if (!('serviceWorker' in navigator)) return false;
  try {
    const registration = await navigator.serviceWorker.register('sw.js');
    if (globalThis.crossOriginIsolated || typeof SharedArrayBuffer !== 'undefined') return false;
    await navigator.serviceWorker.ready;
    // Once: where even the service worker's headers do not help, the page goes on without.
    if (registration.active && sessionStorage.getItem('isolating') === null) {
      sessionStorage.setItem('isolating', '1');
      location.reload();
      return true;
    }
  } catch { /* a browser or a host without service workers: the page works online and without isolation */ }
  return false;
}

/** A playground may have been at this address before: what it kept for offline use must not answer for this server. */
async function forget(): Promise<void> {
  for (const registration of (await navigator.serviceWorker?.getRegistrations().catch(() => [])) ?? []) await registration.unregister();
}

async function begin(): Promise<void> {
  const root = document.getElementById('app')!;
  const base = new URL('.', location.href.split('#')[0]!.split('?')[0]!).href;
  const first = document.documentElement.dataset.first;
  if (first && !location.hash) (window as { firstRecording?: Promise<unknown> }).firstRecording = fetch(new URL(first, base)).then((a) => a.json());
  const site = (await (await fetch(new URL('site.json', base))).json()) as Site;
  const app = new App(root, site, base);
  await app.start();
  document.documentElement.dataset.ready = '';
  try { if (globalThis.crossOriginIsolated) sessionStorage.removeItem('isolating'); } catch { /* a browser that keeps nothing for pages */ }
  if (site.native) void forget(); else void isolate();
}

begin().catch((error: unknown) => {
  const root = document.getElementById('app')!;
  root.textContent = `The page could not be opened: ${error instanceof Error ? error.message : String(error)}. Reload it, or use another browser.`;
});
