// HTML and SVG that came out of a notebook, made harmless: no scripts, no forms, nothing that loads from elsewhere.
// What is left is shown in a shadow root that is clipped to its place, so that its styles reach nothing else.
import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { formula, formulas, settle, unmarked } from './formula';

const FORBIDDEN = [
  'form', 'input', 'button', 'textarea', 'select', 'option', 'iframe', 'object', 'embed', 'base', 'link', 'meta', 'audio', 'video',
  'source', 'track', 'dialog', 'portal', 'foreignObject', 'animate', 'set', 'animateMotion', 'animateTransform',
];
const FORBIDDEN_ATTRIBUTES = ['srcset', 'action', 'formaction', 'ping', 'autofocus', 'contenteditable', 'popover', 'popovertarget', 'slot', 'part', 'is'];
const IMAGE = /^data:image\/(png|jpe?g|gif|webp|avif|bmp|svg\+xml)[;,]/i;
const REMOTE = /url\(\s*['"]?\s*(?!#|data:image\/)[^)]*\)|@import[^;]*;?|expression\s*\(/gi;

const purifier = DOMPurify(window);
purifier.addHook('uponSanitizeAttribute', (node, data) => {
  const name = data.attrName.toLowerCase();
  if (name === 'style' || REMOTE.test(data.attrValue)) data.attrValue = data.attrValue.replace(REMOTE, 'none');
  REMOTE.lastIndex = 0;
  if ((name === 'src' || name === 'href' || name === 'xlink:href' || name === 'background' || name === 'poster') && !/^(a)$/i.test(node.nodeName)) {
    if (!data.attrValue.startsWith('#') && !IMAGE.test(data.attrValue.trim())) data.keepAttr = false;
  }
});
purifier.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName.toLowerCase() === 'a') {
    const address = node.getAttribute('href') ?? '';
    if (/^(https?:|mailto:)/i.test(address.trim())) {
      node.setAttribute('target', '_blank');
      node.setAttribute('rel', 'noopener noreferrer nofollow');
    } else node.removeAttribute('href');
    node.removeAttribute('xlink:href');
  }
  if (node.nodeName.toLowerCase() === 'img' && !node.hasAttribute('alt')) node.setAttribute('alt', '');
});
purifier.addHook('uponSanitizeElement', (node, data) => {
  if (data.tagName === 'style' && node.textContent) node.textContent = node.textContent.replace(REMOTE, 'none');
});

export function cleanFragment(source: string, kind: 'html' | 'svg'): DocumentFragment {
  return purifier.sanitize(source, {
    RETURN_DOM_FRAGMENT: true,
    USE_PROFILES: kind === 'html' ? { html: true, svg: true, svgFilters: true, mathMl: true } : { svg: true, svgFilters: true },
    FORBID_TAGS: FORBIDDEN,
    FORBID_ATTR: FORBIDDEN_ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ...(kind === 'svg' ? { ADD_TAGS: ['style'] } : {}),
  });
}

const SHEET = new CSSStyleSheet();
SHEET.replaceSync(`
  :host { display: block; contain: layout paint; overflow: auto; color: var(--text); font: var(--small-font); max-height: 70vh; }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
  th, td { padding: .25em .7em; text-align: right; border-bottom: 1px solid var(--line); }
  thead th { border-bottom: 1px solid var(--line-strong); font-weight: 600; }
  a { color: var(--accent); }
  img, svg { max-width: 100%; height: auto; }
  pre { font: var(--code-font); overflow: auto; }
`);

/** An element that shows sanitised HTML or SVG, cut off from the page's styles. */
export function inert(source: string, kind: 'html' | 'svg'): HTMLElement {
  const host = document.createElement('div');
  host.className = `inert ${kind}`;
  const root = host.attachShadow({ mode: 'open' });
  root.adoptedStyleSheets = [SHEET];
  root.append(cleanFragment(source, kind));
  return host;
}

/** MathML alone: no links, no classes. */
const mathml = (source: string): DocumentFragment => purifier.sanitize(source, {
  RETURN_DOM_FRAGMENT: true, USE_PROFILES: { mathMl: true }, FORBID_TAGS: FORBIDDEN, FORBID_ATTR: [...FORBIDDEN_ATTRIBUTES, 'class', 'id', 'href', 'xlink:href', 'name', 'actiontype'], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false,
});

/** TeX as it comes in an output, with or without its dollars. */
export function latex(source: string): HTMLElement {
  const inner = /^\s*(\${1,2})([\s\S]+)\1\s*$/.exec(source);
  return formula((inner?.[2] ?? source).trim(), inner?.[1] !== '$', mathml);
}

/** Markdown as elements in the page's own style: no classes, ids or styles of its own survive. */
export function markdown(source: string): HTMLElement {
  const element = document.createElement('div');
  element.className = 'markdown';
  const found: { tex: string; display: boolean }[] = [];
  const html = new Marked({ gfm: true, breaks: false }, formulas(found)).parse(unmarked(source), { async: false });
  const clean = purifier.sanitize(html, {
    RETURN_DOM_FRAGMENT: true, USE_PROFILES: { html: true }, FORBID_TAGS: [...FORBIDDEN, 'style', 'svg', 'math'],
    FORBID_ATTR: [...FORBIDDEN_ATTRIBUTES, 'class', 'id', 'style', 'name'], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false,
  });
  for (const list of clean.querySelectorAll('table')) {
    const box = document.createElement('div');
    box.className = 'scroll';
    box.tabIndex = 0;
    box.setAttribute('role', 'region');
    box.setAttribute('aria-label', 'table');
    list.replaceWith(box);
    box.append(list);
  }
  settle(clean, found, mathml);
  element.append(clean);
  return element;
}
