"""Indexing: `t[...]` and its assignment, gather and scatter, selection by index or mask, writing into windows.

Integers, slices, None and Ellipsis make views; tensors, lists and masks go through the `index` primitive, whose `indices`
are a tuple with a tensor or None for each dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import broadcast_shapes, numel, wrap_dim
from ..tensor import Tensor
from . import creation
from .declare import operator
from .table import Op
from .views import SELECT, SLICE, sizes, slice_dim

# -- advanced indexing --------------------------------------------------------------------------


def _places(indices: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else i for i in indices)


def _index(x: np.ndarray, indices: tuple[Any, ...]) -> np.ndarray:
    got = x[_places(indices)]
    return got if got.base is None else got.copy()


def _index_put(x: np.ndarray, values: np.ndarray, indices: tuple[Any, ...], accumulate: bool) -> np.ndarray:
    out = x.copy()
    if accumulate:
        np.add.at(out, _places(indices), values)
    else:
        out[_places(indices)] = values
    return out


def index_shape(shape: tuple[int, ...], indices: tuple[tuple[int, ...] | None, ...]) -> tuple[int, ...]:
    """The shape of `x[indices]` given the shapes of the index tensors (None keeps a dimension)."""
    at = [i for i, s in enumerate(indices) if s is not None]
    common = broadcast_shapes(*[s for s in indices if s is not None])
    rest = [n for i, n in enumerate(shape) if i >= len(indices) or indices[i] is None]
    if at and at[-1] - at[0] + 1 == len(at):
        return (*rest[: at[0]], *common, *rest[at[0] :])
    return (*common, *rest)


INDEX = Op(
    "index", "input", "indices", kind="index", cpu=_index,
    shape=lambda s, indices: index_shape(s, tuple(None if i is None else tuple(i.shape) for i in indices)),
    grads={
        "input": lambda g, input_shape, indices: dispatch.call(INDEX_PUT, (g.new_zeros(input_shape), g), (indices, True))
    },
)  # fmt: skip
INDEX_PUT = Op(
    "index_put", "input values", "indices accumulate", kind="index", cpu=_index_put, shape=lambda s, *_: s,
    grads={
        "input": lambda g, values_shape, indices, accumulate: g if accumulate else dispatch.call(
            INDEX_PUT, (g, g.new_zeros(())), (indices, False)),
        "values": lambda g, values_shape, indices: dispatch.call(INDEX, (g,), (indices,)),
    },
)  # fmt: skip


def _as_index(t: Tensor) -> list[Tensor]:
    """An index tensor as integer tensors: a mask becomes the coordinates of its true elements."""
    if t.dtype in (dtypes.bool_, dtypes.uint8):
        return list(nonzero(t, as_tuple=True))
    if t.dtype.category != dtypes.INTEGRAL:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return [t]


def _split(self: Tensor, index: Any) -> tuple[Tensor, tuple[Any, ...] | None]:
    """The view that the basic parts of an index make, and the advanced rest (None where there is none)."""
    items = list(index) if isinstance(index, tuple) else [index]
    used = 0
    for i, item in enumerate(items):
        if isinstance(item, (list, np.ndarray, range)):
            items[i] = item = _listed(item)
        if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
            continue
        used += item.ndim if isinstance(item, Tensor) and item.dtype in (dtypes.bool_, dtypes.uint8) else 1
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    out, dim = self, 0
    advanced: list[Any] = []
    for item in items:
        if item is Ellipsis:
            skip = self.ndim - used
            dim += skip
            advanced += [None] * skip
        elif item is None:
            out = out.unsqueeze(dim)
            dim += 1
            advanced.append(None)
        elif isinstance(item, (bool, np.bool_)):
            out = out.unsqueeze(dim)
            advanced.append(creation.tensor([0] if item else [], dtype=dtypes.int64, device=self.device))
            dim += 1
        elif isinstance(item, slice):
            start, stop, step = (_plain(v) for v in (item.start, item.stop, item.step))
            out = slice_dim(out, dim, start, stop, 1 if step is None else step) if item != slice(None) else out
            dim += 1
            advanced.append(None)
        elif isinstance(item, Tensor) and (item.ndim or item.dtype in (dtypes.bool_, dtypes.uint8)):
            if item.dtype in (dtypes.bool_, dtypes.uint8):
                _check_mask(item, out, dim)
                if item.ndim == 0:
                    out = out.unsqueeze(dim)
                    item = item.reshape(1)
            found = _as_index(item)
            advanced += [f.to(self.device) for f in found]
            dim += len(found)
        elif isinstance(item, Tensor) and not item.is_cpu and item.dtype.category == dtypes.INTEGRAL:
            advanced.append(item)  # its value is not looked at: it may be on a device, or one of a batch
            dim += 1
        elif isinstance(item, Tensor) or hasattr(item, "__index__"):
            if isinstance(item, Tensor) and item.dtype.category > dtypes.INTEGRAL:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            place, size = item.__index__(), out._data.shape[dim]
            if not -size <= place < size:
                raise IndexError(f"index {place} is out of bounds for dimension {dim} with size {size}")
            out = dispatch.call(SELECT, (out,), (dim, place % size))
        else:
            raise TypeError(
                f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(item).__name__})"
            )
    return out, tuple(advanced) if any(a is not None for a in advanced) else None


def _plain(v: Any) -> Any:
    return v.__index__() if v is not None and type(v) is not int else v


def _listed(item: Any) -> Tensor:
    out = creation.tensor(list(item) if isinstance(item, range) else item)
    return out.to(dtypes.int64) if out.numel() == 0 and out.dtype.category >= dtypes.FLOATING else out


def _check_mask(mask: Tensor, t: Tensor, dim: int) -> None:
    for i, n in enumerate(mask.shape):
        if n != t.shape[dim + i]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of the indexed tensor {list(t.shape)} "
                f"at index {dim + i}"
            )


def _bounds(t: Tensor, indices: tuple[Any, ...]) -> None:
    for i, index in enumerate(indices):
        if index is not None and index.numel() and index.is_cpu:
            size = t.shape[i]
            low, high = int(index._data.min()), int(index._data.max())
            if low < -size or high >= size:
                bad = high if high >= size else low
                raise IndexError(f"index {bad} is out of bounds for dimension {i} with size {size}")
    try:
        broadcast_shapes(*[i.shape for i in indices if i is not None])
    except RuntimeError:
        shapes = ", ".join(str(list(i.shape)) for i in indices if i is not None)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


@operator(spaces=("method",), name="__getitem__")
def getitem(self: Tensor, index: Any) -> Tensor:
    """The part that an index names: a view for integers, slices, None and `...`; a copy for tensors, lists and masks."""
    out, advanced = _split(self, index)
    if advanced is None:
        return out.alias() if out is self else out
    _bounds(out, advanced)
    return dispatch.call(INDEX, (out,), (advanced,))


@operator(spaces=("method",), name="__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write a number or tensor (broadcast, converted) into the part that an index names."""
    out, advanced = _split(self, index)
    if advanced is None and out is self:
        out = self.alias()
    if not isinstance(value, Tensor):
        value = creation.tensor(value, dtype=self.dtype, device=self.device)
    elif value.dtype is not self.dtype or value.device != self.device:
        value = value.to(self.device, self.dtype)
    if advanced is None:
        shape = tuple(out.shape)
        given = tuple(value.shape)
        while len(given) > len(shape) and given[0] == 1:
            given = given[1:]
        if broadcast_or_none(given, shape) != shape:
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape {list(shape)}"
            )
        out.copy_(value.reshape(given).expand(*shape))
        return
    _bounds(out, advanced)
    shape = index_shape(tuple(out.shape), tuple(None if i is None else tuple(i.shape) for i in advanced))
    if broadcast_or_none(tuple(value.shape), shape) != shape:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape {list(shape)}"
        )
    index_put_(out, advanced, value)


