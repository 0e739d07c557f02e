"""Launches of the reduced negative log-likelihood of classes, of logarithms of probabilities or of logits, and of its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....webgpu_kernels import losses as kernels
from ....webgpu_kernels import softmax
from ....webgpu_kernels.pointwise import rank_class
from ....webgpu_kernels.wgsl import fold
from ... import dtypes
from .array import GpuArray, OnHost, merged, numel
from .memory import TooLarge
from .normalise import row_form


class ClassLoss:
    """For logarithms of probabilities, or logits with moments, [N, C, ...] and targets [N, ...]; no array may be empty."""

    def __init__(self, backend: Any):
        self.backend = backend

    def _flat(self, a: GpuArray, first: int) -> tuple[GpuArray, list[int]]:
        """The array with its dimensions from `first` on as one (a copy where they cannot be), and (that size, offset, strides)."""
        sizes, (steps,) = merged(a.shape[first:], [a.strides[first:]])
        if len(sizes) > 1:
            a = self.backend.contiguous(a)
            sizes, (steps,) = merged(a.shape[first:], [a.strides[first:]])
        return a, [sizes[0], a.offset, *a.strides[:first], steps[0]]

    def _add(
        self,
        x: GpuArray | None,
        target: GpuArray,
        weight: GpuArray | None,
        ignore: int,
        end: str,
        result: Any,
        moments: GpuArray | None = None,
    ) -> GpuArray:
        backend = self.backend
        device = backend.device
        rows = numel(target.shape)
        target, (space, *place) = self._flat(target, 1)
        words = [rows, ignore & 0xFFFFFFFF, space, *place]
        handles: list[int] = []
        tail: list[int] = []
        if x is not None:
            classes = x.shape[1]
            bounds = target.block.bounds
            known = bounds is not None and bounds[0] >= 0 and bounds[1] < classes
            x, (_, *at) = self._flat(x, 2)
            fault, code = device.guard("nll_loss", None if known else "Target {index} is out of bounds.")
            words += [code, classes, *at]
            handles, tail = [x.block.handle], [fault, *([moments.block.handle] if moments else [])]
        handles.append(target.block.handle)
        if weight is not None:
            words += [weight.offset, weight.strides[0]]
            handles.append(weight.block.handle)
        groups = kernels.groups(rows)
        out = backend.empty((), result)
        last = groups == 1
        made = out if last else backend.empty((groups, 2), dtypes.float32)
        kernel = kernels.total(
            None if x is None else backend.code(x.dtype), backend.code(target.dtype),
            None if weight is None else backend.code(weight.dtype), backend.code(result) if last else None, end,
            moments is not None,
        )  # fmt: skip
        device.launch(device.pipeline(kernel), fold(groups), [*handles, *tail, made.block.handle], words)
        if not last:
            kernel = kernels.merge(backend.code(result), end)
            device.launch(device.pipeline(kernel), (1, 1, 1), [made.block.handle, out.block.handle], [groups])
        return out

    def total(self, x: GpuArray, target: GpuArray, weight: GpuArray | None, ignore: int, reduction: str) -> GpuArray:
        """The sum or mean of the losses, a 0-d array of the dtype of `x`."""
        return self._add(x, target, weight, ignore, reduction, x.dtype)

    def _walk(self, kind: str, x: GpuArray, out: GpuArray | None, handles: Any, target: int) -> None:
        """Launch a kernel of the softmax family over the rows of classes of x; `out` where it is strided as x may be."""
        backend = self.backend
        arrays = [x] if out is None else [out, x]
        rest = [0, *range(2, len(x.shape))]
        sizes, strides = merged(
            tuple([x.shape[d] for d in rest]), [tuple([a.strides[d] for d in rest]) for a in arrays]
        )
        count, steps, rows = x.shape[1], [a.strides[1] for a in arrays], numel(x.shape) // x.shape[1]
        wide = (
            count % 4 == 0 and all([s == 1 for s in steps]) and x.offset % 4 == 0 and all([t % 4 == 0 for s in strides for t in s])
        )  # fmt: skip
        outer = rank_class(len(sizes), softmax.OUTER_RANKS)
        form = row_form(backend.profile.rows, rows, count, count // 4 if wide else count)
        kernel = softmax.build(kind, backend.code(x.dtype), form=form, wide=wide, outer=outer)
        words = softmax.words([a.offset for a in arrays], count, steps, sizes, strides, wide, outer)
        device = backend.device
        device.launch(device.pipeline(kernel), softmax.grid(rows, form), [x.block.handle, *handles, target], words)

    def moments(self, x: GpuArray) -> GpuArray:
        """The maximum and the logarithm of the sum of exponentials (beside it) of each row of classes: float32 [rows, 2]."""
        out = self.backend.empty((numel(x.shape) // x.shape[1], 2), dtypes.float32)
        self._walk("moments", x, None, [], out.block.handle)
        return out

    def cross_entropy(
        self, x: GpuArray, target: GpuArray, weight: GpuArray | None, moments: GpuArray, ignore: int, reduction: str
    ) -> GpuArray:
        """The sum or mean of the losses of logits."""
        return self._add(x, target, weight, ignore, reduction, x.dtype, moments)

    def cross_entropy_slope(
        self,
        g: GpuArray,
        x: GpuArray,
        target: GpuArray,
        weight: GpuArray | None,
        moments: GpuArray,
        ignore: int,
        reduction: str,
    ) -> GpuArray:
        """The gradient of a sum or mean by the logits."""
        backend = self.backend
        rows = numel(target.shape)
        factors, chosen = backend.empty((rows,), dtypes.float32), backend.empty((rows,), dtypes.int32)
        self._slope(g, target, weight, x.shape[1], ignore, reduction, [factors.block.handle, chosen.block.handle])
        out = backend.empty(x.shape, x.dtype)
        self._walk("cross_entropy", x, out, [a.block.handle for a in (moments, factors, chosen)], out.block.handle)
        return out

    def slope(
        self,
        g: GpuArray,
        target: GpuArray,
        weight: GpuArray | None,
        shape: tuple[int, ...],
        ignore: int,
        reduction: str,
    ) -> GpuArray:
        """The gradient by the logarithms, of `shape`, for one of the reduction ("none": of each row)."""
        out = self.backend.full(shape, 0.0, g.dtype)
        self._slope(g, target, weight, shape[1], ignore, reduction, [out.block.handle])
        return out

    def _slope(
        self,
        g: GpuArray,
        target: GpuArray,
        weight: GpuArray | None,
        classes: int,
        ignore: int,
        reduction: str,
        results: list[int],
    ) -> None:
        backend = self.backend
        device = backend.device
        divisor = None
        if reduction == "mean":
            divisor = self._add(None, target, weight, ignore, "weights", dtypes.float32)
        if reduction == "none":
            g, (_, *at) = self._flat(g, 1)
        else:
            at = [g.offset, 0, 0]
        rows = numel(target.shape)
        target, place = self._flat(target, 1)
        words = [rows, ignore & 0xFFFFFFFF, *place, classes, *at]
        handles = [g.block.handle, target.block.handle]
        if weight is not None:
            words += [weight.offset, weight.strides[0]]
            handles.append(weight.block.handle)
        if divisor is not None:
            handles.append(divisor.block.handle)
        kernel = kernels.slope(
            backend.code(g.dtype), backend.code(target.dtype), None if weight is None else backend.code(weight.dtype),
            divisor is not None, len(results) == 1,
        )  # fmt: skip
        device.launch(device.pipeline(kernel), kernels.grid(rows), [*handles, *results], words)


def register(backend: Any) -> None:
    """Enter the kernels into the backend's table."""
    loss = ClassLoss(backend)
    backend.kernels["nll_total"] = _or_none(loss.total)
    backend.kernels["nll_slope"] = _or_none(loss.slope)
    backend.kernels["row_moments"] = _or_none(loss.moments)
    backend.kernels["cross_entropy"] = _or_none(loss.cross_entropy)
    backend.kernels["cross_entropy_slope"] = _or_none(loss.cross_entropy_slope)


def _or_none(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, which gives None where its operator must be made of others."""

    def either(*args: Any) -> Any:
        try:
            return kernel(*args)
        except (OnHost, TooLarge):
            return None

    return either
