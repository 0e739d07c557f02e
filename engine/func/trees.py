"""Nested containers of tensors as flat lists and back: tuples, named tuples, lists, dictionaries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor

Rebuild = Callable[[list[Any]], Any]


def flatten(tree: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of a tree in order, and a function that puts other leaves in their places."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        kind: Any = type(tree)
        return _several(list(tree), lambda parts: kind(*parts))
    if isinstance(tree, (list, tuple)):
        make: Any = type(tree)
        return _several(list(tree), make)
    if isinstance(tree, dict):
        keys = list(tree)
        make = OrderedDict if isinstance(tree, OrderedDict) else dict
        return _several([tree[k] for k in keys], lambda parts: make(zip(keys, parts, strict=True)))
    return [tree], lambda parts: parts[0]


def _several(children: list[Any], make: Callable[[list[Any]], Any]) -> tuple[list[Any], Rebuild]:
    leaves: list[Any] = []
    parts: list[tuple[int, Rebuild]] = []
    for child in children:
        below, rebuild = flatten(child)
        leaves += below
        parts.append((len(below), rebuild))

    def build(given: list[Any]) -> Any:
        out, at = [], 0
        for count, rebuild in parts:
            out.append(rebuild(given[at : at + count]))
            at += count
        return make(out)

    return leaves, build


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """`function` of every leaf, in the same containers."""
    leaves, build = flatten(tree)
    return build([function(v) for v in leaves])


def tensors_only(leaves: list[Any], who: str) -> None:
    """Raise RuntimeError unless all leaves are tensors."""
    for v in leaves:
        if not isinstance(v, Tensor):
            raise RuntimeError(f"{who}: expected tensors, got unsupported type {type(v).__name__}")
