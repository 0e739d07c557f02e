// The cells on the page: one element each, kept in line with the document; selection, modes and drag and drop. What a
// command does stands in `app.ts`.
import { h, icon, iconButton, perFrame, secondsText } from './dom';
import type { Cell, CellType, Notebook } from './document';
import { CellEditor, decorateStill, type LineCost, type LineMark, stillText } from './editor';
import { drawOutputs, type OutputContext } from './outputs';
import { markdown } from './sanitize';

export interface CellRun { state: 'waiting' | 'running' | 'ok' | 'error' | 'interrupted' | 'aborted' | 'died' | 'recorded'; seconds?: number; began?: number; line?: number | null; revision?: number; device?: string }

export interface ViewHost {
  run(cell: Cell): void;
  stop(): void;
  complete(code: string, cursor: number): Promise<{ matches: string[]; start: number; end: number }> | null;
  selected(): void;
  cursor(cell: Cell, line: number): void;
  insert(index: number, type: CellType): void;
  move(cell: Cell, to: number): void;
  menu(cell: Cell, at: HTMLElement): void;
  outputs: OutputContext;
  readonly: boolean;
}

const WORDS: Record<CellType, string> = { code: 'Code', markdown: 'Text', raw: 'Raw text' };

class CellView {
  readonly element: HTMLElement;
  readonly sourceArea = h('div', { class: 'source' });
  readonly outputArea = h('div', { class: 'outputs' });
  private margin = h('div', { class: 'margin' });
  private badge = h('span', { class: 'count' });
  private time = h('span', { class: 'time' });
  private runButton: HTMLButtonElement;
  editor: CellEditor | null = null;
  editing = false;
  run: CellRun | null = null;
  private marks: LineMark[] = [];
  private costs: LineCost[] = [];
  folded = false;
  private shownType: CellType;

  constructor(readonly cell: Cell, private owner: NotebookView) {
    const { host } = owner;
    this.shownType = cell.type;
    this.runButton = h('button', { type: 'button', class: 'run', tabindex: -1, onclick: () => { owner.select(cell.id); if (this.run?.state === 'running') host.stop(); else host.run(cell); } }, icon('play'));
    this.margin.append(this.runButton, this.badge);
    if (!host.readonly) {
      const handle = h('span', { class: 'handle', draggable: 'true', title: 'Drag to move the cell', 'aria-hidden': 'true' }, icon('drag'));
      handle.addEventListener('dragstart', (event) => {
        event.dataTransfer?.setData('application/x-tapescope-cell', cell.id);
        event.dataTransfer?.setDragImage(this.element, 10, 10);
        this.element.classList.add('dragged');
      });
      handle.addEventListener('dragend', () => { this.element.classList.remove('dragged'); owner.endDrag(); });
      this.margin.append(handle);
    }
    const tools = h('div', { class: 'tools' }, host.readonly ? null : iconButton('more', 'Cell menu', (event) => { owner.select(cell.id); host.menu(cell, event.currentTarget as HTMLElement); }, { tabindex: -1 }), this.time);
    this.element = h('section', { class: `cell ${cell.type}`, 'data-id': cell.id, tabindex: -1 }, this.margin, h('div', { class: 'body' }, this.sourceArea, tools, this.outputArea));
    this.element.addEventListener('mousedown', (event) => {
      if ((event.target as HTMLElement).closest('button, a, summary, input')) return;
      owner.select(cell.id, { extend: event.shiftKey, focus: !(event.target as HTMLElement).closest('.source, .outputs') });
    });
    this.element.addEventListener('focusin', () => owner.noticed(cell.id));
    this.sourceArea.addEventListener('mousedown', (event) => {
      if (this.editor || host.readonly || cell.type !== 'code') return;
      if ((event as MouseEvent).button !== 0) return;
      this.open();
      const editor = this.editor as CellEditor | null;
      if (!editor) return;
      const at = editor.view.posAtCoords({ x: event.clientX, y: event.clientY }, false);
      event.preventDefault();
      editor.view.focus();
      editor.view.dispatch({ selection: { anchor: at } });
    });
    this.sourceArea.addEventListener('dblclick', () => { if (cell.type !== 'code') owner.edit(cell.id); });
    this.draw();
  }

