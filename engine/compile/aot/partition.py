"""Splits a joint graph into forward and backward: what is saved between them, and what the backward computes again.

Every value that backward reads is either saved or computed again from values that are. The choice with the fewest bytes saved is a
minimum cut (as in Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016), for the idea of recomputing, and Jain et al.,
"Checkmate" (2020), for choosing by optimisation): forward values are vertices of the size of their bytes, between what forward has
anyway and what backward needs. Random draws, products, convolutions, reductions and all that is no cheap elementwise work are
never computed again. What was decided, and why, is part of the result.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from ..fake import is_symbolic
from ..graph import Graph, GraphModule, Node, TensorSpec, map_nodes
from . import creations
from .mincut import INFINITE, Network


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one forward value that backward depends on: "save", "recompute" or "keep" (it lives anyway)."""

    node: str
    action: str
    reason: str
    bytes: int

    def to_json(self) -> dict[str, Any]:
        return {"node": self.node, "action": self.action, "reason": self.reason, "bytes": self.bytes}


@dataclass(slots=True)
class Partition:
    """`forward` returns its outputs and then `saved`; `backward` takes `saved` and then the tangents."""

    forward: GraphModule
    backward: GraphModule
    saved: list[str]
    """Names of the forward nodes whose values are passed on, in order (symbolic numbers last, by symbol)."""
    tensors: int
    """How many of `saved` are tensors."""
    decisions: list[Decision]


def size_of(val: Any) -> int:
    """Bytes of a value, symbolic sizes by their hints."""
    if isinstance(val, TensorSpec):
        n = val.nbytes()
        return int(n.hint if is_symbolic(n) else n)
    if isinstance(val, (tuple, list)):
        return sum(size_of(v) for v in val)
    return 8


def _why_not(node: Node) -> str | None:
    """Why a node is not computed again; None where it may be."""
    if node.op == "placeholder":
        return "it is an input"
    if node.op == "get_attr" or node.target is operator.getitem:
        return None
    target = node.target
    if target is creations.draw or node.meta.get("random") or getattr(target, "kind", "") == "random":
        return "it is random: drawn again it would differ"
    if target is creations.item:
        return "it is read from a device"
    if target in (creations.full, creations.arange):
        return None
    kind = getattr(target, "kind", "")
    if kind in ("pointwise", "view", "cast"):
        return None
    if kind == "matmul":
        return "products and convolutions are too dear to be computed twice"
    if kind == "reduction":
        return "a reduction reads much to give little"
    return "it is no cheap elementwise work"


def partition(joint: GraphModule, outputs: int, tangents: list[Node]) -> Partition:
    """Split `joint`, whose output tuple is `outputs` forward results and then the gradients.

    `tangents` are the placeholders of the gradients that come in.
    """
    graph = joint.graph
    graph.eliminate_dead_code()
    returned = list(graph.output_node.args[0])
    results, gradients = returned[:outputs], returned[outputs:]
    nodes = [n for n in graph if n.op != "output"]
    late = set(tangents)  # everything that depends on an incoming gradient
    for n in nodes:
        if any(i in late for i in n.all_input_nodes):
            late.add(n)
    early = [n for n in nodes if n not in late]
    needed = {g for g in gradients if isinstance(g, Node)}
    for n in reversed(nodes):
        if n in needed:
            needed.update(n.all_input_nodes)
    wanted = [n for n in early if n in needed]
    saved = _choose(wanted, late, {g for g in gradients if isinstance(g, Node)})
    forward, backward, names, again = _split(joint, early, late, results, gradients, tangents, saved)
    return Partition(forward, backward, names, len(saved), _decisions(wanted, saved, again))


def _free(n: Node) -> bool:
    """Whether a value is made from nothing, at no cost worth saving."""
    return n.op == "get_attr" or n.target in (creations.full, creations.arange)


def _choose(wanted: list[Node], late: set[Node], gradients: set[Node]) -> list[Node]:
    """Which of the early values that backward depends on are saved."""
    number = {n: i for i, n in enumerate(wanted)}
    source, sink = 2 * len(wanted), 2 * len(wanted) + 1
    net = Network(2 * len(wanted) + 2)
    for n in wanted:
        v = number[n]
        several = isinstance(n.meta.get("val"), (tuple, list))
        if several or _free(n):
            weight = INFINITE
        elif n.op == "placeholder":
            weight = size_of(n.meta.get("val")) * 1e-3  # it lives anyway, but is held longer
        else:
            weight = float(max(size_of(n.meta.get("val")), 1))
        net.add(2 * v, 2 * v + 1, weight)
        given = _why_not(n) is not None
        if given and not several:
            net.add(source, 2 * v, INFINITE)
        for user in n.users:
            if user in number:
                if given and several:  # its parts are values of their own, and are there
                    net.add(source, 2 * number[user], INFINITE)
                elif _why_not(user) is None or isinstance(user.meta.get("val"), (tuple, list)):
                    net.add(2 * v + 1, 2 * number[user], INFINITE)
            elif user in late:
                net.add(2 * v + 1, sink, INFINITE)
        if n in gradients:
            net.add(2 * v + 1, sink, INFINITE)
    side = net.cut(source, sink)
    return [n for n in wanted if 2 * number[n] in side and 2 * number[n] + 1 not in side]


