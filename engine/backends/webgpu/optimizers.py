"""Launches of optimizers' steps: few for all parameters. Which parameters may go this way is decided here; the engine takes care of
the others."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ....webgpu_kernels import optimizers as kernels
from ... import dtypes
from .array import GpuArray, numel

_BITS = struct.Struct("<f")


def fits(arrays: Sequence[GpuArray]) -> bool:
    """Whether these arrays of one parameter (itself, gradient, states) lie alike, in memory that can be bound."""
    first = arrays[0]
    for a in arrays:
        if a.dtype is not dtypes.float32 or not a.contiguous or a.shape != first.shape or a.block.windows is not None:
            return False
    return len({id(a.block) for a in arrays}) == len(arrays)


def run(backend: Any, name: str, entries: Sequence[Sequence[GpuArray]], numbers: Sequence[float]) -> None:
    """Run the step `name` on entries that fit, each (p, g, *states), in place."""
    device = backend.device
    bits = [int.from_bytes(_BITS.pack(v), "little") for v in numbers]
    slots = kernels.STEPS[name].slots
    wide = [[a.offset % 4 for a in e] == [0] * len(e) and _may_overrun(e) for e in entries]
    for four in (True, False):
        todo = [e for e, w in zip(entries, wide) if w is four and numel(e[0].shape)]
        while todo:
            part, todo = _apart(todo, slots)
            unit = 4 if four else 1
            counts = [-(-numel(e[0].shape) // unit) for e in part]
            words: list[int] = []
            for e, n in zip(part, counts):
                words += [n, *[a.offset // unit for a in e]]
            made = kernels.build(name, len(part), four)
            handles = [a.block.handle for e in part for a in e]
            device.launch(device.pipeline(made), kernels.grid(counts), handles, [*words, *bits])
    for e in entries:
        for i, a in enumerate(e):
            if i != 1:
                a.block.bounds = None


def _may_overrun(entry: Sequence[GpuArray]) -> bool:
    """Whether what lies behind the last element, up to a multiple of four, may be overwritten."""
    n = numel(entry[0].shape)
    return n % 4 == 0 or all(a.offset == 0 and a.block.nbytes == 4 * n for a in entry)


def _apart(entries: list[Any], slots: int) -> tuple[list[Any], list[Any]]:
    """The first entries that share no memory, and the rest: a launch may not bind a buffer twice to write it."""
    taken: list[Any] = []
    seen: set[int] = set()
    for i, e in enumerate(entries):
        blocks = {id(a.block) for a in e}
        if len(taken) == slots or seen & blocks:
            return taken, entries[i:]
        taken.append(e)
        seen |= blocks
    return taken, []
