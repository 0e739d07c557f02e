"""Notebooks in other forms: `.ipynb`, percent `.py`, Markdown, and one HTML page. One entry in `EXPORTS` is one form.

An export is a copy: the document, its path and what is unsaved stay as they are.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .document import Cell, Notebook
from .errors import NotebookError
from .loading import FORMATS
from .state import write_atomically

__all__ = ["EXPORTS", "Export", "export", "markdown", "title_of"]


@dataclass(frozen=True, slots=True)
class Export:
    """One form: what it is called, and the function that writes it."""

    summary: str
    writes: Callable[[Notebook], str]


def export(notebook: Notebook, target: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the notebook as `target`, whose suffix says the form; returns its absolute path.

    NotebookError for an unknown suffix, where the file is there already (unless `overwrite`), and where writing fails.
    """
    path = Path(os.path.abspath(target))
    form = EXPORTS.get(path.suffix.lower())
    if form is None:
        known = ", ".join(f"{suffix} ({e.summary})" for suffix, e in EXPORTS.items())
        raise NotebookError(
            f"{path.name}: a notebook cannot be exported as {path.suffix or 'a file without suffix'}. Use {known}."
        )
    if path.exists() and not overwrite:
        raise NotebookError(f"{path} is there already and is left as it is; name another file.")
    if notebook.path is not None and os.path.realpath(path) == os.path.realpath(notebook.path):
        raise NotebookError(f"{path} is the notebook itself; export it under another name.")
    text = form.writes(notebook)
    try:
        write_atomically(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise NotebookError(f"{path} was not written: {error.strerror or error}.") from error
    return path


def title_of(notebook: Notebook) -> str:
    """The first heading, else the file's name."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.split("\n"):
                if line.startswith("# ") and line[2:].strip():
                    return line[2:].strip()
    return notebook.path.stem if notebook.path is not None else "Notebook"


# -- the two formats ------------------------------------------------------------------------------------


def _in_format(kind: Any) -> Callable[[Notebook], str]:
    def writes(notebook: Notebook) -> str:
        from .files import DEFAULT_METADATA

        other = Notebook([copy.copy(cell) for cell in notebook.cells], dict(notebook.metadata), notebook.path, kind)
        if kind == "ipynb" and not other.metadata.keys() & DEFAULT_METADATA.keys():
            other.metadata = {**copy.deepcopy(DEFAULT_METADATA), **other.metadata}
        return FORMATS[kind].writes(other)

    return writes


# -- Markdown -------------------------------------------------------------------------------------------


def markdown(notebook: Notebook) -> str:
    """The notebook as Markdown: text as it is, code in fences, outputs as text, pictures inline."""
    parts = [_markdown_cell(cell) for cell in notebook.cells]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_cell(cell: Cell) -> str:
    if cell.cell_type == "markdown":
        return cell.source.strip("\n")
    if cell.cell_type == "raw":
        return _fence(cell.source, "")
    parts = [_fence(cell.source, "python")] if cell.source.strip() else []
    for output in cell.outputs:
        if shown := _markdown_output(output):
            parts.append(shown)
    return "\n\n".join(parts)


def _fence(text: str, language: str) -> str:
    """A fenced block, with a fence longer than any in it."""
    longest = max((len(run) for run in _backticks(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _backticks(text: str) -> list[str]:
    import re

    return re.findall(r"`{3,}", text)


def text_of(value: Any) -> str:
    """nbformat's multi-line strings, without escape sequences."""
    import re

    text = "".join(part for part in value if isinstance(part, str)) if isinstance(value, list) else str(value or "")
    return re.sub(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?", "", text)


def _markdown_output(output: dict[str, Any]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _fence(text_of(output.get("text")), "text") if text_of(output.get("text")).strip() else ""
    if kind == "error":
        return _fence(text_of("\n".join(map(text_of, output.get("traceback") or []))), "text")
    data = output.get("data") if isinstance(output.get("data"), dict) else {}
    assert isinstance(data, dict)
    for mime in ("image/png", "image/jpeg", "image/gif"):
        if mime in data:
            return f"![output](data:{mime};base64,{''.join(text_of(data[mime]).split())})"
    if "text/markdown" in data:
        return text_of(data["text/markdown"]).strip("\n")
    if "text/latex" in data:
        return text_of(data["text/latex"]).strip("\n")
    text = text_of(data.get("text/plain"))
    return _fence(text, "text") if text.strip() else ""


def _html(notebook: Notebook) -> str:
    from .export_html import html_page  # it knows more libraries than the other forms

    return html_page(notebook)


EXPORTS: dict[str, Export] = {
    ".html": Export("one page with outputs and views", _html),
    ".md": Export("Markdown", markdown),
    ".ipynb": Export("Jupyter", _in_format("ipynb")),
    ".py": Export("percent cells", _in_format("py")),
}
"""Every form, by suffix."""
