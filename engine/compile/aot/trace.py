"""Runs a function on fakes that are recorded, and says what came of it: outputs, writes to inputs, gradients set.

`trace` is for the compiler: flat inputs and outputs, and lists of what must be done to the real inputs afterwards. `make_fx` is for
people: a graph that, called with tensors, does what the function did.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...autograd.op_node import saved_tensor_hooks
from ...func.trees import flatten
from ...observe import bus
from ...state import state
from ...tensor import Tensor
from ..fake import DataDependent, FakeArray, ShapeEnv, SymFloat, fake_like, fake_mode, is_fake, is_symbolic
from ..graph import Graph, GraphModule, Node, TensorSpec, map_nodes
from . import creations
from .recorder import Recorder


@dataclass(slots=True)
class Alias:
    """An output that is the memory of an input: the input's index, and the view operators that lead from it (none: the tensor itself)."""

    input: int
    views: list[tuple[Any, tuple[Any, ...]]]
    itself: bool = False


@dataclass(slots=True)
class Trace:
    """What a function did on fakes. Indices of inputs count the placeholders, those of outputs the graph's flat outputs."""

    module: GraphModule
    inputs: list[Any]
    """The fakes (or plain values) it was called with."""
    outputs: list[Any] = field(default_factory=list)
    """The flat results: fakes or plain values."""
    rebuild: Callable[[list[Any]], Any] = lambda parts: parts
    """Puts flat results into the structure that the function returned."""
    aliases: dict[int, Alias] = field(default_factory=dict)
    """Which results are memory of inputs."""
    mutated: list[int] = field(default_factory=list)
    """Inputs whose memory was written to, in order; their new values are outputs."""


class Tracing:
    """A recording with its inputs; made by `begin`."""

    def __init__(self, env: ShapeEnv | None = None, *, decompose: bool = True):
        self.env = env or ShapeEnv()
        self.recorder = Recorder(decompose=decompose)
        self.recorder.reader = lambda t: read_item(self, t)
        self.constants: dict[str, Any] = {}
        """Twins of the level-1 graph's constants, by name."""
        self.values: dict[Node, Any] = {}
        """What the nodes of the level-1 graph gave."""
        self.grad_after = state.grad_enabled
        """The gradient mode that a level-1 graph ended in."""
        self.modes_after: tuple[Any, ...] = ()
        """The modes (autocast) that it ended in."""
        self.inputs: list[Any] = []
        self.nodes: list[Node] = []

    @contextmanager
    def active(self) -> Any:
        """New tensors are fakes of this recording; the tape's hooks, modes and the bus see nothing of it."""
        hooks, heard, modes = list(saved_tensor_hooks), (bus.op, bus.backward, bus.node), state.modes
        saved_tensor_hooks.clear()
        bus.op = bus.backward = bus.node = False
        state.modes = ()
        try:
            with fake_mode(self.recorder.backend):
                yield self
        finally:
            saved_tensor_hooks.extend(hooks)
            bus.op, bus.backward, bus.node = heard
            state.modes = modes

    def add_input(self, value: Any, name: str) -> Any:
        """A placeholder for a value: a fake twin for a tensor, the value itself for others. Returns what the function gets."""
        node = self.recorder.graph.placeholder(name)
        if isinstance(value, Tensor):
            array = value._data
            sizes = {d: s for d, s in enumerate(array.shape)} if type(array) is FakeArray else ()
            twin = fake_like(value, sizes, backends=self.recorder.backend)
            self.recorder.define(twin._data, node)
            spec = self.recorder.spec(twin._data)
            node.meta["val"] = TensorSpec(spec.shape, spec.strides, spec.dtype, spec.device, twin._requires_grad)
            value = twin
        else:
            node.meta["val"] = value
            if not is_symbolic(value) and not isinstance(
                value, (int, float, complex, str, bytes, tuple, list, dict, type(None))
            ):
                self.recorder.objects[id(value)] = (value, node)  # a generator of random numbers
        self.inputs.append(value)
        self.nodes.append(node)
        return value

    def value(self, t: Any) -> Any:
        """The node of a result; plain values are themselves."""
        return self.recorder.value(t._data) if isinstance(t, Tensor) else t

    def owner_input(self, t: Tensor) -> int | None:
        """The index of the input whose memory a tensor is, if it is one's."""
        for i, v in enumerate(self.inputs):
            if isinstance(v, Tensor) and v._data.memory is t._data.memory:
                return i
        return None

    def alias(self, t: Tensor) -> Alias | None:
        """How a result is the memory of an input, if it is."""
        i = self.owner_input(t)
        if i is None:
            return None
        return Alias(i, self.recorder.chain(t._data), self.inputs[i] is t)

    def mutated(self) -> list[int]:
        """The inputs that were written to."""
        return [i for i, v in enumerate(self.inputs) if isinstance(v, Tensor) and v._data.memory.writes]


