"""The tape as an outline: one row an operator, with its shape, module and line, linked to the cells both ways.

It shows a graph and an outline made by the views; while a loop runs, a new tape takes the place of the old one and the
cursor, the folds and the scrolling stay where they were.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import Binding, BindingType

from .ansi import inert
from .rows_view import RowsView, fit
from .themes import Look

if TYPE_CHECKING:
    from ...graphviz_views.model import Graph, NodeId
    from ...graphviz_views.outline import Outline, OutlineRow

__all__ = ["TapeView"]

_Key = tuple[str, str, int, int, int]

LineThatRan = Callable[[str, int | None, int], int | None]
"""(cell, revision, line of its text now) to the line it had in that revision, None where it had none; lines from 1."""


def _import_views() -> None:
    try:
        from ...graphviz_views import outline, tape  # noqa: F401
    except Exception:  # told where a tape is drawn
        pass


class TapeView(RowsView):
    """The rows of the latest tape. `name_cell` gives a cell's short name ("[4]") for its id."""

    BINDINGS: list[BindingType] = [
        Binding("left", "fold(True)", show=False),
        Binding("right", "fold(False)", show=False),
    ]

    def __init__(
        self,
        look: Callable[[], Look],
        name_cell: Callable[[str], str],
        line_that_ran: LineThatRan = lambda cell, revision, line: line,
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(look, id=id)
        self._name_cell, self._line_that_ran = name_cell, line_that_ran
        self.graph: Graph | None = None
        self.outline: Outline | None = None
        self.live = False
        self._marked: set[NodeId] = set()
        self._marked_rows: set[int] = set()
        self._where: tuple[str, int | None] | None = None
        self._rows: list[OutlineRow] = []
        self._widths: tuple[int, int, int] = (0, 0, 0)
        self._pending: Mapping[str, Any] | None = None
        self._next_time = 0.0
        self.say(
            "No tape yet. Run a cell that computes with tensors that need gradients: every operator it records "
            "appears here."
        )

    @staticmethod
    def warm() -> None:
        """Import the views in the background: they bring the engine with them, and the first tape should not wait."""
        threading.Thread(target=_import_views, name="tapescope-views", daemon=True).start()

    # -- content ------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        return len(self._rows)

    def take(self, tape: Mapping[str, Any], live: bool) -> None:
        """Show a snapshot. While a loop runs, large tapes are drawn less often, so that typing stays quick."""
        self.live = live
        self._pending = tape
        if live and time.monotonic() < self._next_time:
            return
        self.catch_up()

    def _failed(self, error: Exception) -> None:
        """A tape that cannot be shown must not take the notebook's window down."""
        self.graph = self.outline = None
        self._rows = []
        self.say(f"This tape cannot be shown ({type(error).__name__}: {error}).")
        self.rows_changed()

    def catch_up(self) -> None:
        """Draw the snapshot that was put off, if any."""
        if self._pending is None:
            return
        try:
            self._draw_pending()
        except Exception as error:
            self._failed(error)

    def _draw_pending(self) -> None:
        tape, self._pending = self._pending, None
        # Not at the top: the first paint should not wait for what the views bring with them (see `warm`).
        from ...graphviz_views.outline import Outline
        from ...graphviz_views.tape import build_tape

        began = time.monotonic()
        key = self._key(self.cursor)
        top = self.scroll_offset.y
        under_cursor = self.cursor - top
        self.graph = build_tape(tape)
        if self.outline is None:
            self.outline = Outline(self.graph)
        else:
            self.outline = Outline(self.graph, self.outline.folded, self.outline.opened)
        self._take_rows()
        if key is not None:
            self.cursor = self._find(key)
        self.rows_changed()
        if 0 <= under_cursor < max(1, self.scrollable_content_region.height):
            self.scroll_to(y=max(0, self.cursor - under_cursor), animate=False, force=True)
        self._mark()
        self._next_time = time.monotonic() + 4 * (time.monotonic() - began)

    def clear(self) -> None:
        """Forget the tape."""
        self.graph = self.outline = None
        self._rows, self._pending = [], None
        self.rows_changed()

    def _take_rows(self) -> None:
        self._rows = self.outline.rows if self.outline is not None else []
        shown = self._rows[:500]
        self._widths = (
            max((cell_len(row.operator) + 2 * row.depth + 2 for row in shown), default=0),
            max((cell_len(row.shape) for row in shown), default=0),
            max((cell_len(row.module) for row in shown), default=0),
        )

    def _key(self, row: int) -> _Key | None:
        """What a row is, apart from the node's number: the same operator of the same line in the next turn is it."""
        if not 0 <= row < len(self._rows):
            return None
        wanted = self._identity(self._rows[row])
        same = sum(1 for other in self._rows[:row] if self._identity(other) == wanted)
        return (*wanted, same, row)

    @staticmethod
    def _identity(row: OutlineRow) -> tuple[str, str, int]:
        return row.operator, row.module, row.source.line if row.source is not None else -1

    def _find(self, key: _Key) -> int:
        same = [number for number, row in enumerate(self._rows) if self._identity(row) == key[:3]]
        if same:
            return same[min(key[3], len(same) - 1)]
        return min(key[4], max(0, len(self._rows) - 1))

    # -- links --------------------------------------------------------------------------------------

    def go_to_node(self, node: int) -> bool:
        """Put the cursor on the row that shows a node of the tape; False where none does."""
        row = self.outline.row_of(node) if self.outline is not None else None  # type: ignore[arg-type]
        if row is None:
            return False
        self.move_to(row, tell=False)
        return True

    def row_at(self, number: int) -> OutlineRow | None:
        """The row, or None outside."""
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def mark_line(self, cell: str | None, line: int | None) -> None:
        """Mark the nodes recorded at a line (from 1) of a cell, or (`line` None) in the whole cell."""
        where = (cell, line) if cell is not None else None
        if where != self._where:
            self._where = where
            self._mark(show=True)

    def _mark(self, show: bool = False) -> None:
        self._marked = (
            set(self._nodes_at(*self._where)) if self._where is not None and self.graph is not None else set()
        )
        rows: set[int] = set()
        if self.outline is not None:
            rows = {row for node in self._marked if (row := self.outline.row_of(node)) is not None}
        fresh = rows != self._marked_rows
        self._marked_rows = rows
        # The panel follows the cursor in the text, unless it is being used itself, or a whole cell is meant.
        if show and rows and not self.has_focus and self._where is not None and self._where[1] is not None:
            self.cursor = min(rows)
            self.show_row(max(rows))
            self.show_row(min(rows))
            fresh = True
        if fresh:
            self.refresh()

    def _nodes_at(self, cell: str, line: int | None) -> Iterable[NodeId]:
        if self.graph is None:
            return ()
        nodes = [n for n in self.graph.nodes if n.source is not None and n.source.cell == cell]
        if line is None:
            return [node.id for node in nodes]
        # The text may have been edited since: each revision has its own number for this line.
        lines = {r: self._line_that_ran(cell, r, line) for r in {n.source.revision for n in nodes if n.source}}
        found = []
        for node in nodes:
            at = lines[node.source.revision] if node.source is not None else None
            if at is not None and node.source is not None and node.source.line <= at <= node.source.end_line:
                found.append(node.id)
        return found

    @property
    def marked_rows(self) -> set[int]:
        """The rows of the marked nodes."""
        return self._marked_rows

    # -- folding ------------------------------------------------------------------------------------

    def action_fold(self, fold: bool) -> None:
        row = self.row_at(self.cursor)
        if row is None or self.outline is None:
            return
        if row.foldable and row.folded != fold:
            self.toggle(self.cursor)
        elif fold and row.depth:
            parent = next((n for n in range(self.cursor - 1, -1, -1) if self._rows[n].depth < row.depth), None)
            if parent is not None:
                self.move_to(parent)
        elif not fold and row.foldable:
            self.move_to(self.cursor + 1)

    def toggle(self, number: int) -> None:
        """Fold or unfold what a row heads."""
        row = self.row_at(number)
        if row is None or self.outline is None or not row.foldable:
            return
        self.outline.toggle(row.scope)
        self._take_rows()
        self.rows_changed()
        self._mark()

    def fold_all(self) -> None:
        """Fold everything, or open everything where all is folded."""
        if self.outline is None:
            return
        if any(row.kind == "scope" and not row.folded for row in self._rows):
            self.outline.fold_all()
        else:
            self.outline.unfold_all()
        self._take_rows()
        self.rows_changed()
        self._mark()

    # -- painting -----------------------------------------------------------------------------------

    def note(self) -> str:
        if self.graph is None:
            return ""
        return self.graph.summary()

    def _line(self, row: OutlineRow) -> str:
        if row.source is None:
            return ""
        if row.source.cell:
            return f"{self._name_cell(row.source.cell)}:{row.source.line}"
        return row.source.text

    def row(self, number: int, width: int, look: Look) -> list[Segment]:
        row = self._rows[number]
        marked = number in self._marked_rows
        mark = Segment("▸" if marked else " ", look.accent)
        if row.kind == "note":
            return [mark, Segment(fit(inert(row.operator), width - 1), look.warning)]
        line = self._line(row)
        tree, shape, module = self._widths
        place_width = max(cell_len(line), 6)
        left = width - 1 - place_width - 2
        shape = min(shape, max(8, left // 3))
        tree = min(tree, max(10, left - shape - 1))
        module = left - tree - shape - 2
        extra = max(0, module - max(8, self._widths[2]) - 1)
        extra = extra if extra >= 12 else 0
        module -= extra + 1 if extra else 0
        head = "  " * row.depth + ("▸ " if row.folded else "▾ ") if row.foldable else "  " * row.depth + "  "
        name = look.strong if row.kind in ("scope", "repeat") else look.text
        if row.kind == "leaf":
            name = look.success
        segments = [
            mark,
            Segment(head[:tree], look.muted),
            Segment(fit(row.operator, tree - cell_len(head)), name),
            Segment(" "),
            Segment(fit(row.shape, shape), look.primary),
        ]
        if module >= 4:
            segments += [Segment(" "), Segment(fit(row.module if not row.foldable else row.badges, module), look.muted)]
            if extra:
                more = "" if row.foldable else row.badges
                segments += [Segment(" "), Segment(fit(more, extra), look.faint)]
        else:
            segments.append(Segment(" " * max(0, left - tree - shape - 1)))
        segments += [
            Segment(" "),
            Segment(fit(line, place_width, right=True) + " ", look.accent if marked else look.muted),
        ]
        if marked and self._where is not None and self._where[1] is not None:
            segments = list(Segment.apply_style(segments, look.linked_soft))
        return segments

    def detail(self, number: int) -> list[tuple[str, str]]:
        """What is known of the node of a row, as (name, text) pairs."""
        row = self.row_at(number)
        if row is None or row.kind == "note":
            return []
        pairs = [("", row.operator), ("shape", f"{row.shape} {row.dtype}".strip()), ("module", row.module)]
        if row.source is not None:
            pairs.append(("line", self._line(row)))
        if row.saved:
            pairs.append(("saved", row.saved))
        if row.badges:
            pairs.append(("uses" if row.kind == "op" else "holds", row.badges))
        return [(name, inert(text)) for name, text in pairs if text]
