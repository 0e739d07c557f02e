// Which document is on the page: opening it from the address, an example, a file or the browser's store; keeping it there;
// its earlier revisions; erasing all. What a document is stands in `document.ts`.
import type { App } from './app';
import { banner, confirm, dialog, say } from './dialogs';
import { clear, debounce, h, iconButton } from './dom';
import { type Json, makeCell, newId, Notebook } from './document';
import { isRecording, readIpynb, type Recording, titleOf, writeIpynb } from './formats';
import { readAside } from './reading';
import { unpack } from './share';
import type { Store, StoredDocument } from './store';

const EXAMPLE = 'example:';

export class Documents {
  id = newId();
  example: string | null = null;
  shared = false; // came by a link: kept only once its reader has changed or run it
  dirty = false;
  failed = false; // the browser did not keep the last save
  private writing = 0; // saves that are on their way
  store: Store | null = null;
  recording: Recording | null = null;
  saveLater = debounce(() => void this.save(), 800, 4000); // a cell that prints all the time must not keep text from being kept

  constructor(private app: App) {}

  async openFirst(): Promise<void> {
    const last = await this.store?.setting<string>('last');
    const kept = last ? await this.store?.get(last) : undefined;
    if (kept) this.openStored(kept);
    else if (this.app.site.examples[0]) await this.openExample(this.app.site.examples[0].id);
    else this.app.show(new Notebook([makeCell('code')]), 'Untitled');
  }

  async openAddress(): Promise<boolean> {
    const { hash } = location;
    if (this.app.host) return false; // nobody's link brings a text beside a native kernel
    try {
      if (hash.startsWith('#example=')) { await this.openExample(/%(?![0-9a-f]{2})|%[89a-f]/i.test(hash) ? hash.slice(9) : decodeURIComponent(hash.slice(9))); return true; }
      const value = await unpack(hash);
      if (value === null) return false;
      this.openShared(value);
      return true;
    } catch (error) {
      say((error as Error).message);
      return false;
    }
  }

  openShared(value: Json): void {
    const recording = isRecording(value) ? value : null;
    const notebook = readIpynb(recording ? recording.notebook : value);
    const title = typeof value.title === 'string' ? value.title.slice(0, 200) : (titleOf(notebook) ?? 'Shared notebook');
    this.app.show(notebook, title, { recording });
    this.shared = true;
    this.app.banners.replaceChildren(banner('You opened this from a link. It is shown as it was shared; nothing in it runs until you press Run.', [
      { label: 'Run all', primary: true, act: () => { clear(this.app.banners); this.app.runAll(); } },
      { label: 'Keep a copy', act: () => { clear(this.app.banners); this.shared = false; this.changed(); void this.save(true); } },
    ], () => undefined));
  }

  async openExample(id: string): Promise<void> {
    const example = this.app.site.examples.find((e) => e.id === id);
    if (!example) { say(`There is no example ${id.slice(0, 60)}.`); return; }
    const kept = await this.store?.get(EXAMPLE + id);
    if (kept) { this.openStored(kept); return; }
    try {
      const early = (window as { firstRecording?: Promise<Json> | undefined }).firstRecording;
      const value = early && example === this.app.site.examples[0] ? await early : await (await fetch(new URL(example.recording, this.app.base))).json();
      const recording = value as Recording;
      this.app.show(readIpynb(structuredClone(recording.notebook)), example.title, { recording, id: EXAMPLE + id, example: id });
      void this.store?.setSetting('last', null).catch(() => undefined); // only which document is opened next time
    } catch {
      say(`${example.title} could not be loaded. Are you offline, before the first visit was complete?`);
    }
  }

  openStored(kept: StoredDocument): void {
    this.app.show(readIpynb(kept.notebook), kept.title, { id: kept.id, example: kept.example });
    for (const cell of this.app.notebook.cells) if (cell.outputs.length) this.app.setRun(cell.id, { state: 'recorded' });
    void this.store?.setSetting('last', kept.id).catch(() => undefined); // only which document is opened next time
  }