def _decisions(wanted: list[Node], saved: list[Node], again: set[Node]) -> list[Decision]:
    kept = set(saved)
    out = []
    for n in wanted:
        size = size_of(n.meta.get("val"))
        if n in kept and n.op == "placeholder":
            out.append(Decision(n.name, "keep", "an input lives anyway", size))
        elif n in kept:
            out.append(Decision(n.name, "save", _why_not(n) or "it is smaller than what it is computed from", size))
        elif n in again and not _free(n) and n.target is not operator.getitem:
            out.append(Decision(n.name, "recompute", "it is cheap elementwise work on values that are there", size))
    return out


def _split(
    joint: GraphModule, early: list[Node], late: set[Node], results: list[Any], gradients: list[Any], tangents: list[Node], saved: list[Node],
) -> tuple[GraphModule, GraphModule, list[str], set[Node]]:  # fmt: skip
    forward, made = Graph(), {}

    def copy_into(graph: Graph, into: dict[Node, Node], n: Node) -> Node:
        args, kwargs = (map_nodes(a, into.__getitem__) for a in (n.args, n.kwargs))
        twin = graph.create_node(n.op, n.target, args, kwargs, n.name)
        if n.op == "placeholder":
            twin.target = twin.name
        twin.meta = dict(n.meta)
        into[n] = twin
        return twin

    # Backward first: what it needs says what forward must hand on.
    inner: set[Node] = {g for g in gradients if isinstance(g, Node)}
    kept = set(saved)
    order = [n for n in joint.graph if n.op != "output"]
    for n in reversed(order):
        if n in inner and n not in kept:
            inner.update(n.all_input_nodes)
    backward, back = Graph(), {}
    for n in saved:
        twin = backward.placeholder(n.name)
        twin.meta = {**n.meta}
        back[n] = twin
    body = [n for n in order if n in inner and n not in kept and n not in tangents]
    wrong = next((n for n in body if n not in late and not _free(n) and _why_not(n) is not None), None)
    if wrong is not None:
        raise RuntimeError(f"the partition would compute {wrong.name} again, although {_why_not(wrong)}")
    symbols = _symbols(body, [*saved, *tangents])
    for name, number in symbols.items():
        backward.placeholder(name).meta["val"] = number
    for t in tangents:
        copy_into(backward, back, t)
    for n in body:
        copy_into(backward, back, n)
    backward.output(tuple(map_nodes(gradients, back.__getitem__)))
    for n in early:
        copy_into(forward, made, n)
    handed = [made[n] for n in saved]
    forward.output((*map_nodes(tuple(results), made.__getitem__), *handed, *symbols.values()))
    forward.eliminate_dead_code()
    names = [n.name for n in saved] + list(symbols)
    again = {n for n in body if n not in late}
    return (
        GraphModule(forward, joint.constants, "forward"), GraphModule(backward, joint.constants, "backward"), names, again,
    )  # fmt: skip


def _symbols(body: list[Node], given: list[Node]) -> dict[str, Any]:
    """The symbolic numbers that nodes use and no tensor among `given` shows."""
    known: set[str] = set()
    for n in given:
        val = n.meta.get("val")
        if isinstance(val, TensorSpec):
            known.update(s for size in val.shape if is_symbolic(size) and (s := size.symbol_name()) is not None)
    out: dict[str, Any] = {}

    def look(v: Any) -> None:
        if is_symbolic(v):
            for s in v.free_symbols():
                if s not in known and s not in out:
                    out[s] = _number(s, v.env)
        elif isinstance(v, (tuple, list)):
            for x in v:
                look(x)
        elif isinstance(v, dict):
            for x in v.values():
                look(x)
        elif isinstance(v, slice):
            look((v.start, v.stop, v.step))

    for n in body:
        look(n.args)
        look(n.kwargs)
    return out


def _number(name: str, env: Any) -> Any:
    from ..fake import SymFloat, SymInt
    from ..fake import expr as E

    if name in env.ranges:
        return SymInt(E.symbol(name), env)
    return SymFloat(name, env, env.hints.get(name))
