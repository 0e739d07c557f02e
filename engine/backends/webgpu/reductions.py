"""Launches of the reduction kernels: dimensions sorted into reduced and outer ones, and passes until one is enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....webgpu_kernels import reduce as kernels
from ....webgpu_kernels.pointwise import rank_class
from ....webgpu_kernels.wgsl import MAX_STEPS
from ... import dtypes
from .array import GpuArray, merged, numel, row_major
from .memory import TooLarge
from .pointwise import Pointwise, part, slices

_WORDS_OF_EMPTY = {"sum": 0, "mean": float("nan"), "prod": 1, "any": False, "all": True}


class Reduction:
    """The kernel of one reduction: `(array, dims, keepdim)`; with `single`, `dims` is one dimension (arg-reductions)."""

    def __init__(self, backend: Any, name: str, result: Any = None):
        self.backend = backend
        self.name = name
        self.result = result
        self.plans: dict[Any, Any] = backend.cache()

    def __call__(self, x: GpuArray, dims: Any, keepdim: bool) -> GpuArray:
        key = (x.dtype, x.shape, x.strides, x.offset & 3, dims, keepdim)
        plan = self.plans.get(key)
        if plan is None:
            if len(self.plans) > 2048:
                self.plans.clear()
            plan = self.plans[key] = self._plan(x, (dims,) if isinstance(dims, int) else tuple(dims), keepdim)
        shape, dtype, nbytes, passes = plan
        backend = self.backend
        if passes is None:
            return self._side_by_side(x, (dims,) if isinstance(dims, int) else tuple(dims), shape)
        device = backend.device
        out = GpuArray(device.pool.take(nbytes), dtype, shape, row_major(shape))
        if not passes:
            if numel(shape):
                backend._fill(_WORDS_OF_EMPTY[self.name], out=out)
            return out
        sources = [x.block]
        offset = x.offset
        try:
            handles = [x.block.handle]
        except TooLarge:
            return self._in_pieces(x, (dims,) if isinstance(dims, int) else tuple(dims), out)
        for pipeline, grid, words, unit, sizes in passes:
            targets = [device.pool.take(n) for n in sizes] if sizes else [out.block]
            words[1] = offset // unit
            device.launch(pipeline, grid, [*handles, *[b.handle for b in targets]], words)
            sources, handles, offset = targets, [b.handle for b in targets], 0
        del sources
        return out

    def _side_by_side(self, x: GpuArray, dims: tuple[int, ...], shape: tuple[int, ...]) -> GpuArray:
        """The same by way of a copy in which the elements of a result lie in one run."""
        reduced = sorted(d % len(x.shape) for d in dims)
        order = [*[d for d in range(len(x.shape)) if d not in reduced], *reduced]
        turned = GpuArray(
            x.block, x.dtype, tuple([x.shape[d] for d in order]), tuple([x.strides[d] for d in order]), x.offset, False
        )
        count = numel([x.shape[d] for d in reduced])
        lines = (numel(x.shape) // count, count)
        made = self(GpuArray(self.backend.contiguous(turned).block, x.dtype, lines, row_major(lines)), (1,), False)
        return GpuArray(made.block, made.dtype, shape, row_major(shape))

    def _plan(self, x: GpuArray, dims: Sequence[int], keepdim: bool) -> tuple[Any, ...]:
        backend = self.backend
        rank = len(x.shape)
        reduced = {d % rank for d in dims} if rank else set()
        shape = tuple([1 if d in reduced else s for d, s in enumerate(x.shape) if keepdim or d not in reduced])
        dtype = self.result or x.dtype
        code, out_code = backend.code(x.dtype), backend.code(dtype)
        outputs = numel([s for d, s in enumerate(x.shape) if d not in reduced])
        count = numel([s for d, s in enumerate(x.shape) if d in reduced])
        nbytes = outputs * kernels.TYPES[out_code].itemsize
        if not outputs or not count:
            return shape, dtype, nbytes, ()
        outer_sizes, (outer_steps,) = merged(
            tuple([s for d, s in enumerate(x.shape) if d not in reduced]),
            [tuple([t for d, t in enumerate(x.strides) if d not in reduced])],
        )
        sizes, (steps,) = merged(
            tuple([s for d, s in enumerate(x.shape) if d in reduced]),
            [tuple([t for d, t in enumerate(x.strides) if d in reduced])],
        )
        outer = list(zip(outer_sizes, outer_steps))[::-1]
        inner = list(zip(sizes, steps))[::-1]
        if len(inner) > 1:
            # The dimension that is split among threads: the contiguous one, unless it is short and another is long.
            best = max(range(len(inner)), key=lambda i: inner[i][0] if inner[i][1] != 1 else 4 * inner[i][0])
            inner.insert(0, inner.pop(best))
        (size, step), others = inner[0], inner[1:]
        ranks = rank_class(len(others), kernels.INNER_RANKS), rank_class(len(outer), kernels.OUTER_RANKS)
        wide = (
            step == 1 and size % 4 == 0 and x.offset % 4 == 0
            and all(t % 4 == 0 for _, t in others) and all(t % 4 == 0 or n == 1 for n, t in outer)
        )  # fmt: skip
        columns = not wide and step != 1 and outer[0][1] == 1 and outer[0][0] >= 16
        form = "serial" if columns and outputs >= 256 else backend.profile.rows
        splits = kernels.splits_for(outputs, count, size // 4 if wide else size, form)
        walk = (size // 4 if wide else size) * (count // size)  # what one thread would take without splits
        if form != "tree" and walk > MAX_STEPS * splits:
            if len(inner) > 1:
                return (
                    shape,
                    dtype,
                    nbytes,
                    None,
                )  # too many short runs for one thread: they are laid side by side first
            splits = -(-walk // MAX_STEPS)
        return (
            shape,
            dtype,
            nbytes,
            tuple(
                self._passes(
                    code, out_code, outputs, count, size, step, others, outer, ranks, wide, columns, form, splits
                )
            ),
        )

    def _passes(
        self, code: str, out_code: str, outputs: int, count: int, size: int, step: int, others: Any, outer: Any,
        ranks: tuple[int, int], wide: bool, columns: bool, form: str, splits: int,
    ) -> list[tuple[int, Any, list[int], int, list[int]]]:  # fmt: skip
        device = self.backend.device
        partial = False
        passes = []
        item = 4
        arg = self.name in ("argmax", "argmin")
        while True:
            last = splits == 1
            kernel = kernels.build(
                self.name, code, out_code, form=form, partial=partial, last=last, columns=columns and form == "serial", wide=wide,
                outer=ranks[1], inner=ranks[0],
            )  # fmt: skip
            words = kernels.words(0, 0, outputs, splits, size, count, step, others, outer, ranks, wide)
            targets = [] if last else [outputs * splits * item] * (2 if arg else 1)
            passes.append(
                (device.pipeline(kernel), kernels.grid(outputs, splits, form), list(words), 4 if wide else 1, targets)
            )
            if last:
                return passes
            size, step, others, outer, ranks = splits, 1, [], [(outputs, splits)], (0, 1)
            partial, columns = True, False
            wide = size % 4 == 0
            form = self.backend.profile.rows
            splits = kernels.splits_for(outputs, size, size // 4 if wide else size, form)

    def _in_pieces(self, x: GpuArray, dims: tuple[int, ...], out: GpuArray) -> GpuArray:
        """The same for an array that no binding holds: slice by slice, merged where the slices cut a reduced dimension."""
        backend = self.backend
        rows = slices(backend, x.shape, [x])
        dim = rows[0][0]
        parts = [self._kept(part(backend, x, x.shape, *r), dims) for r in rows]
        reduced = {d % len(x.shape) for d in dims}
        kept = tuple([1 if d in reduced else s for d, s in enumerate(x.shape)])
        whole = GpuArray(out.block, out.dtype, kept, row_major(kept), out.offset)
        if dim not in reduced:
            for r, p in zip(rows, parts):
                backend.copy(part(backend, whole, kept, *r), p)
            return out
        if self.name in ("argmax", "argmin"):
            return self._best_of(x, dim, rows, parts, whole, out)
        join = backend.joins.get(self.name)
        total = parts[0]
        for r, p in zip(rows[1:], parts[1:]):
            if self.name == "mean":  # weighted by how many rows each part has seen
                seen, more = r[1], r[2] - r[1]
                total = backend.joins["weighted"](total, p, seen / (seen + more), more / (seen + more))
            else:
                total = join(total, p)
        backend.copy(whole, total)
        return out

    def _best_of(
        self, x: GpuArray, dim: int, rows: Any, parts: list[GpuArray], whole: GpuArray, out: GpuArray
    ) -> GpuArray:
        """The place of the extreme of all slices, of the places in each."""
        backend = self.backend
        extreme = backend.kernels["amax" if self.name == "argmax" else "amin"]
        best, value = parts[0], None
        for r, place in zip(rows, parts):
            found = extreme(part(backend, x, x.shape, *r), (dim,), True)
            if value is None:
                value = found
                continue
            best = backend.joins[self.name](value, found, best, place, r[1])
            value = backend.joins["amax" if self.name == "argmax" else "amin"](value, found)
        backend.copy(whole, best)
        return out

    def _kept(self, x: GpuArray, dims: tuple[int, ...]) -> GpuArray:
        return self(x, dims if self.name not in ("argmax", "argmin") else dims[0], True)


def register(backend: Any) -> None:
    """Enter the reductions into the backend's table."""
    for name in ("sum", "mean", "prod", "amax", "amin"):
        backend.kernels[name] = Reduction(backend, name)
    for name in ("any", "all"):
        backend.kernels[name] = Reduction(backend, name, dtypes.bool_)
    for name in ("argmax", "argmin"):
        backend.kernels[name] = Reduction(backend, name, dtypes.int64)
    join = {
        "sum": "x + y",
        "prod": "x * y",
        "amax": "maximum(x, y)",
        "amin": "minimum(x, y)",
        "any": "x | y",
        "all": "x & y",
    }
    backend.joins = {n: Pointwise(backend, f"join_{n}", e, ("x", "y"), "same") for n, e in join.items()}
    for name, sign in (("argmax", ">"), ("argmin", "<")):
        later = f"where(isnan(y), logical_not(isnan(x)), logical_and(y {sign} x, logical_not(isnan(x))))"
        backend.joins[name] = Pointwise(
            backend,
            f"join_{name}",
            f"where({later}, j + start, i)",
            ("x", "y", "i", "j", "start"),
            dtypes.int64,
            first=2,
        )
    backend.joins["weighted"] = Pointwise(backend, "join_mean", "x * a + y * b", ("x", "y", "a", "b"), "same")
