"""Views: the same memory in another shape, order or window. Nothing here copies, but for `reshape` where it must.

A view primitive is a rule from geometry to geometry (shape, strides, offset in elements), the same for all devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dispatch
from ..shapes import (
    Size,
    as_int,
    contiguous_strides,
    expand_strides,
    infer_size,
    numel,
    overlaps,
    view_strides,
    wrap_dim,
    wrap_dims,
)
from ..state import state
from ..storage import Storage
from ..tensor import Tensor
from .declare import operator
from .table import Op, put

Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


def sizes(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one, or as one sequence; 0-d integer tensors count as numbers."""
    if len(args) == 1 and isinstance(args[0], (tuple, list, Size)):
        args = tuple(args[0])
    try:
        return tuple([a if type(a) is int else as_int(a) for a in args])
    except AttributeError:
        at, bad = next((i, a) for i, a in enumerate(args) if not hasattr(a, "__index__"))
        raise TypeError(
            f"argument 'size' must be tuple of ints, but found element of type {type(bad).__name__} at pos {at}"
        ) from None


# -- reshaping ----------------------------------------------------------------------------------


def _view(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, new: tuple[int, ...]) -> Geometry:
    steps = view_strides(shape, strides, new)
    if steps is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return new, steps, offset


VIEW = Op(
    "view", "input", "size", kind="view", geometry=_view,
    grads={"input": lambda g, input_shape: g.reshape(input_shape)},
)  # fmt: skip


@operator(spaces=("method",))
def view(self: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """The same memory in another shape; one size may be -1. Raises RuntimeError where the memory order does not allow it."""
    if dtype is not None or (len(size) == 1 and isinstance(size[0], dispatch.dtypes.dtype)):
        return view_dtype(self, size[0] if dtype is None else dtype)
    return dispatch.call(VIEW, (self,), (infer_size(sizes(size), self.numel()),))


def view_dtype(t: Tensor, kind: Any) -> Tensor:
    """The same bytes read as another dtype; the last dimension changes with the item size."""
    if kind is t.dtype:
        return dispatch.call(VIEW, (t,), (tuple(t.shape),))
    old, new = t.dtype.itemsize, kind.itemsize
    which = f"to view {dispatch.type_name(t.dtype)} as {dispatch.type_name(kind)} (different element sizes)"
    if t.dtype.rounds or kind.rounds:
        raise RuntimeError(
            f"view: the bytes of {(t.dtype if t.dtype.rounds else kind).name} cannot be read as another dtype here"
        )
    shape, strides, offset = tuple(t._data.shape), t.stride(), t.storage_offset()
    if old != new:
        if t.ndim == 0:
            raise RuntimeError(f"self.dim() cannot be 0 {which}")
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {which}, but got {strides[-1]}")
        times = max(old, new) // min(old, new)
        if new > old:
            if shape[-1] % times:
                raise RuntimeError(f"self.size(-1) must be divisible by {times} {which}, but got {shape[-1]}")
            if offset % times:
                raise RuntimeError(f"self.storage_offset() must be divisible by {times} {which}, but got {offset}")
            bad = next((i for i, s in enumerate(strides[:-1]) if s % times), None)
            if bad is not None:
                raise RuntimeError(f"self.stride({bad}) must be divisible by {times} {which}, but got {strides[bad]}")
            shape = (*shape[:-1], shape[-1] // times)
            strides, offset = (*[s // times for s in strides[:-1]], 1), offset // times
        else:
            shape = (*shape[:-1], shape[-1] * times)
            strides, offset = (*[s * times for s in strides[:-1]], 1), offset * times
    return dispatch.make_view(t.detach_shallow(), shape, strides, offset, kind)


@operator()
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: a view where the memory order allows it, else a copy."""
    new = infer_size(sizes(shape), input.numel())
    if view_strides(tuple(input._data.shape), input.stride(), new) is not None:
        return dispatch.call(VIEW, (input,), (new,))
    return unsafe_view(input.contiguous(), new)


UNSAFE_VIEW = Op("unsafe_view", "input", "size", kind="view", geometry=_view,
                 grads={"input": lambda g, input_shape: g.reshape(input_shape)})  # fmt: skip


def unsafe_view(fresh: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor that nobody else has, in another shape; the result counts as no view."""
    out = dispatch.call(UNSAFE_VIEW, (fresh,), (shape,))
    out._base = None
    return out


@operator(spaces=("method",))
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of `other`."""
    return view(self, other.shape)


@operator(spaces=("method",))
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of `other`."""
    return reshape(self, other.shape)


@operator()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions `start_dim` to `end_dim` merged into one; a 0-d tensor becomes 1-d."""
    first, last = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    shape = tuple(input.shape) or (1,)
    if first == last and input.ndim:
        return input
    return reshape(input, *shape[:first], numel(shape[first : last + 1]), *shape[last + 1 :])


@operator()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return reshape(input, -1)


@operator()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Dimension `dim` split into `sizes`, one of which may be -1."""
    at = wrap_dim(dim, input.ndim)
    try:
        parts = infer_size(tuple(sizes), input.shape[at])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {at} ({input.shape[at]}) in the input tensor"
        ) from None
    return reshape(input, *input.shape[:at], *parts, *input.shape[at + 1 :])


# -- order of dimensions ------------------------------------------------------------------------


def _permute(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dims: tuple[int, ...]) -> Geometry:
    return tuple([shape[d] for d in dims]), tuple([strides[d] for d in dims]), offset


def _unpermute(g: Tensor, dims: tuple[int, ...]) -> Tensor:
    back = [0] * len(dims)
    for i, d in enumerate(dims):
        back[d] = i
    return g.permute(*back)


PERMUTE = Op("permute", "input", "dims", kind="view", geometry=_permute, grads={"input": _unpermute})


@operator()
def permute(input: Tensor, *dims: Any) -> Tensor:
    """The dimensions in another order; raises RuntimeError unless each is named once."""
    order = sizes(dims)
    if len(order) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(order)}"
        )
    order = tuple(wrap_dim(d, input.ndim) for d in order)
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return dispatch.call(PERMUTE, (input,), (order,))


TRANSPOSE = Op(
    "transpose", "input", "dim0 dim1", kind="view",
    geometry=lambda shape, strides, offset, a, b: _permute(shape, strides, offset, _swapped(len(shape), a, b)),
    grads={"input": lambda g, dim0, dim1: g.transpose(dim0, dim1)},
)  # fmt: skip
T_OF_MATRIX = Op(
    "t", "input", kind="view", geometry=lambda shape, strides, offset: (shape[::-1], strides[::-1], offset),
    grads={"input": lambda g: g.t()},
)  # fmt: skip


def _swapped(rank: int, a: int, b: int) -> tuple[int, ...]:
    order = list(range(rank))
    if rank:
        order[a], order[b] = order[b], order[a]
    return tuple(order)


@operator(aliases=("swapdims",))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    return dispatch.call(TRANSPOSE, (input,), (wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim)))


