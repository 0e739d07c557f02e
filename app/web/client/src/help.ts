// What can be done here, told: the palette of commands, the keys, the menu of the page, the documentation.
import { ACTIONS, keysOf } from './actions';
import type { App } from './app';
import { dialog, menu, type MenuItem, palette, say } from './dialogs';
import { h } from './dom';

export class Help {
  constructor(private app: App) {}

  palette(): void { palette(ACTIONS.filter((a) => a.name !== 'palette').map((a) => ({ label: a.label, detail: a.group, keys: keysOf(a), act: () => a.act(this.app) }))); }

  /** The documentation, in a tab of its own. */
  manual(): void {
    if (this.app.site.docs) window.open(new URL('docs/index.html', this.app.base), '_blank', 'noopener');
    else say('The documentation is not part of this site.');
  }

  keys(): void {
    const groups = [...new Set(ACTIONS.map((a) => a.group))];
    dialog('Keys and help', () => [
      h('p', null, 'Enter writes in a cell, Escape goes back to the cells. Letters are commands only while a cell is selected, not while you write in one.', ...(this.app.site.docs ? [' More in the ', h('a', { href: new URL('docs/index.html', this.app.base).href, target: '_blank', rel: 'noopener' }, 'documentation'), '.'] : [])),
      h('div', { class: 'help-columns' }, ...groups.map((g) => h('section', null, h('h3', null, g), h('dl', { class: 'keys-list' }, ...ACTIONS.filter((a) => a.group === g && keysOf(a)).flatMap((a) => [h('dt', null, h('kbd', { class: 'keys' }, keysOf(a))), h('dd', null, a.label)])))),
      )], true);
  }

  mainMenu(at: HTMLElement): void {
    const item = (name: string): MenuItem => { const a = ACTIONS.find((x) => x.name === name)!; return { label: a.label, keys: keysOf(a), act: () => a.act(this.app) }; };
    menu(at, [item('documents'), item('new'), item('open'), item('import'), null, ...(this.app.host ? [item('save'), item('save_as')] : []), item('save_ipynb'), item('save_py'), item('export_html'), item('share'), null, item('files'), item('revisions'),
      ...(this.app.documents.example ? [item('reset')] : []), null, item('find'), item('theme'), item('panel'), item('palette'), item('help'), ...(this.app.site.docs ? [item('manual')] : []), null, { ...item('erase'), danger: true }], 'Menu', this.app.cellElement);
  }
}
