"""From which line of a cell a function is being called right now, and with what expressions for its parameters.

Asked while a compiled function is captured or checked, it names the place where a tensor can be marked before the call.
It reads frames and parses the cell's text; it runs nothing of the user's.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from types import FrameType, ModuleType
from typing import Any

from .cellnames import parse_cell_filename
from .torch_name import ENGINE

__all__ = ["calling_place"]


def calling_place() -> dict[str, Any] | None:
    """The innermost call that stands in a cell and is under way: `cell`, `revision`, `line`, `column` (of the call, from 1
    and from 0), `arguments` (by parameter, as source text) and `torch` (what the engine is called there).

    None where no cell is on the stack, or where the call cannot be read.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        place = parse_cell_filename(frame.f_code.co_filename)
        if place is not None:
            try:
                return _read(frame, *place)
            except (SyntaxError, ValueError, TypeError, RecursionError):
                return None
        frame = frame.f_back
    return None


def _read(frame: FrameType, cell: str, revision: int) -> dict[str, Any] | None:
    text = "".join(linecache.getlines(frame.f_code.co_filename))
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    line, end_line, column, end_column = positions
    if line is None or column is None:
        return None
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        if (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == (line, end_line, column, end_column):
            return {
                "cell": cell, "revision": revision, "line": line, "column": column,
                "arguments": _arguments(node, frame, text), "torch": _engine_name(frame),
            }  # fmt: skip
    return None


def _arguments(node: ast.Call, frame: FrameType, text: str) -> dict[str, str]:
    """The source text of each argument, by the name of its parameter; what is behind a star is left out."""
    found: dict[str, str] = {}
    called = _value(node.func, frame)
    given = [ast.get_source_segment(text, argument) or "" for argument in node.args]
    names: list[str] = []
    if called is not None:
        forward = getattr(type(called), "forward", None)
        target = forward if forward is not None else called
        try:
            parameters = list(inspect.signature(target).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if forward is not None and names:
            found[names.pop(0)] = ast.get_source_segment(text, node.func) or ""
    for name, argument, source in zip(names, node.args, given):
        if isinstance(argument, ast.Starred):
            break
        found[name] = source
    for keyword in node.keywords:
        if keyword.arg is not None:
            found[keyword.arg] = ast.get_source_segment(text, keyword.value) or ""
    return found


def _value(node: ast.expr, frame: FrameType) -> Any:
    """What a name or a chain of attributes means there, without running any code; None where that cannot be said."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, frame)
        return None if owner is None else inspect.getattr_static(owner, node.attr, None)
    return None


def _engine_name(frame: FrameType) -> str:
    """What the engine's package is called in a frame; "" where it has no name."""
    for names in (frame.f_locals, frame.f_globals):
        for name, value in names.items():
            if isinstance(value, ModuleType) and value.__name__ in (ENGINE, "torch"):
                return name
    return ""
