// The tape as a graph on the page: nodes, the scopes their modules make, folding, rows of an outline, and a layered
// layout, scope by scope from the inside out. Nothing is drawn here, and nothing in a record is trusted.
import type { Json } from './document';

export interface Source { file: string; line: number; endLine: number; column: number; endColumn: number; cell: string | null; revision: number | null; words?: string }

export interface GraphNode {
  id: string;
  kind: string; // "op", "leaf", "break", "guard"
  title: string;
  shape: string;
  dtype: string;
  module: string;
  source: Source | null;
  saved: number;
  savedNames: string;
  gradNorm: number | null;
  gradText: string;
  name?: string; // what the record calls it, where that is not its title
  shapes?: string[][]; // of all that it made
  inputs: string[];
  root: boolean;
  details: [string, string][];
  scope: Scope;
  index: number;
}

export interface ScopeFacts { short: string; seconds?: number; share?: number; details: [string, string][]; source: Source | null; text: string }
export interface Scope { key: string; name: string; parent: Scope | null; items: (GraphNode | Scope)[]; nodes: number; depth: number; first: number; facts: ScopeFacts | null }

export interface Graph {
  nodes: GraphNode[]; byId: Map<string, GraphNode>; users: Map<string, GraphNode[]>; root: Scope; scopes: Map<string, Scope>; notes: string[];
  closed: string[]; // scopes that are folded until somebody opens them
  remote: number | null; // by which number the records worker knows it, where it does
}

/** What is known of a node before the graph is built; plain values, so that a worker can send it. */
export type Facts = Omit<GraphNode, 'scope' | 'index'> & { scopes?: string[] };
export interface GraphFacts { nodes: Facts[]; notes: string[]; scopes?: Map<string, ScopeFacts>; closed?: boolean }

export const isObject = (v: unknown): v is Record<string, Json> => typeof v === 'object' && v !== null && !Array.isArray(v);
export const word = (v: unknown, limit = 60): string => {
  // eslint-disable-next-line no-control-regex
  const text = typeof v === 'string' ? v.replace(/[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]/g, ' ') : '';
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
};
export const whole = (v: unknown): number => (typeof v === 'number' && Number.isFinite(v) ? v : 0);
/** The sizes of tensors, for a search. */
export const sizesOf = (metas: Json): string[][] => (Array.isArray(metas) ? metas.filter((m) => isObject(m) && Array.isArray(m.shape)).slice(0, 16).map((m) => m.shape.slice(0, 8).map((n: unknown) => word(String(n), 12))) : []);
const WIDTH: Record<string, number> = { bool: 1, int8: 1, uint8: 1, int16: 2, float16: 2, bfloat16: 2, int32: 4, float32: 4, int64: 8, float64: 8, complex64: 8, complex128: 16 };
/** Bytes of what a node made; 0 where its sizes or its dtype are not known. */
export const byteCount = (n: { dtype: string; shapes?: string[][] }): number => (n.shapes ?? []).reduce((sum, s) => sum + (s.reduce((product, size) => product * Number(size), WIDTH[n.dtype] ?? 0) || 0), 0);
export const shapeOf = (meta: Json): string => (isObject(meta) && Array.isArray(meta.shape) ? `[${meta.shape.slice(0, 8).map((n: unknown) => word(String(n), 12)).join(', ')}]` : '');

export function readSource(raw: Json): Source | null {
  if (!isObject(raw) || typeof raw.line !== 'number') return null;
  let cell = typeof raw.cell === 'string' ? raw.cell : null, revision = typeof raw.revision === 'number' ? raw.revision : null;
  const named = /^<cell ([\w-]+):(\d+)>$/.exec(String(raw.file ?? ''));
  if (named && !cell) { cell = named[1]!; revision = Number(named[2]); }
  return { file: word(raw.file, 120), line: raw.line, endLine: whole(raw.end_line) || raw.line, column: whole(raw.column), endColumn: whole(raw.end_column), cell, revision, words: `${word(raw.function, 80)}\n${word(raw.text, 200)}` };
}

export const numberText = (v: number): string => (v === 0 ? '0' : Math.abs(v) >= 1e4 || Math.abs(v) < 1e-3 ? v.toExponential(2) : String(Number(v.toPrecision(4))));

/** A graph from a tape snapshot (`observe.tape_json`). */
export const readTape = (tape: Json): Graph => build(tapeFacts(tape));

