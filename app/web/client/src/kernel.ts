// The page's side of the kernel: its workers, the queue of cells, and the three steps of stopping. The document is not
// known here; events go to one listener.
import { type FileEntry, type FromWorker, GPU_SEQ, INPUT_BYTES, INPUT_SEQ, SIGINT, SIGUSR1, sharedMemory, type SharedMemory, type Site, type ToWorker } from './shared';
import type { KernelConnection, KernelEvent, KernelListener, KernelState, RunRequest } from './connection';
import type { Json } from './document';
import { Records } from './records';

const MESSAGE_FIRST = 120; // ms in which a message may stop a cell that awaits, before the shared byte is set
const PATIENCE = 2000; // ms after which the next step of stopping is offered

export class Kernel implements KernelConnection {
  state: KernelState = 'off';
  progress = { step: '', part: 0 };
  reason = '';
  running: RunRequest | null = null;
  waiting: RunRequest[] = [];
  stopping = 0; // 0 not asked, 1 asked, 2 the next step is offered
  facts: { python?: string; torch?: string; device?: string } = {};
  readonly isolated = typeof SharedArrayBuffer !== 'undefined' && globalThis.crossOriginIsolated === true;
  readonly native = false;
  readonly away = false;
  private worker: Worker | null = null;
  private gpuWorker: Worker | null = null;
  private shared: SharedMemory | null = null;
  private asked = new Map<number, (event: KernelEvent) => void>();
  private files = new Map<number, { resolve(answer: Extract<FromWorker, { kind: 'file' }>): void; reject(error: Error): void }>();
  private requests = 0;
  private generation = 0;
  private uploads: [string, Uint8Array][] = [];
  measuring = false;
  readonly records = new Records((generation, event) => { if (generation === this.generation) this.take(event as KernelEvent); });

  constructor(private site: Site, private base: string, private listener: KernelListener, public device: 'auto' | 'cpu' | 'webgpu' = 'auto') {}

  get devices() {
    return ([['auto', 'Compute on the GPU, if it is a real one'], ['webgpu', 'Compute on WebGPU, whatever it is'], ['cpu', 'Compute on the CPU']] as const).map(([device, label]) => ({ device: device as string, label: label as string, chosen: this.device === device }));
  }
  choose(device: string): void { this.device = device as Kernel['device']; if (this.state !== 'off') this.restart(); }

  private become(state: KernelState): void { this.state = state; this.listener.changed(); }

  /** Start the workers; what was asked to run meanwhile runs then. */
  start(): void {
    if (this.worker) return;
    const generation = ++this.generation;
    this.progress = { step: 'Python', part: 0 };
    this.reason = '';
    this.stopping = 0;
    this.become('loading');
    const worker = (this.worker = new Worker(new URL('./kernel_worker.ts', import.meta.url), { type: 'module', name: 'python' }));
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => { if (generation === this.generation) this.receive(data); };
    worker.onerror = (event) => { event.preventDefault(); if (generation === this.generation) this.die(`Python could not be started (${event.message || 'the worker did not load'}).`); };
    const memory = (this.shared = this.isolated ? sharedMemory() : null);
    let port: MessagePort | null = null;
    if (memory && this.device !== 'cpu' && 'gpu' in navigator) {
      const channel = new MessageChannel();
      this.gpuWorker = new Worker(new URL('./gpu_worker.ts', import.meta.url), { type: 'module', name: 'gpu' });
      this.gpuWorker.onmessage = ({ data }: MessageEvent<FromWorker>) => { if (generation === this.generation) this.receive(data); };
      this.gpuWorker.postMessage({ shared: memory, port: channel.port2 }, [channel.port2]);
      port = channel.port1;
    }
    const events = this.records.connect(generation);
    const message: ToWorker = { kind: 'boot', base: this.base, site: this.site, shared: memory, gpu: port, events, device: this.device, files: this.uploads };
    worker.postMessage(message, port ? [events, port] : [events]);
  }

