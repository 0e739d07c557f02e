// What `torch.compile` captured, as graphs: a function with its segments and the breaks between them, one segment by
// itself, and the kernels that came of it. Records are read field by field; nothing in them is trusted.
import { bytesText, secondsText } from './dom';
import type { Json } from './document';
import { build, count, type Facts, type Graph, isObject, readSource, type ScopeFacts, shapeOf, sizesOf, type Source, whole, word } from './graph';

/** One graph that can be looked at. `key` is the same for the same part of the same function in a later record. */
export interface Choice { key: string; label: string; functionName: string; graph(): Graph }

const list = (value: Json): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
const names = (value: Json): string[] => (Array.isArray(value) ? value.map(String) : []);
const placeOf = (segment: Json): string => { const s = readSource(segment.entry?.source); return `${segment.entry?.function} ${s?.file} ${s?.line} ${s?.column}`; };
const segmentsOf = (capture: Json): Json[] => list(capture?.segments);
const operators = (segment: Json): number => list(segment.nodes).filter((n) => n.op !== 'placeholder' && n.op !== 'get_attr').length;
const kernelsOf = (segment: Json): Json => (isObject(segment.kernels) ? segment.kernels : {});
const textOf = (text: Json): string => (typeof text === 'string' ? text.slice(0, 20_000) : '');

function fact(id: string, kind: string, title: string, more: Partial<Facts> = {}): Facts {
  return { id, kind, title: word(title) || kind, shape: '', dtype: '', module: '', source: null, saved: 0, savedNames: '', gradNorm: null, gradText: '', inputs: [], root: false, details: [], ...more };
}

/** The nodes of one segment; ids are `segment:name`, so that several can stand in one graph. */
function nodesOf(segment: Json, scopes: string[], enters: string[]): Facts[] {
  const id = (name: Json) => `${segment.id}:${name}`;
  const raws = list(segment.nodes), outputs = new Set(names(segment.outputs));
  const known = new Set(raws.map((r) => String(r.name)));
  const sources = new Map(list(segment.inputs).map((i) => [String(i.name), word(i.source || i.name)]));
  const leaf = (name: Json, facts: Json, title: string) => fact(id(name), 'leaf', title, { shape: shapeOf(facts), dtype: word(facts.dtype, 12), scopes, inputs: enters, details: [['Input', title]] });
  return [
    ...list(segment.inputs).filter((i) => !known.has(String(i.name))).map((i) => leaf(i.name, i, word(i.source || i.name))),
    ...raws.map((r) => (r.op === 'placeholder' || r.op === 'get_attr' ? leaf(r.name, r, sources.get(String(r.name)) ?? word(r.target || r.name)) : fact(id(r.name), 'op', word(r.target || r.name), {
      name: word(r.name), shapes: sizesOf([r]), shape: shapeOf(r), dtype: word(r.dtype, 12), module: word(r.module, 120), source: readSource(r.source), inputs: names(r.inputs).map(id), root: outputs.has(String(r.name)), scopes,
      details: [['Node', word(r.name)], ['Shape', `${shapeOf(r)} ${word(r.dtype, 12)}`], ...(whole(r.bytes) ? [['Size', `${whole(r.bytes).toLocaleString('en')} B`] as [string, string]] : [])],
    }))),
  ];
}

/** Segments in the order in which they can follow each other; those that begin at the same place stand together. */
function ordered(capture: Json): { segment: Json; again: Json | null }[] {
  const all = segmentsOf(capture), by = new Map(all.map((s) => [String(s.id), s]));
  const out: { segment: Json; again: Json | null }[] = [], seen = new Set<string>();
  const failed = list(capture.recompiles);
  const visit = (first: Json) => {
    const waiting = [first];
    while (waiting.length) {
      const segment = waiting.shift()!;
      if (seen.has(String(segment.id))) continue;
      const family = all.filter((s) => placeOf(s) === placeOf(segment) && !seen.has(String(s.id)));
      const reasons = failed.filter((r) => family.some((s) => String(s.id) === String(r.segment)));
      family.forEach((s, i) => { seen.add(String(s.id)); out.push({ segment: s, again: i ? (reasons[i - 1] ?? {}) : null }); });
      waiting.unshift(...family.flatMap((s) => names(s.exit?.next).map((id) => by.get(id)).filter((s) => s !== undefined)));
    }
  };
  for (const segment of all) visit(segment);
  return out;
}

