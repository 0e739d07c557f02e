"""Epilogues: elementwise anchors that a product's own kernel computes, on the accumulator, before anything is stored.

`plan` looks at what reads a product and chooses the anchors that follow it: each of their elements needs one element of the product, at its
own place, and nothing that is made of others.  Bias, activation, residual, the mask of a backward pass, and the step of an optimizer on
the gradient of a weight are of that kind.  Whether it pays is a matter of loads, stores and launches, counted in multiplications of a
lane as they were measured on a software adapter (`docs/performance.md`).  Every refusal is a sentence.

The anchors join when the scheduler comes to them (`join`), so that what they need has a place in the order by then; `settle` keeps writes
into inputs behind the other readers of these inputs.  The text is that of `print_wgsl/epilogue.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..values import Value
from .anchors import FLOATING_KINDS, below, formula_cost
from .groups import Group, Refused
from .matrices import separable

if TYPE_CHECKING:
    from .fuse import Caps, Unit

LOADED, ALONE, STORED = 10, 22, 12
"""What a lane's access costs beside a multiplication: a load of one of four elements, of one alone, a store."""

LAUNCHED, SPREAD = 200_000, 700_000
"""A launch, by the same measure: 11 microseconds, and what more it takes when it has 64 workgroups or more."""

THREADED, FARTHER = 15, 25
"""What a kernel of its own costs for each element beside its accesses, and what an access costs more where the tiles of a product lead it."""

LONGEST = 60
"""Operations of an epilogue: its text is repeated for each result that a lane has."""


