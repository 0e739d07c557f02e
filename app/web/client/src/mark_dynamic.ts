// The offer to mark a size as dynamic, so that one graph serves all sizes: shows the lines that would be written before the calls,
// and writes them. What the lines are, Python says (app/kernel/mark_dynamic.py).
import type { App } from './app';
import { dialog, say } from './dialogs';
import { h } from './dom';
import type { Json } from './document';

export async function offerMark(app: App, recompile: Json): Promise<void> {
  const label = String(recompile.dimension[0]), dimension = Number(recompile.dimension[1]);
  const line = `torch._dynamo.mark_dynamic(${label}, ${dimension})`;
  const copy = (text: string, words: string) => void navigator.clipboard?.writeText(text).then(() => say(words), () => say(text));
  const cells = new Map<string, Json>();
  let edited = false;
  for (const call of (Array.isArray(recompile.calls) ? recompile.calls : []) as Json[]) {
    const cell = app.notebook.cell(String(call?.cell));
    if (!cell) continue;
    const at = app.links.lineNow({ file: '', line: call.line, endLine: call.line, column: 0, endColumn: 0, cell: cell.id, revision: call.revision ?? 0 });
    if (!at) { edited = true; continue; }
    const known = cells.get(cell.id) ?? { cell: cell.id, text: cell.source, calls: [] };
    known.calls.push({ ...call, line: at.line });
    cells.set(cell.id, known);
  }
  const asked = edited ? null : app.kernel.mark(label, dimension, [...cells.values()]);
  const told: Json = asked ? await asked : { cells: [], reason: edited ? 'The line of the call was edited since it ran.' : 'Python is not free to read the cell now.' };
  if (!told.cells.length) {
    dialog('One graph for all sizes', () => [
      h('p', null, `${told.reason} Put this line before the call, with the name that the tensor has there, or compile with dynamic=True:`),
      h('pre', { class: 'text' }, line),
      h('div', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', onclick: () => copy(line, 'The line is on the clipboard.') }, 'Copy it'))]);
    return;
  }
  const lines: Json[] = told.cells.flatMap((c: Json) => c.lines.map(([number, text]: [number, string]) => ({ cell: c.cell, number, text })));
  dialog('One graph for all sizes', (close) => [
    h('p', null, `It was ${recompile.old} when captured, and ${recompile.new} now. With dimension ${dimension} of ${label} marked before the call, one graph serves every size. These lines would be written:`),
    h('pre', { class: 'text' }, lines.map((l) => `${app.links.nameCell(l.cell) ?? 'cell'} line ${l.number}  ${l.text}`).join('\n')),
    h('div', { class: 'buttons' },
      h('button', { type: 'button', onclick: () => { close(); copy(lines.map((l) => l.text).join('\n'), 'The lines are on the clipboard.'); } }, 'Copy them'),
      h('button', { type: 'button', class: 'primary', onclick: () => { close(); write(app, told.cells); } }, 'Write them'))]);
}

function write(app: App, cells: Json[]): void {
  app.notebook.checkpoint();
  app.notebook.together(() => { for (const { cell, text } of cells) { const found = app.notebook.cell(cell); if (found) app.notebook.setSource(found, text); } });
  const first = cells[0];
  app.view.goTo(first.cell, first.lines[0]?.[0] ?? 1, false);
  say('Written; run the cell again.', { label: 'Undo', act: () => app.cells.undo() });
}
