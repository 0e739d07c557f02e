// What page, Python worker and GPU worker agree on: the layout of shared memory and the messages between them.

/** Indices into the shared Int32Array `control`. */
export const GPU_SEQ = 0, GPU_STATUS = 1, GPU_BYTES = 2, GPU_REQUEST = 3, INPUT_SEQ = 4, INPUT_BYTES = 5;
export const CONTROL_WORDS = 16;
export const DATA_BYTES = 8 << 20;

/** Values of the shared interrupt byte: signal numbers. */
export const SIGINT = 2, SIGUSR1 = 10;

export interface SharedMemory {
  control: Int32Array;
  data: Uint8Array;
  interrupt: Uint8Array;
}

export interface Bundle { file: string; bytes: number; packages: string[]; late: boolean }

export interface Site {
  version: string;
  bundles: Record<string, Bundle>;
  examples: { id: string; title: string; file: string; recording: string; summary: string }[];
  files: string[];
}

/** Page to Python worker. */
export type ToWorker =
  | { kind: 'boot'; base: string; site: Site; shared: SharedMemory | null; gpu: MessagePort | null; device: string; files: [string, Uint8Array][] }
  | { kind: 'command'; text: string }
  | { kind: 'interrupt' }
  | { kind: 'input'; text: string | null }
  | { kind: 'file'; id: number; action: 'list' | 'read' | 'write' | 'remove'; path: string; data?: Uint8Array };

/** Python worker to page. */
export type FromWorker =
  | { kind: 'event'; text: string }
  | { kind: 'progress'; step: string; part: number }
  | { kind: 'tick' }
  | { kind: 'failed'; reason: string }
  | { kind: 'file'; id: number; error?: string; list?: FileEntry[]; data?: Uint8Array };

export interface FileEntry { path: string; bytes: number; folder: boolean }

/** Python worker to GPU worker. */
export type ToGpu =
  | { kind: 'commands'; words: Uint32Array }
  | { kind: 'pipeline'; handle: number; source: string; access: string; words: number; label: string }
  | { kind: 'write'; handle: number; offset: number; data: Uint8Array }
  | { kind: 'request'; id: number; what: string; argument: string };

export const sharedMemory = (): SharedMemory => ({
  control: new Int32Array(new SharedArrayBuffer(CONTROL_WORDS * 4)),
  data: new Uint8Array(new SharedArrayBuffer(DATA_BYTES)),
  interrupt: new Uint8Array(new SharedArrayBuffer(1)),
});
