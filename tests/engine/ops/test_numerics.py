"""Special functions to the digits of double precision (tests/golden/ops/numerics.json), and at their edges."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine import numerics
from tapescope.engine.numerics import bessel, blocks, error, gamma, polynomials

FROZEN = json.loads((Path(__file__).parents[2] / "golden" / "ops" / "numerics.json").read_text())
PARTS = {"error": error, "gamma": gamma, "bessel": bessel}
assert numerics.__doc__


@pytest.mark.parametrize("name", FROZEN)
def test_to_the_last_digits(name):
    part, _, function = name.partition(".")
    function = getattr(PARTS[part], function)
    rows = FROZEN[name]
    want = np.array([r[-1] for r in rows])
    with np.errstate(all="ignore"):
        if name == "gamma.polygamma":
            got = np.array([function(np.array([r[0]], float), r[1])[0] for r in rows])
        else:
            got = function(*[np.array([r[i] for r in rows], float) for i in range(len(rows[0]) - 1)])
    # Oscillating functions and those with zeros keep absolute, not relative precision.
    assert np.allclose(got, want, rtol=2e-13, atol=2e-14 if part == "bessel" or "gamma" in name else 0)


def test_edges():
    inf, nan = np.inf, np.nan
    with np.errstate(all="ignore"):
        assert error.erf(np.array([inf, -inf, 0.0])).tolist() == [1, -1, 0]
        assert error.erfc(np.array([inf, -inf, 30.0])).tolist() == [0, 2, 0]
        assert error.erfinv(np.array([1.0, -1.0])).tolist() == [inf, -inf] and np.isnan(error.erfinv(np.array([2.0])))
        assert gamma.lgamma(np.array([0.0, -3.0, inf])).tolist() == [inf, inf, inf]
        assert np.isnan(gamma.digamma(np.array([-2.0, nan]))).all()
        assert gamma.gammainc(np.array([2.0, 2.0, 0.0]), np.array([0.0, inf, 3.0])).tolist() == [0, 1, 1]
        assert gamma.gammaincc(np.array([2.0, 2.0, 0.0]), np.array([0.0, inf, 3.0])).tolist() == [1, 0, 0]
        assert np.isnan(gamma.zeta(np.array([0.5, 1.5]), np.array([1.0, -0.5]))).all()
        assert bessel.y0(np.array([0.0])).tolist() == [-inf] and bessel.k1(np.array([0.0])).tolist() == [inf]


def test_polynomials_against_numpy():
    from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

    x = np.linspace(-1.5, 1.5, 7)
    for function, series in (
        (polynomials.chebyshev_t, chebyshev.Chebyshev), (polynomials.hermite_h, hermite.Hermite),
        (polynomials.hermite_he, hermite_e.HermiteE), (polynomials.laguerre_l, laguerre.Laguerre),
        (polynomials.legendre_p, legendre.Legendre),
    ):  # fmt: skip
        for n in range(9):
            assert np.allclose(function(x, np.full_like(x, n)), series.basis(n)(x))
    assert polynomials.chebyshev_u(x, np.full_like(x, -1.0)).tolist() == [0.0] * 7


def test_blocks_do_not_show():
    x = np.linspace(-3, 3, 3 * blocks.BLOCK + 5).reshape(1, -1)
    whole = blocks.blockwise(error.erf)(x)
    assert np.array_equal(whole[:, ::977], blocks.blockwise(error.erf)(x[:, ::977]))
    out = np.empty((2, 2), np.float32).T
    given = np.arange(4, dtype=np.float32).reshape(2, 2)
    assert blocks.blockwise(gamma.lgamma)(given, out=out) is out and out[1, 0] == 0


@pytest.mark.parametrize("name", ["erf", "lgamma", "digamma", "erfinv", "i0"])
def test_single_precision_rounds_what_double_gives(name):
    x = torch.linspace(-0.9, 0.9, 41) if name == "erfinv" else torch.linspace(0.05, 9.5, 41)
    single, double = getattr(x, name)(), getattr(x.double(), name)()
    assert single.dtype is torch.float32 and double.dtype is torch.float64
    assert torch.allclose(single.double(), double, rtol=3e-6, atol=1e-6)
