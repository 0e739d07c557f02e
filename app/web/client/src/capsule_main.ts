// A replay capsule: one file that shows a recorded run with its tape, offline, without Python and without a GPU.
import './style.css';
import { logo } from './app_logo';
import { append, download, h, icon } from './dom';
import { isRecording, parseJson, readIpynb, writeIpynb, writePercent } from './formats';
import { HERE, readTape, type Source } from './graph';
import { Inspector, lineCosts, measuredCosts } from './inspector';
import { NotebookView } from './notebook_view';
import { pack } from './share';

function begin(): void {
  const root = document.getElementById('app')!;
  const value = parseJson(document.getElementById('recording')!.textContent ?? '');
  if (!isRecording(value)) throw new Error('the file holds no recording');
  const notebook = readIpynb(value.notebook);
  const nameCell = (id: string) => { const at = notebook.index(id); return at < 0 ? null : `[${notebook.cells[at]!.count ?? `cell ${at + 1}`}]`; };
  const lineNow = (source: Source) => (source.cell && notebook.cell(source.cell) ? { cell: source.cell, line: source.line } : null);
  let lit: string | null = null;
  const view = new NotebookView({
    run: () => undefined, stop: () => undefined, complete: () => null, insert: () => undefined, move: () => undefined, menu: () => undefined, readonly: true,
    selected: () => { const cell = view.current; if (cell && value.tapes[cell.id]) showTape(cell.id); },
    cursor: () => undefined, outputs: { nameCell, cellOfCount: (count) => notebook.cells.find((c) => c.count === count)?.id ?? null, goTo: (id, line) => view.goTo(id, line, false) },
  });
  const panel = (on?: boolean) => root.classList.toggle('no-panel', on === undefined ? undefined : !on);
  const inspector = new Inspector({
    nameCell, lineNow,
    show: (source, jump) => {
      if (lit) view.mark(lit, []);
      lit = null;
      const at = source ? lineNow(source) : null;
      if (!source || !at) return;
      lit = at.cell;
      view.mark(at.cell, Array.from({ length: Math.min(60, Math.max(1, source.endLine - source.line + 1)) }, (_, i) => ({ line: at.line + i, kind: 'linked' as const })));
      if (jump) view.goTo(at.cell, at.line, false);
    },
  }, HERE, () => panel(false));
  let shown: string | null = null;
  const showTape = (cell: string | null) => {
    if (cell === shown) return;
    shown = cell;
    inspector.takeTape(cell ? readTape(value.tapes[cell]) : null, 'recorded');
    inspector.takeSteps(cell && Array.isArray(value.steps?.[cell]) ? value.steps[cell] : []);
    const costs = cell ? value.costs?.[cell] : undefined;
    for (const c of notebook.cells) {
      const timed = costs ? measuredCosts(costs, c.id, lineNow) : [];
      view.cost(c.id, timed.length ? timed : lineCosts(inspector.tapeGraph, c.id, lineNow));
    }
  };
  const { live } = document.documentElement.dataset;
  const facts = [value.kernel.device && `on ${value.kernel.device}`, value.kernel.python && `Python ${value.kernel.python}`].filter(Boolean).join(', ');
  const goLive = async () => { const { title, notebook: raw } = value; location.href = `${live}${await pack({ ...raw, title })}`; };
  append(root, [
    h('header', { class: 'top' }, h('span', { class: 'brand' }, logo(), h('span', null, 'Tapescope')), h('h1', { class: 'title' }, value.title), h('span', { class: 'quiet wide-only' }, `A recorded run${facts ? ` (${facts})` : ''}`),
      live ? h('button', { type: 'button', class: 'primary', onclick: () => void goLive() }, icon('play'), h('span', null, 'Open live')) : null,
      h('button', { type: 'button', onclick: () => download(`${value.title.replace(/\W+/g, '_')}.ipynb`, JSON.stringify(writeIpynb(notebook), null, 1), 'application/json') }, '.ipynb'),
      h('button', { type: 'button', onclick: () => download(`${value.title.replace(/\W+/g, '_')}.py`, writePercent(notebook), 'text/x-python') }, '.py'),
      h('button', { type: 'button', class: 'icon-button', 'aria-label': 'Show or hide the panel', onclick: () => panel(root.classList.contains('no-panel')) }, icon('panel'))),
    h('div', { class: 'columns' }, h('div', { class: 'document' }, h('main', { id: 'main' }, view.element)), h('div', { class: 'divider' }), inspector.element),
  ]);
  view.show(notebook, new Map(Object.entries(value.runs).map(([id, run]) => [id, { state: 'recorded' as const, seconds: run.seconds }])));
  document.addEventListener('keydown', (event) => {
    if (!(event.target as HTMLElement).closest('.cells') && event.target !== document.body) return;
    const by = event.key === 'j' || event.key === 'ArrowDown' ? 1 : event.key === 'k' || event.key === 'ArrowUp' ? -1 : 0;
    const next = by ? notebook.cells[notebook.cells.indexOf(view.current!) + by] : undefined;
    if (next) { event.preventDefault(); view.select(next.id); }
  });
  inspector.takeVariables(value.variables);
  const list = (found: unknown) => (Array.isArray(found) ? found : []);
  inspector.takeCaptures(list(value.captures), list(value.breaks), list(value.guards));
  inspector.takeDevice({ state: 'a recording; nothing runs here', device: value.kernel.device ?? '', python: value.kernel.python ?? '', torch: value.kernel.torch ?? '', isolated: false, webgpu: 'not needed', reason: '' });
  showTape(Object.keys(value.tapes).at(-1) ?? null);
  if (innerWidth < 900) panel(false);
  document.documentElement.dataset.ready = '';
}

try { begin(); } catch (error) { document.getElementById('app')!.textContent = `This replay cannot be shown: ${(error as Error).message}.`; }
