"""Putting tensors together: `cat`, `stack` and their relatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dispatch
from ..shapes import wrap_dim
from ..tensor import Tensor
from .declare import operator
from .table import Op


def _shape(shapes: Sequence[tuple[int, ...]], dim: int) -> tuple[int, ...]:
    first = shapes[0]
    return (*first[:dim], sum(s[dim] for s in shapes), *first[dim + 1 :])


def _cat_backward(g: Tensor, tensors_shape: list[tuple[int, ...]], dim: int) -> list[Tensor]:
    out, start = [], 0
    for shape in tensors_shape:
        out.append(g.narrow(dim, start, shape[dim]))
        start += shape[dim]
    return out


CAT = Op(
    "cat", "*tensors", "dim", kind="index", cpu=lambda arrays, dim: np.concatenate(arrays, axis=dim), shape=_shape,
    grads={"tensors": _cat_backward},
)  # fmt: skip


@operator(method=False, out=True, aliases=("concat", "concatenate"))
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after another along `dim`; they must agree in the other sizes. Raises RuntimeError otherwise."""
    parts = list(tensors)
    if not parts:
        raise RuntimeError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(parts):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
        if t.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    parts = [t for t in parts if tuple(t.shape) != (0,)] or parts[:1]
    at = wrap_dim(dim, parts[0].ndim)
    kind = dispatch.result_type(*parts)
    for i, t in enumerate(parts[1:], 1):
        if t.ndim != parts[0].ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {parts[0].ndim} and {t.ndim}")
        for d in range(t.ndim):
            if d != at and t.shape[d] != parts[0].shape[d]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {at}. Expected size {parts[0].shape[d]} but got size {t.shape[d]} "
                    f"for tensor number {i} in the list."
                )
    parts = [t if t._dtype is kind else t.to(kind) for t in parts]
    return dispatch.call(CAT, tuple(parts), (at,))


@operator(method=False, out=True)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape along a new dimension. Raises RuntimeError where the shapes differ."""
    parts = list(tensors)
    if not parts:
        raise RuntimeError("stack expects a non-empty TensorList")
    at = wrap_dim(dim, parts[0].ndim + 1)
    for i, t in enumerate(parts[1:], 1):
        if t.shape != parts[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(parts[0].shape)} at entry 0 and {list(t.shape)} at entry {i}"
            )
    return cat([t.unsqueeze(at) for t in parts], at)


def _many(tensors: Any) -> list[Tensor]:
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


@operator(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape."""
    from ..shapes import broadcast_shapes

    parts = _many(tensors)
    shape = broadcast_shapes(*[t.shape for t in parts])
    return tuple(t.expand(*shape) for t in parts)
