// The document beside a native kernel: it may be a file on this machine, which is saved, watched and recovered through the
// server. Here are the questions that this asks of a person, and the banners; `app.ts` has the document itself.
import { banner, dialog, say } from './dialogs';
import { download, h } from './dom';
import { type Cell, type Json, Notebook } from './document';
import { readIpynb, writeIpynb } from './formats';
import { type Link, NativeKernel } from './native_kernel';
import type { CellRun } from './notebook_view';

export interface Page {
  notebook: Notebook;
  /** What the page wants to find again beside the cells. */
  facts(): Json;
  /** Show a document that the server has, with its runs; the kernel goes on. */
  showHosted(notebook: Notebook, facts: Json, file: Json | null): void;
  setRun(id: string, run: CellRun): void;
  /** The cells that this Python has run, in order. */
  ran(cells: string[]): void;
  event(event: Json): void;
  kernelChanged(): void;
  showSaved(words: string): void;
}

export class NativeHost {
  readonly kernel: NativeKernel;
  file: Json | null = null; // name, path, unsaved, warnings, recovery
  private told = { link: null as HTMLElement | null, disk: null as HTMLElement | null };
  private gate: HTMLElement | null = null;
  private changes = 0; // of a file's document on this page, and how many of them the server has
  private handed = 0;
  private late = false;
  private opened!: (shown: boolean) => void;
  /** Settles when the first welcome is there: whether the server has a document to show. */
  readonly ready = new Promise<boolean>((resolve) => { this.opened = resolve; });

  constructor(address: string, private page: Page, private banners: HTMLElement) {
    this.kernel = new NativeKernel(address, {
      event: (event) => page.event(event), changed: () => page.kernelChanged(),
      linked: (link, welcome) => this.linked(link, welcome), disk: (changed, gone) => this.disk(changed, gone),
    });
    window.addEventListener('pagehide', () => void this.keep().catch(() => undefined));
  }

  private linked(link: Link, welcome: Json | null): void {
    this.told.link?.remove();
    this.told.link = null;
    if (link.state === 'refused') { this.refuse(link.sentence, link.held); return; }
    this.gate?.remove();
    this.gate = null;
    if (link.state === 'lost') {
      this.told.link = banner('There is no connection to the kernel; trying again. What you write stays here, and a cell that runs goes on. Is `tapescope serve` still running?', []);
      this.told.link.classList.add('link-lost');
      this.told.link.setAttribute('role', 'alert');
      this.banners.append(this.told.link);
      return;
    }
    if (welcome) this.welcomed(welcome);
    else if (this.late) void this.keep().catch((error: Error) => say(error.message));
  }

  private welcomed(welcome: Json): void {
    const shown = welcome.document;
    if (shown) this.show(shown);
    this.page.ran(welcome.ran ?? []);
    for (const [id, run] of Object.entries((welcome.runs ?? {}) as Record<string, Json>)) if (this.page.notebook.cell(id)) this.page.setRun(id, run.state === 'running' ? { state: 'running', began: performance.now() } : { state: run.state, seconds: run.seconds, line: run.line });
    if (welcome.asked) this.page.event(welcome.asked);
    this.opened(Boolean(shown));
  }

  /** A document of the server on the page. */
  private show(shown: Json): void {
    this.file = shown.file;
    this.page.showHosted(readIpynb(shown.notebook), shown.page ?? {}, shown.file);
    for (const words of shown.file?.warnings ?? []) say(String(words));
    if (shown.file?.recovery) this.offerRecovery(shown.file.recovery);
    this.status();
  }

  status(): void { if (this.file) this.page.showSaved(this.file.unsaved ? 'not saved' : 'saved'); }

  /** A sentence instead of a notebook that this page does not have. */
  private refuse(sentence: string, held: boolean): void {
    this.gate?.remove();
    if (!held && this.kernel.folder) { // it was open: what was written meanwhile must stay in reach
      this.told.link = banner('The server was started anew, with another key. Open the address that it printed; what you wrote here since the connection was lost can be downloaded.', [
        { label: 'Download', primary: true, act: () => this.download() }]);
      this.told.link.classList.add('link-refused');
      this.told.link.setAttribute('role', 'alert');
      this.banners.append(this.told.link);
      return;
    }
    // Another page may have come while this one had no connection, and then has the rest only from here.
    const mine = held && this.alone;
    const again = () => { sessionStorage.setItem('take', '1'); location.reload(); };
    this.gate = h('div', { class: 'gate', role: 'alertdialog', 'aria-label': 'No kernel', 'aria-modal': 'true' }, h('div', null, h('h1', null, held ? 'Open elsewhere' : 'No key'), h('p', null, sentence),
      mine ? h('p', null, 'What you wrote here last has not reached the other one. Download it first: what is shown after “Use it here” is the other one’s.') : null,
      mine ? h('button', { type: 'button', onclick: () => this.download() }, 'Download') : null,
      held ? h('button', { type: 'button', class: 'primary', onclick: again }, 'Use it here') : null));
    document.body.append(this.gate);
    this.gate.querySelector('button')?.focus();
  }

