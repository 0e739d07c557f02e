"""Tensors cut into parts along a dimension: split, chunk, tensor_split and their relatives. All parts are views.

Parts of the `unsafe_` forms may be written to while recording; the others refuse it, as one write would change them all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from .. import dispatch, dtypes
from ..shapes import as_int, wrap_dim
from ..state import state
from ..tensor import Tensor
from .declare import operator
from .joining import cat, stack
from .table import Op
from .views import SELECT, SLICE, sizes

# The parts of one call share a node on the tape (`WHOLE`), whose rule joins their gradients.  Transforms and captures see one operator
# a part, each with a rule of its own.

WHOLE: dict[str, Op] = {}
"""The operator that stands on the tape for all parts, by the name of the one that makes a part."""


def _whole(name: str, label: str, join: Callable[..., Tensor]) -> None:
    WHOLE[name] = Op(
        name, "input", "dim", kind="view", multi=True, backward=label, listed=False,
        grads={"input": lambda g, dim: join(list(g), dim)},
    )  # fmt: skip


def _part(name: str, label: str) -> Op:
    _whole(name, label, cat)
    return Op(
        name, "input", "dim start end step", kind="view", geometry=SLICE.geometry, backward=label,
        grads={
            "input": lambda g, input_shape, dim, start, end, step: g.new_zeros(input_shape).slice_scatter(g, dim, start, end, step)
        },
    )  # fmt: skip


UNBIND = Op(
    "unbind", "input", "dim index", kind="view", geometry=SELECT.geometry,
    grads={"input": lambda g, input_shape, dim, index: g.new_zeros(input_shape).select_scatter(g, dim, index)},
)  # fmt: skip
_whole("unbind", "Unbind", stack)
SPLIT, SPLIT_WITH_SIZES = _part("split", "Split"), _part("split_with_sizes", "SplitWithSizes")
UNSAFE_SPLIT = _part("unsafe_split", "UnsafeSplit")
UNSAFE_SPLIT_WITH_SIZES = _part("unsafe_split_with_sizes", "UnsafeSplitWithSizes")


@operator()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts along a dimension, each without it. Raises IndexError for 0-d tensors."""
    at = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    each = [(at, i) for i in range(as_int(input._data.shape[at]))]
    return _together(dispatch.parts(UNBIND, WHOLE["unbind"], input, each, at), "Unbind")


def _together(parts: list[Tensor], maker: str) -> tuple[Tensor, ...]:
    """Outputs of a function of several views, which may not be written to while recording."""
    for i, v in enumerate(parts):
        if not v._creation:
            v._creation, v._maker = "multi", f"Output {i} of {maker}"
    return tuple(parts)


def _apart(parts: list[Tensor]) -> tuple[Tensor, ...]:
    """Parts that the tape does not take for views: a write to one is a step of its own and leaves the whole's history alone."""
    for part in parts:
        if part._grad_fn is not None and not state.modes:
            part._base = None
    return tuple(parts)


def _pieces(op: Op, input: Tensor, lengths: Sequence[int], dim: int) -> list[Tensor]:
    each, start = [], 0
    for n in lengths:
        each.append((dim, start, start + n, 1))
        start += n
    if op is SLICE:
        return [dispatch.call(op, (input,), statics) for statics in each]
    return dispatch.parts(op, WHOLE[op.name], input, each, dim)


def _lengths(size: int, step: int) -> list[int]:
    """Pieces of `step`, the last maybe smaller. Raises RuntimeError for a step that makes none."""
    if step < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
    if step == 0 and size:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    return [min(step, size - i) for i in range(0, size, step)] if size else [0]


def _given_lengths(size: int, parts: Sequence[int], dim: int) -> list[int]:
    if any(p < 0 for p in parts):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(parts)}"
        )
    if sum(parts) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), but got "
            f"split_sizes={list(parts)}"
        )
    return list(parts)


def _split(
    tensor: Tensor, size_or_sections: Any, dim: int, by_size: Op = SPLIT, by_sizes: Op = SPLIT_WITH_SIZES
) -> tuple[list[Tensor], str]:
    if tensor.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    at = wrap_dim(dim, tensor.ndim)
    size = tensor._data.shape[at]
    if isinstance(size_or_sections, (tuple, list)):
        return _pieces(by_sizes, tensor, _given_lengths(size, sizes((size_or_sections,)), at), at), "SplitWithSizes"
    return _pieces(by_size, tensor, _lengths(size, as_int(size_or_sections)), at), "Split"


