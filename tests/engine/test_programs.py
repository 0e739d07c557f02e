"""Small programs print letter for letter what PyTorch prints (tests/golden/*/programs)."""

from __future__ import annotations

import contextlib
import io
import warnings
from pathlib import Path

import pytest

from tapescope import engine

PROGRAMS = sorted((Path(__file__).parents[1] / "golden").glob("*/programs/*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: f"{p.parts[-3]}-{p.stem}")
def test_program(path):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine.manual_seed(0)
        exec(compile(path.read_text(), str(path), "exec"), {"torch": engine, "__name__": path.stem})
    assert said.getvalue() == path.with_suffix(".out").read_text()
