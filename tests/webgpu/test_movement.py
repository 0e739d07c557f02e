"""Operators that move elements, running sums, and norms of rows, against the CPU's kernels."""

import numpy as np
import pytest

from tapescope.engine.ops.table import OPS


def check(bench, name, arrays, statics=(), tolerance=0.0):
    """The kernel of an operator gives what the CPU's gives."""
    want = OPS[name].cpu(*arrays, *statics)
    on_device = [bench.strided(a) if isinstance(a, np.ndarray) and a.ndim else bench.up(a) for a in arrays]
    made = bench.down(bench.op(name)(*on_device, *statics))
    assert made.dtype == want.dtype and made.shape == want.shape
    np.testing.assert_allclose(
        made.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance, err_msg=f"{name} {statics}"
    )


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((3, 4, 5)).astype(np.float32)
    return [x, x.transpose(2, 0, 1), x[:, ::2, 1:4], rng.integers(-9, 9, (6, 8)), rng.random((4, 20)) > 0.5]


@pytest.mark.parametrize("x", arrays(), ids=lambda a: f"{a.dtype}{a.shape}")
def test_order(bench, x):
    check(bench, "flip", [x], [(0,)])
    check(bench, "flip", [x], [tuple(range(x.ndim))])
    check(bench, "roll", [x], [(2, -3), (0, 1)])
    check(bench, "roll", [x], [(7,), None])
    check(bench, "repeat", [x], [(2, *[3] * x.ndim)])
    for k in range(-1, 4):
        check(bench, "rot90", [x], [k, (0, 1)])


@pytest.mark.parametrize("x", arrays(), ids=lambda a: f"{a.dtype}{a.shape}")
def test_padding(bench, x):
    value = True if x.dtype == np.bool_ else 3
    for pad in ((1, 2), (0, 0, 2, 1), (-1, 2, 1, -1), (1, 1, -2, 0)):
        check(bench, "constant_pad_nd", [x], [pad, value])
    check(bench, "constant_pad_nd", [x], [(-5, 0) if x.shape[-1] >= 5 else (-1, 0), value])


@pytest.mark.parametrize("mode", ["reflection_pad2d", "replication_pad2d", "circular_pad"])
def test_padding_with_elements(bench, mode):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 6, 7)).astype(np.float32)
    for pad in ((1, 2, 2, 0), (0, 0, 3, 1), (-1, 2, 1, -2)):
        check(bench, mode, [x], [pad])
        g = rng.standard_normal(OPS[mode].cpu(x, pad).shape).astype(np.float32)
        check(bench, mode + "_backward", [g], [pad, x.shape], 1e-5)


def test_triangles_and_diagonals(bench):
    rng = np.random.default_rng(0)
    for x in (rng.standard_normal((2, 4, 6)).astype(np.float32), rng.integers(0, 9, (5, 3)), rng.random((4, 4)) > 0.3):
        for k in (-2, 0, 1, 9, -(2**40)):
            check(bench, "tril", [x], [k])
            check(bench, "triu", [x], [k])
    nan = np.full((3, 3), np.nan, np.float32)
    assert np.isnan(bench.down(bench.op("tril")(bench.up(nan), 0))).sum() == 6
    x = rng.standard_normal((2, 3)).astype(np.float32)
    for offset in (-2, 0, 1):
        check(bench, "diag_embed", [x], [offset, 0, 2])
    check(bench, "fill", [x, np.float32(4)])


def test_by_places(bench):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 5, 3)).astype(np.float32)
    index = np.array([3, 0])
    check(bench, "index_copy", [x, index, rng.standard_normal((2, 5, 3)).astype(np.float32)], [0])
    check(bench, "index_copy", [x, index, rng.standard_normal((4, 2, 3)).astype(np.float32)], [1])
    check(bench, "index_fill", [x, index, np.float32(7)], [1, True])
    places = rng.integers(-60, 60, (2, 4))
    check(bench, "take", [x.transpose(1, 0, 2), places])
    once = rng.permutation(60)[:8].reshape(2, 4)
    values = rng.standard_normal((2, 4)).astype(np.float32)
    check(bench, "put", [x, once, values], [False])
    check(bench, "put", [x, places, values], [True], 1e-6)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running(bench, name):
    rng = np.random.default_rng(0)
    scale = np.float32(0.1)
    for shape in ((7,), (5, 6, 3), (3, 2000), (2000, 3), (70_000,)):
        x = (
            1 + rng.standard_normal(shape).astype(np.float32) * scale
            if name == "cumprod"
            else rng.standard_normal(shape).astype(np.float32)
        )
        for dim in range(x.ndim):
            want = getattr(np, name)(x.astype(np.float64), axis=dim)
            made = bench.down(bench.op(name)(bench.up(x), dim))
            finite = (np.abs(want) < 1e30) & (np.abs(want) > 1e-30)
            np.testing.assert_allclose(made[finite], want[finite], rtol=2e-3 if x.size > 60_000 else 1e-4, atol=1e-3)
    whole = rng.integers(-3, 4, (4, 900))
    check(bench, name, [whole[:, :20]], [1])
    check(bench, "cumsum", [whole], [1])
    check(bench, name, [(rng.random((3, 9)) > 0.5)], [0])


@pytest.mark.parametrize(("shape", "rank"), [((4, 10), 1), ((3, 5, 64), 1), ((2, 3, 4, 8), 2), ((7, 33), 1)], ids=str)
@pytest.mark.parametrize("affine", ["both", "weight", "none"])
def test_layer_norm(bench, rows, shape, rank, affine):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(shape) * 3 + 100).astype(np.float32)
    inner = shape[len(shape) - rank :]
    weight = rng.standard_normal(inner).astype(np.float32) if affine != "none" else None
    bias = rng.standard_normal(inner).astype(np.float32) if affine == "both" else None
    wide = [None if a is None else a.astype(np.float64) for a in (x, weight, bias)]
    want = OPS["native_layer_norm"].cpu(*wide, rank, 1e-5)
    made = bench.op("native_layer_norm")(*[None if a is None else bench.up(a) for a in (x, weight, bias)], rank, 1e-5)
    for got, expected in zip(made, want, strict=True):
        np.testing.assert_allclose(bench.down(got), expected, rtol=3e-5, atol=1e-4)


@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 5), 3), ((3, 8, 4, 4), 2), ((2, 4, 8), 4)], ids=str)
def test_group_norm(bench, rows, shape, groups):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(np.float32)
    weight, bias = (rng.standard_normal(shape[1]).astype(np.float32) for _ in range(2))
    want = OPS["native_group_norm"].cpu(*[a.astype(np.float64) for a in (x, weight, bias)], groups, 1e-5)
    made = bench.op("native_group_norm")(*[bench.up(a) for a in (x, weight, bias)], groups, 1e-5)
    for got, expected in zip(made, want, strict=True):
        np.testing.assert_allclose(bench.down(got), expected, rtol=2e-5, atol=1e-5)
