"""Rewrites that spare moving memory: transposed products computed transposed, parts of a concatenation computed in its memory.

Each has a name, and counts how often it was used.
"""

from __future__ import annotations

import math
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


LONGEST = 1024
"""Elements that one thread adds up, on devices whose threads do not meet."""


COLUMNS = 64
"""Elements of a column that one thread adds up, where threads walk along rows with the sums of their columns in memory."""


def _aligned(x: Value, sizes: list[int], least: int) -> int:
    """Parts of the dimensions of these sizes, at least so many, that cut one of them only; 0 where there are none.

    A view is cut where what it is of can be, which is computed in the same kernel then.
    """
    if x.kind == "view":
        long, under, source = math.prod(sizes), 1, [n.number or 0 for n in x.args[0].shape]
        for k, n in enumerate(source):
            under *= n
            if under == long:
                sizes = source[: k + 1]
                break
    whole, found = 1, set()
    for n in sizes:
        found |= {whole * d for d in range(1, n + 1) if n % d == 0}
        whole *= n
    return min((p for p in found if least <= p <= 4 * least), default=0)


def split_reductions(program: Program, walks: bool = False) -> None:
    """Long reductions in two stages, on devices whose threads do not meet: parts by many threads, then the parts.

    With `walks` sums of columns are in many short parts.
    """
    roots = [o.value for o in program.outputs if o.value is not None]
    for v in live(roots):
        if v.kind != "reduce" or v.data[0].startswith("arg"):
            continue
        function, dims = v.data
        x = v.args[0]
        kept = [d for d in range(x.rank) if d not in dims]
        long = 1
        for d in dims:
            n = x.shape[d].number
            long = 0 if n is None else long * n
        few = 1
        for d in kept:
            few *= x.shape[d].number or 1 << 30
        columns = walks and x.rank - 1 in kept and long >= 4 * COLUMNS and few % 4 == 0 and long * few >= 1 << 18
        if (long <= LONGEST and not columns) or few > 1 << 14:
            continue
        least = max(32, -(-long // COLUMNS))
        parts = _aligned(x, [x.shape[d].number or 0 for d in dims], least) if columns else 0
        parts = parts or next((p for p in range(-(-long // LONGEST), long + 1) if long % p == 0), long)
        if parts > 1 << 16 or parts == long:
            parts = next((p for p in range(2, long + 1) if long % p == 0 and p * p >= long), long)
        if parts == long:
            continue
        before = len(program.values.made)
        values = program.values
        if x.rank - 1 in kept:  # sums of columns: neighbouring threads take neighbouring columns
            flat = values.reshape(
                values.permute(x, [*dims, *kept]), [parts, long // parts, *[x.shape[d] for d in kept]]
            )
            partial, over = values.reduce(function, flat, (1,), dtype=v.dtype), 0
        else:
            flat = values.reshape(
                values.permute(x, [*kept, *dims]), [*[x.shape[d] for d in kept], parts, long // parts]
            )
            partial, over = values.reduce(function, flat, (len(kept) + 1,), dtype=v.dtype), len(kept)
        for i, made in enumerate(values.made[before:]):
            made.order = v.order - 0.5 + i * 1e-3
            made.origins.update(v.origins)
        v.args, v.data = (partial,), (function, (over,))
        program.rewrites["long reductions in two stages"] += 1
        if parts > LONGEST:
            split_reductions(program, walks)
            return


__all__ = ["canonical", "rewrite", "split_reductions", "swapped"]