/** A whole function: each segment a scope, between them why the graph broke, before one that was captured again the guard that failed. */
function wholeGraph(capture: Json): Graph {
  const nodes: Facts[] = [], scopes = new Map<string, ScopeFacts>(), entering = new Map<string, string[]>();
  for (const { segment, again } of ordered(capture)) {
    const id = String(segment.id), name = `segment ${word(id, 12)}${again ? ', captured again' : ''}`;
    scopes.set(name, segmentFacts(segment));
    let enters = entering.get(id) ?? [];
    if (again) {
      const guard = word(again.guard, 80) || 'another guard';
      nodes.push(fact(`${id}:<guard>`, 'guard', guard, { source: readSource(again.source), inputs: enters, details: [['Guard', guard], ...(again.old ? [['Before', word(again.old, 80)] as [string, string]] : []), ...(again.new ? [['Now', word(again.new, 80)] as [string, string]] : [])] }));
      enters = [`${id}:<guard>`];
    }
    const inside = nodesOf(segment, [name], enters);
    if (!inside.length) inside.push(fact(`${id}:<nothing>`, 'guard', 'no operators', { scopes: [name], inputs: enters }));
    nodes.push(...inside);
    const exit = segment.exit ?? {}, why = exit.break;
    const ends = inside.filter((n) => n.root).map((n) => n.id);
    if (isObject(why)) {
      nodes.push(fact(`${id}:<exit>`, 'break', exit.kind === 'branch' ? 'branch' : exit.kind === 'raise' ? 'raises' : `break: ${word(why.id, 30)}`, {
        source: readSource(why.source), inputs: ends.length ? ends : inside.slice(-1).map((n) => n.id),
        details: ([['Reason', word(why.reason, 300)], ['Advice', word(why.hint, 300)], ['Kind', word(why.category)]] as [string, string][]).filter(([, text]) => text),
      }));
    }
    for (const next of names(exit.next)) entering.set(next, [...(entering.get(next) ?? []), isObject(why) ? `${id}:<exit>` : inside.at(-1)!.id]);
  }
  return build({ nodes, notes: [], scopes });
}

function segmentFacts(segment: Json): ScopeFacts {
  const guards = list(segment.guards), effects = names(segment.effects);
  const details: [string, string][] = [['Operators', String(operators(segment))]];
  if (typeof segment.seconds === 'number') details.push(['Captured in', secondsText(segment.seconds)]);
  if (whole(segment.calls)) details.push(['Calls', String(segment.calls)]);
  for (const g of guards.slice(0, 8)) details.push(['Guard', word(g.text, 100)]);
  if (guards.length > 8) details.push(['Guards', `${guards.length - 8} more`]);
  for (const e of effects.slice(0, 6)) details.push(['Effect', word(e, 100)]);
  return { short: count(operators(segment), 'operator'), details, source: readSource(segment.entry?.source), text: textOf(segment.code) };
}

