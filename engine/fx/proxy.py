"""What stands in for a value while a program is traced: whatever is done to a proxy becomes a node."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from .. import overrides
from .node import Node


class TraceError(ValueError):
    """The program asked a stand-in for something that only a value has."""


class Proxy:
    """Stands for the value of `node`."""

    node: Node
    tracer: Any

    def __init__(self, node: Node, tracer: Any = None):
        overrides.install()
        self.node = node
        self.tracer = tracer

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Proxy]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __contains__(self, item: Any) -> bool:
        raise TraceError("symbolically traced variables cannot be asked whether they contain something")

    def keys(self) -> Any:
        """Raises TraceError: a stand-in has no keys to spread."""
        raise TraceError("Proxy object cannot be spread with **: its keys are not known while tracing")

    def __getitem__(self, index: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("'Proxy' object does not support item assignment")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        tracers = {id(a.tracer): a.tracer for a in _proxies((args, kwargs or {}))}
        if len(tracers) != 1:
            raise RuntimeError("Found multiple different tracers while trying to trace operations")
        tracer = tracers.popitem()[1]
        from ..tensor import Tensor

        name = func.__name__
        if Tensor.__dict__.get(name) is func and not hasattr(overrides_home(), name):
            return tracer.create_proxy("call_method", name, args, kwargs or {})
        return tracer.create_proxy("call_function", func, args, kwargs or {}, name=tracer.graph._hint_for(func))

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"


def overrides_home() -> Any:
    """The `torch` namespace."""
    import sys

    return sys.modules[(__package__ or "").rsplit(".", 1)[0]]


def _proxies(value: Any) -> Iterator[Proxy]:
    if isinstance(value, Proxy):
        yield value
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from _proxies(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from _proxies(v)


class Attribute(Proxy):
    """An attribute of a stand-in: a node when it is used as a value, a method call when it is called."""

    def __init__(self, root: Proxy, attr: str):
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._made: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute; made when it is first asked for."""
        made = self._made
        if made is None:
            made = self._made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operator(name: str, function: Callable[..., Any], swapped: bool = False) -> Callable[..., Any]:
    def method(self: Proxy, *others: Any) -> Proxy:
        args = (*others, self) if swapped else (self, *others)
        return self.tracer.create_proxy("call_function", function, args, {})

    method.__name__ = name
    return method


for _name in (
    "add",
    "sub",
    "mul",
    "floordiv",
    "truediv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
    "matmul",
):
    _plain, _function = _name.rstrip("_"), getattr(operator, _name)
    setattr(Proxy, f"__{_plain}__", _operator(f"__{_plain}__", _function))
    setattr(Proxy, f"__r{_plain}__", _operator(f"__r{_plain}__", _function, swapped=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert", "abs"):
    setattr(Proxy, f"__{_name}__", _operator(f"__{_name}__", getattr(operator, _name)))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]

__all__ = ["Attribute", "Proxy", "TraceError"]
