"""Reductions against numpy, in the form for software adapters and in the form for GPUs."""

import itertools

import numpy as np
import pytest

from tapescope.engine import dtypes as D

REFERENCES = {
    "sum": np.sum,
    "mean": np.mean,
    "amax": np.max,
    "amin": np.min,
    "prod": np.prod,
    "any": np.any,
    "all": np.all,
}
SHAPES = [
    (),
    (1,),
    (7,),
    (4096,),
    (5, 7),
    (64, 64),
    (3, 4, 5),
    (128, 512),
    (2, 3, 4, 5),
    (8, 16, 5, 5),
    (4000, 3),
    (3, 4000),
]


def dimensions(rank):
    one = [(d,) for d in range(rank)]
    return [tuple(range(rank)), *one, *([c for c in itertools.combinations(range(rank), 2)] if rank > 2 else [])]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_over_any_dimensions(bench, rows, shape):
    rng = np.random.default_rng(2)
    x = rng.standard_normal(shape).astype(np.float32)
    layouts = [x] + ([x.transpose(rng.permutation(len(shape)))] if len(shape) > 1 else [])
    for a in layouts:
        for dims in dimensions(len(shape)):
            for name, reference in REFERENCES.items():
                made = bench.down(bench.op(name)(bench.strided(a), dims, False))
                want = reference(a.astype(np.float64) if name not in ("any", "all") else a, axis=dims)
                scale = 1e-5 * max(1, np.sqrt(a.size / max(1, np.size(want))))
                np.testing.assert_allclose(made, want, rtol=2e-5, atol=scale, err_msg=f"{name} {dims}")
                assert made.shape == np.shape(want)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(bench, rows, name):
    rng = np.random.default_rng(1)
    for shape in ((9,), (5000,), (6, 7, 8), (40, 300)):
        x = rng.integers(-5, 5, shape).astype(np.float32)  # with many equal ones: the first counts
        for dim in range(len(shape)):
            made = bench.down(bench.op(name)(bench.up(x), dim, True))
            assert made.dtype == np.int64
            np.testing.assert_array_equal(made, getattr(np, name)(x, axis=dim, keepdims=True))


def test_nan_wins(bench, rows):
    for n in (3, 5000):
        x = np.arange(n, dtype=np.float32)
        x[n // 2] = np.nan
        a = bench.up(x)
        assert np.isnan(bench.down(bench.op("amax")(a, (0,), False)))
        assert np.isnan(bench.down(bench.op("amin")(a, (0,), False)))
        assert np.isnan(bench.down(bench.op("sum")(a, (0,), False)))
        assert bench.down(bench.op("argmax")(a, 0, False)) == n // 2
        assert bench.down(bench.op("argmin")(a, 0, False)) == n // 2
        assert bench.down(bench.op("any")(a, (0,), False))


def test_infinities(bench, rows):
    x = bench.up(np.full((3, 40), -np.inf, np.float32))
    assert (bench.down(bench.op("amax")(x, (1,), False)) == -np.inf).all()
    assert bench.down(bench.op("argmax")(x, 1, False)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.bool_, np.float16], ids=lambda k: k.__name__)
def test_dtypes(bench, rows, kind):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2 if kind is np.bool_ else 9, (30, 50)).astype(kind)
    a = bench.up(x)
    np.testing.assert_array_equal(bench.down(bench.op("amax")(a, (1,), True)), x.max(1, keepdims=True))
    np.testing.assert_array_equal(bench.down(bench.op("any")(a, (0,), False)), x.any(0))
    np.testing.assert_array_equal(bench.down(bench.op("argmax")(a, 0, False)), x.argmax(0))
    if kind in (np.int64, np.int32):
        np.testing.assert_array_equal(bench.down(bench.op("sum")(a, (0, 1), False)), x.sum())


def test_nothing_to_reduce(bench, rows):
    x = bench.up(np.zeros((3, 0, 2), np.float32))
    assert bench.down(bench.op("sum")(x, (1,), False)).tolist() == [[0, 0]] * 3
    assert bench.down(bench.op("prod")(x, (1,), True)).tolist() == [[[1, 1]]] * 3
    assert np.isnan(bench.down(bench.op("mean")(x, (0, 1, 2), False)))
    assert bench.down(bench.op("all")(x, (1,), False)).all() and not bench.down(bench.op("any")(x, (1,), False)).any()
    assert bench.down(bench.op("sum")(x, (0,), False)).shape == (0, 2)


def test_a_long_sum_is_accurate_and_the_same_twice(bench, rows):
    x = (np.random.default_rng(0).random(1 << 20) + 1).astype(np.float32)
    a = bench.up(x)
    first, second = (bench.down(bench.op("sum")(a, (0,), False)) for _ in range(2))
    assert first.view(np.uint32) == second.view(np.uint32)
    assert float(first) == pytest.approx(x.sum(dtype=np.float64), rel=1e-6)


def test_dtype_of_truth(bench):
    assert bench.op("any")(bench.up(np.zeros(3, np.float32)), (0,), False).dtype is D.bool_
