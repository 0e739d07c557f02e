// A graph on a canvas: zoom, pan, fold, hover, keyboard and a minimap. Only what is in view is drawn, and small things
// lose their text, so that ten thousand boxes stay smooth. Screen readers get the outline beside it instead.
import { h, iconButton, perFrame } from './dom';
import { type Box, type Graph, type Layout, type Layouts } from './graph';

export interface CanvasHost {
  chose(key: string | null): void;
  folded(key: string): void;
}

interface Palette { text: string; soft: string; line: string; box: string; leaf: string; group: string; accent: string; warm: string; ground: string; broken: string; frame: string }

export class GraphCanvas {
  readonly element: HTMLElement;
  private canvas = h('canvas', { tabindex: 0, role: 'application', 'aria-label': 'Graph. Arrow keys move along the lines, plus and minus zoom, Enter folds. The outline view lists the same.' });
  private map = h('canvas', { class: 'minimap', 'aria-hidden': 'true' });
  private layout: Layout = { boxes: [], frames: [], links: [], width: 0, height: 0, boxOf: new Map() };
  private x = 0;
  private y = 0;
  private zoom = 1;
  private moved = false;
  private asked = 0; // layouts
  private wanted: string | null = null; // a box to bring into view when it has a place
  selected: string | null = null;
  marked = new Set<string>();
  /** Nodes that backward has visited at the scrubber's place; null where it is not in use. */
  visited: Set<string> | null = null;
  private hover: Box | null = null;
  private palette!: Palette;
  private paint = perFrame(() => this.draw());
  private grid = new Map<string, Box[]>();

  constructor(private host: CanvasHost, private layouts: Layouts) {
    this.element = h('div', { class: 'graph-canvas' }, this.canvas, this.map, h('div', { class: 'graph-tools' },
      iconButton('plus', 'Zoom in', () => this.scale(1.3)), iconButton('minus', 'Zoom out', () => this.scale(1 / 1.3)), iconButton('fit', 'Fit the graph', () => this.fit())));
    new ResizeObserver(() => { if (!this.moved) this.fit(); this.paint(); }).observe(this.element);
    this.listen();
  }

  /** Show a graph; what was looked at stays where it was. The picture follows when its layout is there. */
  show(graph: Graph, folded: Set<string>): void {
    const asked = ++this.asked, made = this.layouts.lay(graph, folded);
    if (made instanceof Promise) void made.then((layout) => { if (asked === this.asked) this.place(layout); });
    else this.place(made);
  }

  private place(layout: Layout): void {
    const fresh = !this.layout.boxes.length || !this.moved;
    const anchor = this.selected ? this.layout.boxOf.get(this.selected) : undefined;
    this.layout = layout;
    this.hover = null;
    this.index();
    if (fresh) this.fit();
    else if (anchor && this.selected) {
      const now = this.layout.boxOf.get(this.selected);
      if (now) { this.x += (anchor.x - now.x) * this.zoom; this.y += (anchor.y - now.y) * this.zoom; }
    }
    if (this.wanted) this.reveal(this.wanted);
    this.paint();
  }

  /** The next graph has nothing to do with this one. */
  forget(): void { this.moved = false; this.selected = this.wanted = null; this.marked = new Set(); this.visited = null; }

  /** Boxes by squares of the plane, to find those in view. */
  private index(): void {
    this.grid.clear();
    for (const box of this.layout.boxes) {
      const key = `${Math.floor(box.x / 400)},${Math.floor(box.y / 400)}`;
      let list = this.grid.get(key);
      if (!list) this.grid.set(key, (list = []));
      list.push(box);
    }
  }

  private inView(left: number, top: number, right: number, bottom: number): Box[] {
    const found: Box[] = [];
    const x1 = Math.floor(right / 400), y1 = Math.floor(bottom / 400), x0 = Math.floor(left / 400) - 1, y0 = Math.floor(top / 400) - 1;
    if ((x1 - x0) * (y1 - y0) > this.grid.size * 2) return this.layout.boxes;
    for (let i = x0; i <= x1; i++) for (let j = y0; j <= y1; j++) found.push(...(this.grid.get(`${i},${j}`) ?? []));
    return found;
  }

