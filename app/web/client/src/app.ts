// The page: puts document, cells, kernel, panel and store together, and has one method for each action of the table.
import { ACTIONS, KeyMap, keysOf } from './actions';
import { logo } from './app_logo';
import { CellCommands } from './cell_commands';
import { banner, dialog, menu, type MenuItem, say } from './dialogs';
import { append, clear, h, icon, iconButton, remember, remembered } from './dom';
import { type Cell, type Json, makeCell, newId, Notebook } from './document';
import { Documents } from './documents';
import { FindBar } from './find';
import type { Recording } from './formats';
import { Help } from './help';
import { Inspector, type Tab } from './inspector';
import type { KernelConnection, KernelEvent, RunRequest } from './connection';
import { Kernel } from './kernel';
import { KernelFiles } from './kernel_files';
import { Links } from './links';
import { offerMark } from './mark_dynamic';
import { NativeHost } from './native_host';
import { type CellRun, NotebookView } from './notebook_view';
import * as out from './outputs';
import { TapeRecord } from './records';
import { Sharing } from './sharing';
import type { Site } from './shared';
import { Store } from './store';

type Theme = 'system' | 'light' | 'dark';

export class App {
  notebook = new Notebook([makeCell('code')]);
  title = 'Untitled';
  view: NotebookView;
  inspector: Inspector;
  kernel!: KernelConnection;
  host: NativeHost | null = null; // where the kernel is behind `tapescope serve`
  runs = new Map<string, CellRun>();
  deviceFacts: [string, string][] = [];
  counts = new Map<number, string>();
  count = 0; // how many cells this Python has run
  readonly cells = new CellCommands(this);
  readonly documents = new Documents(this);
  readonly sharing = new Sharing(this);
  readonly files = new KernelFiles(this);
  readonly links = new Links(this);
  readonly guide = new Help(this);
  keymap = new KeyMap();
  find_: FindBar;

  titleInput = h('input', { class: 'title', type: 'text', 'aria-label': 'Title of the document', spellcheck: 'false', maxlength: '200' });
  saved = h('span', { class: 'quiet saved', 'aria-live': 'polite' });
  status = h('button', { type: 'button', class: 'status', 'aria-haspopup': 'menu' });
  runAllButton = h('button', { type: 'button', class: 'primary run-all' }, icon('playAll'), h('span', null, 'Run all'));
  stopButton = h('button', { type: 'button', class: 'stop', hidden: true }, icon('stop'), h('span', null, 'Stop'));
  banners = h('div', { class: 'banners' });
  main = h('main', { id: 'main' });
  asking: HTMLElement | null = null;

  constructor(readonly root: HTMLElement, readonly site: Site, readonly base: string) {
    this.view = new NotebookView({
      run: (cell) => this.runCells([cell]), stop: () => this.stop(), readonly: false,
      complete: (code, cursor) => this.kernel.complete(code, cursor),
      selected: () => this.links.selectionChanged(),
      cursor: (cell, line) => this.inspector.markLine(cell.id, line),
      insert: (index, type) => this.cells.insertAt(index, type),
      move: (cell, to) => this.notebook.move(cell, to),
      menu: (cell, at) => this.cells.cellMenu(cell, at),
      outputs: { nameCell: (id) => this.links.nameCell(id), cellOfCount: (count) => this.counts.get(count) ?? null, goTo: (id, line) => this.view.goTo(id, line) },
    });
    this.inspector = new Inspector({ nameCell: (id) => this.links.nameCell(id), lineNow: (source) => this.links.lineNow(source), show: (source, jump) => this.links.showSource(source, jump), mark: (recompile) => void offerMark(this, recompile) }, { lay: (graph, folded) => this.kernel.records.lay(graph, folded) }, () => this.togglePanel(false));
    this.find_ = new FindBar(() => this.notebook, ({ cell, from, to }) => {
      if (cell.type !== 'code') this.view.edit(cell.id);
      this.view.goTo(cell.id, 1, true);
      this.view.view(cell.id)?.open()?.select(from, to);
    }, () => { const cell = this.view.current; if (cell) this.view.select(cell.id); });
    this.build();
    document.addEventListener('keydown', (event) => this.key(event), true);
    window.addEventListener('hashchange', () => void this.documents.openAddress());
    window.addEventListener('pagehide', () => this.documents.leave());
    document.addEventListener('visibilitychange', () => { if (document.visibilityState === 'hidden') { this.documents.saveLater.flush(); } });
    window.addEventListener('beforeunload', (event) => { if ((this.documents.dirty && (!this.documents.store || this.documents.failed)) || this.host?.alone) event.preventDefault(); });
    this.files.accept();
  }

