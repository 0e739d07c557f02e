"""Groups: the anchors that one kernel computes, over a common set of loop variables.

A group knows at which indices (polynomials of its variables) each value is computed or read. An anchor can join where its
own index follows from values that are there already, upwards through broadcasting and views; where every operand that
the group computes is read at the very place at which it is computed; and where reductions whose results are used in the
group all run over the same variables, the *inner* ones: they make up a row, which the kernel walks several times.
A refusal is a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..loops.index import ONE, ZERO, Arithmetic, Ix, divided, ix, product, strides_of, var
from ..loops.scalar import BYTES
from ..values import Value, canonical
from .anchors import FLOATING_KINDS, through

Index = tuple[Ix, ...]
Partial = "list[Ix | None]"

LONGEST_ROW = 1 << 17
"""Elements of a row that is walked several times by one thread; longer rows are left to several kernels."""


class Refused(Exception):
    """Why an anchor does not join a group; the message is a sentence."""


class Group:
    """Anchors that are computed together. `index` says where each value seen so far stands; `reads` lists what comes from memory."""

    def __init__(self, number: int):
        self.number = number
        self.ranges: dict[str, Ix] = {}
        self.arithmetic = Arithmetic(self.ranges)
        self.index: dict[Value, Index] = {}
        self.reads: dict[Value, list[Index]] = {}
        self.anchors: list[Value] = []
        self.inner: frozenset[str] | None = None
        self.consumed: set[Value] = set()
        """Reductions whose results are used in the group."""

    def copy(self) -> Group:
        """A group to try something on."""
        out = Group(self.number)
        out.contiguous_rows, out.rows_only, out._splits = self.contiguous_rows, self.rows_only, self._splits
        out.ranges.update(self.ranges)
        out.index = dict(self.index)
        out.reads = {k: list(v) for k, v in self.reads.items()}
        out.anchors = list(self.anchors)
        out.inner = self.inner
        out.consumed = set(self.consumed)
        return out

    def new_variable(self, size: Ix) -> Ix:
        """A loop variable of this size; a number where the size is 1."""
        if size == ONE:
            return ZERO
        name = f"i{len(self.ranges)}"
        while name in self.ranges:
            name += "_"
        self.ranges[name] = size
        return var(name)

    # -- finding the place of an anchor ---------------------------------------------------------

    def place(self, anchor: Value) -> Index:
        """The index of the anchor's domain (a reduction's is its source's) from what is in the group. Raises Refused."""
        memo: dict[Value, Any] = {}
        source = anchor.args[0] if anchor.kind == "reduce" else anchor
        found = self._infer(source, memo, top=anchor.kind != "reduce")
        if found is None or (all(i is None for i in found) and any(n != ONE for n in source.shape)):
            raise Refused("they share no values whose places follow from one another")
        return self._completed(found, source.shape)

    def _completed(self, found: Sequence[Ix | None], shape: Sequence[Ix]) -> Index:
        """Dimensions that nothing determines get a variable of the row that nothing else uses, or a new one."""
        taken: set[str] = set()
        for i in found:
            if i is not None:
                taken |= i.variables()
        out: list[Ix] = []
        for i, n in zip(found, shape, strict=True):
            if n == ONE:
                out.append(ZERO)
            elif i is not None:
                out.append(i)
            else:
                free = [k for k, size in self.ranges.items() if size == n and k not in taken]
                if free:
                    taken.add(free[-1])
                    out.append(var(free[-1]))
                else:
                    made = self.new_variable(n)
                    taken |= made.variables()
                    out.append(made)
        return tuple(out)

    def _infer(self, v: Value, memo: dict[Value, Any], top: bool = False) -> list[Ix | None] | None:
        if not top and v in self.index:
            return list(self.index[v])
        if v in memo:
            return memo[v]
        memo[v] = None
        if v.kind not in FLOATING_KINDS:
            return None
        out: list[Ix | None] | None = None
        if v.kind == "point":
            for a in sorted(v.args, key=lambda a: -a.rank):
                got = self._infer(a, memo)
                if got is None:
                    continue
                shifted: list[Ix | None] = [None] * (v.rank - a.rank) + [
                    i if n == m else None for i, n, m in zip(got, a.shape, v.shape[v.rank - a.rank :], strict=True)
                ]
                out = shifted if out is None else [x if x is not None else y for x, y in zip(out, shifted, strict=True)]
                if all(i is not None or n == ONE for i, n in zip(out, v.shape, strict=True)):
                    break
        elif v.kind == "view":
            got = self._infer(v.args[0], memo)
            out = None if got is None else self._upwards(v, got)
        memo[v] = out
        return out

    def _upwards(self, v: Value, index: Sequence[Ix | None]) -> list[Ix | None] | None:
        """The index of a view's element from that of its source, dimension by dimension or through the flat place."""
        steps, offset = v.data
        source = v.args[0]
        if offset != ZERO:
            return None
        own = canonical(source.shape)
        out: list[Ix | None] = []
        direct = True
        for n, s in zip(v.shape, steps, strict=True):
            if n == ONE:
                out.append(ZERO)
            elif s == ZERO:
                out.append(None)
            else:
                match = [d for d, (m, t) in enumerate(zip(source.shape, own, strict=True)) if t == s and m == n]
                if not match:
                    direct = False
                    break
                out.append(index[match[0]])
        if direct:
            return out
        if any(i is None and n != ONE for i, n in zip(index, source.shape, strict=True)):
            return None
        # Every element once: the strides are a mixed radix.
        moving = [(n, s) for n, s in zip(v.shape, steps, strict=True) if n != ONE and s != ZERO]
        if product(n for n, _ in moving) != source.numel():
            return None
        flat = self.arithmetic.flatten([i if i is not None else ZERO for i in index], source.shape)
        out = []
        for n, s in zip(v.shape, steps, strict=True):
            if n == ONE:
                out.append(ZERO)
            elif s == ZERO:
                out.append(None)
            else:
                q = self.arithmetic.quotient(flat, s)
                out.append(q if self.arithmetic.below(q, n) else self.arithmetic.remainder(q, n))
        back = ZERO
        for i, s in zip(out, steps, strict=True):
            back = back + (i if i is not None else ZERO) * s
        return out if self.arithmetic.merge(back) == flat else None

    # -- joining --------------------------------------------------------------------------------

    def begin(self, anchor: Value) -> None:
        """Make the anchor the first of this group: a variable for each of its dimensions."""
        source = anchor.args[0] if anchor.kind == "reduce" else anchor
        self.add(anchor, tuple(self.new_variable(n) for n in source.shape))

    def add(self, anchor: Value, index: Index) -> None:
        """Compute the anchor over this index of its domain. Raises Refused; the group must then be thrown away."""
        source = anchor.args[0] if anchor.kind == "reduce" else anchor
        if anchor.kind == "reduce":
            index = self._apart(index, anchor.data[1])
        domain: set[str] = set()
        for i in index:
            domain |= i.variables()
        if product(self.ranges[n] for n in domain) != source.numel():
            raise Refused("the loops of the one do not visit every element of the other once")
        used: set[Value] = set()
        self._walk(source, index, used, set(), top=anchor.kind != "reduce")
        for r in used:
            if r.kind == "reduce":
                self._consume(r)
        searches = anchor.kind == "reduce" and anchor.data[0] in ("argmax", "argmin")
        if anchor.kind == "reduce" and (self.rows_only or searches):
            over = frozenset(
                domain - {n for d, i in enumerate(index) if d not in anchor.data[1] for n in i.variables()}
            )
            if self.inner is None:
                self.inner = over
            elif over != self.inner:
                raise Refused(
                    "it searches along other loops than the kernel's rows, and a search needs a row of its own"
                    if searches
                    else "its sum runs over other loops than the kernel's rows, and threads of this device do not meet"
                )
        self._settle_rows(frozenset(domain))
        kept = tuple(i for d, i in enumerate(index) if anchor.kind != "reduce" or d not in anchor.data[1])
        self.anchors.append(anchor)
        self.index[anchor] = kept if anchor.kind == "reduce" else index
        if anchor.kind == "reduce":
            self.index.setdefault(source, index)

    def _apart(self, index: Index, dims: Sequence[int]) -> Index:
        """The index with loop variables split that stand both in what a reduction keeps and in what it runs over."""
        while True:
            kept = {n for d, i in enumerate(index) if d not in dims for n in i.variables()}
            gone = {n for d, i in enumerate(index) if d in dims for n in i.variables()}
            both = sorted(kept & gone)
            if not both:
                return index
            name = both[0]
            cut = None
            for i in index:
                for atom in sorted(i.atoms(), key=repr):
                    if atom[0] in "/%" and atom[1] == var(name) and divided(self.ranges[name], atom[2]) is not None:
                        cut = atom[2]
            if cut is None:
                raise Refused("the reduction runs over a part of a loop of the kernel")
            values = self._split(name, cut)
            index = tuple(self.arithmetic.substitute(i, values) for i in index)

    def _split(self, name: str, n: Ix) -> dict[str, Ix]:
        """Make two loop variables of one: v is a n + b."""
        size = divided(self.ranges[name], n)
        assert size is not None
        self._splits += 1
        a, b = f"{name}x{self._splits}", f"{name}y{self._splits}"
        order = list(self.ranges.items())
        values = {name: var(a) * n + var(b)}
        self.ranges.update({a: size, b: n})
        for v, index in self.index.items():
            self.index[v] = tuple(self.arithmetic.substitute(i, values) for i in index)
        for places in self.reads.values():
            places[:] = [tuple(self.arithmetic.substitute(i, values) for i in index) for index in places]
        if self.inner is not None and name in self.inner:
            self.inner = (self.inner - {name}) | {a, b}
        self.ranges.clear()
        for k, m in order:
            self.ranges.update({a: size, b: n} if k == name else {k: m})
        return values

    _splits = 0

    def _settle_rows(self, domain: frozenset[str]) -> None:
        """Every anchor runs over all variables, or over those that are not of the row: once a row."""
        whole = frozenset(self.ranges)
        domains = {domain, *(frozenset(self._variables(a)) for a in self.anchors)}
        small = domains - {whole}
        if not small:
            pass
        elif len(small) > 1:
            raise Refused("it has another number of elements than the kernel's loops and rows")
        else:
            missing = whole - next(iter(small))
            if self.inner is None:
                self.inner = missing
            elif self.inner != missing:
                raise Refused("it has another number of elements than the kernel's loops and rows")
        if self.inner and self.consumed:
            self._check_row()

    def _variables(self, anchor: Value) -> set[str]:
        """The variables an anchor's domain runs over."""
        source = anchor.args[0] if anchor.kind == "reduce" else anchor
        out: set[str] = set()
        for i in self.index.get(source, ()) or ():
            out |= i.variables()
        return out

    def reduced(self, r: Value) -> frozenset[str]:
        """The variables that a reduction in this group runs over."""
        kept: set[str] = set()
        for i in self.index[r]:
            kept |= i.variables()
        return frozenset(self._variables(r) - kept)

    def _consume(self, r: Value) -> None:
        over = self.reduced(r)
        if self.inner is not None and over != self.inner and over:
            raise Refused("it uses a reduction that is complete only after all loops")
        if self.inner is None:
            if over and self.contiguous_rows and self._jumps(over):
                raise Refused("walking over its rows would jump through memory")
            self.inner = over
        self.consumed.add(r)

    rows_only = False
    """Whether every reduction must run over the rows of the kernel."""

    contiguous_rows = True
    """Whether rows must lie in memory element after element (on a CPU, whose lanes read neighbours)."""

    def _jumps(self, row: frozenset[str]) -> bool:
        """Whether neighbours in memory are in different rows."""
        near = far = 0
        for v, places in self.reads.items():
            for index in places:
                names = {n for i in index for n in i.variables()}
                if not names & row:
                    continue
                steps = v.strides if v.strides is not None else canonical(v.shape)
                close: set[str] = set()
                for i, s in zip(index, steps, strict=True):
                    if s.number == 1:
                        close |= i.variables()
                if close & row:
                    near += 1
                else:
                    far += 1
        return far > near

    def _check_row(self) -> None:
        size = product(self.ranges[n] for n in self.inner or ()).number
        rows = product(n for k, n in self.ranges.items() if k not in (self.inner or ())).number
        if size is not None and size > LONGEST_ROW and (rows is None or rows < 8):
            raise Refused(f"a row of {size} elements is too long to be walked several times by one thread")

    def _walk(self, v: Value, index: Index, used: set[Value], seen: set[Any], top: bool = False) -> None:
        """Follow the operands down to memory and to anchors of this group."""
        if (v, index) in seen:
            return
        seen.add((v, index))
        if not top and v in self.anchors:
            if index != self.index[v]:
                raise Refused("it reads a value of the kernel at another place than that where it is computed")
            used.add(v)
            return
        if v.kind not in FLOATING_KINDS or (not top and v in self.settled):
            places = self.reads.setdefault(v, [])
            if index not in places:
                places.append(index)
            self.index.setdefault(v, index)
            return
        self.index.setdefault(v, index)
        if v.kind == "point":
            for a in v.args:
                self._walk(a, operand_index(v, a, index), used, seen)
        elif v.kind == "view":
            self._walk(v.args[0], through(v, index, self.arithmetic), used, seen)
        else:
            for a, i in picked(v, index, self.arithmetic):
                self._walk(a, i, used, seen)

    settled: set[Value] = set()
    """Anchors of other groups: their values come from memory."""

    def shared_bytes(self, leaves: Iterable[Value]) -> int:
        """Bytes that need not be read again, or be written at all, if something that reads `leaves` joined."""
        total = 0
        for v in leaves:
            n = v.numel().number or 1024
            if v in self.anchors:
                total += 2 * n * BYTES.get(v.dtype, 4)
            elif v in self.reads:
                total += n * BYTES.get(v.dtype, 4)
        return total


