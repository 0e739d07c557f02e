// The notebook as a document: cells, the operations on them, undo, and who hears of changes. The kernel never touches
// it: outputs come in through `outputs.ts` and are no steps of undo.

export type CellType = 'code' | 'markdown' | 'raw';
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;
export type Output = Record<string, Json>;

export interface Cell {
  id: string;
  type: CellType;
  source: string;
  outputs: Output[];
  count: number | null;
  metadata: Record<string, Json>;
  extra: Record<string, Json>;
  revision: number;
}

export type Change =
  | { kind: 'insert' | 'delete' | 'move' | 'source' | 'type' | 'outputs'; cell: Cell; index: number; from?: unknown }
  | { kind: 'reset' };

interface Step { redo(): void; undo(): void; edits?: string }

export const newId = (): string => [...crypto.getRandomValues(new Uint8Array(4))].map((b) => b.toString(16).padStart(2, '0')).join('');

export const makeCell = (type: CellType, source = ''): Cell => ({
  id: newId(), type, source, outputs: [], count: null, metadata: {}, extra: {}, revision: 0,
});

export class Notebook {
  cells: Cell[] = [];
  metadata: Record<string, Json> = {};
  extra: Record<string, Json> = {};
  header = '';
  private done: Step[][] = [];
  private undone: Step[][] = [];
  private group: Step[] | null = null;
  private open = false; // whether further typing in the same cell joins the last step
  private listeners = new Set<(change: Change, origin: unknown) => void>();

  constructor(cells: Cell[] = []) { this.cells = cells; }

  subscribe(listener: (change: Change, origin: unknown) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private tell(change: Change, origin?: unknown): void {
    for (const listener of this.listeners) listener(change, origin);
  }

  cell(id: string): Cell | undefined { return this.cells.find((c) => c.id === id); }
  index(id: string): number { return this.cells.findIndex((c) => c.id === id); }

  /** Several operations as one step of undo. */
  together(action: () => void): void {
    if (this.group) return action();
    this.group = [];
    try { action(); } finally {
      if (this.group.length) { this.done.push(this.group); this.undone = []; this.open = false; }
      this.group = null;
    }
  }

  private perform(step: Step): void {
    step.redo();
    if (this.group) this.group.push(step);
    else { this.done.push([step]); this.undone = []; }
    this.open = step.edits !== undefined && !this.group;
  }

  /** The next edit of text is a step of its own. */
  checkpoint(): void { this.open = false; }

  private put(index: number, cell: Cell): void {
    this.cells.splice(index, 0, cell);
    this.tell({ kind: 'insert', cell, index });
  }

  private take(cell: Cell): void {
    const index = this.cells.indexOf(cell);
    this.cells.splice(index, 1);
    this.tell({ kind: 'delete', cell, index });
  }

  insert(index: number, cell: Cell): Cell {
    this.perform({ redo: () => this.put(index, cell), undo: () => this.take(cell) });
    return cell;
  }

  delete(cell: Cell): void {
    let index = this.cells.indexOf(cell);
    this.perform({ redo: () => { index = this.cells.indexOf(cell); this.take(cell); }, undo: () => this.put(index, cell) });
  }

  move(cell: Cell, to: number): void {
    const from = this.cells.indexOf(cell);
    if (from === to || to < 0 || to >= this.cells.length) return;
    const go = (index: number) => {
      this.cells.splice(this.cells.indexOf(cell), 1);
      this.cells.splice(index, 0, cell);
      this.tell({ kind: 'move', cell, index });
    };
    this.perform({ redo: () => go(to), undo: () => go(from) });
  }

  /** Replace the text of a cell; `origin` is handed to listeners, so that an editor knows its own typing. */
  setSource(cell: Cell, source: string, origin?: unknown): void {
    if (cell.source === source) return;
    const last = this.done.at(-1)?.at(-1);
    const write = (text: string, from?: unknown) => {
      cell.source = text;
      cell.revision++;
      this.tell({ kind: 'source', cell, index: this.cells.indexOf(cell) }, from);
    };
    if (this.open && !this.group && last?.edits === cell.id) {
      last.redo = () => write(source);
      this.undone = [];
      write(source, origin);
      return;
    }
    const before = cell.source;
    let first = true;
    this.perform({ redo: () => { write(source, first ? origin : undefined); first = false; }, undo: () => write(before), edits: cell.id });
  }

  setType(cell: Cell, type: CellType): void {
    if (cell.type === type) return;
    const before = { type: cell.type, outputs: cell.outputs, count: cell.count };
    const tell = () => this.tell({ kind: 'type', cell, index: this.cells.indexOf(cell) });
    this.perform({
      redo: () => { cell.type = type; if (type !== 'code') { cell.outputs = []; cell.count = null; } tell(); },
      undo: () => { Object.assign(cell, before); tell(); },
    });
  }

  /** Cut a cell in two at a character; the upper one keeps id and outputs. */
  split(cell: Cell, offset: number): Cell {
    let [upper, lower] = [cell.source.slice(0, offset), cell.source.slice(offset)];
    if (lower.startsWith('\n')) lower = lower.slice(1);
    else if (upper.endsWith('\n')) upper = upper.slice(0, -1);
    const below = makeCell(cell.type, lower);
    this.together(() => { this.setSource(cell, upper); this.insert(this.cells.indexOf(cell) + 1, below); });
    return below;
  }

  merge(cells: Cell[]): void {
    const [first, ...others] = cells;
    if (!first || !others.length) return;
    this.together(() => {
      this.setSource(first, cells.map((c) => c.source).join('\n'));
      for (const cell of others) this.delete(cell);
    });
  }

  outputsChanged(cell: Cell): void { this.tell({ kind: 'outputs', cell, index: this.cells.indexOf(cell) }); }

  get canUndo(): boolean { return this.done.length > 0; }
  get canRedo(): boolean { return this.undone.length > 0; }

  undo(): boolean {
    const steps = this.done.pop();
    if (!steps) return false;
    for (const step of [...steps].reverse()) step.undo();
    this.undone.push(steps);
    this.open = false;
    return true;
  }

  redo(): boolean {
    const steps = this.undone.pop();
    if (!steps) return false;
    for (const step of steps) step.redo();
    this.done.push(steps);
    this.open = false;
    return true;
  }
}
