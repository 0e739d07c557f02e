"""The anchors of an elementwise group as statements without loops: what one turn of the group's own variables computes.

Used where something else runs the loops (a product's kernel, which has each result in a register when it is complete). The variables
are neither split nor merged, so that places may have quotients and remainders of them. Groups with loops of their own are `build.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable

from ..schedule.groups import Group
from ..values import Value
from .build import Builder
from .form import Buffer, Kernel, Let, Store
from .index import product
from .scalar import COST, Scalar


def straight(group: Group, name: str, buffer: Callable[[Value], Buffer], stored: set[Value]) -> Kernel:
    """The statements of all anchors, whose results among `stored` are written last. Raises NotImplementedError for reductions, and for
    places that are known only when it runs."""
    builder = Builder(group, name, buffer, stored)
    builder.spell()
    if builder.places or any(a.kind == "reduce" for a in group.anchors):
        raise NotImplementedError("reductions, or places that are known only when it runs")
    kernel = Kernel(name, [], [])
    names: dict[Scalar, str] = {}
    used: dict[str, Buffer] = {}

    def use(b: Buffer, write: bool = False) -> Buffer:
        used.setdefault(b.name, b)
        side = kernel.writes if write else kernel.reads
        if b not in side and b.dtype != "number":
            side.append(b)
        return b

    def emit(s: Scalar) -> Scalar:
        if s.op in ("lit", "name"):
            return s
        if s not in names:
            if s.op in ("load", "given"):
                use(s.data[0] if s.op == "load" else s.data)
            made = Scalar(s.op, tuple([emit(a) for a in s.args]), s.type, s.data)
            name = f"t{len(names)}"
            kernel.body.append(Let(name, made, tuple(builder.origins.get(s, ()))))
            names[s] = name
        return Scalar("name", (), s.type, names[s])

    stores = []
    for a in group.anchors:
        value = emit(builder.roots[a])
        if a in stored:
            stores.append(Store(use(buffer(a), True), builder.where(a), value, tuple(a.origins)))
    kernel.body += stores
    kernel.buffers = list(used.values())
    kernel.origins = list(dict.fromkeys(o for s in kernel.body for o in s.origins))
    kernel.rewrites = [rule for _, rule in builder.met]
    kernel.work = product(group.ranges.values()) * sum(COST.get(s.op, 1) for s in names if s.args)
    return kernel


__all__ = ["straight"]
