// The page: puts document, cells, kernel, panel and store together, and has one method for each action of the table.
import { ACTIONS, KeyMap, keysOf } from './actions';
import { logo } from './app_logo';
import { banner, confirm, dialog, menu, type MenuItem, palette, say } from './dialogs';
import { append, bytesText, clear, debounce, download, h, icon, iconButton } from './dom';
import { type Cell, type CellType, type Json, makeCell, newId, Notebook } from './document';
import { FindBar } from './find';
import { isRecording, readFile, readIpynb, type Recording, titleOf, writeIpynb, writePercent } from './formats';
import type { Source } from './graph';
import { Inspector, lineCosts, measuredCosts, type Tab } from './inspector';
import { Kernel, type KernelEvent, type RunRequest } from './kernel';
import { type CellRun, NotebookView } from './notebook_view';
import * as out from './outputs';
import { LIMIT, pack, unpack } from './share';
import { TapeRecord } from './records';
import type { FileEntry, Site } from './shared';
import { Store, type StoredDocument } from './store';

const EXAMPLE = 'example:';
type Theme = 'system' | 'light' | 'dark';

export class App {
  notebook = new Notebook([makeCell('code')]);
  title = 'Untitled';
  private id = newId();
  private example: string | null = null;
  private shared = false; // came by a link: kept only once its reader has changed or run it
  private dirty = false;
  private view: NotebookView;
  private inspector: Inspector;
  private kernel!: Kernel;
  private store: Store | null = null;
  private runs = new Map<string, CellRun>();
  private tapes = new Map<string, TapeRecord>();
  private captured: { captures: Json[]; breaks: Json[]; guards: Json[] } = { captures: [], breaks: [], guards: [] };
  private costs = new Map<string, Json>();
  private hints = new Map<string, Json[]>();
  private steps = new Map<string, Json[]>();
  private deviceFacts: [string, string][] = [];
  private ranSources = new Map<string, Map<number, string>>();
  private tapeOf: string | null = null;
  private clipboard: Cell[] = [];
  private counts = new Map<number, string>();
  private count = 0; // how many cells this Python has run
  private keymap = new KeyMap();
  private find_: FindBar;
  private recording: Recording | null = null;
  private saveLater = debounce(() => void this.save(), 800);
  private costsLater = debounce(() => this.drawCosts(), 150);

  private titleInput = h('input', { class: 'title', type: 'text', 'aria-label': 'Title of the document', spellcheck: 'false', maxlength: '200' });
  private saved = h('span', { class: 'quiet saved', 'aria-live': 'polite' });
  private status = h('button', { type: 'button', class: 'status', 'aria-haspopup': 'menu' });
  private runAllButton = h('button', { type: 'button', class: 'primary run-all' }, icon('playAll'), h('span', null, 'Run all'));
  private stopButton = h('button', { type: 'button', class: 'stop', hidden: true }, icon('stop'), h('span', null, 'Stop'));
  private banners = h('div', { class: 'banners' });
  private main = h('main', { id: 'main' });
  private asking: HTMLElement | null = null;

  constructor(private root: HTMLElement, private site: Site, private base: string) {
    this.view = new NotebookView({
      run: (cell) => this.runCells([cell]), stop: () => this.stop(), readonly: false,
      complete: (code, cursor) => this.kernel.complete(code, cursor),
      selected: () => this.selectionChanged(),
      cursor: (cell, line) => this.inspector.markLine(cell.id, line),
      insert: (index, type) => this.insertAt(index, type),
      move: (cell, to) => this.notebook.move(cell, to),
      menu: (cell, at) => this.cellMenu(cell, at),
      outputs: { nameCell: (id) => this.nameCell(id), cellOfCount: (count) => this.counts.get(count) ?? null, goTo: (id, line) => this.view.goTo(id, line) },
    });
    this.inspector = new Inspector({ nameCell: (id) => this.nameCell(id), lineNow: (source) => this.lineNow(source), show: (source, jump) => this.showSource(source, jump) }, { lay: (graph, folded) => this.kernel.records.lay(graph, folded) }, () => this.togglePanel(false));
    this.find_ = new FindBar(() => this.notebook, ({ cell, from, to }) => {
      if (cell.type !== 'code') this.view.edit(cell.id);
      this.view.goTo(cell.id, 1, true);
      this.view.view(cell.id)?.open()?.select(from, to);
    }, () => { const cell = this.view.current; if (cell) this.view.select(cell.id); });
    this.build();
    document.addEventListener('keydown', (event) => this.key(event), true);
    window.addEventListener('hashchange', () => void this.openAddress());
    window.addEventListener('pagehide', () => this.saveLater.flush());
    document.addEventListener('visibilitychange', () => { if (document.visibilityState === 'hidden') { this.saveLater.flush(); } });
    window.addEventListener('beforeunload', (event) => { if (this.dirty && !this.store) event.preventDefault(); });
    this.acceptFiles();
  }

  // -- the frame of the page ---------------------------------------------------------------------------------------------

  private build(): void {
    const { root } = this;
    this.runAllButton.addEventListener('click', () => { this.runAll(); this.cellElement?.focus(); });
    this.stopButton.addEventListener('click', () => { this.stop(); this.cellElement?.focus(); });
    this.status.addEventListener('click', () => this.kernelMenu());
    this.titleInput.addEventListener('change', () => { this.title = this.titleInput.value.trim() || 'Untitled'; this.changed(); this.showTitle(); });
    this.titleInput.addEventListener('input', () => { this.title = this.titleInput.value.trim() || 'Untitled'; this.changed(); });
    this.titleInput.addEventListener('keydown', (event) => { if (event.key === 'Enter' || event.key === 'Escape') { event.preventDefault(); this.view.current && this.view.select(this.view.current.id); } });
    const more = iconButton('menu', 'Menu', () => this.mainMenu(more), { 'aria-haspopup': 'menu' });
    const header = h('header', { class: 'top' },
      h('a', { class: 'skip', href: '#main', onclick: (event: Event) => { event.preventDefault(); const c = this.view.current; if (c) this.view.select(c.id); } }, 'To the cells'),
      h('button', { type: 'button', class: 'brand', 'aria-label': 'Tapescope: documents and examples', title: 'Documents and examples', onclick: () => void this.documents() }, logo(), h('span', null, 'Tapescope')),
      h('div', { class: 'title-box' }, this.titleInput, this.saved),
      this.status, this.runAllButton, this.stopButton,
      iconButton('link', 'Share by link', () => void this.share(), { class: 'icon-button wide-only' }),
      iconButton('panel', 'Show or hide the panel', () => this.togglePanel(), { class: 'icon-button panel-button' }),
      more);
    const foot = h('div', { class: 'add-row' },
      h('button', { type: 'button', onclick: () => this.insertAt(this.notebook.cells.length, 'code') }, icon('plus'), 'Code'),
      h('button', { type: 'button', onclick: () => this.insertAt(this.notebook.cells.length, 'markdown') }, icon('plus'), 'Text'));
    append(this.main, [this.banners, this.view.element, foot]);
    const divider = h('div', { class: 'divider', role: 'separator', 'aria-orientation': 'vertical', 'aria-label': 'Width of the panel', tabindex: 0, 'aria-valuenow': '40', 'aria-valuemin': '20', 'aria-valuemax': '70' });
    const columns = h('div', { class: 'columns' }, h('div', { class: 'document' }, this.find_.element, this.main), divider, this.inspector.element);
    const resize = (share: number) => { const value = Math.min(70, Math.max(20, share)); columns.style.setProperty('--panel', `${value}%`); divider.setAttribute('aria-valuenow', String(Math.round(value))); };
    divider.addEventListener('pointerdown', (event) => {
      divider.setPointerCapture(event.pointerId);
      const move = (e: PointerEvent) => resize(100 - (e.clientX / innerWidth) * 100);
      divider.addEventListener('pointermove', move);
      divider.addEventListener('pointerup', () => divider.removeEventListener('pointermove', move), { once: true });
    });
    divider.addEventListener('keydown', (event) => {
      const by = event.key === 'ArrowLeft' ? 3 : event.key === 'ArrowRight' ? -3 : 0;
      if (by) { event.preventDefault(); event.stopPropagation(); resize(Number(divider.getAttribute('aria-valuenow')) + by); }
    });
    root.replaceChildren(header, columns);
    this.applyTheme();
    if (innerWidth < 900) this.togglePanel(false);
  }

