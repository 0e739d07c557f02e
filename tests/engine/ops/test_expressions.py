"""Short expressions print, or are refused, as by PyTorch (tests/golden/ops/expressions.json)."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import pytest

from tapescope import engine

GOLDEN = Path(__file__).parents[2] / "golden"
sys.path.insert(0, str(GOLDEN))
from make_expressions import outcome

FROZEN = json.loads((GOLDEN / "ops" / "expressions.json").read_text())


@pytest.mark.parametrize("group", FROZEN)
def test_expressions(group):
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression, (kind, words) in FROZEN[group].items():
            got = outcome(engine, expression)
            if got[0] != kind or (words and got[1] != words):
                wrong.append(f"{expression}\n  wanted {kind}: {words}\n  got    {got[0]}: {got[1]}")
    assert not wrong, "\n".join(wrong)
