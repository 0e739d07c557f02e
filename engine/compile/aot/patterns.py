"""Backward graphs for one pattern of gradients: which results have one, which are wanted, and who wants to see them on the way.

The partition gives one backward graph, in which every member's gradient comes in (see `inner.py`) and whose outputs are the inputs'
gradients and each member's own, complete one. `specialise` derives from it the graph for one walk: what hangs on gradients that are not
there falls away, as it would on the tape (no zeros are computed with, which infinities would turn into NaN), and complete gradients may be
results, or be shown to a function that gives what to go on with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..fake import is_symbolic
from ..fake.layout import row_major
from ..graph import Graph, GraphModule, Node, TensorSpec, map_nodes
from . import creations
from .inner import Walk


@dataclass(slots=True)
class Whole:
    """The backward graph of the partition, and what its parameters and outputs are."""

    module: GraphModule
    tangents: list[str]
    """Placeholders of the members' incoming gradients, by member."""
    places: list[int]
    """Which edge of the call each of the first outputs is the gradient of; the members' complete gradients follow, where there are several."""
    members: list[int]
    """Sequence numbers of the members' nodes on the traced tape."""
    symbolic: bool = False


@dataclass(slots=True)
class Pattern:
    """A backward graph for one walk."""

    module: GraphModule
    given: list[int]
    """Saved values (and numbers) that it takes, by their place."""
    tangents: list[int]
    """Members whose incoming gradients it takes."""
    inputs: list[int]
    """Edges of the call that its first outputs are gradients of."""
    told: list[int] = field(default_factory=list)
    """Members whose complete gradients follow."""
    run: Callable[..., Any] | None = None


def arrive(show: Callable[[int, Any], Any], member: int, gradient: Any) -> Any:
    """A member's gradient is complete: what `show` gives is used in its place."""
    return show(member, gradient)


def specialise(whole: Whole, walk: Walk, told: Sequence[int] = (), hooked: bool = False) -> Pattern:
    """The graph of one walk. With `hooked`, its first parameter is a function that is shown each member's gradient."""
    source = whole.module.graph
    tangents = {name: k for k, name in enumerate(whole.tangents)}
    defined = set(walk.defined)
    returned = list(source.output_node.args[0])
    gradients, totals = returned[: len(whole.places)], returned[len(whole.places) :]
    graph = Graph()
    made: dict[Node, Node | None] = {}
    """What became of each node; None where it hangs on gradients that are not there."""
    late: set[Node] = set()
    zeros: dict[Any, Node] = {}
    names: dict[str, int] = {}
    given: list[int] = []
    taken: list[int] = []
    show = graph.placeholder("show") if hooked else None
    waiting = sorted(walk.members, key=lambda k: -whole.members[k]) if hooked else []

    def zero(n: Node) -> Node:
        val = n.meta["val"]
        key = (val.shape, val.dtype, val.device)
        found = zeros.get(key)
        if found is None:
            found = zeros[key] = graph.call_function(creations.full, (tuple(val.shape), 0, val.dtype, val.device))
            found.meta.update(
                {
                    "val": TensorSpec(tuple(val.shape), row_major(val.shape), val.dtype, val.device),
                    "source": None,
                    "module": "",
                }
            )
        return found

    def value(n: Node) -> Node:
        twin = made[n]
        return zero(n) if twin is None else twin

    def copy(n: Node) -> Node:
        args, kwargs = (map_nodes(a, value) for a in (n.args, n.kwargs))
        twin = graph.create_node(n.op, n.target, args, kwargs, n.name)
        if n.op == "placeholder":
            twin.target = twin.name
        twin.meta = dict(n.meta)
        made[n] = twin
        return twin

    def shown(until: int | None) -> None:
        """Show the gradients of members that the tape would have come to by now."""
        while waiting and (until is None or whole.members[waiting[0]] >= until):
            k = waiting.pop(0)
            total = totals[k]
            twin = made.get(total)
            if twin is not None:
                assert show is not None
                changed = graph.call_function(arrive, (show, k, twin))
                changed.meta.update({**twin.meta, "impure": True})
                made[total] = changed

    for n in source:
        if n.op == "output":
            break
        if n.op == "placeholder":
            k = tangents.get(n.name)
            if k is None:
                names[n.name] = len(names)
                given.append(names[n.name])
                copy(n)
                continue
            late.add(n)
            if k in defined or whole.symbolic:  # sizes may be read off it
                taken.append(k)
                copy(n)
            if k not in defined:
                made[n] = None
            continue
        parts = [a for a in n.all_input_nodes if a in late]
        if not parts:
            copy(n)
            continue
        late.add(n)
        tape = n.meta.get("tape")
        if tape is not None:
            shown(tape)
        there = [a for a in parts if made[a] is not None]
        if len(there) == len(parts):
            copy(n)
        elif not there and (tape not in walk.visited or not isinstance(n.meta.get("val"), TensorSpec)):
            made[n] = None
        elif there and tape is None and getattr(n.target, "name", "") == "add" and len(parts) == 2:
            made[n] = made[there[0]]  # two gradients of one value, of which one is not there
        else:
            copy(n)
    shown(None)
    inputs = [i for i in whole.places if i in walk.inputs]
    outputs = [_output(g, value) for g, i in zip(gradients, whole.places, strict=True) if i in walk.inputs]
    graph.output((*outputs, *[_output(totals[k], value) for k in told]))
    graph.eliminate_dead_code()
    if not whole.symbolic:
        for n in graph.placeholders:
            if not n.users and n is not show:
                k = tangents.get(n.name)
                (given if k is None else taken).remove(names[n.name] if k is None else k)
                graph.erase_node(n)
    return Pattern(GraphModule(graph, whole.module.constants, "backward"), given, taken, inputs, list(told))


def _output(v: Any, value: Callable[[Node], Node]) -> Any:
    return value(v) if isinstance(v, Node) else v


def is_symbolic_graph(graph: Graph) -> bool:
    """Whether sizes or numbers in a graph are symbols."""
    return any(_symbolic(n.meta.get("val")) for n in graph)


def _symbolic(val: Any) -> bool:
    if isinstance(val, TensorSpec):
        return any(map(is_symbolic, val.shape)) or any(map(is_symbolic, val.strides))
    if isinstance(val, (tuple, list)):
        return any(map(_symbolic, val))
    return is_symbolic(val)
