"""A recorded run as steps that can be walked forwards and backwards: the tape grows, then backward lights it up.

A `Timeline` is made of a tape snapshot, with the bus's records (`engine.observe`, as JSON) where there are any: they tell
the true order, the gradients with their norms, and the memory of the device.  Without them the order is the tape's own
and memory is what the tape keeps.  This file shows nothing; a front end draws `graph(step)` and `at(step)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import reading
from .labels import bytes_text
from .model import Gradient, Graph, Kept, NodeId, SavedTensor, added_bytes
from .tape import MAX_NODES, build_tape

MAX_STEPS = 200_000
"""Of a longer run only the first steps are kept."""

_EVERY = 64
"""So many steps apart the state is remembered whole, or so many times in all; between them it is played on."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is to be seen after a step.

    `phase` is "start", "forward" or "backward"; `node` was recorded or visited last; `shown` counts the nodes of the tape
    that exist, oldest first; `gradients` are the gradients of nodes' outputs that are known by now; `visited` the nodes
    that backward ran through; `bytes` is the memory that is held, on the device where that was recorded, else by the tape.
    """

    step: int
    phase: str
    node: NodeId | None
    shown: int
    gradients: dict[NodeId, Gradient]
    visited: tuple[NodeId, ...]
    bytes: int
    text: str


@dataclass(frozen=True, slots=True)
class _Step:
    """One step: the node, and for backward what it hands to the nodes that it used, as (node, gradient) pairs."""

    phase: str
    node: NodeId
    op: str
    grads: tuple[tuple[NodeId, Gradient], ...] = ()
    bytes: int | None = None


class Timeline:
    """The steps of a run. Step 0 is before anything happened; `len` is the number of steps after it."""

    def __init__(self, snapshot: Any, records: Iterable[Any] | None = None) -> None:
        self.snapshot: Mapping[str, Any] = reading.mapping(snapshot)
        found = map(reading.mapping, reading.items(self.snapshot.get("nodes"))[-MAX_NODES:])
        self._nodes: dict[NodeId, Mapping[str, Any]] = {
            n: r for r in found if (n := reading.integer(r.get("id"))) is not None
        }
        self._inputs: dict[NodeId, list[NodeId]] = {n: self._inputs_of(r) for n, r in self._nodes.items()}
        held: set[Kept] = set()
        # what several nodes keep is there from the first of them on, and in backward until that one has run
        self._saved = {n: added_bytes(n, self._saved_of(r), held) for n, r in self._nodes.items()}
        self._position: dict[NodeId, int] = {n: i for i, n in enumerate(self._nodes)}
        given = [reading.mapping(r) for r in records] if records is not None else []
        self._steps = (self._recorded(given) if given else self._imagined())[:MAX_STEPS]
        self._kept: dict[int, Moment] = {}
        self.peak = 0
        """The most bytes that are held at any step."""
        self._play()

    @staticmethod
    def _inputs_of(record: Mapping[str, Any]) -> list[NodeId]:
        return [n for v in reading.items(record.get("inputs")) if (n := reading.integer(v)) is not None]

    @staticmethod
    def _saved_of(record: Mapping[str, Any]) -> list[SavedTensor]:
        return [t for v in reading.items(record.get("saved")) if (t := reading.saved(v)) is not None]

    def __len__(self) -> int:
        return len(self._steps)

    # -- steps --------------------------------------------------------------------------------------

    def _is_op(self, node: NodeId) -> bool:
        return self._nodes[node].get("kind") != "leaf"

    def _gradient(self, node: NodeId) -> Gradient | None:
        """The gradient of a node's output as far as the snapshot tells: its shape at least."""
        record = self._nodes[node]
        known = reading.gradient(record.get("grad"))
        if known is not None:
            return known
        outputs = [t for v in reading.items(record.get("outputs")) if (t := reading.tensor(v)) is not None]
        return Gradient(outputs[0].shape, outputs[0].dtype) if outputs else None

    def _handed(self, node: NodeId) -> tuple[tuple[NodeId, Gradient], ...]:
        pairs = ((n, self._gradient(n)) for n in self._inputs[node] if n in self._nodes)
        return tuple((n, g) for n, g in pairs if g is not None)

    def _imagined(self) -> list[_Step]:
        """The order that the tape itself tells: nodes as recorded, then backward from the roots, newest first."""
        steps = [_Step("forward", n, reading.text(r.get("op"))) for n, r in self._nodes.items() if self._is_op(n)]
        roots = (reading.integer(r) for r in reading.items(self.snapshot.get("roots")))
        reached: set[NodeId] = set()
        waiting: list[NodeId] = [r for r in roots if r is not None and r in self._nodes]
        while waiting:
            node = waiting.pop()
            if node not in reached:
                reached.add(node)
                waiting += [n for n in self._inputs[node] if n in self._nodes]
        order = sorted((n for n in reached if self._is_op(n)), key=self._position.__getitem__, reverse=True)
        steps += [_Step("backward", n, reading.text(self._nodes[n].get("name")), self._handed(n)) for n in order]
        return steps

    def _recorded(self, records: list[Mapping[str, Any]]) -> list[_Step]:
        """The order in which the records came; nodes that the tape holds and no record names come first."""
        named = {reading.integer(r.get("node")) for r in records if r.get("kind") == "op"}
        steps = [
            _Step("forward", n, reading.text(r.get("op")))
            for n, r in self._nodes.items()
            if n not in named and self._is_op(n)
        ]
        held: int | None = None
        for record in records:
            kind, node = record.get("kind"), reading.integer(record.get("node"))
            if kind == "buffer":
                held = reading.integer(record.get("total"))
                if steps:
                    last = steps[-1]
                    steps[-1] = _Step(last.phase, last.node, last.op, last.grads, held)
            if node is None or node not in self._nodes:
                continue
            op = reading.text(record.get("op"))
            if kind == "op":
                steps.append(_Step("forward", node, op, (), held))
            elif kind == "node":
                steps.append(_Step("backward", node, op, self._from_record(node, record), held))
        return steps

    def _from_record(self, node: NodeId, record: Mapping[str, Any]) -> tuple[tuple[NodeId, Gradient], ...]:
        """What a visited node handed on: its gradients that are there, one for each input that needs one."""
        norms = reading.items(record.get("norms"))
        grads = []
        for number, value in enumerate(reading.items(record.get("grads"))):
            tensor = reading.tensor(value)
            if tensor is not None:
                norm = norms[number] if number < len(norms) else None
                grads.append(Gradient(tensor.shape, tensor.dtype, norm if isinstance(norm, float) else None))
        return tuple(zip((n for n in self._inputs[node] if n in self._nodes), grads, strict=False))

    # -- playing ------------------------------------------------------------------------------------

    def _play(self) -> None:
        moment = Moment(0, "start", None, 0, {}, (), 0, "Nothing has run yet.")
        self._kept[0] = replace(moment, gradients={})
        every = max(_EVERY, len(self._steps) // _EVERY)
        for number in range(1, len(self._steps) + 1):
            moment = self._next(moment, number)
            self.peak = max(self.peak, moment.bytes)
            if number % every == 0:
                self._kept[number] = replace(moment, gradients=dict(moment.gradients))

    def _next(self, before: Moment, number: int) -> Moment:
        """The moment after one more step; takes over the dictionary of gradients."""
        step = self._steps[number - 1]
        gradients, shown, visited = before.gradients, before.shown, before.visited
        if step.phase == "forward":
            shown = max(shown, self._position[step.node] + 1)
            size = before.bytes + self._saved[step.node]
            text = f"forward: {step.op} is recorded"
            if self._saved[step.node]:
                text += f" and keeps {bytes_text(self._saved[step.node])}"
        else:
            visited = (*visited[-999:], step.node)
            size = max(0, before.bytes - self._saved[step.node])
            if step.node not in gradients:
                known = self._gradient(step.node)
                if known is not None:
                    gradients[step.node] = known
            for node, gradient in step.grads:
                gradients[node] = gradient
            told = gradients.get(step.node)
            text = f"backward: {step.op}" + (f" got {told.text}" if told is not None else "")
        if step.bytes is not None:
            size = step.bytes
        return Moment(number, step.phase, step.node, shown, gradients, visited, size, text)

    def at(self, step: int) -> Moment:
        """What is to be seen after a step; a number outside of the run gives its first or last moment."""
        step = max(0, min(step, len(self._steps)))
        start = max(n for n in self._kept if n <= step)
        moment = replace(self._kept[start], gradients=dict(self._kept[start].gradients))
        for number in range(start + 1, step + 1):
            moment = self._next(moment, number)
        return moment

    def graph(self, step: int, **options: Any) -> Graph:
        """The tape as far as it existed after a step; `options` as in `build_tape`."""
        moment = self.at(step)
        nodes = reading.items(self.snapshot.get("nodes"))
        known = [n for n in nodes if reading.integer(reading.mapping(n).get("id")) in self._position]
        roots = self.snapshot.get("roots") if moment.phase == "backward" else []
        return build_tape({**self.snapshot, "nodes": known[: moment.shown], "roots": roots}, **options)

    def step_of(self, node: NodeId, phase: str = "forward") -> int | None:
        """The step in which a node was recorded or (phase "backward") visited, None where it was not."""
        return next((i + 1 for i, s in enumerate(self._steps) if s.node == node and s.phase == phase), None)
