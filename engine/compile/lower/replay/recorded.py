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
from .banks import Banks
from .horizontal import Horizontal, Launch, plain
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
        self.slabs: list[tuple[int, int, int]] = []
        """(chunk, position, bank) of the handles of slabs."""
        self.offsets: list[tuple[int, int, int, int, int]] = []
        """(chunk, position, bank, slot, bytes of an element) of places in slabs."""
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
        self.banks: Banks | None = None
        self.bound: list[tuple[str, list[tuple[int, int | None]]]] = []
        """For each launch its access, and the slot or the bank of each binding."""
        self.apart: dict[Any, bool] = {}
        """Whether calls with inputs in these slabs bind no slab as read and as written at once."""
        self.bytes = 0
        """Bytes of the blocks that it keeps."""

    def run(self, tensors: tuple[Any, ...]) -> Any:
        """Make the call; None where the inputs lie otherwise than the recording expects."""
        segment, device = self.segment, self.device
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
        if self.banks is not None and not self.banks.ready(held):
            return None
        if self.banks is not None and self.banks.changed:
            self.banks.changed = False
            for chunk, at, b, s, unit in self.offsets:
                bank = self.banks.all[b]
                self.chunks[chunk][0][at] = bank.laid[bank.slots.index(s)] // unit
        if device.parts and not self._may_bind(held):
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
        for chunk, at, b in self.slabs:
            lists[chunk][at] = self.banks.all[b].buffer  # type: ignore[union-attr]
        for formula, places in self.formulas:
            bits = int.from_bytes(_BITS.pack(formula(tensors, held, known, memo)), "little")
            for chunk, at in places:
                lists[chunk][at] = bits
        if self.codes:
            fault, code = device.guard("compile", "index {index} is out of range")
            for chunk, at in self.faults:
                lists[chunk][at] = fault
            for chunk, at in self.codes:
                lists[chunk][at] = code
        for commands, (_, work) in zip(lists, self.chunks, strict=True):
            device.append(commands, work)
        return held

    def _may_bind(self, held: dict[int, Any]) -> bool:
        """Whether no launch reads one window of a slab and writes another. Slabs stay, so the answer is kept."""
        parts = self.device.parts
        slabs = {s: parts[h][0] for s in self.changing if (h := held[s].block.handle) in parts}
        if not slabs:
            return True
        key = tuple(sorted(slabs.items()))
        found = self.apart.get(key)
        if found is None:
            found = True
            for access, bindings in self.bound:
                sides: dict[str, set[int]] = {"r": set(), "w": set()}
                for letter, (s, b) in zip(access, bindings, strict=False):
                    sides[letter].add(slabs.get(s, -1) if b is None else self.banks.all[b].buffer)  # type: ignore[union-attr]
                found = found and not (sides["r"] & sides["w"] - {-1})
            if len(self.apart) > 64:
                self.apart.clear()
            self.apart[key] = found
        return found

    def finish(self) -> None:
        """Put the places of equal numbers together."""
        by_value: dict[Any, list[tuple[int, int]]] = {}
        for chunk, at, v in self.numbers:
            by_value.setdefault(v, []).append((chunk, at))
        self.formulas = [(Formula(self.segment, v), places) for v, places in by_value.items()]
        self.changing = sorted({s for _, _, s in self.moving} - set(self.fresh))
        """Inputs and constants that launches bind by themselves."""


def recordable(segment: GpuSegment) -> bool:
    """Whether all sizes are known, and all steps are generated kernels or small things of the CPU."""
    if segment.symbols:
        return False
    for k, step in enumerate(segment.assembly.steps):
        p = segment.printed.get(k)
        if p is not None and p.threads.number is None:
            return False
        if p is None and not (step.kind == "call" and any(item in segment.program.host for item in step.writes)):
            return False
    return True


def record(segment: GpuSegment, device: Any, plan: Horizontal | None = None) -> Recording | None:
    """The recording of a segment, with launches as the plan says; None where its launches are not the same in every call."""
    a = segment.assembly
    if not recordable(segment):
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
    out.host = [HostStep(segment, step) for k, step in enumerate(a.steps) if k not in segment.printed]
    launches = plain(segment) if plan is None else plan.launches
    if plan is not None and plan.banks:
        out.banks = Banks(segment, device, plan)
        out.bytes += out.banks.bytes
    places = _plan(segment, out, given | set(out.kept), launches)
    return _Writer(segment, out, places).write(launches) if places is not None else None


