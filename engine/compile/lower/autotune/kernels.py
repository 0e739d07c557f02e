"""Choosing how the kernels of a WebGPU segment are printed, by measuring each of them alone.

Every step is run in each of its ways (`print_wgsl.ways`) on buffers of its own that are filled with made-up numbers: nothing of the
user's is read or written, nothing is drawn, and the device's recorder is not touched.  A way whose results differ from those of the
usual one is out. Times are the device's; ways take turns, and medians are compared.
"""

from __future__ import annotations

import statistics
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ....backends.webgpu.array import GpuArray
from ....backends.webgpu.bench import Bench, dispatch
from ....dtypes import DTYPES
from ..loops.index import evaluate
from ..loops.scalar import NUMPY
from ..print_wgsl.text import Printed
from ..print_wgsl.ways import KERNELS, PRODUCTS, USUAL, Way
from ..schedule.anchors import affine
from ..schedule.fuse import bare
from ..values import Value
from .choices import Spent

if TYPE_CHECKING:
    from ..replay.webgpu import GpuSegment

ROUNDS = 9

LARGEST = 1 << 28
"""Bytes that the buffers of a measurement may take together."""

GAIN = 0.95
"""What a way must take of the usual one's time at most, to be chosen instead."""

ALONE = 5e-5
"""Seconds a step that a segment loses where it is no longer recorded, because the engine's own kernel runs in it."""


class Differs(Exception):
    """A way computes something else than the usual one, or cannot be run beside the program."""


