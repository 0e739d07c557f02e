"""Build the graph of what `compile` captured, from the dictionary that `engine.observe.capture_json` describes.

Each segment is a scope: what enters it on top, then its operators, and below the scope how it ended: a return, a graph
break with its reason, or a branch.  A segment that was captured because a guard of another failed is its sibling and
begins with that guard.  Nothing in the records is trusted; what cannot be used is named in `Graph.notes`.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import reading
from .calls import with_calls
from .labels import bytes_text, cell_width, clean, count_text, seconds_text, trim, wrapped
from .links import node_key
from .model import Badge, Edge, Facts, Graph, Node, NodeId, Outer, SourceRange, TensorFacts, module_path
from .turns import with_turns

CAPTURE_VERSION = 1
"""The version of the form that this file reads; a test holds it against the one that the engine writes."""

MAX_NODES = 100_000
"""Of a larger capture only the first nodes are read."""

_LISTED = 6
"""So many inputs or guards are listed on a box; the rest is counted."""

_INPUTS = ("placeholder", "get_attr")

_CONSTANTS = (
    "tensor", "scalar_tensor", "as_tensor", "full", "zeros", "ones", "empty", "arange", "linspace", "logspace", "eye",
)  # fmt: skip
"""What makes the same tensor whenever it is called: it stands on its users, where nothing writes to it."""

_WRITES = ("setitem", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor")

_SOURCE_CELLS = 24
_LINE_OF_SOURCE = re.compile(r"\s*# (\S[^#\n]*?:\d+)  (\S.*)")


@dataclass(slots=True)
class _Segment:
    """One segment while the graph is built."""

    id: str
    record: Mapping[str, Any]
    next: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    resumed: bool = False
    first: NodeId = ""
    last: NodeId = ""


def build_capture(capture: Mapping[str, Any] | Any, *, title: str = "") -> Graph:
    """The graph of a captured function: segments in the order in which they can follow each other.

    Node ids are `links.node_key(segment, name)`, with the names "<enter>" and "<exit>" for a segment's ends.  Broken
    records and unknown versions never raise.
    """
    notes = reading.Notes()
    record = reading.mapping(capture)
    if not isinstance(capture, Mapping):
        notes.say(f"This is no capture: a dictionary with 'segments' was expected, not {reading.kind(capture)}.")
    elif record.get("version") != CAPTURE_VERSION:
        told = record.get("version")
        told = f"version {told}" if reading.integer(told) is not None else "no version that is a number"
        notes.say(f"The capture has {told}, this program knows version {CAPTURE_VERSION}; what could be read is shown.")
    segments = _segments(record, notes)
    recompiled = _recompiles(record, segments, notes)
    _order_breaks(segments, recompiled)
    builder = _Builder(notes, recompiled)
    for segment in _ordered(segments):
        builder.segment(segment)
    builder.connect(segments)
    function = reading.text(record.get("function"))
    nodes, calls = with_calls(builder.nodes, builder.texts)
    nodes = with_turns(nodes)
    breaks = sum(1 for n in builder.nodes if n.title.startswith("graph break"))
    operators = sum(1 for n in builder.nodes if n.kind == "op")
    about = ", ".join(
        [count_text(len(segments), "segment"), count_text(breaks, "break"), count_text(operators, "operator")]
        + ([count_text(len(recompiled), "recompile")] if recompiled else [])
    )
    return Graph.build(
        nodes, builder.edges, title=title or (f"Graph of {function}" if function else "Captured graph"),
        notes=notes.sentences, aliases=builder.aliases, kind="capture", scope_facts={**builder.facts, **calls}, about=about,
    )  # fmt: skip


# -- segments ---------------------------------------------------------------------------------------


def _segments(record: Mapping[str, Any], notes: reading.Notes) -> dict[str, _Segment]:
    found: dict[str, _Segment] = {}
    raw = record.get("segments")
    if not isinstance(raw, (list, tuple)):
        if record:
            notes.say(f"The capture has no list of segments (found {reading.kind(raw)}), so there is nothing to draw.")
        return {}
    for index, value in enumerate(raw):
        segment = reading.mapping(value)
        name = reading.text(segment.get("id"))
        if not name or name in found:
            notes.count(
                "segment has no id of its own and was left out", "segments have no id of their own and were left out",
                f"segment {index}",
            )  # fmt: skip
            continue
        ending = reading.mapping(segment.get("exit"))
        found[name] = _Segment(name, segment, reading.texts(ending.get("next")))
    for segment in found.values():
        unknown = [n for n in segment.next if n not in found]
        segment.next = [n for n in dict.fromkeys(segment.next) if n in found]
        for name in unknown:
            notes.count(
                "segment goes on in one that is not in the record",
                "segments go on in ones that are not in the record",
                f"segment {segment.id} in segment {name}",
            )
    return found


def _recompiles(
    record: Mapping[str, Any], segments: dict[str, _Segment], notes: reading.Notes
) -> dict[str, Mapping[str, Any]]:
    """The recompile that made a segment, by the segment's id."""
    found: dict[str, Mapping[str, Any]] = {}
    for index, value in enumerate(reading.items(record.get("recompiles"))):
        recompile = reading.mapping(value)
        name = reading.text(recompile.get("segment"))
        if name in segments:
            found[name] = recompile
        else:
            notes.count(
                "recompile names no segment of the record", "recompiles name no segment of the record",
                f"number {index}",
            )  # fmt: skip
    return found