  private showTitle(): void {
    this.titleInput.value = this.title;
    document.title = `${this.title} · Tapescope`;
  }

  private kernelChanged(): void {
    const { kernel } = this;
    const busy = kernel.running !== null || kernel.waiting.length > 0;
    const words: Record<string, string> = {
      off: 'Python not started', loading: `Loading ${kernel.progress.step}`, idle: `Ready · ${kernel.facts.device ?? 'cpu'}`,
      busy: kernel.stopping ? 'Stopping' : kernel.waiting.length ? `Running, ${kernel.waiting.length} waiting` : 'Running', dead: 'Python has ended',
    };
    this.status.replaceChildren(h('span', { class: 'dot', 'aria-hidden': 'true' }), h('span', { class: 'status-text' }, words[kernel.state]!));
    this.status.dataset.state = kernel.state;
    this.status.style.setProperty('--part', String(kernel.state === 'loading' ? kernel.progress.part : 1));
    this.status.setAttribute('aria-label', `Kernel: ${words[kernel.state]}`);
    this.stopButton.hidden = !busy;
    this.runAllButton.hidden = busy;
    const label = !busy ? 'Stop' : !kernel.isolated ? 'Restart' : kernel.stopping >= 2 ? 'Force restart' : kernel.stopping ? 'Stopping…' : 'Stop';
    this.stopButton.lastElementChild!.textContent = label;
    this.stopButton.classList.toggle('urgent', kernel.stopping >= 2);
    for (const request of kernel.waiting) if (this.runs.get(request.cell)?.state !== 'waiting') this.setRun(request.cell, { state: 'waiting' });
    this.inspector.takeDevice({
      facts: this.deviceFacts,
      state: words[kernel.state]!, device: kernel.facts.device ?? '', python: kernel.facts.python ?? '', torch: kernel.facts.torch ?? '', isolated: kernel.isolated,
      webgpu: 'gpu' in navigator ? (kernel.facts.device?.startsWith('webgpu') ? 'in use' : kernel.state === 'idle' || kernel.state === 'busy' ? (kernel.device === 'cpu' ? 'switched off; the CPU computes' : 'no adapter that is faster than the CPU; the CPU computes') : 'offered by this browser') : 'not in this browser; the CPU computes, by numpy', reason: kernel.reason,
    });
  }

  // -- opening ---------------------------------------------------------------------------------------------------------------

  /** Open what the address or the last visit says, paint it, and let Python start behind it. */
  async start(): Promise<void> {
    this.kernel = new Kernel(this.site, this.base, { event: (e) => this.event(e), changed: () => this.kernelChanged() }, wantedDevice());
    this.kernelChanged();
    this.store = await Store.open();
    if (!this.store) say('This browser keeps no documents for pages (a private window, perhaps). Download what you want to keep.');
    if (!(await this.openAddress())) await this.openFirst();
    const connection = (navigator as { connection?: { saveData?: boolean } }).connection;
    if (!connection?.saveData) setTimeout(() => { if (this.kernel.state === 'off') this.kernel.start(); }, 300);
  }

  private async openFirst(): Promise<void> {
    const last = await this.store?.setting<string>('last');
    const kept = last ? await this.store?.get(last) : undefined;
    if (kept) this.openStored(kept);
    else if (this.site.examples[0]) await this.openExample(this.site.examples[0].id);
    else this.show(new Notebook([makeCell('code')]), 'Untitled');
  }

  private async openAddress(): Promise<boolean> {
    const { hash } = location;
    try {
      if (hash.startsWith('#example=')) { await this.openExample(decodeURIComponent(hash.slice(9))); return true; }
      const value = await unpack(hash);
      if (value === null) return false;
      this.openShared(value);
      return true;
    } catch (error) {
      say((error as Error).message);
      return false;
    }
  }

  private openShared(value: Json): void {
    const recording = isRecording(value) ? value : null;
    const notebook = readIpynb(recording ? recording.notebook : value);
    const title = typeof value.title === 'string' ? value.title.slice(0, 200) : (titleOf(notebook) ?? 'Shared notebook');
    this.show(notebook, title, { recording });
    this.shared = true;
    this.banners.replaceChildren(banner('You opened this from a link. It is shown as it was shared; nothing in it runs until you press Run.', [
      { label: 'Run all', primary: true, act: () => { clear(this.banners); this.runAll(); } },
      { label: 'Keep a copy', act: () => { clear(this.banners); this.shared = false; this.changed(); void this.save(true); } },
    ], () => undefined));
  }

  async openExample(id: string): Promise<void> {
    const example = this.site.examples.find((e) => e.id === id);
    if (!example) { say(`There is no example ${id.slice(0, 60)}.`); return; }
    const kept = await this.store?.get(EXAMPLE + id);
    if (kept) { this.openStored(kept); return; }
    try {
      const early = (window as { firstRecording?: Promise<Json> | undefined }).firstRecording;
      const value = early && example === this.site.examples[0] ? await early : await (await fetch(new URL(example.recording, this.base))).json();
      const recording = value as Recording;
      this.show(readIpynb(structuredClone(recording.notebook)), example.title, { recording, id: EXAMPLE + id, example: id });
      void this.store?.setSetting('last', null);
    } catch {
      say(`${example.title} could not be loaded. Are you offline, before the first visit was complete?`);
    }
  }

