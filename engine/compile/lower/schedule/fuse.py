"""The schedule: anchors put into groups, library calls between them, in an order that respects what depends on what.

Anchors are taken in the order of the program. Each tries the groups with which it shares most bytes, and begins a new one where
all refuse; the reasons are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..loops.index import product
from ..simplify.translate import Program
from ..values import Value
from .anchors import FLOATING_KINDS, GIVEN_KINDS, LIBRARY_KINDS, affine, below, choose, live
from .epilogue import Epilogues, targets
from .groups import Group, Refused
from .matrices import matrix, separable

TRIES = 6
"""Groups that an anchor tries, those with most shared bytes first."""


@dataclass
class Caps:
    """What a kernel of the device may use. `buffers` None means any number."""

    buffers: int | None = None
    keep: int = 6
    """The cost from which on a value that a later walk over a row needs is kept rather than computed again."""

    lend: bool = False
    """Whether such values may stand in the memory of a result that is written after."""

    rows_only: bool = False
    """Whether every reduction of a kernel runs over its rows: devices whose threads do not meet."""

    short: int = 8
    """Loops shorter than this are not split off: the place is computed by division instead."""

    contiguous_rows: bool = True
    """Whether rows must lie in memory element after element."""

    merge: bool = True
    """Whether whole groups are put together after all anchors have found theirs."""

    gathers: bool = False
    """Whether products read operands through any view whose places are sums of a part of the row and a part of K."""

    epilogues: bool = False
    """Whether a product's kernel computes elementwise anchors that follow it."""


@dataclass(eq=False)
class Unit:
    """One step: a group, or a library value."""

    number: int
    group: Group | None = None
    value: Value | None = None
    before: int = 0
    """The units this one depends on, as bits."""

    tail: Group | None = None
    """What a product's kernel computes of its results, if anything."""


@dataclass
class Schedule:
    """What runs, in order; which values stand in memory; what was not fused."""

    units: list[Unit]
    memory: set[Value]
    """Values that kernels write to memory, or that are given or made by library calls."""

    anchors: set[Value]
    results: list[Value | None]
    """For each output the value whose memory holds it (views that keep the order are looked through)."""

    refused: list[dict[str, str]] = field(default_factory=list)


def bare(v: Value) -> Value:
    """What a chain of views that keep all elements in order looks at."""
    while v.kind == "view" and _keeps_order(v):
        v = v.args[0]
    return v


def _keeps_order(v: Value) -> bool:
    from ..values import canonical

    steps, offset = v.data
    source = v.args[0]
    return (
        source.strides is None
        and offset.number == 0
        and steps == canonical(v.shape)
        and product(v.shape) == source.numel()
    )


def schedule(program: Program, caps: Caps | None = None) -> Schedule:
    """Put the program's values into kernels and library calls."""
    caps = caps or Caps()
    results = [None if o.value is None else bare(o.value) for o in program.outputs]
    order = live(r for r in results if r is not None)
    stored = _stored(order, results, caps.gathers)
    anchors = choose(order, stored, caps.buffers)
    return _Scheduler(order, stored, anchors, caps, results, targets(program, results)).run()


def _stored(order: list[Value], results: Iterable[Value | None], gathers: bool = False) -> set[Value]:
    """Values that memory must hold: results, and what library calls read."""
    out = {r for r in results if r is not None} | {v for v in order if v.pinned and v.kind in FLOATING_KINDS}
    for v in order:
        if v.kind not in LIBRARY_KINDS:
            continue
        for side, a in enumerate(v.args):
            base = below(a)
            seen = affine(a) if v.kind in ("product", "call") else None
            if v.kind in ("scatter", "cat", "embed"):
                out.add(bare(a))
            elif v.kind == "product" and gathers:
                out.add(base if separable(v, side) is not None or matrix(a) is not None else a)
            elif seen is not None and (_forward(seen[1]) if v.kind == "call" else matrix(a) is not None):
                out.add(base)
            else:
                out.add(_narrow(a, _slim(v)) if v.kind == "product" else a)
    return out


def _slim(p: Value) -> bool:
    """Whether a product has few rows or columns: then BLAS reads a transposed operand as fast as a copy that is not."""
    return any(n.number is not None and n.number <= 16 for n in p.shape[-2:])


