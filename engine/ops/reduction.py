"""Reductions: sums, products, means, extremes and where they are, truth of all or any, logsumexp.

Primitives take wrapped dimensions and a `keepdim` flag; the functions below accept PyTorch's forms of the arguments.
Variances and other statistics stand in `statistics.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..return_types import return_type
from ..shapes import AllDims, numel, reduced_shape, wrap_dim, wrap_dims
from ..tensor import Tensor
from .composed import composed
from .declare import into, op_functions, operator, tensor_argument
from .gradients import choose, conj
from .table import Op

Dims = tuple[int, ...]


def _shape(shape: tuple[int, ...], dims: Dims, keepdim: bool, *_: Any) -> tuple[int, ...]:
    return reduced_shape(shape, dims, keepdim)


def spread(g: Tensor, shape: tuple[int, ...], dims: Dims, keepdim: bool) -> Tensor:
    """A reduced gradient expanded to the shape before the reduction."""
    if not keepdim:
        g = g.reshape(reduced_shape(shape, dims, True))
    return g.expand(*shape)


def count_of(shape: tuple[int, ...], dims: Dims) -> int:
    """How many elements are reduced to one."""
    return numel(shape[d] for d in dims)


def whole_or_dims(_: tuple[Any, ...], statics: tuple[Any, ...]) -> int:
    """PyTorch's overloads over everything and over named dimensions, numbered 0 and 1."""
    return 0 if type(statics[0]) is AllDims else 1


# -- kernels ------------------------------------------------------------------------------------


def _wide(x: np.ndarray) -> np.dtype:
    """The type that sums are gathered in."""
    return np.dtype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind == "f" else x.dtype


def _sum(x: np.ndarray, dims: Dims, keepdim: bool) -> Any:
    total = np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=_wide(x))
    return total if total.dtype == x.dtype else total.astype(x.dtype)


def _mean(x: np.ndarray, dims: Dims, keepdim: bool) -> Any:
    total = np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=_wide(x))
    return np.divide(total, count_of(x.shape, dims), dtype=total.dtype).astype(x.dtype, copy=False)


def _prod(x: np.ndarray, dims: Dims, keepdim: bool) -> Any:
    total = np.multiply.reduce(x, axis=dims, keepdims=keepdim, dtype=_wide(x))
    return total if total.dtype == x.dtype else total.astype(x.dtype)


def _reduce(ufunc: Any) -> Any:
    return lambda x, dims, keepdim: ufunc(x, axis=dims, keepdims=keepdim)


# -- gradients ----------------------------------------------------------------------------------


def _same(x: Tensor, value: Tensor) -> Tensor:
    """Where elements equal the reduced value; NaN equals NaN."""
    isnan = op_functions["isnan"]
    return (x == value) | (isnan(x) & isnan(value))


def _extreme_backward(g: Tensor, x: Tensor, result: Tensor, dims: Dims, keepdim: bool) -> Tensor:
    """The gradient shared evenly among equal extremes."""
    shape = tuple(x.shape)
    hits = _same(x, spread(result, shape, dims, keepdim))
    share = spread(g, shape, dims, keepdim) / hits.to(g.dtype).sum(dim=dims, keepdim=True)
    return choose(hits, share, 0.0)


def _prod_backward(g: Tensor, x: Tensor, dims: Dims, keepdim: bool) -> Tensor:
    """g times the product of the others: those before times those after, so that zeros need no care."""
    from .scan import products_before

    shape = tuple(x.shape)
    order = [*[d for d in range(x.ndim) if d not in dims], *dims]
    flat = x.permute(*order).reshape(*[shape[d] for d in order[: x.ndim - len(dims)]], count_of(shape, dims))
    at = flat.ndim - 1
    others = products_before(flat, at) * products_before(flat.flip(at), at).flip(at)
    back = [order.index(d) for d in range(x.ndim)]
    return spread(g, shape, dims, keepdim) * conj(others.reshape(*[shape[d] for d in order]).permute(*back))


# -- primitives ---------------------------------------------------------------------------------

SUM = Op(
    "sum", "input", "dims keepdim", kind="reduction", shape=_shape, cpu=_sum, overload=whole_or_dims,
    grads={"input": lambda g, input_shape, dims, keepdim: spread(g, input_shape, dims, keepdim)},
)  # fmt: skip
MEAN = Op(
    "mean", "input", "dims keepdim", kind="reduction", shape=_shape, cpu=_mean, overload=whole_or_dims,
    grads={"input": lambda g, input_shape, dims, keepdim: _mean_backward(g, input_shape, dims, keepdim)},
)  # fmt: skip
PROD = Op(
    "prod", "input", "dims keepdim", kind="reduction", shape=_shape, cpu=_prod, overload=whole_or_dims,
    grads={"input": lambda g, input, dims, keepdim: _prod_backward(g, input, dims, keepdim)},
)  # fmt: skip