def run_level1(tracing: Tracing, gm: GraphModule, given: Sequence[Any]) -> Any:
    """Run a level-1 graph node by node on the fakes of a recording, so that what is recorded knows the node it came from."""
    recorder = tracing.recorder
    values = tracing.values
    inputs = iter(given)
    grad_before = state.grad_enabled
    try:
        for node in gm.graph:
            if node.op == "placeholder":
                values[node] = next(inputs)
                continue
            args, kwargs = (map_nodes(a, values.__getitem__) for a in (node.args, node.kwargs))
            if node.op == "output":
                return args[0]
            if node.op == "get_attr":
                values[node] = _constant(tracing, gm, str(node.target))
                continue
            recorder.current = node
            recorder.origins.append((_next_sequence(), node))
            if node.op == "call_method":
                values[node] = getattr(args[0], str(node.target))(*args[1:], **kwargs)
            else:
                values[node] = node.target(*args, **kwargs) if callable(node.target) else _primitive(node, args)
    finally:
        recorder.current = None
        tracing.grad_after, state.grad_enabled = state.grad_enabled, grad_before
        tracing.modes_after = state.modes
    return None


def _primitive(node: Node, args: tuple[Any, ...]) -> Any:
    from ..graph.primitives import runner

    return runner(node.target)(*args)


def _next_sequence() -> int:
    from ...autograd import node

    return next(node._sequence)


def _constant(tracing: Tracing, gm: GraphModule, name: str) -> Any:
    value = gm.constants[name]
    if not isinstance(value, Tensor) or is_fake(value):
        return value
    known = tracing.constants
    if name not in known:
        recorder = tracing.recorder
        twin = fake_like(value, backends=recorder.backend)
        node = recorder.graph.get_attr(recorder.module.add_constant(value, name.replace(".", "_")))
        node.meta["val"] = recorder.spec(twin._data)
        recorder.define(twin._data, node)
        known[name] = twin
    return known[name]


def read_item(tracing: Tracing, t: Tensor) -> Any:
    """`t.item()` as a node; the number is a symbol named like it, so that formulas of it can be arguments."""
    recorder = tracing.recorder
    said = recorder.current.meta.get("val") if recorder.current is not None else None
    if not is_symbolic(said) and t.dtype.category not in (1, 2):
        raise DataDependent("item", t)
    node = recorder._add(creations.item, (recorder.value(t._data),))
    if is_symbolic(said):
        made = said  # the level-1 graph has a name for it, which its formulas use
    elif t.dtype.category == 2:
        made = tracing.env.real(None, node, node.name)
    else:
        made = tracing.env.integer(None, node, node.name)
    node.meta["val"] = made
    node.meta["impure"] = True  # numbers name it by symbol, not by an edge
    return made


