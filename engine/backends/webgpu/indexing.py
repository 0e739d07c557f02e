"""Launches of the kernels that move elements by integer tensors, and of those made of copies: cat, windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....webgpu_kernels import indexing as kernels
from ....webgpu_kernels.wgsl import MAX_STEPS
from .array import GpuArray, OnHost, broadcast, is_row_major, numel, row_major, span, spread
from .device import COUNT_FROM_THE_END

LINK_LIMIT = 1024
"""Source rows up to which chains are found in quadratic time; above, the keys are sorted."""
WALK_LIMIT = 256
"""Elements of a dimension up to which each output of a scatter walks all sources along it; above, sources get keys."""


class Indexing:
    """The index operators of one backend."""

    def __init__(self, backend: Any):
        self.backend = backend

    # -- reading ------------------------------------------------------------------------------------------------

    def _take(
        self, op: str, x: GpuArray, shape: tuple[int, ...], strides: Sequence[int],
        indices: Sequence[tuple[GpuArray, int, int, Sequence[int]]],
    ) -> GpuArray:  # fmt: skip
        """`indices` are (array, size of the dimension, stride in x, strides in the output's dimensions)."""
        backend = self.backend
        device = backend.device
        out = backend.empty(shape, x.dtype)
        if not numel(shape):
            return out
        if not all(size for _, size, _, _ in indices):
            raise IndexError(f"{op}: there is nothing to take from a dimension of size 0")
        fault, code = device.guard(op, self._unknown(op, [(i, s) for i, s, _, _ in indices]))
        known = x.block.bounds
        out.block.bounds = None if known is None else (known[0], known[1], False)
        words, rank = kernels.take_words(
            shape, code, x.offset, strides, [(i.offset, size, step, steps) for i, size, step, steps in indices]
        )
        kernel = kernels.take(backend.code(x.dtype), tuple(backend.code(i.dtype) for i, *_ in indices), rank)
        handles = [x.block.handle, *[i.block.handle for i, *_ in indices], fault, out.block.handle]
        device.launch(device.pipeline(kernel), kernels.grid(numel(shape)), handles, words)
        return out

    def index_select(self, x: GpuArray, index: GpuArray, dim: int) -> GpuArray:
        """The parts of x at the places of a vector along `dim`."""
        n = numel(index.shape)
        shape = (*x.shape[:dim], n, *x.shape[dim + 1 :])
        strides = [0 if d == dim else s for d, s in enumerate(x.strides)]
        steps = [0] * len(shape)
        steps[dim] = index.strides[0] if index.strides else 0
        return self._take("index_select", x, shape, strides, [(index, x.shape[dim], x.strides[dim], steps)])

    def gather(self, x: GpuArray, index: GpuArray, dim: int) -> GpuArray:
        """out[c] = x[c with index[c] for c_dim]."""
        if not x.shape:
            return self.backend.contiguous(
                GpuArray(x.block, x.dtype, index.shape, (0,) * len(index.shape), x.offset, False)
            )
        strides = [0 if d == dim else s for d, s in enumerate(x.strides)]
        return self._take("gather", x, index.shape, strides, [(index, x.shape[dim], x.strides[dim], index.strides)])

    def index(self, x: GpuArray, indices: tuple[Any, ...]) -> GpuArray:
        """x[indices] with an integer array or None for each dimension."""
        arrays = self._arrays(indices)
        at, common, shape, place = _layout(x.shape, arrays)
        strides = [0] * len(shape)
        rest = [d for d in range(len(x.shape)) if d not in at]
        for d, where in zip(rest, place.rest):
            strides[where] = x.strides[d]
        used = []
        for d in at:
            i = arrays[d]
            assert i is not None
            steps = [0] * len(shape)
            for c, s in enumerate(spread(i.shape, i.strides, common)):
                steps[place.common + c] = s
            used.append((i, x.shape[d], x.strides[d], steps))
        if len(used) <= kernels.MAX_INDICES:
            return self._take("index", x, shape, strides, used)
        raise RuntimeError(
            f"indexing with {len(used)} tensors at once is more than the webgpu device can bind; use device='cpu'"
        )

    def _unknown(self, op: str, indices: Sequence[tuple[GpuArray, int]]) -> str | None:
        """What to say of an index out of range, or None where all are known to be in range.

        Raises at once where a whole tensor of indices came from the host with one that is not.
        """
        unknown = False
        for i, size in indices:
            bounds = i.block.bounds
            least = -size if op in COUNT_FROM_THE_END else 0
            if bounds is None:
                unknown = True
            elif bounds[0] < least or bounds[1] >= size:
                if not bounds[2] or numel(i.shape) * 4 != i.block.nbytes:
                    unknown = True
                    continue
                bad = bounds[0] if bounds[0] < least else bounds[1]
                kind = RuntimeError if op in ("gather", "scatter", "scatter_add", "scatter_reduce") else IndexError
                raise kind(f"index {bad} is out of bounds for dimension with size {size}")
        return _out_of_range([s for _, s in indices]) if unknown else None

    def _arrays(self, indices: Sequence[Any]) -> list[GpuArray | None]:
        """Index tensors as arrays of this device."""
        out: list[GpuArray | None] = []
        for i in indices:
            a = getattr(i, "_data", i)
            if isinstance(a, np.ndarray):
                a = self.backend.upload(a, self.backend.dtypes.of_numpy(a.dtype))
            out.append(a)
        return out

    # -- writing ------------------------------------------------------------------------------------------------

    def index_put(self, x: GpuArray, values: GpuArray, indices: tuple[Any, ...], accumulate: bool) -> GpuArray:
        """x with `values` (of the shape of x[indices], or broadcast to it) written or added at the places."""
        arrays = self._arrays(indices)
        at, common, shape, place = _layout(x.shape, arrays)
        rest = [d for d in range(len(x.shape)) if d not in at]
        # Source rows: the values with the indices' dimensions in front.
        strides = spread(values.shape, values.strides, shape)
        order = [place.common + c for c in range(len(common))] + list(place.rest)
        rows = tuple([shape[o] for o in order])
        source = self._row_major(
            GpuArray(values.block, values.dtype, rows, tuple([strides[o] for o in order]), values.offset, False)
        )
        key_strides, step = [0] * len(x.shape), 1
        for d in reversed(at):
            key_strides[d], step = step, step * x.shape[d]
        used = []
        for d in at:
            i = arrays[d]
            assert i is not None
            used.append((i, x.shape[d], key_strides[d], spread(i.shape, i.strides, common)))
        within, width = [0] * len(x.shape), 1
        for d in reversed(rest):
            within[d], width = width, width * x.shape[d]
        kind = "sum" if accumulate else "put"
        return self._write_rows("index_put", x, source, used, common, key_strides, within, width, step, kind)

    def index_add(self, x: GpuArray, index: GpuArray, source: GpuArray, dim: int) -> GpuArray:
        """x with the parts of `source` added at the places of a vector along `dim`."""
        return self._index_combine("index_add", x, index, source, dim, "sum", True)

    def index_reduce(
        self, x: GpuArray, index: GpuArray, source: GpuArray, dim: int, reduce: str, include_self: bool
    ) -> GpuArray:
        """x with the parts of `source` combined into the places of an index, which has the shape of the source."""
        return self._scatter("index_reduce", x, index, source, dim, reduce, include_self)

    def _index_combine(
        self, op: str, x: GpuArray, index: GpuArray, source: GpuArray, dim: int, kind: str, include: bool
    ) -> GpuArray:
        order = [dim, *[d for d in range(len(x.shape)) if d != dim]]
        rows = GpuArray(
            source.block, source.dtype, tuple([source.shape[o] for o in order]), tuple([source.strides[o] for o in order]), source.offset,
            False,
        )  # fmt: skip
        keys, within, width = [0] * len(x.shape), [0] * len(x.shape), 1
        keys[dim] = 1
        for d in reversed(order[1:]):
            within[d], width = width, width * x.shape[d]
        n = numel(index.shape)
        flat = GpuArray(index.block, index.dtype, (n,), index.strides or (0,), index.offset)
        used = [(flat, x.shape[dim], 1, flat.strides)]
        return self._write_rows(
            op, x, self._row_major(rows), used, (n,), keys, within, width, x.shape[dim], kind, include
        )

    def _row_major(self, a: GpuArray) -> GpuArray:
        if is_row_major(a.shape, a.strides):
            return GpuArray(a.block, a.dtype, a.shape, row_major(a.shape), a.offset)
        return self.backend.contiguous(a)

    def _write_rows(
        self, op: str, x: GpuArray, source: GpuArray, indices: Sequence[Any], common: tuple[int, ...], key_strides: Sequence[int],
        within: Sequence[int], width: int, count: int, kind: str, include: bool = True,
    ) -> GpuArray:  # fmt: skip
        backend = self.backend
        device = backend.device
        n = numel(common)
        if not n or not numel(x.shape):
            return backend.contiguous(x)
        if len(indices) > kernels.MAX_INDICES:
            raise RuntimeError(
                f"{op} with {len(indices)} index tensors is more than the webgpu device can bind; use device='cpu'"
            )
        fault, code = device.guard(op, self._unknown(op, [(i, s) for i, s, _, _ in indices]))
        words, rank = kernels.keys_words(
            common, code, [(i.offset, size, step, steps) for i, size, step, steps in indices]
        )
        key = device.pool.take(4 * n)
        kernel = kernels.keys(tuple(backend.code(i.dtype) for i, *_ in indices), rank)
        device.launch(
            device.pipeline(kernel), kernels.grid(n), [*[i.block.handle for i, *_ in indices], fault, key.handle], words
        )  # fmt: skip
        return self._by_keys(x, source, key, n, count, key_strides, within, width, kind, include)

    def _by_keys(
        self, x: GpuArray, source: GpuArray, key: Any, n: int, count: int, key_strides: Sequence[int], within: Sequence[int],
        width: int, kind: str, include: bool,
    ) -> GpuArray:  # fmt: skip
        """x with `n` source rows combined into it by their keys, of which there are `count`."""
        backend = self.backend
        device = backend.device
        if n > MAX_STEPS and (kind == "mean" or not include):
            raise OnHost(f"{n} sources are more than its kernel takes")
        heads = device.pool.take(4 * count)
        device.clear_bytes(heads.handle, 0, 4 * count)
        nexts = None
        if kind == "put":
            device.launch(device.pipeline(kernels.owners()), kernels.grid(n), [key.handle, heads.handle], [n])
        else:
            nexts = device.pool.take(4 * n)
            self._chain(key, heads, nexts, n)
        out = backend.empty(x.shape, x.dtype)
        words, rank = kernels.by_rows_words(
            x.shape, x.offset, source.offset, width, MAX_STEPS, x.strides, key_strides, within
        )
        handles = [source.block.handle, heads.handle, *([nexts.handle] if nexts else []), out.block.handle]
        made = kernels.by_rows(backend.code(x.dtype), rank, kind, include=include)
        grid = kernels.grid(numel(x.shape))
        device.launch(device.pipeline(made), grid, [x.block.handle, *handles], words)
        if nexts is not None:
            for _ in range(MAX_STEPS, n, MAX_STEPS):
                device.launch(
                    device.pipeline(kernels.advance()), kernels.grid(count), [heads.handle, nexts.handle], [count, MAX_STEPS]
                )  # fmt: skip
                made = kernels.by_rows(backend.code(x.dtype), rank, kind, more=True)
                device.launch(device.pipeline(made), grid, handles, words)
        return out

    def _chain(self, key: Any, heads: Any, nexts: Any, n: int) -> None:
        """Chain the sources of each key in ascending order."""
        device = self.backend.device
        if n <= LINK_LIMIT:
            device.launch(
                device.pipeline(kernels.links()), kernels.grid(n), [key.handle, heads.handle, nexts.handle], [n], n * n // 8
            )  # fmt: skip
            return
        keys, places = self.backend.order.keys(GpuArray(key, self.backend.dtypes.int32, (n,), (1,)), 0)
        device.launch(
            device.pipeline(kernels.chains()), kernels.grid(n), [keys.handle, places.handle, heads.handle, nexts.handle], [n]
        )  # fmt: skip

    def scatter(self, x: GpuArray, index: GpuArray, src: GpuArray, dim: int) -> GpuArray:
        """x with src[c] written at [index[c]] along `dim`; of several writes to one place the last counts."""
        return self._scatter("scatter", x, index, src, dim, "put")

    def scatter_add(self, x: GpuArray, index: GpuArray, src: GpuArray, dim: int) -> GpuArray:
        """x with src[c] added at [index[c]] along `dim`."""
        return self._scatter("scatter_add", x, index, src, dim, "sum")

    def scatter_reduce(
        self, x: GpuArray, index: GpuArray, src: GpuArray, dim: int, reduce: str, include_self: bool
    ) -> GpuArray:
        """x with src[c] combined into [index[c]] along `dim`."""
        return self._scatter("scatter_reduce", x, index, src, dim, reduce, include_self)

    def _scatter(
        self, op: str, x: GpuArray, index: GpuArray, src: GpuArray, dim: int, kind: str, include: bool = True
    ) -> GpuArray:
        backend = self.backend
        device = backend.device
        if not numel(index.shape) or not numel(x.shape):
            return backend.contiguous(x)
        rest = [d for d in range(len(x.shape)) if d != dim]
        if rest and kind != "put" and all(not index.strides[d] and index.shape[d] == x.shape[d] for d in rest):
            # One list of places for all columns.
            line = GpuArray(index.block, index.dtype, (index.shape[dim],), (index.strides[dim],), index.offset)
            part = GpuArray(src.block, src.dtype, index.shape, src.strides, src.offset, False)
            return self._index_combine(op, x, line, part, dim, kind, include)
        fault, code = device.guard(op, self._unknown(op, [(index, x.shape[dim])]))
        sources = numel(index.shape)
        if min(x.shape[dim], index.shape[dim]) > WALK_LIMIT or index.shape[dim] > MAX_STEPS:
            steps = row_major(x.shape)
            words, rank = kernels.scatter_keys_words(
                index.shape, code, index.offset, x.shape[dim], steps[dim], index.strides,
                [0 if d == dim else s for d, s in enumerate(steps)],
            )  # fmt: skip
            key = device.pool.take(4 * sources)
            made = kernels.scatter_keys(backend.code(index.dtype), rank)
            device.launch(device.pipeline(made), kernels.grid(sources), [index.block.handle, fault, key.handle], words)
            used = self._row_major(GpuArray(src.block, src.dtype, index.shape, src.strides, src.offset, False))
            return self._by_keys(x, used, key, sources, numel(x.shape), steps, [0] * len(x.shape), 1, kind, include)
        out = backend.empty(x.shape, x.dtype)
        words, rank = kernels.scatter_words(
            x.shape, code, (x.offset, index.offset, src.offset), dim, index.shape, x.strides, index.strides, src.strides
        )
        kernel = kernels.scatter(backend.code(x.dtype), backend.code(index.dtype), rank, kind, include=include)
        handles = [x.block.handle, index.block.handle, src.block.handle, fault, out.block.handle]
        n = numel(x.shape)
        device.launch(device.pipeline(kernel), kernels.grid(n), handles, words, n * index.shape[dim])
        return out

    def nll_loss(self, x: GpuArray, target: GpuArray, weight: GpuArray | None, ignore: int) -> GpuArray:
        """-x[i, target[i]] for each row, times the class's weight; 0 for targets to ignore."""
        backend = self.backend
        device = backend.device
        n, classes = x.shape
        out = backend.empty((n,), x.dtype)
        if not n:
            return out
        bounds = target.block.bounds
        known = bounds is not None and bounds[0] >= 0 and bounds[1] < classes
        fault, code = device.guard("nll_loss", None if known else "Target {index} is out of bounds.")
        kernel = kernels.nll(
            backend.code(x.dtype), backend.code(target.dtype), None if weight is None else backend.code(weight.dtype)
        )
        words = [
            n, code, x.offset, target.offset, weight.offset if weight else 0, *x.strides, target.strides[0],
            weight.strides[0] if weight else 0, classes, ignore & 0xFFFFFFFF,
        ]  # fmt: skip
        handles = [
            x.block.handle,
            target.block.handle,
            *([weight.block.handle] if weight else []),
            fault,
            out.block.handle,
        ]
        device.launch(device.pipeline(kernel), kernels.grid(n), handles, words)
        return out

    # -- made of copies -----------------------------------------------------------------------------------------

    def cat(self, arrays: Sequence[GpuArray], dim: int) -> GpuArray:
        """Arrays one after another along `dim`: a copy each, so that their number has no limit."""
        backend = self.backend
        first = arrays[0]
        shape = (*first.shape[:dim], sum([a.shape[dim] for a in arrays]), *first.shape[dim + 1 :])
        out = backend.empty(shape, first.dtype)
        start = 0
        for a in arrays:
            if numel(a.shape):
                window = GpuArray(
                    out.block,
                    out.dtype,
                    a.shape,
                    out.strides,
                    start * out.strides[dim],
                    is_row_major(a.shape, out.strides),
                )
                backend.copy(window, a)
            start += a.shape[dim]
        return out

    def stack(self, arrays: Sequence[GpuArray], dim: int) -> GpuArray:
        """Arrays of one shape along a new dimension."""

        def wide(a: GpuArray) -> GpuArray:
            step = a.strides[dim] * a.shape[dim] if dim < len(a.shape) else 1
            shape, strides = (*a.shape[:dim], 1, *a.shape[dim:]), (*a.strides[:dim], step, *a.strides[dim:])
            return GpuArray(a.block, a.dtype, shape, strides, a.offset, a.contiguous)

        return self.cat([wide(a) for a in arrays], dim)

    def write_window(
        self, x: GpuArray, source: GpuArray, size: tuple[int, ...], stride: tuple[int, ...], offset: int
    ) -> GpuArray:
        """A row-major copy of x with `source` written into the window of these sizes and strides. Raises ValueError where it reaches beyond x."""
        if offset < 0 or min(stride, default=0) < 0 or offset + span(tuple(size), tuple(stride)) > numel(x.shape):
            raise ValueError(
                f"a window of sizes {list(size)}, strides {list(stride)} and offset {offset} reaches beyond the {numel(x.shape)} elements of x"
            )
        out = self.backend.contiguous(x)
        if numel(size):
            self.backend.copy(
                GpuArray(out.block, out.dtype, tuple(size), tuple(stride), offset, is_row_major(size, stride)), source
            )
        return out


class _Place:
    """Where the dimensions of an advanced index's result come from."""

    def __init__(self, common: int, rest: Sequence[int]):
        self.common = common
        self.rest = tuple(rest)


def _layout(
    shape: tuple[int, ...], arrays: Sequence[GpuArray | None]
) -> tuple[list[int], tuple[int, ...], tuple[int, ...], _Place]:
    """Indexed dimensions, the indices' common shape, the result's shape, and the places of both in it."""
    at = [d for d, a in enumerate(arrays) if a is not None]
    common = broadcast(*[a.shape for a in arrays if a is not None])
    rest = [d for d in range(len(shape)) if d not in at]
    before = 0
    if at and at[-1] - at[0] + 1 == len(at):
        before = at[0]
    sizes = [shape[d] for d in rest]
    result = (*sizes[:before], *common, *sizes[before:])
    places = [*range(before), *range(before + len(common), before + len(common) + len(rest) - before)]
    return at, common, result, _Place(before, places)


def _out_of_range(sizes: Sequence[int]) -> str:
    which = f"size {sizes[0]}" if len(set(sizes)) == 1 else f"one of the sizes {list(sizes)}"
    return "index {index} is out of bounds for dimension with " + which


def register(backend: Any) -> None:
    """Enter the index operators into the backend's table."""
    from .pointwise import Pointwise

    indexing = Indexing(backend)
    for name in (
        "index_select",
        "gather",
        "index",
        "index_put",
        "index_add",
        "scatter",
        "scatter_add",
        "scatter_reduce",
        "index_reduce",
        "nll_loss",
        "cat",
        "stack",
    ):
        backend.kernels[name] = getattr(indexing, name)
    backend.kernels["as_strided_scatter"] = indexing.write_window
    backend.kernels["where"] = Pointwise(backend, "where", "where(c, x, y)", ("c", "x", "y"), "same", first=1)
