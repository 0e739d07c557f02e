"""What a capture knows of the tape before it: nothing but where it begins.

A tensor that comes into a graph with a history stands there with an `Outside` node, the end of the tape of the fakes. A backward pass that
gets there goes on in operators that ran earlier, with effects the capture cannot know, so it is done on real tensors between two graphs.
What the tape of the fakes says within the graph is the business of the engine's own tape.
"""

from __future__ import annotations

import operator
from typing import Any

from ...autograd.node import Node as TapeNode
from ...autograd.run import AccumulateGrad
from ...tensor import Tensor, gradient_edge
from .stops import Stop


class Outside(AccumulateGrad):
    """Stands for the history of a tensor that was made before the graph: an end of the tape that is nobody's leaf."""

    __slots__ = ()

    def __init__(self, fake: Any) -> None:
        super().__init__(fake)
        self.variable = None

    def apply(self, grads: list[Any]) -> list[Any]:
        return []


def begin(fake: Any) -> None:
    """Give a twin, made as a leaf, the history of a tensor that has one."""
    fake._grad_fn = Outside(fake)


def ends(tensors: list[Any]) -> dict[int, TapeNode]:
    """The nodes at which a backward pass from some fakes would end, by identity: `Outside` ones, and those of leaves."""
    found: dict[int, TapeNode] = {}
    done: set[int] = set()
    stack = [gradient_edge(t)[0] for t in tensors if t.requires_grad]
    while stack:
        node = stack.pop()
        if id(node) in done:
            continue
        done.add(id(node))
        if type(node) in (Outside, AccumulateGrad):
            found[id(node)] = node
        stack += [e[0] for e in node.edges if e is not None]
    return found


def check_backward(domain: Any, what: str, roots: Any, wanted: Any) -> None:
    """End the graph where a backward pass has to go on in the tape before it.

    With `wanted`, gradients of what was made inside need nothing of that tape; those of a tensor from before do, unless it is the very one
    at which the graph's tape begins.
    """
    reached = [key for key, node in domain.run_leaf(ends, [_tensors(roots)], {}).items() if type(node) is Outside]
    if not reached:
        return
    if wanted is None:
        raise Stop("outer-tape", what)
    for t in _tensors(wanted):
        if domain.world.source_of(t) is None or not t.requires_grad:
            continue
        at = id(domain.run_leaf(gradient_edge, [t], {})[0])
        if any(key != at for key in reached):
            raise Stop("outer-tape", what)


def keep_gradient(domain: Any, t: Any, what: str) -> None:
    """A tensor with a history keeps its gradient from now on: known inside the graph only, so that it may not leave it."""
    if not isinstance(t, Tensor) or t.grad_fn is None:
        return
    if domain.world.source_of(t) is not None:
        raise Stop("outer-tape", what)
    domain.keepers.setdefault(id(t), (t, domain.steps, what))


def too_long(domain: Any, outputs: list[Any]) -> tuple[int, Stop] | None:
    """The step before which a graph must end, and what is done there, so that its results have the tape that eager ones would.

    A compiled graph is one node of the tape: a tensor between its operators that keeps a gradient, or a leaf that was made there, must be
    an input of the next graph instead.
    """
    made = [(domain.parameters[id(t)][1], Stop("escape", "A Parameter")) for t in outputs if id(t) in domain.parameters]
    found = [domain.keepers[id(t)][1:] for t in outputs if id(t) in domain.keepers]
    for t in outputs:
        if not (t.requires_grad and t.grad_fn is None):
            continue
        step = domain.leaves_made.get(id(t))
        others = [o for o in outputs if o is not t and o.grad_fn is not None]
        if step is not None and id(gradient_edge(t)[0]) in domain.run_leaf(ends, [others], {}):
            found.append((step[1], "requires_grad_"))
    made += [(step, Stop("inner-tape", what)) for step, what in found]
    return min(made, key=operator.itemgetter(0), default=None)


def _tensors(given: Any) -> list[Any]:
    if isinstance(given, Tensor):
        return [given]
    return [t for t in given if isinstance(t, Tensor)]