def operand_index(v: Value, a: Value, index: Index) -> Index:
    """Where a broadcast operand is read."""
    index = index[len(index) - len(a.shape) :]
    if not a.single():
        return index
    return tuple([ZERO if n.number == 1 else i for i, n in zip(index, a.shape, strict=True)])


def picked(v: Value, index: Index, arithmetic: Arithmetic) -> list[tuple[Value, Index]]:
    """What a `pick` reads: its index values, then its source at places that are run-time numbers where those say so."""
    out: list[tuple[Value, Index]] = []
    where: list[Ix] = []
    for p, n in zip(v.data, v.args[0].shape, strict=True):
        if p[0] == "dim":
            where.append(ZERO if n == ONE else index[p[1]])
        elif p[0] == "zero":
            where.append(ZERO)
        elif p[0] == "at":
            a = v.args[1 + p[1]]
            at = tuple(ZERO if m == ONE else index[d] for d, m in zip(p[2], a.shape, strict=True))
            out.append((a, at))
            where.append(Ix({(("r", ("at", a, at, n)),): 1}))
        else:
            where.append(Ix({(("r", (p, index[p[1]], n)),): 1}))
    out.append((v.args[0], tuple(where)))
    return out


__all__ = ["Group", "Index", "Refused", "ix", "operand_index", "picked", "strides_of"]
