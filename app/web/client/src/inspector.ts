// The panel beside the cells: Tape, Graph, Breaks, Kernels, Variables, Device. It draws records; where a record belongs
// in the cells is asked of the host, both ways.
import { append, bytesText, clear, debounce, h, iconButton, perFrame, secondsText } from './dom';
import type { Json } from './document';
import { type Graph, type GraphNode, numberText, outline, readSegment, readSource, readTape, type Row, type Scope, search, type Source } from './graph';
import { GraphCanvas } from './graph_canvas';

export interface InspectorHost {
  nameCell(id: string): string | null;
  /** Where a source range of a run is in the text of now; null where it is gone. */
  lineNow(source: Source): { cell: string; line: number } | null;
  show(source: Source | null, jump: boolean): void;
}

export interface DeviceFacts { facts?: [string, string][]; state: string; device: string; python: string; torch: string; isolated: boolean; webgpu: string; reason: string }

const TABS = [['tape', 'Tape'], ['graph', 'Graph'], ['breaks', 'Breaks'], ['kernels', 'Kernels'], ['variables', 'Variables'], ['device', 'Device']] as const;
export type Tab = (typeof TABS)[number][0];

const ROW = 26;

/** A long list of which only the rows in view exist. */
class RowList {
  readonly element = h('div', { class: 'rows', role: 'tree', tabindex: 0 });
  private space = h('div', { class: 'rows-space' });
  private count = 0;
  cursor = 0;
  private paint: () => void;

