"""Links between the cells and the panel, both ways: a row of a table and its lines, the cursor's line and its rows.

Everything the engine records knows its cell, revision and lines; the text may have been edited since, which
linemap.py accounts for.  This puts the two sides of the screen together and draws nothing itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .linemap import line_after, line_before

if TYPE_CHECKING:
    from .screen import NotebookScreen

__all__ = ["Links"]


class Links:
    """The links of one notebook screen."""

    def __init__(self, screen: NotebookScreen) -> None:
        self.screen = screen

    # -- lines through edits ------------------------------------------------------------------------

    def lines_now(self, cell: str, revision: int | None, lines: range) -> range:
        """Where lines (from 0) of the text that ran stand in the text of now; empty where they were edited."""
        screen = self.screen
        ran, now = screen.session.text_that_ran(cell, revision), screen.notebook.cell(cell).source
        if ran is None or ran == now:
            return lines
        found = [place for line in lines if (place := line_after(ran, now, line)) is not None]
        return range(found[0], found[-1] + 1) if found else range(0)

    def line_that_ran(self, cell: str, revision: int | None, line: int) -> int | None:
        """The line (from 1) of the text that ran which is line `line` of the text of now."""
        ran = self.screen.session.text_that_ran(cell, revision)
        if ran is None:
            return line
        home = self.screen.notebook.find(cell)
        before = line_before(ran, home.source, line - 1) if home is not None else None
        return None if before is None else before + 1

    def edited(self, cell: str, revision: int) -> bool:
        """Whether a cell has another text now than in a revision that ran (or is gone)."""
        home = self.screen.notebook.find(cell)
        ran = self.screen.session.text_that_ran(cell, revision)
        return home is None or (ran is not None and ran != home.source)

    def cost_of(self, cell: str, line: int) -> dict[str, Any] | None:
        """What a line (from 1) of a cell's text of now cost when it ran last."""
        costs = self.screen.session.costs.get(cell)
        if not costs:
            return None
        revision = max(r for r, _ in costs)
        before = self.line_that_ran(cell, revision, line)
        return costs.get((revision, before)) if before is not None else None

    # -- from the cells to the panel ----------------------------------------------------------------

    def mark_place(self) -> None:
        """Mark in every table what belongs to the line of the cursor, or to the selected cell."""
        screen = self.screen
        cell = screen.cells.current
        cell_id = cell.id if cell is not None else None
        line = screen.pane.editor.cursor_location[0] + 1 if screen.pane.editing else None
        self.mark(cell_id, line)
        if screen.pane.editing:
            screen.inspector.refresh_head()

    def mark(self, cell: str | None, line: int | None) -> None:
        """Mark in every table what belongs to a line (from 1) of a cell; without a line, to the whole cell."""
        panel = self.screen.inspector
        panel.tape.mark_line(cell, line)
        panel.graph.mark_line(cell, line)
        panel.kernels.mark_line(cell, line)

    # -- from the panel to the cells ----------------------------------------------------------------

    def show_source(self, source: Any, *, edit: bool = False) -> bool:
        """Show and highlight the lines of a source range (an object, or a dictionary); with `edit` the cursor goes there.

        False where they are in no cell of the notebook, or were edited since.
        """
        screen, view = self.screen, self.screen.pane.view
        place = _fields(source)
        if place is None or not screen.cells.select_id(place["cell"]):
            view.link({})
            return False
        start = place["line"]
        end = max(start, place["end_line"])
        lines = self.lines_now(place["cell"], place["revision"], range(start - 1, end))
        view.settle()
        if not lines:
            screen.notify("This line was edited since it ran.", timeout=2)
            view.link({})
            view.show_cell(screen.cells.index)
            return False
        columns = (place["column"], place["end_column"]) if len(lines) == 1 and place["end_column"] else None
        view.link({place["cell"]: lines}, columns)
        view.show_line(screen.cells.index, lines.start)
        view.refresh()
        self.mark(place["cell"], lines.start + 1)
        screen.refresh_status()
        if edit:
            screen.pane.start_editing((lines.start, place["column"]))
        return True

    def show_sources(self, sources: list[dict[str, Any]]) -> bool:
        """Highlight several ranges at once and show the first; False where none is in a cell."""
        if not sources or not self.show_source(sources[0]):
            return False
        linked: dict[str, range] = {}
        for source in sources:
            place = _fields(source)
            if place is None or self.screen.notebook.find(place["cell"]) is None:
                continue
            lines = self.lines_now(
                place["cell"], place["revision"], range(place["line"] - 1, max(place["line"], place["end_line"]))
            )
            if lines:
                known = linked.get(place["cell"])
                linked[place["cell"]] = (
                    range(min(known.start, lines.start), max(known.stop, lines.stop)) if known else lines
                )
        self.screen.pane.view.link(linked)
        return True


def _fields(source: Any) -> dict[str, Any] | None:
    """Cell, revision, lines and columns of a source range, None where it lies in no cell."""
    if source is None:
        return None
    ask = source.get if isinstance(source, dict) else lambda name, default=None: getattr(source, name, default)
    cell, line = ask("cell"), ask("line")
    if not cell or not line:
        return None
    return {
        "cell": cell, "revision": ask("revision"), "line": line, "end_line": ask("end_line") or line,
        "column": ask("column") or 0, "end_column": ask("end_column") or 0,
    }  # fmt: skip
