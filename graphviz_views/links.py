"""Which line, tape node, graph node, kernel and line of generated text belong together: one index, asked from any side.

The sides are: a line of source (by file or cell), a node of the tape (its number), a node of a captured graph (segment
and name), a kernel (segment and id), a line of a kernel's text.  Ways lead over kernels, which name what went into
them, and over source ranges: a tape node and a graph node of the same operator and place are the same thing to a reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import reading
from .labels import clean
from .model import NodeId, SourceRange


def node_key(segment: str, name: str) -> str:
    """The id that a node of a captured graph has in the views."""
    return f"{segment}/{name}"


def kernel_key(segment: str, kernel: str) -> str:
    """The id that a kernel has in the views."""
    return f"{segment}/kernel {kernel}"


class GraphNode(NamedTuple):
    """A node of a captured graph."""

    segment: str
    name: str


class Kernel(NamedTuple):
    """A kernel by the segment it belongs to ("" outside of one) and its id."""

    segment: str
    id: str


class Line(NamedTuple):
    """Lines `first` to `last` (both included, from 1) of a file; `cell` and `revision` where it is a cell."""

    file: str
    first: int
    last: int
    cell: str = ""
    revision: int | None = None


class TextLine(NamedTuple):
    """A line (from 1) of the text of a kernel."""

    kernel: Kernel
    line: int


@dataclass(frozen=True, slots=True)
class Linked:
    """Everything that belongs together with what was asked for, each in recorded order."""

    lines: tuple[Line, ...] = ()
    tape: tuple[NodeId, ...] = ()
    nodes: tuple[GraphNode, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    text: tuple[TextLine, ...] = ()

    def ids(self, kind: str) -> list[NodeId]:
        """The ids to mark in a graph of this kind ("tape", "capture", "kernels")."""
        if kind == "tape":
            return list(self.tape)
        if kind == "capture":
            return [node_key(*n) for n in self.nodes]
        return [kernel_key(*k) for k in self.kernels] if kind == "kernels" else []

    def __bool__(self) -> bool:
        return bool(self.lines or self.tape or self.nodes or self.kernels or self.text)


@dataclass(slots=True)
class _Entry:
    """What is known of one kernel; its nodes and those of its lines are captured ones, where they are parts of such."""

    nodes: tuple[GraphNode, ...]
    tape: tuple[NodeId, ...]
    sources: tuple[SourceRange, ...]
    lines: dict[int, tuple[GraphNode, ...]]
    parts: dict[str, GraphNode | None]
    """Which captured node a node of the kernel is a part of, by its name, where the graph was lowered."""


class Links:
    """The index over a tape snapshot, a capture and a list of kernels (`engine.observe`), each of them optional.

    Kernels are taken from the capture's segments as well.  Bad records are passed over: nothing here raises for them.
    """

    def __init__(self, tape: Any = None, capture: Any = None, kernels: Any = None) -> None:
        self._tape: dict[NodeId, _Known] = {}
        self._nodes: dict[GraphNode, _Known] = {}
        self._kernels: dict[Kernel, _Entry] = {}
        for record in map(reading.mapping, reading.items(reading.mapping(tape).get("nodes"))):
            number = reading.integer(record.get("id"))
            if number is not None:
                self._tape[number] = _known(record, "op")
        for segment in map(reading.mapping, reading.items(reading.mapping(capture).get("segments"))):
            name = reading.text(segment.get("id"))
            for record in map(reading.mapping, reading.items(segment.get("nodes"))):
                node = GraphNode(name, reading.text(record.get("name")))
                self._nodes[node] = _known(record, "target")
            self._add_kernels(segment.get("kernels"), name)
        self._add_kernels(kernels, "")
        self._index()

    def _add_kernels(self, kernels: Any, segment: str) -> None:
        for record in map(reading.mapping, reading.items(reading.mapping(kernels).get("kernels"))):
            owner = segment or reading.text(record.get("segment"))
            kernel = Kernel(owner, reading.text(record.get("id")))
            parts: dict[str, GraphNode | None] = {}
            for step in map(reading.mapping, reading.items(record.get("steps"))):
                captured = reading.text(step.get("captured"))
                parts[reading.text(step.get("name"))] = GraphNode(owner, captured) if captured else None
            lines: dict[int, tuple[GraphNode, ...]] = {}
            for pair in reading.items(record.get("lines")):
                at = reading.items(pair)
                number = reading.integer(at[0], 1) if len(at) == 2 else None
                if number is not None:
                    lines[number] = _captured(owner, reading.texts(at[1]), parts)
            sources = [reading.source(s) for s in reading.items(record.get("sources"))]
            numbers = [reading.integer(n) for n in reading.items(record.get("tape"))]
            self._kernels[kernel] = _Entry(
                _captured(owner, reading.texts(record.get("nodes")), parts),
                tuple(n for n in numbers if n is not None),
                tuple(s for s in sources if s is not None),
                lines,
                parts,
            )

    def _index(self) -> None:
        self._at: dict[object, list[NodeId]] = {}
        for number, known in self._tape.items():
            for place in known.places():
                self._at.setdefault(place, []).append(number)
        self._nodes_at: dict[object, list[GraphNode]] = {}
        for node, known in self._nodes.items():
            for place in known.places():
                self._nodes_at.setdefault(place, []).append(node)
        self._kernels_of: dict[GraphNode, list[Kernel]] = {}
        self._kernels_of_tape: dict[NodeId, list[Kernel]] = {}
        for kernel, entry in self._kernels.items():
            for node in entry.nodes:
                self._kernels_of.setdefault(node, []).append(kernel)
            for number in entry.tape:
                self._kernels_of_tape.setdefault(number, []).append(kernel)
        self._by_place: dict[str, list[tuple[SourceRange, NodeId | GraphNode | Kernel]]] = {}
        for found in (self._tape, self._nodes):
            for key, known in found.items():
                self._note(known.source, key)
        for kernel, entry in self._kernels.items():
            for source in entry.sources:
                self._note(source, kernel)

    def _note(self, source: SourceRange | None, key: NodeId | GraphNode | Kernel) -> None:
        if source is not None:
            for place in {source.file, source.cell} - {""}:
                self._by_place.setdefault(place, []).append((source, key))

    # -- questions ----------------------------------------------------------------------------------

    def at_line(self, file_or_cell: str, line: int, *, revision: int | None = None) -> Linked:
        """What belongs to a line (from 1) of a file or of a cell (by its id); with `revision`, of that text of the cell."""
        tape: dict[NodeId, None] = {}
        nodes: dict[GraphNode, None] = {}
        kernels: dict[Kernel, None] = {}
        lines: dict[Line, None] = {}
        for source, key in self._by_place.get(clean(file_or_cell), ()):
            if not source.line <= line <= source.end_line or revision not in (None, source.revision):
                continue
            lines[_line(source)] = None
            if isinstance(key, Kernel):
                kernels[key] = None
            elif isinstance(key, GraphNode):
                nodes[key] = None
            else:
                tape[key] = None
        for node in nodes:
            kernels |= dict.fromkeys(self._kernels_of.get(node, ()))
        for number in tape:
            kernels |= dict.fromkeys(self._kernels_of_tape.get(number, ()))
        return self._linked(lines, tape, nodes, kernels)

    def of_tape(self, number: NodeId) -> Linked:
        """What belongs to a node of the tape."""
        if number not in self._tape:
            return Linked()
        known = self._tape[number]
        kernels = dict.fromkeys(self._kernels_of_tape.get(number, ()))
        nodes = {n: None for k in kernels for n in self._kernels[k].nodes}
        if not kernels:
            nodes |= dict.fromkeys(_same(known, self._nodes_at))
            kernels |= {k: None for n in nodes for k in self._kernels_of.get(n, ())}
        lines = {} if known.source is None else {_line(known.source): None}
        return self._linked(lines, {number: None}, nodes, kernels)

    def of_node(self, segment: str, name: str) -> Linked:
        """What belongs to a node of a captured graph."""
        node = GraphNode(segment, name)
        kernels = dict.fromkeys(self._kernels_of.get(node, ()))
        if node not in self._nodes and not kernels:
            return Linked()
        known = self._nodes.get(node, _NOTHING)
        tape: dict[NodeId, None] = dict.fromkeys(_same(known, self._at))
        if not tape:
            tape = {n: None for k in kernels for n in self._kernels[k].tape if n in self._tape}
        lines = {} if known.source is None else {_line(known.source): None}
        return self._linked(lines, tape, {node: None}, kernels)

    def of_kernel(self, segment: str, kernel: str) -> Linked:
        """What belongs to a kernel: all of its text, and everything that went into it."""
        key = Kernel(segment, kernel)
        entry = self._kernels.get(key)
        if entry is None:
            return Linked()
        lines = {_line(s): None for s in entry.sources}
        recorded: dict[NodeId, None] = dict.fromkeys(n for n in entry.tape if n in self._tape)
        tape = dict(recorded)
        for node in entry.nodes:
            known = self._nodes.get(node, _NOTHING)
            if known.source is not None:
                lines[_line(known.source)] = None
            if not recorded:
                tape |= dict.fromkeys(_same(known, self._at))
        return self._linked(lines, tape, dict.fromkeys(entry.nodes), {key: None})

    def of_text(self, segment: str, kernel: str, line: int) -> Linked:
        """What a line (from 1) of a kernel's text computes."""
        key = Kernel(segment, kernel)
        entry = self._kernels.get(key)
        nodes = entry.lines.get(line, ()) if entry is not None else ()
        if not nodes:
            return Linked()
        lines: dict[Line, None] = {}
        tape: dict[NodeId, None] = {}
        for node in nodes:
            linked = self.of_node(*node)
            lines |= dict.fromkeys(linked.lines)
            tape |= dict.fromkeys(linked.tape)
        found = self._linked(lines, tape, dict.fromkeys(nodes), {key: None})
        return Linked(found.lines, found.tape, found.nodes, found.kernels, (TextLine(key, line),))

    def of(self, kind: str, node_id: NodeId) -> Linked:
        """What belongs to a node of the views, by the kind of its graph and its id there."""
        if kind == "tape":
            return self.of_tape(node_id)
        segment, _, name = str(node_id).partition("/")
        if kind == "capture":
            return self.of_node(segment, name)
        if name.startswith("kernel "):
            kernel, _, node = name.removeprefix("kernel ").partition("/")
            if not node:
                return self.of_kernel(segment, kernel)
            entry = self._kernels.get(Kernel(segment, kernel))
            captured = _captured(segment, [node], entry.parts if entry is not None else {})
            return self.of_node(*captured[0]) if captured else Linked()
        return Linked()

    def _linked(
        self,
        lines: Mapping[Line, None],
        tape: Mapping[NodeId, None],
        nodes: Mapping[GraphNode, None],
        kernels: Mapping[Kernel, None],
    ) -> Linked:
        text = [
            TextLine(kernel, number)
            for kernel in kernels
            for number, computed in self._kernels[kernel].lines.items()
            if not nodes or any(node in nodes for node in computed)
        ]
        order = {key: i for i, key in enumerate(self._tape)}
        return Linked(
            tuple(lines), tuple(sorted(tape, key=lambda n: order.get(n, 0))), tuple(nodes), tuple(kernels), tuple(text)
        )


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a node of the tape or of a captured graph."""

    source: SourceRange | None
    op: str
    module: str

    def places(self) -> tuple[object, ...]:
        """Where it is, by its operator and by its module."""
        if self.source is None:
            return ()
        place = _place(self.source)
        return (place, "op", self.op), (place, "module", self.module)


_NOTHING = _Known(None, "", "")


def _known(record: Mapping[str, Any], op: str) -> _Known:
    return _Known(
        reading.source(record.get("source")), reading.text(record.get(op)), reading.text(record.get("module"))
    )


def _same(known: _Known, others: Mapping[object, list[Any]]) -> list[Any]:
    """What the same operator at the same place is on another side; where there is none, what came from there in its module.

    One operator of the source may be several on the tape, with names of their own: `addmm` of a linear layer.
    """
    found: list[Any] = []
    for place in known.places():
        found = found or others.get(place, [])
    return found


def _captured(segment: str, names: Iterable[str], parts: Mapping[str, GraphNode | None]) -> tuple[GraphNode, ...]:
    """The captured nodes behind nodes of a kernel, each once; names that no step tells of are captured ones themselves."""
    found = dict.fromkeys(parts[name] if name in parts else GraphNode(segment, name) for name in names)
    return tuple(node for node in found if node is not None)


def _place(source: SourceRange) -> tuple[object, ...]:
    return (source.file, source.cell, source.line, source.end_line, source.column, source.end_column)


def _line(source: SourceRange) -> Line:
    return Line(source.file, source.line, source.end_line, source.cell, source.revision)


def merged(found: Iterable[Linked]) -> Linked:
    """Several answers as one, each thing once."""
    answers = list(found)
    return Linked(
        tuple(dict.fromkeys(x for a in answers for x in a.lines)),
        tuple(dict.fromkeys(x for a in answers for x in a.tape)),
        tuple(dict.fromkeys(x for a in answers for x in a.nodes)),
        tuple(dict.fromkeys(x for a in answers for x in a.kernels)),
        tuple(dict.fromkeys(x for a in answers for x in a.text)),
    )
