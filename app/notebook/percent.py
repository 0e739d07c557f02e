"""The percent format: a Python file whose cells start with `# %%` lines, as jupytext and editors write it."""

from __future__ import annotations

from .document import Notebook


def reads(text: str) -> Notebook:
    """The notebook in the text of a percent file."""
    raise NotImplementedError


def writes(notebook: Notebook) -> str:
    """The text of the percent file; `reads` gives the same cells again. Lines end with a bare newline."""
    raise NotImplementedError
