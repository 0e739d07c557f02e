"""Writing and gathering by index: gather, scatter and their reductions, index_copy, index_fill, take, put, masked_scatter.

`t[...]` stands in `indexing.py`. Indices are checked here, before a kernel runs; kernels compute flat places (`places.py`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import broadcast_shapes, numel, wrap_dim
from ..tensor import Tensor
from . import places
from .declare import operator, tensor_argument
from .gradients import choose
from .table import Op


def in_range(name: str, index: Tensor, size: int, dim: int, error: type[Exception] = RuntimeError) -> None:
    """Raise `error` where an index is not below `size` (or is negative); indices on other devices are not looked at."""
    if index._is_host and index.numel():
        low, high = int(index._data.min()), int(index._data.max())
        if low < 0 or high >= size:
            bad = high if high >= size else low
            raise error(f"{name}index {bad} is out of bounds for dimension {dim} with size {size}")


# -- one index for each element along a dimension -----------------------------------------------


def _take_along(x: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    if x.ndim == 0 or index.size == 0:
        return np.broadcast_to(x, index.shape).copy() if index.size else np.empty(index.shape, x.dtype)
    if not x.flags.c_contiguous:
        window = tuple(slice(0, n) if i != dim else slice(None) for i, n in enumerate(index.shape))
        return np.take_along_axis(x[window], index, axis=dim)
    return np.take(x.reshape(-1), places.along(x.shape, index, dim))


GATHER = Op(
    "gather", "input index", "dim", kind="index", cpu=_take_along, shape=lambda s, i, dim: i,
    grads={"input": lambda g, index, input_shape, dim: g.new_zeros(input_shape).scatter_add(dim, index, g)},
)  # fmt: skip


def _index_type(name: str, index: Tensor) -> Tensor:
    """The index as int64; raises RuntimeError for other dtypes than int32 and int64 (an empty one may have any)."""
    if index._dtype is dtypes.int64:
        return index
    if index._dtype is not dtypes.int32 and index.numel():
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    return index.to(dtypes.int64)


@operator(out="same dtype")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """`out[i][j] = input[index[i][j]][j]` (for dim 0). Raises RuntimeError for an index that does not fit."""
    at = wrap_dim(dim, input.ndim)
    index = _index_type("gather", tensor_argument("gather", "index", 3, index))
    if index.numel() == 0:
        return dispatch.call(GATHER, (input, index), (at,))
    if max(input.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d in range(index.ndim):
        if d != at and input.ndim and index.shape[d] > input.shape[d]:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self {list(input.shape)} "
                f"apart from dimension {at}"
            )
    in_range("", index, input.shape[at] if input.ndim else 1, at)
    if index.ndim == 0 and input.ndim:
        return gather(input, dim, index.reshape(1)).reshape(())
    return dispatch.call(GATHER, (input, index), (at,))


@operator(out="same dtype")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with `indices` and `input` broadcast against each other but for `dim`; of the flattened tensor without it.

    Raises RuntimeError unless `indices` is int64 and has as many dimensions as `input`.
    """
    tensor_argument("take_along_dim", "indices", 2, indices)
    if indices._dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {dispatch.type_name(indices._dtype)}"
        )
    if dim is None:
        return gather(input.reshape(-1), 0, _within(indices.reshape(-1), input.numel()))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    at = wrap_dim(dim, input.ndim)
    shape = list(broadcast_shapes(
        [1 if d == at else n for d, n in enumerate(input.shape)], [1 if d == at else n for d, n in enumerate(indices.shape)]
    ))  # fmt: skip
    if not shape:
        return gather(input, at, _within(indices, 1))
    places_ = _within(
        indices.expand(*[n if d != at else indices.shape[at] for d, n in enumerate(shape)]), input.shape[at]
    )
    return gather(input.expand(*[n if d != at else input.shape[at] for d, n in enumerate(shape)]), at, places_)


def _within(index: Tensor, size: int) -> Tensor:
    return index.remainder(size) if size else index


# -- scatter ------------------------------------------------------------------------------------


