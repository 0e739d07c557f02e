"""The recovery journal: what was typed since the last save, so that a crash loses nothing."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from .document import Notebook


@dataclass(frozen=True, slots=True)
class Recovery:
    """Unsaved work found on disk. `path` is None for a document that never had a name; `key` finds it again."""

    key: str
    path: Path | None
    text: str
    time: datetime.datetime
    differs: bool


def record(notebook: Notebook) -> None:
    """Write the notebook's present content to its journal file (the caller debounces)."""
    raise NotImplementedError


def discard(notebook: Notebook) -> None:
    """Remove the notebook's journal (a successful save does it; call it when the user throws changes away)."""
    raise NotImplementedError


def pending(path: str | PathLike[str] | None = None) -> Recovery | None:
    """The unsaved work for the document at `path`, or None. Without a path: the newest untitled one."""
    raise NotImplementedError


def all_pending() -> list[Recovery]:
    """Every unsaved work there is, newest first."""
    raise NotImplementedError


def recover(path: str | PathLike[str] | Recovery) -> Notebook:
    """The notebook as the journal has it, dirty, at its old path. NotebookError where there is none."""
    raise NotImplementedError
