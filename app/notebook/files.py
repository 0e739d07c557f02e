"""Documents on disk: load and save, atomically, with earlier generations kept. The formats stand elsewhere."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from .document import Notebook
from .errors import NotebookError

__all__ = [
    "Generation",
    "NotebookError",
    "changed_on_disk",
    "generations",
    "load",
    "new_notebook",
    "save",
]

KEPT_GENERATIONS = 20


@dataclass(frozen=True, slots=True)
class Generation:
    """An earlier content of a document: `path` is the copy, `time` when it was replaced."""

    path: Path
    time: datetime.datetime
    size: int


def load(path: str | PathLike[str]) -> Notebook:
    """Read a `.py` or `.ipynb` document. NotebookError with a sentence for everything that can be wrong."""
    raise NotImplementedError


def save(notebook: Notebook, path: str | PathLike[str] | None = None) -> Path:
    """Write the notebook where it lives, or to `path` (where it lives from then on). NotebookError on failure."""
    raise NotImplementedError


def changed_on_disk(notebook: Notebook) -> bool:
    """True where the file differs from what was last loaded or saved (or is gone)."""
    raise NotImplementedError


def generations(path: str | PathLike[str]) -> list[Generation]:
    """Earlier contents of the document at `path`, newest first."""
    raise NotImplementedError


def new_notebook(kind: str = "empty") -> Notebook:
    """An untitled notebook from a template: "empty" or "model"."""
    raise NotImplementedError
