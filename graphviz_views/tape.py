"""Build the graph of a tape from its snapshot, the dictionary that `engine.observe.tape_json` describes.

Snapshots come from files and other processes, so nothing in them is trusted: what can be used is used, and
the rest is named in `Graph.notes`, one sentence a problem.  `build_tape` never raises for bad content.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..engine.observe import TAPE_VERSION
from .labels import clean, count_text, shape_text, trim
from .model import Badge, Edge, Gradient, Graph, Node, NodeId, SavedTensor, SourceRange, TensorFacts

MAX_NODES = 100_000
"""Of a longer tape only the newest nodes are read."""

_MAX_DIMENSIONS = 64
_MAX_INTEGER = 2**63 - 1


def build_tape(snapshot: Mapping[str, Any] | Any, *, leaves_as_nodes: bool = False, title: str = "Tape") -> Graph:
    """The graph of a tape snapshot; values flow from earlier to later nodes, as in the forward pass.

    Leaves (parameters) become badges on the nodes that use them, or nodes of their own with `leaves_as_nodes`; a
    leaf that nothing uses, or from which backward starts, is always a node.  Broken or cyclic records and unknown
    versions never raise: the graph holds what could be used and `notes` says what was left out.
    """
    notes = _Notes()
    records, roots = _read(snapshot, notes)
    _link(records, notes)
    _break_cycles(records, notes)
    hidden = set() if leaves_as_nodes else _badge_leaves(records, roots)
    ordered = _order(records, hidden)
    shown = {r.node.id for r in ordered}
    edges = [Edge(source, r.node.id, slot) for r in ordered for slot, source in r.inputs if source in shown]
    nodes = [replace(r.node, badges=tuple(r.badges), is_root=r.node.id in roots) for r in ordered]
    carriers: dict[NodeId, dict[NodeId, None]] = {}
    for r in ordered:
        for badge in r.badges:
            if badge.node_id is not None:
                carriers.setdefault(badge.node_id, {})[r.node.id] = None
    aliases = {leaf: tuple(users) for leaf, users in carriers.items()}
    return Graph.build(nodes, edges, title=title, notes=notes.sentences, aliases=aliases)


@dataclass(slots=True)
class _Record:
    """One record while the graph is built: the node, its inputs as (slot, id), and its badges so far."""

    node: Node
    inputs: list[tuple[int, NodeId]]
    badges: list[Badge]


class _Notes:
    """Sentences, each said once; problems of one sort are counted and named by their first example."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._counted: dict[tuple[str, str], tuple[int, str]] = {}

    def say(self, sentence: str) -> None:
        self._sentences.append(sentence)

    def count(self, singular: str, plural: str, example: str) -> None:
        seen, first = self._counted.get((singular, plural), (0, example))
        self._counted[singular, plural] = (seen + 1, first)

    @property
    def sentences(self) -> tuple[str, ...]:
        counted = (
            f"{n:,} {singular if n == 1 else plural} ({'' if n == 1 else 'first: '}{example})."
            for (singular, plural), (n, example) in self._counted.items()
        )
        return (*self._sentences, *counted)


# -- reading ----------------------------------------------------------------------------------------


def _read(snapshot: Any, notes: _Notes) -> tuple[list[_Record], set[NodeId]]:
    """The usable records of a snapshot, in recorded order, and the ids of its roots."""
    if not isinstance(snapshot, Mapping):
        notes.say(f"This is no tape: a dictionary with 'nodes' was expected, not {_kind(snapshot)}.")
        return [], set()
    version = snapshot.get("version")
    if version != TAPE_VERSION:
        told = f"version {version}" if _integer(version) is not None else "no version that is a number"
        notes.say(f"The tape has {told}, this program knows version {TAPE_VERSION}; what could be read is shown.")
    raw = snapshot.get("nodes")
    if not isinstance(raw, (list, tuple)):
        notes.say(f"The tape has no list of nodes (found {_kind(raw)}), so there is nothing to draw.")
        return [], set()
    dropped = _integer(snapshot.get("dropped", 0)) or 0
    if dropped:
        notes.say(f"{count_text(dropped, 'older node')} {'was' if dropped == 1 else 'were'} cut from this tape.")
    offset = max(0, len(raw) - MAX_NODES)
    if offset:
        notes.say(f"The tape has {len(raw):,} nodes; only the newest {MAX_NODES:,} are shown.")
    records: list[_Record] = []
    seen: set[NodeId] = set()
    for index, value in enumerate(raw[offset:], offset):
        record = _record(value, index, notes)
        if record is None:
            continue
        if record.node.id in seen:
            notes.count(
                "record repeats the id of an earlier one and was left out",
                "records repeat the id of an earlier one and were left out",
                f"node {record.node.id}",
            )
            continue
        seen.add(record.node.id)
        records.append(record)
    roots = snapshot.get("roots")
    if not isinstance(roots, (list, tuple)):
        roots = ()
    return records, {r for r in roots if _integer(r) is not None and r in seen}


