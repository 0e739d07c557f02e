"""Launches over windows of images: convolutions as products of patches, pooling, patches as columns.

A convolution copies its patches (im2col) and multiplies; its transpose multiplies and adds the patches up where they came
from (col2im); weights' gradients multiply the outputs' gradient with the patches.  Patches are made for so many images at a
time as fit into `PATCH_BYTES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....webgpu_kernels import windows as kernels
from ....webgpu_kernels.wgsl import MAX_STEPS, TYPES, fold
from ... import dtypes
from .array import GpuArray, OnHost, numel, row_major

Ints = tuple[int, ...]
PATCH_BYTES = 64 << 20
LAYERS = 32_768
MOST_ELEMENTS = MAX_STEPS // 4
"""Elements of a window that a thread may walk: each takes four windows."""
FEW_CHANNELS = 2
"""Output channels of a group up to which a convolution goes without columns: measured, three times faster depthwise, slower above."""


def three(values: Sequence[int], fill: int) -> Ints:
    """Numbers of one to three axes as those of three, the missing ones in front."""
    return (fill,) * (3 - len(values)) + tuple(values)


class Windows:
    """These operators of one backend."""

    def __init__(self, backend: Any):
        self.backend = backend
        self._tables: dict[Any, GpuArray] = backend.cache()

    def _whole(self, x: GpuArray) -> GpuArray:
        return x if x.contiguous else self.backend.contiguous(x)

    def _shaped(self, a: GpuArray, shape: Sequence[int]) -> GpuArray:
        """A contiguous array in another shape."""
        shape = tuple(shape)
        return GpuArray(a.block, a.dtype, shape, row_major(shape), a.offset)

    def _images(self, a: GpuArray, start: int, end: int) -> GpuArray:
        """Some images of a contiguous batch."""
        return GpuArray(a.block, a.dtype, (end - start, *a.shape[1:]), a.strides, a.offset + start * a.strides[0])

    # -- patches ------------------------------------------------------------------------------------------------

    def columns(self, x: GpuArray, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> GpuArray:
        """[N, C, ...] as [N, C * kernel elements, windows]; x is contiguous."""
        _check_elements(numel(kernel))
        backend = self.backend
        n, c = x.shape[:2]
        counts = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
        elements, inner = numel(kernel), numel(counts)
        out = backend.empty((n, c * elements, inner), x.dtype)
        if numel(out.shape):
            words = kernels.window_words(
                x.offset, n * c, inner, elements, three(x.shape[2:], 1), three(kernel, 1), three(counts, 1), three(stride, 1),
                three(padding, 0), three(dilation, 1),
            )  # fmt: skip
            made = kernels.columns(backend.code(x.dtype))
            device = backend.device
            device.launch(device.pipeline(made), kernels.grid(inner, n * c), [x.block.handle, out.block.handle], words)
        return out

    def images(self, cols: GpuArray, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> GpuArray:
        """The transpose of `columns`: [N, C * kernel elements, windows] as [N, C, *size]; cols are contiguous."""
        _check_elements(numel(kernel))
        backend = self.backend
        elements = numel(kernel)
        n, c = cols.shape[0], cols.shape[1] // elements
        counts = out_sizes(size, kernel, stride, padding, dilation)
        out = backend.empty((n, c, *size), cols.dtype)
        if numel(out.shape):
            words = kernels.window_words(
                cols.offset, n * c, numel(size), elements, three(size, 1), three(kernel, 1), three(counts, 1), three(stride, 1),
                three(padding, 0), three(dilation, 1),
            )  # fmt: skip
            made = kernels.images(backend.code(cols.dtype), any(s != 1 for s in stride))
            device = backend.device
            handles = [cols.block.handle, out.block.handle]
            device.launch(
                device.pipeline(made), kernels.grid(numel(size), n * c), handles, words, numel(out.shape) * elements
            )
        return out

    def im2col(self, x: GpuArray, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> GpuArray:
        """All patches of images as columns."""
        return self.columns(self._whole(x), kernel, dilation, padding, stride)

    def col2im(self, x: GpuArray, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> GpuArray:
        """Columns added up to images."""
        return self.images(self._whole(x), tuple(size), kernel, dilation, padding, stride)

    # -- convolution --------------------------------------------------------------------------------------------

    def _batches(self, n: int, each: int, dtype: Any, groups: int) -> list[tuple[int, int]]:
        """Ranges of images whose patches (`each` elements an image) are made at a time."""
        size = TYPES[self.backend.code(dtype)].itemsize
        step = max(1, min(PATCH_BYTES // max(1, each * size), LAYERS // groups))
        return [(i, min(i + step, n)) for i in range(0, n, step)]

    def convolution(
        self, x: GpuArray, w: GpuArray, bias: GpuArray | None, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
        output_padding: Ints, groups: int,
    ) -> GpuArray:  # fmt: skip
        """Convolution, or its transpose, of a batch of images with zero padding; as the engine's primitive."""
        x, w = self._whole(x), self._whole(w)
        if transposed:
            out = self._transposed(x, w, stride, padding, dilation, output_padding, groups)
        else:
            out = self._forward(x, w, stride, padding, dilation, groups)
        if bias is not None and numel(out.shape):
            rank = len(out.shape) - 2
            spread = GpuArray(
                bias.block, bias.dtype, (bias.shape[0], *[1] * rank), (bias.strides[0], *[0] * rank), bias.offset, rank == 0
            )  # fmt: skip
            self.backend.windows_add(out, spread, out=out)
        return out

    def _forward(self, x: GpuArray, w: GpuArray, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> GpuArray:
        backend = self.backend
        n, c, o, kernel = x.shape[0], x.shape[1], w.shape[0], w.shape[2:]
        counts = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
        shape = (n, o, *counts)
        depth, inner = c // groups * numel(kernel), numel(counts)
        if not numel(shape) or not depth:
            return backend.full(shape, 0, x.dtype)
        if groups > 1 and o // groups <= FEW_CHANNELS and depth <= MOST_ELEMENTS:
            return self.direct(x, w, stride, padding, dilation, groups, 1)
        weights = self._shaped(w, (1, groups, o // groups, depth))
        plain = numel(kernel) == 1 and set(stride) == {1} and not any(padding)
        parts = self._batches(n, 1 if plain else groups * depth * inner, x.dtype, groups)
        out = None if len(parts) == 1 else backend.empty(shape, x.dtype)
        for i, j in parts:
            part = self._images(x, i, j)
            cols = part if plain else self.columns(part, kernel, dilation, padding, stride)
            made = backend.kernels["bmm"](weights, self._shaped(cols, (j - i, groups, depth, inner)))
            if out is None:
                return self._shaped(made, shape)
            backend.copy(self._images(out, i, j), self._shaped(made, (j - i, *shape[1:])))
        assert out is not None
        return out

    def _turned(self, w: GpuArray, groups: int) -> GpuArray:
        """Weights [groups * in, out, ...] of a transposed convolution as those of the convolution that it is with strides of 1."""
        each, kernel = w.shape[1], w.shape[2:]
        many, volume = w.shape[0] // groups, numel(kernel)
        steps = row_major(tuple(kernel))
        shape = (groups, each, many, *kernel)
        strides = (many * each * volume, volume, each * volume, *[-s for s in steps])
        start = w.offset + sum([(k - 1) * s for k, s in zip(kernel, steps)])
        whole = self.backend.contiguous(GpuArray(w.block, w.dtype, shape, strides, start, False))
        return self._shaped(whole, (groups * each, many, *kernel))

    def direct(
        self, x: GpuArray, w: GpuArray, stride: Ints, padding: Ints, dilation: Ints, groups: int, block: int
    ) -> GpuArray:
        """A convolution of contiguous arrays without columns, `block` output channels a thread."""
        backend = self.backend
        device = backend.device
        n, c, o, kernel = x.shape[0], x.shape[1], w.shape[0], w.shape[2:]
        counts = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
        out = backend.empty((n, o, *counts), x.dtype)
        ins, outs, inner = c // groups, o // groups, numel(counts)
        blocks = -(-outs // block)
        rows = n * groups * blocks
        words = (
            x.offset, w.offset, rows, inner, ins, outs, groups, blocks, *three(x.shape[2:], 1), *three(kernel, 1),
            *three(counts, 1), *three(stride, 1), *three(padding, 0), *three(dilation, 1),
        )  # fmt: skip
        made = kernels.direct(backend.code(x.dtype), block)
        handles = [a.block.handle for a in (x, w, out)]
        work = numel(out.shape) * ins * numel(kernel)
        device.launch(device.pipeline(made), kernels.grid(inner, rows), handles, words, work)
        return out

    def _transposed(
        self, g: GpuArray, w: GpuArray, stride: Ints, padding: Ints, dilation: Ints, extra: Ints, groups: int
    ) -> GpuArray:
        backend = self.backend
        n, o, counts, kernel = g.shape[0], g.shape[1], g.shape[2:], w.shape[2:]
        each = w.shape[1]
        size = tuple(
            (c - 1) * s - 2 * p + d * (k - 1) + 1 + e
            for c, s, p, d, k, e in zip(counts, stride, padding, dilation, kernel, extra)
        )
        shape = (n, each * groups, *size)
        if not numel(shape) or not numel(g.shape) or not numel(w.shape):
            return backend.full(shape, 0, g.dtype)
        depth, inner = each * numel(kernel), numel(counts)
        pads = tuple(d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding))
        few = groups > 1 and each <= FEW_CHANNELS and o // groups * numel(kernel) <= MOST_ELEMENTS
        if set(stride) == {1} and not any(extra) and min(pads) >= 0:
            if few:
                return self.direct(g, self._turned(w, groups), stride, pads, dilation, groups, 1)
            if each > o // groups or numel(kernel) == 1:  # g has fewer columns than the result, or is them already
                return self._forward(g, self._turned(w, groups), stride, pads, dilation, groups)
        weights = GpuArray(
            w.block, w.dtype, (1, groups, depth, o // groups), (w.shape[0] * depth, o // groups * depth, 1, depth), w.offset, False
        )  # fmt: skip
        parts = self._batches(n, groups * depth * inner, g.dtype, groups)
        out = None if len(parts) == 1 else backend.empty(shape, g.dtype)
        windows = out_sizes(size, kernel, stride, padding, dilation)
        for i, j in parts:
            cols = backend.kernels["bmm"](
                weights, self._shaped(self._images(g, i, j), (j - i, groups, o // groups, inner))
            )
            cols = self._shaped(cols, (j - i, groups * depth, *counts))
            if windows != counts:  # where the output padding is a stride or more, there are windows beyond the last
                pad = [n for w, c in zip(reversed(windows), reversed(counts)) for n in (0, w - c)]
                cols = backend.kernels["constant_pad_nd"](cols, tuple(pad), 0)
            cols = self._shaped(cols, (j - i, groups * depth, numel(windows)))
            made = self.images(cols, size, kernel, dilation, padding, stride)
            if out is None:
                return made
            backend.copy(self._images(out, i, j), made)
        assert out is not None
        return out

    def convolution_weight(
        self, x: GpuArray, g: GpuArray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> GpuArray:
        """The gradient of a convolution's weight, given its input and its output's gradient."""
        backend = self.backend
        x, g = self._whole(x), self._whole(g)
        n, c, o, counts = x.shape[0], x.shape[1], g.shape[1], g.shape[2:]
        shape = (o, c // groups, *kernel)
        depth, inner = c // groups * numel(kernel), numel(counts)
        if not numel(shape) or not numel(x.shape) or not numel(g.shape):
            return backend.full(shape, 0, x.dtype)
        windows = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
        total = None
        for i, j in self._batches(n, groups * depth * numel(windows), x.dtype, groups):
            cols = self.columns(self._images(x, i, j), kernel, dilation, padding, stride)
            if windows != counts:
                cols = self._cropped(self._shaped(cols, (j - i, groups * depth, *windows)), counts)
            turned = GpuArray(
                cols.block, cols.dtype, (j - i, groups, inner, depth), (groups * depth * inner, depth * inner, 1, inner), cols.offset,
                False,
            )  # fmt: skip
            made = backend.kernels["bmm"](
                self._shaped(self._images(g, i, j), (j - i, groups, o // groups, inner)), turned
            )
            made = backend.kernels["sum"](made, (0,), False)
            total = made if total is None else backend.windows_add(total, made)
        assert total is not None
        return self._shaped(total, shape)

    def _cropped(self, cols: GpuArray, counts: Ints) -> GpuArray:
        part = GpuArray(cols.block, cols.dtype, (*cols.shape[:2], *counts), cols.strides, cols.offset, False)
        return self.backend.contiguous(part)

    # -- pooling ------------------------------------------------------------------------------------------------

    def _table(self, key: Any, make: Any) -> GpuArray:
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = self.backend.upload(np.ascontiguousarray(make(), np.int32), dtypes.int32)
        return found

    def _pool(
        self, kind: str, x: GpuArray, counts: Ints, axes: tuple[Any, ...], step: Ints, divisor: int
    ) -> tuple[GpuArray, GpuArray | None]:
        """`axes` describe each axis for `window_table`."""
        backend = self.backend
        device = backend.device
        rank = len(counts)
        _check_elements(numel([_longest(axis) for axis in axes]))
        x = self._whole(x)
        lead, size = x.shape[: len(x.shape) - rank], x.shape[len(x.shape) - rank :]
        shape = (*lead, *counts)
        out = backend.empty(shape, x.dtype)
        places = backend.empty(shape, dtypes.int64) if kind == "max" else None
        if numel(shape):
            table = self._table(("windows", axes), lambda: window_table(axes))
            planes, inner = numel(lead), numel(counts)
            words = (
                x.offset, planes, inner, divisor & 0xFFFFFFFF, *three(size, 1), *three(counts, 1), *three(step, 1)
            )  # fmt: skip
            handles = [x.block.handle, table.block.handle, out.block.handle, *([places.block.handle] if places else [])]
            made = kernels.pool(kind, backend.code(x.dtype))
            device.launch(device.pipeline(made), kernels.grid(inner, planes), handles, words)
        return out, places

    def max_pool(
        self, x: GpuArray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
    ) -> tuple[GpuArray, GpuArray]:
        """The largest element of each window, and its place in the plane."""
        size = x.shape[len(x.shape) - len(kernel) :]
        counts = tuple(window_count(*numbers, ceil) for numbers in zip(size, kernel, stride, padding, dilation))
        axes = tuple(("fixed", *numbers, True) for numbers in zip(size, kernel, stride, padding, dilation, counts))
        out, places = self._pool("max", x, counts, axes, dilation, 0)
        assert places is not None
        return out, places

    def adaptive_max_pool(self, x: GpuArray, counts: Ints) -> tuple[GpuArray, GpuArray]:
        """The same for windows of given number."""
        size = x.shape[len(x.shape) - len(counts) :]
        if numel(counts) == 1 and numel(size):  # one window: a comparison that many threads share
            x = self._whole(x)
            lead = x.shape[: len(x.shape) - len(counts)]
            lines = self._shaped(x, (numel(lead), numel(size)))
            shape = (*lead, *counts)
            value, place = (
                self.backend.kernels["amax"](lines, (1,), False), self.backend.kernels["argmax"](lines, 1, False)
            )  # fmt: skip
            return self._shaped(value, shape), self._shaped(place, shape)
        axes = tuple(("adaptive", n, m) for n, m in zip(size, counts))
        out, places = self._pool("max", x, tuple(counts), axes, (1,) * len(counts), 0)
        assert places is not None
        return out, places

    def avg_pool(
        self, x: GpuArray, kernel: Ints, stride: Ints, padding: Ints, ceil: bool, include_pad: bool, divisor: int | None
    ) -> GpuArray:
        """The mean of each window."""
        size = x.shape[len(x.shape) - len(kernel) :]
        ones = (1,) * len(kernel)
        counts = tuple(window_count(*numbers, ceil) for numbers in zip(size, kernel, stride, padding, ones))
        axes = tuple(("fixed", *numbers, include_pad) for numbers in zip(size, kernel, stride, padding, ones, counts))
        return self._pool("mean", x, counts, axes, ones, divisor or 0)[0]

    def adaptive_avg_pool(self, x: GpuArray, counts: Ints) -> GpuArray:
        """The mean of windows of given number."""
        size = x.shape[len(x.shape) - len(counts) :]
        if numel(counts) == 1 and numel(size):  # one window: a sum that many threads share
            return self.backend.kernels["mean"](x, tuple(range(len(x.shape) - len(counts), len(x.shape))), True)
        axes = tuple(("adaptive", n, m) for n, m in zip(size, counts))
        return self._pool("mean", x, tuple(counts), axes, (1,) * len(counts), 0)[0]

    def _spread(self, g: GpuArray, size: Ints, axes: tuple[Any, ...], divisor: int) -> GpuArray:
        _check_elements(numel([int(np.diff(_ranges(axis), axis=1).max(initial=0)) for axis in axes]))
        backend = self.backend
        device = backend.device
        rank = len(size)
        g = self._whole(g)
        lead, counts = g.shape[: len(g.shape) - rank], g.shape[len(g.shape) - rank :]
        out = backend.empty((*lead, *size), g.dtype)
        if numel(out.shape):
            windows = self._table(("windows", axes), lambda: window_table(axes))
            ranges = self._table(("ranges", axes), lambda: range_table(axes))
            planes = numel(lead)
            words = (g.offset, planes, numel(size), divisor & 0xFFFFFFFF, *three(size, 1), *three(counts, 1))
            handles = [a.block.handle for a in (g, windows, ranges, out)]
            made = kernels.spread(backend.code(g.dtype))
            device.launch(device.pipeline(made), kernels.grid(numel(size), planes), handles, words)
        return out

    def avg_pool_backward(
        self, g: GpuArray, kernel: Ints, stride: Ints, padding: Ints, ceil: bool, include_pad: bool, divisor: int | None, size: Ints
    ) -> GpuArray:  # fmt: skip
        """The transpose of `avg_pool`."""
        counts = g.shape[len(g.shape) - len(kernel) :]
        ones = (1,) * len(kernel)
        axes = tuple(("fixed", *numbers, include_pad) for numbers in zip(size, kernel, stride, padding, ones, counts))
        return self._spread(g, tuple(size), axes, divisor or 0)

    def adaptive_avg_pool_backward(self, g: GpuArray, counts: Ints, size: Ints) -> GpuArray:
        """The transpose of `adaptive_avg_pool`."""
        axes = tuple(("adaptive", n, m) for n, m in zip(size, counts))
        return self._spread(g, tuple(size), axes, 0)

    def unpool(self, x: GpuArray, places: GpuArray, size: Ints) -> GpuArray:
        """Elements put at their places in planes of `size`, zeros elsewhere; of several the last counts."""
        return self._put(x, places, size, "last")

    def _unknown(self, places: GpuArray, size: int, volume: str) -> str | None:
        """What to say of a place outside of a plane, or None where all are known to be inside. Raises at once for one from the host."""
        known = places.block.bounds
        if known is not None and known[0] >= 0 and known[1] < size:
            return None
        if known is not None and known[2] and 4 * numel(places.shape) == places.block.nbytes:
            bad = known[0] if known[0] < 0 else known[1]
            raise RuntimeError(f"Found an invalid max index: {bad} (output volumes are of size {volume})")
        return "Found an invalid max index: {index} (output volumes are of size " + volume + ")"

    def put_back(self, g: GpuArray, places: GpuArray, size: Ints, distinct: bool) -> GpuArray:
        """Elements added up at their places in planes of `size`, or put there where the places are distinct."""
        return self._put(g, places, size, "each" if distinct else "add")

    def _put(self, g: GpuArray, places: GpuArray, size: Ints, kind: str) -> GpuArray:
        backend = self.backend
        device = backend.device
        g, places = self._whole(g), self._whole(places)
        lead = g.shape[: len(g.shape) - len(size)]
        out = backend.full((*lead, *size), 0, g.dtype)
        planes, count = numel(lead), numel(g.shape[len(lead) :])
        if planes * count and numel(size):
            made = device.pipeline(kernels.put_back(backend.code(g.dtype), backend.code(places.dtype), kind))
            handles, code = [a.block.handle for a in (g, places, out)], 0
            if kind == "last":
                volume = "x".join(map(str, size))
                fault, code = device.guard(
                    "max_unpool", self._unknown(places, numel(size), volume)
                )  # fmt: skip
                handles.insert(2, fault)
            tasks, step = (planes * count, count) if kind == "each" else (planes, MAX_STEPS)
            for first in range(0, count, step):
                end = min(count, first + step)
                words = (g.offset, places.offset, planes, count, numel(size), first, end, code)
                device.launch(made, fold(-(-tasks // 64)), handles, words, planes * (end - first))
        return out


def _check_elements(count: int) -> None:
    """Raise OnHost where a thread would walk too many elements of a window (or windows of an element)."""
    if count > MOST_ELEMENTS:
        raise OnHost(f"windows of more than {MOST_ELEMENTS} elements are more than its kernel takes")


def out_sizes(size: Sequence[int], kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many windows fit along each axis."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation)
    )


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    """How many windows an axis has; with `ceil` the last may hang over the end, but must begin inside."""
    n = (size + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil else 0)) // stride + 1
    return n - 1 if ceil and (n - 1) * stride >= size + padding else n


def _longest(axis: tuple[Any, ...]) -> int:
    """The most elements along an axis that a window has."""
    return axis[2] if axis[0] == "fixed" else -(-axis[1] // max(axis[2], 1)) + 1


def _windows(axis: tuple[Any, ...]) -> np.ndarray:
    """[windows, 3] of an axis: first element, end, divisor.

    An axis is ("fixed", size, kernel, stride, padding, dilation, windows, whether padding counts) or ("adaptive", size, windows).
    """
    if axis[0] == "adaptive":
        _, size, count = axis
        o = np.arange(count)
        start, end = o * size // max(count, 1), -(-(o + 1) * size // max(count, 1))
        return np.stack([start, end, end - start], 1)
    _, size, kernel, stride, padding, dilation, count, include = axis
    corner = np.arange(count) * stride - padding
    start = corner + np.maximum(-(corner // dilation), 0) * dilation
    end = np.minimum(corner + dilation * (kernel - 1) + 1, size)
    width = (
        np.minimum(corner + kernel, size + padding) - corner
        if include
        else np.minimum(corner + kernel, size) - np.maximum(corner, 0)
    )
    return np.stack([start, end, width], 1)


def _ranges(axis: tuple[Any, ...]) -> np.ndarray:
    """[elements, 2] of an axis: the first window that holds an element, and the end of those."""
    table, size = _windows(axis), axis[1]
    at = np.arange(size)
    return np.stack([np.searchsorted(table[:, 1], at, side="right"), np.searchsorted(table[:, 0], at, side="right")], 1)


def window_table(axes: tuple[Any, ...]) -> np.ndarray:
    """The tables of three axes, one after another."""
    return np.concatenate([_windows(("adaptive", 1, 1))] * (3 - len(axes)) + [_windows(a) for a in axes])


def range_table(axes: tuple[Any, ...]) -> np.ndarray:
    """The same for the windows that elements lie in."""
    return np.concatenate([_ranges(("adaptive", 1, 1))] * (3 - len(axes)) + [_ranges(a) for a in axes])


def register(backend: Any) -> None:
    """Enter the kernels into the backend's table."""
    from .pointwise import Pointwise

    windows = Windows(backend)
    backend.windows_add = Pointwise(backend, "add_windows", "x + y", ("x", "y"), "same")
    for name in ("convolution", "convolution_weight", "im2col", "col2im"):
        backend.kernels[name] = getattr(windows, name)
    for rank in (2, 3):
        backend.kernels[f"max_pool{rank}d_with_indices"] = windows.max_pool
        backend.kernels[f"max_pool{rank}d_with_indices_backward"] = windows.put_back
        backend.kernels[f"max_unpool{rank}d"] = windows.unpool
        backend.kernels[f"adaptive_max_pool{rank}d"] = windows.adaptive_max_pool
        backend.kernels[f"avg_pool{rank}d"] = windows.avg_pool
        backend.kernels[f"avg_pool{rank}d_backward"] = windows.avg_pool_backward
        backend.kernels[f"adaptive_avg_pool{rank}d"] = windows.adaptive_avg_pool
        backend.kernels[f"adaptive_avg_pool{rank}d_backward"] = windows.adaptive_avg_pool_backward
