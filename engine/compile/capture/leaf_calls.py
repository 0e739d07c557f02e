"""Calls of operators: run natively on fakes, and written into the graph as one node.

A mixin of the domain. Which functions are operators is said in `leaves.py`.
"""

from __future__ import annotations

from types import (
    BuiltinFunctionType,
    FunctionType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any

from ... import overrides
from ...nn.module import Module
from ...tensor import Tensor
from ..fake import DataDependent
from ..interpreter.frame import Control, Frame
from ..interpreter.generators import InterpretedGenerator
from . import graph_calls, leaves
from .attributes import is_engine, static
from .quiet import Read, quiet
from .recorder import Unrecorded
from .stops import Stop, name_of
from .tables import STRICT
from .values import PLAIN, Lazy, Misused, Obj, facet
from .world import ATOMS


class LeafCalls:
    """The part of the domain that calls operators."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    # -- leaves ---------------------------------------------------------------------------------

    where: Frame | None
    stand_ins: dict[int, Any]

    def leaf(self, frame: Frame | None, f: Any, args: list[Any], kwargs: dict[str, Any], always: bool = False) -> Any:
        """Run an operator on fakes and write its node."""
        self.where = frame or self.now
        f = leaves.plain(f)
        name = f.__name__
        given = [self.operand_of(a) for a in args]
        words = {k: self.operand_of(v) for k, v in kwargs.items()} if kwargs else {}
        values = leaves.NEEDS_VALUES.get(name)
        if values is not None and f is not getattr:
            if name in ("item", "__float__") and self.scalar_of(given[0]):
                return self.recorder.read_number(given[0], float)
            self.refuse_values(f, name, values, given)
        tensors = [t for t in _tensors(given) if t is not None]
        if words:
            tensors += list(_tensors(list(words.values())))
        if overrides.installed() and any(overrides.asks(type(t)) for t in tensors):
            raise Stop("opaque-call", f"{name_of(f)} of an object with __torch_function__")
        versions = [t._storage.version for t in tensors]
        try:
            out = self.run_leaf(f, given, words)
        except DataDependent as error:
            raise Stop(
                "dynamic-shape" if error.kind not in ("item", "bool", "float", "int") else "item", name_of(f)
            ) from None
        except (Control, Misused):
            raise
        except NotImplementedError as error:
            raise Stop("exception", f"{type(error).__name__}: {error}") from None
        except Exception as error:
            if STRICT.on and not isinstance(error, (RuntimeError, ValueError, TypeError, IndexError)):
                raise Misused(f"{type(error).__name__}: {error}") from error
            raise Stop(
                "exception", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            ) from None
        wrote = [t._storage.version for t in tensors] != versions
        if name in leaves.QUESTIONS and not wrote:
            self.asked_defaults = self.asked_defaults or name in leaves.OF_DEFAULTS
            return out
        if (
            isinstance(out, Tensor)
            and out._requires_grad
            and out._grad_fn is None
            and self.world.source_of(out) is None
        ):
            self.leaves_made.setdefault(id(out), (out, self.steps))
        made = _has_tensor(out)
        if not made and not wrote and not always and name not in leaves.ALWAYS:
            return out
        if f is getattr and self.recorder.node_of(out) is not None:
            return out
        try:
            nodes = tuple([self.recorder.argument(a, self.foreign) for a in given])
            named = {k: self.recorder.argument(v, self.foreign) for k, v in words.items()} if words else {}
        except Unrecorded as error:
            raise Stop("unsupported-value", f"{name_of(f)} of a {type(error.value).__name__}") from None
        if tensors and given and isinstance(given[0], Tensor) and leaves.plain(static(type(given[0]), name)[0]) is f:
            node = self.recorder.call(name, nodes, named, out, method=True)
        else:
            node = self.recorder.call(f, nodes, named, out)
        if wrote or always or name in leaves.ALWAYS:
            node.meta["impure"] = True
        return out

    def has_hooks(self) -> bool:
        """Whether a tensor from before has hooks, which backward runs; that there are none is guarded."""
        for t, source in self.world.tensors():
            if t.requires_grad:
                real = self.world.real_of(t)
                if real._hooks or real._retains or "_kept_accumulator" in real.__dict__:
                    return True
                self.world.guards.condition(
                    source,
                    "{e} has no hooks",
                    "{e}._hooks or {e}._retains or '_kept_accumulator' in {e}.__dict__",
                    "whether it has hooks",
                    None,
                    False,
                )
        return False

    def custom_function(self, frame: Frame, cls: Any, args: list[Any]) -> Any:
        """`Function.apply` of a custom function: one node, where its methods do nothing but compute."""
        methods = [self.type_attribute(frame, cls, n) for n in ("forward", "backward", "setup_context", "vjp", "jvp")]
        reads: list[Read] = []
        if not all(quiet(m, reads) for m in methods if isinstance(m, FunctionType) and not is_engine(m)):
            raise Stop("transform", f"{cls.__name__}.apply")
        self.guard_reads(reads)
        try:
            return self.leaf(frame, graph_calls.apply_function, [cls, *args], {})
        except Stop as stop:
            if stop.id == "exception":
                raise
            raise Stop("transform", f"{cls.__name__}.apply") from None

    def guard_reads(self, reads: list[Read]) -> None:
        """Guard what code that runs natively in a node looks at: a backend may have taken it for a constant."""
        guards, sources = self.world.guards, self.world.sources
        for r in reads:
            if r.function is None:
                source, value = sources.item(sources.const(r.space, ""), r.name, False, r.name), r.value
                own = self.world.own_obj(r.space)
                if own is not None and r.name in facet(own).writes:
                    raise Stop("transform", f"Code that looks at {r.name}, which changes before,")
            else:
                home = sources.const(r.function, r.function.__qualname__)
                cell = sources.of("closure", home, r.name, r.function.__code__.co_freevars[r.name])
                source, value = sources.of("cell", cell, None, cell.label), r.value
            for name in r.attributes:
                source, value = sources.attr(source, name), getattr(value, name)
            if type(value) in PLAIN:
                guards.value(source, value)
            elif not isinstance(value, ModuleType):
                guards.is_(source, value)

    def run_leaf(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        flag = self.recorder.flag
        before, flag.on = flag.on, True
        try:
            return f(*args, **kwargs)
        finally:
            flag.on = before

    def scalar_of(self, t: Any) -> bool:
        """Whether the value of a tensor may be a number that is known when the graph runs (`fullgraph`, `capture_scalar_outputs`)."""
        if not self.scalars or not isinstance(t, Tensor) or not t.dtype.is_floating_point or t.numel() != 1:
            return False
        return getattr(t._data, "constant", None) is None and self.recorder.node_of(t) is not None

    def refuse_values(self, f: Any, name: str, id: str, args: list[Any]) -> None:
        """End the graph at a function that needs values (unless they are known: a constant made inside)."""
        t = args[0] if args else None
        if isinstance(t, Tensor) and name in (
            "item",
            "tolist",
            "__bool__",
            "__float__",
            "__int__",
            "__index__",
            "is_nonzero",
        ):
            constant = getattr(t._data, "constant", None)
            if constant is not None and not t._data.memory.writes:
                return
        raise Stop(id, f"Tensor.{name}" if isinstance(t, Tensor) else name_of(f))

    def operand_of(self, value: Any) -> Any:
        """An argument of an operator: unread values read, containers native."""
        kind = type(value)
        if kind is Lazy:
            return self.read(value)
        if kind in PLAIN or isinstance(value, Tensor):
            return value
        if kind is list:
            return [self.operand_of(v) for v in value]
        if isinstance(value, tuple):
            parts = [self.operand_of(v) for v in value]
            if all(a is b for a, b in zip(parts, value, strict=True)):
                return value
            return tuple.__new__(kind, parts)
        if kind is dict:
            return {k: self.operand_of(v) for k, v in value.items()}
        if kind is slice:
            return slice(self.operand_of(value.start), self.operand_of(value.stop), self.operand_of(value.step))
        if kind is Obj:
            part = facet(value)
            if part is not None:
                return self.operand_of(part.native())
            if value.kind.__module__.startswith("numpy"):
                raise Stop("numpy", "An operator on an array")
            self.world.touch(value)
            return value.real
        if isinstance(value, InterpretedGenerator) or hasattr(kind, "__next__"):
            return [self.operand_of(v) for v in self.elements(self.now, value)]
        return value

    def foreign(self, value: Any) -> Any:
        """What stands in a node for an argument that is neither tensor nor plain."""
        if isinstance(value, (ATOMS, range, frozenset, set)) or type(value).__module__.startswith(_ENGINE):
            known = self.world.memo.get(id(value))
            if known is not None and type(known[1]) is Obj:
                return self.recorder.object(value, known[2])
            return value
        known = self.world.memo.get(id(value))
        if known is not None and type(known[1]) is Obj:
            return self.recorder.object(value, known[2])
        if type(value) in (FunctionType, BuiltinFunctionType):
            return value
        raise Unrecorded(value)


def _tensors(values: Any) -> list[Tensor]:
    out: list[Tensor] = []
    for v in values:
        if isinstance(v, Tensor):
            out.append(v)
        elif isinstance(v, (list, tuple)):
            out += _tensors(v)
        elif isinstance(v, dict):
            out += _tensors(v.values())
    return out


def _has_tensor(value: Any) -> bool:
    if isinstance(value, Tensor):
        return True
    if isinstance(value, (list, tuple)):
        return any(map(_has_tensor, value))
    if isinstance(value, dict):
        return any(map(_has_tensor, value.values()))
    return False


_ENGINE = Module.__module__.rsplit(".", 2)[0]