  /** A real editor in place of the still text. */
  open(): CellEditor | null {
    const { cell, owner } = this;
    if (owner.host.readonly) return null;
    if (!this.editor) {
      this.sourceArea.replaceChildren();
      this.editor = new CellEditor(this.sourceArea, cell.source, cell.type, `${WORDS[cell.type]} of cell ${owner.number(cell)}`, {
        complete: (code, at) => owner.host.complete(code, at),
        changed: (text) => owner.notebook.setSource(cell, text, this),
        focused: () => owner.entered(this),
        leave: (direction) => owner.leave(direction),
        cursor: (line) => owner.host.cursor(cell, line),
      }, owner.numbered);
      this.editor.mark(this.marks);
      this.editor.cost(this.costs);
    }
    return this.editor;
  }

  /** Draw the source: rendered Markdown, an editor, or still text until the cell comes near the window. */
  draw(): void {
    const { cell, owner } = this;
    if (this.shownType !== cell.type) {
      this.close();
      this.element.classList.remove(this.shownType);
      this.element.classList.add(cell.type);
      this.shownType = cell.type;
      this.editing = false;
    }
    const rendered = cell.type === 'markdown' && !this.editing;
    this.element.classList.toggle('rendered', rendered);
    this.element.classList.toggle('empty', rendered && !cell.source.trim());
    if (rendered) {
      this.close();
      this.sourceArea.replaceChildren(cell.source.trim() ? markdown(cell.source) : h('p', { class: 'quiet' }, 'An empty text cell. Press Enter to write.'));
    } else if (this.editor) this.editor.replace(cell.source);
    else if (this.editing) this.open();
    else {
      this.sourceArea.replaceChildren(stillText(cell.source, cell.type));
      this.decorate();
      if (cell.type === 'code') owner.watch(this.element);
    }
    this.runButton.hidden = cell.type !== 'code' || owner.host.readonly;
    this.label();
  }

  close(): void { this.editor?.destroy(); this.editor = null; }

  drawOutputs(): void {
    if (this.cell.outputs.length === 0 && !this.outputArea.firstChild) return;
    drawOutputs(this.outputArea, this.cell, this.owner.host.outputs);
    this.outputArea.classList.toggle('folded', this.folded);
  }

  label(): void {
    const { cell, run } = this;
    const state = run?.state ?? 'none';
    this.element.dataset.run = state;
    const busy = state === 'running' || state === 'waiting';
    this.badge.textContent = cell.type !== 'code' ? '' : state === 'running' ? '•' : state === 'waiting' ? '…' : cell.count === null ? '' : String(cell.count);
    this.time.textContent = run?.seconds !== undefined && !busy ? secondsText(run.seconds) : state === 'waiting' ? 'waiting' : '';
    if (run?.state === 'recorded') this.time.textContent = this.time.textContent ? `recorded, ${this.time.textContent}` : '';
    const name = state === 'running' ? 'Stop the cell' : 'Run the cell';
    if (this.runButton.title !== name) { // a label is drawn with every output
      this.runButton.replaceChildren(icon(state === 'running' ? 'stop' : 'play'));
      this.runButton.setAttribute('aria-label', name);
      this.runButton.title = name;
    }
    const words = { running: ', running', waiting: ', waiting', error: ', ended with an error', interrupted: ', interrupted', ok: ', done', aborted: ', not run', died: ', lost', recorded: ', recorded', none: '' }[state];
    this.element.setAttribute('aria-label', `${WORDS[cell.type]} cell ${this.owner.number(cell)}${words}`);
  }

  mark(marks: LineMark[]): void { this.marks = marks; if (this.editor) this.editor.mark(marks); else this.decorate(); }
  cost(costs: LineCost[]): void { this.costs = costs; this.element.classList.toggle('has-costs', costs.length > 0); if (this.editor) this.editor.cost(costs); else this.decorate(); }

  private decorate(): void {
    const still = this.sourceArea.querySelector('.still');
    if (still) decorateStill(still, this.marks, this.costs);
  }
}

