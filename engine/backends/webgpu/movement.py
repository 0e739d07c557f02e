"""Operators that only move elements: flips, rolls, repeats, paddings, triangles, diagonals.

Most are copies between windows with other strides (a flip is a copy from negative ones), or reads by a few indices that the
host works out from sizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from .array import GpuArray, is_row_major, numel, row_major
from .indexing import Indexing
from .pointwise import Pointwise

Ints = tuple[int, ...]


class Movement:
    """These operators of one backend."""

    def __init__(self, backend: Any):
        self.backend = backend
        self.indexing = Indexing(backend)
        self._triangles: dict[Any, Pointwise] = {}
        self._lines: dict[Any, GpuArray] = backend.cache()

    def _window(self, a: GpuArray, shape: Sequence[int], strides: Sequence[int], offset: int) -> GpuArray:
        shape, strides = tuple(shape), tuple(strides)
        return GpuArray(a.block, a.dtype, shape, strides, offset, is_row_major(shape, strides))

    # -- order --------------------------------------------------------------------------------------------------

    def flip(self, x: GpuArray, dims: Ints) -> GpuArray:
        """The elements in reverse order along `dims`."""
        turned = {d % max(len(x.shape), 1) for d in dims}
        strides = [-s if d in turned else s for d, s in enumerate(x.strides)]
        offset = x.offset + sum([(x.shape[d] - 1) * x.strides[d] for d in turned if x.shape])
        return self.backend.contiguous(self._window(x, x.shape, strides, offset if numel(x.shape) else 0))

    def rot90(self, x: GpuArray, k: int, dims: Ints) -> GpuArray:
        """Quarter turns in the plane of two dimensions."""
        a, b = (d % len(x.shape) for d in dims)
        order = list(range(len(x.shape)))
        order[a], order[b] = b, a
        if k % 4 == 2:
            return self.flip(x, (a, b))
        if k % 2:
            turned = self._window(x, [x.shape[o] for o in order], [x.strides[o] for o in order], x.offset)
            return self.flip(turned, (a,) if k % 4 == 1 else (b,))
        return self.backend.contiguous(x)

    def roll(self, x: GpuArray, shifts: Ints, dims: Ints | None) -> GpuArray:
        """The elements moved on, those beyond the end to the beginning."""
        if dims is None or not len(dims):
            flat = self.backend.contiguous(x)
            n = numel(x.shape)
            made = self.roll(self._window(flat, (n,), (1,), 0), (sum(shifts),), (0,))
            return GpuArray(made.block, x.dtype, x.shape, row_major(x.shape))
        out = self.backend.empty(x.shape, x.dtype)
        if not numel(x.shape):
            return out
        by = [0] * len(x.shape)
        for s, d in zip(shifts, dims):
            by[d] = (by[d] + s) % x.shape[d]
        cuts = [[(0, n - b, b), (n - b, n, b - n)] if b else [(0, n, 0)] for n, b in zip(x.shape, by)]
        for pieces in itertools.product(*cuts):
            sizes = [end - start for start, end, _ in pieces]
            source = x.offset + sum([p[0] * s for p, s in zip(pieces, x.strides)])
            target = sum([(p[0] + p[2]) * s for p, s in zip(pieces, out.strides)])
            self.backend.copy(self._window(out, sizes, out.strides, target), self._window(x, sizes, x.strides, source))
        return out

    def repeat(self, x: GpuArray, repeats: Ints) -> GpuArray:
        """The array laid side by side, `repeats` times along each dimension."""
        shape = (1,) * (len(repeats) - len(x.shape)) + x.shape
        strides = (0,) * (len(repeats) - len(x.shape)) + x.strides
        out = self.backend.empty(tuple([r * s for r, s in zip(repeats, shape)]), x.dtype)
        if numel(out.shape):
            pairs = [n for r, s in zip(repeats, shape) for n in (r, s)]
            into = [n for s, t in zip(shape, out.strides) for n in (s * t, t)]
            self.backend.copy(
                self._window(out, pairs, into, 0),
                self._window(x, pairs, [n for t in strides for n in (0, t)], x.offset),
            )
        return out

    # -- padding ------------------------------------------------------------------------------------------------

    def constant_pad_nd(self, x: GpuArray, pad: Ints, value: Any) -> GpuArray:
        """`value` around the array, from the last dimension on; negative paddings cut off."""
        shape, source, target, sizes = list(x.shape), x.offset, 0, list(x.shape)
        places = []
        for i in range(len(pad) // 2):
            d = len(shape) - 1 - i
            left, right = pad[2 * i], pad[2 * i + 1]
            shape[d] += left + right
            sizes[d] = x.shape[d] - max(-left, 0) - max(-right, 0)
            places.append((d, max(left, 0)))
            source += max(-left, 0) * x.strides[d]
        out = self.backend.full(tuple(shape), value or 0, x.dtype)
        if numel(out.shape) and min(sizes, default=1) > 0:
            target = sum([at * out.strides[d] for d, at in places])
            self.backend.copy(self._window(out, sizes, out.strides, target), self._window(x, sizes, x.strides, source))
        return out

    def _pad_indices(self, mode: str, sizes: Ints, pad: Ints) -> tuple[GpuArray | None, ...]:
        """For each padded axis, where its elements come from, shaped to broadcast against each other."""
        rank = len(pad) // 2
        lead = len(sizes) - rank
        out: list[GpuArray | None] = [None] * lead
        for j in range(rank):
            n, (left, right) = sizes[lead + j], pad[2 * (rank - 1 - j) : 2 * (rank - j)]
            key = (mode, n, left, right)
            line = self._lines.get(key)
            if line is None:
                line = self._lines[key] = self.backend.upload(pad_places(mode, n, left, right), dtypes.int64)
            shape = [1] * rank
            shape[j] = line.shape[0]
            out.append(self._window(line, shape, row_major(tuple(shape)), 0))
        return tuple(out)

    def padded(self, mode: str, x: GpuArray, pad: Ints) -> GpuArray:
        """Padding with elements of the array: "reflect", "replicate" or "circular"."""
        return self.indexing.index(x, self._pad_indices(mode, x.shape, pad))

    def padded_backward(self, mode: str, g: GpuArray, pad: Ints, size: Ints) -> GpuArray:
        """Each element's gradients added up where it came from."""
        zeros = self.backend.full(tuple(size), 0, g.dtype)
        return self.indexing.index_put(zeros, g, self._pad_indices(mode, tuple(size), pad), True)

    # -- triangles and diagonals --------------------------------------------------------------------------------

    def _triangle(self, x: GpuArray, diagonal: int, sign: str) -> GpuArray:
        kernel = self._triangles.get((x.dtype, sign))
        if kernel is None:
            kernel = self._triangles[x.dtype, sign] = Pointwise(
                self.backend,
                f"tri{'l' if sign == '<=' else 'u'}",
                f"where(col - row {sign} k, x, 0)",
                ("row", "col", "x", "k"),
                x.dtype,
            )
        m, n = x.shape[-2:]
        return kernel(self._line((m, 1)), self._line((n,)), x, max(-(2**31), min(2**31 - 1, diagonal)))

    def _line(self, shape: Ints) -> GpuArray:
        found = self._lines.get(shape)
        if found is None:
            found = self._lines[shape] = self.backend.upload(np.arange(shape[0]).reshape(shape), dtypes.int32)
        return found

    def tril(self, x: GpuArray, diagonal: int) -> GpuArray:
        """Zeros above a diagonal."""
        return self._triangle(x, diagonal, "<=")

    def triu(self, x: GpuArray, diagonal: int) -> GpuArray:
        """Zeros below a diagonal."""
        return self._triangle(x, diagonal, ">=")

    def diag_embed(self, x: GpuArray, offset: int, dim1: int, dim2: int) -> GpuArray:
        """Zeros but for a diagonal, in the plane of two dimensions."""
        rank = len(x.shape) + 1
        a, b = dim1 % rank, dim2 % rank
        size = x.shape[-1] + abs(offset)
        rest = iter(x.shape[:-1])
        shape = tuple([size if d in (a, b) else next(rest) for d in range(rank)])
        out = self.backend.full(shape, 0, x.dtype)
        if numel(x.shape):
            strides = [s for d, s in enumerate(out.strides) if d not in (a, b)] + [out.strides[a] + out.strides[b]]
            at = offset * out.strides[b] if offset > 0 else -offset * out.strides[a]
            self.backend.copy(self._window(out, x.shape, strides, at), x)
        return out

    def fill(self, x: GpuArray, value: GpuArray) -> GpuArray:
        """The 0-d `value` in the shape of x."""
        out = self.backend.empty(x.shape, x.dtype)
        self.backend.copy(out, value)
        return out

    # -- by places ----------------------------------------------------------------------------------------------

    def index_copy(self, x: GpuArray, index: GpuArray, source: GpuArray, dim: int) -> GpuArray:
        """x with the parts of `source` written at the places of a vector along `dim`."""
        places = (None,) * dim + (index if index.shape else self._window(index, (1,), (1,), index.offset),)
        n = numel(index.shape)
        shape = (*x.shape[:dim], n, *x.shape[dim + 1 :])
        if not source.shape:
            return self.indexing.index_put(x, source, places, False)
        return self.indexing.index_put(x, self._window(source, shape, source.strides, source.offset), places, False)

    def index_fill(self, x: GpuArray, index: GpuArray, value: GpuArray, dim: int, plain: Any = None) -> GpuArray:
        """x with the 0-d `value` at the places of a vector along `dim`."""
        places = (None,) * dim + (index if index.shape else self._window(index, (1,), (1,), index.offset),)
        return self.indexing.index_put(x, value, places, False)

    def take(self, x: GpuArray, index: GpuArray) -> GpuArray:
        """The elements at places of the flattened array."""
        flat = self._flat(x)
        return self.indexing.index(flat, (index,))

    def put(self, x: GpuArray, index: GpuArray, source: GpuArray, accumulate: bool) -> GpuArray:
        """x with `source` written or added at places of the flattened array."""
        values = self._flat(source)
        values = self._window(values, index.shape, row_major(index.shape), values.offset)
        made = self.indexing.index_put(self._flat(x), values, (index,), accumulate)
        return GpuArray(made.block, x.dtype, x.shape, row_major(x.shape))

    def _flat(self, x: GpuArray) -> GpuArray:
        whole = x if x.contiguous else self.backend.contiguous(x)
        return self._window(whole, (numel(x.shape),), (1,), whole.offset)


