"""Linear maps along single axes, on the CPU: each result is a weighted sum of a few elements of the axis (its *taps*).

Padding that repeats elements, adaptive averages and interpolation are such maps, one an axis, and so are their transposes,
which gradients need. No operator is declared here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Column(NamedTuple):
    """The k-th tap of the results: of all of them (`results` is None) or some; from which elements, with which weights.

    `weights` is None where all are 1. `without` are results that have no such tap, where nearly all have one.
    """

    results: slice | np.ndarray | None
    elements: np.ndarray
    weights: np.ndarray | None
    without: np.ndarray | None = None


class Taps(NamedTuple):
    """A map from an axis of `size` elements to one of `count`; `index` and `weight` are [count, taps], weight 0 is no tap."""

    size: int
    count: int
    index: np.ndarray
    weight: np.ndarray
    columns: tuple[Column, ...]


def taps(size: int, index: np.ndarray, weight: np.ndarray | None = None) -> Taps:
    """The map whose result o is the sum of `weight[o, k]` times the element `index[o, k]` of an axis of `size`."""
    index = index[:, None] if index.ndim == 1 else index
    weight = np.ones(index.shape) if weight is None else weight
    columns = tuple(_column(index, weight, k) for k in range(index.shape[1]))
    return Taps(size, len(index), index, weight, columns)


def _column(index: np.ndarray, weight: np.ndarray, k: int) -> Column:
    used = np.flatnonzero(weight[:, k])
    w = weight[used, k]
    plain = None if (w == 1).all() else w
    if len(used) == len(index):
        return Column(None, index[:, k], plain)
    if len(used) and used[-1] - used[0] + 1 == len(used):
        return Column(slice(int(used[0]), int(used[-1]) + 1), index[used, k], plain)
    if 4 * len(used) < 3 * len(index):
        return Column(used, index[used, k], plain)
    # Faster than picking the others: all are taken, from an element that the result has anyway, and these few cleared.
    without = np.flatnonzero(weight[:, k] == 0)
    elements = index[:, k].copy()
    elements[without] = index[without, 0]
    return Column(None, elements, None if (w == 1).all() else np.where(weight[:, k] == 0, 1, weight[:, k]), without)


def transposed(t: Taps) -> Taps:
    """The transpose: from the axis of the results to that of the elements."""
    results, k = np.nonzero(t.weight)
    elements, weights = t.index[results, k], t.weight[results, k]
    order = np.argsort(elements, kind="stable")
    elements, results, weights = elements[order], results[order], weights[order]
    counts = np.bincount(elements, minlength=t.size)
    depth = max(int(counts.max()) if t.size else 0, 1)
    index, weight = np.zeros((t.size, depth), np.int64), np.zeros((t.size, depth))
    place = np.arange(len(elements)) - (np.cumsum(counts) - counts)[elements]
    index[elements, place], weight[elements, place] = results, weights
    return taps(t.count, index, weight)


def along(x: np.ndarray, axis: int, t: Taps) -> np.ndarray:
    """The map applied to one axis (from the front); fresh memory."""
    shape = (*x.shape[:axis], t.count, *x.shape[axis + 1 :])
    out: Any = None
    after = (1,) * (x.ndim - axis - 1)
    kind = np.real(x).dtype
    lead = (slice(None),) * axis
    for results, elements, weights, without in t.columns:
        part = np.take(x, elements, axis)
        if weights is not None:
            part *= weights.astype(kind).reshape(-1, *after)
        if without is not None:
            part[(*lead, without)] = 0
        if results is None:
            out = part if out is None else np.add(out, part, out=out)
            continue
        if out is None:
            out = np.zeros(shape, x.dtype)
        out[(*lead, results)] += part
    return out if out is not None else np.zeros(shape, x.dtype)


def along_last(x: np.ndarray, maps: tuple[Taps, ...]) -> np.ndarray:
    """Maps applied to the last axes, one each, those that shrink the axis first. Half precision is summed as single."""
    kind = x.dtype
    if kind == np.float16:
        x = x.astype(np.float32)
    first = x.ndim - len(maps)
    for i in sorted(range(len(maps)), key=lambda i: maps[i].count / max(maps[i].size, 1)):
        x = along(x, first + i, maps[i])
    return x.astype(kind, copy=False)
