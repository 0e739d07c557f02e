"""One compiled form of a level-1 graph: traced, split, and run.

`build` traces on fakes and compiles; `Variant` is what a call runs. Inputs are counted as the caller gives them (the graph's
parameters, then its constants); gradients that are there already when the graph begins are inputs of the trace as well.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ... import dispatch
from ...autograd.node import Node as TapeNode
from ...autograd.op_node import FREED, Saved
from ...autograd.run import run_backward
from ...func.trees import flatten
from ...ops.table import OPS
from ...random import GENERATORS, Generator, default_generator
from ...state import state
from ...tensor import Tensor, gradient_edge
from ..fake import fake_like, is_fake, is_symbolic
from ..fake.layout import is_row_major
from ..fake.symbolic import surely_equal
from ..graph import GraphModule, Node, TensorSpec
from ..graph.passes import eliminate_common_subexpressions
from ..graph.purity import is_random
from . import creations
from .partition import Decision, partition
from .trace import Tracing, run_level1


class Undone(Exception):
    """The forward part failed; nothing was written yet, and generators are where they were."""


class Boundary(TapeNode):
    """Stands for the history of an input that is no leaf."""

    __slots__ = ()

    def apply(self, grads: list[Any]) -> list[Any]:
        return []


class CompiledFunctionBackward(TapeNode):
    """The tape node of a compiled graph. `watched` are tensors that eager execution would have saved: changing them is an error."""

    __slots__ = ("given", "numbers", "variant", "watched")

    given: Any
    numbers: Any
    variant: Any
    watched: Any

    def apply(self, grads: list[Any]) -> list[Any]:
        saved = self.saved
        if saved is None:
            raise RuntimeError(FREED)
        variant = self.variant
        for s in self.watched:
            s.unpack(self)
        if state.grad_enabled:
            return self._again(grads)
        values = [s.unpack(self).detach_shallow() for s in saved]
        tangents = []
        for g, (shape, dtype, device) in zip(grads, self.outputs, strict=True):
            if g is None:
                from ...ops.creation import zeros

                g = zeros(shape, dtype=dtype, device=device)
            tangents.append(g.detach_shallow())
        got = variant.backward(*values, *self.numbers, *tangents)
        out: list[Any] = [None] * len(self.edges)
        for i, g in zip(variant.gradient_places, got, strict=True):
            if g is not None and self.edges[i] is not None:
                out[i] = g.detach_shallow() if isinstance(g, Tensor) else g
        return out

    def _again(self, grads: list[Any]) -> list[Any]:
        """For derivatives of derivatives: run the operators eagerly from the same inputs, and go back through their tape."""
        variant = self.variant
        given = [ref() if ref is not None else value for ref, value in self.given]
        alive = all(ref is None or t is not None for t, (ref, _) in zip(given, self.given, strict=True))
        if not variant.replays or not alive:
            raise RuntimeError(
                "the backward pass of this compiled function cannot be differentiated again (create_graph=True), since it draws random "
                "numbers, writes to its inputs, or its inputs are gone: run it without torch.compile, or compile the function that takes "
                "both derivatives"
            )
        leaves = flatten(variant.replay(given))[0]
        outs = [leaves[variant.replays[i]] for i in variant.differentiable]
        chosen = [(o, g) for o, g in zip(outs, grads, strict=True) if g is not None]
        wanted = [given[i] for i in variant.edge_inputs]
        edges = [gradient_edge(t) for t in wanted]
        starts = [gradient_edge(o) for o, _ in chosen]
        return run_backward(
            starts, [g for _, g in chosen], retain_graph=True, create_graph=True, wanted=edges, gather=False
        )

    def release(self) -> None:
        self.saved = None
        self.watched = self.given = ()


class SpentBackward(TapeNode):
    """The history of a result whose graph was walked already inside the compiled function."""

    __slots__ = ()

    def apply(self, grads: list[Any]) -> list[Any]:
        raise RuntimeError(FREED)

    def release(self) -> None:
        """Nothing is saved here."""


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


class Variant:
    """Runs compiled code: see the module."""

    def __init__(self) -> None:
        self.joint: GraphModule | None = None
        self.forward_graph: GraphModule = None  # type: ignore[assignment]
        self.backward_graph: GraphModule | None = None
        self.forward: Callable[..., Any] = None  # type: ignore[assignment]
        self.backward: Callable[..., Any] = None  # type: ignore[assignment]
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
        self.differentiable: list[int] = []
        """Flat outputs that the tape node is hung on, in the order of its outputs."""
        self.spent: list[int] = []
        self.edge_inputs: list[int] = []
        """Given tensors that gradients flow to, in the order of the node's edges."""
        self.gradient_places: list[int] = []
        self.watched_inputs: list[int] = []
        self.watched_outputs: list[int] = []
        self.symbols: dict[str, tuple[int, int]] = {}
        self.grad_after: bool | None = None
        """The gradient mode that the function leaves, where it changes it."""
        self.random = False
        self.guard: Callable[[list[Any]], bool] | None = None
        """Relations of symbolic sizes that must hold, beside those of whoever captured the graph."""
        self.replay: Callable[[list[Any]], Any] = lambda given: None
        """Runs the level-1 graph."""
        self.replays: dict[int, int] = {}
        """Which result each differentiable flat output is; empty where running again would not give the same."""

    def __call__(self, given: list[Any]) -> Any:
        flat = [*given, *[given[i]._grad for i in self.grad_inputs]] if self.grad_inputs else given
        edges = None
        if self.edge_inputs:
            edges = tuple([gradient_edge(given[i]) if given[i].requires_grad else None for i in self.edge_inputs])
        before, state.grad_enabled = state.grad_enabled, False
        drawn = _generators(given) if self.random else ()
        try:
            made = self.forward(*flat)
        except Exception as error:
            for generator, kept in drawn:
                generator.load_state_bytes(kept)
            raise Undone(error) from error
        finally:
            state.grad_enabled = before
        made = list(made)
        for i in self.differentiable:
            if made[i]._base is not None:  # a view of what is gone: its history is the graph's alone
                made[i] = made[i].detach_shallow()
        node = None
        if edges is not None:
            node = CompiledFunctionBackward(None, edges)
            node.variant = self
            node.given = (
                [(weakref.ref(t), None) if isinstance(t, Tensor) else (None, t) for t in given] if self.replays else ()
            )
            node.outputs = tuple(
                [(made[i]._data.shape, made[i]._dtype, made[i]._storage.backend.name) for i in self.differentiable]
            )
            for k, i in enumerate(self.differentiable):
                _hang(made[i], node, k)
        for i in self.spent:
            _hang(made[i], SpentBackward(None, ()), 0)
        for i, o, history in self.mutated:
            _write(flat[i], made[o], history)
        for i, flag in self.flags:
            given[i]._requires_grad = flag
        results: list[Any] = []
        for place in self.places:
            results.append(self._result(place, made, given, results))
        for i, place in self.grads:
            given[i]._grad = None if place is None else self._result(place, made, given, results)
        if node is not None:
            end = self.count + self.tensors_saved
            outputs = {i: k for k, i in enumerate(self.differentiable)}
            saved = []
            for t in made[self.count : end]:
                k = next((outputs[i] for i in outputs if made[i] is t), None)
                saved.append(Saved(t, output_of=k))
            node.saved = saved
            node.numbers = tuple(made[end:])
            node.watched = [
                *[Saved(given[i]) for i in self.watched_inputs],
                *[Saved(made[o], output_of=outputs.get(o)) for o in self.watched_outputs],
            ]
        if self.grad_after is not None:
            state.grad_enabled = self.grad_after
        return self.rebuild(results)

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


