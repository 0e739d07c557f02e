"""How results lie in memory: numpy's rules for the order of dimensions, as arithmetic on strides.

Elementwise results keep the order of their inputs (numpy's "K" order), so that the fake of `x.t() + 1` is as transposed as the
real one. Sizes and strides may be symbolic; where an order must be known, the comparison becomes a guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...shapes import contiguous_strides

Steps = tuple[Any, ...]


def row_major(shape: Sequence[Any]) -> Steps:
    """Strides of a row-major array; sizes 0 count as 1."""
    if all(type(s) is int for s in shape):
        return contiguous_strides(shape)
    out: list[Any] = [1] * len(shape)
    step: Any = 1
    for i in range(len(shape) - 1, -1, -1):
        out[i] = step
        size = shape[i]
        step = step * (size if type(size) is not int else max(size, 1))
    return tuple(out)


def is_row_major(shape: Sequence[Any], strides: Sequence[Any]) -> bool:
    """Whether the elements lie in row-major order without gaps."""
    step: Any = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 0:
            return True
        if size != 1:
            if stride != step:
                return False
            step = step * size
    return True


def ordered(shape: Sequence[Any], order: Sequence[int]) -> Steps:
    """Strides of a dense array whose dimensions lie in memory in `order`, outermost first."""
    out: list[Any] = [1] * len(shape)
    step: Any = 1
    for d in reversed(order):
        out[d] = step
        size = shape[d]
        step = step * (size if type(size) is not int else max(size, 1))
    return tuple(out)


def kept_order(shape: Sequence[Any], inputs: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> Steps:
    """Strides of an elementwise result of `inputs` (shape, strides), each broadcast to `shape`.

    The order of dimensions is numpy's: an insertion sort from the innermost on, in which a dimension goes further out when its
    strides are larger, and the first input that tells them apart decides.
    """
    rank = len(shape)
    if rank < 2 or all((len(s) == rank and is_row_major(s, st)) or not len(s) for s, st in inputs):
        return row_major(shape)
    steps = []
    for s, st in inputs:
        missing = rank - len(s)
        steps.append([0] * missing + [0 if _one(n) else x for n, x in zip(s, st, strict=True)])
    axes = list(range(rank - 1, -1, -1))  # innermost first
    for i in range(1, rank):
        axis, place = axes[i], i
        for j in range(i - 1, -1, -1):
            other, known, swap = axes[j], False, False
            for st in steps:
                a, b = st[axis], st[other]
                if _zero(a) or _zero(b):
                    continue
                if b <= a:
                    swap = False
                elif not known:
                    swap = True
                known = True
            if known:
                if not swap:
                    break
                place = j
        axes.insert(place, axes.pop(i))
    return ordered(shape, list(reversed(axes)))


def _one(n: Any) -> bool:
    return bool(n == 1)


def _zero(n: Any) -> bool:
    return type(n) is int and n == 0
