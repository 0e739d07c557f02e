// Reads what the kernel tells, away from the page: events come here from the Python worker as text and go on to the page as
// values, large ones in parts, so that no frame of the page waits for one. Tapes become the facts of a graph, and pictures
// of them are laid out here.
import { build, type Graph, type GraphFacts, lay, packLayout, tapeFacts } from './graph';
import type { FromRecords, ToRecords } from './shared';

const PART = 250; // items that the page takes in one task
const KEPT = 4; // graphs that may be laid out

const graphs = new Map<number, { facts: GraphFacts; graph: Graph | null }>();
let numbers = 0;
let drawing = false; // the page has a live tape that it has not drawn yet
let next: { generation: number; text: string } | null = null; // the newest live tape that came meanwhile

const post = (message: FromRecords, transfer: Transferable[] = []) => self.postMessage(message, { transfer });

function parts(generation: number, list: unknown[]): void {
  for (let i = 0; i < list.length; i += PART) post({ kind: 'part', generation, list: list.slice(i, i + PART) });
}

function take(generation: number, text: string): void {
  const event = JSON.parse(text);
  if (event.kind === 'tape' && Array.isArray(event.tape?.nodes) && event.tape.nodes.length) {
    const facts = tapeFacts(event.tape), number = ++numbers;
    graphs.set(number, { facts, graph: null });
    graphs.delete(number - KEPT);
    parts(generation, facts.nodes);
    post({ kind: 'event', generation, event: { kind: 'tape', cell: event.cell, live: event.live, notes: facts.notes, number, text } });
  } else if (event.kind === 'recording' && Array.isArray(event.steps)) {
    parts(generation, event.steps);
    post({ kind: 'event', generation, event: { ...event, steps: [] } });
  } else post({ kind: 'event', generation, event });
}

function flush(): void {
  const waiting = next;
  next = null;
  if (waiting) take(waiting.generation, waiting.text);
}

/** An event of the kernel. Live tapes that come faster than the page draws them are left out. */
function receive(generation: number, text: string): void {
  const tape = text.startsWith('{"kind": "tape"'), live = tape && text.endsWith('"live": true}');
  if (live && drawing) { next = { generation, text }; return; }
  if (live) drawing = true;
  else if (tape) next = null;
  else if (text.startsWith('{"kind": "executed"')) flush();
  take(generation, text);
}

self.onmessage = ({ data: message }: MessageEvent<ToRecords>) => {
  switch (message.kind) {
    case 'kernel': message.port.onmessage = (event: MessageEvent<string>) => receive(message.generation, event.data); break;
    case 'drawn': drawing = next !== null; flush(); break;
    case 'lay': {
      const known = graphs.get(message.number);
      if (!known) { post({ kind: 'layout', request: message.request, layout: null }); break; }
      const graph = (known.graph ??= build(known.facts));
      const layout = packLayout(graph, lay(graph, new Set(message.folded)));
      post({ kind: 'layout', request: message.request, layout }, [layout.places, layout.nodes, layout.frames, layout.links, layout.linked, layout.of].map((a) => a.buffer as ArrayBuffer));
    }
  }
};
