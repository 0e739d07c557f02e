"""The recovery journal: what was typed since the last save, so that a crash loses nothing.

Each session writes one small file per document in the state folder, replaced whole each time, so that it can be killed
at any moment. Outputs are left out; they are taken from the document on disk where its cells still match. A session
never touches the journal of another one, so that unsaved work stays until somebody recovers or discards it.
"""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .document import CELL_TYPES, Cell, Notebook
from .errors import NotebookError
from .loading import FORMATS, DiskState, load
from .markers import canonical
from .state import digest, document_key, state_dir, write_atomically

VERSION = 1
_UNTITLED = "untitled"


@dataclass(frozen=True, slots=True)
class Recovery:
    """Unsaved work found on disk.

    Attributes:
        key: finds it again.
        path: the document; None if it never had a name.
        text: the document as it would be saved, outputs left out.
        time: of the last change that is in it (UTC).
        differs: it is not what the document on disk says now. Only then is there something to recover.
        disk_changed: another program has written the document since.
    """

    key: str
    path: Path | None
    text: str
    time: datetime.datetime
    differs: bool
    disk_changed: bool = False


def record(notebook: Notebook) -> None:
    """Write the notebook's present content to its journal file (the caller debounces); without changes, remove it.

    NotebookError where the state folder cannot be written.
    """
    if not notebook.dirty:
        discard(notebook)
        return
    content = _content(notebook)
    text = json.dumps({"content": content, "digest": _sum(content)}, ensure_ascii=True, default=str)
    name = _UNTITLED if notebook.path is None else document_key(notebook.path)
    place = _folder() / f"{name}.{notebook.session}.json"
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(place, text.encode(), mode=0o600)
    except OSError as error:
        reason = error.strerror or error
        raise NotebookError(f"The recovery journal {place} cannot be written: {reason}. Save the document.") from error
    _remove(notebook.session, keep=place)


def discard(work: Notebook | Recovery) -> None:
    """Remove a journal: of a notebook (a successful save does it), or what was found and is not wanted."""
    _remove(work.session if isinstance(work, Notebook) else work.key.rpartition(".")[2])


def pending(path: str | os.PathLike[str] | None = None) -> Recovery | None:
    """The unsaved work for the document at `path`, or None. Without a path: the newest untitled one."""
    found = _find(_UNTITLED if path is None else document_key(path))
    return found[0] if found else None


def all_pending() -> list[Recovery]:
    """Every unsaved work there is, newest first."""
    return _find("*")


def recover(work: str | os.PathLike[str] | Recovery) -> Notebook:
    """The notebook as the journal has it, dirty, at its old path. NotebookError where there is none.

    The notebook carries the journal on: it stays on disk until the notebook is saved or the journal discarded.
    """
    if not isinstance(work, Recovery):
        found = pending(work)
        if found is None:
            raise NotebookError(f"There is no unsaved work for {work}.")
        work = found
    content = _read(_folder() / f"{work.key}.json")
    if content is None:
        raise NotebookError("This unsaved work is not there any more, or its file is damaged.")
    notebook = _notebook(content)
    notebook.session = work.key.rpartition(".")[2]
    notebook.dirty = True
    on_disk = _on_disk(notebook.path)
    if on_disk is not None:
        _take_over(notebook, on_disk)
        if isinstance(on_disk.disk, DiskState) and on_disk.disk.digest == content["disk"]:
            notebook.disk = on_disk.disk
    if notebook.disk is None and content["disk"]:
        notebook.disk = DiskState(0, -1, content["disk"])  # files.changed_on_disk then says yes
    return notebook


# -- the file -------------------------------------------------------------------------------------------


def _folder() -> Path:
    return state_dir() / "journal"


def _remove(session: str, keep: Path | None = None) -> None:
    # A document that was saved under another name leaves a journal under its old one.
    for place in _folder().glob(f"*.{session}.json"):
        if place != keep:
            place.unlink(missing_ok=True)


