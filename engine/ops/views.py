"""Views: the same memory in another shape, order or window. Nothing here copies, but for `reshape` where it must.

A view primitive is a rule from geometry to geometry (shape, strides, offset in elements), the same for all devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dispatch
from ..shapes import (
    Size,
    contiguous_strides,
    expand_strides,
    infer_size,
    is_contiguous,
    numel,
    overlaps,
    view_strides,
    wrap_dim,
    wrap_dims,
)
from ..tensor import Tensor
from .declare import operator
from .table import Op

Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


def sizes(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one, or as one sequence; 0-d integer tensors count as numbers."""
    if len(args) == 1 and isinstance(args[0], (tuple, list, Size)):
        args = tuple(args[0])
    return tuple(a if type(a) is int else a.__index__() for a in args)


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
def view(self: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape; one size may be -1. Raises RuntimeError where the memory order does not allow it."""
    if len(shape) == 1 and isinstance(shape[0], dispatch.dtypes.dtype):
        return view_dtype(self, shape[0])
    return dispatch.call(VIEW, (self,), (infer_size(sizes(shape), self.numel()),))


def view_dtype(t: Tensor, kind: Any) -> Tensor:
    """The same bytes read as another dtype; the last dimension changes with the item size."""
    if kind is t.dtype:
        return dispatch.call(VIEW, (t,), (tuple(t.shape),))
    old, new = t.dtype.itemsize, kind.itemsize
    if old != new and (t.ndim == 0 or t.stride(-1) != 1):
        raise RuntimeError("self.stride(-1) must be 1 to view a dtype as one of a different element size")
    if not t.is_cpu:
        return view_dtype(t.cpu(), kind).to(t.device)
    if new > old and t.shape[-1] * old % new:
        raise RuntimeError(f"self.size(-1) must be divisible by {new // old} to view {t.dtype} as {kind}")
    return dispatch.wrap(t.detach_shallow()._data.view(kind.numpy), kind, t._storage.backend)


@operator()
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: a view where the memory order allows it, else a copy."""
    new = infer_size(sizes(shape), input.numel())
    if view_strides(tuple(input._data.shape), input.stride(), new) is not None:
        return dispatch.call(VIEW, (input,), (new,))
    return dispatch.call(VIEW, (input.contiguous(),), (new,))


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


@operator(aliases=("swapaxes", "swapdims"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    return dispatch.call(TRANSPOSE, (input,), (wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim)))


@operator()
def t(input: Tensor) -> Tensor:
    """A matrix transposed; vectors and 0-d tensors as they are. Raises RuntimeError for more dimensions."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return dispatch.call(T_OF_MATRIX, (input,))


@operator()
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


def _squeeze(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dims: tuple[int, ...]) -> Geometry:
    keep = [i for i, n in enumerate(shape) if not (i in dims and n == 1)]
    return tuple([shape[i] for i in keep]), tuple([strides[i] for i in keep]), offset


SQUEEZE = Op("squeeze", "input", "dims", kind="view", geometry=_squeeze,
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
    return dispatch.call(SQUEEZE, (input,), (wrap_dims(dim, input.ndim),))


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
    if new == shape:
        return self
    extra = len(shape) - len(new)
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
    at, place = wrap_dim(dim, input.ndim), index.__index__()
    size = input._data.shape[at]
    if not -size <= place < size:
        raise IndexError(
            f"select(): index {place} out of range for tensor of size {list(input.shape)} at dimension {at}"
        )
    return dispatch.call(SELECT, (input,), (at, place % size))


def slice_dim(input: Tensor, dim: int, start: Any, end: Any, step: int = 1) -> Tensor:
    """`input[..., start:end:step]` along `dim`, with Python's clamping. Raises ValueError for a step below 1."""
    if step <= 0:
        raise ValueError("step must be greater than zero")
    first, last, _ = slice(start, end, 1).indices(input._data.shape[dim])
    return dispatch.call(SLICE, (input,), (dim, first, max(first, last), step))


@operator()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` parts from `start` on along `dim`. Raises RuntimeError out of range."""
    at = wrap_dim(dim, input.ndim)
    size, first = input.shape[at], int(start)
    if not -size <= first <= size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size}], but got {first})")
    first += size if first < 0 else 0
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
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
    new, stride, _ = _unfold(shape, contiguous_strides(shape), 0, dim, size, step)
    return _as_strided_backward(g, shape, new, stride, 0)


@operator(spaces=("method",))
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of `size` along a dimension, `step` apart, as a new last dimension."""
    if self.ndim == 0:
        return dispatch.call(UNFOLD, (self.reshape(1),), (0, size, step))
    at = wrap_dim(dimension, self.ndim)
    if size > self.shape[at]:
        raise RuntimeError(f"maximum size for tensor at dimension {at} is {self.shape[at]} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return dispatch.call(UNFOLD, (self,), (at, size, step))


# -- several views at once ----------------------------------------------------------------------


@operator()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts along a dimension, each without it."""
    at = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return _multi((dispatch.call(SELECT, (input,), (at, i)) for i in range(input.shape[at])), "Unbind")


@operator()
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a size (the last may be smaller), or of given sizes, along a dimension."""
    at = wrap_dim(dim, tensor.ndim)
    size = tensor.shape[at] if tensor.ndim else 1
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 0 or (step == 0 and size):
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
        parts = [min(step, size - i) for i in range(0, size, step)] if step and size else [0]
    else:
        parts = list(split_size_or_sections)
        if sum(parts) != size or any(p < 0 for p in parts):
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {at}), but got "
                f"split_sizes={parts}"
            )
    ends = [sum(parts[: i + 1]) for i in range(len(parts))]
    return _multi(
        (dispatch.call(SLICE, (tensor,), (at, e - p, e, 1)) for p, e in zip(parts, ends, strict=True)), "Split"
    )


@operator()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size (the last may be smaller)."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    at = wrap_dim(dim, input.ndim)
    size = input.shape[at]
    return (
        split(input, -(-size // chunks) if size else 0, at)
        if size
        else _multi((narrow(input, at, 0, 0) for _ in range(chunks)), "Split")
    )


def _multi(views: Any, maker: str) -> tuple[Tensor, ...]:
    """Outputs of a function of several views, which may not be written to while recording."""
    out = tuple(views)
    for i, v in enumerate(out):
        if not v._creation:
            v._creation, v._maker = "multi", f"Output {i} of {maker}"
    return out


def contiguous_like(t: Tensor) -> bool:
    """Whether `t` is row-major; used where a copy can be spared."""
    return is_contiguous(t._data.shape, t.stride())
