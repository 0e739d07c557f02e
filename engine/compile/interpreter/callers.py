"""Builtins that look at their caller, answered for interpreted frames.

CPython finds the caller of `super()`, `locals()`, `exec(text)`, `sys._getframe()` on its own stack of frames, where
an interpreted frame does not stand.  `SPECIAL` says what they answer here; what they cannot (the local variables of
`sys._getframe().f_locals`) is empty.
"""

from __future__ import annotations
import __future__

import builtins
import functools
import operator
import sys
import warnings
from collections.abc import Callable
from types import CellType, FrameType
from typing import TYPE_CHECKING, Any

from . import tracebacks
from .classes import build_class
from .frame import UNBOUND, Frame

if TYPE_CHECKING:
    from .concrete_calls import ConcreteCalls

Arguments = tuple["ConcreteCalls", Frame, list[Any], dict[str, Any]]


def _contents(value: Any) -> Any:
    if type(value) is CellType:
        try:
            return value.cell_contents
        except ValueError:
            return UNBOUND
    return value


def local_variables(frame: Frame) -> Any:
    """What `locals()` answers: the namespace of a body, or a new dictionary of a function's variables."""
    if frame.names is not None:
        return frame.names
    program = frame.program
    found = {}
    for slot, name in enumerate(program.slots):
        value = frame.locals[slot]
        if slot >= program.first_free or slot in program.cells:
            value = _contents(value)
        if value is not UNBOUND:
            found[name] = value
    return found


def bare_super(frame: Frame) -> Any:
    """`super()`: the class comes from the `__class__` cell, the object is the first argument."""
    program = frame.program
    if program.code.co_argcount == 0:
        raise RuntimeError("super(): no arguments")
    obj = _contents(frame.locals[0]) if 0 in program.cells else frame.locals[0]
    if obj is UNBOUND:
        raise RuntimeError("super(): arg[0] deleted")
    for slot in range(program.first_free, len(program.slots)):
        if program.slots[slot] == "__class__":
            cls = _contents(frame.locals[slot])
            if cls is UNBOUND:
                raise RuntimeError("super(): empty __class__ cell")
            return super(cls, obj)
    raise RuntimeError("super(): __class__ cell not found")


def _super(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return super(*args, **kwargs) if args or kwargs else bare_super(frame)  # pyright: ignore[reportArgumentType]


def _locals(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return locals(*args, **kwargs) if args or kwargs else local_variables(frame)


def _globals(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return globals(*args, **kwargs) if args or kwargs else frame.globals


def _vars(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return vars(*args, **kwargs) if args or kwargs else local_variables(frame)


def _dir(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return dir(*args, **kwargs) if args or kwargs else sorted(local_variables(frame))


_INHERITED = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)


def _compile(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`compile`, `exec` and `eval` of a text take over the `__future__` imports of the code that calls them."""
    names = ("source", "filename", "mode", "flags", "dont_inherit", "optimize")
    given = {**dict(zip(names, args)), **kwargs}
    if len(given) == len(args) + len(kwargs) and not given.get("dont_inherit"):
        given["flags"] = operator.index(given.get("flags", 0)) | frame.code.co_flags & _INHERITED
        given["dont_inherit"] = True
        return compile(**given)
    return compile(*args, **kwargs)


def _evaluate(function: Callable[..., Any], mode: str) -> Any:
    def run(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if not args:
            return function(*args, **kwargs)
        given = dict(zip(("globals", "locals"), args[1:]))
        given.update({name: kwargs.pop(name) for name in ("globals", "locals") if name in kwargs})
        space, names = given.get("globals"), given.get("locals")
        if space is None:
            space = frame.globals
            names = local_variables(frame) if names is None else names
        source = args[0]
        if isinstance(source, str | bytes | bytearray | memoryview):
            text = source.lstrip(" \t") if mode == "eval" and isinstance(source, str) else source
            source = compile(text, "<string>", mode, frame.code.co_flags & _INHERITED, True)
        return function(source, space, names, **kwargs)

    return run


def _type(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) == 3 and type(args[2]) is dict and "__module__" not in args[2] and "__name__" in frame.globals:
        args = [args[0], args[1], {**args[2], "__module__": frame.globals["__name__"]}]
    return type(*args, **kwargs)


def _at(frame: Frame, depth: int) -> Frame | FrameType:
    """The frame `depth` calls below; a native one where the chain ends."""
    for one in frame.chain():
        if depth == 0:
            return one
        depth -= 1
    native: FrameType | None = sys._getframe()
    while native is not None:
        if tracebacks.is_caller(native.f_code) or not tracebacks.is_internal(native.f_code):
            if depth == 0:
                return native
            depth -= 1
        native = native.f_back
    raise ValueError("call stack is not deep enough")


def _getframe(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    found = _at(frame, *(args or [0]))
    return tracebacks.python_stack(frame, found) if isinstance(found, Frame) else found


def _getframemodulename(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        found = _at(frame, *(args or [kwargs.get("depth", 0)]))
    except ValueError:
        return None
    return (found.globals if isinstance(found, Frame) else found.f_globals).get("__name__")


def _warn(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    names = ("message", "category", "stacklevel", "source")
    given = {**dict(zip(names, args)), **kwargs}
    message, category = given.get("message"), given.get("category")
    if set(given) - set(names) or "message" not in given:
        return warnings.warn(*args, **kwargs)
    if isinstance(message, Warning):
        category = type(message)
    found = _at(frame, max(given.get("stacklevel", 1), 1) - 1)
    if isinstance(found, Frame):
        space, name = found.globals, found.code.co_filename
        line = found.program.instructions[found.ip if found is frame else found.ip - 1].position[0]
    else:
        space, name, line = found.f_globals, found.f_code.co_filename, found.f_lineno
    return warnings.warn_explicit(
        message,  # type: ignore[arg-type]
        category or UserWarning,
        name,
        line or 1,
        space.get("__name__") or "<string>",
        space.setdefault("__warningregistry__", {}),
        None,
        given.get("source"),
    )


SPECIAL: dict[int, Callable[[Any, Frame, list[Any], dict[str, Any]], Any]] = {
    id(super): _super,
    id(locals): _locals,
    id(globals): _globals,
    id(vars): _vars,
    id(dir): _dir,
    id(eval): _evaluate(eval, "eval"),
    id(exec): _evaluate(exec, "exec"),
    id(compile): _compile,
    id(type): _type,
    id(builtins.__build_class__): build_class,
    id(sys._getframe): _getframe,
    id(warnings.warn): _warn,
}
"""Identity of a builtin -> what answers for it, called with (domain, calling frame, arguments, keyword arguments)."""

if hasattr(sys, "_getframemodulename"):
    SPECIAL[id(sys._getframemodulename)] = _getframemodulename  # type: ignore[attr-defined]
