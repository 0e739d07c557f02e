"""The values involved in a break, as texts: what they are called, their type, and shape and dtype or a short `repr`.

They are the operands of the instruction at which the graph ends, in the order in which they are written. Nothing of the program runs
for it, nothing is guarded, and what an object of the program would say of itself is not asked.
"""

from __future__ import annotations

import ast
import linecache
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

from ...tensor import Tensor
from ..bytecode.canonical import CANONICAL
from ..fake import SymFloat, SymInt
from ..interpreter.frame import NULL, UNBOUND, Frame
from .values import MISSING, PLAIN, CMethod, Lazy, Obj

_LONGEST = 60
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, type, ModuleType)


def involved(world: Any, frame: Frame) -> tuple[str, ...]:
    """The operands of the instruction at which `frame` stands, as texts."""
    try:
        operands, called = _operands(frame)
        names = _written(frame, called)
        if len(names) != len(operands):
            names = [""] * len(operands)
        return tuple(
            [_text(world, v, _name(world, frame, v) or n) for v, n in zip(operands, names, strict=True)],
        )
    except (IndexError, ValueError, TypeError, AttributeError, RecursionError):
        return ()


def _operands(frame: Frame) -> tuple[list[Any], Any]:
    """The operands, and what is called where something is."""
    step, stack = frame.program.instructions[frame.ip], frame.stack
    op, arg = step.op, step.arg
    if op in ("CALL", "CALL_FUNCTION_EX"):
        count = arg[0] if op == "CALL" else 1 + bool(arg)
        given = [v for v in stack[len(stack) - count - 2 :] if v is not NULL]
        called, args = given[0], given[1:]
        if op == "CALL_FUNCTION_EX" and isinstance(args[0], (tuple, list)):
            args = [*args[0], *(args[1].values() if len(args) > 1 and isinstance(args[1], dict) else ())]
        if type(called) is MethodType:
            args = [called.__self__, *args]
        elif type(called) is CMethod:
            args = [called.receiver, *args]
        elif getattr(called, "__self__", None) is not None and not isinstance(called.__self__, (ModuleType, type)):
            args = [called.__self__, *args]
        return args, called
    count = {"LOAD_ATTR": 1, "POP_JUMP_IF_FALSE": 1, "POP_JUMP_IF_TRUE": 1}.get(op)
    if op.startswith("BUILD_") and type(arg) is int:
        count = arg
    if count is None:
        before = CANONICAL.get(op, "--").partition("--")[0].split()
        count = len(before) if all(w.isalpha() for w in before) else 0
    return [v for v in stack[len(stack) - count :] if v is not NULL], None


def _written(frame: Frame, called: Any) -> list[str]:
    """How the operands are written in the source, as far as they can be read off it."""
    line, end, column, end_column = frame.program.instructions[frame.ip].position
    if line is None or end is None or column is None or end_column is None:
        return []
    rows = [linecache.getline(frame.code.co_filename, n).encode() for n in range(line, end + 1)]
    rows[-1] = rows[-1][:end_column]
    rows[0] = rows[0][column:]
    text = b"".join(rows).decode(errors="replace")
    try:
        node: Any = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return []
    if isinstance(node, ast.Call):
        parts = [*node.args, *[k.value for k in node.keywords]]
        if any(isinstance(p, ast.Starred) for p in parts) or any(k.arg is None for k in node.keywords):
            return []
        if isinstance(node.func, ast.Attribute) and not isinstance(getattr(called, "__self__", None), ModuleType):
            if type(called) in (MethodType, CMethod) or getattr(called, "__self__", None) is not None:
                parts = [node.func.value, *parts]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Subscript):
        parts = [node.value, node.slice]
    elif isinstance(node, ast.Attribute):
        parts = [node.value]
    elif isinstance(node, ast.Compare) and frame.program.instructions[frame.ip].op in ("COMPARE_OP", "CONTAINS_OP"):
        parts = [node.left, *node.comparators]
    else:
        parts = [node]
    return ["" if isinstance(p, ast.Constant) else " ".join(ast.unparse(p).split()) for p in parts]


def _name(world: Any, frame: Frame, value: Any) -> str:
    """The variable of the frame that holds a value, or where it came from."""
    for name, held in zip(frame.program.slots, frame.locals, strict=True):
        if type(held) is CellType:
            try:
                held = held.cell_contents
            except ValueError:
                continue
        if getattr(held, "known", None) is value and type(held) is Lazy:
            held = value
        if held is value and held is not UNBOUND and type(value) not in PLAIN:
            return name
    source = world.source_of(value)
    label = source.label if source is not None and source.kind != "const" else ""
    return "" if label.startswith("<") else label


def _text(world: Any, value: Any, name: str) -> str:
    return f"{_short(name)}: {_said(world, value)}" if name else _said(world, value)


def _said(world: Any, value: Any) -> str:
    if type(value) is Lazy:
        value = value.known if value.known is not MISSING else value.value
    if isinstance(value, Tensor):
        device = "" if value.device.type == "cpu" else f" on {value.device}"
        sizes = ", ".join(str(n) for n in value._data.shape) + ("," if len(value._data.shape) == 1 else "")
        return f"{type(value).__name__} {value.dtype.name} ({sizes}){device}"
    if type(value) in (SymInt, SymFloat):
        return f"{'int' if type(value) is SymInt else 'float'} {value}"
    if type(value) is Obj:
        value = value.real
    if type(value) in PLAIN:
        return "None" if value is None else f"{type(value).__name__} {_short(repr(value))}"
    if isinstance(value, _FUNCTIONS):
        kind = "class" if isinstance(value, type) else "module" if isinstance(value, ModuleType) else "function"
        return f"{kind} {getattr(value, '__qualname__', None) or value.__name__}"
    kind = type(value)
    base: Any = next((b for b in (list, tuple, dict, set, frozenset) if isinstance(value, b)), None)
    if base is not None:
        return f"{kind.__name__} of {base.__len__(value)}"
    return kind.__qualname__


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


__all__ = ["involved"]
