// Owns a GPUDevice and runs packed command lists on it. Used by the GPU worker, and in the Python worker itself where
// the page is not cross-origin isolated. It knows no Python; `engine/backends/webgpu/gpu.py` describes the list.

const DISPATCH = 1, COPY = 2, CLEAR = 3, CREATE = 16, WINDOW = 17, DESTROY = 18, FORGET = 19;
const RING_BYTES = 1 << 20;
const MAX_GROUPS = 4096;
const TIMED = 128; // dispatches that are timed together

interface Part { buffer: GPUBuffer; offset: number; bytes: number; window: boolean }
interface Pipeline { pipeline: GPUComputePipeline; layout: Layout; parameterBytes: number }
interface Layout { group: GPUBindGroupLayout; pipeline: GPUPipelineLayout; groups: Map<string, GPUBindGroup> }
export interface GpuProblem { kind: 'lost' | 'memory' | 'error' | 'none'; message: string }

export interface GpuFacts { name: string; vendor: string; driver: string; kind: string; features: string[]; available: string[] }

export class GpuExecutor {
  problems: GpuProblem[] = [];
  /** Called when a device is gone that nobody closed. */
  onLost: (reason: string) => void = () => undefined;
  private lost: string | null = null;
  private device!: GPUDevice;
  private parts = new Map<number, Part>();
  private pipelines = new Map<number, Pipeline>();
  private layouts = new Map<string, Layout>();
  private groupsOf = new Map<number, [Layout, string][]>();
  private groupCount = 0;
  private ring!: GPUBuffer;
  private words = new Uint32Array(RING_BYTES / 4);
  private staging = new Map<number, GPUBuffer>();
  private closed = new WeakSet<GPUDevice>();
  private toTime: Uint32Array = new Uint32Array();
  private ofNothing = Infinity; // milliseconds that an empty submission takes