def _mean_backward(g: Tensor, shape: tuple[int, ...], dims: Dims, keepdim: bool) -> Tensor:
    return spread(g / count_of(shape, dims), shape, dims, keepdim) if numel(shape) else g.new_zeros(shape)


def _extreme_name(which: str) -> Any:
    return lambda _, statics: f"{which}Backward1" if type(statics[0]) is AllDims else 0


AMAX = Op(
    "amax", "input", "dims keepdim", kind="reduction", shape=_shape, cpu=_reduce(np.maximum.reduce), overload=_extreme_name("Max"),
    grads={"input": lambda g, input, result, dims, keepdim: _extreme_backward(g, input, result, dims, keepdim)},
)  # fmt: skip
AMIN = Op(
    "amin", "input", "dims keepdim", kind="reduction", shape=_shape, cpu=_reduce(np.minimum.reduce), overload=_extreme_name("Min"),
    grads={"input": lambda g, input, result, dims, keepdim: _extreme_backward(g, input, result, dims, keepdim)},
)  # fmt: skip
ARGMAX = Op(
    "argmax", "input", "dim keepdim", kind="reduction", dtype=lambda *_: dtypes.int64, shape=lambda s, d, k: _shape(s, (d,), k),
    cpu=lambda x, dim, keepdim: np.argmax(x, axis=dim, keepdims=keepdim),
)  # fmt: skip
ARGMIN = Op(
    "argmin", "input", "dim keepdim", kind="reduction", dtype=lambda *_: dtypes.int64, shape=lambda s, d, k: _shape(s, (d,), k),
    cpu=lambda x, dim, keepdim: np.argmin(x, axis=dim, keepdims=keepdim),
)  # fmt: skip
ALL = Op(
    "all", "input", "dims keepdim", kind="reduction", dtype=lambda *_: dtypes.bool_, shape=_shape,
    cpu=lambda x, dims, keepdim: np.all(x, axis=dims, keepdims=keepdim),
)  # fmt: skip
ANY = Op(
    "any", "input", "dims keepdim", kind="reduction", dtype=lambda *_: dtypes.bool_, shape=_shape,
    cpu=lambda x, dims, keepdim: np.any(x, axis=dims, keepdims=keepdim),
)  # fmt: skip

# -- sums, products, means ----------------------------------------------------------------------


def summing_type(input: Tensor, dtype: Any) -> Any:
    """The dtype a sum is made in: the given one, else int64 for integers and bools."""
    if dtype is not None:
        return dtype
    return dtypes.int64 if input._dtype.category < dtypes.FLOATING else input._dtype


def as_type(input: Tensor, kind: Any) -> Tensor:
    """`input` in dtype `kind`."""
    return input if input._dtype is kind else input.to(kind)


@operator(out=True)
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over `dim` (all when None); integers are summed as int64."""
    dims = wrap_dims(dim, input.ndim)
    return dispatch.call(SUM, (as_type(input, summing_type(input, dtype)),), (dims, bool(keepdim)))


@operator(out=True)
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over `dim` (all when None). Raises RuntimeError for integers unless `dtype` is given."""
    kind = dtype or input._dtype
    if kind.category < dtypes.FLOATING:
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. Got: "
            f"{dispatch.type_name(kind)}"
        )
    return dispatch.call(MEAN, (as_type(input, kind),), (wrap_dims(dim, input.ndim), bool(keepdim)))


@operator(out=True)
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product over one dimension (all when None); integers are multiplied as int64."""
    if dim is not None and not isinstance(dim, int):
        raise TypeError(f"prod(): argument 'dim' must be int, not {type(dim).__name__}")
    dims = wrap_dims(dim, input.ndim)
    return dispatch.call(PROD, (as_type(input, summing_type(input, dtype)),), (dims, bool(keepdim)))


@composed(
    "nansum", "input", "dims keepdim",
    grads={
        "input": lambda g, input, dims, keepdim: choose(
            op_functions["isnan"](input), 0.0, spread(g, tuple(input.shape), dims, keepdim))
    },
)  # fmt: skip
def _nansum(input: Tensor, dims: Dims, keepdim: bool) -> Tensor:
    return dispatch.call(SUM, (choose(op_functions["isnan"](input), 0.0, input),), (dims, keepdim))


@operator(out=True)
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over `dim` (all when None) without the NaNs."""
    if input.dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if input.dtype.category < dtypes.FLOATING:
        return sum(input, dim, keepdim, dtype=dtype)
    return _nansum(as_type(input, dtype or input.dtype), wrap_dims(dim, input.ndim), bool(keepdim))


