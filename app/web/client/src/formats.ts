// Files: `.ipynb` (nbformat 4.5), percent `.py`, and recordings. Everything read is checked for shape, since any of it
// may come from a stranger; a file that is none of these raises an Error with a sentence.
import { type Cell, type CellType, type Json, makeCell, newId, Notebook, type Output } from './document';

export interface Recording {
  format: 'tapescope-recording';
  version: number;
  title: string;
  notebook: Json;
  runs: Record<string, { status?: string; seconds?: number; line?: number | null }>;
  tapes: Record<string, Json>;
  costs?: Record<string, Json>;
  hints?: Record<string, Json>;
  steps?: Record<string, Json>;
  captures?: Json[];
  breaks?: Json[];
  guards?: Json[];
  variables: Json[];
  kernel: { python?: string; torch?: string; device?: string };
}

const object = (value: unknown): value is Record<string, Json> => typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (Array.isArray(value) ? value.filter((v) => typeof v === 'string').join('') : typeof value === 'string' ? value : '');
const depthOf = (value: unknown): number => {
  let depth = 0;
  let level: unknown[] = [value];
  while (level.length) {
    if (++depth > 200) return depth;
    level = level.flatMap((v) => (typeof v === 'object' && v !== null ? Object.values(v) : []));
  }
  return depth;
};

/** The value of a JSON text; keys that would reach prototypes are dropped. */
export function parseJson(source: string): Json {
  const value = JSON.parse(source, (key, v: unknown) => (key === '__proto__' ? undefined : v)) as Json;
  if (depthOf(value) > 200) throw new Error('It is nested more than 200 levels deep.');
  return value;
}

const KNOWN = new Set(['id', 'cell_type', 'source', 'metadata', 'outputs', 'execution_count']);

export function readIpynb(value: Json): Notebook {
  if (!object(value) || !Array.isArray(value.cells)) throw new Error('This is no notebook: it has no list of cells.');
  if (typeof value.nbformat === 'number' && value.nbformat !== 4) throw new Error(`This notebook is in format ${value.nbformat}; only format 4 can be opened.`);
  const seen = new Set<string>();
  const cells = value.cells.filter(object).map((raw): Cell => {
    const type: CellType = raw.cell_type === 'markdown' || raw.cell_type === 'raw' ? raw.cell_type : 'code';
    let id = typeof raw.id === 'string' && /^[\w-]{1,64}$/.test(raw.id) ? raw.id : newId();
    while (seen.has(id)) id = newId();
    seen.add(id);
    return {
      id, type, source: text(raw.source).replace(/\r\n?/g, '\n'), metadata: object(raw.metadata) ? raw.metadata : {},
      outputs: type === 'code' && Array.isArray(raw.outputs) ? raw.outputs.filter(object).map(readOutput) : [],
      count: Number.isInteger(raw.execution_count) ? (raw.execution_count as number) : null,
      extra: Object.fromEntries(Object.entries(raw).filter(([k]) => !KNOWN.has(k))), revision: 0,
    };
  });
  const notebook = new Notebook(cells.length ? cells : [makeCell('code')]);
  notebook.metadata = object(value.metadata) ? value.metadata : {};
  return notebook;
}

function readOutput(raw: Record<string, Json>): Output {
  const output: Output = { ...raw };
  if (output.output_type === 'stream') output.text = text(raw.text);
  if (object(raw.data)) output.data = Object.fromEntries(Object.entries(raw.data).map(([mime, v]) => [mime, Array.isArray(v) && !/json$/.test(mime) && v.every((s) => typeof s === 'string') ? v.join('') : v]));
  return output;
}

const lines = (source: string): string[] => source.split(/(?<=\n)/);

export function writeIpynb(notebook: Notebook, withOutputs = true): Json {
  return {
    cells: notebook.cells.map((cell) => {
      const outputs = withOutputs ? cell.outputs.map(({ transient: _, ...output }) => output) : [];
      return {
        cell_type: cell.type,
        ...(cell.type === 'code' ? { execution_count: withOutputs ? cell.count : null } : {}),
        ...cell.extra, id: cell.id, metadata: cell.metadata,
        ...(cell.type === 'code' ? { outputs: outputs.map((o) => (o.output_type === 'stream' ? { ...o, text: lines(text(o.text)) } : o)) } : {}),
        source: cell.source === '' ? [] : lines(cell.source),
      };
    }),
    metadata: { ...notebook.metadata, kernelspec: notebook.metadata.kernelspec ?? { display_name: 'Python 3', language: 'python', name: 'python3' } },
    nbformat: 4,
    nbformat_minor: 5,
  };
}

// -- percent files ---------------------------------------------------------------------------------------------------

