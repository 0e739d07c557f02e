"""Tape nodes of primitives: saving what their gradient rules name, and applying those rules.

One class a primitive is made on first use, so that `type(t.grad_fn).__name__` is PyTorch's name.  The rules
themselves stand in the operator table; this file only looks their arguments up and fits the results.
"""

from __future__ import annotations

from typing import Any

from ..ops.table import Op
from ..state import state
from ..tensor import gradient_edge
from .node import Edge, Node, Plan

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
    "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
    "`torch.no_grad()` instead of `torch.inference_mode()`."
)
_classes: dict[Any, type[OpNode]] = {}


class Saved:
    """A tensor kept for backward, with the version of its memory at that time.

    An *output* is kept without its own `grad_fn` (which would hold itself) and gets it back when it is unpacked.
    """

    __slots__ = ("edge", "hooks", "is_output", "number", "packed", "tensor", "version")

    def __init__(self, tensor: Any, output_of: int | None = None):
        self.is_output = output_of is not None
        self.number = output_of or 0
        self.tensor: Any = tensor.detach_shallow() if self.is_output else tensor
        self.version = tensor._storage.version
        if self.version < 0:
            raise RuntimeError(INFERENCE)
        self.hooks = saved_tensor_hooks[-1] if saved_tensor_hooks else None
        if self.hooks is not None:
            # The user's functions get and give values; where the tensor hangs on the tape is kept here.
            self.edge = None if self.is_output or not tensor._requires_grad else gradient_edge(tensor)
            with unrecorded():
                self.packed = self.hooks[0](tensor.detach_shallow())
            self.tensor = None

    def unpack(self, node: Node) -> Any:
        """The tensor; raises RuntimeError where it was changed in place since."""
        if self.hooks is not None:
            t = self.hooks[1](self.packed).detach_shallow()
            if self.is_output:
                t._requires_grad = True
                t._grad_fn, t._output_nr = self._place(node)
            elif self.edge is not None:
                hang(t, self.edge)
            return t
        t = self.tensor
        if t._storage.version != self.version:
            raise RuntimeError(_modified(t, self, node))
        if self.is_output:
            t = t.detach_shallow()
            t._requires_grad = True
            t._grad_fn, t._output_nr = self._place(node)
        return t

    def _place(self, node: Node) -> Edge:
        """Where an output hangs: on its node, or on what stands for that output on the tape outside of a compiled graph."""
        stand_ins = node._dict.get("stand-ins") if node._dict is not None else None
        return (node, self.number) if stand_ins is None else stand_ins.get(self.number, (node, self.number))


class unrecorded:
    """Recording off, without the tape's own hooks: user code that runs inside the engine."""

    def __enter__(self) -> None:
        self._before = state.grad_enabled
        state.grad_enabled = False

    def __exit__(self, *error: object) -> None:
        state.grad_enabled = self._before


def hang(t: Any, edge: Edge) -> None:
    """Give a bare tensor the place on the tape that an edge names."""
    node, number = edge
    t._requires_grad = True
    if node.edges or node.op is not None or not hasattr(node, "variable"):
        t._grad_fn, t._output_nr = node, number
    else:
        t._accumulator = lambda: node


saved_tensor_hooks: list[tuple[Any, Any]] = []
"""Pack and unpack functions of the `saved_tensors_hooks` contexts that are open."""


def _modified(t: Any, saved: Saved, node: Node) -> str:
    kind = {"float32": "Float", "float64": "Double", "float16": "Half", "complex64": "ComplexFloat"}.get(
        t.dtype.name, t.dtype.name
    )
    maker = node if saved.is_output else t.grad_fn
    which = (
        f", which is output {saved.number if saved.is_output else t._output_nr} of {maker.short_name()},"
        if maker is not None
        else ""
    )
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{kind}Tensor {list(t.shape)}]{which} is at version {t._storage.version}; expected version {saved.version} "
        "instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def node_class(op: Op, overload: int | str = 0) -> type[OpNode]:
    """The node class of a primitive, named as PyTorch names it."""
    key = (op.name, overload) if op.overload is not None else op.name
    found = _classes.get(key)
    if found is None:
        found = _classes[key] = type(op.node_name(overload), (OpNode,), {"__slots__": ()})
    return found


