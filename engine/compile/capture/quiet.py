"""Whether Python code does nothing but compute, as far as its bytecode tells.

Asked of the methods of custom autograd functions, which run natively inside one node: they may look at their arguments, call operators
and each other, and write to their `ctx`.
"""

from __future__ import annotations

import builtins
import math
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ...tensor import Tensor
from ..bytecode import decode
from . import leaves

_FORBIDDEN = frozenset(
    {
        "STORE_GLOBAL",
        "DELETE_GLOBAL",
        "STORE_DEREF",
        "DELETE_DEREF",
        "YIELD_VALUE",
        "IMPORT_NAME",
        "IMPORT_STAR",
        "LOAD_BUILD_CLASS",
        "DELETE_ATTR",
    }
)
_NAMES = frozenset(
    [
        "append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "write", "writelines", "item", "tolist", "numpy",
        "popitem", "appendleft", "discard", "info", "debug", "warning", "error", "backward", "manual_seed", "register_hook",
    ]
)  # fmt: skip
_BUILTINS = frozenset(
    [
        "len", "range", "isinstance", "int", "float", "bool", "min", "max", "tuple", "list", "zip", "enumerate", "abs", "sum", "any", "all",
        "reversed", "sorted", "getattr", "hasattr", "type", "dict", "set", "str", "slice", "super", "round", "map", "ValueError", "TypeError",
        "RuntimeError", "NotImplementedError", "AssertionError", "IndexError", "KeyError", "pow", "divmod", "callable", "Exception",
    ]
)  # fmt: skip


class Read:
    """A name that code looks at: a global of `space`, or a cell of `function` (then `name` is its number), and what hangs on it.

    `attributes` are the names of attributes that are read off it, where it is a class of the program.
    """

    __slots__ = ("attributes", "function", "name", "space", "value")

    def __init__(self, space: dict[str, Any], function: FunctionType | None, name: Any, value: Any) -> None:
        self.space, self.function, self.name, self.value = space, function, name, value
        self.attributes: tuple[str, ...] = ()


def quiet(f: FunctionType, reads: list[Read], depth: int = 0, seen: set[int] | None = None) -> bool:
    """Whether calling `f` has no effects that can be seen, other than on its first argument; what it looks at is put into `reads`."""
    seen = set() if seen is None else seen
    if id(f.__code__) in seen:
        return True
    seen.add(id(f.__code__))
    if depth > 6 or leaves.is_leaf(f):
        return depth <= 6
    first = f.__code__.co_varnames[0] if f.__code__.co_argcount else ""
    previous: Any = None
    last: Read | None = None
    cells = {}
    for i, (name, cell) in enumerate(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)):
        try:
            cells[name] = Read(f.__globals__, f, i, cell.cell_contents)
        except ValueError:
            continue
        if not _harmless(cells[name].value, reads, depth, seen):
            return False
        reads.append(cells[name])
    program = decode(f.__code__)
    for step in program.instructions:
        op, arg = step.op, step.arg
        if op in _FORBIDDEN or (op == "LOAD_ATTR" and arg in _NAMES):
            return False
        if op == "STORE_ATTR" and not (
            previous is not None and previous.op == "LOAD_FAST" and f.__code__.co_varnames[previous.arg] == first
        ):
            return False
        if op == "LOAD_ATTR" and last is not None:
            value = last.value
            for name in last.attributes:
                value = getattr(value, name, None)
            if isinstance(value, type):
                if not _harmless(getattr(value, arg, None), reads, depth, seen):
                    return False
                following = Read(last.space, last.function, last.name, last.value)
                following.attributes = (*last.attributes, arg)
                reads.append(following)
                last = following
        elif op == "LOAD_GLOBAL":
            space = f.__globals__
            last = None
            if arg in space:
                if not _harmless(space[arg], reads, depth, seen):
                    return False
                last = Read(space, None, arg, space[arg])
                reads.append(last)
            elif arg not in _BUILTINS:
                return False
        elif op == "LOAD_DEREF":
            last = cells.get(program.slots[arg])
        elif op not in ("NOP", "PUSH_NULL"):
            last = None
        previous = step
    return True


def _harmless(value: Any, reads: list[Read], depth: int, seen: set[int]) -> bool:
    if isinstance(value, FunctionType):
        return quiet(value, reads, depth + 1, seen)
    if isinstance(value, ModuleType):
        name = value.__name__
        return value is math or name == "torch" or "engine" in name or name.startswith(("torch.", "typing"))
    if isinstance(value, (int, float, str, bytes, bool, type(None), tuple, Tensor)):
        return True
    if isinstance(value, type):
        return True
    if isinstance(value, BuiltinFunctionType):
        return value.__module__ in ("math", "_operator") or (
            getattr(builtins, value.__name__, None) is value and value.__name__ in _BUILTINS
        )
    return type(value).__name__ in ("dtype", "device", "layout")
