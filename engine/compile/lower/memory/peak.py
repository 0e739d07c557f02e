"""Peak memory: of a graph whose operators run one by one, and of the generated code beside it. Arguments count in neither.

Eager's is simulated over the joint graph of forward and backward: a value is held from its operator to the last one that reads it, which for
what backward reads is what the tape does. What an operator needs inside of itself is not known, and not counted.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...aot.partition import size_of
from ...graph import GraphModule, Node
from ..loops.index import evaluate
from ..loops.scalar import BYTES
from ..schedule.fuse import bare
from ..values import Value


@dataclass(frozen=True)
class Use:
    """Bytes that a segment holds: `kept` from call to call (intermediate results, in places that are used again), `made` anew in each
    call (results, what is saved for backward, what calls of the engine give), `inside` only while it runs."""

    kept: int
    made: int
    inside: int = 0


def peak(forward: Use, backwards: Iterable[Use] = ()) -> int:
    """The most bytes that are held at once from the beginning of forward to the end of backward."""
    parts = list(backwards)
    kept = max([forward.kept, *[b.kept for b in parts]])  # they share one arena
    return kept + forward.made + max([forward.inside, *[b.made + b.inside for b in parts]])


def bytes_of(v: Value, values: Mapping[str, int]) -> int:
    """Bytes of a value for these sizes."""
    return evaluate(v.numel(), values) * BYTES.get(v.dtype, 8)


def made_by(assembly: Any, values: Mapping[str, int]) -> int:
    """Bytes of what every call of a program makes anew."""
    outputs = assembly.program.outputs
    fresh: dict[Value, None] = {}
    for k in assembly.made:
        fresh[assembly.root(bare(outputs[k].value))] = None
    for step in assembly.steps:
        if step.kind == "call":
            fresh.update(dict.fromkeys(step.writes))
    return sum(bytes_of(v, values) for v in fresh)


def hints(program: Any) -> dict[str, int]:
    """Symbolic sizes of a program as they were when it was captured."""
    found: dict[str, int] = {}
    for spec in program.specs.values():
        for n in spec.shape:
            if type(n) is not int and n.symbol_name() is not None:
                found[n.symbol_name()] = n.hint
    for name, (atom, kind) in ((n, w) for n, w in program.sizes.items() if not isinstance(w[0], int)):
        found[name] = kind({((atom, 1),): 1}).evaluate(found)
    return found


def eager_peak(joint: GraphModule, written: Mapping[int, int] | None = None) -> int:
    """Bytes held at once where every operator of the graph runs by itself and frees what nobody needs any more, symbolic sizes by
    their hints. `written` says which results are values of inputs that the program changes in place: number of the result to that of the
    placeholder."""
    nodes = [n for n in joint.graph if n.op != "output"]
    returned = joint.graph.output_node.args[0]
    returned = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    owner: dict[Node, Node] = {}
    """Whose memory a node has: its own, or that of what it looks at."""
    for n in nodes:
        looks = n.op == "call_function" and n.all_input_nodes
        if looks and (getattr(n.target, "kind", "") == "view" or n.target is operator.getitem):
            first = n.all_input_nodes[0]
            owner[n] = owner.get(first, first)
        else:
            owner[n] = n
    given = joint.graph.placeholders
    for result, place in (written or {}).items():
        _in_place(returned[result], given[place], owner)
    last: dict[Node, int] = {}
    for i, n in enumerate(nodes):
        for source in (n, *n.all_input_nodes):
            last[owner[source]] = i
    for value in returned:
        if isinstance(value, Node):
            last[owner[value]] = len(nodes)
    free: dict[int, int] = {}
    held = most = 0
    for i, n in enumerate(nodes):
        if owner[n] is n and n.op == "call_function":
            size = size_of(n.meta.get("val"))
            held += size
            free[last[n]] = free.get(last[n], 0) + size
        most = max(most, held)
        held -= free.get(i, 0)
    return most


def _in_place(value: Any, target: Node, owner: dict[Node, Node]) -> None:
    """A chain of elementwise work from an input to its new value happens in the input's memory."""
    chain: list[Node] = []
    while isinstance(value, Node) and value is not target and getattr(value.target, "kind", "") == "pointwise":
        chain.append(value)
        value = value.args[0] if value.args else None
    if value is target:
        owner.update(dict.fromkeys(chain, target))


__all__ = ["Use", "bytes_of", "eager_peak", "hints", "made_by", "peak"]
