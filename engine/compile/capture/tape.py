"""What a capture knows of the tape before it: nothing but where it begins.

A tensor that comes into a graph with a history stands there with an `Outside` node, the end of the tape of the fakes. A backward pass that
gets there goes on in operators that ran earlier, with effects the capture cannot know, so it is done on real tensors between two graphs.
What the tape of the fakes says within the graph is the business of the engine's own tape.
"""

from __future__ import annotations

from typing import Any

from ...autograd.node import Node as TapeNode
from ...tensor import Tensor, gradient_edge
from .stops import Stop


class Outside(TapeNode):
    """Stands for the history of a tensor that was made before the graph."""

    __slots__ = ()

    def apply(self, grads: list[Any]) -> list[Any]:
        return []

    def release(self) -> None:
        """Nothing is saved here."""


def begin(fake: Any) -> Any:
    """Give a twin, made as a leaf, the history of a tensor that has one."""
    node = Outside(None, ())
    node.outputs = ((fake._data.shape, fake._dtype, fake._storage.backend.name),)
    fake._grad_fn = node
    return node


def ends(tensors: list[Any]) -> dict[int, Outside]:
    """The `Outside` nodes that a backward pass from some fakes would get to, by identity."""
    found: dict[int, Outside] = {}
    done: set[int] = set()
    stack = [gradient_edge(t)[0] for t in tensors if t.requires_grad]
    while stack:
        node = stack.pop()
        if id(node) in done:
            continue
        done.add(id(node))
        if type(node) is Outside:
            found[id(node)] = node
        stack += [e[0] for e in node.edges if e is not None]
    return found


def check_backward(domain: Any, what: str, roots: Any, wanted: Any) -> None:
    """End the graph where a backward pass has to go on in the tape before it.

    With `wanted`, gradients of what was made inside need nothing of that tape; those of a tensor from before do, unless it is the very one
    at which the graph's tape begins.
    """
    reached = domain.run_leaf(ends, [_tensors(roots)], {})
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


def _tensors(given: Any) -> list[Any]:
    if isinstance(given, Tensor):
        return [given]
    return [t for t in given if isinstance(t, Tensor)]
