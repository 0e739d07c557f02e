"""The backward pass: gradients flow from the roots through the tape's nodes to the leaves.

Nodes run in the reverse order of their recording.  A node is recorded after everything it depends on, so whoever
contributes to its gradient has a higher sequence number and has run before; no counting of dependencies is needed, and
no recursion.  This file moves gradients; what a node computes is its own business.
"""

from __future__ import annotations

import heapq
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from ..observe import BackwardBegan, Meta, NodeVisited, bus
from ..state import state
from .node import Edge, Node, call_site, resolve_source


class AccumulateGrad(Node):
    """The end of the tape at a leaf: adds to the leaf's `.grad`."""

    __slots__ = ("post_hooks", "variable")

    def name(self) -> str:
        """PyTorch's name, with its C++ namespace."""
        return "torch::autograd::AccumulateGrad"

    def __init__(self, variable: Any):
        super().__init__(None, ())
        self.variable = variable
        self.outputs = ((variable._data.shape, variable._dtype, variable._storage.backend.name),)
        self.post_hooks: list[Any] = []

    def apply(self, grads: list[Any]) -> list[Any]:
        accumulate(self.variable, grads[0])
        for hook in self.post_hooks:
            hook(self.variable)
        return []

    def release(self) -> None:
        """Nothing is saved here."""


def accumulate(leaf: Any, grad: Any) -> None:
    """Add one gradient to `leaf.grad`. What arrives may be shared with others, so it is copied unless recorded."""
    have = leaf._grad
    if have is None:
        if grad._requires_grad and state.grad_enabled:
            leaf._grad = grad.clone() if grad._base is not None else grad
        else:
            leaf._grad = own_grad(grad)
    elif state.grad_enabled and (have._requires_grad or grad._requires_grad):
        leaf._grad = have + grad
    else:
        have.add_(grad)


def own_grad(grad: Any) -> Any:
    """`grad` itself where nobody else holds its memory and it is dense, else a copy."""
    if grad._base is None and grad.is_contiguous() and sys.getrefcount(grad._storage) <= _UNSHARED:
        return grad.detach_shallow()
    return grad.detach_shallow()._contiguous_copy()


class _Probe:
    __slots__ = ("_storage",)


def _count(grad: Any) -> int:
    return sys.getrefcount(grad._storage)


def _calibrate() -> int:
    probe = _Probe()
    probe._storage = _Probe()  # type: ignore[assignment]
    return _count(probe)


_UNSHARED = _calibrate()
"""What `sys.getrefcount` says of a storage that only one tensor holds (it differs between Python versions)."""


def run_backward(
    roots: Sequence[Edge],
    grads: Sequence[Any],
    *,
    retain_graph: bool,
    create_graph: bool,
    wanted: Sequence[Edge] | None = None,
    gather: bool = True,
    cut: bool = False,
) -> list[Any]:
    """Push `grads` from the `roots` down the tape.

    With `wanted`, only the nodes on the way to those edges run; their gradients are returned in order (None where nothing
    arrived) and, with `gather`, also added to the leaves' `.grad`.  With `cut` the pass ends at the wanted edges,
    before hooks: whoever called goes on there.  Raises RuntimeError where saved values are gone.
    """
    if bus.backward:
        bus.publish(
            BackwardBegan(
                tuple(n.sequence_nr for n, _ in roots), resolve_source(*call_site(2)), tuple(n for n, _ in roots)
            )
        )
    needed = _needed(roots, wanted) if wanted is not None else None
    ends = {(id(n), i) for n, i in wanted} if wanted is not None else set()
    caught: dict[tuple[int, int], Any] = {}
    buffers: dict[int, list[Any]] = {}
    heap: list[tuple[int, int, Node]] = []
    arrived = 0  # leaves run in the order in which they were reached: hooks of two processes then meet at the same one

    def hand(node: Node, number: int, grad: Any) -> None:
        nonlocal arrived
        key = id(node)
        if cut and (key, number) in ends:
            have = caught.get((key, number))
            caught[key, number] = grad if have is None else have + grad
            return
        slots = buffers.get(key)
        if slots is None:
            slots = buffers[key] = [None] * max(len(node.outputs), number + 1)
            arrived += 1
            heapq.heappush(heap, (-node.sequence_nr if type(node) is not AccumulateGrad else _LAST, arrived, node))
        have = slots[number]
        slots[number] = grad if have is None else have + grad

    def arrive(node: Node, slots: list[Any]) -> list[Any]:
        """The gradients of a node are complete: hooks, retained gradients, and those that are wanted."""
        if node._tensor_hooks is not None:
            _tensor_hooks(node, slots)
        if node._before is not None:
            for hook in list(node._before):
                got = hook(tuple(slots))
                if got is not None:
                    slots = list(got) if isinstance(got, (tuple, list)) else [got]
        if node._retained is not None:
            for number, ref in node._retained.items():
                t = ref()
                if t is not None and slots[number] is not None:
                    t._grad = own_grad(slots[number]) if t._grad is None else t._grad + slots[number]
        if ends:
            key = id(node)
            for number, grad in enumerate(slots):
                if (key, number) in ends:
                    caught[key, number] = grad
        return slots

    before = state.grad_enabled
    state.grad_enabled = create_graph
    try:
        for (node, number), grad in zip(roots, grads, strict=True):
            hand(node, number, grad)
        while heap:
            node = heapq.heappop(heap)[2]
            key = id(node)
            slots = buffers.pop(key, None)
            if slots is None:  # it ran with its group
                continue
            if node.group is not None and not create_graph:
                taken = {node.number: slots[0]}  # type: ignore[attr-defined]
                for other in [ref() for ref in node.group.members]:
                    if other is not None and (held := buffers.pop(id(other), None)) is not None:
                        taken[other.number] = held[0]
                got = node.group.pull(taken, arrive=arrive, needed=needed, ends=ends, retain_graph=retain_graph)
                for i, edge in enumerate(node.group.edges):
                    if edge is not None and got[i] is not None:
                        target, number = edge
                        if needed is None or id(target) in needed or (id(target), number) in ends:
                            grad, got[i] = got[i], None
                            hand(target, number, grad)
                            del grad
                continue
            if node._tensor_hooks is not None or node._before is not None or node._retained is not None or ends:
                slots = arrive(node, slots)
            if needed is not None and key not in needed:
                continue
            if type(node) is AccumulateGrad:
                if gather:
                    held = slots[0]
                    slots.clear()
                    _leaf(node, held)
                    del held
                continue
            out = _apply(node, slots)
            if node._after is not None:
                for hook in list(node._after):
                    got = hook(tuple(out), tuple(slots))
                    if got is not None:
                        out = list(got) if isinstance(got, (tuple, list)) else [got]
            if bus.node:
                norms = tuple(_norm(g) for g in out) if bus.norms else ()
                bus.publish(NodeVisited(node.sequence_nr, node.name(), tuple(_meta(g) for g in out), norms))
            edges = node.edges
            if not retain_graph:
                node.release()
            slots.clear()
            for i, edge in enumerate(edges):
                if edge is not None and i < len(out) and out[i] is not None:
                    target, number = edge
                    if needed is None or id(target) in needed or (id(target), number) in ends:
                        grad, out[i] = out[i], None
                        hand(target, number, grad)
                        del grad
    finally:
        state.grad_enabled = before
    return [caught.get((id(n), i)) for n, i in wanted] if wanted is not None else []


