"""Rules that the operator table does not have: shapes of operators whose own rule needs values, and memory orders.

`SHAPES` gives the shape of the result from the inputs' shapes and the statics; operators that stand neither here nor have a
rule of their own have shapes that depend on values. `LAYOUTS` gives the strides of results that are not row-major on the CPU,
from (shape, input arrays, statics).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .layout import kept_order, row_major

SHAPES: dict[str, Callable[..., Any]] = {
    "standard_gamma": lambda s, *_: s,
    "sample_dirichlet": lambda s, *_: s,
    "poisson": lambda s, *_: s,
    "standard_gamma_grad": lambda s, *_: s,
    "dirichlet_grad": lambda s, *_: s,
}


def _binomial(count: Any, prob: Any, *_: Any) -> Any:
    from ...shapes import broadcast_shapes

    return broadcast_shapes(count, prob)


SHAPES["binomial"] = _binomial


def _as_first(shape: Any, tensors: Any, statics: Any) -> Any:
    """The order of the first input's dimensions."""
    first = tensors[0]
    return kept_order(shape, [(first.shape, first.strides)]) if tuple(first.shape) == tuple(shape) else row_major(shape)


def _rotated(shape: Any, tensors: Any, statics: Any) -> Any:
    steps = list(tensors[0].strides)
    turns, (a, b) = statics
    if turns % 2:
        steps[a], steps[b] = steps[b], steps[a]
    return kept_order(shape, [(shape, steps)])


LAYOUTS: dict[str, Callable[..., Any]] = {"clone": _as_first, "to_dtype": _as_first, "rot90": _rotated}


def _softmax(x: Any, dim: int) -> Any:
    if x.numel() == 0:
        return x.clone()
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


def _log_softmax(x: Any, dim: int) -> Any:
    if x.numel() == 0:
        return x.clone()
    shifted = x - x.amax(dim, keepdim=True)
    return shifted - shifted.exp().sum(dim, keepdim=True).log()


FORMULAS: dict[str, Callable[..., Any]] = {"softmax": _softmax, "log_softmax": _log_softmax}
"""Primitives that level-2 graphs have as formulas of simpler ones: functions of tensors and statics."""