  private openStored(kept: StoredDocument): void {
    this.show(readIpynb(kept.notebook), kept.title, { id: kept.id, example: kept.example });
    for (const cell of this.notebook.cells) if (cell.outputs.length) this.setRun(cell.id, { state: 'recorded' });
    void this.store?.setSetting('last', kept.id);
  }

  private show(notebook: Notebook, title: string, { recording = null, id = newId(), example = null }: { recording?: Recording | null; id?: string; example?: string | null } = {}): void {
    this.saveLater.flush();
    if (this.kernel.running || this.kernel.waiting.length || this.runs.size) { if (this.kernel.state !== 'off' && [...this.runs.values()].some((r) => r.state !== 'recorded')) this.kernel.restart(); }
    Object.assign(this, { notebook, title, id, example, recording, shared: false, dirty: false });
    clear(this.banners);
    this.runs.clear();
    this.tapes.clear();
    this.captured = { captures: [], breaks: [], guards: [] };
    this.costs.clear();
    this.hints.clear();
    this.steps.clear();
    this.ranSources.clear();
    this.tapeOf = null;
    this.saved.textContent = '';
    if (recording) {
      for (const [cell, run] of Object.entries(recording.runs)) this.runs.set(cell, { state: 'recorded', seconds: typeof run.seconds === 'number' ? run.seconds : undefined, line: run.line });
      for (const [cell, tape] of Object.entries(recording.tapes)) this.tapes.set(cell, TapeRecord.ofRecording(tape));
      for (const [cell, costs] of Object.entries(recording.costs ?? {})) this.costs.set(cell, costs);
      for (const [cell, hints] of Object.entries(recording.hints ?? {})) if (Array.isArray(hints)) this.hints.set(cell, hints);
      for (const [cell, steps] of Object.entries(recording.steps ?? {})) if (Array.isArray(steps)) this.steps.set(cell, steps);
      const list = (value: Json): Json[] => (Array.isArray(value) ? value : []);
      this.captured = { captures: list(recording.captures), breaks: list(recording.breaks), guards: list(recording.guards) };
      for (const cell of notebook.cells) this.ranSources.set(cell.id, new Map([[0, cell.source]]));
    }
    notebook.subscribe((change) => { if (change.kind !== 'outputs') this.changed(); else { this.dirty = true; this.saveLater(); } });
    this.view.show(notebook, this.runs);
    this.showTitle();
    this.inspector.takeVariables(recording?.variables ?? []);
    this.showTape([...this.tapes.keys()].at(-1) ?? null);
    this.inspector.takeCaptures(this.captured.captures, this.captured.breaks, this.captured.guards);
    this.inspector.takeLaunched([]);
    for (const cell of this.hints.keys()) this.drawHints(cell);
    this.main.parentElement!.scrollTop = 0;
  }

  // -- keeping ---------------------------------------------------------------------------------------------------------------

  private changed(): void {
    this.dirty = true;
    if (this.shared) { this.shared = false; }
    this.saved.textContent = this.store ? '' : 'not kept';
    this.saveLater();
  }

  async save(told = false): Promise<void> {
    if (!this.store || (!this.dirty && !told) || this.shared) return;
    const { id, title, example } = this;
    this.dirty = false;
    try {
      await this.store.put({ id, title, example, notebook: writeIpynb(this.notebook), updated: Date.now() });
      await this.store.setSetting('last', id);
      this.saved.textContent = 'kept in this browser';
      if (told) say('Kept in this browser.');
    } catch (error) {
      this.dirty = true;
      this.saved.textContent = 'could not be kept';
      say(`The browser could not keep the document (${(error as Error).message}). Download it to be safe.`, { label: 'Download', act: () => this.download('ipynb') });
    }
  }

  // -- running ---------------------------------------------------------------------------------------------------------------

  private request(cell: Cell): RunRequest {
    let texts = this.ranSources.get(cell.id);
    if (!texts) this.ranSources.set(cell.id, (texts = new Map()));
    texts.set(cell.revision, cell.source);
    return { cell: cell.id, revision: cell.revision, code: cell.source };
  }

  runCells(cells: Cell[]): void {
    this.notebook.checkpoint();
    const code = cells.filter((c) => c.type === 'code' && c.source.trim());
    for (const cell of cells) if (cell.type !== 'code') this.view.render(cell);
    if (!code.length) return;
    if (this.shared) { this.shared = false; clear(this.banners); }
    // A recording's numbers belong to another run; from here on the page shows its own.
    for (const cell of code) this.setRun(cell.id, { state: 'waiting' });
    this.kernel.run(code.map((cell) => this.request(cell)));
  }

  runSelected(then: 'advance' | 'stay' | 'insert'): void {
    const cells = this.view.selected, last = cells.at(-1);
    if (!last) return;
    this.runCells(cells);
    const at = this.notebook.cells.indexOf(last);
    if (then === 'stay') { if (this.view.mode === 'command' || last.type !== 'code') this.view.select(last.id); return; }
    if (then === 'insert' || at === this.notebook.cells.length - 1) { this.insertAt(at + 1, 'code'); return; }
    this.view.select(this.notebook.cells[at + 1]!.id);
  }

  runAll(): void { this.runCells(this.notebook.cells); }

  runRange(which: 'above' | 'below'): void {
    const at = this.notebook.cells.indexOf(this.view.current!);
    this.runCells(which === 'above' ? this.notebook.cells.slice(0, at) : this.notebook.cells.slice(at));
  }

  stop(): void {
    const done = this.kernel.interrupt();
    if (done === 'restarted') say(this.kernel.isolated ? 'Python was restarted. The document is untouched.' : 'Without cross-origin isolation a cell can only be stopped by restarting Python. The document is untouched.');
  }

  restart(): void { this.banners.querySelector('.trouble')?.remove(); this.kernel.restart(); }

  /** A sentence about what only a fresh Python mends for good. */
  private trouble(words: string): void {
    const told = banner(words, [{ label: 'Restart Python', primary: true, act: () => this.restart() }], () => undefined);
    told.classList.add('trouble');
    told.setAttribute('role', 'alert');
    this.banners.replaceChildren(told);
  }

  private setRun(id: string, run: CellRun): void {
    this.runs.set(id, run);
    this.view.setRun(id, run);
  }

