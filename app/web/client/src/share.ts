// Sharing by link: the document compressed into the hash of the address, which never reaches a server.
import type { Json } from './document';
import { parseJson } from './formats';

export const LIMIT = 8192;
/** Characters that a hash may have; chat programs cut longer links. */

const UNPACKED_LIMIT = 4 << 20;

async function through(data: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const reader = new Blob([data as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, Uint8Array>).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > UNPACKED_LIMIT) { await reader.cancel(); throw new Error('the document in the link is too large'); }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) { whole.set(part, at); at += part.length; }
  return whole;
}

/** A hash such as `#doc=...` that holds the value. */
export async function pack(value: Json): Promise<string> {
  const packed = await through(new TextEncoder().encode(JSON.stringify(value)), new CompressionStream('deflate-raw'));
  let binary = '';
  for (const byte of packed) binary += String.fromCharCode(byte);
  return '#doc=' + btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

/** What `pack` made; null where the hash holds no document. Throws an Error with a sentence for a broken one. */
export async function unpack(hash: string): Promise<Json | null> {
  if (!hash.startsWith('#doc=')) return null;
  try {
    const binary = atob(hash.slice(5).replace(/-/g, '+').replace(/_/g, '/'));
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(await through(bytes, new DecompressionStream('deflate-raw'))));
  } catch (error) {
    throw new Error(`The document in this link cannot be read (${(error as Error).message}). It may have been cut; ask for it again, or for the file.`);
  }
}
