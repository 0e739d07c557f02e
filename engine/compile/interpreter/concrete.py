"""The domain of Python's own values: every instruction does what CPython does.

Values are ordinary objects, cells are cells, exceptions are exceptions.  Calls are in `concrete_calls.py`; here is
the rest.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, NoReturn

from . import native, tracebacks
from .callers import local_variables
from .concrete_calls import ConcreteCalls
from .frame import EXHAUSTED, UNBOUND, Frame
from .generators import InterpretedGenerator

UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_,
}  # fmt: skip

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "@": operator.matmul, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv,
    "//=": operator.ifloordiv, "%=": operator.imod, "@=": operator.imatmul, "**=": operator.ipow,
    "<<=": operator.ilshift, ">>=": operator.irshift, "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor,
}  # fmt: skip

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

CONVERT: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}


class ConcreteDomain(ConcreteCalls):
    """Python's own semantics.

    `interpret(function)` says which Python functions run as frames of the interpreter when called (all others are
    called natively); None: all that can.
    """

    # Names, cells

    def load_global(self, frame: Frame, name: str) -> Any:
        value = _lookup(frame.globals, name)
        if value is UNBOUND:
            value = _lookup(frame.builtins, name)
            if value is UNBOUND:
                raise _undefined(name)
        return value

    def store_global(self, frame: Frame, name: str, value: Any) -> None:
        frame.globals[name] = value

    def delete_global(self, frame: Frame, name: str) -> None:
        if name not in frame.globals:
            raise _undefined(name)
        del frame.globals[name]

    def load_name(self, frame: Frame, name: str) -> Any:
        return self.load_from_mapping_or_global(frame, frame.names, name)

    def store_name(self, frame: Frame, name: str, value: Any) -> None:
        frame.names[name] = value

    def delete_name(self, frame: Frame, name: str) -> None:
        try:
            del frame.names[name]
            return
        except KeyError:
            pass
        raise _undefined(name)  # not in the `except`: the program must not see the KeyError as its context

    def load_locals(self, frame: Frame) -> Any:
        return frame.names

    def load_from_mapping_or_global(self, frame: Frame, mapping: Any, name: str) -> Any:
        try:
            return mapping[name]
        except KeyError:
            pass
        return self.load_global(frame, name)

    def load_from_mapping_or_cell(self, frame: Frame, mapping: Any, slot: int) -> Any:
        try:
            return mapping[frame.program.slots[slot]]
        except KeyError:
            pass
        return self.load_deref(frame, frame.locals[slot], slot)

    def make_cell(self, frame: Frame, value: Any) -> Any:
        return CellType() if value is UNBOUND else CellType(value)

    def load_deref(self, frame: Frame, cell: Any, slot: int) -> Any:
        try:
            return cell.cell_contents
        except ValueError:
            pass
        raise frame.program.unbound(slot)

    def store_deref(self, frame: Frame, cell: Any, value: Any) -> None:
        cell.cell_contents = value

    def delete_deref(self, frame: Frame, cell: Any, slot: int) -> None:
        self.load_deref(frame, cell, slot)
        del cell.cell_contents

    # Operators

    def unary(self, frame: Frame, op: str, a: Any) -> Any:
        return UNARY[op](a)

    def binary(self, frame: Frame, op: str, a: Any, b: Any) -> Any:
        return BINARY[op](a, b)

    def compare(self, frame: Frame, op: str, a: Any, b: Any) -> Any:
        return COMPARE[op](a, b)

    def is_(self, frame: Frame, a: Any, b: Any, invert: bool) -> Any:
        return (a is not b) if invert else a is b

    def is_none(self, frame: Frame, a: Any) -> bool:
        return a is None

    def contains(self, frame: Frame, container: Any, item: Any, invert: bool) -> Any:
        return item not in container if invert else item in container

    def truth(self, frame: Frame, value: Any) -> Any:
        return bool(value)

    # Attributes, items

    def load_attr(self, frame: Frame, obj: Any, name: str) -> Any:
        return getattr(obj, name)

    def store_attr(self, frame: Frame, obj: Any, name: str, value: Any) -> Any:
        setattr(obj, name, value)

    def delete_attr(self, frame: Frame, obj: Any, name: str) -> Any:
        delattr(obj, name)

    def load_super_attr(self, frame: Frame, super_: Any, cls: Any, obj: Any, name: str, explicit: bool) -> Any:
        if super_ is super or explicit:
            return getattr(super_(cls, obj), name)
        return getattr(super_(), name)

    def load_special(self, frame: Frame, obj: Any, name: str) -> Any:
        cls = type(obj)
        for base in cls.__mro__:
            if name in base.__dict__:
                method = base.__dict__[name]
                get = getattr(type(method), "__get__", None)
                return method if get is None else get(method, obj, cls)
        raise TypeError(_no_manager(cls, name))

    def getitem(self, frame: Frame, container: Any, key: Any) -> Any:
        return container[key]

    def setitem(self, frame: Frame, container: Any, key: Any, value: Any) -> Any:
        container[key] = value

    def delitem(self, frame: Frame, container: Any, key: Any) -> Any:
        del container[key]

    # Displays, comprehensions

    def build_tuple(self, frame: Frame, items: list[Any]) -> Any:
        return tuple(items)

    def build_list(self, frame: Frame, items: list[Any]) -> Any:
        return items

    def build_set(self, frame: Frame, items: list[Any]) -> Any:
        return set(items)

    def build_map(self, frame: Frame, keys: Sequence[Any], values: Sequence[Any]) -> Any:
        return dict(zip(keys, values))

    def build_string(self, frame: Frame, parts: list[Any]) -> Any:
        return "".join(parts)

    def build_slice(self, frame: Frame, parts: list[Any]) -> Any:
        return slice(*parts)

    def build_template(self, frame: Frame, strings: Any, interpolations: Any) -> Any:
        from string.templatelib import Template  # type: ignore[import-not-found]  # Python 3.14

        parts: list[Any] = [strings[0]]
        for interpolation, string in zip(interpolations, strings[1:]):
            parts += [interpolation, string]
        return Template(*parts)

    def build_interpolation(self, frame: Frame, value: Any, text: Any, conversion: str | None, spec: Any) -> Any:
        from string.templatelib import Interpolation  # type: ignore[import-not-found]  # Python 3.14

        return Interpolation(value, text, conversion, spec)

    def list_append(self, frame: Frame, target: Any, item: Any) -> None:
        target.append(item)

    def list_extend(self, frame: Frame, target: Any, iterable: Any) -> None:
        kind = type(iterable)
        if not hasattr(kind, "__iter__") and not hasattr(kind, "__getitem__"):
            raise TypeError(f"Value after * must be an iterable, not {kind.__name__}")
        target.extend(iterable)

    def list_to_tuple(self, frame: Frame, target: Any) -> Any:
        return tuple(target)

    def set_add(self, frame: Frame, target: Any, item: Any) -> None:
        target.add(item)

    def set_update(self, frame: Frame, target: Any, iterable: Any) -> None:
        target.update(iterable)

    def map_add(self, frame: Frame, target: Any, key: Any, value: Any) -> None:
        target[key] = value

    def dict_update(self, frame: Frame, target: Any, mapping: Any) -> None:
        if not hasattr(mapping, "keys"):
            raise TypeError(f"'{type(mapping).__name__}' object is not a mapping")
        target.update(mapping)

    def unpack(self, frame: Frame, value: Any, count: int) -> Sequence[Any]:
        kind = type(value)
        if (kind is tuple or kind is list) and len(value) == count:
            return value
        return native.unpacker(count)(value)

    def unpack_ex(self, frame: Frame, value: Any, before: int, after: int) -> Sequence[Any]:
        return native.star_unpacker(before, after)(value)

    # Formatting

    def convert_value(self, frame: Frame, value: Any, conversion: str) -> Any:
        return CONVERT[conversion](value)

    def format_value(self, frame: Frame, value: Any, spec: Any | None) -> Any:
        return format(value) if spec is None else format(value, spec)

    # match

    def get_len(self, frame: Frame, value: Any) -> Any:
        return len(value)

    def match_mapping(self, frame: Frame, subject: Any) -> bool:
        return native.is_mapping(subject)

    def match_sequence(self, frame: Frame, subject: Any) -> bool:
        return native.is_sequence(subject)

    def match_keys(self, frame: Frame, subject: Any, keys: Any) -> Any:
        seen = set()
        values = []
        for key in keys:
            if key in seen:
                raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
            seen.add(key)
            value = subject.get(key, UNBOUND)
            if value is UNBOUND:
                return None
            values.append(value)
        return tuple(values)

    def match_class(self, frame: Frame, subject: Any, cls: Any, count: int, names: Any) -> Any:
        return native.class_matcher(count, names)(subject, cls)

    # Functions

    def make_function(self, frame: Frame, code: CodeType, attributes: dict[str, Any]) -> Any:
        function = FunctionType(code, frame.globals, None, attributes.get("defaults"), attributes.get("closure"))
        kwdefaults, annotations = attributes.get("kwdefaults"), attributes.get("annotations")
        if kwdefaults is not None:
            function.__kwdefaults__ = kwdefaults
        if annotations is not None:
            if isinstance(annotations, tuple):  # names and values in turn
                annotations = dict(zip(annotations[::2], annotations[1::2]))
            function.__annotations__ = annotations
        if "annotate" in attributes:
            function.__annotate__ = attributes["annotate"]  # type: ignore[attr-defined]  # Python 3.14
        return function

    def build_closure(self, frame: Frame, cells: list[Any]) -> Any:
        return tuple(cells)

    def setup_annotations(self, frame: Frame) -> None:
        if "__annotations__" not in frame.names:
            frame.names["__annotations__"] = {}

    def make_generator(self, frame: Frame) -> Any:
        return InterpretedGenerator(frame, self.interpreter)

    # Imports

    def import_name(self, frame: Frame, name: str, fromlist: Any, level: Any) -> Any:
        importer = frame.builtins.get("__import__")
        if importer is None:
            raise ImportError("__import__ not found")
        call = tracebacks.caller(frame, frame.ip)
        return call(importer, [name, frame.globals, frame.names, fromlist, level], {})

    def import_from(self, frame: Frame, module: Any, name: str) -> Any:
        return native.import_from(module, name)

    def import_star(self, frame: Frame, module: Any) -> None:
        native.import_star(module, frame.names)

    # Iteration

    def get_iter(self, frame: Frame, value: Any) -> Any:
        return iter(value)

    def for_iter(self, frame: Frame, iterator: Any) -> Any:
        if type(iterator) is InterpretedGenerator and iterator.interpreter is self.interpreter:
            resumed = iterator.resume()
            return EXHAUSTED if resumed is None else resumed
        try:
            return next(iterator)
        except StopIteration:
            return EXHAUSTED

    def get_yield_from_iter(self, frame: Frame, value: Any) -> Any:
        return iter(value)

    def send(self, frame: Frame, receiver: Any, value: Any) -> Frame | tuple[bool, Any]:
        if type(receiver) is InterpretedGenerator and receiver.interpreter is self.interpreter:
            resumed = receiver.resume(value)
            return (True, None) if resumed is None else resumed
        try:
            return False, next(receiver) if value is None else receiver.send(value)
        except StopIteration as stop:
            return True, stop.value

    # Exceptions

    def raise_(self, frame: Frame, exception: Any | None, cause: Any | None, has_cause: bool) -> NoReturn:
        if exception is None:
            active = sys.exc_info()[1]
            if active is None:
                raise RuntimeError("No active exception to reraise")
            raise active
        if has_cause:
            raise exception from cause
        raise exception

    def catch(self, frame: Frame, raised: BaseException) -> Any:
        raised.__traceback__ = tracebacks.strip(raised.__traceback__)
        return raised

    def thrown(self, frame: Frame, value: Any) -> Any:
        if frame.topmost_handled() is None:
            return value
        traceback = value.__traceback__
        try:
            raise value  # gets the handled exception as its context
        except BaseException:
            value.__traceback__ = traceback
        return value

    def throwable(self, value: Any) -> BaseException:
        return value

    def native_exception(self, value: Any) -> BaseException | None:
        return value

    def add_traceback(self, frame: Frame, value: Any) -> None:
        try:
            value.__traceback__ = tracebacks.entry(frame, local_variables(frame), value.__traceback__)
        except RecursionError:
            pass  # near the limit a shorter traceback must do

    def exception_match(self, frame: Frame, value: Any, types: Any) -> bool:
        for kind in types if isinstance(types, tuple) else (types,):
            if not (isinstance(kind, type) and issubclass(kind, BaseException)):
                raise TypeError("catching classes that do not inherit from BaseException is not allowed")
        return _is_instance(value, types)

    def exception_group_match(self, frame: Frame, value: Any, types: Any) -> tuple[Any, Any]:
        self.exception_match(frame, value, types)
        for kind in types if isinstance(types, tuple) else (types,):
            if issubclass(kind, BaseExceptionGroup):
                raise TypeError("catching ExceptionGroup with except* is not allowed. Use except instead.")
        if _is_instance(value, types):
            if isinstance(value, BaseExceptionGroup):
                return None, value
            return None, BaseExceptionGroup("", [value])
        if isinstance(value, BaseExceptionGroup):
            match, rest = value.split(types)
            return (value, None) if match is None else (rest, match)
        return value, None

    def exception_triple(self, frame: Frame, value: Any) -> tuple[Any, Any, Any]:
        return type(value), value, value.__traceback__

    def reraise_star(self, frame: Frame, original: Any, raised: Any) -> Any:
        if not raised:
            return None
        if not isinstance(original, BaseExceptionGroup):
            return raised[0]
        fresh, again = [], []
        for exception in raised:
            if exception is not None:
                (again if _derived(exception, original) else fresh).append(exception)
        kept = set()
        for exception in again:
            _collect_leaves(exception, kept)
        rest = original.split(lambda one: id(one) in kept)[0] if kept else None
        if not fresh:
            return rest
        if rest is not None:
            fresh.append(rest)
        return fresh[0] if len(fresh) == 1 else BaseExceptionGroup("", fresh)

    def stop_value(self, frame: Frame, value: Any) -> tuple[bool, Any]:
        return (True, value.value) if isinstance(value, StopIteration) else (False, None)

    def generator_raised(self, frame: Frame, value: Any) -> Any:
        if not isinstance(value, StopIteration):
            return value
        error = RuntimeError("generator raised StopIteration")
        error.__cause__ = error.__context__ = value
        return error


def _lookup(space: Any, name: str) -> Any:
    if type(space) is dict:
        return space.get(name, UNBOUND)
    try:
        return space[name]  # may have a `__missing__` of its own
    except KeyError:
        return UNBOUND


def _undefined(name: str) -> NameError:
    return NameError(f"name '{name}' is not defined", name=name)


def _no_manager(cls: type, name: str) -> str:
    """What CPython says where a with-block finds no `name`."""
    has = functools.partial(_has_special, cls)
    if sys.version_info < (3, 14):
        text = f"'{cls.__name__}' object does not support the context manager protocol"
        return text + " (missed __exit__ method)" if name == "__exit__" else text
    kind = cls.__qualname__ if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}.{cls.__qualname__}"
    text = f"'{kind}' object does not support the context manager protocol (missed {name} method)"
    if has("__aenter__") and has("__aexit__"):
        text += ". Did you mean to use 'async with'?"
    return text


def _has_special(cls: type, name: str) -> bool:
    return any(name in base.__dict__ for base in cls.__mro__)


def _is_instance(value: Any, types: Any) -> bool:
    """As `except` tests it: by the bases alone, no `__instancecheck__`."""
    bases = type(value).__mro__
    return any(kind in bases for kind in (types if isinstance(types, tuple) else (types,)))


def _derived(exception: BaseException, original: BaseException) -> bool:
    """Whether a part of a group was raised again as it was: it shares everything with the whole."""
    names = ("__traceback__", "__cause__", "__context__", "__notes__")
    return isinstance(exception, BaseExceptionGroup) and all(
        getattr(exception, name, None) is getattr(original, name, None) for name in names
    )


def _collect_leaves(exception: BaseException, into: set[int]) -> None:
    if isinstance(exception, BaseExceptionGroup):
        for inner in exception.exceptions:
            _collect_leaves(inner, into)
    else:
        into.add(id(exception))