def _hang(t: Tensor, node: TapeNode, number: int) -> None:
    t._requires_grad, t._grad_fn, t._output_nr = True, node, number


def _write(target: Tensor, value: Tensor, history: bool) -> None:
    """Write a new value into an input, with its history where the function changed that."""
    if history:
        dispatch.write(target, value)
        return
    if value is not target:  # generated code may have written it there itself
        target._storage.backend.copy(target._data, value._data)
    target._storage.version += 1


# -- building -------------------------------------------------------------------------------------


def build(owner: Any, given: list[Any]) -> Variant:
    """Trace and compile for inputs like `given`; raises whatever the traced operators raise."""
    out = Variant()
    gm = owner.gm
    env = next((s.env for e in owner.examples for s in _symbolic_sizes(e)), None)
    tracing = Tracing(env)
    names = [n.name for n in gm.graph.placeholders] + owner.constants
    twins: list[Any] = []
    edges: list[Any] = []
    known = len(env.records) if env is not None else 0
    with tracing.active():
        for i, (value, name) in enumerate(zip(given, names, strict=True)):
            example = owner.examples[i] if i < len(owner.examples) else value
            twins.append(_twin(tracing, value, example, name))
        for t, real in zip(twins, given, strict=True):
            edges.append(gradient_edge(t) if isinstance(t, Tensor) and real.requires_grad else None)
        if owner.touches_grads:
            if any(isinstance(t, Tensor) and (t._hooks or "_kept_accumulator" in t.__dict__) for t in given):
                raise RuntimeError("a hook of a tensor runs in the backward pass inside the graph")
            for i, (t, real) in enumerate(zip(twins, given, strict=True)):
                if isinstance(real, Tensor) and real._grad is not None:
                    t._grad = _twin(tracing, real._grad, real._grad, f"{names[i]}_grad")
                    out.grad_inputs.append(i)
        tracing.constants = dict(zip(owner.constants, twins[len(names) - len(owner.constants) :], strict=True))
        geometry = [t._data if isinstance(t, Tensor) else None for t in twins]
        result = run_level1(tracing, gm, twins[: len(names) - len(owner.constants)])
        if any(isinstance(t, Tensor) and t._data is not d for t, d in zip(twins, geometry, strict=True)):
            raise RuntimeError("an input gets other memory or another shape in the graph (.data, t_(), resize_())")
        if tracing.grad_after != state.grad_enabled:
            out.grad_after = tracing.grad_after
        if tracing.modes_after:
            raise RuntimeError("an autocast region is entered in the graph and goes on after it")
        _assemble(out, owner, tracing, twins, given, edges, result)
        if out.flags:
            raise RuntimeError("requires_grad_ of an input inside the graph")
    results = {p.index: i for i, p in enumerate(out.places) if p.kind == "value"}
    out.random = any(is_random(n) for n in out.joint.graph)  # type: ignore[union-attr]
    if not out.random and not out.mutated and not out.grads and all(i in results for i in out.differentiable):
        out.replays = {i: results[i] for i in out.differentiable}
    parameters = len(names) - len(owner.constants)
    out.replay = lambda given: gm(*given[:parameters])
    _compile(out, owner)
    if env is not None and len(env.records) > known:
        out.guard = _guard(out, env.records[known:])
    return out