@operator()
def split(
    tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None
) -> tuple[Tensor, ...]:
    """Pieces of a size (the last may be smaller), or of given sizes, along a dimension.

    Raises RuntimeError where given sizes do not sum up to the dimension's.
    """
    given = split_size if split_size_or_sections is None else split_size_or_sections
    if given is None:
        raise TypeError("split() missing 1 required positional argument: 'split_size_or_sections'")
    return _together(*_split(tensor, given, dim))


@operator()
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of given sizes along a dimension."""
    return _together(*_split(input, list(split_sizes), dim))


@operator()
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` whose parts may be written to."""
    return _apart(_split(input, split_size, dim, UNSAFE_SPLIT)[0])


@operator()
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes` whose parts may be written to."""
    return _apart(_split(input, list(split_sizes), dim, by_sizes=UNSAFE_SPLIT_WITH_SIZES)[0])


def _chunks(
    input: Tensor, chunks: int, dim: int, by_size: Op = SPLIT, by_sizes: Op = SPLIT_WITH_SIZES
) -> tuple[list[Tensor], str]:
    if input.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    at = wrap_dim(dim, input.ndim)
    size = input._data.shape[at]
    if size == 0:
        return _pieces(by_sizes, input, [0] * chunks, at), "SplitWithSizes"
    return _pieces(by_size, input, _lengths(size, -(-size // chunks)), at), "Split"


@operator()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size (the last may be smaller)."""
    return _together(*_chunks(input, chunks, dim))


@operator()
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk` whose parts may be written to."""
    return _apart(_chunks(input, chunks, dim, UNSAFE_SPLIT, UNSAFE_SPLIT_WITH_SIZES)[0])


@operator()
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, sections: Any = None, indices: Any = None,
    tensor_indices_or_sections: Any = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """So many pieces whose sizes differ by one at most, or the pieces between given indices (as Python's slices have them)."""
    given = next(
        (v for v in (indices_or_sections, sections, indices, tensor_indices_or_sections) if v is not None), None
    )
    if input.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    at = wrap_dim(dim, input.ndim)
    if isinstance(given, Tensor):
        if given.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
                f"tensor with {given.ndim} dims"
            )
        if given._dtype is not dtypes.int64:
            raise RuntimeError(
                f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {dispatch.type_name(given._dtype)}"
            )
        given = given.tolist()
    size = input._data.shape[at]
    if isinstance(given, (tuple, list)):
        cuts = [0, *[slice(None, c).indices(size)[1] for c in sizes((given,))], size]
        return tuple(dispatch.call(SLICE, (input,), (at, a, max(a, b), 1)) for a, b in itertools.pairwise(cuts))
    if given is None:
        raise TypeError("tensor_split() missing 1 required positional argument: 'indices_or_sections'")
    count = as_int(given)
    if count <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {count}")
    return tuple(_pieces(SLICE, input, [size // count + (i < size % count) for i in range(count)], at))


def _by_name(name: str, input: Tensor, forms: tuple[Any, ...], dim: int, rank: int) -> tuple[Tensor, ...]:
    indices_or_sections = next((v for v in forms if v is not None), None)
    if input.ndim < rank:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {rank} dimension, but got a tensor with {input.ndim} dimensions!"
        )
    if isinstance(indices_or_sections, int):
        size = input._data.shape[dim]
        if indices_or_sections == 0 or size % indices_or_sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {size} is not divisible by "
                f"the split_size {indices_or_sections}!"
            )
    return tensor_split(input, indices_or_sections, dim)


@operator()
def hsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 1 (0 of vectors) into equal parts, or at indices."""
    return _by_name("hsplit", input, (indices_or_sections, sections, indices), 0 if input.ndim == 1 else 1, 1)


@operator()
def vsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 0 into equal parts, or at indices."""
    return _by_name("vsplit", input, (indices_or_sections, sections, indices), 0, 2)


@operator()
def dsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 2 into equal parts, or at indices."""
    return _by_name("dsplit", input, (indices_or_sections, sections, indices), 2, 3)
