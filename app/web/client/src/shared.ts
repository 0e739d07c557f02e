// What the page and its workers agree on: the layout of shared memory and the messages between them.
import type { Json } from './document';
import type { PackedLayout } from './graph';

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
  native?: { socket: string }; // the page of `tapescope serve`: the kernel is a process behind this socket
  docs?: boolean; // whether the documentation is part of the site
}

/** Page to Python worker. */
export type ToWorker =
  | { kind: 'boot'; base: string; site: Site; shared: SharedMemory | null; gpu: MessagePort | null; events: MessagePort; device: string; files: [string, Uint8Array][] }
  | { kind: 'command'; text: string }
  | { kind: 'interrupt' }
  | { kind: 'input'; text: string | null }
  | { kind: 'file'; id: number; action: 'list' | 'read' | 'write' | 'remove'; path: string; data?: Uint8Array };

/** Python worker to page. */
export type FromWorker =
  | { kind: 'progress'; step: string; part: number }
  | { kind: 'tick' }
  | { kind: 'lost'; reason: string }
  | { kind: 'failed'; reason: string }
  | { kind: 'file'; id: number; error?: string; list?: FileEntry[]; data?: Uint8Array };

export interface FileEntry { path: string; bytes: number; folder: boolean }

/** Page to records worker. */
export type ToRecords =
  | { kind: 'kernel'; generation: number; port: MessagePort }
  | { kind: 'drawn' }
  | { kind: 'lay'; request: number; number: number; folded: string[] };

/** Records worker to page. */
export type FromRecords =
  | { kind: 'part'; generation: number; list: unknown[] }
  | { kind: 'event'; generation: number; event: Json }
  | { kind: 'layout'; request: number; layout: PackedLayout | null };

/** Python worker to GPU worker. */
export type ToGpu =
  | { kind: 'commands'; words: Uint32Array }
  | { kind: 'time'; words: Uint32Array }
  | { kind: 'pipeline'; handle: number; source: string; access: string; words: number; label: string }
  | { kind: 'write'; handle: number; offset: number; data: Uint8Array }
  | { kind: 'request'; id: number; what: string; argument: string };

export const sharedMemory = (): SharedMemory => ({
  control: new Int32Array(new SharedArrayBuffer(CONTROL_WORDS * 4)),
  data: new Uint8Array(new SharedArrayBuffer(DATA_BYTES)),
  interrupt: new Uint8Array(new SharedArrayBuffer(1)),
});