@operator()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged."""
    return transpose(input, axis0, axis1)


@operator()
def t(input: Tensor) -> Tensor:
    """A matrix transposed; vectors and 0-d tensors as they are. Raises RuntimeError for more dimensions."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return dispatch.call(T_OF_MATRIX, (input,))


@operator(aliases=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions `source` moved to the places `destination`, the others in their order."""
    a = (source,) if isinstance(source, int) else tuple(source)
    b = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(a) != len(b):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(a)} dims) should contain the same number of dims as "
            f"destination ({list(b)} dims)"
        )
    a, b = tuple(wrap_dim(d, input.ndim) for d in a), tuple(wrap_dim(d, input.ndim) for d in b)
    if len(set(a)) != len(a) or len(set(b)) != len(b):
        raise RuntimeError("movedim: repeated dim in `source` or `destination`")
    places: dict[int, int] = dict(zip(b, a, strict=True))
    rest = iter(d for d in range(input.ndim) if d not in a)
    return permute(input, *[places[i] if i in places else next(rest) for i in range(input.ndim)])


# -- sizes of one -------------------------------------------------------------------------------


def _squeeze(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dims: tuple[int, ...], form: int
) -> Geometry:
    keep = [i for i, n in enumerate(shape) if not (i in dims and n == 1)]
    return tuple([shape[i] for i in keep]), tuple([strides[i] for i in keep]), offset


SQUEEZE = Op("squeeze", "input", "dims form", kind="view", geometry=_squeeze, overload=lambda _, statics: statics[1],
             grads={"input": lambda g, input_shape: g.reshape(input_shape)})  # fmt: skip
UNSQUEEZE = Op(
    "unsqueeze", "input", "dim", kind="view",
    geometry=lambda shape, strides, offset, dim: (
        (*shape[:dim], 1, *shape[dim:]),
        (*strides[:dim], shape[dim] * strides[dim] if dim < len(shape) else 1, *strides[dim:]),
        offset,
    ),
    grads={"input": lambda g, dim: g.squeeze(dim)},
)  # fmt: skip


@operator()
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the dimensions of size 1, or without those of `dim` that have size 1."""
    if dim is None:
        return dispatch.call(SQUEEZE, (input,), (tuple(range(input.ndim)), 0))
    if isinstance(dim, (tuple, list)):
        return dispatch.call(SQUEEZE, (input,), (wrap_dims(dim, input.ndim) if dim else (), 2))
    return dispatch.call(SQUEEZE, (input,), ((wrap_dim(dim.__index__(), input.ndim),), 1))


@operator()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of size 1 at `dim`."""
    return dispatch.call(UNSQUEEZE, (input,), (wrap_dim(dim, input.ndim + 1),))


# -- repeating ----------------------------------------------------------------------------------

EXPAND = Op(
    "expand", "input", "size", kind="view",
    geometry=lambda shape, strides, offset, size: (*expand_strides(shape, strides, size), offset),
    grads={"input": lambda g, input_shape: g.sum_to_size(*input_shape)},
)  # fmt: skip


@operator(spaces=("method",))
def expand(self: Tensor, *size: Any, implicit: bool = False) -> Tensor:
    """Dimensions of size 1 repeated without a copy; -1 keeps a size; new dimensions come in front."""
    return dispatch.call(EXPAND, (self,), (sizes(size),))


@operator(spaces=("method",))
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expanded to the shape of `other`."""
    return expand(self, *other.shape)


@operator()
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expanded to `size`."""
    return expand(input, *sizes((size,)))


@operator(spaces=("method",))
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Summed over the dimensions that broadcasting `size` to this shape would repeat. Raises RuntimeError otherwise."""
    new = sizes(size)
    shape = tuple(self._data.shape)
    if not new:
        return self.sum()
    extra = len(shape) - len(new)
    if not extra and new == shape:
        return self
    if extra < 0 or any(n not in (1, s) for n, s in zip(new, shape[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(new)}}} is not expandable to size {{{list(shape)}}}.")
    dims = [*range(extra), *[i + extra for i, n in enumerate(new) if n == 1 and shape[i + extra] != 1]]
    out = self.sum(dim=dims, keepdim=True) if dims else self
    return out.reshape(new) if extra else out


# -- windows ------------------------------------------------------------------------------------


def _select(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dim: int, index: int) -> Geometry:
    return shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :], offset + index * strides[dim]


