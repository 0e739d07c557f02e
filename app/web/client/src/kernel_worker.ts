// The worker that Python lives in: loads Pyodide and the bundles, and hands commands to `tapescope.app.kernel.worker`.
import {
  GPU_BYTES, GPU_REQUEST, GPU_SEQ, GPU_STATUS, INPUT_BYTES, INPUT_SEQ, SIGINT,
  type Bundle, type FileEntry, type FromWorker, type SharedMemory, type Site, type ToGpu, type ToWorker,
} from './shared';
import { answer, GpuExecutor, problemOf } from './gpu_executor';

/* eslint-disable @typescript-eslint/no-explicit-any */
type Pyodide = any;

let pyodide: Pyodide;
let kernel: any;
let shared: SharedMemory | null = null;
let events: MessagePort;
let base = '';
let site: Site;
const post = (message: FromWorker, transfer: Transferable[] = []) => self.postMessage(message, { transfer });
const SITE_PACKAGES = '/lib/python3.14/site-packages';
const LAID = 1e12;
const FOLDER = '/home/notebook';

// -- files -------------------------------------------------------------------------------------------------------

async function unzip(compressed: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const plain = compressed.pipeThrough(new DecompressionStream('gzip') as unknown as ReadableWritablePair<Uint8Array, Uint8Array>);
  return new Uint8Array(await new Response(plain as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}

// -- bytecode that an earlier start compiled ---------------------------------------------------------------------

const BYTECODE = 'bytecode-of-tapescope';
const bytecodeKey = (): string => new URL(`${site.bundles.tapescope?.file}.compiled`, base).href;
let modulesKept = 0;
let suspends = true; // whether WebAssembly's stack can be switched (JSPI)

/** Compiled modules of this build of the site from an earlier visit, in the form of a bundle; null where there are none. */
async function keptBytecode(): Promise<Uint8Array | null> {
  try {
    const kept = await (await caches.open(BYTECODE)).match(bytecodeKey());
    return kept ? new Uint8Array(await kept.arrayBuffer()) : null;
  } catch { return null; } // no such storage here
}

/** Keep what Python has compiled, once it is much more than what is kept. */
async function keepBytecode(): Promise<void> {
  const found: [string, Uint8Array][] = [];
  const walk = (folder: string) => {
    for (const name of pyodide.FS.readdir(`${SITE_PACKAGES}/${folder}`) as string[]) {
      if (name === '.' || name === '..') continue;
      const path = `${folder}/${name}`;
      const isFolder = pyodide.FS.isDir(pyodide.FS.stat(`${SITE_PACKAGES}/${path}`).mode) as boolean;
      if (isFolder) walk(path);
      else if (path.endsWith('.pyc')) found.push([path, pyodide.FS.readFile(`${SITE_PACKAGES}/${path}`) as Uint8Array]);
    }
  };
  try {
    walk('tapescope');
    if (found.length < modulesKept + 20) return;
    modulesKept = found.length;
    const head = new TextEncoder().encode(`${JSON.stringify(found.map(([path, data]) => [path, data.length]))}\n`);
    const cache = await caches.open(BYTECODE);
    for (const old of await cache.keys()) if (old.url !== bytecodeKey()) await cache.delete(old);
    await cache.put(bytecodeKey(), new Response(new Blob([head, ...found.map(([, data]) => data as Uint8Array<ArrayBuffer>)])));
  } catch { /* the next start compiles again */ }
}

async function fetchBundle(bundle: Bundle): Promise<Uint8Array> {
  const answer = await fetch(new URL(bundle.file, base));
  if (!answer.ok || !answer.body) throw new Error(`${bundle.file} could not be loaded (${answer.status})`);
  return unzip(answer.body);
}

/** Lay the files of a bundle into the file system; their contents stay views of the one buffer. */
function lay(data: Uint8Array): void {
  const end = data.indexOf(10);
  const names = JSON.parse(new TextDecoder().decode(data.subarray(0, end))) as [string, number][];
  const made = new Set<string>();
  let at = end + 1;
  for (const [name, size] of names) {
    const cut = name.lastIndexOf('/');
    const folder = cut < 0 ? SITE_PACKAGES : `${SITE_PACKAGES}/${name.slice(0, cut)}`;
    if (!made.has(folder)) { pyodide.FS.mkdirTree(folder); made.add(folder); }
    const path = `${folder}/${name.slice(cut + 1)}`;
    pyodide.FS.writeFile(path, data.subarray(at, at + size), { canOwn: true });
    if (name.startsWith('tapescope/')) pyodide.FS.utime(path, LAID, LAID); // kept bytecode names the time of its source
    at += size;
  }
}

/** A bundle that was left for later, now: an import waits for it, so the request blocks. */
function loadLate(name: string): void {
  const bundle = site.bundles[name];
  if (!bundle) return;
  const request = new XMLHttpRequest();
  request.open('GET', new URL(bundle.file, base), false);
  request.responseType = 'arraybuffer';
  request.send();
  if (request.status >= 400) throw new Error(`${bundle.file} could not be loaded (${request.status})`);
  const gzip = pyodide.pyimport('gzip');
  const bytes = gzip.decompress(pyodide.toPy(new Uint8Array(request.response as ArrayBuffer)));
  const view = bytes.getBuffer('u8');
  lay(new Uint8Array(view.data));
  view.release();
  bytes.destroy();
  gzip.destroy();
}

function list(): FileEntry[] {
  const found: FileEntry[] = [];
  const walk = (folder: string) => {
    for (const name of pyodide.FS.readdir(folder) as string[]) {
      if (name === '.' || name === '..' || name.startsWith('.') || name === '__pycache__') continue;
      const path = `${folder}/${name}`;
      const stat = pyodide.FS.stat(path);
      const isFolder = pyodide.FS.isDir(stat.mode) as boolean;
      found.push({ path: path.slice(FOLDER.length + 1), bytes: isFolder ? 0 : stat.size, folder: isFolder });
      if (isFolder && found.length < 2000) walk(path);
    }
  };
  walk(FOLDER);
  return found;
}

function writeFile(path: string, data: Uint8Array): void {
  const full = `${FOLDER}/${path}`;
  pyodide.FS.mkdirTree(full.slice(0, full.lastIndexOf('/')));
  pyodide.FS.writeFile(full, data);
}

/** Why a file could not be had; the file system's own errors carry only a number (wasi's). */
function fileTrouble(error: unknown): string {
  const number = (error as { errno?: number }).errno;
  const words: Record<number, string> = { 31: 'a folder of the notebook has this name; rename the file', 37: 'the name is too long; rename the file', 44: 'there is no such file any more', 48: 'the memory of this page is full', 51: 'the memory of this page is full', 54: 'a file stands where a folder of this name would be' };
  return words[number ?? 0] ?? (error instanceof Error ? error.message : number === undefined ? String(error) : `the file system answered with error ${number}`);
}

const early: Extract<ToWorker, { kind: 'file' }>[] = []; // asked for before Python was there

function file(message: Extract<ToWorker, { kind: 'file' }>): void {
  if (!kernel) { early.push(message); return; }
  const { id, action, path } = message;
  try {
    if (action === 'write') writeFile(path, message.data!);
    else if (action === 'remove') pyodide.FS.unlink(`${FOLDER}/${path}`);
    else if (action === 'read') {
      const data = pyodide.FS.readFile(`${FOLDER}/${path}`) as Uint8Array<ArrayBuffer>;
      return post({ kind: 'file', id, data }, [data.buffer]);
    }
    post({ kind: 'file', id, list: list() });
  } catch (error) {
    post({ kind: 'file', id, error: `${path}: ${fileTrouble(error).replace(/[.\s]+$/, '')}.` });
  }
}

// -- waiting ---------------------------------------------------------------------------------------------------------

/** Block until `done()`, the deadline, or an interrupt: 1, 0 or -1; 2 when text waits to be flushed. */
function block(memory: SharedMemory, index: number, done: () => boolean, deadline = Infinity): number {
  for (;;) {
    const seq = Atomics.load(memory.control, index);
    if (done()) return 1;
    if (Atomics.compareExchange(memory.interrupt, 0, SIGINT, 0) === SIGINT) return -1;
    if (Atomics.load(memory.interrupt, 0) !== 0) return 2;
    const left = deadline - performance.now();
    if (left <= 0) return 0;
    Atomics.wait(memory.control, index, seq, Math.min(left, 20));
  }
}

const later: { input: ((text: string | null) => void) | null } = { input: null };

const host = {
  isolated: false,
  webgpu: false,
  post: (text: string) => events.postMessage(text),
  pending: () => post({ kind: 'tick' }),
  set_interrupt: () => { if (shared) Atomics.store(shared.interrupt, 0, 2); },
  clear_interrupt: () => { if (shared) Atomics.store(shared.interrupt, 0, 0); },
  load_late: loadLate,
  late: () => JSON.stringify(Object.fromEntries(Object.entries(site.bundles).filter(([, b]) => b.late).flatMap(([n, b]) => b.packages.map((p) => [p, n])))),
  /** Sleep; 0 when over, -1 interrupted, 2 when text should be flushed first. */
  sleep: (deadline: number) => block(shared!, INPUT_SEQ, () => false, deadline),
  now: () => performance.now(),
  begin_input: () => { if (shared) Atomics.store(shared.control, INPUT_BYTES, -2); },
  wait_input: () => block(shared!, INPUT_SEQ, () => Atomics.load(shared!.control, INPUT_BYTES) !== -2),
  input_text: () => {
    const n = Atomics.load(shared!.control, INPUT_BYTES);
    return n < 0 ? null : new TextDecoder().decode(shared!.data.slice(0, n));
  },
  input_later: () => new Promise<string | null>((resolve) => { later.input = resolve; }),
};

// -- the GPU ------------------------------------------------------------------------------------------------------------

/** The module `tapescope_gpu` that `engine/backends/webgpu/browser.py` calls. */
function gpuModule(port: MessagePort | null): Record<string, unknown> {
  let requests = 0;
  let reply: Uint8Array = new Uint8Array();
  let status = 0;
  const words = (pointer: number, n: number) => pyodide._module.HEAPU32.slice(pointer >>> 2, (pointer >>> 2) + n) as Uint32Array<ArrayBuffer>;
  const bytes = (pointer: number, n: number) => pyodide._module.HEAPU8.slice(pointer, pointer + n) as Uint8Array<ArrayBuffer>;
  const common = {
    size: () => reply.length,
    take: (pointer: number, from: number, n: number) => { pyodide._module.HEAPU8.set(reply.subarray(from, from + n), pointer); },
    text: () => new TextDecoder().decode(reply),
  };
  if (port) {
    const memory = shared!;
    const send = (message: ToGpu, transfer: Transferable[] = []) => port.postMessage(message, transfer);
    const waitFor = (id: number): number => {
      const done = () => Atomics.load(memory.control, GPU_REQUEST) === id;
      let code = 2;
      while (code === 2) {
        code = block(memory, GPU_SEQ, done);
        if (code === 2) Atomics.wait(memory.control, GPU_SEQ, Atomics.load(memory.control, GPU_SEQ), done() ? 0 : 5);
      }
      return code;
    };
    return {
      ...common,
      synchronous: true,
      commands: (pointer: number, n: number) => { const w = words(pointer, n); send({ kind: 'commands', words: w }, [w.buffer]); },
      time: (pointer: number, n: number) => { const w = words(pointer, n); send({ kind: 'time', words: w }, [w.buffer]); },
      pipeline: (handle: number, source: string, access: string, n: number, label: string) => send({ kind: 'pipeline', handle, source, access, words: n, label }),
      write: (handle: number, offset: number, pointer: number, n: number) => { const data = bytes(pointer, n); send({ kind: 'write', handle, offset, data }, [data.buffer]); },
      /** 1 with a result, 2 with a problem as JSON, -1 interrupted. */
      request: (what: string, argument: string) => {
        const id = ++requests;
        send({ kind: 'request', id, what, argument });
        if (waitFor(id) < 0) return -1;
        status = Atomics.load(memory.control, GPU_STATUS);
        const total = Atomics.load(memory.control, GPU_BYTES);
        if (total <= memory.data.length) {
          reply = memory.data.slice(0, total);
          return status;
        }
        reply = new Uint8Array(total);
        reply.set(memory.data);
        for (let at = memory.data.length; at < total; at += memory.data.length) {
          const more = ++requests;
          send({ kind: 'request', id: more, what: 'more', argument: '' });
          if (waitFor(more) < 0) return -1;
          reply.set(memory.data.subarray(0, Math.min(memory.data.length, total - at)), at);
        }
        return status;
      },
    };
  }
  const executor = new GpuExecutor();
  executor.onLost = (reason) => post({ kind: 'lost', reason });
  let failure: unknown = null;
  const guarded = (action: () => void) => { try { action(); } catch (error) { failure ??= error; } };
  return {
    ...common,
    synchronous: false,
    commands: (pointer: number, n: number) => guarded(() => executor.run(words(pointer, n))),
    time: (pointer: number, n: number) => executor.time(words(pointer, n)),
    pipeline: (handle: number, source: string, access: string, n: number, label: string) => guarded(() => executor.pipeline(handle, source, access, n, label)),
    write: (handle: number, offset: number, pointer: number, n: number) => guarded(() => executor.write(handle, offset, bytes(pointer, n))),
    request: async (what: string, argument: string) => {
      let error: unknown = null;
      try { reply = await answer(executor, what, argument); } catch (thrown) { error = thrown; }
      const problem = problemOf(executor, error ?? failure);
      failure = null;
      if (problem) reply = new TextEncoder().encode(JSON.stringify(problem));
      return problem ? 2 : 1;
    },
  };
}

// -- running ------------------------------------------------------------------------------------------------------------

const queue: string[] = [];
let working = false;
let keeping = 0;

async function work(): Promise<void> {
  if (working || !kernel) return;
  working = true;
  while (queue.length) {
    const text = queue.shift()!;
    try {
      // Without stack switching Python cannot wait for what a cell awaits: the event loop of the page does.
      await (suspends ? kernel.handle.callPromising(text) : kernel.handle_async(text));
    } catch (error) {
      events.postMessage(JSON.stringify({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) }));
      return;
    }
  }
  working = false;
  clearTimeout(keeping);
  keeping = setTimeout(() => { if (!working) void keepBytecode(); }, 3000) as unknown as number;
}

async function boot(message: Extract<ToWorker, { kind: 'boot' }>): Promise<void> {
  ({ base, site, shared, events } = message);
  const now = Object.entries(site.bundles).filter(([, b]) => !b.late);
  const bundles = Promise.all(now.map(([, bundle]) => fetchBundle(bundle)));
  bundles.catch(() => undefined);
  const compiled = keptBytecode();
  post({ kind: 'progress', step: 'Python', part: 0.1 });
  const { loadPyodide } = (await import(/* @vite-ignore */ new URL('pyodide/pyodide.mjs', base).href)) as { loadPyodide: (o: object) => Promise<Pyodide> };
  pyodide = await loadPyodide({ indexURL: new URL('pyodide/', base).href });
  post({ kind: 'progress', step: 'numpy and the engine', part: 0.5 });
  for (const bundle of await bundles) lay(bundle);
  const kept = await compiled;
  if (kept) { lay(kept); modulesKept = (JSON.parse(new TextDecoder().decode(kept.subarray(0, kept.indexOf(10)))) as unknown[]).length; }
  pyodide.FS.mkdirTree(FOLDER);
  pyodide.FS.chdir(FOLDER);
  const data = `${SITE_PACKAGES}/tapescope/examples/data`;
  if (pyodide.FS.analyzePath(data).exists) pyodide.FS.symlink(data, `${FOLDER}/data`);
  for (const [path, bytes] of message.files) try { writeFile(path, bytes); } catch { /* the page was told when it came; Python starts without it */ }
  host.isolated = shared !== null;
  host.webgpu = message.device !== 'cpu' && 'gpu' in navigator;
  pyodide.registerJsModule('tapescope_host', host);
  pyodide.registerJsModule('tapescope_gpu', gpuModule(shared ? message.gpu : null));
  if (shared) pyodide.setInterruptBuffer(shared.interrupt);
  post({ kind: 'progress', step: 'the kernel', part: 0.7 });
  // Python can neither block nor suspend: values then come by `await t.item_async()`, and the device must be there before.
  if (!shared && host.webgpu && !('Suspending' in WebAssembly)) {
    await pyodide.runPythonAsync('from tapescope.engine.backends.webgpu import browser\nawait browser.open_ahead()');
  }
  suspends = pyodide._module.jspiSupported === true;
  kernel = await pyodide.runPythonAsync(`
import sys
sys.dont_write_bytecode = False
${!suspends && !shared && host.webgpu ? 'from tapescope.engine.backends.webgpu.browser import open_ahead\nawait open_ahead()' : ''}
from tapescope.app.kernel.worker import WorkerKernel
WorkerKernel(${JSON.stringify(message.device)})
`);
  post({ kind: 'progress', step: 'the kernel', part: 0.9 });
  for (const asked of early.splice(0)) file(asked);
  if (suspends) await kernel.start.callPromising(); else kernel.start();
  void work();
}

self.onmessage = ({ data: message }: MessageEvent<ToWorker>) => {
  switch (message.kind) {
    case 'boot':
      boot(message).catch((error: unknown) => post({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) }));
      break;
    case 'command': queue.push(message.text); void work(); break;
    case 'interrupt': kernel?.interrupt(); break;
    case 'input': later.input?.(message.text); later.input = null; break;
    case 'file': file(message); break;
  }
};