def _record(value: Any, index: int, notes: _Notes) -> _Record | None:
    """One record, or None where it has no identity; unusable fields are counted in `notes` and left empty."""
    node_id = _integer(value.get("id")) if isinstance(value, Mapping) else None
    if node_id is None:
        notes.count("record has no id and was left out", "records have no id and were left out", f"record {index}")
        return None

    def bad(field: str) -> None:
        notes.count("field could not be read", "fields could not be read", f"'{field}' of node {node_id}")

    def text(field: str) -> str:
        content = value.get(field, "")
        if not isinstance(content, str):
            if content is not None:
                bad(field)
            return ""
        return clean(content)

    def each(field: str, parse: Any) -> list[Any]:
        content = value.get(field)
        if content is None:
            return []
        parsed = [parse(item) for item in content] if isinstance(content, (list, tuple)) else [None]
        if None in parsed:
            bad(field)
        return [item for item in parsed if item is not None]

    def one(field: str, parse: Any) -> Any:
        content = value.get(field)
        parsed = None if content is None else parse(content)
        if content is not None and parsed is None:
            bad(field)
        return parsed

    kind = text("kind")
    if kind not in ("op", "leaf"):
        bad("kind")
        kind = "op"
    op = text("op") or ("leaf" if kind == "leaf" else "")
    if not op:
        bad("op")
    inputs: list[tuple[int, NodeId]] = []
    raw_inputs = value.get("inputs")
    if isinstance(raw_inputs, (list, tuple)):
        for slot, source in enumerate(raw_inputs):
            number = _integer(source)
            if number is not None:
                inputs.append((slot, number))
            elif source is not None:
                bad("inputs")
    elif raw_inputs is not None:
        bad("inputs")
    node = Node(
        id=node_id,
        kind=kind,  # pyright: ignore[reportArgumentType]
        op=op or "?",
        name=text("name"),
        label=text("label"),
        outputs=tuple(each("outputs", _tensor)),
        module=text("module"),
        source=one("source", _source),
        saved=tuple(each("saved", _saved)),
        grad=one("grad", _gradient),
    )
    return _Record(node, inputs, [])


def _integer(value: Any, low: int = 0, high: int = _MAX_INTEGER) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high else None


def _shape(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, (list, tuple)) or len(value) > _MAX_DIMENSIONS:
        return None
    sizes = [_integer(n) for n in value]
    return None if None in sizes else tuple(n for n in sizes if n is not None)


def _dtype(value: Any) -> str:
    return clean(value).removeprefix("torch.") if isinstance(value, str) else ""


def _tensor(value: Any) -> TensorFacts | None:
    shape = _shape(value.get("shape")) if isinstance(value, Mapping) else None
    if shape is None:
        return None
    device = value.get("device")
    return TensorFacts(shape, _dtype(value.get("dtype")), clean(device) if isinstance(device, str) else "")


def _saved(value: Any) -> SavedTensor | None:
    shape = _shape(value.get("shape")) if isinstance(value, Mapping) else None
    if shape is None:
        return None
    name = value.get("name")
    return SavedTensor(
        clean(name) if isinstance(name, str) else "",
        shape,
        _dtype(value.get("dtype")),
        _integer(value.get("bytes")) or 0,
    )


def _gradient(value: Any) -> Gradient | None:
    shape = _shape(value.get("shape")) if isinstance(value, Mapping) else None
    if shape is None:
        return None
    norm = value.get("norm")
    if not isinstance(norm, float):
        norm = _integer(norm)
    return Gradient(shape, _dtype(value.get("dtype")), norm)


