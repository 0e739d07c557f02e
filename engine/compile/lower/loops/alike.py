"""Kernels that are alike: the same statements on other memory, with other sizes, steps and given numbers.

`outline` takes a kernel apart into what must be equal and the numbers that may differ; `general` makes one kernel for several, in which numbers
that do differ are symbolic sizes. Nothing is decided here about what runs together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .form import Buffer, Fold, Kernel, Let, Loop, Start, Store, Update, statements
from .index import Ix, ix
from .scalar import Scalar

Number = Callable[[int], Ix]


class Unlike(Exception):
    """The kernel has something whose numbers cannot be told apart from its form."""


@dataclass
class Outline:
    """A kernel taken apart. Two with equal `key` differ in `numbers` only, and in what `memory` and `given` are."""

    key: Hashable
    numbers: list[int]
    memory: list[Buffer]
    given: list[Buffer]
    loops: list[Loop]


class _Walk:
    """Goes through a kernel's statements and makes them anew, with numbers as `number` says; notes the form as it goes."""

    def __init__(self, kernel: Kernel, number: Number):
        self.number = number
        self.form: list[Any] = []
        self.names: dict[str, int] = {}
        self.memory = [b for b in kernel.buffers if b.dtype != "number"]
        self.buffers = {b.name: i for i, b in enumerate(self.memory)}
        self.given: list[Buffer] = []

    def name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def place(self, e: Ix) -> Ix:
        """A polynomial: its products of variables are form, their factors numbers."""
        parts = []
        for key, c in e.terms.items():
            if any(a[0] != "v" for a in key):
                raise Unlike
            parts.append((tuple(sorted(self.name(a[1]) for a in key)), key, c))
        out = ix(0)
        for shape, key, c in sorted(parts, key=lambda p: p[0]):
            self.form.append(shape)
            out = out + self.number(c) * Ix({key: 1})
        self.form.append("end")
        return out

    def scalar(self, x: Scalar) -> Scalar:
        data: Any = x.data
        if x.op == "name":
            noted: Any = self.name(str(data))
        elif x.op == "load":
            self.form.append(("load", self.buffers[data[0].name]))
            data = (data[0], self.place(data[1]))
            noted = None
        elif x.op == "ix":
            data, noted = self.place(data), None
        elif x.op == "given":
            if data not in self.given:
                self.given.append(data)
            noted = self.given.index(data)
        elif x.op in ("size", "place", "clip"):
            raise Unlike
        else:
            noted = repr(data)
        self.form.append((x.op, x.type, noted, len(x.args)))
        return Scalar(x.op, tuple([self.scalar(a) for a in x.args]), x.type, data)

    def body(self, body: Sequence[Any]) -> list[Any]:
        return [self.statement(s) for s in body]

    def statement(self, s: Any) -> Any:
        note = self.form.append
        note(type(s).__name__)
        if isinstance(s, Loop):
            note((self.name(s.variable), s.lanes, len(s.body)))
            n = s.size.number
            if n is None:
                raise Unlike
            return replace(s, size=self.number(n), body=self.body(s.body))
        if isinstance(s, Let):
            scalar = self.scalar(s.scalar)
            note(self.name(s.name))
            return Let(s.name, scalar, s.origins)
        if isinstance(s, Store):
            note(self.buffers[s.buffer.name])
            return Store(s.buffer, self.place(s.place), self.scalar(s.value), s.origins)
        if isinstance(s, Update):
            note((self.buffers[s.buffer.name], s.function))
            return Update(s.buffer, self.place(s.place), s.function, self.scalar(s.value), s.origins)
        if isinstance(s, Start):
            note((self.name(s.name), s.function, s.type, s.wide))
            return s
        if isinstance(s, Fold):
            note((self.name(s.name), s.function))
            where = None if s.place is None else self.place(s.place)
            return Fold(s.name, s.function, self.scalar(s.value), where, s.origins)
        raise Unlike


def outline(kernel: Kernel) -> Outline | None:
    """A kernel taken apart; None where it has symbolic sizes, checks, or places that are no sums of products of loop variables."""
    if kernel.checks or kernel.inits or kernel.combines or any(b.role != "memory" for b in kernel.buffers):
        return None
    numbers: list[int] = []

    def number(n: int) -> Ix:
        numbers.append(n)
        return ix(n)

    walk = _Walk(kernel, number)
    try:
        walk.body(kernel.body)
    except Unlike:
        return None
    rows = tuple(sorted(walk.name(v) for v in kernel.rows))
    types = tuple(b.dtype for b in walk.memory)
    return Outline((tuple(walk.form), types, rows), numbers, walk.memory, walk.given, _loops(kernel.body))


def _loops(body: Sequence[Any]) -> list[Loop]:
    out: list[Loop] = []
    for s in body:
        if isinstance(s, Loop):
            out += [s, *_loops(s.body)]
    return out


def general(kernels: Sequence[Kernel], outlines: Sequence[Outline]) -> tuple[Kernel, dict[str, list[int]], list[Loop]]:
    """One kernel for all of equal outline: the first's, with numbers that differ as symbolic sizes; the values of each of these, kernel by
    kernel; and its loops in order. A size whose values are all multiples of four stands for a fourth of them, times four."""
    columns: dict[tuple[int, ...], Ix] = {}
    values: dict[str, list[int]] = {}
    rows: Iterator[tuple[int, ...]] = iter(list(zip(*[o.numbers for o in outlines], strict=True)))

    def number(n: int) -> Ix:
        row = next(rows)
        if len(set(row)) == 1:
            return ix(n)
        if row not in columns:
            by = 4 if all(m % 4 == 0 for m in row) else 1
            name = f"n{len(values)}"
            values[name] = [m // by for m in row]
            columns[row] = Ix({(("s", name),): by})
        return columns[row]

    walk = _Walk(kernels[0], number)
    made = replace(kernels[0], body=walk.body(kernels[0].body), origins=_all(k.origins for k in kernels))
    for same in zip(*[list(statements(k.body)) for k in (made, *kernels)], strict=True):
        if not isinstance(same[0], (Loop, Start)):
            same[0].origins = tuple(_all(s.origins for s in same[1:]))
    return made, values, _loops(made.body)


def _all(origins: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(o for some in origins for o in some))


def rounded(kernel: Kernel, by: int) -> Kernel:
    """A kernel of one loop that takes all its memory element by element, with its turns rounded up to a multiple of `by`; others as they are."""
    loops = _loops(kernel.body)
    if len(loops) != 1 or kernel.body[-1] is not loops[0] or not loops[0].lanes:
        return kernel
    loop = loops[0]
    n = loop.size.number
    if n is None or n % by == 0:
        return kernel
    alone = Ix({(("v", loop.variable),): 1})
    for s in [*kernel.body[:-1], *loop.body]:
        if isinstance(s, Store):
            if s.place != alone:
                return kernel
        elif not isinstance(s, Let) or (s.scalar.op == "load" and s.scalar.data[1] != alone) or s.scalar.op == "ix":
            return kernel
    return replace(kernel, body=[*kernel.body[:-1], replace(loop, size=ix(-(-n // by) * by))])


__all__ = ["Outline", "general", "outline", "rounded"]
