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
from .actions import by_name, hints, make_keymap
from .cells import Cells
from .commands import (
    Commands,
    ask_to_overwrite,
    documentation_text,
    name_of,
    saving_error,
    word_before,
)
from .dialogs import Prompt, Reader
from .inspector import Divider, Inspector
from .keeper import Keeper
from .keymap import PENDING, shown
from .linemap import line_after, line_before
from .notebook_pane import NotebookPane
from .notebook_view import NotebookView
from .palette import ActionProvider
from .popup import CompletionPopup
from .rows_view import RowsView
from .session import Kernel, Session
from .status import HintBar, StatusBar, StatusFacts
from .themes import Look, look_of

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
    ) -> None:
        super().__init__()
        self.notebook = notebook
        self.session = Session(notebook, make_kernel, clock)
        self.cells = Cells(notebook)
        self.keeper = Keeper(notebook, clock)
        self.commands = Commands(self)
        self._clock = clock
        self._keymap = make_keymap()
        self._share = 38
        self._cold = True
        self._look: tuple[Theme, Look] | None = None
        self._completion: int | None = None
        self._documentation: int | None = None
        self._stop = notebook.subscribe(self._document_changed)
        self.pane = NotebookPane(
            notebook, self.cells, self.session.runs, self.look, self.take_key, self.session.elapsed, id="notebook"
        )
        self.inspector = Inspector(self.look, self.cell_name, self._line_that_ran, id="inspector")
        self.inspector.tape.key_first = self.inspector.variables.key_first = self.take_key
        self.pane.editor.leave = self._walk
        self.divider = Divider(id="divider")
        self.status = StatusBar(self.look, id="status")
        self.hints = HintBar(self.look, id="hints")

    def compose(self) -> ComposeResult:
        with Container(id="work"):
            yield self.pane
            yield self.divider
            yield self.inspector
        yield self.status
        yield self.hints

    def on_mount(self) -> None:
        self.watch(self.app, "theme", self._theme_changed, init=False)
        self.set_focus(self.pane.view)
        self.set_interval(0.2, self._tick)
        self._arrange()
        self.refresh_status()
        self.session.start()

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
        return "inspector" if focused is not None and self.inspector in focused.ancestors else "command"

    def on_key(self, event: events.Key) -> None:
        if self.take_key(event):
            event.stop()
            event.prevent_default()

    def take_key(self, event: events.Key) -> bool:
        """Do what a key means in the present mode; False where it means nothing there."""
        if self.pane.popup.open and self._popup_key(event.key):
            return True
        if self.mode == "edit" and event.key == "tab" and self._can_complete():
            self.ask_completions()
            return True
        action = self._keymap.feed(self.mode, event.key, self._clock())
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

    def on_hint_bar_clicked(self, event: HintBar.Clicked) -> None:
        event.stop()
        self.act(event.action)

    def leave(self) -> None:
        """Back to the cells."""
        if self.pane.popup.open:
            self.pane.popup.close()
        elif self.pane.editing:
            self.pane.stop_editing()
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
        if not keep:
            self.cells.select(index, extend=extend)
        current = self.cells.current
        if self.pane.editing and current is not None and current.id != self.pane.editor.cell_id:
            self.pane.stop_editing()
        view = self.pane.view
        view.keep_current = True
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
        if kind == "source" and event.place is not None:
            self.pane.start_editing(event.place)
        elif kind == "markdown" and event.twice:
            self.pane.start_editing()
        elif kind == "stub":
            self.commands.toggle_output()
        else:
            self.set_focus(self.pane.view, scroll_visible=False)
        self.pane.view.link({})
        self.pane.view.refresh()
        self._mark_place()
        self.refresh_status()

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
        """Mark the nodes of the line of the cursor, or of the selected cell."""
        cell = self.cells.current
        line = self.pane.editor.cursor_location[0] + 1 if self.pane.editing else None
        self.inspector.tape.mark_line(cell.id if cell is not None else None, line)
        if self.pane.editing:
            self.inspector.refresh_head()

    def on_rows_view_highlighted(self, event: RowsView.Highlighted) -> None:
        event.stop()
        self.inspector.refresh_head()
        if event.view is self.inspector.tape:
            self._go_to_node(event.row)

    def on_rows_view_chosen(self, event: RowsView.Chosen) -> None:
        event.stop()
        tape = self.inspector.tape
        if event.view is not tape:
            return
        row = tape.row_at(event.row)
        if row is not None and row.foldable:
            tape.toggle(event.row)
        elif row is not None and row.source is not None and self._go_to_node(event.row):
            source = row.source
            lines = self._lines_now(source.cell, source.revision, range(source.line - 1, source.line))
            self.pane.start_editing((lines.start, source.column))

    def _go_to_node(self, number: int) -> bool:
        """Show and highlight the source lines of a row of the tape; False where they are in no cell of the notebook."""
        row = self.inspector.tape.row_at(number)
        view = self.pane.view
        source = row.source if row is not None else None
        if source is None or not source.cell or not self.cells.select_id(source.cell):
            view.link({})
            return False
        lines = self._lines_now(source.cell, source.revision, range(source.line - 1, max(source.line, source.end_line)))
        view.settle()
        if not lines:
            self.notify("This line was edited since it ran.", timeout=2)
            view.link({})
            view.show_cell(self.cells.index)
            return False
        view.link({source.cell: lines}, (source.column, source.end_column) if len(lines) == 1 else None)
        view.show_line(self.cells.index, lines.start)
        view.refresh()
        self.inspector.tape.mark_line(source.cell, lines.start + 1)
        self.refresh_status()
        return True

    def _lines_now(self, cell: str, revision: int | None, lines: range) -> range:
        """Where lines (from 0) of the text that ran stand in the text of now; empty where they were edited."""
        ran, now = self.session.text_that_ran(cell, revision), self.notebook.cell(cell).source
        if ran is None or ran == now:
            return lines
        found = [place for line in lines if (place := line_after(ran, now, line)) is not None]
        return range(found[0], found[-1] + 1) if found else range(0)

    def _line_that_ran(self, cell: str, revision: int | None, line: int) -> int | None:
        """The line (from 1) of the text that ran which is line `line` of the text of now."""
        ran = self.session.text_that_ran(cell, revision)
        if ran is None:
            return line
        before = line_before(ran, self.notebook.cell(cell).source, line - 1)
        return None if before is None else before + 1

    # -- the kernel ---------------------------------------------------------------------------------

    def run_cells(self, cells: Iterable[Cell], *, follow: bool = False) -> None:
        """Queue cells; says why where that is impossible. With `follow` the outputs of the last one stay in view."""
        self.pane.editor.history.checkpoint()
        self.notebook.checkpoint()
        cells = list(cells)
        self.pane.view.following = cells[-1].id if follow and cells else None
        said = self.session.run(cells)
        if said:
            self.notify(said, severity="warning", timeout=6)
        self.refresh_status()

    def restart_kernel(self) -> None:
        """A fresh kernel. The document stays."""
        self.session.restart()
        self.inspector.variables.take([])
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
            self.inspector.tape.take(self.session.tape.tape, self.session.tape.live)
            self.inspector.refresh_head()
        elif update.finished and self.inspector.tape.live:
            self.inspector.tape.live = False
            self.inspector.refresh_head()
        if update.variables:
            self.inspector.variables.take(self.session.variables)
            self.inspector.refresh_head()
        if update.runs:
            self.pane.view.refresh()
            self.inspector.tape.refresh()
        if update.died is not None:
            self.notify(
                f"{update.died.reason} {update.died.advice}".strip(),
                title="The kernel died",
                severity="error",
                timeout=12,
            )
            self.pane.view.refresh()
        if update.completions is not None:
            self._take_completions(update.completions)
        if update.documentation is not None:
            self._take_documentation(update.documentation)
        if update.input_request is not None:
            self._ask_input(update.input_request)
        self.refresh_status()

    def _ask_input(self, request: m.InputRequest) -> None:
        def answer(text: str | None) -> None:
            if text is None:
                self.session.interrupt()
            else:
                self.session.answer(text)

        name = self.cell_name(request.cell) if request.cell else "A cell"
        self.app.push_screen(
            Prompt(f"{name} asks for input", request.prompt, password=request.password, escape="interrupts the cell"),
            answer,
        )

    def _tick(self) -> None:
        said = self.keeper.tick()
        if said:
            self.notify(said, severity="error", timeout=10)
        if self.session.running is not None or self.session.info.stage or self._keymap.begun:
            self.refresh_status()
            if self.session.running is not None:
                self.pane.view.refresh()

    # -- completion and documentation ---------------------------------------------------------------

    def _can_complete(self) -> bool:
        """Tab completes after a name or a dot, and indents elsewhere."""
        editor = self.pane.editor
        if editor.code != "python" or not editor.selection.is_empty:
            return False
        row, column = editor.cursor_location
        before = editor.document.get_line(row)[:column]
        return bool(before) and (before[-1].isalnum() or before[-1] in "._")

    def ask_completions(self) -> None:
        """Ask the kernel for names that fit at the cursor."""
        if self.session.info.state == "dead":
            self.notify("The kernel is not running; completion needs it. Press Esc, then 0 0 to restart it.")
            return
        editor = self.pane.editor
        self._completion = self.session.complete(editor.text, editor.cursor_character)
        if self.session.running is not None:
            self.notify("A cell is running: the names come when it is done.", timeout=2)

    def _take_completions(self, reply: m.Completions) -> None:
        editor = self.pane.editor
        if reply.request != self._completion or not self.pane.editing:
            return
        self._completion = None
        text, cursor = editor.text, editor.cursor_character
        typed = text[reply.start : cursor]
        matches = [match for match in dict.fromkeys(reply.matches) if match.startswith(typed)]
        if cursor < reply.start or not matches:
            self.notify("Nothing fits here.", timeout=2)
        elif len(matches) == 1:
            self._insert_completion(matches[0], len(typed))
        else:
            self.pane.show_completions(matches[:400], len(typed))

    def _insert_completion(self, match: str, typed: int) -> None:
        editor = self.pane.editor
        row, column = editor.cursor_location
        editor.replace(match, (row, column - typed), (row, column), maintain_selection_offset=False)

    def _popup_key(self, key: str) -> bool:
        popup = self.pane.popup
        if key in ("down", "ctrl+n"):
            popup.move(1)
        elif key in ("up", "ctrl+p"):
            popup.move(-1)
        elif key in ("enter", "tab"):
            self._insert_completion(popup.pick(), popup.prefix)
        elif key == "escape":
            popup.close()
        else:
            return False
        return True

    def on_completion_popup_picked(self, event: CompletionPopup.Picked) -> None:
        event.stop()
        self._insert_completion(event.text, self.pane.popup.prefix)
        self.set_focus(self.pane.editor, scroll_visible=False)

    def ask_documentation(self) -> None:
        """Ask the kernel about the name at the cursor."""
        editor = self.pane.editor
        if not editor.selection.is_empty and "\n" in editor.selected_text:
            editor.outdent()
            return
        if self.session.info.state == "dead":
            self.notify("The kernel is not running; documentation needs it. Press Esc, then 0 0 to restart it.")
            return
        self._documentation = self.session.inspect(editor.text, editor.cursor_character)

    def _take_documentation(self, reply: m.Documentation) -> None:
        if reply.request != self._documentation:
            return
        self._documentation = None
        if reply.text.strip():
            self.app.push_screen(Reader("Documentation", documentation_text(reply.text)))
        else:
            self.notify("Nothing is known of the name at the cursor.", timeout=2)

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
        self._arrange()

    def go_to_tab(self, tab: str) -> None:
        """Show a tab of the panel and put the keyboard there."""
        self.show_inspector(True)
        self.pane.stop_editing(focus=False)
        self.inspector.show(tab)
        self.set_focus(self.inspector.table, scroll_visible=False)

    def resize_inspector(self, steps: int) -> None:
        """Give the panel more (or less) room."""
        near = min(range(len(_SHARES)), key=lambda n: abs(_SHARES[n] - self._share))
        self._share = _SHARES[max(0, min(near + steps, len(_SHARES) - 1))]
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
                kernel=replace(info),
                running=self._running_name(running),
                elapsed=self.session.elapsed() if running is not None else 0.0,
                waiting=self.session.waiting,
                impatient=self.session.impatient(),
                mode=mode,
                cell=self.cells.index + 1,
                cells=len(self.notebook),
                line=line,
                column=column,
                pending=shown(self._keymap.begun) if self._keymap.begun else "",
            )
        )
        self.hints.take(hints(mode))

    def _running_name(self, cell_id: str | None) -> str:
        if cell_id is None:
            return ""
        try:
            return f"cell {self.notebook.index_of(cell_id) + 1}"
        except KeyError:
            return "a deleted cell"