def _guard(out: Variant, records: list[Any]) -> Callable[[list[Any]], bool] | None:
    """A check of what tracing and compiling asked about sizes, after the caller's own guards were made."""
    needed = dict.fromkeys(s for r in records for s in r.symbols)
    if any(s not in out.symbols for s in needed):
        return None
    lines = []
    for s in needed:
        i, d = out.symbols[s]
        lines.append(f"    {s} = given[{i}]" + ("" if d < 0 else f"._data.shape[{d}]"))
    source = "def guard(given):\n" + "\n".join(lines) + f"\n    return {' and '.join(f'({r.text})' for r in records)}\n"
    space: dict[str, Any] = {"math": math}
    exec(source, space)
    return space["guard"]


def _twin(tracing: Tracing, value: Any, example: Any, name: str) -> Any:
    if not isinstance(value, Tensor):
        return tracing.add_input(example if is_symbolic(example) else value, name)
    if isinstance(example, TensorSpec):
        sizes = dict(enumerate(example.shape))
    else:
        sizes = dict(enumerate(example._data.shape)) if isinstance(example, Tensor) else {}
    twin = tracing.add_input(fake_like(value, sizes, backends=tracing.recorder.backend), name)
    if value.grad_fn is not None:
        twin._grad_fn = Boundary(None, ())
        twin._grad_fn.outputs = ((twin._data.shape, twin._dtype, twin._storage.backend.name),)
        twin._retains = True  # reading .grad of what is no leaf says nothing here
    return twin