_LAST = 1
"""Leaves run after all other nodes, when everything has been added to what they get."""


def _leaf(node: AccumulateGrad, grad: Any) -> None:
    if grad is None:
        return
    variable = node.variable
    if variable._grad is None and not (grad._requires_grad and state.grad_enabled):
        # The frames between here and the buffer hold the tensor, not its storage, so sharing shows in the count.
        variable._grad = own_grad(grad)
        for hook in list(node.post_hooks):
            hook(variable)
        return
    node.apply([grad])


def _meta(g: Any) -> Meta | None:
    return None if g is None else Meta(tuple(g._data.shape), g._dtype.name, g._storage.backend.name)


def _norm(g: Any) -> float | None:
    """The length of a gradient, unrecorded; None where it has none."""
    if g is None:
        return None
    before, told = state.grad_enabled, bus.op
    state.grad_enabled = bus.op = False
    try:
        return float(g.detach().abs().float().norm().item())
    except (RuntimeError, TypeError, NotImplementedError):  # a dtype or a layout that has no norm
        return None
    finally:
        state.grad_enabled, bus.op = before, told


def _tensor_hooks(node: Node, slots: list[Any]) -> None:
    for number, hooks in node._tensor_hooks.items():  # type: ignore[union-attr]
        for hook in list(hooks):
            grad = slots[number]
            if grad is None:
                continue
            got = hook(grad)
            if got is not None:
                if got.shape != grad.shape:
                    raise RuntimeError(
                        f"hook '{getattr(hook, '__name__', 'hook')}' has changed the size of value: "
                        f"{list(grad.shape)} became {list(got.shape)}"
                    )
                slots[number] = got


def _apply(node: Node, slots: list[Any]) -> list[Any]:
    """Run one node; in anomaly mode, say which forward line made it."""
    if not state.anomaly:
        return node.apply(slots)
    try:
        out = node.apply(slots)
    except Exception:
        _tell_forward(node)
        raise
    if state.anomaly_check_nan:
        for i, g in enumerate(out):
            if g is not None and g._dtype.category >= 2 and bool(g.isnan().any().item()):
                _tell_forward(node)
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
    return out


def _tell_forward(node: Node) -> None:
    trace = getattr(node, "forward_trace", None)
    where = (
        trace
        if trace is not None
        else "No forward pass information is available. Enable detect anomaly during forward pass."
    )
    warnings.warn(
        f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{where}", stacklevel=5
    )


def _needed(roots: Sequence[Edge], wanted: Sequence[Edge]) -> set[int]:
    """The ids of the nodes that must run for gradients to reach the wanted edges."""
    targets = {id(n) for n, _ in wanted}
    needed: set[int] = set()
    done: set[int] = set()
    for root, _ in roots:
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, left = stack.pop()
            key = id(node)
            if left:
                if any(e is not None and (id(e[0]) in needed or id(e[0]) in targets) for e in node.edges):
                    needed.add(key)
                continue
            if key in done:
                continue
            done.add(key)
            stack.append((node, True))
            stack.extend((e[0], False) for e in node.edges if e is not None and id(e[0]) not in done)
    needed |= {id(n) for n, _ in wanted if type(n) is AccumulateGrad}
    return needed


__all__ = ["AccumulateGrad", "accumulate", "run_backward"]
