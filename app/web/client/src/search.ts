// Search over the nodes of a graph, with the terms that the views' own search knows (`graphviz_views/search.py`): shapes, lines, a part
// of an operator or a name, any text, what leads to a node and what follows, a way between two, and the largest first.
import { byteCount, type Graph, type GraphNode } from './graph';

const WALK = /(top|before|after|path):(\S+)/gi;
const ORDERS: Record<string, (node: GraphNode) => number | null> = {
  bytes: (n) => byteCount(n) || null,
  saved: (n) => n.saved || null,
  seconds: (n) => scopeNumber(n, 'seconds'),
  share: (n) => scopeNumber(n, 'share'),
  gradient: (n) => n.gradNorm,
};

/** A kernel is a scope: its time is told by its first node. */
const scopeNumber = (node: GraphNode, what: 'seconds' | 'share'): number | null => (node.scope.facts && node.index === node.scope.first ? (node.scope.facts[what] ?? null) : null);

/** The nodes that all terms of the query are true of: in recorded order, or in that of `top:` and `path:`. */
export function search(graph: Graph, query: string): GraphNode[] {
  const walks = [...query.matchAll(WALK)].map((m) => [m[1]!.toLowerCase(), m[2]!] as const);
  const tests = (query.replace(WALK, ' ').match(/\[[^\]]*\]|\S+/g) ?? []).map(term);
  if (!tests.length && !walks.length) return [];
  let nodes = graph.nodes.filter((n) => tests.every((test) => test(n)));
  for (const [kind, rest] of walks) {
    const chosen = walked(graph, kind, rest);
    if (kind === 'top' || kind === 'path') { const kept = new Set(nodes); nodes = chosen.filter((n) => kept.has(n)); }
    else { const wanted = new Set(chosen); nodes = nodes.filter((n) => wanted.has(n)); }
  }
  return nodes;
}

function walked(graph: Graph, kind: string, rest: string): GraphNode[] {
  if (kind === 'top') {
    const order = Object.hasOwn(ORDERS, rest.toLowerCase()) ? ORDERS[rest.toLowerCase()]! : () => null;
    return graph.nodes.flatMap((n) => { const value = order(n); return value === null ? [] : [[value, n] as const]; }).sort((a, b) => b[0] - a[0] || a[1].index - b[1].index).map(([, n]) => n);
  }
  if (kind === 'path') {
    const cut = rest.indexOf('..'), first = named(graph, cut < 0 ? rest : rest.slice(0, cut)), last = cut < 0 ? undefined : named(graph, rest.slice(cut + 2));
    return first && last ? (way(graph, first, last) ?? way(graph, last, first) ?? []) : [];
  }
  const start = named(graph, rest);
  if (!start) return [];
  const next = kind === 'before' ? inputs(graph) : (n: GraphNode) => graph.users.get(n.id) ?? [];
  const found = new Set<GraphNode>(), waiting = [start];
  while (waiting.length) for (const n of next(waiting.pop()!)) if (!found.has(n)) { found.add(n); waiting.push(n); }
  return [...found];
}

const inputs = (graph: Graph) => (n: GraphNode): GraphNode[] => n.inputs.map((id) => graph.byId.get(id)!);

/** The node of an id; in the graph of a compiled function also by its name there. */
const named = (graph: Graph, text: string): GraphNode | undefined => graph.byId.get(text) ?? graph.nodes.find((n) => n.name === text || n.title === text);

function way(graph: Graph, start: GraphNode, end: GraphNode): GraphNode[] | null {
  const before = new Map<GraphNode, GraphNode>([[start, start]]), waiting = [start];
  for (let i = 0; i < waiting.length && !before.has(end); i++) for (const n of graph.users.get(waiting[i]!.id) ?? []) if (!before.has(n)) { before.set(n, waiting[i]!); waiting.push(n); }
  if (!before.has(end)) return null;
  const found = [end];
  while (found.at(-1) !== start) found.push(before.get(found.at(-1)!)!);
  return found.reverse();
}

function term(given: string): (node: GraphNode) => boolean {
  const text = given.toLowerCase(), colon = text.indexOf(':'), head = colon < 0 ? null : text.slice(0, colon), rest = text.slice(colon + 1);
  if ((head === '' || head === 'line') && /^\d+$/.test(rest)) return (n) => onLine(n, Number(rest));
  if (head === 'op') return (n) => n.kind !== 'leaf' && n.title.toLowerCase().includes(rest);
  if (head === 'name') return (n) => [n.name ?? '', n.kind === 'op' ? '' : n.title, n.module].some((t) => t.toLowerCase().includes(rest));
  if (text.startsWith('[') && text.endsWith(']')) return shapeIs(text.slice(1, -1).split(',').map((s) => s.trim()).filter(Boolean));
  if (/^(\d+|\*)(x(\d+|\*))+$/.test(text)) return shapeIs(text.split('x'));
  if (/^\d+$/.test(text)) return (n) => onLine(n, Number(text)) || shapesOf(n).some((s) => s.includes(text));
  return (n) => [n.title, n.name ?? '', n.module, n.dtype, n.gradText, n.source?.words ?? ''].join('\n').toLowerCase().includes(text);
}

const shapesOf = (n: GraphNode): string[][] => n.shapes ?? (n.shape ? [n.shape.slice(1, -1).split(',').map((s) => s.trim()).filter(Boolean)] : []);
const shapeIs = (sizes: string[]) => (n: GraphNode): boolean => shapesOf(n).some((s) => s.length === sizes.length && sizes.every((want, i) => want === '*' || want === s[i]));
const onLine = (n: GraphNode, line: number): boolean => n.source !== null && n.source.line <= line && line <= n.source.endLine;
