"""Conversion between the notebook formats, by path. What each format can hold is the business of its module."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import NotebookError
from .files import save
from .loading import format_of, load


def convert(source: str | os.PathLike[str], target: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Write the document `source` as `target` and return its absolute path; the suffixes say the formats.

    Everything that both sides can hold is kept: cells, metadata, attachments, the header of a percent file, and outputs
    and ids (beside a `.py`, in its sidecar). The source is not touched. NotebookError on failure, and where `target` is
    there already unless `overwrite`; what it held then is one of its generations.
    """
    source, target = Path(os.path.abspath(source)), Path(os.path.abspath(target))
    format_of(target)
    notebook = load(source)
    if os.path.realpath(source) == os.path.realpath(target):
        raise NotebookError(f"{source} and {target} are the same file; name another one.")
    if target.exists() and not overwrite:
        raise NotebookError(f"{target} is there already and is left as it is; name another file, or remove it first.")
    return save(notebook, target)
