// A long list of which only the rows in view exist: a tree for the keyboard and for screen readers.
import { h } from './dom';

const ROW = 26;

export class RowList {
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