class Trial:
    """Runs steps of a segment on buffers with made-up contents, one for each slot of its memory."""

    def __init__(self, segment: GpuSegment, sizes: dict[str, int], bench: Bench):
        self.segment, self.sizes, self.bench = segment, sizes, bench
        self.device = segment.backend.device
        self.buffers: dict[int, tuple[int, Any, int]] = {}
        """By slot: the handle, the contents at the beginning, and the bytes."""
        self.fault = bench.buffer(16, bytes(16))
        self.total = 0

    def buffer(self, v: Value) -> tuple[int, Any, int]:
        """The buffer of a value's memory."""
        a = self.segment.assembly
        root = a.root(v)
        slot = a.slots[root]
        found = self.buffers.get(slot)
        if found is not None:
            return found
        if root.kind == "constant":
            array = root.data._data
            found = self.buffers[slot] = array.block.handle, None, array.block.nbytes
            return found
        shape = [evaluate(n, self.sizes) for n in root.shape]
        count = int(np.prod(shape, dtype=np.int64))
        if root.strides is not None:
            count = max(
                count, 1 + sum((n - 1) * evaluate(s, self.sizes) for n, s in zip(shape, root.strides, strict=True))
            )
        size = self.segment.backend.itemsize(DTYPES[NUMPY[root.dtype]])
        nbytes = max(16, -(-count * size // 16) * 16)
        self.total += nbytes
        if self.total > LARGEST:
            raise Differs(f"its memory is more than {LARGEST >> 20} MiB")
        data: Any = np.zeros(nbytes, np.uint8)
        if root.dtype == "f32":  # the same for every segment that has this value at this place
            rng = np.random.default_rng(count)
            data = rng.random(nbytes // 4, np.float32) + np.float32(0.25)
        found = self.buffers[slot] = self.bench.buffer(nbytes, data), data, nbytes
        return found

    def fill(self) -> None:
        """Put the first contents back."""
        for handle, data, _ in self.buffers.values():
            if data is not None:
                self.bench.gpu.write(handle, 0, data)

    def command(self, k: int, p: Printed | None) -> list[int]:
        """The launches of step `k`: by a printed kernel, else by the engine's product."""
        if p is None:
            return self._product(k)
        threads = evaluate(p.threads, self.sizes)
        handles = [self.buffer(b.value)[0] for b in p.bindings]
        if len(set(handles)) != len(handles):
            raise Differs("it binds one buffer twice")
        words = []
        for kind, what in p.words:
            if kind == "size":
                words.append(self.sizes[what] & 0xFFFFFFFF)
            elif kind == "threads":
                words.append(threads)
            elif kind == "number":
                words.append(struct.unpack("<I", struct.pack("<f", 0.5))[0])
            else:  # offsets, and the code of a guard that nobody looks at
                words.append(0)
        if not threads:
            return []
        pipeline = self.device.pipeline(p.shader)
        return dispatch(pipeline, -(-threads // p.group), [*handles, *([self.fault] if p.checks else [])], words)

    def _product(self, k: int) -> list[int]:
        step, a = self.segment.assembly.steps[k], self.segment.assembly
        v = step.value
        assert v is not None
        arrays, handles = [], []
        for x, base in zip(v.args, step.reads, strict=True):
            seen = affine(x, a.held)
            if seen is None:
                raise Differs("the engine's kernel cannot read an operand where it lies")
            _, steps, start = seen
            shape, strides = (tuple(evaluate(n, self.sizes) for n in ns) for ns in (x.shape, steps))
            where: Any = None
            arrays.append(GpuArray(where, DTYPES[NUMPY[x.dtype]], shape, strides, evaluate(start, self.sizes)))
            handles.append(self.buffer(base)[0])
        made = self.segment.backend.product_family.commands(*arrays, (*handles, self.buffer(v)[0]))
        if made is None:
            raise Differs("the engine needs more than one kernel for it")
        return made

    def written(self, k: int, p: Printed | None) -> list[Value]:
        """What step `k` writes."""
        if p is None:
            v = self.segment.assembly.steps[k].value
            return [] if v is None else [v]
        return [b.value for b, letter in zip(p.bindings, p.shader.access, strict=False) if letter == "w"]

    def results(self, commands: list[int], values: list[Value]) -> list[np.ndarray]:
        """What is in the memory of values after commands that begin with the first contents."""
        for v in values:
            self.buffer(v)
        self.fill()
        self.bench.gpu.submit(commands)
        out = []
        for v in values:
            handle, _, nbytes = self.buffer(v)
            root = self.segment.assembly.root(v)
            out.append(np.frombuffer(self.bench.read(handle, nbytes), np.float32 if root.dtype == "f32" else np.uint32))
        return out


def agree(ours: list[np.ndarray], theirs: list[np.ndarray]) -> bool:
    """Whether results are those of the usual form but for the order of additions."""
    for x, y in zip(ours, theirs, strict=True):
        if x.dtype != np.float32:
            if not np.array_equal(x, y):
                return False
            continue
        finite = np.abs(y[np.isfinite(y)])
        scale = float(finite.max()) if finite.size else 0.0
        if not np.allclose(x, y, rtol=1e-4, atol=1e-5 * scale, equal_nan=True):
            return False
    return len(ours) == len(theirs)


def ways(segment: GpuSegment, k: int) -> Iterator[tuple[Way, Printed | None, str]]:
    """The ways of a step whose texts differ, the usual one first, each with its kernel (None: the engine's) or with an error."""
    step = segment.assembly.steps[k]
    if step.kind == "call":
        return
    seen: set[str] = set()
    for way in PRODUCTS if step.kind == "product" else KERNELS:
        try:
            p = segment.print_step(k, way)
        except Exception as error:
            yield way, None, str(error)[:200]
            continue
        if p is None and way is not USUAL and not way.engine:
            continue
        text = "" if p is None else p.shader.source
        if text not in seen:
            seen.add(text)
            yield way, p, ""


def tune(
    segment: GpuSegment,
    sizes: dict[str, int],
    pause: Callable[[], None],
    known: dict[str, tuple[Way, list[dict[str, Any]]]],
) -> dict[int, Printed | None]:
    """Measure the ways of every step; what was tried goes to `segment.tried`. Returns the kernels that are better than the usual ones.

    `pause` waits for a moment without calls, and raises where measuring shall end. `known` are ways that were chosen before, by the text
    of the usual kernel.  A step for which the time does not suffice stays as it is.
    """
    better: dict[int, Printed | None] = {}
    recordable = not segment.symbols and not any(
        s.kind != "kernel" and k not in segment.printed for k, s in enumerate(segment.assembly.steps)
    )
    for k in range(len(segment.assembly.steps)):
        found = list(ways(segment, k))
        forms = {way: p for way, p, error in found if not error}
        tried = [{"choice": way.name, "seconds": None, "error": error} for way, _, error in found if error]
        if USUAL not in forms or len(forms) < 2:
            continue
        usual = forms[USUAL]
        text = "" if usual is None else usual.shader.source.replace(usual.shader.name, "")
        best, told = known.get(text, (None, [])) if text else (None, [])
        if best is None or best not in forms:
            try:
                with Bench(segment.backend.device.gpu) as bench:
                    times, errors = _measure(Trial(segment, sizes, bench), k, forms, pause)
            except Spent as error:
                segment.tried[k] = {
                    "chosen": USUAL.name,
                    "tried": [{"choice": USUAL.name, "seconds": None, "error": str(error)}],
                }
                continue
            figures = {way: statistics.median(t) for way, t in times.items()}
            told = [{"choice": way.name, "seconds": t} for way, t in figures.items()] + errors
            best = USUAL
            for way, seconds in figures.items():
                if way.engine and recordable:
                    seconds += ALONE * len(segment.assembly.steps)
                if seconds < min(figures[best], figures[USUAL] * GAIN) and min(times[way]) < min(times[USUAL]):
                    best = way
            if text:
                known[text] = best, told
        if best is not USUAL:
            better[k] = forms[best]
        segment.tried[k] = {"chosen": best.name, "tried": [*told, *tried]}
    return better


def _measure(
    trial: Trial, k: int, forms: dict[Way, Printed | None], pause: Callable[[], None]
) -> tuple[dict[Way, list[float]], list[dict[str, Any]]]:
    """Seconds of the ways that compute what the usual one does, and why others do not."""
    commands: dict[Way, list[int]] = {}
    errors: list[dict[str, Any]] = []
    expected: list[np.ndarray] | None = None
    for way, p in forms.items():
        pause()
        try:
            made = trial.command(k, p)
            got = trial.results(made, trial.written(k, forms[USUAL]))
            if expected is None:
                expected = got
            elif not agree(got, expected):
                raise Differs("its results are not those of the usual form")
            commands[way] = made
        except Exception as error:
            errors.append({"choice": way.name, "seconds": None, "error": str(error)[:200]})
            if way is USUAL:
                return {}, errors
    times: dict[Way, list[float]] = {way: [] for way in commands}
    for _ in range(ROUNDS):
        for way, made in commands.items():
            pause()
            times[way].append(trial.bench.seconds(made))
    return times, errors


class Whole:
    """A segment all of whose steps are launches, run as one list of commands on buffers with made-up contents."""

    def __init__(self, segment: GpuSegment, forms: dict[int, Printed | None], sizes: dict[str, int], bench: Bench):
        self.trial = Trial(segment, sizes, bench)
        self.commands: list[int] = []
        for k, step in enumerate(segment.assembly.steps):
            if step.kind == "call":
                if any(v not in segment.program.host for v in step.writes):
                    raise Differs("a kernel of the engine is called")
                continue
            self.commands += self.trial.command(k, forms[k] if k in forms else segment.printed.get(k))

    def results(self) -> list[np.ndarray]:
        """What it returns, and what it writes into inputs."""
        a, program = self.trial.segment.assembly, self.trial.segment.program
        bases = [bare(o.value) for o in program.outputs if o.value is not None]
        return self.trial.results(self.commands, [v for v in bases if v.dtype == "f32" and a.root(v) in a.slots])

    def seconds(self) -> float:
        """How long one run takes."""
        return self.trial.bench.whole(self.commands)


__all__ = ["Differs", "Trial", "Whole", "agree", "tune", "ways"]
