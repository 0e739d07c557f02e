"""The `.ipynb` format, nbformat 4.5: read with everything unknown kept, written with stable diffs."""

from __future__ import annotations

from .document import Notebook


def reads(text: str) -> Notebook:
    """The notebook in the JSON text. NotebookError where it is none."""
    raise NotImplementedError


def writes(notebook: Notebook) -> str:
    """The JSON text: sorted keys, one space of indent, a newline at the end."""
    raise NotImplementedError
