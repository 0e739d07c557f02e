"""Arithmetic on shapes and strides: broadcasting, contiguity, dimension numbers, view geometry.

Plain tuples in, plain tuples out; the error messages carry PyTorch's key phrases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

Shape = tuple[int, ...]


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple of ints that prints as PyTorch's and knows its number of elements."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self) -> int:
        """The product of the sizes."""
        return numel(self)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, at: SupportsIndex) -> int: ...
        @overload
        def __getitem__(self, at: slice) -> Size: ...

    def __getitem__(self, at: Any) -> Any:
        got = tuple.__getitem__(self, at)
        return Size(got) if isinstance(at, slice) else got

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __reduce__(self) -> tuple:
        return (Size, (tuple(self),))


def as_int(value: Any) -> int:
    """A Python int from anything that counts as one; a size that stands for what a later call will have stays as it is."""
    return value if type(value) is int or hasattr(value, "free_symbols") else value.__index__()


def numel(shape: Iterable[int]) -> int:
    """The number of elements of a shape."""
    n = 1
    for s in shape:
        n *= s
    return n


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Row-major strides, in elements; an empty or size-1 dimension counts as 1, as in PyTorch."""
    out = [1] * len(shape)
    step = 1
    for i in range(len(shape) - 1, -1, -1):
        out[i] = step
        step *= max(shape[i], 1)
    return tuple(out)


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements lie in row-major order without gaps."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 0:
            return True
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements fill a block of memory without gaps or overlap, in any order of dimensions."""
    step = 1
    for stride, size in sorted((st, s) for s, st in zip(shape, strides, strict=True) if s != 1):
        if size == 0:
            return True
        if stride != step:
            return False
        step *= size
    return True


def overlaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether some dimension repeats the same memory (an expanded tensor)."""
    return any(stride == 0 and size > 1 for size, stride in zip(shape, strides, strict=True))


def wrap_dim(dim: int, rank: int) -> int:
    """A dimension number from 0 to rank-1; a 0-d tensor counts as having one. Raises IndexError."""
    span = rank or 1
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim + span if dim < 0 else dim


class AllDims(tuple):
    """The dimensions of a reduction where none were named: an ordinary tuple, but for the tape node's name."""

    __slots__ = ()


def wrap_dims(dims: int | Sequence[int] | None, rank: int) -> Shape:
    """Dimension numbers, each once; None (as `AllDims`) or empty is all of them. Raises IndexError, RuntimeError for repeats."""
    if dims is None:
        return AllDims(range(rank))
    if isinstance(dims, int):
        return (wrap_dim(dims, rank),) if rank else (wrap_dim(dims, rank),)[:0]
    out = tuple(wrap_dim(d, rank) for d in dims)
    if len(set(out)) != len(out):
        again = next(d for d in out if out.count(d) > 1)
        raise RuntimeError(f"dim {again} appears multiple times in the list of dims")
    if not out:
        return tuple(range(rank))
    return out if rank else ()


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """The shape that all of them broadcast to; raises RuntimeError naming the dimension that does not fit."""
    rank = max((len(s) for s in shapes), default=0)
    out = [1] * rank
    for s in shapes:
        for i in range(1, len(s) + 1):
            size, have = s[-i], out[-i]
            if size == have or size == 1:
                continue
            if have != 1:
                raise RuntimeError(
                    f"The size of tensor a ({have}) must match the size of tensor b ({size}) "
                    f"at non-singleton dimension {rank - i}"
                )
            out[-i] = size
    return tuple(out)


def reduced_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> Shape:
    """The shape after reducing over `dims` (wrapped)."""
    if keepdim:
        return tuple(1 if i in dims else s for i, s in enumerate(shape))
    return tuple(s for i, s in enumerate(shape) if i not in dims)


def infer_size(shape: Sequence[int], count: int) -> Shape:
    """`shape` with a -1 filled in so that it has `count` elements; raises RuntimeError where it cannot."""
    holes = [i for i, s in enumerate(shape) if s == -1]
    if len(holes) > 1:
        raise RuntimeError("only one dimension can be inferred")
    bad = next((s for s in shape if s < -1), None)
    if bad is not None:
        raise RuntimeError(f"invalid shape dimension {bad}")
    if holes:
        rest = numel(s for s in shape if s != -1)
        if rest == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {count} elements into shape {list(shape)} because the unspecified dimension "
                "size -1 can be any value and is ambiguous"
            )
        if count % rest == 0:
            return tuple(count // rest if s == -1 else s for s in shape)
    elif numel(shape) == count:
        return tuple(shape)
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")


def view_strides(shape: Sequence[int], strides: Sequence[int], new: Sequence[int]) -> Shape | None:
    """Strides that show the same elements in shape `new` without a copy, or None where there are none.

    Dimensions of the old shape are merged into runs that lie evenly in memory; each new dimension must be cut from
    one run (the rule of numpy's and PyTorch's `view`).
    """
    if numel(shape) == 0:
        return contiguous_strides(new) if tuple(shape) != tuple(new) else tuple(strides)
    runs: list[list[int]] = []  # [elements, stride of the innermost], from the last dimension to the first
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if runs and runs[-1][0] * runs[-1][1] == stride:
            runs[-1][0] *= size
        else:
            runs.append([size, stride])
    out = [0] * len(new)
    at, left, step = 0, 1, 1
    if runs:
        left, step = runs[0]
    for i in range(len(new) - 1, -1, -1):
        size = new[i]
        if size == 1:
            out[i] = step if runs else 1
            continue
        if left == 1:
            at += 1
            if at >= len(runs):
                return None
            left, step = runs[at]
        if left % size:
            return None
        out[i] = step
        left //= size
        step *= size
    return tuple(out)


def expand_strides(shape: Sequence[int], strides: Sequence[int], new: Sequence[int]) -> tuple[Shape, Shape]:
    """Shape and strides of `expand(*new)`; -1 keeps a size. Raises RuntimeError where a size does not fit."""
    extra = len(new) - len(shape)
    if extra < 0:
        raise RuntimeError(
            f"expand({list(new)}, size={list(shape)}): the number of sizes provided ({len(new)}) must be greater or "
            f"equal to the number of dimensions in the tensor ({len(shape)})"
        )
    sizes, steps = [], []
    for i, want in enumerate(new):
        if i < extra:
            if want < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({want}) isn't allowed in a leading, non-existing dimension {i}"
                )
            sizes.append(want)
            steps.append(0)
            continue
        size, step = shape[i - extra], strides[i - extra]
        if want in (-1, size):
            sizes.append(size)
            steps.append(step)
        elif size == 1 and want >= 0:
            sizes.append(want)
            steps.append(0)
        else:
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({size}) at non-singleton "
                f"dimension {i}.  Target sizes: {list(new)}.  Tensor sizes: {list(shape)}"
            )
    return tuple(sizes), tuple(steps)