/** The facts of a tape snapshot. */
export function tapeFacts(tape: Json): GraphFacts {
  const roots = new Set(Array.isArray(tape?.roots) ? tape.roots.map(String) : []);
  const notes: string[] = [];
  const raws: Json[] = Array.isArray(tape?.nodes) ? tape.nodes.filter(isObject) : [];
  if (whole(tape?.dropped)) notes.push(`${count(tape.dropped, 'older operator')} left out.`);
  const facts = raws.map((raw) => {
    const out = Array.isArray(raw.outputs) ? raw.outputs[0] : null;
    const saved = Array.isArray(raw.saved) ? raw.saved.filter(isObject) : [];
    const leaf = raw.kind === 'leaf';
    const grad = isObject(raw.grad) ? raw.grad : null;
    const norm = grad && typeof grad.norm === 'number' ? grad.norm : null;
    const source = readSource(raw.source);
    const savedBytes = saved.reduce((sum: number, s: Json) => sum + whole(s.bytes), 0);
    const details: [string, string][] = [];
    if (raw.name) details.push(['Node', word(raw.name)]);
    if (shapeOf(out)) details.push(['Shape', `${shapeOf(out)} ${word(out.dtype, 12)} on ${word(out.device, 12) || 'cpu'}`]);
    if (raw.module) details.push(['Module', word(raw.module)]);
    for (const s of saved.slice(0, 6)) details.push(['Saved', `${word(s.name)} ${shapeOf(s)} ${word(s.dtype, 12)}, ${whole(s.bytes).toLocaleString('en')} B`]);
    if (grad) details.push(['Gradient', `${shapeOf(grad)} ${norm === null ? '' : `norm ${numberText(norm)}`}`.trim()]);
    return {
      id: String(raw.id), kind: leaf ? 'leaf' : 'op', title: word(leaf ? raw.label || 'leaf' : raw.op) || 'op', shape: shapeOf(out), dtype: isObject(out) ? word(out.dtype, 12) : '',
      module: word(raw.module, 120), source, saved: savedBytes, name: word(raw.name), shapes: sizesOf(raw.outputs), savedNames: saved.map((s: Json) => word(s.name, 20)).join(', '), gradNorm: norm,
      gradText: norm === null ? '' : `grad ${numberText(norm)}`, inputs: Array.isArray(raw.inputs) ? raw.inputs.map(String) : [], root: roots.has(String(raw.id)), details,
    };
  });
  return { nodes: facts, notes };
}

/** Leaves stand where they are first used, inside of the module that uses them, instead of all above the rest. */
function settle(facts: Facts[]): Facts[] {
  const leaves = new Map(facts.filter((f) => f.kind === 'leaf').map((f) => [f.id, f]));
  const out: Facts[] = [];
  for (const fact of facts) {
    if (fact.kind === 'leaf') continue;
    for (const id of fact.inputs) {
      const leaf = leaves.get(id);
      if (!leaf) continue;
      leaves.delete(id);
      out.push({ ...leaf, module: fact.module, scopes: fact.scopes });
    }
    out.push(fact);
  }
  return [...leaves.values(), ...out];
}

/** The graph of these facts; the same facts give the same graph, here and in the worker. */
export function build(given: GraphFacts): Graph {
  const facts = settle(given.nodes);
  const root: Scope = { key: '', name: '', parent: null, items: [], nodes: 0, depth: 0, first: 0, facts: null };
  const scopes = new Map<string, Scope>([['', root]]);
  const seen = new Map<string, number>();
  const byId = new Map<string, GraphNode>();
  const nodes: GraphNode[] = [];
  let stack: Scope[] = [root];
  for (const fact of facts) {
    if (byId.has(fact.id)) continue;
    const wanted = [...(fact.scopes ?? []), ...(fact.module ? fact.module.split('.') : [])].slice(0, 40);
    let common = 0;
    while (common < wanted.length && stack[common + 1]?.name === wanted[common]) common++;
    stack = stack.slice(0, common + 1);
    while (stack.length <= wanted.length) {
      const parent = stack.at(-1)!, name = wanted[stack.length - 1]!;
      const base = `${parent.key}/${name}`, turn = (seen.get(base) ?? 0) + 1;
      seen.set(base, turn);
      const scope: Scope = { key: turn > 1 ? `${base}#${turn}` : base, name, parent, items: [], nodes: 0, depth: stack.length, first: nodes.length, facts: stack.length === 1 ? (given.scopes?.get(name) ?? null) : null };
      parent.items.push(scope);
      scopes.set(scope.key, scope);
      stack.push(scope);
    }
    const scope = stack.at(-1)!;
    const node: GraphNode = { ...fact, scope, index: nodes.length };
    scope.items.push(node);
    for (let s: Scope | null = scope; s; s = s.parent) s.nodes++;
    nodes.push(node);
    byId.set(node.id, node);
  }
  const users = new Map<string, GraphNode[]>();
  for (const node of nodes) {
    node.inputs = node.inputs.filter((id) => byId.has(id) && id !== node.id);
    for (const id of node.inputs) { let list = users.get(id); if (!list) users.set(id, (list = [])); list.push(node); }
  }
  return { nodes, byId, users, root, scopes, notes: given.notes, closed: given.closed ? root.items.flatMap((i) => (isNode(i) ? [] : [i.key])) : [], remote: null };
}

