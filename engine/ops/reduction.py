"""Reductions: sums, means, extremes, variances, truth of all or any, norms.

Primitives take wrapped dimensions and a `keepdim` flag; the functions below accept PyTorch's forms of the arguments.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import dispatch, dtypes
from ..shapes import numel, reduced_shape, wrap_dim, wrap_dims
from ..tensor import Tensor
from .declare import op_functions, operator
from .table import Op

Dims = tuple[int, ...]


def _shape(shape: tuple[int, ...], dims: Dims, keepdim: bool, *_: Any) -> tuple[int, ...]:
    return reduced_shape(shape, dims, keepdim)


def spread(g: Tensor, shape: tuple[int, ...], dims: Dims, keepdim: bool) -> Tensor:
    """A reduced gradient expanded to the shape before the reduction."""
    if not keepdim:
        g = g.reshape(reduced_shape(shape, dims, True))
    return g.expand(*shape)


def _reduce(ufunc: Any) -> Any:
    return lambda x, dims, keepdim: ufunc(x, axis=dims, keepdims=keepdim)


SUM = Op(
    "sum", "input", "dims keepdim", kind="reduction", shape=_shape,
    cpu=lambda x, dims, keepdim: np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=x.dtype),
    grads={"input": lambda g, input_shape, dims, keepdim: spread(g, input_shape, dims, keepdim)},
)  # fmt: skip
MEAN = Op(
    "mean", "input", "dims keepdim", kind="reduction", shape=_shape, cpu=_reduce(np.mean),
    grads={"input": lambda g, input_shape, dims, keepdim: spread(g / _count(input_shape, dims), input_shape, dims, keepdim)},
)  # fmt: skip
PROD = Op(
    "prod", "input", "dims keepdim", kind="reduction", shape=_shape,
    cpu=lambda x, dims, keepdim: np.multiply.reduce(x, axis=dims, keepdims=keepdim, dtype=x.dtype),
    grads={"input": lambda g, input, result, dims, keepdim: _prod_backward(g, input, result, dims, keepdim)},
)  # fmt: skip
AMAX = Op(
    "amax", "input", "dims keepdim", kind="reduction", shape=_shape, cpu=_reduce(np.maximum.reduce),
    grads={"input": lambda g, input, result, dims, keepdim: _extreme_backward(g, input, result, dims, keepdim)},
)  # fmt: skip
AMIN = Op(
    "amin", "input", "dims keepdim", kind="reduction", shape=_shape, cpu=_reduce(np.minimum.reduce),
    grads={"input": lambda g, input, result, dims, keepdim: _extreme_backward(g, input, result, dims, keepdim)},
)  # fmt: skip
ARGMAX = Op("argmax", "input", "dim keepdim", kind="reduction", dtype=lambda *_: dtypes.int64, shape=lambda s, d, k: _shape(s, (d,), k),
            cpu=lambda x, dim, keepdim: np.argmax(x, axis=dim, keepdims=keepdim))  # fmt: skip
ARGMIN = Op("argmin", "input", "dim keepdim", kind="reduction", dtype=lambda *_: dtypes.int64, shape=lambda s, d, k: _shape(s, (d,), k),
            cpu=lambda x, dim, keepdim: np.argmin(x, axis=dim, keepdims=keepdim))  # fmt: skip
ALL = Op("all", "input", "dims keepdim", kind="reduction", dtype=lambda *_: dtypes.bool_, shape=_shape,
         cpu=lambda x, dims, keepdim: np.all(x, axis=dims, keepdims=keepdim))  # fmt: skip
ANY = Op("any", "input", "dims keepdim", kind="reduction", dtype=lambda *_: dtypes.bool_, shape=_shape,
         cpu=lambda x, dims, keepdim: np.any(x, axis=dims, keepdims=keepdim))  # fmt: skip


def _count(shape: tuple[int, ...], dims: Dims) -> int:
    return numel(shape[d] for d in dims)


def _extreme_backward(g: Tensor, x: Tensor, result: Tensor, dims: Dims, keepdim: bool) -> Tensor:
    """The gradient shared evenly among equal extremes."""
    shape = tuple(x.shape)
    hits = (x == spread(result, shape, dims, keepdim)).to(g.dtype)
    share = hits / hits.sum(dim=dims, keepdim=True)
    return spread(g, shape, dims, keepdim) * share


def _prod_backward(g: Tensor, x: Tensor, result: Tensor, dims: Dims, keepdim: bool) -> Tensor:
    """g * result / x; where elements are zero, the product of the others, found with the zeros taken as ones."""
    shape = tuple(x.shape)
    zero = x == 0
    if not bool(zero.any().item()):
        return spread(g * result, shape, dims, keepdim) / x
    zeros = zero.to(x.dtype).sum(dim=dims, keepdim=True)
    rest = op_functions["where"](zero, 1.0, x)
    others = rest.prod_dims(dims)
    alone = op_functions["where"](zero, others, op_functions["where"](zeros == 0, others / rest, 0.0))
    alone = op_functions["where"](zero & (zeros > 1), 0.0, alone)
    return spread(g, shape, dims, keepdim) * alone


def summing_type(input: Tensor, dtype: Any) -> Any:
    """The dtype a sum is made in: the given one, else int64 for integers and bools."""
    if dtype is not None:
        return dtype
    return dtypes.int64 if input._dtype.category < dtypes.FLOATING else input._dtype


def _as(input: Tensor, kind: Any) -> Tensor:
    return input if input._dtype is kind else input.to(kind)


@operator(out=True)
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over `dim` (all when None); integers are summed as int64."""
    return dispatch.call(SUM, (_as(input, summing_type(input, dtype)),), (wrap_dims(dim, input.ndim), bool(keepdim)))


