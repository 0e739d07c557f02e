"""The notebook as a document in memory: cells, the operations on them, undo, and who wants to hear of changes.

It knows no file format (percent.py, ipynb.py), no file system (files.py, journal.py), no kernel and no screen.
How outputs are put into a cell is the subject of outputs.py.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

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
    outputs   the cell  where it is           -
    metadata  the cell  where it is           -
    state     None      -1                    -         (`dirty`, `path` or `format` changed)

    An operation of several steps is told step by step once all are done: `split` is a source change and an insert,
    `merge` a source change and a delete.
    """

    kind: Literal["insert", "delete", "move", "source", "type", "outputs", "metadata", "state"]
    cell_id: str | None = None
    index: int = -1
    previous: int = -1


class Notebook:
    """A document: an ordered list of cells, metadata, where it lives, and the operations on it.

    Every operation marks the notebook dirty, can be undone without limit, and tells the listeners once it is done.
    Cells keep their identity: undoing a deletion brings the same `Cell` object back, outputs included. Change `cells`
    only through the operations.

    Attributes beside those of the constructor:
        dirty: there are changes that no save has written.
        warnings: sentences about what the reader had to leave out or repair.
        header: what a percent file has above its first cell (a YAML comment block), byte for byte.
        newline: the line ending of the file, "\\n" or "\\r\\n"; sources always use "\\n".
        byte_order_mark: the file starts with one (and will again).
        extra: unknown keys at the top of an `.ipynb`.
        session: names the recovery journal of this document in this session (hexadecimal digits).
        disk: what files.py remembers of the file on disk.
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
        self.header = ""
        self.newline: Literal["\n", "\r\n"] = "\n"
        self.extra: dict[str, Any] = {}
        self.byte_order_mark = False
        self.session = secrets.token_hex(8)
        self.disk: Any = None
        self._listeners: list[Callable[[Change], None]] = []
        self._done: list[list[_Step]] = []
        self._undone: list[list[_Step]] = []
        self._open_edit = False
        self._group: list[_Step] | None = None

    # -- operations ---------------------------------------------------------------------------------

    def insert(self, index: int, cell_type: CellType = "code", source: str = "") -> Cell:
        """Put a new cell at `index` (0 to len(cells)) and return it. IndexError outside."""
        cell = Cell(self._fresh_id(), _checked_type(cell_type), with_newlines(source))
        self._do(_Insert(self._checked_gap(index), cell))
        return cell

    def paste(self, index: int, cells: Iterable[Cell]) -> list[Cell]:
        """Put copies of `cells` at `index`, outputs and metadata included, under new ids; one undo step."""
        self._checked_gap(index)
        copies: list[Cell] = []
        for cell in cells:
            copy = Cell(
                id=self._fresh_id({c.id for c in copies}),
                cell_type=cell.cell_type,
                source=cell.source,
                metadata=deepcopy(cell.metadata),
                outputs=deepcopy(cell.outputs),
                execution_count=cell.execution_count,
                extra=deepcopy(cell.extra),
            )
            copies.append(copy)
        if copies:
            self._do(*(_Insert(index + n, copy) for n, copy in enumerate(copies)))
        return copies

    def delete(self, index: int) -> Cell:
        """Remove the cell at `index` and return it."""
        cell = self.cells[self._checked_index(index)]
        self._do(_Delete(index, cell))
        return cell

    def move(self, index: int, to: int) -> None:
        """Move the cell at `index` so that it ends up at index `to`."""
        self._checked_index(index)
        if index != self._checked_index(to):
            self._do(_Move(index, to, self.cells[index]))

    def split(self, index: int, offset: int) -> Cell:
        """Split the cell at character `offset` of its source; returns the new lower cell.

        The upper cell keeps id and outputs. A newline at the place of the split belongs to
        neither (`merge` puts it back).
        """
        cell = self.cells[self._checked_index(index)]
        if not 0 <= offset <= len(cell.source):
            raise IndexError(f"cannot split at character {offset}: the cell has {len(cell.source)} characters")
        upper, lower = cell.source[:offset], cell.source[offset:]
        if lower.startswith("\n"):
            lower = lower[1:]
        elif upper.endswith("\n"):
            upper = upper[:-1]
        below = Cell(self._fresh_id(), cell.cell_type, lower, extra=deepcopy(cell.extra))
        self._do(_edit(cell, "source", source=upper), _Insert(index + 1, below))
        return below

    def merge(self, index: int) -> Cell:
        """Join the cell at `index` with the next one, with a newline between; returns it. Its id and outputs stay."""
        cell = self.cells[self._checked_index(index)]
        if index + 1 >= len(self.cells):
            raise IndexError("cannot merge the last cell: there is no cell below it")
        below = self.cells[index + 1]
        extra = deepcopy(cell.extra)
        if attachments := below.extra.get("attachments"):
            extra["attachments"] = {
                **deepcopy(attachments),
                **extra.get("attachments", {}),
            }
        source = cell.source + "\n" + below.source
        self._do(_edit(cell, "source", source=source, extra=extra), _Delete(index + 1, below))
        return cell

    def change_type(self, index: int, cell_type: CellType) -> None:
        """Make the cell a code, markdown or raw cell. Outputs leave with the code type (and come back with undo)."""
        cell = self.cells[self._checked_index(index)]
        if cell.cell_type == _checked_type(cell_type):
            return
        if cell.cell_type == "code":
            self._do(_edit(cell, "type", cell_type=cell_type, outputs=[], execution_count=None))
        else:
            self._do(_edit(cell, "type", cell_type=cell_type))

    def set_source(self, cell_id: str, text: str) -> None:
        """Replace the text of a cell. Consecutive edits of one cell are one undo step until `checkpoint`."""
        cell = self.cell(cell_id)
        text = with_newlines(text)
        if cell.source == text:
            return
        step = _edit(cell, "source", source=text)
        if self._open_edit and self._group is None and self._done and not self._undone:
            last = self._done[-1][-1]
            if isinstance(last, _Edit) and last.cell is cell:
                last.after["source"] = text
                self._tell(step.apply(self))
                return
        self._do(step)
        self._open_edit = True

    def checkpoint(self) -> None:
        """End the running undo step of `set_source` (call when the editor leaves the cell)."""
        self._open_edit = False

    def set_metadata(self, metadata: dict[str, Any], cell_id: str) -> None:
        """Replace the metadata of a cell."""
        self._do(_edit(self.cell(cell_id), "metadata", metadata=metadata))

    def clear_outputs(self, cell_id: str | None = None) -> None:
        """Remove outputs and execution counts of one cell, or of all; one undo step.

        Undo brings them back only into cells that have no newer outputs.
        """
        cells = self.cells if cell_id is None else [self.cell(cell_id)]
        filled = [c for c in cells if c.outputs or c.execution_count is not None]
        if filled:
            self._do(*(_edit(c, "outputs", outputs=[], execution_count=None) for c in filled))

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """Everything done inside the `with` block is undone at once."""
        if self._group is not None:
            yield
            return
        self._group = []
        try:
            yield
        finally:
            steps, self._group = self._group, None
            if steps:
                self._remember(steps)

    # -- undo ---------------------------------------------------------------------------------------

    def undo_operation(self) -> bool:
        """Undo the last operation; False where there is none."""
        if not self._done:
            return False
        steps = self._done.pop()
        self._undone.append(steps)
        self._open_edit = False
        self._tell(*[step.revert(self) for step in reversed(steps)])
        return True

    def redo_operation(self) -> bool:
        """Do the last undone operation again; False where there is none."""
        if not self._undone:
            return False
        steps = self._undone.pop()
        self._done.append(steps)
        self._open_edit = False
        self._tell(*[step.apply(self) for step in steps])
        return True

    # -- looking and listening ----------------------------------------------------------------------

    def index_of(self, cell_id: str) -> int:
        """The index of a cell; KeyError where there is none of that id."""
        for index, cell in enumerate(self.cells):
            if cell.id == cell_id:
                return index
        raise KeyError(f"no cell has the id {cell_id!r}")

    def cell(self, cell_id: str) -> Cell:
        """The cell of that id; KeyError where there is none."""
        return self.cells[self.index_of(cell_id)]

    def find(self, cell_id: str) -> Cell | None:
        """The cell of that id, or None (late events of a kernel may name a cell that was deleted)."""
        return next((cell for cell in self.cells if cell.id == cell_id), None)

    def outputs_changed(self, cell_id: str) -> None:
        """Say that the outputs of a cell changed (after the functions of outputs.py): marks dirty, tells listeners."""
        self._tell(Change("outputs", cell_id, self.index_of(cell_id)))

    def mark_saved(self) -> None:
        """The document on disk is this one: not dirty any more."""
        self.dirty = False
        self._notify(Change("state"))

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call `callback` after every change; returns the function that ends it."""
        self._listeners.append(callback)

        def unsubscribe() -> None:
            if callback in self._listeners:
                self._listeners.remove(callback)

        return unsubscribe

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        return (
            f"<Notebook {self.path or 'untitled'}: {len(self.cells)} cells{', unsaved changes' if self.dirty else ''}>"
        )

    # -- inside -------------------------------------------------------------------------------------

    def _do(self, *steps: _Step) -> None:
        changes = [step.apply(self) for step in steps]
        if self._group is not None:
            self._group.extend(steps)
        else:
            self._remember(list(steps))
        self._tell(*changes)

    def _remember(self, steps: list[_Step]) -> None:
        self._done.append(steps)
        self._undone.clear()
        self._open_edit = False

    def _tell(self, *changes: Change) -> None:
        was_dirty, self.dirty = self.dirty, True
        if not was_dirty:
            self._notify(Change("state"))
        for change in changes:
            self._notify(change)

    def _notify(self, change: Change) -> None:
        for listener in tuple(self._listeners):
            listener(change)

    def _fresh_id(self, others: Container[str] = ()) -> str:
        taken = {cell.id for cell in self.cells}
        while (fresh := new_cell_id()) in taken or fresh in others:
            pass
        return fresh

    def _checked_index(self, index: int) -> int:
        if not 0 <= index < len(self.cells):
            raise IndexError(f"there is no cell {index}: the notebook has {len(self.cells)} cells, counted from 0")
        return index

    def _checked_gap(self, index: int) -> int:
        if not 0 <= index <= len(self.cells):
            raise IndexError(f"no cell can stand at {index}: the notebook has {len(self.cells)} cells, counted from 0")
        return index