  changed(): void {
    this.dirty = true;
    if (this.shared) { this.shared = false; }
    if (this.app.host?.file) this.app.host.changed(); else this.app.saved.textContent = this.store ? '' : 'not kept';
    this.saveLater();
  }

  saveAs(): void { if (this.app.host) this.app.host.saveAs(); else this.app.sharing.download('ipynb'); }

  async save(told = false): Promise<void> {
    const { host } = this.app;
    if (host?.file && told) { this.dirty = false; await host.save(); return; }
    if (host && this.dirty) void host.keep().catch((error: Error) => say(error.message));
    if (host?.file) { this.dirty = false; return; }
    if (!this.store || (!this.dirty && !told) || this.shared) return;
    this.dirty = false;
    this.writing++;
    try {
      const now = this.now();
      await this.store.put(now);
      this.failed = false;
      await this.store.setSetting('last', now.id);
      this.app.saved.textContent = 'kept in this browser';
      if (told) say('Kept in this browser.');
    } catch (error) {
      this.dirty = this.failed = true;
      this.app.saved.textContent = 'could not be kept';
      const why = (error as Error).name === 'InvalidStateError' ? 'another tab has erased what was kept; reload this page to keep documents again' : (error as Error).message.replace(/[.\s]+$/, '');
      say(`The browser could not keep the document (${why}). Download it to be safe.`, { label: 'Download', act: () => this.app.sharing.download('ipynb') });
    } finally { this.writing--; }
  }

  private now(): StoredDocument { return { id: this.id, title: this.app.title, example: this.example, notebook: writeIpynb(this.app.notebook), updated: Date.now() }; }

  /** The page is being left: what is not kept yet, or only on its way, is written in one step. */
  leave(): void {
    if (this.store && !this.shared && !this.app.host?.file && (this.dirty || this.writing)) this.store.leave(this.now());
  }

  async list(): Promise<void> {
    const mine = ((await this.store?.list()) ?? []).filter((d) => d.notebook);
    const here = (await this.app.host?.notebooks().catch(() => [])) ?? [];
    dialog('Documents', (close) => {
      const entry = (title: string, detail: string, act: () => void, remove?: () => Promise<void>) => {
        const row = h('div', { class: 'doc-row' }, h('button', { type: 'button', class: 'doc', onclick: () => { close(); act(); } }, h('strong', null, title), h('span', { class: 'quiet' }, detail)));
        if (remove) row.append(iconButton('trash', `Delete ${title}`, () => void confirm('Delete the document?', `“${title}” and its earlier revisions will be gone from this browser.`, 'Delete').then(async (yes) => { if (yes) { await remove(); row.remove(); } })));
        return row;
      };
      return [
        h('div', { class: 'buttons left' }, h('button', { type: 'button', class: 'primary', onclick: () => { close(); void this.newDocument(); } }, 'New document'), h('button', { type: 'button', onclick: () => { close(); this.openFile(); } }, 'Open a file…')),
        here.length ? h('h3', null, 'Notebooks in this folder') : null,
        h('div', { class: 'docs-list' }, ...here.map((n) => entry(n.path, `changed ${new Date(n.time).toLocaleString()}`, () => void this.app.host!.open(n.path)))),
        this.app.site.examples.length ? h('h3', null, 'Examples') : null,
        h('div', { class: 'docs-list' }, ...this.app.site.examples.map((e) => entry(e.title, e.summary, () => { history.replaceState(null, '', location.pathname + location.search); void this.openExample(e.id); }))),
        mine.length ? h('h3', null, 'Kept in this browser') : null,
        h('div', { class: 'docs-list' }, ...mine.map((d) => entry(d.title, `${d.example ? 'your copy of an example, ' : ''}changed ${new Date(d.updated).toLocaleString()}`, () => { history.replaceState(null, '', location.pathname + location.search); this.openStored(d); }, async () => {
          await this.store!.remove(d.id);
          if (d.id === this.id) { this.dirty = false; await this.store!.setSetting('last', null); await this.openFirst(); }
        }))),
      ];
    }, true);
  }