  fit(): void {
    const { clientWidth: w, clientHeight: hgt } = this.element;
    if (!w || !hgt || !this.layout.width) return;
    this.zoom = Math.min(1.1, Math.max(0.02, Math.min((w - 32) / this.layout.width, (hgt - 32) / this.layout.height)));
    if (this.zoom < 0.45 && this.layout.boxes.length < 400) this.zoom = Math.min(1, Math.max(this.zoom, Math.min(0.62, (w - 32) / this.layout.width)));
    this.x = (w - this.layout.width * this.zoom) / 2;
    const slack = hgt - this.layout.height * this.zoom;
    this.y = slack > 0 ? slack / 2 : hgt - 16 - this.layout.height * this.zoom;
    this.moved = false;
    this.paint();
  }

  private scale(by: number, atX = this.element.clientWidth / 2, atY = this.element.clientHeight / 2): void {
    const zoom = Math.min(3, Math.max(0.02, this.zoom * by));
    this.x = atX - ((atX - this.x) * zoom) / this.zoom;
    this.y = atY - ((atY - this.y) * zoom) / this.zoom;
    this.zoom = zoom;
    this.moved = true;
    this.paint();
  }

  /** Bring a box into view. */
  reveal(key: string): void {
    const box = this.layout.boxOf.get(key);
    this.wanted = box ? null : key;
    if (!box) return;
    const { clientWidth: w, clientHeight: hgt } = this.element;
    if (this.zoom < 0.5) this.zoom = 0.8;
    const x = this.x + box.x * this.zoom, y = this.y + box.y * this.zoom;
    if (x < 20 || x + box.w * this.zoom > w - 20) this.x = w / 2 - (box.x + box.w / 2) * this.zoom;
    if (y < 20 || y + box.h * this.zoom > hgt - 20) this.y = hgt / 2 - (box.y + box.h / 2) * this.zoom;
    this.moved = true;
    this.paint();
  }

  refresh(): void { this.paint(); }

  private at(x: number, y: number): Box | null {
    const gx = (x - this.x) / this.zoom, gy = (y - this.y) / this.zoom;
    return this.inView(gx, gy, gx, gy).find((b) => gx >= b.x && gx <= b.x + b.w && gy >= b.y && gy <= b.y + b.h) ?? null;
  }

  private frameAt(x: number, y: number): string | null {
    const gx = (x - this.x) / this.zoom, gy = (y - this.y) / this.zoom;
    const found = this.layout.frames.filter((f) => gx >= f.x && gx <= f.x + f.w && gy >= f.y && gy <= f.y + 22);
    return found.at(-1)?.scope.key ?? null;
  }

