// The panel beside the cells: Tape, Graph, Breaks, Kernels, Variables, Device. It draws records; where a record belongs
// in the cells is asked of the host, both ways.
import { append, bytesText, h, iconButton, perFrame, secondsText } from './dom';
import { type Choice, choices } from './captured';
import type { Json } from './document';
import { count, type Graph, type Layouts, numberText, readSource } from './graph';
import { GraphPane, type PaneHost } from './graph_pane';

export interface DeviceFacts { facts?: [string, string][]; state: string; device: string; python: string; torch: string; isolated: boolean; native?: boolean; webgpu: string; reason: string }

const TABS = [['tape', 'Tape'], ['graph', 'Graph'], ['breaks', 'Breaks'], ['kernels', 'Kernels'], ['variables', 'Variables'], ['device', 'Device']] as const;
export type Tab = (typeof TABS)[number][0];

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
  private growing: Graph | null = null;
  private drawGrowing = perFrame(() => { if (this.growing) this.tape.take(this.growing, 'live'); this.growing = null; });
  private picked: string | null = null; // the graph that somebody chose
  private shown = ''; // the graph that is there
  private late = new Map<Tab, () => void>(); // tabs that have something new to draw when they are looked at

  constructor(private host: PaneHost, layouts: Layouts, onClose: () => void) {
    const bar = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Panel' });
    this.element = h('aside', { class: 'inspector', 'aria-label': 'What the machine did' });
    this.tape = new GraphPane(host, layouts, 'Run a cell that computes with tensors that need gradients. Every operator it records appears here, with its line, its shape and what it keeps for backward.', true);
    this.graph = new GraphPane(host, layouts, 'Wrap a function in torch.compile and call it: what was captured of it appears here as a graph, with its breaks and its kernels.', false);
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
    this.late.get(tab)?.();
    this.late.delete(tab);
    if (tab === 'graph') this.graph.refresh();
    if (tab === 'tape') { this.tape.setMode(this.tapeMode); if (this.growing) this.drawGrowing(); }
  }

  /** Draw a tab now where it is looked at, and with the next look elsewhere. */
  private soon(tab: Tab, draw: () => void): void {
    if (this.tab === tab) draw(); else this.late.set(tab, draw);
  }

  private get tapeMode(): 'outline' | 'picture' { return this.tape.element.querySelector('[aria-pressed=true]')?.textContent === 'Picture' ? 'picture' : 'outline'; }

  setTapeMode(mode: 'outline' | 'picture'): void { this.tape.setMode(mode); }
  focus(): void {
    if (this.tab === 'tape') this.tape.focus();
    else if (this.tab === 'graph') this.graph.focus();
    if (!this.panels.get(this.tab)!.contains(document.activeElement)) this.buttons.get(this.tab)!.focus(); // nothing to walk in yet
  }

  /** Show a tape. One of a cell that still runs is drawn with the next frame, and only while somebody looks at tapes. */
  takeTape(tape: Graph | null, note = ''): void {
    this.growing = note === 'live' ? tape : null;
    if (!this.growing) this.tape.take(tape, note);
    else if (this.tab === 'tape' && !document.hidden) this.drawGrowing();
  }
  /** A cell has another number now. */
  renamed(): void { if (!this.growing) this.tape.redraw(); }
  takeSteps(steps: Json[]): void { this.tape.takeSteps(steps); }
  get tapeGraph(): Graph | null { return this.tape.graph; }
  markLine(cell: string, line: number): void { this.tape.markLine(cell, line); this.graph.markLine(cell, line); }

  /** What `torch.compile` captured (`observe.capture_json`, the newest last), where it broke, and which guards failed. */
  takeCaptures(captures: Json[], breaks: Json[] = [], guards: Json[] = []): void {
    this.captures = captures.filter((c) => c && Array.isArray(c.segments));
    this.breaks = breaks.filter((b) => b && typeof b === 'object');
    this.guards = guards.filter((g) => g && typeof g === 'object');
    this.kernels = this.captures.flatMap((c) => c.segments.filter((s: Json) => s?.kernels).map((s: Json) => ({ ...s.kernels, function: c.function })));
    this.soon('graph', () => this.drawGraph());
    this.soon('breaks', () => this.drawBreaks());
    this.soon('kernels', () => this.drawKernels());
  }

  /** The graph tab: what can be looked at, and of it what was chosen, else the function that was captured last. */
  private drawGraph(): void {
    const all = choices(this.captures.slice(-60)), newest = all.findLast((c) => c.key.endsWith('|whole'));
    const now = all.find((c) => c.key === this.picked) ?? newest;
    const groups = new Map<string, Choice[]>();
    for (const choice of [...all].reverse()) groups.set(choice.functionName, [choice, ...(groups.get(choice.functionName) ?? [])]);
    const pick = h('select', { 'aria-label': 'Which graph', onchange: () => { this.picked = pick.value; this.drawGraph(); } }, ...[...groups].map(([name, own]) => h('optgroup', { label: name }, ...own.map((c) => h('option', { value: c.key, selected: c === now }, `${name}: ${c.label}`)))));
    pick.addEventListener('keydown', (event) => event.stopPropagation());
    const old = this.graph.picks.querySelector('select');
    const focused = old !== null && old === document.activeElement;
    this.graph.picks.replaceChildren(pick);
    this.graph.picks.hidden = !all.length;
    if (focused) pick.focus();
    this.graph.take(now?.graph() ?? null, '', now?.key !== this.shown);
    this.shown = now?.key ?? '';
  }

  /** Show a graph of the graph tab, and in it a node. */
  private showGraph(key: string, node: string): void {
    this.picked = key;
    this.soon('graph', () => this.drawGraph());
    this.show('graph');
    this.graph.reveal(node);
  }

  private place(raw: Json): HTMLElement | string {
    const source = readSource(raw);
    const where = source ? this.host.lineNow(source) : null;
    return where && source ? h('button', { type: 'button', class: 'place', onclick: () => this.host.show(source, true) }, `${this.host.nameCell(where.cell) ?? 'cell'} line ${where.line}`) : '';
  }

  private drawBreaks(): void {
    const pane = this.panels.get('breaks')!.firstElementChild!;
    const inside = this.captures.flatMap((c) => c.segments.filter((s: Json) => s?.exit?.break).map((s: Json) => ({ function: c.function, segment: s.id, ...s.exit.break })));
    const breaks = this.breaks.length ? this.breaks : inside;
    const again = this.guards.length ? this.guards : this.captures.flatMap((c) => (Array.isArray(c.recompiles) ? c.recompiles.map((r: Json) => ({ function: c.function, ...r })) : []));
    if (!breaks.length && !again.length) {
      pane.replaceChildren(h('p', { class: 'empty' }, this.captures.length ? 'No breaks: each function was captured whole.' : 'Where torch.compile cannot go on, the graph breaks. Each break appears here, with its reason and how to mend it.'));
      return;
    }
    const times = (n: Json) => (typeof n === 'number' && n > 1 ? ` · ${n} times` : '');
    pane.replaceChildren(h('div', { class: 'cards', tabindex: 0, role: 'region', 'aria-label': 'Graph breaks' },
      ...breaks.map((b) => h('article', { class: 'card' }, h('h3', null, String(b.reason ?? b.break_id ?? b.id)), h('p', { class: 'quiet' }, `${b.function ?? ''} · ${b.category ?? ''}${times(b.count)} `, this.place(b.source), ' ', this.inGraph(b)), b.hint ? h('p', null, String(b.hint)) : null)),
      ...again.map((r) => h('article', { class: 'card' }, h('h3', null, 'Captured again'), h('p', { class: 'quiet' }, `${r.function ?? ''}${times(r.count)} `, this.place(r.source)), h('p', null, `${r.guard}: ${r.old} before, ${r.new} now`), Array.isArray(r.dimension) && this.host.mark ? h('button', { type: 'button', onclick: () => this.host.mark!(r) }, 'One graph for all sizes…') : null))));
  }

  /** A button that shows a break in the graph of its function, where that was captured. */
  private inGraph(b: Json): HTMLElement | null {
    const capture = this.captures.findLast((c) => c.function === b.function);
    const segment = capture?.segments.find((s: Json) => String(s?.id) === String(b.segment));
    return segment ? h('button', { type: 'button', class: 'place', onclick: () => this.showGraph(`${b.function}|whole`, `${segment.id}:<exit>`) }, 'in the graph') : null;
  }

  /** Kernels that a device launched for eager operators (`recorder.costs_json`). */
  takeLaunched(kernels: Json[]): void {
    this.launched = kernels.filter((k) => k && typeof k === 'object');
    this.soon('kernels', () => this.drawKernels());
  }

  private drawKernels(): void {
    const pane = this.panels.get('kernels')!.firstElementChild!;
    const compiled: Json[] = this.kernels.flatMap((k) => (Array.isArray(k.kernels) ? k.kernels.map((one: Json) => ({ ...one, function: k.function })) : [])), names = new Set(compiled.map((k) => k.name));
    const all = [...compiled, ...this.launched.filter((k) => !names.has(k.name))]; // a compiled kernel tells its launches itself
    if (!all.length) { pane.replaceChildren(h('p', { class: 'empty' }, 'Kernels that torch.compile generates appear here in launch order, with their text and the lines they come from.')); return; }
    const longest = Math.max(...all.map((k: Json) => k.seconds ?? 0)) || 1;
    pane.replaceChildren(h('div', { class: 'cards', tabindex: 0, role: 'region', 'aria-label': 'Kernels' }, ...all.slice(0, 400).map((k: Json) => {
      const bar = h('span', { class: 'bar' });
      bar.style.setProperty('--share', String((k.seconds ?? 0) / longest));
      return h('details', { class: 'card' }, h('summary', null, h('strong', null, String(k.name)), h('span', { class: 'quiet' }, ` ${k.function ? `${k.function} · ` : ''}${k.language ?? k.op ?? ''}${Array.isArray(k.nodes) ? ` · ${count(k.nodes.length, 'operator')}` : ''}${k.launches ? ` · ${count(Number(k.launches), 'launch', 'launches')}` : ''}${k.seconds ? ` · ${secondsText(k.seconds)}` : ''}${k.bytes ? ` · ${bytesText(k.bytes).replace(' ', '\u00a0')}` : ''}`), bar),
        h('p', null, ...(Array.isArray(k.sources) ? k.sources : []).slice(0, 8).map((s: Json) => this.place(s))), h('pre', { class: 'text' }, String(k.text ?? '')));
    }), ...this.kernels.flatMap((k) => (Array.isArray(k.refused) ? k.refused : []).slice(0, 50)).map((r: Json) => h('p', { class: 'quiet' }, `${r.first} and ${r.second} were not fused: ${r.reason}`))));
  }

  takeVariables(variables: Json[]): void {
    this.variables = variables;
    this.soon('variables', () => this.drawVariables());
  }

  private drawVariables(): void {
    const { variables } = this;
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
      ['Kernel', facts.state], ['Computes on', facts.device || 'not known yet'], ...(facts.native ? [] : [['WebGPU', facts.webgpu] as [string, string]]),
      ['Python', facts.python ? `${facts.python} ${facts.native ? 'native: a process of this machine' : 'in this page (WebAssembly)'}` : 'starts with the first cell'], ['import torch', facts.torch || 'Tapescope’s engine'],
      [facts.native ? 'Stopping' : 'Isolation', facts.native ? 'by a signal; a new process where that does not help' : facts.isolated ? 'on: cells can be stopped, values are read while Python waits' : 'off: stopping a cell restarts Python'],
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
  for (const high of counts.slice(0, 40)) {
    const bar = h('i');
    bar.style.height = `${Math.max(4, (Number(high) / most) * 100 || 0)}%`;
    element.append(bar);
  }
  return element;
}

