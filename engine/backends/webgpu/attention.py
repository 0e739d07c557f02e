"""Launches of attention without its matrix of weights, and the decision when that is better than products with the matrix."""

from __future__ import annotations

from typing import Any

from ....webgpu_kernels import attention as kernels
from ....webgpu_kernels.wgsl import MAX_STEPS
from ... import dtypes
from .array import GpuArray, numel, spread
from .pointwise import f32_word

MATRIX_BYTES = 64 << 20
"""Bytes of the matrix of weights from which on it is not made on software adapters, where products are much faster than its loops."""


class Attention:
    """Attention [N, H, L, E] of one backend."""

    def __init__(self, backend: Any):
        self.backend = backend
        self.always = False
        """For tests: whatever the sizes."""

    def takes(self, q: GpuArray, k: GpuArray, v: GpuArray, mask: GpuArray | None) -> bool:
        """Whether this way is possible and better."""
        width, queries, keys = q.shape[-1], q.shape[-2], k.shape[-2]
        if any(a.dtype is not dtypes.float32 for a in (q, k, v)) or v.shape[-1] != width or len(q.shape) != 4:
            return False
        if (
            width % 4
            or not 0 < width <= kernels.MOST_WIDTH
            or max(queries, keys) > MAX_STEPS
            or not numel(q.shape)
            or not keys
        ):
            return False
        if mask is not None and mask.dtype not in (dtypes.bool_, dtypes.float32):
            return False
        return self.always or 4 * numel(q.shape[:-1]) * keys > MATRIX_BYTES

    def _prepared(self, *arrays: GpuArray) -> list[GpuArray]:
        return [a if a.contiguous and a.offset % 4 == 0 else self.backend.contiguous(a) for a in arrays]

    def _words(
        self, rows: int, q: GpuArray, k: GpuArray, v: GpuArray, mask: Any, causal: bool, scale: float, *more: GpuArray
    ) -> list[int]:
        offsets = [a.offset for a in more] + [0] * (2 - len(more))
        steps = [0] * 5
        if mask is not None:
            shape = (*q.shape[:-1], k.shape[-2])
            steps = [mask.offset, *spread(mask.shape, mask.strides, shape)]
        return [
            rows, q.shape[-2], k.shape[-2], q.shape[1], int(causal), f32_word(scale), q.offset, k.offset, v.offset, *offsets, *steps,
        ]  # fmt: skip

    def _launch(self, kernel: Any, rows: int, arrays: Any, words: list[int], work: int) -> None:
        device = self.backend.device
        handles = [getattr(a, "block", a).handle for a in arrays if a is not None]
        device.launch(device.pipeline(kernel), kernels.grid(rows), handles, [w & 0xFFFFFFFF for w in words], work)

    def _forward(
        self, q: GpuArray, k: GpuArray, v: GpuArray, mask: Any, causal: bool, scale: float
    ) -> tuple[GpuArray, Any]:
        rows, width = numel(q.shape[:-1]), q.shape[-1]
        out = self.backend.empty(q.shape, q.dtype)
        stats = self.backend.device.pool.take(8 * rows)
        kind = None if mask is None else "bool" if mask.dtype is dtypes.bool_ else "f32"
        words = self._words(rows, q, k, v, mask, causal, scale)
        self._launch(
            kernels.forward(width, kind), rows, (q, k, v, mask, out, stats), words, 2 * rows * k.shape[-2] * width
        )
        return out, stats

    def forward(self, q: GpuArray, k: GpuArray, v: GpuArray, mask: Any, causal: bool, scale: float) -> GpuArray:
        """softmax(q k^T scale + mask) v; rows that are masked altogether become 0."""
        q, k, v = self._prepared(q, k, v)
        return self._forward(q, k, v, mask, causal, scale)[0]

    def backward(
        self, g: GpuArray, q: GpuArray, k: GpuArray, v: GpuArray, mask: Any, causal: bool, scale: float
    ) -> tuple[GpuArray, GpuArray, GpuArray]:
        """The gradients by q, k and v; what forward knew is computed anew."""
        g, q, k, v = self._prepared(g, q, k, v)
        out, stats = self._forward(q, k, v, mask, causal, scale)
        width, kind = q.shape[-1], None if mask is None else "bool" if mask.dtype is dtypes.bool_ else "f32"
        results = [self.backend.empty(a.shape, a.dtype) for a in (q, k, v)]
        rows, columns = numel(q.shape[:-1]), numel(k.shape[:-1])
        work = 4 * rows * k.shape[-2] * width
        words = self._words(rows, q, k, v, mask, causal, scale, g, out)
        self._launch(kernels.of_queries(width, kind), rows, (q, k, v, g, out, mask, stats, results[0]), words, work)
        words = self._words(columns, q, k, v, mask, causal, scale, g)
        self._launch(
            kernels.of_keys(width, kind), columns, (q, k, v, g, mask, stats, results[1], results[2]), words, work
        )
        return results[0], results[1], results[2]


def register(backend: Any) -> None:
    """Hand attention over to the backend; it stands for a formula, not for a primitive."""
    backend.attention = Attention(backend)
