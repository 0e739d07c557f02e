// Parses one large file away from the page, and answers in parts: every long list of the value goes ahead of it.
import type { Json } from './document';
import { parseFile } from './formats';
import type { Answer, ReadMessage } from './reading';

const PART = 250;
const post = (message: Answer) => self.postMessage(message);

/** Send the items of the long lists of a value, and leave those lists empty. Parsed values are at most 200 levels deep. */
function part(value: Json, path: string[]): void {
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value)) part(value[key], [...path, key]);
  if (!Array.isArray(value) || value.length <= PART) return;
  const items = value.splice(0);
  for (let i = 0; i < items.length; i += PART) post({ kind: 'part', path, list: items.slice(i, i + PART) });
}

self.onmessage = ({ data: { name, text } }: MessageEvent<ReadMessage>) => {
  try {
    const value = parseFile(name, text);
    for (const key of ['tapes', 'steps', 'captures', 'costs', 'notebook', 'cells']) if (value && typeof value === 'object') part(value[key], [key]);
    post({ kind: 'whole', value });
  } catch (error) {
    post({ kind: 'problem', message: (error as Error).message });
  }
};
