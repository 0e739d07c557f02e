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
    """What is known of one kernel."""

    nodes: tuple[GraphNode, ...]
    tape: tuple[NodeId, ...]
    sources: tuple[SourceRange, ...]
    lines: dict[int, tuple[GraphNode, ...]]


class Links:
    """The index over a tape snapshot, a capture and a list of kernels (`engine.observe`), each of them optional.

    Kernels are taken from the capture's segments as well.  Bad records are passed over: nothing here raises for them.
    """

    def __init__(self, tape: Any = None, capture: Any = None, kernels: Any = None) -> None:
        self._tape: dict[NodeId, tuple[SourceRange | None, str]] = {}
        self._nodes: dict[GraphNode, tuple[SourceRange | None, str]] = {}
        self._kernels: dict[Kernel, _Entry] = {}
        for record in map(reading.mapping, reading.items(reading.mapping(tape).get("nodes"))):
            number = reading.integer(record.get("id"))
            if number is not None:
                self._tape[number] = reading.source(record.get("source")), reading.text(record.get("op"))
        for segment in map(reading.mapping, reading.items(reading.mapping(capture).get("segments"))):
            name = reading.text(segment.get("id"))
            for record in map(reading.mapping, reading.items(segment.get("nodes"))):
                node = GraphNode(name, reading.text(record.get("name")))
                self._nodes[node] = reading.source(record.get("source")), reading.text(record.get("target"))
            self._add_kernels(segment.get("kernels"), name)
        self._add_kernels(kernels, "")
        self._index()

    def _add_kernels(self, kernels: Any, segment: str) -> None:
        for record in map(reading.mapping, reading.items(reading.mapping(kernels).get("kernels"))):
            owner = reading.text(record.get("segment")) or segment
            kernel = Kernel(owner, reading.text(record.get("id")))
            lines: dict[int, tuple[GraphNode, ...]] = {}
            for pair in reading.items(record.get("lines")):
                at = reading.items(pair)
                number = reading.integer(at[0], 1) if len(at) == 2 else None
                if number is not None:
                    lines[number] = tuple(GraphNode(owner, n) for n in reading.texts(at[1]))
            sources = [reading.source(s) for s in reading.items(record.get("sources"))]
            numbers = [reading.integer(n) for n in reading.items(record.get("tape"))]
            self._kernels[kernel] = _Entry(
                tuple(GraphNode(owner, n) for n in reading.texts(record.get("nodes"))),
                tuple(n for n in numbers if n is not None),
                tuple(s for s in sources if s is not None),
                lines,
            )

    def _index(self) -> None:
        self._at: dict[tuple[object, ...], list[NodeId]] = {}
        for number, (source, op) in self._tape.items():
            if source is not None:
                self._at.setdefault((_place(source), op), []).append(number)
        self._nodes_at: dict[tuple[object, ...], list[GraphNode]] = {}
        for node, (source, op) in self._nodes.items():
            if source is not None:
                self._nodes_at.setdefault((_place(source), op), []).append(node)
        self._kernels_of: dict[GraphNode, list[Kernel]] = {}
        self._kernels_of_tape: dict[NodeId, list[Kernel]] = {}
        for kernel, entry in self._kernels.items():
            for node in entry.nodes:
                self._kernels_of.setdefault(node, []).append(kernel)
            for number in entry.tape:
                self._kernels_of_tape.setdefault(number, []).append(kernel)
        self._by_place: dict[str, list[tuple[SourceRange, NodeId | GraphNode | Kernel]]] = {}
        for found in (self._tape, self._nodes):
            for key, (source, _) in found.items():
                self._note(source, key)
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
        source, op = self._tape[number]
        kernels = dict.fromkeys(self._kernels_of_tape.get(number, ()))
        nodes = {n: None for k in kernels for n in self._kernels[k].nodes}
        if source is not None and not kernels:
            nodes |= dict.fromkeys(self._nodes_at.get((_place(source), op), ()))
            kernels |= {k: None for n in nodes for k in self._kernels_of.get(n, ())}
        lines = {} if source is None else {_line(source): None}
        return self._linked(lines, {number: None}, nodes, kernels)

    def of_node(self, segment: str, name: str) -> Linked:
        """What belongs to a node of a captured graph."""
        node = GraphNode(segment, name)
        kernels = dict.fromkeys(self._kernels_of.get(node, ()))
        if node not in self._nodes and not kernels:
            return Linked()
        source, op = self._nodes.get(node, (None, ""))
        tape: dict[NodeId, None] = {}
        if source is not None:
            tape = dict.fromkeys(self._at.get((_place(source), op), ()))
        if not tape:
            tape = {n: None for k in kernels for n in self._kernels[k].tape}
        lines = {} if source is None else {_line(source): None}
        return self._linked(lines, tape, {node: None}, kernels)

    def of_kernel(self, segment: str, kernel: str) -> Linked:
        """What belongs to a kernel: all of its text, and everything that went into it."""
        key = Kernel(segment, kernel)
        entry = self._kernels.get(key)
        if entry is None:
            return Linked()
        lines = {_line(s): None for s in entry.sources}
        tape: dict[NodeId, None] = dict.fromkeys(entry.tape)
        for node in entry.nodes:
            source, op = self._nodes.get(node, (None, ""))
            if source is not None:
                lines[_line(source)] = None
                if not entry.tape:
                    tape |= dict.fromkeys(self._at.get((_place(source), op), ()))
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
            return self.of_node(segment, node) if node else self.of_kernel(segment, kernel)
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
