"""Running an assembly on WebGPU: a prepared list of launches through the device's recorder.

Intermediate results are blocks of the device's pool, taken when first written and given back after their last use; the pool hands
the same buffers out in the same order each time, so bind groups are made once. Products and what has no kernel here go through the
engine's own kernels.
"""

from __future__ import annotations

import struct
import time
from typing import Any

import numpy as np

from .....webgpu_kernels.wgsl import fold
from ....backends.base import backend as backend_of
from ....backends.webgpu.array import GpuArray, row_major
from ....backends.webgpu.memory import size_class
from ....backends.webgpu.tuning import lanes as probed
from ....dtypes import DTYPES
from ....observe import bus
from ....tensor import wrap
from ..loops.form import Buffer
from ..loops.index import evaluate
from ..loops.scalar import CODES, NUMPY
from ..memory.arena import Arena
from ..memory.peak import Use, bytes_of, hints, made_by
from ..print_c.program import notes
from ..print_wgsl.rows import row_printer
from ..print_wgsl.text import Printed
from ..print_wgsl.ways import USUAL, Way
from ..schedule.anchors import affine
from ..schedule.fuse import bare
from ..values import Value, canonical
from .assemble import Assembly, Step
from .calls import run_call
from .common import Outputs
from .horizontal import Horizontal, join
from .products import print_product_step
from .recorded import record, recordable
from .watch import Watch


def shared_lanes() -> int:
    """The size of the open device's subgroups where products are made of their broadcasts, else 0."""
    device = backend_of("webgpu").device  # type: ignore[attr-defined]
    return probed(device) if device.gpu.info.software else 0


