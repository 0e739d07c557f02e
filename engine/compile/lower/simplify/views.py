"""View primitives as strides in the row-major order of what they look at, with symbolic sizes.

Each entry gives (shape, strides, offset) from the source's shape and the primitive's static arguments. `as_strided` is no entry:
it looks at memory, not at elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..loops.index import ZERO, Ix, ix, strides_of

Geometry = tuple[Sequence[Ix], Sequence[Ix], Ix]
Rule = Callable[..., Geometry]


def _reshaped(shape: Sequence[Ix], out: Sequence[Ix], *_: Any) -> Geometry:
    return out, strides_of(out), ZERO


def _permuted(shape: Sequence[Ix], out: Sequence[Ix], dims: Sequence[int]) -> Geometry:
    steps = strides_of(shape)
    return out, [steps[d] for d in dims], ZERO


def _transposed(shape: Sequence[Ix], out: Sequence[Ix], a: int, b: int) -> Geometry:
    order = list(range(len(shape)))
    if order:
        order[a], order[b] = order[b], order[a]
    return _permuted(shape, out, order)


def _expanded(shape: Sequence[Ix], out: Sequence[Ix], *_: Any) -> Geometry:
    extra = len(out) - len(shape)
    steps = [ZERO if n != m else s for s, n, m in zip(strides_of(shape), shape, out[extra:], strict=True)]
    return out, [ZERO] * extra + steps, ZERO


def _selected(shape: Sequence[Ix], out: Sequence[Ix], dim: int, index: Any) -> Geometry:
    steps = list(strides_of(shape))
    offset = steps.pop(dim) * ix(index)
    return out, steps, offset


def _sliced(shape: Sequence[Ix], out: Sequence[Ix], dim: int, start: Any, end: Any, step: Any) -> Geometry:
    steps = list(strides_of(shape))
    offset = steps[dim] * ix(start)
    steps[dim] = steps[dim] * ix(step)
    return out, steps, offset


def _diagonal(shape: Sequence[Ix], out: Sequence[Ix], shift: int, a: int, b: int) -> Geometry:
    steps = strides_of(shape)
    start = steps[b] * shift if shift >= 0 else steps[a] * -shift
    return out, [*[s for d, s in enumerate(steps) if d not in (a, b)], steps[a] + steps[b]], start


def _unfolded(shape: Sequence[Ix], out: Sequence[Ix], dim: int, size: Any, step: Any) -> Geometry:
    if not shape:
        return out, [ix(1)], ZERO
    steps = list(strides_of(shape))
    last = steps[dim]
    steps[dim] = steps[dim] * ix(step)
    return out, [*steps, last], ZERO


VIEWS: dict[str, Rule] = {
    "view": _reshaped, "unsafe_view": _reshaped, "squeeze": _reshaped, "unsqueeze": _reshaped, "alias": _reshaped,
    "permute": _permuted, "transpose": _transposed,
    "t": lambda shape, out: (out, tuple(reversed(strides_of(shape))), ZERO),
    "expand": _expanded, "select": _selected, "unbind": _selected, "slice": _sliced, "split": _sliced,
    "split_with_sizes": _sliced, "unsafe_split": _sliced, "unsafe_split_with_sizes": _sliced, "diagonal": _diagonal,
    "unfold": _unfolded,
}  # fmt: skip
"""Geometry by the primitive's name: (source shape, result shape, *statics)."""
