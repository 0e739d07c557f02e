"""Build the graph of a tape from its snapshot, the dictionary that `engine.observe.tape_json` describes.

Snapshots come from files and other processes, so nothing in them is trusted: what can be used is used, and
the rest is named in `Graph.notes`, one sentence a problem.  `build_tape` never raises for bad content.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import reading
from .labels import clean, count_text, seconds_text, shape_text, trim
from .linear import fold_linear
from .model import Badge, Edge, Facts, Graph, Node, NodeId, Outer
from .turns import cell_paths, with_turns

MAX_NODES = 100_000
"""Of a longer tape only the newest nodes are read."""

TAPE_VERSION = 1
"""The version of the form that this file reads; a test holds it against the one that the engine writes."""

ERROR_ID = "error"
"""Id of the node that stands for the operator that failed."""


def build_tape(
    snapshot: Mapping[str, Any] | Any,
    *,
    leaves_as_nodes: bool = False,
    fold_layers: bool = True,
    title: str = "Tape",
    cell_names: Mapping[str, str] | None = None,
    seconds: Mapping[NodeId, float] | None = None,
) -> Graph:
    """The graph of a tape snapshot; values flow from earlier to later nodes, as in the forward pass.

    Leaves (parameters) become badges on the nodes that use them, or nodes of their own with `leaves_as_nodes`; a
    leaf that nothing uses, or from which backward starts, is always a node.  The records that one linear layer makes
    become one node (`fold_layers`).  Turns of a loop are scopes, and so are cells where the tape comes from several
    (`cell_names`: what they are called, by id).  `seconds` are measured times of operators, by their
    node.  Where the snapshot tells of an operator that failed, it is the last
    node.  Broken or cyclic records and unknown versions never raise: the graph holds what could be used and `notes`
    says what was left out.
    """
    notes = reading.Notes()
    records, roots = _read(snapshot, notes)
    _link(records, notes)
    _break_cycles(records, notes)
    failed = _failure(snapshot, {r.node.id for r in records})
    if failed is not None:
        records.append(failed)
        notes.say(f"{failed.node.op} failed, so the tape ends there: {trim(failed.message, 200)}")
    aliases: dict[NodeId, tuple[NodeId, ...]] = {}
    if fold_layers:
        records = fold_linear(records, roots, aliases)
    hidden = set() if leaves_as_nodes else _badge_leaves(records, roots)
    ordered = _order(records, hidden)
    shown = {r.node.id for r in ordered}
    wrong = failed.wrong if failed is not None else frozenset()
    edges = [
        Edge(source, r.node.id, slot, "error" if r is failed and source in wrong else "value")
        for r in ordered
        for slot, source in r.inputs
        if source in shown
    ]
    nodes = [
        replace(r.node, badges=(*r.node.badges, *r.badges), is_root=r.node.id in roots)
        if r.badges or r.node.id in roots
        else r.node
        for r in ordered
    ]
    nodes = _kept(nodes)
    if seconds:
        nodes = _timed(nodes, seconds)
    carriers: dict[NodeId, dict[NodeId, None]] = {}
    for r in ordered:
        for badge in r.badges:
            if badge.node_id is not None:
                carriers.setdefault(badge.node_id, {})[r.node.id] = None
    aliases |= {leaf: tuple(users) for leaf, users in carriers.items()}
    names = cell_names or {}
    facts = {Outer("cell", cell): Facts(title=names.get(cell) or f"cell {cell}") for cell in _cells(nodes)}
    nodes = with_turns(cell_paths(nodes))
    return Graph.build(nodes, edges, title=title, notes=notes.sentences, aliases=aliases, scope_facts=facts)


def _kept(nodes: list[Node]) -> list[Node]:
    """The nodes with what becomes of their values: a stub "saved → 3 users" in place of lines to those that keep them.

    One that a single other node keeps tells so among its details, since the line between the two is drawn anyway.
    """
    owner = {part: n.id for n in nodes for part in (n.id, *n.parts)}
    names = {n.id: f"{n.title} (node {n.id})" for n in nodes}
    keepers: dict[NodeId, dict[NodeId, None]] = {}
    saves: dict[NodeId, list[tuple[str, str]]] = {}
    for n in nodes:
        for tensor in n.saved:
            maker = None if tensor.maker is None else owner.get(tensor.maker)
            if maker is not None and maker != n.id:
                keepers.setdefault(maker, {})[n.id] = None
                saves.setdefault(n.id, []).append((f"{tensor.name} comes from", names[maker]))
    if not keepers:
        return nodes
    found = []
    for n in nodes:
        users = keepers.get(n.id, {})
        details = [*saves.get(n.id, ()), *(("kept by", names[u]) for u in users)]
        if details:
            badges = n.badges if len(users) < 2 else (*n.badges, Badge(f"saved → {len(users)} users", "kept"))
            n = replace(n, badges=badges, facts=replace(n.facts, details=(*n.facts.details, *details)))
        found.append(n)
    return found


def _timed(nodes: list[Node], seconds: Mapping[NodeId, float]) -> list[Node]:
    """The nodes with their times and their shares of the whole; a node of several records takes the sum."""
    times = [sum(reading.number(seconds.get(part)) or 0.0 for part in n.parts or (n.id,)) for n in nodes]
    total = sum(times)
    return [
        replace(
            n,
            facts=replace(n.facts, seconds=time, share=time / total, lines=(*n.facts.lines, seconds_text(time))),
        )
        if time
        else n
        for n, time in zip(nodes, times, strict=True)
    ]


def _cells(nodes: list[Node]) -> dict[str, None]:
    return {n.source.cell: None for n in nodes if n.source is not None and n.source.cell}


@dataclass(slots=True)
class Record:
    """One record while the graph is built: the node, its inputs as (slot, id), and its badges so far.

    Of an operator that failed: `wrong` are the inputs whose shapes disagree, `message` is what it said.
    """

    node: Node
    inputs: list[tuple[int, NodeId]]
    badges: list[Badge]
    wrong: frozenset[NodeId] = frozenset()
    message: str = ""


# -- reading ----------------------------------------------------------------------------------------


def _read(snapshot: Any, notes: reading.Notes) -> tuple[list[Record], set[NodeId]]:
    """The usable records of a snapshot, in recorded order, and the ids of its roots."""
    if not isinstance(snapshot, Mapping):
        notes.say(f"This is no tape: a dictionary with 'nodes' was expected, not {reading.kind(snapshot)}.")
        return [], set()
    version = snapshot.get("version")
    if version != TAPE_VERSION:
        told = f"version {version}" if reading.integer(version) is not None else "no version that is a number"
        notes.say(f"The tape has {told}, this program knows version {TAPE_VERSION}; what could be read is shown.")
    raw = snapshot.get("nodes")
    if not isinstance(raw, (list, tuple)):
        notes.say(f"The tape has no list of nodes (found {reading.kind(raw)}), so there is nothing to draw.")
        return [], set()
    dropped = reading.integer(snapshot.get("dropped", 0)) or 0
    if dropped:
        notes.say(f"{count_text(dropped, 'older node')} {'was' if dropped == 1 else 'were'} cut from this tape.")
    offset = max(0, len(raw) - MAX_NODES)
    if offset:
        notes.say(f"The tape has {len(raw):,} nodes; only the newest {MAX_NODES:,} are shown.")
    records: list[Record] = []
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
    return records, {r for r in roots if reading.integer(r) is not None and r in seen}


def _record(value: Any, index: int, notes: reading.Notes) -> Record | None:
    """One record, or None where it has no identity; unusable fields are counted in `notes` and left empty."""
    node_id = reading.integer(value.get("id")) if isinstance(value, Mapping) else None
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
            number = reading.integer(source)
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
        outputs=tuple(each("outputs", reading.tensor)),
        module=text("module"),
        source=one("source", reading.source),
        saved=tuple(each("saved", reading.saved)),
        grad=one("grad", reading.gradient),
    )
    return Record(node, inputs, [])


def _failure(snapshot: Any, known: set[NodeId]) -> Record | None:
    """The operator that failed while the tape was recorded, where the snapshot tells of one (key "error")."""
    error = reading.mapping(reading.mapping(snapshot).get("error"))
    if not error:
        return None
    inputs: list[tuple[int, NodeId]] = []
    wrong: set[NodeId] = set()
    badges: list[Badge] = []
    details = [("error", reading.text(error.get("message")))]
    for slot, value in enumerate(reading.items(error.get("inputs"))):
        record = reading.mapping(value)
        facts = reading.tensor(record)
        source = reading.integer(record.get("node"))
        if source in known and source is not None:
            inputs.append((slot, source))
        if facts is None:
            continue
        name = reading.text(record.get("name")) or f"input {slot}"
        details.append((name, facts.text))
        if record.get("disagrees") is True:
            badges.append(Badge(f"✗ {trim(name, 30)} {shape_text(facts.shape)}", "error", source))
            if source is not None:
                wrong.add(source)
    message = details[0][1]
    node = Node(
        ERROR_ID, "error", reading.text(error.get("op")) or "?", module=reading.text(error.get("module")),
        source=reading.source(error.get("source")), badges=tuple(badges),
        facts=Facts(lines=(trim(message),) if message else (), details=tuple(d for d in details if d[1])),
    )  # fmt: skip
    return Record(node, inputs, [], frozenset(wrong), message)


# -- order ------------------------------------------------------------------------------------------


def _link(records: list[Record], notes: reading.Notes) -> None:
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


def _break_cycles(records: list[Record], notes: reading.Notes) -> None:
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


def _badge_leaves(records: list[Record], roots: set[NodeId]) -> set[NodeId]:
    """Put a badge on each user of a leaf; returns the ids of the leaves that need no node of their own."""
    leaves = {r.node.id: r.node for r in records if r.node.kind == "leaf" and not r.inputs and r.node.id not in roots}
    hidden: set[NodeId] = set()
    for r in records:
        for source in dict.fromkeys(source for _, source in r.inputs if source in leaves):
            hidden.add(source)
            leaf = leaves[source]
            r.badges.append(Badge(leaf_text(leaf, r.node.module), "leaf", source, leaf.grad is not None))
    return hidden


def leaf_text(leaf: Node, module: str) -> str:
    """A leaf's badge on a user inside `module`: "weight [10, 64]" in its own module, else with its full name."""
    owner, _, name = leaf.label.rpartition(".")
    inside = owner and (f".{module}".endswith(f".{owner}") or (module and owner.endswith(f".{module}")))
    shapes = ", ".join(shape_text(t.shape) for t in leaf.outputs)
    return f"{trim(name if inside else leaf.label or 'leaf', 44)} {shapes}".rstrip()


def _order(records: list[Record], hidden: set[NodeId]) -> list[Record]:
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
    ordered: list[Record] = []
    while ready:
        _, key = heapq.heappop(ready)
        ordered.append(by_id[key])
        for user in users.get(key, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (rank[user], user))
    return ordered