  constructor(label: string, private make: (index: number) => HTMLElement, private act: { choose(i: number, jump: boolean): void; fold(i: number, close: boolean | null): void }) {
    this.element.setAttribute('aria-label', label);
    this.element.append(this.space);
    let waiting = false;
    this.paint = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; this.draw(); }); } };
    this.element.addEventListener('scroll', this.paint, { passive: true });
    new ResizeObserver(this.paint).observe(this.element);
    this.element.addEventListener('keydown', (event) => this.key(event));
  }

  set(count: number): void { this.count = count; this.cursor = Math.min(this.cursor, Math.max(0, count - 1)); this.space.style.height = `${count * ROW}px`; this.draw(); }

  draw(): void {
    const top = Math.max(0, Math.floor(this.element.scrollTop / ROW) - 8), shown = Math.ceil((this.element.clientHeight || 400) / ROW) + 16;
    const rows: HTMLElement[] = [];
    for (let i = top; i < Math.min(this.count, top + shown); i++) {
      const row = this.make(i);
      row.id = `row-${i}`;
      row.style.top = `${i * ROW}px`;
      row.setAttribute('aria-setsize', String(this.count));
      row.setAttribute('aria-posinset', String(i + 1));
      row.setAttribute('aria-selected', String(i === this.cursor));
      row.addEventListener('click', () => { this.cursor = i; this.draw(); this.act.choose(i, false); });
      row.addEventListener('dblclick', () => this.act.choose(i, true));
      rows.push(row);
    }
    this.space.replaceChildren(...rows);
    if (this.count) this.element.setAttribute('aria-activedescendant', `row-${this.cursor}`);
    else this.element.removeAttribute('aria-activedescendant');
  }

  to(index: number): void {
    this.cursor = Math.max(0, Math.min(this.count - 1, index));
    const y = this.cursor * ROW, { scrollTop, clientHeight } = this.element;
    if (y < scrollTop) this.element.scrollTop = y;
    else if (y + ROW > scrollTop + clientHeight) this.element.scrollTop = y + ROW - clientHeight;
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9, j: 1, k: -1 }[event.key];
    if (step !== undefined) { this.to(this.cursor + step); this.act.choose(this.cursor, false); }
    else if (event.key === 'ArrowLeft') this.act.fold(this.cursor, true);
    else if (event.key === 'ArrowRight') this.act.fold(this.cursor, false);
    else if (event.key === 'Enter') this.act.choose(this.cursor, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** One graph as outline and picture, with search, folding, the details of a node, and the walk of backward. */
class GraphPane {
  readonly element = h('div', { class: 'pane' });
  graph: Graph | null = null;
  private folded = new Set<string>();
  private rows: Row[] = [];
  private list: RowList;
  private canvas: GraphCanvas;
  private details = h('div', { class: 'details', 'aria-live': 'polite' });
  private find = h('input', { type: 'search', placeholder: 'Search: linear, [*, 10], hidden', 'aria-label': 'Search the operators' });
  private modes: Record<'outline' | 'picture', HTMLButtonElement>;
  private mode: 'outline' | 'picture' = 'outline';
  private found = new Set<string>();
  private marked = new Set<string>();
  private scrubber = h('input', { type: 'range', min: '0', value: '0', 'aria-label': 'How far backward has walked' });
  private scrubText = h('output', { class: 'quiet' });
  private scrub = h('div', { class: 'scrubber', hidden: true });
  private order: GraphNode[] = [];
  private steps: Json[] = [];
  private stepper = h('input', { type: 'range', min: '0', value: '0', 'aria-label': 'Step of the run' });
  private stepText = h('output', { class: 'quiet' });
  private stepRow = h('div', { class: 'scrubber', hidden: true });
  private body = h('div', { class: 'pane-body' });
  private summary = h('span', { class: 'quiet summary' });
  private empty: HTMLElement;
  private chosen: string | null = null;

  constructor(private host: InspectorHost, words: string, private backward: boolean) {
    this.empty = h('p', { class: 'empty' }, words);
    this.list = new RowList('Operators', (i) => this.row(i), {
      choose: (i, jump) => { const row = this.rows[i]; if (row) this.choose(row.key, jump, 'list'); },
      fold: (i, close) => this.foldRow(i, close),
    });
    this.list.element.addEventListener('mouseover', (event) => {
      const at = (event.target as HTMLElement).closest<HTMLElement>('[role=treeitem]');
      const node = at ? this.rows[Number(at.id.slice(4))]?.node : null;
      if (node?.source) this.host.show(node.source, false);
    });
    this.canvas = new GraphCanvas({ chose: (key) => this.choose(key, false, 'canvas'), folded: (key) => { this.toggle(key); this.redraw(); } });
    const button = (mode: 'outline' | 'picture', label: string) => h('button', { type: 'button', 'aria-pressed': String(mode === this.mode), onclick: () => this.setMode(mode) }, label);
    this.modes = { outline: button('outline', 'Outline'), picture: button('picture', 'Picture') };
    this.find.addEventListener('input', debounce(() => this.searched(), 120));
    this.find.addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); this.nextFound(event.shiftKey ? -1 : 1); } event.stopPropagation(); });
    this.scrubber.addEventListener('input', () => this.walked());
    this.scrubber.addEventListener('keydown', (event) => event.stopPropagation());
    append(this.scrub, [h('label', null, 'Backward ', this.scrubber), this.scrubText]);
    this.stepper.addEventListener('input', () => this.stepped());
    this.stepper.addEventListener('keydown', (event) => event.stopPropagation());
    append(this.stepRow, [h('label', null, 'Run ', this.stepper), this.stepText]);
    append(this.element, [
      h('div', { class: 'pane-bar' }, h('div', { class: 'segmented', role: 'group', 'aria-label': 'How to show it' }, this.modes.outline, this.modes.picture), this.find,
        iconButton('minus', 'Fold everything', () => { this.folded = new Set([...(this.graph?.scopes.keys() ?? [])].filter(Boolean)); this.redraw(); }),
        iconButton('plus', 'Unfold everything', () => { this.folded.clear(); this.redraw(); })),
      this.summary, this.stepRow, this.scrub, this.body, this.details, this.empty,
    ]);
    this.setMode('outline');
    this.update();
  }

  setMode(mode: 'outline' | 'picture'): void {
    this.mode = mode;
    for (const [name, button] of Object.entries(this.modes)) button.setAttribute('aria-pressed', String(name === mode));
    this.body.replaceChildren(mode === 'outline' ? this.list.element : this.canvas.element);
    this.redraw();
  }

  take(graph: Graph | null, note = ''): void {
    const first = this.graph === null && graph !== null;
    this.graph = graph;
    if (first && graph && graph.nodes.length > 400) for (const scope of graph.root.items) if ('key' in scope) this.folded.add((scope as Scope).key);
    const rootIndex = graph ? graph.nodes.filter((n) => n.root).map((n) => n.index) : [];
    this.order = graph && this.backward && rootIndex.length ? graph.nodes.filter((n) => n.index <= Math.max(...rootIndex)).reverse() : [];
    this.scrubber.max = String(this.order.length);
    if (Number(this.scrubber.value) > this.order.length) this.scrubber.value = '0';
    this.update(note);
    this.redraw();
  }

  private update(note = ''): void {
    const { graph } = this;
    const none = !graph || !graph.nodes.length;
    this.empty.hidden = !none;
    for (const part of [this.body, this.summary, this.details]) part.hidden = none;
    this.element.querySelector<HTMLElement>('.pane-bar')!.hidden = none;
    this.scrub.hidden = none || !this.order.length;
    this.stepRow.hidden = none || !this.steps.length;
    if (!graph) return;
    const saved = graph.nodes.reduce((sum, n) => sum + n.saved, 0), leaves = graph.nodes.filter((n) => n.kind === 'leaf').length;
    this.summary.textContent = [note, `${graph.nodes.length - leaves} operators`, leaves ? `${leaves} ${this.backward ? 'parameters' : 'inputs'}` : '', saved ? `${bytesText(saved)} kept for backward` : '', ...graph.notes].filter(Boolean).join(' · ');
  }

  private redraw(): void {
    if (!this.graph) return;
    this.rows = outline(this.graph, this.folded);
    if (this.mode === 'outline') this.list.set(this.rows.length);
    else { this.canvas.marked = this.marks(); this.canvas.selected = this.chosen; this.canvas.show(this.graph, this.folded); }
  }

  private marks(): Set<string> { return this.found.size ? this.found : this.marked; }

  private visited(): Set<string> | null {
    const n = Number(this.scrubber.value);
    return n ? new Set(this.order.slice(0, n).map((node) => node.id)) : null;
  }

  private walked(): void {
    const n = Number(this.scrubber.value), node = this.order[n - 1];
    const freed = this.order.slice(0, n).reduce((sum, x) => sum + x.saved, 0);
    this.scrubText.textContent = n ? `${n} of ${this.order.length}: ${node?.title ?? ''}${freed ? `, ${bytesText(freed)} freed` : ''}` : 'not begun';
    this.canvas.visited = this.visited();
    if (node) this.choose(node.id, false, 'scrub');
    else { this.list.draw(); this.canvas.refresh(); }
  }

  /** The operators of a run in order (`recorder.steps_json`), to be walked with a slider. */
  takeSteps(steps: Json[]): void {
    this.steps = steps.filter((s) => s && typeof s === 'object');
    this.stepper.max = String(this.steps.length);
    this.stepper.value = '0';
    this.stepText.textContent = this.steps.length ? `${this.steps.length} steps` : '';
    this.stepRow.hidden = !this.steps.length || this.empty.hidden === false;
  }

  private stepped(): void {
    const n = Number(this.stepper.value), step = this.steps[n - 1];
    if (!step) { this.stepText.textContent = `${this.steps.length} steps`; this.host.show(null, false); return; }
    const shape = Array.isArray(step.shape) ? `[${step.shape.join(', ')}]` : '';
    this.stepText.textContent = `${n} of ${this.steps.length}: ${step.phase === 'backward' ? '◂ ' : ''}${step.op} ${shape}`;
    const id = step.node === null || step.node === undefined ? null : String(step.node);
    if (id && this.graph?.byId.has(id)) this.choose(id, false, 'scrub');
    const source = readSource(step);
    if (source) this.host.show(source, false);
  }

  private row(i: number): HTMLElement {
    const row = this.rows[i]!;
    const marked = row.node ? this.marks().has(row.node.id) : false;
    const passed = row.node && Number(this.scrubber.value) ? this.order.length - 1 - this.order.indexOf(row.node) >= this.order.length - Number(this.scrubber.value) : false;
    const element = h('div', { role: 'treeitem', class: `row${row.scope ? ' scope' : ''}${row.node?.kind === 'leaf' ? ' leaf' : ''}${marked ? ' marked' : ''}${passed ? ' visited' : ''}`, 'aria-level': row.depth + 1 });
    if (row.scope) element.setAttribute('aria-expanded', String(!row.folded));
    const fold = h('span', { class: 'fold' }, row.scope ? (row.folded ? '▸' : '▾') : row.node?.root ? '◂' : '');
    if (row.scope) fold.addEventListener('click', (event) => { event.stopPropagation(); this.foldRow(i, null); });
    const where = row.node?.source ? this.host.lineNow(row.node.source) : null;
    element.style.setProperty('--depth', String(row.depth));
    append(element, [fold, h('span', { class: 'op' }, row.title), h('span', { class: 'facts' }, row.node ? row.node.shape : row.facts),
      row.node?.gradText ? h('span', { class: 'badge grad' }, row.node.gradText) : null,
      row.node?.saved ? h('span', { class: 'badge saved' }, bytesText(row.node.saved)) : null,
      where ? h('span', { class: 'where' }, `${this.host.nameCell(where.cell) ?? ''}:${where.line}`) : null]);
    return element;
  }

  private foldRow(i: number, close: boolean | null): void {
    const row = this.rows[i];
    if (!row) return;
    const scope = row.scope ?? (close ? row.node?.scope : null);
    if (!scope || !scope.key) return;
    const folded = this.folded.has(scope.key);
    if (close === null || close !== folded) this.toggle(scope.key);
    this.redraw();
    const at = this.rows.findIndex((r) => r.key === scope.key);
    if (at >= 0) this.list.to(at);
  }

  private toggle(key: string): void { if (!this.folded.delete(key)) this.folded.add(key); }

  private choose(key: string | null, jump: boolean, from: 'list' | 'canvas' | 'scrub' | 'host'): void {
    this.chosen = key;
    clear(this.details);
    const node = key === null ? undefined : this.graph?.byId.get(key);
    const scope = key === null ? undefined : this.graph?.scopes.get(key);
    if (node) {
      const where = node.source ? this.host.lineNow(node.source) : null;
      append(this.details, [h('h3', null, node.title), h('dl', null, [...node.details.map(([a, b]) => [h('dt', null, a), h('dd', null, b)]),
        node.source ? [h('dt', null, 'Line'), h('dd', null, where ? h('button', { type: 'button', class: 'place', onclick: () => this.host.show(node.source, true) }, `${this.host.nameCell(where.cell) ?? 'cell'} line ${where.line}`) : 'no longer in the text')] : null])]);
      if (from !== 'host') this.host.show(node.source, jump);
    } else if (scope) append(this.details, [h('h3', null, scope.name), h('p', { class: 'quiet' }, `${scope.nodes} nodes. ${this.folded.has(scope.key) ? 'Folded: press → or Enter in the picture to open it.' : ''}`)]);
    if (key && from !== 'list') {
      const at = this.rows.findIndex((r) => r.key === key);
      if (at >= 0 && this.mode === 'outline') this.list.to(at);
    }
    if (this.mode === 'picture') { this.canvas.selected = key; if (from !== 'canvas' && key) this.canvas.reveal(key); this.canvas.visited = this.visited(); this.canvas.refresh(); }
    else if (from === 'scrub') this.list.draw();
  }

  private searched(): void {
    this.found = new Set(this.graph ? search(this.graph, this.find.value).map((n) => n.id) : []);
    for (const id of this.found) for (let s: Scope | null = this.graph!.byId.get(id)!.scope; s; s = s.parent) this.folded.delete(s.key);
    this.redraw();
    if (this.find.value) this.summary.textContent = `${this.found.size} found`;
    else this.update();
    this.nextFound(0);
  }

  private nextFound(step: number): void {
    const hits = this.rows.flatMap((row, i) => (row.node && this.found.has(row.node.id) ? [i] : []));
    if (!hits.length) return;
    const now = this.list.cursor;
    const to = step > 0 ? (hits.find((i) => i > now) ?? hits[0]!) : step < 0 ? ([...hits].reverse().find((i) => i < now) ?? hits.at(-1)!) : hits[0]!;
    this.list.to(to);
    this.choose(this.rows[to]!.key, false, this.mode === 'picture' ? 'host' : 'list');
  }

  /** Mark the operators of a line of a cell. */
  markLine(cell: string, line: number): void {
    const ids = (this.graph?.nodes ?? []).filter((n) => { const at = n.source && n.source.cell === cell ? this.host.lineNow(n.source) : null; return at && line >= at.line && line <= at.line + (n.source!.endLine - n.source!.line); }).map((n) => n.id);
    if (ids.length === this.marked.size && ids.every((id) => this.marked.has(id))) return;
    this.marked = new Set(ids);
    if (this.mode === 'outline') this.list.draw();
    else { this.canvas.marked = this.marks(); this.canvas.refresh(); }
  }

  focus(): void { (this.mode === 'outline' ? this.list.element : this.canvas.element.querySelector('canvas')!).focus(); }
}

