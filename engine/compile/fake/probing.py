"""How a kernel of the CPU lays out its results when its inputs are not row-major: the kernel itself is asked, once a pattern.

The kernel runs on tiny arrays (sizes 1 and 2) whose dimensions lie in memory in the same order as those of the inputs. What the
order of its results is does not depend on sizes. Operators whose results are always fresh row-major memory are not asked.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops.table import Op
from .layout import is_row_major, ordered, row_major
from .symbolic import is_symbolic

ASKED = frozenset(["cat", "stack", "roll", "tril", "triu", "where", "fft_r2c", "fft_c2c", "fft_c2r", "frexp"])
"""Operators that are asked besides pointwise, scan and fused ones."""
_orders: dict[Any, list[tuple[int, ...]] | None] = {}


def asked(op: Op) -> bool:
    """Whether the layout of an operator's results depends on its inputs'."""
    return (op.kind in ("pointwise", "scan", "fused") and op.name != "native_group_norm") or op.name in ASKED


def strides_of(op: Op, inputs: Sequence[Any], statics: tuple[Any, ...], shapes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Strides of the results, whose shapes are given. `inputs` have `shape`, `strides` and `dtype`, or are numbers or None."""
    arrays = [a for a in inputs if hasattr(a, "strides")]
    if all(is_row_major(a.shape, a.strides) for a in arrays):
        return [row_major(s) for s in shapes]
    patterns = tuple([_pattern(a) if hasattr(a, "strides") else type(a) for a in inputs])
    key = (op.name, patterns, repr(statics))
    if key not in _orders:
        _orders[key] = _probe(op, inputs, patterns, statics)
    orders = _orders[key]
    if orders is None or [len(o) for o in orders] != [len(s) for s in shapes]:
        return [row_major(s) for s in shapes]
    return [ordered(s, o) for s, o in zip(shapes, orders, strict=True)]


def _pattern(a: Any) -> tuple[Any, ...]:
    """Sizes as 1 or 2, the order of dimensions in memory, which of them repeat memory, and the dtype."""
    rank = len(a.shape)
    steps = a.strides

    def compare(i: int, j: int) -> int:
        x, y = steps[i], steps[j]
        return i - j if x is y or x == y else -1 if x > y else 1

    order = tuple(sorted(range(rank), key=functools.cmp_to_key(compare)))
    sizes = tuple([1 if type(n) is int and n == 1 else 2 for n in a.shape])
    repeats = tuple([type(s) is int and s == 0 for s in steps])
    return sizes, order, repeats, a.dtype.name


def _tiny(pattern: tuple[Any, ...], dtype: Any) -> np.ndarray:
    sizes, order, repeats, _ = pattern
    dense = np.ones([1 if repeats[d] else sizes[d] for d in order], dtype.numpy)
    back = [order.index(d) for d in range(len(order))]
    return np.broadcast_to(dense.transpose(back), sizes)


def _probe(op: Op, inputs: Sequence[Any], patterns: tuple[Any, ...], statics: tuple[Any, ...]) -> Any:
    if op.cpu is None:
        return None
    given = [_tiny(p, a.dtype) if isinstance(p, tuple) else _plain(a) for a, p in zip(inputs, patterns, strict=True)]
    plain = [_plain(s) for s in statics]
    try:
        with np.errstate(all="ignore"):
            made = op.cpu(given, *plain) if op.list_input else op.cpu(*given, *plain)
    except Exception:  # sizes that do not fit such small arrays: results are taken for row-major
        return None
    out = []
    for array in made if op.multi else (made,):
        steps = getattr(array, "strides", ())
        out.append(tuple(sorted(range(len(steps)), key=lambda d: (-steps[d], d))))
    return out


def _plain(value: Any) -> Any:
    if is_symbolic(value):
        return value.hint if value.hint is not None else 2
    if isinstance(value, tuple):
        return tuple([_plain(v) for v in value])
    return value
