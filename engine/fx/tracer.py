"""Tracing: `forward` is run once with stand-ins, and what is done to them becomes a graph."""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..nn.module import Module
from ..tensor import Tensor
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .proxy import Attribute, Proxy, TraceError, _proxies

_wrapped: list[tuple[dict[str, Any], str]] = []
_side_effects: set[Any] = set()


def wrap(fn_or_name: Any) -> Any:
    """Record calls of a function of the calling file as one node, instead of tracing into it. Also a decorator.

    Raises RuntimeError for what is neither a function nor the name of one.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    space = sys._getframe(1).f_globals
    _wrapped.append((space, name))
    return fn_or_name


def has_side_effect(fn: Any) -> Any:
    """Say that calls of `fn` must stay although nobody uses their value."""
    _side_effects.add(fn)
    return fn


class Tracer:
    """Makes a graph of a module or a function. Override `is_leaf_module` to say which modules stay one node."""

    graph: Graph
    root: Any

    def __init__(self, autowrap_modules: Any = (), autowrap_functions: Any = (), param_shapes_constant: bool = False):
        self.autowrap_functions = tuple(autowrap_functions)
        self._names: dict[int, str] = {}
        self._constants = 0

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module stays one node: those of `torch.nn` do, but `Sequential`."""
        from ..nn import Sequential

        return type(m).__module__.startswith((__package__ or "").rsplit(".", 1)[0] + ".nn") and not isinstance(
            m, Sequential
        )

    def path_of_module(self, mod: Module) -> str:
        """The dotted name of a submodule; raises NameError for one that the root does not contain."""
        for name, found in self.root.named_modules():
            if found is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def create_node(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str = ""
    ) -> Node:
        """A node of the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name)

    def proxy(self, node: Node) -> Proxy:
        """A stand-in for a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str = "", **unused: Any
    ) -> Proxy:
        """A node for a call on stand-ins, and its stand-in."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not name and kind == "call_function":
            name = self.graph._hint_for(target)
        elif not name and kind == "call_module":
            name = str(target).replace(".", "_")
        node = self.create_node(kind, target, args, kwargs, name)
        if target in _side_effects:
            node.meta["impure"] = True
        return self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """A value as an argument of a node: stand-ins become nodes, parameters and tensors attributes.

        Raises NotImplementedError for a value that a graph cannot hold.
        """
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return type(a)(*map(self.create_arg, a))
        if type(a) is tuple or type(a) is list:
            return type(a)(map(self.create_arg, a))
        if isinstance(a, tuple):
            return tuple(map(self.create_arg, a))
        if isinstance(a, dict):
            for k in a:
                if isinstance(k, Proxy):
                    raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node")
            return {k: self.create_arg(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(a.start, a.stop, a.step)
        if isinstance(a, Tensor):
            return self._attribute(a)
        if isinstance(a, Module):
            return self.create_node(
                "get_attr", self.path_of_module(a), (), {}, self.path_of_module(a).replace(".", "_")
            )
        if (
            a is None
            or a is ...
            or isinstance(a, (int, float, complex, str, bytes))
            or callable(a)
            or type(a).__module__.startswith("tapescope")
        ):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _attribute(self, t: Tensor) -> Node:
        name = self._names.get(id(t))
        if name is None:
            while hasattr(self.root, f"_tensor_constant{self._constants}"):
                self._constants += 1
            name = f"_tensor_constant{self._constants}"
            setattr(self.root, name, t)
            self._names[id(t)] = name
        return self.create_node("get_attr", name, (), {}, name.replace(".", "_"))

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the call of a submodule becomes: a node for a leaf, else the calls inside it."""
        name = self.path_of_module(m)
        if self.is_leaf_module(m, name):
            return self.create_proxy("call_module", name, args, kwargs)
        return forward(*args, **kwargs)

    def to_bool(self, obj: Proxy) -> bool:
        """Raises TraceError: which way to go is not known while tracing."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The stand-ins of the parts, where the code that asks unpacks a known number of them. Raises TraceError otherwise."""
        import dis

        frame: Any = sys._getframe(2)
        code = frame.f_code
        found = next((i for i in dis.get_instructions(code) if i.offset == frame.f_lasti), None)
        if found is not None and found.opname == "UNPACK_SEQUENCE":
            return (obj[i] for i in range(found.argval))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function "
            "argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, "
            "and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of `root` (a module or a function). `concrete_args` fixes parameters to values by name."""
        if isinstance(root, Module):
            self.root, function = root, type(root).forward
            inner = root.forward if "forward" in root.__dict__ else functools.partial(function, root)
        else:
            self.root, inner = Module(), root
        self._names = {id(t): n for n, t in (*self.root.named_parameters(), *self.root.named_buffers())}
        self._names.update({id(v): k for k, v in self.root.__dict__.items() if isinstance(v, Tensor)})
        self.graph = Graph(self.root)
        args, kwargs = self._parameters(inner, concrete_args or {})
        with _Patched(self):
            result = inner(*args, **kwargs)
        self.graph.output(self.create_arg(result))
        return self.graph

    def _parameters(self, function: Any, concrete: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, p in inspect.signature(function).parameters.items():
            if name in concrete:
                value: Any = concrete[name]
            else:
                label = {p.VAR_POSITIONAL: f"*{name}", p.VAR_KEYWORD: f"**{name}"}.get(p.kind, name)
                default = () if p.default is p.empty else (self.create_arg(p.default),)
                value = self.proxy(self.graph.create_node("placeholder", label, default, {}, name))
            if p.kind is p.KEYWORD_ONLY:
                kwargs[name] = value
            elif p.kind is p.VAR_POSITIONAL:
                args.append(value)
            elif p.kind is p.VAR_KEYWORD:
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs


class _Patched:
    """While tracing: calls of modules go to the tracer, wrapped functions become nodes."""

    def __init__(self, tracer: Tracer):
        self.tracer = tracer

    def __enter__(self) -> None:
        tracer, self._call, self._before = self.tracer, Module.__call__, []
        call = self._call

        def module_call(mod: Module, *args: Any, **kwargs: Any) -> Any:
            return tracer.call_module(mod, lambda *a, **k: call(mod, *a, **k), args, kwargs)

        self._getattr = getattribute = Module.__getattr__
        stand_ins: dict[str, Proxy] = {}

        def module_getattr(mod: Module, name: str) -> Any:
            value = getattribute(mod, name)
            label = tracer._names.get(id(value)) if isinstance(value, Tensor) else None
            if label is None:
                return value
            if label not in stand_ins:
                stand_ins[label] = tracer.create_proxy("get_attr", label, (), {}, name=label.replace(".", "_"))
            return stand_ins[label]

        Module.__getattr__ = module_getattr  # type: ignore[method-assign]
        Module.__call__ = module_call  # type: ignore[method-assign]
        places = [*_wrapped]
        for function in tracer.autowrap_functions:
            places += [(function.__globals__, function.__name__)]
        for space, name in places:
            function = space.get(name, getattr(builtins, name, None))
            if function is None:
                continue
            self._before.append((space, name, space.get(name)))
            space[name] = self._recording(function)

    def _recording(self, function: Any) -> Any:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            if next(_proxies((args, kwargs)), None) is not None:
                return self.tracer.create_proxy("call_function", function, args, kwargs)
            return function(*args, **kwargs)

        return recorded

    def __exit__(self, *error: object) -> None:
        Module.__call__ = self._call  # type: ignore[method-assign]
        Module.__getattr__ = self._getattr  # type: ignore[method-assign]
        for space, name, before in reversed(self._before):
            if before is None:
                del space[name]
            else:
                space[name] = before


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A `GraphModule` of the calls in a module or function. Raises TraceError for control flow that looks at values."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", "GraphModule")
    return GraphModule(tracer.root, graph, name)


__all__ = ["Attribute", "TraceError", "Tracer", "has_side_effect", "symbolic_trace", "wrap"]
