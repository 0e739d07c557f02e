"""Flat places of elements in row-major memory: what the numpy kernels of gather, scatter and indexing compute first.

numpy writes with repeated places (`ufunc.at`) several times faster through one flat index than through a tuple of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..shapes import contiguous_strides

Places = np.ndarray
_lent: list[np.ndarray] = []


def lend(array: np.ndarray | None) -> None:
    """Let the next kernels write into this array where it is the one they would copy; None ends it."""
    _lent[:] = [] if array is None else [array]


def fresh(x: np.ndarray) -> np.ndarray:
    """What a kernel that changes some elements writes into: a row-major copy of x, or x itself in an in-place call."""
    if _lent and x is _lent[0]:
        return x
    return np.array(x, order="C")


def along(shape: Sequence[int], index: np.ndarray, dim: int) -> Places:
    """Places of `x[i, index[i, j], ...]`, the index standing for dimension `dim` (of x with this shape); in the index's shape."""
    strides = contiguous_strides(shape)
    out = index * np.int64(strides[dim])
    for d, n in enumerate(index.shape):
        if d != dim and n > 1:
            out += (np.arange(n) * strides[d]).reshape([-1 if i == d else 1 for i in range(index.ndim)])
    return out


def rows(shape: Sequence[int], index: np.ndarray, dim: int) -> Places:
    """Places of the parts at a vector of `index` along `dim`; in the shape with as many parts there."""
    strides = contiguous_strides(shape)
    out = np.zeros((), np.int64)
    for d, n in enumerate(shape):
        steps = (index if d == dim else np.arange(n)) * np.int64(strides[d])
        out = out + steps.reshape([-1 if i == d else 1 for i in range(len(shape))])
    return out


def indexed(shape: Sequence[int], indices: Sequence[Any]) -> Places:
    """Places of `x[indices]`, an integer array or None (all) for each dimension, by numpy's rule for the order of dimensions."""
    strides = contiguous_strides(shape)
    at = [i for i, v in enumerate(indices) if v is not None]
    common = np.broadcast_shapes(*[indices[i].shape for i in at])
    together = at[-1] - at[0] + 1 == len(at)
    first = at[0] if together else 0
    rest = [d for d in range(len(shape)) if d >= len(indices) or indices[d] is None]
    before = [d for d in rest if d < first]
    rank = len(rest) + len(common)
    out = np.zeros((), np.int64)
    for i in at:
        steps = np.where(indices[i] < 0, indices[i] + shape[i], indices[i]) * np.int64(strides[i])
        out = out + steps.reshape((1,) * (len(common) - steps.ndim) + steps.shape + (1,) * (len(rest) - len(before)))
    for j, d in enumerate(rest):
        axis = j if j < len(before) else j + len(common)
        out = out + (np.arange(shape[d]) * strides[d]).reshape([-1 if i == axis else 1 for i in range(rank)])
    return np.broadcast_to(out, (*[shape[d] for d in before], *common, *[shape[d] for d in rest[len(before) :]]))


def accumulate(ufunc: Any, out: np.ndarray, places: Places, values: np.ndarray) -> None:
    """`out[places] = ufunc(out[places], values)` in row-major `out`, every repeated place in turn."""
    if places.size:
        given = np.broadcast_to(values, places.shape).reshape(-1)
        ufunc.at(out.reshape(-1), places.reshape(-1), given.astype(out.dtype, copy=False))
