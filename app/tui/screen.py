"""The notebook's screen: puts the parts together, passes messages between them, and owns what is on it.

Keys go through the key map to actions; kernel events come in batches and go to the session; the document tells of its
changes itself.  Loading and recovering a document is app.py's business.
"""

from __future__ import annotations

import inspect
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.screen import Screen
from textual.theme import Theme

from ..kernel import messages as m
from ..notebook.document import Cell, Change, Notebook
from ..notebook.errors import NotebookError
from .actions import by_name, hints
from .ansi import inert, plain
from .asking import Asking
from .cells import Cells
from .commands import (
    Commands,
    ask_to_overwrite,
    name_of,
    saving_error,
    word_before,
)
from .dialogs import Prompt
from .documents import Documents
from .finder import Finder
from .graph_sources import build_tape_graph, offer_captures
from .graph_view import GraphView
from .inspector import Divider, Inspector
from .keeper import Keeper
from .keymap import PENDING, shown
from .keymap_file import load_keymap
from .links import Links
from .mark_offer import offer_mark
from .notebook_pane import NotebookPane
from .notebook_view import NotebookView
from .palette import ActionProvider
from .popup import CompletionPopup
from .rows_view import RowsView
from .scrubber import Scrubber
from .search_bar import SearchBar
from .session import Kernel, Session, Update
from .settings import Settings
from .status import HintBar, StatusBar, StatusFacts
from .themes import Look, look_of
from .tracebacks import place_at, places

__all__ = ["KernelEvents", "NotebookScreen"]

NARROW = 100
"""Below this many columns the panel stands under the cells."""

_SHARES = (20, 26, 32, 38, 44, 50, 56, 62, 70)


@dataclass
class KernelEvents(Message):
    """A batch of events from the kernel."""

    events: list[m.Message]