def _symbolic_sizes(example: Any) -> list[Any]:
    if isinstance(example, (Tensor, TensorSpec)):
        return [
            s for s in (example.shape if isinstance(example, TensorSpec) else example._data.shape) if is_symbolic(s)
        ]
    return [example] if is_symbolic(example) else []


def _assemble(
    out: Variant, owner: Any, tracing: Tracing, twins: list[Any], given: list[Any], edges: list[Any], result: Any
) -> None:
    """Say where every result comes from, and make the joint graph's output."""
    recorder = tracing.recorder
    leaves, out.rebuild = flatten(result)
    flat: list[Any] = []  # nodes or numbers
    flat_tensors: list[Any] = []  # the fakes they are

    def emit(t: Tensor) -> int:
        flat.append(recorder.value(t._data))
        flat_tensors.append(t)
        return len(flat) - 1

    grads = [(i, t._grad) for i, t in enumerate(twins) if isinstance(t, Tensor) and _grad_changed(tracing, out, i, t)]
    wanted = [*leaves, *[g for _, g in grads if g is not None]]
    groups: dict[int, list[Tensor]] = {}
    for t in wanted:
        if isinstance(t, Tensor):
            members = groups.setdefault(id(t._data.memory), [])
            if all(m is not t for m in members):
                members.append(t)
    bases: dict[int, int] = {}
    seen: dict[int, int] = {}
    places: list[Place] = []

    def place_of(t: Any) -> Place:
        if is_symbolic(t):
            flat.append(t)
            flat_tensors.append(None)
            return Place("value", len(flat) - 1)
        if not isinstance(t, Tensor):
            return Place("plain", value=t)
        if id(t) in seen:
            return Place("same", seen[id(t)])
        owner_input = tracing.owner_input(t)
        chain = recorder.chain(t._data)
        if owner_input is not None:
            if owner_input >= len(given):  # the memory of a gradient that was there before
                i = out.grad_inputs[owner_input - len(given)]
                if t is not twins[i]._grad:
                    raise RuntimeError("a view of a gradient is returned")
                raise RuntimeError("a gradient that was there before is returned")
            if t is twins[owner_input]:
                return Place("input", owner_input)
            return Place("view", owner_input, chain, None, not chain or not t.requires_grad, (t._creation, t._maker))
        memory = id(t._data.memory)
        if len(groups[memory]) == 1 and not (t._creation and t.requires_grad):
            return Place("value", emit(t))
        if memory not in bases:
            whole = [m for m in groups[memory] if not recorder.chain(m._data)]
            # What has a history comes before what is detached from it.
            base = next((m for m in whole if m.requires_grad), whole[0] if whole else None)
            if base is None:
                base = _base_tensor(t)
            bases[memory] = emit(base)
        base_tensor = flat_tensors[bases[memory]]
        if t is base_tensor:
            return Place("value", bases[memory])
        return Place("base", bases[memory], chain, None, not chain or not t.requires_grad, (t._creation, t._maker))

    for leaf in leaves:
        place = place_of(leaf)
        if isinstance(leaf, Tensor):
            seen.setdefault(id(leaf), len(places))
        places.append(place)
    out.places = places
    out.grads = [(i, None if g is None else place_of(g)) for i, g in grads]
    for i in tracing.mutated():
        twin = tracing.inputs[i]
        history = i < len(edges) and _history_changed(twin, edges[i])
        out.mutated.append((i, emit(twin), history))
        out.mutated_given.append(i if i < len(given) else out.grad_inputs[i - len(given)])
    out.memory_inputs = [i for i, v in enumerate(given) if isinstance(v, Tensor)]
    out.flags = [
        (i, t._requires_grad)
        for i, t in enumerate(twins)
        if isinstance(t, Tensor)
        and t._requires_grad != given[i].requires_grad
        and edges[i] is None
        and t._grad_fn is None
    ]
    out.count = len(flat)
    for i, v in enumerate(tracing.inputs[: len(given)]):
        for d, s in enumerate(v._data.shape if isinstance(v, Tensor) else ()):
            if is_symbolic(s) and s.symbol_name():
                out.symbols.setdefault(s.symbol_name(), (i, d))
        if is_symbolic(v) and v.symbol_name():
            out.symbols.setdefault(v.symbol_name(), (i, -1))
    histories = {o for _, o, history in out.mutated if history}
    candidates = [
        k
        for k, t in enumerate(flat_tensors)
        if isinstance(t, Tensor) and t.requires_grad and (k not in {o for _, o, _ in out.mutated} or k in histories)
    ]
    tangents: list[Node] = []
    gradients: list[Any] = []
    if candidates and any(e is not None for e in edges):
        tangents, gradients = _differentiate(out, tracing, flat_tensors, candidates, twins, edges)
    else:
        out.spent = []
    recorder.graph.output((*flat, *gradients))
    eliminate_common_subexpressions(recorder.graph)
    _as_promised(recorder, flat_tensors, {o for _, o, _ in out.mutated})
    _distinct(recorder, out.count)
    out.joint = recorder.module
    out.joint.meta["tangents"] = tangents


