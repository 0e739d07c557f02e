"""The graph that every view draws: nodes, edges and nested scopes, with the questions one asks of them.

A `Graph` does not change once it is built; builders (`tape.py`) make it, outlines, layouts and writers read
it.  Two invariants hold for every graph, whatever the records looked like, and the views rely on them:

- nodes stand in an order in which every edge leads from an earlier node to a later one;
- each scope covers a contiguous range of that order, so that folding scopes to single boxes leaves no cycle.

This file knows neither where the records came from nor how they are drawn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from . import search
from .labels import bytes_text, clean, count_text, shape_text, shapes_text

NodeId = int | str
"""Identity of a node: the sequence number on a tape; other graphs may use names."""

ROOT = ""
"""Id of the scope that holds everything."""

MAX_DEPTH = 32
"""Scopes nest at most this deep; the rest of a longer module path stays in one name."""

ONE_CALL = 10
"""A module of so many operators that all come from one place in the source is closed at first."""

ELEMENT_BYTES = {
    "bool": 1, "uint8": 1, "int8": 1, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "uint32": 4, "float32": 4,
    "int64": 8, "uint64": 8, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceRange:
    """Where in the source a node was recorded: lines count from 1, columns from 0, the end column is exclusive.

    `cell` and `revision` are set where the range lies in a notebook's cell.
    """

    file: str
    line: int
    end_line: int
    column: int = 0
    end_column: int = 0
    function: str = ""
    cell: str = ""
    revision: int | None = None

    @property
    def text(self) -> str:
        """Short form for people: "cell 3:12" or "train.py:12"."""
        place = f"cell {self.cell}" if self.cell else re.split(r"[/\\]", self.file)[-1]
        return f"{place}:{self.line}"


Shape = tuple[int | str, ...]
"""Sizes of a tensor; the name of a size that is symbolic in a captured graph ("s0")."""


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """What is known of a tensor without its values."""

    shape: Shape
    dtype: str
    device: str = ""

    @property
    def bytes(self) -> int | None:
        """Size of its elements in bytes, None for a dtype or a size that is not known."""
        size = ELEMENT_BYTES.get(self.dtype)
        if size is None:
            return None
        for n in self.shape:
            if isinstance(n, str):
                return None
            size *= n
        return size

    @property
    def text(self) -> str:
        """ "[64, 10] float32"."""
        return f"{shape_text(self.shape)} {self.dtype}".rstrip()


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """A tensor that a node keeps for its backward; `maker` is the node that computed it, None where that is not known."""

    name: str
    shape: Shape
    dtype: str
    bytes: int
    maker: NodeId | None = None


@dataclass(frozen=True, slots=True)
class Gradient:
    """What backward brought to a node: the gradient of its output. `norm` is None where it was not measured."""

    shape: Shape
    dtype: str
    norm: float | None = None

    @property
    def text(self) -> str:
        """ "grad [64, 10], norm 0.0312"."""
        return f"grad {shape_text(self.shape)}" + ("" if self.norm is None else f", norm {self.norm:.4g}")


@dataclass(frozen=True, slots=True)
class Badge:
    """A small label on a node in place of a node of its own, such as a parameter: "weight [10, 64]".

    `node_id` is the node that it stands for, None where there is none. `known`: its gradient has been computed.
    Kinds: "leaf", "constant", "saved" (what a node keeps), "kept" (who keeps its value), "grad", "root", "stub", "error",
    "note", "hint", "break", "refused", "good", "slow".
    """

    text: str
    kind: str
    node_id: NodeId | None = None
    known: bool = False


class Outer(NamedTuple):
    """A scope around a node: its kind ("module", "segment", "kernel", "cell", "turn") and its name."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What a builder tells of a scope or a node beside its place: all of it is shown, nothing of it is computed with.

    `title` replaces the name; `lines` stand on the box; `details` are (name, text) pairs for a panel; `share` is the
    part of a whole that a small bar shows (0 to 1); `folded` scopes are single boxes until they are opened.
    """

    title: str = ""
    lines: tuple[str, ...] = ()
    badges: tuple[Badge, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    seconds: float | None = None
    share: float | None = None
    folded: bool = False


NO_FACTS = Facts()

ScopeFacts = Mapping[Any, Facts]
"""What is told of scopes: by an `Outer`, or by the tuple of all that lead to one."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operator (kind "op"), one tensor that gathers a gradient (kind "leaf"), or what else a builder shows.

    `op` is the operator's name, `name` its name on the tape ("MulBackward0"), `label` a leaf's name ("fc1.weight").
    `is_root` marks nodes from which backward starts.  `path` are the scopes around it where those are more
    than its module path.  `parts` are the records that one node stands for, such as the
    `t` and `addmm` of a linear layer.  Other kinds are "input", "output", "call", "break", "guard", "kernel" and
    "error" (an operator that failed).
    """

    id: NodeId
    kind: str
    op: str
    name: str = ""
    label: str = ""
    outputs: tuple[TensorFacts, ...] = ()
    module: str = ""
    source: SourceRange | None = None
    saved: tuple[SavedTensor, ...] = ()
    badges: tuple[Badge, ...] = ()
    grad: Gradient | None = None
    is_root: bool = False
    path: tuple[Outer, ...] | None = None
    facts: Facts = NO_FACTS
    parts: tuple[NodeId, ...] = ()

    @property
    def title(self) -> str:
        """What the node is called in a picture: its facts' title, a leaf's or an input's own name, else the operator."""
        if self.facts.title:
            return self.facts.title
        return self.label if self.kind in ("leaf", "input") and self.label else self.op

    @property
    def shape_text(self) -> str:
        """The shapes of all outputs: "[64, 10]", "[64], [64]", or "[3, 64] x20"."""
        return shapes_text([t.shape for t in self.outputs])

    @property
    def dtype_text(self) -> str:
        """The dtypes of all outputs, each named once."""
        return ", ".join(dict.fromkeys(t.dtype for t in self.outputs if t.dtype))

    @property
    def bytes(self) -> int:
        """Bytes of its outputs, as far as known."""
        return sum(t.bytes or 0 for t in self.outputs)

    @property
    def saved_bytes(self) -> int:
        """Bytes that it keeps for backward."""
        return saved_bytes((self,)) if len(self.saved) > 1 else sum(t.bytes for t in self.saved)