  private download(): void {
    download(`${(this.file?.name ?? 'notebook').replace(/\.\w+$/, '')}.ipynb`, `${JSON.stringify(writeIpynb(this.page.notebook), null, 1)}\n`, 'application/x-ipynb+json');
    this.handed = this.changes; // it is somewhere else now
  }

  connect(): void {
    const take = sessionStorage.getItem('take') === '1';
    sessionStorage.removeItem('take');
    this.kernel.connect(take);
  }

  private content(): Json { return { notebook: writeIpynb(this.page.notebook), seq: this.kernel.applied, page: this.page.facts(), file: this.file?.path ?? null }; }

  // -- keeping and saving ---------------------------------------------------------------------------------------------------

  /** Hand the server a copy, so that a closed tab loses nothing. */
  async keep(): Promise<void> {
    if (this.kernel.link.state === 'refused') return;
    const { changes } = this;
    this.late = this.kernel.link.state === 'lost'; // then once, when there is a connection: hours of typing are not one copy a second
    if (this.late) return;
    const answer = await this.kernel.ask('keep', this.content());
    this.handed = Math.max(this.handed, changes);
    if (this.file) { this.file.unsaved = answer.unsaved; this.status(); }
  }

  changed(): void { if (this.file) { this.changes++; this.file.unsaved = true; this.status(); } }

  /** There is text that only this page has, and no connection that could take it: closing the page would lose it. */
  get alone(): boolean { return this.file !== null && this.changes > this.handed && this.kernel.away; }

  async save(over = false): Promise<void> {
    if (!this.file) { this.saveAs(); return; }
    await this.write({ over }, () => void this.save(true));
  }

