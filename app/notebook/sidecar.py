"""What a percent file cannot hold, as the text of a second file beside it: outputs, cell ids, attachments, metadata.

`writes` makes the text and `apply` puts it back into a notebook just read; files.py and loading.py know where the file
lives. Cells are found again by their text, so that outputs survive an edit in another editor wherever they still fit.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from pathlib import Path
from typing import Any

from .document import Cell, Notebook, with_newlines
from .errors import NotebookError
from .ipynb import output_content, parse_object, read_output

VERSION = 1
FOLDER = ".tapescope"


def path_for(document: Path) -> Path:
    """Where the sidecar of a document lies: `.tapescope/NAME.outputs.json` beside it."""
    return document.parent / FOLDER / f"{document.name}.outputs.json"


def writes(notebook: Notebook, usual_metadata: dict[str, Any]) -> str | None:
    """The text for the notebook, or None where there is nothing to keep.

    Metadata equal to `usual_metadata` are not worth a file of their own.
    """
    cells = [_content(cell) for cell in notebook.cells]
    kept = any(content.keys() - {"id", "text"} for content in cells)
    if not kept and not notebook.extra and notebook.metadata in ({}, usual_metadata):
        return None
    content = {"version": VERSION, "metadata": notebook.metadata, "extra": notebook.extra, "cells": cells}
    try:
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=True) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise NotebookError(f"the outputs hold something that JSON cannot ({error})") from error


def apply(notebook: Notebook, text: str) -> None:
    """Give the cells what the sidecar knows of them. NotebookError, and nothing applied, where the text is damaged."""
    content = parse_object(text)
    if content.get("version") != VERSION:
        raise NotebookError(f"it has version {content.get('version')!r}, not {VERSION}")
    metadata, extra = _object(content.get("metadata", {})), _object(content.get("extra", {}))
    found = content.get("cells")
    if not isinstance(found, list):
        raise NotebookError("its cells are missing")
    stored = [_read(each) for each in found]
    notebook.metadata, notebook.extra = metadata, extra
    texts = [_text_key(cell) for cell in notebook.cells]
    matcher = difflib.SequenceMatcher(None, [key for key, _ in stored], texts, autojunk=False)
    taken: set[str] = set()
    for _, a, a_end, b, b_end in matcher.get_opcodes():
        # Where as many cells were edited as there were, they are the same cells with a new text: the id stays.
        if a_end - a != b_end - b:
            continue
        for (key, old), cell in zip(stored[a:a_end], notebook.cells[b:b_end]):
            if old.id not in taken:
                taken.add(old.id)
                cell.id = old.id
            if key == _text_key(cell):
                cell.execution_count, cell.extra = old.execution_count, old.extra
                cell.outputs = old.outputs if cell.cell_type == "code" else []


def _content(cell: Cell) -> dict[str, Any]:
    content: dict[str, Any] = {"id": cell.id, "text": _text_key(cell)}
    if cell.outputs:
        content["outputs"] = [output_content(output) for output in cell.outputs]
    if cell.execution_count is not None:
        content["execution_count"] = cell.execution_count
    if cell.extra:
        content["extra"] = cell.extra
    return content


def _read(found: Any) -> tuple[str, Cell]:
    content = _object(found)
    cell_id, key, count = content.get("id"), content.get("text"), content.get("execution_count")
    outputs = content.get("outputs", [])
    if not isinstance(cell_id, str) or not isinstance(key, str) or not isinstance(outputs, list):
        raise NotebookError("a cell in it is damaged")
    cell = Cell(
        id=cell_id, outputs=[read_output(output) for output in outputs], extra=_object(content.get("extra", {}))
    )
    cell.execution_count = count if type(count) is int else None
    return key, cell


def _text_key(cell: Cell) -> str:
    text = f"{cell.cell_type}\n{with_newlines(cell.source)}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NotebookError("it is damaged")
    return value
