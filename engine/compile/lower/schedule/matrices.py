"""Values as matrices that BLAS can read where they lie: one dimension of stride 1, the other with a leading dimension."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from ..loops.index import ONE, ZERO, Arithmetic, Ix, strides_of, var
from ..values import Value
from .anchors import affine, through

LONGEST = 1 << 17
"""K of a product that one thread may walk, four steps a turn."""


@dataclass
class Matrix:
    """A stack of matrices in memory: what holds it, where it begins, strides of the leading dimensions, leading dimension, transposition."""

    base: Value
    start: Ix
    batch: tuple[Ix, ...]
    lead: Ix
    transposed: bool


def matrix(v: Value, held: Container[Value] = ()) -> Matrix | None:
    """How BLAS sees a value, None where it cannot. Views among `held` have memory of their own."""
    seen = affine(v, held)
    if seen is None:
        return None
    base, steps, start = seen
    m, n = v.shape[-2:]
    row, column = steps[-2], steps[-1]
    if column == ONE or n == ONE:
        lead = row if m != ONE else n
        if lead == ZERO or (n == ONE and column != ONE and row == ZERO):
            return None
        return _checked(Matrix(base, start, steps[:-2], lead, False), n)
    if row == ONE or m == ONE:
        lead = column if n != ONE else m
        return None if lead == ZERO else _checked(Matrix(base, start, steps[:-2], lead, True), m)
    return None


def _checked(found: Matrix, width: Ix) -> Matrix | None:
    """Rows may not overlap."""
    lead, n = found.lead.number, width.number
    return None if lead is not None and n is not None and lead < n else found


def place(v: Value, index: Sequence[Ix], held: Container[Value] = ()) -> tuple[Value, Ix]:
    """The value below a chain of views, and the place of the element at `index` in its memory. Views among `held` have memory
    of their own."""
    sizes = {name: n for i, n in zip(index, v.shape, strict=True) for name in i.variables()}
    arithmetic = Arithmetic(sizes)
    at, where = v, tuple(index)
    while at.kind == "view" and at not in held:
        where = through(at, where, arithmetic)
        at = at.args[0]
    steps = at.strides if at.strides is not None else strides_of(at.shape)
    total = at.start
    for i, s in zip(where, steps, strict=True):
        total = total + i * s
    return at, arithmetic.merge(total)


def separable(p: Value, side: int, held: Container[Value] = ()) -> tuple[Value, Ix] | None:
    """What holds the left (0) or right (1) operand of a product of known sizes, and the places of its elements: polynomials of "m" (or
    "n"), "k" and "z0", "z1", ... for layers. None where a row and K cannot be told apart."""
    a = p.args[side]
    if p.dtype != "f32" or any(n.number is None for n in (*p.shape, *a.shape)):
        return None
    if (p.args[0].shape[-1].number or 0) > LONGEST:
        return None
    own = ["k", "n"] if side else ["m", "k"]
    names = [*[f"z{i}" for i in range(a.rank - 2)], *own]
    index = [ZERO if n == ONE else var(name) for name, n in zip(names, a.shape, strict=True)]
    base, total = place(a, index, held)
    for key in total.terms:
        if {"k", "n" if side else "m"} <= Ix({key: 1}).variables():
            return None
    return base, total