def _narrow(a: Value, transposed: bool) -> Value:
    """What of a product's operand gets memory where it cannot be read as it lies: the lowest of its views from which it can be read
    (also `transposed`), so that copies by expansion stay one, and so does what several products read."""
    best, v = a, a
    while v.kind == "view":
        v = v.args[0]
        if v.kind not in FLOATING_KINDS:
            break
        mine, least = v.numel(), best.numel()
        fewer = mine == least or (mine.number is not None and least.number is not None and mine.number < least.number)
        seen = matrix(a, {v}) if fewer else None
        if seen is not None and (transposed or not seen.transposed):
            best = v
    return best


def _forward(steps: Iterable[Any]) -> bool:
    """Whether no stride is negative."""
    return all(s.number is None or s.number >= 0 for s in steps)


class _Scheduler:
    def __init__(
        self,
        order: list[Value],
        stored: set[Value],
        anchors: set[Value],
        caps: Caps,
        results: Any,
        written: dict[Value, Value],
    ):
        self.order, self.stored, self.anchors, self.caps, self.results = order, stored, anchors, caps, results
        self.units: list[Unit] = []
        self.unit_of: dict[Value, Unit] = {}
        self.placed: set[Value] = set()
        self.refused: list[dict[str, str]] = []
        self.drawn: Unit | None = None
        self.apart: set[tuple[str, str]] = set()
        self.leaves: dict[Value, dict[Value, None]] = {}
        self.readers: dict[Value, dict[int, Unit]] = {}
        """The groups that read a value, by number."""
        self.position = {v: i for i, v in enumerate(order)}
        self.consumers: dict[Value, set[Value]] = {}
        """The anchors and library values that read an anchor."""
        if caps.buffers is not None:
            for v in order:
                if v in anchors or v.kind in LIBRARY_KINDS:
                    for leaf in self._leaves(v):
                        self.consumers.setdefault(leaf, set()).add(v)
        self.epilogues: Epilogues | None = None
        if caps.epilogues:
            self.epilogues = Epilogues(
                order, anchors, stored, self.consumers, self._leaves, written, caps, self._refuse
            )

    def run(self) -> Schedule:
        for v in self.order:
            if v.kind in LIBRARY_KINDS:
                self._library(v)
            elif v.kind == "item":
                self.unit_of[v] = self.unit_of[v.args[0]]
            elif v in self.anchors:
                self._anchor(v)
        if self.caps.merge:
            self._merge()
        if self.epilogues is not None:
            self.epilogues.settle(self.units, self._after)
        memory = {v for v in self.order if v.kind in GIVEN_KINDS or v.kind in LIBRARY_KINDS}
        memory |= {v for v in self.stored if v in self.anchors}
        for u in self.units:
            if u.group is not None:
                memory |= {v for v in u.group.reads if v in self.anchors}
            if u.tail is not None:
                memory |= {v for v in u.tail.reads if v in self.anchors}
        return Schedule(self._ordered(), memory, self.anchors, self.results, self.refused)

    # -- dependencies ---------------------------------------------------------------------------

    def _leaves(self, anchor: Value) -> dict[Value, None]:
        """What an anchor reads from memory or from other anchors."""
        found = self.leaves.get(anchor)
        if found is None:
            found = self.leaves[anchor] = self._leaves_of(*anchor.args)
        return found

    def _leaves_of(self, *roots: Value) -> dict[Value, None]:
        """Memory and anchors that these values are or are made of."""
        out: dict[Value, None] = {}
        seen: set[Value] = set()
        todo = list(roots)
        while todo:
            v = todo.pop()
            if v in seen:
                continue
            seen.add(v)
            if v.kind in FLOATING_KINDS and v not in self.anchors:
                todo.extend(v.args)
            else:
                out[v] = None
        return out

    def _depend(self, unit: Unit, leaves: Iterable[Value]) -> None:
        before = unit.before
        for v in [x for leaf in leaves for x in (leaf, *(leaf.args if leaf.kind == "number" else ()))]:
            u = self.unit_of.get(v)
            if u is not None and u is not unit:
                before |= u.before | (1 << u.number)
        if before != unit.before:
            unit.before = before
            bit = 1 << unit.number
            for w in self.units:
                if w.before & bit:
                    w.before |= before

    def _library(self, v: Value) -> None:
        unit = Unit(len(self.units), value=v)
        self.units.append(unit)
        self.unit_of[v] = unit
        reads: list[Value] = []
        for a in v.args:
            reads += self._leaves_of(a)
        self._depend(unit, reads)
        if v.kind == "product" and self.epilogues is not None:
            unit.tail = self.epilogues.plan(v)
        if v.kind == "call" and v.data.impure:
            # Random numbers are drawn in the order of the program.
            if self.drawn is not None:
                self._after(unit, self.drawn)
            self.drawn = unit

    def _after(self, unit: Unit, earlier: Unit) -> None:
        before = unit.before | earlier.before | (1 << earlier.number)
        for w in (unit, *[w for w in self.units if w.before >> unit.number & 1]):
            w.before |= before

    # -- anchors --------------------------------------------------------------------------------

    def _anchor(self, anchor: Value) -> None:
        leaves = self._leaves(anchor)
        if self._follows(anchor, leaves):
            return
        groups: dict[int, Unit] = {}
        for v in leaves:
            u = self.unit_of.get(v)
            if u is not None and u.group is not None:
                groups[u.number] = u
            groups.update(self.readers.get(v, ()))
        ranked = sorted(groups.values(), key=lambda u: (-u.group.shared_bytes(leaves), -u.number))  # type: ignore[union-attr]
        for u in ranked[:TRIES]:
            assert u.group is not None
            try:
                joined = self._try(u, anchor, leaves)
            except Refused as reason:
                first, second = _name(u.group.anchors[-1]), _name(anchor)
                self.apart.add((first, second))
                self.refused.append({"first": first, "second": second, "reason": str(reason)})
                continue
            u.group = joined
            self._settle(u, anchor, leaves)
            return
        unit = Unit(len(self.units), group=Group(len(self.units)))
        self.units.append(unit)
        assert unit.group is not None
        unit.group.settled = set(self.placed)
        unit.group.contiguous_rows, unit.group.rows_only = self.caps.contiguous_rows, self.caps.rows_only
        unit.group.begin(anchor)
        self._settle(unit, anchor, leaves)

    def _follows(self, anchor: Value, leaves: Iterable[Value]) -> bool:
        """Whether an anchor became a part of a product's kernel."""
        if self.epilogues is None or anchor not in self.epilogues.planned:
            return False
        unit = self.unit_of[self.epilogues.planned[anchor]]
        needed = [x for v in leaves for x in (v, *(v.args if v.kind == "number" else ()))]
        others = [(v, self.unit_of[v]) for v in needed if v in self.unit_of]
        blocked = next((v for v, u in others if u is not unit and u.before >> unit.number & 1), None)
        if not self.epilogues.join(unit, anchor, blocked):
            return False
        self._settle(unit, anchor, leaves)
        return True

    def _refuse(self, first: Value, second: Value, reason: str) -> None:
        """Note why an anchor does not follow a product, once a pair."""
        names = _name(first), _name(second)
        if names not in self.apart:
            self.apart.add(names)
            self.refused.append({"first": names[0], "second": names[1], "reason": reason})

    def _buffers(self, group: Group) -> int:
        """How many buffers a kernel of the group binds at most."""
        reads = {v for v in group.reads if v.kind != "number"}
        mine = set(group.anchors)
        return len(reads) + len(
            [a for a in group.anchors if a in self.stored or not self.consumers.get(a, set()) <= mine]
        )

    def _settle(self, unit: Unit, anchor: Value, leaves: Iterable[Value]) -> None:
        self.unit_of[anchor] = unit
        self.placed.add(anchor)
        for v in unit.group.reads if unit.group is not None else ():
            self.readers.setdefault(v, {})[unit.number] = unit
        self._depend(unit, leaves)

    def _try(self, unit: Unit, anchor: Value, leaves: Iterable[Value]) -> Group:
        bit = 1 << unit.number
        for v in leaves:
            u = self.unit_of.get(v)
            if u is not None and u is not unit and u.before & bit:
                raise Refused(f"{_name(v)} stands between them: it needs the one and is needed by the other")
        assert unit.group is not None
        trial = unit.group.copy()
        trial.settled = self.placed - set(trial.anchors)
        trial.add(anchor, trial.place(anchor))
        if self.caps.buffers is not None:
            count = self._buffers(trial)
            if count > self.caps.buffers:
                raise Refused(
                    f"together they need {count} buffers; a kernel of the device can bind {self.caps.buffers}"
                )
        return trial

    def _merge(self) -> None:
        """Whole groups that read the same, or of which one reads what the other writes, put together where that is possible."""
        groups = [u for u in self.units if u.group is not None]
        readers: dict[Value, list[Unit]] = {}
        for u in groups:
            assert u.group is not None
            for v in {*u.group.reads, *u.group.anchors}:
                readers.setdefault(v, []).append(u)
        for later in reversed(groups):
            assert later.group is not None
            reads = set(later.group.reads)
            near = {u.number: u for v in {*reads, *later.group.anchors} if v.rank for u in readers.get(v, ())}
            ranked = []
            for u in near.values():
                if u is later or u.group is None:
                    continue
                shared = u.group.shared_bytes(reads) + later.group.shared_bytes(a for a in u.group.anchors)
                if shared:
                    ranked.append((-shared, u.number, u))
            for _, _, u in sorted(ranked)[:TRIES]:
                joined = self._joined(u, later)
                if joined is not None:
                    self._absorb(u, later, joined)
                    for v in {*joined.reads, *joined.anchors}:
                        if u not in readers.setdefault(v, []):
                            readers[v].append(u)
                    break

    def _joined(self, u: Unit, later: Unit) -> Group | None:
        """The anchors of both in one group, or None where something stands between them or does not fit."""
        assert u.group is not None and later.group is not None
        mine, its = 1 << u.number, 1 << later.number
        for w in self.units:
            # A third unit that needs one of them and is needed by the other.
            bit = 1 << w.number
            if ((w.before & mine and later.before & bit) or (w.before & its and u.before & bit)) and w not in (
                u,
                later,
            ):
                return self._apart(
                    u, later, f"{_title(w)} stands between them: it needs the one and is needed by the other"
                )
        order = sorted({*u.group.anchors, *later.group.anchors}, key=self.position.__getitem__)
        trial = Group(u.number)
        trial.settled = self.placed - set(order)
        trial.contiguous_rows, trial.rows_only = self.caps.contiguous_rows, self.caps.rows_only
        first = max(order, key=_elements)  # the larger loops first, so that the others find their places in them
        if self._leaves(first).keys() & set(order):
            first = order[0]
        trial.begin(first)
        left = [v for v in order if v is not first]
        reason = ""
        while left:
            progress = False
            for v in list(left):
                if self._leaves(v).keys() & set(left):
                    continue
                step = trial.copy()
                step.settled = trial.settled
                try:
                    step.add(v, step.place(v))
                except Refused as refusal:
                    reason = str(refusal)
                    continue
                trial, progress = step, True
                left.remove(v)
            if not progress:
                return self._apart(u, later, reason or "their anchors need one another in turn")
        if self.caps.buffers is not None and (count := self._buffers(trial)) > self.caps.buffers:
            return self._apart(
                u, later, f"together they need {count} buffers; a kernel of the device can bind {self.caps.buffers}"
            )
        return trial

    def _apart(self, u: Unit, later: Unit, reason: str) -> None:
        """Note why two whole groups stay apart, once a pair."""
        assert u.group is not None and later.group is not None
        first, second = _name(u.group.anchors[-1]), _name(later.group.anchors[-1])
        if (first, second) not in self.apart:
            self.apart.add((first, second))
            self.refused.append({"first": first, "second": second, "reason": reason})

    def _absorb(self, u: Unit, later: Unit, joined: Group) -> None:
        u.group, later.group = joined, None
        self.units.remove(later)
        for a in joined.anchors:
            self.unit_of[a] = u
        bit, gone = 1 << u.number, 1 << later.number
        u.before = (u.before | later.before) & ~bit & ~gone
        for w in self.units:
            if w.before & gone:
                w.before = (w.before & ~gone) | bit | u.before
            elif w.before & bit:
                w.before |= u.before

    def _ordered(self) -> list[Unit]:
        done = 0
        left = list(self.units)
        out: list[Unit] = []
        while left:
            # There is one: what would make a ring was refused.
            ready = next(u for u in left if u.before & ~done == 0 or self._wanted(u, left, done))
            if ready.before & ~done:
                ready = next(w for w in left if ready.before >> w.number & 1)
            left.remove(ready)
            out.append(ready)
            done |= 1 << ready.number
        return out

    @staticmethod
    def _wanted(u: Unit, left: list[Unit], done: int) -> bool:
        """Whether all that a product with an epilogue waits for are calls that could be made at once."""
        waits = [w for w in left if u.before >> w.number & 1]
        return u.tail is not None and all(
            w.value is not None and w.value.kind == "call" and w.before & ~done == 0 for w in waits
        )


def _elements(v: Value) -> int:
    source = v.args[0] if v.kind == "reduce" else v
    return source.numel().number or 1 << 20


def _title(u: Unit) -> str:
    return _name(u.group.anchors[-1] if u.group is not None else u.value)  # type: ignore[arg-type]


def _name(v: Value) -> str:
    return next(reversed(v.origins), f"value {v.id}")
