"""A program for the CPU: kernels, products and calls of engine kernels in order, and where their memory is.

`assemble` decides everything that does not depend on the values of a call; `cpu.py` compiles the text and runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...fake.layout import is_row_major
from ..loops import moves
from ..loops.build import build
from ..loops.form import Buffer, Kernel
from ..loops.index import ZERO, Ix, ix, product
from ..loops.straight import straight
from ..schedule.anchors import FLOATING_KINDS, affine, below
from ..schedule.epilogue import reads as unit_reads
from ..schedule.fuse import Caps, Schedule, Unit, bare, schedule
from ..schedule.groups import Group
from ..simplify.decompose import is_number
from ..simplify.layout import rewrite, split_reductions
from ..simplify.translate import Program
from ..values import Value


@dataclass
class Step:
    """One thing that runs: a kernel, a product of matrices, or a call of an engine kernel on arrays."""

    kind: str
    """ "kernel", "product" or "call" """
    kernel: Kernel | None = None
    value: Value | None = None
    reads: list[Value] = field(default_factory=list)
    writes: list[Value] = field(default_factory=list)
    temporary: list[tuple[Buffer, Ix]] = field(default_factory=list)
    """Memory that only this step uses: (buffer, elements)."""

    tail: Tail | None = None
    """What a product's kernel computes of its results."""

    def apart(self) -> list[Step]:
        """A product, and its epilogue as a kernel of its own."""
        assert self.value is not None and self.tail is not None
        count = len(self.value.args)
        return [Step("product", value=self.value, reads=self.reads[:count], writes=[self.value]), self.tail.apart]


@dataclass
class Tail:
    """The epilogue of a product: statements over the product's own variables, and the same as a kernel that reads the product."""

    kernel: Kernel
    product: Buffer
    variables: tuple[str, ...]
    """The variable of each of the product's dimensions, "" for those of one element."""

    sizes: dict[str, Ix]
    store: bool
    """Whether the product itself is stored too."""

    apart: Step


@dataclass
class Assembly:
    """The steps and the memory of a program."""

    program: Program
    schedule: Schedule
    steps: list[Step]
    slots: dict[Value, int]
    """The number of each array in the table of memory."""

    temporaries: dict[Buffer, int]
    numbers: dict[Value, int]
    direct: dict[int, int]
    """Outputs that kernels write straight into the memory of an input: output to input."""

    copied: dict[int, int]
    """Outputs whose values are copied into an input at the end."""

    made: list[int]
    """Outputs that get fresh memory on each call."""

    home: dict[Value, Value] = field(default_factory=dict)
    held: set[Value] = field(default_factory=set)
    """Anchors that have memory of their own."""

    moved: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    """Outputs that lie in memory otherwise than the graph says, with the strides they shall have (in elements)."""

    def root(self, v: Value) -> Value:
        """The value whose memory `v` has."""
        while v in self.home:
            v = self.home[v]
        return v


def assemble(program: Program, caps: Caps | None = None) -> Assembly:
    """Schedule a program, build its kernels, and number its memory."""
    rewrite(program)
    if caps is not None and caps.rows_only:
        split_reductions(program, caps.gathers)
    plan = schedule(program, caps)
    return _Assembler(program, plan, caps or Caps()).run()


