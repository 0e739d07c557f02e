"""Attributes of tensors while capturing: what is known of a tensor without its values, its gradient, its place on the tape.

A mixin of the domain. What is asked of a tensor from before is asked of the real one where its twin cannot know it.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ..graph import effects
from ..interpreter.frame import Frame
from .leaves import tensor_method
from .lookup import is_engine, static
from .stops import Stop
from .tape import Outside
from .values import DELETED, MISSING

if TYPE_CHECKING:
    from .recorder import Recorder
    from .world import World


_ENGINES = frozenset(["_dynamic_dims", "_kept_accumulator", "_is_param", "_is_buffer", "_persistent"])
"""What the engine itself hangs on tensors."""


class TensorAttributes:
    """The part of the domain that reads and writes attributes of tensors."""

    world: World
    recorder: Recorder

    if TYPE_CHECKING:
        binary: Any
        leaf: Any
        push: Any

    def tensor_attribute(self, frame: Frame, t: Any, name: str) -> Any:
        kind = type(t)
        if name == "grad":
            return self.read_grad(t)
        if name == "grad_fn":
            return self.read_grad_fn(t)
        if name == "_base":
            return self.base_of(t)
        method = tensor_method(kind, name)
        if method is not None:
            return MethodType(method, t)
        if name == "_version":
            return self.version_of(frame, t)
        if name in ("_data", "_storage"):
            raise Stop("to-python", f"The tensor's {name}")
        found, _ = static(kind, name)
        if found is MISSING:
            return self.foreign_attribute(frame, t, name)
        if isinstance(found, property) or name in ("T", "H", "mT", "mH", "real", "imag", "data"):
            if kind is not Tensor and type(found) is property and not is_engine(kind) and found.fget is not None:
                owner = static(kind, name)[1]
                if owner is not None and not is_engine(owner):
                    return self.push(frame, found.fget, [t], {})
            return self.leaf(frame, getattr, [t, name], {})
        if type(found) is FunctionType:
            return MethodType(found, t)
        if isinstance(found, (staticmethod, classmethod)):
            return getattr(t, name)
        if name == "__dict__":
            raise Stop("unsupported-value", "__dict__ of a tensor")
        return getattr(t, name)

    def foreign_attribute(self, frame: Frame, t: Any, name: str) -> Any:
        """An attribute that a program hung on a tensor."""
        source = self.world.source_of(t)
        known = self.tensor_written.get((id(t), name))
        if known is not None:
            return MISSING if known[1] is DELETED else known[1]
        if source is None:
            return MISSING
        real = self.world.real_of(t)
        if name in real.__dict__:
            home = self.world.sources.own(source, name)
            value = self.world.wrap(real.__dict__[name], home)
            self.world.expect(home, value)
            return value
        self.world.guards.has_own(source, name, False)
        return MISSING

    tensor_written: dict[Any, tuple[Any, Any]]
    """Attributes that the program hangs on tensors, by the identity of the twin and the name: the twin, the value."""

    def base_of(self, t: Any) -> Any:
        """What a tensor is a view of; the twin of one that existed before does not know it."""
        source = self.world.source_of(t)
        if source is not None:  # whether it is a view is guarded
            base = self.world.real_of(t)._base
            return base if base is None else self.world.wrap(base, self.world.sources.attr(source, "_base"))
        base = t._base
        if base is None:
            return base
        if self.recorder.node_of(base) is None:
            raise Stop("to-python", "The tensor's _base")
        if self.world.source_of(base) is not None and self.world.real_of(base)._base is not None:
            return self.base_of(base)
        return base

    def version_of(self, frame: Frame, t: Any) -> Any:
        """How often the memory of a tensor was written to: before the graph, and in it."""
        root = t._base if t._base is not None else t
        source = self.world.source_of(root)
        if source is None:
            return t._storage.version
        sources, real = self.world.sources, self.world.real_of(root)
        count = 0
        for other, place in self.world.tensors():
            written = other._storage.version - self.recorder.versions.get(id(other), 0)
            if not written:
                continue
            shared = self.world.real_of(other)._storage is real._storage
            if other is not root:
                self.world.guards.same(sources.attr(place, "_storage"), sources.attr(source, "_storage"), shared)
            count += written if shared else 0
        before = self.world.wrap(real._version, sources.attr(source, "_version"))
        return self.binary(frame, "+", before, count) if count else before

    def tape_node(self, node: Any) -> Any:
        self.tape_nodes[id(node)] = node
        return node

    tape_nodes: dict[int, Any]

    def read_grad_fn(self, t: Any) -> Any:
        """The node that made a tensor: the real one where that was before the graph."""
        node = t.grad_fn
        if node is None:
            return None
        if type(node) is not Outside:
            return self.tape_node(node)
        source = self.world.source_of(t)
        if source is None:
            raise Stop("outer-tape", "grad_fn")
        return self.world.wrap(self.world.real_of(t).grad_fn, self.world.sources.attr(source, "grad_fn"))

    def grad_source(self, t: Any) -> None:
        """Give the twin of a real leaf the gradient that the real one has, once; it is guarded."""
        if id(t) in self.grads_known:
            return
        self.grads_known[id(t)] = t
        source = self.world.source_of(t)
        if source is None:
            return
        real = self.world.real_of(t)
        place = self.world.sources.attr(source, "_grad")
        place.label = f"{source.label}.grad"
        if real._grad is None:
            self.world.guards.is_(place, None, "whether it has a gradient")
            t._grad = None
        else:
            t._grad = self.world.wrap(real._grad, place)

    grads_known: dict[int, Any]

    def read_grad(self, t: Any) -> Any:
        if t.grad_fn is not None and not t._retains and self.world.source_of(t) is None:
            return self.leaf(None, getattr, [t, "grad"], {})
        real = self.world.real_of(t)
        if t.grad_fn is not None and real is not MISSING and real._grad is None and not real._retains:
            raise Stop("warning", "Reading .grad of a tensor that does not keep it")
        self.grad_source(t)
        g = t._grad
        if g is None:
            return None
        if self.recorder.node_of(g) is None:
            node = self.recorder.node_of(t)
            if node is None:
                raise Stop("unsupported-value", "the gradient of a tensor that the graph does not know")
            self.recorder.call(effects.get_grad, (node,), {}, g)
        return g

    def store_tensor_attr(self, frame: Frame, t: Any, name: str, value: Any) -> Any:
        if name == "grad":
            self.grad_source(t)
            node = self.recorder.node_of(t)
            if value is not None and not isinstance(value, Tensor):
                raise Stop("exception", "grad is set to something that is no tensor")
            try:
                t.grad = value
            except Exception as error:
                raise Stop("exception", str(error)) from error
            given = self.recorder.node_of(value) if value is not None else None
            if node is None or (value is not None and given is None):
                raise Stop("unsupported-value", "the gradient of a tensor that the graph does not know")
            self.recorder.call(effects.set_grad, (node, given), {}, None).meta["impure"] = True
            return None
        if name == "requires_grad":
            self.leaf(frame, Tensor.requires_grad_, [t, value], {})
            return None
        if name == "data":
            if not isinstance(value, Tensor):
                raise Stop("exception", "data is set to something that is no tensor")
            self.leaf(frame, setattr, [t, "data", value], {}, always=True)
            return None
        if static(type(t), name)[0] is not MISSING:
            raise Stop("mutation", f"Setting {name} of a tensor")
        self.hang(t, name, value)
        return None

    def hang(self, t: Any, name: str, value: Any) -> None:
        """An attribute of the program's on a tensor changes; `DELETED` where it goes."""
        if name in _ENGINES or not hasattr(t, "__dict__"):
            raise Stop("mutation", f"Setting {name} of a tensor")
        self.tensor_written[id(t), name] = (t, value)

    def delete_tensor_attr(self, frame: Frame, t: Any, name: str) -> None:
        if static(type(t), name)[0] is not MISSING:
            raise Stop("mutation", f"Deleting {name} of a tensor")
        if self.foreign_attribute(frame, t, name) is MISSING:
            raise AttributeError(name)
        self.hang(t, name, DELETED)


__all__ = ["TensorAttributes"]
