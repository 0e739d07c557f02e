"""`GpuArray`, what the WebGPU backend has for numpy's `ndarray`, and the arithmetic of its geometry.

An array is a window on a block of device memory: dtype, shape, strides and offset in elements.  It does nothing by
itself; the backend's kernels take and return it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ....webgpu_kernels.wgsl import TYPES
from ...dtypes import dtype as DType
from .memory import Block

Shape = tuple[int, ...]

CODES: dict[str, str] = {
    "float32": "f32", "bfloat16": "bf16", "int32": "i32", "int64": "i64", "int16": "i16", "int8": "i8", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "bool": "bool",
}  # fmt: skip
"""The kernels' type code of each dtype that kernels compute in; float16 depends on the device's features."""

STORED_WORDS: dict[str, int] = {"float64": 2, "complex64": 2, "complex128": 4}
"""The 32-bit words of an element of the dtypes that device memory holds, but only the CPU computes in."""


class OnHost(TypeError):
    """A kernel met a dtype that the device only stores: the operator runs on the CPU instead."""


class GpuArray:
    """Elements on the device. `contiguous` says whether they lie row-major without gaps."""

    __slots__ = ("block", "contiguous", "dtype", "offset", "shape", "strides")

    def __init__(
        self, block: Block, dtype: DType, shape: Shape, strides: Shape, offset: int = 0, contiguous: bool = True
    ):
        self.block = block
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.contiguous = contiguous

    @property
    def size(self) -> int:
        """The number of elements."""
        return numel(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"GpuArray({self.dtype.name}, shape={self.shape}, strides={self.strides}, offset={self.offset})"


def numel(shape: Sequence[int]) -> int:
    """The product of sizes."""
    n = 1
    for s in shape:
        n *= s
    return n


@functools.lru_cache(4096)
def row_major(shape: Shape) -> Shape:
    """The strides of contiguous memory of this shape."""
    out, step = [], 1
    for s in reversed(shape):
        out.append(step)
        step *= max(s, 1)
    return tuple(reversed(out))


def is_row_major(shape: Shape, strides: Shape) -> bool:
    """Whether the elements lie row-major without gaps (strides of dimensions of size 1 do not matter)."""
    step = 1
    for s, t in zip(reversed(shape), reversed(strides)):
        if s == 0:
            return True
        if s != 1:
            if t != step:
                return False
            step *= s
    return True


def broadcast(*shapes: Shape) -> Shape:
    """The common shape; raises ValueError where there is none."""
    rank = max(map(len, shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for i, s in enumerate(shape, rank - len(shape)):
            if s != 1 and out[i] != s:
                if out[i] != 1:
                    raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
                out[i] = s
    return tuple(out)


def spread(shape: Shape, strides: Shape, to: Shape) -> Shape:
    """Strides of an array of `shape` seen as broadcast to a larger shape."""
    lead = len(to) - len(shape)
    return (0,) * lead + tuple([0 if s == 1 and t != 1 else st for s, st, t in zip(shape, strides, to[lead:])])


def merged(shape: Shape, all_strides: Sequence[Shape]) -> tuple[list[int], list[list[int]]]:
    """The fewest dimensions that walk these arrays in the same order: size 1 dropped, neighbours merged where all allow."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in all_strides]
    for d, s in enumerate(shape):
        if s == 1:
            continue
        if sizes and all(t[-1] == st[d] * s for t, st in zip(steps, all_strides)):
            sizes[-1] *= s
            for t, st in zip(steps, all_strides):
                t[-1] = st[d]
        else:
            sizes.append(s)
            for t, st in zip(steps, all_strides):
                t.append(st[d])
    if not sizes:
        return [1], [[0] for _ in all_strides]
    return sizes, steps


def span(shape: Shape, strides: Shape) -> int:
    """How many elements lie between the first and the last of an array, both included; 0 for an empty one."""
    out = 1
    for s, t in zip(shape, strides):
        if s == 0:
            return 0
        out += (s - 1) * t
    return out


def dense_order(shape: Shape, strides: Shape) -> bool:
    """Whether the elements fill their span without gaps or overlaps, in whatever order of dimensions."""
    step = 1
    for t, s in sorted((t, s) for s, t in zip(shape, strides) if s != 1):
        if t != step:
            return False
        step *= s
    return True


def overlap(a: GpuArray, b: GpuArray) -> bool:
    """Whether two arrays may share elements (by the ranges of memory they lie in)."""
    if a.block is not b.block:
        return False
    first, second = span(a.shape, a.strides), span(b.shape, b.strides)
    return bool(first and second) and a.offset < b.offset + second and b.offset < a.offset + first


def itemsize(code: str) -> int:
    """Bytes of an element in device memory."""
    return TYPES[code].itemsize


__all__ = [
    "CODES", "STORED_WORDS", "Any", "GpuArray", "OnHost", "Shape", "broadcast", "dense_order", "is_row_major", "itemsize",
    "merged", "numel", "overlap", "row_major", "span", "spread",
]  # fmt: skip
