"""Calls of functions and methods written in C: answered natively on plain values, by the containers' rules, or not at all.

A mixin of the domain.
"""

from __future__ import annotations

import sys
from types import (
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any

from ...nn.module import Module
from ...tensor import Tensor
from ..fake import SymFloat, SymInt, is_symbolic
from ..interpreter.frame import Frame, Yielded
from ..interpreter.generators import InterpretedGenerator
from .attributes import static
from .stops import Stop, name_of
from .tables import PURE, STOP_MODULES, SYMBOLIC, Dirty, Handler
from .values import MISSING, PLAIN, Obj, facet

_PLAIN_MODULES = (
    "builtins", "fractions", "decimal", "collections", "types", "numbers", "enum", "operator", "functools", "itertools",
)  # fmt: skip
"""Modules of Python whose objects are plain values without effects."""


class NativeCalls:
    """The part of the domain that calls native functions."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    # -- native functions -----------------------------------------------------------------------

    def call_builtin(self, frame: Frame, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        owner = getattr(f, "__self__", None)
        if owner is None or isinstance(owner, ModuleType):
            module = getattr(f, "__module__", None) or getattr(owner, "__name__", "")
            if id(f) in PURE or module in ("math", "_operator", "cmath"):
                return self.pure(f, args, kwargs)
            root = str(module).partition(".")[0]
            if root in STOP_MODULES:
                raise Stop(STOP_MODULES[root], name_of(f))
            raise Stop("opaque-call", name_of(f))
        if isinstance(owner, type):
            return self.class_method(frame, owner, f.__name__, f, args, kwargs)
        return self.c_method(frame, owner, f.__name__, args, kwargs)

    def class_method(
        self, frame: Frame, owner: type, name: str, f: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        """`object.__new__`, `dict.fromkeys` and their like."""
        if name == "__new__":
            cls = self.read(args[0])
            if owner is object and (len(args) == 1 or static(cls, "__init__")[1] is not object):
                return object.__new__(cls)
            return self.native_new(frame, cls, args[1:], kwargs)
        if name == "fromkeys":
            value = args[1] if len(args) > 1 else None
            return owner.fromkeys([self.key(k) for k in self.elements(frame, args[0])], value)  # type: ignore[attr-defined]
        if name in ("__init_subclass__", "__subclasshook__"):
            return None if name == "__init_subclass__" else NotImplemented
        if name == "_make":
            return tuple.__new__(owner, self.elements(frame, args[0]))
        if owner.__module__ == "builtins":
            return self.pure(f, args, kwargs)
        raise Stop("opaque-call", f"{owner.__name__}.{name}")

    def c_method(self, frame: Frame, receiver: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A method written in C, bound to a value."""
        receiver = self.read(receiver)
        kind = receiver.kind if type(receiver) is Obj else type(receiver)
        if isinstance(receiver, InterpretedGenerator):
            return self.generator_method(frame, receiver, name, args)
        if name in _OBJECT_METHODS:
            return _OBJECT_METHODS[name](self, frame, receiver, args, kwargs)
        from collections import deque

        if issubclass(kind, (list, dict, set, frozenset, deque)) or (
            issubclass(kind, tuple) and name not in ("_asdict",)
        ):
            return self.container_method(frame, receiver, name, args, kwargs)
        if type(receiver) is Obj:
            if kind.__module__.partition(".")[0] in STOP_MODULES:
                raise Stop(STOP_MODULES[kind.__module__.partition(".")[0]], f"{kind.__name__}.{name}")
            raise Stop("numpy" if kind.__module__ == "numpy" else "opaque-call", f"{kind.__name__}.{name}")
        if name == "__next__":
            return next(receiver)
        if kind is str and name in ("format", "join", "format_map"):
            return self.string_method(frame, receiver, name, args, kwargs)
        if name == "__get__" and kind in (FunctionType, property):
            return MethodType(receiver, args[0]) if kind is FunctionType and args[0] is not None else receiver
        if kind is property and name in ("setter", "getter", "deleter"):
            return getattr(receiver, name)(*args)
        if kind in PLAIN or kind in (range, slice, bytes, SymInt, SymFloat) or kind.__module__ in _PLAIN_MODULES:
            return self.pure(getattr(receiver, name), args, kwargs)
        if isinstance(receiver, BaseException):
            return getattr(receiver, name)(*args)
        if kind.__module__ in ("builtins", "collections") and kind.__name__.startswith(("dict_", "odict_")):
            return getattr(receiver, name)(*[self.settle(a) for a in args])
        raise Stop("opaque-call", f"{kind.__name__}.{name}")

    def string_method(self, frame: Frame, receiver: str, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name == "join":
            return receiver.join([self.read(x) for x in self.elements(frame, args[0])])
        given = [self.plain(a, "format") for a in args]
        return getattr(receiver, name)(*given, **{k: self.plain(v, "format") for k, v in kwargs.items()})

    def generator_method(self, frame: Frame, generator: Any, name: str, args: list[Any]) -> Any:
        from ..interpreter.frame import EXHAUSTED

        if name in ("__next__", "send"):
            value = self.read(args[0]) if args else None
            made = generator.resume(value)
            if made is None:
                raise StopIteration
            return made
        if name == "__iter__":
            return generator
        if name == "close":
            if generator.state in ("created", "closed"):
                generator.state = "closed"
                return None
            made = generator.throw_into(GeneratorExit())
            try:
                self.nesting += 1
                outcome = self.interpreter.execute(made)
            except (GeneratorExit, StopIteration):
                return None
            except Stop as stop:
                raise Dirty(stop) from None
            finally:
                self.nesting -= 1
            if type(outcome) is Yielded:
                raise RuntimeError("generator ignored GeneratorExit")
            return outcome.value if sys.version_info >= (3, 13) else None
        if name == "throw":
            if generator.delegate() is not None:
                raise Stop("unsupported-value", "throw() into a generator that waits for another one")
            error, value = self.read(args[0]), self.read(args[1]) if len(args) > 1 else None
            if isinstance(value, BaseException):
                error = value
            elif isinstance(error, type):
                given = () if value is None else value if type(value) is tuple else (value,)
                error = self.nested(error, list(given), {})
            made = generator.throw_into(error)
            if made is None:
                raise error
            return made
        _ = EXHAUSTED
        raise Stop("opaque-call", f"generator.{name}")

    def call_descriptor(self, frame: Frame, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """`dict.get(d, k)`, `object.__setattr__(o, n, v)` and their like."""
        name = f.__name__
        if not args:
            raise TypeError(f"unbound method {f.__objclass__.__name__}.{name}() needs an argument")
        receiver = self.read(args[0])
        if f.__objclass__ is object or name in ("__init__", "__setattr__", "__getattribute__", "__delattr__"):
            handler = _OBJECT_METHODS.get(name)
            if handler is not None:
                return handler(self, frame, receiver, args[1:], kwargs)
        if f.__objclass__ is type and name == "__call__":
            cls = receiver
            new, owner = self.of_class(cls, "__new__")
            _ = new, owner
            return self._type_call(frame, cls, args[1:], kwargs)
        return self.c_method(frame, receiver, name, args[1:], kwargs)

    def _type_call(self, frame: Frame, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        new, _owner = self.of_class(cls, "__new__")
        inner = new.__func__ if isinstance(new, staticmethod) else new
        if type(inner) is FunctionType:
            instance = self.nested(inner, [cls, *args], kwargs)
        else:
            instance = self.native_new(frame, cls, args, kwargs)
        return self.initialise(frame, instance, cls, args, kwargs)

    def pure(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a native function without effects on plain values."""
        given = [self.settle(a) for a in args]
        words = {k: self.settle(v) for k, v in kwargs.items()}
        if any(map(self.symbolic, given)) or any(map(self.symbolic, words.values())):
            if any(isinstance(a, Tensor) for a in (*given, *words.values())):
                raise Stop("item", name_of(f))
            raise Stop("opaque-call", name_of(f))
        if any(map(is_symbolic, given)):
            quick = SYMBOLIC.get(id(f))
            if quick is not None:
                return quick(*given)
        return f(*map(self.concrete, given), **{k: self.concrete(v) for k, v in words.items()})


def _plain_setattr(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    name = domain.read(args[0])
    if isinstance(receiver, type):
        return domain.store_class_attr(receiver, name, args[1])
    kind = receiver.kind if type(receiver) is Obj else type(receiver)
    return domain.plain_store(frame, receiver, kind, name, args[1])


def _plain_delattr(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    kind = receiver.kind if type(receiver) is Obj else type(receiver)
    return domain.plain_delete(frame, receiver, kind, domain.read(args[0]))


def _plain_init(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if isinstance(receiver, (dict, list, set)) and (args or kwargs):
        domain.fill(frame, receiver, args, kwargs)
    elif isinstance(receiver, BaseException):
        receiver.args = tuple(args)
    elif type(receiver) is Obj and (args or kwargs):
        raise Stop("mutation", "__init__ of an object that exists")
    return None


def _plain_getattribute(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    name = domain.read(args[0])
    if type(receiver) is Obj:
        kind = receiver.kind
        found, owner = domain.of_class(kind, name)
        value = (
            domain.get_own(receiver, name, isinstance(receiver.real, Module))
            if hasattr(receiver.real, "__dict__")
            else MISSING
        )
        if found is not MISSING and (hasattr(type(found), "__set__") or value is MISSING):
            return domain.bind(frame, receiver, kind, found, owner, name)
        if value is MISSING:
            raise domain.no_attribute(receiver, name)
        return value
    own = getattr(receiver, "__dict__", {})
    found, owner = domain.of_class(type(receiver), name)
    if found is not MISSING and (hasattr(type(found), "__set__") or name not in own):
        return domain.bind(frame, receiver, type(receiver), found, owner, name)
    if name in own:
        return own[name]
    raise domain.no_attribute(receiver, name)


def _identity_eq(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if issubclass(receiver.kind if type(receiver) is Obj else type(receiver), (list, dict, tuple, set)):
        return domain.compare(frame, "==", receiver, args[0])
    return True if domain.is_(frame, receiver, args[0], False) else NotImplemented


def _identity_ne(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return not domain.truth_of(domain.nested_value(frame, domain.compare(frame, "==", receiver, args[0])))


def _default_hash(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    value = domain.plain(receiver, "hash()")
    if type(value).__hash__ is object.__hash__:
        raise Stop("unsupported-value", "The hash of an object")
    return hash(value)


def _text_of(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    value = domain.plain(receiver, "repr()")
    if type(value).__repr__ is object.__repr__:
        raise Stop("unsupported-value", "The address of an object")
    return repr(value)


def _length_of(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return domain.length(frame, receiver)


def _iter_of(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    part = facet(receiver) if type(receiver) is Obj else None
    return iter(part.native()) if part is not None else iter(receiver)


_OBJECT_METHODS: dict[str, Handler] = {
    "__setattr__": _plain_setattr, "__delattr__": _plain_delattr, "__init__": _plain_init, "__getattribute__": _plain_getattribute,
    "__eq__": _identity_eq, "__ne__": _identity_ne, "__hash__": _default_hash, "__repr__": _text_of, "__iter__": _iter_of,
    "__len__": _length_of, "__init_subclass__": lambda *a: None,
}  # fmt: skip
"""Methods of `object` and their like, called explicitly (`super().__setattr__(...)`)."""
