// Outputs: how events change a cell's list, and how the list is drawn. A drawn output is kept as long as what it shows
// stays the same, so that a loop that prints redraws one text and nothing else.
import { ansiText, joinStream, traceText } from './ansi';
import { bytesText, h } from './dom';
import type { Cell, Json, Notebook, Output } from './document';
import { figureView } from './plot';
import { inert, latex, markdown } from './sanitize';

export const PLOTLY = 'application/vnd.plotly.v1+json';
const MAX_PLAIN = 200_000;

const clearing = new WeakSet<Cell>();

export function beginRun(cell: Cell): void { cell.outputs = []; cell.count = null; clearing.delete(cell); }

function ready(cell: Cell): void { if (clearing.delete(cell)) cell.outputs = []; }

export function clearOutput(cell: Cell, wait: boolean): void {
  if (wait) clearing.add(cell); else { cell.outputs = []; clearing.delete(cell); }
}

export function addStream(cell: Cell, name: string, text: string): void {
  ready(cell);
  const last = cell.outputs.at(-1);
  if (last?.output_type === 'stream' && last.name === name) last.text = joinStream(last.text, text);
  else cell.outputs.push({ output_type: 'stream', name, text: joinStream('', text) });
}

export function addOutput(cell: Cell, output: Output): void { ready(cell); cell.outputs.push(output); }

/** Replace what is shown under a display id; returns the cells that changed. */
export function updateDisplay(notebook: Notebook, id: string, data: Json, metadata: Json): Cell[] {
  return notebook.cells.filter((cell) => {
    const found = cell.outputs.filter((o) => o.transient?.display_id === id);
    for (const output of found) { output.data = data; output.metadata = metadata; }
    return found.length > 0;
  });
}

export interface OutputContext {
  nameCell: (id: string) => string | null;
  /** The cell that ran as number so-and-so. */
  cellOfCount: (count: number) => string | null;
  goTo: (cell: string, line: number, revision: number) => void;
}

type Drawer = (value: Json, data: Json) => HTMLElement | null;

const image = (mime: string): Drawer => (value, data) => {
  if (typeof value !== 'string') return null;
  return h('img', { src: `data:${mime};base64,${value.replace(/[^A-Za-z0-9+/=]/g, '')}`, alt: typeof data['text/plain'] === 'string' ? data['text/plain'].slice(0, 200) : 'an image that the cell made' });
};

/** The kinds of output that can be drawn, the best first. One is added here. */
const DRAWERS: [string, Drawer][] = [
  [PLOTLY, (value, data) => figureView(value, typeof data['text/plain'] === 'string' ? data['text/plain'] : '')],
  ['text/html', (value) => (typeof value === 'string' ? inert(value, 'html') : null)],
  ['image/svg+xml', (value) => (typeof value === 'string' ? inert(value, 'svg') : null)],
  ['image/png', image('image/png')],
  ['image/jpeg', image('image/jpeg')],
  ['image/gif', image('image/gif')],
  ['image/webp', image('image/webp')],
  ['text/markdown', (value) => (typeof value === 'string' ? markdown(value) : null)],
  ['text/latex', (value) => (typeof value === 'string' ? latex(value) : null)],
  ['text/plain', (value) => (typeof value === 'string' ? plain(value) : null)],
  ['application/json', (value) => h('pre', { class: 'text' }, JSON.stringify(value, null, 2).slice(0, MAX_PLAIN))],
];

function plain(text: string, context?: OutputContext, className = 'text'): HTMLElement {
  const shown = text.length > MAX_PLAIN ? `${text.slice(0, MAX_PLAIN / 2)}\n[... ${bytesText(text.length - MAX_PLAIN)} left out ...]\n${text.slice(-MAX_PLAIN / 2)}` : text;
  const pre = h('pre', { class: className });
  pre.append(ansiText(shown, context?.nameCell, context?.goTo));
  return pre;
}

function draw(output: Output, context: OutputContext): HTMLElement {
  if (output.output_type === 'stream') return plain(String(output.text ?? ''), context, output.name === 'stderr' ? 'text stderr' : 'text');
  if (output.output_type === 'error') return error(output, context);
  const data = output.data && typeof output.data === 'object' ? output.data : {};
  for (const [mime, drawer] of DRAWERS) {
    if (data[mime] === undefined) continue;
    try {
      const made = drawer(data[mime], data);
      if (made) return made;
    } catch { /* the next form may be fine */ }
  }
  const kinds = Object.keys(data).slice(0, 5).join(', ');
  return h('p', { class: 'quiet' }, kinds ? `An output of a kind that this page cannot show (${kinds}).` : 'An empty output.');
}

function error(output: Output, context: OutputContext): HTMLElement {
  const name = String(output.ename ?? 'Error'), value = String(output.evalue ?? '');
  const trace: string[] = Array.isArray(output.traceback) ? output.traceback.filter((l: unknown) => typeof l === 'string') : [];
  const box = h('div', { class: 'error-box', role: 'group', 'aria-label': 'Error' });
  box.append(h('p', { class: 'error-head' }, h('strong', null, name), value ? `: ${value.split('\n')[0]!.slice(0, 300)}` : ''));
  if (trace.length && name !== 'KeyboardInterrupt') {
    const details = h('details', { open: true }, h('summary', null, 'Traceback'));
    const pre = h('pre', { class: 'text' });
    pre.append(traceText(trace, context.cellOfCount, context.nameCell, context.goTo));
    details.append(pre);
    box.append(details);
  }
  return box;
}

const drawn = new WeakMap<Output, { shows: unknown; element: HTMLElement }>();
const shows = (output: Output): unknown => (output.output_type === 'stream' ? output.text : output.output_type === 'error' ? output.traceback : output.data);

/** Bring `area` in line with the cell's outputs. */
export function drawOutputs(area: HTMLElement, cell: Cell, context: OutputContext): void {
  const wanted: HTMLElement[] = [];
  for (const output of cell.outputs) {
    const kept = drawn.get(output);
    if (kept && kept.shows === shows(output)) { wanted.push(kept.element); continue; }
    const element = kept?.element ?? h('div', { class: `output ${String(output.output_type).replace(/\W/g, '')}` });
    // A figure that is replaced while it runs keeps its height until the new one is there.
    element.replaceChildren(draw(output, context));
    drawn.set(output, { shows: shows(output), element });
    wanted.push(element);
  }
  wanted.forEach((element, i) => { if (area.children[i] !== element) area.insertBefore(element, area.children[i] ?? null); });
  while (area.children.length > wanted.length) area.lastElementChild!.remove();
}

/** What the outputs of a cell say as plain text. */
export function plainOutputs(cell: Cell): string {
  // eslint-disable-next-line no-control-regex
  const bare = (text: string) => text.replace(/\x1b\[[0-9;]*m/g, '');
  return cell.outputs.map((o) => (o.output_type === 'stream' ? bare(o.text) : o.output_type === 'error' ? bare((o.traceback ?? []).join('\n')) : String(o.data?.['text/plain'] ?? ''))).join('\n');
}
