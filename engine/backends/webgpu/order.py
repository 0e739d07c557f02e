"""Launches of the kernels about order: sorting and what follows from it, searching, counting.

Where the length of a result depends on the data (distinct elements, repeated places, counts up to the largest number), it is read
back, which waits for the device.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....webgpu_kernels import sort as kernels
from ....webgpu_kernels.pointwise import rank_class
from ....webgpu_kernels.wgsl import TYPES
from ... import dtypes
from .array import GpuArray, OnHost, is_row_major, merged, numel, row_major
from .memory import Block
from .pointwise import Pointwise


class Order:
    """These operators of one backend."""

    def __init__(self, backend: Any):
        self.backend = backend
        self.take_away = Pointwise(backend, "take_away", "x - y", ("x", "y"), "same")
        self.share = Pointwise(backend, "share", "x / (scale * (high - low))", ("x", "scale", "high", "low"), "same")
        self.binned = Pointwise(
            backend,
            "binned",
            "where((x >= low) & (x <= high), minimum(int((x - low) / width * bins), last), -1)",
            ("x", "low", "high", "width", "bins", "last"),
            dtypes.int32,
        )
        self.to_source = Pointwise(
            backend, "to_source", "where(mask, at - 1, 0)", ("mask", "at"), dtypes.int32, first=1
        )

    # -- sorting ------------------------------------------------------------------------------------------------

    def keys(self, x: GpuArray, dim: int, descending: bool = False) -> tuple[Block, Block]:
        """Sorted keys of each line along `dim` and the places they came from: [lines, count] each, lines in row-major order."""
        backend = self.backend
        device = backend.device
        shape, count = x.shape, x.shape[dim]
        rest = [d for d in range(len(shape)) if d != dim]
        sizes, (strides,) = merged(tuple([shape[d] for d in rest]), [tuple([x.strides[d] for d in rest])])
        lines = numel(sizes)
        if backend.profile.rows == "serial" and count >= kernels.DIGIT_FROM:
            return self._by_digits(x, dim, descending, lines, count)
        outer = rank_class(len(sizes), kernels.OUTER_RANKS)
        run = kernels.run_for(count)
        n = lines * count
        keys, places = device.pool.take(4 * n), device.pool.take(4 * n)
        words = kernels.runs_words(x.offset, lines, count, x.strides[dim], run, sizes, strides, outer)
        made = kernels.runs(backend.code(x.dtype), run, descending, outer)
        handles = [x.block.handle, keys.handle, places.handle]
        work = n * 64
        device.launch(device.pipeline(made), kernels.runs_grid(lines, count, run), handles, words, work)
        if run < count:
            spare = device.pool.take(4 * n), device.pool.take(4 * n)
            merge = device.pipeline(kernels.merge())
            while run < count:
                handles = [keys.handle, places.handle, spare[0].handle, spare[1].handle]
                device.launch(merge, kernels.grid(n), handles, [n, count, run], n * 16)
                (keys, places), spare = spare, (keys, places)
                run *= 2
        return keys, places

    def _by_digits(self, x: GpuArray, dim: int, descending: bool, lines: int, count: int) -> tuple[Block, Block]:
        """The same by digits, a chunk a thread: what software adapters do best."""
        backend = self.backend
        device = backend.device
        n, chunks, code = lines * count, -(-count // kernels.CHUNK), backend.code(x.dtype)
        order = [*[d for d in range(len(x.shape)) if d != dim], dim]
        keys, places = self._keyed(x, [x.shape[d] for d in order], [x.strides[d] for d in order], count, descending)
        spare = device.pool.take(4 * n), device.pool.take(4 * n)
        counts = backend.empty((lines, 256 * chunks), dtypes.int32)
        grid = kernels.grid(lines * chunks)
        for byte in kernels.digits(code):
            words = [lines, chunks, count, 8 * byte]
            device.launch(device.pipeline(kernels.count_digits()), grid, [keys.handle, counts.block.handle], words, n)
            ends = backend.kernels["cumsum"](counts, 1)
            handles = [b.handle for b in (keys, places, ends.block, *spare)]
            device.launch(device.pipeline(kernels.move_digits()), grid, handles, words, 2 * n)
            (keys, places), spare = spare, (keys, places)
        return keys, places

    def _keyed(self, x: GpuArray, shape: Any, strides: Any, count: int, descending: bool) -> tuple[Block, Block]:
        """Keys of all elements in the order of these dimensions, and their places in lines of `count`, unsorted."""
        device = self.backend.device
        n = numel(shape)
        keys, places = device.pool.take(4 * n), device.pool.take(4 * n)
        words, rank = kernels.keyed_words(shape, x.offset, strides, count)
        made = kernels.keyed(self.backend.code(x.dtype), rank, descending)
        device.launch(device.pipeline(made), kernels.grid(n), [x.block.handle, keys.handle, places.handle], words)
        return keys, places

    def _along(self, block: Block, x: GpuArray, dim: int, count: int) -> GpuArray:
        """Places [lines, all] in the shape of x, with the first `count` of each line along `dim`, as int64."""
        rest = (*x.shape[:dim], *x.shape[dim + 1 :])
        strides = [s * x.shape[dim] for s in row_major(rest)]
        strides.insert(dim, 1)
        shape = (*x.shape[:dim], count, *x.shape[dim + 1 :])
        made = GpuArray(block, dtypes.int64, shape, tuple(strides), 0, is_row_major(shape, tuple(strides)))
        if not made.contiguous:
            made = self.backend.contiguous(made)
        made.block.bounds = 0, x.shape[dim] - 1, False
        return made

    def _places(self, x: GpuArray, dim: int, descending: bool, count: int) -> tuple[GpuArray, GpuArray]:
        if not numel(x.shape) or not count:
            shape = (*x.shape[:dim], count, *x.shape[dim + 1 :])
            return self.backend.empty(shape, x.dtype), self.backend.empty(shape, dtypes.int64)
        _, places = self.keys(x, dim, descending)
        found = self._along(places, x, dim, count)
        return self.backend.kernels["gather"](x, found, dim), found

    def sort(self, x: GpuArray, dim: int, descending: bool) -> tuple[GpuArray, GpuArray]:
        """The elements in stable order, and their places."""
        return self._places(x, dim, descending, x.shape[dim])

    def topk(self, x: GpuArray, dim: int, k: int, largest: bool, sorted: bool) -> tuple[GpuArray, GpuArray]:
        """The first k of the order, and their places."""
        return self._places(x, dim, largest, k)

    def mode(self, x: GpuArray, dim: int, keepdim: bool) -> tuple[GpuArray, GpuArray]:
        """The most frequent element of each line (the smallest of several), and its last place."""
        backend = self.backend
        device = backend.device
        kept = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
        shape = kept if keepdim else (*x.shape[:dim], *x.shape[dim + 1 :])
        if not numel(kept):
            return backend.empty(shape, x.dtype), backend.empty(shape, dtypes.int64)
        keys, places = self.keys(x, dim)
        lines, count = numel(kept), x.shape[dim]
        lengths = backend.empty((lines, count), dtypes.int32)
        made = kernels.run_lengths(self._compute(x) == "f32")
        device.launch(
            device.pipeline(made),
            kernels.grid(lines * count),
            [keys.handle, lengths.block.handle],
            [lines * count, count],
        )
        best = backend.kernels["argmax"](lengths, 1, True)
        best.block.bounds = 0, count - 1, False
        place = backend.kernels["gather"](GpuArray(places, dtypes.int64, (lines, count), (count, 1)), best, 1)
        place.block.bounds = 0, count - 1, False
        value = backend.kernels["gather"](x, self._shaped(place, kept), dim)
        return self._shaped(value, shape), self._shaped(place, shape)

    def _compute(self, x: GpuArray) -> str:
        return TYPES[self.backend.code(x.dtype)].compute

    def _shaped(self, a: GpuArray, shape: tuple[int, ...]) -> GpuArray:
        return GpuArray(a.block, a.dtype, shape, row_major(shape), a.offset)

    # -- distinct elements --------------------------------------------------------------------------------------

    def unique(self, x: GpuArray, dim: int | None, consecutive: bool) -> tuple[GpuArray, GpuArray, GpuArray]:
        """The distinct elements, which of them each element is, and how often each occurs. Waits for the device."""
        backend = self.backend
        device = backend.device
        if dim is not None and len(x.shape) > 1:
            raise OnHost("rows have no WebGPU kernel that compares them")
        n = numel(x.shape)
        if not n:
            return backend.empty((0,), x.dtype), backend.empty(x.shape, dtypes.int64), backend.empty((0,), dtypes.int64)
        if consecutive:
            keys, places = self._keyed(x, x.shape, x.strides, n, False)
        else:
            keys, places = self.keys(self._flat(x), 0)
        marks = backend.empty((n,), dtypes.int32)
        made = kernels.firsts(self._compute(x) == "f32")
        device.launch(device.pipeline(made), kernels.grid(n), [keys.handle, marks.block.handle], [n])
        ranks = backend.kernels["cumsum"](marks, 0)
        total = int(np.frombuffer(device.read(ranks.block, 4 * (n - 1), 4), np.int32)[0])
        which = backend.empty(x.shape, dtypes.int64)
        starts, origins = backend.empty((total + 1,), dtypes.int64), backend.empty((total,), dtypes.int64)
        handles = [b.handle for b in (ranks.block, places, which.block, starts.block, origins.block)]
        device.launch(device.pipeline(kernels.distinct()), kernels.grid(n), handles, [n, total])
        which.block.bounds, origins.block.bounds = (0, total - 1, True), (0, n - 1, False)
        values = backend.kernels["index_select"](self._flat(x), origins, 0)
        counts = self.take_away(
            GpuArray(starts.block, dtypes.int64, (total,), (1,), 1),
            GpuArray(starts.block, dtypes.int64, (total,), (1,), 0),
        )
        return values, which, counts

    def _flat(self, x: GpuArray) -> GpuArray:
        whole = x if x.contiguous else self.backend.contiguous(x)
        return GpuArray(whole.block, x.dtype, (numel(x.shape),), (1,), whole.offset)

    # -- searching ----------------------------------------------------------------------------------------------

    def searchsorted(self, sequence: GpuArray, values: GpuArray, right: bool) -> GpuArray:
        """Where values belong in sorted rows (or in the one row there is)."""
        backend = self.backend
        out = backend.empty(values.shape, dtypes.int64)
        n = numel(values.shape)
        if not n:
            return out
        rows = sequence if len(sequence.shape) == 1 or sequence.contiguous else backend.contiguous(sequence)
        values = values if values.contiguous else backend.contiguous(values)
        length = rows.shape[-1]
        each, row = (n, 0) if len(rows.shape) == 1 else (values.shape[-1], length)
        if not length:
            return backend.full(values.shape, 0, dtypes.int64)
        made = kernels.search(backend.code(rows.dtype), backend.code(values.dtype), "right" if right else "left")
        words = [n, rows.offset, values.offset, length, rows.strides[-1], each, row]
        self._launch(made, n, [rows, values, out], words, 32 * n)
        out.block.bounds = 0, length, False
        return out

    def isin(self, elements: GpuArray, test: GpuArray, invert: bool) -> GpuArray:
        """Whether each element is one of `test`, or none of them."""
        backend = self.backend
        n, m = numel(elements.shape), numel(test.shape)
        if not n or not m:
            return backend.full(elements.shape, bool(invert), dtypes.bool_)
        out = backend.empty(elements.shape, dtypes.bool_)
        keys, _ = self.keys(self._flat(test), 0)
        elements = elements if elements.contiguous else backend.contiguous(elements)
        code = backend.code(elements.dtype)
        made = kernels.search(code, code, "stranger" if invert else "member")
        device = backend.device
        handles = [keys.handle, elements.block.handle, out.block.handle]
        device.launch(device.pipeline(made), kernels.grid(n), handles, [n, 0, elements.offset, m, 1, n, 0], 32 * n)
        return out

    def _launch(self, kernel: Any, n: int, arrays: Any, words: Any, work: int = 0) -> None:
        device = self.backend.device
        device.launch(device.pipeline(kernel), kernels.grid(n), [a.block.handle for a in arrays], words, work)

    # -- counting -----------------------------------------------------------------------------------------------

    def _counts(self, numbers: GpuArray, bins: int) -> GpuArray:
        """How often each number below `bins` occurs in a vector of int32; negative ones do not count."""
        counts = self.backend.full((bins,), 0, dtypes.int64)
        n = numel(numbers.shape)
        if n and bins:
            words = [n, numbers.offset, numbers.strides[0]]
            self._launch(kernels.count(), n, [numbers, counts], words)
        return counts

    def _value(self, x: GpuArray) -> Any:
        """A 0-d array's number. Waits for the device."""
        return self.backend.download(x, x.dtype).item()

    def bincount(self, x: GpuArray, weights: GpuArray | None, minlength: int) -> GpuArray:
        """How often each number occurs, or the sum of its weights. Waits for the device."""
        backend = self.backend
        kind = dtypes.int64 if weights is None else weights.dtype
        if not numel(x.shape):
            return backend.full((minlength,), 0, kind)
        bins = max(int(self._value(backend.kernels["amax"](x, (0,), False))) + 1, minlength)
        if weights is None:
            return self._counts(x, bins)
        zeros = backend.full((bins,), 0, kind)
        return backend.kernels["index_add"](zeros, x, weights, 0)

    def histc(self, x: GpuArray, bins: int, low: float, high: float) -> GpuArray:
        """Counts in equal bins. Waits for the device where the range is that of the data."""
        backend = self.backend
        flat = self._flat(x)
        if low == high and numel(x.shape):
            low, high = (float(self._value(backend.kernels[n](flat, (0,), False))) for n in ("amin", "amax"))
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError("torch.histc: max must be larger than min")
        if low == high:
            low, high = low - 1, high + 1
        if not numel(x.shape):
            return backend.full((bins,), 0, x.dtype)
        numbers = self.binned(flat, float(low), float(high), float(high - low), float(bins), float(bins - 1))
        return backend.cast(self._counts(numbers, bins), x.dtype)

    def histogramdd(
        self, points: GpuArray, weight: GpuArray | None, edges: tuple[GpuArray, ...], density: bool
    ) -> GpuArray:
        """Counts or weights of points [n, d] in the bins between the edges of each dimension."""
        backend = self.backend
        edges = tuple([e if e.contiguous else backend.contiguous(e) for e in edges])
        n, shape = points.shape[0], tuple([e.shape[0] - 1 for e in edges])
        size = numel(shape)
        total = backend.full((size,), 0, points.dtype)
        if n and size:
            numbers = backend.empty((n,), dtypes.int32)
            code = backend.code(points.dtype)
            for d, e in enumerate(edges):
                words = [n, points.offset + d * points.strides[1], points.strides[0], e.offset, e.shape[0]]
                self._launch(kernels.bins(code, d > 0), n, [points, e, numbers], words)
            if weight is None:
                total = backend.cast(self._counts(numbers, size), points.dtype)
            else:  # one more place, in front, for the points that are in no bin
                slots = backend.full((size + 1,), 0, points.dtype)
                one = backend.full((), 1, dtypes.int32)
                moved = backend.joins["sum"](numbers, one)
                moved.block.bounds = 0, size, False
                slots = backend.kernels["index_add"](slots, moved, weight, 0)
                total = backend.contiguous(GpuArray(slots.block, slots.dtype, (size,), (1,), 1))
        out = self._shaped(total, shape)
        if density and size:
            scale = backend.kernels["sum"](total, (0,), False)
            for d, e in enumerate(edges):
                steps = tuple([e.strides[0] if i == d else 0 for i in range(len(shape))])
                spread = tuple([s if i == d else 1 for i, s in enumerate(shape)])
                high, low = (GpuArray(e.block, e.dtype, spread, steps, e.offset + i, False) for i in (1, 0))
                out = self.share(out, scale if d == 0 else 1.0, high, low)
        return out

    # -- by running counts --------------------------------------------------------------------------------------

    def repeat_interleave(self, repeats: GpuArray) -> GpuArray:
        """Each place as often as `repeats` says. Waits for the device."""
        backend = self.backend
        n = numel(repeats.shape)
        if not n:
            return backend.empty((0,), repeats.dtype)
        ends = backend.kernels["cumsum"](repeats, 0)
        total = int(np.frombuffer(backend.device.read(ends.block, 4 * (n - 1), 4), np.int32)[0])
        line = backend.upload(np.arange(total), dtypes.int32)
        made = self.searchsorted(ends, line, True)
        made.block.bounds = 0, n - 1, False
        return GpuArray(made.block, repeats.dtype, made.shape, made.strides)

    def masked_scatter(self, x: GpuArray, mask: GpuArray, source: GpuArray) -> GpuArray:
        """The elements of `source`, in order, where the mask is true."""
        backend = self.backend
        n = numel(x.shape)
        if not n or not numel(source.shape):
            return backend.contiguous(x)
        at = backend.kernels["cumsum"](backend.cast(self._flat(mask), dtypes.int32), 0)
        places = self.to_source(self._flat(mask), at)
        taken = backend.kernels["index_select"](self._flat(source), places, 0)
        return backend.kernels["where"](mask, self._shaped(taken, x.shape), x)


def register(backend: Any) -> None:
    """Enter the kernels into the backend's table."""
    order = Order(backend)
    backend.order = order
    for name in (
        "sort", "topk", "mode", "unique", "searchsorted", "isin", "bincount", "histc", "histogramdd", "repeat_interleave",
        "masked_scatter",
    ):  # fmt: skip
        backend.kernels[name] = getattr(order, name)
