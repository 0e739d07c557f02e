// Small helpers for building elements. Text always becomes text nodes: nothing here takes HTML.

type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

/** Make an element: attributes by name, `on...` for listeners, `class`, and properties that are no attributes with a dot (`.value`). */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props?: Props | null, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value as EventListener);
    else if (name.startsWith('.')) (element as unknown as Props)[name.slice(1)] = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  }
}

const ICONS: Record<string, string> = {
  play: 'M7 4.5v15l12-7.5z',
  stop: 'M6 6h12v12H6z',
  playAll: 'M4 5v14l9-7zM13 5v14l9-7z',
  restart: 'M19 12a7 7 0 1 1-2.05-4.95L19 9M19 4v5h-5',
  plus: 'M12 5v14M5 12h14',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  up: 'M6 15l6-6 6 6',
  down: 'M6 9l6 6 6-6',
  trash: 'M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12',
  panel: 'M4 5h16v14H4zM14 5v14',
  close: 'M6 6l12 12M18 6L6 18',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4',
  link: 'M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.7 5.7L12 17',
  folder: 'M3 6h6l2 2h10v11H3z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2',
  keyboard: 'M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8',
  menu: 'M4 7h16M4 12h16M4 17h16',
  drag: 'M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01',
  fit: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  minus: 'M5 12h14',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
};
const FILLED = new Set(['play', 'stop', 'playAll']);

/** A drawn sign that screen readers skip: what it means stands beside it or in the button's label. */
export function icon(name: string): SVGSVGElement {
  const ns = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', FILLED.has(name) ? 'icon filled' : 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(ns, 'path');
  path.setAttribute('d', ICONS[name] ?? '');
  svg.append(path);
  return svg;
}

/** A button with a sign and a label for those who do not see it. */
export function iconButton(name: string, label: string, action: (event: MouseEvent) => void, props: Props = {}): HTMLButtonElement {
  return h('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick: action, ...props }, icon(name));
}

export function clear(element: Element): void {
  element.replaceChildren();
}

/** Call `action` once per animation frame however often it was asked for. */
export function perFrame(action: () => void): () => void {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; action(); });
  };
}

/** Call `action` when nothing has asked for `ms` milliseconds, but not later than `most` after the first that asked. */
export function debounce(action: () => void, ms: number, most = Infinity): (() => void) & { flush(): void } {
  let timer = 0, first = 0;
  const later = () => {
    if (!timer) first = performance.now();
    clearTimeout(timer);
    timer = window.setTimeout(() => { timer = 0; action(); }, Math.max(0, Math.min(ms, first + most - performance.now())));
  };
  later.flush = () => { if (timer) { clearTimeout(timer); timer = 0; action(); } };
  return later;
}

export function bytesText(n: number): string {
  if (n < 1024) return `${n} B`;
  for (const unit of ['KB', 'MB', 'GB']) {
    n /= 1024;
    if (n < 1024 || unit === 'GB') return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${unit}`;
  }
  return '';
}

export function secondsText(s: number): string {
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${s < 0.01 ? (s * 1000).toFixed(1) : Math.round(s * 1000)} ms`;
  if (s < 60) return `${s.toFixed(s < 10 ? 2 : 1)} s`;
  return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
}

/** Offer bytes or text as a file to keep. */
export function download(name: string, content: string | Uint8Array, type: string): void {
  const url = URL.createObjectURL(new Blob([content as BlobPart], { type }));
  const link = h('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A setting that the browser keeps; null where there is none, or where it keeps nothing for pages. */
export function remembered(name: string): string | null {
  try { return localStorage.getItem(name); } catch { return null; }
}

export function remember(name: string, value: string): void {
  try { localStorage.setItem(name, value); } catch { /* it holds until the page is closed */ }
}