def _checked_type(cell_type: str) -> CellType:
    for known in CELL_TYPES:
        if cell_type == known:
            return known
    raise ValueError(f"{cell_type!r} is no type of cell; use one of {', '.join(CELL_TYPES)}")


def with_newlines(text: str) -> str:
    """`text` with every line ending as a newline, whatever it was pasted from."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


# -- steps: what one operation does to the document, both ways -----------------------------------------


class _Step(Protocol):
    def apply(self, notebook: Notebook) -> Change: ...
    def revert(self, notebook: Notebook) -> Change: ...


@dataclass(slots=True)
class _Insert:
    index: int
    cell: Cell

    def apply(self, notebook: Notebook) -> Change:
        notebook.cells.insert(self.index, self.cell)
        return Change("insert", self.cell.id, self.index)

    def revert(self, notebook: Notebook) -> Change:
        del notebook.cells[self.index]
        return Change("delete", self.cell.id, self.index)


@dataclass(slots=True)
class _Delete:
    index: int
    cell: Cell

    def apply(self, notebook: Notebook) -> Change:
        return _Insert(self.index, self.cell).revert(notebook)

    def revert(self, notebook: Notebook) -> Change:
        return _Insert(self.index, self.cell).apply(notebook)


@dataclass(slots=True)
class _Move:
    index: int
    to: int
    cell: Cell

    def apply(self, notebook: Notebook) -> Change:
        notebook.cells.insert(self.to, notebook.cells.pop(self.index))
        return Change("move", self.cell.id, self.to, self.index)

    def revert(self, notebook: Notebook) -> Change:
        return _Move(self.to, self.index, self.cell).apply(notebook)


@dataclass(slots=True)
class _Edit:
    """Fields of one cell, before and after."""

    cell: Cell
    kind: Literal["source", "type", "outputs", "metadata"]
    before: dict[str, Any]
    after: dict[str, Any]

    def apply(self, notebook: Notebook) -> Change:
        # Outputs may have changed between an undo and this redo: what is here now is what the next undo brings back.
        self.before = {name: getattr(self.cell, name) for name in self.after}
        return self._put(notebook, self.after)

    def revert(self, notebook: Notebook) -> Change:
        values = self.before
        if self.after.get("outputs") == [] and self.cell.outputs:
            # A run since then has left newer outputs: they are worth more than the ones this step removed.
            values = {name: value for name, value in values.items() if name not in ("outputs", "execution_count")}
        return self._put(notebook, values)

    def _put(self, notebook: Notebook, values: dict[str, Any]) -> Change:
        cell = self.cell
        for name, value in values.items():
            if name == "source" and value != cell.source:
                cell.revision += 1
            setattr(cell, name, list(value) if name == "outputs" else value)
        if "outputs" in values:
            cell.output_state = None
        return Change(self.kind, cell.id, notebook.index_of(cell.id))


def _edit(cell: Cell, kind: Literal["source", "type", "outputs", "metadata"], **after: Any) -> _Edit:
    return _Edit(cell, kind, {name: getattr(cell, name) for name in after}, after)
