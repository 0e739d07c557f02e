// Keeps the site for offline use, and gives its answers the headers of cross-origin isolation on hosts that cannot.
// What is kept belongs to one build; the next one replaces it.
const CACHE = 'tapescope-BUILD_ID';

self.addEventListener('install', (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(CACHE);
    const site = await (await fetch('site.json', { cache: 'no-cache' })).json();
    await cache.add(new Request('site.json', { cache: 'no-cache' }));
    await cache.add(new Request('./', { cache: 'no-cache' }));
    await self.skipWaiting();
    // The large files come one after the other, so that they do not slow down the page that waits for the same ones.
    self.rest = site.files;
  })());
});

async function fill() {
  const cache = await caches.open(CACHE);
  const site = await (await cache.match('site.json')).json();
  for (const file of site.files) {
    if (!(await cache.match(file))) await cache.add(file).catch(() => undefined);
  }
}

self.addEventListener('activate', (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name.startsWith('tapescope-') && name !== CACHE) await caches.delete(name);
    await self.clients.claim();
  })());
});

self.addEventListener('message', (event) => { if (event.data === 'keep') event.waitUntil(fill().then(() => event.source.postMessage('kept'))); });

function isolated(answer) {
  if (answer.status === 0 || answer.type === 'opaque') return answer;
  const headers = new Headers(answer.headers);
  headers.set('Cross-Origin-Opener-Policy', 'same-origin');
  headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
  headers.set('Cross-Origin-Resource-Policy', 'same-origin');
  return new Response(answer.body, { status: answer.status, statusText: answer.statusText, headers });
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== self.location.origin) return;
  event.respondWith((async () => {
    const cache = await caches.open(CACHE);
    // The documentation has pages of its own; they are kept as they are read.
    const docs = request.url.startsWith(new URL('docs/', self.registration.scope).href);
    const key = request.mode === 'navigate' ? (docs ? request.url.split('#')[0] : './') : request;
    const fresh = request.mode === 'navigate' || request.url.endsWith('/site.json') || request.url.endsWith('/sw.js');
    if (!fresh) {
      const kept = await cache.match(key, { ignoreSearch: true });
      if (kept) return isolated(kept);
    }
    try {
      const answer = await fetch(request);
      if (answer.ok && (!fresh || docs)) cache.put(key, answer.clone()).catch(() => undefined);
      return isolated(answer);
    } catch (error) {
      const kept = await cache.match(key, { ignoreSearch: true });
      if (kept) return isolated(kept);
      throw error;
    }
  })());
});