def finish(tracing: Tracing, result: Any, *, extra: Sequence[Any] = ()) -> Trace:
    """Close a recording: the graph returns the flat results, then the new values of mutated inputs, then `extra` tensors."""
    leaves, rebuild = flatten(result)
    out = Trace(tracing.recorder.module, tracing.inputs, leaves, rebuild)
    returned: list[Any] = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor):
            alias = tracing.alias(leaf)
            if alias is not None:
                out.aliases[i] = alias
        returned.append(tracing.value(leaf))
    out.mutated = tracing.mutated()
    returned += [tracing.value(tracing.inputs[i]) for i in out.mutated]
    returned += [tracing.value(t) for t in extra]
    tracing.recorder.graph.output(tuple(returned))
    return out


def parameter_names(fn: Any, count: int) -> list[str]:
    """Names for `count` flat inputs: those of the function's parameters where they fit."""
    try:
        names = [
            p.name
            for p in inspect.signature(fn).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        names = []
    return names if len(names) >= count else [f"arg{i}" for i in range(count)]


def make_fx(
    fn: Callable[..., Any], *, decompose: bool = True, env: ShapeEnv | None = None, dynamic: Any = None
) -> Callable[..., GraphModule]:
    """`make_fx(fn)(*args)` is the functional graph of primitives that `fn` computes on such arguments.

    Arguments may nest lists, tuples and dictionaries of tensors (real or fake) and plain values; the graph takes the flat leaves.
    `backward()`, `grad()`, views and in-place writes become functions; writes to arguments become `copy_` nodes at the end. With
    `decompose=False` operators that have a fused kernel stay whole. `dynamic` gives, per flat argument, the dimensions whose size
    is symbolic (a dictionary from index to dimensions), or is True for all. Tensors that `fn` reaches otherwise than by its
    arguments are not allowed, but for the parameters of `fn` if it is a module.
    """

    def traced(*args: Any) -> GraphModule:
        tracing = Tracing(env, decompose=decompose)
        leaves, rebuild = flatten(list(args))
        names = parameter_names(fn, len(leaves)) if len(leaves) == len(args) else parameter_names(None, len(leaves))
        with tracing.active():
            twins = []
            for i, (leaf, name) in enumerate(zip(leaves, names, strict=False)):
                if isinstance(leaf, Tensor) and not is_fake(leaf) and dynamic:
                    dims = range(leaf.ndim) if dynamic is True else dynamic.get(i, ())
                    leaf = fake_like(leaf, dims, env=tracing.env, source=name)
                twins.append(tracing.add_input(leaf, name))
            function = _with_state(tracing, fn)
            result = function(*rebuild(twins))
            graph = tracing.recorder.graph
            results, structure = flatten(result)
            values = [_output(tracing, r) for r in results]
            for i in tracing.mutated():
                target = tracing.nodes[i]
                node = graph.call_function(creations.copy_, (target, tracing.value(tracing.inputs[i])))
                node.meta["impure"] = True
            graph.output(structure(values))
        graph.eliminate_dead_code()
        module = tracing.recorder.module
        module.meta["env"] = tracing.env
        return module

    return traced


def _output(tracing: Tracing, r: Any) -> Any:
    return tracing.value(r)


def _with_state(tracing: Tracing, fn: Any) -> Callable[..., Any]:
    """`fn`, and if it is a module, with its parameters and buffers as constants of the graph."""
    from ...nn.module import Module

    if not isinstance(fn, Module):
        return fn
    recorder = tracing.recorder
    state_dict = {**dict(fn.named_parameters()), **dict(fn.named_buffers())}
    twins: dict[str, Tensor] = {}
    for name, value in state_dict.items():
        twin = fake_like(value, backends=recorder.backend)
        node = recorder.graph.get_attr(recorder.module.add_constant(value, name.replace(".", "_")))
        node.meta["val"] = recorder.spec(twin._data)
        recorder.define(twin._data, node)
        twins[name] = twin

    def run(*args: Any) -> Any:
        from ...func.calls import functional_call

        return functional_call(fn, twins, args)

    return run


__all__ = ["Alias", "Graph", "SymFloat", "Trace", "Tracing", "finish", "is_symbolic", "make_fx", "run_level1"]
