// What the page asks of a kernel, wherever it runs: `kernel.ts` has it in a worker of the page, `native_kernel.ts` behind a
// socket of `tapescope serve`.
import type { Json } from './document';
import type { Records } from './records';
import type { FileEntry } from './shared';

export type KernelState = 'off' | 'loading' | 'idle' | 'busy' | 'dead';
export interface RunRequest { cell: string; revision: number; code: string }
export type KernelEvent = Json; // a message of app/kernel/messages.py, with its `kind`

export interface KernelListener {
  event(event: KernelEvent): void;
  changed(): void;
}

export interface KernelConnection {
  readonly state: KernelState;
  readonly progress: { step: string; part: number };
  readonly reason: string;
  readonly running: RunRequest | null;
  readonly waiting: RunRequest[];
  readonly stopping: number; // 0 not asked, 1 asked, 2 the next step is offered
  readonly facts: { python?: string; torch?: string; device?: string };
  readonly isolated: boolean; // whether a cell can be stopped without a restart
  readonly native: boolean; // whether it is a process of this machine
  readonly away: boolean; // whether it cannot be reached for now
  readonly measuring: boolean;
  readonly records: Records;
  /** Where it may compute, with what a menu says of it, and which is chosen. */
  readonly devices: { device: string; label: string; chosen: boolean }[];
  choose(device: string): void;
  start(): void;
  run(requests: RunRequest[]): void;
  cancel(cell?: string): void;
  interrupt(): 'nothing' | 'interrupting' | 'restarted';
  restart(): void;
  shutdown(): void;
  answer(text: string | null): void;
  complete(code: string, cursor: number): Promise<KernelEvent> | null;
  inspect(code: string, cursor: number): Promise<KernelEvent> | null;
  /** How `mark_dynamic` is written before calls (`MarkDynamic` in app/kernel/messages.py), or null while Python is busy. */
  mark(label: string, dimension: number, cells: Json[]): Promise<KernelEvent> | null;
  askSteps(cell: string): void;
  measure(on: boolean): void;
  askDevice(): void;
  file(action: 'list' | 'read' | 'write' | 'remove', path?: string, data?: Uint8Array): Promise<{ list?: FileEntry[]; data?: Uint8Array }>;
}
