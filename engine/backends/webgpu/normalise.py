"""Launches of the fused kernels that normalise along a dimension: softmax and log-softmax, forward and backward."""

from __future__ import annotations

from typing import Any

from ....webgpu_kernels import softmax as kernels
from ....webgpu_kernels.pointwise import rank_class
from ....webgpu_kernels.wgsl import TYPES
from .array import GpuArray, merged, numel, row_major
from .memory import TooLarge


class AlongDimension:
    """One of the four softmax kernels: `(*arrays, dim)`, all arrays of one shape and dtype."""

    def __init__(self, backend: Any, kind: str):
        self.backend = backend
        self.kind = kind
        self.plans: dict[Any, Any] = backend.cache()

    def __call__(self, *args: Any) -> GpuArray:
        *arrays, dim = args
        first = arrays[0]
        key = (dim, first.dtype, first.shape, *[(a.strides, a.offset & 3) for a in arrays])
        plan = self.plans.get(key)
        if plan is None:
            if len(self.plans) > 2048:
                self.plans.clear()
            plan = self.plans[key] = self._plan(arrays, dim)
        pipeline, grid, words, unit, nbytes = plan
        device = self.backend.device
        out = GpuArray(device.pool.take(nbytes), first.dtype, first.shape, row_major(first.shape))
        if pipeline:
            try:
                handles = [*[a.block.handle for a in arrays], out.block.handle]
            except TooLarge:
                return self._in_pieces(arrays, dim, out)
            device.launch(pipeline, grid, handles, [0, *[a.offset // unit for a in arrays], *words])
        return out

    def _plan(self, arrays: list[GpuArray], dim: int) -> tuple[Any, ...]:
        backend = self.backend
        shape = arrays[0].shape
        code = backend.code(arrays[0].dtype)
        nbytes = numel(shape) * TYPES[code].itemsize
        if not numel(shape):
            return 0, None, None, 1, nbytes
        strides = [row_major(shape), *[a.strides for a in arrays]]
        rest = [d for d in range(len(shape)) if d != dim]
        sizes, outer_strides = merged(tuple([shape[d] for d in rest]), [tuple([s[d] for d in rest]) for s in strides])
        steps = [s[dim] for s in strides]
        count = shape[dim]
        wide = (
            count % 4 == 0 and all(s == 1 for s in steps) and all(a.offset % 4 == 0 for a in arrays)
            and all(t % 4 == 0 for s in outer_strides for t in s)
        )  # fmt: skip
        outer = rank_class(len(sizes), kernels.OUTER_RANKS)
        form = backend.profile.rows
        if form == "tree" and count < 32:
            form = "serial"
        kernel = kernels.build(self.kind, code, form=form, wide=wide, outer=outer)
        words = kernels.words([0] * len(strides), count, steps, sizes, outer_strides, wide, outer)
        return (
            backend.device.pipeline(kernel), kernels.grid(numel(sizes), form), words[len(strides) :], 4 if wide else 1, nbytes
        )  # fmt: skip

    def _in_pieces(self, arrays: list[GpuArray], dim: int, out: GpuArray) -> GpuArray:
        from .pointwise import part, slices

        backend = self.backend
        rows = slices(backend, out.shape, [out, *arrays])
        if rows[0][0] == dim:
            raise TooLarge(f"{self.kind} along a dimension that no single binding holds; use device='cpu'.")
        for r in rows:
            made = self(*[part(backend, a, out.shape, *r) for a in arrays], dim)
            backend.copy(part(backend, out, out.shape, *r), made)
        return out


def register(backend: Any) -> None:
    """Enter the kernels into the backend's table."""
    for kind in ("softmax", "log_softmax", "softmax_backward", "log_softmax_backward"):
        backend.kernels[kind] = AlongDimension(backend, kind)
