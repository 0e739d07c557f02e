"""The statements of a kernel: where each formula is computed, running values, and what is kept from walk to walk.

Reductions become running values, or updates of memory where what they keep moves inside the loops; a row that is walked several times
keeps dear values in scratch memory. Formulas and the order of loops come from `build.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..schedule.anchors import FLOATING_KINDS
from ..values import Value
from .form import Buffer, Fold, Kernel, Let, Loop, Start, Store, Update
from .guess import MEMORY_SPEED, duration
from .index import ONE, ZERO, Ix, product, replace, var
from .scalar import BYTES, COST, Scalar

if TYPE_CHECKING:
    from .build import Builder

ALONE = 15_000
"""Nanoseconds, guessed, below which a kernel is one part: waking another core takes about as long."""

CHUNKS = 8

LEND = 8
"""The cost from which on a value is kept, for a later walk, in the memory of a result that is written after."""


class Emitter:
    """Writes the statements. Scopes are lists of statements, one for each loop that is open."""

    def __init__(self, b: Builder, order: list[str]):
        self.b = b
        self.order = order
        inner = b.inner
        self.flat = False
        if inner is None or not inner:
            if len(order) > 1:
                self.outer, self.row = order[:-1], order[-1:]
            else:
                self.outer, self.row, self.flat = [], order, True
        else:
            self.outer = [n for n in order if n not in inner]
            self.row = [n for n in order if n in inner]
        self.level = {n: i + 1 for i, n in enumerate(self.outer)}
        self.names: dict[Scalar, str] = {}
        self.scope_names: list[dict[Scalar, str]] = []
        self.scopes: list[list[Any]] = [[]]
        self.kernel = Kernel(b.name, [], [], None)
        self.counter = 0
        self.variables: dict[Scalar, frozenset[str]] = {}
        self.phases: dict[Scalar, int] = {}
        self.phase_of: dict[int, int] = {}
        self.by_id = {a.id: a for a in b.group.anchors}
        self.acc_names: dict[int, str] = {}
        self.buffers: dict[str, Buffer] = {}
        self.scratches: dict[Scalar, tuple[Buffer, Ix]] = {}
        self.late: list[Store] = []

    # -- facts ----------------------------------------------------------------------------------

    def of_index(self, e: Ix) -> frozenset[str]:
        """The loop variables a polynomial needs, those of run-time places too."""
        out = set(e.variables())
        for a in e.atoms():
            if a[0] == "r":
                out |= self.vars_of(self.b.places[a[1]])
        return frozenset(out)

    def vars_of(self, s: Scalar) -> frozenset[str]:
        """The loop variables an expression needs."""
        found = self.variables.get(s)
        if found is None:
            if s.op == "load":
                found = self.of_index(s.data[1])
            elif s.op == "ix":
                found = self.of_index(s.data)
            elif s.op == "acc":
                found = frozenset(self.outer)
            else:
                found = frozenset().union(*[self.vars_of(a) for a in s.args])
            self.variables[s] = found
        return found

    def phase(self, s: Scalar) -> int:
        """How many walks over the row must be complete before."""
        found = self.phases.get(s)
        if found is None:
            if s.op == "acc":
                found = self.phase_of[s.data] + 1
            elif s.op in ("load", "ix"):
                e = s.data[1] if s.op == "load" else s.data
                found = max((self.phase(self.b.places[a[1]]) for a in e.atoms() if a[0] == "r"), default=0)
            else:
                found = max((self.phase(a) for a in s.args), default=0)
            self.phases[s] = found
        return found

    def parts(self, s: Scalar) -> list[Scalar]:
        """Operands, and the run-time places in the index of a load."""
        if s.op in ("load", "ix"):
            e = s.data[1] if s.op == "load" else s.data
            return [self.b.places[a[1]] for a in sorted(e.atoms(), key=repr) if a[0] == "r"]
        return list(s.args)

    # -- writing --------------------------------------------------------------------------------

    def run(self) -> Kernel:
        b, k = self.b, self.kernel
        for a in b.group.anchors:
            p = self.phase(b.roots[a])
            if a.kind == "reduce":
                self.phase_of[a.id] = p
        rowset = set(self.row)
        items = [(self.phase(b.roots[a]), a) for a in b.group.anchors]
        last = max((p for p, _ in items), default=0)
        for a in b.group.anchors:
            if a.kind == "reduce" and a in b.group.consumed and a in b.stored:
                last = max(last, self.phase_of[a.id] + 1)
        self._plan_scratch(items, last, rowset)
        # Outer loops.
        loops = [Loop(n, b.ranges[n]) for n in self.outer]
        for loop in loops:
            self.scopes.append(loop.body)
        self.scope_names = [{} for _ in self.scopes]
        self.row_depth = len(self.scopes) - 1
        if not self.outer and self.flat and self.row:
            self._flat(items)
        else:
            for p in range(last + 1):
                self._walk(p, [a for q, a in items if q == p], rowset)
            for loop in reversed(loops):
                self.scopes.pop()
                self.scopes[-1].append(loop)
            if loops:
                loops[0].grid = True
                k.grid = loops[0]
        k.body = self.scopes[0]
        k.rows = list(self.outer)
        self._chunk()
        k.buffers = list(self.buffers.values())
        k.origins = list(dict.fromkeys(o for a in b.group.anchors for o in self._origins_of(a)))
        k.checks = any(s.op == "place" for s in b.places.values()) or any(s.op == "place" for s in b.scalars())
        whole = product(b.ranges.values())
        k.rewrites = [name for _, name in b.met]
        k.work = whole * max(1, sum(COST.get(s.op, 1) for s in b.scalars() if s.args))
        return k

    def _origins_of(self, a: Value) -> list[str]:
        out: dict[str, None] = {}
        seen: set[Value] = set()

        def down(v: Value) -> None:
            if v in seen:
                return
            seen.add(v)
            if v is not a and (v.kind not in FLOATING_KINDS or v in self.b.group.settled):
                return
            for x in v.args:
                down(x)
            out.update(v.origins)

        down(a)
        return list(out)

    def _plan_scratch(self, items: list[tuple[int, Value]], last: int, rowset: set[str]) -> None:
        """Which values later walks need again, and are too dear to compute again."""
        b = self.b
        first: dict[Scalar, int] = {}
        self.saves: dict[int, list[Scalar]] = {}
        self.cuts: dict[int, dict[Scalar, tuple[Buffer, Ix]]] = {}
        stored_at: dict[Scalar, tuple[int, Buffer, Ix]] = {}
        cost: dict[Scalar, int] = {}

        def dear(s: Scalar) -> int:
            if s not in cost:
                cost[s] = sum(dear(a) for a in s.args) + (COST.get(s.op, 1) if s.args else 0)
            return cost[s]

        for p in range(last + 1):
            cut = self.cuts.setdefault(p, {})
            seen: set[Scalar] = set()
            for q, a in items:
                if q != p:
                    continue
                todo = [b.roots[a]]
                while todo:
                    s = todo.pop()
                    if s in seen:
                        continue
                    seen.add(s)
                    if not rowset & self.vars_of(s):
                        continue
                    before = first.get(s)
                    if before is not None and before < p and s.args and dear(s) >= b.keep:
                        known = stored_at.get(s)
                        if known is not None and known[0] < p:
                            cut[s] = known[1:]
                            continue
                        if s not in self.scratches:
                            self.scratches[s] = self._scratch(s)
                            self.saves.setdefault(before, []).append(s)
                        cut[s] = self.scratches[s]
                        continue
                    if before is not None and before < p and s.args and b.lend and dear(s) >= LEND:
                        if s not in self.scratches:
                            place = self._lent(s, items, last)
                            if place is not None:
                                self.scratches[s] = place
                                self.saves.setdefault(before, []).append(s)
                        if s in self.scratches:
                            cut[s] = self.scratches[s]
                            continue
                    first.setdefault(s, p)
                    todo.extend(self.parts(s))
            for q, a in items:
                if q == p and a.kind != "reduce" and a in b.stored:
                    stored_at.setdefault(b.roots[a], (p, b.buffer(a), b.where(a)))

    def _lent(self, s: Scalar, items: list[tuple[int, Value]], last: int) -> tuple[Buffer, Ix] | None:
        """The memory of a result that the last walk writes, which can hold a value until then."""
        b = self.b
        every = {*self.outer, *self.row}
        loaded = {x.data[0] for x in b.scalars() if x.op == "load"}
        taken = {buffer for buffer, _ in self.scratches.values()}
        for p, a in items:
            if p != last or a.kind == "reduce" or a not in b.stored or a.dtype != s.type:
                continue
            buffer, place = b.buffer(a), b.where(a)
            if buffer not in loaded and buffer not in taken and place.is_affine() and place.variables() == every:
                return buffer, place
        return None

    def _scratch(self, s: Scalar) -> tuple[Buffer, Ix]:
        """Memory for a value of one row, and where an element of it stands."""
        b = self.b
        mine = self.vars_of(s)
        row = [n for n in self.row if n in mine]
        sizes = [b.ranges[n] for n in row]
        place = ZERO
        for n, size in zip(row, sizes, strict=True):
            place = place * size + var(n)
        made = Buffer(f"s{len(self.scratches)}", s.type, product(sizes), "scratch")
        return made, place

    def use(self, buffer: Buffer, write: bool = False) -> Buffer:
        """Note that the kernel reads or writes a buffer."""
        self.buffers.setdefault(buffer.name, buffer)
        side = self.kernel.writes if write else self.kernel.reads
        if buffer not in side and buffer.role == "memory":
            side.append(buffer)
        return buffer

    def depth(self, variables: Iterable[str], row: list[str]) -> int:
        """The scope in which these loop variables are all known."""
        out = 0
        for n in variables:
            if n in self.level:
                out = max(out, self.level[n])
            else:
                out = max(out, self.row_depth + 1 + row.index(n))
        return out

    def emit(self, s: Scalar, row: list[str], cuts: dict[Scalar, tuple[Buffer, Ix]]) -> Scalar:
        """The name (or literal) of an expression, computed in the outermost scope in which it can be."""
        if s.op in ("lit", "name"):
            return s
        if s.op == "acc":
            return Scalar("name", (), s.type, self.acc_names[s.data])
        for names in self.scope_names:
            if s in names:
                return Scalar("name", (), s.type, names[s])
        at = self.depth(self.vars_of(s), row)
        if s in cuts and at > self.row_depth:
            buffer, place = cuts[s]
            self.use(buffer)
            made = Scalar("load", (), s.type, (buffer, place))
            at = self.depth(place.variables(), row)
        elif s.op == "load":
            self.use(s.data[0])
            made = Scalar("load", (), s.type, (s.data[0], self._named(s.data[1], row, cuts)))
        elif s.op == "given":
            self.use(s.data)
            made = s
        elif s.op == "ix":
            made = Scalar("ix", (), s.type, self._named(s.data, row, cuts))
        elif s.op == "size":
            made = s
        else:
            made = Scalar(s.op, tuple(self.emit(a, row, cuts) for a in s.args), s.type, s.data)
        name = f"t{self.counter}"
        self.counter += 1
        self.scopes[at].append(Let(name, made, tuple(self.b.origins.get(s, ()))))
        self.scope_names[at][s] = name
        return Scalar("name", (), s.type, name)

    def _named(self, e: Ix, row: list[str], cuts: dict[Scalar, tuple[Buffer, Ix]]) -> Ix:
        """A polynomial with the names of its run-time numbers."""
        if not any(a[0] == "r" for a in e.atoms()):
            return e
        return replace(
            e,
            lambda a: Ix({(("r", self.emit(self.b.places[a[1]], row, cuts).data),): 1}) if a[0] == "r" else None,
            self.b.arithmetic,
        )

    # -- walks ----------------------------------------------------------------------------------

    def _walk(self, p: int, anchors: list[Value], rowset: set[str]) -> None:
        """One walk over the row, and what is done once a row before and after it."""
        b = self.b
        inside = [a for a in anchors if rowset & self._domain_vars(a)]
        once = [a for a in anchors if a not in inside]
        cuts = self.cuts.get(p, {})
        for a in once:
            self._once(a)
        saves = self.saves.get(p, [])
        if not inside and not saves:
            self._totals(p)
            return
        row = self.row
        loops = [Loop(n, b.ranges[n]) for n in row]
        for loop in loops:
            self.scopes.append(loop.body)
            self.scope_names.append({})
        after: list[Any] = []
        starts: list[Start] = []
        self.late = []
        for a in inside:
            self._inside(a, row, cuts, starts, after)
        for s in saves:
            buffer, place = self.scratches[s]
            self.use(buffer, True)
            value = self.emit(s, row, {k: v for k, v in cuts.items() if k is not s})
            self.scopes[self.depth(place.variables(), row)].append(Store(buffer, place, value))
        # Results come last: one may be written to memory that another reads.
        self.scopes[-1].extend(self.late)
        for _ in loops:
            self.scopes.pop()
            self.scope_names.pop()
        loops[-1].lanes = True
        loops[-1].folds = starts
        outermost = loops[0]
        for upper, lower in itertools.pairwise(loops):
            upper.body.append(lower)
        self.scopes[-1].extend(starts)
        self.scopes[-1].append(outermost)
        self.scopes[-1].extend(after)
        self._totals(p)

    def _domain_vars(self, a: Value) -> set[str]:
        out: set[str] = set()
        for i in self.b.domain[a]:
            out |= i.variables()
        return self.b.names(out)

    def _totals(self, p: int) -> None:
        """Stores of reductions that are complete with walk p and are also wanted in memory."""
        b = self.b
        for a in b.group.anchors:
            if a.kind == "reduce" and a in b.group.consumed and a in b.stored and self.phase_of[a.id] == p:
                value = Scalar("name", (), a.dtype, self.acc_names[a.id])
                self.scopes[self.row_depth].append(
                    Store(self.use(b.buffer(a), True), b.where(a), value, tuple(a.origins))
                )

    def _start(self, a: Value) -> Start:
        function = a.data[0]
        name = f"r{len(self.acc_names)}"
        self.acc_names[a.id] = name
        source = a.args[0].dtype
        wide = "f64" if function == "sum" and source == "f32" and self._long() else source
        return Start(name, function, source, wide)

    def _long(self) -> bool:
        """Whether running sums in single precision would lose digits."""
        n = product(self.b.ranges[k] for k in self.row).number
        return n is None or n > 4096

    def _inside(self, a: Value, row: list[str], cuts: Any, starts: list[Start], after: list[Any]) -> None:
        """An anchor that runs over the row."""
        b = self.b
        root = b.roots[a]
        origins = tuple(a.origins)
        if a.kind != "reduce":
            if a in b.stored:
                value = self.emit(root, row, cuts)
                where = b.where(a)
                self.late.append(Store(self.use(b.buffer(a), True), where, value, origins))
            return
        kept = self._kept_names(a)
        if not kept & set(row):
            start = self._start(a)
            starts.append(start)
            value = self.emit(root, row, cuts)
            place = b.coordinate(a) if a.data[0] in ("argmax", "argmin") else None
            self.scopes[-1].append(Fold(start.name, a.data[0], value, place, origins))
            if b.terminal(a):
                total = Scalar("name", (), start.wide, start.name)
                if self._domain_vars(a) - kept <= set(row):
                    after.append(Store(self.use(b.buffer(a), True), b.where(a), total, origins))
                else:
                    self._update(a, total, kept, after, origins, wide=True)
            return
        value = self.emit(root, row, cuts)
        self._update(a, value, kept, self.scopes[-1], origins)

    def _once(self, a: Value) -> None:
        """An anchor that has one element a row."""
        b = self.b
        value = self.emit(b.roots[a], [], {})
        out = self.scopes[self.row_depth]
        origins = tuple(a.origins)
        if a.kind != "reduce":
            if a in b.stored:
                out.append(Store(self.use(b.buffer(a), True), b.where(a), value, origins))
            return
        kept = self._kept_names(a)
        self._update(a, value, kept, out, origins, wide=True)

    def _update(
        self, a: Value, value: Scalar, kept: set[str], out: list[Any], origins: tuple[str, ...], wide: bool = False
    ) -> None:
        """Combine a value with what memory holds: in the result itself, or in a partial result of the chunk."""
        b = self.b
        function = a.data[0]
        if function in ("argmax", "argmin"):
            raise NotImplementedError("argmax over outer loops")
        target = self.use(b.buffer(a), True)
        where = b.where(a)
        grid = self.outer[0] if self.outer else None
        size = a.numel()
        if grid is not None and grid not in kept:
            type = "f64" if wide and function == "sum" and a.dtype == "f32" else a.dtype
            part = Buffer(f"w{len(self.kernel.combines)}", type, size, "partial")
            self.use(part, True)
            self.kernel.combines.append((part, target, function, size))
            self.kernel.inits.append((part, function, size))
            target = part
        else:
            self.kernel.inits.append((target, function, size))
        out.append(Update(target, where, function, value, origins))

    def _flat(self, items: list[tuple[int, Value]]) -> None:
        """A kernel of one loop, which is the grid and runs in lanes."""
        b, k = self.b, self.kernel
        loop = Loop(self.row[0], b.ranges[self.row[0]], lanes=True, grid=True)
        self.scopes.append(loop.body)
        self.scope_names.append({})
        starts: list[Start] = []
        after: list[Any] = []
        for _, a in items:
            root = b.roots[a]
            value = self.emit(root, self.row, {})
            origins = tuple(a.origins)
            if a.kind != "reduce":
                if a in b.stored:
                    self.late.append(Store(self.use(b.buffer(a), True), b.where(a), value, origins))
                continue
            if self._kept_names(a):
                # Nothing is reduced but dimensions of size 1.
                loop.body.append(Store(self.use(b.buffer(a), True), b.where(a), value, origins))
                continue
            start = self._start(a)
            starts.append(start)
            place = b.coordinate(a) if a.data[0] in ("argmax", "argmin") else None
            loop.body.append(Fold(start.name, a.data[0], value, place, origins))
            total = Scalar("name", (), start.wide, start.name)
            target = self.use(b.buffer(a), True)
            if a.data[0] in ("argmax", "argmin"):
                self.single = True
                after.append(Store(target, ZERO, total, origins))
                continue
            part = Buffer(f"w{len(k.combines)}", start.wide, ONE, "partial")
            self.use(part, True)
            k.combines.append((part, target, a.data[0], ONE))
            after.append(Store(part, ZERO, total, origins))
        loop.body.extend(self.late)
        self.scopes.pop()
        self.scope_names.pop()
        loop.folds = starts
        self.scopes[0].extend(starts)
        self.scopes[0].append(loop)
        self.scopes[0].extend(after)
        k.grid = loop

    single = False

    def _kept_names(self, a: Value) -> set[str]:
        out: set[str] = set()
        for i in self.b.kept(a):
            out |= i.variables()
        return self.b.names(out)

    def _chunk(self) -> None:
        """Into how many parts the outermost loop may be cut: by the sizes alone, so that sums are the same on every machine."""
        k = self.kernel
        if k.grid is None or self.single:
            k.chunks = 1
            return
        n = k.grid.size.number
        chunks = CHUNKS
        whole = product(self.b.ranges.values()).number
        if whole is not None:
            moved = sum((x.size.number or whole) * BYTES.get(x.dtype, 8) for x in self.buffers.values())
            if max(duration(k.body), moved / MEMORY_SPEED) < ALONE:
                chunks = 1
        if n is not None:
            chunks = max(1, min(chunks, n))
        if k.combines and n is not None and not k.grid.lanes:
            chunks = max(1, min(chunks, n // 4))
        k.chunks = chunks


__all__ = ["Emitter"]