class Edge(NamedTuple):
    """A value flows from node `source` to input number `slot` of node `target`.

    Kinds other than "value": "order" (one after the other, no value known), "resume" (where a broken graph goes on),
    "error" (a value whose shape does not fit), "below" (only places one below the other and is not drawn).
    """

    source: NodeId
    target: NodeId
    slot: int = 0
    kind: str = "value"


class Item(NamedTuple):
    """One child of a scope, in order: a node (`key` is its id) or a scope (`key` is the scope's id)."""

    kind: Literal["node", "scope"]
    key: NodeId


@dataclass(frozen=True, slots=True)
class Scope:
    """A nest of nodes: one stretch of the recorded order under one module path.

    A module that is called again later opens a scope of its own, with an id such as "net#2".
    It covers `graph.nodes[start:stop]`.
    """

    id: str
    path: str
    name: str
    kind: str
    parent: str | None
    items: tuple[Item, ...]
    start: int
    stop: int
    call: int = 1
    """Which stretch under this path it is: 2 where the module was called before."""
    facts: Facts = NO_FACTS

    @property
    def trivial(self) -> bool:
        """A module that holds a single node: views show the node alone, its module path says the rest."""
        return self.stop - self.start == 1 and self.kind in ("module", "turn", "cell")


@dataclass(frozen=True)
class Graph:
    """Nodes in recorded order, edges, scopes, and `notes`: sentences about what could not be used.

    Make one with `Graph.build`, which computes the scopes; the constructor trusts its arguments.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    scopes: dict[str, Scope]
    scope_of: dict[NodeId, str]
    title: str = "Graph"
    notes: tuple[str, ...] = ()
    aliases: dict[NodeId, tuple[NodeId, ...]] = field(default_factory=dict)
    """Ids that have no node of their own (leaves shown as badges, parts of a node), with the nodes that stand for them."""
    kind: str = "tape"
    """What it is a graph of: "tape", "capture", "kernels" or "module"."""
    about: str = ""
    """One line about the whole, in place of the counts that `summary` makes."""

    @classmethod
    def build(
        cls,
        nodes: Sequence[Node],
        edges: Iterable[Edge],
        *,
        title: str = "Graph",
        notes: Iterable[str] = (),
        aliases: dict[NodeId, tuple[NodeId, ...]] | None = None,
        kind: str = "tape",
        scope_facts: ScopeFacts | None = None,
        about: str = "",
    ) -> Graph:
        """A graph of `nodes`, which must stand in an order that fits the edges.

        `scope_facts` are what is told of the scopes that nodes name in `path`,
        by the scope or by the whole path to it.

        Raises ValueError where two nodes share an id, an edge's end is missing, or an edge leads backwards.
        """
        position = {node.id: i for i, node in enumerate(nodes)}
        if len(position) != len(nodes):
            raise ValueError("two nodes of the graph have the same id; ids must be unique")
        edges = tuple(edges)
        for edge in edges:
            if edge.source not in position or edge.target not in position:
                raise ValueError(f"edge {edge.source} -> {edge.target} has an end that is no node of the graph")
            if position[edge.source] >= position[edge.target]:
                raise ValueError(f"edge {edge.source} -> {edge.target} leads backwards in the order of the nodes")
        notes = tuple(notes) or (() if nodes else ("Nothing was recorded, so there is nothing to draw.",))
        scopes, scope_of = build_scopes(nodes, scope_facts or {})
        return cls(tuple(nodes), edges, scopes, scope_of, title, notes, aliases or {}, kind, about)

    @cached_property
    def initially_folded(self) -> frozenset[str]:
        """The scopes that are single boxes until somebody opens them.

        Those that their builder wants closed; and on a tape the modules whose many operators all come from one place,
        since these are the insides of a library's module, such as attention, which the user has not written.
        """
        return frozenset(s.id for s in self.scopes.values() if s.facts.folded or self._is_one_call(s))

    def _is_one_call(self, scope: Scope) -> bool:
        if self.kind != "tape" or scope.kind != "module" or len(scope.items) < ONE_CALL:
            return False
        if any(item.kind != "node" for item in scope.items):
            return False
        first = self.nodes[scope.start].source
        return first is not None and all(n.source == first for n in self.nodes[scope.start : scope.stop])

    # -- look-up ------------------------------------------------------------------------------------

    @cached_property
    def position(self) -> dict[NodeId, int]:
        """Index in `nodes` by id."""
        return {node.id: i for i, node in enumerate(self.nodes)}

    def node(self, node_id: NodeId) -> Node:
        """The node with this id; raises KeyError where there is none."""
        return self.nodes[self.position[node_id]]

    def __contains__(self, node_id: object) -> bool:
        return node_id in self.position

    def carriers(self, node_id: NodeId) -> tuple[NodeId, ...]:
        """The nodes that stand for this id: itself, or the nodes that carry it as a badge; () when unknown."""
        return (node_id,) if node_id in self.position else self.aliases.get(node_id, ())

    def inputs(self, node_id: NodeId) -> tuple[NodeId, ...]:
        """The nodes whose values it uses, by input number."""
        return self._inputs.get(node_id, ())

    def users(self, node_id: NodeId) -> tuple[NodeId, ...]:
        """The nodes that use its values, in recorded order, each once."""
        return self._users.get(node_id, ())

    @cached_property
    def _inputs(self) -> dict[NodeId, tuple[NodeId, ...]]:
        found: dict[NodeId, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.target, []).append(edge)
        return {key: tuple(e.source for e in sorted(es, key=lambda e: e.slot)) for key, es in found.items()}

    @cached_property
    def _users(self) -> dict[NodeId, tuple[NodeId, ...]]:
        found: dict[NodeId, dict[NodeId, None]] = {}
        for edge in sorted(self.edges, key=lambda e: self.position[e.target]):
            found.setdefault(edge.source, {})[edge.target] = None
        return {key: tuple(targets) for key, targets in found.items()}

    def nodes_at(self, file_or_cell: str, line: int, *, revision: int | None = None) -> list[NodeId]:
        """Nodes recorded at a line of a file or of a cell (by its id), in recorded order.

        With `revision`, only nodes recorded by that revision of the cell.
        """
        return [
            node_id
            for node_id, source in self._by_place.get(clean(file_or_cell), ())
            if source.line <= line <= source.end_line and revision in (None, source.revision)
        ]

    @cached_property
    def _by_place(self) -> dict[str, list[tuple[NodeId, SourceRange]]]:
        found: dict[str, list[tuple[NodeId, SourceRange]]] = {}
        for node in self.nodes:
            if node.source is not None:
                for place in {node.source.file, node.source.cell} - {""}:
                    found.setdefault(place, []).append((node.id, node.source))
        return found

    def scope_chain(self, node_id: NodeId) -> list[Scope]:
        """The scopes around a node, outermost first, without the root."""
        chain: list[Scope] = []
        scope_id: str | None = self.scope_of[node_id]
        while scope_id:
            chain.append(self.scopes[scope_id])
            scope_id = self.scopes[scope_id].parent
        return chain[::-1]

    def scope_title(self, scope_id: str) -> str:
        """What a scope is called in a picture: "attn", "attn (call 2)", "blocks.0" for a mere number."""
        scope = self.scopes[scope_id]
        if scope.facts.title:
            return scope.facts.title
        outer = self.scopes[scope.parent].name if scope.parent else ""
        name = f"{outer}.{scope.name}" if outer and scope.name.isdecimal() else scope.name
        return name if scope.call == 1 else f"{name} (call {scope.call})"

    # -- search -------------------------------------------------------------------------------------

    def search(self, query: str) -> list[NodeId]:
        """Nodes that match every term of `query`, in recorded order; none for an empty query.

        A term is a shape ("[64, 10]", "[*, 10]", "64x10"), a line ("line:12", ":12"), a number (a line, or a size
        in a shape), "op:..." or "name:..." (a part of the operator or of a name), or any text: a part of an
        operator, a name, a module path, a dtype, a badge or a function.  Capitals do not matter.  "before:33" is all
        that node 33 depends on, "after:33" what depends on it, "path:4..33" a way between two nodes from its beginning,
        and "top:bytes" (or "saved", "seconds", "share", "gradient") puts the largest first.
        """
        return search.found(self, query)

    def path(self, start: NodeId, end: NodeId) -> list[NodeId]:
        """The nodes of a shortest way between two nodes, in the direction of the values; [] where there is none.

        The two may be given in either order.  Unknown ids have no way.
        """
        if start not in self.position or end not in self.position:
            return []
        return search.shortest(self, start, end) or search.shortest(self, end, start)

    def ancestors(self, node_id: NodeId) -> list[NodeId]:
        """Everything that a node's value depends on, in recorded order."""
        return self._in_order(search.walk(node_id, self.inputs))

    def descendants(self, node_id: NodeId) -> list[NodeId]:
        """Everything that depends on a node's value, in recorded order."""
        return self._in_order(search.walk(node_id, self.users))

    def _in_order(self, found: set[NodeId]) -> list[NodeId]:
        return sorted(found, key=self.position.__getitem__)

    def ranked(self, order: str) -> list[NodeId]:
        """Nodes by "bytes", "saved", "seconds", "share" or "gradient", the largest first; others are left out.

        Kernels are told by their first node.  Raises ValueError for another order.
        """
        found: list[tuple[float, int, NodeId]] = []
        for scope in self.scopes.values():
            value = getattr(scope.facts, order) if order in ("seconds", "share") else None
            if value is not None and scope.start < scope.stop:
                found.append((value, scope.start, self.nodes[scope.start].id))
        for index, node in enumerate(self.nodes):
            value = search.measure(node, order)
            if value is not None:
                found.append((value, index, node.id))
        return [key for _, _, key in sorted(found, key=lambda f: (-f[0], f[1]))]

    def summary(self) -> str:
        """One line: what the builder says, or how many operations and leaves there are and what backward keeps."""
        if self.about:
            return self.about
        ops = Counter(node.kind for node in self.nodes)
        saved = saved_bytes(self.nodes)
        leaves = ops["leaf"] + len({b.node_id for node in self.nodes for b in node.badges if b.kind == "leaf"})
        parts = [count_text(ops["op"], "operation")]
        if leaves:
            parts.append(count_text(leaves, "leaf", "leaves"))
        if saved:
            parts.append(f"{bytes_text(saved)} saved for backward")
        return ", ".join(parts)


