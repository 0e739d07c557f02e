"""Makes the compiled form of a level-1 graph: traces it on fakes, says where each result comes from, differentiates, splits and compiles.

`build` is what `function.py` calls. Inputs are counted as the caller gives them (the graph's parameters, then its constants); gradients
that are there already when the graph begins are inputs of the trace as well. What a call does with all of it is `variant.py`'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ...autograd.op_node import Saved
from ...autograd.run import run_backward
from ...func.trees import flatten
from ...ops.table import OPS
from ...state import state
from ...tensor import Tensor, gradient_edge, wrap
from ..fake import fake_like, is_fake, is_symbolic
from ..fake.layout import is_row_major
from ..fake.symbolic import surely_equal
from ..graph import GraphModule, Node, TensorSpec
from ..graph.passes import eliminate_common_subexpressions
from ..graph.purity import is_random
from . import creations
from .call import Boundary
from .inner import Inner
from .partition import partition
from .patterns import Whole, is_symbolic_graph, specialise
from .trace import Tracing, run_level1
from .variant import Origin, Place, Variant


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
                    same = next((twin for twin, v in zip(twins, given, strict=True) if v is real._grad), None)
                    if same is not None:  # the gradient is an input itself
                        t._grad = same
                        continue
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
    out.random = any(is_random(n) for n in out.joint.graph)  # type: ignore[union-attr]
    out.gm, out.constants = gm, owner.constants
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
    views: list[tuple[Place, Tensor, Any]] = []  # views with a history, and the memory they are of

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
            # Without any gradient a view is one of the input still; made under no_grad of one that has, of the memory only.
            known = t.requires_grad or (t._base is not None and not given[owner_input].requires_grad)
            place = Place("view", owner_input, chain, None, not chain or not known, (t._creation, t._maker))
            if chain and t.requires_grad:
                views.append((place, t, id(t._data.memory)))
            return place
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
        place = Place("base", bases[memory], chain, None, not chain or not t.requires_grad, (t._creation, t._maker))
        if not place.detached:
            views.append((place, t, memory))
        return place

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
    out.born = [k for k in candidates if flat_tensors[k].grad_fn is None]
    candidates = [k for k in candidates if flat_tensors[k].grad_fn is not None]
    members = _members(out, flat_tensors, candidates, views, edges)
    tangents: list[Node] = []
    gradients: list[Any] = []
    if members:
        if all(e is None for e in edges):
            raise RuntimeError("a result hangs on a leaf that is made inside the graph")
        tangents, gradients = _differentiate(out, tracing, flat_tensors, members, twins, edges)
        _find_origins(out, tracing, members, leaves)
    recorder.graph.output((*flat, *gradients))
    merged = eliminate_common_subexpressions(recorder.graph)
    _as_promised(recorder, flat_tensors, {o for _, o, _ in out.mutated})
    _distinct(recorder, out.count)
    out.joint = recorder.module
    out.joint.meta["tangents"] = tangents
    out.joint.meta["rewrites"] = {"common subexpressions": merged}


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


@dataclass(slots=True)
class Member:
    """A place on the fakes' tape that results have: a flat output or views, with the fake that has the shape."""

    edge: tuple[Any, int]
    tensor: Tensor
    flat: list[int] = field(default_factory=list)
    views: list[Place] = field(default_factory=list)


def _members(
    out: Variant, flat: list[Any], candidates: list[int], views: list[tuple[Place, Tensor, Any]], edges: list[Any]
) -> list[Member]:
    """The results with a history by their place on the tape; what was walked inside already is noted as spent.

    A view of other memory that is returned is made anew from there, with a history of its own, unless other results hang on it.
    """
    found: dict[tuple[int, int], Member] = {}

    def member(t: Tensor) -> Member:
        node, number = gradient_edge(t)
        return found.setdefault((node.sequence_nr, number), Member((node, number), t))

    for k in candidates:
        if _is_spent(gradient_edge(flat[k])[0]):
            out.spent.append(k)
        else:
            member(flat[k]).flat.append(k)
    places = [gradient_edge(t) for _, t, _ in views]
    reach = Inner([*[m.edge for m in found.values()], *places], edges)
    touched = reach.touched()
    hung_on = {memory for (n, i), (_, _, memory) in zip(places, views, strict=True) if (n.sequence_nr, i) in touched}
    for place, t, memory in views:
        if memory in hung_on and not _is_spent(gradient_edge(t)[0]):
            member(t).views.append(place)
    for k in out.born:
        n, i = gradient_edge(flat[k])
        if (n.sequence_nr, i) in touched:
            raise RuntimeError("a leaf that is made inside the graph is returned with what hangs on it")
    for i, o, history in out.mutated:
        if history and o not in out.spent:
            n, number = gradient_edge(flat[o])
            if (n.sequence_nr, number) in touched:
                out.unviewed.append(i)
    return list(found.values())


