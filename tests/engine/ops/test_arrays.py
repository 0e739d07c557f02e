"""Expressions that move elements, index, multiply, solve and transform give what PyTorch gives (tests/golden/ops/arrays)."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

from tapescope import engine

GOLDEN = Path(__file__).parents[2] / "golden"
sys.path.insert(0, str(GOLDEN))
from make_arrays import run

FILES = sorted((GOLDEN / "ops" / "arrays").glob("*.txt"))


def same(want, got):
    if isinstance(want, dict) and isinstance(got, dict):
        a, b = want["tensor"], got["tensor"]
        return a[0] == b[0] and a[1] == b[1] and a[3] == b[3] and near(a[2], b[2])
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(same(a, b) for a, b in zip(want, got))
    return want == got or near(want, got)


def near(a, b):
    """Numbers and nested lists of them, close to the largest among them."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=2e-4, abs_tol=2e-5)
    return a == b


@pytest.mark.parametrize("source", FILES, ids=lambda p: p.stem)
def test_expressions(source):
    frozen = json.loads(source.with_suffix(".json").read_text())
    rows = run(engine, source.read_text())
    assert [r[0] for r in rows] == [r[0] for r in frozen], (
        "run tests/golden/make_arrays.py: the expressions have changed"
    )
    wrong = [
        f"{want[0]}\n  wanted {want[1:]}\n  got    {got[1:]}"
        for want, got in zip(frozen, rows)
        if want[1] != got[1] or not same(want[2], got[2])
    ]
    assert not wrong, "\n".join(wrong)


def test_there_are_expressions():
    assert len(FILES) >= 8
