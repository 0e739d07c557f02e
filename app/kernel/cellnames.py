"""Names of cell runs: the pseudo file name under which a cell's code is compiled.

The name carries the cell's id and the revision of its text, so that a traceback, a tape node or a kernel
record that names a file can be led back to the cell *and* to the text it had when it ran.  This file knows
only the names; `core` registers the text with `linecache`.
"""

from __future__ import annotations

import re

_CELL = re.compile(r"<cell (?P<cell>.+):(?P<revision>\d+)>", re.DOTALL)


def cell_filename(cell: str, revision: int) -> str:
    """The file name of revision `revision` of cell `cell`, for instance ``<cell 3f2a:7>``."""
    return f"<cell {cell}:{revision}>"


def parse_cell_filename(name: str) -> tuple[str, int] | None:
    """`(cell, revision)` of a name made by `cell_filename`, or None for the name of any other file."""
    match = _CELL.fullmatch(name)
    return (match["cell"], int(match["revision"])) if match else None