  private receive(message: FromWorker): void {
    switch (message.kind) {
      case 'progress': this.progress = message; this.listener.changed(); break;
      case 'failed': this.die(message.reason); break;
      case 'tick': {
        const memory = this.shared;
        if (memory) setTimeout(() => { if (Atomics.compareExchange(memory.interrupt, 0, 0, SIGUSR1) === 0) this.wake(memory); }, 12);
        break;
      }
      case 'lost': this.listener.event({ kind: 'device_lost', reason: message.reason }); break;
      case 'file': {
        const waiting = this.files.get(message.id);
        this.files.delete(message.id);
        if (message.error) waiting?.reject(new Error(message.error)); else waiting?.resolve(message);
        break;
      }
    }
  }

  private take(event: KernelEvent): void {
    switch (event.kind) {
      case 'failed': this.die(String(event.reason)); return; // behind all that was told before
      case 'ready':
        this.facts = { python: event.python, torch: event.torch, device: event.device };
        this.progress = { step: '', part: 1 };
        if (this.measuring) this.post({ kind: 'observe', costs: true });
        this.become('idle');
        this.listener.event(event);
        this.next();
        return;
      case 'completions': case 'documentation': case 'marked': {
        const waiting = this.asked.get(event.request);
        this.asked.delete(event.request);
        waiting?.(event);
        return;
      }
      case 'executed':
        this.listener.event(event);
        this.running = null;
        this.stopping = 0;
        if (event.status !== 'ok') this.cancel();
        if (!this.waiting.length) this.become('idle');
        this.next();
        return;
      default:
        this.listener.event(event);
    }
  }

  private next(): void {
    if (this.running || this.state === 'loading' || this.state === 'off' || this.state === 'dead') return;
    const request = this.waiting.shift();
    if (!request) return;
    this.running = request;
    this.post({ kind: 'execute', ...request, store: true });
    this.become('busy');
  }

  private post(command: Json): void {
    this.worker?.postMessage({ kind: 'command', text: JSON.stringify(command) } satisfies ToWorker);
  }

  /** Queue cells; starts the kernel where there is none. */
  run(requests: RunRequest[]): void {
    for (const request of requests) {
      this.waiting = this.waiting.filter((r) => r.cell !== request.cell);
      this.waiting.push(request);
    }
    if (this.state === 'off' || this.state === 'dead') this.start();
    this.next();
    this.listener.changed();
  }

  /** Drop what waits; each is told as "aborted". */
  cancel(cell?: string): void {
    const dropped = this.waiting.filter((r) => cell === undefined || r.cell === cell);
    this.waiting = this.waiting.filter((r) => !dropped.includes(r));
    for (const { cell } of dropped) this.listener.event({ kind: 'executed', cell, status: 'aborted', execution_count: 0, seconds: 0 });
    if (dropped.length) this.listener.changed();
  }

  /** The next step of stopping what runs: a message, the shared byte, then a restart. Returns what was done. */
  interrupt(): 'nothing' | 'interrupting' | 'restarted' {
    this.cancel();
    const target = this.running;
    if (!target) return 'nothing';
    if (!this.shared || this.stopping >= 2) { this.restart(); return 'restarted'; }
    const memory = this.shared;
    this.stopping = 1;
    this.worker?.postMessage({ kind: 'interrupt' } satisfies ToWorker);
    const insist = () => {
      if (this.running !== target || this.shared !== memory) return;
      Atomics.store(memory.interrupt, 0, SIGINT);
      this.wake(memory);
    };
    setTimeout(insist, MESSAGE_FIRST);
    setTimeout(() => { if (this.running === target && this.stopping === 1) { insist(); this.stopping = 2; this.listener.changed(); } }, PATIENCE);
    this.listener.changed();
    return 'interrupting';
  }

  private wake(memory: SharedMemory): void {
    Atomics.notify(memory.control, GPU_SEQ);
    Atomics.notify(memory.control, INPUT_SEQ);
  }

