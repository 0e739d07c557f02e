"""Tracebacks and callers that name the lines of interpreted frames.

A traceback needs frames of Python, and interpreted code has none.  So for each place where an exception passes, a
small code object is made that bears the file, name and position of that place and has the variables of the frame;
started as a generator that never runs, it gives a frame, and the frame a traceback entry.  The entries of the
interpreter itself are taken out.  In the same way native code finds, as its caller, the line of the program.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from ..bytecode.decode import Position
from .frame import Frame

HERE = str(Path(__file__).resolve().parent.parent)
"""Code below this folder belongs to the machine, not to the program."""

_own: tuple[str, ...] = (HERE,)

INTERNAL = f"{HERE}/<made>"
"""File name of code that the machine makes for itself."""


def _place() -> Generator[None]:
    yield


def _call(machine_callable: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return machine_callable(*args, **kwargs)


_PLACE = _place.__code__
_CALL = _call.__code__
_LASTI = 2 * (len(_PLACE.co_code) // 2 - 1)


def own(path: str) -> None:
    """Code whose file name begins with `path` belongs to the machine too: that of a domain which stands elsewhere."""
    global _own
    _own += (path,)


def is_internal(code: CodeType) -> bool:
    """Whether a code object belongs to the machine."""
    return code.co_filename.startswith(_own) or is_caller(code)


def is_caller(code: CodeType) -> bool:
    """Whether it is a `caller`, which stands for an interpreted frame."""
    return code.co_varnames[:1] == ("machine_callable",)


def strip(traceback: TracebackType | None) -> TracebackType | None:
    """Without the machine's own entries at its beginning."""
    while traceback is not None and is_internal(traceback.tb_frame.f_code):
        traceback = traceback.tb_next
    return traceback


def strip_all(traceback: TracebackType | None) -> TracebackType | None:
    """Without any of the machine's own entries; links the others anew."""
    kept = []
    while traceback is not None:
        if not is_internal(traceback.tb_frame.f_code):
            kept.append(traceback)
        traceback = traceback.tb_next
    result = None
    for entry in reversed(kept):
        entry.tb_next = result
        result = entry
    return result


def entry(frame: Frame, variables: Mapping[str, Any], after: TracebackType | None) -> TracebackType:
    """A traceback entry for the instruction at which `frame` stands, before the entries `after`.

    `variables` is what a debugger sees as the frame's local variables.
    """
    line = frame.program.instructions[frame.ip].position[0]
    place = python_frame(frame, frame.ip, variables)
    return TracebackType(after, place, _LASTI, line or frame.program.code.co_firstlineno)


def entries(traceback: TracebackType | None) -> list[tuple[CodeType, dict[str, Any], int]]:
    """The entries that `entry` made of a traceback, without their variables: code, globals and line, to make them again."""
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_code == _PLACE.co_code:
            bare = code.replace(co_argcount=0, co_nlocals=0, co_varnames=()) if code.co_nlocals else code
            found.append((bare, traceback.tb_frame.f_globals, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def from_entries(made: list[tuple[CodeType, dict[str, Any], int]]) -> TracebackType | None:
    """A traceback of what `entries` answered."""
    out: TracebackType | None = None
    for code, space, line in reversed(made):
        out = TracebackType(out, FunctionType(code, space)().gi_frame, _LASTI, line)
    return out


def python_frame(frame: Frame, ip: int, variables: Mapping[str, Any]) -> FrameType:
    """A frame of Python that never runs and says that it stands at that instruction."""
    program = frame.program
    if frame.names is not None:
        variables = {}
    key = (ip, *variables)
    stub = program.linked.get(key)
    if stub is None:
        stub = _stub(_PLACE, program.code, program.instructions[ip].position, tuple(variables))
        program.linked[key] = stub
    return FunctionType(stub, frame.globals)(*variables.values()).gi_frame


def caller(frame: Frame, ip: int) -> Callable[[Callable[..., Any], Any, Any], Any]:
    """A function of (callable, args, kwargs) that calls, and whose own frame says that it stands at that instruction."""
    program = frame.program
    stub = program.linked.get(ip)
    if stub is None:
        step = program.instructions[ip]
        stub = program.linked[ip] = _stub(_CALL, program.code, step.position, ())
    return FunctionType(stub, frame.globals)


def python_stack(innermost: Frame, wanted: Frame, limit: int = 64) -> FrameType:
    """A frame of Python for `wanted`, one of the chain that begins at `innermost`; its `f_back` lead to those below."""
    found: list[Callable[..., Any]] = []
    for frame in wanted.chain():
        found.append(caller(frame, frame.ip if frame is innermost else frame.ip - 1))
        if len(found) == limit:
            break
    function: Callable[..., Any] = sys._getframe
    args: tuple[Any, ...] = ()
    for below in found:
        function, args = below, (function, args, {})
    return function(*args)


def _stub(template: CodeType, code: CodeType, position: Position, variables: tuple[str, ...]) -> CodeType:
    stub = template.replace(
        co_filename=code.co_filename,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
        co_linetable=_line_table(len(template.co_code) // 2, code.co_firstlineno, position),
    )
    if variables:
        stub = stub.replace(co_argcount=len(variables), co_nlocals=len(variables), co_varnames=variables)
    return stub


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
