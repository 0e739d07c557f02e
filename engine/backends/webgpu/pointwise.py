"""Launches of pointwise kernels: from arrays and numbers to a form, a pipeline and its parameter words.

What depends on dtypes, shapes, strides and alignment is worked out once and kept as a *plan*; a call looks its plan up,
takes memory for the result, and records one launch with the offsets and numbers of the day.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from ....webgpu_kernels import pointwise as kernels
from ....webgpu_kernels.wgsl import TYPES
from ...dtypes import dtype as DType
from .array import (
    GpuArray,
    OnHost,
    Shape,
    broadcast,
    dense_order,
    is_row_major,
    merged,
    numel,
    overlap,
    row_major,
    span,
    spread,
)
from .memory import TooLarge

SMALL_INNER = 16
"""Inner dimensions below this go to the strided form, one thread an element."""
_PLANS = 4096


def f32_word(value: float) -> int:
    """A number as the bits of an f32; what is too large becomes infinite."""
    return _f32_word(value) if value else 0x80000000 if math.copysign(1.0, value) < 0 else 0


@functools.lru_cache(4096)
def _f32_word(value: float) -> int:  # which cannot tell 0.0 from -0.0
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return 0x7F800000 if value > 0 else 0xFF800000


def i32_word(value: Any) -> int:
    """A whole number as the bits of an i32. Raises OverflowError where it does not fit."""
    value = int(value)
    if not -(2**31) <= value < 2**31:
        raise OverflowError(
            f"{value} does not fit in 32 bits, in which the webgpu device keeps integers; use device='cpu'"
        )
    return value & 0xFFFFFFFF


def u32_word(value: Any) -> int:
    """A whole number as the bits of a u32; negative ones wrap. Raises OverflowError where it does not fit."""
    value = int(value)
    if not -(2**31) <= value < 2**32:
        raise OverflowError(
            f"{value} does not fit in 32 bits, in which the webgpu device keeps integers; use device='cpu'"
        )
    return value & 0xFFFFFFFF


def bool_word(value: Any) -> int:
    """A truth value as 0 or 1."""
    return 1 if value else 0


def saturated(value: Any) -> int:
    """A whole number as the bits of the nearest i32, for bounds: an element never lies beyond them."""
    return i32_word(max(-(2**31), min(2**31 - 1, int(value))))


BOUNDS = frozenset(("clamp_numbers", "clamp_tensors", "hardtanh", "maximum", "minimum", "fmax", "fmin"))
"""Operators whose numbers are bounds."""


def _wrapping(bits: int, signed: bool) -> Callable[[Any], int]:
    """Whole numbers as the bits of an i32 that holds integers of this width: larger ones wrap, as C's do."""

    def word(value: Any) -> int:
        value = int(value) & ((1 << bits) - 1)
        return (value - (1 << bits) if signed and value >> (bits - 1) else value) & 0xFFFFFFFF

    return word


_NARROW = {"u8": _wrapping(8, False), "u16": _wrapping(16, False), "i8": _wrapping(8, True), "i16": _wrapping(16, True)}


WORD: dict[str, Callable[[Any], int]] = {"f32": f32_word, "i32": i32_word, "u32": u32_word, "bool": bool_word}
"""How a number becomes a parameter word, by computing type."""


def _check_alpha(alpha: Any, compute: str) -> None:
    if type(alpha) is complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if type(alpha) is float and compute != "f32":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")


class Plan:
    """One launch without its offsets and numbers."""

    __slots__ = (
        "buffers", "contiguous", "dtype", "geometry", "grid", "nbytes", "numbers", "out_shift", "pipeline", "places", "shape",
        "strides",
    )  # fmt: skip

    pipeline: int
    grid: tuple[int, int, int]
    dtype: DType
    shape: Shape
    strides: Shape
    contiguous: bool
    nbytes: int
    places: tuple[tuple[int, int], ...]  # (argument, right shift of its offset)
    buffers: tuple[int, ...]  # arguments with a binding of their own
    numbers: tuple[tuple[int, Callable[[Any], int]], ...]
    out_shift: int
    geometry: tuple[int, ...]


