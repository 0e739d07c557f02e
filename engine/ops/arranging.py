"""Elements in another order or more than once: flip, roll, rot90, repeat, tile, repeat_interleave, meshgrid.

What can be a view stands in `views.py`; these make new memory (but for `meshgrid`, which expands its arguments).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import wrap_dim
from ..tensor import Tensor
from .declare import operator
from .table import Op
from .views import sizes

# -- reversed and rotated -----------------------------------------------------------------------

FLIP = Op(
    "flip", "input", "dims", kind="index", cpu=lambda x, dims: np.array(np.flip(x, dims), order="C"), shape=lambda s, dims: s,
    grads={"input": lambda g, dims: g.flip(dims)},
)  # fmt: skip


@operator()
def flip(input: Tensor, *dims: Any) -> Tensor:
    """The order of the elements reversed along each of `dims`."""
    given = sizes(dims)
    if not isinstance(input, Tensor):
        raise TypeError(f"flip(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    places = tuple(wrap_dim(d, input.ndim) for d in given)
    if len(set(places)) != len(places):
        again = next(d for d in places if places.count(d) > 1)
        raise RuntimeError(f"dim {again} appears multiple times in the list of dims")
    return dispatch.call(FLIP, (input,), (places if input.ndim else (),))


@operator()
def fliplr(input: Tensor) -> Tensor:
    """The order reversed along dimension 1. Raises RuntimeError for less than two dimensions."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@operator()
def flipud(input: Tensor) -> Tensor:
    """The order reversed along dimension 0. Raises RuntimeError for 0-d tensors."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


ROLL = Op(
    "roll", "input", "shifts dims", kind="index", cpu=lambda x, shifts, dims: np.roll(x, shifts, dims), shape=lambda s, *_: s,
    grads={"input": lambda g, shifts, dims: dispatch.call(ROLL, (g,), (tuple(-n for n in shifts), dims))},
)  # fmt: skip


@operator()
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Elements moved on by `shifts` along `dims`, those beyond the end to the beginning; the flattened ones without `dims`.

    Raises RuntimeError unless there is one shift for each dimension.
    """
    steps, along = sizes((shifts,)), sizes((dims,))
    if not steps:
        raise RuntimeError("`shifts` required")
    if not along and len(steps) == 1:
        return dispatch.call(ROLL, (input,), (steps, None))
    if len(steps) != len(along):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(along)}")
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {along[0]} but tensor has no dimensions")
    return dispatch.call(ROLL, (input,), (steps, tuple(wrap_dim(d, input.ndim) for d in along)))


ROT90 = Op(
    "rot90", "input", "k dims", kind="index", cpu=lambda x, k, dims: np.array(np.rot90(x, k, dims), order="K"),
    shape=lambda s, k, dims: _rotated_shape(s, k, dims), grads={"input": lambda g, k, dims: g.rot90(-k, dims)},
)  # fmt: skip