  private event(event: KernelEvent): void {
    const cell = event.cell ? this.notebook.cell(event.cell) : undefined;
    switch (event.kind) {
      case 'status':
        if (event.state === 'busy' && cell) {
          this.counts.set(++this.count, cell.id);
          out.beginRun(cell);
          this.setRun(cell.id, { state: 'running', began: performance.now(), revision: this.kernel.running?.revision });
          this.hints.delete(cell.id);
          this.drawHints(cell.id);
          this.view.mark(cell.id, []);
          this.notebook.outputsChanged(cell);
        }
        return;
      case 'stream': if (cell) { out.addStream(cell, event.name, event.text); this.notebook.outputsChanged(cell); } return;
      case 'display_data':
        if (event.update && event.display_id !== null) for (const c of out.updateDisplay(this.notebook, event.display_id, event.data, event.metadata)) this.notebook.outputsChanged(c);
        else if (cell) { out.addOutput(cell, { output_type: 'display_data', data: event.data, metadata: event.metadata, ...(event.display_id ? { transient: { display_id: event.display_id } } : {}) }); this.notebook.outputsChanged(cell); }
        return;
      case 'execute_result': if (cell) { cell.count = event.execution_count; out.addOutput(cell, { output_type: 'execute_result', execution_count: event.execution_count, data: event.data, metadata: event.metadata }); this.notebook.outputsChanged(cell); } return;
      case 'clear_output': if (cell) { out.clearOutput(cell, event.wait); this.notebook.outputsChanged(cell); } return;
      case 'device_lost':
        this.trouble(`The GPU was lost (${event.reason.replace(/[.\s]+$/, '')}). What lay in its memory is gone, the document is not; the next use opens the GPU again.`);
        return;
      case 'error':
        if (!cell) { say(event.evalue); return; }
        if (event.ename === 'OutOfMemory') this.trouble('The memory of the GPU is full. A fresh Python gives back all of it; the document is untouched.');
        if (event.ename === 'MemoryError') this.trouble('The memory of this page is full (WebAssembly ends at 4 GB). A fresh Python gives back all of it; the document is untouched.');
        out.addOutput(cell, { output_type: 'error', ename: event.ename, evalue: event.evalue, traceback: event.traceback });
        if (event.line) this.view.mark(cell.id, [{ line: event.line, kind: 'error' }]);
        this.notebook.outputsChanged(cell);
        return;
      case 'executed': {
        if (!cell) return;
        const run = this.runs.get(cell.id);
        if (event.status === 'aborted' || event.status === 'died') { if (run?.state === 'waiting' || run?.state === 'running') this.setRun(cell.id, { state: event.status }); }
        else { cell.count = event.execution_count || cell.count; this.setRun(cell.id, { state: event.status, seconds: event.seconds || (run?.began ? (performance.now() - run.began) / 1000 : undefined) }); }
        if (event.status === 'died' && this.kernel.reason) say(`Python ended: ${this.kernel.reason} The document is untouched.`, { label: 'Restart', act: () => this.restart() });
        this.notebook.outputsChanged(cell);
        if (this.tapeOf === cell.id) this.inspector.renamed();
        this.asked(null);
        if (event.status === 'ok' && this.tapes.has(cell.id)) this.kernel.askSteps(cell.id);
        return;
      }
      case 'tape':
        if (event.cell && event.tape instanceof TapeRecord) { this.tapes.set(event.cell, event.tape); this.tapeOf = event.cell; this.inspector.takeTape(event.tape.graph, event.live ? 'live' : ''); if (!event.live) this.costsLater(); }
        return;
      case 'captures':
        this.captured = { captures: event.captures ?? [], breaks: event.breaks ?? [], guards: event.guards ?? [] };
        this.inspector.takeCaptures(this.captured.captures, this.captured.breaks, this.captured.guards);
        return;
      case 'costs': if (event.cell) { this.costs.set(event.cell, event.costs); this.inspector.takeLaunched(event.costs?.kernels ?? []); this.costsLater(); } return;
      case 'hints': if (event.cell) { this.hints.set(event.cell, event.hints ?? []); this.drawHints(event.cell); } return;
      case 'recording': if (event.cell) { this.steps.set(event.cell, event.steps ?? []); if (event.cell === this.tapeOf) this.inspector.takeSteps(event.steps ?? []); } return;
      case 'device_info': this.deviceFacts = Array.isArray(event.info?.facts) ? event.info.facts : []; this.kernelChanged(); return;
      case 'variables': this.inspector.takeVariables(event.variables); return;
      case 'input_request': this.asked(event); return;
      case 'ready': this.counts.clear(); this.count = 0; this.kernelChanged(); this.kernel.askDevice(); return;
    }
  }

  /** A field for `input()` below the cell; null takes it away. */
  private asked(event: KernelEvent | null): void {
    this.asking?.remove();
    this.asking = null;
    const view = event?.cell ? this.view.view(event.cell) : undefined;
    if (!event || !view) return;
    const field = h('input', { type: event.password ? 'password' : 'text', 'aria-label': event.prompt || 'The cell asks for a line of text', autocomplete: 'off' });
    const reply = (text: string | null) => {
      this.asking?.remove();
      this.asking = null;
      const cell = this.notebook.cell(event.cell);
      if (cell && text !== null) { out.addStream(cell, 'stdout', `${event.prompt}${event.password ? '········' : text}\n`); this.notebook.outputsChanged(cell); }
      this.kernel.answer(text);
      this.view.select(event.cell);
    };
    field.addEventListener('keydown', (e) => { e.stopPropagation(); if (e.key === 'Enter') reply(field.value); else if (e.key === 'd' && e.ctrlKey) { e.preventDefault(); reply(null); } });
    this.asking = h('div', { class: 'asking' }, h('label', null, event.prompt, field), h('button', { type: 'button', onclick: () => reply(field.value) }, 'Answer'));
    view.outputArea.after(this.asking);
    field.focus();
  }

  // -- linking cells and records ----------------------------------------------------------------------------------------------------

  private nameCell(id: string): string | null {
    const at = this.notebook.index(id);
    return at < 0 ? null : `[${this.notebook.cells[at]!.count ?? `cell ${at + 1}`}]`;
  }

  private lineNow(source: Source): { cell: string; line: number } | null {
    const cell = source.cell ? this.notebook.cell(source.cell) : undefined;
    if (!cell) return null;
    const then = this.ranSources.get(cell.id)?.get(source.revision ?? 0);
    if (then === undefined || then === cell.source) return { cell: cell.id, line: source.line };
    const line = then.split('\n')[source.line - 1], now = cell.source.split('\n');
    let best = -1;
    now.forEach((text, i) => { if (text === line && (best < 0 || Math.abs(i + 1 - source.line) < Math.abs(best + 1 - source.line))) best = i; });
    return best < 0 ? null : { cell: cell.id, line: best + 1 };
  }

  private lit: string | null = null;

