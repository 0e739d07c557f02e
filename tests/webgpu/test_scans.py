"""Scans that carry two numbers: running extremes, log-sums and the linear recurrence, in one piece and in chunks."""

import numpy as np
import pytest

from tapescope.engine.ops.table import OPS

SHAPES = [((7,), 0), ((3, 70), 1), ((70, 3), 0), ((2, 700, 4), 1), ((3000,), 0), ((3, 0), 1)]


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_running_extremes(bench, name, shape, dim):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(np.float32)
    if x.size > 100:
        x.reshape(-1)[[50, 150]] = np.nan
    whole = rng.integers(-5, 5, shape)
    for v in (x, whole, whole > 0):
        if not v.size:
            assert bench.op(name)(bench.up(v), dim)[0].shape == shape
            continue
        for got, want in zip(bench.op(name)(bench.up(v), dim), OPS[name].cpu(v, dim), strict=True):
            assert got.dtype.numpy == want.dtype
            np.testing.assert_array_equal(bench.down(got), want)


@pytest.mark.parametrize("shape, dim", SHAPES[:-1])
def test_logcumsumexp(bench, shape, dim):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32) * 30
    x.reshape(-1)[:2] = -np.inf
    with np.errstate(invalid="ignore"):
        want = OPS["logcumsumexp"].cpu(x.astype(np.float64), dim)
    np.testing.assert_allclose(bench.down(bench.op("logcumsumexp")(bench.up(x), dim)), want, rtol=1e-5, atol=1e-5)
    x.reshape(-1)[4] = np.inf
    got = bench.down(bench.op("logcumsumexp")(bench.up(x.reshape(-1)), 0))
    assert np.isposinf(got[4:]).all()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape, dim", SHAPES[:-1])
def test_linear_recurrence(bench, shape, dim, reverse):
    rng = np.random.default_rng(2)
    a, b = ((rng.standard_normal(shape) * 0.8).astype(np.float32) for _ in range(2))
    want = OPS["linear_scan"].cpu(a.astype(np.float64), b.astype(np.float64), dim, reverse)
    turned = bench.strided(np.asfortranarray(b.T).T) if len(shape) == 2 else bench.up(b)
    got = bench.op("linear_scan")(bench.up(a), turned, dim, reverse)
    np.testing.assert_allclose(bench.down(got), want, rtol=1e-3, atol=1e-4)
