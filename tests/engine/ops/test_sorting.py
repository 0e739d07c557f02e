"""Order, places, distinct elements and counts, against numpy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapescope import engine as torch


@st.composite
def samples(draw):
    """An array with ties, perhaps with NaN, and a dimension."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    x = rng.integers(0, 5, shape).astype(draw(st.sampled_from(["float32", "int64", "float64"])))
    if x.dtype.kind == "f" and draw(st.booleans()):
        x[rng.random(shape) < 0.2] = np.nan
    return x, draw(st.integers(0, len(shape) - 1))


@settings(deadline=None, max_examples=80)
@given(samples(), st.booleans())
def test_sort_is_stable_and_puts_nan_last(drawn, descending):
    x, dim = drawn
    values, places = torch.from_numpy(x).sort(dim, descending)
    want = np.sort(x, axis=dim)
    assert np.array_equal(values.numpy(), np.flip(want, dim) if descending else want, equal_nan=x.dtype.kind == "f")
    assert np.array_equal(np.take_along_axis(x, places.numpy(), dim), values.numpy(), equal_nan=x.dtype.kind == "f")
    rows = np.moveaxis(values.numpy(), dim, -1), np.moveaxis(places.numpy(), dim, -1)
    ties = (rows[0][..., 1:] == rows[0][..., :-1]) | (
        (rows[0][..., 1:] != rows[0][..., 1:]) & (rows[0][..., :-1] != rows[0][..., :-1])
    )
    assert (rows[1][..., 1:] > rows[1][..., :-1])[ties].all()


@settings(deadline=None, max_examples=80)
@given(samples(), st.data())
def test_topk_and_kthvalue(drawn, data):
    x, dim = drawn
    k = data.draw(st.integers(1, x.shape[dim]))
    largest = data.draw(st.booleans())
    t = torch.from_numpy(x)
    values, places = t.topk(k, dim, largest)
    whole = t.sort(dim, largest).values.numpy()
    nan = x.dtype.kind == "f"
    assert np.array_equal(values.numpy(), np.take(whole, range(k), dim), equal_nan=nan)
    assert np.array_equal(t.gather(dim, places).numpy(), values.numpy(), equal_nan=nan)
    assert np.array_equal(
        t.kthvalue(k, dim).values.numpy(), np.take(t.sort(dim).values.numpy(), k - 1, dim), equal_nan=nan
    )


def test_topk_of_many():
    x = torch.rand(3, 5000, generator=torch.Generator().manual_seed(0))
    for largest in (True, False):
        values, places = x.topk(7, 1, largest)
        assert torch.equal(values, x.sort(1, largest).values[:, :7]) and torch.equal(x.gather(1, places), values)


@settings(deadline=None, max_examples=60)
@given(samples())
def test_medians_and_quantiles(drawn):
    x, dim = drawn
    t = torch.from_numpy(x)
    nan = x.dtype.kind == "f"
    n = x.shape[dim]
    want = np.take(np.sort(x, axis=dim), (n - 1) // 2, axis=dim)
    if nan:
        want = np.where(np.isnan(x).any(axis=dim), np.nan, want)
    assert np.array_equal(t.median(dim).values.numpy(), want.astype(x.dtype), equal_nan=nan)
    if nan:
        assert np.allclose(t.quantile(0.3, dim).numpy(), np.quantile(x, 0.3, axis=dim), equal_nan=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of slices of NaNs only
            assert np.allclose(t.nanquantile(0.3, dim).numpy(), np.nanquantile(x, 0.3, axis=dim), equal_nan=True)


@settings(deadline=None, max_examples=60)
@given(samples())
def test_the_most_frequent(drawn):
    x, dim = drawn
    x = np.nan_to_num(x)
    found = torch.from_numpy(x).mode(dim)
    rows = np.moveaxis(x, dim, -1).reshape(-1, x.shape[dim])
    for row, value, place in zip(
        rows, found.values.reshape(-1).tolist(), found.indices.reshape(-1).tolist(), strict=True
    ):
        values, counts = np.unique(row, return_counts=True)
        assert value == values[np.argmax(counts)] and row[place] == value


@settings(deadline=None, max_examples=60)
@given(samples())
def test_distinct_elements(drawn):
    x, dim = drawn
    x = np.nan_to_num(x)
    t = torch.from_numpy(x)
    values, which, counts = t.unique(return_inverse=True, return_counts=True)
    want = np.unique(x, return_inverse=True, return_counts=True)
    assert np.array_equal(values.numpy(), want[0]) and np.array_equal(which.numpy(), want[1].reshape(x.shape))
    assert np.array_equal(counts.numpy(), want[2])
    assert np.array_equal(t.unique(dim=dim).numpy(), np.unique(x, axis=dim))
    runs, of, sizes = t.reshape(-1).unique_consecutive(return_inverse=True, return_counts=True)
    assert np.array_equal(runs.numpy()[of.numpy()], x.reshape(-1)) and np.array_equal(
        np.repeat(runs.numpy(), sizes.numpy()), x.reshape(-1)
    )


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 3), st.booleans(), st.integers(0, 99))
def test_places_in_sorted_sequences(n, m, rows, right, seed):
    rng = np.random.default_rng(seed)
    sequence, values = np.sort(rng.integers(0, 6, (rows, n)), axis=1), rng.integers(-1, 7, (rows, m))
    got = torch.searchsorted(torch.from_numpy(sequence), torch.from_numpy(values), right=right).numpy()
    side = "right" if right else "left"
    assert got.tolist() == [np.searchsorted(s, v, side).tolist() for s, v in zip(sequence, values, strict=True)]
    assert torch.bucketize(torch.from_numpy(values), torch.from_numpy(sequence[0]), right=right).tolist() == np.searchsorted(
        sequence[0], values, side).tolist()  # fmt: skip


def test_histograms_against_numpy():
    x = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    t = torch.from_numpy(x)
    hist, edges = torch.histogram(t, 8)
    want, places = np.histogram(x, 8)
    assert hist.tolist() == want.tolist() and np.allclose(edges.numpy(), places, atol=1e-6)
    both = torch.histogramdd(t, [4, 3], range=[-2.0, 2.0, -1.0, 1.0], density=True)
    assert np.allclose(both.hist.numpy(), np.histogramdd(x, [4, 3], [(-2, 2), (-1, 1)], density=True)[0], atol=1e-6)
    assert torch.histc(t, 5, -1, 1).tolist() == np.histogram(x, 5, (-1, 1))[0].tolist()
    i = np.array([3, 1, 3, 0])
    assert torch.bincount(torch.from_numpy(i), minlength=6).tolist() == np.bincount(i, minlength=6).tolist()
    assert torch.isin(torch.from_numpy(i), torch.tensor([1, 0]), invert=True).tolist() == [True, False, True, False]


def test_orders_are_not_recorded():
    x = torch.rand(5, requires_grad=True)
    values, places = x.sort()
    assert values.requires_grad and not places.requires_grad and not x.argsort().requires_grad
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        x.topk(6)
