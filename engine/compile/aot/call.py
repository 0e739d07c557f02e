"""One call of a compiled graph on the tape: what is kept of it, and how gradients go back through it.

A result with a history hangs on a `CompiledFunctionBackward`; those of one call share a `Call`, and hang on one another and on the
inputs as the operators did. A backward pass that comes to one of them goes through the whole call at once, by generated code, and
meets hooks, retained gradients and wanted ones in the order of the operators (`Call.pull`). Only a pass that is itself recorded
(`create_graph`) goes from one to the next, through operators that are run again (`again.py`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.node import Node as TapeNode
from ...autograd.node import _sequence
from ...autograd.op_node import FREED, Saved
from ...state import state
from ...tensor import Tensor

_COPIED = tuple(n for n in TapeNode.__slots__ if n not in ("__weakref__", "forward_trace"))
"""What a node that was just made has."""


class Boundary(TapeNode):
    """Stands for the history of an input that is no leaf."""

    __slots__ = ()

    def apply(self, grads: list[Any]) -> list[Any]:
        return []


class SpentBackward(TapeNode):
    """The history of a result whose graph was walked already inside the compiled function."""

    __slots__ = ()

    def apply(self, grads: list[Any]) -> list[Any]:
        raise RuntimeError(FREED)

    def release(self) -> None:
        """Nothing is saved here."""


class CompiledFunctionBackward(TapeNode):
    """The tape node of one result of a compiled graph (of several, where they have the same place on the tape).

    `group` is the call where gradients have to go through several such nodes at once.
    """

    __slots__ = ("call", "group", "number")

    call: Call
    number: int

    def twin(self, edges: tuple[Any, ...]) -> CompiledFunctionBackward:
        """A node of the same call, at the same place in the source."""
        out: CompiledFunctionBackward = object.__new__(CompiledFunctionBackward)
        for name in _COPIED:
            setattr(out, name, getattr(self, name))
        out.edges, out.sequence_nr = edges, next(_sequence)
        if hasattr(self, "forward_trace"):
            out.forward_trace = self.forward_trace
        return out

    def apply(self, grads: list[Any]) -> list[Any]:
        if state.grad_enabled:
            return self.call.again(self, grads[0])
        return self.call.pull({self.number: grads[0]}) if self.group is not None else self.call.straight(grads[0])

    def release(self) -> None:
        if self.group is None:
            self.call.forget()
            return
        self.call.release(self.call.variant.inner.region(self.number)[2])


class Call:
    """What the nodes of one call share. `watched` are tensors that eager execution would have saved: changing them is an error."""

    __slots__ = (
        "__weakref__", "drawn", "edges", "freed", "fresh", "given", "members", "numbers", "outputs", "saved", "variant", "versions", "watched",
    )  # fmt: skip

    def __init__(self, variant: Any, edges: tuple[Any, ...]):
        self.variant = variant
        self.edges = edges
        """Where the inputs' gradients go."""
        self.members: list[Any] = []
        """Weak references to the nodes."""
        self.saved: list[Saved] | None = None
        self.numbers: tuple[Any, ...] = ()
        self.watched: Sequence[tuple[Saved, frozenset[int]]] = ()
        self.freed: frozenset[int] = frozenset()
        self.given: list[Any] | None = None
        """The inputs, where the operators can be run again; `versions` says whether they were written to, `drawn` holds generators."""
        self.versions = 0
        self.drawn: Any = ()
        self.fresh: list[Any] | None = None

    def nodes(self, outputs: list[tuple[Any, ...] | None]) -> list[CompiledFunctionBackward]:
        """The nodes of all members, of these (shape, dtype, device): the order of the operators is the order on the tape."""
        inner = self.variant.inner
        count = len(outputs)
        made: list[Any] = [None] * count
        first: CompiledFunctionBackward | None = None
        for k in inner.order:
            if count == 1:
                edges = self.edges
            else:
                members, inputs, _ = inner.region(k)
                edges = (*[self.edges[i] for i in inputs], *[(made[j], 0) for j in members])
            node = CompiledFunctionBackward(None, edges) if first is None else first.twin(edges)
            first = first or node
            node.call, node.number, node.group = self, k, self if count > 1 else None
            node.outputs = (outputs[k],)
            made[k] = node
        self.members = [weakref.ref(n) for n in made]
        self.outputs = outputs
        return made

    # -- going back -----------------------------------------------------------------------------

    def pull(
        self,
        tangents: dict[int, Any],
        *,
        arrive: Callable[[TapeNode, list[Any]], list[Any]] | None = None,
        needed: set[int] | None = None,
        ends: Any = (),
        retain_graph: bool = True,
    ) -> list[Any]:
        """The gradients of the inputs, by edge (None where there is none), from those of members.

        `arrive` takes a node and its gradient and gives what to go on with; `needed` and `ends` are those of `run_backward`. Raises
        RuntimeError where saved values are gone or were written to.
        """
        inner = self.variant.inner
        alive = [ref() for ref in self.members] if arrive is not None else []
        wanted = None
        if needed is not None:
            wanted = (
                frozenset([k for k, m in enumerate(alive) if m is not None and (id(m), 0) in ends]),
                frozenset(
                    [
                        i
                        for i, e in enumerate(self.edges)
                        if e is not None and (id(e[0]) in needed or (id(e[0]), e[1]) in ends)
                    ]
                ),
            )
        walk = inner.walk(tuple(sorted(tangents)), wanted)
        self.check(walk.spends)
        for s, seqs in self.watched:
            if not seqs.isdisjoint(walk.visited):
                s.unpack(self._speaker())
        met = [(k, alive[k]) for k in walk.members if alive[k] is not None] if arrive is not None else []
        hooked = any(m._before or (m._tensor_hooks and any(m._tensor_hooks.values())) for _, m in met)
        told = [] if hooked else [k for k, m in met if m._retained or m._after or (id(m), 0) in ends]
        totals: dict[int, Any] = {}
        pattern = self.variant.pattern(walk, tuple(told), hooked)
        values = self._values(pattern, tangents)
        if hooked:
            assert arrive is not None

            def show(k: int, gradient: Any) -> Any:
                m = alive[k]
                totals[k] = gradient if m is None else arrive(m, [gradient.detach_shallow()])[0]
                return totals[k]

            got = pattern.run(show, *values)
        else:
            got = pattern.run(*values)
            for k, g in zip(told, got[len(pattern.inputs) :], strict=True):
                assert arrive is not None
                totals[k] = arrive(alive[k], [g.detach_shallow()])[0]
        out: list[Any] = [None] * len(self.edges)
        for i, g in zip(pattern.inputs, got, strict=False):
            if g is not None and self.edges[i] is not None:
                out[i] = g.detach_shallow() if isinstance(g, Tensor) else g
        for k, m in met:
            if m._after:
                self._after(m, out, totals[k])
        if not retain_graph:
            self.release(walk.spends)
        return out

    def _after(self, node: CompiledFunctionBackward, out: list[Any], gradient: Any) -> None:
        """Hooks that run after a node: what flows to other members of the call is not known to them."""
        inputs = self.variant.inner.region(node.number)[1]
        for hook in list(node._after or ()):
            given = [out[i] for i in inputs] + [None] * (len(node.edges) - len(inputs))
            got = hook(tuple(given), (gradient,))
            if got is not None:
                for i, g in zip(inputs, got if isinstance(got, (tuple, list)) else [got], strict=False):
                    out[i] = g

    def straight(self, gradient: Any) -> list[Any]:
        """`pull` where there is one member, of which everything is needed."""
        if self.freed:
            raise RuntimeError(FREED)
        speaker = self.members[0]
        for s, _ in self.watched:
            s.unpack(speaker())
        pattern = self.variant.straight
        out: list[Any] = [None] * len(self.edges)
        got = pattern.run(*self._values(pattern, {0: gradient}))
        for i, g in zip(pattern.inputs, got, strict=True):
            if g is not None and self.edges[i] is not None:
                out[i] = g.detach_shallow()
        return out

    def forget(self) -> None:
        """All nodes inside were visited: nothing is kept, where something was."""
        if self.variant.inner.saving:
            self.freed = self.variant.inner.saving
            self.saved, self.given, self.fresh = None, None, None
            self.watched, self.drawn = (), ()

    def _values(self, pattern: Any, tangents: dict[int, Any]) -> list[Any]:
        saved: Sequence[Any] = self.saved or []
        count = len(saved)
        speaker = self._speaker()
        values: list[Any] = [
            saved[i].unpack(speaker).detach_shallow() if i < count else self.numbers[i - count] for i in pattern.given
        ]
        for k in pattern.tangents:
            g = tangents.get(k)
            if g is None:
                from ...ops.creation import zeros

                shape, dtype, device = self.outputs[k]  # type: ignore[misc]
                g = zeros(shape, dtype=dtype, device=device)
            values.append(g.detach_shallow())
        return values

    def _speaker(self) -> Any:
        """A node for error messages."""
        return next((n for ref in self.members if (n := ref()) is not None), None)

    def check(self, spends: frozenset[int]) -> None:
        """Refuse to visit what was freed; raises RuntimeError."""
        if self.freed and not spends.isdisjoint(self.freed):
            raise RuntimeError(FREED)

    def release(self, spends: frozenset[int]) -> None:
        """Visited nodes are freed; when all are, so are the values."""
        self.freed |= spends
        if self.freed >= self.variant.inner.saving:
            self.forget()

    # -- derivatives of derivatives -------------------------------------------------------------

    def again(self, node: CompiledFunctionBackward, gradient: Any) -> list[Any]:
        """Gradients for the edges of one node, recorded: its operators are run again from the same inputs."""
        from ...autograd.run import run_backward
        from .again import run_again

        self.check(self.variant.inner.region(node.number)[2])
        for s, _ in self.watched:
            s.unpack(node)
        if self.fresh is None:
            self.fresh = run_again(self)
        out: list[Any] = [None] * len(node.edges)
        places = [i for i, e in enumerate(node.edges) if e is not None]
        wanted = [e for e in node.edges if e is not None]
        got = run_backward(
            [self.fresh[node.number]],
            [gradient],
            retain_graph=True,
            create_graph=True,
            wanted=wanted,
            gather=False,
            cut=True,
        )
        for i, g in zip(places, got, strict=True):
            out[i] = g
        return out
