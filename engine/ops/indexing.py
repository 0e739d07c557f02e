"""Indexing: `t[...]` and its assignment, selection by mask, writing into windows. Gather and scatter stand in `scattering.py`.

Integers, slices, None and Ellipsis make views; tensors, lists and masks go through the `index` primitive, whose `indices`
are a tuple with a tensor or None for each dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import as_int, broadcast_shapes, numel, wrap_dim
from ..tensor import Tensor
from . import creation, places
from .declare import op_functions, operator
from .joining import cat
from .table import Op
from .views import SELECT, SLICE, sizes, slice_bounds, slice_dim

# -- advanced indexing --------------------------------------------------------------------------


def _slots(indices: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else i for i in indices)


def _index(x: np.ndarray, indices: tuple[Any, ...]) -> np.ndarray:
    at = [i for i, v in enumerate(indices) if v is not None]
    if len(at) == 1:
        return np.take(x, indices[at[0]], axis=at[0])
    got = x[_slots(indices)]
    return got if got.base is None else got.copy()


def _index_put(x: np.ndarray, values: np.ndarray, indices: tuple[Any, ...], accumulate: bool) -> np.ndarray:
    out = places.fresh(x)
    if accumulate:
        places.accumulate(np.add, out, places.indexed(out.shape, indices), values)
    else:
        out[_slots(indices)] = values
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
    items = list(index) if isinstance(index, tuple) or _stands_for_tuple(index) else [index]
    used = 0
    for i, item in enumerate(items):
        if isinstance(item, (list, np.ndarray, range)):
            items[i] = item = _listed(item)
        if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
            continue
        used += item.ndim if isinstance(item, Tensor) and item.dtype in (dtypes.bool_, dtypes.uint8) else 1
    if used > self.ndim:
        if self.ndim == 0:
            raise IndexError(
                "slice() cannot be applied to a 0-dim tensor."
                if any(isinstance(item, slice) for item in items)
                else "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
                "tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    out, dim, left = self, 0, self.ndim - used
    advanced: list[Any] = []
    for item in items:
        if item is Ellipsis:
            dim += left  # what no other item stands for; a second ellipsis stands for nothing
            advanced += [None] * left
            left = 0
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
        elif isinstance(item, Tensor) and not item._is_host and item.dtype.category == dtypes.INTEGRAL:
            advanced.append(item)  # its value is not looked at: it may be on a device, or one of a batch
            dim += 1
        elif isinstance(item, Tensor) or hasattr(item, "__index__"):
            if isinstance(item, Tensor) and item.dtype.category > dtypes.INTEGRAL:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            place, size = as_int(item), out._data.shape[dim]
            if not -size <= place < size:
                raise IndexError(f"index {place} is out of bounds for dimension {dim} with size {size}")
            out = dispatch.call(SELECT, (out,), (dim, place % size))
        elif isinstance(item, str):
            raise TypeError("new(): invalid data type 'str'")
        else:
            raise IndexError(
                f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(item).__name__})"
            )
    return out, tuple(advanced) if any(a is not None for a in advanced) else None


def _stands_for_tuple(index: Any) -> bool:
    """Whether a short list means a tuple, as in older numpy: it has a sequence, tensor, slice, None or ellipsis in it."""
    return (
        isinstance(index, list)
        and len(index) < 32
        and any(
            v is None or v is Ellipsis or isinstance(v, (Tensor, list, tuple, range, slice, np.ndarray)) for v in index
        )
    )


def _plain(v: Any) -> Any:
    return as_int(v) if v is not None else v


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
        if index is not None and index.numel() and index._is_host:
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
    if self._storage.backend.lifts and _masks(index) and (not isinstance(value, Tensor) or not value.ndim):
        # Where a mask is true only running tells; a choice between the number and what is there needs not to know.
        _check_mask(index, self, 0)
        mask = index.reshape(*index.shape, *[1] * (self.ndim - index.ndim))
        if not isinstance(value, Tensor):
            value = creation.full((), value, dtype=self.dtype, device=self.device)
        dispatch.write(self, op_functions["where"](mask, value.to(self.device, self.dtype), self))
        return
    out, advanced = _split(self, index)
    if advanced is None and out is self:
        out = self.alias()
    if not isinstance(value, Tensor):
        if not isinstance(value, (bool, int, float, complex, np.generic)):
            raise TypeError(
                f"can't assign a {type(value).__name__ if not isinstance(value, np.ndarray) else 'numpy.ndarray'} to a "
                f"torch.{dispatch.type_name(self.dtype)}Tensor"
            )
        value = creation.full(
            (), value.item() if isinstance(value, np.generic) else value, dtype=self.dtype, device=self.device
        )
    elif value.dtype is not self.dtype or value.device != self.device:
        value = value.to(self.device, self.dtype)
    if advanced is None:
        shape = tuple(out.shape)
        given = tuple(value.shape)
        while len(given) > len(shape) and given[0] == 1:
            given = given[1:]
        out.copy_(value.reshape(given).expand(*shape))
        return
    _bounds(out, advanced)
    shape = index_shape(tuple(out.shape), tuple(None if i is None else tuple(i.shape) for i in advanced))
    if broadcast_or_none(tuple(value.shape), shape) != shape:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape {list(shape)}"
        )
    index_put_(out, advanced, value)


def _masks(index: Any) -> bool:
    """Whether an index is one mask of booleans."""
    return isinstance(index, Tensor) and index._dtype is dtypes.bool_ and index.ndim > 0


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
    slots = _tuple_of_indices(input, indices)
    if len(slots) > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim} (got {len(slots)})")
    _bounds(input, slots)
    if values.dtype is not input.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {dispatch.type_name(input.dtype)} for the destination "
            f"and {dispatch.type_name(values.dtype)} for the source."
        )
    shape = index_shape(tuple(input.shape), tuple(None if i is None else tuple(i.shape) for i in slots))
    return dispatch.call(INDEX_PUT, (input, values.expand(*shape)), (slots, bool(accumulate)))


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


# -- by mask or value ---------------------------------------------------------------------------

NONZERO = Op("nonzero", "input", kind="index", cpu=lambda x: np.argwhere(x), dtype=lambda *_: dtypes.int64)


@operator()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The coordinates of the nonzero elements, one row each; as a tuple, one vector a dimension."""
    if as_tuple and input.ndim == 0:
        return nonzero(input.reshape(1), as_tuple=True)
    found = dispatch.call(NONZERO, (input,))
    return tuple(found.unbind(1)) if as_tuple else found