def _base_tensor(t: Tensor) -> Tensor:
    """A tensor of the whole memory that a view is of."""
    if t._base is not None and t._base._data is t._data.memory.owner:
        return t._base
    raise RuntimeError("several views of memory that no tensor owns are returned")


def _grad_changed(tracing: Tracing, out: Variant, i: int, t: Tensor) -> bool:
    """Whether the function set the gradient of an input anew (adding to it in place is a write, not this)."""
    if i not in out.grad_inputs:
        return t._grad is not None
    at = len(tracing.inputs) - len(out.grad_inputs) + out.grad_inputs.index(i)
    return t._grad is not tracing.inputs[at]


def _history_changed(twin: Tensor, edge: Any) -> bool:
    if not twin._requires_grad:
        return False
    if edge is None:
        return twin._grad_fn is not None
    return twin._grad_fn is not None and twin._grad_fn is not edge[0]


def _memory(node: Node) -> Node:
    """The node whose memory a value may be: views give that of their argument."""
    while node.args and (getattr(node.target, "kind", "") == "view" or node.target is creations.laid_out):
        node = node.args[0]
    return node


def _as_promised(recorder: Any, tensors: list[Any], copied: set[int]) -> None:
    """Results lie in memory as eager's: a value that came by writes may be an expanded one, or in another order."""
    graph = recorder.graph
    end = graph.output_node
    returned = list(end.args[0])
    for k, t in enumerate(tensors):
        if not isinstance(t, Tensor) or k in copied:
            continue
        node, val = returned[k], returned[k].meta["val"]
        wanted = tuple(t._data.strides)
        if all(map(surely_equal, val.strides, wanted)):
            continue
        with graph.inserting_before(end):
            if is_row_major(t._data.shape, wanted):
                made = graph.call_function(OPS["contiguous"], (node,))
            else:
                made = graph.call_function(creations.laid_out, (node, wanted))
        made.meta.update({**node.meta, "val": replace(val, strides=wanted)})
        returned[k] = made
    end.args = (tuple(returned),)


def _distinct(recorder: Any, count: int) -> None:
    """Results that are different memory to the caller must not come out as one: copy what is an input or came before."""
    graph = recorder.graph
    end = graph.output_node
    returned = list(end.args[0])
    seen: set[Any] = set()
    for k, node in enumerate(returned[:count]):
        if not isinstance(node, Node):
            continue
        memory = _memory(node)
        if memory in seen or memory.op in ("placeholder", "get_attr"):
            with graph.inserting_before(end):
                copied = graph.call_function(creations.fresh, (node,))
            copied.meta.update({"val": node.meta["val"], "source": None, "module": "", "unique": True})
            returned[k] = copied
        seen.add(memory)
    end.args = (tuple(returned),)


