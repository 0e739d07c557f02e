"""Rewrites that spare moving memory: transposed products computed transposed, parts of a concatenation computed in its memory.

Each has a name, and counts how often it was used.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..loops.index import ONE, ZERO, strides_of
from ..schedule.anchors import live, users_of
from ..values import Value, canonical
from .translate import Program


def rewrite(program: Program) -> None:
    """Apply the rewrites to a program, in place."""
    roots = [o.value for o in program.outputs if o.value is not None]
    _products(program, live(roots), set(roots))


def _swaps(v: Value) -> bool:
    """Whether a view exchanges the last two dimensions of its source and does nothing else."""
    source = v.args[0]
    if source.rank < 2 or v.rank != source.rank:
        return False
    steps, offset = v.data
    shape = (*source.shape[:-2], source.shape[-1], source.shape[-2])
    own = strides_of(source.shape)
    wanted = (*own[:-2], own[-1], own[-2])
    wanted = tuple(ZERO if n == ONE else s for n, s in zip(shape, wanted, strict=True))
    return offset == ZERO and v.shape == shape and steps == wanted


def swapped(program: Program, x: Value, order: float) -> Value:
    """The last two dimensions exchanged; a view of a view that does so is what it looks at."""
    if x.kind == "view" and _swaps(x):
        return x.args[0]
    dims = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    before = len(program.values.made)
    v = program.values.permute(x, dims)
    for made in program.values.made[before:]:
        made.order = order
    return v


def _products(program: Program, order: list[Value], roots: Iterable[Value]) -> None:
    """(a b)^T, where only the transpose is used, is b^T a^T."""
    users = users_of(order)
    for p in order:
        readers = users.get(p, [])
        if p.kind != "product" or p in roots or not readers:
            continue
        if all(u.kind == "view" and _swaps(u) for u in readers) and len(set(readers)) == 1:
            w = readers[0]
            a, b = p.args
            w.kind, w.data = "product", None
            w.args = (swapped(program, b, w.order - 0.5), swapped(program, a, w.order - 0.25))
            w.origins = {**p.origins, **w.origins}
            program.rewrites["transposed products"] += 1


__all__ = ["canonical", "rewrite", "swapped"]
