"""Softmax and log-softmax, forward and backward, along any dimension."""

import numpy as np
import pytest

SHAPES = [
    ((5,), None),
    ((7, 10), None),
    ((64, 128), None),
    ((3, 4, 5), None),
    ((3, 4, 8), (2, 0, 1)),
    ((40, 33), (1, 0)),
    ((2, 3, 64, 4), (0, 3, 1, 2)),
]


@pytest.mark.parametrize(("shape", "order"), SHAPES, ids=str)
def test_along_any_dimension(bench, rows, shape, order):
    rng = np.random.default_rng(0)
    x, g = (rng.standard_normal(shape).astype(np.float32) * s for s in (5, 1))
    if order:
        x, g = x.transpose(order), g.transpose(order)
    for dim in range(x.ndim):
        e = np.exp(x.astype(np.float64) - x.max(dim, keepdims=True))
        soft = e / e.sum(dim, keepdims=True)
        made = bench.op("softmax")(bench.strided(x), dim)
        logs = bench.op("log_softmax")(bench.strided(x), dim)
        up = bench.strided(g)
        for got, want in (
            (made, soft),
            (logs, np.log(soft)),
            (bench.op("softmax_backward")(up, made, dim), (g - (g * soft).sum(dim, keepdims=True)) * soft),
            (bench.op("log_softmax_backward")(up, logs, dim), g - soft * g.sum(dim, keepdims=True)),
        ):
            np.testing.assert_allclose(bench.down(got), want, rtol=1e-5, atol=1e-5)


def test_large_logits_and_infinities(bench, rows):
    x = np.array([[1000, 1001, 0], [-np.inf, 0, 0], [np.nan, 0, 1], [-np.inf, -np.inf, -np.inf]], np.float32)
    made = bench.down(bench.op("softmax")(bench.up(x), 1))
    np.testing.assert_allclose(made[0], [0.26894142, 0.73105858, 0], atol=1e-6)
    np.testing.assert_allclose(made[1], [0, 0.5, 0.5])
    assert np.isnan(made[2:]).all()
    logs = bench.down(bench.op("log_softmax")(bench.up(x), 1))
    np.testing.assert_allclose(logs[0], [-1.3132617, -0.31326169, -1001.3132617], rtol=1e-6)


def test_half_precision_sums_to_one(bench, rows):
    x = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float16)
    total = bench.down(bench.op("softmax")(bench.up(x), 1)).astype(np.float32).sum(1)
    np.testing.assert_allclose(total, 1, atol=2e-3)


def test_empty(bench):
    assert bench.down(bench.op("softmax")(bench.up(np.zeros((3, 0), np.float32)), 1)).shape == (3, 0)


def test_a_mean_that_is_large_beside_the_spread(bench, rows):
    x = (np.random.default_rng(0).standard_normal((5, 2000)) + 1e4).astype(np.float32)
    exact = x.astype(np.float64)
    y, mean, rstd = bench.op("native_layer_norm")(bench.up(x), None, None, 1, 1e-5)
    want = (exact - exact.mean(1, keepdims=True)) / exact.std(1, keepdims=True)
    np.testing.assert_allclose(bench.down(y), want, atol=2e-5)
    np.testing.assert_allclose(bench.down(mean)[:, 0], exact.mean(1), rtol=1e-7)
    np.testing.assert_allclose(bench.down(rstd)[:, 0], 1 / exact.std(1), rtol=1e-5)
