"""Tensors print letter for letter as PyTorch prints them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tapescope.engine import printing

CASES = json.loads((Path(__file__).parents[1] / "golden" / "printing" / "cases.json").read_text())


@pytest.fixture(autouse=True)
def default_options():
    printing.set_printoptions(profile="default")
    yield
    printing.set_printoptions(profile="default")


def number(value):
    if isinstance(value, list):
        return complex(float.fromhex(value[0]), float.fromhex(value[1]))
    return float.fromhex(value) if isinstance(value, str) else value


def large(dtype: str, shape) -> np.ndarray:
    """The rule of the frozen cases: i * i modulo 1009, less 300, over 7 for floats."""
    v = np.arange(math.prod(shape)) ** 2 % 1009 - 300
    if dtype == "bool":
        v = v % 2 == 0
    elif dtype.startswith(("float", "complex")):
        v = v / 7
        if dtype.startswith("complex"):
            v = v - 2j * v
    return v.astype(dtype).reshape(shape)


def label(case) -> str:
    return f"{case['dtype']}-{'x'.join(map(str, case['shape']))}-{','.join(case['options'])}"


@pytest.mark.parametrize("case", CASES, ids=label)
def test_text(case):
    if "values" in case:
        array = np.array([number(v) for v in case["values"]], case["dtype"]).reshape(case["shape"])
    else:
        array = large(case["dtype"], case["shape"])
    printing.set_printoptions(**case["options"])
    assert printing.describe(array) == case["text"]


def test_what_stands_behind_goes_to_a_new_line_where_it_does_not_fit():
    row = np.full(9, 0.5)
    assert printing.describe(row, gradient="grad_fn=<MulBackward0>") == (
        "tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000],\n"
        "       dtype=torch.float64, grad_fn=<MulBackward0>)"
    )
    assert printing.describe(np.float32([1]), gradient="requires_grad=True", device="webgpu:0") == (
        "tensor([1.], device='webgpu:0', requires_grad=True)"
    )


def test_options_are_restored_and_sci_mode_is_forgotten():
    with printing.printoptions(precision=1, sci_mode=True):
        assert printing.array_text(np.float32([1.25])) == "[1.2e+00]"
        printing.set_printoptions(linewidth=100)
        assert printing.options.sci_mode is None
    assert printing.get_printoptions() == {
        "precision": 4,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 80,
        "sci_mode": None,
    }


def test_a_large_array_is_cut_before_it_is_looked_at():
    array = np.lib.stride_tricks.as_strided(np.float32([1]), (10**6, 10**6), (0, 0))
    assert printing.array_text(array).count("1.") == 36