class Epilogues:
    """The epilogues of one schedule. `leaves` gives what an anchor reads; `consumers` says which anchors and library values read a value;
    `targets` are results that are written into inputs of the same form, with these inputs."""

    def __init__(
        self,
        order: list[Value],
        anchors: set[Value],
        stored: set[Value],
        consumers: dict[Value, set[Value]],
        leaves: Callable[[Value], Iterable[Value]],
        targets: dict[Value, Value],
        caps: Caps,
        refuse: Callable[[Value, Value, str], None],
    ):
        self.order, self.anchors, self.stored, self.consumers = order, anchors, stored, consumers
        self.leaves, self.targets, self.caps, self.refuse = leaves, targets, caps, refuse
        self.position = {v: i for i, v in enumerate(order)}
        self.planned: dict[Value, Value] = {}
        """Anchors that a product's kernel shall compute, with that product."""

    # -- planning -------------------------------------------------------------------------------

    def plan(self, p: Value) -> Group | None:
        """Choose what follows the product; returns the group that `join` fills, None where nothing follows."""
        first = [a for a in self._readers(p) if a.kind in FLOATING_KINDS]
        if not first:
            return None
        reason = self._unprintable(p)
        if reason:
            for a in first:
                self.refuse(p, a, reason)
            return None
        made = self._downstream(p)
        empty = self._begin(p)
        chosen = self._closure(p, empty, made)
        self._weigh(p, empty, chosen, made)
        for a in chosen:
            self.planned[a] = p
        return empty if chosen else None

    def _readers(self, v: Value) -> list[Value]:
        return sorted(self.consumers.get(v, ()), key=self.position.__getitem__)

    def _unprintable(self, p: Value) -> str:
        """Why the product is not one of those whose kernels are generated, "" where it is."""
        sizes = [n.number for n in (*p.shape, *p.args[0].shape[-1:])]
        if any(n is None for n in sizes):
            return "products whose sizes are not known are the engine's own kernels"
        if p.dtype != "f32" or 0 in sizes:
            return "only products of float32 with elements are generated kernels"
        held = self.anchors & self.stored
        if any(separable(p, side, held) is None for side in (0, 1)):
            return "an operand of the product does not lie in memory so that a generated kernel could read it"
        return ""

    def _begin(self, p: Value) -> Group:
        """The loops of a product's results."""
        group = Group(0)
        index = tuple(group.new_variable(n) for n in p.shape)
        group.index[p], group.reads[p] = index, [index]
        group.rows_only, group.contiguous_rows = self.caps.rows_only, self.caps.contiguous_rows
        return group

    def _downstream(self, p: Value) -> set[Value]:
        """What is made of the product."""
        made = {p}
        for v in self.order[self.position[p] + 1 :]:
            if not made.isdisjoint(v.args):
                made.add(v)
        return made

    def _closure(self, p: Value, group: Group, made: set[Value]) -> list[Value]:
        """The anchors that can follow, in order: those that read the product, and those that read what follows already."""
        chosen: list[Value] = []
        todo = self._readers(p)
        tried: set[Value] = set()
        while todo:
            a = min(todo, key=self.position.__getitem__)
            todo.remove(a)
            if a in tried:
                continue
            tried.add(a)
            if a.kind not in FLOATING_KINDS:
                continue
            try:
                group = self._joined(p, group, a, made, set(chosen))
                count = self._buffers(p, [*chosen, a])
                if self.caps.buffers is not None and count > self.caps.buffers:
                    raise Refused(
                        f"the product's kernel would bind {count} buffers with it; one of the device can bind {self.caps.buffers}"
                    )
            except Refused as reason:
                self.refuse(p, a, str(reason))
                continue
            chosen.append(a)
            todo += [b for b in self._readers(a) if b not in tried and b in self.anchors]
        return chosen

    def _joined(self, p: Value, group: Group, a: Value, made: set[Value], mine: set[Value]) -> Group:
        """The group with one anchor more. Raises Refused."""
        self._plain(a)
        operands = {below(x, self.anchors & self.stored) for x in p.args}
        for v in self.leaves(a):
            if v is not p and v not in mine and v in made:
                raise Refused("it needs what is made of all of the product, or of a part that is no element of its own")
            if v.dtype == "f64":
                raise Refused("WGSL has no double precision")
        if self.targets.get(a) in operands:
            raise Refused("it is written where the product's kernel still reads")
        out = group.copy()
        out.settled = self.anchors
        count = len(out.ranges)
        out.add(a, out.place(a))
        if len(out.ranges) != count or out.inner:
            raise Refused("it has another number of elements than the product")
        if out.reads[p] != [out.index[p]]:
            raise Refused("it reads the product at another place than that where it is computed")
        return out

    def _plain(self, a: Value) -> None:
        """Raise Refused where a formula is long, or reads at places that are known only when it runs."""
        total, seen, todo = 0, set(), [a]
        while todo:
            v = todo.pop()
            if v in seen or (v is not a and (v in self.anchors or v.kind not in FLOATING_KINDS)):
                continue
            seen.add(v)
            if v.kind == "pick" and any(x[0] not in ("dim", "zero") for x in v.data):
                raise Refused("it reads at places that are known only when it runs")
            total += formula_cost(v.data) if v.kind == "point" else 0
            todo += v.args
        if total > LONGEST:
            raise Refused("its formula is long, and would be repeated for each result of a lane")

    # -- what it costs --------------------------------------------------------------------------

    def _weigh(self, p: Value, group: Group, chosen: list[Value], made: set[Value]) -> None:
        """Take those out that cost more in the product's kernel than in one of their own."""
        while chosen:
            mine = set(chosen)
            freed = p not in self.stored and self.consumers[p] <= mine
            lost = next(
                (a for a in chosen if any(v in made and v is not p and v not in mine for v in self.leaves(a))), None
            )
            if lost is not None:
                chosen.remove(lost)
                self.refuse(p, lost, "it needs what is computed after the product's kernel")
                continue
            n = p.numel().number or 0
            gains = {a: self._gain(p, a, mine, freed) for a in chosen}
            if sum(gains.values()) + (STORED * n if freed else 0) > 0:
                return
            worst = min(reversed(chosen), key=gains.__getitem__)
            chosen.remove(worst)
            self.refuse(p, worst, "by its loads, stores and launches it costs more there than in a kernel of its own")

    def _gain(self, p: Value, a: Value, mine: set[Value], freed: bool) -> float:
        """What computing an anchor in the product's kernel saves."""
        n = p.numel().number or 0
        readers = self.consumers.get(a, set())
        # Kernels that would have computed it on the way, in registers.
        others = {r for r in readers - mine if r in self.anchors}
        arrays = sum(v.numel().number == n for v in self.leaves(a) if v is not p and v not in mine) + (a in self.stored)
        gain = 0.0
        if others:
            again = any(p in self.leaves(r) for r in others)
            gain -= LOADED * n if again or not freed else 0
            gain -= STORED * n if a not in self.stored else 0
        else:
            launch = LAUNCHED + SPREAD * min(1.0, n / 16384)
            gain += (launch + (LOADED + THREADED) * n) / len(mine) - FARTHER * n * arrays
        if (p.shape[-1].number or 0) % 4 and n % 4 == 0:
            gain -= (ALONE - LOADED) * n * arrays
        return gain

    def _buffers(self, p: Value, chosen: list[Value]) -> int:
        """How many buffers the product's kernel binds with these anchors, where writes into inputs can be made in place."""
        mine = set(chosen)
        bound = {below(x, self.anchors & self.stored) for x in p.args}
        for a in chosen:
            bound |= {v for v in self.leaves(a) if v is not p and v not in mine and v.kind != "number"}
            # What only anchors read may join yet.
            if a in self.stored or any(r not in self.anchors for r in self.consumers.get(a, ())):
                bound.add(self.targets.get(a, a))
        kept = p in self.stored or any(r.kind not in FLOATING_KINDS for r in self.consumers[p])
        return len(bound) + kept

    # -- joining --------------------------------------------------------------------------------

    def join(self, unit: Unit, a: Value, blocked: Value | None) -> bool:
        """Put a planned anchor into the product's kernel. `blocked` is something that it needs and that needs the product's kernel."""
        p = unit.value
        assert p is not None and unit.tail is not None
        try:
            if blocked is not None:
                raise Refused("something stands between them: it needs the one and is needed by the other")
            trial = unit.tail.copy()
            trial.settled = self.anchors
            trial.add(a, trial.place(a))
        except Refused as reason:
            self.refuse(p, a, str(reason))
            return False
        unit.tail = trial
        return True

    def settle(self, units: list[Unit], after: Callable[[Unit, Unit], None]) -> None:
        """Put products whose epilogues write into inputs behind the others that read these inputs. `after(unit, earlier)` says so."""
        for unit in units:
            if unit.tail is None:
                continue
            written = {self.targets[a] for a in unit.tail.anchors if a in self.targets}
            if not written:
                continue
            for other in units:
                if other is not unit and not other.before >> unit.number & 1 and not written.isdisjoint(reads(other)):
                    after(unit, other)


def reads(u: Unit) -> set[Value]:
    """What a unit reads from memory."""
    out: set[Value] = set()
    if u.group is not None:
        out |= set(u.group.reads)
    if u.value is not None:
        out |= {below(a) for a in u.value.args} | set(u.value.args)
    if u.tail is not None:
        out |= set(u.tail.reads)
    return out


def targets(program: Any, results: list[Value | None]) -> dict[Value, Value]:
    """Results that are written into an input of the same form."""
    out: dict[Value, Value] = {}
    for i, o in program.written.items():
        target, value = program.inputs[i], results[o]
        if target is None or value is None or value is target or target.strides is not None or value.kind != "point":
            continue
        if value.dtype == target.dtype and value.shape == target.shape and sum(r is value for r in results) == 1:
            out[value] = target
    return out


__all__ = ["Epilogues", "reads", "targets"]
