"""Weights as a length and a direction: g v / |v|, the lengths taken over all dimensions but one."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .composed import composed
from .declare import operator
from .distance import length


def _other_dims(v: Tensor, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(v.ndim) if d != dim)


def _backward(g: Any, v: Tensor, g_: Tensor, results: Any, dim: int) -> tuple[Tensor, Tensor]:
    slope, slope_of_lengths = g
    lengths = results[1]
    along = slope * v
    others = _other_dims(v, dim)
    if others:
        along = along.sum(others, keepdim=True)
    dv = g_ / lengths * (slope - v * (along / (lengths * lengths))) + slope_of_lengths * (v / lengths)
    return dv, along / lengths


@composed(
    "_weight_norm_interface", "v g_", "dim", backward="WeightNormInterface", multi=True, grads={("v", "g_"): _backward}
)
def _interface(v: Tensor, g_: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    lengths = norm_except_dim(v, 2, dim)
    return v * (g_ / lengths), lengths


@operator(method=False)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms over all dimensions but `dim`, which are kept as size 1; over all of them for -1."""
    if dim == -1:
        return length(v, pow, None)
    if dim == 0:
        return length(v.reshape(v.shape[0], -1), pow, 1).reshape(v.shape[0], *[1] * (v.ndim - 1))
    if dim == v.ndim - 1:
        return length(v.reshape(-1, v.shape[-1]), pow, 0).reshape(*[1] * (v.ndim - 1), v.shape[-1])
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


@operator(method=False)
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """`g v / |v|`, the lengths taken over all dimensions but `dim` (over all of them for -1)."""
    if dim in (0, v.ndim - 1):
        return _interface(v, g, dim)[0]
    return v * (g / norm_except_dim(v, 2, dim))