class _Assembler:
    def __init__(self, program: Program, plan: Schedule, caps: Caps):
        self.program, self.plan, self.caps = program, plan, caps
        self.slots: dict[Value, int] = {}
        self.buffers: dict[Value, Buffer] = {}
        self.temporaries: dict[Buffer, int] = {}
        self.numbers: dict[Value, int] = {}
        self.home: dict[Value, Value] = {}
        """Values whose memory is another value's: results written into inputs, parts of concatenations."""
        self.count = 0
        self.held = {v for v in plan.anchors if v in plan.memory}

    def run(self) -> Assembly:
        plan, program = self.plan, self.program
        direct, copied = self._writes()
        for v in program.inputs:
            if v is not None and v.kind == "number":
                self.numbers[v] = len(self.numbers)
        self._result_strides()
        steps: list[Step] = []
        for u in plan.units:
            steps += self._steps(u)
        made = [
            k
            for k, (o, r) in enumerate(zip(program.outputs, plan.results, strict=True))
            if r is not None and r.kind not in ("input", "constant", "item") and k not in direct and self._root(r) is r
        ]
        return Assembly(
            program,
            plan,
            steps,
            self.slots,
            self.temporaries,
            self.numbers,
            direct,
            copied,
            made,
            self.home,
            self.held,
            self._moved(),
        )

    # -- memory ---------------------------------------------------------------------------------

    def _result_strides(self) -> None:
        """Results lie in memory as the graph says they do, where that is another order of dimensions."""
        # Moves look through views that keep the order of elements, which those of another order in memory would not.
        moved = {bare(a) for u in self.plan.units if u.value is not None for a in u.value.args if bare(a) is not a}
        for o, r in zip(self.program.outputs, self.plan.results, strict=True):
            if (
                r in moved
                or r is None
                or r is not o.value
                or r.kind not in ("point", "view", "pick", "reduce")
                or r in self.home
            ):
                continue
            assert o.spec is not None
            if r.strides is None and all(type(n) is int for n in (*o.spec.shape, *o.spec.strides)):
                order = sorted(range(r.rank), key=lambda d: -o.spec.strides[d])  # type: ignore[union-attr]
                step, dense = 1, True
                for d in reversed(order):
                    n = o.spec.shape[d]
                    dense &= n == 1 or o.spec.strides[d] == step
                    step *= n
                if dense and order != sorted(order):
                    r.strides = tuple(ix(0 if n == 1 else s) for n, s in zip(o.spec.shape, o.spec.strides, strict=True))

    def _moved(self) -> dict[int, tuple[Any, ...]]:
        """Results that are computed in another order than the graph says: those that no loop of this program writes, mostly."""
        out: dict[int, tuple[Any, ...]] = {}
        if self.program.backend != "cpu":
            return out
        written = set(self.program.written.values())
        for k, (o, r) in enumerate(zip(self.program.outputs, self.plan.results, strict=True)):
            if r is None or o.spec is None or k in written or r.kind in ("input", "constant"):
                continue
            shape, steps = o.spec.shape, o.spec.strides
            if r.strides is None:
                if not is_row_major(shape, steps):
                    out[k] = steps
            elif not all(n == 1 or ix(s) == t for n, s, t in zip(shape, steps, r.strides, strict=True)):
                out[k] = steps
        return out

    def _root(self, v: Value) -> Value:
        while v in self.home:
            v = self.home[v]
        return v

    def slot(self, v: Value) -> int:
        """The number of a value's memory."""
        v = self._root(v)
        if v not in self.slots:
            self.slots[v] = self.count
            self.count += 1
        return self.slots[v]

    def buffer(self, v: Value) -> Buffer:
        """The memory of a value as kernels name it."""
        if v.kind == "number":
            self.numbers.setdefault(v, len(self.numbers))
            for a in v.args:
                self.slot(a)
            if v not in self.buffers:
                self.buffers[v] = Buffer(f"g{self.numbers[v]}", "number", ix(1), value=v)
            return self.buffers[v]
        root = self._root(v)
        if root not in self.buffers:
            self.buffers[root] = Buffer(f"b{self.slot(root)}", root.dtype, root.numel(), value=root, shape=root.shape)
        return self.buffers[root]

    def _writes(self) -> tuple[dict[int, int], dict[int, int]]:
        """Which results can be computed in the memory of the input that they are written to."""
        program, plan = self.program, self.plan
        direct: dict[int, int] = {}
        copied: dict[int, int] = {}
        position = {u.number: k for k, u in enumerate(plan.units)}
        groups = {u.number: u.group or u.tail for u in plan.units}
        home_of = {a: u for u in plan.units for g in [groups[u.number]] if g is not None for a in g.anchors}
        returned = {r for r in plan.results if r is not None and r.kind == "input"}
        for i, o in program.written.items():
            target, value = program.inputs[i], plan.results[o]
            if target is None or value is None:
                continue
            if value is target:
                direct[o] = i
                continue
            copied[o] = i
            unit = home_of.get(value)
            if (
                unit is None
                or target.strides is not None
                or value.kind != "point"
                or value.dtype != target.dtype
                or value.shape != target.shape
                or target in returned
                or sum(r is value for r in plan.results) > 1
            ):
                continue
            readers = [u for u in plan.units if target in unit_reads(u)]
            if any(position[u.number] > position[unit.number] for u in readers):
                continue
            group = groups[unit.number]
            assert group is not None
            if any(index != group.index[value] for index in group.reads.get(target, [])):
                continue
            if not _read_before(group, value, target):
                continue
            del copied[o]
            direct[o] = i
            self.home[value] = target
        return direct, copied

    # -- steps ----------------------------------------------------------------------------------

    def _steps(self, u: Unit) -> list[Step]:
        name = f"k{u.number}"
        if u.group is not None:
            caps = self.caps
            kernel = build(
                u.group,
                f"{name}{_words(u.group.anchors)}",
                self.buffer,
                self.plan.memory,
                caps.keep,
                caps.lend,
                caps.short,
            )
            self.program.rewrites.update(kernel.rewrites)
            return [self._kernel(kernel)]
        v = u.value
        assert v is not None
        if v.kind == "product":
            for a in v.args:
                self.slot(self._operand(a))
            self.slot(v)
            step = Step("product", value=v, reads=[self._operand(a) for a in v.args], writes=[v])
            return [step] if u.tail is None else self._followed(u, step)
        if v.kind == "scatter":
            number = _constant(v.args[0])
            first = (
                moves.fill(v, number, f"{name}_fill", self.buffer)
                if number is not None
                else moves.copy(v.args[0], v, f"{name}_copy", self.bare_buffer)
            )
            return [self._kernel(first), self._kernel(moves.scatter(v, f"{name}_scatter", self.bare_buffer))]
        if v.kind == "embed":
            number, firsts = v.data
            where = {d: ix(n) for d, n in enumerate(firsts) if n}
            return [
                self._kernel(moves.fill(v, number, f"{name}_fill", self.buffer)),
                self._kernel(moves.copy(v.args[0], v, f"{name}_pad", self.bare_buffer, where)),
            ]
        if v.kind == "cat":
            out: list[Step] = []
            at = ZERO
            for k, p in enumerate(v.args):
                out.append(self._kernel(moves.copy(p, v, f"{name}_cat{k}", self.bare_buffer, {v.data: at})))
                at = at + p.shape[v.data]
            return out
        reads = [self._operand(a) for a in v.args]
        for r in reads:
            self.slot(r)
        items = [w for w in self.program.values.made if w.kind == "item" and w.args[0] is v]
        for w in items:
            self.slot(w)
        return [Step("call", value=v, reads=reads, writes=items)]

    def _followed(self, u: Unit, step: Step) -> list[Step]:
        """A product with its epilogue in one step; in two where one kernel would bind too many buffers, or write what it reads elsewhere."""
        v, group, caps, memory = step.value, u.tail, self.caps, self.plan.memory
        assert v is not None and group is not None
        if not group.anchors:
            return [step]
        name = f"k{u.number}{_words(group.anchors)}"
        apart = self._kernel(build(group, name, self.buffer, memory, caps.keep, caps.lend, caps.short))
        kept = v in self.plan.results or any(v in unit_reads(w) for w in self.plan.units if w is not u)
        try:
            kernel = straight(group, name, self.buffer, memory)
        except NotImplementedError:
            return [step, apart]
        operands = {self._root(r) for r in step.reads}
        others = [b for b in kernel.buffers if b.dtype != "number" and b.value is not v]
        written = {b.value for b in kernel.writes}
        count = len(operands | {b.value for b in others}) + kept
        if written & operands or (caps.buffers is not None and count > caps.buffers):
            return [step, apart]
        index = group.index[v]
        variables = tuple(next(iter(i.variables()), "") for i in index)
        step.tail = Tail(kernel, self.buffer(v), variables, dict(group.ranges), kept, apart)
        step.reads += [b.value for b in kernel.reads if b.value is not v]
        step.writes = [*([v] if kept else []), *[b.value for b in kernel.writes]]
        self.program.rewrites["products with what follows them"] += 1
        self.program.rewrites.update(kernel.rewrites)
        return [step]

    def bare_buffer(self, v: Value) -> Buffer:
        """The buffer of what a view that keeps the order looks at."""
        return self.buffer(bare(v))

    def _operand(self, a: Value) -> Value:
        """The value whose memory a library call reads for an operand."""
        return below(a, self.held)

    def _kernel(self, kernel: Kernel) -> Step:
        temporary: list[tuple[Buffer, Ix]] = []
        for b in kernel.buffers:
            if b.role in ("partial", "scratch"):
                self.temporaries[b] = self.count
                self.count += 1
                temporary.append((b, b.size * kernel.chunks))
        for part, *_ in kernel.combines:
            if part not in self.temporaries:
                self.temporaries[part] = self.count
                self.count += 1
                temporary.append((part, part.size * kernel.chunks))
        reads = [b.value for b in kernel.reads if isinstance(b.value, Value)]
        writes = [b.value for b in kernel.writes if isinstance(b.value, Value)]
        return Step("kernel", kernel=kernel, reads=reads, writes=writes, temporary=temporary)


