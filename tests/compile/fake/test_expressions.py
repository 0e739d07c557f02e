"""A thousand short expressions on fakes: shapes, dtypes, strides and errors of the real run (tests/golden/ops/expressions.json)."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.fake import DataDependent, fake_mode

GOLDEN = Path(__file__).parents[2] / "golden"
sys.path.insert(0, str(GOLDEN))
from make_expressions import PREAMBLE

FROZEN = json.loads((GOLDEN / "ops" / "expressions.json").read_text())
LOOKS = ("unique", "bincount", "histogram", "nonzero", "equal", "allclose", "item", "float(", "int(", "tolist", "where(v>1)", "[m>2]",
         "masked_select",
         "fweights")  # fmt: skip
"""What must look at values, or has as many results as they say."""
IN_KERNELS = ("alpha=1", "//0", "%0", "**-1", "div(0", "addcdiv", "decimals=1", "histc")
"""Errors that only running a kernel tells."""


def facts(value):
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.dtype, value.stride(), value.requires_grad
    if isinstance(value, (tuple, list)):
        return tuple(map(facts, value))
    return type(value).__name__


def outcome(expression):
    space = {"torch": torch}
    exec(PREAMBLE, space)
    torch.manual_seed(0)
    try:
        return facts(eval(expression, space))
    except DataDependent:
        raise
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("group", FROZEN)
def test_expressions(group):
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression in FROZEN[group]:
            wanted = outcome(expression)
            try:
                with fake_mode():
                    got = outcome(expression)
            except DataDependent as error:
                got = f"needs values: {error.kind}"
                if any(word in expression for word in LOOKS):
                    continue
            if got != wanted and not (isinstance(wanted, str) and any(word in expression for word in IN_KERNELS)):
                wrong.append(f"{expression}: wanted {wanted}, got {got}")
    assert not wrong, "\n".join(wrong)
