"""Terms of a search over the nodes of a graph, and walks along its lines.

`matcher` turns a query into a test of one node; the walks answer what leads to a node, what follows from it, and how two
nodes are connected.  All of it is iterative and works on graphs of any depth.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Graph, Node, NodeId

ORDERS = ("bytes", "saved", "seconds", "share", "gradient")
"""What `Graph.ranked` can sort by."""


_WALK = re.compile(r"(top|before|after|path):(\S+)", re.IGNORECASE)


def found(graph: Graph, query: str) -> list[NodeId]:
    """The nodes that a query finds (`Graph.search` describes it): tests of each node, and walks and orders over all."""
    walks = [(kind.casefold(), rest) for kind, rest in _WALK.findall(query)]
    plain = _WALK.sub(" ", query)
    tests = matcher(plain)
    if tests is None and not walks:
        return []
    nodes = [n.id for n in graph.nodes if tests is None or tests(n)]
    for kind, rest in walks:
        chosen = _walked(graph, kind, rest)
        if kind in ("top", "path"):  # these have an order of their own
            kept = set(nodes)
            nodes = [n for n in chosen if n in kept]
        else:
            wanted = set(chosen)
            nodes = [n for n in nodes if n in wanted]
    return nodes


def _walked(graph: Graph, kind: str, rest: str) -> list[NodeId]:
    if kind == "top":
        return graph.ranked(rest.casefold()) if rest.casefold() in ORDERS else []
    if kind == "path":
        first, _, last = rest.partition("..")
        ends = _id(graph, first), _id(graph, last)
        return [] if None in ends else graph.path(*ends)  # pyright: ignore[reportArgumentType]
    start = _id(graph, rest)
    if start is None:
        return []
    return graph.ancestors(start) if kind == "before" else graph.descendants(start)


def _id(graph: Graph, text: str) -> NodeId | None:
    """The node that a text names: by its id, or the first one that carries it."""
    key: NodeId = int(text) if text.isdecimal() and len(text) < 19 else text
    return next(iter(graph.carriers(key)), None)


def matcher(query: str) -> Callable[[Node], bool] | None:
    """The test that a query stands for (`Graph.search` describes it); None for an empty one."""
    terms = [_term(t) for t in re.findall(r"\[[^\]]*\]|\S+", query)]
    return (lambda node: all(term(node) for term in terms)) if terms else None


def walk(start: NodeId, next_of: Callable[[NodeId], tuple[NodeId, ...]]) -> set[NodeId]:
    """Everything that can be reached from a node, without the node itself."""
    found: set[NodeId] = set()
    waiting = [start]
    while waiting:
        for other in next_of(waiting.pop()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def shortest(graph: Graph, start: NodeId, end: NodeId) -> list[NodeId]:
    """The nodes of a shortest way down from one node to another, both included; [] where there is none."""
    before: dict[NodeId, NodeId] = {start: start}
    waiting = deque([start])
    while waiting and end not in before:
        at = waiting.popleft()
        for user in graph.users(at):
            if user not in before:
                before[user] = at
                waiting.append(user)
    if end not in before:
        return []
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]


def measure(node: Node, order: str) -> float | None:
    """What `Graph.ranked` sorts a node by; None where it is not known. Raises ValueError for an unknown order."""
    if order == "bytes":
        return node.bytes or None
    if order == "saved":
        return node.saved_bytes or None
    if order == "seconds":
        return node.facts.seconds
    if order == "share":
        return node.facts.share
    if order == "gradient":
        return None if node.grad is None else node.grad.norm
    raise ValueError(f"cannot sort nodes by {order!r}; the orders are {', '.join(ORDERS)}")


def _term(term: str) -> Callable[[Node], bool]:
    """The test that one term of a search stands for."""
    folded = term.casefold()
    head, colon, rest = folded.partition(":")
    if colon and head in ("", "line") and rest.isdecimal():
        return lambda node: _on_line(node, int(rest))
    if colon and head == "op":
        return lambda node: rest in node.op.casefold()
    if colon and head == "name":
        return lambda node: any(rest in text.casefold() for text in (node.name, node.label, node.module))
    if folded.startswith("[") and folded.endswith("]"):
        return _shape_term([size.strip() for size in folded[1:-1].split(",") if size.strip()])
    if re.fullmatch(r"(\d+|\*)(x(\d+|\*))+", folded):
        return _shape_term(folded.split("x"))
    if folded.isdecimal():
        number = int(folded)
        return lambda node: _on_line(node, number) or any(number in t.shape for t in node.outputs)
    return lambda node: folded in _haystack(node)


def _shape_term(sizes: list[str]) -> Callable[[Node], bool]:
    def matches(node: Node) -> bool:
        return any(
            len(t.shape) == len(sizes) and all(want in ("*", str(n)) for want, n in zip(sizes, t.shape, strict=True))
            for t in node.outputs
        )

    return matches


def _on_line(node: Node, line: int) -> bool:
    return node.source is not None and node.source.line <= line <= node.source.end_line


def _haystack(node: Node) -> str:
    texts = [node.op, node.name, node.label, node.module, node.dtype_text, *(b.text for b in node.badges)]
    if node.source is not None:
        texts += [node.source.function, node.source.text]
    return "\n".join(texts).casefold()