def _constant(v: Value) -> Any:
    """The number that every element of a value is, None where they are not all one."""
    v = below(v)
    return v.data.data if v.kind == "point" and not v.args and v.data.op == "lit" else None


def _read_before(group: Group, value: Value, target: Value) -> bool:
    """Whether a kernel has read what others of its anchors need of `target` when it writes `value` there.

    A walk over a row stores what it computes in the row last; what has one element a row is stored at once.
    """
    mine = set(group.anchors)
    walks: dict[Value, int] = {}
    touched: dict[Value, bool] = {}

    def look(v: Value, top: bool = False) -> tuple[int, bool]:
        """How many walks must be complete before, and whether the formula reads the target."""
        if v in mine and v.kind == "reduce" and not top:
            return look(v, True)[0] + 1, False
        if v not in walks:
            loaded = (v.kind not in FLOATING_KINDS and v not in mine) or (v in group.settled and v not in mine)
            found = [] if loaded else [look(a) for a in v.args]
            walks[v] = max((w for w, _ in found), default=0)
            touched[v] = v is target or any(t for _, t in found)
        return walks[v], touched[v]

    variables: set[str] = set()
    for i in group.index[value]:
        variables |= i.variables()
    inside = bool(variables & group.inner) if group.inner else variables >= set(group.ranges)
    if inside and not group.inner:
        return True
    at = look(value)[0]
    for a in group.anchors:
        walk, reads = look(a, True)
        if a is not value and reads and (walk > at or (walk == at and not inside)):
            return False
    return True


def _words(anchors: list[Value]) -> str:
    """A few words of what a kernel computes."""
    words: dict[str, None] = {}
    for a in anchors:
        for o in a.origins:
            words.setdefault(o.rstrip("0123456789").rstrip("_") or o, None)
    text = "".join(f"_{w}" for w in list(words)[:4])
    return text[:40]


__all__ = ["Assembly", "Step", "affine", "assemble", "is_number", "product"]

Buffers = Callable[[Value], Buffer]
