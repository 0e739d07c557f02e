"""Values as matrices that BLAS can read where they lie: one dimension of stride 1, the other with a leading dimension."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from ..loops.index import ONE, ZERO, Ix
from ..values import Value
from .anchors import affine


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