  private listen(): void {
    const { canvas } = this;
    const pointers = new Map<number, { x: number; y: number }>();
    let dragged = 0, spread = 0;
    const place = (e: PointerEvent | WheelEvent | MouseEvent) => { const box = canvas.getBoundingClientRect(); return { x: e.clientX - box.left, y: e.clientY - box.top }; };
    canvas.addEventListener('pointerdown', (e) => { canvas.setPointerCapture(e.pointerId); pointers.set(e.pointerId, place(e)); dragged = 0; spread = 0; });
    canvas.addEventListener('pointermove', (e) => {
      const now = place(e), before = pointers.get(e.pointerId);
      if (!before) {
        const over = this.at(now.x, now.y);
        if (over !== this.hover) { this.hover = over; canvas.style.cursor = over || this.frameAt(now.x, now.y) ? 'pointer' : 'grab'; canvas.title = over?.node ? `${over.title} ${over.sub}` : ''; this.paint(); }
        return;
      }
      pointers.set(e.pointerId, now);
      if (pointers.size === 2) {
        const [a, b] = [...pointers.values()] as [typeof now, typeof now];
        const distance = Math.hypot(a.x - b.x, a.y - b.y);
        if (spread) this.scale(distance / spread, (a.x + b.x) / 2, (a.y + b.y) / 2);
        spread = distance;
        dragged = 99;
        return;
      }
      this.x += now.x - before.x;
      this.y += now.y - before.y;
      dragged += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      if (dragged > 4) { this.moved = true; this.paint(); }
    });
    const up = (e: PointerEvent) => {
      const was = pointers.delete(e.pointerId);
      if (!was || dragged > 4 || e.type === 'pointercancel') return;
      const p = place(e), box = this.at(p.x, p.y), frame = box ? null : this.frameAt(p.x, p.y);
      if (frame) { this.moved = true; this.selected = frame; this.host.folded(frame); return; }
      if (box?.scope && box.key === this.selected) { this.moved = true; this.host.folded(box.key); return; }
      this.choose(box?.key ?? null);
    };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('dblclick', (e) => { const p = place(e), box = this.at(p.x, p.y); if (box?.scope) this.host.folded(box.key); });
    canvas.addEventListener('wheel', (e) => {
      e.preventDefault();
      const p = place(e);
      if (e.ctrlKey || e.metaKey || !e.shiftKey && Math.abs(e.deltaY) >= 50 && e.deltaX === 0) this.scale(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0015)), p.x, p.y);
      else { this.x -= e.deltaX; this.y -= e.deltaY; this.moved = true; this.paint(); }
    }, { passive: false });
    canvas.addEventListener('keydown', (e) => {
      const step = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' }[e.key];
      if (step) this.walk(step);
      else if (e.key === '+' || e.key === '=') this.scale(1.3);
      else if (e.key === '-') this.scale(1 / 1.3);
      else if (e.key === '0') this.fit();
      else if (e.key === 'Enter' && this.selected) {
        const box = this.layout.boxOf.get(this.selected);
        const scope = box?.scope ?? box?.node?.scope;
        if (scope && scope.key) { this.selected = scope.key; this.host.folded(scope.key); }
      } else return;
      e.preventDefault();
      e.stopPropagation();
    });
    canvas.addEventListener('focus', () => this.paint());
    this.map.addEventListener('pointerdown', (e) => {
      const box = this.map.getBoundingClientRect(), k = this.mapScale();
      this.x = this.element.clientWidth / 2 - ((e.clientX - box.left) / k) * this.zoom;
      this.y = this.element.clientHeight / 2 - ((e.clientY - box.top) / k) * this.zoom;
      this.moved = true;
      this.paint();
    });
  }

  private choose(key: string | null): void {
    this.selected = key;
    this.paint();
    this.host.chose(key);
  }

  /** To the next box along the lines, or beside it. */
  private walk(direction: string): void {
    const { layout } = this;
    const now = this.selected ? layout.boxOf.get(this.selected) : undefined;
    if (!now) { if (layout.boxes[0]) { this.choose(layout.boxes.reduce((a, b) => (b.y < a.y ? b : a)).key); this.reveal(this.selected!); } return; }
    const middle = (b: Box) => b.x + b.w / 2;
    let next: Box[] = [];
    if (direction === 'up') next = layout.links.filter((l) => l.to === now).map((l) => l.from);
    else if (direction === 'down') next = layout.links.filter((l) => l.from === now).map((l) => l.to);
    if (!next.length) {
      next = layout.boxes.filter((b) => b !== now && (direction === 'up' ? b.y + b.h < now.y : direction === 'down' ? b.y > now.y + now.h
        : (direction === 'left' ? middle(b) < middle(now) : middle(b) > middle(now)) && Math.abs(b.y + b.h / 2 - now.y - now.h / 2) < 60));
    }
    const best = next.sort((a, b) => Math.hypot(middle(a) - middle(now), (a.y - now.y) * 1.5) - Math.hypot(middle(b) - middle(now), (b.y - now.y) * 1.5))[0];
    if (best) { this.choose(best.key); this.reveal(best.key); }
  }

  private colours(): Palette {
    const css = getComputedStyle(document.documentElement), c = (name: string) => css.getPropertyValue(name).trim();
    return { text: c('--text'), soft: c('--muted'), line: c('--line-strong'), box: c('--raised'), leaf: c('--leaf'), group: c('--group'), accent: c('--accent'), warm: c('--warm'), broken: c('--warm-ground'), ground: c('--ground'), frame: c('--line') };
  }

  private mapScale(): number { return Math.min(110 / Math.max(1, this.layout.width), 80 / Math.max(1, this.layout.height)); }

  private draw(): void {
    const { canvas, element, layout, zoom } = this;
    const ratio = Math.min(2, devicePixelRatio || 1), w = element.clientWidth, hgt = element.clientHeight;
    if (!w || !hgt) return;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(hgt * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(hgt * ratio); }
    const g = canvas.getContext('2d')!;
    const p = (this.palette = this.colours());
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, hgt);
    g.translate(this.x, this.y);
    g.scale(zoom, zoom);
    const left = -this.x / zoom, top = -this.y / zoom, right = left + w / zoom, bottom = top + hgt / zoom;
    const small = zoom < 0.32;
    g.font = '500 12px ui-sans-serif, system-ui, sans-serif';
    g.textBaseline = 'middle';
    for (const f of layout.frames) {
      if (f.x > right || f.y > bottom || f.x + f.w < left || f.y + f.h < top) continue;
      g.beginPath();
      g.roundRect(f.x, f.y, f.w, f.h, 8);
      g.fillStyle = p.group;
      g.globalAlpha = 0.35;
      g.fill();
      g.globalAlpha = 1;
      g.strokeStyle = p.frame;
      g.lineWidth = 1;
      g.stroke();
      if (!small) { g.fillStyle = p.soft; g.textAlign = 'left'; g.fillText(`▾ ${f.scope.name}`, f.x + 9, f.y + 12, f.w - 16); }
    }
    g.lineWidth = Math.max(1, 0.6 / zoom);
    const chosen = this.selected ? layout.boxOf.get(this.selected) : undefined;
    for (const strong of [false, true]) {
      g.strokeStyle = strong ? p.accent : p.line;
      g.beginPath();
      for (const { from, to } of layout.links) {
        if ((from === chosen || to === chosen) !== strong) continue;
        const x0 = from.x + from.w / 2, y0 = from.y + from.h, x1 = to.x + to.w / 2, y1 = to.y;
        if (Math.max(x0, x1) < left || Math.min(x0, x1) > right || y1 < top || y0 > bottom) continue;
        const bend = Math.max(12, (y1 - y0) * 0.45);
        g.moveTo(x0, y0);
        if (small) g.lineTo(x1, y1); else g.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
      }
      g.stroke();
    }
    g.textAlign = 'center';
    for (const box of this.inView(left, top, right, bottom)) {
      if (box.x > right || box.y > bottom || box.x + box.w < left || box.y + box.h < top) continue;
      const on = box === chosen, marked = this.marked.size > 0 && (this.marked.has(box.key) || false);
      const passed = this.visited !== null && (box.node ? this.visited.has(box.key) : false);
      g.beginPath();
      if (small) g.rect(box.x, box.y, box.w, box.h); else g.roundRect(box.x, box.y, box.w, box.h, box.node?.kind === 'leaf' ? box.h / 2 : 6);
      g.fillStyle = passed ? p.warm : box.scope ? p.group : box.node?.kind === 'leaf' ? p.leaf : box.node?.kind === 'break' ? p.broken : box.node?.kind === 'guard' ? p.group : p.box;
      g.globalAlpha = this.visited !== null && !passed ? 0.55 : 1;
      g.fill();
      g.lineWidth = on || marked ? 2.4 : box === this.hover ? 1.6 : 1;
      g.strokeStyle = on ? p.accent : marked || box.node?.kind === 'break' ? p.warm : p.line;
      if (box.node?.kind === 'guard') g.setLineDash([4, 3]);
      g.stroke();
      g.setLineDash([]);
      if (!small) {
        g.fillStyle = passed ? p.ground : p.text;
        g.fillText((box.scope ? '▸ ' : '') + box.title, box.x + box.w / 2, box.y + (box.sub ? 14 : box.h / 2), box.w - 12);
        if (box.sub) {
          g.font = '11px ui-monospace, SFMono-Regular, Menlo, monospace';
          g.fillStyle = passed ? p.ground : p.soft;
          g.fillText(box.sub, box.x + box.w / 2, box.y + 29, box.w - 10);
          g.font = '500 12px ui-sans-serif, system-ui, sans-serif';
        }
        if (box.node?.root) { g.fillStyle = p.accent; g.beginPath(); g.arc(box.x + box.w - 7, box.y + 7, 3, 0, 7); g.fill(); }
      }
      g.globalAlpha = 1;
    }
    this.drawMap(w, hgt);
  }

  private drawMap(w: number, hgt: number): void {
    const { layout, map, zoom } = this;
    const needed = layout.width * zoom > w * 1.05 || layout.height * zoom > hgt * 1.05;
    map.hidden = !needed;
    if (!needed) return;
    const k = this.mapScale(), width = Math.max(8, Math.ceil(layout.width * k)), height = Math.max(8, Math.ceil(layout.height * k));
    if (map.width !== width || map.height !== height) { map.width = width; map.height = height; }
    const g = map.getContext('2d')!;
    g.clearRect(0, 0, width, height);
    g.fillStyle = this.palette.soft;
    const step = Math.max(1, Math.floor(layout.boxes.length / 1500));
    for (let i = 0; i < layout.boxes.length; i += step) { const b = layout.boxes[i]!; g.fillRect(b.x * k, b.y * k, Math.max(1, b.w * k), Math.max(1, b.h * k)); }
    g.strokeStyle = this.palette.accent;
    g.lineWidth = 1.5;
    g.strokeRect((-this.x / zoom) * k, (-this.y / zoom) * k, (w / zoom) * k, (hgt / zoom) * k);
  }
}
