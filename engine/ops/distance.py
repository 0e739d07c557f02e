"""Lengths of vectors along a dimension, and what is made of them: distances, similarities, normalisation to length
one."""

from __future__ import annotations

import math
from typing import Any

from ..shapes import broadcast_shapes, wrap_dims
from ..tensor import Tensor
from .composed import composed
from .declare import into, operator
from .nonlinear import where

Ints = tuple[int, ...]


def length_slope(g: Tensor, x: Tensor, result: Tensor, p: float, dim: Ints, keepdim: bool) -> Tensor:
    """The gradient of |x|_p; where the length is 0 it has none, and 0 stands for it."""
    if not keepdim:
        for d in sorted(dim):
            g, result = g.unsqueeze(d), result.unsqueeze(d)
    length = result
    if p == 0:
        return x * 0
    if p == 1:
        return g * x.sgn()
    if math.isinf(p):
        size = x.abs()
        reached = (size == length).to(x.dtype)
        return g * x.sgn() * reached / reached.sum(dim, keepdim=True)
    nothing = length == 0
    safe = where(nothing, 1.0, length)
    if p == 2:
        return where(nothing, 0.0, g / safe) * x
    size = x.abs()
    power = where(size == 0, 0.0, where(size == 0, 1.0, size) ** (p - 1))
    return where(nothing, 0.0, g / safe ** (p - 1)) * x.sgn() * power


@composed(
    "vector_length", "input", "p dim keepdim", backward="Norm", overload=lambda tensors, statics: 1, grads={
        "input": lambda g, input, result, p, dim, keepdim: length_slope(g, input, result, p, dim, keepdim)
    },
)  # fmt: skip
def _length(input: Tensor, p: float, dim: Ints, keepdim: bool) -> Tensor:
    if input.dtype.is_complex:
        input = input.abs()
    if p == 2:
        return (input * input).sum(dim, keepdim=keepdim).sqrt()
    size = input.abs()
    if p == 1:
        return size.sum(dim, keepdim=keepdim)
    if p == 0:
        return (size != 0).to(input.dtype).sum(dim, keepdim=keepdim)
    if math.isinf(p):
        return size.amax(dim, keepdim=keepdim) if p > 0 else size.amin(dim, keepdim=keepdim)
    return (size**p).sum(dim, keepdim=keepdim) ** (1.0 / p)


def length(input: Tensor, p: float, dim: Any, keepdim: bool = False) -> Tensor:
    """The p-norm over one or more dimensions."""
    return _length(input, float(p), wrap_dims(dim, input.ndim), keepdim)


@operator(spaces=("nn.functional", "torch"), method=False)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """|x1 - x2 + eps|_p along the last dimension."""
    return length(x1 - x2 + eps, p, -1, keepdim)


@operator(spaces=("nn.functional", "torch"), method=False)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (|x1| |x2|) along `dim`, with lengths of at least `eps`."""
    shape = broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = x1.expand(*shape), x2.expand(*shape)
    parts = []
    for x in (x1, x2):
        size = length(x, 2, dim, True)
        parts.append(x / (size + (size.detach().clamp(min=eps) - size.detach())))
    return (parts[0] * parts[1]).sum(dim)


@operator(spaces=("nn.functional",), method=False)
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """input / max(|input|_p, eps) along `dim`."""
    size = length(input, p, dim, True).clamp(min=eps).expand_as(input)
    return input / size if out is None else into(out, input / size, "normalize")


@operator(spaces=("nn.functional", "torch"), method=False)
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-distances of all pairs of rows of a matrix [n, m], as a vector of n (n - 1) / 2."""
    from . import functions as F

    n = input.shape[0]
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    first, second = F.triu_indices(n, n, 1, device=input.device).unbind(0)
    return length(input.index_select(0, first) - input.index_select(0, second), p, 1)
