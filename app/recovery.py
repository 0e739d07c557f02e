"""`tapescope recover`: unsaved work from the journal, listed or written to a file of its own.

It never replaces a file that is there; the journal is let go once its content is safely written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .command_error import FAILED, CommandError
from .notebook import journal
from .notebook.files import save


def show() -> int:
    """Print every unsaved work there is, newest first: when, and of which notebook."""
    found = journal.all_pending()
    for work in found:
        what = work.path if work.path is not None else "(never saved)"
        same = "" if work.differs else "  (the same as the file)"
        print(f"{work.time:%Y-%m-%d %H:%M:%S}  {what}{same}")
    if not found:
        print("There is no unsaved work.", file=sys.stderr)
    return 0


def recover(name: str, target: Path | None) -> Path:
    """Write the unsaved work for the notebook `name` to `target`, or beside it; returns where it is."""
    path = Path(name)
    work = journal.pending(path)
    if work is None:
        raise CommandError(f"There is no unsaved work for {path}. `tapescope recover` lists what there is.", FAILED)
    notebook = journal.recover(work)
    place = target or _free(path.with_name(f"{path.stem}.recovered{path.suffix}"))
    if place.exists():
        raise CommandError(f"{place} is there already and is left as it is; name another with --to.", FAILED)
    save(notebook, place)
    journal.discard(notebook)
    return place


def _free(path: Path) -> Path:
    """`path`, or the first of its numbered variants that is not there."""
    place, number = path, 1
    while place.exists():
        number += 1
        place = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return place
