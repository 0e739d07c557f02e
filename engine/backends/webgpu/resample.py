"""Launches of what sums few elements by weight: images in other sizes, samples at coordinates, distances of all pairs."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ....webgpu_kernels import resample as kernels
from ....webgpu_kernels.wgsl import MAX_STEPS
from ... import dtypes
from .array import GpuArray, OnHost, broadcast, numel, row_major, spread

Ints = tuple[int, ...]


class Resampling:
    """These operators of one backend."""

    def __init__(self, backend: Any):
        self.backend = backend
        self._tables: dict[Any, tuple[GpuArray, GpuArray]] = backend.cache()

    def _whole(self, x: GpuArray) -> GpuArray:
        return x if x.contiguous else self.backend.contiguous(x)

    # -- other sizes --------------------------------------------------------------------------------------------

    def _table(self, mode: Any, size: int, count: int, align: bool, scale: float | None, back: bool) -> Any:
        """Places and weights of the map of an axis, or of its transpose."""
        from ...ops.separable import transposed

        key = (mode.name, size, count, align, scale, back)
        found = self._tables.get(key)
        if found is None:
            if len(self._tables) > 512:
                self._tables.clear()
            made = mode.make(size, count, align, scale, np.float32)
            made = transposed(made) if back else made
            found = self._tables[key] = (
                self.backend.upload(np.ascontiguousarray(made.index, np.int32), dtypes.int32),
                self.backend.upload(np.ascontiguousarray(made.weight, np.float32), dtypes.float32),
            )
        return found

    def _maps(self, mode: Any, x: GpuArray, pairs: Any, align: bool, scales: Any, back: bool) -> GpuArray:
        """Maps of the last axes one after the other, those that shrink the array first; `pairs` are (from, to) of each axis."""
        backend = self.backend
        kind, code = x.dtype, backend.code(x.dtype)
        x = self._whole(x)
        lead = len(x.shape) - len(pairs)
        order = sorted(range(len(pairs)), key=lambda i: pairs[i][1] / max(pairs[i][0], 1))
        rounded = kind.category < dtypes.FLOATING and "nearest" not in mode.name
        for step, i in enumerate(order):
            size, count = pairs[i]
            index, weight = self._table(mode, *((count, size) if back else (size, count)), align, scales[i], back)
            shape = (*x.shape[: lead + i], count, *x.shape[lead + i + 1 :])
            last = step == len(order) - 1
            out = backend.empty(shape, kind if last else dtypes.float32)
            n, after, each = numel(shape), numel(shape[lead + i + 1 :]), index.shape[1]
            if each > MAX_STEPS:
                raise OnHost(f"sums of {each} elements are more than its kernel takes")
            if n:
                made = kernels.taps(backend.code(x.dtype), code if last else "f32", rounded and last)
                words = [x.offset, n, size, count, after, each]
                self._launch(made, n, (x, index, weight, out), words, n * each)
            x = out
        return x

    def resized(self, mode: Any, x: GpuArray, counts: Ints, align: bool, scales: Any) -> GpuArray:
        """Images [N, C, ...] in another size."""
        return self._maps(mode, x, list(zip(x.shape[2:], counts)), align, scales, False)

    def resized_backward(self, mode: Any, g: GpuArray, counts: Ints, align: bool, scales: Any, size: Ints) -> GpuArray:
        """The transpose."""
        return self._maps(mode, g, list(zip(g.shape[2:], size)), align, scales, True)

    def _launch(self, kernel: Any, n: int, arrays: Any, words: Any, work: int = 0) -> None:
        device = self.backend.device
        device.launch(device.pipeline(kernel), kernels.grid(n), [a.block.handle for a in arrays], words, work)

    # -- at coordinates -----------------------------------------------------------------------------------------

    def sample(self, x: GpuArray, grid: GpuArray, mode: int, padding: int, align: bool) -> GpuArray:
        """Images [N, C, ...] at coordinates [N, ..., axes]."""
        backend = self.backend
        x, grid = self._whole(x), self._whole(grid)
        n, channels, *sizes = x.shape
        out = backend.empty((n, channels, *grid.shape[1:-1]), x.dtype)
        points = numel(grid.shape[1:-1])
        count = numel(out.shape)
        if count:
            made = kernels.sample(backend.code(x.dtype), len(sizes), kernels.MODES[mode])
            words = [count, x.offset, grid.offset, channels, points, *sizes, padding, int(align)]
            self._launch(made, count, (x, grid, out), words, 16 * count)
        return out

    def sample_backward(
        self, g: GpuArray, x: GpuArray, grid: GpuArray, mode: int, padding: int, align: bool
    ) -> tuple[GpuArray, GpuArray]:
        """The gradients of `sample` by the images and the coordinates."""
        backend = self.backend
        g, x, grid = self._whole(g), self._whole(x), self._whole(grid)
        n, channels, *sizes = x.shape
        rank, points, code = len(sizes), numel(grid.shape[1:-1]), backend.code(x.dtype)
        slopes = backend.empty(grid.shape, grid.dtype)
        count, name = n * points, kernels.MODES[mode]
        each = kernels.corner_count(name) ** rank
        if not count or not channels:
            return backend.full(x.shape, 0, x.dtype), backend.full(grid.shape, 0, grid.dtype)
        if each * (channels + 1) > MAX_STEPS:
            raise OnHost(f"gradients of {channels} channels are more than its kernel takes")
        tail = [*sizes, padding, int(align)]
        made = kernels.sample_slopes(code, rank, name)
        words = [count, g.offset, x.offset, grid.offset, channels, points, *tail]
        self._launch(made, count, (g, x, grid, slopes), words, count * channels * each)
        # The images' gradient: every corner of every point adds the point's gradients, times its weight, at its place.
        places = backend.empty((count, each), dtypes.int32)
        weights = backend.empty((count, each), dtypes.float32)
        self._launch(
            kernels.corners(code, rank, name), count, (grid, places, weights), [count, grid.offset, points, *tail]
        )
        plane = numel(sizes)
        places.block.bounds = 0, n * plane - 1, False
        given = GpuArray(  # [N, points, 1, C], from [N, C, points]
            g.block, g.dtype, (n, points, 1, channels), (channels * points, 1, 0, points), g.offset, False
        )  # fmt: skip
        shaped = GpuArray(weights.block, dtypes.float32, (n, points, each, 1), (points * each, each, 1, 0))
        wide = given if g.dtype is dtypes.float32 else backend.cast(given, dtypes.float32)
        rows = backend.contiguous(backend.products["times"](wide, shaped))
        rows = GpuArray(rows.block, rows.dtype, (count * each, channels), (channels, 1), 0)
        flat = GpuArray(places.block, dtypes.int32, (count * each,), (1,), 0)
        zeros = backend.full((n * plane, channels), 0, dtypes.float32)
        total = backend.kernels["index_add"](zeros, flat, rows, 0)
        turned = GpuArray(
            total.block, total.dtype, (n, channels, *sizes), (plane * channels, 1, *[s * channels for s in row_major(tuple(sizes))]),
            total.offset, False,
        )  # fmt: skip
        whole = backend.contiguous(turned)
        return whole if x.dtype is dtypes.float32 else backend.cast(whole, x.dtype), slopes

    # -- pairs --------------------------------------------------------------------------------------------------

    def cdist(self, x: GpuArray, y: GpuArray, p: float, products: bool) -> GpuArray:
        """|x - y|_p of all pairs of rows."""
        backend = self.backend
        lead = broadcast(x.shape[:-2], y.shape[:-2])
        rows, cols, depth = x.shape[-2], y.shape[-2], x.shape[-1]
        out = backend.empty((*lead, rows, cols), x.dtype)
        n = numel(out.shape)
        if not n:
            return out
        if depth > MAX_STEPS:
            raise OnHost(f"vectors of {depth} elements are more than its kernel takes")
        x, y = (self._spread(a, lead) for a in (x, y))
        kind = {0.0: "0", 1.0: "1", 2.0: "2", math.inf: "inf"}.get(p, "p")
        bits = int(np.float32(p).view(np.uint32))
        made = kernels.distances(backend.code(x.dtype), kind)
        self._launch(made, n, (x, y, out), [n, x.offset, y.offset, rows, cols, depth, bits], n * depth)
        return out

    def _spread(self, a: GpuArray, lead: Ints) -> GpuArray:
        shape = (*lead, *a.shape[-2:])
        return self._whole(
            GpuArray(
                a.block, a.dtype, shape, spread(a.shape, a.strides, shape), a.offset, a.contiguous and a.shape == shape
            )
        )


def register(backend: Any) -> None:
    """Enter the kernels into the backend's table."""
    from ...ops.resampling import MODES

    made = Resampling(backend)
    for mode in MODES.values():
        backend.kernels[mode.name] = functools.partial(made.resized, mode)
        backend.kernels[mode.name + "_backward"] = functools.partial(made.resized_backward, mode)
    for rank in (2, 3):
        backend.kernels[f"grid_sampler_{rank}d"] = made.sample
        backend.kernels[f"grid_sampler_{rank}d_backward"] = made.sample_backward
    backend.kernels["cdist"] = made.cdist
