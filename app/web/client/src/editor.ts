// The text of a cell: CodeMirror with Python or Markdown, completion from the kernel, marked lines and a gutter of
// costs. Text that nobody edits is drawn as plain coloured lines, since three hundred editors would be slow.
import { acceptCompletion, autocompletion, type CompletionContext, completionKeymap, completionStatus, startCompletion } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentLess, indentMore, insertNewlineAndIndent, toggleComment } from '@codemirror/commands';
import { markdown } from '@codemirror/lang-markdown';
import { python, pythonLanguage } from '@codemirror/lang-python';
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, search } from '@codemirror/search';
import { Compartment, EditorSelection, EditorState, type Extension, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, drawSelection, EditorView, gutter, GutterMarker, keymap, lineNumbers } from '@codemirror/view';
import { classHighlighter, highlightCode } from '@lezer/highlight';
import { h } from './dom';
import type { CellType } from './document';

export interface LineMark { line: number; kind: 'linked' | 'error' | 'break' | 'chosen' | 'hint'; from?: number; to?: number; title?: string }
export interface LineCost { line: number; text: string; share: number; title: string }

const setMarks = StateEffect.define<LineMark[]>();
const setCosts = StateEffect.define<LineCost[]>();

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    value = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setMarks)) continue;
      const ranges = effect.value.flatMap((mark) => {
        if (mark.line < 1 || mark.line > transaction.state.doc.lines) return [];
        const line = transaction.state.doc.line(mark.line);
        const attributes: Record<string, string> = mark.title ? { title: mark.title } : {};
        const out = [Decoration.line({ class: `line-${mark.kind}`, attributes }).range(line.from)];
        if (mark.from !== undefined && mark.to !== undefined) {
          const from = Math.min(line.from + mark.from, line.to), to = Math.min(line.from + mark.to, line.to);
          if (to > from) out.push(Decoration.mark({ class: `range-${mark.kind}` }).range(from, to));
        }
        return out;
      });
      value = Decoration.set(ranges, true);
    }
    return value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

class CostMarker extends GutterMarker {
  constructor(readonly cost: LineCost) { super(); }
  override eq(other: CostMarker): boolean { return other.cost.text === this.cost.text && other.cost.share === this.cost.share; }
  override toDOM(): Node {
    const element = h('span', { class: 'cost', title: this.cost.title }, this.cost.text);
    element.style.setProperty('--share', String(this.cost.share));
    return element;
  }
}

const costs = StateField.define<LineCost[]>({
  create: () => [],
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setCosts)) value = effect.value;
    return transaction.docChanged && !transaction.effects.some((e) => e.is(setCosts)) ? [] : value;
  },
});

const costGutter = gutter({
  class: 'cost-gutter',
  side: 'after',
  markers(view) {
    const builder = new RangeSetBuilder<GutterMarker>();
    for (const cost of [...view.state.field(costs)].sort((a, b) => a.line - b.line)) {
      if (cost.line >= 1 && cost.line <= view.state.doc.lines) {
        const at = view.state.doc.line(cost.line).from;
        builder.add(at, at, new CostMarker(cost));
      }
    }
    return builder.finish();
  },
});

export interface EditorHost {
  complete(code: string, cursor: number): Promise<{ matches: string[]; start: number; end: number }> | null;
  changed(text: string): void;
  focused(): void;
  leave(direction: -1 | 0 | 1): void;
  cursor(line: number): void;
}

const TYPES = ['function', 'class', 'keyword', 'variable'];

function completions(host: EditorHost) {
  return async (context: CompletionContext) => {
    const before = context.matchBefore(/[\w.%]+$/);
    if (!before && !context.explicit) return null;
    const asked = host.complete(context.state.doc.toString(), context.pos);
    if (!asked) {
      const word = context.matchBefore(/\w+$/);
      if (!word) return null;
      const words = new Set(context.state.doc.toString().match(/[A-Za-z_]\w{2,}/g) ?? []);
      words.delete(word.text);
      return { from: word.from, options: [...words].map((label) => ({ label })), validFor: /^\w*$/ };
    }
    const { matches, start } = await asked;
    if (!matches.length) return null;
    return { from: start, options: matches.slice(0, 300).map((label) => ({ label, type: TYPES[3] })), validFor: /^[\w.%]*$/ };
  };
}

const lines = new Compartment();

export class CellEditor {
  readonly view: EditorView;
  private quiet = false;

