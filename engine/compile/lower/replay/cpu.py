"""Running an assembly on the CPU: one call of compiled C a stretch of steps, on memory that is planned beforehand.

A call checks nothing that guards have checked: it takes the addresses of the arrays it is given, makes arrays for what escapes,
and runs. Calls of the segments of one compiled function exclude each other, since they share an arena.
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....backends.base import backend as backend_of
from ....observe import bus
from ....tensor import wrap
from ..cache import compiler as cc
from ..loops.index import Ix, evaluate
from ..loops.scalar import BYTES, NUMPY
from ..memory.arena import Arena
from ..memory.peak import Use, hints, made_by
from ..memory.plan import Layout, Need, lay_out
from ..print_c.program import File, write
from ..schedule.anchors import affine
from ..schedule.fuse import bare
from ..values import Value, canonical
from .assemble import Assembly, Step
from .calls import run_call
from .common import Outputs
from .tell import tell_built, tell_launch


class Context(ctypes.Structure):
    """The generated code's `ts_context`."""

    _fields_ = [
        ("m", ctypes.c_void_p), ("s", ctypes.c_void_p), ("n", ctypes.c_void_p), ("g", ctypes.c_void_p), ("bad", ctypes.c_int64),
        ("parallel", ctypes.c_void_p), ("sgemm", ctypes.c_void_p), ("dgemm", ctypes.c_void_p),
        ("threads", ctypes.c_void_p), ("places", ctypes.c_void_p), ("want", ctypes.c_void_p), ("bytes", ctypes.c_void_p),
        ("written", ctypes.c_void_p), ("count", ctypes.c_int64), ("given", ctypes.c_int64), ("writes", ctypes.c_int64),
        ("header", ctypes.c_int64), ("kind", ctypes.c_int64), ("type", ctypes.c_void_p),
    ]  # fmt: skip


def _header() -> int | None:
    """Where an array object holds the address of its elements, then its rank, sizes and steps; None where that is not as expected."""
    at = object.__basicsize__
    probe = np.zeros((3, 5), np.int16)
    items = (probe, at)

    def word(address: int) -> int | None:
        return ctypes.c_void_p.from_address(address).value

    def pair(address: int) -> list[int]:
        return list((ctypes.c_int64 * 2).from_address(word(address) or 0))

    if ctypes.sizeof(ctypes.c_void_p) != 8 or word(id(items) + ITEMS) != id(probe):
        return None
    if word(id(probe) + at) != probe.ctypes.data or word(id(probe) + KIND) != id(np.ndarray):
        return None
    start = id(probe) + at
    if ctypes.c_int.from_address(start + 8).value != 2:
        return None
    return at if pair(start + 16) == [3, 5] and pair(start + 24) == [10, 2] else None


KIND = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
"""Where an object holds its type."""

ITEMS = tuple.__basicsize__
"""Where a tuple holds its first item."""

HEADER = _header()

DONE, BAD_INDEX, OTHER_LAYOUT, SHARED = range(4)
"""What a call of generated code answers; in the last two cases nothing has happened."""

ANY = -(1 << 63)


@dataclass(eq=False)
class Prepared:
    """What a call with certain sizes needs: the table of memory, places in the arena, and how results are made."""

    table: Any
    slots: list[int]
    layout: Layout
    context: Context
    made: list[tuple[int, tuple[int, ...], np.dtype, tuple[int, ...] | None]] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)
    expected: list[tuple[int, ...] | None] = field(default_factory=list)
    """Of every given array its byte strides; None where they do not matter."""

    numbers: Any = None
    address: int = 0

    def bind(self, start: int) -> None:
        """The arena begins at this address."""
        for s, at in zip(self.slots, self.layout.offsets, strict=True):
            self.table[s] = start + at


