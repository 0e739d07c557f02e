// The page's side of a native kernel: one socket to `tapescope serve`, which keeps the queue and every event until this page
// has it. A connection that is lost is made again; commands that had not arrived are sent again, and events go on where they
// stopped. What the page shows of documents and files is `native_host.ts`'s.
import type { KernelConnection, KernelEvent, KernelListener, KernelState, RunRequest } from './connection';
import { type Json, newId } from './document';
import { Records } from './records';
import type { FileEntry } from './shared';

const PATIENCE = 2000; // ms after which the next step of stopping is offered
const BEAT = 10_000; // ms between two signs of life
const SILENCE = 6000; // ms after a sign of life in which something must come back
const AGAIN = [300, 700, 1500, 3000, 5000]; // ms before the next try to connect

/** How the socket is: closed for good with a sentence where the server refused the page. */
export type Link = { state: 'connecting' | 'open' | 'lost' } | { state: 'refused'; held: boolean; sentence: string };

export interface NativeListener extends KernelListener {
  /** The link is another; a welcome of a page that came anew has the document and all that the panel shows. */
  linked(link: Link, welcome: Json | null): void;
  /** The file on the disk was changed by another program, or is the same again. */
  disk(changed: boolean, gone: boolean): void;
}

const NO_KEY = 4401, HELD = 4409, TAKEN = 4410;
const KEY = 'kernel-key';

export class NativeKernel implements KernelConnection {
  state: KernelState = 'loading';
  progress = { step: 'Python', part: 0.5 };
  reason = '';
  running: RunRequest | null = null;
  waiting: RunRequest[] = [];
  stopping = 0;
  facts: { python?: string; torch?: string; device?: string } = {};
  readonly isolated = true;
  readonly native = true;
  measuring = false;
  link: Link = { state: 'connecting' };
  folder = '';
  applied = 0; // the number of the last event that the page has taken in
  readonly records = new Records((generation, event) => { if (generation === this.generation) this.take(event as KernelEvent); });
  private generation = 0;
  private events: MessagePort;
  private socket: WebSocket | null = null;
  private readonly page = newId() + newId();
  private session = '';
  private received = 0;
  private sent = 0; // commands are numbered, so that one that is sent again is carried out once
  private outbox: { n: number; text: string }[] = [];
  private asked = new Map<number, (event: KernelEvent) => void>();
  private requests = 0;
  private tries = 0;
  private timer = 0;
  private heard = 0;
  private keys: string[];
  private taking = false;

  constructor(private address: string, private listener: NativeListener) {
    this.events = this.records.connect(this.generation);
    this.keys = keysOf();
    setInterval(() => this.beat(), BEAT);
    window.addEventListener('online', () => this.hurry());
    document.addEventListener('visibilitychange', () => { if (document.visibilityState === 'visible') { this.hurry(); this.beat(); } });
  }

  // -- the socket --------------------------------------------------------------------------------------------------------

  connect(take = false): void {
    this.taking = take;
    clearTimeout(this.timer);
    const socket = (this.socket = new WebSocket(this.address));
    const mine = () => socket === this.socket;
    socket.onopen = () => {
      const known = this.session ? { session: this.session, received: this.received } : {};
      socket.send(JSON.stringify({ kind: 'hello', key: this.keys[0] ?? '', page: this.page, take: this.taking, ...known }));
    };
    socket.onmessage = ({ data }: MessageEvent<string>) => { if (mine()) { this.heard = performance.now(); this.receive(data); } };
    socket.onclose = ({ code, reason }) => { if (mine()) this.lost(code, reason); };
  }

  private lost(code: number, sentence: string): void {
    this.socket = null;
    if (code === NO_KEY && this.keys.length > 1) { this.keys.shift(); this.connect(this.taking); return; }
    if (code === NO_KEY || code === HELD || code === TAKEN) {
      this.link = { state: 'refused', held: code !== NO_KEY, sentence };
    } else {
      this.timer = window.setTimeout(() => this.connect(this.taking), AGAIN[Math.min(this.tries++, AGAIN.length - 1)]);
      if (this.link.state === 'lost') return;
      this.link = { state: 'lost' };
    }
    this.listener.linked(this.link, null);
    this.listener.changed();
  }

  private hurry(): void { if (this.link.state === 'lost' && this.timer) { this.tries = 0; clearTimeout(this.timer); if (!this.socket) this.connect(this.taking); } }

  /** A sign of life: a laptop that slept has a socket that nobody holds at the other end any more. */
  private beat(): void {
    const { socket } = this;
    if (this.link.state !== 'open' || socket?.readyState !== WebSocket.OPEN) return;
    const asked = performance.now();
    socket.send('{"kind":"ping"}');
    setTimeout(() => { if (socket === this.socket && this.heard < asked) { this.lost(1006, ''); socket.close(); } }, SILENCE);
  }

