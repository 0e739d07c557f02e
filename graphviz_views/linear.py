"""Put the records of one linear layer together: `t` and `addmm`, with the views around them, become one node "linear".

Only where they come from one call of one module and from one place in the source, and where nothing else uses the
values between.  The node has the id of the last record; the others stay known as its `parts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .labels import trim
from .model import Facts, NodeId

if TYPE_CHECKING:
    from .tape import Record

_PRODUCTS = ("addmm", "mm", "matmul", "linear", "bmm")
_VIEWS = ("view", "unsafe_view", "reshape", "contiguous")


def fold_linear(
    records: Sequence[Record], roots: set[NodeId], aliases: dict[NodeId, tuple[NodeId, ...]]
) -> list[Record]:
    """The records with each linear layer as one; `aliases` gets the ids of the records that went into another."""
    by_id = {r.node.id: r for r in records}
    users: dict[NodeId, list[Record]] = {}
    for r in records:
        for _, source in r.inputs:
            users.setdefault(source, []).append(r)

    def together(a: Record, b: Record) -> bool:
        """Whether `a` is used by `b` alone, and both come from the same call."""
        return (
            a.node.kind == b.node.kind == "op"
            and bool(a.node.module)
            and a.node.module == b.node.module
            and a.node.source == b.node.source
            and a.node.id not in roots
            and users.get(a.node.id) == [b]
        )

    gone: set[NodeId] = set()
    for r in records:
        if r.node.op != "t" or len(r.inputs) > 1 or r.node.id not in users:
            continue
        product = users[r.node.id][0]
        if product.node.op not in _PRODUCTS or not together(r, product):
            continue
        parts = [r, product]
        for _, source in product.inputs:
            user, before = product, by_id[source]
            while before is not r and before.node.op in _VIEWS and together(before, user):
                parts.insert(0, before)
                if len(before.inputs) != 1:
                    break
                user, before = before, by_id[before.inputs[0][1]]
        last = product
        while True:
            after = users.get(last.node.id, [])
            if len(after) != 1 or not together(last, after[0]) or not _goes_on(last, after[0], by_id):
                break
            last = after[0]
            parts.append(last)
        if any(p.node.id in gone for p in parts):
            continue
        _join(parts, last, product)
        for p in parts:
            if p is not last:
                gone.add(p.node.id)
                aliases[p.node.id] = (last.node.id,)
    return [r for r in records if r.node.id not in gone]


def _goes_on(last: Record, after: Record, by_id: dict[NodeId, Record]) -> bool:
    """Whether `after` still belongs to the layer: a view of its result, or the bias added to it."""
    if after.node.op in _VIEWS:
        return True
    others = [by_id[source] for _, source in after.inputs if source != last.node.id]
    return after.node.op == "add" and len(others) == 1 and others[0].node.kind == "leaf"


def _join(parts: list[Record], last: Record, product: Record) -> None:
    """Make `last` stand for all of `parts`."""
    inside = {p.node.id for p in parts}
    sources = [source for p in parts for _, source in p.inputs if source not in inside]
    made_of = ", ".join(p.node.op for p in parts)
    last.node = replace(
        last.node,
        op="linear",
        name=product.node.name,
        saved=tuple(s for p in parts for s in p.node.saved),
        grad=last.node.grad,
        parts=tuple(p.node.id for p in parts),
        facts=Facts(details=(("made of", trim(made_of)),)),
    )
    last.inputs = list(enumerate(dict.fromkeys(sources)))