def _slice(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dim: int, start: int, end: int, step: int
) -> Geometry:
    count = max(0, -(-(end - start) // step))
    new = (*shape[:dim], count, *shape[dim + 1 :])
    return (
        new,
        (*strides[:dim], strides[dim] * step, *strides[dim + 1 :]),
        offset + (start * strides[dim] if count else 0),
    )


SELECT = Op(
    "select", "input", "dim index", kind="view", geometry=_select,
    grads={"input": lambda g, input_shape, dim, index: g.new_zeros(input_shape).select_scatter(g, dim, index)},
)  # fmt: skip
SLICE = Op(
    "slice", "input", "dim start end step", kind="view", geometry=_slice,
    grads={
        "input": lambda g, input_shape, dim, start, end, step: g.new_zeros(input_shape).slice_scatter(g, dim, start, end, step)
    },
)  # fmt: skip


@operator()
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """The part at `index` of dimension `dim`, without that dimension. Raises IndexError out of range."""
    if input.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    at, place = wrap_dim(dim, input.ndim), as_int(index)
    size = input._data.shape[at]
    if not -size <= place < size:
        raise IndexError(
            f"select(): index {place} out of range for tensor of size {list(input.shape)} at dimension {at}"
        )
    return dispatch.call(SELECT, (input,), (at, place % size))


def slice_dim(input: Tensor, dim: int, start: Any, end: Any, step: int = 1) -> Tensor:
    """`input[..., start:end:step]` along `dim`, with Python's clamping. Raises ValueError for a step below 1."""
    if step <= 0:
        raise ValueError("slice step cannot be zero" if step == 0 else "step must be greater than zero")
    return dispatch.call(SLICE, (input,), (dim, *slice_bounds(input._data.shape[dim], start, end), step))


_PLAIN = (int, type(None))


def slice_bounds(size: int, start: Any, end: Any) -> tuple[int, int]:
    """First and last (exclusive) place of `start:end` in a dimension, with Python's clamping; last is not below first."""
    if type(size) is int and type(start) in _PLAIN and type(end) in _PLAIN:
        first, last, _ = slice(start, end, 1).indices(size)
    else:
        first, last = _clamped(start, size, 0), _clamped(end, size, size)
    return first, max(first, last)


def _clamped(at: Any, size: Any, default: Any) -> Any:
    """A bound of a slice within 0 and `size`; negative ones count from the end."""
    if at is None:
        return default
    at = at + size if at < 0 else at
    return 0 if at < 0 else size if at > size else at


@operator()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` parts from `start` on along `dim`. Raises RuntimeError out of range."""
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.ndim or start._dtype.category != dispatch.dtypes.INTEGRAL):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    at = wrap_dim(dim, input.ndim)
    size, first, length = input.shape[at], as_int(start), as_int(length)
    if not -size <= first <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {first})")
    first += size if first < 0 else 0
    if first + length > size:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return dispatch.call(SLICE, (input,), (at, first, first + length, 1))


def _diagonal(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, shift: int, a: int, b: int) -> Geometry:
    if shift >= 0:
        count, start = min(shape[a], shape[b] - shift), shift * strides[b]
    else:
        count, start = min(shape[a] + shift, shape[b]), -shift * strides[a]
    count = max(count, 0)
    keep = [i for i in range(len(shape)) if i not in (a, b)]
    new = (*[shape[i] for i in keep], count)
    return new, (*[strides[i] for i in keep], strides[a] + strides[b]), offset + (start if count else 0)


DIAGONAL = Op(
    "diagonal", "input", "offset dim1 dim2", kind="view", geometry=_diagonal,
    grads={
        "input": lambda g, input_shape, offset, dim1, dim2: g.new_zeros(input_shape).diagonal_scatter(g, offset, dim1, dim2)
    },
)  # fmt: skip


@operator()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals of the planes of two dimensions, as the last dimension."""
    a, b = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return dispatch.call(DIAGONAL, (input,), (offset, a, b))


def _unfold(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dim: int, size: int, step: int) -> Geometry:
    if not shape:
        return (size,), (1,), offset
    count = (shape[dim] - size) // step + 1
    return (
        (*shape[:dim], count, *shape[dim + 1 :], size),
        (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim]),
        offset,
    )


AS_STRIDED = Op(
    "as_strided", "input", "size stride storage_offset", kind="view",
    geometry=lambda shape, strides, offset, size, stride, start: (size, stride, offset + start),
    grads={
        "input": lambda g, input_shape, size, stride, storage_offset: _as_strided_backward(g, input_shape, size, stride, storage_offset)
    },
)  # fmt: skip


def _as_strided_backward(g: Tensor, shape: tuple[int, ...], size: Any, stride: Any, offset: int) -> Tensor:
    zeros = g.new_zeros(shape)
    if not overlaps(size, stride) and _distinct(size, stride):
        return zeros.as_strided_scatter(g, size, stride, offset)
    places = _places(size, stride, offset, g)
    return zeros.reshape(-1).index_add(0, places, g.reshape(-1)).reshape(shape)


def _distinct(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether no two elements share memory (a sufficient test)."""
    reach = 0
    for st, n in sorted((st, n) for st, n in zip(stride, size, strict=True) if n > 1):
        if st <= reach:
            return False
        reach += st * (n - 1)
    return True


def _places(size: Sequence[int], stride: Sequence[int], offset: int, like: Tensor) -> Tensor:
    import numpy as np

    from .creation import from_numpy

    flat = np.full((), offset, np.int64)
    for n, st in zip(size, stride, strict=True):
        flat = flat[..., None] + np.arange(n) * st
    return from_numpy(flat.reshape(-1)).to(like.device)


@operator()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A window on the storage by sizes, strides and offset. Raises RuntimeError where it leaves the storage."""
    new, steps = sizes((size,)), sizes((stride,))
    if len(new) != len(steps):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(steps)} strides for {len(new)} sizes")
    start = input.storage_offset() if storage_offset is None else storage_offset
    if any(s < 0 for s in steps):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}")
    if start < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {start}")
    need = (
        (start + sum((n - 1) * s for n, s in zip(new, steps, strict=True)) + 1) * input.dtype.itemsize
        if numel(new)
        else 0
    )
    have = input._storage.nbytes()
    if need > have:
        raise RuntimeError(
            f"setStorage: sizes {list(new)}, strides {list(steps)}, storage offset {start}, and itemsize {input.dtype.itemsize} "
            f"requiring a storage size of {need} are out of bounds for storage of size {have}"
        )
    return dispatch.call(AS_STRIDED, (input,), (new, steps, start - input.storage_offset()))


UNFOLD = Op(
    "unfold", "input", "dimension size step", kind="view", geometry=_unfold,
    grads={"input": lambda g, input_shape, dimension, size, step: _unfold_backward(g, input_shape, dimension, size, step)},
)  # fmt: skip


def _unfold_backward(g: Tensor, shape: tuple[int, ...], dim: int, size: int, step: int) -> Tensor:
    if not shape:
        return g.sum()
    new, stride, _ = _unfold(shape, contiguous_strides(shape), 0, dim, size, step)
    return _as_strided_backward(g, shape, new, stride, 0)


@operator(spaces=("method",))
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of `size` along a dimension, `step` apart, as a new last dimension."""
    at = wrap_dim(dimension, self.ndim)
    extent = self.shape[at] if self.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > extent:
        raise RuntimeError(f"maximum size for tensor at dimension {at} is {extent} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return dispatch.call(UNFOLD, (self,), (at, size, step))


@operator()
def narrow_copy(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`narrow` as a copy."""
    return narrow(input, dim, start, length).clone()


@operator()
def adjoint(input: Tensor) -> Tensor:
    """Matrices transposed and conjugated. Raises RuntimeError for vectors."""
    if input.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    out = transpose(input, -2, -1)
    return out.conj() if input._dtype.is_complex else out


# -- a tensor's own geometry changed ------------------------------------------------------------


def _becomes(name: str, view_of: Any) -> None:
    """Enter `NAME_`: the tensor itself becomes the view that `view_of` makes of it."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if state.grad_enabled and self.requires_grad and self.is_leaf:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        seen = view_of(self, *args, **kwargs)
        self._data, self._strides, self._offset = seen._data, seen._strides, seen._offset
        self._storage.version += 1
        self._seen_version = self._storage.version
        if seen._grad_fn is not None:
            self._grad_fn, self._output_nr = seen._grad_fn, seen._output_nr
        return self

    method.__name__ = name
    method.__doc__ = f"`{name[:-1]}`, which this tensor itself becomes."
    put(name, method, spaces=("torch",) if name == "as_strided_" else ("method",))


for _name, _view in (
    ("squeeze_", squeeze), ("unsqueeze_", unsqueeze), ("t_", t), ("transpose_", transpose), ("swapaxes_", transpose),
    ("swapdims_", transpose), ("as_strided_", as_strided),
):  # fmt: skip
    _becomes(_name, _view)


@operator(spaces=("method",))
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Another shape, in place: the elements in memory order, with unspecified ones behind them where there are not enough.

    Raises RuntimeError for a tensor that requires grad.
    """
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = sizes(size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    storage, backend = self._storage, self._storage.backend
    need, have = self._offset + numel(shape), storage.nbytes() // self._dtype.itemsize
    if need > have:
        wider = Storage(backend, backend.empty((need,), self._dtype))
        if have:
            backend.copy(backend.view(wider.root, (have,), (1,), 0), backend.view(storage.root, (have,), (1,), 0))
        storage.data, storage._root = wider.data, None
    self._strides = contiguous_strides(shape)
    self._data = backend.view(storage.root, shape, self._strides, self._offset)
    storage.version += 1
    return self


@operator()
def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor."""
    return resize_(self, tuple(the_template.shape))


@operator(spaces=("method",))
def set_(
    self: Tensor, source: Tensor | None = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Look at the memory of another tensor from now on (or at none): with sizes and strides of its own, or those of `source`.

    Raises RuntimeError for another dtype.
    """
    given: Tensor = self.new_empty(0) if source is None else source
    if given._dtype is not self._dtype:
        raise RuntimeError(
            f"Could not set tensor of type {dispatch.type_name(given._dtype).lower()} to a tensor of type "
            f"{dispatch.type_name(self._dtype).lower()}"
        )
    seen = given.detach_shallow()
    if size is not None:
        shape = sizes((size,))
        seen = as_strided(seen, shape, contiguous_strides(shape) if stride is None else stride, storage_offset)
    self._data, self._storage, self._strides, self._offset = seen._data, seen._storage, seen._strides, seen._offset
    self._base = None
    return self


@operator(spaces=("linalg",), method=False, name="diagonal")
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices (of the planes of two dimensions), as the last dimension; a view."""
    return diagonal(A, offset, dim1, dim2)
