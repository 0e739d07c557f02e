// Files that come to the page: notebooks are opened, others go into the folder that cells see, which has a dialog here.
import type { App } from './app';
import { dialog, say } from './dialogs';
import { bytesText, download, h, iconButton } from './dom';
import type { FileEntry } from './shared';

/** A file's name without what would lead out of the folder or turn the text around it. */
// eslint-disable-next-line no-control-regex
const plainName = (name: string): string => name.replace(/[/\\\x00-\x1f\u202a-\u202e\u2066-\u2069]/g, '_');

export class KernelFiles {
  constructor(private app: App) {}

  accept(): void {
    const over = (event: DragEvent) => { if (event.dataTransfer?.types.includes('Files')) { event.preventDefault(); this.app.root.classList.add('dropping'); } };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', (event) => { if (!event.relatedTarget) this.app.root.classList.remove('dropping'); });
    window.addEventListener('drop', (event) => {
      this.app.root.classList.remove('dropping');
      const files = [...(event.dataTransfer?.files ?? [])];
      if (!files.length) return;
      event.preventDefault();
      for (const file of files) void this.takeFile(file);
    });
    document.addEventListener('paste', (event) => {
      const target = event.target as HTMLElement;
      if (target.closest('input, textarea, .cm-content')) return;
      const text = event.clipboardData?.getData('text/plain') ?? '';
      if (/^\s*\{[\s\S]*"cells"\s*:/.test(text)) { event.preventDefault(); void this.app.documents.openText('The pasted text', text); }
    });
  }

  async takeFile(file: File): Promise<void> {
    const recorded = /\.json$/i.test(file.name) && (await file.slice(0, 400_000).text()).includes('"tapescope-recording"');
    if ((recorded || /\.(ipynb|py)$/i.test(file.name)) && file.size < 50_000_000) { await this.app.documents.openText(file.name, await file.text()); return; }
    const name = plainName(file.name);
    try {
      await this.app.kernel.file('write', name, new Uint8Array(await file.arrayBuffer()));
      say(`${name} is in the notebook's folder: open(${JSON.stringify(name)}) reads it.`);
    } catch (error) { say((error as Error).message); }
  }

  async dialog(): Promise<void> {
    if (this.app.kernel.state === 'off') this.app.kernel.start();
    dialog('Files', () => {
      const list = h('div', { class: 'docs-list' }, h('p', { class: 'quiet' }, this.app.kernel.running && !this.app.kernel.native ? 'The folder can be seen when the running cell is done.' : 'Reading the folder…'));
      const draw = (entries: FileEntry[]) => {
        const files = entries.filter((e) => !e.folder);
        list.replaceChildren(...files.map((e) => h('div', { class: 'doc-row' }, h('span', { class: 'doc' }, h('strong', null, e.path), h('span', { class: 'quiet' }, bytesText(e.bytes))),
          iconButton('download', `Download ${e.path}`, () => void this.app.kernel.file('read', e.path).then((r) => download(e.path.split('/').at(-1)!, r.data!, 'application/octet-stream'), (x: Error) => say(x.message))),
          iconButton('trash', `Delete ${e.path}`, () => void this.app.kernel.file('remove', e.path).then((r) => draw(r.list ?? []), (x: Error) => say(x.message))))));
        if (!files.length) list.replaceChildren(h('p', { class: 'quiet' }, 'The folder is empty. Files that cells write appear here.'));
      };
      void this.app.kernel.file('list').then((r) => draw(r.list ?? []), (x: Error) => say(x.message));
      const input = h('input', { type: 'file', multiple: true, hidden: true });
      input.addEventListener('change', () => void Promise.all([...(input.files ?? [])].map(async (f) => this.app.kernel.file('write', plainName(f.name), new Uint8Array(await f.arrayBuffer())))).then(() => this.app.kernel.file('list')).then((r) => draw(r.list ?? []), (x: Error) => say(x.message)));
      return [h('p', null, this.app.kernel.native ? 'The folder that cells see, on this machine.' : 'The folder that cells see. It lives in memory and is gone with the page; files you add are given to Python again when it restarts.'), list, h('div', { class: 'buttons' }, input, h('button', { type: 'button', class: 'primary', onclick: () => input.click() }, 'Add files…'))];
    }, true);
  }
}