export class NotebookView {
  readonly element = h('div', { class: 'cells', role: 'group', 'aria-label': 'Cells' });
  notebook!: Notebook;
  numbered = false;
  mode: 'command' | 'edit' = 'command';
  private views = new Map<string, CellView>();
  private selection: { anchor: string; head: string } = { anchor: '', head: '' };
  private unsubscribe: () => void = () => undefined;
  private near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const view = this.views.get((entry.target as HTMLElement).dataset.id ?? '');
      if (!entry.isIntersecting || !view) continue;
      this.near.unobserve(entry.target);
      if (view.cell.type === 'code' && !view.editor) this.opening.push(view);
    }
    this.openSome();
  }, { rootMargin: '600px' });
  private opening: CellView[] = [];
  private pendingOutputs = new Set<Cell>();
  private drawPending = perFrame(() => {
    for (const cell of this.pendingOutputs) { const view = this.views.get(cell.id); view?.label(); view?.drawOutputs(); }
    this.pendingOutputs.clear();
  });
  private dropLine = h('div', { class: 'drop-line', hidden: true });

  constructor(readonly host: ViewHost) {
    this.element.addEventListener('dragover', (event) => this.dragOver(event));
    this.element.addEventListener('drop', (event) => this.drop(event));
    this.element.addEventListener('dragleave', (event) => { if (event.target === this.element) this.endDrag(); });
  }

  /** Editors are made a few at a time, so that the first paint does not wait for them. */
  private openSome(): void {
    if (!this.opening.length || this.host.readonly) return;
    const idle = (window.requestIdleCallback as typeof window.requestIdleCallback | undefined) ?? ((f: () => void) => setTimeout(f, 30));
    idle(() => {
      for (const view of this.opening.splice(0, 3)) if (this.views.get(view.cell.id) === view) view.open();
      this.openSome();
    });
  }

  watch(element: HTMLElement): void { if (!this.host.readonly) this.near.observe(element); }

  show(notebook: Notebook, runs: Map<string, CellRun>): void {
    this.unsubscribe();
    this.notebook = notebook;
    for (const view of this.views.values()) view.close();
    this.near.disconnect();
    this.views.clear();
    this.element.replaceChildren(this.dropLine);
    this.mode = 'command';
    for (const cell of notebook.cells) this.add(cell, null);
    for (const [id, run] of runs) this.setRun(id, run);
    this.unsubscribe = notebook.subscribe((change, origin) => {
      if (change.kind === 'reset') { this.show(this.notebook, new Map()); return; }
      const view = this.views.get(change.cell.id);
      switch (change.kind) {
        case 'insert': this.add(change.cell, this.element.querySelectorAll(':scope > .cell')[change.index] ?? null); this.renumber(); break;
        case 'delete':
          view?.close();
          view?.element.remove();
          this.views.delete(change.cell.id);
          if (this.selection.head === change.cell.id || this.selection.anchor === change.cell.id) {
            const next = notebook.cells[Math.min(change.index, notebook.cells.length - 1)];
            if (next) this.select(next.id, { focus: this.mode === 'command' });
          }
          this.renumber();
          break;
        case 'move': {
          const others = [...this.element.querySelectorAll<HTMLElement>(':scope > .cell')].filter((e) => e !== view?.element);
          this.element.insertBefore(view!.element, others[change.index] ?? null);
          this.renumber();
          break;
        }
        case 'source': if (view && origin !== view) view.draw(); break;
        case 'type': view?.draw(); view?.drawOutputs(); break;
        case 'outputs': this.pendingOutputs.add(change.cell); this.drawPending(); break;
      }
    });
    const first = notebook.cells[0];
    if (first) this.select(first.id, { focus: !document.querySelector('dialog[open]'), scroll: false });
  }

  private add(cell: Cell, before: Element | null): void {
    const view = new CellView(cell, this);
    this.views.set(cell.id, view);
    this.element.insertBefore(view.element, before);
    view.drawOutputs();
  }

  private renumber(): void { for (const view of this.views.values()) view.label(); }
  number(cell: Cell): number { return this.notebook.cells.indexOf(cell) + 1; }
  view(id: string): CellView | undefined { return this.views.get(id); }
  setNumbered(on: boolean): void { this.numbered = on; for (const view of this.views.values()) view.editor?.numbered(on); }

  // -- selection and modes --------------------------------------------------------------------------------------------

  get current(): Cell | undefined { return this.notebook.cell(this.selection.head); }

  /** The selected cells, top to bottom. */
  get selected(): Cell[] {
    const a = this.notebook.index(this.selection.anchor), b = this.notebook.index(this.selection.head);
    if (b < 0) return [];
    return this.notebook.cells.slice(Math.min(a < 0 ? b : a, b), Math.max(a, b) + 1);
  }

  select(id: string, { extend = false, focus = true, scroll = true }: { extend?: boolean; focus?: boolean; scroll?: boolean } = {}): void {
    if (!this.views.has(id)) return;
    this.selection = { anchor: extend && this.views.has(this.selection.anchor) ? this.selection.anchor : id, head: id };
    this.paintSelection();
    const view = this.views.get(id)!;
    if (focus) {
      this.become('command');
      view.element.focus({ preventScroll: true });
      if (scroll) view.element.scrollIntoView({ block: 'nearest' });
    }
    this.host.selected();
  }

  private paintSelection(): void {
    const chosen = new Set(this.selected.map((c) => c.id));
    for (const [id, view] of this.views) {
      view.element.classList.toggle('selected', chosen.has(id));
      view.element.classList.toggle('current', id === this.selection.head);
      view.element.tabIndex = id === this.selection.head ? 0 : -1;
    }
  }

  /** The focus came to a cell by itself (a click, Tab). */
  noticed(id: string): void {
    if (this.selection.head === id) return;
    this.selection = { anchor: id, head: id };
    this.paintSelection();
    this.host.selected();
  }

  private become(mode: 'command' | 'edit'): void {
    this.mode = mode;
    this.element.dataset.mode = mode;
  }

  edit(id: string, place?: 'start' | 'end' | { line: number }): void {
    const view = this.views.get(id);
    if (!view || this.host.readonly) return;
    if (view.cell.type !== 'code' && !view.editing) { view.editing = true; view.draw(); }
    this.selection = { anchor: id, head: id };
    this.paintSelection();
    view.open()?.focus(place);
  }

  entered(view: CellView): void {
    this.selection = { anchor: view.cell.id, head: view.cell.id };
    this.paintSelection();
    this.become('edit');
    this.host.selected();
  }

  /** From the text of a cell to the cells (0), or into the text of the neighbour. */
  leave(direction: -1 | 0 | 1): void {
    const cell = this.current;
    if (!cell) return;
    this.notebook.checkpoint();
    if (direction === 0) { this.select(cell.id); return; }
    const next = this.notebook.cells[this.notebook.cells.indexOf(cell) + direction];
    if (!next) return;
    if (next.type === 'code') this.edit(next.id, direction > 0 ? 'start' : 'end');
    else this.select(next.id);
  }

  /** Show a text cell as text again. */
  render(cell: Cell): void {
    const view = this.views.get(cell.id);
    if (!view || cell.type === 'code') return;
    view.editing = false;
    view.draw();
  }

  // -- facts about runs -------------------------------------------------------------------------------------------------

  setRun(id: string, run: CellRun | null): void {
    const view = this.views.get(id);
    if (!view) return;
    view.run = run;
    view.label();
  }

  mark(id: string, marks: LineMark[]): void { this.views.get(id)?.mark(marks); }
  unmark(): void { for (const view of this.views.values()) view.mark([]); }
  cost(id: string, costs: LineCost[]): void { this.views.get(id)?.cost(costs); }

  toggleOutput(cell: Cell): void {
    const view = this.views.get(cell.id);
    if (!view) return;
    view.folded = !view.folded;
    view.outputArea.classList.toggle('folded', view.folded);
  }

  /** Scroll to a line of a cell and put the cursor there. */
  goTo(id: string, line: number, edit = true): void {
    const view = this.views.get(id);
    if (!view) return;
    view.element.scrollIntoView({ block: 'nearest' });
    if (edit && view.cell.type === 'code' && !this.host.readonly) this.edit(id, { line });
    else this.select(id);
  }

  // -- drag and drop --------------------------------------------------------------------------------------------------------

  private gapAt(y: number): number {
    const cells = [...this.element.querySelectorAll<HTMLElement>(':scope > .cell')];
    const at = cells.findIndex((e) => { const box = e.getBoundingClientRect(); return y < box.top + box.height / 2; });
    return at < 0 ? cells.length : at;
  }

  private dragOver(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes('application/x-tapescope-cell')) return;
    event.preventDefault();
    const gap = this.gapAt(event.clientY);
    const cells = [...this.element.querySelectorAll<HTMLElement>(':scope > .cell')];
    const box = this.element.getBoundingClientRect();
    const y = gap < cells.length ? cells[gap]!.getBoundingClientRect().top : cells.at(-1)!.getBoundingClientRect().bottom;
    this.dropLine.hidden = false;
    this.dropLine.style.top = `${y - box.top - 1}px`;
  }

  private drop(event: DragEvent): void {
    const id = event.dataTransfer?.getData('application/x-tapescope-cell');
    this.endDrag();
    const cell = id ? this.notebook.cell(id) : undefined;
    if (!cell) return;
    event.preventDefault();
    const gap = this.gapAt(event.clientY), from = this.notebook.cells.indexOf(cell);
    this.host.move(cell, gap > from ? gap - 1 : gap);
  }

  endDrag(): void { this.dropLine.hidden = true; }
}
