"""Launches of the fused kernels that normalise: softmax and log-softmax along a dimension, layer and group norm over rows."""

from __future__ import annotations

from typing import Any

from ....webgpu_kernels import norm as norms
from ....webgpu_kernels import softmax as kernels
from ....webgpu_kernels.pointwise import rank_class
from ....webgpu_kernels.wgsl import MAX_STEPS, TYPES
from ... import dtypes
from .array import GpuArray, OnHost, merged, numel, row_major
from .memory import TooLarge
from .pointwise import Pointwise, part, slices
from .reductions import Reduction


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
        form = row_form(backend.profile.rows, numel(sizes), count, count // 4 if wide else count)
        kernel = kernels.build(self.kind, code, form=form, wide=wide, outer=outer)
        words = kernels.words([0] * len(strides), count, steps, sizes, outer_strides, wide, outer)
        return (
            backend.device.pipeline(kernel), kernels.grid(numel(sizes), form), words[len(strides) :], 4 if wide else 1, nbytes
        )  # fmt: skip

    def _in_pieces(self, arrays: list[GpuArray], dim: int, out: GpuArray) -> GpuArray:
        backend = self.backend
        rows = slices(backend, out.shape, [out, *arrays])
        if rows[0][0] == dim:
            raise TooLarge(f"{self.kind} along a dimension that no single binding holds; use device='cpu'.")
        for r in rows:
            made = self(*[part(backend, a, out.shape, *r) for a in arrays], dim)
            backend.copy(part(backend, out, out.shape, *r), made)
        return out


def row_form(preferred: str, rows: int, count: int, units: int) -> str:
    """Who walks rows of `count` elements (`units` reads) a few times: a thread each, or a workgroup each.

    Raises OnHost for rows that are too long for both.
    """
    form = preferred
    if form == "tree" and count < 32:
        form = "serial"
    if 4 * units > MAX_STEPS or (rows < 32 and count > 4096):  # a thread must not run long, nor alone
        form = "tree"
    if 4 * units > MAX_STEPS * kernels.TREE:
        raise OnHost(f"rows of {count} elements are more than its kernel takes")
    return form


class Rows:
    """Layer and group norm: rows of contiguous elements by their own mean and deviation."""

    def __init__(self, backend: Any):
        self.backend = backend

    def layer(self, x: GpuArray, weight: Any, bias: Any, rank: int, eps: float) -> tuple[GpuArray, ...]:
        """Over the last `rank` dimensions. Returns the result, and means and reciprocal deviations with those as size 1."""
        split = len(x.shape) - rank
        count = numel(x.shape[split:])
        made = self._norm(x, weight, bias, numel(x.shape[:split]), count, "element", count, 1, eps)
        kept = (*x.shape[:split], *[1] * rank)
        return made[0], *[GpuArray(a.block, a.dtype, kept, row_major(kept)) for a in made[1:]]

    def group(self, x: GpuArray, weight: Any, bias: Any, groups: int, eps: float) -> tuple[GpuArray, ...]:
        """Over groups of channels. Returns the result, and means and reciprocal deviations [N, groups]."""
        n, channels = x.shape[:2]
        run = numel(x.shape[2:])
        made = self._norm(x, weight, bias, n * groups, channels // groups * run, "channel", run, groups, eps)
        return made[0], *[GpuArray(a.block, a.dtype, (n, groups), row_major((n, groups))) for a in made[1:]]

    def _norm(
        self, x: GpuArray, weight: Any, bias: Any, rows: int, count: int, each: str, run: int, groups: int, eps: float
    ) -> tuple[GpuArray, GpuArray, GpuArray]:
        backend = self.backend
        device = backend.device
        if not x.contiguous:
            x = backend.contiguous(x)
        weight, bias = (w if w is None or w.contiguous else backend.contiguous(w) for w in (weight, bias))
        y = backend.empty(x.shape, x.dtype)
        mean, rstd = (backend.empty((rows,), backend.dtypes.float32) for _ in range(2))
        if not numel(x.shape):
            if rows:
                for a, v in ((mean, float("nan")), (rstd, float("nan"))):
                    backend._fill(v, out=a)
            return y, mean, rstd
        small = [w for w in (weight, bias) if w is not None]
        wide = count % 4 == 0 and x.offset % 4 == 0
        wide = wide and (all(w.offset % 4 == 0 for w in small) if each == "element" else run % 4 == 0 or not small)
        form = row_form(backend.profile.rows, rows, count, count // 4 if wide else count)
        kernel = norms.build(
            backend.code(x.dtype), weight=weight and backend.code(weight.dtype), bias=bias and backend.code(bias.dtype), each=each,
            form=form, wide=wide,
        )  # fmt: skip
        words = norms.words(
            x.offset, weight.offset if weight else 0, bias.offset if bias else 0, rows, count, eps, run, groups, wide, each
        )  # fmt: skip
        handles = [a.block.handle for a in (x, *small, y, mean, rstd)]
        device.launch(device.pipeline(kernel), norms.grid(rows, form), handles, words)
        return y, mean, rstd


class Channels:
    """Batch norm: each channel by its own mean and deviation over the batch and space, or by given ones."""

    def __init__(self, backend: Any):
        self.backend = backend
        single = dtypes.float32
        self.mean = Reduction(backend, "mean", single)
        self.square = Pointwise(backend, "square_off", "(x - m) * (x - m)", ("x", "m"), single)
        self.inverse = Pointwise(backend, "inverse_deviation", "rsqrt(v + eps)", ("v", "eps"), single)
        self.scale = Pointwise(backend, "channel_scale", "rsqrt(v + eps) * w", ("v", "eps", "w"), single)
        self.shift = Pointwise(backend, "channel_shift", "b - m * s", ("b", "m", "s"), single)
        ends = {(True, True): "* w + b", (True, False): "* w", (False, True): "+ b", (False, False): ""}
        self.standard = {
            (w, b): Pointwise(
                backend, "standardised", f"(x - m) * r {end}", ("x", "m", "r", *(["w"] if w else []), *(["b"] if b else [])), "same"
            )
            for (w, b), end in ends.items()
        }  # fmt: skip
        self.affine = Pointwise(backend, "channel_affine", "x * s + t", ("x", "s", "t"), "same")

    def _spread(self, a: GpuArray, rank: int) -> GpuArray:
        """One number a channel, to broadcast to arrays of `rank` dimensions."""
        shape = (a.shape[0], *[1] * (rank - 2))
        return GpuArray(a.block, a.dtype, shape, (a.strides[0], *[0] * (rank - 2)), a.offset, rank == 2)

    def batch(self, x: GpuArray, weight: Any, bias: Any, eps: float) -> tuple[GpuArray, ...]:
        """By the batch's own moments. Returns the result, and means and reciprocal deviations [C] in float32."""
        rank = len(x.shape)
        axes = (0, *range(2, rank))
        mean = self.mean(x, axes, False)
        m = self._spread(mean, rank)
        rstd = self.inverse(self.mean(self.square(x, m), axes, False), float(eps))
        kernel = self.standard[weight is not None, bias is not None]
        more = [self._spread(a, rank) for a in (weight, bias) if a is not None]
        return kernel(x, m, self._spread(rstd, rank), *more), mean, rstd

    def given(self, x: GpuArray, weight: Any, bias: Any, mean: GpuArray, var: GpuArray, eps: float) -> GpuArray:
        """By given means and variances."""
        rank = len(x.shape)
        scale = self.scale(var, float(eps), weight if weight is not None else 1.0)
        shift = self.shift(bias if bias is not None else 0.0, mean, scale)
        return self.affine(x, self._spread(scale, rank), self._spread(shift, rank))


def register(backend: Any) -> None:
    """Enter the kernels into the backend's table."""
    rows, channels = Rows(backend), Channels(backend)
    backend.kernels["native_batch_norm"] = channels.batch
    backend.kernels["batch_norm_with_statistics"] = channels.given
    backend.kernels["native_layer_norm"] = rows.layer
    backend.kernels["native_group_norm"] = rows.group
    for kind in ("softmax", "log_softmax", "softmax_backward", "log_softmax_backward"):
        backend.kernels[kind] = AlongDimension(backend, kind)
