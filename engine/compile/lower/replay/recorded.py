"""The recorded form of a WebGPU segment: one list of commands, in which a call changes a few integers.

A program whose sizes are all known, and whose steps are all generated kernels (beside small things of the CPU), launches the same kernels with
the same parameters each time.  Its intermediate results have blocks that are planned by lifetime and kept for the segments of one function;
what differs from call to call are the handles of inputs and of results, numbers that formulas give, and the code of the check of indices.  So a call
copies the list, writes these, and appends it to the device's: no Python for each launch, and the same bind groups.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from .....webgpu_kernels.wgsl import fold
from ....backends.webgpu.array import GpuArray, numel
from ....backends.webgpu.device import MAX_WORK
from ....backends.webgpu.gpu import DISPATCH
from ....backends.webgpu.memory import size_class
from ....dtypes import DTYPES
from ..loops.scalar import NUMPY
from .small import Formula, HostStep

if TYPE_CHECKING:
    from .webgpu import GpuSegment

_BITS = struct.Struct("<f")


class Recording:
    """The commands of a segment. Made by `record`."""

    def __init__(self, segment: GpuSegment, device: Any):
        self.segment, self.device = segment, device
        self.chunks: list[tuple[list[int], int]] = []
        """Commands that are appended together, and the work in them."""
        self.moving: list[tuple[int, int, int]] = []
        """(chunk, position, slot) of handles that each call gives."""
        self.numbers: list[tuple[int, int, Any]] = []
        self.codes: list[tuple[int, int]] = []
        self.faults: list[tuple[int, int]] = []
        self.host: list[Any] = []
        """Steps that the CPU does before."""
        self.fresh: dict[int, Any] = {}
        """Results that get memory on each call, by slot."""
        self.kept: dict[int, GpuArray] = {}
        """Constants."""
        self.expected: dict[int, Any] = {}
        """Inputs of the device with their strides in memory, None for contiguous ones."""
        self.blocks: list[Any] = []
        self.bytes = 0
        """Bytes of the blocks that it keeps."""

    def run(self, tensors: tuple[Any, ...]) -> Any:
        """Make the call; None where the inputs lie otherwise than the recording expects."""
        segment = self.segment
        held: dict[int, Any] = dict(self.kept)
        seen = []
        for i, s in segment.bound:
            array = tensors[i]._data
            if i in self.expected:
                strides = self.expected[i]
                if array.offset or (not array.contiguous if strides is None else array.strides != strides):
                    return None
            else:
                held[s] = array
                continue
            held[s] = array
            seen.append(array.block.handle)
        if len(set(seen)) != len(seen):
            return None
        known = segment.named(tensors, {}) if self.host or self.numbers else {}
        memo: dict[Any, Any] = {}
        for step in self.host:
            step.run(tensors, held, known, memo)
        for v in self.fresh.values():
            segment._array(v, held, {})
        lists = [commands.copy() for commands, _ in self.chunks]
        for chunk, at, s in self.moving:
            lists[chunk][at] = held[s].block.handle
        for formula, places in self.formulas:
            bits = int.from_bytes(_BITS.pack(formula(tensors, held, known, memo)), "little")
            for chunk, at in places:
                lists[chunk][at] = bits
        device = self.device
        if self.codes:
            fault, code = device.guard("compile", "index {index} is out of range")
            for chunk, at in self.faults:
                lists[chunk][at] = fault
            for chunk, at in self.codes:
                lists[chunk][at] = code
        for commands, (_, work) in zip(lists, self.chunks, strict=True):
            device.append(commands, work)
        return held

    def finish(self) -> None:
        """Put the places of equal numbers together."""
        by_value: dict[Any, list[tuple[int, int]]] = {}
        for chunk, at, v in self.numbers:
            by_value.setdefault(v, []).append((chunk, at))
        self.formulas = [(Formula(self.segment, v), places) for v, places in by_value.items()]


def record(segment: GpuSegment, device: Any) -> Recording | None:
    """The recording of a segment; None where its launches are not the same in every call."""
    a = segment.assembly
    if segment.symbols:
        return None
    out = Recording(segment, device)
    given = {s for _, s in segment.bound}
    for i, _ in segment.bound:
        v = segment.program.inputs[i]
        assert v is not None
        if v not in segment.program.host:
            if v.strides is not None and any(n.number is None for n in v.strides):
                return None
            out.expected[i] = None if v.strides is None else tuple(n.number or 0 for n in v.strides)
    for v, s in a.slots.items():
        if v.kind == "constant":
            out.kept[s] = v.data._data
            if out.kept[s].offset or not out.kept[s].contiguous:
                return None
    places = _plan(segment, out, given | set(out.kept))
    if places is None:
        return None
    commands: list[int] = []
    total = 0
    for k, step in enumerate(a.steps):
        p = segment.printed.get(k)
        if p is None:
            if step.kind == "call" and any(item in segment.program.host for item in step.writes):
                out.host.append(HostStep(segment, step))
                continue
            return None
        threads = p.threads.number
        if threads is None:
            return None
        if not threads:
            continue
        slots = [a.slots[a.root(b.value)] for b in p.bindings]
        if len(set(slots)) != len(slots):
            return None
        if total and total + p.work > MAX_WORK:
            out.chunks.append((commands, total))
            commands, total = [], 0
        total += p.work
        chunk = len(out.chunks)
        commands += (
            DISPATCH, segment.pipelines[k], *fold(-(-threads // p.group)), len(slots) + p.checks,
        )  # fmt: skip
        for s in slots:
            if s in places:
                commands.append(places[s])
            elif s in out.kept:
                commands.append(out.kept[s].block.handle)
            else:
                out.moving.append((chunk, len(commands), s))
                commands.append(0)
        if p.checks:
            out.faults.append((chunk, len(commands)))
            commands.append(0)
        commands.append(len(p.words))
        for kind, what in p.words:
            if kind == "threads":
                commands.append(threads)
            elif kind == "code":
                out.codes.append((chunk, len(commands)))
                commands.append(0)
            elif kind == "number":
                out.numbers.append((chunk, len(commands), what.value))
                commands.append(0)
            elif kind in ("offset", "offset4"):
                commands.append(0)
            else:
                return None
    out.chunks.append((commands, total))
    out.finish()
    return out


def _plan(segment: GpuSegment, out: Recording, given: set[int]) -> dict[int, int] | None:
    """Blocks for the intermediate results of kernels, by lifetime: the handle of each slot. Results get theirs in each call."""
    a, device = segment.assembly, segment.device
    ends = {s: k for k, slots in segment.last.items() for s in slots}
    places: dict[int, int] = {}
    shared = segment.arena.blocks
    if any(x.pool is not device.pool for x in shared):  # of a device that was lost
        shared.clear()
    free: list[Any] = list(shared)  # commands run in order, so what other segments of the function leave there is dead
    mine: set[int] = set()
    using: dict[int, Any] = {}
    for k in range(len(a.steps)):
        p = segment.printed.get(k)
        for b in p.bindings if p is not None else ():
            root = a.root(b.value)
            s = a.slots[root]
            if s in given or s in using or s in out.fresh:
                continue
            if s not in ends:
                out.fresh[s] = root
                continue
            if s in places or any(n.number is None for n in root.shape):
                return None
            nbytes = numel(tuple(n.number or 0 for n in root.shape)) * segment.backend.itemsize(
                DTYPES[NUMPY[root.dtype]]
            )
            if not 0 < nbytes <= device.pool.binding_bytes:
                return None
            wanted = size_class(nbytes)
            block = next((x for x in free if x.size == wanted), None)
            if block is None:
                block = device.pool.take(nbytes)
                shared.append(block)
            else:
                free.remove(block)
            if block.handle not in mine:
                mine.add(block.handle)
                out.blocks.append(block)
                out.bytes += block.size
            using[s] = block
            places[s] = block.handle
        for s in segment.last.get(k, ()):
            if s in using:
                free.append(using.pop(s))
    return places


__all__ = ["Recording", "record"]