def _is_spent(node: Any) -> bool:
    """Whether a backward pass from a node comes to values that are freed."""
    done: set[int] = set()
    stack = [node]
    while stack:
        node = stack.pop()
        if id(node) in done:
            continue
        done.add(id(node))
        if node.saved is None:
            return True
        stack += [e[0] for e in node.edges if e is not None]
    return False


def _find_origins(out: Variant, tracing: Tracing, members: list[Member], leaves: list[Any]) -> None:
    """Where the level-1 graph makes each member."""
    origins = tracing.recorder.origins
    for m in members:
        tensors = [
            m.tensor,
            *[leaf for leaf in leaves if isinstance(leaf, Tensor) and gradient_edge_of(leaf) == m.edge],
        ]
        origin = Origin(leaf=next((i for i, leaf in enumerate(leaves) if any(leaf is t for t in tensors)), None))
        origin.maker = next((n for first, n in reversed(origins) if first <= m.edge[0].sequence_nr), None)
        for node, value in tracing.values.items():
            parts = list(enumerate(value)) if isinstance(value, (tuple, list)) else [(None, value)]
            part = next((i for i, v in parts if any(v is t for t in tensors)), _MISSING)
            if part is not _MISSING:
                origin.holder, origin.part = node, part
                break
        out.origins.append(origin)


def gradient_edge_of(t: Tensor) -> Any:
    """The place of a tensor on the tape; None where it has none."""
    return gradient_edge(t) if t.requires_grad else None


_MISSING: Any = object()


def _differentiate(
    out: Variant, tracing: Tracing, flat: list[Any], members: list[Member], twins: list[Any], edges: list[Any]
) -> tuple[list[Node], list[Any]]:
    """Record the backward pass from the members to the inputs that want gradients."""
    recorder = tracing.recorder
    starts = [m.edge for m in members]
    places = [i for i, e in enumerate(edges) if e is not None]
    out.inner = inner = Inner(starts, [edges[i] for i in places])
    out.watched_inputs, out.watched_outputs = _watched(inner, tracing, flat, len(twins))
    tangents: list[Node] = []
    fakes: list[Tensor] = []
    first = next((n for n in recorder.graph if n.op != "placeholder"), None)
    for m in members:
        t = m.tensor
        place = recorder.graph.inserting_before(first) if first is not None else None
        node = recorder.graph.placeholder(f"tangent_{len(tangents)}")
        if place is not None:
            place.__exit__()
        backend = recorder.backend(t._storage.backend.name)
        array = backend.array(t._data.shape, t._dtype)
        node.meta["val"] = TensorSpec(tuple(array.shape), tuple(array.strides), t._dtype, backend.name)
        recorder.define(array, node)
        fakes.append(wrap(array, t._dtype, backend))
        tangents.append(node)
    for n in inner.nodes:
        n.register_hook(lambda given, _, n=n: inner.note(n, given))
    recorder.current = None
    wanted = [*[edges[i] for i in places], *starts]
    got = run_backward(starts, fakes, retain_graph=False, create_graph=False, wanted=wanted, gather=False)
    inner.forget()
    out.edge_inputs = places
    out.hung = [(k, i) for i, m in enumerate(members) for k in m.flat]
    out.examples = [m.flat[0] if m.flat else None for m in members]
    for i, m in enumerate(members):
        for view in m.views:
            view.member = i
    ends, totals = got[: len(places)], got[len(places) :]
    gradients = [recorder.value(g._data) for g in ends if g is not None]
    out.whole = Whole(
        recorder.module, [], [j for j, g in enumerate(ends) if g is not None], [n.sequence_nr for n, _ in starts]
    )
    if len(members) > 1:
        for g in totals:
            gradients.append(recorder.value(g._data))
            gradients[-1].meta["unique"] = True
    return tangents, gradients


def _watched(inner: Inner, tracing: Tracing, flat: list[Any], given: int) -> tuple[list[Any], list[Any]]:
    """Inputs and results whose memory the eager tape saved, and for which nodes: they may not change before those are visited."""
    memories: dict[int, set[int]] = {}
    for node in inner.nodes:
        saved = node.saved
        values = list(saved.values()) if isinstance(saved, dict) else []
        for v in values:
            for s in v if isinstance(v, list) else [v]:
                if isinstance(s, Saved) and s.tensor is not None and is_fake(s.tensor):
                    if s.tensor._storage.version != s.version:
                        raise RuntimeError(
                            "a value that eager execution saves for backward is written over (modified by an inplace operation)"
                        )
                    memories.setdefault(id(s.tensor._data.memory), set()).add(node.sequence_nr)
    inputs = [
        (i, frozenset(memories[id(v._data.memory)]))
        for i, v in enumerate(tracing.inputs[:given])
        if isinstance(v, Tensor) and id(v._data.memory) in memories
    ]
    outputs = [
        (k, frozenset(memories[id(t._data.memory)]))
        for k, t in enumerate(flat)
        if isinstance(t, Tensor) and id(t._data.memory) in memories and tracing.owner_input(t) is None
    ]
    return inputs, outputs


