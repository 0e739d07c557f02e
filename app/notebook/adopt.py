"""Making a document in memory the same as another one, by its own operations: undo leads back, and cells keep their ids.

For a file that changed on disk, and for going back to an earlier generation: the session with its kernel goes on.
"""

from __future__ import annotations

from copy import deepcopy
from difflib import SequenceMatcher

from .document import Notebook

__all__ = ["adopt", "difference"]


def adopt(notebook: Notebook, other: Notebook) -> int:
    """Give `notebook` the cells and metadata of `other`, as one step of undo; returns how many cells changed.

    Cells of the same type and text stay as they are, with their outputs. A cell whose text is another one at the same
    place keeps its id. What the file is (path, format) and whether it is saved stay the caller's business.
    """
    old = [(c.cell_type, c.source) for c in notebook.cells]
    new = [(c.cell_type, c.source) for c in other.cells]
    changed = 0
    with notebook.one_step():
        index = 0
        for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind == "equal":
                index += b - a
                continue
            common = min(b - a, d - c)
            for n in range(common):
                cell, source = notebook.cells[index], other.cells[c + n]
                notebook.change_type(index, source.cell_type)
                notebook.set_source(cell.id, source.source)
                notebook.checkpoint()
                index += 1
            for _ in range(b - a - common):
                notebook.delete(index)
            if d - c > common:
                notebook.paste(index, other.cells[c + common : d])
                index += d - c - common
            changed += max(b - a, d - c)
        for mine, theirs in zip(notebook.cells, other.cells):
            if mine.metadata != theirs.metadata:
                notebook.set_metadata(deepcopy(theirs.metadata), mine.id)
    notebook.metadata = deepcopy(other.metadata)
    return changed


def difference(old: Notebook, new: Notebook) -> list[str]:
    """What `new` changes against `old`, as the lines of a unified diff of the cells' texts; empty where they are equal."""
    import difflib

    before, after = _lines(old), _lines(new)
    return list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]


def _lines(notebook: Notebook) -> list[str]:
    return [line for cell in notebook.cells for line in (f"── {cell.cell_type}", *cell.source.split("\n"))]
