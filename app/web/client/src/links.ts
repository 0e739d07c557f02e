// What is known of the runs of cells (tapes, captures, costs, hints), and how it and the cells point at each other: the line of an
// operator, the operators of a line, what a line cost.
import type { App } from './app';
import { say } from './dialogs';
import { debounce, h, iconButton, remember, remembered } from './dom';
import type { Json } from './document';
import type { Source } from './graph';
import { lineCosts, measuredCosts } from './inspector';
import type { TapeRecord } from './records';

export class Links {
  tapes = new Map<string, TapeRecord>();
  captured: { captures: Json[]; breaks: Json[]; guards: Json[] } = { captures: [], breaks: [], guards: [] };
  costs = new Map<string, Json>();
  hints = new Map<string, Json[]>();
  steps = new Map<string, Json[]>();
  ranSources = new Map<string, Map<number, string>>();
  tapeOf: string | null = null;
  costsLater = debounce(() => this.drawCosts(), 150);

  constructor(private app: App) {}

  nameCell(id: string): string | null {
    const at = this.app.notebook.index(id);
    return at < 0 ? null : `[${this.app.notebook.cells[at]!.count ?? `cell ${at + 1}`}]`;
  }

  lineNow(source: Source): { cell: string; line: number } | null {
    const cell = source.cell ? this.app.notebook.cell(source.cell) : undefined;
    if (!cell) return null;
    const then = this.ranSources.get(cell.id)?.get(source.revision ?? 0);
    if (then === undefined || then === cell.source) return { cell: cell.id, line: source.line };
    const line = then.split('\n')[source.line - 1], now = cell.source.split('\n');
    let best = -1;
    now.forEach((text, i) => { if (text === line && (best < 0 || Math.abs(i + 1 - source.line) < Math.abs(best + 1 - source.line))) best = i; });
    return best < 0 ? null : { cell: cell.id, line: best + 1 };
  }

  lit: string | null = null;

  showSource(source: Source | null, jump: boolean): void {
    if (this.lit) { this.app.view.mark(this.lit, []); this.lit = null; }
    const at = source ? this.lineNow(source) : null;
    if (!source || !at) return;
    this.lit = at.cell;
    const single = source.line === source.endLine;
    this.app.view.mark(at.cell, Array.from({ length: Math.min(60, Math.max(1, source.endLine - source.line + 1)) }, (_, i) => ({ line: at.line + i, kind: 'linked' as const, ...(single ? { from: source.column, to: source.endColumn } : {}) })));
    const element = this.app.view.view(at.cell)?.element;
    if (jump) { this.app.view.goTo(at.cell, at.line); if (innerWidth < 900) this.app.togglePanel(false); }
    else if (element) {
      const box = element.getBoundingClientRect();
      if (box.bottom < 80 || box.top > innerHeight - 60) element.scrollIntoView({ block: 'center' });
    }
  }

  showTape(cell: string | null): void {
    this.tapeOf = cell;
    const tape = cell ? this.tapes.get(cell) : null;
    this.app.inspector.takeSteps((cell && this.steps.get(cell)) || []);
    this.app.inspector.takeTape(tape?.graph ?? null, cell && this.app.runs.get(cell)?.state === 'recorded' ? 'recorded' : '');
    this.costsLater();
  }

  selectionChanged(): void {
    const cell = this.app.view.current;
    if (cell && cell.id !== this.tapeOf && this.tapes.has(cell.id) && !this.app.kernel.running) this.showTape(cell.id);
  }

  drawCosts(): void {
    const graph = this.app.inspector.tapeGraph, lineNow = (s: Source) => this.lineNow(s);
    const measured = this.tapeOf ? this.costs.get(this.tapeOf) : undefined;
    for (const cell of this.app.notebook.cells) {
      if (cell.type !== 'code') continue;
      const own = measured ?? this.costs.get(cell.id);
      const timed = own ? measuredCosts(own, cell.id, lineNow) : [];
      this.app.view.cost(cell.id, timed.length ? timed : lineCosts(graph, cell.id, lineNow));
    }
  }

  /** What a learner may want to hear about the run of a cell, below its outputs. */
  drawHints(id: string): void {
    const view = this.app.view.view(id);
    if (!view) return;
    view.element.querySelector('.hints')?.remove();
    const hints = (this.hints.get(id) ?? []).filter((x) => x && typeof x.text === 'string').slice(0, 6);
    if (!hints.length || this.quietHints) return;
    const list = h('div', { class: 'hints', role: 'note', 'aria-label': 'Hints' }, ...hints.map((x) => h('p', null, h('strong', null, x.text), ' ', String(x.advice ?? ''), ' ',
      typeof x.line === 'number' && x.cell ? h('button', { type: 'button', class: 'place', onclick: () => this.app.view.goTo(String(x.cell), x.line) }, `${this.nameCell(String(x.cell)) ?? 'cell'} line ${x.line}`) : null)),
      iconButton('close', 'Hide these hints', () => list.remove()));
    view.outputArea.after(list);
  }

  quietHints = remembered('hints') === 'off';
  toggleHints(): void {
    this.quietHints = !this.quietHints;
    remember('hints', this.quietHints ? 'off' : 'on');
    for (const id of this.hints.keys()) this.drawHints(id);
    say(this.quietHints ? 'Hints are off.' : 'Hints are on.');
  }
}
