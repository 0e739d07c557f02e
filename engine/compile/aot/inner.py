"""The tape inside a compiled graph, as far as the tape outside must know it: which operators hang on which.

To the tape outside, a compiled graph is one node for each *member*: a result with a history (several results may be one member, where they
have the same place on the tape). Members hang on one another and on the inputs as the operators between them did while the graph was traced.
`Inner` keeps that without any tensor, so that a backward pass visits, reaches and uses up exactly what the operators' own nodes would have:
hooks run, gradients stay None and a second pass is refused as in eager execution. It computes no gradient.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...autograd.op_node import OpNode, Saved
from ...autograd.run import AccumulateGrad

Slot = tuple[int, int]
"""Sequence number of a node of the traced tape, and which of its outputs."""
Wanted = tuple[frozenset[int], frozenset[int]]
"""Members and inputs (edges of the call) that a backward pass is limited to."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What one backward pass does inside."""

    defined: tuple[int, ...]
    """Members that a gradient came for."""
    members: tuple[int, ...]
    """Members whose gradient is known at some point, in that order."""
    inputs: frozenset[int]
    """Edges of the call that get a gradient."""
    visited: frozenset[int]
    spends: frozenset[int]
    """Visited nodes that keep values: they cannot be visited again once these are freed."""


class Inner:
    """Made of the fakes' tape before it is walked; `note` must hear what each node gave."""

    def __init__(self, starts: Sequence[tuple[Any, int]], ends: Sequence[tuple[Any, int] | None]):
        self.slots: list[Slot] = [(n.sequence_nr, i) for n, i in starts]
        self.at: dict[Slot, int] = {s: k for k, s in enumerate(self.slots)}
        self.ends: dict[Slot, list[int]] = {}
        for number, edge in enumerate(ends):
            if edge is not None:
                self.ends.setdefault((edge[0].sequence_nr, edge[1]), []).append(number)
        self.edges: dict[int, list[Slot | None]] = {}
        self.nodes: list[Any] = []
        """The fakes' nodes, until `forget`."""
        saving = set()
        stack = [n for n, _ in starts]
        while stack:
            node = stack.pop()
            seq = node.sequence_nr
            if seq in self.edges:
                continue
            self.edges[seq] = [None if e is None else (e[0].sequence_nr, e[1]) for e in node.edges]
            self.nodes.append(node)
            if _keeps_values(node):
                saving.add(seq)
            stack.extend(e[0] for e in node.edges if e is not None)
        self.saving = frozenset(saving)
        self.order = sorted(range(len(self.slots)), key=lambda k: self.slots[k])
        """Members from the first made to the last."""
        self._walks: dict[Any, Walk] = {}
        self._regions: dict[int, tuple[tuple[int, ...], tuple[int, ...], frozenset[int]]] = {}

    def touched(self) -> set[Slot]:
        """The slots that some node hands a gradient to."""
        return {s for edges in self.edges.values() for s in edges if s is not None}

    def note(self, node: Any, given: Sequence[Any]) -> None:
        """Where a node gave no gradient there is no way on."""
        edges = self.edges[node.sequence_nr]
        for i, edge in enumerate(edges):
            if edge is not None and (i >= len(given) or given[i] is None):
                edges[i] = None

    def forget(self) -> None:
        """Let go of the fakes."""
        self.nodes = []

    def useful(self, wanted: Wanted) -> frozenset[int]:
        """The nodes on the way to what is wanted."""
        found: set[int] = set()
        for seq in sorted(self.edges):  # whatever a node hands gradients to is older
            for edge in self.edges[seq]:
                if edge is not None and (edge[0] in found or self._is_wanted(edge, wanted)):
                    found.add(seq)
                    break
        return frozenset(found)

    def _is_wanted(self, slot: Slot, wanted: Wanted) -> bool:
        member = self.at.get(slot)
        return (member is not None and member in wanted[0]) or any(i in wanted[1] for i in self.ends.get(slot, ()))

    def all(self) -> Walk:
        """The backward pass from all members to all inputs."""
        return self.walk(tuple(range(len(self.slots))))

    def walk(self, defined: tuple[int, ...], wanted: Wanted | None = None) -> Walk:
        """The backward pass from some members to all inputs, or to what is wanted."""
        key = (defined, wanted)
        known = self._walks.get(key)
        if known is None:
            known = self._walks[key] = self._walk(defined, wanted)
        return known

    def _walk(self, defined: tuple[int, ...], wanted: Wanted | None) -> Walk:
        useful = None if wanted is None else self.useful(wanted)
        heap: list[int] = []
        slots: dict[int, set[int]] = {}
        inputs: set[int] = set()
        visited: set[int] = set()
        members: list[int] = []

        def hand(slot: Slot) -> None:
            if slot in self.ends:
                inputs.update(i for i in self.ends[slot] if wanted is None or i in wanted[1])
            if slot[0] not in slots:
                slots[slot[0]] = set()
                heapq.heappush(heap, -slot[0])
            slots[slot[0]].add(slot[1])

        for k in defined:
            hand(self.slots[k])
        while heap:
            seq = -heapq.heappop(heap)
            for number in sorted(slots[seq]):
                k = self.at.get((seq, number))
                if k is not None:
                    members.append(k)
            if useful is not None and seq not in useful:
                continue
            visited.add(seq)
            for edge in self.edges[seq]:
                if edge is not None and (
                    wanted is None or edge[0] in useful or self._is_wanted(edge, wanted)  # type: ignore[operator]
                ):
                    hand(edge)
        return Walk(defined, tuple(members), frozenset(inputs), frozenset(visited), frozenset(visited & self.saving))

    def region(self, k: int) -> tuple[tuple[int, ...], tuple[int, ...], frozenset[int]]:
        """What member `k` hangs on with no other member between: members, edges of the call, and the nodes on the way that keep values."""
        known = self._regions.get(k)
        if known is not None:
            return known
        members: dict[int, None] = {}
        inputs: dict[int, None] = {}
        done: set[int] = set()
        stack = [self.slots[k][0]]
        inputs.update(dict.fromkeys(self.ends.get(self.slots[k], ())))
        while stack:
            seq = stack.pop()
            if seq in done:
                continue
            done.add(seq)
            for edge in self.edges[seq]:
                if edge is None:
                    continue
                member = self.at.get(edge)
                if member is not None and member != k:
                    members[member] = None
                    continue
                inputs.update(dict.fromkeys(self.ends.get(edge, ())))
                stack.append(edge[0])
        found = self._regions[k] = (tuple(sorted(members)), tuple(sorted(inputs)), frozenset(done & self.saving))
        return found


def _keeps_values(node: Any) -> bool:
    """Whether walking a node a second time is an error once its values are freed."""
    if isinstance(node, AccumulateGrad):
        return False
    if isinstance(node, OpNode):
        saved = node.saved
        return bool(saved) and any(isinstance(v, (Saved, list)) for v in saved.values())
    return bool(node.edges)