def pad_places(mode: str, n: int, left: int, right: int) -> np.ndarray:
    """Where the elements of a padded axis of n elements come from."""
    at = np.arange(max(n + left + right, 0)) - left
    if mode == "reflect":
        at = np.abs(at)
        return np.where(at >= n, 2 * (n - 1) - at, at)
    if mode == "replicate":
        return np.clip(at, 0, n - 1)
    kept = n + min(left, 0) + min(right, 0)
    return max(-left, 0) + (at + min(left, 0)) % max(kept, 1)


def register(backend: Any) -> None:
    """Enter the kernels into the backend's table."""
    movement = Movement(backend)
    for name in (
        "flip", "rot90", "roll", "repeat", "constant_pad_nd", "tril", "triu", "diag_embed", "fill", "index_copy", "index_fill", "take",
        "put",
    ):  # fmt: skip
        backend.kernels[name] = getattr(movement, name)
    for mode, stem in (
        ("reflect", "reflection_pad{}d"),
        ("replicate", "replication_pad{}d"),
        ("circular", "circular_pad"),
    ):
        for rank in (1, 2, 3):
            name = stem.format(rank)
            backend.kernels[name] = _bound(movement.padded, mode)
            backend.kernels[name + "_backward"] = _bound(movement.padded_backward, mode)


def _bound(method: Any, first: str) -> Any:
    def kernel(*args: Any) -> Any:
        return method(first, *args)

    return kernel
