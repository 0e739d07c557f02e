// One graph in the panel, as an outline and as a picture: search, folding, the details of a node, the walk of backward and
// the steps of a run. Where a node belongs in the cells is asked of the host.
import { append, bytesText, clear, debounce, h, iconButton } from './dom';
import type { Json } from './document';
import { count, type Graph, type GraphNode, type Layouts, outline, readSource, type Row, type Scope, type Source } from './graph';
import { search } from './search';
import { GraphCanvas } from './graph_canvas';
import { RowList } from './row_list';

export interface PaneHost {
  nameCell(id: string): string | null;
  /** Where a source range of a run is in the text of now; null where it is gone. */
  lineNow(source: Source): { cell: string; line: number } | null;
  show(source: Source | null, jump: boolean): void;
  /** Offer to mark a size as dynamic that made a function be captured again; not where nothing can be written. */
  mark?(recompile: Json): void;
}

/** One graph as outline and picture, with search, folding, the details of a node, and the walk of backward. */
export class GraphPane {
  readonly element = h('div', { class: 'pane' });
  graph: Graph | null = null;
  private folded = new Set<string>();
  private rows: Row[] = [];
  private list: RowList;
  private canvas: GraphCanvas;
  private details = h('div', { class: 'details', 'aria-live': 'polite' });
  private find = h('input', { type: 'search', title: 'A part of an operator, a name, a module or a function; [64, 10] or 64x10; :12 or line:12; op:… or name:…; before:… and after:… a node; path:a..b; top:bytes (saved, gradient, seconds, share)', placeholder: 'Search: linear, [*, 10], top:saved', 'aria-label': 'Search the operators' });
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
  /** Where to choose between graphs; whoever owns the pane fills it. */
  readonly picks = h('div', { class: 'graph-picks', hidden: true });

  constructor(private host: PaneHost, layouts: Layouts, words: string, private backward: boolean) {
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
    this.canvas = new GraphCanvas({ chose: (key) => this.choose(key, false, 'canvas'), folded: (key) => { this.toggle(key); this.redraw(); } }, layouts);
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
      this.picks, this.summary, this.stepRow, this.scrub, this.body, this.details, this.empty,
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

  /** Show a graph; `fresh` is one that has nothing to do with the one before. */
  take(graph: Graph | null, note = '', fresh = false): void {
    const known = this.graph?.scopes;
    // One that shares no module with the one before is another model's.
    const first = graph !== null && (fresh || this.graph === null || (graph.scopes.size > 1 && ![...graph.scopes.keys()].some((key) => key && known?.has(key))));
    this.graph = graph;
    if (fresh) { this.folded = new Set(graph?.closed); this.found.clear(); this.find.value = ''; this.chosen = null; clear(this.details); this.canvas.forget(); }
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
    const saved = graph.nodes.reduce((sum, n) => sum + n.saved, 0), leaves = graph.nodes.filter((n) => n.kind === 'leaf').length, operators = graph.nodes.filter((n) => n.kind === 'op').length;
    this.summary.textContent = [note, count(operators, 'operator'), leaves ? `${leaves} ${this.backward ? 'parameters' : 'inputs'}` : '', saved ? `${bytesText(saved)} kept for backward` : '', ...graph.notes].filter(Boolean).join(' · ');
  }

  /** Draw the rows anew, as after folding, and where a cell that they name got its number. */
  redraw(): void {
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
    const element = h('div', { role: 'treeitem', class: `row${row.scope ? ' scope' : ''}${row.node && row.node.kind !== 'op' ? ` ${row.node.kind}` : ''}${marked ? ' marked' : ''}${passed ? ' visited' : ''}`, 'aria-level': row.depth + 1 });
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
    } else if (scope) {
      const facts = scope.facts, where = facts?.source ? this.host.lineNow(facts.source) : null;
      append(this.details, [h('h3', null, scope.name), h('p', { class: 'quiet' }, `${count(scope.nodes, 'node')}. ${this.folded.has(scope.key) ? 'Folded: press → or Enter in the picture to open it.' : ''}`),
        facts ? h('dl', null, ...facts.details.map(([a, b]) => [h('dt', null, a), h('dd', null, b)]), where ? [h('dt', null, 'Line'), h('dd', null, h('button', { type: 'button', class: 'place', onclick: () => this.host.show(facts.source, true) }, `${this.host.nameCell(where.cell) ?? 'cell'} line ${where.line}`))] : null) : null,
        facts?.text ? h('pre', { class: 'text' }, facts.text) : null]);
      if (facts?.source && from !== 'host') this.host.show(facts.source, jump);
    }
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
    const places = new Map(this.rows.map((row, i) => [row.key, i]));
    const hits = [...this.found].flatMap((id) => places.get(id) ?? []); // in the order of the search: the largest first, where it asks for that
    if (!hits.length) return;
    const now = hits.indexOf(this.list.cursor), after = hits.findIndex((i) => i > this.list.cursor);
    const to = step === 0 ? hits[0]! : now >= 0 ? hits.at((now + step) % hits.length)! : hits.at(step > 0 ? Math.max(0, after) : after < 0 ? -1 : after - 1)!;
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

  /** Draw again, after the pane was out of sight. */
  refresh(): void { this.redraw(); }

  /** Choose a node or a scope from outside, opening what hides it. */
  reveal(key: string): void {
    for (let s: Scope | null = this.graph?.byId.get(key)?.scope ?? this.graph?.scopes.get(key)?.parent ?? null; s; s = s.parent) this.folded.delete(s.key);
    this.redraw();
    this.choose(key, false, 'scrub');
  }

  focus(): void { (this.mode === 'outline' ? this.list.element : this.canvas.element.querySelector('canvas')!).focus(); }
}
