"""Conversion between the notebook formats, by path."""

from __future__ import annotations

from os import PathLike
from pathlib import Path


def convert(source: str | PathLike[str], target: str | PathLike[str], overwrite: bool = False) -> Path:
    """Write the document `source` as `target`; the suffixes say the formats. NotebookError on failure."""
    raise NotImplementedError
