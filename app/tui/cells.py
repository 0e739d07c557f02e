"""Which cells are selected, and the operations of command mode on them: insert, delete, move, cut, paste, merge.

It works on a document and knows no widgets.  The selection follows the cells themselves, so that it stays right when
the document changes underneath (undo, for one).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from ..notebook.document import Cell, CellType, Change, Notebook

__all__ = ["Cells"]


class Cells:
    """The selection of one document: the current cell, and the other end of a selected range."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook
        self.clipboard: list[Cell] = []
        self._current = 0
        self._other = 0
        self._stop = notebook.subscribe(self._changed)

    def close(self) -> None:
        """Stop following the document."""
        self._stop()

    @property
    def index(self) -> int:
        """The index of the current cell (0 even in an empty document)."""
        return self._current

    @property
    def current(self) -> Cell | None:
        """The current cell, None in an empty document."""
        return self.notebook.cells[self._current] if self._current < len(self.notebook) else None

    @property
    def range(self) -> range:
        """The indices of all selected cells."""
        if not len(self.notebook):
            return range(0)
        return range(min(self._current, self._other), max(self._current, self._other) + 1)

    def selected(self) -> list[Cell]:
        """The selected cells, top to bottom."""
        return [self.notebook.cells[index] for index in self.range]

    def select(self, index: int, *, extend: bool = False) -> None:
        """Make the cell at `index` (clamped) the current one; `extend` keeps the other end of the range."""
        self._current = max(0, min(index, len(self.notebook) - 1))
        if not extend:
            self._other = self._current

    def select_id(self, cell_id: str) -> bool:
        """Select a cell by id; False where there is none."""
        try:
            self.select(self.notebook.index_of(cell_id))
        except KeyError:
            return False
        return True

    # -- operations ---------------------------------------------------------------------------------

    def insert(self, *, below: bool, cell_type: CellType = "code", source: str = "") -> Cell:
        """A new cell beside the current one; it becomes the current one."""
        at = self._current + 1 if below and len(self.notebook) else self._current
        cell = self.notebook.insert(at, cell_type, source)
        self.select_id(cell.id)
        return cell

    def delete(self) -> int:
        """Delete the selected cells; the next one becomes current. A document keeps at least one (empty) cell."""
        chosen = self.range
        with self.notebook.one_step():
            for _ in chosen:
                self.notebook.delete(chosen.start)
            if not len(self.notebook):
                self.notebook.insert(0)
        self.select(chosen.start)
        return len(chosen)

    def copy(self) -> int:
        """Put the selected cells on the cells' clipboard."""
        self.clipboard = [_copy(cell) for cell in self.selected()]
        return len(self.clipboard)

    def cut(self) -> int:
        """Copy and delete."""
        self.copy()
        return self.delete()

    def paste(self, *, below: bool) -> int:
        """Insert what is on the cells' clipboard, with fresh ids; the last one becomes current."""
        at = self.range.stop if below else self.range.start
        self.notebook.paste(at, self.clipboard)
        if self.clipboard:
            self.select(at + len(self.clipboard) - 1)
        return len(self.clipboard)

    def move(self, by: int) -> None:
        """Move the selected cells one place up (-1) or down (1)."""
        chosen = self.range
        if not chosen or chosen.start + by < 0 or chosen.stop + by > len(self.notebook):
            return
        current, other = self._current + by, self._other + by
        if by < 0:
            self.notebook.move(chosen.start - 1, chosen.stop - 1)
        else:
            self.notebook.move(chosen.stop, chosen.start)
        self._current, self._other = current, other

    def merge(self) -> bool:
        """Merge the selected cells, or the current one with the next; False where there is no next."""
        chosen = self.range
        first, times = chosen.start, len(chosen) - 1 or 1
        if first + times >= len(self.notebook):
            return False
        with self.notebook.one_step():
            for _ in range(times):
                self.notebook.merge(first)
        self.select(first)
        return True

    def split(self, offset: int) -> Cell:
        """Split the current cell at a character of its source; the lower part becomes current."""
        lower = self.notebook.split(self._current, offset)
        self.select_id(lower.id)
        return lower

    def change_type(self, cell_type: CellType) -> None:
        """Change the type of the selected cells."""
        with self.notebook.one_step():
            for index in self.range:
                self.notebook.change_type(index, cell_type)

    # -- following the document ---------------------------------------------------------------------

    def _changed(self, change: Change) -> None:
        if change.kind == "insert":
            # What stood at or below the new cell moved down; callers that want the new one select it.
            if change.index <= self._current and len(self.notebook) > 1:
                self._current += 1
            if change.index <= self._other and len(self.notebook) > 1:
                self._other += 1
        elif change.kind == "delete":
            self._current -= change.index < self._current
            self._other -= change.index < self._other
        elif change.kind == "move":
            self._current = _moved(self._current, change.previous, change.index)
            self._other = _moved(self._other, change.previous, change.index)
        last = max(0, len(self.notebook) - 1)
        self._current, self._other = min(self._current, last), min(self._other, last)

    def undo(self) -> bool:
        """Undo the last operation on the document and select what it touched; False where there is none."""
        return self._replay(self.notebook.undo_operation)

    def redo(self) -> bool:
        """Do the last undone operation again and select what it touched; False where there is none."""
        return self._replay(self.notebook.redo_operation)

    def _replay(self, operation: Callable[[], bool]) -> bool:
        touched: list[str] = []
        stop = self.notebook.subscribe(lambda change: touched.append(change.cell_id) if change.cell_id else None)
        try:
            done = operation()
        finally:
            stop()
        if done:
            for cell_id in touched:
                if self.select_id(cell_id):
                    break
            else:
                self.select(self._current)
        return done


def _copy(cell: Cell) -> Cell:
    """A snapshot of a cell for the clipboard; pasting gives it a new id."""
    return Cell(
        cell_type=cell.cell_type,
        source=cell.source,
        metadata=deepcopy(cell.metadata),
        outputs=deepcopy(cell.outputs),
        execution_count=cell.execution_count,
        extra=deepcopy(cell.extra),
    )


def _moved(index: int, start: int, end: int) -> int:
    """Where a cell that stood at `index` stands after another was moved from `start` to `end`."""
    if index == start:
        return end
    if start < index <= end:
        return index - 1
    if end <= index < start:
        return index + 1
    return index
