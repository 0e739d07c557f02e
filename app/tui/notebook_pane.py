"""The cells and, over the one that is being edited, the live editor with its list of completions.

It places the editor over the text of its cell wherever that scrolls to, and writes what is typed into the document.
Which key does what is not its business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.widgets import TextArea

from ..notebook.document import Change, Notebook, with_newlines
from .cells import Cells
from .editor import CellEditor
from .notebook_view import MARGIN, NotebookView
from .popup import ROWS, CompletionPopup
from .session import CellRun
from .themes import Look

__all__ = ["NotebookPane"]


class NotebookPane(Container):
    """The notebook's part of the screen. `editing` says whether the editor is open."""

    DEFAULT_CSS = """
    NotebookPane { layers: cells editor popup; overflow: hidden hidden; }
    NotebookPane > NotebookView { layer: cells; width: 1fr; height: 1fr; }
    NotebookPane > CellEditor { layer: editor; position: absolute; display: none; }
    NotebookPane > CompletionPopup { layer: popup; position: absolute; }
    """

    @dataclass
    class ModeChanged(Message):
        """Editing began or ended."""

        editing: bool

    class PlaceChanged(Message):
        """The cursor in the text, or the selection of cells, is elsewhere."""

    def __init__(
        self,
        notebook: Notebook,
        cells: Cells,
        runs: Mapping[str, CellRun],
        look: Callable[[], Look],
        key: Callable[[events.Key], bool],
        elapsed: Callable[[], float],
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.notebook, self.cells = notebook, cells
        self.editing = False
        self._places: dict[str, tuple[int, int]] = {}
        self.view = NotebookView(notebook, cells, runs, look, key, elapsed, id="cells")
        self.view.keep_row = self._cursor_row
        self.editor = CellEditor(look, key, id="editor")
        self.popup = CompletionPopup(look, id="completions")
        self._stop = notebook.subscribe(self._document_changed)

    def compose(self) -> ComposeResult:
        yield self.view
        yield self.editor
        yield self.popup

    def on_unmount(self) -> None:
        self._stop()

    # -- editing ------------------------------------------------------------------------------------

    def start_editing(self, place: tuple[int, int] | None = None) -> None:
        """Open the editor over the current cell; `place` is a line and a character (from 0)."""
        cell = self.cells.current
        if cell is None:
            return
        self.view.leave_window()
        if self.editing and self.editor.cell_id == cell.id:
            if place is not None:
                self.editor.move_cursor(self.editor.clamp_visitable(place))
            self.screen.set_focus(self.editor, scroll_visible=False)
            return
        if self.editing:
            self._close_editor()
        language = {"code": "python", "markdown": "markdown"}.get(cell.cell_type, "")
        self.editing = True
        self.view.set_raw(cell.id)
        self.editor.show_line_numbers = self.view.numbers
        self.editor.open(cell.id, cell.source, language, place or self._places.get(cell.id))
        self.editor.display = True
        self._place_editor()
        self.screen.set_focus(self.editor, scroll_visible=False)
        self.view.show_cell(self.cells.index)
        self._show_cursor()
        self.post_message(self.ModeChanged(True))

    def stop_editing(self, *, focus: bool = True) -> None:
        """Close the editor; what was typed is in the document already."""
        if not self.editing:
            return
        self._close_editor()
        if focus:
            self.screen.set_focus(self.view, scroll_visible=False)
        self.view.show_cell(self.cells.index)
        self.post_message(self.ModeChanged(False))

    def remember_place(self, cell_id: str | None, place: tuple[int, int]) -> None:
        """Where the cursor goes when the text of a cell is opened the next time."""
        if cell_id is not None:
            self._places.pop(cell_id, None)
            self._places[cell_id] = place
            if len(self._places) > 200:
                del self._places[next(iter(self._places))]

    def flush(self) -> None:
        """Bring the document up to the editor's text now: a command may come before the editor's own message."""
        if self.editing and self._index() is not None:  # the cell may just have been deleted
            self.notebook.set_source(self.editor.cell_id or "", self.editor.text)

    def _close_editor(self) -> None:
        self.flush()
        self.editing = False
        self.popup.close()
        self.remember_place(self.editor.cell_id, self.editor.cursor_location)
        self.editor.keep_history()
        self.editor.cell_id = None
        self.editor.display = False
        self.notebook.checkpoint()
        self.view.set_raw(None)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self.editing and self.editor.cell_id is not None:
            self.view.following = None
            self.flush()
            self.view.settle()
            self._place_editor()
            self._show_cursor()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        if self.editing:
            self.post_message(self.PlaceChanged())

    def on_cell_editor_cursor_moved(self, event: CellEditor.CursorMoved) -> None:
        event.stop()
        self._show_cursor()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        # When the terminal window loses the focus the editor stays open: coming back must not be in command mode.
        if event.widget is self.editor and self.editing and self.app.app_focus:
            self.call_after_refresh(self._leave_when_elsewhere)

    def _leave_when_elsewhere(self) -> None:
        if self.editing and self.app.app_focus and self.screen.focused is not self.editor:
            self.stop_editing(focus=self.screen.focused is None)

    def _document_changed(self, change: Change) -> None:
        self.view.note(change)
        if not self.editing or change.cell_id != self.editor.cell_id:
            return
        if change.kind in ("delete", "type"):
            self.stop_editing()
        elif change.kind == "source":
            self.editor.replace_all(self.notebook.cells[change.index].source)

    def on_paste(self, event: events.Paste) -> None:
        """Text pasted in command mode becomes a cell: the current one where that is empty, else a new one below."""
        if self.editing or not event.text.strip():
            return
        event.stop()
        text = with_newlines(event.text).strip("\n")
        cell = self.cells.current
        if cell is not None and not cell.source:
            self.notebook.set_source(cell.id, text)
            self.notebook.checkpoint()
        else:
            self.cells.insert(below=True, source=text)
        self.view.show_cell(self.cells.index)
        self.post_message(self.PlaceChanged())

    # -- placing ------------------------------------------------------------------------------------

    def on_notebook_view_moved(self, event: NotebookView.Moved) -> None:
        event.stop()
        self._place_editor()

    def _index(self) -> int | None:
        try:
            return self.notebook.index_of(self.editor.cell_id or "")
        except KeyError:
            return None

    def _place_editor(self) -> None:
        index = self._index()
        if not self.editing or index is None:
            return
        frame = self.view.pictures.frame
        editor = self.editor
        top = self.view.top(index) - self.view.scroll_offset.y
        editor.styles.offset = (MARGIN, top)
        if editor.styles.width is None or editor.styles.width.value != frame.width:
            editor.styles.width = frame.width
        rows = self.view.picture(index).source_rows
        if editor.styles.height is None or editor.styles.height.value != rows:
            editor.styles.height = rows
        self._place_popup()
        self.call_after_refresh(editor.place_terminal_cursor)

    def _cursor_row(self) -> int | None:
        """The row of the drawing in which the cursor of the text stands."""
        index = self._index()
        return self.view.top(index) + self.editor.cursor_row if self.editing and index is not None else None

    def _show_cursor(self) -> None:
        """Scroll so that the line of the cursor is on the screen."""
        if (row := self._cursor_row()) is not None:
            self.view.show_rows(row, row + 1, room=1)

    def _place_popup(self) -> None:
        if not self.popup.open:
            return
        offset = self.editor.styles.offset
        left, top = int(offset.x.value), int(offset.y.value)
        place = self.editor.wrapped_document.location_to_offset(self.editor.cursor_location)
        column = left + self.editor.gutter_width + place.x - self.popup.prefix - 1
        row = top + place.y
        # Below the line where there is room, else above it, else wherever there is more.
        wanted, below, above = min(ROWS, len(self.popup.matches)), self.size.height - row - 1, row
        height = min(wanted, max(below, above, 1))
        row = row + 1 if below >= wanted or below >= above else row - height
        self.popup.styles.height = height
        width = self.popup.styles.width.value if self.popup.styles.width is not None else 20
        self.popup.styles.offset = (max(0, min(column, self.size.width - int(width))), row)

    def show_completions(self, matches: list[str], prefix: int) -> None:
        """Offer names at the cursor; `prefix` characters of them are already there."""
        self.popup.show(matches, prefix)
        self._place_popup()

    # -- mouse --------------------------------------------------------------------------------------

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.view.let_go()
        self.view.scroll_relative(y=self.app.scroll_sensitivity_y, animate=False)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.view.let_go()
        self.view.scroll_relative(y=-self.app.scroll_sensitivity_y, animate=False)
        event.stop()
