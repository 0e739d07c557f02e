"""Keeps what was typed: saving, what is unsaved, and the recovery journal behind it.

It knows the document and the file functions of the notebook room, and no widgets; the app calls `tick` now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ..notebook import files, journal
from ..notebook.document import Change, Notebook
from ..notebook.errors import NotebookError

__all__ = ["JOURNAL_SECONDS", "Keeper"]

JOURNAL_SECONDS = 1.0
"""The journal is written this long after the first change that it lacks (two seconds are promised)."""


class Keeper:
    """The safety of one document. `unsaved` is whether a save would write something new."""

    def __init__(self, notebook: Notebook, clock: Callable[[], float] = time.monotonic) -> None:
        self.notebook = notebook
        self.unsaved = notebook.dirty
        self._clock = clock
        self._due: float | None = clock() if notebook.dirty else None
        self._failed = False
        self._stop = notebook.subscribe(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind == "state":
            return
        if change.kind == "outputs" and self.notebook.format == "py":
            return  # a percent file holds no outputs
        self.unsaved = True
        if self._due is None:
            self._due = self._clock() + JOURNAL_SECONDS

    def tick(self) -> str:
        """Write the journal where it is due; returns a sentence the first time that fails, else ""."""
        if self._due is None or self._clock() < self._due:
            return ""
        return self.write_journal()

    def write_journal(self) -> str:
        """Write the journal now; returns a sentence the first time that fails, else ""."""
        self._due = None
        try:
            journal.record(self.notebook)
        except (OSError, NotebookError) as error:
            first, self._failed = not self._failed, True
            return f"The recovery journal cannot be written ({error}). Save the document to keep it." if first else ""
        self._failed = False
        return ""

    def save(self, path: Path | None = None) -> Path:
        """Write the document. NotebookError with a sentence where that fails; the document stays unsaved then."""
        written = files.save(self.notebook, path)
        self.unsaved = False
        self._due = None
        return written

    def saved(self) -> None:
        """The document is what the file holds: nothing is unsaved."""
        self.notebook.mark_saved()
        self.discard()
        self.unsaved = False

    def changed_on_disk(self) -> bool:
        """Somebody else wrote the file since it was opened or saved here."""
        return self.notebook.path is not None and files.changed_on_disk(self.notebook)

    def discard(self) -> None:
        """Forget the unsaved changes: the journal goes."""
        self._due = None
        journal.discard(self.notebook)

    def close(self) -> None:
        """Stop following the document; what is unsaved goes to the journal."""
        self._stop()
        if self.unsaved and self._due is not None:
            self.write_journal()
