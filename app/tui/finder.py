"""Find and replace on the notebook's screen: the finds, which of them is current, and showing it.

The bar (search_bar.py) says what is wanted, the notebook room finds and replaces; this puts the two together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..notebook import search
from ..notebook.errors import NotebookError

if TYPE_CHECKING:
    from .screen import NotebookScreen

__all__ = ["Finder"]


class Finder:
    """The search of one notebook screen. It is on while its bar is open."""

    def __init__(self, screen: NotebookScreen) -> None:
        self.screen = screen
        self.finds: list[search.Find] = []
        self.current = -1
        self._from_editor = False

    @property
    def on(self) -> bool:
        """The bar is open."""
        return bool(self.screen.search.display)

    def open(self, *, replace: bool = False) -> None:
        """Open the bar; what is selected in the text is looked for."""
        pane = self.screen.pane
        pattern = ""
        self._from_editor = pane.editing
        if pane.editing:
            chosen = pane.editor.selected_text
            pattern = chosen if chosen and "\n" not in chosen else ""
            pane.stop_editing(focus=False)
        self.screen.search.open(pattern, replace=replace)

    def asked(self, what: str) -> None:
        """Do what the bar wants."""
        if what == "changed":
            self.refresh(near=True)
        elif what in ("next", "previous"):
            self._step(1 if what == "next" else -1)
        elif what == "replace":
            self._replace()
        elif what == "replace_all":
            self._replace_all()
        elif what in ("close", "edit"):
            self.close(edit=what == "edit" or self._from_editor)

    def refresh(self, *, near: bool = False) -> None:
        """Look again; with `near` the current find is the first at or below the selected cell."""
        bar, view = self.screen.search, self.screen.pane.view
        try:
            self.finds = search.find(self.screen.notebook, bar.query_wanted)
        except NotebookError as error:
            self.finds = []
            bar.say(str(error), wrong=True)
        else:
            if near:
                order = {cell.id: n for n, cell in enumerate(self.screen.notebook.cells)}
                here = self.screen.cells.index
                self.current = next((n for n, f in enumerate(self.finds) if order[f.cell] >= here), 0)
            self.current = min(self.current, len(self.finds) - 1)
            self._say()
        sources = {cell.id: cell.source for cell in self.screen.notebook.cells}
        found: dict[str, list[tuple[int, int, int]]] = {}
        for place in self.finds:
            found.setdefault(place.cell, []).extend(place.lines_of(sources[place.cell]))
        view.found = found
        self._show()

    def _say(self) -> None:
        bar = self.screen.search
        if not bar.query_wanted.pattern:
            bar.say("")
        elif not self.finds:
            bar.say("not found")
        else:
            bar.say(f"{self.current + 1} of {len(self.finds)}{'+' if len(self.finds) == search.MOST else ''}")

    def _show(self) -> None:
        """Bring the current find on the screen."""
        view = self.screen.pane.view
        view.found_here = None
        if 0 <= self.current < len(self.finds):
            place = self.finds[self.current]
            cell = self.screen.notebook.cell(place.cell)
            lines = place.lines_of(cell.source)
            self.screen.cells.select_id(place.cell)
            # Text that is drawn as Markdown shows its source while it is searched.
            view.set_raw(place.cell if cell.cell_type == "markdown" else None)
            if lines:
                view.found_here = (place.cell, *lines[0])
                view.settle()
                view.show_line(self.screen.cells.index, lines[0][0])
        view.refresh()
        self.screen.refresh_status()

    def _step(self, by: int) -> None:
        self.refresh()
        if self.finds:
            self.current = (self.current + by) % len(self.finds)
            self._say()
            self._show()

    def _replace(self) -> None:
        bar = self.screen.search
        if not 0 <= self.current < len(self.finds):
            return
        place = self.finds[self.current]
        try:
            end = search.replace(self.screen.notebook, bar.query_wanted, place, bar.replacement)
        except NotebookError as error:
            bar.say(str(error), wrong=True)
            return
        self.refresh()
        # On to the next one behind what was put in, so that a replacement that holds the pattern is not found again.
        order = {cell.id: n for n, cell in enumerate(self.screen.notebook.cells)}
        here = (order[place.cell], end)
        self.current = next((n for n, f in enumerate(self.finds) if (order[f.cell], f.start) >= here), 0)
        self._say()
        self._show()

    def _replace_all(self) -> None:
        bar = self.screen.search
        try:
            places, cells = search.replace_all(self.screen.notebook, bar.query_wanted, bar.replacement)
        except NotebookError as error:
            bar.say(str(error), wrong=True)
            return
        self.refresh()
        where = f"{cells} cell{'s' if cells != 1 else ''}"
        bar.say(f"{places} replaced in {where}; Z undoes all" if places else "not found")

    def close(self, *, edit: bool) -> None:
        """Close the bar; with `edit` the text is opened at the current find."""
        place = self.finds[self.current] if 0 <= self.current < len(self.finds) else None
        screen, view = self.screen, self.screen.pane.view
        screen.search.display = False
        self.finds, self.current = [], -1
        view.found, view.found_here = {}, None
        view.set_raw(None)
        screen.set_focus(view, scroll_visible=False)
        if place is not None:
            cell = screen.notebook.find(place.cell)
            if cell is not None and screen.cells.select_id(place.cell):
                screen.pane.remember_place(place.cell, place.place_in(cell.source))
                if edit:
                    screen.pane.start_editing(place.place_in(cell.source))
        screen.select(screen.cells.index, keep=True)