  /** Open the best adapter, in place of a device that was open before. Rejects with a sentence where there is none. */
  async open(without: string[] = []): Promise<GpuFacts> {
    this.lost = null;
    this.problems = [];
    for (const table of [this.parts, this.pipelines, this.layouts, this.groupsOf, this.staging]) table.clear();
    this.groupCount = 0;
    if (!navigator.gpu) throw new Error('This browser has no WebGPU.');
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
    if (!adapter) throw new Error('This browser has WebGPU, but no adapter for it.');
    const wanted = (['shader-f16', 'timestamp-query'] as GPUFeatureName[]).filter((f) => adapter.features.has(f) && !without.includes(f));
    const device = (this.device = await adapter.requestDevice({ requiredFeatures: wanted }));
    this.device.onuncapturederror = ({ error }) => {
      this.problems.push({ kind: error instanceof GPUOutOfMemoryError ? 'memory' : 'error', message: error.message });
    };
    void device.lost.then((info) => {
      if (device !== this.device || this.closed.has(device)) return; // another has taken its place, or it was closed
      this.lost = info.message || info.reason || 'no reason was given';
      this.onLost(this.lost);
    });
    this.ring = this.device.createBuffer({ size: RING_BYTES, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    const info = adapter.info;
    const software = (info as { isFallbackAdapter?: boolean }).isFallbackAdapter === true || /swiftshader|llvmpipe/i.test(info.architecture + info.device + info.description);
    return {
      name: info.description || [info.vendor, info.architecture].filter(Boolean).join(' ') || 'unnamed adapter',
      vendor: info.vendor, driver: info.device, kind: software ? 'cpu' : 'unknown',
      features: wanted, available: [...adapter.features].sort(),
    };
  }

  /** What went wrong since this was last asked for; a lost device comes first. */
  takeProblems(): GpuProblem[] {
    const found = this.problems;
    this.problems = [];
    return this.lost !== null ? [{ kind: 'lost', message: this.lost }, ...found] : found;
  }

  pipeline(handle: number, source: string, access: string, words: number, label: string): void {
    const layout = this.layout(access, words * 4);
    this.device.pushErrorScope('validation');
    const module = this.device.createShaderModule({ code: source, label });
    const pipeline = this.device.createComputePipeline({ layout: layout.pipeline, compute: { module }, label });
    void this.device.popErrorScope().then(async (error) => {
      if (!error) return;
      const told = (await module.getCompilationInfo()).messages.filter((m) => m.type === 'error');
      const where = told.map((m) => `line ${m.lineNum}: ${m.message}`).join('; ');
      this.problems.push({ kind: 'error', message: `the kernel '${label}': ${where || error.message}` });
    });
    this.pipelines.set(handle, { pipeline, layout, parameterBytes: words * 4 });
  }

  private layout(access: string, parameterBytes: number): Layout {
    const key = `${access}:${parameterBytes}`;
    let found = this.layouts.get(key);
    if (!found) {
      const entries: GPUBindGroupLayoutEntry[] = [...access].map((a, binding) => ({
        binding, visibility: GPUShaderStage.COMPUTE, buffer: { type: a === 'w' ? 'storage' : 'read-only-storage' },
      }));
      entries.push({
        binding: access.length, visibility: GPUShaderStage.COMPUTE,
        buffer: { type: 'uniform', hasDynamicOffset: true, minBindingSize: parameterBytes },
      });
      const group = this.device.createBindGroupLayout({ entries });
      found = { group, pipeline: this.device.createPipelineLayout({ bindGroupLayouts: [group] }), groups: new Map() };
      this.layouts.set(key, found);
    }
    return found;
  }

  write(handle: number, offset: number, data: Uint8Array): void {
    const part = this.part(handle);
    this.device.queue.writeBuffer(part.buffer, part.offset + offset, data as Uint8Array<ArrayBuffer>);
  }

  private part(handle: number): Part {
    const found = this.parts.get(handle);
    if (!found) throw new Error(`buffer ${handle} is not on this device`);
    return found;
  }

  /** Encode and submit a command list. With `times`, each dispatch writes when it begins and when it ends. */
  run(c: Uint32Array, times: GPUQuerySet | null = null): void {
    const { device, words } = this;
    const n = c.length;
    let i = 0, ring = 0, current = -1, written = 0;
    let encoder: GPUCommandEncoder | null = null;
    let pass: GPUComputePassEncoder | null = null;
    const endPass = () => { pass?.end(); pass = null; current = -1; };
    const submit = () => {
      endPass();
      if (!encoder) return;
      if (ring) device.queue.writeBuffer(this.ring, 0, words, 0, ring >> 2);
      device.queue.submit([encoder.finish()]);
      encoder = null;
      ring = 0;
    };
    const slot = new Uint32Array(1);
    while (i < n) {
      switch (c[i]) {
        case DISPATCH: {
          const handle = c[i + 1]!, count = c[i + 5]!, j = i + 6 + count, wordCount = c[j]!;
          const made = this.pipelines.get(handle);
          if (!made) throw new Error(`pipeline ${handle} is not on this device`);
          if (ring + made.parameterBytes > RING_BYTES) submit();
          let key = '';
          for (let k = i + 6; k < j; k++) key += String.fromCharCode(c[k]! & 0xffff, c[k]! >>> 16);
          const group = made.layout.groups.get(key) ?? this.bind(made, key, c.subarray(i + 6, j));
          encoder ??= device.createCommandEncoder();
          if (times) { endPass(); pass = (encoder as GPUCommandEncoder).beginComputePass({ timestampWrites: { querySet: times, beginningOfPassWriteIndex: written++, endOfPassWriteIndex: written++ } }); }
          pass ??= (encoder as GPUCommandEncoder).beginComputePass();
          if (current !== handle) { (pass as GPUComputePassEncoder).setPipeline(made.pipeline); current = handle; }
          words.set(c.subarray(j + 1, j + 1 + wordCount), ring >> 2);
          slot[0] = ring;
          (pass as GPUComputePassEncoder).setBindGroup(0, group, slot, 0, 1);
          (pass as GPUComputePassEncoder).dispatchWorkgroups(c[i + 2]!, c[i + 3]!, c[i + 4]!);
          ring += Math.ceil(made.parameterBytes / 256) * 256;
          i = j + 1 + wordCount;
          break;
        }
        case COPY: {
          endPass();
          encoder ??= device.createCommandEncoder();
          const source = this.part(c[i + 1]!), target = this.part(c[i + 3]!);
          encoder.copyBufferToBuffer(source.buffer, source.offset + c[i + 2]!, target.buffer, target.offset + c[i + 4]!, c[i + 5]!);
          i += 6;
          break;
        }
        case CLEAR: {
          endPass();
          encoder ??= device.createCommandEncoder();
          const part = this.part(c[i + 1]!);
          encoder.clearBuffer(part.buffer, part.offset + c[i + 2]!, c[i + 3]!);
          i += 4;
          break;
        }
        case CREATE: {
          const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
          const bytes = c[i + 2]!;
          this.parts.set(c[i + 1]!, { buffer: device.createBuffer({ size: bytes, usage }), offset: 0, bytes, window: false });
          i += 3;
          break;
        }
        case WINDOW: {
          this.parts.set(c[i + 1]!, { buffer: this.part(c[i + 2]!).buffer, offset: c[i + 3]!, bytes: c[i + 4]!, window: true });
          i += 5;
          break;
        }
        case DESTROY: {
          submit(); // what was encoded may use it
          const handle = c[i + 1]!, part = this.parts.get(handle);
          for (const [layout, key] of this.groupsOf.get(handle) ?? []) if (layout.groups.delete(key)) this.groupCount--;
          this.groupsOf.delete(handle);
          this.parts.delete(handle);
          if (part && !part.window) part.buffer.destroy();
          i += 2;
          break;
        }
        case FORGET: {
          this.pipelines.delete(c[i + 1]!);
          i += 2;
          break;
        }
        default:
          throw new Error(`no command ${c[i]} at position ${i} of the list`);
      }
    }
    submit();
  }

  /** The list that the next `times` runs. */
  time(c: Uint32Array): void { this.toTime = c; }

  /** Run the list that was given, and tell the seconds of each dispatch: by the device's own clock, else by ours, which waits for each. */
  async times(): Promise<Uint8Array> {
    const c = this.toTime, { device } = this;
    const clock = !device.features.has('timestamp-query');
    const seconds: number[] = [];
    if (clock) {
      await this.idle();
      for (let n = 0; n < 3; n++) { const began = performance.now(); device.queue.submit([device.createCommandEncoder().finish()]); await this.idle(); this.ofNothing = Math.min(this.ofNothing, performance.now() - began); }
    }
    for (let i = 0; i < c.length;) {
      let j = i, dispatches = 0;
      while (j < c.length && !(dispatches === (clock ? 1 : TIMED) && c[j] === DISPATCH)) {
        if (c[j] === DISPATCH) { dispatches++; j += 6 + c[j + 5]!; j += 1 + c[j]!; } else j += c[j] === COPY ? 6 : 4;
      }
      const part = c.subarray(i, j);
      i = j;
      if (!dispatches) this.run(part);
      else if (clock) {
        const began = performance.now();
        this.run(part);
        await this.idle();
        seconds.push(Math.max(0, performance.now() - began - this.ofNothing) / 1000);
      } else {
        const set = device.createQuerySet({ type: 'timestamp', count: 2 * dispatches });
        const buffer = device.createBuffer({ size: 16 * dispatches, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
        const staging = device.createBuffer({ size: 16 * dispatches, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
        this.run(part, set);
        const encoder = device.createCommandEncoder();
        encoder.resolveQuerySet(set, 0, 2 * dispatches, buffer, 0);
        encoder.copyBufferToBuffer(buffer, 0, staging, 0, 16 * dispatches);
        device.queue.submit([encoder.finish()]);
        await staging.mapAsync(GPUMapMode.READ);
        const told = new BigUint64Array(staging.getMappedRange().slice(0));
        for (let k = 0; k < dispatches; k++) seconds.push(Math.max(0, Number(told[2 * k + 1]! - told[2 * k]!)) * 1e-9);
        staging.destroy();
        buffer.destroy();
        set.destroy();
      }
    }
    return new Uint8Array(Float64Array.from(seconds).buffer);
  }

  private bind(made: Pipeline, key: string, handles: Uint32Array): GPUBindGroup {
    if (this.groupCount >= MAX_GROUPS) {
      for (const layout of this.layouts.values()) layout.groups.clear();
      this.groupsOf.clear();
      this.groupCount = 0;
    }
    const entries: GPUBindGroupEntry[] = [];
    for (const handle of handles) {
      const part = this.part(handle);
      entries.push({ binding: entries.length, resource: { buffer: part.buffer, offset: part.offset, size: part.bytes } });
      let users = this.groupsOf.get(handle);
      if (!users) this.groupsOf.set(handle, (users = []));
      users.push([made.layout, key]);
    }
    entries.push({ binding: entries.length, resource: { buffer: this.ring, offset: 0, size: made.parameterBytes } });
    const group = this.device.createBindGroup({ layout: made.layout.group, entries });
    made.layout.groups.set(key, group);
    this.groupCount++;
    return group;
  }

  /** The bytes of ranges [handle, offset, bytes], each padded to a multiple of 8, once all submitted work has run. */
  async read(ranges: [number, number, number][]): Promise<Uint8Array> {
    const total = ranges.reduce((sum, [, , bytes]) => sum + Math.ceil(bytes / 8) * 8, 0);
    let size = 256;
    while (size < total) size *= 2;
    const staging = this.staging.get(size) ?? this.device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    this.staging.delete(size);
    const encoder = this.device.createCommandEncoder();
    let at = 0;
    for (const [handle, offset, bytes] of ranges) {
      const part = this.part(handle);
      if (bytes) encoder.copyBufferToBuffer(part.buffer, part.offset + offset, staging, at, bytes);
      at += Math.ceil(bytes / 8) * 8;
    }
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ, 0, Math.max(total, 8));
    const out = new Uint8Array(staging.getMappedRange(0, Math.max(total, 8)).slice(0, total));
    staging.unmap();
    if (size <= 1 << 24 && !this.staging.has(size)) this.staging.set(size, staging);
    else staging.destroy();
    return out;
  }

  async idle(): Promise<void> {
    await this.device.queue.onSubmittedWorkDone();
  }

  close(): void {
    this.closed.add(this.device);
    this.device.destroy();
    this.parts.clear();
    this.pipelines.clear();
  }
}

/** Carries out one request; the answer's bytes. Throws what the device could not do. */
export async function answer(executor: GpuExecutor, what: string, argument: string): Promise<Uint8Array> {
  const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  switch (what) {
    case 'open': return text(await executor.open(JSON.parse(argument) as string[]));
    case 'read': return executor.read(JSON.parse(argument) as [number, number, number][]);
    case 'times': return executor.times();
    case 'wait': await executor.idle(); return new Uint8Array();
    case 'close': executor.close(); return new Uint8Array();
    default: throw new Error(`no request ${what}`);
  }
}

/** The first thing that went wrong, if anything did: what answers a request in place of its result. */
export function problemOf(executor: GpuExecutor, error: unknown): GpuProblem | null {
  const [first] = executor.takeProblems();
  if (first) return first;
  return error === null ? null : { kind: 'error', message: error instanceof Error ? error.message : String(error) };
}