  private showSource(source: Source | null, jump: boolean): void {
    if (this.lit) { this.view.mark(this.lit, []); this.lit = null; }
    const at = source ? this.lineNow(source) : null;
    if (!source || !at) return;
    this.lit = at.cell;
    const single = source.line === source.endLine;
    this.view.mark(at.cell, Array.from({ length: Math.min(60, Math.max(1, source.endLine - source.line + 1)) }, (_, i) => ({ line: at.line + i, kind: 'linked' as const, ...(single ? { from: source.column, to: source.endColumn } : {}) })));
    const element = this.view.view(at.cell)?.element;
    if (jump) { this.view.goTo(at.cell, at.line); if (innerWidth < 900) this.togglePanel(false); }
    else if (element) {
      const box = element.getBoundingClientRect();
      if (box.bottom < 80 || box.top > innerHeight - 60) element.scrollIntoView({ block: 'center' });
    }
  }

  private showTape(cell: string | null): void {
    this.tapeOf = cell;
    const tape = cell ? this.tapes.get(cell) : null;
    this.inspector.takeSteps((cell && this.steps.get(cell)) || []);
    this.inspector.takeTape(tape?.graph ?? null, cell && this.runs.get(cell)?.state === 'recorded' ? 'recorded' : '');
    this.costsLater();
  }

  private selectionChanged(): void {
    const cell = this.view.current;
    if (cell && cell.id !== this.tapeOf && this.tapes.has(cell.id) && !this.kernel.running) this.showTape(cell.id);
  }

  private drawCosts(): void {
    const graph = this.inspector.tapeGraph, lineNow = (s: Source) => this.lineNow(s);
    const measured = this.tapeOf ? this.costs.get(this.tapeOf) : undefined;
    for (const cell of this.notebook.cells) {
      if (cell.type !== 'code') continue;
      const own = measured ?? this.costs.get(cell.id);
      const timed = own ? measuredCosts(own, cell.id, lineNow) : [];
      this.view.cost(cell.id, timed.length ? timed : lineCosts(graph, cell.id, lineNow));
    }
  }

  /** What a learner may want to hear about the run of a cell, below its outputs. */
  private drawHints(id: string): void {
    const view = this.view.view(id);
    if (!view) return;
    view.element.querySelector('.hints')?.remove();
    const hints = (this.hints.get(id) ?? []).filter((x) => x && typeof x.text === 'string').slice(0, 6);
    if (!hints.length || this.quietHints) return;
    const list = h('div', { class: 'hints', role: 'note', 'aria-label': 'Hints' }, ...hints.map((x) => h('p', null, h('strong', null, x.text), ' ', String(x.advice ?? ''), ' ',
      typeof x.line === 'number' && x.cell ? h('button', { type: 'button', class: 'place', onclick: () => this.view.goTo(String(x.cell), x.line) }, `${this.nameCell(String(x.cell)) ?? 'cell'} line ${x.line}`) : null)),
      iconButton('close', 'Hide these hints', () => list.remove()));
    view.outputArea.after(list);
  }

  private quietHints = localStorage.getItem('hints') === 'off';
  toggleHints(): void {
    this.quietHints = !this.quietHints;
    localStorage.setItem('hints', this.quietHints ? 'off' : 'on');
    for (const id of this.hints.keys()) this.drawHints(id);
    say(this.quietHints ? 'Hints are off.' : 'Hints are on.');
  }

  measure(): void {
    const on = !this.kernel.measuring;
    this.kernel.measure(on);
    say(on ? 'Every operator is timed now, and every kernel of a GPU. Cells with many small operators run slower.' : 'Only the first operators of a cell are timed.');
  }

