// Reads the text of a file: a small one here, a large one in a worker, whose answer comes in parts, so that no frame of the page
// waits for a recording of many megabytes.
import { type Json, type Notebook } from './document';
import { notebookOf, readFile, type Recording } from './formats';

export interface ReadMessage { name: string; text: string }
/** Items of a list at a path of the value, in order; then the value, whose long lists are empty; or why it cannot be read. */
export type Answer = { kind: 'part'; path: string[]; list: Json[] } | { kind: 'whole'; value: Json } | { kind: 'problem'; message: string };

const SMALL = 200_000; // characters that are read at once, here

/** A notebook from a file's name and text, and its recording where it is one. Rejects with a sentence for what is none. */
export async function readAside(name: string, text: string): Promise<{ notebook: Notebook; recording: Recording | null }> {
  if (text.length <= SMALL || /\.py$/i.test(name)) return readFile(name, text);
  return notebookOf(await parsedAside(name, text));
}

function parsedAside(name: string, text: string): Promise<Json> {
  const worker = new Worker(new URL('./reading_worker.ts', import.meta.url), { type: 'module', name: 'reading' });
  const parts: { path: string[]; list: Json[] }[] = [];
  return new Promise<Json>((resolve, reject) => {
    worker.onerror = (event) => { event.preventDefault(); reject(new Error(`${name} cannot be read (${event.message || 'its reader did not start'}).`)); };
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.kind === 'part') { parts.push(data); return; }
      if (data.kind === 'problem') { reject(new Error(data.message)); return; }
      parts.sort((a, b) => a.path.length - b.path.length); // a list before the lists inside of its items
      for (const { path, list } of parts) {
        const target = path.reduce((at: Json, key) => at[key], data.value) as Json[];
        for (const item of list) target.push(item);
      }
      resolve(data.value);
    };
    worker.postMessage({ name, text } satisfies ReadMessage);
  }).finally(() => worker.terminate());
}