class Segment(Outputs):
    """A compiled program, called with the tensors (and numbers) of the graph's inputs."""

    def __init__(
        self, assembly: Assembly, flags: tuple[str, ...] = (), alone: bool = False, arena: Arena | None = None
    ):
        """With `flags` for the compiler; `alone` keeps to the calling thread; segments that never run at once may share an `arena`."""
        compiler, threads = cc.find(), cc.threads()
        assert compiler is not None and threads is not None and HEADER is not None
        super().__init__(assembly)
        blas = cc.blas()
        self.file: File = write(assembly, blas is not None)
        began = time.perf_counter()
        path, self.cached = compiler.build(self.file.text, "segment", extra=flags)
        self.seconds = time.perf_counter() - began
        self.path = path
        self.library = ctypes.CDLL(str(path))
        self.clock = threads[0].ts_timed
        self.clock.argtypes, self.clock.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int64
        self.parallel = threads[1] if not alone else ctypes.cast(threads[0].ts_alone, ctypes.c_void_p).value or 0
        self.blas = blas[:2] if blas else (0, 0)
        self.one_thread = cc.single_thread() if blas else None
        self.arena = arena or Arena()
        self.lock = self.arena.lock
        self.backend = backend_of("cpu")
        self.prepared: dict[tuple[int, ...], Prepared] = {}
        self.stretches = self._stretches()
        inputs = self.program.inputs
        self.bound = [(i, assembly.slots[v]) for i, v in enumerate(inputs) if v is not None and v in assembly.slots]
        self.numbers = [(v.data, place) for v, place in assembly.numbers.items()]
        self.plan = self._plan_results()
        self.is_flat = self.program.structure == list(range(len(self.plan)))
        self.where = [i for i, _ in self.bound]
        self.static = not self.symbols
        self.launches = 0
        self.times: dict[int, deque[float]] = {}
        tell_built(self, "cpu")
        first = [s for _, s in self.bound]
        with self.lock:
            self.one = self._prepare(()) if self.static else None
        self.first_places = first

    def _expected(self, i: int, values: dict[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shape and the byte strides that an input must have."""
        v = self.program.inputs[i]
        assert v is not None
        steps = v.strides if v.strides is not None else canonical(v.shape)
        size = BYTES.get(v.dtype, 0)
        shape = tuple(evaluate(n, values) for n in v.shape)
        return shape, tuple(evaluate(s, values) * size for s in steps)

    # -- preparing ------------------------------------------------------------------------------

    def _stretches(self) -> list[tuple[Any, list[int]]]:
        """C entries and Python steps in order."""
        out: list[tuple[Any, list[int]]] = []
        entries = {steps[0]: (name, steps) for name, steps in self.file.entries}
        for k in range(len(self.assembly.steps)):
            if k in entries:
                name, steps = entries[k]
                function = getattr(self.library, name)
                function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int
                out.append((function, steps))
            elif k in self.file.python:
                out.append((None, [k]))
        return out

    def _prepare(self, sizes: tuple[int, ...]) -> Prepared:
        found = self.prepared.get(sizes)
        if found is not None:
            return found
        a = self.assembly
        values = dict(zip(self.symbols, sizes, strict=True))
        needs: list[Need] = []
        slots: list[int] = []
        lifetimes: dict[int, list[int]] = {}
        fresh = {a.slots[a.root(self._result(k))] for k in a.made}
        given = {s for _, s in self.bound}
        held: dict[int, Value] = {}
        for k, step in enumerate(a.steps):
            for v in (*step.reads, *step.writes):
                root = a.root(v)
                s = a.slots.get(root)
                if s is None or s in fresh or s in given or root.kind in ("constant", "item", "input"):
                    continue
                held[s] = root
                lifetimes.setdefault(s, []).append(k)
        for o in a.copied:
            s = a.slots[a.root(self._result(o))]
            if s in lifetimes:
                lifetimes[s].append(len(a.steps))
        for s, when in lifetimes.items():
            v = held[s]
            needs.append(Need(evaluate(v.numel(), values) * BYTES.get(v.dtype, 8), min(when), max(when)))
            slots.append(s)
        for k, step in enumerate(a.steps):
            for b, n in step.temporary:
                needs.append(Need(evaluate(n, values) * BYTES[b.dtype], k, k))
                slots.append(a.temporaries[b])
        layout = lay_out(needs)
        count = 1 + max([*a.slots.values(), *a.temporaries.values()], default=0)
        table = (ctypes.c_void_p * count)()
        p = Prepared(table, slots, layout, Context())
        self.arena.join(p, layout.bytes)
        for v, s in a.slots.items():
            if v.kind == "constant":
                data = v.data._data if hasattr(v.data, "_data") else v.data
                array = np.ascontiguousarray(data)
                p.keep.append(array)
                table[s] = array.ctypes.data
        n = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
        g = (ctypes.c_double * max(1, len(self.numbers)))()
        for k in a.made:
            v, spec = self._result(k), self.program.outputs[k].spec
            assert spec is not None
            shape = tuple(evaluate(d, values) for d in v.shape)
            order = None
            if v.strides is not None:
                order = tuple(sorted(range(v.rank), key=lambda d: -(v.strides[d].number or 0)))  # type: ignore[index]
            p.made.append((k, shape, np.dtype(NUMPY[v.dtype]), order))
        places = [s for _, s in self.bound] + [a.slots[a.root(self._result(k))] for k, *_ in p.made]
        where = (ctypes.c_int64 * max(1, len(places)))(*places)
        want, sizes_, position = [], [], {}
        for j, i in enumerate(self.where):
            shape, strides = self._expected(i, values)
            v = self.program.inputs[i]
            assert v is not None
            count = int(np.prod(shape, dtype=np.int64))
            position[i] = j
            if v.dtype not in BYTES or not count:  # memory that no kernel reads
                p.expected.append(None)
                want.append(ANY)
                sizes_.append(0)
                continue
            p.expected.append(strides)
            want.append(len(shape))
            for d, step in zip(shape, strides, strict=True):
                want += [d, ANY if d == 1 else step]
            sizes_.append(BYTES[v.dtype] + sum((d - 1) * t for d, t in zip(shape, strides, strict=True)))
        written = [position[i] for i in self.program.written if i in position]
        c = p.context
        c.m, c.n, c.g = ctypes.addressof(table), ctypes.addressof(n), ctypes.addressof(g)
        c.parallel, (c.sgemm, c.dgemm) = self.parallel, self.blas
        tables = [(ctypes.c_int64 * max(1, len(x)))(*x) for x in (want, sizes_, written)]
        c.places, (c.want, c.bytes, c.written) = ctypes.addressof(where), map(ctypes.addressof, tables)
        c.count, c.given, c.writes = len(places), len(self.bound), len(written)
        c.header, c.kind, c.type = HEADER or 0, KIND, id(np.ndarray)
        if self.one_thread is not None and any(step.kind == "product" for step in a.steps):
            c.threads = ctypes.cast(self.one_thread, ctypes.c_void_p).value
        p.keep += [n, g, where, *tables]
        p.numbers = g
        p.address = ctypes.addressof(c)
        if len(self.prepared) > 32:
            self.prepared.clear()
        self.prepared[sizes] = p
        return p

    def use(self) -> Use:
        """Bytes that calls hold, for the sizes of the last ones."""
        sizes, p = next(reversed(self.prepared.items()), ((), None))
        values = dict(zip(self.symbols, sizes, strict=True)) if p is not None else hints(self.program)
        return Use(max((x.layout.bytes for x in self.prepared.values()), default=0), made_by(self.assembly, values))

    def _result(self, k: int) -> Value:
        v = self.program.outputs[k].value
        assert v is not None
        return bare(v)

    # -- running --------------------------------------------------------------------------------

    def __call__(self, *tensors: Any) -> Any:
        with self.lock:
            return self.guarded(self._run, tensors)

    def _run(self, tensors: tuple[Any, ...]) -> Any:
        p = self.one or self._prepare(self.sizes(tensors))
        fresh = self._fresh(p)
        for i, g in self.numbers:
            p.numbers[g] = float(tensors[i])
        arrays = [tensors[i]._data for i in self.where]
        state, held = self._steps(p, arrays, fresh)
        back: list[tuple[np.ndarray, np.ndarray]] = []
        if state == OTHER_LAYOUT:
            for j, wanted in enumerate(p.expected):
                arrays[j] = self._laid_out(j, arrays[j], wanted, back)
            state, held = self._steps(p, arrays, fresh)
        if state != DONE:
            raise self._refused(state)
        self.launches += 1
        for target, source in back:
            np.copyto(target, source)
        return self._results(tensors, p, fresh, held)

    @staticmethod
    def _refused(state: int) -> Exception:
        if state == BAD_INDEX:
            return IndexError("index out of range in self")
        if state == SHARED:
            return ValueError("an argument that is written to shares memory with another argument")
        return ValueError("an argument is not the array that this code was made for")

    def _fresh(self, p: Prepared) -> list[np.ndarray]:
        """Memory of the results of one call."""
        return [
            np.empty(shape, dtype) if order is None else _ordered(shape, dtype, order)
            for _, shape, dtype, order in p.made
        ]

    def _steps(
        self, p: Prepared, arrays: list[np.ndarray], fresh: list[np.ndarray]
    ) -> tuple[int, dict[int, np.ndarray]]:
        """Run on arrays: what came of it, and arrays by slot where steps in Python made some."""
        objects = (*arrays, *fresh)
        if (bus.launch and self.told) or self.timing:
            return self._timed(p, objects)
        if len(self.stretches) == 1 and self.stretches[0][0] is not None:
            return self.stretches[0][0](p.address, id(objects) + ITEMS), {}
        return self._mixed(p, objects)

    def _laid_out(self, j: int, array: np.ndarray, wanted: tuple[int, ...] | None, back: Any) -> np.ndarray:
        array = np.asarray(array)
        if wanted is None or all(n == 1 or w == s for n, w, s in zip(array.shape, wanted, array.strides, strict=True)):
            return array
        return self._moved(j, array, back)

    def _moved(self, j: int, array: np.ndarray, back: Any) -> np.ndarray:
        """A copy of an input in the memory order that was compiled for; written inputs are copied back."""
        i = self.bound[j][0]
        v = self.program.inputs[i]
        assert v is not None
        if v.strides is None:
            made = np.array(array, order="C")
        else:
            order = sorted(range(array.ndim), key=lambda d: -(v.strides[d].number or 0))  # type: ignore[index]
            made = np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
        if i in self.assembly.direct.values():
            back.append((array, made))
        return made

    # -- one step after the other ---------------------------------------------------------------

    timing = False
    """Whether every step is timed."""

    told = True
    """Whether listeners hear of its launches; not while it is only measured."""

    def _timed(self, p: Prepared, objects: tuple[np.ndarray, ...]) -> tuple[int, dict[int, np.ndarray]]:
        """The steps one by one, each timed and told to listeners."""
        a = self.assembly
        state = self._bind(p, objects)
        held = self._held(p, objects)
        if state != DONE:
            return state, held
        before = self.one_thread(1) if self.one_thread is not None else 0
        for k, step in enumerate(a.steps):
            if k in self.file.python:
                began = time.perf_counter()
                self._python(p, step, held)
                seconds = time.perf_counter() - began
            else:
                run = ctypes.cast(getattr(self.library, f"step_{k}"), ctypes.c_void_p)
                seconds = self.clock(run, p.address) * 1e-9
            self.times.setdefault(k, deque(maxlen=64)).append(seconds)
            if bus.launch:
                tell_launch(step, k, "cpu", seconds)
        if self.one_thread is not None:
            self.one_thread(before)
        bad, p.context.bad = p.context.bad, 0
        return (BAD_INDEX if bad else DONE), held

    # -- steps in Python ------------------------------------------------------------------------

    def _bind(self, p: Prepared, objects: tuple[np.ndarray, ...]) -> int:
        bind = self.library.bind
        bind.argtypes, bind.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int
        return bind(p.address, id(objects) + ITEMS)

    def _held(self, p: Prepared, objects: tuple[np.ndarray, ...]) -> dict[int, np.ndarray]:
        """The arrays of a call by slot."""
        a = self.assembly
        places = [*[s for _, s in self.bound], *[a.slots[a.root(self._result(k))] for k, *_ in p.made]]
        return dict(zip(places, objects, strict=True))

    def _mixed(self, p: Prepared, objects: tuple[np.ndarray, ...]) -> tuple[int, dict[int, np.ndarray]]:
        held = self._held(p, objects)
        state = self._bind(p, objects)
        if state != DONE:
            return state, held
        for function, steps in self.stretches:
            if steps[0] > self.first_write:  # a step in C fails before it writes
                self.half_written = True
            if function is None:
                self._python(p, self.assembly.steps[steps[0]], held)
            elif state := function(p.address, None):
                break
        return state, held

    def _array(self, p: Prepared, v: Value, held: dict[int, np.ndarray]) -> np.ndarray:
        """The memory of a value as an array of its shape."""
        a = self.assembly
        root = a.root(v)
        s = a.slots[root]
        found = held.get(s)
        if found is None:
            if root.kind == "constant":
                return np.asarray(root.data._data if hasattr(root.data, "_data") else root.data)
            values = self._values(p)
            shape = tuple(evaluate(n, values) for n in root.shape)
            dtype = np.dtype(NUMPY[root.dtype])
            count = int(np.prod(shape, dtype=np.int64))
            memory: Any = (ctypes.c_char * max(1, count * dtype.itemsize)).from_address(p.table[s])
            found = np.frombuffer(memory, dtype, count).reshape(shape)
            held[s] = found
        return found

    def _values(self, p: Prepared) -> dict[str, int]:
        n = (ctypes.c_int64 * max(1, len(self.symbols))).from_address(p.context.n)
        return dict(zip(self.symbols, n, strict=False))

    def _operand(self, p: Prepared, v: Value, base: Value, held: dict[int, np.ndarray]) -> np.ndarray:
        array = self._array(p, base, held)
        if v is base:
            return array
        seen = affine(v, self.assembly.held)
        assert seen is not None
        values = self._values(p)
        _, steps, start = seen
        shape = tuple(evaluate(n, values) for n in v.shape)
        size = array.itemsize
        flat = array
        offset = evaluate(start, values)
        strides = tuple(evaluate(s, values) * size for s in steps)
        if not array.size:
            return array.reshape(shape)
        view = np.lib.stride_tricks.as_strided(
            flat.reshape(-1)[offset:] if flat.flags.c_contiguous else flat, shape, strides
        )
        return view

    def _python(self, p: Prepared, step: Step, held: dict[int, np.ndarray]) -> None:
        v = step.value
        if step.kind == "kernel":
            assert step.kernel is not None
            raise NotImplementedError(f"kernel {step.kernel.name} has no C")
        assert v is not None
        operands = [self._operand(p, a, r, held) for a, r in zip(v.args, step.reads, strict=True)]
        if step.kind == "product":
            np.matmul(*operands, out=self._array(p, v, held))
            return
        results = run_call(v, operands, self.backend)
        for item in step.writes:
            array = results[item.data]
            s = self.assembly.slots[self.assembly.root(item)]
            if item.dtype in NUMPY or not array.flags.c_contiguous:
                array = np.asarray(array, dtype=NUMPY.get(item.dtype), order="C")
            for o in operands:
                if np.may_share_memory(o, array):
                    array = array.copy()
                    break
            held[s] = array
            p.table[s] = array.ctypes.data

    # -- results --------------------------------------------------------------------------------

    def _plan_results(self) -> list[tuple[str, Any]]:
        """How each result comes about, decided once."""
        a, program = self.assembly, self.program
        fresh = {a.root(self._result(k)): j for j, k in enumerate(a.made)}
        written = {o: i for i, o in program.written.items()}
        plan: list[tuple[str, Any]] = []
        for k, o in enumerate(program.outputs):
            if o.value is None:
                symbolic = type(o.plain).__name__ in ("SymInt", "SymFloat")
                plan.append(("number" if symbolic else "plain", o.plain))
                continue
            base = self._result(k)
            if k in written:
                i = written[k]
                source: Any = None
                if k in a.copied:
                    source = ("fresh", fresh[a.root(base)]) if a.root(base) in fresh else ("held", base)
                plan.append(("written", (i, i in program.counted, source)))
            elif base.kind == "input":
                plan.append(("input", base.data))
            elif base.kind == "constant":
                plan.append(("plain", base.data))
            else:
                assert o.spec is not None
                same = base.shape == o.value.shape
                shape = None if same else o.value.shape
                kind, where = ("held", base) if base.kind == "item" else ("fresh", fresh[a.root(base)])
                plan.append((kind, (where, shape, o.spec.dtype, k if k in a.moved else None)))
        return plan

    def _results(
        self, tensors: tuple[Any, ...], p: Prepared, fresh: list[np.ndarray], held: dict[int, np.ndarray]
    ) -> Any:
        out: list[Any] = []
        backend = self.backend
        for kind, what in self.plan:
            if kind == "written":
                i, counted, source = what
                target = tensors[i]
                if source is not None:
                    array = fresh[source[1]] if source[0] == "fresh" else self._array(p, source[1], held)
                    np.copyto(target._data, array.reshape(target._data.shape))
                if counted:
                    target._storage.version += 1
                out.append(target)
            elif kind == "fresh" or kind == "held":
                where, shape, dtype, moved = what
                array = fresh[where] if kind == "fresh" else held[self.assembly.slots[where]]
                if shape is not None:
                    array = array.reshape([evaluate(n, self._values(p)) for n in shape])
                if moved is not None:
                    array = self.moved(moved, array, tensors, self._values(p))
                out.append(wrap(array, dtype, backend))
            elif kind == "input":
                out.append(tensors[what])
            elif kind == "plain":
                out.append(what)
            else:
                out.append(self.plain(what, tensors, self._values(p)))
        return tuple(out) if self.is_flat else self.filled(out)


def _ordered(shape: tuple[int, ...], dtype: np.dtype, order: tuple[int, ...]) -> np.ndarray:
    """Memory of a shape with its dimensions in another order, outermost first."""
    back = [0] * len(order)
    for i, d in enumerate(order):
        back[d] = i
    return np.empty([shape[d] for d in order], dtype).transpose(back)


__all__ = ["Ix", "Segment"]