class _Writer:
    """Writes the commands of launches."""

    def __init__(self, segment: GpuSegment, out: Recording, places: dict[int, int]):
        self.segment, self.out, self.places = segment, out, places
        self.commands: list[int] = []
        self.total = 0

    def write(self, launches: list[Launch]) -> Recording | None:
        out, banks = self.out, self.out.banks
        for s, command in banks.copies("in") if banks is not None else ():
            out.moving.append((0, len(self.commands) + 1, s))
            self.commands += command
        for launch in launches:
            if launch.joined is not None:
                self._joined(launch)
            elif not self._alone(launch.steps[0]):
                return None
        for s, command in banks.copies("out") if banks is not None else ():
            out.moving.append((len(out.chunks), len(self.commands) + 3, s))
            self.commands += command
        out.chunks.append((self.commands, self.total))
        out.finish()
        return out

    def _begin(self, work: int) -> None:
        """Begin another chunk where this one would be too long."""
        if self.total and self.total + work > MAX_WORK:
            self.out.chunks.append((self.commands, self.total))
            self.commands, self.total = [], 0
        self.total += work

    def _handle(self, s: int) -> None:
        """The handle of one slot's memory."""
        if s in self.places:
            self.commands.append(self.places[s])
        else:
            self.out.moving.append((len(self.out.chunks), len(self.commands), s))
            self.commands.append(0)

    def _alone(self, k: int) -> bool:
        segment, out = self.segment, self.out
        a, p = segment.assembly, segment.printed[k]
        threads = p.threads.number
        if not threads:
            return True
        slots = [a.slots[a.root(b.value)] for b in p.bindings]
        if len(set(slots)) != len(slots):
            return False
        self._begin(p.work)
        chunk = len(out.chunks)
        self.commands += (DISPATCH, segment.pipelines[k], *fold(-(-threads // p.group)), len(slots) + p.checks)
        out.bound.append((p.shader.access, [(s, None) for s in slots]))
        for s in slots:
            self._handle(s)
        if p.checks:
            out.faults.append((chunk, len(self.commands)))
            self.commands.append(0)
        self.commands.append(len(p.words))
        for kind, what in p.words:
            if kind == "threads":
                self.commands.append(threads)
            elif kind == "code":
                out.codes.append((chunk, len(self.commands)))
                self.commands.append(0)
            elif kind == "number":
                out.numbers.append((chunk, len(self.commands), what.value))
                self.commands.append(0)
            elif kind in ("offset", "offset4"):
                self.commands.append(0)
            else:
                return False
        return True

    def _joined(self, launch: Launch) -> None:
        """A launch of several steps: whole banks, and a record of the table for each."""
        out, banks, joined = self.out, self.out.banks, launch.joined
        assert joined is not None
        groups = [-(-n // joined.printed.group) for n in joined.threads]
        self._begin(sum(self.segment.printed[k].work for k in launch.steps))
        pipeline = out.device.pipeline(joined.printed.shader)
        self.commands += (DISPATCH, pipeline, *fold(sum(groups)), len(launch.roles))
        bound: list[tuple[int, int | None]] = []
        for role in launch.roles:
            if len(role) == 1:
                bound.append((role[0], None))
                self._handle(role[0])
                continue
            assert banks is not None
            b = banks.of[role[0]][0]
            bound.append((role[0], b if banks.all[b].slab else None))
            if banks.all[b].slab:
                out.slabs.append((len(out.chunks), len(self.commands), b))
                self.commands.append(0)
            else:
                self.commands.append(banks.all[b].block.handle)
        out.bound.append((joined.printed.shader.access, bound))
        self.commands.append(joined.record * len(launch.steps))
        first = 0
        for m, member in enumerate(joined.members):
            begin = len(self.commands)
            for kind, what in joined.columns:
                if kind == "first":
                    self.commands.append(first)
                elif kind == "threads":
                    self.commands.append(joined.threads[m])
                elif kind == "size":
                    self.commands.append(joined.sizes[what][m] & 0xFFFFFFFF)
                elif kind == "number":
                    out.numbers.append((len(out.chunks), len(self.commands), member.outline.given[what].value))
                    self.commands.append(0)
                else:
                    self._place(launch.roles[what], m, 16 if kind == "offset4" else 4)
            self.commands += [0] * (joined.record - (len(self.commands) - begin))
            first += groups[m]

    def _place(self, role: list[int], m: int, unit: int) -> None:
        """What lies before a member's array in its binding, in elements of so many bytes."""
        if len(role) == 1:
            self.commands.append(0)
            return
        banks = self.out.banks
        assert banks is not None
        b, before = banks.of[role[m]]
        if banks.all[b].slab:
            self.out.offsets.append((len(self.out.chunks), len(self.commands), b, role[m], unit))
        self.commands.append(before // unit)


def _plan(segment: GpuSegment, out: Recording, given: set[int], launches: list[Launch]) -> dict[int, int] | None:
    """Blocks for the intermediate results of kernels, by lifetime: the handle of each slot. Results get theirs in each call."""
    a, device = segment.assembly, segment.device
    inner = {s for slots in segment.last.values() for s in slots}
    ends: dict[int, int] = {}
    for k, launch in enumerate(launches):
        for b in (b for step in launch.steps for b in segment.printed[step].bindings):
            if (s := a.slots[a.root(b.value)]) in inner:
                ends[s] = k
    last: dict[int, list[int]] = {}
    for s, k in ends.items():
        last.setdefault(k, []).append(s)
    places: dict[int, int] = {}
    shared = segment.arena.blocks
    if any(x.pool is not device.pool for x in shared):  # of a device that was lost
        shared.clear()
    free: list[Any] = list(shared)  # commands run in order, so what other segments of the function leave there is dead
    mine: set[int] = set()
    using: dict[int, Any] = {}
    for k, launch in enumerate(launches):
        for b in (b for step in launch.steps for b in segment.printed[step].bindings):
            root = a.root(b.value)
            s = a.slots[root]
            if s in given or s in using or s in out.fresh:
                continue
            window = None if out.banks is None else out.banks.alone(s)
            if s not in ends:
                out.fresh[s] = root
            if window is not None:
                places[s] = window
            if s not in ends or window is not None:
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
        for s in last.get(k, ()):
            if s in using:
                free.append(using.pop(s))
    return places


__all__ = ["Recording", "record", "recordable"]
