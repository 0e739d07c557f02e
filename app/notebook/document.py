"""The notebook as a document in memory: cells, the operations on them, undo, and who wants to hear of changes.

It knows no file format (percent.py, ipynb.py), no file system (files.py, journal.py), no kernel and no screen.
How outputs are put into a cell is the subject of outputs.py.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

CellType = Literal["code", "markdown", "raw"]
CELL_TYPES: tuple[CellType, ...] = ("code", "markdown", "raw")
Format = Literal["py", "ipynb"]
Output = dict[str, Any]


def new_cell_id() -> str:
    """A fresh nbformat 4.5 cell id: eight hexadecimal digits."""
    return secrets.token_hex(4)


@dataclass(slots=True)
class Cell:
    """One cell. `outputs` holds nbformat output dictionaries; `revision` counts the edits of `source` in this session.

    `extra` keeps what an `.ipynb` had on the cell beside the known keys (attachments, for one). `origin` is what a
    reader remembers of the text the cell came from, so that an unedited cell is written back byte for byte.
    """

    id: str = field(default_factory=new_cell_id)
    cell_type: CellType = "code"
    source: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    execution_count: int | None = None
    revision: int = 0
    extra: dict[str, Any] = field(default_factory=dict)
    origin: Any = field(default=None, repr=False, compare=False)
    output_state: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Change:
    """What a listener of `Notebook.subscribe` is told, after it happened.

    kind      cell_id   index                 previous
    insert    the cell  where it is now       -
    delete    the cell  where it was          -
    move      the cell  where it is now       where it was
    source    the cell  where it is           -
    type      the cell  where it is           -
    outputs   the cell  where it is           -         (None and -1: of all cells)
    metadata  the cell  where it is           -         (None and -1: of the notebook)
    state     None      -1                    -         (`dirty`, `path` or `format` changed)

    `split` is a source change and an insert, `merge` a source change and a delete.
    """

    kind: Literal["insert", "delete", "move", "source", "type", "outputs", "metadata", "state"]
    cell_id: str | None = None
    index: int = -1
    previous: int = -1


class Notebook:
    """A document: an ordered list of cells, metadata, where it lives, and the operations on it.

    Every operation marks the notebook dirty, tells the listeners, and can be undone without limit. Cells keep their
    identity: undoing a deletion brings the same `Cell` object back, outputs included. Change `cells` only through
    the operations.
    """

    def __init__(
        self,
        cells: Iterable[Cell] = (),
        metadata: dict[str, Any] | None = None,
        path: Path | None = None,
        format: Format = "py",
    ) -> None:
        self.cells: list[Cell] = list(cells)
        self.metadata: dict[str, Any] = metadata if metadata is not None else {}
        self.path = path
        self.format: Format = format
        self.dirty = False
        self.warnings: list[str] = []

    def insert(self, index: int, cell_type: CellType = "code", source: str = "") -> Cell:
        """Put a new cell at `index` (0 to len(cells)) and return it. IndexError outside."""
        raise NotImplementedError

    def delete(self, index: int) -> Cell:
        """Remove the cell at `index` and return it."""
        raise NotImplementedError

    def move(self, index: int, to: int) -> None:
        """Move the cell at `index` so that it ends up at index `to`."""
        raise NotImplementedError

    def split(self, index: int, offset: int) -> Cell:
        """Split the cell at character `offset` of its source; returns the new lower cell. The upper keeps id and outputs."""
        raise NotImplementedError

    def merge(self, index: int) -> Cell:
        """Join the cell at `index` with the next one, with a newline between; returns it. Its id and outputs stay."""
        raise NotImplementedError

    def change_type(self, index: int, cell_type: CellType) -> None:
        """Make the cell a code, markdown or raw cell. Outputs leave with the code type (and come back with undo)."""
        raise NotImplementedError

    def set_source(self, cell_id: str, text: str) -> None:
        """Replace the text of a cell. Consecutive edits of one cell are one undo step until `checkpoint`."""
        raise NotImplementedError

    def checkpoint(self) -> None:
        """End the running undo step of `set_source` (call when the editor leaves the cell)."""
        raise NotImplementedError

    def undo_operation(self) -> bool:
        """Undo the last operation; False where there is none."""
        raise NotImplementedError

    def redo_operation(self) -> bool:
        """Do the last undone operation again; False where there is none."""
        raise NotImplementedError

    def index_of(self, cell_id: str) -> int:
        """The index of a cell; KeyError where there is none of that id."""
        raise NotImplementedError

    def cell(self, cell_id: str) -> Cell:
        """The cell of that id; KeyError where there is none."""
        return self.cells[self.index_of(cell_id)]

    def clear_outputs(self, cell_id: str | None = None) -> None:
        """Remove outputs and execution counts of one cell, or of all."""
        raise NotImplementedError

    def outputs_changed(self, cell_id: str) -> None:
        """Say that the outputs of a cell changed (after the functions of outputs.py): marks dirty, tells listeners."""
        raise NotImplementedError

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call `callback` after every change; returns the function that ends it."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)
