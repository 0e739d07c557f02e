"""The tape as plain data: what hangs below some nodes, in the form that `observe.tape_json` describes.

Made while the tape is alive (at the beginning of a backward pass, or from a tensor that has a history); it holds no
live objects.  Cutting is by age: the newest nodes are kept.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

from ..observe import tape_json
from ..tensor import Tensor, gradient_edge
from .node import Node
from .op_node import Saved
from .run import AccumulateGrad

NODE_LIMIT = 20_000


def name_parameter(tensor: Tensor, name: str) -> None:
    """Remember the dotted name of a parameter, for the label of its leaf."""
    tensor._label = name


def snapshot(roots: Any, limit: int = NODE_LIMIT) -> dict[str, Any]:
    """The tape below `roots` (a tensor, a node, or several of either) as JSON-ready data.

    At most `limit` nodes, the newest ones; older ones are counted as dropped.
    """
    starts = [_node_of(r) for r in (roots if isinstance(roots, (list, tuple)) else [roots])]
    starts = [s for s in starts if s is not None]
    found: list[Node] = []
    seen: set[int] = set()
    heap: list[tuple[int, int, Node]] = []

    def push(node: Node) -> None:
        if id(node) not in seen:
            seen.add(id(node))
            heapq.heappush(heap, (-node.sequence_nr, id(node), node))

    for node in starts:
        push(node)
    while heap and len(found) < limit:
        node = heapq.heappop(heap)[2]
        found.append(node)
        for edge in node.edges:
            if edge is not None:
                push(edge[0])
    found.reverse()
    return tape_json([describe(n) for n in found], [n.sequence_nr for n in starts], dropped=len(heap))


def _node_of(root: Any) -> Node | None:
    if isinstance(root, Node):
        return root
    if isinstance(root, Tensor) and root.requires_grad:
        return gradient_edge(root)[0]
    return None


def describe(node: Node) -> dict[str, Any]:
    """One node as the dictionary that `observe.tape_json` documents."""
    leaf = isinstance(node, AccumulateGrad)
    source = node.source if not leaf else None
    gradient = node.variable._grad if isinstance(node, AccumulateGrad) else None
    return {
        "id": node.sequence_nr,
        "kind": "leaf" if leaf else "op",
        "op": "leaf" if leaf else (node.op.name if node.op is not None else node.name()),
        "name": type(node).__name__ if leaf else node.name(),
        "label": node.variable._label if isinstance(node, AccumulateGrad) else "",
        "inputs": [e[0].sequence_nr for e in node.edges if e is not None],
        "outputs": [{"shape": list(m[0]), "dtype": m[1].name, "device": m[2]} for m in node.outputs if m is not None],
        "module": node.module if not leaf else "",
        "source": source.to_json() if source is not None else None,
        "saved": _saved(node),
        "grad": None
        if gradient is None
        else {"shape": list(gradient.shape), "dtype": gradient.dtype.name, "norm": None},
    }


def _saved(node: Node) -> list[dict[str, Any]]:
    """What a node keeps, each with the number of the node that made it ("node", None where that is not on the tape)."""
    facts = node.saved_facts()
    ctx = getattr(node, "ctx", None)
    kept = node.saved if ctx is None else getattr(ctx, "_saved", None)
    values = list(kept.values()) if isinstance(kept, dict) else list(kept or ())
    flat = [s for v in values for s in (v if isinstance(v, (list, tuple)) else (v,))]
    tensors = [s for s in flat if isinstance(s, Saved) and s.tensor is not None]
    if len(tensors) == len(facts):
        for fact, s in zip(facts, tensors, strict=True):
            fact["node"] = _maker(s, node)
    return facts


def _maker(saved: Saved, owner: Node) -> int | None:
    """The number of the node whose value is kept."""
    if saved.is_output:
        return owner.sequence_nr
    tensor = saved.tensor
    if not tensor._requires_grad or tensor._storage.version != saved.version:
        return None
    return gradient_edge(tensor)[0].sequence_nr


def newest_root(values: Iterable[Any]) -> Tensor | None:
    """The tensor among `values` whose node was recorded last, or None where none has a history."""
    best, newest = None, -1
    for value in values:
        if isinstance(value, Tensor):
            node = value.grad_fn
            if node is not None and node.sequence_nr > newest:
                best, newest = value, node.sequence_nr
    return best