const MARKER = /^#[ \t]*%%%*(?:[ \t]+(.*))?$/;
const LOOKS_LIKE_MARKER = /^(?:# )*#[ \t]*%%+(?:[ \t]|$)/;
const MAGIC = /^\s*(?:%%?[A-Za-z]|![^=]|\?|[\w.]+\?{1,2}\s*$)/;

export function readPercent(source: string): Notebook {
  const all = source.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n').split('\n');
  const starts = all.flatMap((line, n) => (MARKER.test(line) ? [n] : []));
  const cells: Cell[] = [];
  const add = (marker: string | null, body: string[]) => {
    const rest = marker === null ? '' : (MARKER.exec(marker)?.[1] ?? '');
    const found = /\[(markdown|md|raw)\]/.exec(rest);
    const type: CellType = !found ? 'code' : found[1] === 'raw' ? 'raw' : 'markdown';
    const kept = [...body];
    while (kept.length && !kept.at(-1)!.trim()) kept.pop();
    const plain = kept.map((line) => (line.startsWith('# ') && LOOKS_LIKE_MARKER.test(line.slice(2)) ? line.slice(2) : line));
    const uncommented = plain.map((line) => (line.startsWith('# ') ? line.slice(2) : line === '#' ? '' : line));
    let body_ = plain;
    if (type !== 'code') body_ = uncommented;
    else {
      const first = plain.findIndex((line) => line.trim());
      const cellMagic = first >= 0 && /^# %%[A-Za-z]/.test(plain[first]!);
      body_ = cellMagic ? uncommented : plain.map((line) => (line.startsWith('# ') && MAGIC.test(line.slice(2)) && /^# (%|!)/.test(line) ? line.slice(2) : line));
    }
    const cell = makeCell(type, body_.join('\n'));
    const title = rest.replace(/\[(markdown|md|raw)\]/, '').trim();
    if (title) cell.metadata = { title };
    cells.push(cell);
  };
  const above = all.slice(0, starts[0] ?? all.length);
  let header = '';
  if (above.some((line) => line.trim())) {
    if (above[0] === '# ---' && above.indexOf('# ---', 1) > 0) {
      const end = above.indexOf('# ---', 1) + 1;
      header = above.slice(0, end).join('\n') + '\n';
      if (above.slice(end).some((line) => line.trim())) add(null, above.slice(end));
    } else add(null, above);
  }
  starts.forEach((start, n) => add(all[start]!, all.slice(start + 1, starts[n + 1] ?? all.length)));
  const notebook = new Notebook(cells.length ? cells : [makeCell('code')]);
  notebook.header = header;
  return notebook;
}

export function writePercent(notebook: Notebook): string {
  const parts = notebook.cells.map((cell) => {
    const title = typeof cell.metadata.title === 'string' && !/[\n=[{]/.test(cell.metadata.title) ? ` ${cell.metadata.title}` : '';
    const marker = `# %%${title}${cell.type === 'code' ? '' : ` [${cell.type}]`}`;
    const commented = (line: string) => (line === '' ? '#' : `# ${line}`);
    const body = cell.source.split('\n');
    const cellMagic = cell.type === 'code' && /^\s*%%[A-Za-z]/.test(cell.source);
    const written = cell.type !== 'code' || cellMagic
      ? body.map(commented)
      : body.map((line) => (LOOKS_LIKE_MARKER.test(line) || /^(%|!)/.test(line) ? `# ${line}` : line));
    return [marker, ...(cell.source === '' ? [] : written)].join('\n');
  });
  return `${notebook.header}${parts.join('\n\n')}\n`;
}

// -- any file ------------------------------------------------------------------------------------------------------------

/** A notebook from a file's name and text. Throws an Error with a sentence for what is none. */
export function readFile(name: string, source: string): { notebook: Notebook; recording: Recording | null } {
  return /\.py$/i.test(name) ? { notebook: readPercent(source), recording: null } : notebookOf(parseFile(name, source));
}

/** The JSON of a file that is no `.py`. Throws an Error with a sentence. */
export function parseFile(name: string, source: string): Json {
  try {
    return parseJson(source);
  } catch (error) {
    throw new Error(`${name} cannot be read: it is neither a .py file nor valid JSON (${(error as Error).message}).`);
  }
}

/** A notebook, or a recording with its notebook. Throws an Error with a sentence for what is neither. */
export function notebookOf(value: Json): { notebook: Notebook; recording: Recording | null } {
  if (isRecording(value)) return { notebook: readIpynb(value.notebook), recording: value };
  return { notebook: readIpynb(value), recording: null };
}

export function isRecording(value: Json): value is Recording {
  return object(value) && value.format === 'tapescope-recording' && value.version === 1 && object(value.notebook) && object(value.runs) && object(value.tapes);
}

/** The first heading of a notebook. */
export function titleOf(notebook: Notebook): string | null {
  for (const cell of notebook.cells) {
    if (cell.type !== 'markdown') continue;
    const found = /^#\s+(.+)$/m.exec(cell.source);
    if (found) return found[1]!.trim();
  }
  return null;
}
