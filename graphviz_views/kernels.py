"""Build the graph of generated kernels, from the dictionary that `engine.observe.kernels_json` describes.

Each kernel is a scope in launch order, closed until somebody opens it, with the graph nodes that it computes inside.
Its box tells time, bytes, its share of the total and how far it is from what the device can do; and why it was not
fused with a neighbour.  Nothing in the records is trusted; what cannot be used is named in `Graph.notes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import reading
from .labels import bytes_text, count_text, seconds_text, wrapped
from .links import kernel_key, node_key
from .model import NO_FACTS, Badge, Edge, Facts, Graph, Node, NodeId, Outer, TensorFacts

KERNELS_VERSION = 1
"""The version of the form that this file reads; a test holds it against the one that the engine writes."""

MAX_KERNELS = 5_000
"""Of a longer list only the first kernels are read."""

_NAMED = 5
"""So many operators are named on the box of a kernel."""


@dataclass(slots=True)
class _Kernel:
    """One kernel while the graph is built."""

    key: str
    segment: str
    record: Mapping[str, Any]
    names: list[str]
    nodes: list[NodeId]
    steps: dict[str, Mapping[str, Any]]
    """What is told of its nodes where they are no captured ones but parts of those, by their names."""


def kernels_of(capture: Any) -> dict[str, Any]:
    """The kernels of all segments of a capture as one list, in the order of the segments."""
    kernels: list[Any] = []
    refused: list[Any] = []
    passes: dict[tuple[str, str], int] = {}
    tuning: list[Any] = []
    device, peaks = "", [0, 0]
    for segment in map(reading.mapping, reading.items(reading.mapping(capture).get("segments"))):
        own = reading.mapping(segment.get("kernels"))
        name = reading.text(segment.get("id"))
        device = device or reading.text(own.get("device"))
        kernels += [{**reading.mapping(k), "segment": name} for k in reading.items(own.get("kernels"))]
        refused += [{**reading.mapping(r), "segment": name} for r in reading.items(own.get("refused"))]
        for done in map(reading.mapping, reading.items(own.get("passes"))):
            key = reading.text(done.get("pass")), reading.text(done.get("name"))
            passes[key] = passes.get(key, 0) + (reading.integer(done.get("rewrites")) or 0)
        tuning += reading.items(own.get("tuning"))
        for n, field in enumerate(("peak_bytes", "eager_peak_bytes")):
            peaks[n] = max(peaks[n], reading.integer(own.get(field)) or 0)
    done_by = [{"pass": first, "name": name, "rewrites": count} for (first, name), count in passes.items()]
    return {
        "version": KERNELS_VERSION, "device": device, "kernels": kernels, "refused": refused,
        "peak_bytes": peaks[0] or None, "eager_peak_bytes": peaks[1] or None, "passes": done_by,
        "tuning": tuning,
    }  # fmt: skip


def build_kernels(kernels: Mapping[str, Any] | Any, capture: Any = None, *, title: str = "Kernels") -> Graph:
    """The graph of a list of kernels; a capture (`observe.capture_json`) tells how the nodes inside are connected.

    Scopes and nodes of a kernel answer to the id `links.kernel_key(segment, id)`.  Broken records and unknown versions
    never raise.
    """
    notes = reading.Notes()
    record = reading.mapping(kernels)
    if "segments" in record and "kernels" not in record:
        capture, record = record, kernels_of(record)
    if not isinstance(kernels, Mapping):
        notes.say(f"These are no kernels: a dictionary with 'kernels' was expected, not {reading.kind(kernels)}.")
    elif record.get("version") != KERNELS_VERSION:
        told = record.get("version")
        told = f"version {told}" if reading.integer(told) is not None else "no version that is a number"
        notes.say(
            f"The kernels have {told}, this program knows version {KERNELS_VERSION}; what could be read is shown."
        )
    known = _graph_nodes(capture)
    found = _read(record, notes)
    total = sum(_time(k) for k in found)
    refused = _refused(record)
    builder = _Builder(known, total, refused, found)
    for number, kernel in enumerate(found):
        builder.add(kernel, number)
    builder.connect(found)
    moved = sum(reading.integer(k.record.get("bytes")) or 0 for k in found)
    about = [count_text(len(found), "kernel")]
    if device := reading.text(record.get("device")):
        about[0] += f" on {device}"
    if total:
        about.append(f"{seconds_text(total)} in all")
    if moved:
        about.append(f"{bytes_text(moved)} moved")
    peak, eager = reading.integer(record.get("peak_bytes")), reading.integer(record.get("eager_peak_bytes"))
    if peak is not None:
        about.append(f"peak {bytes_text(peak)}" + (f" (eager: {bytes_text(eager)})" if eager is not None else ""))
    passes = [reading.mapping(p) for p in reading.items(record.get("passes"))]
    done: dict[str, list[str]] = {}
    for p in passes:
        if n := reading.integer(p.get("rewrites")):
            done.setdefault(reading.text(p.get("pass")), []).append(f"{reading.text(p.get('name'))} {n}")
    for tuning in map(reading.mapping, reading.items(record.get("tuning"))):
        if text := _tuned(tuning):
            notes.say(f"Tuned: {text}.")
    if done:
        told = [(f"{name}: " if name else "") + ", ".join(rules) for name, rules in done.items()]
        notes.say(f"Simplified before (rewrites): {'; '.join(told)}.")
    return Graph.build(
        builder.nodes, builder.edges, title=title, notes=notes.sentences, aliases=builder.aliases, kind="kernels",
        scope_facts=builder.facts, about=", ".join(about),
    )  # fmt: skip


def _graph_nodes(capture: Any) -> dict[str, Mapping[str, Any]]:
    """The captured nodes by `node_key`."""
    return {
        node_key(reading.text(segment.get("id")), reading.text(node.get("name"))): node
        for segment in map(reading.mapping, reading.items(reading.mapping(capture).get("segments")))
        for node in map(reading.mapping, reading.items(segment.get("nodes")))
    }


def _read(record: Mapping[str, Any], notes: reading.Notes) -> list[_Kernel]:
    raw = record.get("kernels")
    if not isinstance(raw, (list, tuple)):
        if record:
            notes.say(f"There is no list of kernels (found {reading.kind(raw)}), so there is nothing to draw.")
        return []
    if len(raw) > MAX_KERNELS:
        notes.say(f"There are {len(raw):,} kernels; only the first {MAX_KERNELS:,} are shown.")
    found: list[_Kernel] = []
    seen: set[str] = set()
    for index, value in enumerate(raw[:MAX_KERNELS]):
        kernel = reading.mapping(value)
        name, segment = reading.text(kernel.get("id")), reading.text(kernel.get("segment"))
        key = kernel_key(segment, name)
        if not name or key in seen:
            notes.count(
                "kernel has no id of its own and was left out", "kernels have no id of their own and were left out",
                f"kernel {index}",
            )  # fmt: skip
            continue
        seen.add(key)
        names = list(dict.fromkeys(reading.texts(kernel.get("nodes"))))
        steps = {reading.text(s.get("name")): s for s in map(reading.mapping, reading.items(kernel.get("steps")))}
        found.append(_Kernel(key, segment, kernel, names, [], steps))
    return found


def _tuned(record: Mapping[str, Any]) -> str:
    """What was chosen by measuring, and how everything fared that was tried; "" where nothing was."""
    tried = []
    for entry in map(reading.mapping, reading.items(record.get("tried"))):
        seconds = reading.number(entry.get("seconds"))
        fared = seconds_text(seconds) if seconds is not None else reading.text(entry.get("error"))
        tried.append(f"{reading.text(entry.get('choice'))} {fared}".strip())
    return f"{reading.text(record.get('chosen'))} (tried: {', '.join(tried)})" if tried else ""


def _time(kernel: _Kernel) -> float:
    launches = reading.integer(kernel.record.get("launches"))
    return (reading.number(kernel.record.get("seconds")) or 0.0) * max(1, launches or 1)


def _refused(record: Mapping[str, Any]) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Why not fused, by (segment, name) of the second neighbour: the first one and the reason."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for value in map(reading.mapping, reading.items(record.get("refused"))):
        first, second = reading.text(value.get("first")), reading.text(value.get("second"))
        place = (reading.text(value.get("segment")), second)
        found.setdefault(place, []).append((first, reading.text(value.get("reason"))))
    return found


class _Builder:
    """Collects nodes, edges and what is told of the kernels."""

    def __init__(
        self,
        known: dict[str, Mapping[str, Any]],
        total: float,
        refused: dict[tuple[str, str], list[tuple[str, str]]],
        kernels: list[_Kernel],
    ) -> None:
        self.known, self.total, self.refused = known, total, refused
        self.segments = len({k.segment for k in kernels}) > 1
        self.names: dict[tuple[str, str], str] = {}
        """What a kernel is called, by its segment and its id, or a node that it computes."""
        for number, kernel in enumerate(kernels):
            title = f"{number + 1} {reading.text(kernel.record.get('name'))}".rstrip()
            for name in kernel.names:  # a node may be computed again in later kernels
                self.names.setdefault((kernel.segment, name), f"{title} ({name})")
            self.names[kernel.segment, reading.text(kernel.record.get("id"))] = title
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.facts: dict[Outer, Facts] = {}
        self.aliases: dict[NodeId, tuple[NodeId, ...]] = {}

    def add(self, kernel: _Kernel, number: int) -> None:
        """Add one kernel with its nodes."""
        path = (Outer("kernel", kernel.key),)
        self.facts[path[0]] = self._facts(kernel, number)
        if self.segments:
            around = Outer("segment", f"segment {kernel.segment}" if kernel.segment else "outside of segments")
            path = (around, *path)
        for name in kernel.names:
            node, captured = self._node(kernel, name)
            tensor = reading.tensor(node)
            part_of = reading.text(node.get("captured"))
            back = " (backward)" if node.get("backward") is True else ""
            kernel.nodes.append(f"{kernel.key}/{name}")
            self.nodes.append(
                Node(
                    f"{kernel.key}/{name}", "op", reading.text(node.get("target")) or _operator(name), name=name,
                    outputs=() if tensor is None else (tensor,), path=path,
                    module=reading.text(captured.get("module")), source=reading.source(captured.get("source")),
                    facts=Facts(details=(("part of", f"{part_of}{back}"),)) if part_of else NO_FACTS,
                )
            )  # fmt: skip
        if not kernel.nodes:
            kernel.nodes.append(f"{kernel.key}/")
            self.nodes.append(
                Node(
                    f"{kernel.key}/", "kernel", reading.text(kernel.record.get("name")) or "kernel", path=path,
                    outputs=self._outputs(kernel),
                )
            )  # fmt: skip
        self.aliases[kernel.key] = tuple(kernel.nodes)

    def _node(self, kernel: _Kernel, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """What is told of a node in a kernel, and the captured node that it is, or a part of."""
        step = kernel.steps.get(name)
        if step is None:
            node = self.known.get(node_key(kernel.segment, name), {})
            return node, node
        return step, self.known.get(node_key(kernel.segment, reading.text(step.get("captured"))), {})

    @staticmethod
    def _outputs(kernel: _Kernel) -> tuple[TensorFacts, ...]:
        tensors = [reading.tensor(v) for v in reading.items(kernel.record.get("outputs"))]
        return tuple(t for t in tensors if t is not None)

    def _facts(self, kernel: _Kernel, number: int) -> Facts:
        record = kernel.record
        language = reading.text(record.get("language"))
        seconds, ceiling = reading.number(record.get("seconds")), reading.number(record.get("ceiling"))
        size, operations = reading.integer(record.get("bytes")), reading.integer(record.get("operations"))
        launches = reading.integer(record.get("launches"))
        operators = [reading.text(self._node(kernel, n)[0].get("target")) or _operator(n) for n in kernel.names]
        chain = " → ".join(operators[:_NAMED]) + (
            f" → … {len(operators) - _NAMED} more" if len(operators) > _NAMED else ""
        )
        outputs = ", ".join(t.text for t in self._outputs(kernel))
        cost = []
        if seconds is not None:
            cost.append(seconds_text(seconds))
        if size is not None:
            cost.append(bytes_text(size))
        if seconds and size:
            cost.append(f"{bytes_text(int(size / seconds))}/s")
        badges = []
        share = _time(kernel) / self.total if self.total and seconds is not None else None
        if seconds is not None and ceiling:
            badges.append(_distance(seconds / ceiling, share))
        if len(kernel.names) > 1:
            badges.append(Badge(f"{len(kernel.names)} operators fused", "note"))
        if kernel.steps and all(step.get("backward") is True for step in kernel.steps.values()):
            badges.append(Badge("backward", "note"))
        launch = _launch(record)
        details = [
            ("kernel", reading.text(record.get("name"))), ("language", language), ("computes", ", ".join(kernel.names)),
            ("launch", launch), ("time", "" if seconds is None else seconds_text(seconds)),
            ("least possible", "" if ceiling is None else seconds_text(ceiling)),
            ("bytes", "" if size is None else bytes_text(size)),
            ("operations", "" if operations is None else f"{operations:,}"),
            ("launches", "" if launches is None else f"{launches:,}"), ("makes", outputs),
            ("tuned", _tuned(reading.mapping(record.get("tuned")))),
        ]  # fmt: skip
        for field, text in (("inputs", "reads"), ("outputs", "writes")):
            for value in map(reading.mapping, reading.items(record.get(field))):
                tensor = reading.tensor(value)
                details.append((text, f"{reading.text(value.get('name'))} {tensor.text if tensor else ''}".strip()))
        told: set[str] = set()
        for name in (reading.text(record.get("id")), reading.text(record.get("name")), *kernel.names):
            for segment in dict.fromkeys((kernel.segment, "")):
                for first, reason in self.refused.get((segment, name), ()):
                    other = self.names.get((kernel.segment, first), first)
                    sentence = f"not fused with {other}: {reason}"
                    if sentence not in told:
                        told.add(sentence)
                        badges += [Badge(t, "refused") for t in wrapped(sentence, 48)]
                        details.append((f"not fused with {other}", reason))
        return Facts(
            title=f"{number + 1}  {reading.text(record.get('name')) or reading.text(record.get('id'))}",
            lines=tuple(t for t in (" · ".join(cost), chain, " · ".join(t for t in (language, launch) if t)) if t),
            badges=tuple(badges),
            details=tuple(d for d in details if d[1]),
            seconds=seconds,
            share=share,
            folded=True,
        )

    def connect(self, kernels: list[_Kernel]) -> None:
        """Values between nodes as captured, between kernels by the names of their buffers; launch order for the rest."""
        position = {node.id: i for i, node in enumerate(self.nodes)}
        owner = {node: kernel for kernel in kernels for node in kernel.nodes}
        computed: dict[str, NodeId] = {}
        drawn: set[tuple[NodeId, NodeId]] = set()
        joined: set[tuple[str, str]] = set()

        def join(source: NodeId, target: NodeId, kind: str = "value") -> None:
            if position[source] < position[target] and (source, target) not in drawn:
                drawn.add((source, target))
                joined.add((owner[source].key, owner[target].key))
                self.edges.append(Edge(source, target, 0, kind))

        written: dict[tuple[str, str], _Kernel] = {}
        before: _Kernel | None = None
        for kernel in kernels:
            for name, node in zip(kernel.names, kernel.nodes, strict=False):
                for source in reading.texts(self._node(kernel, name)[0].get("inputs")):
                    if (made := computed.get(node_key(kernel.segment, source))) is not None:
                        join(made, node)
                computed[node_key(kernel.segment, name)] = node
            for value in map(reading.mapping, reading.items(kernel.record.get("inputs"))):
                maker = written.get((kernel.segment, reading.text(value.get("name"))))
                if maker is not None and (maker.key, kernel.key) not in joined:
                    join(maker.nodes[-1], kernel.nodes[0])
            for value in map(reading.mapping, reading.items(kernel.record.get("outputs"))):
                written[kernel.segment, reading.text(value.get("name"))] = kernel
            if before is not None and (before.key, kernel.key) not in joined:
                join(before.nodes[-1], kernel.nodes[0], "order")
            before = kernel


def _distance(times: float, share: float | None) -> Badge:
    """How far a kernel is from the least time that the device allows; what takes next to no time is not called slow."""
    if times < 1.05:
        return Badge("at the device's least time", "good")
    text = f"{times:.1f}x the device's least time" if times < 100 else f"{times:,.0f}x the device's least time"
    return Badge(text, "good" if times < 1.5 else "slow" if share is None or share >= 0.05 else "note")


def _operator(name: str) -> str:
    """The operator in a node's name: "add" of "add_3"."""
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdecimal() else name


def _launch(record: Mapping[str, Any]) -> str:
    """ "64x1x1 groups of 256", or "loops 64, 128"."""
    launch = reading.mapping(record.get("launch"))
    grid = [n for v in reading.items(launch.get("grid")) if (n := reading.integer(v)) is not None]
    block = [n for v in reading.items(launch.get("block")) if (n := reading.integer(v)) is not None]
    loops = [n for v in reading.items(launch.get("loops")) if (n := reading.integer(v)) is not None]
    if grid:
        size = 1
        for n in block:
            size *= n
        return f"{'x'.join(map(str, grid))} groups" + (f" of {size}" if block else "")
    return f"loops {' x '.join(map(str, loops))}" if loops else ""