def _source(value: Any) -> SourceRange | None:
    line = _integer(value.get("line"), 1) if isinstance(value, Mapping) else None
    if line is None:
        return None

    def text(field: str) -> str:
        content = value.get(field)
        return clean(content) if isinstance(content, (str, int)) else ""

    return SourceRange(
        file=text("file"),
        line=line,
        end_line=_integer(value.get("end_line"), line) or line,
        column=_integer(value.get("column")) or 0,
        end_column=_integer(value.get("end_column")) or 0,
        function=text("function"),
        cell=text("cell"),
        revision=_integer(value.get("revision")),
    )


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


# -- order ------------------------------------------------------------------------------------------


def _link(records: list[_Record], notes: _Notes) -> None:
    """Drop inputs that lead to no record."""
    known = {r.node.id for r in records}
    for r in records:
        for _, source in r.inputs:
            if source not in known:
                notes.count(
                    "input comes from a node that is not in the record; its line is not drawn",
                    "inputs come from nodes that are not in the record; their lines are not drawn",
                    f"node {r.node.id} uses node {source}",
                )
        r.inputs = [(slot, source) for slot, source in r.inputs if source in known]


def _break_cycles(records: list[_Record], notes: _Notes) -> None:
    """Drop the inputs that close a cycle, found by a depth-first walk with a stack of its own."""
    by_id = {r.node.id: r for r in records}
    state: dict[NodeId, int] = {}  # 1: on the current path, 2: done
    for start in records:
        if start.node.id in state:
            continue
        state[start.node.id] = 1
        path = [(start, iter(list(start.inputs)))]
        while path:
            record, rest = path[-1]
            for slot, source in rest:
                if state.get(source) == 1:
                    record.inputs.remove((slot, source))
                    notes.count(
                        "input closes a cycle, which a tape cannot have; its line is not drawn",
                        "inputs close cycles, which a tape cannot have; their lines are not drawn",
                        f"{by_id[source].node.op} (node {source}) to {record.node.op} (node {record.node.id})",
                    )
                elif source not in state:
                    state[source] = 1
                    path.append((by_id[source], iter(list(by_id[source].inputs))))
                    break
            else:
                state[record.node.id] = 2
                path.pop()


def _badge_leaves(records: list[_Record], roots: set[NodeId]) -> set[NodeId]:
    """Put a badge on each user of a leaf; returns the ids of the leaves that need no node of their own."""
    leaves = {r.node.id: r.node for r in records if r.node.kind == "leaf" and not r.inputs and r.node.id not in roots}
    hidden: set[NodeId] = set()
    for r in records:
        for source in dict.fromkeys(source for _, source in r.inputs if source in leaves):
            hidden.add(source)
            r.badges.append(Badge(leaf_text(leaves[source], r.node.module), "leaf", source))
    return hidden


def leaf_text(leaf: Node, module: str) -> str:
    """A leaf's badge on a user inside `module`: "weight [10, 64]" in its own module, else with its full name."""
    owner, _, name = leaf.label.rpartition(".")
    inside = owner and (f".{module}".endswith(f".{owner}") or (module and owner.endswith(f".{module}")))
    shapes = ", ".join(shape_text(t.shape) for t in leaf.outputs)
    return f"{trim(name if inside else leaf.label or 'leaf', 44)} {shapes}".rstrip()


def _order(records: list[_Record], hidden: set[NodeId]) -> list[_Record]:
    """The shown records, each after its inputs, otherwise as recorded; leaves stand before their first user."""
    shown = [r for r in records if r.node.id not in hidden]
    index = {r.node.id: i for i, r in enumerate(shown)}
    rank: dict[NodeId, tuple[int, int, int]] = {r.node.id: (index[r.node.id], 1, 0) for r in shown}
    users: dict[NodeId, list[NodeId]] = {}
    waiting: dict[NodeId, int] = {}
    by_id = {r.node.id: r for r in shown}
    for r in shown:
        sources = {source for _, source in r.inputs if source in index}
        waiting[r.node.id] = len(sources)
        for source in sources:
            users.setdefault(source, []).append(r.node.id)
    for r in shown:
        if r.node.kind == "leaf" and r.node.id in users:
            first = min(index[user] for user in users[r.node.id])
            user = shown[first].node
            rank[r.node.id] = (first, 0, index[r.node.id])
            if not r.node.module:
                r.node = replace(r.node, module=user.module)
    ready = [(rank[key], key) for key, count in waiting.items() if not count]
    heapq.heapify(ready)
    ordered: list[_Record] = []
    while ready:
        _, key = heapq.heappop(ready)
        ordered.append(by_id[key])
        for user in users.get(key, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (rank[user], user))
    return ordered