export class Inspector {
  readonly element: HTMLElement;
  tab: Tab = 'tape';
  private buttons = new Map<Tab, HTMLButtonElement>();
  private panels = new Map<Tab, HTMLElement>();
  private tape: GraphPane;
  private graph: GraphPane;
  private variables: Json[] = [];
  private captures: Json[] = [];
  private kernels: Json[] = [];
  private launched: Json[] = [];
  private breaks: Json[] = [];
  private guards: Json[] = [];
  private growing: Json | null = null;
  private drawGrowing = perFrame(() => { if (this.growing) this.tape.take(readTape(this.growing), 'live'); this.growing = null; });

  constructor(private host: InspectorHost, onClose: () => void) {
    const bar = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Panel' });
    this.element = h('aside', { class: 'inspector', 'aria-label': 'What the machine did' });
    this.tape = new GraphPane(host, 'Run a cell that computes with tensors that need gradients. Every operator it records appears here, with its line, its shape and what it keeps for backward.', true);
    this.graph = new GraphPane(host, 'Wrap a function in torch.compile and call it: what was captured of it appears here as a graph.', false);
    const simple = (words: string) => h('div', { class: 'pane' }, h('p', { class: 'empty' }, words));
    const parts: Record<Tab, HTMLElement> = {
      tape: this.tape.element, graph: this.graph.element,
      breaks: simple('Where torch.compile cannot go on, the graph breaks. Each break appears here, with its reason and how to mend it.'),
      kernels: simple('Kernels that torch.compile generates appear here in launch order, with their text and the lines they come from.'),
      variables: simple('Variables appear here after a cell has run.'), device: simple(''),
    };
    for (const [name, title] of TABS) {
      const button = h('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, 'aria-selected': 'false', tabindex: -1, onclick: () => this.show(name) }, title);
      this.buttons.set(name, button);
      bar.append(button);
      const panel = h('div', { class: 'panel', role: 'tabpanel', id: `panel-${name}`, 'aria-labelledby': `tab-${name}`, hidden: true }, parts[name]);
      this.panels.set(name, panel);
    }
    bar.addEventListener('keydown', (event) => {
      const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
      if (!step) return;
      event.preventDefault();
      const at = TABS.findIndex(([n]) => n === this.tab), next = TABS[(at + step + TABS.length) % TABS.length]![0];
      this.show(next);
      this.buttons.get(next)!.focus();
    });
    append(this.element, [h('div', { class: 'tab-bar' }, bar, iconButton('close', 'Hide the panel', onClose, { class: 'icon-button close-panel' })), [...this.panels.values()]]);
    this.show('tape');
  }

  show(tab: Tab): void {
    this.tab = tab;
    for (const [name, button] of this.buttons) {
      button.setAttribute('aria-selected', String(name === tab));
      button.tabIndex = name === tab ? 0 : -1;
      this.panels.get(name)!.hidden = name !== tab;
    }
    if (tab === 'tape') { this.tape.setMode(this.tapeMode); if (this.growing) this.drawGrowing(); }
  }

  private get tapeMode(): 'outline' | 'picture' { return this.tape.element.querySelector('[aria-pressed=true]')?.textContent === 'Picture' ? 'picture' : 'outline'; }

  setTapeMode(mode: 'outline' | 'picture'): void { this.tape.setMode(mode); }
  focus(): void {
    if (this.tab === 'tape') this.tape.focus();
    else if (this.tab === 'graph') this.graph.focus();
    if (!this.panels.get(this.tab)!.contains(document.activeElement)) this.buttons.get(this.tab)!.focus(); // nothing to walk in yet
  }

  /** Show a tape. One of a cell that still runs is drawn with the next frame, and only while somebody looks at tapes. */
  takeTape(tape: Json | null, note = ''): void {
    this.growing = note === 'live' ? tape : null;
    if (!this.growing) this.tape.take(tape ? readTape(tape) : null, note);
    else if (this.tab === 'tape' && !document.hidden) this.drawGrowing();
  }
  takeSteps(steps: Json[]): void { this.tape.takeSteps(steps); }
  get tapeGraph(): Graph | null { return this.tape.graph; }
  markLine(cell: string, line: number): void { this.tape.markLine(cell, line); this.graph.markLine(cell, line); }

  /** What `torch.compile` captured (`observe.capture_json`, the newest last), where it broke, and which guards failed. */
  takeCaptures(captures: Json[], breaks: Json[] = [], guards: Json[] = []): void {
    this.captures = captures.filter((c) => c && Array.isArray(c.segments));
    this.breaks = breaks.filter((b) => b && typeof b === 'object');
    this.guards = guards.filter((g) => g && typeof g === 'object');
    this.kernels = this.captures.flatMap((c) => c.segments.map((s: Json) => s?.kernels).filter(Boolean));
    const last = this.captures.at(-1);
    const segment = last ? [...last.segments].sort((a: Json, b: Json) => (b?.nodes?.length ?? 0) - (a?.nodes?.length ?? 0))[0] : null;
    this.graph.take(segment ? readSegment(segment) : null, last ? `${last.function}, segment ${segment?.id ?? ''} of ${last.segments.length}` : '');
    this.drawBreaks();
    this.drawKernels();
  }

  private place(raw: Json): HTMLElement | string {
    const source = readSource(raw);
    const where = source ? this.host.lineNow(source) : null;
    return where && source ? h('button', { type: 'button', class: 'place', onclick: () => this.host.show(source, true) }, `${this.host.nameCell(where.cell) ?? 'cell'} line ${where.line}`) : '';
  }

  private drawBreaks(): void {
    const pane = this.panels.get('breaks')!.firstElementChild!;
    const inside = this.captures.flatMap((c) => c.segments.filter((s: Json) => s?.exit?.break).map((s: Json) => ({ function: c.function, ...s.exit.break })));
    const breaks = this.breaks.length ? this.breaks : inside;
    const again = this.guards.length ? this.guards : this.captures.flatMap((c) => (Array.isArray(c.recompiles) ? c.recompiles.map((r: Json) => ({ function: c.function, ...r })) : []));
    if (!breaks.length && !again.length) {
      pane.replaceChildren(h('p', { class: 'empty' }, this.captures.length ? 'No breaks: each function was captured whole.' : 'Where torch.compile cannot go on, the graph breaks. Each break appears here, with its reason and how to mend it.'));
      return;
    }
    const times = (n: Json) => (typeof n === 'number' && n > 1 ? ` · ${n} times` : '');
    pane.replaceChildren(h('div', { class: 'cards', tabindex: 0, role: 'region', 'aria-label': 'Graph breaks' },
      ...breaks.map((b) => h('article', { class: 'card' }, h('h3', null, String(b.reason ?? b.break_id ?? b.id)), h('p', { class: 'quiet' }, `${b.function ?? ''} · ${b.category ?? ''}${times(b.count)} `, this.place(b.source)), b.hint ? h('p', null, String(b.hint)) : null)),
      ...again.map((r) => h('article', { class: 'card' }, h('h3', null, 'Captured again'), h('p', { class: 'quiet' }, `${r.function ?? ''}${times(r.count)} `, this.place(r.source)), h('p', null, `${r.guard}: ${r.old} before, ${r.new} now`)))));
  }

  /** Kernels that a device launched for eager operators (`recorder.costs_json`). */
  takeLaunched(kernels: Json[]): void {
    this.launched = kernels.filter((k) => k && typeof k === 'object');
    this.drawKernels();
  }

  private drawKernels(): void {
    const pane = this.panels.get('kernels')!.firstElementChild!;
    const all = [...this.kernels.flatMap((k) => (Array.isArray(k.kernels) ? k.kernels : [])), ...this.launched];
    if (!all.length) { pane.replaceChildren(h('p', { class: 'empty' }, 'Kernels that torch.compile generates appear here in launch order, with their text and the lines they come from.')); return; }
    const longest = Math.max(...all.map((k: Json) => k.seconds ?? 0)) || 1;
    pane.replaceChildren(h('div', { class: 'cards', tabindex: 0, role: 'region', 'aria-label': 'Kernels' }, ...all.slice(0, 400).map((k: Json) => {
      const bar = h('span', { class: 'bar' });
      bar.style.setProperty('--share', String((k.seconds ?? 0) / longest));
      return h('details', { class: 'card' }, h('summary', null, h('strong', null, String(k.name)), h('span', { class: 'quiet' }, ` ${k.language ?? k.op ?? ''}${Array.isArray(k.nodes) ? ` · ${k.nodes.length} operators` : ''}${k.launches ? ` · ${k.launches} launches` : ''}${k.seconds ? ` · ${secondsText(k.seconds)}` : ''}${k.bytes ? ` · ${bytesText(k.bytes)}` : ''}`), bar),
        h('p', null, ...(Array.isArray(k.sources) ? k.sources : []).slice(0, 8).map((s: Json) => this.place(s))), h('pre', { class: 'text' }, String(k.text ?? '')));
    }), ...this.kernels.flatMap((k) => (Array.isArray(k.refused) ? k.refused : []).slice(0, 50)).map((r: Json) => h('p', { class: 'quiet' }, `${r.first} and ${r.second} were not fused: ${r.reason}`))));
  }

  takeVariables(variables: Json[]): void {
    this.variables = variables;
    const pane = this.panels.get('variables')!.firstElementChild!;
    if (!variables.length) { pane.replaceChildren(h('p', { class: 'empty' }, 'Variables appear here after a cell has run.')); return; }
    const body = h('tbody');
    for (const v of this.variables.slice(0, 1000)) {
      const tensor = Array.isArray(v.shape);
      body.append(h('tr', null, h('th', { scope: 'row' }, String(v.name)), h('td', null, tensor ? `${v.dtype ?? ''} [${v.shape.join(', ')}]` : String(v.type)),
        h('td', { title: v.stale ? String(v.stale) : null }, v.stale ? h('span', { class: 'badge saved' }, 'stale ') : null, Array.isArray(v.histogram) ? spark(v.histogram, v) : null, tensor ? [v.device && v.device !== 'cpu' ? `${v.device} ` : '', v.requires_grad ? 'needs grad ' : '', v.bytes ? bytesText(v.bytes) : ''].join('') : String(v.value ?? ''))));
    }
    pane.replaceChildren(h('div', { class: 'scroll grow', tabindex: 0, role: 'region', 'aria-label': 'Variables' }, h('table', { class: 'variables' }, h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Name'), h('th', { scope: 'col' }, 'Type'), h('th', { scope: 'col' }, 'Value'))), body)));
  }

  takeDevice(facts: DeviceFacts): void {
    const pane = this.panels.get('device')!.firstElementChild!;
    const rows: [string, string][] = [
      ['Kernel', facts.state], ['Computes on', facts.device || 'not known yet'], ['WebGPU', facts.webgpu],
      ['Python', facts.python ? `${facts.python} in this page (WebAssembly)` : 'starts with the first cell'], ['import torch', facts.torch || 'Tapescope’s engine'],
      ['Isolation', facts.isolated ? 'on: cells can be stopped, values are read while Python waits' : 'off: stopping a cell restarts Python'],
    ];
    for (const [a, b] of facts.facts ?? []) rows.push([a, b]);
    if (facts.reason) rows.push(['Last problem', facts.reason]);
    pane.replaceChildren(h('dl', { class: 'facts-list' }, ...rows.flatMap(([a, b]) => [h('dt', null, a), h('dd', null, b)])));
  }
}

/** The distribution of a tensor's values as a few bars. */
function spark(counts: Json[], facts: Json): HTMLElement {
  const most = Math.max(1, ...counts.map(Number).filter(Number.isFinite));
  const range = typeof facts.low === 'number' && typeof facts.high === 'number' ? `from ${numberText(facts.low)} to ${numberText(facts.high)}` : '';
  const odd = [facts.nan ? `${facts.nan} NaN` : '', facts.inf ? `${facts.inf} infinite` : ''].filter(Boolean).join(', ');
  const element = h('span', { class: `spark${odd ? ' odd' : ''}`, role: 'img', 'aria-label': `values ${range}${odd ? `, ${odd}` : ''}`, title: `${range}${odd ? `, ${odd}` : ''}` });
  for (const count of counts.slice(0, 40)) {
    const bar = h('i');
    bar.style.height = `${Math.max(4, (Number(count) / most) * 100 || 0)}%`;
    element.append(bar);
  }
  return element;
}

/** What each line of a cell cost when it ran (`recorder.costs_json`), as shares of the dearest. */
export function measuredCosts(costs: Json, cell: string, lineNow: InspectorHost['lineNow']): { line: number; text: string; share: number; title: string }[] {
  const raw: Json[] = Array.isArray(costs?.lines) ? costs.lines.filter((l: Json) => l && l.cell === cell && typeof l.line === 'number') : [];
  const total = (l: Json) => (Number(l.seconds) || 0) + (Number(l.backward_seconds) || 0);
  const most = Math.max(1e-9, ...raw.map(total));
  return raw.flatMap((l) => {
    const at = lineNow({ file: '', line: l.line, endLine: l.last_line || l.line, column: 0, endColumn: 0, cell, revision: l.revision ?? 0 });
    if (!at) return [];
    const backward = Number(l.backward_seconds) ? `, of it ${secondsText(l.backward_seconds)} in backward` : '';
    return [{ line: at.line, text: secondsText(total(l)), share: total(l) / most, title: `${secondsText(total(l))} in ${l.calls} operator${l.calls === 1 ? '' : 's'}${backward}${costs.complete === false ? ' (the first operators of the cell)' : ''}` }];
  });
}

/** What each line of a cell costs on the tape: bytes kept for backward, as shares of the largest. */
export function lineCosts(graph: Graph | null, cell: string, lineNow: InspectorHost['lineNow']): { line: number; text: string; share: number; title: string }[] {
  const lines = new Map<number, { ops: number; bytes: number }>();
  let most = 0;
  for (const node of graph?.nodes ?? []) {
    if (!node.source || node.kind === 'leaf') continue;
    const at = lineNow(node.source);
    if (!at) continue;
    if (at.cell !== cell) { continue; }
    const sum = lines.get(at.line) ?? { ops: 0, bytes: 0 };
    sum.ops++;
    sum.bytes += node.saved;
    lines.set(at.line, sum);
    most = Math.max(most, sum.bytes);
  }
  return [...lines].map(([line, { ops, bytes }]) => ({ line, text: bytes ? bytesText(bytes) : `${ops}`, share: most ? bytes / most : 0, title: `${ops} operator${ops === 1 ? '' : 's'} on the tape${bytes ? `, ${bytesText(bytes)} kept for backward` : ''}` }));
}

export { numberText };