@operator()
def argwhere(input: Tensor) -> Tensor:
    """The coordinates of the nonzero elements, one row each."""
    return nonzero(input)


@operator()
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """`nonzero` with just `size` rows: those beyond are left out, missing ones filled with `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = nonzero(input).narrow(0, 0, min(size, int(input.count_nonzero())))
    missing = found.new_full((size - found.shape[0], found.shape[1]), fill_value)
    return cat([found, missing])


@operator(method=False)
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Places in the flattened tensor as coordinates in a tensor of `shape`, one tensor a dimension."""
    if not isinstance(indices, Tensor) or indices._dtype.category != dtypes.INTEGRAL:
        which = indices.dtype if isinstance(indices, Tensor) else type(indices)
        raise TypeError(f"expected 'indices' to be integer dtype, but got {which}")
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    bad = next((n for n in extents if not isinstance(n, int)), None)
    if bad is not None:
        raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(bad)}")
    if any(n < 0 for n in extents):
        raise ValueError(f"'shape' cannot have negative values, but got {extents}")
    indices = indices.to(dtypes.int64)
    steps = [numel(extents[d + 1 :]) for d in range(len(extents))]
    return tuple(indices.div(step, rounding_mode="floor").remainder(n) for step, n in zip(steps, extents, strict=True))


@operator(out=True)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask`, in order, in one dimension."""
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast_shapes(mask.shape, input.shape)
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
    return _window(SLICE, input, src, at, *slice_bounds(input._data.shape[at], start, end), step)


@operator()
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """`input` with `src` written over a diagonal."""
    from .views import DIAGONAL

    return _window(DIAGONAL, input, src, offset, wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim))