/** The kernels of a function in launch order, each a scope with the operators it computes. */
function kernelsGraph(capture: Json): Graph {
  const nodes: Facts[] = [], scopes = new Map<string, ScopeFacts>(), notes: string[] = [];
  const total = segmentsOf(capture).flatMap((s) => list(kernelsOf(s).kernels)).reduce((sum, k) => sum + whole(k.seconds), 0);
  for (const segment of segmentsOf(capture)) {
    const own = kernelsOf(segment), known = new Map(list(segment.nodes).map((n) => [String(n.name), n]));
    const made = new Map<string, string>(); // the node that a name was last computed by
    for (const kernel of list(own.kernels)) {
      const path = [word(kernel.name, 40) || 'kernel'];
      for (let n = 2; scopes.has(path[0]!); n++) path[0] = `${word(kernel.name, 40)} (${n})`;
      const id = (name: string) => `${segment.id}.${kernel.id}:${name}`;
      const inputs: string[] = [];
      for (const input of list(kernel.inputs)) {
        const from = made.get(String(input.name));
        if (from) { inputs.push(from); continue; }
        const leaf = `${segment.id}:<in>${input.name}`;
        if (!nodes.some((n) => n.id === leaf)) nodes.push(fact(leaf, 'leaf', String(input.name), { shape: shapeOf(input), dtype: word(input.dtype, 12) }));
        inputs.push(leaf);
      }
      const parts = names(kernel.nodes), results = new Set(list(kernel.outputs).map((o) => String(o.name))), here = new Set(parts);
      const source: Source | null = readSource(list(kernel.sources)[0]);
      parts.forEach((name, i) => {
        const node = known.get(name), before = node ? names(node.inputs).filter((x) => here.has(x)).map(id) : i ? [id(parts[i - 1]!)] : [];
        nodes.push(fact(id(name), 'op', node ? word(node.target || name) : name, { shape: shapeOf(node), dtype: word(node?.dtype, 12), source: readSource(node?.source) ?? source, inputs: i && before.length ? before : [...inputs, ...before], root: results.has(name), scopes: path, details: [['Node', name]] }));
      });
      for (const name of results) made.set(name, here.has(name) ? id(name) : id(parts.at(-1) ?? name));
      const details: [string, string][] = [['Language', word(kernel.language)]];
      const add = (what: string, text: string) => { if (text) details.push([what, text]); };
      add('Time', typeof kernel.seconds === 'number' && kernel.seconds > 0 ? `${secondsText(kernel.seconds)}${whole(kernel.ceiling) ? `, at best ${secondsText(kernel.ceiling)}` : ''}` : '');
      add('Moves', whole(kernel.bytes) ? bytesText(kernel.bytes) : '');
      add('Launches', whole(kernel.launches) ? String(kernel.launches) : '');
      for (const r of list(own.refused).filter((r) => r.first === kernel.name || String(r.first) === String(kernel.id)).slice(0, 4)) add('Not fused', word(`with ${r.second}: ${r.reason}`, 200));
      scopes.set(path[0]!, { ...(typeof kernel.seconds === 'number' && kernel.seconds > 0 ? { seconds: kernel.seconds, share: kernel.seconds / total } : {}), short: [word(kernel.language), typeof kernel.seconds === 'number' && kernel.seconds > 0 ? secondsText(kernel.seconds) : ''].filter(Boolean).join(', '), details, source, text: textOf(kernel.text) });
    }
    for (const r of list(own.refused).slice(0, 6)) notes.push(word(`${r.first} and ${r.second} were not fused: ${r.reason}`, 200));
  }
  return build({ nodes, notes, scopes, closed: true });
}

/** Every graph of these captures (`observe.capture_json`), function by function. */
export function choices(captures: Json[]): Choice[] {
  return captures.flatMap((capture): Choice[] => {
    const functionName = word(capture.function, 80) || 'a function', segments = segmentsOf(capture);
    if (!segments.length) return [];
    const breaks = segments.filter((s) => isObject(s.exit?.break)).length;
    const kernels = segments.reduce((sum, s) => sum + list(kernelsOf(s).kernels).length, 0);
    const parts: Choice[] = [{ key: `${functionName}|whole`, functionName, label: segments.length === 1 ? `${count(operators(segments[0]), 'operator')}, no break` : `All of ${count(segments.length, 'segment')}, ${count(breaks, 'break')}`, graph: () => wholeGraph(capture) }];
    if (segments.length > 1) {
      for (const { segment, again } of ordered(capture)) {
        const why = isObject(segment.exit?.break) ? `, ends at ${word(segment.exit.break.id, 30)}` : '';
        parts.push({ key: `${functionName}|${segment.id}`, functionName, label: `Segment ${word(segment.id, 12)}${again ? ' (captured again)' : ''}: ${count(operators(segment), 'operator')}${why}`, graph: () => build({ nodes: nodesOf(segment, [], []), notes: [] }) });
      }
    }
    if (kernels) parts.push({ key: `${functionName}|kernels`, functionName, label: count(kernels, 'kernel'), graph: () => kernelsGraph(capture) });
    return parts;
  });
}