class GpuSegment(Outputs):
    """A compiled program, called with the tensors (and numbers) of the graph's inputs."""

    def __init__(self, assembly: Assembly, arena: Arena | None = None):
        super().__init__(assembly)
        self.arena = arena or Arena()
        self.backend: Any = backend_of("webgpu")
        self.cpu = backend_of("cpu")
        self.lock = self.arena.lock
        self.printed: dict[int, Printed] = {}
        self.buffers: dict[int, Buffer] = {}
        self.lanes = shared_lanes()
        for k, step in enumerate(assembly.steps):
            made = self.print_step(k)
            if made is None and step.tail is not None:
                assembly.steps[k : k + 1] = step.apart()
                made = self.print_step(k)
            if made is not None:
                self.printed[k] = made
        self.tried: dict[int, dict[str, Any]] = {}
        """What `max-autotune` tried for a step, and how it fared."""
        self.bound = [
            (i, assembly.slots[v]) for i, v in enumerate(self.program.inputs) if v is not None and v in assembly.slots
        ]
        self.pipelines: dict[int, int] = {}
        self.device: Any = None
        self.last: dict[int, list[int]] = {}
        self._lifetimes()
        self.launches = 0
        self.watch = Watch()

    @property
    def times(self) -> dict[int, list[float]]:
        """Seconds of each step in the last calls that were watched on a device that measures."""
        return self.watch.times()

    def _code(self, b: Buffer) -> str:
        return self.backend.code(DTYPES[NUMPY[b.dtype]])

    def print_step(self, k: int, way: Way = USUAL) -> Printed | None:
        """The kernel of a step; None where the engine's own is used."""
        step, note = self.assembly.steps[k], notes(self.program)
        lanes = self.lanes if way.subgroups is None else probed(self.backend.device) if way.subgroups else 0
        if step.kind == "product":
            if step.tail is not None:  # the engine's kernel would leave out what follows
                return print_product_step(self, k, note, lanes or self.lanes, way.rank)
            return print_product_step(self, k, note, lanes, way.rank) if lanes and not way.engine else None
        if step.kernel is None:
            return None
        name = f"k{k}_{step.kernel.name.split('_', 1)[-1]}"
        printer = row_printer(step.kernel, self._code, note, name, lanes)
        printer.takes_fours = way.four
        return printer.print()

    def take(self, forms: dict[int, Printed | None]) -> None:
        """From the next call on, run steps by these kernels (None: by the engine's)."""
        with self.lock:
            for k, p in forms.items():
                if p is None:
                    self.printed.pop(k, None)
                else:
                    self.printed[k] = p
            self.device = self.recording = None

    def _lifetimes(self) -> None:
        """After which step the memory of each intermediate result is free."""
        a = self.assembly
        keep = {
            a.slots[a.root(bare(o.value))]
            for o in self.program.outputs
            if o.value is not None and a.root(bare(o.value)) in a.slots
        }
        keep |= {s for _, s in self.bound}
        keep |= {a.slots[a.root(x)] for v in a.numbers for x in v.args}
        final: dict[int, int] = {}
        for k, step in enumerate(a.steps):
            for v in (*step.reads, *step.writes):
                s = a.slots.get(a.root(v))
                if s is not None and s not in keep and a.root(v).kind != "constant":
                    final[s] = k
        for s, k in final.items():
            self.last.setdefault(k, []).append(s)
        self.ends = frozenset(final)

    def __call__(self, *tensors: Any) -> Any:
        with self.lock:
            return self.guarded(self._run, tensors)

    def _run(self, tensors: tuple[Any, ...]) -> Any:
        a = self.assembly
        if self.fallback is not None and not self._in_place(tensors):
            return self.fallback(*tensors)
        device = self.backend.device
        if device is not self.device:
            self.device = device
            self.recording = None
            self.pipelines = {k: device.pipeline(p.shader) for k, p in self.printed.items()}
        sizes = self.sizes(tensors)
        values = dict(zip(self.symbols, sizes, strict=True))
        held: dict[int, GpuArray] = {}
        for i, s in self.bound:
            held[s] = self._input(tensors[i]._data, i)
        for v, s in a.slots.items():
            if v.kind == "constant":
                held[s] = v.data._data
        if self.launches and not bus.launch and not device.debug:
            if self.recording is None:
                self.recording = record(self, device, self.joined()) or False
            done = self.recording.run(tensors) if self.recording else None
            if done is not None:
                self.launches += 1
                return self._results(tensors, values, done)
        watched = bus.launch
        try:
            for k, step in enumerate(a.steps):
                if k == self.first_write:
                    self.half_written = True
                if watched:
                    device.purpose = self.watch.purpose(k, step)
                if k in self.printed:
                    self._launch(k, step, held, values, tensors)
                elif step.kind == "product":
                    self._product(step, held, values)
                else:
                    began = time.perf_counter() if watched else 0.0
                    self._call(step, held, values, tensors)
                    if watched and any(item in self.program.host for item in step.writes):
                        device.purpose[1].append(time.perf_counter() - began)
                for s in self.last.get(k, ()):
                    held.pop(s, None)
        finally:
            device.purpose = None
        self.launches += 1
        return self._results(tensors, values, held)

    def use(self) -> Use:
        """Bytes of buffers that calls hold: those of the recording, or what is taken from the pool at once."""
        a, values = self.assembly, self.known_sizes() or hints(self.program)
        made = made_by(a, values)
        if self.recording:
            return Use(self.recording.bytes, made)
        held: dict[int, int] = {}
        most = 0
        for k, step in enumerate(a.steps):
            for v in (*step.reads, *step.writes):
                s = a.slots.get(a.root(v))
                if s is not None and s in self.ends:
                    held[s] = size_class(bytes_of(a.root(v), values))
            most = max(most, sum(held.values()))
            for s in self.last.get(k, ()):
                held.pop(s, None)
        return Use(0, made, most)

    def joined(self) -> Horizontal | None:
        """Which kernels share launches; None where launches are not the same in every call."""
        forms = {k: id(p) for k, p in self.printed.items()}
        if self._joined is None or self._joined[0] != forms:
            self._joined = forms, join(self) if recordable(self) else None
        return self._joined[1]

    _joined: tuple[dict[int, int], Horizontal | None] | None = None

    recording: Any = None
    """The list of commands of calls after the first; False where they are not always the same."""

    fallback: Any = None
    """What runs instead where an input that is written lies otherwise in memory than when it was compiled."""

    def _in_place(self, tensors: tuple[Any, ...]) -> bool:
        """Whether every input that kernels write lies as they expect, and begins at a multiple of four elements."""
        for i in self.assembly.direct.values():
            array, v = tensors[i]._data, self.program.inputs[i]
            if array.offset % 4 or (not array.contiguous if v is not None and v.strides is None else False):
                return False
        return True

    def _input(self, array: GpuArray, i: int) -> GpuArray:
        v = self.program.inputs[i]
        assert v is not None
        if v in self.program.host:
            return array
        if v.strides is None:
            if array.contiguous:
                return array
        elif array.strides == tuple(s.number for s in v.strides) or all(
            n == 1 or s.number == t for n, s, t in zip(array.shape, v.strides, array.strides, strict=True)
        ):
            return array
        if i in self.assembly.direct.values():
            raise NotImplementedError("an input that is written lies otherwise in memory than when it was compiled")
        made = self.backend.empty(array.shape, array.dtype)
        if v.strides is not None:
            made = GpuArray(made.block, made.dtype, array.shape, tuple(s.number or 0 for s in v.strides), 0, False)
        self.backend.copy(made, array)
        return made

    def _array(self, v: Value, held: dict[int, GpuArray], values: Any) -> GpuArray:
        """The memory of a value, taken from the pool where it has none yet."""
        a = self.assembly
        root = a.root(v)
        s = a.slots[root]
        found = held.get(s)
        if found is None:
            shape = tuple([n.number if n.number is not None else evaluate(n, values) for n in root.shape])
            if root.strides is not None:
                order = sorted(range(len(shape)), key=lambda d: -(root.strides[d].number or 0))  # type: ignore[index]
                dense = row_major(tuple(shape[d] for d in order))
                steps = [0] * len(shape)
                for d, t in zip(order, dense, strict=True):
                    steps[d] = t
                flat = self.backend.empty(shape, DTYPES[NUMPY[root.dtype]])
                found = GpuArray(flat.block, flat.dtype, shape, tuple(steps), 0, False)
            else:
                found = self.backend.empty(shape, DTYPES[NUMPY[root.dtype]])
            held[s] = found
        return found

    def _launch(self, k: int, step: Step, held: Any, values: Any, tensors: Any) -> None:
        p = self.printed[k]
        device = self.device
        arrays = {b.name: self._array(b.value, held, values) for b in p.bindings}
        handles = [arrays[b.name].block.handle for b in p.bindings]
        for i, b in enumerate(p.bindings):
            if b.name in p.wide and arrays[b.name].offset % 4:
                self._aligned(p, i, arrays, handles)
        if len(set(handles)) != len(handles):
            self._separate(p, arrays, handles)
        threads = p.threads.number if p.threads.number is not None else evaluate(p.threads, values)
        code = 0
        if p.checks:
            fault, code = device.guard("compile", "index {index} is out of range")
            handles.append(fault)
        words: list[int] = []
        for kind, what in p.words:
            if kind == "offset":
                words.append(arrays[what.name].offset)
            elif kind == "offset4":
                words.append(arrays[what.name].offset // 4)
            elif kind == "size":
                words.append(values[what] & 0xFFFFFFFF)
            elif kind == "threads":
                words.append(threads)
            elif kind == "code":
                words.append(code)
            else:
                words.append(struct.unpack("<I", struct.pack("<f", self.number(what.value, tensors, held)))[0])
        if threads:
            device.launch(self.pipelines[k], fold(-(-threads // p.group)), handles, words, p.work)

    def _aligned(self, p: Printed, i: int, arrays: dict[str, GpuArray], handles: list[int]) -> None:
        """An input that does not begin at a multiple of four elements is copied; one that is written cannot be."""
        name = p.bindings[i].name
        if p.shader.access[i] == "w":
            raise NotImplementedError("a tensor that is written begins where four elements cannot be written at once")
        x = arrays[name]
        made = self.backend.empty(x.shape, x.dtype)
        self.backend.copy(made, x)
        arrays[name], handles[i] = made, made.block.handle

    def _separate(self, p: Printed, arrays: dict[str, GpuArray], handles: list[int]) -> None:
        """A buffer that is bound twice and written once cannot be: what is read only is copied before."""
        written = {b.name for b, letter in zip(p.bindings, p.shader.access, strict=False) if letter == "w"}
        targets = {arrays[n].block.handle for n in written}
        for i, b in enumerate(p.bindings):
            x = arrays[b.name]
            if b.name not in written and x.block.handle in targets:
                made = self.backend.empty(x.shape, x.dtype)
                self.backend.copy(made, x)
                arrays[b.name] = made
                handles[i] = made.block.handle

    def _operand(self, v: Value, base: Value, held: Any, values: Any) -> GpuArray:
        array = self._array(base, held, values)
        if v is base:
            return array
        seen = affine(v, self.assembly.held)
        if seen is None:
            raise NotImplementedError("a library call reads a value that is no strided view")
        _, steps, start = seen
        shape = tuple(evaluate(n, values) for n in v.shape)
        strides = tuple(evaluate(s, values) for s in steps)
        return self.backend.view(
            GpuArray(array.block, array.dtype, (), (), array.offset), shape, strides, evaluate(start, values)
        )

    def _product(self, step: Step, held: Any, values: Any) -> None:
        v = step.value
        assert v is not None
        operands = [self._operand(a, r, held, values) for a, r in zip(v.args, step.reads, strict=True)]
        held[self.assembly.slots[self.assembly.root(v)]] = self.backend.kernels["mm"](*operands)

    def _call(self, step: Step, held: Any, values: Any, tensors: Any) -> None:
        v = step.value
        assert v is not None
        operands = [self._operand(a, r, held, values) for a, r in zip(v.args, step.reads, strict=True)]
        if any(item in self.program.host for item in step.writes):
            # Small things of the CPU beside the device's: counters of steps.
            homes = [self.cpu if isinstance(o, np.ndarray) else self.backend for o in operands]
            for item, array in zip(step.writes, run_call(v, operands, homes, self.named(tensors, values)), strict=True):
                held[self.assembly.slots[item]] = np.array(array)
            return
        made = run_call(v, operands, self.backend, self.named(tensors, values))
        for item in step.writes:
            array = made[item.data]
            if (item.dtype in NUMPY and not array.contiguous) or any(array.block is o.block for o in operands):
                fresh = self.backend.empty(array.shape, array.dtype)
                self.backend.copy(fresh, array)
                array = fresh
            held[self.assembly.slots[self.assembly.root(item)]] = array

    def _results(self, tensors: Any, values: Any, held: dict[int, GpuArray]) -> Any:
        a, program = self.assembly, self.program
        out: list[Any] = [None] * len(program.outputs)
        written = {o: i for i, o in program.written.items()}
        for k, o in enumerate(program.outputs):
            if o.value is None:
                out[k] = self.plain(o.plain, tensors, values)
                continue
            base = self.bases[k]
            assert base is not None
            if k in written:
                target = tensors[written[k]]
                if k in a.copied:
                    array = self._array(base, held, values)
                    if isinstance(array, np.ndarray):
                        np.copyto(target._data, array)
                        target._storage.version += written[k] in program.counted
                        out[k] = target
                        continue
                    shaped = array
                    if base.strides is None:  # one that has an order of its own is no view
                        shape = target._data.shape
                        shaped = GpuArray(array.block, array.dtype, shape, row_major(shape), array.offset)
                    self.backend.copy(target._data, shaped)
                if written[k] in program.counted:
                    target._storage.version += 1
                out[k] = target
            elif base.kind == "input":
                out[k] = tensors[base.data]
            elif base.kind == "constant":
                out[k] = base.data
            else:
                array = self._array(base, held, values)
                assert o.spec is not None
                if isinstance(array, np.ndarray):
                    out[k] = wrap(array, o.spec.dtype, self.cpu)
                    continue
                shape = tuple(evaluate(n, values) for n in o.value.shape)
                if shape != tuple(array.shape):
                    array = GpuArray(array.block, array.dtype, shape, row_major(shape), array.offset)
                out[k] = wrap(array, o.spec.dtype, self.backend)
        return self.filled(out)


__all__ = ["CODES", "GpuSegment", "canonical"]