  private receive(text: string): void {
    if (!/^\{"kind": "(welcome|got|pong|answer|disk)"/.test(text)) {
      const seq = /^\{"kind": "\w+", "seq": (\d+)/.exec(text);
      if (seq) this.received = Number(seq[1]);
      this.events.postMessage(text);
      return;
    }
    const message = JSON.parse(text) as Json;
    switch (message.kind) {
      case 'welcome': this.welcome(message); break;
      case 'got': this.outbox = this.outbox.filter(({ n }) => n > message.n); break;
      case 'disk': this.listener.disk(message.changed, message.gone); break;
      case 'answer': {
        const waiting = this.asked.get(message.request);
        this.asked.delete(message.request);
        waiting?.(message);
      }
    }
  }

  private welcome(message: Json): void {
    try { localStorage.setItem(KEY, message.key); } catch { /* then this tab has it, and no other */ }
    this.keys = [message.key];
    this.session = message.session;
    this.folder = message.folder;
    this.tries = 0;
    this.taking = false;
    this.link = { state: 'open' };
    const { kernel } = message;
    if (!message.again) {
      this.outbox = [];
      this.facts = kernel;
      this.reason = kernel.reason ?? '';
      this.running = kernel.running ? { cell: kernel.running, revision: 0, code: '' } : null;
      this.waiting = (kernel.queued as string[]).map((cell) => ({ cell, revision: 0, code: '' }));
      this.state = kernel.state === 'dead' ? 'dead' : kernel.state === 'idle' || kernel.state === 'busy' ? (this.running || this.waiting.length ? 'busy' : 'idle') : 'loading';
      this.received = message.document?.seq ?? 0;
      this.applied = this.received;
    }
    this.outbox = this.outbox.filter(({ n }) => n > message.got);
    for (const { text } of this.outbox) this.socket?.send(text);
    this.listener.linked(this.link, message.again ? null : message);
    if (!message.again) for (const text of message.state as string[]) this.events.postMessage(text);
    this.listener.changed();
  }

  private post(message: Json): void {
    const n = ++this.sent, text = JSON.stringify({ ...message, n });
    this.outbox.push({ n, text });
    if (this.link.state === 'open') this.socket?.send(text);
  }

  /** Ask the server; rejects with its sentence. */
  ask(what: string, content: Json = {}): Promise<Json> {
    const request = ++this.requests;
    return new Promise((resolve, reject) => {
      this.asked.set(request, (answer) => { if (answer.error) reject(new Error(answer.error)); else resolve(answer); });
      this.post({ kind: 'ask', what, request, ...content });
    });
  }

  // -- events -----------------------------------------------------------------------------------------------------------------

  private take(event: KernelEvent): void {
    if (typeof event.seq === 'number' && event.seq > this.applied) this.applied = event.seq;
    switch (event.kind) {
      case 'ready':
        this.facts = { python: event.python, torch: event.torch, device: event.device };
        this.reason = '';
        this.state = this.waiting.length || this.running ? 'busy' : 'idle';
        this.listener.changed();
        this.listener.event(event);
        return;
      case 'completions': case 'documentation': case 'marked': {
        const waiting = this.asked.get(event.request);
        this.asked.delete(event.request);
        waiting?.(event);
        return;
      }
      case 'status':
        if (event.state === 'busy' && event.cell) {
          const at = this.waiting.findIndex((r) => r.cell === event.cell);
          this.running = at < 0 ? { cell: event.cell, revision: 0, code: '' } : this.waiting.splice(at, 1)[0]!;
          this.state = 'busy';
          this.listener.event(event);
          this.listener.changed();
        }
        return;
      case 'executed':
        this.listener.event(event);
        if (this.running?.cell === event.cell) { this.running = null; this.stopping = 0; }
        else this.waiting = this.waiting.filter((r) => r.cell !== event.cell);
        if (this.state === 'busy' && !this.running && !this.waiting.length) this.state = 'idle';
        this.listener.changed();
        return;
      case 'device_info': if (event.info?.device) this.facts = { ...this.facts, device: event.info.device }; break;
      case 'died':
        this.state = 'dead';
        this.stopping = 0;
        this.running = null;
        this.reason = event.reason;
        for (const waiting of this.asked.values()) waiting({ matches: [], text: '', start: 0, end: 0 });
        this.asked.clear();
        this.listener.event(event);
        this.listener.changed();
        return;
    }
    this.listener.event(event);
  }

  // -- what the page asks ----------------------------------------------------------------------------------------------------

  start(): void {
    if (this.state !== 'dead' && this.state !== 'off') return;
    this.state = 'loading';
    this.post({ kind: 'control', what: 'start' });
    if (this.measuring) this.post({ kind: 'observe', costs: true });
    this.listener.changed();
  }

  run(requests: RunRequest[]): void {
    if (this.state === 'dead') this.start();
    const again = requests.map((r) => r.cell).filter((cell) => this.waiting.some((r) => r.cell === cell));
    if (again.length) this.post({ kind: 'control', what: 'cancel', cells: again });
    for (const request of requests) {
      this.waiting = this.waiting.filter((r) => r.cell !== request.cell);
      this.waiting.push(request);
      this.post({ kind: 'execute', ...request, store: true });
    }
    if (this.state === 'idle') this.state = 'busy';
    this.listener.changed();
  }

  cancel(cell?: string): void { this.post({ kind: 'control', what: 'cancel', ...(cell === undefined ? {} : { cells: [cell] }) }); }

  interrupt(): 'nothing' | 'interrupting' | 'restarted' {
    const target = this.running;
    if (!target) { if (this.waiting.length) this.cancel(); return 'nothing'; }
    if (this.stopping >= 2) { this.renew(true); return 'restarted'; }
    this.stopping = 1;
    this.post({ kind: 'control', what: 'interrupt' });
    setTimeout(() => { if (this.running === target && this.stopping === 1) { this.stopping = 2; this.listener.changed(); } }, PATIENCE);
    this.listener.changed();
    return 'interrupting';
  }

  restart(): void { if (this.state === 'dead') this.start(); else this.renew(false); }

  private renew(force: boolean): void {
    this.stopping = 0;
    this.state = 'loading';
    this.post({ kind: 'control', what: 'restart', force });
    if (this.measuring) this.post({ kind: 'observe', costs: true });
    this.listener.changed();
  }

  shutdown(): void { this.post({ kind: 'control', what: 'kill' }); }

  answer(text: string | null): void { this.post({ kind: 'input_reply', text: text ?? '', end: text === null }); }

  private question(command: Json): Promise<KernelEvent> | null {
    if (this.state !== 'idle' || this.link.state !== 'open') return null;
    const request = ++this.requests;
    return new Promise((resolve) => { this.asked.set(request, resolve); this.post({ ...command, request }); });
  }

  complete(code: string, cursor: number): Promise<KernelEvent> | null { return this.question({ kind: 'complete', code, cursor }); }
  inspect(code: string, cursor: number): Promise<KernelEvent> | null { return this.question({ kind: 'inspect', code, cursor }); }
  mark(label: string, dimension: number, cells: Json[]): Promise<KernelEvent> | null { return this.question({ kind: 'mark_dynamic', label, dimension, cells }); }
  askSteps(cell: string): void { this.post({ kind: 'get_recording', request: ++this.requests, cell }); }
  measure(on: boolean): void { this.measuring = on; if (this.state === 'idle' || this.state === 'busy') this.post({ kind: 'observe', costs: on }); }
  askDevice(): void { this.post({ kind: 'ask_device' }); }

  get away(): boolean { return this.link.state === 'lost' || this.link.state === 'refused'; }

  get devices() {
    const now = this.facts.device?.split(/[\s:(]/)[0];
    return [['cpu', 'Compute on the CPU'], ['webgpu', 'Compute on WebGPU']].map(([device, label]) => ({ device: device!, label: label!, chosen: device === now }));
  }
  choose(device: string): void { this.post({ kind: 'ask_device', switch: device }); }

  async file(action: 'list' | 'read' | 'write' | 'remove', path = '', data?: Uint8Array): Promise<{ list?: FileEntry[]; data?: Uint8Array }> {
    const answer = await this.ask('file', { action, path, ...(data ? { data: toBase64(data) } : {}) });
    return typeof answer.data === 'string' ? { data: Uint8Array.from(atob(answer.data), (c) => c.charCodeAt(0)) } : { list: answer.list };
  }
}

/** The keys that may open: the one in the address, which leaves it now, and the one that opened before. */
function keysOf(): string[] {
  const found: string[] = [];
  const given = /^#key=([\w-]+)$/.exec(location.hash)?.[1];
  if (given) { found.push(given); history.replaceState(null, '', location.pathname + location.search); }
  try { const kept = localStorage.getItem(KEY); if (kept && kept !== given) found.push(kept); } catch { /* no storage */ }
  return found;
}

function toBase64(data: Uint8Array): string {
  let text = '';
  for (let at = 0; at < data.length; at += 0x8000) text += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(text);
}