def _keep_old_values(graph: Any, written: set[int], results: int) -> None:
    """An input that is written to is saved as it was before: copied."""
    end = graph.output_node
    returned = list(end.args[0])
    old = {graph.placeholders[i] for i in written}
    for k, node in enumerate(returned):
        if k < results or not isinstance(node, Node) or _memory(node) not in old:
            continue
        with graph.inserting_before(end):
            copied = graph.call_function(creations.fresh, (node,))
        copied.meta.update({**node.meta, "unique": True})
        returned[k] = copied
    end.args = (tuple(returned),)


def _why_final(out: Variant, joint: GraphModule) -> str | None:
    """Why the operators cannot be run again for derivatives of derivatives; None where they can."""
    if out.grads or out.grad_inputs:
        return "gradients move inside"
    if any(history for _, _, history in out.mutated):
        return "it writes to its inputs"
    if any(o.leaf is None and o.holder is None for o in out.origins):
        return "a result is made within an operator"
    returned = joint.graph.output_node.args[0]
    written = {o for _, o, _ in out.mutated}
    needed = {n for k, n in enumerate(returned) if k not in written and isinstance(n, Node)}
    for n in reversed(joint.graph.nodes):
        if n in needed:
            needed.update(n.all_input_nodes)
    placeholders = joint.graph.placeholders
    if any(placeholders[i] in needed for i, _, _ in out.mutated):
        return "it writes to its inputs"
    return None


_MAY_FAIL = frozenset(
    [
        "index", "index_put", "nll_loss", "gather", "scatter", "scatter_add", "scatter_reduce", "index_reduce", "index_select", "index_add",
        "index_copy", "index_fill", "take", "put", "masked_scatter", "max_unpool2d", "max_unpool3d", "embedding_bag", "bincount", "multinomial",
        "repeat_interleave",
    ]
)  # fmt: skip
"""Primitives that refuse some values: of indices, mostly."""


def _fails_later(graph: Any, result: int) -> bool:
    """Whether an operator that may refuse its inputs comes after a written value, in the order of the program: eager has written by then."""
    value = graph.output_node.args[0][result]
    after = not isinstance(value, Node)
    for n in graph:
        if after and n.op == "call_function":
            kind = getattr(n.target, "kind", "")
            if kind == "linalg" or kind == "random" or getattr(n.target, "name", "") in _MAY_FAIL:
                return True
        after = after or n is value
    return False


def _compile(out: Variant, owner: Any) -> None:
    joint = out.joint
    assert joint is not None
    tangents = joint.meta["tangents"]
    if not tangents:
        joint.graph.eliminate_dead_code()
        out.forward_graph = joint
    else:
        assert out.whole is not None
        out.final = _why_final(out, joint)
        parts = partition(joint, out.count, tangents)
        _keep_old_values(parts.forward.graph, {i for i, _, _ in out.mutated}, out.count)
        out.forward_graph = parts.forward
        whole = out.whole
        whole.module = parts.backward
        whole.tangents = [n.name for n in parts.backward.placeholders()[-len(tangents) :]]
        whole.symbolic = is_symbolic_graph(parts.backward.graph)
        out.backward_compiler = owner.backward_compiler
        out.decisions, out.tensors_saved = parts.decisions, parts.tensors
        if len(tangents) == 1:
            # What is saved is watched anyway.
            names, kept = [n.name for n in joint.graph.placeholders], set(parts.saved)
            returned = joint.graph.output_node.args[0]
            out.watched_inputs = [w for w in out.watched_inputs if names[w[0]] not in kept]
            out.watched_outputs = [w for w in out.watched_outputs if getattr(returned[w[0]], "name", "") not in kept]
            out.straight = out.pattern(out.inner.all())
            out.backward_graph = out.straight.module
        else:
            out.backward_graph = specialise(whole, out.inner.all()).module
    # What the compiler may write straight into its inputs: output to input.
    out.forward_graph.meta["writes"] = {
        o: i for i, o, history in out.mutated if not history and not _fails_later(out.forward_graph.graph, o)
    }
    out.forward = owner.compiler(out.forward_graph, [n.meta.get("val") for n in out.forward_graph.placeholders()])
