"""Launches of scans along a dimension: running sums, products, extremes, log-sums, and the linear recurrence.

Long lines are cut into chunks, whose totals are scanned first; how depends on sizes alone.
"""

from __future__ import annotations

from typing import Any

from ....webgpu_kernels import scan
from ....webgpu_kernels.pointwise import rank_class
from ....webgpu_kernels.wgsl import TYPES
from ... import dtypes
from .array import GpuArray, merged, numel

MOST_CHUNKS = 8192
"""Chunks of a line whose totals one thread scans."""


class Scans:
    """These operators of one backend."""

    def __init__(self, backend: Any):
        self.backend = backend

    def running(self, name: str, x: GpuArray, dim: int) -> GpuArray:
        """The sums ("sum") or products ("prod") of all elements up to each along `dim`."""
        backend = self.backend
        device = backend.device
        if not x.shape:
            return backend.contiguous(x)
        out = backend.empty(x.shape, x.dtype)
        if not numel(x.shape):
            return out
        rest = [d for d in range(len(x.shape)) if d != dim]
        sizes, (into, strides) = merged(
            tuple([x.shape[d] for d in rest]), [tuple([a.strides[d] for d in rest]) for a in (out, x)]
        )  # fmt: skip
        outer = rank_class(len(sizes), scan.OUTER_RANKS)
        lines, count = numel(sizes), x.shape[dim]
        code = backend.code(x.dtype)
        cut = count > 2 * scan.CHUNK and lines < 4096
        chunks, size = (-(-count // scan.CHUNK), scan.CHUNK) if cut else (1, count)
        words = scan.words(
            0, x.offset, lines, chunks, size, count, out.strides[dim], x.strides[dim], sizes, into, strides, outer
        )  # fmt: skip
        handles = [x.block.handle]
        if cut:
            kind = {"f32": dtypes.float32, "i32": dtypes.int32, "u32": dtypes.uint32, "bool": dtypes.int32}[
                TYPES[code].compute
            ]
            totals = backend.empty((lines, chunks), kind)
            kernel = scan.build(name, code, outer, totals=True)
            device.launch(device.pipeline(kernel), scan.grid(lines, chunks), [*handles, totals.block.handle], words)
            before = self.running(name, totals, 1)
            handles.append(before.block.handle)
        kernel = scan.build(name, code, outer, begun=cut)
        device.launch(device.pipeline(kernel), scan.grid(lines, chunks), [*handles, out.block.handle], words)
        return out

    def pairs(self, kind: str, inputs: tuple[GpuArray, ...], dim: int, reverse: bool = False) -> tuple[GpuArray, ...]:
        """The scans that carry two numbers along: "cummax" and "cummin" (values and places), "logcumsumexp", "linear"."""
        backend = self.backend
        device = backend.device
        x = inputs[0]
        extreme = kind in ("cummax", "cummin")
        outputs = [backend.empty(x.shape, x.dtype), *([backend.empty(x.shape, dtypes.int64)] if extreme else [])]
        if not numel(x.shape):
            return tuple(outputs)
        out, count = outputs[0], x.shape[dim]
        arrays = [out, *inputs]
        rest = [d for d in range(len(x.shape)) if d != dim]
        sizes, strides = merged(
            tuple([x.shape[d] for d in rest]), [tuple([a.strides[d] for d in rest]) for a in arrays]
        )
        outer = rank_class(len(sizes), scan.OUTER_RANKS)
        lines, code = numel(sizes), backend.code(x.dtype)
        cut = count > 2 * scan.CHUNK and lines < 4096
        size = max(scan.CHUNK, -(-count // MOST_CHUNKS)) if cut else count
        chunks = -(-count // size)
        offsets, steps = [a.offset for a in arrays], [a.strides[dim] for a in arrays]
        if reverse:
            offsets = [o + (count - 1) * s for o, s in zip(offsets, steps)]
            steps = [-s for s in steps]
        words = scan.pair_words(offsets, lines, chunks, size, count, steps, sizes, strides, outer)
        grid = scan.grid(lines, chunks)
        handles = [a.block.handle for a in inputs]
        totals: list[Any] = []
        if cut:
            totals = [device.pool.take(4 * lines * chunks) for _ in range(2)]
            handed = [b.handle for b in totals]
            made = scan.pairs(kind, code, outer, totals=True)
            device.launch(device.pipeline(made), grid, [*handles, *handed], words)
            made = scan.pair_totals(kind, code)
            device.launch(device.pipeline(made), scan.grid(lines, 1), handed, [lines, chunks])
            handles += handed
        made = scan.pairs(kind, code, outer, begun=cut)
        device.launch(device.pipeline(made), grid, [*handles, *[o.block.handle for o in outputs]], words)
        del totals
        if extreme:
            outputs[1].block.bounds = 0, count - 1, False
        return tuple(outputs)

    def linear(self, a: GpuArray, b: GpuArray, dim: int, reverse: bool) -> GpuArray:
        """s[i] = b[i] + a[i] s[i - 1] along `dim`, or s[i + 1] where `reverse`."""
        return self.pairs("linear", (a, b), dim, reverse)[0]

    def logcumsumexp(self, x: GpuArray, dim: int) -> GpuArray:
        """The logarithm of the sum of exponentials up to each element."""
        return self.pairs("logcumsumexp", (x,), dim)[0]


def register(backend: Any) -> None:
    """Enter the kernels into the backend's table."""
    scans = Scans(backend)
    backend.kernels["cumsum"] = lambda x, dim: scans.running("sum", x, dim)
    backend.kernels["cumprod"] = lambda x, dim: scans.running("prod", x, dim)
    backend.kernels["cummax"] = lambda x, dim: scans.pairs("cummax", (x,), dim)
    backend.kernels["cummin"] = lambda x, dim: scans.pairs("cummin", (x,), dim)
    backend.kernels["logcumsumexp"] = scans.logcumsumexp
    backend.kernels["linear_scan"] = scans.linear
