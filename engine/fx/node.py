"""Nodes of traced graphs: those of the compiler, shown as PyTorch shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compile.graph.node import Node as Node
from ..compile.graph.node import map_nodes


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """`a` with `fn` applied to every node in it."""
    return map_nodes(a, fn)


def target_name(target: Any) -> str:
    """A function as printed code refers to it: "torch.relu", "operator.add"."""
    if isinstance(target, str):
        return target
    from .. import overrides

    name = overrides.resolve_name(target) if target in overrides._originals or target in overrides._fronts else None
    if name is None:
        module = str(getattr(target, "__module__", "") or "").replace("tapescope.engine", "torch")
        label = getattr(target, "__name__", type(target).__name__)
        module = "operator" if module == "_operator" else "torch" if module.startswith("torch.ops") else module
        return f"{module}.{label}" if module else label
    return name


def shown(value: Any) -> str:
    """An argument as listings show it: nodes with a per cent sign, strings bare."""
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, slice):
        return f"slice({shown(value.start)}, {shown(value.stop)}, {shown(value.step)})"
    return str(value)


def line(node: Node) -> str | None:
    """A node as one line of a listing; None for the output."""
    if node.op == "output":
        return f"return {_plain(node.args[0])}"
    head = f"%{node.name} : [num_users={len(node.users)}] = {node.op}[target={target_name(node.target)}]"
    if node.op == "placeholder":
        return head + (f"(default={node.args[0]})" if node.args else "")
    if node.op == "get_attr":
        return head
    return f"{head}(args = {shown(tuple(node.args))}, kwargs = {shown(node.kwargs)})"


def _plain(value: Any) -> str:
    return str(value)


__all__ = ["Node", "line", "map_arg", "shown", "target_name"]
