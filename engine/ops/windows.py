"""Sliding windows on the CPU: arguments given once or per dimension, output sizes, patches, and where windows overlap an axis.

Convolution and pooling share it. Everything here is plain numbers and numpy; no operator is declared.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..shapes import as_int

Ints = tuple[int, ...]


def ints(value: Any, rank: int, function: str, name: str) -> Ints:
    """An integer for each of `rank` dimensions, given as one number or a sequence. Raises TypeError, RuntimeError."""
    if isinstance(value, (list, tuple)):
        out = tuple(whole(v, function, name) for v in value)
        if len(out) == 1:
            return out * rank
        if len(out) != rank:
            raise RuntimeError(f"{function}(): expected {name} to be one number or {rank}, but got {list(out)}")
        return out
    return (whole(value, function, name),) * rank


def whole(value: Any, function: str, name: str) -> int:
    """A Python int from anything that counts as one; raises TypeError for the rest."""
    if hasattr(value, "__index__"):
        return as_int(value)
    raise TypeError(f"{function}(): argument '{name}' must be tuple of ints, not {type(value).__name__}")


def padded_copy(x: np.ndarray, padding: Sequence[int], value: Any = 0) -> np.ndarray:
    """`x` with `padding[i]` elements of `value` on both sides of its last dimensions; `x` itself, row-major, where there are none."""
    if not any(padding):
        return np.ascontiguousarray(x)
    lead = x.ndim - len(padding)
    shape = (*x.shape[:lead], *[n + 2 * p for n, p in zip(x.shape[lead:], padding, strict=True)])
    out = np.zeros(shape, x.dtype) if not value else np.full(shape, value, x.dtype)
    out[(..., *[slice(p, p + n) for n, p in zip(x.shape[lead:], padding, strict=True)])] = x
    return out


def strided(x: np.ndarray, shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """A window on the memory of `x` from its first element on, strides in bytes."""
    if not x.size:
        return np.empty(shape, x.dtype)
    return np.lib.stride_tricks.as_strided(x, tuple(shape), tuple(strides))


def inside(shift: int, step: int, count: int, size: int) -> tuple[slice, slice]:
    """Which of `count` windows have their element at `shift` on an axis of `size`, and where those elements lie.

    Window o has it at o * step + shift. Both are slices of equal length.
    """
    first = -(shift // step) if shift < 0 else 0
    last = min(count - 1, (size - 1 - shift) // step)
    if last < first:
        return slice(0, 0), slice(0, 0)
    start = first * step + shift
    return slice(first, last + 1), slice(start, last * step + shift + 1, step)


def offsets(
    kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], counts: Sequence[int], sizes: Sequence[int]
) -> Iterator[tuple[Ints, tuple[slice, ...], tuple[slice, ...]]]:  # fmt: skip
    """For each element of a window: its place in the window, the windows that have it, and the elements of the axes that they have."""
    axes = [
        [(k, *inside(k * d - p, s, count, size)) for k in range(n)]
        for n, s, p, d, count, size in zip(kernel, stride, padding, dilation, counts, sizes, strict=True)
    ]
    for place in itertools.product(*axes):
        yield tuple(p[0] for p in place), tuple(p[1] for p in place), tuple(p[2] for p in place)


def blocks(count: int, each: int, limit: int) -> Iterator[tuple[int, int]]:
    """`count` things of size `each` in runs whose size stays near `limit`: (first, last + 1)."""
    step = max(1, min(count, limit // max(each, 1)))
    for i in range(0, count, step):
        yield i, min(count, i + step)
