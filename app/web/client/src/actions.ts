// Everything a person can do, in one table: keys, help, palette and menus are made from it. What an action does is one
// method of `App` or of one of its parts.
import type { App } from './app';

export interface Action {
  name: string;
  label: string;
  group: 'Running' | 'Cells' | 'Moving' | 'Writing' | 'Document' | 'View';
  act: (app: App) => void;
  keys?: string[]; // work in both modes
  command?: string[];
  edit?: string[];
}

const A = (name: string, label: string, group: Action['group'], act: (app: App) => void, keys: { both?: string[]; command?: string[]; edit?: string[] } = {}): Action =>
  ({ name, label, group, act, keys: keys.both ?? [], command: keys.command ?? [], edit: keys.edit ?? [] });

export const ACTIONS: Action[] = [
  A('run_advance', 'Run and go on', 'Running', (a) => a.runSelected('advance'), { both: ['Shift+Enter'] }),
  A('run', 'Run the cell', 'Running', (a) => a.runSelected('stay'), { both: ['Ctrl+Enter', 'Meta+Enter'] }),
  A('run_insert', 'Run and insert below', 'Running', (a) => a.runSelected('insert'), { both: ['Alt+Enter'] }),
  A('run_all', 'Run all cells', 'Running', (a) => a.runAll(), { both: ['Ctrl+F5', 'F8'] }),
  A('run_above', 'Run all cells above', 'Running', (a) => a.runRange('above')),
  A('run_below', 'Run this cell and all below', 'Running', (a) => a.runRange('below')),
  A('interrupt', 'Stop what runs', 'Running', (a) => a.stop(), { command: ['i i'] }),
  A('restart', 'Restart Python', 'Running', (a) => a.restart(), { command: ['0 0'] }),
  A('restart_run_all', 'Restart Python and run all', 'Running', (a) => { a.restart(); a.runAll(); }),
  A('measure', 'Time every operator and kernel', 'Running', (a) => a.measure()),

  A('edit', 'Edit the cell', 'Moving', (a) => a.cells.edit(), { command: ['Enter'] }),
  A('next', 'Next cell', 'Moving', (a) => a.cells.go(1), { command: ['j', 'ArrowDown'] }),
  A('previous', 'Previous cell', 'Moving', (a) => a.cells.go(-1), { command: ['k', 'ArrowUp'] }),
  A('extend_down', 'Select also the cell below', 'Moving', (a) => a.cells.go(1, true), { command: ['J', 'Shift+ArrowDown'] }),
  A('extend_up', 'Select also the cell above', 'Moving', (a) => a.cells.go(-1, true), { command: ['K', 'Shift+ArrowUp'] }),
  A('first', 'First cell', 'Moving', (a) => a.cells.goEnd(-1), { command: ['g g', 'Home'] }),
  A('last', 'Last cell', 'Moving', (a) => a.cells.goEnd(1), { command: ['G', 'End'] }),

  A('insert_above', 'Insert a cell above', 'Cells', (a) => a.cells.insert(0), { command: ['a'] }),
  A('insert_below', 'Insert a cell below', 'Cells', (a) => a.cells.insert(1), { command: ['b'] }),
  A('delete', 'Delete cells', 'Cells', (a) => a.cells.deleteSelected(), { command: ['d d', 'Delete'] }),
  A('undo', 'Undo the last change of the document', 'Cells', (a) => a.cells.undo(), { command: ['z', 'Ctrl+z', 'Meta+z'] }),
  A('redo', 'Do it again', 'Cells', (a) => a.cells.redo(), { command: ['Z', 'Ctrl+y', 'Ctrl+Shift+Z', 'Meta+Shift+Z'] }),
  A('cut', 'Cut cells', 'Cells', (a) => { a.cells.copy(); a.cells.deleteSelected(); }, { command: ['x'] }),
  A('copy', 'Copy cells', 'Cells', (a) => a.cells.copy(), { command: ['c'] }),
  A('paste', 'Paste cells below', 'Cells', (a) => a.cells.paste(1), { command: ['v'] }),
  A('paste_above', 'Paste cells above', 'Cells', (a) => a.cells.paste(0), { command: ['V'] }),
  A('move_up', 'Move cells up', 'Cells', (a) => a.cells.moveSelected(-1), { command: ['Alt+ArrowUp', 'Ctrl+Shift+ArrowUp'] }),
  A('move_down', 'Move cells down', 'Cells', (a) => a.cells.moveSelected(1), { command: ['Alt+ArrowDown', 'Ctrl+Shift+ArrowDown'] }),
  A('merge', 'Merge cells', 'Cells', (a) => a.cells.merge(), { command: ['M'] }),
  A('split', 'Split the cell at the cursor', 'Cells', (a) => a.cells.split(), { edit: ['Ctrl+Shift+-', 'Ctrl+Shift+_', 'Alt+s'] }),
  A('to_code', 'Make it a code cell', 'Cells', (a) => a.cells.setType('code'), { command: ['y'] }),
  A('to_markdown', 'Make it a text cell', 'Cells', (a) => a.cells.setType('markdown'), { command: ['m'] }),
  A('to_raw', 'Make it a raw cell', 'Cells', (a) => a.cells.setType('raw'), { command: ['r'] }),

  A('docs', 'Show documentation of the name at the cursor', 'Writing', (a) => a.documentation(), { edit: ['Shift+Tab', 'F3'] }),
  A('find', 'Find and replace', 'Writing', (a) => a.find(), { command: ['f', 'Ctrl+f', 'Meta+f'], edit: ['Ctrl+f', 'Meta+f'] }),
  A('line_numbers', 'Show or hide line numbers', 'View', (a) => a.toggleNumbers(), { command: ['l'] }),
  A('toggle_output', 'Hide or show the output', 'View', (a) => a.toggleOutput(), { command: ['o'] }),
  A('clear_output', 'Clear the output', 'View', (a) => a.clearOutputs(false)),
  A('clear_all', 'Clear all outputs', 'View', (a) => a.clearOutputs(true)),
  A('panel', 'Show or hide the panel', 'View', (a) => a.togglePanel(), { both: ['F2'] }),
  A('tape', 'Go to the tape', 'View', (a) => a.showTab('tape'), { command: ['t'] }),
  A('variables', 'Go to the variables', 'View', (a) => a.showTab('variables')),
  A('hints', 'Show or hide hints', 'View', (a) => a.links.toggleHints()),
  A('theme', 'Light, dark, or as the system has it', 'View', (a) => a.nextTheme()),
  A('palette', 'All commands', 'View', (a) => a.guide.palette(), { both: ['Ctrl+Shift+P', 'Meta+Shift+P', 'F1'], command: ['p', ':'] }),
  A('help', 'Keys and help', 'View', (a) => a.guide.keys(), { command: ['h', '?'] }),
  A('manual', 'Documentation', 'View', (a) => a.guide.manual()),

  A('save', 'Save now', 'Document', (a) => void a.documents.save(true), { both: ['Ctrl+s', 'Meta+s'], command: ['s'] }),
  A('save_as', 'Save as a file', 'Document', (a) => a.documents.saveAs()),
  A('documents', 'Documents and examples', 'Document', (a) => void a.documents.list(), { both: ['Ctrl+o', 'Meta+o'] }),
  A('new', 'New document', 'Document', (a) => void a.documents.newDocument()),
  A('open', 'Open a file (.ipynb, .py)', 'Document', (a) => a.documents.openFile()),
  A('import', 'Import a pasted notebook', 'Document', (a) => a.documents.importPasted()),
  A('save_ipynb', 'Download as .ipynb', 'Document', (a) => a.sharing.download('ipynb')),
  A('save_py', 'Download as .py', 'Document', (a) => a.sharing.download('py')),
  A('export_html', 'Download as a replay (.html)', 'Document', (a) => void a.sharing.exportCapsule()),
  A('share', 'Share by link', 'Document', (a) => void a.sharing.share()),
  A('files', 'Files in the notebook’s folder', 'Document', (a) => void a.files.dialog()),
  A('revisions', 'Earlier revisions', 'Document', (a) => void a.documents.revisions()),
  A('reset', 'Reset to the shipped version', 'Document', (a) => void a.documents.resetExample()),
  A('erase', 'Erase my data in this browser', 'Document', (a) => void a.documents.erase()),
];