  saveAs(): void {
    const field = h('input', { type: 'text', value: this.file?.name ?? 'notebook.ipynb', 'aria-label': 'Name of the file', spellcheck: 'false' });
    dialog('Save as a file', (close) => {
      const act = () => { close(); const path = field.value.trim(); if (path) void this.write({ path }, () => void this.write({ path, over: true }, () => undefined)); };
      field.addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); act(); } });
      return [h('p', null, `The file to write in ${this.kernel.folder}: .py (percent cells) or .ipynb.`), h('div', { class: 'share-row' }, field, h('button', { type: 'button', class: 'primary', onclick: act }, 'Save'))];
    });
    field.focus();
    field.setSelectionRange(0, field.value.lastIndexOf('.'));
  }

  private async write(how: Json, over: () => void): Promise<void> {
    if (this.kernel.link.state === 'lost') say('There is no connection now; the document is saved as soon as there is one.');
    try {
      const { changes } = this;
      const answer = await this.kernel.ask('save', { ...this.content(), ...how });
      this.handed = Math.max(this.handed, changes);
      if (answer.conflict) { this.conflict(answer.conflict, over); return; }
      this.file = answer.file;
      this.told.disk?.remove();
      this.page.showSaved('saved');
      this.page.kernelChanged();
      say(`Saved ${this.file!.name}.`);
      for (const words of answer.warnings ?? []) say(String(words));
    } catch (error) {
      say(`${(error as Error).message} Your text is still here.`, { label: 'Save as…', act: () => this.saveAs() });
    }
  }

  private conflict(found: Json, over: () => void): void {
    const words = found.other ? `${found.name} is there already. Saving puts your text in its place; the other one is kept among the earlier generations.`
      : found.gone ? `${found.name} was deleted or moved; your text is here, and saving writes it again.`
        : `${found.name} was changed on disk since you opened it. Saving puts your text in its place; the other one is kept among the earlier generations. What the file has on the disk changes this (minus is yours, plus is the file's):`;
    dialog(found.other ? 'The file is there' : 'The file changed', (close) => [
      h('p', null, words), found.lines.length ? difference(found.lines) : null,
      h('div', { class: 'buttons' },
        h('button', { type: 'button', onclick: close }, 'Do not save'),
        found.gone || found.other ? null : h('button', { type: 'button', onclick: () => { close(); void this.reload(); } }, 'Load the file'),
        h('button', { type: 'button', class: 'primary', onclick: () => { close(); over(); } }, 'Save mine')),
    ], found.lines.length > 0);
  }

  /** Take over what is on the disk; undo leads back. */
  async reload(): Promise<void> {
    await this.take('reload', {}, 'This is what is on the disk now. Undo brings yours back.');
    this.told.disk?.remove();
    if (this.file) { this.file.unsaved = false; this.status(); }
  }

  private async take(what: string, content: Json, words: string): Promise<void> {
    try {
      const { notebook } = await this.kernel.ask(what, { ...this.content(), ...content });
      adopt(this.page.notebook, readIpynb(notebook).cells);
      say(words);
    } catch (error) { say((error as Error).message); }
  }

  /** What the file on the disk changes, and the three ways on. */
  private async compare(): Promise<void> {
    try {
      const { conflict } = await this.kernel.ask('difference', this.content());
      if (conflict) this.conflict(conflict, () => void this.save(true)); else say('The file on disk is the one that was opened.');
    } catch (error) { say((error as Error).message); }
  }

  private disk(changed: boolean, gone: boolean): void {
    this.told.disk?.remove();
    this.told.disk = null;
    if (!changed || !this.file) return;
    this.told.disk = banner(gone ? `${this.file.name} was deleted or moved; your text is here, and saving writes it again.` : `${this.file.name} was changed on disk by another program.`,
      gone ? [{ label: 'Save mine', act: () => void this.save(true) }] : [{ label: 'Load the file', primary: true, act: () => void this.reload() }, { label: 'Show the difference', act: () => void this.compare() }], () => undefined);
    this.told.disk.classList.add('disk-changed');
    this.banners.append(this.told.disk);
  }

  private offerRecovery(found: Json): void {
    const answer = (keep: boolean) => void (keep ? this.take('recover', { keep }, 'This is the recovered work; save it to keep it.') : this.kernel.ask('recover', { ...this.content(), keep }).catch((error: Error) => say(error.message)));
    dialog('Unsaved work found', (close) => [
      h('p', null, `Tapescope was closed without saving ${this.file!.name}. Work from ${new Date(found.time).toLocaleString()} was kept; this is what it changes:`),
      difference(found.lines),
      h('div', { class: 'buttons' }, h('button', { type: 'button', onclick: () => { close(); answer(false); } }, 'Discard it'), h('button', { type: 'button', class: 'primary', onclick: () => { close(); answer(true); } }, 'Keep the work')),
    ], true);
  }

  // -- other documents -----------------------------------------------------------------------------------------------------------

  /** The notebooks below the folder of the server. */
  async notebooks(): Promise<{ path: string; time: number }[]> {
    if (this.kernel.link.state !== 'open') return [];
    return (await this.kernel.ask('notebooks')).notebooks;
  }

  async open(path: string): Promise<void> {
    try {
      await this.keep();
      const { document: shown } = await this.kernel.ask('open', { path });
      this.show(shown);
    } catch (error) { say((error as Error).message); }
  }

  /** The page goes on with a document of its own. */
  async leave(): Promise<void> {
    if (!this.file) return;
    const last = this.content();
    this.file = null;
    await Promise.all([this.kernel.ask('keep', last), this.kernel.ask('leave')]); // in this order, before anything of the next document
  }

  generations(): void {
    void this.kernel.ask('generations').then(({ generations }) => dialog('Earlier generations', (close) => (generations as Json[]).length
      ? [h('p', null, 'What the file held before each save; going back to one is a step that undo takes back.'), h('div', { class: 'docs-list' }, ...(generations as Json[]).map((g) => h('div', { class: 'doc-row' }, h('button', {
        type: 'button', class: 'doc', onclick: () => { close(); void this.take('generation', { name: g.name }, 'The cells are as they were then. Undo brings yours back; save to keep it.'); },
      }, h('strong', null, new Date(g.time).toLocaleString()), h('span', { class: 'quiet' }, `${g.size} bytes`)))))]
      : [h('p', null, 'No save has replaced anything yet.')], true), (error: Error) => say(error.message));
  }
}

const difference = (lines: string[]): HTMLElement => h('pre', { class: 'text difference', tabindex: 0 }, ...lines.map((line) => h('span', { class: line.startsWith('+') ? 'plus' : line.startsWith('-') ? 'minus' : 'quiet' }, `${line}\n`)));

/** Make the cells of a document those of another copy of it, by its own operations, as one step of undo. */
export function adopt(notebook: Notebook, wanted: Cell[]): void {
  notebook.together(() => {
    const ids = new Set(wanted.map((c) => c.id));
    for (const cell of [...notebook.cells]) if (!ids.has(cell.id)) notebook.delete(cell);
    wanted.forEach((other, at) => {
      const mine = notebook.cell(other.id);
      if (!mine) { notebook.insert(at, other); return; }
      if (notebook.cells.indexOf(mine) !== at) notebook.move(mine, at);
      notebook.setType(mine, other.type);
      notebook.setSource(mine, other.source);
      mine.metadata = other.metadata;
    });
  });
}