export const isNode = (item: GraphNode | Scope): item is GraphNode => 'inputs' in item;

// -- outline ---------------------------------------------------------------------------------------------------------

export interface Row { depth: number; key: string; title: string; facts: string; node: GraphNode | null; scope: Scope | null; folded: boolean }

/** A number of things: "1 launch", and with another number the plural given, or one with an s. */
export const count = (n: number, what: string, many = `${what}s`): string => `${n} ${n === 1 ? what : many}`;

const scopeText = (scope: Scope): string => scope.facts?.short || count(scope.nodes, 'node');

export function outline(graph: Graph, folded: Set<string>): Row[] {
  const rows: Row[] = [];
  const stack: { item: GraphNode | Scope; depth: number }[] = [...graph.root.items].reverse().map((item) => ({ item, depth: 0 }));
  while (stack.length) {
    const { item, depth } = stack.pop()!;
    if (isNode(item)) {
      rows.push({ depth, key: item.id, title: item.title, facts: [item.shape, item.gradText].filter(Boolean).join('  '), node: item, scope: null, folded: false });
      continue;
    }
    const closed = folded.has(item.key);
    rows.push({ depth, key: item.key, title: item.name, facts: scopeText(item), node: null, scope: item, folded: closed });
    if (!closed) for (const child of [...item.items].reverse()) stack.push({ item: child, depth: depth + 1 });
  }
  return rows;
}

// -- layout ------------------------------------------------------------------------------------------------------------

export interface Box { key: string; x: number; y: number; w: number; h: number; title: string; sub: string; node: GraphNode | null; scope: Scope | null }
export interface Frame { x: number; y: number; w: number; h: number; scope: Scope }
export interface Link { from: Box; to: Box; ids: [string, string] }
export interface Layout { boxes: Box[]; frames: Frame[]; links: Link[]; width: number; height: number; boxOf: Map<string, Box> }

const CHAR = 7.2, GAP_X = 18, GAP_Y = 30, PAD = 14, HEAD = 22;

/** Who computes layouts: this thread, or another. */
export interface Layouts { lay(graph: Graph, folded: Set<string>): Layout | Promise<Layout> }
export const HERE: Layouts = { lay: (graph, folded) => lay(graph, folded) };

interface Placed { item: GraphNode | Scope; w: number; h: number; x: number; y: number; layer: number; order: number; inner: Placed[] | null }

