"""Passes over functional graphs that need to know nothing of operators but whether they are pure."""

from __future__ import annotations

from typing import Any

from .graph import Graph
from .node import Node


def eliminate_common_subexpressions(graph: Graph) -> int:
    """Let equal pure calls be one node; returns how many were taken out. Meant for level-2 graphs, whose calls write nothing."""
    known: dict[Any, Node] = {}
    taken = 0
    for node in graph.nodes:
        if node.op not in ("call_function", "get_attr") or node.is_impure() or node.meta.get("unique"):
            continue
        key = (
            node.op,
            id(node.target) if node.op == "call_function" else node.target,
            _key(node.args),
            _key(node.kwargs),
        )
        try:
            first = known.setdefault(key, node)
        except TypeError:  # an argument that cannot be a key
            continue
        if first is not node:
            node.replace_all_uses_with(first)
            graph.erase_node(node)
            taken += 1
    return taken


def _key(value: Any) -> Any:
    """A value as a dictionary key in which 1, 1.0 and True differ."""
    if isinstance(value, Node):
        return ("node", id(value))
    if isinstance(value, (tuple, list)):
        return (len(value), *[_key(v) for v in value])
    if isinstance(value, dict):
        return tuple([(k, _key(v)) for k, v in sorted(value.items())])
    if type(value) is slice:
        return ("slice", _key(value.start), _key(value.stop), _key(value.step))
    if hasattr(value, "free_symbols"):
        return ("symbolic", value.code())
    if type(value) is float:
        return ("float", repr(value))
    if value is None or type(value) in (bool, int, complex, str):
        return (type(value).__name__, value)
    return ("object", id(value))