def _differentiate(
    out: Variant, tracing: Tracing, flat: list[Any], candidates: list[int], twins: list[Any], edges: list[Any]
) -> tuple[list[Node], list[Any]]:
    """Record the backward pass from the results that need gradients to the inputs that want them."""
    recorder = tracing.recorder
    starts = [gradient_edge(flat[k]) for k in candidates]
    out.watched_inputs, out.watched_outputs = _watched(starts, tracing, flat, len(twins))
    tangents: list[Node] = []
    fakes: list[Tensor] = []
    first = next((n for n in recorder.graph if n.op != "placeholder"), None)
    for k in candidates:
        t = flat[k]
        place = recorder.graph.inserting_before(first) if first is not None else None
        node = recorder.graph.placeholder(f"tangent_{len(tangents)}")
        if place is not None:
            place.__exit__()
        backend = recorder.backend(t._storage.backend.name)
        array = backend.array(t._data.shape, t._dtype)
        node.meta["val"] = TensorSpec(tuple(array.shape), tuple(array.strides), t._dtype, backend.name)
        recorder.define(array, node)
        from ...tensor import wrap

        fakes.append(wrap(array, t._dtype, backend))
        tangents.append(node)
    places = [i for i, e in enumerate(edges) if e is not None]
    recorder.current = None
    try:
        got = run_backward(
            starts, fakes, retain_graph=False, create_graph=False, wanted=[edges[i] for i in places], gather=False
        )
    except RuntimeError as error:
        if str(error) != FREED:
            raise
        out.spent = candidates
        for node in reversed(tangents):
            recorder.graph.erase_node(node)
        return [], []
    out.differentiable = candidates
    out.edge_inputs = places
    out.gradient_places = [j for j, g in enumerate(got) if g is not None]
    return tangents, [recorder.value(g._data) for g in got if g is not None]


def _watched(starts: list[Any], tracing: Tracing, flat: list[Any], given: int) -> tuple[list[int], list[int]]:
    """Inputs and results whose memory the eager tape saved: they may not change before the backward pass."""
    memories: set[int] = set()
    done: set[int] = set()
    stack = [n for n, _ in starts]
    while stack:
        node = stack.pop()
        if id(node) in done:
            continue
        done.add(id(node))
        saved = node.saved
        values = list(saved.values()) if isinstance(saved, dict) else []
        for v in values:
            for s in v if isinstance(v, list) else [v]:
                if isinstance(s, Saved) and s.tensor is not None and is_fake(s.tensor):
                    if s.tensor._storage.version != s.version:
                        raise RuntimeError(
                            "a value that eager execution saves for backward is written over (modified by an inplace operation)"
                        )
                    memories.add(id(s.tensor._data.memory))
        stack.extend(e[0] for e in node.edges if e is not None)
    inputs = [
        i for i, v in enumerate(tracing.inputs[:given]) if isinstance(v, Tensor) and id(v._data.memory) in memories
    ]
    outputs = [
        k
        for k, t in enumerate(flat)
        if isinstance(t, Tensor) and id(t._data.memory) in memories and tracing.owner_input(t) is None
    ]
    return inputs, outputs


def _compile(out: Variant, owner: Any) -> None:
    joint = out.joint
    assert joint is not None
    tangents = joint.meta["tangents"]
    if not tangents:
        joint.graph.eliminate_dead_code()
        out.forward_graph = joint
    else:
        parts = partition(joint, out.count, tangents)
        out.forward_graph, out.backward_graph = parts.forward, parts.backward
        # What is saved is watched anyway.
        names, kept = [n.name for n in joint.graph.placeholders], set(parts.saved)
        out.watched_inputs = [i for i in out.watched_inputs if names[i] not in kept]
        returned = joint.graph.output_node.args[0]
        out.watched_outputs = [o for o in out.watched_outputs if getattr(returned[o], "name", "") not in kept]
        out.decisions, out.tensors_saved = parts.decisions, parts.tensors
        out.backward = owner.backward_compiler(
            parts.backward, [n.meta.get("val") for n in parts.backward.placeholders()]
        )
    # What the compiler may write straight into its inputs: output to input.
    out.forward_graph.meta["writes"] = {o: i for i, o, history in out.mutated if not history}
    out.forward = owner.compiler(out.forward_graph, [n.meta.get("val") for n in out.forward_graph.placeholders()])