class NotebookScreen(Screen[None]):
    """One notebook with its kernel."""

    COMMANDS = {ActionProvider}

    DEFAULT_CSS = """
    NotebookScreen { layout: vertical; background: $background; }
    NotebookScreen > #work { layout: horizontal; height: 1fr; }
    NotebookScreen > #work.-narrow { layout: vertical; }
    NotebookScreen NotebookPane { width: 1fr; height: 1fr; }
    """

    @dataclass
    class Told(Message):
        """A worker thread has something to say."""

        sentence: str
        severity: Literal["information", "warning", "error"]

    def __init__(
        self,
        notebook: Notebook,
        make_kernel: Callable[[], Kernel],
        clock: Callable[[], float] = time.monotonic,
        settings: Settings | None = None,
    ) -> None:
        super().__init__()
        self.notebook = notebook
        self.session = Session(notebook, make_kernel, clock)
        self.cells = Cells(notebook)
        self.keeper = Keeper(notebook, clock)
        self.commands = Commands(self)
        self._clock = clock
        self.settings = settings or Settings()
        self.keymap, self._key_complaints = load_keymap()
        self._share = self.settings.share
        self._cold = True
        self._look: tuple[Theme, Look] | None = None
        self._trail = False
        self._was_covered = False
        self._errors_of, self._error_at = "", 0
        self._complaints: set[str] = set()
        self._stop = notebook.subscribe(self._document_changed)
        self.pane = NotebookPane(
            notebook, self.cells, self.session.runs, self.look, self.take_key, self.session.elapsed, id="notebook"
        )
        self.links = Links(self)
        self.inspector = Inspector(
            self.look, self.cell_name, self.links.line_that_ran, self.links.edited, id="inspector"
        )
        for table in self.inspector.views.values():
            table.key_first = self.take_key
        view = self.pane.view
        view.cost_of, view.hints, view.queue_place = self.links.cost_of, self.session.hints, self.session.place_in_queue
        self.finder = Finder(self)
        self.search = SearchBar(self.look, id="search")
        self.scrubber = Scrubber(self, id="scrubber")
        self.documents = Documents(self)
        self.asking = Asking(self)
        self.pane.editor.leave = self._walk
        self.divider = Divider(id="divider")
        self.status = StatusBar(self.look, id="status")
        self.hints = HintBar(self.look, id="hints")

    def compose(self) -> ComposeResult:
        with Container(id="work"):
            yield self.pane
            yield self.divider
            yield self.inspector
        yield self.search
        yield self.scrubber
        yield self.status
        yield self.hints

    def on_mount(self) -> None:
        self.watch(self.app, "theme", self._theme_changed, init=False)
        self.set_focus(self.pane.view)
        self.set_interval(0.2, self._tick)
        view = self.pane.view
        view.show_hints = self.settings.hints
        view.graphics, view.covered = getattr(self.app, "graphics", None), self._covered
        if self.settings.line_numbers:
            view.numbers = True
        self._arrange()
        self.refresh_status()
        self.session.start()
        for sentence in self._key_complaints:
            self.notify(sentence, severity="warning", timeout=10)

    def _covered(self) -> bool:
        """Something lies over the cells: a question, a list of completions, a notice."""
        return self.app.screen is not self or self.pane.popup.open or len(self.app._notifications) > 0

    def keep_everything(self) -> None:
        """The app is about to fail: what is in the editor goes to the document, and the document to the journal."""
        self.pane.flush()
        if self.keeper.unsaved:
            self.keeper.write_journal()

    def on_unmount(self) -> None:
        self._stop()
        self.cells.close()
        self.keeper.close()

    # -- looks --------------------------------------------------------------------------------------

    def look(self) -> Look:
        """The styles of the present theme. Asked for with every painted line, so computed once a theme."""
        theme = self.app.current_theme
        if self._look is None or self._look[0] is not theme:
            self._look = (theme, look_of(theme, self.app.theme_variables))
        return self._look[1]

    def _theme_changed(self) -> None:
        self.call_after_refresh(self._take_look)

    def _take_look(self) -> None:
        self.pane.view.reframe()
        self.pane.editor.take_look()
        self.inspector.take_look()
        self.status.refresh()
        self.hints.refresh()

    def cell_name(self, cell_id: str) -> str:
        """The short name of a cell for tables and the status line."""
        if cell_id == self.session.running:
            return "[*]"
        try:
            index = self.notebook.index_of(cell_id)
        except KeyError:
            return "(deleted)"
        return name_of(self.notebook.cells[index], index)

    # -- keys and actions ---------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """Where the keyboard is."""
        if self.pane.editing:
            return "edit"
        focused = self.focused
        if focused is not None and self.search in focused.ancestors:
            return "search"
        if focused is self.scrubber:
            return "steps"
        if focused is self.pane.view and self.pane.view.scrolled is not None:
            return "output"
        return "inspector" if focused is not None and self.inspector in focused.ancestors else "command"

    def on_key(self, event: events.Key) -> None:
        if self.take_key(event):
            event.stop()
            event.prevent_default()

    def take_key(self, event: events.Key) -> bool:
        """Do what a key means in the present mode; False where it means nothing there."""
        if self.pane.popup.open and self.asking.popup_key(event.key):
            return True
        if self.mode == "edit" and event.key == "tab" and self.asking.can_complete():
            self.asking.completions()
            return True
        if self.mode == "edit" and event.character in ("(", ")"):
            self.call_after_refresh(self.asking.signature if event.character == "(" else self.asking.forget_signature)
        action = self.keymap.feed(self.mode, event.key, self._clock())
        if action is None:
            self.refresh_status()
            return False
        if action == PENDING:
            self.refresh_status()
            return True
        self.act(action)
        return True

    def act(self, name: str) -> None:
        """Carry out an action by its name."""
        self.pane.flush()
        try:
            result = by_name[name].handler(self.commands)
        except Exception as error:  # a mistake in one command must not take the notebook's window down
            self.log.error(traceback.format_exc())
            self.notify(
                f"“{by_name[name].label}” failed ({type(error).__name__}: {error}). The document is as it was before.",
                severity="error",
                timeout=10,
            )
            return
        if inspect.isawaitable(result):
            self.run_worker(result, group="action", exit_on_error=True)  # type: ignore[arg-type]
        self.refresh_status()

    def on_search_bar_asked(self, event: SearchBar.Asked) -> None:
        event.stop()
        self.finder.asked(event.what)

    def on_hint_bar_clicked(self, event: HintBar.Clicked) -> None:
        event.stop()
        self.act(event.action)

    def leave(self) -> None:
        """Back to the cells."""
        if self.pane.popup.open:
            self.pane.popup.close()
        elif self.pane.editing:
            self.pane.stop_editing()
        elif self.pane.view.scrolled is not None:
            self.pane.view.leave_window()
        else:
            self.set_focus(self.pane.view, scroll_visible=False)

    def focus_next_part(self) -> None:
        """From the cells to the panel and back."""
        if self.mode == "inspector" or not self.inspector.display:
            self.set_focus(self.pane.view, scroll_visible=False)
        else:
            self.pane.stop_editing(focus=False)
            self.set_focus(self.inspector.table, scroll_visible=False)

    # -- selection and links ------------------------------------------------------------------------

    def select(self, index: int, *, extend: bool = False, keep: bool = False) -> None:
        """Select a cell and show it. `keep` leaves a selected range as it is."""
        self.stop_trail()
        if not keep:
            self.cells.select(index, extend=extend)
        current = self.cells.current
        if self.pane.editing and current is not None and current.id != self.pane.editor.cell_id:
            self.pane.stop_editing()
        view = self.pane.view
        view.keep_current = True
        if current is not None and view.following is not None:
            # The cell that runs, and the one behind it that "run and go on" chooses, leave its outputs in view.
            near = self.notebook.cells[max(0, self.cells.index - 1) : self.cells.index + 1]
            if all(cell.id != view.following for cell in near):
                view.following = None
        view.leave_window()
        view.settle()
        view.show_cell(self.cells.index)
        view.refresh()
        view.link({})
        self._mark_place()
        self.refresh_status()

    def on_notebook_view_pressed(self, event: NotebookView.Pressed) -> None:
        event.stop()
        kind = event.row.kind
        if self.pane.editing:
            self.pane.stop_editing()
        self.cells.select(event.index)
        self.pane.view.leave_window()
        if kind == "source" and event.place is not None:
            self.pane.start_editing(event.place)
        elif kind == "markdown" and event.twice:
            self.pane.start_editing()
        elif kind == "stub":
            self.commands.toggle_output()
        elif kind == "hint":
            self._go_to_hint(event.index, event.row.place)
        elif (
            kind == "output" and event.output_row is not None and self._go_to_traceback(event.index, *event.output_row)
        ):
            return
        elif kind == "output" and event.output_row is not None and self._scroll_output(event.index, *event.output_row):
            self.set_focus(self.pane.view, scroll_visible=False)
        else:
            self.set_focus(self.pane.view, scroll_visible=False)
        self.pane.view.link({})
        self.pane.view.refresh()
        self._mark_place()
        self.refresh_status()

    def _go_to_hint(self, index: int, number: int) -> None:
        hints = self.session.hints.get(self.notebook.cells[index].id, ())
        if number < len(hints):
            self.links.show_source(hints[number], edit=True)

    def _go_to_traceback(self, index: int, number: int, row: int) -> bool:
        """A click on a traceback: to the line it names."""
        drawn = self.pane.view.picture(index).drawn[number]
        if drawn.kind != "error":
            return False
        place = place_at([line.plain for line in drawn.lines], row)
        return place is not None and self._go_to_count(*place)

    def _scroll_output(self, index: int, number: int, row: int) -> bool:
        """A click on the row that stands for lines not shown, or on a window that scrolls."""
        drawn = self.pane.view.picture(index).drawn[number]
        if drawn.window is None and not (drawn.hidden and drawn.lines[row].plain.startswith("⋯ ")):
            return False
        self.pane.view.open_window(index, number)
        return True

    def _go_to_count(self, count: int, line: int) -> bool:
        """Put the cursor on a line of the cell that ran as number `count`."""
        cell = self.session.cell_of_count(count)
        return cell is not None and self.go_to_place(*cell, line)

    def go_to_error(self) -> None:
        """Put the cursor on the line that failed; again, on the line that called it."""
        cells = [self.cells.current, self.notebook.find(self.session.failed or ""), *self.notebook.cells]
        for cell in (c for c in cells if c is not None):
            error = next((o for o in reversed(cell.outputs) if o.get("output_type") == "error"), None)
            if error is None:
                continue
            text = plain("\n".join(map(str, error.get("traceback") or ())))
            found = places(text.split("\n"))[::-1]
            run = self.session.runs.get(cell.id)
            if not found and run is not None and run.error_line:
                self.go_to_place(cell.id, run.revision, run.error_line)
                return
            if not found:
                continue
            if self._errors_of != cell.id:
                self._errors_of, self._error_at = cell.id, 0
            count, line = found[self._error_at % len(found)]
            self._error_at += 1
            if not self._go_to_count(count, line):
                self.notify("The cell that failed there is not known any more; run it again.", timeout=4)
            return
        self.notify("No cell has an error.", timeout=2)

    def mark_dynamic(self) -> None:
        """For the chosen recompilation: offer to write the line that makes one graph serve all sizes."""
        panel = self.inspector
        fix = panel.breaks.fix_at(panel.breaks.cursor) if panel.tab == "breaks" else None
        if fix is None or not fix["dimension"]:
            self.notify("Choose a recompilation in the Breaks tab whose size changed.", timeout=4)
            return
        offer_mark(self, fix)

    def go_to_place(self, cell_id: str, revision: int | None, line: int) -> bool:
        """Put the cursor on a line (from 1) of the text a cell had in a revision; False where it is no more."""
        if self.notebook.find(cell_id) is None:
            return False
        return self.links.show_source({"cell": cell_id, "revision": revision, "line": line}, edit=True)

    def on_notebook_pane_place_changed(self, event: NotebookPane.PlaceChanged) -> None:
        event.stop()
        popup = self.pane.popup
        if popup.open:
            editor = self.pane.editor
            popup.narrow(word_before(editor.text, editor.cursor_character).rpartition(".")[2])
        self._mark_place()
        self.refresh_status()

    def on_notebook_pane_mode_changed(self, event: NotebookPane.ModeChanged) -> None:
        event.stop()
        self.asking.forget_signature()
        self.pane.view.link({})
        self._mark_place()
        self.refresh_status()

    def _walk(self, towards: str) -> None:
        """An arrow key at the edge of the text: on to the neighbouring cell, still writing."""
        index = self.cells.index + (1 if towards == "down" else -1)
        if not 0 <= index < len(self.notebook):
            return
        self.cells.select(index)
        line = 0 if towards == "down" else self.notebook.cells[index].source.count("\n")
        self.pane.start_editing((line, 0))

    def _mark_place(self) -> None:
        self.links.mark_place()

    def on_rows_view_highlighted(self, event: RowsView.Highlighted) -> None:
        event.stop()
        self.inspector.refresh_head()
        panel, links = self.inspector, self.links
        if event.view is panel.tape:
            row = panel.tape.row_at(event.row)
            links.show_source(row.source if row is not None else None)
        elif event.view is panel.breaks:
            fix = panel.breaks.fix_at(event.row)
            links.show_source(fix["source"] if fix is not None else None)
        elif event.view is panel.kernels:
            links.show_sources(panel.kernels.sources_of(event.row))
        elif event.view is panel.variables and (made := panel.variables.place(event.row)) is not None:
            if self.cells.select_id(made[0]):
                self.pane.view.show_cell(self.cells.index)
                self.pane.view.refresh()

    def on_rows_view_chosen(self, event: RowsView.Chosen) -> None:
        event.stop()
        panel = self.inspector
        if event.view is panel.tape:
            row = panel.tape.row_at(event.row)
            if row is not None and row.foldable:
                panel.tape.toggle(event.row)
            elif row is not None:
                self.links.show_source(row.source, edit=True)
        elif event.view is panel.breaks:
            fix = panel.breaks.fix_at(event.row)
            self.links.show_source(fix["source"] if fix is not None else None, edit=True)
        elif event.view is panel.kernels:
            sources = panel.kernels.sources_of(event.row)
            if panel.kernels.is_kernel(event.row) and panel.kernels.toggle(event.row):
                panel.refresh_head()
            elif sources:
                self.links.show_source(sources[0], edit=True)
        elif event.view is panel.variables and (made := panel.variables.place(event.row)) is not None:
            if self.cells.select_id(made[0]):
                self.set_focus(self.pane.view, scroll_visible=False)
                self.select(self.cells.index)
        elif event.view is panel.device and (device := panel.device.device_at(event.row)) is not None:
            self.switch_device(device)

    def on_graph_view_highlighted(self, event: GraphView.Highlighted) -> None:
        event.stop()
        self.inspector.refresh_head()
        node = event.view.node
        if node is not None and node.source is not None:
            self.links.show_source(node.source)

    def on_graph_view_chosen(self, event: GraphView.Chosen) -> None:
        event.stop()
        node = event.view.node
        if node is not None:
            self.links.show_source(node.source, edit=True)

    # -- the kernel ---------------------------------------------------------------------------------

    def run_cells(self, cells: Iterable[Cell], *, follow: bool = False, trail: bool = False) -> None:
        """Queue cells; says why where that is impossible. With `follow` the outputs of the last one stay in view, with
        `trail` each cell is shown as it begins, until a person goes somewhere else."""
        self.pane.editor.history.checkpoint()
        self.notebook.checkpoint()
        cells = list(cells)
        self.pane.view.following = cells[-1].id if follow and cells else None
        self._trail = trail and not self.pane.editing
        self.pane.view.let_go_by_hand = False
        self._errors_of = ""
        said = self.session.run(cells)
        if said:
            self.notify(said, severity="warning", timeout=6)
        self.refresh_status()

    def stop_trail(self) -> None:
        """A person goes somewhere: the view no longer moves with the running cell."""
        if self._trail:
            self._trail = False
            self.pane.view.following = None

    def _follow_trail(self, cell_id: str) -> None:
        """A cell of "run all" begins: show it, and then its outputs as they grow."""
        view = self.pane.view
        if view.let_go_by_hand or self.pane.editing:
            self.stop_trail()
            return
        try:
            index = self.notebook.index_of(cell_id)
        except KeyError:
            return
        view.following = None
        view.settle()
        view.show_cell(index)
        view.following = cell_id

    def restart_kernel(self) -> None:
        """A fresh kernel. The document stays."""
        self.session.restart()
        self.inspector.variables.take([])
        self._take_captures()
        self.notify("The kernel restarts. The document is untouched.", timeout=3)
        self.pane.view.refresh()
        self.refresh_status()

    def on_kernel_events(self, event: KernelEvents) -> None:
        event.stop()
        update = self.session.apply(event.events)
        if self._cold and self.session.info.state == "idle":
            self._cold = False
            self.inspector.tape.warm()
        if update.tape and self.session.tape is not None:
            tape = self.session.tape
            self.inspector.tape.take(tape.tape, tape.live)
            self.inspector.graph.offer("tape", partial(build_tape_graph, tape.tape), live=tape.live)
            self.inspector.refresh_head()
        elif update.finished and self.inspector.tape.live:
            self.inspector.tape.live = self.inspector.graph.live = False
            self.inspector.refresh_head()
        if update.variables:
            self.inspector.variables.take(self.session.variables)
            self.inspector.refresh_head()
        self._guarded(self._update_panels, update)
        if update.recording is not None:
            self.scrubber.take(update.recording)
        if update.began is not None and self._trail:
            self._follow_trail(update.began)
        if update.runs:
            self._tell_failure(update)
            self.pane.view.refresh()
            self.inspector.tape.refresh()
            if self.search.display:
                self.finder.refresh()
        if update.died is not None:
            self.notify(
                f"{update.died.reason} {update.died.advice}".strip(),
                title="The kernel died",
                severity="error",
                timeout=12,
            )
            self.pane.view.refresh()
        if update.completions is not None:
            self.asking.take_completions(update.completions)
        if update.documentation is not None:
            self.asking.take_documentation(update.documentation)
        if update.input_request is not None:
            self._ask_input(update.input_request)
        self.refresh_status()

    def _tell_failure(self, update: Update) -> None:
        """Where a cell that failed is out of sight, say so."""
        failed = self.session.failed
        cell = self.notebook.find(failed) if failed is not None and failed in update.finished else None
        if cell is None:
            return
        index = self.notebook.index_of(cell.id)
        self.pane.view.settle()
        error = next((o for o in reversed(cell.outputs) if o.get("output_type") == "error"), None)
        if error is None or self.pane.view.shows_end(index):
            return
        what = inert(" ".join(f"{error.get('ename')}: {error.get('evalue')}".split()))
        self.notify(
            f"{what[:200]}\nE, outside of the text, goes to the line.",
            title=f"Cell {index + 1} failed",
            severity="error",
            timeout=8,
        )

    def _guarded(self, work: Callable[[Update], None], update: Update) -> None:
        """A mistake in a panel must not take the notebook's window down: it is said, once a kind."""
        try:
            work(update)
        except Exception as error:
            self.log.error(traceback.format_exc())
            said = f"A part of the panel could not be drawn ({type(error).__name__}: {error})."
            if said not in self._complaints:
                self._complaints.add(said)
                self.notify(said, severity="error", timeout=8)

    def _update_panels(self, update: Update) -> None:
        """Hand what is new to the tables beside the cells, and to the drawing of costs and hints."""
        if update.captures:
            self._take_captures()
        if update.costs:
            self.take_costs()
            if not self.session.captures.captures:
                self.inspector.kernels.take([], self.session.last_costs)
        if update.device or (update.costs and self.session.device):
            self._take_device(update.device)
        if update.hints:
            self.pane.view.hints_changed(update.hints)

    def _take_captures(self) -> None:
        told = self.session.captures
        panel = self.inspector
        panel.breaks.take(told.captures, told.breaks, told.guards)
        panel.kernels.take(told.captures, self.session.last_costs)
        offer_captures(panel.graph, told.captures)
        panel.refresh_head()

    def take_costs(self) -> None:
        """The costs of lines are others."""
        view = self.pane.view
        lines = (line for costs in self.session.costs.values() for line in costs.values())
        view.most_seconds = max((line["seconds"] + line["backward_seconds"] for line in lines), default=0.0)
        view.refresh()

    def _take_device(self, told: bool) -> None:
        info = self.session.device
        self.inspector.device.take(info, self.session.last_costs)
        self.inspector.refresh_head()
        if told and info.get("error"):
            self.notify(str(info["error"]), severity="error", timeout=8)

    def switch_device(self, device: str) -> None:
        """Make new tensors on another device from now on."""
        self.session.ask_device(device)
        self.notify(f"New tensors are made on {device} from now on; those that exist stay where they are.", timeout=5)

    def _ask_input(self, request: m.InputRequest) -> None:
        def answer(text: str | None) -> None:
            if text is None:
                self.session.interrupt()
            else:
                self.session.answer(text)

        name = self.cell_name(request.cell) if request.cell else "A cell"
        if request.cell and self.notebook.find(request.cell) is not None:
            view = self.pane.view
            view.settle()
            view.lift(self.notebook.index_of(request.cell), 10)
            view.following = None
        self.app.push_screen(
            Prompt(
                f"{name} asks for input",
                request.prompt,
                password=request.password,
                escape="interrupts the cell",
                low=True,
            ),
            answer,
        )

    def _tick(self) -> None:
        view = self.pane.view
        if view.graphics is not None and not view.graphics.as_text and self._was_covered != self._covered():
            self._was_covered = not self._was_covered
            view.refresh()
        said = self.keeper.tick()
        if said:
            self.notify(said, severity="error", timeout=10)
        self.documents.look(self._clock())
        self.documents.autosave(self._clock())
        if self.session.running is not None or self.session.info.stage or self.keymap.begun:
            self.refresh_status()
            if self.session.running is not None:
                self.pane.view.refresh()

    # -- completion and documentation ---------------------------------------------------------------

    def on_completion_popup_picked(self, event: CompletionPopup.Picked) -> None:
        event.stop()
        self.asking.insert_completion(event.text, self.pane.popup.prefix)
        self.set_focus(self.pane.editor, scroll_visible=False)

    # -- the panel ----------------------------------------------------------------------------------

    def on_resize(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        """Beside the cells where the screen is wide, below them where it is narrow."""
        narrow = self.size.width < NARROW
        self.query_one("#work").set_class(narrow, "-narrow")
        self.divider.set_class(narrow, "-flat")
        shown = self.inspector.display
        self.divider.display = shown
        share = f"{self._share}%"
        self.inspector.styles.width = "1fr" if narrow else share
        self.inspector.styles.height = share if narrow else "1fr"

    def show_inspector(self, shown: bool) -> None:
        """Show or hide the panel."""
        if not shown and self.mode == "inspector":
            self.set_focus(self.pane.view, scroll_visible=False)
        self.inspector.display = shown
        if shown:
            self.inspector.tape.catch_up()
            self.inspector.graph.catch_up()
        self._arrange()

    def go_to_tab(self, tab: str) -> None:
        """Show a tab of the panel and put the keyboard there."""
        self.show_inspector(True)
        if tab == "device" and self.session.info.state != "dead":
            self.session.ask_device()
        self.pane.stop_editing(focus=False)
        self.inspector.show(tab)
        table = self.inspector.table
        self.set_focus(table, scroll_visible=False)
        if table is self.inspector.breaks or table is self.inspector.kernels:
            table.move_to(table.cursor)  # type: ignore[union-attr]

    def resize_inspector(self, steps: int) -> None:
        """Give the panel more (or less) room."""
        near = min(range(len(_SHARES)), key=lambda n: abs(_SHARES[n] - self._share))
        self._share = self.settings.share = _SHARES[max(0, min(near + steps, len(_SHARES) - 1))]
        self.settings.save()
        self._arrange()

    def on_divider_dragged(self, event: Divider.Dragged) -> None:
        event.stop()
        work = self.query_one("#work").region
        if self.size.width < NARROW:
            share = (work.bottom - event.y - 1) / max(1, work.height)
        else:
            share = (work.right - event.x - 1) / max(1, work.width)
        self._share = round(100 * min(0.8, max(0.15, share)))
        self._arrange()

    # -- the document -------------------------------------------------------------------------------

    def _document_changed(self, change: Change) -> None:
        if change.kind in ("state", "insert", "delete", "source", "type", "move"):
            self.call_next(self.refresh_status)

    @property
    def document_name(self) -> str:
        """The name of the document for sentences."""
        return self.notebook.path.name if self.notebook.path is not None else "The untitled notebook"

    def save(self, then: Callable[[], Any] | None = None) -> None:
        """Save; asks for a name or for leave to overwrite where needed. `then` is called after a save that worked."""
        if self.notebook.path is None:
            self.save_as(then)
        elif self.keeper.changed_on_disk():
            self.app.push_screen(
                ask_to_overwrite(self.document_name),
                lambda answer: self._write(None, then) if answer == "save" else None,
            )
        else:
            self._write(None, then)

    def save_as(self, then: Callable[[], Any] | None = None) -> None:
        """Ask for a path and save there."""
        suggestion = str(self.notebook.path or Path.cwd() / "notebook.py")

        def write(answer: str | None) -> None:
            if answer and answer.strip():
                path = Path(answer.strip()).expanduser()
                if path.exists() and path != self.notebook.path:
                    self.app.push_screen(
                        ask_to_overwrite(path.name), lambda said: self._write(path, then) if said == "save" else None
                    )
                else:
                    self._write(path, then)

        self.app.push_screen(Prompt("Save as", "The file to write, .py or .ipynb", value=suggestion), write)

    def _write(self, path: Path | None, then: Callable[[], Any] | None) -> None:
        try:
            written = self.keeper.save(path)
        except (NotebookError, OSError) as error:
            self.notify(saving_error(error), title="Not saved", severity="error", timeout=12)
            return
        self.notify(f"Saved {written.name}.", timeout=2)
        self.refresh_status()
        if then is not None:
            then()

    def tell(self, sentence: str, severity: Literal["information", "warning", "error"]) -> None:
        """Say something from any thread."""
        self.post_message(self.Told(sentence, severity))

    def on_notebook_screen_told(self, event: Told) -> None:
        self.notify(event.sentence, severity=event.severity, timeout=8)

    # -- the foot of the screen ---------------------------------------------------------------------

    def refresh_status(self) -> None:
        """Bring the two lines at the foot up to date."""
        if not self.is_mounted:
            return
        info = self.session.info
        line = column = None
        if self.pane.editing:
            line, column = (place + 1 for place in self.pane.editor.cursor_location)
        running = self.session.running
        mode = self.mode
        self.status.take(
            StatusFacts(
                file=self.notebook.path.name if self.notebook.path is not None else "untitled",
                unsaved=self.keeper.unsaved,
                changed_on_disk=self.documents.changed,
                kernel=replace(info),
                running=self._running_name(running),
                elapsed=self.session.elapsed() if running is not None else 0.0,
                waiting=self.session.waiting,
                failed=self._running_name(self.session.failed),
                impatient=self.session.impatient(),
                mode=mode,
                cell=self.cells.index + 1,
                cells=len(self.notebook),
                line=line,
                column=column,
                pending=shown(self.keymap.begun) if self.keymap.begun else "",
            )
        )
        self.hints.take(hints(mode, keymap=self.keymap))

    def _running_name(self, cell_id: str | None) -> str:
        if cell_id is None:
            return ""
        try:
            return f"cell {self.notebook.index_of(cell_id) + 1}"
        except KeyError:
            return "a deleted cell"