def broadcast_or_none(given: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The common shape, or None where there is none."""
    try:
        return broadcast_shapes(given, shape)
    except RuntimeError:
        return None


def _tuple_of_indices(self: Tensor, indices: Any) -> tuple[Any, ...]:
    out: list[Any] = []
    for i in indices:
        out += [None] if i is None else _as_index(i)
    return tuple(out)


@operator(inplace=True)
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """`input` with `values` written (or, with `accumulate`, added) at the places of `indices`."""
    places = _tuple_of_indices(input, indices)
    _bounds(input, places)
    if values.dtype is not input.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {dispatch.type_name(input.dtype)} for the destination "
            f"and {dispatch.type_name(values.dtype)} for the source."
        )
    shape = index_shape(tuple(input.shape), tuple(None if i is None else tuple(i.shape) for i in places))
    return dispatch.call(INDEX_PUT, (input, values.expand(*shape)), (places, bool(accumulate)))


def index_put_(target: Tensor, indices: tuple[Any, ...], values: Tensor) -> Tensor:
    """Write in place by advanced indices."""
    from .declare import write_back

    return write_back(target, index_put, (indices, values), {})


ALIAS = Op("alias", "input", kind="view", geometry=lambda shape, strides, offset: (shape, strides, offset),
           grads={"input": lambda g: g})  # fmt: skip


@operator(spaces=("method",))
def alias(self: Tensor) -> Tensor:
    """A view of the whole tensor."""
    return dispatch.call(ALIAS, (self,))


# -- along one dimension ------------------------------------------------------------------------


def _check_range(name: str, index: Tensor, size: int, dim: int) -> None:
    if index.is_cpu and index.numel():
        low, high = int(index._data.min()), int(index._data.max())
        if low < 0 or high >= size:
            bad = high if high >= size else low
            raise (IndexError if name == "index_select" else RuntimeError)(
                "index out of range in self"
                if name == "index_select"
                else f"index {bad} is out of bounds for dimension {dim} with size {size}"
            )


INDEX_SELECT = Op(
    "index_select", "input index", "dim", kind="index", cpu=lambda x, index, dim: np.take(x, index, axis=dim),
    shape=lambda s, i, dim: (*s[:dim], numel(i), *s[dim + 1 :]),
    grads={"input": lambda g, index, input_shape, dim: g.new_zeros(input_shape).index_add(dim, index, g)},
)  # fmt: skip


@operator(out=True)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The parts at the places of a 1-d `index` along `dim`. Raises IndexError out of range."""
    at = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if input.ndim == 0:
        return input.reshape(1).index_select(0, index.reshape(-1)).reshape(())
    _check_range("index_select", index, input.shape[at], at)
    return dispatch.call(INDEX_SELECT, (input, index.reshape(-1)), (at,))


def _index_add(x: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> np.ndarray:
    out = x.copy()
    if index.size and out.size:
        np.add.at(np.moveaxis(out, dim, 0), index, np.moveaxis(source, dim, 0))
    return out


INDEX_ADD = Op(
    "index_add", "input index source", "dim", kind="index", cpu=_index_add, shape=lambda s, *_: s,
    grads={"input": lambda g: g, "source": lambda g, index, dim: g.index_select(dim, index)},
)  # fmt: skip


@operator(inplace=True, out=True)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """`input` with `alpha` times the parts of `source` added at the places of `index` along `dim`."""
    at = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector")
    if source.dtype is not input.dtype:
        raise RuntimeError("index_add_(): self and source must have the same scalar type")
    if input.ndim and source.ndim and source.shape[at] != index.numel():
        raise RuntimeError("index_add_(): Number of indices should be equal to self.size(dim)")
    _check_range("index_add", index, input.shape[at] if input.ndim else 1, at)
    if alpha != 1:
        source = source * alpha
    if input.ndim == 0:
        return input + source.sum()
    return dispatch.call(INDEX_ADD, (input, index.reshape(-1), source), (at,))


GATHER = Op(
    "gather", "input index", "dim", kind="index", cpu=lambda x, index, dim: _take_along(x, index, dim), shape=lambda s, i, dim: i,
    grads={"input": lambda g, index, input_shape, dim: g.new_zeros(input_shape).scatter_add(dim, index, g)},
)  # fmt: skip


def _take_along(x: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    if x.ndim == 0:
        return np.broadcast_to(x, index.shape).copy()
    window = tuple(slice(0, n) if i != dim else slice(None) for i, n in enumerate(index.shape))
    return np.take_along_axis(x[window], index, axis=dim)


@operator(out=True)
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """`out[i][j] = input[index[i][j]][j]` (for dim 0). Raises RuntimeError for an index that does not fit."""
    at = wrap_dim(dim, input.ndim)
    if index.dtype is not dtypes.int64:
        if index.dtype is not dtypes.int32:
            raise RuntimeError("gather(): Expected dtype int32/int64 for index")
        index = index.to(dtypes.int64)
    if max(input.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d in range(index.ndim):
        if d != at and input.ndim and index.shape[d] > input.shape[d]:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self {list(input.shape)} "
                f"apart from dimension {at}"
            )
    _check_range("gather", index, input.shape[at] if input.ndim else 1, at)
    if index.ndim == 0 and input.ndim:
        return gather(input, dim, index.reshape(1)).reshape(())
    return dispatch.call(GATHER, (input, index), (at,))


def _along(x: np.ndarray, index: np.ndarray, dim: int) -> tuple[Any, ...]:
    grid = list(np.ogrid[tuple(slice(0, n) for n in index.shape)])
    grid[dim] = index
    return tuple(grid)


def _scatter(x: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> np.ndarray:
    out = x.copy()
    if index.size:
        window = tuple(slice(0, n) for n in index.shape)
        out[_along(out, index, dim)] = source[window]
    return out


def _scatter_add(x: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> np.ndarray:
    out = x.copy()
    if index.size:
        window = tuple(slice(0, n) for n in index.shape)
        np.add.at(out, _along(out, index, dim), source[window])
    return out


SCATTER = Op(
    "scatter", "input index src", "dim", kind="index", cpu=_scatter, shape=lambda s, *_: s,
    grads={
        "input": lambda g, index, dim: g.scatter(dim, index, 0.0),
        "src": lambda g, index, src_shape, dim: _padded(g.gather(dim, index), src_shape),
    },
)  # fmt: skip
SCATTER_ADD = Op(
    "scatter_add", "input index src", "dim", kind="index", cpu=_scatter_add, shape=lambda s, *_: s,
    grads={"input": lambda g: g, "src": lambda g, index, src_shape, dim: _padded(g.gather(dim, index), src_shape)},
)  # fmt: skip


def _padded(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A gradient of the part of `src` that was used, with zeros for the rest."""
    if tuple(g.shape) == shape:
        return g
    return g.new_zeros(shape).as_strided_scatter(g, tuple(g.shape), g.new_zeros(shape).stride(), 0)


def _scatter_arguments(name: str, input: Tensor, dim: int, index: Tensor, src: Any) -> tuple[int, Tensor]:
    at = wrap_dim(dim, input.ndim)
    if index.dtype is not dtypes.int64:
        raise RuntimeError(f"{name}(): Expected dtype int64 for index")
    if not isinstance(src, Tensor):
        src = input.new_full((), src).expand(*index.shape)
    elif src.dtype is not input.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if max(index.ndim, 1) != max(input.ndim, 1) or max(src.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    for d in range(index.ndim):
        if (d != at and input.ndim and index.shape[d] > input.shape[d]) or (src.ndim and index.shape[d] > src.shape[d]):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {at} and to "
                f"be no larger size than src {list(src.shape)}"
            )
    _check_range(name, index, input.shape[at] if input.ndim else 1, at)
    return at, src


@operator(inplace=True, out=True)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """`input` with `src[i][j]` written at `[index[i][j]][j]` (for dim 0); `src` may be a number."""
    at, source = _scatter_arguments("scatter", input, dim, index, value if src is None else src)
    if reduce == "add":
        return _reshaped(SCATTER_ADD, input, index, source, at)
    if reduce == "multiply":
        return input * scatter(input.new_ones(input.shape), dim, index, source)
    if reduce is not None:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _reshaped(SCATTER, input, index, source, at)


@operator(inplace=True, out=True)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`input` with `src[i][j]` added at `[index[i][j]][j]` (for dim 0)."""
    at, source = _scatter_arguments("scatter", input, dim, index, src)
    return _reshaped(SCATTER_ADD, input, index, source, at)


def _reshaped(op: Op, input: Tensor, index: Tensor, source: Tensor, dim: int) -> Tensor:
    if input.ndim and index.ndim:
        return dispatch.call(op, (input, index, source), (dim,))
    out = dispatch.call(op, (input.reshape(-1), index.reshape(-1), source.reshape(-1)), (0,))
    return out.reshape(input.shape)


# -- by mask or value ---------------------------------------------------------------------------

NONZERO = Op("nonzero", "input", kind="index", cpu=lambda x: np.argwhere(x), dtype=lambda *_: dtypes.int64)


@operator()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The coordinates of the nonzero elements, one row each; as a tuple, one vector a dimension."""
    if as_tuple and input.ndim == 0:
        return nonzero(input.reshape(1), as_tuple=True)
    found = dispatch.call(NONZERO, (input,))
    return tuple(found.unbind(1)) if as_tuple else found


@operator(out=True)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask`, in order, in one dimension."""
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast_shapes(input.shape, mask.shape)
    where = nonzero(mask.expand(*shape).reshape(-1)).reshape(-1)
    return input.expand(*shape).reshape(-1).index_select(0, where)


# -- writing into windows -----------------------------------------------------------------------


def _write_window(x: np.ndarray, source: np.ndarray, size: Any, stride: Any, offset: int) -> np.ndarray:
    out = np.array(x, order="C")
    if numel(size):
        window = np.ndarray(size, out.dtype, out, offset * out.itemsize, tuple(s * out.itemsize for s in stride))
        window[...] = source
    return out


WRITE_WINDOW = Op(
    "as_strided_scatter", "input src", "size stride storage_offset", kind="index", cpu=_write_window, shape=lambda s, *_: s,
    grads={
        "input": lambda g, src_shape, size, stride, storage_offset: g.contiguous().as_strided_scatter(
            g.new_zeros(src_shape), size, stride, storage_offset),
        "src": lambda g, size, stride, storage_offset: g.contiguous().as_strided(size, stride, storage_offset),
    },
)  # fmt: skip


@operator()
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A row-major copy of `input` with `src` written into the window of the sizes and strides."""
    return dispatch.call(WRITE_WINDOW, (input, src), (sizes((size,)), sizes((stride,)), storage_offset or 0))


def _window(op: Op, input: Tensor, src: Tensor, *statics: Any) -> Tensor:
    from ..shapes import contiguous_strides

    shape = tuple(input.shape)
    size, stride, offset = op.geometry(shape, contiguous_strides(shape), 0, *statics)  # type: ignore[misc]
    if tuple(src.shape) != size:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(size)}"
        )
    return dispatch.call(WRITE_WINDOW, (input, src), (size, stride, offset))


@operator()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """`input` with `src` written at `index` of `dim`."""
    at = wrap_dim(dim, input.ndim)
    return _window(
        SELECT,
        input,
        src,
        at,
        index % input.shape[at] if -input.shape[at] <= index < input.shape[at] else _off(index, input, at),
    )


def _off(index: int, t: Tensor, dim: int) -> int:
    raise IndexError(f"select(): index {index} out of range for tensor of size {list(t.shape)} at dimension {dim}")


@operator()
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    """`input` with `src` written over `[start:end:step]` of `dim`."""
    at = wrap_dim(dim, input.ndim)
    first, last, _ = slice(start, end, 1).indices(input.shape[at])
    return _window(SLICE, input, src, at, first, max(first, last), step)


@operator()
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """`input` with `src` written over a diagonal."""
    from .views import DIAGONAL

    return _window(DIAGONAL, input, src, offset, wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim))