class Pointwise:
    """The kernel of one pointwise operator: called with arrays and numbers, and `out=` to write into an array.

    `result` is "same", "float" or "real" (the dtype of the first array), "bool", or a dtype. `first` is the argument whose dtype counts.
    """

    def __init__(
        self,
        backend: Any,
        name: str,
        expression: str,
        parameters: tuple[str, ...],
        result: Any,
        first: int | None = None,
    ):
        self.backend = backend
        self.name = name
        self.expression = expression
        self.parameters = parameters
        self.result = result
        self.first = first
        self.plans: dict[Any, Plan] = backend.cache()
        self.on_host: Callable[..., GpuArray] | None = None
        """What is called where a dtype is met that the device only stores: arguments, `out`, the reason."""

    def __call__(self, *args: Any, out: GpuArray | None = None) -> GpuArray:
        if out is not None:
            return self._into(args, out)
        key: list[Any] = []
        for a in args:
            if type(a) is GpuArray:
                key += (a.dtype, a.shape, a.strides, a.offset & 3)
            else:
                key.append(type(a))
        key = tuple(key)  # type: ignore[assignment]
        device = self.backend.device
        try:
            plan = self.plans[key]
        except KeyError:
            try:
                plan = self._keep(key, args, None)
            except OnHost as why:
                return self._elsewhere(args, None, why)
        block = device.pool.take(plan.nbytes)
        out = GpuArray(block, plan.dtype, plan.shape, plan.strides, 0, plan.contiguous)
        if plan.pipeline:
            try:
                buffers = [args[i].block.handle for i in plan.buffers]
                buffers.append(block.handle)
            except TooLarge:
                return self._in_pieces(args, out)
            words = [0]
            for i, shift in plan.places:
                words.append(args[i].offset >> shift)
            for i, pack in plan.numbers:
                words.append(pack(args[i]))
            words += plan.geometry
            device.launch(plan.pipeline, plan.grid, buffers, words)
        return out

    def _into(self, args: Sequence[Any], out: GpuArray) -> GpuArray:
        out.block.bounds = None
        args = [self._apart(a, out) if type(a) is GpuArray and a.block is out.block else a for a in args]
        key: list[Any] = [out.dtype, out.shape, out.strides, out.offset & 3]
        for a in args:
            if type(a) is GpuArray:
                key += (a.dtype, a.shape, a.strides, a.offset & 3, a.block is out.block)
            else:
                key.append(type(a))
        key = tuple(key)  # type: ignore[assignment]
        device = self.backend.device
        try:
            plan = self.plans.get(key) or self._keep(key, args, out)
        except OnHost as why:
            return self._elsewhere(args, out, why)
        if plan.pipeline:
            try:
                buffers = [args[i].block.handle for i in plan.buffers]
                buffers.append(out.block.handle)
            except TooLarge:
                return self._in_pieces(args, out)
            words = [out.offset >> plan.out_shift]
            for i, shift in plan.places:
                words.append(args[i].offset >> shift)
            for i, pack in plan.numbers:
                words.append(pack(args[i]))
            words += plan.geometry
            device.launch(plan.pipeline, plan.grid, buffers, words)
        return out

    def _elsewhere(self, args: Sequence[Any], out: GpuArray | None, why: OnHost) -> GpuArray:
        if self.on_host is None:
            raise why
        return self.on_host(args, out, why)

    def _apart(self, a: GpuArray, out: GpuArray) -> GpuArray:
        """An input in the output's memory, copied first where another element's write could reach it."""
        same = a.offset == out.offset and a.shape == out.shape and a.strides == out.strides
        return a if same or not overlap(a, out) else self.backend.contiguous(a)

    # -- planning -----------------------------------------------------------------------------------------------

    def _keep(self, key: Any, args: Sequence[Any], out: GpuArray | None) -> Plan:
        if len(self.plans) >= _PLANS:
            self.plans.clear()
        made = self.plans[key] = self._plan(args, out)
        return made

    def _plan(self, args: Sequence[Any], out: GpuArray | None) -> Plan:
        backend = self.backend
        arrays = [(i, a) for i, a in enumerate(args) if type(a) is GpuArray]
        first: Any = args[self.first] if self.first is not None else arrays[0][1] if arrays else out
        shape = broadcast(*[a.shape for _, a in arrays])
        p = Plan()
        p.dtype = out.dtype if out is not None else self._result(first)
        if out is None:
            p.strides = _like_inputs(shape, [a for _, a in arrays])
        else:
            if broadcast(shape, out.shape) != out.shape:
                raise ValueError(f"the result has shape {shape}, the array to write into {out.shape}")
            shape = out.shape
            p.strides = out.strides
        p.shape = shape
        p.contiguous = is_row_major(shape, p.strides)
        code = backend.code(p.dtype)
        n = numel(shape)
        p.nbytes = n * TYPES[code].itemsize
        narrow = backend.code(first.dtype)
        compute = TYPES[narrow].compute
        if n == 0:
            p.pipeline, p.buffers, p.places, p.numbers = 0, (), (), ()
            return p
        sizes, steps = merged(shape, [p.strides, *[spread(a.shape, a.strides, shape) for _, a in arrays]])
        form, rank, wide, grid = self._form(sizes, steps, out, [a for _, a in arrays])
        operands: list[tuple[str, str]] = []
        types: list[str] = []
        buffers, places, numbers = [], [], []
        at = 0
        for i, a in enumerate(args):
            if type(a) is GpuArray:
                at += 1
                step = steps[at][-1]
                mode = "array"
                if out is not None and a.block is out.block:
                    mode = "out"
                elif form == "flat" and step == 0:
                    mode = "one"
                elif form == "rows" and step == 0:
                    mode = "repeat"
                operands.append((backend.code(a.dtype), mode))
                types.append(TYPES[operands[-1][0]].compute)
                if mode != "out":
                    buffers.append(i)
                places.append((i, 2 if wide and step == 1 else 0))
            elif a is None:
                operands.append(("f32", "none"))
                types.append("none")
            else:
                operands.append(("f32", "number"))
                types.append(compute)
                if self.parameters[i] == "alpha":
                    _check_alpha(a, compute)
                bound = compute == "i32" and self.name in BOUNDS
                numbers.append((i, saturated if bound else _NARROW.get(narrow) or WORD[compute]))
        kernel = kernels.build(
            f"{self.name}.{form}{'.wide' if wide else ''}", self.expression, self.parameters, tuple(operands), code, form, rank,
            wide, tuple(types),
        )  # fmt: skip
        p.pipeline = backend.device.pipeline(kernel)
        p.buffers, p.places, p.numbers = tuple(buffers), tuple(places), tuple(numbers)
        p.out_shift = 2 if wide else 0
        if form == "flat":
            p.geometry = kernels.flat_geometry(n, wide)
        elif form == "rows":
            p.geometry = kernels.rows_geometry(sizes, steps, wide, rank)
        else:
            p.geometry = kernels.strided_geometry(sizes, steps, rank)
        p.geometry = tuple([w & 0xFFFFFFFF for w in p.geometry])  # strides may be negative; indices wrap
        p.grid = grid
        return p

    def _form(
        self, sizes: Sequence[int], steps: Sequence[Sequence[int]], out: GpuArray | None, arrays: Sequence[GpuArray]
    ) -> tuple[str, int, bool, tuple[int, int, int]]:
        """(form, rank class, wide, workgroups) for merged dimensions; steps[0] is the output's."""
        n = numel(sizes)
        aligned = all(a.offset & 3 == 0 for a, s in zip(arrays, steps[1:]) if s[-1] == 1)
        aligned = aligned and (out is None or out.offset & 3 == 0)
        unit = steps[0][-1] in (0, 1) and all(s[-1] in (0, 1) for s in steps)
        if len(sizes) == 1 and unit:
            wide = aligned and n >= 4 and (out is None or n % 4 == 0)
            if n == 1:
                steps[0][-1] = 1  # type: ignore[index]
            return "flat", 1, wide, kernels.flat_grid(n, wide)
        outer = len(sizes) - 1
        if sizes[-1] >= SMALL_INNER and outer <= kernels.OUTER_RANKS[-1]:
            grid = kernels.rows_grid(sizes[-1], n // sizes[-1])
            if grid is not None:
                even = all(t % 4 == 0 for s in steps if s[-1] == 1 for t in s[:-1])
                wide = aligned and unit and steps[0][-1] == 1 and even and sizes[-1] % 4 == 0
                return "rows", kernels.rank_class(max(outer, 1), kernels.OUTER_RANKS), wide, grid
        return "strided", kernels.rank_class(len(sizes)), False, kernels.flat_grid(n, False)

    def _result(self, first: Any) -> DType:
        if self.result == "bool":
            return self.backend.dtypes.bool_
        return first.dtype if isinstance(self.result, str) else self.result

    # -- more than one binding holds ----------------------------------------------------------------------------

    def _in_pieces(self, args: Sequence[Any], out: GpuArray) -> GpuArray:
        """The same, a slice of one dimension at a time, so that each slice fits into a binding."""
        args = [
            self.backend.contiguous(a)
            if type(a) is GpuArray
            and a.block is out.block
            and (a.offset, a.shape, a.strides) != (out.offset, out.shape, out.strides)
            else a
            for a in args
        ]
        operands = [a for a in args if type(a) is GpuArray]
        for rows in slices(self.backend, out.shape, [out, *operands]):
            parts = [part(self.backend, a, out.shape, *rows) if type(a) is GpuArray else a for a in args]
            self._into(parts, part(self.backend, out, out.shape, *rows))
        return out


def _like_inputs(shape: Shape, arrays: Sequence[GpuArray]) -> Shape:
    """The strides of a fresh result: the inputs' own order of dimensions where they agree on one, else row-major."""
    chosen: Shape | None = None
    for a in arrays:
        if a.shape == shape and (chosen is None or a.strides == chosen):
            chosen = a.strides
        elif numel(a.shape) != 1:
            return row_major(shape)
    if chosen is None or is_row_major(shape, chosen) or not dense_order(shape, chosen):
        return row_major(shape)
    return chosen


def slices(backend: Any, shape: Shape, arrays: Sequence[GpuArray]) -> list[tuple[int, int, int]]:
    """(dimension, start, end) pieces of `shape` in which each array's part fits into a binding.

    Raises TooLarge where the outermost dimension that has more than one element cannot be cut finely enough.
    """
    dim = next((d for d, s in enumerate(shape) if s > 1), 0)
    limit = backend.device.pool.binding_bytes - 512
    step = shape[dim]
    for a in arrays:
        strides = spread(a.shape, a.strides, shape)
        size = backend.itemsize(a.dtype)
        rest = span(shape[:dim] + (1,) + shape[dim + 1 :], strides) * size
        each = strides[dim] * size
        if rest > limit:
            raise TooLarge(
                f"A tensor of shape {list(shape)} cannot be cut into parts of {limit >> 20} MiB along dimension {dim}."
            )
        if each:
            step = min(step, max(1, (limit - rest) // each + 1))
    step -= step % 64 if step > 64 else 0
    return [(dim, i, min(i + step, shape[dim])) for i in range(0, shape[dim], step)]


def part(backend: Any, a: GpuArray, shape: Shape, dim: int, start: int, end: int) -> GpuArray:
    """The slice of `a`, broadcast to `shape`, from `start` to `end` of a dimension, on a window of its memory."""
    strides = spread(a.shape, a.strides, shape)
    sizes = (*shape[:dim], end - start, *shape[dim + 1 :])
    offset = a.offset + start * strides[dim]
    block: Any = a.block
    if block.windows is not None:
        size = backend.itemsize(a.dtype)
        block, before = block.window(offset * size, span(sizes, strides) * size)
        offset = before // size
    return GpuArray(block, a.dtype, sizes, strides, offset, is_row_major(sizes, strides))
