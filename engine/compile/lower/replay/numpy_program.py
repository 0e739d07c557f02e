"""Running an assembly as numpy programs, where there is no C compiler.

The kernels' text is compiled by Python once; a call binds flat views of the arrays it is given and walks the steps.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ....backends.base import backend as backend_of
from ....backends.cpu import quiet
from ....observe import bus
from ....ops.table import OPS
from ....tensor import wrap
from ..loops.index import Ix, evaluate
from ..loops.scalar import BYTES, NUMPY
from ..memory.arena import Arena
from ..memory.peak import Use, hints, made_by
from ..memory.plan import Need, lay_out
from ..print_numpy.text import Printer
from ..schedule.anchors import affine
from ..schedule.fuse import bare
from ..values import Value
from .assemble import Assembly, Step
from .calls import run_call
from .common import Outputs
from .cpu import _ordered
from .tell import tell_built, tell_launch


class OutOfRange(IndexError):
    """An index of a kernel is out of range."""


def _place(index: Any, n: int) -> Any:
    """Indices with negative ones counted from the end. Raises IndexError for what is out of range."""
    index = np.where(index < 0, index + n, index)
    if index.size and (index.min() < 0 or index.max() >= n):
        raise OutOfRange("index out of range in self")
    return index


def _sigmoid(x: Any) -> Any:
    y = np.exp(np.negative(x))
    return 1 / (1 + y)


def _sign(x: Any) -> Any:
    return np.where(np.isnan(x), np.zeros((), np.asarray(x).dtype), np.sign(x))


def namespace() -> dict[str, Any]:
    """What generated programs may use."""
    return {
        "np": np, "view": np.ndarray, "place": _place, "sigmoid": _sigmoid, "sign": _sign,
        "rsqrt": lambda x: 1 / np.sqrt(x), **{name: OPS[name].cpu for name in ("erf", "erfc", "lgamma")},
        **{code: getattr(np, name) if name != "bool" else np.bool_ for code, name in NUMPY.items()},
    }  # fmt: skip


class NumpySegment(Outputs):
    """A compiled program, called with the tensors (and numbers) of the graph's inputs."""

    def __init__(self, assembly: Assembly, arena: Arena | None = None, block: int | None = None):
        """`block`: elements of the blocks of its programs (see `print_numpy.text.Printer`)."""
        super().__init__(assembly)
        place = {name: i for i, name in enumerate(self.symbols)}
        self.backend = backend_of("cpu")
        self.arena = arena or Arena()
        self.lock = self.arena.lock
        space = namespace()
        self.steps: list[Any] = []
        self.texts: dict[int, str] = {}
        self.nodes: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
        self.temporary: list[Callable[[Callable[[Ix], int]], int]] = []
        """For each kernel the bytes that it allocates while it runs."""

        def slot(b: Any) -> int:
            if b in assembly.temporaries:
                return assembly.temporaries[b]
            return assembly.numbers[b.value] if b.dtype == "number" else assembly.slots[b.value]

        for k, step in enumerate(assembly.steps):
            if step.kind == "kernel":
                assert step.kernel is not None
                name = f"k{k}"
                printer = Printer(step.kernel, slot, place.__getitem__, name, block)
                source = self.texts[k] = printer.print()
                self.nodes[k] = printer.nodes
                exec(compile(source, f"<kernel {step.kernel.name}>", "exec"), space)
                self.steps.append(quiet(space[name]))
                self.temporary.append(printer.temporary)
            else:
                self.steps.append(None)
        self.bound = [
            (i, assembly.slots[v]) for i, v in enumerate(self.program.inputs) if v is not None and v in assembly.slots
        ]
        self.numbers = [(v.data, place) for v, place in assembly.numbers.items()]
        self.fresh: list[tuple[Value, Value, int, np.dtype, tuple[int, ...] | None]] = []
        """What each call makes: a value, the value whose memory it is, its slot, its dtype, and the order of its dimensions."""
        for k in assembly.made:
            v = self.bases[k]
            assert v is not None
            order = None
            if v.strides is not None:
                order = tuple(sorted(range(v.rank), key=lambda d: -(v.strides[d].number or 0)))  # type: ignore[index]
            root = assembly.root(v)
            self.fresh.append((v, root, assembly.slots[root], np.dtype(NUMPY[v.dtype]), order))
        self.written = {o: i for i, o in self.program.written.items()}
        self.only_kernels = all(step is not None for step in self.steps)
        self.memory: dict[tuple[int, ...], tuple[np.ndarray, dict[int, np.ndarray]]] = {}
        """For the sizes of a call the arena as it was then, and arrays in it by slot."""
        self.planned = 0
        self.shapes: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}
        self.places: dict[tuple[int, tuple[int, ...]], Any] = {}
        self.launches = 0
        self.times: dict[int, deque[float]] = {}
        tell_built(self, "cpu")

    timing = False
    told = True
    """Whether listeners hear of its launches; not while it is only measured."""

    def use(self) -> Use:
        """Bytes that calls hold, for the sizes of the last ones."""
        sizes = next(reversed(self.memory), None)
        values = hints(self.program) if sizes is None else dict(zip(self.symbols, sizes, strict=True))
        inside = max((t(lambda n: evaluate(n, values)) for t in self.temporary), default=0)
        return Use(self.planned, made_by(self.assembly, values), inside)

    def _arena(self, sizes: tuple[int, ...]) -> dict[int, np.ndarray]:
        """Memory of intermediate results, by slot, in one arena."""
        found = self.memory.get(sizes)
        if found is not None and found[0] is self.arena.array:
            return found[1]
        a, values = self.assembly, dict(zip(self.symbols, sizes, strict=True))
        fresh = {a.slots[a.root(bare(v))] for k in a.made if (v := self.program.outputs[k].value) is not None}
        given = {s for _, s in self.bound}
        lives: dict[int, tuple[Value, list[int]]] = {}
        for k, step in enumerate(a.steps):
            for v in (*step.reads, *step.writes):
                root = a.root(v)
                s = a.slots.get(root)
                if (
                    s is not None
                    and s not in fresh
                    and s not in given
                    and root.kind not in ("constant", "item", "input")
                ):
                    lives.setdefault(s, (root, []))[1].append(k)
        for o in a.copied:
            v = self.program.outputs[o].value
            assert v is not None
            s = a.slots[a.root(bare(v))]
            if s in lives:
                lives[s][1].append(len(a.steps))
        needs, entries = [], []
        for s, (v, when) in lives.items():
            n = evaluate(v.numel(), values)
            needs.append(Need(n * BYTES.get(v.dtype, 8), min(when), max(when)))
            entries.append((s, NUMPY[v.dtype], n))
        for k, step in enumerate(a.steps):
            for b, _ in step.temporary:
                if b.role == "scratch":
                    continue
                n = evaluate(b.size, values)
                needs.append(Need(n * BYTES[b.dtype], k, k))
                entries.append((a.temporaries[b], NUMPY[b.dtype], n))
        layout = lay_out(needs)
        arena = self.arena.hold(layout.bytes)
        out: dict[int, np.ndarray] = {}
        for (s, dtype, n), at in zip(entries, layout.offsets, strict=True):
            out[s] = np.ndarray((n,), dtype, arena, at)
        for v, s in a.slots.items():
            if v.kind == "constant":
                out[s] = np.ascontiguousarray(v.data._data if hasattr(v.data, "_data") else v.data).reshape(-1)
        if len(self.memory) > 32:
            for kept in (self.memory, self.shapes, self.places):
                kept.clear()
        self.memory[sizes] = arena, out
        self.planned = max(self.planned, layout.bytes)
        return out

    def __call__(self, *tensors: Any) -> Any:
        with self.lock:
            return self.guarded(self._run, tensors)

    def _run(self, tensors: tuple[Any, ...]) -> Any:
        a, program = self.assembly, self.program
        sizes = self.sizes(tensors)
        values = dict(zip(self.symbols, sizes, strict=True)) if sizes else {}
        m = dict(self._arena(sizes))
        back: list[tuple[np.ndarray, np.ndarray]] = []
        for i, s in self.bound:
            v = program.inputs[i]
            assert v is not None
            array = tensors[i]._data
            if v.strides is None and array.flags.c_contiguous:
                m[s] = array.reshape(-1)
            else:
                m[s] = self._flat(array, v, i, back)
        results: dict[Value, np.ndarray] = {}
        for v, root, s, dtype, order in self.fresh:
            shape = self._shape(v, sizes, values)
            if order is None:
                array = np.empty(shape, dtype)
                m[s] = array.reshape(-1)
            else:
                array = _ordered(shape, dtype, order)
                m[s] = array.transpose(order).reshape(-1)
            results[root] = array
        g = [float(tensors[i]) for i, _ in self.numbers]
        items: dict[Value, np.ndarray] = {}
        heard = bus.launch and self.told
        told = heard or self.timing
        if self.only_kernels and not told:
            for k, kernel in enumerate(self.steps):
                if k == self.first_write:
                    self.half_written = True
                kernel(m, sizes, g)
        else:
            for k, step in enumerate(a.steps):
                began = time.perf_counter() if told else 0.0
                if k == self.first_write:
                    self.half_written = True
                self._step(k, step, m, sizes, g, values, items)
                if told:
                    self.times.setdefault(k, deque(maxlen=64)).append(time.perf_counter() - began)
                    if heard:
                        tell_launch(step, k, "cpu", self.times[k][-1])
        self.launches += 1
        for target, source in back:
            np.copyto(target, source)
        return self._results(tensors, sizes, values, results, items, m)

    def _step(self, k: int, step: Step, m: Any, sizes: Any, g: Any, values: Any, items: Any) -> None:
        a = self.assembly
        if step.kind == "kernel":
            self.steps[k](m, sizes, g)
            return
        v = step.value
        assert v is not None
        operands = [self._operand(m, x, r, sizes, values, items) for x, r in zip(v.args, step.reads, strict=True)]
        if step.kind == "product":
            out = m[a.slots[a.root(v)]]
            np.matmul(*operands, out=out.reshape(self._shape(v, sizes, values)))
            return
        made = run_call(v, operands, self.backend)
        for item in step.writes:
            array = np.asarray(made[item.data])
            if any(np.may_share_memory(o, array) for o in operands):
                array = array.copy()
            array = np.asarray(array, order="C")
            items[item] = array
            m[a.slots[item]] = array.reshape(-1)

    def _flat(self, array: np.ndarray, v: Value, i: int, back: Any) -> np.ndarray:
        """An input's memory as one dimension."""
        if v.strides is None:
            if array.flags.c_contiguous:
                return array.reshape(-1)
            made = np.array(array, order="C")
        else:
            order = sorted(range(array.ndim), key=lambda d: -(v.strides[d].number or 0))  # type: ignore[index]
            turned = array.transpose(order)
            if turned.flags.c_contiguous:
                return turned.reshape(-1)
            made = np.ascontiguousarray(turned)
        if i in self.assembly.direct.values():
            back.append((array, made.reshape(array.shape)))
        return made.reshape(-1)

    def _shape(self, v: Value, sizes: tuple[int, ...], values: Any) -> tuple[int, ...]:
        """The shape of a value in a call with these sizes."""
        found = self.shapes.get((v.id, sizes))
        if found is None:
            found = self.shapes[v.id, sizes] = tuple(evaluate(n, values) for n in v.shape)
        return found

    def _operand(self, m: Any, v: Value, base: Value, sizes: tuple[int, ...], values: Any, items: Any) -> np.ndarray:
        a = self.assembly
        if v is base and v in items:
            return items[v]
        flat = m[a.slots[a.root(base)]]
        place = self.places.get((v.id, sizes))
        if place is None:
            seen = affine(v, a.held)
            if seen is None:
                raise NotImplementedError("a library call reads a value that is no strided view")
            _, steps, start = seen
            size = flat.itemsize
            place = self.places[v.id, sizes] = (
                self._shape(v, sizes, values), flat.dtype, evaluate(start, values) * size,
                tuple(evaluate(s, values) * size for s in steps),
            )  # fmt: skip
        shape, dtype, start, steps = place
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, flat, start, steps)

    def _results(self, tensors: Any, sizes: tuple[int, ...], values: Any, results: Any, items: Any, m: Any) -> Any:
        a, program = self.assembly, self.program
        out: list[Any] = [None] * len(program.outputs)
        written = self.written
        for k, o in enumerate(program.outputs):
            if o.value is None:
                out[k] = self.plain(o.plain, tensors, values)
                continue
            base = self.bases[k]
            assert base is not None
            if k in written:
                i = written[k]
                target = tensors[i]
                if k in a.copied:
                    array = results.get(a.root(base), items.get(base))
                    if array is None:
                        array = m[a.slots[a.root(base)]]
                    np.copyto(target._data, array.reshape(target._data.shape))
                if i in program.counted:
                    target._storage.version += 1
                out[k] = target
            elif base.kind == "input":
                out[k] = tensors[base.data]
            elif base.kind == "constant":
                out[k] = base.data
            else:
                array = items[base] if base.kind == "item" else results[a.root(base)]
                assert o.spec is not None
                shape = self._shape(o.value, sizes, values)
                if array.shape != shape:
                    array = array.reshape(shape)
                if k in a.moved:
                    array = self.moved(k, array, tensors, values)
                out[k] = wrap(array, o.spec.dtype, self.backend)
        return self.filled(out)


__all__ = ["NumpySegment"]