  // -- the frame of the page ---------------------------------------------------------------------------------------------

  build(): void {
    const { root } = this;
    this.runAllButton.addEventListener('click', () => { this.runAll(); this.cellElement?.focus(); });
    this.stopButton.addEventListener('click', () => { this.stop(); this.cellElement?.focus(); });
    this.status.addEventListener('click', () => this.kernelMenu());
    this.titleInput.addEventListener('change', () => { this.title = this.titleInput.value.trim() || 'Untitled'; this.documents.changed(); this.showTitle(); });
    this.titleInput.addEventListener('input', () => { this.title = this.titleInput.value.trim() || 'Untitled'; this.documents.changed(); });
    this.titleInput.addEventListener('keydown', (event) => { if (event.key === 'Enter' || event.key === 'Escape') { event.preventDefault(); this.view.current && this.view.select(this.view.current.id); } });
    const more = iconButton('menu', 'Menu', () => this.guide.mainMenu(more), { 'aria-haspopup': 'menu' });
    const header = h('header', { class: 'top' },
      h('a', { class: 'skip', href: '#main', onclick: (event: Event) => { event.preventDefault(); const c = this.view.current; if (c) this.view.select(c.id); } }, 'To the cells'),
      h('button', { type: 'button', class: 'brand', 'aria-label': 'Tapescope: documents and examples', title: 'Documents and examples', onclick: () => void this.documents.list() }, logo(), h('span', null, 'Tapescope')),
      h('div', { class: 'title-box' }, this.titleInput, this.saved),
      this.status, this.runAllButton, this.stopButton,
      iconButton('link', 'Share by link', () => void this.sharing.share(), { class: 'icon-button wide-only' }),
      iconButton('panel', 'Show or hide the panel', () => this.togglePanel(), { class: 'icon-button panel-button' }),
      more);
    const foot = h('div', { class: 'add-row' },
      h('button', { type: 'button', onclick: () => this.cells.insertAt(this.notebook.cells.length, 'code') }, icon('plus'), 'Code'),
      h('button', { type: 'button', onclick: () => this.cells.insertAt(this.notebook.cells.length, 'markdown') }, icon('plus'), 'Text'));
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

  showTitle(): void {
    this.titleInput.value = this.title;
    document.title = `${this.title} · Tapescope`;
  }

  kernelChanged(): void {
    const { kernel } = this;
    const busy = kernel.running !== null || kernel.waiting.length > 0;
    const words: Record<string, string> = {
      off: 'Python not started', loading: `Loading ${kernel.progress.step}`, idle: kernel.native ? `Native Python ${kernel.facts.python ?? ''} · ${kernel.facts.device ?? 'cpu'}` : `Ready · ${kernel.facts.device ?? 'cpu'}`,
      busy: kernel.stopping ? 'Stopping' : kernel.waiting.length ? `Running, ${kernel.waiting.length} waiting` : 'Running', dead: 'Python has ended',
    };
    if (kernel.away) words[kernel.state] = 'No connection';
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
      state: words[kernel.state]!, device: kernel.facts.device ?? '', python: kernel.facts.python ?? '', torch: kernel.facts.torch ?? '', isolated: kernel.isolated, native: kernel.native,
      webgpu: 'gpu' in navigator ? (kernel.facts.device?.startsWith('webgpu') ? 'in use' : kernel.state === 'idle' || kernel.state === 'busy' ? (kernel.devices.some((d) => d.device === 'cpu' && d.chosen) ? 'switched off; the CPU computes' : 'no adapter that is faster than the CPU; the CPU computes') : 'offered by this browser') : 'not in this browser; the CPU computes, by numpy', reason: kernel.reason,
    });
  }

  // -- opening ---------------------------------------------------------------------------------------------------------------

  /** Open what the address or the last visit says, paint it, and let Python start behind it. */
  async start(): Promise<void> {
    if (this.site.native) this.host = this.makeHost(this.site.native.socket);
    this.kernel = this.host?.kernel ?? new Kernel(this.site, this.base, { event: (e) => this.event(e), changed: () => this.kernelChanged() }, wantedDevice());
    this.kernelChanged();
    this.documents.store = await Store.open();
    await this.documents.store?.takeLeft().catch(() => undefined); // it stays for the next visit
    if (!this.documents.store) say('This browser keeps no documents for pages (a private window, perhaps). Download what you want to keep.');
    if (this.host) {
      this.host.connect();
      if (/^#\w/.test(location.hash)) say('Links with documents open in the playground, not beside a kernel that has your files. Save the document to a file and open that.');
      if (!(await this.host.ready)) await this.documents.openFirst();
      return;
    }
    if (!(await this.documents.openAddress())) await this.documents.openFirst();
    const connection = (navigator as { connection?: { saveData?: boolean } }).connection;
    if (!connection?.saveData) setTimeout(() => { if (this.kernel.state === 'off') this.kernel.start(); }, 300);
  }

  private makeHost(socket: string): NativeHost {
    const app = this, { documents } = this;
    return new NativeHost(new URL(socket, this.base.replace(/^http/, 'ws')).href, {
      get notebook() { return app.notebook; },
      facts: () => ({ id: documents.id, title: app.title, example: documents.example }),
      showHosted: (notebook, facts, file) => {
        app.showDocument(notebook, file ? file.name : String(facts.title ?? 'Untitled'), { id: file ? `file:${file.path}` : String(facts.id ?? newId()), example: facts.example ?? null });
        for (const cell of notebook.cells) if (cell.outputs.length) app.setRun(cell.id, { state: 'recorded' });
      },
      setRun: (id, run) => app.setRun(id, run),
      ran: (cells) => { app.counts = new Map(cells.map((cell, i) => [i + 1, cell])); app.count = cells.length; },
      event: (event) => app.event(event), kernelChanged: () => app.kernelChanged(),
      showSaved: (words) => { app.saved.textContent = words; app.titleInput.readOnly = app.host?.file != null; if (app.host?.file) { app.title = app.host.file.name; app.showTitle(); } },
    }, this.banners);
  }

  show(notebook: Notebook, title: string, { recording = null, id = newId(), example = null }: { recording?: Recording | null; id?: string; example?: string | null } = {}): void {
    this.documents.saveLater.flush();
    if (this.host?.file) { this.titleInput.readOnly = false; void this.host.leave().catch((error: Error) => say(error.message)); } // which begins a fresh Python
    else if (this.kernel.running || this.kernel.waiting.length || this.runs.size) { if (this.kernel.state !== 'off' && [...this.runs.values()].some((r) => r.state !== 'recorded')) this.kernel.restart(); }
    this.showDocument(notebook, title, { recording, id, example });
  }

  /** The page with another document; what runs is not touched. */
  private showDocument(notebook: Notebook, title: string, { recording = null, id = newId(), example = null }: { recording?: Recording | null; id?: string; example?: string | null } = {}): void {
    Object.assign(this, { notebook, title });
    Object.assign(this.documents, { id, example, recording, shared: false, dirty: false, failed: false });
    clear(this.banners);
    this.runs.clear();
    this.links.tapes.clear();
    this.links.captured = { captures: [], breaks: [], guards: [] };
    this.links.costs.clear();
    this.links.hints.clear();
    this.links.steps.clear();
    this.links.ranSources.clear();
    this.links.tapeOf = null;
    this.saved.textContent = '';
    if (recording) {
      for (const [cell, run] of Object.entries(recording.runs)) this.runs.set(cell, { state: 'recorded', seconds: typeof run.seconds === 'number' ? run.seconds : undefined, line: run.line });
      for (const [cell, tape] of Object.entries(recording.tapes)) this.links.tapes.set(cell, TapeRecord.ofRecording(tape));
      for (const [cell, costs] of Object.entries(recording.costs ?? {})) this.links.costs.set(cell, costs);
      for (const [cell, hints] of Object.entries(recording.hints ?? {})) if (Array.isArray(hints)) this.links.hints.set(cell, hints);
      for (const [cell, steps] of Object.entries(recording.steps ?? {})) if (Array.isArray(steps)) this.links.steps.set(cell, steps);
      const list = (value: Json): Json[] => (Array.isArray(value) ? value : []);
      this.links.captured = { captures: list(recording.captures), breaks: list(recording.breaks), guards: list(recording.guards) };
      for (const cell of notebook.cells) this.links.ranSources.set(cell.id, new Map([[0, cell.source]]));
    }
    notebook.subscribe((change) => { if (change.kind !== 'outputs') this.documents.changed(); else { this.documents.dirty = true; this.documents.saveLater(); } });
    this.view.show(notebook, this.runs);
    this.showTitle();
    this.inspector.takeVariables(recording?.variables ?? []);
    this.links.showTape([...this.links.tapes.keys()].at(-1) ?? null);
    this.inspector.takeCaptures(this.links.captured.captures, this.links.captured.breaks, this.links.captured.guards);
    this.inspector.takeLaunched([]);
    for (const cell of this.links.hints.keys()) this.links.drawHints(cell);
    this.main.parentElement!.scrollTop = 0;
  }

  // -- keeping ---------------------------------------------------------------------------------------------------------------
  // -- running ---------------------------------------------------------------------------------------------------------------

  request(cell: Cell): RunRequest {
    let texts = this.links.ranSources.get(cell.id);
    if (!texts) this.links.ranSources.set(cell.id, (texts = new Map()));
    texts.set(cell.revision, cell.source);
    return { cell: cell.id, revision: cell.revision, code: cell.source };
  }

  runCells(cells: Cell[]): void {
    this.notebook.checkpoint();
    const code = cells.filter((c) => c.type === 'code' && c.source.trim());
    for (const cell of cells) if (cell.type !== 'code') this.view.render(cell);
    if (!code.length) return;
    if (this.documents.shared) { this.documents.shared = false; clear(this.banners); }
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
    if (then === 'insert' || at === this.notebook.cells.length - 1) { this.cells.insertAt(at + 1, 'code'); return; }
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
  trouble(words: string): void {
    const told = banner(words, [{ label: 'Restart Python', primary: true, act: () => this.restart() }], () => undefined);
    told.classList.add('trouble');
    told.setAttribute('role', 'alert');
    this.banners.replaceChildren(told);
  }

  setRun(id: string, run: CellRun): void {
    this.runs.set(id, run);
    this.view.setRun(id, run);
  }

  event(event: KernelEvent): void {
    const cell = event.cell ? this.notebook.cell(event.cell) : undefined;
    switch (event.kind) {
      case 'status':
        if (event.state === 'busy' && cell) {
          this.counts.set(++this.count, cell.id);
          out.beginRun(cell);
          this.setRun(cell.id, { state: 'running', began: performance.now(), revision: this.kernel.running?.revision });
          this.links.hints.delete(cell.id);
          this.links.drawHints(cell.id);
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
        // A single tensor that no buffer can hold is no full memory; its own message says what to do.
        if (event.ename === 'OutOfMemory' && !/larger than the largest buffer/.test(event.evalue)) this.trouble('The memory of the GPU is full. A fresh Python gives back all of it; the document is untouched.');
        if (event.ename === 'MemoryError') this.trouble(`The memory ${this.kernel.native ? 'of the kernel' : 'of this page'} is full${this.kernel.native ? '' : ' (WebAssembly ends at 4 GB)'}. A fresh Python gives back all of it; the document is untouched.`);
        out.addOutput(cell, { output_type: 'error', ename: event.ename, evalue: event.evalue, traceback: event.traceback });
        if (event.line) this.view.mark(cell.id, [{ line: event.line, kind: 'error' }]);
        this.notebook.outputsChanged(cell);
        return;
      case 'executed': {
        if (!cell) return;
        const run = this.runs.get(cell.id);
        if (event.status === 'aborted' || event.status === 'died') { if (run?.state === 'waiting' || run?.state === 'running') this.setRun(cell.id, { state: event.status }); }
        else { cell.count = event.execution_count || cell.count; this.setRun(cell.id, { state: event.status, seconds: event.seconds || (run?.began ? (performance.now() - run.began) / 1000 : undefined) }); }
        if (event.status === 'died' && this.kernel.reason) say(`Python ended: ${this.kernel.reason.replace(/[.\s]+$/, '')}. The document is untouched.`, { label: 'Restart', act: () => this.restart() });
        this.notebook.outputsChanged(cell);
        if (this.links.tapeOf === cell.id) this.inspector.renamed();
        this.asked(null);
        if (event.status === 'ok' && this.links.tapes.has(cell.id)) this.kernel.askSteps(cell.id);
        return;
      }
      case 'tape':
        if (event.cell && event.tape instanceof TapeRecord) { this.links.tapes.set(event.cell, event.tape); this.links.tapeOf = event.cell; this.inspector.takeTape(event.tape.graph, event.live ? 'live' : ''); if (!event.live) this.links.costsLater(); }
        return;
      case 'captures':
        this.links.captured = { captures: event.captures ?? [], breaks: event.breaks ?? [], guards: event.guards ?? [] };
        this.inspector.takeCaptures(this.links.captured.captures, this.links.captured.breaks, this.links.captured.guards);
        return;
      case 'costs': if (event.cell) { this.links.costs.set(event.cell, event.costs); this.inspector.takeLaunched(event.costs?.kernels ?? []); this.links.costsLater(); } return;
      case 'hints': if (event.cell) { this.links.hints.set(event.cell, event.hints ?? []); this.links.drawHints(event.cell); } return;
      case 'recording': if (event.cell) { this.links.steps.set(event.cell, event.steps ?? []); if (event.cell === this.links.tapeOf) this.inspector.takeSteps(event.steps ?? []); } return;
      case 'device_info': this.deviceFacts = Array.isArray(event.info?.facts) ? event.info.facts : []; this.kernelChanged(); return;
      case 'variables': this.inspector.takeVariables(event.variables); return;
      case 'input_request': this.asked(event); return;
      case 'died': this.trouble(`${event.reason} ${event.advice ?? ''} The document is untouched.`); return;
      case 'ready': this.counts.clear(); this.count = 0; this.kernelChanged(); this.kernel.askDevice(); return;
    }
  }

  /** A field for `input()` below the cell; null takes it away. */
  asked(event: KernelEvent | null): void {
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

  measure(): void {
    const on = !this.kernel.measuring;
    this.kernel.measure(on);
    say(on ? 'Every operator is timed now, and every kernel of a GPU. Cells with many small operators run slower.' : 'Only the first operators of a cell are timed.');
  }

  // -- keys --------------------------------------------------------------------------------------------------------------------------

  key(event: KeyboardEvent): void {
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

  get cellElement(): HTMLElement | null { const cell = this.view.current; return cell ? (this.view.view(cell.id)?.element ?? null) : null; }

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
    this.documents.dirty = true;
    this.documents.saveLater();
  }

  togglePanel(on?: boolean): void {
    const shown = on ?? this.root.classList.contains('no-panel');
    this.root.classList.toggle('no-panel', !shown);
    this.root.querySelector('.panel-button')?.setAttribute('aria-pressed', String(shown));
  }

  showTab(tab: Tab): void { this.togglePanel(true); this.inspector.show(tab); this.inspector.focus(); }

  theme: Theme = ((): Theme => { const kept = remembered('theme'); return kept === 'light' || kept === 'dark' ? kept : 'system'; })();
  applyTheme(): void { if (this.theme === 'system') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = this.theme; }
  nextTheme(): void {
    this.theme = ({ system: 'light', light: 'dark', dark: 'system' } as const)[this.theme];
    remember('theme', this.theme);
    this.applyTheme();
    say(this.theme === 'system' ? 'The theme follows the system.' : `The ${this.theme} theme is on.`);
    this.inspector.show(this.inspector.tab);
  }

  kernelMenu(): void {
    const item = (name: string, label?: string): MenuItem => { const a = ACTIONS.find((x) => x.name === name)!; return { label: label ?? a.label, keys: keysOf(a), act: () => a.act(this) }; };
    const { kernel } = this;
    menu(this.status, [
      kernel.state === 'off' || kernel.state === 'dead' ? { label: 'Start Python', act: () => kernel.start() } : item('restart'), item('restart_run_all'), item('interrupt'), null,
      ...kernel.devices.map(({ device, label, chosen }) => ({ label, checked: chosen, act: () => kernel.choose(device) })), null,
      { label: 'Time every operator and kernel', checked: kernel.measuring, act: () => this.measure() },
      { label: 'Show the device', act: () => this.showTab('device') }], 'Kernel', this.cellElement);
  }
}

/** `?device=cpu` or `?device=webgpu` in the address; otherwise WebGPU where it is more than software. */
function wantedDevice(): 'auto' | 'cpu' | 'webgpu' {
  const asked = new URLSearchParams(location.search).get('device');
  return asked === 'cpu' || asked === 'webgpu' ? asked : 'auto';
}
