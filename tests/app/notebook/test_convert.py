"""Conversion between the formats: there and back, nothing that both can hold is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tapescope.app.notebook.convert import convert
from tapescope.app.notebook.errors import NotebookError
from tapescope.app.notebook.files import generations, load

PERCENT = """\
# ---
# jupyter: {}
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # Title
#
# text

# %% Load tags=["a"]
import os
# %time os
# !ls

# %% [raw]
# raw

# %% language="bash"
# ls
"""

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "m", "metadata": {}, "source": ["![x](attachment:x.png)"],
         "attachments": {"x.png": {"image/png": "AAAA"}}},
        {"cell_type": "code", "id": "c", "metadata": {"tags": ["t"], "a b": 1}, "execution_count": 2, "source": ["!ls\n", "x"],
         "outputs": [{"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]}]},
    ],
    "metadata": {"kernelspec": {"name": "k", "display_name": "K"}, "own": {"x": 1}},
    "nbformat": 4, "nbformat_minor": 5, "unknown": True,
}  # fmt: skip


def test_percent_to_ipynb_and_back(tmp_path: Path):
    source = tmp_path / "a.py"
    source.write_text(PERCENT)
    middle = convert(source, tmp_path / "b.ipynb")
    assert middle == tmp_path / "b.ipynb"
    assert [cell.cell_type for cell in load(middle)] == ["markdown", "code", "raw", "code"]
    back = convert(middle, tmp_path / "c.py")
    assert back.read_text() == PERCENT
    assert source.read_text() == PERCENT


def test_ipynb_to_percent_and_back(tmp_path: Path):
    source = tmp_path / "a.ipynb"
    source.write_text(json.dumps(NOTEBOOK, indent=1, sort_keys=True) + "\n")
    middle = convert(source, tmp_path / "b.py")
    assert middle.read_text() == (
        '# %% [markdown]\n# ![x](attachment:x.png)\n\n# %% {"a b": 1, "tags": ["t"]}\n# !ls\nx\n'
    )
    back = convert(middle, tmp_path / "c.ipynb")
    assert back.read_text() == source.read_text()


def test_what_cannot_be_converted(tmp_path: Path):
    source = tmp_path / "a.py"
    source.write_text(PERCENT)
    target = tmp_path / "b.ipynb"
    target.write_text("mine")
    with pytest.raises(NotebookError, match="is there already and is left as it is"):
        convert(source, target)
    assert target.read_text() == "mine"
    convert(source, target, overwrite=True)
    assert generations(target)[0].path.read_text() == "mine"
    (tmp_path / "link.py").symlink_to(source)
    with pytest.raises(NotebookError, match="are the same file"):
        convert(source, tmp_path / "link.py", overwrite=True)
    with pytest.raises(NotebookError, match="no kind of notebook"):
        convert(source, tmp_path / "a.md")
    with pytest.raises(NotebookError, match="There is no file"):
        convert(tmp_path / "none.py", tmp_path / "x.ipynb")
    target.write_text("{}")
    with pytest.raises(NotebookError, match="no notebook"):
        convert(target, tmp_path / "x.py")
    assert not (tmp_path / "x.py").exists()
