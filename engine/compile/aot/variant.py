"""One compiled form of a level-1 graph, and what a call of it does; `build.py` makes it.

Inputs are counted as the caller gives them (the graph's parameters, then its constants); gradients that are there already when the
graph begins are inputs of the trace as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ... import dispatch
from ...autograd.node import Node as TapeNode
from ...autograd.op_node import Saved
from ...random import GENERATORS, Generator, default_generator
from ...state import state
from ...tensor import Tensor, gradient_edge
from ..breaks import HalfWritten
from ..checking import Mismatch
from ..fake import is_symbolic
from ..graph import GraphModule, Node
from .call import Call, SpentBackward
from .inner import Inner, Walk
from .partition import Decision
from .patterns import Pattern, Whole, specialise


class Undone(Exception):
    """The forward part failed; nothing was written yet, and generators are where they were."""


@dataclass(slots=True)
class Place:
    """Where one result comes from: `kind` is "value" (flat output `index`), "plain" (`value`), "input" (the input itself),
    "view" (views of input `index`), "base" (views of flat output `index`), or "same" (result `index`)."""

    kind: str
    index: int = 0
    views: list[Any] = field(default_factory=list)
    value: Any = None
    detached: bool = False
    """Whether the views are of the memory only, unknown to the tape."""

    kind_of_view: tuple[str, str] = ("", "")
    """What in-place writes to the view must know: how it came about, and the name of its maker."""
    member: int | None = None
    """The member that a view is, where other results hang on it."""


@dataclass(slots=True)
class Origin:
    """Where a member is made when the level-1 graph runs: `holder` has it (its item `part`) after `maker` ran; it is leaf `leaf` of the results."""

    maker: Node | None = None
    holder: Node | None = None
    part: int | None = None
    leaf: int | None = None


class Variant:
    """Runs compiled code: see the module."""

    def __init__(self) -> None:
        self.joint: GraphModule | None = None
        self.forward_graph: GraphModule = None  # type: ignore[assignment]
        self.backward_graph: GraphModule | None = None
        """The backward pass from all members to all inputs."""
        self.forward: Callable[..., Any] = None  # type: ignore[assignment]
        self.inner: Inner = None  # type: ignore[assignment]
        self.whole: Whole | None = None
        self.patterns: dict[Any, Pattern] = {}
        self.straight: Pattern | None = None
        """The only pattern, where there is one member."""
        self.backward_compiler: Callable[..., Any] = None  # type: ignore[assignment]
        self.decisions: list[Decision] = []
        self.rebuild: Callable[[list[Any]], Any] = lambda parts: parts
        self.places: list[Place] = []
        self.memory_inputs: list[int] = []
        self.grad_inputs: list[int] = []
        """Given tensors whose `.grad`, there already, is an input too."""
        self.mutated: list[tuple[int, int, bool]] = []
        """(trace input, flat output, whether its history changes) of inputs that are written to."""
        self.mutated_given: list[int] = []
        self.grads: list[tuple[int, Place | None]] = []
        """(given tensor, its new gradient) for gradients set."""
        self.flags: list[tuple[int, bool]] = []
        self.count = 0
        """Flat outputs before the saved values."""
        self.tensors_saved = 0
        self.hung: list[tuple[int, int]] = []
        """Flat outputs that have a history, and which member each is."""
        self.examples: list[int | None] = []
        """A flat output for each member (None for those that are views), which has its shape."""
        self.spent: list[int] = []
        self.born: list[int] = []
        """Flat outputs that are leaves made inside."""
        self.edge_inputs: list[int] = []
        """Given tensors that gradients flow to, in the order of a call's edges."""
        self.watched_inputs: list[tuple[int, frozenset[int]]] = []
        self.watched_outputs: list[tuple[int, frozenset[int]]] = []
        self.unviewed: list[int] = []
        """Given tensors that may not be views: they are written to, and other results hang on what was written."""
        self.symbols: dict[str, tuple[int, int]] = {}
        self.grad_after: bool | None = None
        """The gradient mode that the function leaves, where it changes it."""
        self.random = False
        self.guard: Callable[[list[Any]], bool] | None = None
        """Relations of symbolic sizes that must hold, beside those of whoever captured the graph."""
        self.gm: GraphModule = None  # type: ignore[assignment]
        """The level-1 graph, with the names of its constants that are inputs here."""
        self.constants: list[str] = []
        self.origins: list[Origin] = []
        self.final: str | None = None
        """Why running the operators again would not give the same, where that is so."""

    def __call__(self, given: list[Any]) -> Any:
        flat = [*given, *[given[i]._grad for i in self.grad_inputs]] if self.grad_inputs else given
        edges = None
        if self.edge_inputs:
            edges = tuple([gradient_edge(given[i]) if given[i].requires_grad else None for i in self.edge_inputs])
        before, state.grad_enabled = state.grad_enabled, False
        drawn = _generators(given) if self.random else ()
        try:
            made = self.forward(*flat)
        except Mismatch:
            raise
        except HalfWritten as failed:
            assert failed.__cause__ is not None
            failed.__cause__.add_note(str(failed))
            raise failed.__cause__ from None  # of its own class: a lost device, full memory
        except Exception as error:
            for generator, kept in drawn:
                generator.load_state_bytes(kept)
            raise Undone(error) from error
        finally:
            state.grad_enabled = before
        made = list(made)
        call = nodes = None
        if edges is not None:
            call = Call(self, edges)
            for i, _ in self.hung:
                if made[i]._base is not None:  # a view of what is gone: its history is the graph's alone
                    made[i] = made[i].detach_shallow()
            nodes = call.nodes(
                [
                    None if i is None else (made[i]._data.shape, made[i]._dtype, made[i]._storage.backend.name)
                    for i in self.examples
                ]
            )
            for i, k in self.hung:
                _hang(made[i], nodes[k])
        for i in self.born:
            made[i]._requires_grad = True
        for i in self.spent:
            _hang(made[i], SpentBackward(None, ()))
        for i, o, history in self.mutated:
            _write(flat[i], made[o], history)
        for i, flag in self.flags:
            given[i]._requires_grad = flag
        results: list[Any] = []
        for place in self.places:
            results.append(self._result(place, made, given, results))
            if place.member is not None and nodes is not None:
                _be_member(results[-1], nodes[place.member])
        for i, place in self.grads:
            given[i]._grad = None if place is None else self._result(place, made, given, results)
        if call is not None:
            self._keep(call, made, given, drawn)
        if self.grad_after is not None:
            state.grad_enabled = self.grad_after
        return self.rebuild(results)

    def _keep(self, call: Call, made: list[Any], given: list[Any], drawn: Any) -> None:
        """What a backward pass will need."""
        end = self.count + self.tensors_saved
        outputs = {id(made[i]): k for i, k in self.hung}
        call.saved = [Saved(t, output_of=0 if id(t) in outputs else None) for t in made[self.count : end]]
        call.numbers = tuple(made[end:])
        call.watched = [
            *[(Saved(given[i]), seqs) for i, seqs in self.watched_inputs],
            *[
                (Saved(made[o], output_of=0 if id(made[o]) in outputs else None), seqs)
                for o, seqs in self.watched_outputs
            ],
        ]
        if self.final is None:
            call.given, call.versions, call.drawn = given, self.versions(given), drawn

    @property
    def differentiable(self) -> list[int]:
        """Flat outputs that need a gradient."""
        return [*[i for i, _ in self.hung], *self.born]

    def versions(self, given: list[Any]) -> int:
        """A number that changes when an input is written to."""
        return sum([given[i]._storage.version for i in self.memory_inputs])

    def pattern(self, walk: Walk, told: tuple[int, ...] = (), hooked: bool = False) -> Pattern:
        """The backward code for one walk, compiled when it is first needed."""
        key = (id(walk), told, hooked)  # walks are kept by `inner`
        found = self.patterns.get(key)
        if found is None:
            assert self.whole is not None
            found = specialise(self.whole, walk, told, hooked)
            if hooked:
                found.run = found.module.forward
            else:
                try:
                    found.run = self.backward_compiler(
                        found.module, [n.meta.get("val") for n in found.module.placeholders()]
                    )
                except Exception:  # a compiler's mistake must not stop the user's backward pass
                    found.run = found.module.forward
            self.patterns[key] = found
        return found

    def parts(self) -> list[Any]:
        """The compiled pieces: forward, and the backward passes that were needed (all gradients where none was yet)."""
        if self.whole is not None and not any(not hooked for _, _, hooked in self.patterns):
            self.pattern(self.inner.all())
        return [self.forward, *[p.run for (_, _, hooked), p in self.patterns.items() if not hooked]]

    def _result(self, place: Place, made: list[Any], given: list[Any], results: list[Any]) -> Any:
        kind = place.kind
        if kind == "value":
            return made[place.index]
        if kind == "plain":
            return place.value
        if kind == "input":
            return given[place.index]
        if kind == "same":
            return results[place.index]
        t = given[place.index] if kind == "view" else made[place.index]
        if place.detached:
            t = t.detach_shallow()
        for op, statics in place.views:
            if op.name == "as_strided":
                statics = (*statics[:2], statics[2] + t.storage_offset())
            t = dispatch.call(op, (t,), tuple([self._static(s, given) for s in statics]))
        if place.kind_of_view[0] and not place.detached:
            t._creation, t._maker = place.kind_of_view
        return t

    def _static(self, s: Any, given: list[Any]) -> Any:
        if type(s) is tuple:
            return tuple([self._static(x, given) for x in s])
        return self._number(s, given) if is_symbolic(s) else s

    def _number(self, n: Any, given: list[Any]) -> Any:
        values = {}
        for s in n.free_symbols():
            i, d = self.symbols[s]
            values[s] = given[i] if d < 0 else given[i].shape[d]
        return n.evaluate(values)


def _generators(given: list[Any]) -> list[tuple[Any, Any]]:
    """Every generator that the graph may draw from, with its state."""
    found = [default_generator, *[g for _, g in GENERATORS.values()], *[g for g in given if isinstance(g, Generator)]]
    return [(g, g.state_bytes()) for g in found]


def _hang(t: Tensor, node: TapeNode) -> None:
    t._requires_grad, t._grad_fn, t._output_nr = True, node, 0


def _be_member(view: Tensor, node: TapeNode) -> None:
    """A view of memory that has a place of its own on the tape, since other results hang on it."""
    _hang(view, node)
    node.outputs = ((view._data.shape, view._dtype, view._storage.backend.name),)


def _write(target: Tensor, value: Tensor, history: bool) -> None:
    """Write a new value into an input, with its history where the function changed that."""
    if history:
        dispatch.write(target, value)
        return
    if value is not target:  # generated code may have written it there itself
        target._storage.backend.copy(target._data, value._data)
    target._storage.version += 1