def _rotated_shape(shape: tuple[int, ...], k: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    out = list(shape)
    if k % 2:
        out[dims[0]], out[dims[1]] = shape[dims[1]], shape[dims[0]]
    return tuple(out)


@operator()
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Planes of two dimensions turned by `k` quarter turns, from the first dimension towards the second."""
    a = sizes((dims,))
    if len(a) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(a)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if a[0] == a[1] or abs(a[0] - a[1]) == input.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {a[0]} and dim1 = {a[1]}")
    return dispatch.call(ROT90, (input,), (int(k), tuple(wrap_dim(d, input.ndim) for d in a)))


# -- repeated -----------------------------------------------------------------------------------


def _repeat(x: np.ndarray, repeats: tuple[int, ...]) -> np.ndarray:
    shape = (1,) * (len(repeats) - x.ndim) + x.shape
    wide = x.reshape([n for s in shape for n in (1, s)])
    full = np.broadcast_to(wide, [n for r, s in zip(repeats, shape, strict=True) for n in (r, s)])
    return np.array(full, order="C").reshape([r * s for r, s in zip(repeats, shape, strict=True)])


def _repeat_shape(shape: tuple[int, ...], repeats: tuple[int, ...]) -> tuple[int, ...]:
    full = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    return tuple(r * s for r, s in zip(repeats, full, strict=True))


def _repeat_backward(g: Tensor, shape: tuple[int, ...], repeats: tuple[int, ...]) -> Tensor:
    full = (1,) * (len(repeats) - len(shape)) + shape
    parts = g.reshape([n for r, s in zip(repeats, full, strict=True) for n in (r, s)])
    dims = [2 * i for i, r in enumerate(repeats) if r != 1]
    return (parts.sum(dims) if dims else parts).reshape(shape)


REPEAT = Op("repeat", "input", "repeats", kind="index", cpu=_repeat, shape=_repeat_shape,
            grads={"input": lambda g, input_shape, repeats: _repeat_backward(g, input_shape, repeats)})  # fmt: skip


@operator(spaces=("method",))
def repeat(self: Tensor, *repeats: Any) -> Tensor:
    """The tensor repeated so many times along each dimension; more numbers than dimensions add some in front.

    Raises RuntimeError for fewer.
    """
    times = sizes(repeats)
    if len(times) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    new = _repeat_shape(tuple(self.shape), times)
    if any(n < 0 for n in new) or any(r < 0 for r in times):
        bad = next(n for n in (*new, *times) if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {bad}: {list(new)}")
    return dispatch.call(REPEAT, (self,), (times,))


@operator()
def tile(input: Tensor, *dims: Any) -> Tensor:
    """`repeat`, with ones for the leading dimensions that `dims` does not name."""
    times = sizes(dims)
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


REPEATED_PLACES = Op(
    "repeat_interleave", "repeats", kind="index", dtype=lambda t: t._dtype,
    cpu=lambda repeats: np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats),
)  # fmt: skip


def _places_of(repeats: Tensor, output_size: int | None) -> Tensor:
    """Each place as often as `repeats` says."""
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats._dtype not in (dtypes.int64, dtypes.int32):
        raise NotImplementedError(
            f"\"repeat_interleave_cpu\" not implemented for '{dispatch.type_name(repeats._dtype)}'"
        )
    if repeats.numel() and bool((repeats < 0).any().item()):
        raise RuntimeError("repeats can not be negative")
    if output_size is not None and output_size != int(repeats.sum().item()):
        raise RuntimeError("allocated size does not match required size")
    return dispatch.call(REPEATED_PLACES, (repeats,))


@operator()
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each part along `dim` (of the flattened tensor without it) repeated on the spot, by one number or by one for each.

    With a tensor of numbers alone, the places: `repeat_interleave([1, 2])` is `[0, 1, 1]`. Raises RuntimeError for negative numbers or
    another count of them than parts.
    """
    if repeats is None:
        return _places_of(input, output_size)
    if not isinstance(repeats, (Tensor, int, np.integer)):
        raise TypeError(
            f"repeat_interleave() received an invalid combination of arguments - got (Tensor, {type(repeats).__name__}), but "
            "`repeats` must be a Tensor or an int"
        )
    if dim is None:
        input, dim = input.reshape(-1), 0
    at = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        input = input.reshape(1)
    if not isinstance(repeats, Tensor):
        times = int(repeats)
        if times < 0:
            raise RuntimeError("Repeats must be non-negative")
        if output_size is not None and output_size != times * input.shape[at]:
            raise RuntimeError(
                f"repeat_interleave: Invalid output_size, expected {times * input.shape[at]} but got {output_size}"
            )
        shape = tuple(input.shape)
        wide = input.unsqueeze(at + 1).expand(*shape[: at + 1], times, *shape[at + 1 :])
        return wide.clone().reshape(*shape[:at], shape[at] * times, *shape[at + 1 :])
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.numel() == 1:
        repeats = repeats.reshape(1).expand(input.shape[at])
    elif repeats.numel() != input.shape[at]:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got "
            f"repeats.size(0) = {repeats.shape[0]} and input.size({at}) = {input.shape[at]}"
        )
    return input.index_select(at, _places_of(repeats, output_size))


@operator(method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: vectors (or numbers) expanded to the shape of all their lengths.

    With `indexing="xy"` the first two dimensions are exchanged. Raises RuntimeError for other arguments or differing dtypes.
    """
    parts = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    if not parts:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in parts:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
        if t._dtype is not parts[0]._dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t._storage.backend is not parts[0]._storage.backend:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swapped = indexing == "xy" and len(parts) >= 2
    if swapped:
        parts[:2] = parts[1::-1]
    shape = [t.numel() for t in parts]
    grids = [t.reshape([-1 if i == d else 1 for d in range(len(parts))]).expand(*shape) for i, t in enumerate(parts)]
    if swapped:
        grids[:2] = grids[1::-1]
    return tuple(grids)