  // -- keys --------------------------------------------------------------------------------------------------------------------------

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open], .menu')) return;
    const inEditor = target.closest('.cm-content') !== null, inCells = target.closest('.cells') !== null;
    const field = !inEditor && target.closest('input, textarea, select, [contenteditable=true]') !== null;
    const outside = !inCells && target !== document.body;
    const mode = inEditor ? 'edit' : 'command';
    const plain = !(event.ctrlKey || event.metaKey || event.altKey) && !/^F\d+$/.test(event.key);
    if ((field || outside) && plain) return; // typing in a field, or the panel's own keys
    if (!inEditor && inCells && (event.key === 'Enter' || event.key === ' ') && target.closest('button, a, summary') && !event.shiftKey && !event.ctrlKey) return;
    if (field && ['z', 'x', 'c', 'v', 'y', 'f'].includes(event.key.toLowerCase()) && event.key.toLowerCase() !== 'f') return;
    if (inEditor && event.key === 'Escape' && !document.querySelector('.cm-tooltip-autocomplete')) {
      event.preventDefault();
      event.stopPropagation();
      this.view.leave(0);
      return;
    }
    const action = this.keymap.find(mode, event);
    if (action === null) return;
    event.preventDefault();
    event.stopPropagation();
    if (action !== 'wait') action.act(this);
  }

  // -- cells --------------------------------------------------------------------------------------------------------------------------

  private get cellElement(): HTMLElement | null { const cell = this.view.current; return cell ? (this.view.view(cell.id)?.element ?? null) : null; }

  edit(): void { const cell = this.view.current; if (cell) this.view.edit(cell.id); }

  go(by: number, extend = false): void {
    const cell = this.view.current;
    const next = cell ? this.notebook.cells[this.notebook.cells.indexOf(cell) + by] : this.notebook.cells[0];
    if (next) this.view.select(next.id, { extend });
  }

  goEnd(by: number): void { const cell = by < 0 ? this.notebook.cells[0] : this.notebook.cells.at(-1); if (cell) this.view.select(cell.id); }

  insertAt(index: number, type: CellType): void {
    const cell = this.notebook.insert(index, makeCell(type));
    this.view.edit(cell.id);
  }

  insert(below: 0 | 1): void {
    const at = this.view.current ? this.notebook.cells.indexOf(this.view.current) + below : this.notebook.cells.length;
    const cell = this.notebook.insert(at, makeCell('code'));
    this.view.select(cell.id);
  }

  deleteSelected(): void {
    const cells = this.view.selected;
    this.notebook.together(() => {
      for (const cell of cells) this.notebook.delete(cell);
      if (!this.notebook.cells.length) this.notebook.insert(0, makeCell('code'));
    });
    const first = this.view.current ?? this.notebook.cells[0];
    if (first) this.view.select(first.id);
    if (cells.some((c) => c.source.trim())) say(cells.length === 1 ? 'Cell deleted.' : `${cells.length} cells deleted.`, { label: 'Undo', act: () => this.undo() });
  }

  undo(): void { this.again(() => this.notebook.undo(), 'There is nothing to undo.'); }
  redo(): void { this.again(() => this.notebook.redo(), 'There is nothing to do again.'); }

  private again(step: () => boolean, none: string): void {
    const before = new Set(this.notebook.cells);
    if (!step()) say(none);
    const back = this.notebook.cells.find((c) => !before.has(c));
    if (back) this.view.select(back.id, { focus: this.view.mode === 'command' }); else this.refocus();
  }

  private refocus(): void { const cell = this.view.current ?? this.notebook.cells[0]; if (cell && this.view.mode === 'command') this.view.select(cell.id); }

  copy(): void {
    this.clipboard = this.view.selected.map((c) => structuredClone(c));
    void navigator.clipboard?.writeText(this.clipboard.map((c) => c.source).join('\n\n')).catch(() => undefined);
  }

  paste(below: 0 | 1): void {
    const at = this.view.current ? this.notebook.cells.indexOf(this.view.current) + below : 0;
    const copies = this.clipboard.map((c) => ({ ...structuredClone(c), id: newId(), revision: 0 }));
    this.notebook.together(() => copies.forEach((cell, i) => this.notebook.insert(at + i, cell)));
    const last = copies.at(-1);
    if (last) this.view.select(last.id);
  }

  moveSelected(by: -1 | 1): void {
    const cells = this.view.selected, first = this.notebook.cells.indexOf(cells[0]!), last = first + cells.length - 1;
    if (by < 0 ? first === 0 : last === this.notebook.cells.length - 1) return;
    this.notebook.together(() => { if (by < 0) this.notebook.move(this.notebook.cells[first - 1]!, last); else this.notebook.move(this.notebook.cells[last + 1]!, first); });
    const cell = this.view.current;
    if (cell) this.view.view(cell.id)?.element.focus();
  }

  merge(): void {
    let cells = this.view.selected;
    if (cells.length === 1) cells = this.notebook.cells.slice(this.notebook.cells.indexOf(cells[0]!), this.notebook.cells.indexOf(cells[0]!) + 2);
    this.notebook.merge(cells);
    if (cells[0]) this.view.select(cells[0].id);
  }

  split(): void {
    const cell = this.view.current, editor = cell ? this.view.view(cell.id)?.editor : null;
    if (!cell || !editor) return;
    const below = this.notebook.split(cell, editor.cursor);
    this.view.edit(below.id, 'start');
  }

  setType(type: CellType): void {
    const cells = this.view.selected;
    this.notebook.together(() => { for (const cell of cells) this.notebook.setType(cell, type); });
    this.refocus();
  }

  private cellMenu(cell: Cell, at: HTMLElement): void {
    const item = (name: string): MenuItem => { const a = ACTIONS.find((x) => x.name === name)!; return { label: a.label, keys: keysOf(a), act: () => { this.view.select(cell.id); a.act(this); } }; };
    menu(at, [item('run'), item('run_above'), item('run_below'), null, item('insert_above'), item('insert_below'), item('move_up'), item('move_down'), item('merge'), null,
      ...(cell.type === 'code' ? [item('to_markdown'), item('toggle_output'), item('clear_output')] : [item('to_code')]), null, item('cut'), item('copy'), item('paste'), { ...item('delete'), danger: true }], 'Cell');
  }

  // -- writing and looking ----------------------------------------------------------------------------------------------------------------

  documentation(): void {
    const cell = this.view.current, editor = cell ? this.view.view(cell.id)?.editor : null;
    if (!cell || !editor) return;
    const asked = this.kernel.inspect(editor.text, editor.cursor);
    if (!asked) { say('Python is busy; ask again when the cell is done.'); return; }
    void asked.then(({ text }) => {
      if (!text) { say('Nothing is known of this name.'); return; }
      dialog('Documentation', () => [h('pre', { class: 'text docs', tabindex: 0 }, String(text))], true).addEventListener('close', () => editor.focus());
    });
  }

  find(): void { this.find_.open(window.getSelection()?.toString() ?? ''); }
  toggleNumbers(): void { this.view.setNumbered(!this.view.numbered); }
  toggleOutput(): void { for (const cell of this.view.selected) this.view.toggleOutput(cell); }

  clearOutputs(all: boolean): void {
    for (const cell of all ? this.notebook.cells : this.view.selected) { out.beginRun(cell); this.setRun(cell.id, { state: 'aborted' }); this.notebook.outputsChanged(cell); }
    this.dirty = true;
    this.saveLater();
  }

  togglePanel(on?: boolean): void {
    const shown = on ?? this.root.classList.contains('no-panel');
    this.root.classList.toggle('no-panel', !shown);
    this.root.querySelector('.panel-button')?.setAttribute('aria-pressed', String(shown));
  }

  showTab(tab: Tab): void { this.togglePanel(true); this.inspector.show(tab); this.inspector.focus(); }

  private theme: Theme = ((): Theme => { const kept = localStorage.getItem('theme'); return kept === 'light' || kept === 'dark' ? kept : 'system'; })();
  private applyTheme(): void { if (this.theme === 'system') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = this.theme; }
  nextTheme(): void {
    this.theme = ({ system: 'light', light: 'dark', dark: 'system' } as const)[this.theme];
    localStorage.setItem('theme', this.theme);
    this.applyTheme();
    say(this.theme === 'system' ? 'The theme follows the system.' : `The ${this.theme} theme is on.`);
    this.inspector.show(this.inspector.tab);
  }

  palette(): void { palette(ACTIONS.filter((a) => a.name !== 'palette').map((a) => ({ label: a.label, detail: a.group, keys: keysOf(a), act: () => a.act(this) }))); }

  /** The documentation, in a tab of its own. */
  manual(): void {
    if (this.site.docs) window.open(new URL('docs/index.html', this.base), '_blank', 'noopener');
    else say('The documentation is not part of this site.');
  }

  help(): void {
    const groups = [...new Set(ACTIONS.map((a) => a.group))];
    dialog('Keys and help', () => [
      h('p', null, 'Enter writes in a cell, Escape goes back to the cells. Letters are commands only while a cell is selected, not while you write in one.', ...(this.site.docs ? [' More in the ', h('a', { href: new URL('docs/index.html', this.base).href, target: '_blank', rel: 'noopener' }, 'documentation'), '.'] : [])),
      h('div', { class: 'help-columns' }, ...groups.map((g) => h('section', null, h('h3', null, g), h('dl', { class: 'keys-list' }, ...ACTIONS.filter((a) => a.group === g && keysOf(a)).flatMap((a) => [h('dt', null, h('kbd', { class: 'keys' }, keysOf(a))), h('dd', null, a.label)])))),
      )], true);
  }

  private mainMenu(at: HTMLElement): void {
    const item = (name: string): MenuItem => { const a = ACTIONS.find((x) => x.name === name)!; return { label: a.label, keys: keysOf(a), act: () => a.act(this) }; };
    menu(at, [item('documents'), item('new'), item('open'), item('import'), null, item('save_ipynb'), item('save_py'), item('export_html'), item('share'), null, item('files'), item('revisions'),
      ...(this.example ? [item('reset')] : []), null, item('find'), item('theme'), item('panel'), item('palette'), item('help'), ...(this.site.docs ? [item('manual')] : []), null, { ...item('erase'), danger: true }], 'Menu', this.cellElement);
  }

  private kernelMenu(): void {
    const item = (name: string, label?: string): MenuItem => { const a = ACTIONS.find((x) => x.name === name)!; return { label: label ?? a.label, keys: keysOf(a), act: () => a.act(this) }; };
    const { kernel } = this;
    menu(this.status, [
      kernel.state === 'off' || kernel.state === 'dead' ? { label: 'Start Python', act: () => kernel.start() } : item('restart'), item('restart_run_all'), item('interrupt'), null,
      ...([['auto', 'Compute on the GPU, if it is a real one'], ['webgpu', 'Compute on WebGPU, whatever it is'], ['cpu', 'Compute on the CPU']] as const).map(([device, label]) => ({ label, checked: kernel.device === device, act: () => { kernel.device = device; if (kernel.state !== 'off') kernel.restart(); } })), null,
      { label: 'Time every operator and kernel', checked: kernel.measuring, act: () => this.measure() },
      { label: 'Show the device', act: () => this.showTab('device') }], 'Kernel', this.cellElement);
  }

  // -- documents -----------------------------------------------------------------------------------------------------------------------------

  async documents(): Promise<void> {
    const mine = ((await this.store?.list()) ?? []).filter((d) => d.notebook);
    dialog('Documents', (close) => {
      const entry = (title: string, detail: string, act: () => void, remove?: () => Promise<void>) => {
        const row = h('div', { class: 'doc-row' }, h('button', { type: 'button', class: 'doc', onclick: () => { close(); act(); } }, h('strong', null, title), h('span', { class: 'quiet' }, detail)));
        if (remove) row.append(iconButton('trash', `Delete ${title}`, () => void confirm('Delete the document?', `“${title}” and its earlier revisions will be gone from this browser.`, 'Delete').then(async (yes) => { if (yes) { await remove(); row.remove(); } })));
        return row;
      };
      return [
        h('div', { class: 'buttons left' }, h('button', { type: 'button', class: 'primary', onclick: () => { close(); void this.newDocument(); } }, 'New document'), h('button', { type: 'button', onclick: () => { close(); this.openFile(); } }, 'Open a file…')),
        h('h3', null, 'Examples'),
        h('div', { class: 'docs-list' }, ...this.site.examples.map((e) => entry(e.title, e.summary, () => { history.replaceState(null, '', location.pathname + location.search); void this.openExample(e.id); }))),
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
    this.show(new Notebook([makeCell('code')]), 'Untitled');
    this.view.edit(this.notebook.cells[0]!.id);
  }

  openFile(): void {
    const input = h('input', { type: 'file', accept: '.ipynb,.py,.json' });
    input.addEventListener('change', () => { const file = input.files?.[0]; if (file) void file.text().then((text) => this.openText(file.name, text)); });
    input.click();
  }

  private openText(name: string, text: string): void {
    try {
      const { notebook, recording } = readFile(name, text);
      history.replaceState(null, '', location.pathname + location.search);
      this.show(notebook, recording?.title?.slice(0, 200) ?? titleOf(notebook) ?? name.replace(/\.[^.]+$/, ''), { recording });
      for (const cell of notebook.cells) if (cell.outputs.length && !this.runs.has(cell.id)) this.setRun(cell.id, { state: 'recorded' });
      this.changed();
    } catch (error) {
      say((error as Error).message);
    }
  }

  importPasted(): void {
    dialog('Import a notebook', (close) => {
      const area = h('textarea', { rows: '12', 'aria-label': 'The text of an .ipynb or .py file', placeholder: 'Paste the text of an .ipynb or .py file', spellcheck: 'false' });
      setTimeout(() => area.focus());
      return [area, h('div', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', onclick: () => { close(); this.openText(area.value.trimStart().startsWith('{') ? 'The pasted text' : 'pasted.py', area.value); } }, 'Import'))];
    }, true);
  }

  private fileName(): string { return this.title.replace(/[^\p{L}\p{N}._ -]+/gu, '').trim().replace(/\s+/g, '_').slice(0, 60) || 'notebook'; }

  download(format: 'ipynb' | 'py'): void {
    if (format === 'py') download(`${this.fileName()}.py`, writePercent(this.notebook), 'text/x-python');
    else download(`${this.fileName()}.ipynb`, `${JSON.stringify(writeIpynb(this.notebook), null, 1)}\n`, 'application/x-ipynb+json');
  }

  /** What is on the page as a recording. */
  private record(): Recording {
    const runs = Object.fromEntries([...this.runs].map(([id, r]) => [id, { status: r.state === 'recorded' ? 'ok' : r.state, seconds: r.seconds, line: r.line ?? null }]));
    return {
      format: 'tapescope-recording', version: 1, title: this.title, notebook: writeIpynb(this.notebook), runs, tapes: Object.fromEntries([...this.tapes].map(([cell, tape]) => [cell, tape.json])), costs: Object.fromEntries(this.costs), hints: Object.fromEntries(this.hints), steps: Object.fromEntries(this.steps), ...this.captured,
      variables: [], kernel: { ...this.recording?.kernel, ...this.kernel.facts },
    };
  }

  async exportCapsule(): Promise<void> {
    try {
      const [template, script, style] = await Promise.all(['capsule.html', 'capsule.js', 'capsule.css'].map(async (f) => { const a = await fetch(new URL(f, this.base)); if (!a.ok) throw new Error(`${f}: ${a.status}`); return a.text(); }));
      const { capsule } = await import('./capsule_text');
      download(`${this.fileName()}.html`, await capsule(template!, script!, style!, this.record(), new URL('.', location.href).href), 'text/html');
    } catch (error) {
      say(`The replay could not be made (${(error as Error).message}).`);
    }
  }

  async share(): Promise<void> {
    const value = (outputs: boolean) => ({ ...(writeIpynb(this.notebook, outputs) as object), title: this.title });
    let hash = await pack(value(true)), outputs = true;
    if (hash.length > LIMIT) { hash = await pack(value(false)); outputs = false; }
    const link = `${location.origin}${location.pathname}${hash}`;
    if (hash.length > LIMIT) {
      dialog('Share by file', (close) => [
        h('p', null, `This document is too large for a link (${bytesText(hash.length)} compressed; links stay below ${bytesText(LIMIT)}). Share it as a file:`),
        h('div', { class: 'buttons left' }, h('button', { type: 'button', class: 'primary', onclick: () => { close(); this.download('ipynb'); } }, 'Download .ipynb'), h('button', { type: 'button', onclick: () => { close(); void this.exportCapsule(); } }, 'Download as a replay (.html)'))]);
      return;
    }
    dialog('Share by link', (close) => {
      const field = h('input', { type: 'text', readonly: true, value: link, 'aria-label': 'The link' });
      const copy = h('button', { type: 'button', class: 'primary', onclick: () => { field.select(); void navigator.clipboard?.writeText(link).then(() => { close(); say('The link is on the clipboard.'); }, () => document.execCommand('copy')); } }, 'Copy');
      setTimeout(() => { field.focus(); field.select(); });
      return [h('p', null, `The whole document${outputs ? ' with its outputs' : ' (its outputs are too large and stay behind)'} is in the link itself; no server gets it. Who opens it sees a recording, and runs it only by pressing Run.`), h('div', { class: 'share-row' }, field, copy)];
    });
  }

  // -- files of the kernel ------------------------------------------------------------------------------------------------------------------------

  private acceptFiles(): void {
    const over = (event: DragEvent) => { if (event.dataTransfer?.types.includes('Files')) { event.preventDefault(); this.root.classList.add('dropping'); } };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', (event) => { if (!event.relatedTarget) this.root.classList.remove('dropping'); });
    window.addEventListener('drop', (event) => {
      this.root.classList.remove('dropping');
      const files = [...(event.dataTransfer?.files ?? [])];
      if (!files.length) return;
      event.preventDefault();
      for (const file of files) void this.takeFile(file);
    });
    document.addEventListener('paste', (event) => {
      const target = event.target as HTMLElement;
      if (target.closest('input, textarea, .cm-content')) return;
      const text = event.clipboardData?.getData('text/plain') ?? '';
      if (/^\s*\{[\s\S]*"cells"\s*:/.test(text)) { event.preventDefault(); this.openText('The pasted text', text); }
    });
  }

  private async takeFile(file: File): Promise<void> {
    const recorded = /\.json$/i.test(file.name) && (await file.slice(0, 400_000).text()).includes('"tapescope-recording"');
    if ((recorded || /\.(ipynb|py)$/i.test(file.name)) && file.size < 50_000_000) { this.openText(file.name, await file.text()); return; }
    try {
      await this.kernel.file('write', file.name.replace(/[/\\]/g, '_'), new Uint8Array(await file.arrayBuffer()));
      say(`${file.name} is in the notebook's folder: open(${JSON.stringify(file.name)}) reads it.`);
    } catch (error) { say((error as Error).message); }
  }

  async files(): Promise<void> {
    if (this.kernel.state === 'off') this.kernel.start();
    dialog('Files', () => {
      const list = h('div', { class: 'docs-list' }, h('p', { class: 'quiet' }, this.kernel.running ? 'The folder can be seen when the running cell is done.' : 'Reading the folder…'));
      const draw = (entries: FileEntry[]) => {
        const files = entries.filter((e) => !e.folder);
        list.replaceChildren(...files.map((e) => h('div', { class: 'doc-row' }, h('span', { class: 'doc' }, h('strong', null, e.path), h('span', { class: 'quiet' }, bytesText(e.bytes))),
          iconButton('download', `Download ${e.path}`, () => void this.kernel.file('read', e.path).then((r) => download(e.path.split('/').at(-1)!, r.data!, 'application/octet-stream'), (x: Error) => say(x.message))),
          iconButton('trash', `Delete ${e.path}`, () => void this.kernel.file('remove', e.path).then((r) => draw(r.list ?? []), (x: Error) => say(x.message))))));
        if (!files.length) list.replaceChildren(h('p', { class: 'quiet' }, 'The folder is empty. Files that cells write appear here.'));
      };
      void this.kernel.file('list').then((r) => draw(r.list ?? []), (x: Error) => say(x.message));
      const input = h('input', { type: 'file', multiple: true, hidden: true });
      input.addEventListener('change', () => void Promise.all([...(input.files ?? [])].map(async (f) => this.kernel.file('write', f.name, new Uint8Array(await f.arrayBuffer())))).then(() => this.kernel.file('list')).then((r) => draw(r.list ?? []), (x: Error) => say(x.message)));
      return [h('p', null, 'The folder that cells see. It lives in memory and is gone with the page; files you add are given to Python again when it restarts.'), list, h('div', { class: 'buttons' }, input, h('button', { type: 'button', class: 'primary', onclick: () => input.click() }, 'Add files…'))];
    }, true);
  }

  async revisions(): Promise<void> {
    const ring = (await this.store?.revisions(this.id)) ?? [];
    dialog('Earlier revisions', (close) => ring.length
      ? [h('p', null, 'What this document was before; opening one replaces the text of now, which becomes a revision itself.'), h('div', { class: 'docs-list' }, ...ring.map((r) => h('div', { class: 'doc-row' }, h('button', {
        type: 'button', class: 'doc', onclick: () => { close(); const { id, example } = this; this.show(readIpynb(r.notebook), r.title, { id, example }); this.changed(); },
      }, h('strong', null, new Date(r.time).toLocaleString()), h('span', { class: 'quiet' }, `${r.notebook.cells.length} cells`)))))]
      : [h('p', null, 'There are none yet. Each minute of changes leaves one, twenty at most.')], true);
  }

  async resetExample(): Promise<void> {
    const { example } = this;
    if (!example) { say('This document was not shipped with the page.'); return; }
    if (!(await confirm('Reset to the shipped version?', 'Your changes to this example become an earlier revision.', 'Reset'))) return;
    const shipped = this.site.examples.find((e) => e.id === example)!;
    const recording = (await (await fetch(new URL(shipped.recording, this.base))).json()) as Recording;
    this.show(readIpynb(structuredClone(recording.notebook)), shipped.title, { recording, id: EXAMPLE + example, example });
    this.dirty = true;
    await this.save();
  }

  async erase(): Promise<void> {
    if (!(await confirm('Erase my data?', 'All documents, revisions and settings that this page keeps in this browser will be gone.', 'Erase'))) return;
    this.dirty = false;
    this.kernel.shutdown();
    await this.store?.erase();
    this.store = null;
    history.replaceState(null, '', location.pathname);
    location.reload();
  }
}

/** `?device=cpu` or `?device=webgpu` in the address; otherwise WebGPU where it is more than software. */
function wantedDevice(): 'auto' | 'cpu' | 'webgpu' {
  const asked = new URLSearchParams(location.search).get('device');
  return asked === 'cpu' || asked === 'webgpu' ? asked : 'auto';
}
