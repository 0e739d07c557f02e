"""Transforms of vectors and matrices: to the simplex, to Cholesky factors, and several transforms side by side."""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import finfo
from ..nn import functional
from ..ops import functions as F
from ..shapes import Size
from ..tensor import Tensor
from . import constraints
from .scalar_transforms import SigmoidTransform, Transform
from .utils import lazy_property, linalg, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix

_LOG_TWO = math.log(2.0)


def _vector(shape: Any) -> None:
    if len(shape) < 1:
        raise ValueError("Too few dimensions on input")


def _after_one(rows: Tensor) -> Tensor:
    """Vectors with a 1 put in front."""
    return F.cat([F.ones_like(rows[..., :1]), rows], -1)


class SoftmaxTransform(Transform):
    """exp, then normalisation: from vectors to the simplex. Many vectors have one image; the inverse is the logarithm."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    _same = True

    def _call(self, x: Any) -> Any:
        grown = (x - x.max(-1, True)[0]).exp()
        return grown / grown.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _vector(shape)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """From vectors of n numbers to the simplex of n + 1: each takes a part, sigmoid(x), of what is left of a stick.

    x is shifted by the logarithm of the number of parts to come, so that 0 is the middle of the simplex.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True
    _same = True

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        n = x.shape[-1]
        return (n - F.arange(n, dtype=x.dtype, device=x.device)).log()

    def _call(self, x: Any) -> Any:
        part = SigmoidTransform()(x - self._offset(x))
        left = (1 - part).cumprod(-1)
        return F.cat([part, F.ones_like(part[..., :1])], -1) * _after_one(left)

    def _inverse(self, y: Any) -> Any:
        head = y[..., :-1]
        left = (1 - head.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return head.log() - left.log() + self._offset(head)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        x = x - self._offset(x)
        return (-x + functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _vector(shape)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        _vector(shape)
        return Size((*shape[:-1], shape[-1] - 1))


class CorrCholeskyTransform(Transform):
    """From vectors of D (D - 1) / 2 numbers to Cholesky factors of D x D correlation matrices.

    Each row is a stick of length 1 in the squares: tanh of the numbers are the partial correlations (D. Lewandowski,
    D. Kurowicka and H. Joe, 2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        x = F.tanh(x)
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r * r).sqrt().cumprod(-1)  # what the entries so far leave of the row's length
        r = r + F.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        one = F.ones_like(left[..., :1])
        return r * F.cat([one, left[..., :-1]], -1)

    def _inverse(self, y: Any) -> Any:
        left = 1 - F.cumsum(y * y, -1)
        below = tril_matrix_to_vec(y, diag=-1)
        before = F.cat([F.ones_like(left[..., :1]), left[..., :-1]], -1)
        t = below / tril_matrix_to_vec(before, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        stick = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        slope = -2 * (x + functional.softplus(-2 * x) - _LOG_TWO).sum(-1)
        return stick + slope

    def forward_shape(self, shape: Any) -> Any:
        _vector(shape)
        n = shape[-1]
        size = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class LowerCholeskyTransform(Transform):
    """From square matrices to lower triangular ones with a positive diagonal: the exponential of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _same = True

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """From square matrices to positive definite ones, by way of a Cholesky factor."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _same = True

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(linalg("cholesky")(y))


# -- several side by side ---------------------------------------------------------------------------


def _checked(tseq: Any, cache_size: int) -> list[Transform]:
    if not all(isinstance(t, Transform) for t in tseq):
        raise AssertionError("All elements of tseq must be Transform instances")
    return [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)


def _inside(dim: int, value: Tensor, name: str = "tensor") -> None:
    if not -value.dim() <= dim < value.dim():
        raise AssertionError(f"dim {dim} out of range for {name} with {value.dim()} dimensions")


class CatTransform(Transform):
    """Transforms for slices of the given lengths along `dim`."""

    def __init__(self, tseq: Any, dim: int = 0, lengths: Any = None, cache_size: int = 0):
        self.transforms = _checked(tseq, cache_size)
        super().__init__(cache_size=cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")
        self.dim = dim

    def _arguments(self) -> tuple[Any, ...]:
        return self.transforms, self.dim, self.lengths

    @lazy_property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    def _slices(self, value: Tensor, name: str, called: str = "tensor") -> list[Tensor]:
        _inside(self.dim, value, called)
        if value.size(self.dim) != self.length:
            raise AssertionError(f"{name}.size({self.dim}) = {value.size(self.dim)} must equal length {self.length}")
        return list(value.split(self.lengths, self.dim))

    def _call(self, x: Any) -> Any:
        parts = zip(self.transforms, self._slices(x, "x"), strict=True)
        return F.cat([t(part) for t, part in parts], self.dim)

    def _inverse(self, y: Any) -> Any:
        parts = zip(self.transforms, self._slices(y, "y"), strict=True)
        return F.cat([t.inv(part) for t, part in parts], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        parts = zip(self.transforms, self._slices(x, "x", "x"), self._slices(y, "y", "y"), strict=True)
        terms = [sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim) for t, a, b in parts]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        if dim < 0:
            return F.cat(terms, dim)
        total = terms[0]  # the slices are parts of one event
        for term in terms[1:]:
            total = total + term
        return total

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """A transform for each index of `dim`."""

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0):
        self.transforms = _checked(tseq, cache_size)
        super().__init__(cache_size=cache_size)
        self.dim = dim

    def _arguments(self) -> tuple[Any, ...]:
        return self.transforms, self.dim

    def _slices(self, value: Tensor, name: str, called: str = "tensor") -> list[Tensor]:
        _inside(self.dim, value, called)
        if value.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"{name}.size({self.dim}) = {value.size(self.dim)} must equal len(transforms) {len(self.transforms)}"
            )
        return list(value.unbind(self.dim))

    def _call(self, x: Any) -> Any:
        parts = zip(self.transforms, self._slices(x, "x"), strict=True)
        return F.stack([t(part) for t, part in parts], self.dim)

    def _inverse(self, y: Any) -> Any:
        parts = zip(self.transforms, self._slices(y, "y"), strict=True)
        return F.stack([t.inv(part) for t, part in parts], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        parts = zip(self.transforms, self._slices(x, "x", "x"), self._slices(y, "y", "y"), strict=True)
        return F.stack([t.log_abs_det_jacobian(a, b) for t, a, b in parts], self.dim)

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
