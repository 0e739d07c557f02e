// The worker that owns the GPU: the Python worker sends it command lists and blocks in Atomics.wait for answers.
import { GPU_BYTES, GPU_REQUEST, GPU_SEQ, GPU_STATUS, type SharedMemory, type ToGpu } from './shared';
import { answer, GpuExecutor, problemOf } from './gpu_executor';

const executor = new GpuExecutor();
executor.onLost = (reason) => self.postMessage({ kind: 'lost', reason });
Object.assign(self, { executor }); // to look at it in the browser's tools
let shared: SharedMemory;
let failure: unknown = null; // of a command that nobody waits for; told by the next answer
let rest: Uint8Array = new Uint8Array();

function reply(id: number, status: number, bytes: Uint8Array): void {
  const { control, data } = shared;
  rest = bytes;
  data.set(bytes.subarray(0, data.length));
  Atomics.store(control, GPU_STATUS, status);
  Atomics.store(control, GPU_BYTES, bytes.length);
  Atomics.store(control, GPU_REQUEST, id);
  Atomics.add(control, GPU_SEQ, 1);
  Atomics.notify(control, GPU_SEQ);
}

async function request(id: number, what: string, argument: string): Promise<void> {
  if (what === 'more') return reply(id, 1, rest.slice(shared.data.length));
  let result: Uint8Array = new Uint8Array();
  let error: unknown = null;
  try {
    result = await answer(executor, what, argument);
  } catch (thrown) {
    error = thrown;
  }
  const problem = problemOf(executor, error ?? failure);
  failure = null;
  if (problem) reply(id, 2, new TextEncoder().encode(JSON.stringify(problem)));
  else reply(id, 1, result);
}

function take(message: ToGpu): void {
  try {
    switch (message.kind) {
      case 'commands': executor.run(message.words); break;
      case 'pipeline': executor.pipeline(message.handle, message.source, message.access, message.words, message.label); break;
      case 'write': executor.write(message.handle, message.offset, message.data); break;
      case 'time': executor.time(message.words); break;
      case 'request': void request(message.id, message.what, message.argument); break;
    }
  } catch (error) {
    failure ??= error;
  }
}

self.onmessage = ({ data }: MessageEvent<{ shared: SharedMemory; port: MessagePort }>) => {
  shared = data.shared;
  data.port.onmessage = (event: MessageEvent<ToGpu>) => take(event.data);
};
