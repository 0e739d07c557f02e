"""Sorting, searching and counting on the device, against the CPU's kernels."""

import numpy as np
import pytest

from tapescope.engine.ops.table import OPS

SHAPES = [((5,), 0), ((3, 70), 1), ((70, 3), 0), ((2, 300, 4), 1), ((2500,), 0), ((3, 0, 2), 1)]


def values(shape, kind, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "bool":
        return rng.random(shape) > 0.5
    if kind == "uint8":
        return rng.integers(0, 255, shape).astype(np.uint8)
    x = (rng.standard_normal(shape) * 20).astype(kind)
    if x.dtype.kind == "f" and x.size:
        x.reshape(-1)[::7] = np.nan
        x.reshape(-1)[1::9] = -0.0
        x.reshape(-1)[2::9] = 0.0
    return x


def same(bench, got, want):
    got = [bench.down(g) for g in got]
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("kind", ["float32", "int64", "uint8", "int16", "int8", "bool", "float16"])
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_sort_is_stable_and_counts_nan_as_largest(bench, rows, shape, dim, kind):
    x = values(shape, kind)
    for descending in (False, True):
        same(bench, bench.op("sort")(bench.up(x), dim, descending), OPS["sort"].cpu(x, dim, descending))
    if x.size:
        same(bench, bench.op("mode")(bench.up(x), dim, True), OPS["mode"].cpu(x, dim, True))
        same(bench, bench.op("mode")(bench.up(x), dim, False), OPS["mode"].cpu(x, dim, False))


def test_sort_of_strided_lines_and_the_first_few(bench):
    x = values((40, 60), "float32").T[::2, 1:]
    order = np.argsort(np.where(np.isnan(x), np.inf, x), axis=0, kind="stable")
    got, places = bench.op("topk")(bench.strided(x), 0, 4, False, True)
    np.testing.assert_array_equal(bench.down(places), order[:4])
    np.testing.assert_array_equal(bench.down(got), np.take_along_axis(x, order[:4], 0))
    assert bench.down(bench.op("topk")(bench.up(x), 0, 0, False, True)[0]).shape == (0, 39)


@pytest.mark.parametrize("kind", ["float32", "int64", "uint8"])
def test_unique(bench, kind):
    for shape in ((7,), (30, 40), (0,), (3000,)):
        x = values(shape, kind, 1)
        if kind == "int64":
            x //= 5
        for consecutive in (False, True):
            same(bench, bench.op("unique")(bench.up(x), None, consecutive), OPS["unique"].cpu(x, None, consecutive))


def test_unique_rows_run_on_the_cpu(bench):
    x = np.array([[1, 2], [0, 1], [1, 2]])
    bench.backend._warned.discard("unique")
    with pytest.warns(RuntimeWarning, match="unique runs on the CPU because rows have no WebGPU kernel"):
        same(bench, bench.op("unique")(bench.up(x), 0, False), OPS["unique"].cpu(x, 0, False))


def test_searchsorted(bench):
    rng = np.random.default_rng(2)
    for kind in (np.float32, np.int32):
        line = np.sort((rng.standard_normal(50) * 9).astype(kind))
        rows = np.sort((rng.standard_normal((3, 50)) * 9).astype(kind), 1)
        asked = (rng.standard_normal((3, 20)) * 12).astype(kind)
        asked[0, :5] = line[:5]
        for right in (False, True):
            for sequence in (line, rows, line[:0]):
                got = bench.op("searchsorted")(bench.up(sequence), bench.up(asked), right)
                same(bench, [got], [OPS["searchsorted"].cpu(sequence, asked, right)])
    wide = bench.up(np.repeat(line, 2))
    every_other = bench.backend.view(wide, (50,), (2,), 0)
    got = bench.op("searchsorted")(every_other, bench.strided(asked.T), False)
    same(bench, [got], [OPS["searchsorted"].cpu(line, asked.T, False)])


def test_isin(bench):
    x = values((4, 50), "float32")
    test = np.array([0.0, np.nan, x[0, 3], x[2, 5]], np.float32)
    for invert in (False, True):
        for t in (test, test[:0]):
            same(bench, [bench.op("isin")(bench.up(x), bench.up(t), invert)], [OPS["isin"].cpu(x, t, invert)])


def test_counts(bench):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 9, 3000)
    w = rng.standard_normal(3000).astype(np.float32)
    for least in (0, 20):
        same(bench, [bench.op("bincount")(bench.up(x), None, least)], [OPS["bincount"].cpu(x, None, least)])
        weighted = bench.op("bincount")(bench.up(x), bench.up(w), least)
        np.testing.assert_allclose(bench.down(weighted), np.bincount(x, w, least), rtol=1e-4, atol=1e-4)
    y = rng.standard_normal((50, 60)).astype(np.float32)
    y[0, 0] = np.nan
    for bins, low, high in ((10, -2.0, 2.0), (7, -1.0, -1.0)):
        given = np.nan_to_num(y) if low == high else y
        low, high = (0.0, 0.0) if low == high else (low, high)
        same(bench, [bench.op("histc")(bench.up(given), bins, low, high)], [OPS["histc"].cpu(given, bins, low, high)])
    with pytest.raises(RuntimeError, match="is not finite"):
        bench.op("histc")(bench.up(y), 5, 0.0, 0.0)


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_histograms(bench, density, weighted):
    rng = np.random.default_rng(4)
    points = rng.standard_normal((500, 2)).astype(np.float32)
    edges = tuple(np.sort(rng.standard_normal(n)).astype(np.float32) * 2 for n in (5, 8))
    points[0] = edges[0][-1], edges[1][-1]  # belongs to the last bin
    weight = rng.random(500).astype(np.float32) if weighted else None
    want = OPS["histogramdd"].cpu(points, weight, edges, density)
    got = bench.op("histogramdd")(
        bench.up(points), None if weight is None else bench.up(weight), tuple(bench.up(e) for e in edges), density
    )
    np.testing.assert_allclose(bench.down(got), want, rtol=1e-4, atol=1e-6)


def test_repeats_and_masks(bench):
    repeats = np.array([2, 0, 3, 1])
    same(bench, [bench.op("repeat_interleave")(bench.up(repeats))], [np.repeat(np.arange(4), repeats)])
    x = np.zeros((3, 4), np.float32)
    mask = np.arange(12).reshape(3, 4) % 3 == 0
    source = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    made = bench.op("masked_scatter")(bench.up(x), bench.up(mask), bench.up(source))
    same(bench, [made], [OPS["masked_scatter"].cpu(x, mask, source)])
    with pytest.raises(IndexError, match="out of bounds"):
        bench.down(bench.op("masked_scatter")(bench.up(x), bench.up(mask), bench.up(source[0, :2])))