def _window(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return x if x.shape == shape else x[tuple(slice(0, n) for n in shape)]


def _scatter(x: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> np.ndarray:
    out = places.fresh(x)
    if index.size:
        out.reshape(-1)[places.along(out.shape, index, dim)] = _window(source, index.shape)
    return out


def _scatter_add(x: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> np.ndarray:
    out = places.fresh(x)
    if index.size:
        places.accumulate(np.add, out, places.along(out.shape, index, dim), _window(source, index.shape))
    return out


SCATTER = Op(
    "scatter", "input index src", "dim", kind="index", cpu=_scatter, shape=lambda s, *_: s, overload=lambda tensors, _: _of_number(tensors[2]),
    grads={
        "input": lambda g, index, dim: g.scatter(dim, index, 0.0),
        "src": lambda g, index, src_shape, dim: padded(g.gather(dim, index), src_shape),
    },
)  # fmt: skip
SCATTER_ADD = Op(
    "scatter_add", "input index src", "dim", kind="index", cpu=_scatter_add, shape=lambda s, *_: s,
    grads={"input": lambda g: g, "src": lambda g, index, src_shape, dim: padded(g.gather(dim, index), src_shape)},
)  # fmt: skip


def _of_number(src: Tensor) -> int:
    """PyTorch's overloads (Tensor, Number), numbered 0 and 1: a number is expanded here."""
    return int(not any(src.stride()) and not src._requires_grad)


def padded(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A gradient of the part of `src` that was used, with zeros for the rest."""
    if tuple(g.shape) == shape:
        return g
    whole = g.new_zeros(shape)
    return whole.as_strided_scatter(g, tuple(g.shape), whole.stride(), 0)


def _scatter_arguments(name: str, input: Tensor, dim: int, index: Tensor, src: Any) -> tuple[int, Tensor, Tensor]:
    at = wrap_dim(dim, input.ndim)
    index = _index_type("scatter", tensor_argument(name, "index", 3, index))
    if not isinstance(src, Tensor):
        if isinstance(src, complex) and not input._dtype.is_complex:
            raise RuntimeError(
                f"value cannot be converted to type {dispatch.type_name(input._dtype).lower()} without overflow"
            )
        src = input.new_full((), src).expand(*index.shape)
    elif src._dtype is not input._dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.numel() == 0:
        return at, index, src
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if max(src.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for d in range(index.ndim):
        if (d != at and input.ndim and index.shape[d] > input.shape[d]) or (src.ndim and index.shape[d] > src.shape[d]):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {at} and to "
                f"be no larger size than src {list(src.shape)}"
            )
    in_range("", index, input.shape[at] if input.ndim else 1, at)
    return at, index, src


@operator(inplace=True, out="same dtype")
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """`input` with `src[i][j]` written at `[index[i][j]][j]` (for dim 0); `src` may be a number.

    With `reduce` "add" or "multiply" it is combined with what is there. Raises RuntimeError for an index that does not fit.
    """
    given = value if src is None else src
    if given is None:
        raise TypeError('scatter() missing 1 required positional arguments: "src"')
    at, index, source = _scatter_arguments("scatter", input, dim, index, given)
    if reduce is None:
        return _shaped(SCATTER, input, index, source, at)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if isinstance(given, Tensor):
        warnings.warn(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch release. "
            "Use torch.scatter_reduce instead for more reduction options.",
            stacklevel=3,
        )
    if reduce == "add":
        return _shaped(SCATTER_ADD, input, index, source, at)
    return _shaped(SCATTER_REDUCE, input, index, source, at, "prod", True)


@operator(inplace=True, out="same dtype")
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`input` with `src[i][j]` added at `[index[i][j]][j]` (for dim 0)."""
    tensor_argument("scatter_add", "src", 3, src)
    at, index, source = _scatter_arguments("scatter_add", input, dim, index, src)
    return _shaped(SCATTER_ADD, input, index, source, at)


def _shaped(op: Op, input: Tensor, index: Tensor, source: Tensor, *statics: Any) -> Tensor:
    """The primitive, with 0-d tensors taken as 1-d ones."""
    if index.numel() == 0:
        return dispatch.call(op, (input, index, source), statics)
    if input.ndim and index.ndim:
        return dispatch.call(op, (input, index, source), statics)
    out = dispatch.call(op, (input.reshape(-1), index.reshape(-1), source.reshape(-1)), (0, *statics[1:]))
    return out.reshape(input.shape)


# -- scatter with a reduction -------------------------------------------------------------------

_UFUNCS: dict[str, Any] = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
}  # fmt: skip


def _neutral(reduce: str, kind: np.dtype) -> Any:
    """What does not change the reduction."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if kind.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    if kind.kind == "b":
        return reduce == "amin"
    limits = np.iinfo(kind)
    return limits.min if reduce == "amax" else limits.max


def _reduced(x: np.ndarray, at: np.ndarray, source: np.ndarray, reduce: str, include_self: bool) -> np.ndarray:
    out = places.fresh(x)
    flat = out.reshape(-1)
    if not include_self:
        flat[at] = _neutral(reduce, x.dtype)
    places.accumulate(_UFUNCS[reduce], out, at, source)
    if reduce == "mean":
        count = np.full(out.size, int(include_self), np.int64)
        np.add.at(count, at.reshape(-1), 1)
        count[count == 0] = 1
        if x.dtype.kind in "fc":
            np.divide(flat, count.astype(x.dtype), out=flat)
        else:
            np.floor_divide(flat, count, out=flat, casting="unsafe")
    return out


def _scatter_reduce(
    x: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int, reduce: str, include_self: bool
) -> np.ndarray:
    if not index.size:
        return places.fresh(x)
    return _reduced(x, places.along(x.shape, index, dim), _window(source, index.shape), reduce, include_self)


def _reduce_backward(
    g: Tensor, x: Tensor, index: Tensor, source: Tensor, result: Tensor, dim: int, reduce: str, include_self: bool
) -> tuple[Tensor, Tensor]:
    """Gradients for the tensor and the source.

    Equal extremes share; a single zero in a product gets the product of the others, which is found with that zero taken as one.
    """
    shape = tuple(source.shape)
    if shape != tuple(index.shape):
        source = source.as_strided(tuple(index.shape), source.stride(), source.storage_offset())
    if reduce == "sum":
        own, given = g, g.gather(dim, index)
    elif reduce == "mean":
        count = (g.new_ones if include_self else g.new_zeros)(g.shape)
        count = count.scatter_add(dim, index, g.new_ones(index.shape))
        own = g / choose(count == 0, 1.0, count)
        given = own.gather(dim, index)
    elif reduce == "prod":
        safe = choose(x == 0, 1.0, x)
        own = g * safe.scatter_reduce(dim, index, source, "prod", include_self=include_self) / safe
        zero = source == 0
        zeros = x.new_zeros(x.shape).scatter_add(dim, index, zero.to(x._dtype)).gather(dim, index)
        alone = zero & (zeros == 1)
        rest = x.scatter_reduce(dim, index, choose(alone, 1.0, source), "prod", include_self=include_self)
        given = choose(
            alone, (g * rest).gather(dim, index), (g * result).gather(dim, index) / choose(zero, 1.0, source)
        )
    else:
        hit, hits = (x == result).to(g._dtype), (source == result.gather(dim, index)).to(g._dtype)
        share = g / hit.scatter_add(dim, index, hits)
        own, given = hit * share, hits * share.gather(dim, index)
    if not include_self:
        own = own.scatter(dim, index, 0.0)
    return own, padded(given, shape)


SCATTER_REDUCE, INDEX_REDUCE = (
    Op(
        name, "input index src", "dim reduce include_self", kind="index", cpu=_scatter_reduce, shape=lambda s, *_: s,
        grads={
            ("input", "src"): lambda g, input, index, src, result, dim, reduce, include_self: _reduce_backward(
                g, input, index, src, result, dim, reduce, include_self
            )
        },
    )
    for name in ("scatter_reduce", "index_reduce")
)  # fmt: skip


@operator(inplace=True, out="same dtype")
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """`src[i][j]` combined into `[index[i][j]][j]` (for dim 0) by "sum", "prod", "mean", "amax" or "amin".

    Without `include_self`, what was there does not count where something comes. Raises RuntimeError for other reductions.
    """
    tensor_argument("scatter_reduce", "src", 3, src)
    if reduce not in _UFUNCS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    at, index, source = _scatter_arguments("scatter_reduce", input, dim, index, src)
    return _shaped(SCATTER_REDUCE, input, index, source, at, reduce, bool(include_self))


# -- one index for each part along a dimension --------------------------------------------------


@operator(inplace=True, out="same dtype")
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """The parts of `source` combined into the places of `index` along `dim` by "prod", "mean", "amax" or "amin".

    Raises RuntimeError for other reductions and for shapes or dtypes that do not fit.
    """
    warnings.warn("index_reduce() is in beta and the API may change at any time.", stacklevel=3)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    at = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_reduce_(): Index is supposed to be a vector")
    if index._dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            f"index_reduce_(): Expected dtype int32/int64 for index but got: {dispatch.type_name(index._dtype)}"
        )
    if source._dtype is not input._dtype:
        raise RuntimeError(
            f"index_reduce_(): self ({dispatch.type_name(input._dtype)}) and source ({dispatch.type_name(source._dtype)}) must have "
            "the same scalar type"
        )
    parts = source.shape[at] if source.ndim else 1
    if index.numel() != parts:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index.numel()}) should be equal to source.size(dim): ({parts}), for dim: {at}"
        )
    same_parts(input, source, at)
    in_range_or_self(index, input.shape[at] if input.ndim else 1)
    spread = index.to(dtypes.int64)
    if source.ndim:
        spread = spread.reshape([-1 if d == at else 1 for d in range(source.ndim)]).expand(*source.shape)
    return _shaped(INDEX_REDUCE, input, spread, source, at, reduce, bool(include_self))


def same_parts(input: Tensor, source: Tensor, dim: int) -> None:
    """Raise RuntimeError where the shapes differ elsewhere than in `dim`."""
    a, b = list(input.shape), list(source.shape)
    if len(a) == len(b) and a:
        a[dim] = b[dim]
    if a != b and max(len(a), len(b)) > 1:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )


def in_range_or_self(index: Tensor, size: int) -> None:
    """Raise IndexError where an index is out of range, in the words of index_select."""
    if index._is_host and index.numel():
        low, high = int(index._data.min()), int(index._data.max())
        if low < 0 or high >= size:
            raise IndexError("index out of range in self")


INDEX_SELECT = Op(
    "index_select", "input index", "dim", kind="index", cpu=lambda x, index, dim: np.take(x, index, axis=dim),
    shape=lambda s, i, dim: (*s[:dim], numel(i), *s[dim + 1 :]),
    grads={"input": lambda g, index, input_shape, dim: g.new_zeros(input_shape).index_add(dim, index, g)},
)  # fmt: skip


@operator(out="same dtype")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The parts at the places of a 1-d `index` along `dim`. Raises IndexError out of range."""
    at = wrap_dim(dim, input.ndim)
    tensor_argument("index_select", "index", 3, index)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index._dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if input.ndim == 0:
        if index.numel() != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
        return input.reshape(1).index_select(0, index.reshape(-1)).reshape(())
    in_range_or_self(index, input.shape[at])
    return dispatch.call(INDEX_SELECT, (input, index.reshape(-1)), (at,))


def _index_add(x: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> np.ndarray:
    out = places.fresh(x)
    if index.size and out.size:
        places.accumulate(np.add, out, places.rows(out.shape, index, dim), source)
    return out


INDEX_ADD = Op(
    "index_add", "input index source", "dim", kind="index", cpu=_index_add, shape=lambda s, *_: s,
    grads={"input": lambda g: g, "source": lambda g, index, dim: g.index_select(dim, index)},
)  # fmt: skip


@operator(inplace=True, out="same dtype")
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """`input` with `alpha` times the parts of `source` added at the places of `index` along `dim`."""
    at = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector")
    if index._dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "index_add_(): Expected dtype int32/int64 for index but got: " + dispatch.type_name(index._dtype)
        )
    if source._dtype is not input._dtype:
        raise RuntimeError(
            f"index_add_(): self ({dispatch.type_name(input._dtype)}) and source ({dispatch.type_name(source._dtype)}) must have "
            "the same scalar type"
        )
    if (source.shape[at] if source.ndim else 1) != index.numel():
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.numel()}) should be equal to source.size(dim): "
            f"({source.shape[at] if source.ndim else 1}), for dim: {at}"
        )
    same_parts(input, source, at)
    in_range_or_self(index, input.shape[at] if input.ndim else 1)
    if alpha != 1:
        source = source * alpha
    if input.ndim == 0 or source.ndim == 0:
        return dispatch.call(INDEX_ADD, (input.reshape(-1), index.reshape(-1), source.reshape(-1)), (0,)).reshape(
            input.shape
        )
    return dispatch.call(INDEX_ADD, (input, index.reshape(-1), source), (at,))