def record(
    op: Op, tensors: tuple[Any, ...], edges: tuple[Edge | None, ...], statics: tuple[Any, ...], outputs: tuple[Any, ...]
) -> OpNode:
    """Make the node of one call and hang it on the outputs. `tensors` may hold plain values (scalars, None)."""
    cls = (
        (_classes.get(op.name) or node_class(op))
        if op.overload is None
        else node_class(op, op.overload(tensors, statics))
    )
    node = cls(op, edges)
    mask = tuple([e is not None for e in edges]) if not op.list_input else (True,) * len(op.tensors)
    plan = op.plans.get(mask)
    if plan is None:
        plan = op.plans[mask] = Plan(op, mask)
    node.plan = plan
    node.statics = statics
    node.input_metas = tuple([(t._data.shape, t._dtype) if hasattr(t, "_dtype") else None for t in tensors])
    node.outputs = tuple([(o._data.shape, o._dtype, o._storage.backend.name) for o in outputs])
    names = plan.names
    if op.list_input:
        saved: dict[str, Any] = {}
        if op.tensors[0] in names:
            saved[op.tensors[0]] = [Saved(t) for t in tensors]
    else:
        saved = {op.tensors[i]: (Saved(tensors[i]) if hasattr(tensors[i], "_dtype") else tensors[i]) for i in plan.save}
    for number, o in enumerate(outputs):
        if o._dtype.category >= 2:
            o._requires_grad = True
            o._grad_fn = node
            o._output_nr = number
    if "result" in names and outputs:  # an in-place call saves its target afterwards
        saved["result"] = Saved(outputs[0], output_of=0)
    if "results" in names:
        saved["results"] = [Saved(o, output_of=i) for i, o in enumerate(outputs)]
    node.saved = saved
    return node


class OpNode(Node):
    """The node of a primitive."""

    __slots__ = ()

    def apply(self, grads: list[Any]) -> list[Any]:
        op, plan, saved = self.op, self.plan, self.saved
        assert op is not None and plan is not None
        if saved is None:
            raise RuntimeError(FREED)
        if op.multi:
            some = next((x for x in grads if x is not None), None)
            g: Any = tuple(x if x is not None else self._zeros(i, some) for i, x in enumerate(grads))
        else:
            g = grads[0]
        values: dict[str, Any] = {"defined": tuple([x is not None for x in grads])} if op.multi else {}
        edges = self.edges
        out: list[Any] = [None] * len(edges)
        for rule in plan.rules:
            args = []
            for name in rule.names:
                if name not in values:
                    values[name] = self._value(op, name, saved)
                args.append(values[name])
            got = rule.function(g, *args)
            if op.list_input:
                for i, x in enumerate(got):
                    out[i] = x
            elif rule.single:
                out[rule.inputs[0]] = got
            else:
                for i, x in zip(rule.inputs, got, strict=True):
                    out[i] = x
        for i, x in enumerate(out):
            if x is not None:
                out[i] = None if edges[i] is None else fit(x, self.input_metas[i])
        return out

    def release(self) -> None:
        # A node that keeps no tensor may be walked again, as in PyTorch.
        saved = self.saved
        if saved and any(isinstance(v, (Saved, list)) for v in saved.values()):
            self.saved = None

    def _value(self, op: Op, name: str, saved: dict[str, Any]) -> Any:
        if name in saved:
            kept = saved[name]
            if isinstance(kept, Saved):
                return kept.unpack(self)
            if isinstance(kept, list):
                return [s.unpack(self) for s in kept]
            return kept
        if name in op.statics:
            return self.statics[op.statics.index(name)]
        if name == "needs":
            return tuple(e is not None for e in self.edges)
        owner = name.removesuffix("_shape")
        if op.list_input and owner == op.tensors[0]:
            return [tuple(m[0]) for m in self.input_metas]
        meta = self.input_metas[op.tensors.index(owner)]
        return tuple(meta[0]) if meta is not None else ()

    def _zeros(self, i: int, like: Any) -> Any:
        """The gradient of an output that nothing was made of, where the others are (the device may be a transform's)."""
        from ..ops.creation import zeros

        shape, dtype, device = self.outputs[i]
        return zeros(shape, dtype=dtype, device=device) if like is None else like.new_zeros(shape, dtype=dtype)

    def saved_facts(self) -> list[dict[str, Any]]:
        facts = []
        for name, kept in (self.saved or {}).items():
            for s in kept if isinstance(kept, list) else [kept]:
                if isinstance(s, Saved) and s.tensor is not None:
                    shape = list(s.tensor._data.shape)
                    size = s.tensor._dtype.itemsize
                    for n in shape:
                        size *= n
                    facts.append({"name": name, "shape": shape, "dtype": s.tensor._dtype.name, "bytes": size})
        return facts

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            saved = object.__getattribute__(self, "saved")
            if saved is None:
                raise RuntimeError(FREED)
            op = self.op
            assert op is not None
            wanted = name.removeprefix("_saved_")
            wanted = {"self": "input"}.get(wanted, wanted)
            if wanted in saved or wanted in op.statics:
                return self._value(op, wanted, saved)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def fit(g: Any, meta: tuple[Any, Any]) -> Any:
    """A gradient in the shape and dtype of its input: broadcast dimensions summed, real parts taken."""
    shape, dtype = meta
    if g._data.shape != shape:
        g = g.sum_to_size(*shape)
    if g._dtype is not dtype:
        if g._dtype.is_complex and not dtype.is_complex:
            g = g.real
        g = g.to(dtype)
    return g
