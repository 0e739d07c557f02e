"""Build the graph of a tree of modules, from the dictionary that `engine.display.module_json` describes.

Modules without children are nodes, the others scopes.  Lines are drawn only where the order of calls is known: between
the children of a `Sequential`.  Nothing in the record is trusted.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from . import reading
from .labels import bytes_text, count_text, shape_text, trim
from .model import ELEMENT_BYTES, Badge, Edge, Facts, Graph, Node, NodeId, Outer

MODULE_VERSION = 1
MAX_MODULES = 20_000
"""Of a larger tree only the first modules are read."""


def build_module(module: Mapping[str, Any] | Any, *, title: str = "") -> Graph:
    """The graph of a tree of modules; node ids are dotted paths. Broken records and unknown versions never raise."""
    notes = reading.Notes()
    record = reading.mapping(module)
    if record.get("version") != MODULE_VERSION:
        notes.say(f"The record has no version {MODULE_VERSION}, which this program knows; what could be read is shown.")
    root = reading.mapping(record.get("root"))
    if not root:
        notes.say("The record holds no module, so there is nothing to draw.")
        return Graph.build([], [], title=title or "Module", notes=notes.sentences, kind="module")
    nodes: list[Node] = []
    edges: list[Edge] = []
    facts: dict[Outer | tuple[Outer, ...], Facts] = {}
    ends: dict[int, tuple[NodeId, NodeId]] = {}  # of a record: its first and its last node
    seen: set[str] = set()
    parameters = [0, 0]
    # each module once before its children (to make nodes) and once after them (to join them)
    pending: list[tuple[Mapping[str, Any], tuple[Outer, ...], bool]] = [(root, (), False)]
    while pending:
        own, path, after = pending.pop()
        children = [c for c in map(reading.mapping, reading.items(own.get("children"))) if c]
        if after:
            known = [ends[id(c)] for c in children if id(c) in ends]
            if known:
                ends[id(own)] = known[0][0], known[-1][1]
            kind = "value" if own.get("ordered") is True else "below"
            edges += [Edge(a[1], b[0], 0, kind) for a, b in itertools.pairwise(known)]
            continue
        key = reading.text(own.get("path")) or reading.text(own.get("class")) or "module"
        if key in seen or len(nodes) >= MAX_MODULES:
            notes.count(
                "module is not shown (its path is taken, or there are too many)",
                "modules are not shown (their paths are taken, or there are too many)",
                key,
            )
            continue
        seen.add(key)
        for n in range(2):
            parameters[n] += _sizes(own)[n]
        if children:
            name = reading.text(own.get("name")) or reading.text(own.get("class"))
            scope = Outer("module", name or "module")
            facts[*path, scope] = Facts(title=f"{name} · {reading.text(own.get('class'))}")
            pending.append((own, path, True))
            pending += [(c, (*path, scope) if own is not root else path, False) for c in reversed(children)]
            continue
        node = _node(own, key, path)
        nodes.append(node)
        ends[id(own)] = node.id, node.id
    about = f"{count_text(len(seen), 'module')}, {parameters[0]:,} parameters, {bytes_text(parameters[1])}"
    order = {node.id: i for i, node in enumerate(nodes)}
    return Graph.build(
        nodes, [e for e in edges if order[e.source] < order[e.target]], title=title or reading.text(root.get("class")) or "Module",
        notes=notes.sentences, kind="module", scope_facts=facts, about=about,
    )  # fmt: skip


def _sizes(own: Mapping[str, Any]) -> tuple[int, int]:
    """How many numbers its own parameters hold, and their bytes."""
    count = size = 0
    for value in reading.items(own.get("parameters")):
        tensor = reading.tensor(value)
        if tensor is not None:
            numbers = 1
            for n in tensor.shape:
                numbers *= n if isinstance(n, int) else 1
            count += numbers
            size += numbers * ELEMENT_BYTES.get(tensor.dtype, 0)
    return count, size


def _node(own: Mapping[str, Any], key: str, path: tuple[Outer, ...]) -> Node:
    badges = []
    for field, kind in (("parameters", "leaf"), ("buffers", "note")):
        for value in map(reading.mapping, reading.items(own.get(field))):
            tensor = reading.tensor(value)
            if tensor is not None:
                frozen = kind == "leaf" and value.get("trains") is False
                text = f"{reading.text(value.get('name'))} {shape_text(tensor.shape)}" + (" frozen" if frozen else "")
                badges.append(Badge(trim(text, 44), "note" if frozen else kind))
    count, size = _sizes(own)
    extra = reading.text(own.get("extra"))
    details = [("class", reading.text(own.get("class"))), ("settings", extra), ("path", key)]
    if count:
        details.append(("parameters", f"{count:,} ({bytes_text(size)})"))
    name, kind = reading.text(own.get("name")), reading.text(own.get("class")) or "module"
    return Node(
        key, "op", kind, name=name, module=key, path=path, badges=tuple(badges),
        facts=Facts(
            title=f"{name} · {kind}" if name else kind, lines=(trim(extra),) if extra else (),
            details=tuple(d for d in details if d[1]),
        ),
    )  # fmt: skip