def _index_write(x: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> np.ndarray:
    out = places.fresh(x)
    np.moveaxis(out, dim, 0)[index] = np.moveaxis(source, dim, 0) if source.ndim else source
    return out


INDEX_COPY = Op(
    "index_copy", "input index source", "dim", kind="index", cpu=_index_write, shape=lambda s, *_: s,
    grads={
        "input": lambda g, index, dim: g.index_fill(dim, index, 0),
        "source": lambda g, index, dim: g.index_select(dim, index),
    },
)  # fmt: skip
INDEX_FILL = Op(
    "index_fill", "input index value", "dim plain", kind="index", shape=lambda s, *_: s,
    cpu=lambda x, index, value, dim, plain: _index_write(x, index, value, dim),
    overload=lambda _, statics: int(not statics[1]),
    grads={
        "input": lambda g, index, dim: g.index_fill(dim, index, 0),
        "value": lambda g, index, dim: (g * g.new_zeros(g.shape).index_fill(dim, index, 1)).sum(),
    },
)  # fmt: skip


@operator(inplace=True, out="same dtype")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """`input` with the parts of `source` written at the places of `index` along `dim`.

    Raises IndexError or RuntimeError for shapes and dtypes that do not fit.
    """
    at = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    count = index.numel()
    if source.ndim == 0 and count != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {count})")
    if source.ndim and input.ndim and source.ndim != input.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality "
            f"({source.ndim}), destination dimensionality ({input.ndim})"
        )
    if index._dtype is not dtypes.int64:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {dispatch.type_name(index._dtype)}"
        )
    if source._dtype is not input._dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{dispatch.type_name(input._dtype)} and (source) {dispatch.type_name(source._dtype)}"
        )
    rest = [n for d, n in enumerate(input.shape) if d != at]
    given = [n for d, n in enumerate(source.shape) if d != at]
    if rest != given:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, rest))} at dimension {at} and source slice shape: {' '.join(map(str, given))} at dimension 0."
        )
    if source.ndim and count != source.shape[at]:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({source.shape[at]})"
        )
    in_range("index_copy_(): ", index, input.shape[at] if input.ndim else 1, at, IndexError)
    if input.ndim == 0:
        out = dispatch.call(INDEX_COPY, (input.reshape(1), index.reshape(-1), source.reshape(-1)), (0,))
        return out.reshape(())
    source = source if source.ndim else source.reshape(1)
    return dispatch.call(INDEX_COPY, (input, index.reshape(-1), source), (at,))


