// Commands on the cells of the document: moving among them, inserting, deleting, moving, merging, and their menu. What a
// cell looks like stands in `notebook_view.ts`, what an operation does to the document in `document.ts`.
import { ACTIONS, keysOf } from './actions';
import type { App } from './app';
import { menu, type MenuItem, say } from './dialogs';
import { type Cell, type CellType, makeCell, newId } from './document';

export class CellCommands {
  clipboard: Cell[] = [];

  constructor(private app: App) {}

  edit(): void { const cell = this.app.view.current; if (cell) this.app.view.edit(cell.id); }

  go(by: number, extend = false): void {
    const cell = this.app.view.current;
    const next = cell ? this.app.notebook.cells[this.app.notebook.cells.indexOf(cell) + by] : this.app.notebook.cells[0];
    if (next) this.app.view.select(next.id, { extend });
  }

  goEnd(by: number): void { const cell = by < 0 ? this.app.notebook.cells[0] : this.app.notebook.cells.at(-1); if (cell) this.app.view.select(cell.id); }

  insertAt(index: number, type: CellType): void {
    const cell = this.app.notebook.insert(index, makeCell(type));
    this.app.view.edit(cell.id);
  }

  insert(below: 0 | 1): void {
    const at = this.app.view.current ? this.app.notebook.cells.indexOf(this.app.view.current) + below : this.app.notebook.cells.length;
    const cell = this.app.notebook.insert(at, makeCell('code'));
    this.app.view.select(cell.id);
  }

  deleteSelected(): void {
    const cells = this.app.view.selected;
    this.app.notebook.together(() => {
      for (const cell of cells) this.app.notebook.delete(cell);
      if (!this.app.notebook.cells.length) this.app.notebook.insert(0, makeCell('code'));
    });
    const first = this.app.view.current ?? this.app.notebook.cells[0];
    if (first) this.app.view.select(first.id);
    if (cells.some((c) => c.source.trim())) say(cells.length === 1 ? 'Cell deleted.' : `${cells.length} cells deleted.`, { label: 'Undo', act: () => this.undo() });
  }

  undo(): void { this.again(() => this.app.notebook.undo(), 'There is nothing to undo.'); }
  redo(): void { this.again(() => this.app.notebook.redo(), 'There is nothing to do again.'); }

  again(step: () => boolean, none: string): void {
    const before = new Set(this.app.notebook.cells);
    if (!step()) say(none);
    const back = this.app.notebook.cells.find((c) => !before.has(c));
    if (back) this.app.view.select(back.id, { focus: this.app.view.mode === 'command' }); else this.refocus();
  }

  refocus(): void { const cell = this.app.view.current ?? this.app.notebook.cells[0]; if (cell && this.app.view.mode === 'command') this.app.view.select(cell.id); }

  copy(): void {
    this.clipboard = this.app.view.selected.map((c) => structuredClone(c));
    void navigator.clipboard?.writeText(this.clipboard.map((c) => c.source).join('\n\n')).catch(() => undefined);
  }

  paste(below: 0 | 1): void {
    const at = this.app.view.current ? this.app.notebook.cells.indexOf(this.app.view.current) + below : 0;
    const copies = this.clipboard.map((c) => ({ ...structuredClone(c), id: newId(), revision: 0 }));
    this.app.notebook.together(() => copies.forEach((cell, i) => this.app.notebook.insert(at + i, cell)));
    const last = copies.at(-1);
    if (last) this.app.view.select(last.id);
  }

  moveSelected(by: -1 | 1): void {
    const cells = this.app.view.selected, first = this.app.notebook.cells.indexOf(cells[0]!), last = first + cells.length - 1;
    if (by < 0 ? first === 0 : last === this.app.notebook.cells.length - 1) return;
    this.app.notebook.together(() => { if (by < 0) this.app.notebook.move(this.app.notebook.cells[first - 1]!, last); else this.app.notebook.move(this.app.notebook.cells[last + 1]!, first); });
    const cell = this.app.view.current;
    if (cell) this.app.view.view(cell.id)?.element.focus();
  }

  merge(): void {
    let cells = this.app.view.selected;
    if (cells.length === 1) cells = this.app.notebook.cells.slice(this.app.notebook.cells.indexOf(cells[0]!), this.app.notebook.cells.indexOf(cells[0]!) + 2);
    this.app.notebook.merge(cells);
    if (cells[0]) this.app.view.select(cells[0].id);
  }

  split(): void {
    const cell = this.app.view.current, editor = cell ? this.app.view.view(cell.id)?.editor : null;
    if (!cell || !editor) return;
    const below = this.app.notebook.split(cell, editor.cursor);
    this.app.view.edit(below.id, 'start');
  }

  setType(type: CellType): void {
    const cells = this.app.view.selected;
    this.app.notebook.together(() => { for (const cell of cells) this.app.notebook.setType(cell, type); });
    this.refocus();
  }

  cellMenu(cell: Cell, at: HTMLElement): void {
    const item = (name: string): MenuItem => { const a = ACTIONS.find((x) => x.name === name)!; return { label: a.label, keys: keysOf(a), act: () => { this.app.view.select(cell.id); a.act(this.app); } }; };
    menu(at, [item('run'), item('run_above'), item('run_below'), null, item('insert_above'), item('insert_below'), item('move_up'), item('move_down'), item('merge'), null,
      ...(cell.type === 'code' ? [item('to_markdown'), item('toggle_output'), item('clear_output')] : [item('to_code')]), null, item('cut'), item('copy'), item('paste'), { ...item('delete'), danger: true }], 'Cell');
  }
}
