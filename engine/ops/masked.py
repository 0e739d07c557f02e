"""`torch.masked`: reductions and normalisations that leave out the elements where a mask is false.

Each fills the masked elements with the value that changes nothing (0 for sums, 1 for products, the least for maxima) and runs the plain
operator; means and variances count the elements that are left.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..shapes import wrap_dims
from ..tensor import Tensor
from . import functions as F
from .declare import operator

_SPACE = ("masked",)


def _mask(input: Tensor, mask: Tensor | None) -> Tensor | None:
    """The mask in the shape of the input. Raises RuntimeError where it does not broadcast to it."""
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool_:
        raise TypeError(f"expected mask to be a boolean tensor, got {mask.dtype}")
    return mask.expand(*input.shape)


def _filled(input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    m = _mask(input, mask)
    return input if m is None else F.where(m, input, input.new_full((), value))


def _least(x: Tensor) -> Any:
    """What is below every element that a tensor of this dtype on this device can have, or the least of them."""
    if x.dtype.is_floating_point:
        return -math.inf
    return False if x.dtype is dtypes.bool_ else x._storage.backend.limits(x.dtype)[0]


def _greatest(x: Tensor) -> Any:
    if x.dtype.is_floating_point:
        return math.inf
    return True if x.dtype is dtypes.bool_ else x._storage.backend.limits(x.dtype)[1]


def _dims(dim: Any, input: Tensor) -> tuple[int, ...]:
    return tuple(range(input.ndim)) if dim is None or dim == () else wrap_dims(dim, input.ndim)


def _cast(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None else input.to(dtype)


def _summed(input: Tensor, dtype: Any) -> Tensor:
    """In the dtype that sums are made in."""
    if dtype is None and input.dtype.category < dtypes.FLOATING:
        dtype = dtypes.int64
    return _cast(input, dtype)


def _count(input: Tensor, dims: tuple[int, ...], keepdim: bool, mask: Tensor | None) -> Tensor:
    m = _mask(input, mask)
    ones = F.ones_like(input.detach(), dtype=dtypes.int64) if m is None else m.to(dtypes.int64)
    return ones.sum(dims, keepdim) if dims else ones


@operator(name="sum", spaces=_SPACE, method=False)
def masked_sum(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The sum over `dim` of the elements where `mask`."""
    x = _filled(_summed(input, dtype), mask, 0)
    dims = _dims(dim, input)
    return x.sum(dims, bool(keepdim)) if dims else x.clone()


