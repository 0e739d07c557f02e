"""Replacing a pattern of calls by another, everywhere in a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..compile.graph.node import map_nodes
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .tracer import symbolic_trace


@dataclass
class Match:
    """Where a pattern was found: its last node, and which node of the graph each of its nodes is."""

    anchor: Node
    nodes_map: dict[Node, Any]


def _graph(pattern: Any) -> Graph:
    if isinstance(pattern, Graph):
        return pattern
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph


def _fits(wanted: Any, found: Any, known: dict[Node, Any], inner: set[Node]) -> bool:
    """Whether a node (or argument) of the pattern is that of the graph; fills `known`."""
    if isinstance(wanted, Node):
        if wanted in known:
            return known[wanted] is found or (not isinstance(found, Node) and known[wanted] == found)
        if wanted.op == "placeholder":
            known[wanted] = found
            return True
        if not isinstance(found, Node) or found.op != wanted.op or found.target != wanted.target:
            return False
        if len(found.args) != len(wanted.args) or found.kwargs.keys() != wanted.kwargs.keys():
            return False
        known[wanted] = found
        inner.add(found)
        return all(_fits(w, f, known, inner) for w, f in zip(wanted.args, found.args)) and all(
            _fits(wanted.kwargs[k], found.kwargs[k], known, inner) for k in wanted.kwargs
        )
    if isinstance(wanted, (tuple, list)):
        return (
            type(wanted) is type(found)
            and len(wanted) == len(found)
            and all(_fits(w, f, known, inner) for w, f in zip(wanted, found))
        )
    return type(wanted) is type(found) and wanted == found


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Put `replacement` wherever the calls of `pattern` stand in `gm`; both are functions, modules or graphs of the same inputs.

    Matches do not overlap, and their inner values are used nowhere else. Returns the matches; `gm` is recompiled.
    """
    wanted, fresh = _graph(pattern), _graph(replacement)
    goal = wanted.output_node.args[0]
    if not isinstance(goal, Node):
        raise RuntimeError("replace_pattern: the pattern must return one value")
    matches: list[Match] = []
    taken: set[Node] = set()
    for node in reversed(gm.graph.nodes):
        known: dict[Node, Any] = {}
        inner: set[Node] = set()
        if node in taken or not _fits(goal, node, known, inner) or inner & taken:
            continue
        if any(user not in inner for n in inner if n is not node for user in n.users):
            continue
        matches.append(Match(node, known))
        taken |= inner
        parameters = [n for n in wanted.nodes if n.op == "placeholder"]
        values = dict(zip([n for n in fresh.nodes if n.op == "placeholder"], [known.get(p) for p in parameters]))
        with gm.graph.inserting_before(node):
            for n in fresh.nodes:
                if n.op not in ("placeholder", "output"):
                    values[n] = gm.graph.node_copy(n, values.__getitem__)
        result = map_nodes(fresh.output_node.args[0], values.__getitem__)
        node.replace_all_uses_with(result)
        for n in sorted(inner, key=gm.graph.nodes.index, reverse=True):
            gm.graph.erase_node(n)
    gm.recompile()
    return matches[::-1]


__all__ = ["Match", "replace_pattern"]