def _find(name: str) -> list[Recovery]:
    found: list[Recovery] = []
    for place in _folder().glob(f"{name}.*.json"):
        content = _read(place)
        if content is None:
            continue
        notebook = _notebook(content)
        on_disk = _on_disk(notebook.path)
        found.append(
            Recovery(
                key=place.name.removesuffix(".json"),
                path=notebook.path,
                text=FORMATS[notebook.format].writes(notebook),
                time=datetime.datetime.fromisoformat(content["time"]),
                differs=_essence(notebook) != _essence(on_disk),
                disk_changed=_digest_of(on_disk) != content["disk"],
            )
        )
    return sorted(found, key=lambda work: work.time, reverse=True)


def _content(notebook: Notebook) -> dict[str, Any]:
    known = notebook.disk
    return {
        "version": VERSION,
        "time": datetime.datetime.now(datetime.UTC).isoformat(),
        "path": None if notebook.path is None else str(notebook.path),
        "disk": known.digest if isinstance(known, DiskState) else None,
        "format": notebook.format,
        "newline": notebook.newline,
        "byte_order_mark": notebook.byte_order_mark,
        "header": notebook.header,
        "metadata": notebook.metadata,
        "extra": notebook.extra,
        "cells": [
            {"id": c.id, "cell_type": c.cell_type, "source": c.source, "metadata": c.metadata, "extra": c.extra}
            for c in notebook.cells
        ],
    }


def _read(place: Path) -> dict[str, Any] | None:
    """The content of a journal file; None where it is torn, or not one of ours."""
    try:
        found = json.loads(place.read_bytes())
        content = found["content"]
        _notebook(content)
        whole = content["version"] == VERSION and _sum(content) == found["digest"]
        datetime.datetime.fromisoformat(content["time"])
        return content if whole else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _sum(content: dict[str, Any]) -> str:
    return digest(json.dumps(content, sort_keys=True, default=str).encode())


# -- notebooks ------------------------------------------------------------------------------------------


def _notebook(content: dict[str, Any]) -> Notebook:
    cells = [Cell(**cell) for cell in content["cells"]]
    if content["format"] not in FORMATS or any(cell.cell_type not in CELL_TYPES for cell in cells):
        raise ValueError("a journal of a format that is not known here")
    path = content["path"]
    notebook = Notebook(cells, content["metadata"], None if path is None else Path(path), content["format"])
    notebook.newline, notebook.byte_order_mark = content["newline"], content["byte_order_mark"]
    notebook.header, notebook.extra = content["header"], content["extra"]
    return notebook


def _on_disk(path: Path | None) -> Notebook | None:
    try:
        return None if path is None else load(path)
    except NotebookError:
        return None


def _digest_of(notebook: Notebook | None) -> str | None:
    return notebook.disk.digest if notebook is not None and isinstance(notebook.disk, DiskState) else None


def _essence(notebook: Notebook | None) -> list[tuple[str, str, str]]:
    if notebook is None:
        return []
    cells = [(c.cell_type, c.source, canonical(c.metadata)) for c in notebook.cells]
    return [] if cells == [("code", "", "{}")] else cells


def _take_over(notebook: Notebook, on_disk: Notebook) -> None:
    """Give the cells the outputs, and the way of writing them, of the same cells on disk."""
    by_id = {cell.id: cell for cell in on_disk.cells}
    by_text: dict[tuple[str, str], list[Cell]] = {}
    for cell in on_disk.cells:
        by_text.setdefault((cell.cell_type, cell.source), []).append(cell)
    for cell in notebook.cells:
        same_text = by_text.get((cell.cell_type, cell.source), [])
        old = by_id.get(cell.id) or (same_text.pop(0) if same_text else None)
        if old is None:
            continue
        cell.origin = old.origin
        if cell.cell_type == old.cell_type == "code":
            cell.outputs, cell.execution_count = old.outputs, old.execution_count