@operator(out=True)
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over `dim` (all when None) of the elements that are not NaN. Raises RuntimeError for integers."""
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {dispatch.type_name(input.dtype)}"
        )
    total = nansum(input, dim, keepdim, dtype=dtype)
    numbers = op_functions["logical_not"](op_functions["isnan"](input.detach()))
    return total / sum(numbers, dim, keepdim)


@operator()
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements over `dim` (all when None) are not zero."""
    return sum(input.detach() != 0, dim)


def _logsumexp_kernel(x: np.ndarray, dims: Dims, keepdim: bool) -> Any:
    size = np.real(x)
    if not x.size:
        return np.log(np.add.reduce(np.exp(x), axis=dims, keepdims=keepdim))
    top = np.maximum.reduce(size, axis=dims, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    out = np.log(np.add.reduce(np.exp(x - top), axis=dims, keepdims=True, dtype=_wide(x))) + top
    return out.astype(x.dtype, copy=False).reshape(reduced_shape(x.shape, dims, keepdim))


@composed(
    "logsumexp", "input", "dims keepdim", cpu=_logsumexp_kernel,
    grads={
        "input": lambda g, input, result, dims, keepdim: spread(g, tuple(input.shape), dims, keepdim)
        * conj(op_functions["exp"](input - spread(result, tuple(input.shape), dims, keepdim)))
    },
)  # fmt: skip
def _logsumexp(input: Tensor, dims: Dims, keepdim: bool) -> Tensor:
    size = input.detach().real if input.dtype.is_complex else input.detach()
    if size.numel() == 0:
        return op_functions["log"](sum(op_functions["exp"](input), dims, keepdim))
    top = amax(size, dims, True)
    top = choose(op_functions["isfinite"](top), top, 0.0)
    out = op_functions["log"](sum(op_functions["exp"](input - top), dims, True)) + top
    return out if keepdim else out.reshape(reduced_shape(tuple(input.shape), dims, False))


@operator(out=True, spaces=("torch", "special"))
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over `dim`, without overflow."""
    x = as_type(input, dtypes.get_default_dtype()) if input.dtype.category < dtypes.FLOATING else input
    return _logsumexp(x, wrap_dims(dim, input.ndim), bool(keepdim))


# -- extremes -----------------------------------------------------------------------------------


def nonempty(name: str, input: Tensor, dims: Dims) -> None:
    """Raises IndexError where a reduced dimension has no elements to choose from."""
    for d in dims:
        if d < input.ndim and input.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def _specify(name: str) -> str:
    return (
        f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
        "argument."
    )


def _extreme(op: Op, label: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    tensor_argument(op.name, "input", 1, input)
    if input.dtype.is_complex:
        raise NotImplementedError(f"\"{label}_cpu\" not implemented for '{dispatch.type_name(input.dtype)}'")
    dims = tuple(wrap_dims(dim, input.ndim))
    if dim in (None, (), []) and input.numel() == 0:
        raise RuntimeError(_specify(op.name))
    nonempty(op.name, input, dims)
    return dispatch.call(op, (input,), (dims, bool(keepdim)))


@operator(out=True)
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The largest elements over `dim` (all when empty); equal ones share the gradient."""
    return _extreme(AMAX, "max_values", input, dim, keepdim)


@operator(out=True)
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The smallest elements over `dim` (all when empty); equal ones share the gradient."""
    return _extreme(AMIN, "min_values", input, dim, keepdim)


AminmaxResult = return_type("aminmax", "min max")


@operator()
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """The smallest and the largest elements over one dimension (all when None)."""
    for o in out or ():
        if o.dtype is not input.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {input.dtype.name}, but got {o.dtype.name} instead")
    if dim is None and input.numel() == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    dims = () if dim is None else dim
    if input.dtype.is_complex:
        raise NotImplementedError(f"\"aminmax_cpu\" not implemented for '{dispatch.type_name(input.dtype)}'")
    least, largest = amin(input, dims, keepdim), amax(input, dims, keepdim)
    if out is not None:
        least, largest = into(out[0], least, "aminmax"), into(out[1], largest, "aminmax")
    return AminmaxResult(least, largest)


def _arg(op: Op, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    kind = tensor_argument(op.name, "input", 1, input).dtype
    if kind.category == dtypes.BOOL or kind.is_complex:
        raise RuntimeError(f"{op.name}(): does not support {'complex' if kind.is_complex else 'bool'} input")
    if dim is None:
        if input.numel() == 0:
            raise IndexError(_specify(op.name).partition(". ")[0] + ".")
        out = dispatch.call(op, (input.reshape(-1),), (0, False))
        return out.reshape((1,) * input.ndim) if keepdim else out
    at = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        return dispatch.call(op, (input.reshape(1),), (0, False))
    nonempty(op.name, input, (at,))
    return dispatch.call(op, (input,), (at, bool(keepdim)))


@operator(out=True)
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first largest element, along `dim` or of the flattened tensor."""
    return _arg(ARGMAX, input, dim, keepdim)


@operator(out=True)
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first smallest element, along `dim` or of the flattened tensor."""
    return _arg(ARGMIN, input, dim, keepdim)


MaxResult = return_type("max", "values indices")
MinResult = return_type("min", "values indices")


def selected(g: Tensor, index: Tensor, shape: tuple[int, ...], dim: int, keepdim: bool = True) -> Tensor:
    """The gradient of elements that were taken along `dim` by `index`: `g` at their places, zeros elsewhere."""
    if not shape:
        return g
    if not keepdim:
        g, index = g.unsqueeze(dim), index.unsqueeze(dim)
    return g.new_zeros(shape).scatter(dim, index, g)


def _along(name: str, op: Op, extreme: Any, place: Any) -> Any:
    def kernel(x: np.ndarray, dim: int, keepdim: bool) -> tuple[Any, Any]:
        if not x.ndim:
            return x.copy(), np.zeros((), np.int64)
        return extreme.reduce(x, axis=dim, keepdims=keepdim), place(x, axis=dim, keepdims=keepdim)

    @composed(
        f"{name}_dim", "input", "dim keepdim", multi=True, backward=name.capitalize(), cpu=kernel,
        dtype=lambda t, *_: (t._dtype, dtypes.int64),
        grads={
            "input": lambda g, results, input_shape, dim, keepdim: selected(g[0], results[1], input_shape, dim, keepdim)
        },
    )  # fmt: skip
    def formula(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
        if input.ndim == 0:
            return input.clone(), dispatch.call(op, (input.reshape(1),), (0, False))
        index = dispatch.call(op, (input,), (dim, True))
        values = input.gather(dim, index)
        return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))

    return formula


_max_dim, _min_dim = _along("max", ARGMAX, np.maximum, np.argmax), _along("min", ARGMIN, np.minimum, np.argmin)


def _choose(name: str, whole: Op, along: Any, kind: Any, input: Tensor, dim: Any, keepdim: bool, other: Any) -> Any:
    if isinstance(dim, Tensor) or other is not None:
        return op_functions[f"{name}imum"](input, dim if other is None else other)
    tensor_argument(name, "input", 1, input)
    if input.dtype.is_complex:
        label = f"{name}_all" if dim is None else name
        raise NotImplementedError(f"\"{label}\" not implemented for '{dispatch.type_name(input.dtype)}'")
    if dim is None:
        if input.numel() == 0:
            raise RuntimeError(_specify(name))
        return dispatch.call(whole, (input,), (wrap_dims(None, input.ndim), False))
    at = wrap_dim(dim, input.ndim)
    nonempty(name, input, (at,))
    return kind(*along(input, at, bool(keepdim)))


@operator(out=True)
def max(input: Tensor, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    """The largest element; along `dim`, values and indices; with a tensor, the elementwise maximum."""
    return _choose("max", AMAX, _max_dim, MaxResult, input, dim, keepdim, other)


@operator(out=True)
def min(input: Tensor, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    """The smallest element; along `dim`, values and indices; with a tensor, the elementwise minimum."""
    return _choose("min", AMIN, _min_dim, MinResult, input, dim, keepdim, other)


# -- truth --------------------------------------------------------------------------------------


def _truth(op: Op, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    tensor_argument(op.name, "input", 1, input)
    dims = wrap_dims(dim, input.ndim)
    if isinstance(dim, (tuple, list)) and not dim:  # of no dimension at all: each element for itself
        out = input != 0
    else:
        out = dispatch.call(op, (input,), (dims, bool(keepdim)))
    return out.to(dtypes.uint8) if input.dtype is dtypes.uint8 else out


@operator(out=True)
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are true (nonzero)."""
    return _truth(ALL, input, dim, keepdim)


@operator(out=True)
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether some element is true (nonzero)."""
    return _truth(ANY, input, dim, keepdim)


# -- hashes -------------------------------------------------------------------------------------


def _xor_bits(x: np.ndarray, dims: Dims, keepdim: bool) -> Any:
    wide = x.astype(np.float64 if x.dtype.kind == "f" else np.int64)
    return np.bitwise_xor.reduce(wide.view(np.uint64), axis=dims, keepdims=keepdim)


HASH = Op(
    "hash_tensor", "input", "dims keepdim", kind="reduction", dtype=lambda *_: dtypes.uint64, shape=_shape, cpu=_xor_bits,
)  # fmt: skip


@operator(out=True)
def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The exclusive or of the elements' bits, as doubles or 64-bit integers, over `dim` (all when empty)."""
    if input.dtype.is_complex:
        raise NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{dispatch.type_name(input.dtype)}'")
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    return dispatch.call(HASH, (input.detach(),), (tuple(wrap_dims(dim, input.ndim)), bool(keepdim)))