@operator(name="prod", spaces=_SPACE, method=False)
def masked_prod(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The product over `dim` of the elements where `mask`."""
    x = _filled(_summed(input, dtype), mask, 1)
    for d in sorted(_dims(dim, input), reverse=True):
        x = x.prod(d, keepdim=bool(keepdim))
    return x


def _extreme(input: Tensor, dim: Any, keepdim: Any, dtype: Any, mask: Any, name: str, neutral: Any) -> Tensor:
    x = _cast(input, dtype)
    x = _filled(x, mask, neutral(x))
    return getattr(F, name)(x, _dims(dim, input), bool(keepdim)) if x.ndim else x.clone()


@operator(name="amax", spaces=_SPACE, method=False)
def masked_amax(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The largest element over `dim` where `mask`; the least value of the dtype where nothing is left."""
    return _extreme(input, dim, keepdim, dtype, mask, "amax", _least)


@operator(name="amin", spaces=_SPACE, method=False)
def masked_amin(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest element over `dim` where `mask`; the greatest value of the dtype where nothing is left."""
    return _extreme(input, dim, keepdim, dtype, mask, "amin", _greatest)


@operator(name="argmax", spaces=_SPACE, method=False)
def masked_argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the largest element where `mask`, in the dtype of the input, as PyTorch gives it."""
    x = _cast(input, dtype)
    return F.argmax(_filled(x, mask, _least(x)), dim, bool(keepdim)).to(x.dtype)


@operator(name="argmin", spaces=_SPACE, method=False)
def masked_argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the smallest element where `mask`, in the dtype of the input, as PyTorch gives it."""
    x = _cast(input, dtype)
    return F.argmin(_filled(x, mask, _greatest(x)), dim, bool(keepdim)).to(x.dtype)


@operator(name="mean", spaces=_SPACE, method=False)
def masked_mean(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean over `dim` of the elements where `mask`; NaN where nothing is left."""
    x = _cast(input, dtype)
    dims = _dims(dim, input)
    if mask is None and dims:
        return x.mean(dims, bool(keepdim))
    kind = None if x.dtype.category >= dtypes.FLOATING else dtypes.get_default_dtype()
    return masked_sum(x, dims, keepdim=keepdim, dtype=kind, mask=mask) / _count(input, dims, bool(keepdim), mask)


@operator(name="median", spaces=_SPACE, method=False)
def masked_median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The lower median along `dim` of the elements where `mask`; NaN where nothing is left. Raises ValueError for NaNs in the input."""
    x = _cast(input, dtype)
    if x.ndim == 0:
        x = x.reshape(1)
        out = masked_median(x, 0, mask=None if mask is None else mask.reshape(1))
        return out
    if mask is None:
        return F.nanmedian(x, dim, keepdim).values
    if bool(x.isnan().any().item()):
        raise ValueError("masked median expected no fully masked out rows if any inputs are nan")
    return F.nanmedian(_filled(x, mask, math.nan), dim, keepdim).values


@operator(name="norm", spaces=_SPACE, method=False)
def masked_norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm over `dim` of the elements where `mask`."""
    order = 2.0 if ord is None else float(ord)
    x = _filled(_cast(input, dtype), mask, math.inf if order < 0 else 0)
    dims = _dims(dim, input)
    size = x.abs()
    if order == math.inf:
        return size.amax(dims, bool(keepdim)) if dims else size
    if order == -math.inf:
        return size.amin(dims, bool(keepdim)) if dims else size
    return F.linalg_vector_norm(x, order, dims or None, bool(keepdim))


def _variance(input: Tensor, dims: tuple[int, ...], correction: Any, keepdim: bool, mask: Tensor | None) -> Tensor:
    x = input if input.dtype.category >= dtypes.FLOATING else input.to(dtypes.get_default_dtype())
    count = _count(input, dims, True, mask)
    mean = masked_sum(x, dims, keepdim=True, mask=mask) / count
    centred = x - mean
    square = centred * centred.conj() if x.dtype.is_complex else centred * centred
    total = masked_sum(square, dims, keepdim=keepdim, mask=mask)
    if not keepdim:
        count = count.reshape(total.shape)
    return total / (count - correction).clamp(min=0) if correction else total / count


def _corrected(dim: Any, unbiased: Any, correction: Any) -> Any:
    return (0 if unbiased is False else 1) if correction is None else correction


@operator(name="var", spaces=_SPACE, method=False)
def masked_var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance over `dim` of the elements where `mask`."""
    x = _cast(input, dtype)
    return _variance(x, _dims(dim, input), _corrected(dim, unbiased, correction), bool(keepdim), mask)


@operator(name="std", spaces=_SPACE, method=False)
def masked_std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation over `dim` of the elements where `mask`."""
    return masked_var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


@operator(name="softmax", spaces=_SPACE, method=False)
def masked_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax along `dim` over the elements where `mask`; the others are 0, all NaN where nothing is left."""
    return F.softmax(_filled(_cast(input, dtype), mask, -math.inf), dim)


@operator(name="log_softmax", spaces=_SPACE, method=False)
def masked_log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """log_softmax along `dim` over the elements where `mask`."""
    return F.log_softmax(_filled(_cast(input, dtype), mask, -math.inf), dim)


@operator(name="softmin", spaces=_SPACE, method=False)
def masked_softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax of the negative along `dim` over the elements where `mask`."""
    return F.softmax(-_filled(_cast(input, dtype), mask, math.inf), dim)


@operator(name="normalize", spaces=_SPACE, method=False)
def masked_normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The elements where `mask` divided by their norm along `dim` (at least `eps`); the others are 0."""
    x = _filled(_cast(input, dtype), mask, 0)
    size = masked_norm(x, ord, dim, keepdim=True)
    return x / F.maximum(size, size.new_full((), eps))


@operator(name="logaddexp", spaces=_SPACE, method=False)
def masked_logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), where masked elements count as exp(...) = 0."""
    return F.logaddexp(
        _filled(_cast(input, dtype), input_mask, -math.inf), _filled(_cast(other, dtype), other_mask, -math.inf)
    )


@operator(name="logsumexp", spaces=_SPACE, method=False)
def masked_logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """log(sum(exp(input))) over `dim` of the elements where `mask`, in the dtype of the input, as PyTorch gives it."""
    x = _cast(input, dtype)
    x = _filled(x, mask, _least(x))
    dims = _dims(dim, input)
    return F.logsumexp(x, dims, bool(keepdim)).to(x.dtype) if dims else x.clone()


@operator(name="cumsum", spaces=_SPACE, method=False)
def masked_cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The running sum along `dim`, where masked elements count as 0."""
    return F.cumsum(_filled(_summed(input, dtype), mask, 0), dim)


@operator(name="cumprod", spaces=_SPACE, method=False)
def masked_cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The running product along `dim`, where masked elements count as 1."""
    return F.cumprod(_filled(_summed(input, dtype), mask, 1), dim)
