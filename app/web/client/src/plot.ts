// Plotly figures. Lines, points and bars are drawn at once as a small SVG of our own, so that neither a recording nor a
// running loop waits for plotly.js; that is loaded when somebody reaches for a figure, or for kinds only it can draw.
import { h } from './dom';
import type { Json } from './document';

const DRAWN = new Set(['scatter', 'scattergl', 'bar', 'heatmap']);
const MAX_POINTS = 1500;
const TYPES: Record<string, { new (buffer: ArrayBuffer): ArrayLike<number | bigint>; BYTES_PER_ELEMENT: number }> = {
  i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array,
};

/** A column of a figure: a list, or base64 with a dtype as Plotly's Python writes it. */
function column(value: Json): unknown[] | null {
  if (Array.isArray(value)) return value;
  if (value && typeof value === 'object' && typeof value.bdata === 'string' && TYPES[value.dtype]) {
    const bytes = Uint8Array.from(atob(value.bdata), (c) => c.charCodeAt(0));
    const Type = TYPES[value.dtype]!;
    const flat = Array.from(new Type(bytes.buffer.slice(0, bytes.length - (bytes.length % Type.BYTES_PER_ELEMENT))) as ArrayLike<number>);
    const shape = typeof value.shape === 'string' ? value.shape.split(',').map(Number) : value.shape;
    if (Array.isArray(shape) && shape.length === 2) {
      const [rows, columns] = shape as [number, number];
      return Array.from({ length: rows }, (_, i) => flat.slice(i * columns, (i + 1) * columns));
    }
    return flat;
  }
  return null;
}