/** Places for everything that is visible with these scopes folded. */
export function lay(graph: Graph, folded: Set<string>): Layout {
  const itemAt = (node: GraphNode, level: Scope): GraphNode | Scope => {
    let item: GraphNode | Scope = node, scope: Scope | null = node.scope;
    while (scope && scope !== level) { item = scope; scope = scope.parent; }
    return item;
  };
  const placeScope = (scope: Scope): { placed: Placed[]; w: number; h: number } => {
    const placed: Placed[] = scope.items.map((item, order) => {
      if (isNode(item)) {
        const w = Math.min(260, Math.max(64, Math.max(item.title.length, item.shape.length * 0.86) * CHAR + 26));
        return { item, w, h: item.shape ? 40 : 28, x: 0, y: 0, layer: 0, order, inner: null };
      }
      if (folded.has(item.key)) return { item, w: Math.min(260, Math.max(90, item.name.length * CHAR + 40, scopeText(item).length * CHAR * 0.86 + 26)), h: 40, x: 0, y: 0, layer: 0, order, inner: null };
      const inside = placeScope(item);
      return { item, w: Math.max(inside.w + PAD * 2, item.name.length * CHAR + 40), h: inside.h + PAD + HEAD, x: 0, y: 0, layer: 0, order, inner: inside.placed };
    });
    const of = new Map<GraphNode | Scope, Placed>(placed.map((p) => [p.item, p]));
    // Edges between the items of this level, from the nodes below it.
    const into = new Map<Placed, Set<Placed>>(), outOf = new Map<Placed, Set<Placed>>();
    for (const p of placed) { into.set(p, new Set()); outOf.set(p, new Set()); }
    const first = scope.first, last = first + scope.nodes;
    for (let i = first; i < last; i++) {
      const node = graph.nodes[i]!;
      const target = of.get(itemAt(node, scope));
      if (!target) continue;
      for (const id of node.inputs) {
        const source = graph.byId.get(id)!;
        if (source.index < first || source.index >= last) continue;
        const from = of.get(itemAt(source, scope));
        // Scopes are stretches of the record, so an edge leads to a later item, apart from records that lie.
        if (from && from !== target && from.order < target.order) { into.get(target)!.add(from); outOf.get(from)!.add(target); }
      }
    }
    for (const p of placed) for (const from of into.get(p)!) p.layer = Math.max(p.layer, from.layer + 1);
    // What nothing leads to (parameters) stands right above its first user.
    for (const p of [...placed].reverse()) {
      const uses = outOf.get(p)!;
      if (!into.get(p)!.size && uses.size) p.layer = Math.max(p.layer, Math.min(...[...uses].map((u) => u.layer)) - 1);
    }
    const layers: Placed[][] = [];
    for (const p of placed) (layers[p.layer] ??= []).push(p);
    const dense = layers.filter((l) => l && l.length);
    const at = new Map<Placed, number>();
    const renumber = (layer: Placed[]) => layer.forEach((p, i) => at.set(p, i / Math.max(1, layer.length)));
    dense.forEach(renumber);
    for (let sweep = 0; sweep < 4; sweep++) {
      const down = sweep % 2 === 0;
      for (const layer of down ? dense : [...dense].reverse()) {
        const key = new Map(layer.map((p) => {
          const near = [...(down ? into : outOf).get(p)!];
          return [p, near.length ? near.reduce((sum, n) => sum + at.get(n)!, 0) / near.length : at.get(p)!] as const;
        }));
        layer.sort((a, b) => key.get(a)! - key.get(b)! || a.order - b.order);
        renumber(layer);
      }
    }
    let y = 0;
    for (const layer of dense) {
      let x = 0;
      const tall = Math.max(...layer.map((p) => p.h));
      for (const p of layer) { p.x = x; p.y = y + (tall - p.h) / 2; x += p.w + GAP_X; }
      y += tall + GAP_Y;
    }
    // Move towards the mean of the neighbours without overlapping, then everything to the left edge.
    for (let sweep = 0; sweep < 6; sweep++) {
      const down = sweep % 2 === 0;
      for (const layer of down ? dense : [...dense].reverse()) {
        const want = layer.map((p) => {
          const near = [...(down ? into : outOf).get(p)!];
          return near.length ? near.reduce((sum, n) => sum + n.x + n.w / 2, 0) / near.length - p.w / 2 : p.x;
        });
        const total = layer.reduce((sum, p) => sum + p.w + GAP_X, -GAP_X);
        const centre = layer.reduce((sum, p, i) => sum + want[i]! + p.w / 2, 0) / layer.length;
        const low: number[] = [];
        let edge = -Infinity;
        layer.forEach((p, i) => { low[i] = Math.max(want[i]!, edge); edge = low[i]! + p.w + GAP_X; });
        let limit = Infinity;
        for (let i = layer.length - 1; i >= 0; i--) {
          const p = layer[i]!;
          const high = Math.min(want[i]!, limit - p.w - GAP_X);
          limit = high;
          p.x = (low[i]! + high) / 2;
        }
        if (!Number.isFinite(centre) || !Number.isFinite(total)) continue;
        for (let i = 1; i < layer.length; i++) layer[i]!.x = Math.max(layer[i]!.x, layer[i - 1]!.x + layer[i - 1]!.w + GAP_X);
      }
    }
    const left = Math.min(0, ...placed.map((p) => p.x), Infinity);
    const base = placed.length ? placed.reduce((m, p) => Math.min(m, p.x), Infinity) : left;
    for (const p of placed) p.x -= base;
    return { placed, w: placed.reduce((m, p) => Math.max(m, p.x + p.w), 0), h: Math.max(0, y - GAP_Y) };
  };

  const whole = placeScope(graph.root);
  const boxes: Box[] = [], frames: Frame[] = [], boxOf = new Map<string, Box>();
  const pending: { placed: Placed[]; x: number; y: number }[] = [{ placed: whole.placed, x: 0, y: 0 }];
  while (pending.length) {
    const { placed, x, y } = pending.pop()!;
    for (const p of placed) {
      const item = p.item;
      if (p.inner && !isNode(item)) {
        frames.push({ x: x + p.x, y: y + p.y, w: p.w, h: p.h, scope: item });
        const inside = p.inner.reduce((m, q) => Math.max(m, q.x + q.w), 0);
        pending.push({ placed: p.inner, x: x + p.x + (p.w - inside) / 2, y: y + p.y + HEAD });
      } else {
        const box: Box = isNode(item)
          ? { key: item.id, x: x + p.x, y: y + p.y, w: p.w, h: p.h, title: item.title, sub: item.shape, node: item, scope: null }
          : { key: item.key, x: x + p.x, y: y + p.y, w: p.w, h: p.h, title: item.name, sub: scopeText(item), node: null, scope: item };
        boxes.push(box);
        boxOf.set(box.key, box);
      }
    }
  }
  const shown = (node: GraphNode): Box | undefined => {
    let box = boxOf.get(node.id);
    for (let s: Scope | null = node.scope; !box && s; s = s.parent) box = boxOf.get(s.key);
    return box;
  };
  const links: Link[] = [], seen = new Set<string>();
  for (const node of graph.nodes) {
    const to = shown(node);
    if (to && !boxOf.has(node.id)) boxOf.set(node.id, to);
    for (const id of node.inputs) {
      const from = shown(graph.byId.get(id)!);
      if (!from || !to || from === to || seen.has(`${from.key}\0${to.key}`)) continue;
      seen.add(`${from.key}\0${to.key}`);
      links.push({ from, to, ids: [id, node.id] });
    }
  }
  return { boxes, frames: frames.sort((a, b) => a.scope.depth - b.scope.depth), links, width: whole.w, height: whole.h, boxOf };
}