  async newDocument(): Promise<void> {
    history.replaceState(null, '', location.pathname + location.search);
    this.app.show(new Notebook([makeCell('code')]), 'Untitled');
    this.app.view.edit(this.app.notebook.cells[0]!.id);
  }

  openFile(): void {
    const input = h('input', { type: 'file', accept: '.ipynb,.py,.json' });
    input.addEventListener('change', () => { const file = input.files?.[0]; if (file) void file.text().then((text) => this.openText(file.name, text)); });
    input.click();
  }

  async openText(name: string, text: string): Promise<void> {
    try {
      const { notebook, recording } = await readAside(name, text);
      history.replaceState(null, '', location.pathname + location.search);
      this.app.show(notebook, recording?.title?.slice(0, 200) ?? titleOf(notebook) ?? name.replace(/\.[^.]+$/, ''), { recording });
      for (const cell of notebook.cells) if (cell.outputs.length && !this.app.runs.has(cell.id)) this.app.setRun(cell.id, { state: 'recorded' });
      this.changed();
    } catch (error) {
      say((error as Error).message);
    }
  }

  importPasted(): void {
    dialog('Import a notebook', (close) => {
      const area = h('textarea', { rows: '12', 'aria-label': 'The text of an .ipynb or .py file', placeholder: 'Paste the text of an .ipynb or .py file', spellcheck: 'false' });
      setTimeout(() => area.focus());
      return [area, h('div', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', onclick: () => { close(); void this.openText(area.value.trimStart().startsWith('{') ? 'The pasted text' : 'pasted.py', area.value); } }, 'Import'))];
    }, true);
  }

  async revisions(): Promise<void> {
    if (this.app.host?.file) { this.app.host.generations(); return; }
    const ring = (await this.store?.revisions(this.id)) ?? [];
    dialog('Earlier revisions', (close) => ring.length
      ? [h('p', null, 'What this document was before; opening one replaces the text of now, which becomes a revision itself.'), h('div', { class: 'docs-list' }, ...ring.map((r) => h('div', { class: 'doc-row' }, h('button', {
        type: 'button', class: 'doc', onclick: () => { close(); const { id, example } = this; this.app.show(readIpynb(r.notebook), r.title, { id, example }); this.changed(); },
      }, h('strong', null, new Date(r.time).toLocaleString()), h('span', { class: 'quiet' }, `${r.notebook.cells.length} cells`)))))]
      : [h('p', null, 'There are none yet. Each minute of changes leaves one, twenty at most.')], true);
  }

  async resetExample(): Promise<void> {
    const { example } = this;
    if (!example) { say('This document was not shipped with the page.'); return; }
    if (!(await confirm('Reset to the shipped version?', 'Your changes to this example become an earlier revision.', 'Reset'))) return;
    const shipped = this.app.site.examples.find((e) => e.id === example)!;
    const recording = (await (await fetch(new URL(shipped.recording, this.app.base))).json()) as Recording;
    this.app.show(readIpynb(structuredClone(recording.notebook)), shipped.title, { recording, id: EXAMPLE + example, example });
    this.dirty = true;
    await this.save();
  }

  async erase(): Promise<void> {
    if (!(await confirm('Erase my data?', 'All documents, revisions and settings that this page keeps in this browser will be gone.', 'Erase'))) return;
    const { store } = this;
    this.store = null; // what the end of a running cell changes is not kept any more
    this.app.kernel.shutdown();
    await store?.erase();
    this.dirty = false; // or the browser would ask whether to leave a page with something that is not kept
    history.replaceState(null, '', location.pathname);
    location.reload();
  }
}