const NS = 'http://www.w3.org/2000/svg';
function s(tag: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

function ticks(low: number, high: number, count: number): number[] {
  const rough = (high - low) / Math.max(1, count) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((m) => m >= rough) ?? power * 10;
  const out: number[] = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-6 && out.length < 50; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return out;
}

const label = (v: number): string => (v !== 0 && (Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3) ? v.toExponential(0) : String(Number(v.toPrecision(6))));
const titleText = (value: Json): string => (typeof value === 'string' ? value : typeof value?.text === 'string' ? value.text : '').replace(/<[^>]*>/g, '');

/** The figure as an SVG, or null for one that only plotly.js can draw. */
export function drawFigure(figure: Json): SVGElement | null {
  const data = figure?.data;
  if (!Array.isArray(data) || !data.length || data.some((t) => !DRAWN.has(t?.type ?? 'scatter'))) return null;
  const layout = figure.layout ?? {};
  if (Object.keys(layout).some((k) => /^[xy]axis[2-9]/.test(k))) return null;
  const log = layout.yaxis?.type === 'log', width = 640, heat = data.length === 1 && data[0].type === 'heatmap';
  if (!heat && data.some((t) => t.type === 'heatmap')) return null;
  const title = titleText(layout.title), xTitle = titleText(layout.xaxis?.title), yTitle = titleText(layout.yaxis?.title);
  const named = data.filter((t) => t.name && t.showlegend !== false);
  const legend = data.length > 1 && named.length > 0;
  const top = (title ? 34 : 12) + (legend ? 20 : 0), left = yTitle ? 62 : 48, right = 14, bottom = xTitle ? 46 : 30, height = 250 + top;
  const svg = s('svg', { viewBox: `0 0 ${width} ${height}`, class: 'figure', role: 'img', 'aria-label': title || 'Figure' });
  if (title) svg.append(s('text', { x: left, y: 20, class: 'figure-title' }, title.slice(0, 90)));
  const w = width - left - right, hgt = height - top - bottom;

  if (heat) {
    const z = column(data[0].z);
    if (!z || !z.every(Array.isArray) || z.length * ((z[0] as unknown[]).length || 1) > 10_000) return null;
    const rows = z as number[][], flat = rows.flat().filter(Number.isFinite);
    const low = Math.min(...flat), span = Math.max(...flat) - low || 1, n = rows.length, m = Math.max(1, rows[0]!.length);
    rows.forEach((row, i) => row.forEach((v, j) => {
      const y = layout.yaxis?.autorange === 'reversed' ? i : n - 1 - i;
      svg.append(s('rect', { x: left + (j / m) * w, y: top + (y / n) * hgt, width: w / m + 0.5, height: hgt / n + 0.5, class: 'heat', 'fill-opacity': ((v - low) / span || 0).toFixed(3) }));
    }));
    return svg;
  }

  const categories: string[] = [];
  const series = data.map((trace) => {
    const y = column(trace.y) ?? [], x = column(trace.x) ?? y.map((_, i) => i);
    const points: [number, number][] = [];
    for (let i = 0; i < Math.min(x.length, y.length); i++) {
      let px = x[i] as number;
      if (typeof px !== 'number') {
        const time = typeof px === 'string' && /^\d{4}-\d\d-\d\d/.test(px) ? Date.parse(px) : NaN;
        if (Number.isFinite(time)) return null;
        let at = categories.indexOf(String(px));
        if (at < 0) at = categories.push(String(px)) - 1;
        px = at;
      }
      const py = Number(y[i]);
      points.push([px, y[i] === null || (log && py <= 0) ? NaN : log ? Math.log10(py) : py]);
    }
    return { trace, points, bar: trace.type === 'bar' };
  });
  if (series.includes(null)) return null;
  const all = series.flatMap((one) => one!.points).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
  const bars = series.filter((one) => one!.bar).length;
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of all) { x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y); }
  if (!all.length) [x0, x1, y0, y1] = [0, 1, 0, 1];
  if (bars) { x0 -= 0.6; x1 += 0.6; if (!log) { y0 = Math.min(0, y0); y1 = Math.max(0, y1); } }
  if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
  const pad = (y1 - y0 || Math.abs(y0) || 1) * 0.06;
  if (!(bars && y0 === 0)) y0 -= pad;
  y1 += pad;
  const X = (v: number) => left + ((v - x0) / (x1 - x0)) * w, Y = (v: number) => top + hgt - ((v - y0) / (y1 - y0)) * hgt;
  for (const v of ticks(y0, y1, 5)) {
    svg.append(s('line', { x1: left, x2: width - right, y1: Y(v), y2: Y(v), class: 'figure-grid' }));
    svg.append(s('text', { x: left - 8, y: Y(v) + 4, class: 'figure-tick', 'text-anchor': 'end' }, log ? `10^${label(v)}` : label(v)));
  }
  const every = categories.length ? Math.ceil(categories.length / 12) : 1;
  for (const v of categories.length ? categories.map((_, i) => i).filter((i) => i % every === 0) : ticks(x0, x1, 6)) {
    svg.append(s('text', { x: X(v), y: top + hgt + 18, class: 'figure-tick', 'text-anchor': 'middle' }, categories.length ? categories[v]!.slice(0, 14) : label(v)));
  }
  svg.append(s('line', { x1: left, x2: width - right, y1: top + hgt, y2: top + hgt, class: 'figure-axis' }));
  if (xTitle) svg.append(s('text', { x: left + w / 2, y: height - 8, class: 'figure-tick', 'text-anchor': 'middle' }, xTitle.slice(0, 60)));
  if (yTitle) svg.append(s('text', { x: 0, y: 0, class: 'figure-tick', 'text-anchor': 'middle', transform: `translate(14 ${top + hgt / 2}) rotate(-90)` }, yTitle.slice(0, 40)));
  let barNumber = 0, at = left;
  series.forEach((one, number) => {
    const { trace, points, bar } = one!;
    const tone = `tone-${(number % 7) + 1}`;
    if (bar) {
      const share = 0.76 / bars, offset = -0.38 + share * barNumber++;
      for (const [x, y] of points) if (Number.isFinite(y)) svg.append(s('rect', { x: X(x + offset), y: Math.min(Y(y), Y(0)), width: Math.max(1, X(x + offset + share) - X(x + offset) - 1), height: Math.abs(Y(y) - Y(0)), rx: 1.5, class: `figure-bar ${tone}` }));
    } else {
      const mode = String(trace.mode ?? (points.length > 20 ? 'lines' : 'lines+markers'));
      const step = Math.max(1, Math.ceil(points.length / MAX_POINTS));
      const kept = points.filter((_, i) => i % step === 0 || i === points.length - 1);
      if (mode.includes('lines')) {
        let path = '', pen = false;
        for (const [x, y] of kept) {
          if (!Number.isFinite(y)) { pen = false; continue; }
          path += `${pen ? 'L' : 'M'}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`;
          pen = true;
        }
        svg.append(s('path', { d: path, class: `figure-line ${tone}` }));
      }
      if (mode.includes('markers')) for (const [x, y] of kept) if (Number.isFinite(y)) svg.append(s('circle', { cx: X(x), cy: Y(y), r: 3, class: `figure-dot ${tone}` }));
    }
    if (legend && trace.name && at < width - 60) {
      svg.append(s('rect', { x: at, y: top - 18, width: 10, height: 10, rx: 2, class: `figure-bar ${tone}` }));
      svg.append(s('text', { x: at + 15, y: top - 9, class: 'figure-tick' }, String(trace.name).slice(0, 24)));
      at += 34 + Math.min(24, String(trace.name).length) * 7;
    }
  });
  return svg;
}