Kept = tuple[NodeId, Shape, str]
"""What tells one kept tensor from another: its maker, its shape and its dtype."""


def added_bytes(node_id: NodeId, saved: Iterable[SavedTensor], held: set[Kept]) -> int:
    """Bytes that a node keeps beside what is `held` already, to which its own are added."""
    total = 0
    for tensor in saved:
        if tensor.maker is not None:
            key = (tensor.maker, tensor.shape, tensor.dtype)
            # results of its own may have equal shapes and still be several
            if key in held and tensor.maker != node_id:
                continue
            held.add(key)
        total += tensor.bytes
    return total


def saved_bytes(nodes: Iterable[Node]) -> int:
    """Bytes that nodes keep for backward; a tensor that several of them keep counts once."""
    held: set[Kept] = set()
    return sum(added_bytes(node.id, node.saved, held) for node in nodes if node.saved)


@lru_cache(maxsize=10_000)
def module_path(module: str) -> tuple[Outer, ...]:
    """The scopes of a dotted module path, outermost first."""
    return tuple(Outer("module", name) for name in module.split(".", MAX_DEPTH - 1) if name)


def build_scopes(nodes: Sequence[Node], scope_facts: ScopeFacts) -> tuple[dict[str, Scope], dict[NodeId, str]]:
    """Nest nodes by `path` or module path, in recorded order: the scopes by id (outer before inner), each node's scope."""

    class _Open:
        def __init__(self, scope_id: str, path: str, outer: Outer, parent: str | None, start: int) -> None:
            self.id, self.path, self.outer, self.parent, self.start = scope_id, path, outer, parent, start
            self.stop = start
            self.call = calls[path]
            self.items: list[Item] = []
            self.facts = NO_FACTS
            self.numbered: set[int] = set()  # the children of a sequence that have run, and the one that ran last
            self.last = -1

        def begins_again(self, child: Outer) -> bool:
            """Whether a child says that this is another call: in a sequence, one that has run comes after a later one."""
            if self.outer.kind != "module" or child.kind != "module" or not _is_number(child.name):
                return False
            return int(child.name) < self.last and int(child.name) in self.numbered

    calls: Counter[str] = Counter({ROOT: 1})
    everything = _Open(ROOT, "", Outer("root", ""), None, 0)
    opened = [everything]
    stack = [everything]
    used = {ROOT}
    scope_of: dict[NodeId, str] = {}
    paths: dict[str, tuple[Outer, ...]] = {}
    for index, node in enumerate(nodes):
        chain = node.path
        if chain is None:
            chain = paths.get(node.module)
            if chain is None:
                chain = paths[node.module] = module_path(node.module)
        keep = 0
        while keep < len(chain) and keep + 1 < len(stack) and stack[keep + 1].outer == chain[keep]:
            keep += 1
        if 0 < keep < len(chain) and stack[keep].begins_again(chain[keep]):
            keep -= 1
        for left in stack[keep + 1 :]:
            left.stop = index
        del stack[keep + 1 :]
        for depth, outer in enumerate(chain[keep:], keep + 1):
            path = f"{stack[-1].path}.{outer.name}" if stack[-1].path else outer.name
            scope = _Open(_unused(path, calls, used), path, outer, stack[-1].id, index)
            if scope_facts:
                scope.facts = scope_facts.get(chain[:depth]) or scope_facts.get(outer, NO_FACTS)
            stack[-1].items.append(Item("scope", scope.id))
            if outer.kind == "module" and _is_number(outer.name):
                stack[-1].last = int(outer.name)
                stack[-1].numbered.add(stack[-1].last)
            stack.append(scope)
            opened.append(scope)
        stack[-1].items.append(Item("node", node.id))
        scope_of[node.id] = stack[-1].id
    for left in stack:
        left.stop = len(nodes)
    return {
        s.id: Scope(
            s.id, s.path, s.outer.name, s.outer.kind, s.parent, tuple(s.items), s.start, s.stop, s.call,
            s.facts,
        )
        for s in opened
    }, scope_of  # fmt: skip


def _is_number(name: str) -> bool:
    return len(name) < 10 and name.isascii() and name.isdecimal()


def _unused(path: str, calls: Counter[str], used: set[str]) -> str:
    """The id of the next scope with this path: the path itself, then "path#2", ... (never one that is taken)."""
    scope_id = path
    while scope_id in used or not calls[path]:
        calls[path] += 1
        scope_id = path if calls[path] == 1 else f"{path}#{calls[path]}"
    used.add(scope_id)
    return scope_id
