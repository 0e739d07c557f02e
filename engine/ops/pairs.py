"""Distances between whole tensors and between all pairs of rows; rows cut down to a length."""

from __future__ import annotations

import math

import numpy as np

from .. import dispatch, dtypes
from ..shapes import broadcast_shapes, wrap_dim
from ..tensor import Tensor
from .composed import composed
from .declare import operator, tensor_argument
from .distance import length, length_slope
from .gradients import choose
from .table import Op

_AT_ONCE = 1 << 22
"""Differences held in memory at a time."""


def _norms(difference: np.ndarray, p: float) -> np.ndarray:
    """The p-norms along the last dimension; overwrites its argument."""
    size = np.abs(difference, out=difference)
    if p == 0:
        return np.count_nonzero(size, axis=-1).astype(size.dtype)
    if p == 1:
        return size.sum(-1)
    if p == 2:
        return np.sqrt(np.einsum("...i,...i->...", size, size))
    if math.isinf(p):
        return size.max(-1, initial=0)
    return np.power(size, p).sum(-1) ** size.dtype.type(1 / p)


def _by_products(x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """|a - b|^2 = |a|^2 + |b|^2 - 2 a b, clamped at zero."""
    squares = (
        np.einsum("...ij,...ij->...i", x1, x1)[..., :, None] + np.einsum("...ij,...ij->...i", x2, x2)[..., None, :]
    )
    squares -= 2 * np.matmul(x1, np.swapaxes(x2, -1, -2))
    return np.sqrt(np.maximum(squares, 0, out=squares))


def _cdist(x1: np.ndarray, x2: np.ndarray, p: float, products: bool) -> np.ndarray:
    """x1 [..., P, M], x2 [..., R, M] to [..., P, R]."""
    if products:
        return np.ascontiguousarray(_by_products(x1, x2))
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.empty((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
    rows = max(1, _AT_ONCE // max(1, math.prod(batch) * x2.shape[-2] * x2.shape[-1]))
    for start in range(0, x1.shape[-2], rows):
        part = slice(start, start + rows)
        out[..., part, :] = _norms(x1[..., part, None, :] - x2[..., None, :, :], p)
    return out


def _slope(g: Tensor, x1: Tensor, x2: Tensor, result: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """The gradients of all pairs' distances; a distance of zero has none."""
    nothing = result == 0
    if p == 2:
        weight = choose(nothing, 0.0, g / choose(nothing, 1.0, result))
        return (
            weight.sum(-1, keepdim=True) * x1 - weight @ x2,
            weight.sum(-2).unsqueeze(-1) * x2 - weight.transpose(-1, -2) @ x1,
        )
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    sign, size = difference.sgn(), difference.abs()
    g, result, nothing = g.unsqueeze(-1), result.unsqueeze(-1), nothing.unsqueeze(-1)
    if p == 0:
        each = difference * 0
    elif p == 1:
        each = g * sign
    elif math.isinf(p):
        each = choose(size == result, g * sign, 0.0)
    else:
        power = choose(size == 0, 0.0, choose(size == 0, 1.0, size) ** (p - 1))
        each = choose(nothing, 0.0, g / choose(nothing, 1.0, result) ** (p - 1)) * sign * power
    return each.sum(-2), -each.sum(-3)


CDIST = Op(
    "cdist", "x1 x2", "p products", kind="custom", cpu=_cdist,
    shape=lambda a, b, *_: (*broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-2]),
    grads={("x1", "x2"): lambda g, x1, x2, result, p: _slope(g, x1, x2, result, p)},
)  # fmt: skip
_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@operator(method=False)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = _MODES[0]) -> Tensor:
    """The p-distances of all pairs of rows, [..., P, M] and [..., R, M] to [..., P, R].

    Euclidean ones of more than 25 rows go through a matrix product unless `compute_mode` says otherwise. Raises RuntimeError for
    shapes that do not go together.
    """
    for name, t in (("X1", x1), ("X2", x2)):
        tensor_argument("cdist", name.lower(), 1 if name == "X1" else 2, t)
        if not t.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {dispatch.type_name(t.dtype)}")
        if t.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {t.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    mode = compute_mode or _MODES[0]
    if mode not in _MODES:
        raise ValueError(f"{mode} is not a valid value for compute_mode")
    many = x1.shape[-2] > 25 or x2.shape[-2] > 25
    products = p == 2 and (mode == _MODES[1] or (mode == _MODES[0] and many))
    kind = dispatch.result_type(x1, x2)
    return dispatch.call(CDIST, (x1.to(kind), x2.to(kind)), (float(p), products))


def _dist_slope(g: Tensor, input: Tensor, other: Tensor, result: Tensor, p: float) -> tuple[Tensor, Tensor]:
    each = length_slope(g, (input - other).reshape(-1), result, p, (0,), False).reshape(
        broadcast_shapes(input.shape, other.shape)
    )
    return each, -each


@composed(
    "dist", "input other", "p",
    grads={("input", "other"): lambda g, input, other, result, p: _dist_slope(g, input, other, result, p)},
)  # fmt: skip
def _dist(input: Tensor, other: Tensor, p: float) -> Tensor:
    return length((input - other).reshape(-1), p, 0)


@operator()
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of `input - other`."""
    kind = dispatch.result_type(input, tensor_argument("dist", "other", 2, other))
    if kind.category < dtypes.FLOATING:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {dispatch.type_name(kind)} instead."
        )
    return _dist(input, other, float(p))


@operator(inplace=True, out=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The parts along `dim` scaled down to a p-norm of at most `maxnorm`. Raises RuntimeError for vectors and 0-d tensors."""
    tensor_argument("renorm", "input", 1, input)
    if isinstance(p, complex) or p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex) or maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    at = wrap_dim(dim, input.ndim)
    rows = input.movedim(at, 0).reshape(input.shape[at], -1)
    size = length(rows.abs() if rows.dtype.is_complex else rows, p, 1)
    scale = choose(size > maxnorm, maxnorm / (size + 1e-7), 1.0)
    return input * scale.reshape([-1 if i == at else 1 for i in range(input.ndim)])