@operator(inplace=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """`input` with a number or 0-d tensor written at the places of `index` along `dim`; negative ones count from the end."""
    at = wrap_dim(dim, input.ndim)
    if index._dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    plain = not isinstance(value, Tensor)
    if plain:
        if isinstance(value, complex) and not input._dtype.is_complex:
            raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
        value = input.new_full((), value)
    elif value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    elif value._dtype.is_complex and not input._dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    size = input.shape[at] if input.ndim else 1
    if index._is_host and index.numel():
        low, high = int(index._data.min()), int(index._data.max())
        if low < -size or high >= size:
            bad = high if high >= size else low
            raise IndexError(f"index {bad} is out of bounds for dimension {at} with size {size}")
        if low < 0:
            index = index.remainder(size)
    value = value.to(input._dtype)
    if input.ndim == 0:
        return dispatch.call(INDEX_FILL, (input.reshape(1), index.reshape(-1), value), (0, plain)).reshape(())
    return dispatch.call(INDEX_FILL, (input, index.reshape(-1), value), (at, plain))


# -- places in the flattened tensor -------------------------------------------------------------

TAKE = Op(
    "take", "input index", kind="index", cpu=lambda x, index: np.take(x, index), shape=lambda s, i: i,
    grads={"input": lambda g, index, input_shape: g.new_zeros(input_shape).put(index, g, True)},
)  # fmt: skip


def _put(x: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool) -> np.ndarray:
    out = places.fresh(x)
    flat = np.where(index < 0, index + x.size, index)
    if accumulate:
        places.accumulate(np.add, out, flat, source.reshape(index.shape))
    else:
        out.reshape(-1)[flat.reshape(-1)] = source.reshape(-1)
    return out


PUT = Op(
    "put", "input index source", "accumulate", kind="index", cpu=_put, shape=lambda s, *_: s,
    grads={
        "input": lambda g, index, accumulate: g if accumulate else g.put(index, g.new_zeros(index.shape), False),
        "source": lambda g, index, source_shape: g.take(index).reshape(source_shape),
    },
)  # fmt: skip


def _flat_index(name: str, input: Tensor, index: Tensor, empty: str) -> None:
    if index._dtype is not dtypes.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {dispatch.type_name(index._dtype)}")
    count = input.numel()
    if count == 0 and index.numel():
        raise IndexError(f"{name}(): {empty}")
    if index._is_host and index.numel():
        low, high = int(index._data.min()), int(index._data.max())
        if low < -count or high >= count:
            bad = high if high >= count else low
            raise IndexError(f"out of range: tried to access index {bad} on a tensor of {count} elements.")


@operator(out="same dtype")
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at places of the flattened tensor, in the shape of `index`. Raises IndexError out of range."""
    tensor_argument("take", "index", 2, index)
    _flat_index("take", input, index, "tried to take from an empty tensor")
    return dispatch.call(TAKE, (input, index))


@operator(inplace=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """`input` with `source` written (or, with `accumulate`, added) at places of the flattened tensor.

    Raises IndexError out of range or for another number of elements than indices, RuntimeError for another dtype.
    """
    _flat_index("put_", input, index, "Tried to put elements into an empty tensor")
    if source.numel() != index.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.numel()}, index.numel() = {index.numel()}"
        )
    if source._dtype is not input._dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{dispatch.type_name(input._dtype)} and source.dtype = {dispatch.type_name(source._dtype)}"
        )
    return dispatch.call(PUT, (input, index, source), (bool(accumulate),))


# -- by mask ------------------------------------------------------------------------------------


def _masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    out = places.fresh(x)
    out[mask] = source.reshape(-1)[: np.count_nonzero(mask)]
    return out


def _masked_source(g: Tensor, mask: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient of the elements that were used, with zeros for the rest."""
    used = g.masked_select(mask)
    return padded(used, (numel(shape),)).reshape(shape)


MASKED_SCATTER = Op(
    "masked_scatter", "input mask source", kind="index", cpu=_masked_scatter, shape=lambda s, *_: s,
    grads={
        "input": lambda g, mask: g.masked_fill(mask, 0),
        "source": lambda g, mask, source_shape: _masked_source(g, mask, source_shape),
    },
)  # fmt: skip


@operator(inplace=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements of `source`, in order, written where `mask` (broadcast); `source` needs as many as there are places."""
    if mask._dtype is not dtypes.bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {dispatch.type_name(mask._dtype)}"
        )
    if source._dtype is not input._dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{dispatch.type_name(input._dtype)} and "
            f"{dispatch.type_name(source._dtype)}"
        )
    shape = broadcast_shapes(input.shape, mask.shape)
    mask = mask.expand(*shape)
    if mask._is_host and int(np.count_nonzero(mask._data)) > source.numel():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return dispatch.call(MASKED_SCATTER, (input.expand(*shape), mask, source))
