"""Bessel, Airy, gamma and zeta functions and orthogonal polynomials, beside the same in double precision.

Where a function crosses zero its error counts relative to 1, or to its arguments' phase; elsewhere relative to its value.
"""

import numpy as np
import pytest

from tapescope.engine.numerics import bessel, error, gamma, polynomials
from tapescope.engine.ops.table import OPS


def samples(rng, low, high, n=3000):
    return np.concatenate([rng.uniform(low, high, n), 10 ** rng.uniform(-6, np.log10(high), n)]).astype(np.float32)


# name: (reference, arguments, most relative error, most absolute error)
ONE = {
    "i0": (bessel.i0, (-50, 80), 2e-6, 0),
    "i0e": (bessel.i0e, (-50, 80), 1e-6, 0),
    "i1": (bessel.i1, (-50, 80), 3e-6, 0),
    "i1e": (bessel.i1e, (-50, 80), 2e-6, 0),
    "bessel_j0": (bessel.j0, (-60, 60), 0, 2e-6),
    "bessel_j1": (bessel.j1, (-60, 60), 0, 2e-6),
    "bessel_y0": (bessel.y0, (0, 60), 1e-6, 2e-6),
    "bessel_y1": (bessel.y1, (0, 60), 1e-6, 2e-6),
    "modified_bessel_i0": (bessel.i0, (-50, 80), 2e-6, 0),
    "modified_bessel_i1": (bessel.i1, (-50, 80), 3e-6, 0),
    "modified_bessel_k0": (bessel.k0, (0, 80), 3e-6, 0),
    "modified_bessel_k1": (bessel.k1, (0, 80), 1e-6, 0),
    "scaled_modified_bessel_k0": (bessel.k0e, (0, 80), 3e-6, 0),
    "scaled_modified_bessel_k1": (bessel.k1e, (0, 80), 1e-6, 0),
    "spherical_bessel_j0": (bessel.spherical_j0, (-60, 60), 0, 3e-7),
    "airy_ai": (bessel.airy, (-50, 9), 0, 1e-5),
    "erfcx": (error.erfcx, (-9, 80), 1e-6, 0),
    "log_ndtr": (error.log_ndtr, (-50, 5), 2e-6, 0),
}


def hold(name, x, got, want, relative, absolute):
    with np.errstate(all="ignore"):
        off = np.abs(got.astype(np.float64) - want)
        bad = (off > relative * np.abs(want) + absolute + 1e-37) & (np.abs(want) < 3.4e38)
    assert not bad.any(), (name, x[bad][:3], got[bad][:3], want[bad][:3])


@pytest.mark.parametrize("name", ONE)
def test_one_argument(bench, name):
    reference, (low, high), relative, absolute = ONE[name]
    x = samples(np.random.default_rng(0), low, high)
    hold(name, x, bench.down(bench.op(name)(bench.up(x))), reference(x.astype(np.float64)), relative, absolute)
    edges = np.array([0, -0.0, np.inf, -np.inf, np.nan, -1, -2.5], np.float32)
    with np.errstate(all="ignore"):
        want = OPS[name].cpu(edges)
    np.testing.assert_allclose(bench.down(bench.op(name)(bench.up(edges))), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name, reference", [("igamma", gamma.gammainc), ("igammac", gamma.gammaincc)])
def test_incomplete_gamma(bench, name, reference):
    rng = np.random.default_rng(1)
    a = (10 ** rng.uniform(-2, 2.5, 3000)).astype(np.float32)
    x = (a * 10 ** rng.uniform(-1, 0.7, 3000)).astype(np.float32)
    got = bench.down(bench.op(name)(bench.up(a), bench.up(x)))
    hold(name, x, got, reference(a.astype(np.float64), x.astype(np.float64)), 0, 4e-6)
    edges = np.array([0, 1, np.inf, np.nan, -1, 2, 3], np.float32)
    a, x = (m.copy() for m in np.meshgrid(edges, edges))
    with np.errstate(all="ignore"):
        want = OPS[name].cpu(a, x)
    np.testing.assert_allclose(bench.down(bench.op(name)(bench.up(a), bench.up(x))), want, rtol=1e-5, atol=1e-6)


def test_zeta_and_polygamma(bench):
    rng = np.random.default_rng(2)
    s, q = rng.uniform(1.01, 20, 3000).astype(np.float32), rng.uniform(0.05, 40, 3000).astype(np.float32)
    got = bench.down(bench.op("zeta")(bench.up(s), bench.up(q)))
    hold("zeta", s, got, gamma.zeta(s.astype(np.float64), q.astype(np.float64)), 1e-5, 0)
    x = rng.uniform(0.1, 30, 3000).astype(np.float32)
    for n in (0, 1, 2, 5):
        got = bench.down(bench.op("polygamma_of")(bench.up(x), n))
        hold("polygamma", x, got, gamma.polygamma(x.astype(np.float64), n), 3e-6, 1e-6)


@pytest.mark.parametrize("name", [n for n in OPS if "polynomial" in n])
def test_polynomials(bench, name):
    rng = np.random.default_rng(3)
    x, n = rng.uniform(-1, 1, 1000).astype(np.float32), rng.integers(-2, 12, 1000).astype(np.float32)
    n[:2] = 2.75, -0.5
    want = getattr(polynomials, name.replace("_polynomial", ""))(x.astype(np.float64), n.astype(np.float64))
    got = bench.down(bench.op(name)(bench.up(x), bench.up(n)))
    assert (np.abs(got - want) <= 1e-4 * np.maximum(1, np.abs(want))).all()
    assert np.isnan(bench.down(bench.op(name)(bench.up(x), bench.up(np.full(1000, 1e9, np.float32))))).all()