type Plotly = { newPlot(node: HTMLElement, data: Json, layout: Json, config: Json): Promise<unknown>; purge(node: HTMLElement): void };
let library: Promise<Plotly> | null = null;
const CAPSULE = (): boolean => document.documentElement.dataset.capsule !== undefined;

/** plotly.js, loaded when first asked for. */
function plotly(): Promise<Plotly> {
  const there = (globalThis as { Plotly?: Plotly }).Plotly;
  if (there) return Promise.resolve(there);
  library ??= __CAPSULE__ ? Promise.reject(new Error('not in a capsule')) : import('plotly.js-strict-dist-min').then((m) => ((m as { default?: unknown }).default ?? m) as Plotly);
  return library;
}

async function interactive(host: HTMLElement, figure: Json): Promise<void> {
  const { newPlot } = await plotly();
  const css = getComputedStyle(document.documentElement);
  const color = (name: string) => css.getPropertyValue(name).trim();
  const area = h('div', { class: 'plotly-area' });
  host.replaceChildren(area);
  const layout = {
    ...figure.layout, template: undefined, autosize: true, height: figure.layout?.height ?? 320, margin: { l: 56, r: 16, t: figure.layout?.title ? 44 : 16, b: 48 },
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', font: { color: color('--text'), family: 'inherit', size: 12 },
    colorway: [1, 2, 3, 4, 5, 6, 7].map((n) => color(`--plot-${n}`)),
    xaxis: { gridcolor: color('--line'), zerolinecolor: color('--line-strong'), ...figure.layout?.xaxis },
    yaxis: { gridcolor: color('--line'), zerolinecolor: color('--line-strong'), ...figure.layout?.yaxis },
  };
  await newPlot(area, figure.data, layout, { responsive: true, displaylogo: false, displayModeBar: 'hover', showSendToCloud: false, plotlyServerURL: '' });
}

/** An element that shows a figure. `words` stands in where it cannot be drawn. */
export function figureView(figure: Json, words: string): HTMLElement {
  const host = h('div', { class: 'figure-host' });
  const drawn = drawFigure(figure);
  const failed = () => { if (!host.querySelector('svg')) host.replaceChildren(h('pre', { class: 'text' }, words || 'A figure that this page cannot draw.')); };
  if (drawn) {
    host.append(drawn);
    if (!CAPSULE()) {
      const reach = () => { interactive(host, figure).catch(failed); };
      const button = h('button', { type: 'button', class: 'figure-button', onclick: reach }, 'Interactive');
      host.append(button);
    }
  } else {
    host.append(h('p', { class: 'quiet' }, 'Loading the figure…'));
    interactive(host, figure).catch(() => host.replaceChildren(h('pre', { class: 'text' }, words || 'A figure that this page cannot draw.')));
  }
  return host;
}