def _order_breaks(segments: dict[str, _Segment], recompiled: dict[str, Mapping[str, Any]]) -> None:
    """Let siblings follow what their originals follow, and take the ways that close a cycle out of `next`."""
    for name, recompile in recompiled.items():
        original = reading.text(recompile.get("instead_of"))
        for segment in segments.values():
            if original in segment.next and name not in segment.next:
                segment.next.append(name)
    for segment in segments.values():
        for name in segment.next:
            segments[name].resumed = True
    state: dict[str, int] = {}  # 1: on the way, 2: done
    for start in segments:
        if start in state:
            continue
        state[start] = 1
        path = [(segments[start], iter(list(segments[start].next)))]
        while path:
            segment, rest = path[-1]
            for name in rest:
                if state.get(name) == 1:
                    segment.next.remove(name)
                    segment.back.append(name)
                elif name not in state:
                    state[name] = 1
                    path.append((segments[name], iter(list(segments[name].next))))
                    break
            else:
                state[segment.id] = 2
                path.pop()


def _ordered(segments: dict[str, _Segment]) -> list[_Segment]:
    """Each segment after those that lead to it, otherwise as captured."""
    rank = {name: i for i, name in enumerate(segments)}
    waiting = dict.fromkeys(segments, 0)
    for segment in segments.values():
        for name in segment.next:
            waiting[name] += 1
    ready = [(rank[name], name) for name, count in waiting.items() if not count]
    heapq.heapify(ready)
    found: list[_Segment] = []
    while ready:
        _, name = heapq.heappop(ready)
        found.append(segments[name])
        for user in segments[name].next:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (rank[user], user))
    return found


# -- nodes ------------------------------------------------------------------------------------------


