"""Calls in the domain of Python's own values: which become frames, and builtins that look at their caller.

A Python function, a bound method of one, an instance with a Python `__call__`, and a class with a Python `__init__`
become frames; everything else is called natively.  `super()`, `locals()`, `exec` and their like ask CPython for the
frame that calls them, which here is ours: they are answered here.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from ..bytecode.decode import decode
from . import tracebacks
from .binding import Mismatch, bind, complain
from .callers import SPECIAL
from .domain import Domain
from .frame import Convert, Frame


class ConcreteCalls(Domain):
    """The calls of `ConcreteDomain`."""

    def __init__(self, interpret: Callable[[FunctionType], bool] | None = None) -> None:
        self._interpret = interpret

    def interprets(self, function: FunctionType) -> bool:
        """Whether a call of `function` becomes a frame."""
        code = function.__code__
        if decode(code).refusal is not None or tracebacks.is_internal(code):
            return False
        return self._interpret is None or self._interpret(function)

    def call(self, frame: Frame, callable: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        kind = type(callable)
        if kind is MethodType:
            function = callable.__func__
            if type(function) is FunctionType:
                return self.call_function(frame, function, [callable.__self__, *args], kwargs)
        elif kind is FunctionType:
            return self.call_function(frame, callable, args, kwargs)
        elif isinstance(callable, type):
            init = _python_init(callable)
            if init is not None and self.interprets(init):
                instance = object.__new__(callable)
                started = self.call_function(frame, init, [instance, *args], kwargs)
                if type(started) is Frame:
                    started.convert = Convert("init", _Init(instance), instance)
                    return started
                return _Init(instance)(frame, started)
        else:
            method = getattr(kind, "__call__", None)  # noqa: B004  (the method itself is wanted)
            if type(method) is FunctionType:
                return self.call_function(frame, method, [callable, *args], kwargs)
        if frame is not None:
            special = SPECIAL.get(id(callable))
            if special is not None:
                return special(self, frame, args, kwargs)
        return self.call_native(frame, callable, args, kwargs)

    def call_native(self, frame: Frame, callable: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call without a frame of our own.  Code that looks for its caller finds the line of the program that calls."""
        if frame is None:
            return callable(*args, **kwargs)
        return tracebacks.caller(frame, frame.ip)(callable, args, kwargs)

    def call_function(self, frame: Frame, function: FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if not self.interprets(function):
            return self.call_native(frame, function, args, kwargs)
        return self.make_frame(function, args, kwargs)

    def make_frame(self, function: FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Frame:
        """A frame for a call of `function`, arguments bound; TypeError where they do not fit."""
        code = function.__code__
        program = decode(code)
        try:
            slots = bind(code, len(program.slots), function.__defaults__, function.__kwdefaults__, args, kwargs)
        except Mismatch:
            slots = None
        if slots is None:  # outside of the `except`: the error has no context
            complain(function, args, kwargs)
        return Frame(
            program,
            function.__globals__,
            function.__builtins__,
            slots,
            closure=function.__closure__ or (),
            function=function,
        )

    def call_ex(self, frame: Frame, callable: Any, args: Any, kwargs: Any | None) -> Any:
        if type(args) is not tuple:
            if not hasattr(type(args), "__iter__") and not hasattr(type(args), "__getitem__"):
                kind = type(args).__name__
                raise TypeError(f"{describe(callable)} argument after * must be an iterable, not {kind}")
            args = tuple(args)
        given: dict[str, Any] = {}
        if kwargs is not None:
            self.dict_merge(frame, given, kwargs, callable)
            if not all(isinstance(name, str) for name in given):
                raise TypeError("keywords must be strings")
        return self.call(frame, callable, list(args), given)

    def dict_merge(self, frame: Frame, target: Any, mapping: Any, callable: Any) -> None:
        if not hasattr(mapping, "keys"):
            kind = type(mapping).__name__
            raise TypeError(f"{describe(callable)} argument after ** must be a mapping, not {kind}")
        for name in mapping.keys():  # noqa: SIM118  (a mapping may iterate over something else)
            if name in target:
                if not isinstance(name, str):
                    raise TypeError("keywords must be strings")
                raise TypeError(f"{describe(callable)} got multiple values for keyword argument '{name}'")
            target[name] = mapping[name]

    def load_build_class(self, frame: Frame) -> Any:
        builder = frame.builtins.get("__build_class__")
        if builder is None:
            raise NameError("__build_class__ not found")
        return builder


class _Init:
    """The end of `cls(...)`: `__init__` has answered, the instance is the value."""

    __slots__ = ("instance",)

    def __init__(self, instance: Any) -> None:
        self.instance = instance

    def __call__(self, frame: Frame, value: Any) -> Any:
        if value is not None:
            raise TypeError(f"__init__() should return None, not '{type(value).__name__}'")
        return self.instance


def _python_init(cls: type) -> FunctionType | None:
    """The `__init__` of a class that is made in the ordinary way and has one written in Python."""
    if type(cls).__call__ is not type.__call__ or cls.__new__ is not object.__new__:
        return None
    init: Any = cls.__init__
    return init if type(init) is FunctionType else None


def describe(callable: Any) -> str:
    """How CPython's messages name a callable."""
    name = getattr(callable, "__qualname__", None)
    if not isinstance(name, str):
        return str(callable)
    module = getattr(callable, "__module__", None)
    if module is not None and module != "builtins":
        return f"{module}.{name}()"
    return f"{name}()"