  private end(): void {
    this.generation++;
    this.worker?.terminate();
    this.gpuWorker?.terminate();
    this.worker = this.gpuWorker = null;
    this.shared = null;
    for (const waiting of this.files.values()) waiting.reject(new Error('The kernel was restarted.'));
    this.files.clear();
    for (const waiting of this.asked.values()) waiting({ matches: [], text: '', start: 0, end: 0 });
    this.asked.clear();
  }

  private giveUp(status: 'interrupted' | 'died'): void {
    const { running } = this;
    this.running = null;
    this.stopping = 0;
    if (running) this.listener.event({ kind: 'executed', cell: running.cell, status, execution_count: 0, seconds: 0 });
    this.cancel();
  }

  /** A fresh Python. The document is not touched. */
  restart(): void {
    this.end();
    this.giveUp('interrupted');
    this.listener.event({ kind: 'variables', variables: [] });
    this.start();
  }

  /** End Python without a new one. */
  shutdown(): void {
    this.end();
    this.giveUp('died');
    this.become('off');
  }

  private die(reason: string): void {
    this.end();
    this.reason = reason.split('\n').filter(Boolean).at(-1) ?? reason;
    this.giveUp('died');
    this.become('dead');
  }

  /** Answer an input request; null says that there is no answer. */
  answer(text: string | null): void {
    const memory = this.shared;
    if (!memory) { this.worker?.postMessage({ kind: 'input', text } satisfies ToWorker); return; }
    let bytes = -1;
    if (text !== null) {
      const encoded = new TextEncoder().encode(text).subarray(0, memory.data.length);
      memory.data.set(encoded);
      bytes = encoded.length;
    }
    Atomics.store(memory.control, INPUT_BYTES, bytes);
    Atomics.add(memory.control, INPUT_SEQ, 1);
    this.wake(memory);
  }

  private ask(command: Json): Promise<KernelEvent> | null {
    if (this.state !== 'idle') return null;
    const request = ++this.requests;
    return new Promise((resolve) => { this.asked.set(request, resolve); this.post({ ...command, request }); });
  }

  /** Completions at a character, or null while Python is busy. */
  complete(code: string, cursor: number): Promise<KernelEvent> | null { return this.ask({ kind: 'complete', code, cursor }); }
  inspect(code: string, cursor: number): Promise<KernelEvent> | null { return this.ask({ kind: 'inspect', code, cursor }); }

  /** How `mark_dynamic` is written before calls (`MarkDynamic` in app/kernel/messages.py), or null while Python is busy. */
  mark(label: string, dimension: number, cells: Json[]): Promise<KernelEvent> | null { return this.ask({ kind: 'mark_dynamic', label, dimension, cells }); }

  /** Ask for the operators of a cell's last run, told as `recording`. */
  askSteps(cell: string): void { this.post({ kind: 'get_recording', request: ++this.requests, cell }); }
  /** Whether every operator and every kernel is timed, not only the first ones of a cell. */
  measure(on: boolean): void { this.measuring = on; if (this.state === 'idle' || this.state === 'busy') this.post({ kind: 'observe', costs: on }); }
  /** Ask for facts about the devices, told as `device_info`. */
  askDevice(): void { this.post({ kind: 'ask_device' }); }

  /** An operation on the kernel's folder; answered between two cells. */
  file(action: 'list' | 'read' | 'write' | 'remove', path = '', data?: Uint8Array): Promise<{ list?: FileEntry[]; data?: Uint8Array }> {
    if (action === 'write' && data) {
      this.uploads = this.uploads.filter(([p]) => p !== path);
      this.uploads.push([path, data]); // a restarted kernel gets them again
    }
    if (action === 'remove') this.uploads = this.uploads.filter(([p]) => p !== path);
    if (!this.worker) {
      return action === 'read' ? Promise.reject(new Error('Python has not started yet.')) : Promise.resolve({ list: this.uploads.map(([p, d]) => ({ path: p, bytes: d.length, folder: false })) });
    }
    const id = ++this.requests;
    return new Promise((resolve, reject) => {
      this.files.set(id, { resolve, reject });
      this.worker!.postMessage({ kind: 'file', id, action, path, data } satisfies ToWorker);
    });
  }
}
