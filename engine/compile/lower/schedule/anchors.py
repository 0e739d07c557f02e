"""Which values get a name in a kernel of their own right: the *anchors*.

Reductions, results, and what library calls read are anchors; so is an elementwise value that several anchors need and that
is dear to compute twice. All others float: they are computed inside of whatever anchor needs them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from ..loops.index import Arithmetic, Ix, strides_of, var
from ..loops.scalar import COST, Scalar
from ..values import Value

FLOATING_KINDS = frozenset({"point", "view", "pick"})
LIBRARY_KINDS = frozenset({"product", "call", "scatter", "cat", "embed"})
GIVEN_KINDS = frozenset({"input", "constant", "number", "item"})

DEAR = 6
"""The cost from which on a value that several anchors need is computed once and kept."""


def formula_cost(x: Scalar) -> int:
    """What a formula costs beside an addition; shared parts count once."""
    seen: set[Scalar] = set()
    total = 0
    todo = [x]
    while todo:
        s = todo.pop()
        if s in seen or not s.args:
            continue
        seen.add(s)
        total += COST.get(s.op, 1)
        todo.extend(s.args)
    return total


def affine(v: Value, held: Container[Value] = ()) -> tuple[Value, tuple[Ix, ...], Ix] | None:
    """The value below a chain of views, with strides and offset in its memory; None where the chain is not affine.

    Views among `held` have memory of their own. The strides count in elements of the memory of what is below (row-major, or where an
    input says otherwise).
    """
    names = [f"d{i}" for i in range(v.rank)]
    arithmetic = Arithmetic(dict(zip(names, v.shape, strict=True)))
    index: tuple[Ix, ...] = tuple(var(n) for n in names)
    at = v
    place: Ix | None = None
    while at.kind == "view" and at not in held:
        source = at.args[0]
        if source.strides is None and (
            source.kind != "view" or source in held
        ):  # row-major: the view's own strides say where
            steps, start = at.data
            for i, s in zip(index, steps, strict=True):
                start = start + i * s
            place = start + source.start
            at = source
            break
        index = through(at, index, arithmetic)
        at = source
    if place is None:
        steps = at.strides if at.strides is not None else strides_of(at.shape)
        place = at.start
        for i, s in zip(index, steps, strict=True):
            place = place + i * s
    place = arithmetic.merge(place)
    if not place.is_affine():
        return None
    return at, tuple(place.factor(n) for n in names), place.without(names)


def through(v: Value, index: Sequence[Ix], arithmetic: Arithmetic) -> tuple[Ix, ...]:
    """Where the element of a view at `index` is in its source."""
    steps, offset = v.data
    flat = offset
    for i, s in zip(index, steps, strict=True):
        flat = flat + i * s
    return arithmetic.unflatten(arithmetic.merge(flat), v.args[0].shape)


def below(v: Value, held: Container[Value] = ()) -> Value:
    """The value below a chain of views; those among `held` have memory of their own."""
    while v.kind == "view" and v not in held:
        v = v.args[0]
    return v


def users_of(values: Iterable[Value]) -> dict[Value, list[Value]]:
    """Who reads each value."""
    out: dict[Value, list[Value]] = {}
    for v in values:
        for a in v.args:
            out.setdefault(a, []).append(v)
    return out


def live(roots: Iterable[Value]) -> list[Value]:
    """What the roots need, each after its operands."""
    order: list[Value] = []
    seen: set[int] = set()
    todo: list[tuple[Value, bool]] = [(r, False) for r in reversed(list(roots))]
    while todo:
        v, done = todo.pop()
        if done:
            order.append(v)
        elif v.id not in seen:
            seen.add(v.id)
            todo.append((v, True))
            todo.extend((a, False) for a in reversed(v.args))
    order.sort(key=lambda v: v.order)
    return order


def choose(order: list[Value], stored: set[Value], buffers: int | None = None) -> set[Value]:
    """The anchors among `order`. `stored` are the values that memory must hold whatever is fused; no anchor reads more than `buffers`
    arrays."""
    users = users_of(order)
    anchors = {v for v in order if v.kind == "reduce"} | {v for v in stored if v.kind in FLOATING_KINDS}
    readers: dict[Value, set[int]] = {}
    cost: dict[Value, int] = {}
    for v in order:
        own = formula_cost(v.data) if v.kind == "point" else 0
        cost[v] = own + sum(cost[a] for a in set(v.args) if a.kind in FLOATING_KINDS and a not in anchors)
    for v in reversed(order):
        found: set[int] = set()
        for u in users.get(v, ()):
            if u in anchors or u.kind not in FLOATING_KINDS:
                found.add(u.id)
            else:
                found |= readers.get(u, set())
        readers[v] = found
        if v.kind == "point" and v not in anchors and len(found) > 1 and v.rank and _dear(v, anchors) >= DEAR:
            anchors.add(v)
    if buffers is not None:
        _limit(order, anchors, buffers - 1)
    return anchors


def _limit(order: list[Value], anchors: set[Value], most: int) -> None:
    """Make anchors of operands until nothing reads more than `most` arrays."""
    reads: dict[Value, set[Value]] = {}

    def seen(v: Value) -> set[Value]:
        return {v} if v in anchors or v.kind not in FLOATING_KINDS else reads[v]

    for v in order:
        if v.kind not in FLOATING_KINDS and v not in anchors:
            continue
        while True:
            found = set().union(*[seen(a) for a in v.args]) if v.args else set()
            largest = max(
                (a for a in v.args if a.kind in FLOATING_KINDS and a not in anchors),
                key=lambda a: len(reads[a]),
                default=None,
            )
            if len(found) <= most or largest is None or len(reads[largest]) < 2:
                break
            anchors.add(largest)
        reads[v] = found


def _dear(v: Value, anchors: set[Value]) -> int:
    """What computing a value again costs: its operations, and the arrays that are read beyond one."""
    total, arrays, seen, todo = 0, 0, set(), [v]
    while todo:
        x = todo.pop()
        if x in seen:
            continue
        seen.add(x)
        if x.kind == "point":
            total += formula_cost(x.data)
        for a in x.args:
            if a.kind in FLOATING_KINDS and a not in anchors:
                todo.append(a)
            elif a not in seen and a.numel() == v.numel():
                seen.add(a)
                arrays += 1
    return total + 2 * max(0, arrays - 1)
