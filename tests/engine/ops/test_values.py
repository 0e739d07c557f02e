"""Values, dtypes and refusals of the pointwise, special, scanning and sorting functions (tests/golden/ops/values.json)."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from tapescope import engine

GOLDEN = Path(__file__).parents[2] / "golden"
sys.path.insert(0, str(GOLDEN))
from make_values import NUMBERS, UNARY, call, numbers

FROZEN = json.loads((GOLDEN / "ops" / "values.json").read_text())
SINGLE, DOUBLE = (3e-6, 3e-6), (1e-11, 1e-11)
OTHER_SINGLE = {
    "special.modified_bessel_i0", "special.modified_bessel_i1", "prod", "cumprod(0)", "special.hermite_polynomial_h",
    "special.laguerre_polynomial_l", "special.legendre_polynomial_p", "special.shifted_chebyshev_polynomial_u",
}  # fmt: skip
"""Functions whose last digits in single precision depend on the order of their steps."""
ROUGH = {"special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1"}
"""PyTorch's own double precision values are right to eight digits only; test_numerics.py holds ours to sixteen."""


def as_array(value):
    """A JSON number list as floats; text is what is not finite."""
    if isinstance(value, list):
        return [as_array(v) for v in value]
    return float(value)


def same(name, dtype, want, got):
    if isinstance(want[0], list):  # several results
        return len(want) == len(got) and all(same(name, dtype, w, g) for w, g in zip(want, got, strict=True))
    if want[0] != got[0]:
        return False
    a, b = np.array(as_array(want[1])), np.array(as_array(got[1]))
    rtol, atol = DOUBLE if want[0] in ("float64", "complex128") else (1e-4, 1e-4) if name in OTHER_SINGLE else SINGLE
    if name in ROUGH:
        rtol = atol = 2e-8 if want[0] == "float64" else rtol
    return a.shape == b.shape and np.allclose(a, b, rtol, atol, equal_nan=True)


@pytest.mark.parametrize("name", FROZEN)
def test_values(name):
    wrong = []
    for dtype, want in FROZEN[name].items():
        operands = [engine.tensor(v, dtype=getattr(engine, dtype)) for v in NUMBERS[dtype][: 1 if name in UNARY else 2]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = call(engine, name, operands)
        if want == "refused" or value is None:
            if want != "refused" or value is not None:
                wrong.append(f"{dtype}: wanted {want}, got {value}")
        elif not same(name, dtype, want, numbers(value)):
            wrong.append(f"{dtype}: wanted {want}\n got {numbers(value)}")
    assert not wrong, "\n".join(wrong)