class _Builder:
    """Collects nodes, edges and what is told of the segments."""

    def __init__(self, notes: reading.Notes, recompiled: dict[str, Mapping[str, Any]]) -> None:
        self.notes, self.recompiled = notes, recompiled
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.facts: dict[Outer, Facts] = {}
        self.aliases: dict[NodeId, tuple[NodeId, ...]] = {}
        self.texts: dict[str, str] = {}
        """Lines of the source by file and number, as the comments in a segment's code give them."""

    def segment(self, segment: _Segment) -> None:
        """Add one segment: the guard that made it, what enters, its operators, its end."""
        record = segment.record
        scope = Outer("segment", f"segment {segment.id}")
        self.facts[scope] = self._facts(segment)
        inputs = [reading.mapping(v) for v in reading.items(record.get("inputs"))]
        guard = self.recompiled.get(segment.id)
        if guard is not None:
            self._guard(segment, guard, scope)
        enter = self._enter(segment, inputs, scope)
        known: dict[str, NodeId] = {}
        entered: dict[str, str] = {}
        badges: dict[str, Badge] = {}
        for value in inputs:
            name, source = reading.text(value.get("name")), reading.text(value.get("source"))
            tensor = reading.tensor(value)
            if "." in source or "[" in source:
                badges[name] = Badge(f"{_tail(source)} {tensor.text if tensor else ''}".rstrip(), "leaf")
            entered[name] = source or name
        for line in reading.text_of(record.get("code")).splitlines():
            if (told := _LINE_OF_SOURCE.fullmatch(line)) is not None:
                self.texts.setdefault(clean(told[1]), clean(told[2]))
        nodes = [reading.mapping(v) for v in reading.items(record.get("nodes"))]
        badges |= self._constants(segment, nodes)
        for index, value in enumerate(nodes):
            if len(self.nodes) >= MAX_NODES:
                self.notes.count(
                    "node is not shown, the capture is too large", "nodes are not shown, the capture is too large",
                    f"segment {segment.id}",
                )  # fmt: skip
                continue
            self._operator(segment, value, index, scope, enter, known, entered, badges)
        self._exit(segment, known, enter)

    def _facts(self, segment: _Segment) -> Facts:
        record = segment.record
        entry = reading.mapping(record.get("entry"))
        source = reading.source(entry.get("source"))
        guards = [reading.mapping(g) for g in reading.items(record.get("guards"))]
        calls = reading.integer(record.get("calls"))
        seconds = reading.number(record.get("seconds"))
        kernels = reading.items(reading.mapping(record.get("kernels")).get("kernels"))
        parts = []
        if kernels:
            parts.append(count_text(len(kernels), "kernel"))
        if guards:
            parts.append(count_text(len(guards), "guard"))
        if calls is not None:
            parts.append(f"ran {calls:,} times" if calls != 1 else "ran once")
        details = [("begins at", source.text)] if source else []
        details += [("backend", reading.text(record.get("backend")))]
        if seconds is not None:
            details.append(("captured in", seconds_text(seconds)))
        details += [("guard", _guard_text(g)) for g in guards]
        details += [("effect", effect) for effect in reading.texts(record.get("effects"))]
        return Facts(
            title=f"segment {segment.id}",
            lines=tuple(parts),
            badges=tuple(Badge(p, "note") for p in parts),
            details=tuple(d for d in details if d[1]),
        )

    def _guard(self, segment: _Segment, guard: Mapping[str, Any], scope: Outer) -> None:
        text = reading.text(guard.get("guard"))
        old, new = reading.text(guard.get("old")), reading.text(guard.get("new"))
        original = reading.text(guard.get("instead_of"))
        details = [("guard", text), ("was", old), ("now", new), ("instead of segment", original)]
        dimension = reading.items(guard.get("dimension"))
        if len(dimension) == 2:
            details.append(("size that moved", f"dimension {dimension[1]} of {dimension[0]}"))
        self.nodes.append(
            Node(
                node_key(segment.id, "<guard>"), "guard", "guard", path=(scope,), source=reading.source(guard.get("source")),
                badges=(Badge(f"was {trim(old, 24)}", "slow"), Badge(f"now {trim(new, 24)}", "good")),
                facts=Facts(
                    title=f"recompiled: segment {original} does not fit" if original else "recompiled",
                    lines=(trim(text),), details=tuple(d for d in details if d[1]),
                ),
            )
        )  # fmt: skip

    def _enter(self, segment: _Segment, inputs: list[Mapping[str, Any]], scope: Outer) -> NodeId:
        """The box of what comes in from outside; parameters stand on their users instead."""
        key = node_key(segment.id, "<enter>")
        entry = reading.mapping(segment.record.get("entry"))
        lines, details = [], []
        for value in inputs:
            source = reading.text(value.get("source")) or reading.text(value.get("name"))
            tensor = reading.tensor(value)
            text = f"{source} {tensor.text if tensor else ''}".rstrip()
            details.append(("input", text))
            if "." not in source and "[" not in source:
                lines.append(trim(text))
        if len(lines) > _LISTED:
            lines = [*lines[: _LISTED - 1], f"and {len(lines) - _LISTED + 1} more"]
        records = [reading.mapping(g) for g in reading.items(segment.record.get("guards"))]
        guards = [text for g in records if (text := _guard_text(g))]
        shown = _telling(records, inputs)
        badges = [Badge(trim(f"if {text}", 44), "note") for text in shown]
        if len(guards) > len(shown):
            more = count_text(len(guards) - len(shown), "more guard" if shown else "guard")
            badges.append(Badge(f"and {more}" if shown else more, "note"))
        function = reading.text(entry.get("function"))
        node = Node(
            key, "input", "enter", path=(scope,), source=reading.source(entry.get("source")), badges=tuple(badges),
            facts=Facts(
                title=f"resume in {function or 'the function'}" if segment.resumed else function or "enter",
                lines=tuple(lines), details=(*details, *(("guard", g) for g in guards if g)),
            ),
        )  # fmt: skip
        if segment.id in self.recompiled:
            self.edges.append(Edge(node_key(segment.id, "<guard>"), key, 0, "resume"))
        self.nodes.append(node)
        segment.first = node_key(segment.id, "<guard>") if segment.id in self.recompiled else key
        segment.last = key
        return key

    def _operator(
        self,
        segment: _Segment,
        value: Mapping[str, Any],
        index: int,
        scope: Outer,
        enter: NodeId,
        known: dict[str, NodeId],
        entered: dict[str, str],
        badges: dict[str, Badge],
    ) -> None:
        name, sort = reading.text(value.get("name")), reading.text(value.get("op"))
        target = reading.text(value.get("target"))
        key = node_key(segment.id, name)
        if not name or name in known:
            self.notes.count(
                "node has no name of its own and was left out", "nodes have no name of their own and were left out",
                f"node {index} of segment {segment.id}",
            )  # fmt: skip
            return
        tensor = reading.tensor(value)
        if sort in _INPUTS:
            known[name] = enter
            if sort == "get_attr" or name in badges:
                badges.setdefault(name, Badge(f"{_tail(target)} {tensor.text if tensor else ''}".rstrip(), "constant"))
            self.aliases[key] = (enter,)
            return
        if sort == "output":
            return
        if name in badges:  # a constant, which stands on its users
            known[name] = enter
            return
        held: list[Badge] = []
        slot = 0
        sources: set[NodeId] = set()
        for source in reading.items(value.get("inputs")):
            if not isinstance(source, str) or (source not in known and source not in badges and source not in entered):
                self.notes.count(
                    "input comes from a node that is not above it; its line is not drawn",
                    "inputs come from nodes that are not above them; their lines are not drawn",
                    f"{name} of segment {segment.id} uses {reading.text(source) or 'something'}",
                )
                continue
            if source in badges:
                badge = badges[source]
                held.append(Badge(badge.text, badge.kind, node_key(segment.id, source)))
                before = self.aliases.get(node_key(segment.id, source), ())
                self.aliases[node_key(segment.id, source)] = (*(b for b in before if b != enter), key)
                continue
            start = known.get(source, enter)
            if start not in sources:
                sources.add(start)
                self.edges.append(Edge(start, key, slot))
            slot += 1
        if not sources:  # it uses constants and parameters alone, and still runs after the segment is entered
            self.edges.append(Edge(enter, key, 0, "below"))
        constants = ", ".join(reading.texts(value.get("constants")))
        if constants:
            constants = f"[{constants.removeprefix('(').removesuffix(')')}]" if target == "getitem" else constants
            held.append(Badge(trim(constants, 36), "constant"))
        module = reading.text(value.get("module"))
        size = reading.integer(value.get("bytes"))
        details = [("name", name), ("kind", sort), ("arguments", constants)]
        if size:
            details.append(("bytes", bytes_text(size)))
        self.nodes.append(
            Node(
                key, "op", target or name or "?", name=name, module=module, source=reading.source(value.get("source")),
                outputs=() if tensor is None else (tensor,), path=(scope, *module_path(module)),
                badges=tuple(held), facts=Facts(details=tuple(d for d in details if d[1])),
            )
        )  # fmt: skip
        known[name] = segment.last = key

    def _constants(self, segment: _Segment, nodes: list[Mapping[str, Any]]) -> dict[str, Badge]:
        """Tensors that are the same at every call, by the names of their nodes: badges on their users."""
        users: dict[str, int] = {}
        written = set(reading.texts(segment.record.get("outputs")))
        for value in nodes:
            sources, target = reading.texts(value.get("inputs")), reading.text(value.get("target"))
            for source in sources:
                users[source] = users.get(source, 0) + 1
            if sources and (target in _WRITES or (target.endswith("_") and not target.endswith("__"))):
                written.add(sources[0])
        found: dict[str, Badge] = {}
        for value in nodes:
            name, target = reading.text(value.get("name")), reading.text(value.get("target"))
            if target not in _CONSTANTS or value.get("inputs") or name in written or not users.get(name):
                continue
            told, tensor = ", ".join(reading.texts(value.get("constants"))), reading.tensor(value)
            text = trim(f"{target}({told})" if told else target, 26)
            found[name] = Badge(f"{text} {tensor.text if tensor else ''}".rstrip(), "constant")
        return found

    def _exit(self, segment: _Segment, known: dict[str, NodeId], enter: NodeId) -> None:
        """The box below a segment: how it ended."""
        ending = reading.mapping(segment.record.get("exit"))
        sort = reading.text(ending.get("kind")) or "return"
        broken = reading.mapping(ending.get("break"))
        key = node_key(segment.id, "<exit>")
        source: SourceRange | None = reading.source(broken.get("source"))
        lines: list[str] = []
        badges: list[Badge] = []
        details: list[tuple[str, str]] = []
        # a segment may end without a break: where another one begins that was captured for itself
        kind = "output" if sort == "return" or (sort == "break" and not broken) else "break"
        heading = {"return": "return", "branch": "branch on a value", "raise": "raise"}.get(sort)
        heading = heading or ("graph break" if broken else "goes on")
        if broken:
            category, reason = reading.text(broken.get("category")), reading.text(broken.get("reason"))
            heading = f"graph break: {category}" if category and sort == "break" else heading
            lines += wrapped(reason)
            hint = reading.text(broken.get("hint"))
            if hint:
                badges += [Badge(part, "hint") for part in wrapped(f"hint: {hint}", 44)]
            details += [("reason", reason), ("hint", hint), ("break", reading.text(broken.get("id")))]
            details += [("value", v) for v in reading.texts(broken.get("values"))]
        badges += [Badge(f"↻ back to segment {name}", "break") for name in segment.back]
        outputs = [n for n in reading.texts(segment.record.get("outputs")) if n in known]
        facts = [t for n in outputs if (t := self._tensor(known[n])) is not None]
        self.nodes.append(
            Node(
                key, kind, heading, outputs=tuple(facts[:4]), source=source, badges=tuple(badges),
                facts=Facts(lines=tuple(lines), details=tuple(d for d in details if d[1])),
            )
        )  # fmt: skip
        ends = list(dict.fromkeys(known[n] for n in outputs)) or [segment.last]
        self.edges += [Edge(end, key, slot) for slot, end in enumerate(ends)]
        segment.last = key

    def _tensor(self, key: NodeId) -> TensorFacts | None:
        node = next((n for n in reversed(self.nodes) if n.id == key), None)
        return node.outputs[0] if node is not None and node.outputs else None

    def connect(self, segments: dict[str, _Segment]) -> None:
        """The ways from the ends of segments to the segments that follow."""
        for segment in segments.values():
            for name in segment.next:
                self.edges.append(Edge(segment.last, segments[name].first, 0, "resume"))


def _telling(guards: list[Mapping[str, Any]], inputs: list[Mapping[str, Any]]) -> list[str]:
    """The guards that say most to a reader: those on what enters by a name of its own, and on symbolic sizes."""
    names = {reading.text(v.get("source")) for v in inputs}
    names |= {reading.text(n) for v in inputs for n in reading.items(v.get("shape")) if isinstance(n, str)}
    names = {n for n in names if n.isidentifier()}
    found = [
        text
        for g in guards
        if (text := _guard_text(g))
        and (reading.text(g.get("source")) in names or names & set(re.findall(r"\w+", text)))
    ]
    return found[:_LISTED]


def _tail(source: str) -> str:
    """The end of an expression, which says most: "…['params'][0].grad"."""
    if cell_width(source) <= _SOURCE_CELLS:
        return source
    parts = re.findall(r"[.\[]?[^.\[]+", source)
    tail = ""
    while parts and cell_width(parts[-1] + tail) < _SOURCE_CELLS:
        tail = parts.pop() + tail
    return f"…{tail}" if tail else trim(source, _SOURCE_CELLS)


def _guard_text(guard: Mapping[str, Any]) -> str:
    return reading.text(guard.get("text"))