/** A pressed key as the table writes it. */
export function keyName(event: KeyboardEvent): string {
  const key = event.key.length === 1 && (event.ctrlKey || event.metaKey) && !event.shiftKey ? event.key.toLowerCase() : event.key;
  const shift = event.shiftKey && (key.length > 1 || event.ctrlKey || event.metaKey);
  return [event.ctrlKey && 'Ctrl', event.metaKey && 'Meta', event.altKey && 'Alt', shift && 'Shift', event.ctrlKey && event.shiftKey && key.length === 1 ? key.toUpperCase() : key].filter(Boolean).join('+');
}

/** Keys for people: "⇧ Enter" on a Mac would be a guess, so the plain names. */
export function keysOf(action: Action): string {
  const mac = /Mac|iPhone|iPad/.test(navigator.platform);
  const all = [...(action.keys ?? []), ...(action.command ?? []), ...(action.edit ?? [])].filter((k) => (mac ? !k.startsWith('Ctrl+') || !all0(action).some((o) => o === k.replace('Ctrl', 'Meta')) : !k.startsWith('Meta')));
  return (all[0] ?? '').replace('Meta', '⌘').replace('Arrow', '').replace(/(?<=\+)[a-z]$/, (letter) => letter.toUpperCase());
}

const all0 = (action: Action): string[] => [...(action.keys ?? []), ...(action.command ?? []), ...(action.edit ?? [])];

/** Finds the action of a key, with sequences such as `d d` in command mode. */
export class KeyMap {
  private tables: Record<'command' | 'edit', Map<string, Action>> = { command: new Map(), edit: new Map() };
  private prefixes = new Set<string>();
  private pending = '';
  private timer = 0;

  constructor() {
    for (const action of ACTIONS) {
      for (const mode of ['command', 'edit'] as const) {
        for (const keys of [...(action.keys ?? []), ...(action[mode] ?? [])]) {
          if (this.tables[mode].has(keys)) throw new Error(`two actions have the key ${keys}`);
          this.tables[mode].set(keys, action);
          if (keys.includes(' ')) this.prefixes.add(keys.split(' ')[0]!);
        }
      }
    }
  }

  /** The action, "wait" for the beginning of a sequence, or null. */
  find(mode: 'command' | 'edit', event: KeyboardEvent): Action | 'wait' | null {
    const key = keyName(event), table = this.tables[mode];
    if (mode === 'command' && this.pending) {
      const found = table.get(`${this.pending} ${key}`);
      this.pending = '';
      if (found) return found;
    }
    if (mode === 'command' && this.prefixes.has(key) && !table.has(key)) {
      this.pending = key;
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => { this.pending = ''; }, 900);
      return 'wait';
    }
    return table.get(key) ?? null;
  }
}
