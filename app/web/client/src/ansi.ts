// Text as a terminal would show it: colours to spans, escape sequences that are no colours left out, lines of cells
// linked, and carriage returns folded. Only text nodes and our own classes come out.
import { h } from './dom';

// eslint-disable-next-line no-control-regex
const ESCAPE = /\x1b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
const PLACE = /(?:File )?<cell ([\w-]+):(\d+)>(?::(\d+)|(?:", line |, line )(\d+))?/g;

interface Style { classes: Set<string>; color: string; background: string }

const cube = (n: number): string => {
  if (n >= 232) { const v = 8 + (n - 232) * 10; return `rgb(${v},${v},${v})`; }
  const level = (v: number) => (v ? 55 + v * 40 : 0);
  const m = n - 16;
  return `rgb(${level(Math.floor(m / 36))},${level(Math.floor(m / 6) % 6)},${level(m % 6)})`;
};

function apply(style: Style, codes: number[]): void {
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i]!;
    if (c === 0) { style.classes.clear(); style.color = style.background = ''; }
    else if (c === 1) style.classes.add('a-bold');
    else if (c === 2) style.classes.add('a-dim');
    else if (c === 3) style.classes.add('a-italic');
    else if (c === 4) style.classes.add('a-underline');
    else if (c === 22) { style.classes.delete('a-bold'); style.classes.delete('a-dim'); }
    else if (c === 23) style.classes.delete('a-italic');
    else if (c === 24) style.classes.delete('a-underline');
    else if ((c >= 30 && c <= 37) || (c >= 90 && c <= 97)) style.color = `a-fg-${c >= 90 ? c - 82 : c - 30}`;
    else if (c === 39) style.color = '';
    else if ((c >= 40 && c <= 47) || (c >= 100 && c <= 107)) style.background = `a-bg-${c >= 100 ? c - 92 : c - 40}`;
    else if (c === 49) style.background = '';
    else if (c === 38 || c === 48) {
      let value = '';
      if (codes[i + 1] === 5) {
        const n = codes[i + 2] ?? 0;
        value = n < 16 ? `a-${c === 38 ? 'fg' : 'bg'}-${n}` : cube(Math.min(255, n));
        i += 2;
      } else if (codes[i + 1] === 2) {
        value = `rgb(${codes.slice(i + 2, i + 5).map((v) => Math.min(255, v || 0)).join(',')})`;
        i += 4;
      }
      if (c === 38) style.color = value; else style.background = value;
    }
  }
}

/** `onPlace` is told when the name of a cell's line in the text is pressed; `nameCell` gives what is shown for it. */
export function ansiText(source: string, nameCell?: (id: string) => string | null, onPlace?: (cell: string, line: number, revision: number) => void): DocumentFragment {
  const out = document.createDocumentFragment();
  const style: Style = { classes: new Set(), color: '', background: '' };
  const put = (raw: string) => {
    const piece = raw.replace(CONTROL, '');
    if (!piece) return;
    const parts: (Node | string)[] = [];
    let at = 0;
    if (nameCell) {
      for (const found of piece.matchAll(PLACE)) {
        const name = nameCell(found[1]!);
        const line = Number(found[3] ?? found[4] ?? 0);
        if (name === null) continue;
        parts.push(piece.slice(at, found.index));
        const label = line ? `${name} line ${line}` : name;
        parts.push(line && onPlace ? h('button', { type: 'button', class: 'place', onclick: () => onPlace(found[1]!, line, Number(found[2])) }, label) : label);
        at = found.index + found[0].length;
      }
    }
    parts.push(piece.slice(at));
    if (!style.classes.size && !style.color && !style.background) { out.append(...parts); return; }
    const span = document.createElement('span');
    span.classList.add(...style.classes);
    if (style.color.startsWith('a-')) span.classList.add(style.color); else if (style.color) span.style.color = style.color;
    if (style.background.startsWith('a-')) span.classList.add(style.background); else if (style.background) span.style.background = style.background;
    span.append(...parts);
    out.append(span);
  };
  let at = 0;
  for (const found of source.matchAll(ESCAPE)) {
    put(source.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[2] === 'm') apply(style, (found[1] || '0').split(/[;:]/).map(Number));
  }
  put(source.slice(at));
  return out;
}

/** The lines of a traceback: one that names a line of a cell is a link to it. */
export function traceText(lines: string[], cellOfCount: (count: number) => string | null, nameCell: (id: string) => string | null, onPlace: (cell: string, line: number, revision: number) => void): DocumentFragment {
  const out = document.createDocumentFragment();
  for (const line of lines.join('\n').split('\n')) {
    const bare = line.replace(ESCAPE, '');
    const counted = /^Cell In\s?\[(\d+)\], line (\d+)(.*)$/.exec(bare);
    const cell = counted ? cellOfCount(Number(counted[1])) : null;
    if (counted && cell) out.append(h('button', { type: 'button', class: 'place', onclick: () => onPlace(cell, Number(counted[2]), 0) }, `Cell [${counted[1]}] line ${counted[2]}`), counted[3] ?? '', '\n');
    else out.append(ansiText(line, nameCell, onPlace), '\n');
  }
  return out;
}

const MAX_LINES = 2000;

/** Text with more text behind it, what carriage returns and backspaces overwrite left out, and its middle dropped when it is long. */
export function joinStream(before: string, more: string): string {
  let text = before;
  if (!/[\r\b]/.test(more)) text += more;
  else {
    const start = text.lastIndexOf('\n') + 1;
    let line = text.slice(start), column = line.length;
    let head = text.slice(0, start);
    for (const c of more.replace(/\r+\n/g, '\n')) {
      if (c === '\n') { head += line + '\n'; line = ''; column = 0; }
      else if (c === '\r') column = 0;
      else if (c === '\b') column = Math.max(0, column - 1);
      else { line = line.slice(0, column) + c + line.slice(column + 1); column++; }
    }
    text = head + line;
  }
  if (text.length < 40_000) return text;
  const lines = text.split('\n');
  if (lines.length <= MAX_LINES) return text;
  const half = MAX_LINES / 2, note = /^\[\.\.\. ([\d,]+) lines left out \.\.\.\]$/;
  const earlier = note.exec(lines[half] ?? '');
  const dropped = lines.length - MAX_LINES + (earlier ? Number(earlier[1]!.replace(/,/g, '')) : 0);
  return [...lines.slice(0, half), `[... ${dropped.toLocaleString('en')} lines left out ...]`, ...lines.slice(lines.length - half)].join('\n');
}
