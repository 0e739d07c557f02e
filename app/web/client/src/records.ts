// The page's side of the worker that reads records: puts the parts of large events together again, and asks for layouts.
import type { Json } from './document';
import { build, type Facts, type Graph, HERE, type Layout, type Layouts, readTape, unpackLayout } from './graph';
import type { FromRecords, ToRecords } from './shared';

const SMALL = 60; // nodes up to which a layout is made at once, here

/** The tape of a cell: as a graph to be drawn, and as what a recording keeps. */
export class TapeRecord {
  private constructor(private value: Json, private text: string, private made: Graph | null) {}

  static ofRecording(tape: Json): TapeRecord { return new TapeRecord(tape, '', null); }
  static ofRun(text: string, graph: Graph): TapeRecord { return new TapeRecord(null, text, graph); }

  get graph(): Graph { return (this.made ??= readTape(this.json)); }
  get json(): Json { return (this.value ??= (JSON.parse(this.text) as Json).tape); }
}

export class Records implements Layouts {
  private worker = new Worker(new URL('./records_worker.ts', import.meta.url), { type: 'module', name: 'records' });
  private parts: unknown[] = [];
  private requests = 0;
  private asked = new Map<number, { graph: Graph; folded: Set<string>; done(layout: Layout): void }>();

  constructor(private listener: (generation: number, event: Json) => void) {
    this.worker.onmessage = ({ data }: MessageEvent<FromRecords>) => this.receive(data);
  }

  private post(message: ToRecords, transfer: Transferable[] = []): void { this.worker.postMessage(message, transfer); }

  /** The end of a channel that a Python worker sends its events into, each as one text. */
  connect(generation: number): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.post({ kind: 'kernel', generation, port: port2 }, [port2]);
    return port1;
  }

  private receive(message: FromRecords): void {
    switch (message.kind) {
      case 'part': this.parts.push(...message.list); break;
      case 'event': {
        const { event } = message, parts = this.parts;
        this.parts = [];
        if (event.kind === 'recording') event.steps = parts;
        if (event.kind === 'tape' && typeof event.number === 'number') {
          const graph = build({ nodes: parts as Facts[], notes: event.notes });
          graph.remote = event.number;
          event.tape = TapeRecord.ofRun(event.text, graph);
          if (event.live) requestAnimationFrame(() => requestAnimationFrame(() => this.post({ kind: 'drawn' })));
        }
        this.listener(message.generation, event);
        break;
      }
      case 'layout': {
        const waiting = this.asked.get(message.request);
        this.asked.delete(message.request);
        if (waiting) waiting.done(message.layout ? unpackLayout(waiting.graph, message.layout) : (HERE.lay(waiting.graph, waiting.folded) as Layout));
      }
    }
  }

  lay(graph: Graph, folded: Set<string>): Layout | Promise<Layout> {
    if (graph.remote === null || graph.nodes.length <= SMALL) return HERE.lay(graph, folded);
    const request = ++this.requests;
    this.post({ kind: 'lay', request, number: graph.remote, folded: [...folded] });
    return new Promise((done) => this.asked.set(request, { graph, folded: new Set(folded), done }));
  }
}