  constructor(parent: HTMLElement, text: string, type: CellType, label: string, host: EditorHost, numbered: boolean) {
    const edge = (direction: -1 | 1) => (view: EditorView) => {
      const { main } = view.state.selection;
      if (!main.empty || completionStatus(view.state) === 'active') return false;
      const line = view.state.doc.lineAt(main.head);
      if (line.number !== (direction < 0 ? 1 : view.state.doc.lines)) return false;
      host.leave(direction);
      return true;
    };
    const extensions: Extension[] = [
      history(), drawSelection(), indentOnInput(), indentUnit.of('    '), bracketMatching(), highlightSelectionMatches({ minSelectionLength: 3 }), search({ top: true }),
      syntaxHighlighting(classHighlighter), EditorView.lineWrapping, marks, costs, costGutter,
      EditorState.tabSize.of(4), EditorState.allowMultipleSelections.of(true),
      lines.of(numbered ? lineNumbers() : []),
      EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: type === 'markdown' ? 'true' : 'false', autocapitalize: 'off' }),
      type === 'code' ? python() : type === 'markdown' ? markdown({ codeLanguages: [] }) : [],
      autocompletion({ override: type === 'code' ? [completions(host)] : [], activateOnTyping: true, activateOnTypingDelay: 120, icons: false }),
      keymap.of([
        { key: 'Escape', run: (view) => { if (completionStatus(view.state) === 'active') return false; host.leave(0); return true; } },
        { key: 'ArrowUp', run: edge(-1) },
        { key: 'ArrowDown', run: edge(1) },
        { key: 'Tab', run: (view) => {
          if (acceptCompletion(view)) return true;
          const { main } = view.state.selection;
          const before = view.state.doc.lineAt(main.head).text.slice(0, main.head - view.state.doc.lineAt(main.head).from);
          if (main.empty && type === 'code' && /[\w.]$/.test(before)) return startCompletion(view);
          return indentMore(view);
        } },
        { key: 'Shift-Tab', run: indentLess },
        { key: 'Enter', run: (view) => acceptCompletion(view) || insertNewlineAndIndent(view) },
        { key: 'Mod-/', run: toggleComment },
        { key: 'Ctrl-Space', run: startCompletion },
        ...completionKeymap, ...historyKeymap, ...defaultKeymap.filter((b) => !['Mod-Enter', 'Shift-Enter', 'Alt-Enter'].includes(b.key ?? '')),
      ]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !this.quiet) host.changed(update.state.doc.toString());
        if (update.focusChanged && update.view.hasFocus) host.focused();
        if (update.selectionSet || update.docChanged) host.cursor(update.state.doc.lineAt(update.state.selection.main.head).number);
      }),
    ];
    this.view = new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) });
  }

  get text(): string { return this.view.state.doc.toString(); }
  get cursor(): number { return this.view.state.selection.main.head; }

  /** Replace the text without telling the host, keeping the cursor where it makes sense. */
  replace(text: string): void {
    const now = this.text;
    if (now === text) return;
    let start = 0, end = now.length, tail = text.length;
    while (start < end && start < tail && now[start] === text[start]) start++;
    while (end > start && tail > start && now[end - 1] === text[tail - 1]) { end--; tail--; }
    this.quiet = true;
    this.view.dispatch({ changes: { from: start, to: end, insert: text.slice(start, tail) } });
    this.quiet = false;
  }

  mark(list: LineMark[]): void { this.view.dispatch({ effects: setMarks.of(list) }); }
  cost(list: LineCost[]): void { this.view.dispatch({ effects: setCosts.of(list) }); }
  numbered(on: boolean): void { this.view.dispatch({ effects: lines.reconfigure(on ? lineNumbers() : []) }); }

  focus(place?: 'start' | 'end' | { line: number }): void {
    this.view.focus();
    if (!place) return;
    const { doc } = this.view.state;
    const at = place === 'start' ? 0 : place === 'end' ? doc.length : doc.line(Math.max(1, Math.min(doc.lines, place.line))).from;
    this.view.dispatch({ selection: EditorSelection.cursor(at), effects: EditorView.scrollIntoView(at, { y: 'center' }) });
  }

  select(from: number, to: number): void {
    this.view.dispatch({ selection: EditorSelection.range(from, to), effects: EditorView.scrollIntoView(from, { y: 'center' }) });
  }

  insertText(text: string): void { this.view.dispatch(this.view.state.replaceSelection(text)); }

  destroy(): void { this.view.destroy(); }
}

/** The text of a cell as coloured lines without an editor. */
export function stillText(source: string, type: CellType): HTMLElement {
  const pre = h('pre', { class: 'still' });
  let line = h('div', { class: 'still-line' });
  pre.append(line);
  const fresh = () => { line = h('div', { class: 'still-line' }); pre.append(line); };
  if (type !== 'code') {
    source.split('\n').forEach((text, i) => { if (i) fresh(); line.append(text); });
    return pre;
  }
  highlightCode(source, pythonLanguage.parser.parse(source), classHighlighter, (text, classes) => { line.append(classes ? h('span', { class: classes }, text) : text); }, fresh);
  return pre;
}

/** Marks and costs on still text, as the editor has them. */
export function decorateStill(pre: Element, marks: LineMark[], costs: LineCost[]): void {
  const all = [...pre.children] as HTMLElement[];
  for (const line of all) {
    line.className = 'still-line';
    line.querySelector('.cost')?.remove();
  }
  for (const mark of marks) all[mark.line - 1]?.classList.add(`line-${mark.kind}`);
  for (const cost of costs) {
    const label = h('span', { class: 'cost', title: cost.title }, cost.text);
    label.style.setProperty('--share', String(cost.share));
    all[cost.line - 1]?.prepend(label);
  }
}
