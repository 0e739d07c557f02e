"""From a group of anchors to the loop-level form of a kernel: formulas, and the loops they stand in.

The steps: every anchor's formula is spelled out over loads; loop variables are split where a reshape cuts them, ordered by the
strides of memory, and merged where two run through memory as one. The statements are written by `emit.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from ..schedule.anchors import FLOATING_KINDS, through
from ..schedule.groups import Group, Index, operand_index, picked
from ..simplify.algebra import MEETING
from ..values import Value, canonical
from .emit import Emitter
from .form import Buffer, Kernel
from .index import Arithmetic, Ix, divided, ix, var
from .scalar import Scalar, lit, substitute


class Builder:
    """The formulas and loops of one group. `buffer` gives the memory of a value; `stored` says which anchors go to memory."""

    def __init__(
        self,
        group: Group,
        name: str,
        buffer: Callable[[Value], Buffer],
        stored: set[Value],
        keep: int = 6,
        lend: bool = False,
        short: int = 8,
    ):
        self.lend, self.short = lend, short
        self.met: dict[tuple[Value, str], None] = {}
        """Where rules of `MEETING` did something."""
        self.group, self.name, self.buffer, self.stored, self.keep = group, name, buffer, stored, keep
        self.ranges: dict[str, Ix] = dict(group.ranges)
        self.arithmetic = Arithmetic(self.ranges)
        self.domain: dict[Value, Index] = {}
        for a in group.anchors:
            self.domain[a] = group.index[a.args[0]] if a.kind == "reduce" else group.index[a]
        self.inner: set[str] | None = set(group.inner) if group.inner is not None else None
        self.members = set(group.anchors)
        self.places: dict[str, Scalar] = {}
        self.memo: dict[Any, Scalar] = {}
        self.origins: dict[Scalar, dict[str, None]] = {}
        self.roots: dict[Value, Scalar] = {}
        self.joined: dict[str, str] = {}
        """Loop variables that run on in others: the outer one to the inner one, which counts both."""

    # -- formulas -------------------------------------------------------------------------------

    def spell(self) -> None:
        """The formula of every anchor over loads."""
        self.memo.clear()
        self.places.clear()
        self.origins.clear()
        for a in self.group.anchors:
            if a.kind == "reduce":
                self.roots[a] = self.formula(a.args[0], self.domain[a])
            else:
                self.roots[a] = self.formula(a, self.domain[a], top=True)

    def formula(self, v: Value, index: Index, top: bool = False) -> Scalar:
        """The element of a value at an index."""
        key = (v, index)
        found = self.memo.get(key)
        if found is not None:
            return found
        if v.kind == "reduce" and v in self.members:
            out = Scalar("acc", (), v.dtype, v.id)
        elif v.kind == "number":
            out = Scalar("given", (), v.dtype, self.buffer(v))
        elif v.kind not in FLOATING_KINDS or (v in self.group.settled and v not in self.members):
            out = Scalar("load", (), v.dtype, (self.buffer(v), self.offset(v, index)))
        elif v.kind == "view":
            out = self.formula(v.args[0], through(v, index, self.arithmetic))
        elif v.kind == "pick":
            out = self._pick(v, index)
        else:
            operands = [self.formula(a, operand_index(v, a, index)) for a in v.args]

            def leaf(x: Scalar) -> Scalar | None:
                if x.op == "arg":
                    return operands[x.data]
                if x.op == "index":
                    return Scalar("ix", (), "i64", index[x.data])
                return None

            def rule(x: Scalar) -> Scalar | None:
                for name, found in MEETING.items():
                    made = found(x)
                    if made is not None:
                        self.met[v, name] = None
                        return made
                return None

            inside: dict[Scalar, Scalar] = {}
            out = substitute(v.data, leaf, inside, rule)
            for x in inside.values():
                if x.args:
                    self.origins.setdefault(x, {}).update(v.origins)
        self.memo[key] = out
        return out

    def _pick(self, v: Value, index: Index) -> Scalar:
        parts = picked(v, index, self.arithmetic)
        source, where = parts[-1]
        names: list[Ix] = []
        for p, i in zip(v.data, where, strict=True):
            if p[0] in ("dim", "zero"):
                names.append(i)
                continue
            (atom,) = next(iter(i.terms))
            if p[0] == "at":
                _, a, at, n = atom[1]
                at = tuple(at)
                made = Scalar("place", (self.formula(a, at),), "i64", n)
            else:
                _, at, n = atom[1]
                shift = p[2]
                made = Scalar("clip", (Scalar("ix", (), "i64", at - shift),), "i64", n)
            name = next((k for k, s in self.places.items() if s == made), None)
            if name is None:
                name = f"p{len(self.places)}"
                self.places[name] = made
            names.append(Ix({(("r", name),): 1}))
        return self.formula(source, tuple(names))

    def offset(self, v: Value, index: Index) -> Ix:
        """The place of an element in the memory of a value."""
        steps = v.strides if v.strides is not None else canonical(v.shape)
        out = v.start
        for i, s in zip(index, steps, strict=True):
            out = out + i * s
        return self.arithmetic.merge(out)

    def kept(self, a: Value) -> Index:
        """Where an anchor's result stands, in its own shape."""
        if a.kind != "reduce":
            return self.domain[a]
        return tuple(i for d, i in enumerate(self.domain[a]) if d not in a.data[1])

    # -- loop variables -------------------------------------------------------------------------

    def scalars(self) -> Iterable[Scalar]:
        """All parts of all formulas, those of run-time places too."""
        seen: set[Scalar] = set()
        todo = [*self.roots.values(), *self.places.values()]
        while todo:
            s = todo.pop()
            if s not in seen:
                seen.add(s)
                yield s
                todo.extend(s.args)

    def indices(self) -> list[Ix]:
        """Every index polynomial: places in memory, and coordinates in formulas."""
        out = []
        for s in self.scalars():
            if s.op == "load":
                out.append(s.data[1])
            elif s.op == "ix":
                out.append(s.data)
        for a in self.group.anchors:
            if a in self.stored or self.terminal(a):
                out.append(self.where(a))
            if a.kind == "reduce" and a.data[0] in ("argmax", "argmin"):
                out.append(self.coordinate(a))
        return out

    def where(self, a: Value) -> Ix:
        """The place in memory of an anchor's result."""
        return self.final(self.offset(a, self.kept(a)))

    def coordinate(self, a: Value) -> Ix:
        """The coordinate that argmax and argmin look for."""
        return self.final(self.domain[a][a.data[1][0]])

    def final(self, e: Ix) -> Ix:
        """A polynomial with joined loop variables: the outer ones are gone."""
        return e.without(self.joined) if self.joined else e

    def names(self, variables: Iterable[str]) -> set[str]:
        """Loop variables with joined ones by the name of what counts them."""
        out = set()
        for n in variables:
            while n in self.joined:
                n = self.joined[n]
            out.add(n)
        return out

    def terminal(self, a: Value) -> bool:
        """Whether a reduction's result is not used in the group."""
        return a.kind == "reduce" and a not in self.group.consumed

    def apply(self, values: dict[str, Ix]) -> None:
        """Replace loop variables everywhere."""
        for a, index in self.domain.items():
            self.domain[a] = tuple(self.arithmetic.substitute(i, values) for i in index)
        if self.inner is not None:
            for name, value in values.items():
                if name in self.inner:
                    self.inner.discard(name)
                    self.inner |= value.variables()

    def split(self) -> None:
        """Cut loop variables where a quotient or remainder of one is left: v // n, v % n become variables of their own."""
        for _ in range(12):
            self.spell()
            found = self._cut()
            if found is None:
                return
            name, n = found
            size = divided(self.ranges[name], n)
            assert size is not None
            a, b = f"{name}a", f"{name}b"
            while a in self.ranges or b in self.ranges:
                a, b = a + "_", b + "_"
            order: dict[str, Ix] = {}
            for k, m in self.ranges.items():
                if k == name:
                    order[a], order[b] = size, n
                else:
                    order[k] = m
            self.ranges.update({a: size, b: n})
            self.arithmetic = Arithmetic(self.ranges)
            self.apply({name: var(a) * n + var(b)})
            self.ranges = order
            self.arithmetic = Arithmetic(self.ranges)
        self.spell()

    def _cut(self) -> tuple[str, Ix] | None:
        for e in self.indices():
            for atom in sorted(e.atoms(), key=repr):
                if atom[0] not in "/%":
                    continue
                x, n = atom[1], atom[2]
                if n.number is not None and n.number < self.short:
                    continue
                if len(x.terms) == 1:
                    ((key, c),) = x.terms.items()
                    if c == 1 and len(key) == 1 and key[0][0] == "v" and divided(self.ranges[key[0][1]], n) is not None:
                        return key[0][1], n
        return None

    def order(self) -> list[str]:
        """The loop variables, outermost first: by their strides in what is written, or else read most widely."""
        indices = self.indices()
        best: Ix | None = None
        most = -1
        stored = [self.where(a) for a in self.group.anchors if a in self.stored and a.kind != "reduce"]
        for e in [*stored, *[e for e in indices if e.is_affine()]]:
            n = len(e.variables())
            if n > most:
                best, most = e, n

        def stride(name: str) -> float:
            if best is None or not best.is_affine():
                return 0.0
            f = best.factor(name)
            return float(_hint(f)) if f.terms else float("inf")

        names = list(self.ranges)
        return sorted(names, key=lambda n: (-stride(n), names.index(n)))

    def merge(self, order: list[str]) -> list[str]:
        """Put neighbours together that run through all memory as one."""
        changed = True
        while changed:
            changed = False
            indices = self.indices()
            for a, b in itertools.pairwise(order):
                if self.inner is not None and (a in self.inner) != (b in self.inner):
                    continue
                n = self.ranges[b]
                if all(self._runs_on(e, a, b, n) for e in indices):
                    self.ranges[b] = self.ranges[a] * n
                    del self.ranges[a]
                    order = [k for k in order if k != a]
                    if self.inner is not None:
                        self.inner.discard(a)
                    self.joined[a] = b
                    self._join(a)
                    changed = True
                    break
        return order

    def _join(self, a: str) -> None:
        """Take a joined variable out of all formulas: in each, its factor is that of the other times the other's size."""

        def leaf(x: Scalar) -> Scalar | None:
            if x.op == "load" and a in x.data[1].variables():
                return Scalar("load", (), x.type, (x.data[0], x.data[1].without((a,))))
            if x.op == "ix" and a in x.data.variables():
                return Scalar("ix", (), x.type, x.data.without((a,)))
            return None

        memo: dict[Scalar, Scalar] = {}
        self.roots = {k: substitute(s, leaf, memo) for k, s in self.roots.items()}
        self.places = {k: substitute(s, leaf, memo) for k, s in self.places.items()}
        for old, new in memo.items():
            if old is not new and old in self.origins:
                self.origins.setdefault(new, {}).update(self.origins[old])

    def _runs_on(self, e: Ix, a: str, b: str, n: Ix) -> bool:
        names = e.variables()
        if a not in names and b not in names:
            return True
        deep = {v for atom in e.atoms() if atom[0] in "/%" for x in atom[1:] for v in x.variables()}
        if a in deep or b in deep:
            return False
        return e.factor(a) == e.factor(b) * n


def _hint(e: Ix) -> int:
    """A size for comparisons, with 64 for what is symbolic."""
    total = 0
    for key, c in e.terms.items():
        for a in key:
            c *= 64 if a[0] == "s" else 1
        total += c
    return total


def build(
    group: Group,
    name: str,
    buffer: Callable[[Value], Buffer],
    stored: set[Value],
    keep: int = 6,
    lend: bool = False,
    short: int = 8,
) -> Kernel:
    """The kernel of a group. `stored` are the anchors that memory holds; what costs `keep` or more is kept for later walks over a row,
    with `lend` in the memory of results that are written after. Loops of less than `short` turns are not split off."""
    builder = Builder(group, name, buffer, stored, keep, lend, short)
    builder.split()
    return Emitter(builder, builder.merge(builder.order())).run()


__all__ = ["build", "ix", "lit"]