/** What each line of a cell cost when it ran (`recorder.costs_json`), as shares of the dearest. */
export function measuredCosts(costs: Json, cell: string, lineNow: PaneHost['lineNow']): { line: number; text: string; share: number; title: string }[] {
  const raw: Json[] = Array.isArray(costs?.lines) ? costs.lines.filter((l: Json) => l && l.cell === cell && typeof l.line === 'number') : [];
  const total = (l: Json) => (Number(l.seconds) || 0) + (Number(l.backward_seconds) || 0);
  const most = Math.max(1e-9, ...raw.map(total));
  return raw.flatMap((l) => {
    const at = lineNow({ file: '', line: l.line, endLine: l.last_line || l.line, column: 0, endColumn: 0, cell, revision: l.revision ?? 0 });
    if (!at) return [];
    const backward = Number(l.backward_seconds) ? `, of it ${secondsText(l.backward_seconds)} in backward` : '';
    return [{ line: at.line, text: secondsText(total(l)), share: total(l) / most, title: `${secondsText(total(l))} in ${count(l.calls, 'operator')}${backward}${costs.complete === false ? ' (the first operators of the cell)' : ''}` }];
  });
}

/** What each line of a cell costs on the tape: bytes kept for backward, as shares of the largest. */
export function lineCosts(graph: Graph | null, cell: string, lineNow: PaneHost['lineNow']): { line: number; text: string; share: number; title: string }[] {
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