@operator(out=True)
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over `dim` (all when None). Raises RuntimeError for integers unless `dtype` is given."""
    kind = dtype or input._dtype
    if kind.category < dtypes.FLOATING:
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. Got: {dispatch.type_name(kind)}"
        )
    return dispatch.call(MEAN, (_as(input, kind),), (wrap_dims(dim, input.ndim), bool(keepdim)))


@operator(out=True)
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product over one dimension (all when None); integers are multiplied as int64."""
    dims = wrap_dims(dim, input.ndim)
    return dispatch.call(PROD, (_as(input, summing_type(input, dtype)),), (dims, bool(keepdim)))


@operator(spaces=("method",), name="prod_dims")
def prod_dims(self: Tensor, dims: Dims) -> Tensor:
    """The product over several dimensions, kept as size 1."""
    return dispatch.call(PROD, (self,), (tuple(dims), True))


def _nonempty(name: str, input: Tensor, dims: Dims) -> None:
    for d in dims:
        if input.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    if input.numel() == 0 and not dims:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )


@operator(out=True)
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The largest elements over `dim` (all when empty); equal ones share the gradient."""
    dims = wrap_dims(dim, input.ndim)
    _nonempty("amax", input, dims)
    return dispatch.call(AMAX, (input,), (dims, bool(keepdim)))


@operator(out=True)
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The smallest elements over `dim` (all when empty); equal ones share the gradient."""
    dims = wrap_dims(dim, input.ndim)
    _nonempty("amin", input, dims)
    return dispatch.call(AMIN, (input,), (dims, bool(keepdim)))


def _arg(op: Op, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    if dim is None:
        if input.numel() == 0:
            raise IndexError(
                f"{op.name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )
        out = dispatch.call(op, (input.reshape(-1),), (0, False))
        return out.reshape((1,) * input.ndim) if keepdim else out
    at = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        return dispatch.call(op, (input.reshape(1),), (0, False))
    _nonempty(op.name, input, (at,))
    return dispatch.call(op, (input,), (at, bool(keepdim)))


@operator(out=True)
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first largest element, along `dim` or of the flattened tensor."""
    return _arg(ARGMAX, input, dim, keepdim)


@operator(out=True)
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first smallest element, along `dim` or of the flattened tensor."""
    return _arg(ARGMIN, input, dim, keepdim)


class MaxResult(NamedTuple):
    values: Tensor
    indices: Tensor


class MinResult(NamedTuple):
    values: Tensor
    indices: Tensor


MaxResult.__name__, MinResult.__name__ = "max", "min"


def _along(which: Any, arg: Op, input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    at = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        return input.clone(), _arg(arg, input, 0, False)
    index = _arg(arg, input, at, True)
    values = input.gather(at, index)
    return (values, index) if keepdim else (values.squeeze(at), index.squeeze(at))


def _whole(op: Op, input: Tensor) -> Tensor:
    if input.numel() == 0:
        name = op.name[1:]
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )
    return dispatch.call(op, (input,), (wrap_dims(None, input.ndim), False))


@operator(out=True)
def max(input: Tensor, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    """The largest element; along `dim`, values and indices; with a tensor, the elementwise maximum."""
    if isinstance(dim, Tensor) or other is not None:
        return op_functions["maximum"](input, dim if other is None else other)
    return _whole(AMAX, input) if dim is None else MaxResult(*_along(max, ARGMAX, input, dim, keepdim))


@operator(out=True)
def min(input: Tensor, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    """The smallest element; along `dim`, values and indices; with a tensor, the elementwise minimum."""
    if isinstance(dim, Tensor) or other is not None:
        return op_functions["minimum"](input, dim if other is None else other)
    return _whole(AMIN, input) if dim is None else MinResult(*_along(min, ARGMIN, input, dim, keepdim))


@operator(out=True)
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are true (nonzero)."""
    return dispatch.call(ALL, (input,), (wrap_dims(dim, input.ndim), bool(keepdim)))


@operator(out=True)
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether some element is true (nonzero)."""
    return dispatch.call(ANY, (input,), (wrap_dims(dim, input.ndim), bool(keepdim)))


@operator(out=True)
def var(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The variance over `dim`, divided by the count less `correction` (1 unless `unbiased` is False)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    dims = wrap_dims(dim, input.ndim)
    less = (1 if unbiased else 0) if correction is None else correction
    centred = input - mean(input, dims, True) if dims else input - input.mean()
    square = centred * conj(centred) if input.dtype.is_complex else centred * centred
    total = sum(square.real if input.dtype.is_complex else square, dims, keepdim) if dims else square
    rest = _count(tuple(input.shape), dims) - less
    return total / rest if rest > 0 else total * (math.nan if rest == 0 else math.inf)


def conj(t: Tensor) -> Tensor:
    """The complex conjugate."""
    return t.conj()


@operator(out=True)
def std(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The square root of the variance."""
    return var(input, dim, unbiased, keepdim, correction=correction).sqrt()


@operator()
def var_mean(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """Variance and mean over `dim`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


@operator()
def std_mean(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """Standard deviation and mean over `dim`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


@operator(out=True)
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over `dim`, without overflow."""
    dims = wrap_dims(dim, input.ndim)
    x = _as(input, dtypes.get_default_dtype()) if input.dtype.category < dtypes.FLOATING else input
    top = x.detach().amax(dims, True)
    top = op_functions["where"](op_functions["isfinite"](top), top, 0.0)
    out = (x - top).exp().sum(dims, True).log() + top
    return out if keepdim else out.squeeze(dims)
