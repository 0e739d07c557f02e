// Find and replace through all cells, as a bar above them.
import { append, h, iconButton } from './dom';
import type { Cell, Notebook } from './document';

export interface Hit { cell: Cell; from: number; to: number }

export class FindBar {
  readonly element = h('div', { class: 'find-bar', role: 'search', 'aria-label': 'Find and replace', hidden: true });
  private query = h('input', { type: 'text', placeholder: 'Find', 'aria-label': 'Find' });
  private replacement = h('input', { type: 'text', placeholder: 'Replace by', 'aria-label': 'Replace by' });
  private matchCase = h('input', { type: 'checkbox' });
  private regular = h('input', { type: 'checkbox' });
  private told = h('output', { class: 'quiet' });
  private hits: Hit[] = [];
  private at = -1;

  constructor(private notebook: () => Notebook, private show: (hit: Hit) => void, private closed: () => void) {
    append(this.element, [this.query, this.replacement,
      h('label', { title: 'Capital letters count' }, this.matchCase, 'Aa'), h('label', { title: 'Regular expression' }, this.regular, '.*'), this.told,
      iconButton('up', 'Previous', () => this.step(-1)), iconButton('down', 'Next', () => this.step(1)),
      h('button', { type: 'button', onclick: () => this.replace(false) }, 'Replace'), h('button', { type: 'button', onclick: () => this.replace(true) }, 'Replace all'),
      iconButton('close', 'Close', () => this.close())]);
    for (const input of [this.query, this.matchCase, this.regular]) input.addEventListener('input', () => { this.search(); this.at = -1; this.step(1, false); });
    this.element.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.key === 'Escape') this.close();
      else if (event.key === 'Enter' && event.target === this.query) { event.preventDefault(); this.step(event.shiftKey ? -1 : 1); }
      else if (event.key === 'Enter' && event.target === this.replacement) { event.preventDefault(); this.replace(false); }
    });
  }

  open(start = ''): void {
    this.element.hidden = false;
    if (start && !start.includes('\n')) this.query.value = start;
    this.query.focus();
    this.query.select();
    this.search();
  }

  close(): void { this.element.hidden = true; this.closed(); }

  private pattern(): RegExp | null {
    if (!this.query.value) return null;
    try {
      return new RegExp(this.regular.checked ? this.query.value : this.query.value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), this.matchCase.checked ? 'g' : 'gi');
    } catch (error) {
      this.told.textContent = (error as Error).message.replace(/^.*: /, '');
      return null;
    }
  }

  private search(): void {
    this.hits = [];
    this.told.textContent = '';
    const pattern = this.pattern();
    if (!pattern) return;
    for (const cell of this.notebook().cells) {
      for (const found of cell.source.matchAll(pattern)) {
        if (found[0]) this.hits.push({ cell, from: found.index, to: found.index + found[0].length });
        if (this.hits.length > 5000) break;
      }
    }
    this.told.textContent = this.hits.length ? `${this.hits.length} found` : 'nothing found';
  }

  private step(by: number, search = true): void {
    if (search) this.search();
    if (!this.hits.length) return;
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    this.told.textContent = `${this.at + 1} of ${this.hits.length}`;
    const focused = document.activeElement as HTMLElement | null;
    this.show(this.hits[this.at]!);
    focused?.focus();
  }

  private replace(all: boolean): void {
    this.search();
    const pattern = this.pattern();
    if (!pattern || !this.hits.length) return;
    const notebook = this.notebook();
    const by = (text: string, found: string) => (this.regular.checked ? found.replace(new RegExp(pattern.source, pattern.flags.replace('g', '')), text) : text);
    if (all) {
      const count = this.hits.length;
      notebook.together(() => {
        for (const cell of new Set(this.hits.map((hit) => hit.cell))) {
          let text = cell.source;
          for (const hit of this.hits.filter((x) => x.cell === cell).reverse()) text = text.slice(0, hit.from) + by(this.replacement.value, text.slice(hit.from, hit.to)) + text.slice(hit.to);
          notebook.setSource(cell, text);
        }
      });
      this.search();
      this.told.textContent = `${count} replaced`;
      return;
    }
    const hit = this.hits[Math.max(0, Math.min(this.at, this.hits.length - 1))]!;
    notebook.checkpoint();
    notebook.setSource(hit.cell, hit.cell.source.slice(0, hit.from) + by(this.replacement.value, hit.cell.source.slice(hit.from, hit.to)) + hit.cell.source.slice(hit.to));
    notebook.checkpoint();
    this.at = Math.max(-1, this.at - 1);
    this.step(1);
  }
}
