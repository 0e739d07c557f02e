"""Runs the operators of a call again, for derivatives of derivatives: on the real tape, from the inputs and generators of that time.

Where a result is made, what follows hangs on the result's own node (`CompiledFunctionBackward`), as it does in eager execution: so
derivatives go through the results that the program has.
"""

from __future__ import annotations

from typing import Any

from ...func.trees import flatten
from ...state import state
from ...tensor import Tensor, gradient_edge
from ..graph import Node, map_nodes
from ..graph.primitives import runner

REFUSED = (
    "the backward pass of this compiled function cannot be differentiated again (create_graph=True), since {}: "
    "run it without torch.compile, or compile the function that takes both derivatives"
)


def run_again(call: Any) -> list[tuple[Any, int]]:
    """The place on the tape of each member, made anew. Raises RuntimeError where the operators would not do the same again."""
    variant = call.variant
    if variant.final is not None:
        raise RuntimeError(REFUSED.format(variant.final))
    if call.given is None or call.versions != variant.versions(call.given):
        raise RuntimeError(REFUSED.format("an input was written to since"))
    given = list(call.given)
    for i in variant.mutated_given:
        given[i] = given[i].detach().clone()
    now = [(generator, generator.state_bytes()) for generator, _ in call.drawn]
    for generator, kept in call.drawn:
        generator.load_state_bytes(kept)
    before = state.grad_enabled
    try:
        return _run(call, given)
    finally:
        state.grad_enabled = before
        for generator, kept in now:
            generator.load_state_bytes(kept)


def _run(call: Any, given: list[Any]) -> list[tuple[Any, int]]:
    variant = call.variant
    gm = variant.gm
    inputs = iter(given)
    constants = dict(zip(variant.constants, given[len(gm.graph.placeholders) :], strict=True))
    values: dict[Node, Any] = {}
    found: list[Any] = [None] * len(variant.origins)
    for node in gm.graph:
        if node.op == "placeholder":
            values[node] = next(inputs)
            continue
        args, kwargs = (map_nodes(a, values.__getitem__) for a in (node.args, node.kwargs))
        if node.op == "output":
            leaves = flatten(args[0])[0]
            for k, origin in enumerate(variant.origins):
                if found[k] is None:
                    found[k] = gradient_edge(leaves[origin.leaf])
            break
        if node.op == "get_attr":
            name = str(node.target)
            values[node] = constants[name] if name in constants else gm.constants[name]
        elif node.op == "call_method":
            values[node] = getattr(args[0], str(node.target))(*args[1:], **kwargs)
        else:
            values[node] = node.target(*args, **kwargs) if callable(node.target) else runner(node.target)(*args)
        made = [(k, o) for k, o in enumerate(variant.origins) if o.maker is node and o.holder is not None]
        tensors = [(k, _pick(values[o.holder], o.part)) for k, o in made]  # type: ignore[index]
        for k, t in tensors:
            found[k] = gradient_edge(t)
        for k, t in tensors:
            member = call.members[k]()
            if member is not None:
                # Also for what the operator itself saved of its result.
                maker, number = found[k]
                maker.metadata.setdefault("stand-ins", {})[number] = (member, 0)
                t._requires_grad, t._grad_fn, t._output_nr = True, member, 0
    return found


def _pick(value: Any, part: int | None) -> Tensor:
    return value if part is None else value[part]
