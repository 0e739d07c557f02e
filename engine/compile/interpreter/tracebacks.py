"""Tracebacks that name the lines of interpreted frames.

A traceback needs frames of Python, and interpreted code has none.  So for each place where an exception passes, a
small code object is made that bears the file, name and position of that place; calling it gives a frame, and the
frame a traceback entry.  The entries of the interpreter itself are taken out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import CellType, CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from ..bytecode.decode import Position

HERE = str(Path(__file__).resolve().parent.parent)
"""Code below this folder belongs to the machine, not to the program."""

INTERNAL = f"{HERE}/<made>"
"""File name of code that the machine makes for itself."""


def _template() -> CodeType:
    get = sys._getframe

    def template() -> Any:
        return get()

    return template.__code__


_CODE = _template()
_GET = CellType(sys._getframe)
_LASTI = 2 * (len(_CODE.co_code) // 2 - 1)
_stubs: dict[tuple[int, int], tuple[CodeType, CodeType]] = {}
_KEPT = 2048


def strip(traceback: TracebackType | None) -> TracebackType | None:
    """Without the machine's own entries at its beginning."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(HERE):
        traceback = traceback.tb_next
    return traceback


def strip_all(traceback: TracebackType | None) -> TracebackType | None:
    """Without any of the machine's own entries; links the others anew."""
    kept = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(HERE):
            kept.append(traceback)
        traceback = traceback.tb_next
    result = None
    for entry in reversed(kept):
        entry.tb_next = result
        result = entry
    return result


def entry(
    code: CodeType, offset: int, position: Position, globals: dict[str, Any], after: TracebackType | None
) -> TracebackType:
    """A traceback entry for the instruction at byte `offset` of `code`, before the entries `after`."""
    frame = python_frame(code, offset, position, globals)
    return TracebackType(after, frame, _LASTI, position[0] or code.co_firstlineno)


def python_frame(code: CodeType, offset: int, position: Position, globals: dict[str, Any]) -> FrameType:
    """A frame of Python, finished, that says it stands at the instruction at byte `offset` of `code`."""
    key = (id(code), offset)
    made = _stubs.get(key)
    if made is None:
        if len(_stubs) >= _KEPT:
            _stubs.clear()
        made = _stubs[key] = (_stub(code, position), code)  # holds the code, so that its id stays taken
    frame = FunctionType(made[0], globals, None, None, (_GET,))()
    frame.clear()
    return frame


def _stub(code: CodeType, position: Position) -> CodeType:
    return _CODE.replace(
        co_filename=code.co_filename,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
        co_linetable=_line_table(len(_CODE.co_code) // 2, code.co_firstlineno, position),
    )


def _line_table(units: int, first: int, position: Position) -> bytes:
    """CPython's table of positions (Objects/locations.md of its source) that gives every unit the same one."""
    line, end_line, column, end_column = position
    table = bytearray()
    delta = (line or first) - first
    while units > 0:
        count = min(units, 8)
        if line is None:
            table.append(0x80 | 15 << 3 | count - 1)
        elif end_line is None or column is None or end_column is None:
            table.append(0x80 | 13 << 3 | count - 1)
            table += _signed(delta)
        else:
            table.append(0x80 | 14 << 3 | count - 1)
            table += _signed(delta) + _number(end_line - line) + _number(column + 1) + _number(end_column + 1)
        delta = 0
        units -= count
    return bytes(table)


def _number(value: int) -> bytes:
    data = bytearray()
    while value >= 64:
        data.append(value & 63 | 64)
        value >>= 6
    data.append(value)
    return bytes(data)


def _signed(value: int) -> bytes:
    return _number(-value << 1 | 1 if value < 0 else value << 1)