// -- a layout between threads -------------------------------------------------------------------------------------------

/** A layout as arrays that can be handed to another thread: nodes and scopes by number and by key. */
export interface PackedLayout { places: Float32Array; nodes: Int32Array; scopes: string[]; frames: Float32Array; framed: string[]; links: Int32Array; linked: Int32Array; of: Int32Array; width: number; height: number }

export function packLayout(graph: Graph, layout: Layout): PackedLayout {
  const at = new Map(layout.boxes.map((b, i) => [b, i]));
  return {
    places: Float32Array.from(layout.boxes.flatMap((b) => [b.x, b.y, b.w, b.h])), nodes: Int32Array.from(layout.boxes, (b) => b.node?.index ?? -1), scopes: layout.boxes.flatMap((b) => (b.scope ? [b.scope.key] : [])),
    frames: Float32Array.from(layout.frames.flatMap((f) => [f.x, f.y, f.w, f.h])), framed: layout.frames.map((f) => f.scope.key),
    links: Int32Array.from(layout.links.flatMap((l) => [at.get(l.from)!, at.get(l.to)!])), linked: Int32Array.from(layout.links.flatMap((l) => l.ids.map((id) => graph.byId.get(id)!.index))),
    of: Int32Array.from(graph.nodes, (n) => { const box = layout.boxOf.get(n.id); return box ? at.get(box)! : -1; }), width: layout.width, height: layout.height,
  };
}

export function unpackLayout(graph: Graph, packed: PackedLayout): Layout {
  const { places, frames, links, linked } = packed;
  const boxOf = new Map<string, Box>();
  let scope = 0;
  const boxes = Array.from(packed.nodes, (index, i): Box => {
    const place = { x: places[i * 4]!, y: places[i * 4 + 1]!, w: places[i * 4 + 2]!, h: places[i * 4 + 3]! };
    const node = graph.nodes[index];
    if (node) return { key: node.id, ...place, title: node.title, sub: node.shape, node, scope: null };
    const of = graph.scopes.get(packed.scopes[scope++]!)!;
    return { key: of.key, ...place, title: of.name, sub: scopeText(of), node: null, scope: of };
  });
  for (const box of boxes) boxOf.set(box.key, box);
  packed.of.forEach((i, n) => { if (i >= 0) boxOf.set(graph.nodes[n]!.id, boxes[i]!); });
  return {
    boxes, boxOf, width: packed.width, height: packed.height,
    frames: packed.framed.map((key, i) => ({ x: frames[i * 4]!, y: frames[i * 4 + 1]!, w: frames[i * 4 + 2]!, h: frames[i * 4 + 3]!, scope: graph.scopes.get(key)! })),
    links: Array.from({ length: links.length / 2 }, (_, i) => ({ from: boxes[links[i * 2]!]!, to: boxes[links[i * 2 + 1]!]!, ids: [graph.nodes[linked[i * 2]!]!.id, graph.nodes[linked[i * 2 + 1]!]!.id] as [string, string] })),
  };
}
