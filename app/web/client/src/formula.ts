// Formulas of text cells: TeX becomes MathML, which browsers draw themselves, without fonts or styles of their own. The
// converter is large and is loaded with the first formula; until it is there the TeX stands in its place.
import type { MarkedExtension, Tokens } from 'marked';

const LONGEST = 20_000; // characters of TeX that are converted

interface Formula extends Tokens.Generic { type: 'formula'; tex: string; display: boolean }

/** What stands in the HTML for formula number n; no text of a cell can hold it. */
const MARK = /^\u0002(\d+)\u0003$/;
// eslint-disable-next-line no-control-regex
export const unmarked = (source: string): string => source.replace(/[\u0002\u0003]/g, '');

const BLOCK = /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/;
const INLINE = /^(?:\$\$([^$]+?)\$\$|\$(?![\s$])((?:\\[\s\S]|[^\\$])+?)(?<!\s)\$(?!\d)|\\\(([\s\S]+?)\\\)|\\\[([\s\S]+?)\\\])/;

/** A Marked extension that puts `found` formulas aside and leaves marks. */
export function formulas(found: { tex: string; display: boolean }[]): MarkedExtension {
  const token = (raw: string, tex: string, display: boolean): Formula => ({ type: 'formula', raw, tex: tex.trim(), display });
  const renderer = (given: Tokens.Generic): string => {
    const { tex, display } = given as Formula;
    return `<code>\u0002${found.push({ tex, display }) - 1}\u0003</code>`;
  };
  return {
    extensions: [
      { name: 'formulaBlock', level: 'block', start: (source) => source.match(/^ {0,3}(\$\$|\\\[)/m)?.index, tokenizer: (source) => { const m = BLOCK.exec(source); return m ? { ...token(m[0], m[1] ?? m[2]!, true), type: 'formulaBlock' } : undefined; }, renderer: (t) => `<p>${renderer(t)}</p>\n` },
      { name: 'formula', level: 'inline', start: (source) => source.match(/\$|\\[([]/)?.index, tokenizer: (source) => { const m = INLINE.exec(source); return m ? token(m[0], m[1] ?? m[2] ?? m[3] ?? m[4]!, m[1] !== undefined || m[4] !== undefined) : undefined; }, renderer },
    ],
  };
}

/** Put formulas where their marks stand. */
export function settle(root: ParentNode, found: { tex: string; display: boolean }[], clean: (mathml: string) => DocumentFragment): void {
  for (const mark of root.querySelectorAll('code')) {
    const known = found[Number(MARK.exec(mark.textContent ?? '')?.[1] ?? -1)];
    if (known) mark.replaceWith(formula(known.tex, known.display, clean));
  }
}

/** One formula as an element. */
export function formula(tex: string, display: boolean, clean: (mathml: string) => DocumentFragment): HTMLElement {
  const element = document.createElement('span');
  element.className = display ? 'formula display' : 'formula';
  element.textContent = tex;
  if (tex.length <= LONGEST) {
    void (import('temml') as unknown as Promise<{ default: typeof import('temml') }>).then(({ default: temml }) => {
      element.replaceChildren(clean(temml.renderToString(tex, { displayMode: display, throwOnError: true, trust: false, strict: false, maxExpand: 500, maxSize: [30, 100] })));
      element.title = tex;
    }).catch((error: unknown) => { element.title = error instanceof Error ? error.message : String(error); }); // the TeX stays
  }
  return element;
}
