"""From a code object to canonical instructions.

`decode(code)` answers a `Program`, the same one for the same code object.  Specialised and instrumented instructions
do not appear in it, neither do caches and instructions that do nothing; jumps carry indices; exceptions are looked
up by index.  This file reads the bytecode of the running Python; how it differs from the other versions' is data in
`tables.py`.  Nothing is run here.
"""

from __future__ import annotations

import inspect
import opcode
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

from .canonical import BINARY, COMPARE
from .tables import (
    BY_ARGUMENT,
    COMMON_CONSTANTS,
    CONSTANTS,
    CONVERSIONS,
    FUNCTION_ATTRIBUTES,
    LOOP_END,
    SHARED,
    SPECIAL_METHODS,
    VERSIONS,
    Steps,
)

Position = tuple[int | None, int | None, int | None, int | None]
"""Line, end line, column, end column, as `code.co_positions()` gives them: lines from 1, columns in bytes from 0."""

Handler = tuple[int, int, bool]
"""Where an exception goes: index of the instruction, depth of the stack there, whether the raising index is pushed."""


class Instruction(NamedTuple):
    """One canonical instruction; `op` and `arg` as described in `canonical.py`."""

    op: str
    arg: Any
    position: Position
    offset: int
    """Offset in bytes of CPython's instruction in `co_code`."""
    native: str
    """CPython's name of it."""


class Program:
    """The decoded instructions of `code`, and what a frame of it needs to know.

    - `slots`: names of all local variables, cells and free variables, in the order of `Frame.locals`;
      `first_free`: where the free ones begin; `cells`: which slots hold cells.
    - `handlers`: for each instruction where its exception goes, or None.
    - `refusal`: why a frame of it cannot be interpreted (asynchronous, or an unsupported instruction), or None.
    - `is_generator`; `optimized`: a function, whose names are slots (not a module or class body).
    - `linked`: for interpreters, which keep their functions for the instructions here.
    """

    __slots__ = (
        "cells", "code", "first_free", "handlers", "instructions", "is_generator", "linked", "optimized", "refusal",
        "slots",
    )  # fmt: skip

    def __init__(self, code: CodeType, instructions: tuple[Instruction, ...], handlers: list[Handler | None]) -> None:
        self.code = code
        self.instructions = instructions
        self.handlers = handlers
        local = code.co_varnames
        self.slots = local + tuple(name for name in code.co_cellvars if name not in local) + code.co_freevars
        self.first_free = len(self.slots) - len(code.co_freevars)
        self.cells = frozenset(i for i in range(self.first_free) if self.slots[i] in code.co_cellvars)
        self.is_generator = bool(code.co_flags & inspect.CO_GENERATOR)
        self.optimized = bool(code.co_flags & inspect.CO_OPTIMIZED)
        self.refusal = _refusal(code, instructions)
        self.linked: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<Program of {self.code.co_qualname}: {len(self.instructions)} instructions>"

    def unbound(self, slot: int) -> NameError:
        """The exception of reading an empty slot."""
        name = self.slots[slot]
        if slot < self.first_free:
            return UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
        text = f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
        return NameError(text, name=name)

    def listing(self) -> str:
        """The instructions as text, one a line: index, line of the source, name, argument."""
        lines = []
        for index, step in enumerate(self.instructions):
            handler = self.handlers[index]
            tail = f"   (except: {handler[0]}, depth {handler[1]})" if handler else ""
            argument = "" if step.arg is None and step.op != "LOAD_CONST" else f" {step.arg!r}"
            lines.append(f"{index:4} {step.position[0] or '':>5} {step.op}{argument}{tail}")
        return "\n".join(lines)


class _Skip:
    """The kind of an argument says that the step is not there."""


class _To(NamedTuple):
    """A jump before indices are known: to a unit of the bytecode; `loop`: past what ends a loop there."""

    unit: int
    loop: bool = False
    keep: bool | None = None
    """For SEND: whether the receiver stays on the stack."""


class _Raw(NamedTuple):
    """One of CPython's instructions: its first unit with and without prefixes, what follows it, name, argument."""

    start: int
    unit: int
    after: int
    name: str
    arg: int


class _Step:
    """A canonical instruction in the making; `unit` is where it stands in the bytecode."""

    __slots__ = ("arg", "op", "raw", "unit")

    def __init__(self, unit: int, op: str, arg: Any, raw: _Raw) -> None:
        self.unit = unit
        self.op = op
        self.arg = arg
        self.raw = raw


class _Reading:
    """What the kinds of arguments may ask for while one code object is read."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.keywords: tuple[str, ...] = ()
        self.steps: list[_Step] = []

    def keyword_names(self, r: _Raw) -> Any:
        self.keywords = self.code.co_consts[r.arg]
        return None

    def call(self, r: _Raw) -> Any:
        names, self.keywords = self.keywords, ()
        return (r.arg, names)

    def call_keywords(self, r: _Raw) -> Any:
        # The compiler puts the tuple of names right before the call: it moves into the argument.
        if self.steps and self.steps[-1].op == "LOAD_CONST":
            return (r.arg, self.steps.pop().arg)
        raise _NoForm


class _NoForm(Exception):
    """An instruction is used in a way that has no canonical form."""


def _bit(mask: int) -> Callable[[_Reading, _Raw], Any]:
    return lambda reading, r: None if r.arg & mask else _Skip


def _constant(value: Any) -> Callable[[_Reading, _Raw], Any]:
    return lambda reading, r: value


KINDS: dict[str, Callable[[_Reading, _Raw], Any]] = {
    "-": lambda reading, r: None,
    "arg": lambda reading, r: r.arg,
    "flag": lambda reading, r: bool(r.arg),
    "const": lambda reading, r: reading.code.co_consts[r.arg],
    "name": lambda reading, r: reading.code.co_names[r.arg],
    "name/2": lambda reading, r: reading.code.co_names[r.arg >> 1],
    "super": lambda reading, r: (reading.code.co_names[r.arg >> 2], bool(r.arg & 2)),
    "slot": lambda reading, r: r.arg,
    "slot/16": lambda reading, r: r.arg >> 4,
    "slot%16": lambda reading, r: r.arg & 15,
    "?1": _bit(1),
    "?16": _bit(16),
    "forward": lambda reading, r: _To(r.after + r.arg),
    "backward": lambda reading, r: _To(r.after - r.arg),
    "for": lambda reading, r: _To(r.after + r.arg, loop=True),
    "send": lambda reading, r: _To(r.after + r.arg, keep=True),
    "send-pop": lambda reading, r: _To(r.after + r.arg, keep=False),
    "unpack": lambda reading, r: (r.arg & 255, r.arg >> 8),
    "resume": lambda reading, r: r.arg & 3,
    "binary": lambda reading, r: BINARY[r.arg],
    "compare": lambda reading, r: COMPARE[r.arg],
    "compare/16": lambda reading, r: COMPARE[r.arg >> 4],
    "compare/32": lambda reading, r: COMPARE[r.arg >> 5],
    "merge+2": lambda reading, r: (r.arg, r.arg + 2),
    "merge+3": lambda reading, r: (r.arg, r.arg + 3),
    "keywords": _Reading.keyword_names,
    "call": _Reading.call,
    "call-keywords": _Reading.call_keywords,
    "conversion": lambda reading, r: CONVERSIONS[r.arg],
    "function": lambda reading, r: tuple(name for bit, name in FUNCTION_ATTRIBUTES.items() if r.arg & bit),
    "common": lambda reading, r: COMMON_CONSTANTS[r.arg],
    "special": lambda reading, r: SPECIAL_METHODS[r.arg],
    "interpolation": lambda reading, r: (CONVERSIONS[r.arg >> 2], bool(r.arg & 1)),
    **{f"={name}": _constant(value) for name, value in CONSTANTS.items()},
}
"""How the argument of a step is found; see `tables.py`."""

VERSION = sys.version_info[1]
"""The minor version of the running Python."""

_TABLE: dict[str, Steps] = {**SHARED, **VERSIONS.get(VERSION, {})}
_LOOP_END = LOOP_END.get(VERSION, 0)
_KEPT = 4096
_programs: dict[int, Program] = {}


def decode(code: CodeType) -> Program:
    """The canonical instructions of `code`.

    Never raises for what it does not know: such an instruction is `UNSUPPORTED`, and `Program.refusal` says why a
    frame of it cannot be interpreted.
    """
    program = _programs.get(id(code))
    if program is None:
        if len(_programs) >= _KEPT:  # a notebook makes new code objects for ever: let go of the older half
            for key in list(_programs)[: _KEPT // 2]:
                _programs.pop(key, None)
        program = _programs[id(code)] = _decode(code)  # it holds `code`, so that the id stays taken
    return program


def _refusal(code: CodeType, instructions: tuple[Instruction, ...]) -> str | None:
    flags = code.co_flags
    name = code.co_qualname
    if VERSION not in VERSIONS:
        return f"{name} was compiled by Python 3.{VERSION}, whose bytecode is not known here"
    if flags & (inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return f"{name} is asynchronous"
    for step in instructions:
        if step.op == "UNSUPPORTED":
            return f"{name} uses the instruction {step.arg}, line {step.position[0]}"
    return None


def _read(code: CodeType) -> list[_Raw]:
    """CPython's instructions without prefixes and caches."""
    raw: list[_Raw] = []
    data = code.co_code
    size = len(data) // 2
    unit, start, high = 0, 0, 0
    while unit < size:
        name = opcode.opname[data[2 * unit]]
        arg = data[2 * unit + 1] | high << 8
        if name == "EXTENDED_ARG":
            unit, high = unit + 1, arg
            continue
        after = unit + 1
        while after < size and data[2 * after] == 0:  # CACHE
            after += 1
        name = name.removeprefix("INSTRUMENTED_")
        raw.append(_Raw(start, unit, after, name, arg))
        unit = start = after
        high = 0
    return raw


def _expand(code: CodeType, raw: list[_Raw]) -> list[_Step]:
    reading = _Reading(code)
    steps = reading.steps
    for r in raw:
        table = BY_ARGUMENT.get(r.name)
        entry = _TABLE.get(r.name) if table is None else table.get(r.arg)
        if entry is None:
            what = r.name if table is None else f"{r.name} {r.arg}"
            steps.append(_Step(r.start, "UNSUPPORTED", what, r))
            continue
        try:
            made = [(op, KINDS[kind](reading, r)) for op, kind in entry]
        except (_NoForm, IndexError, KeyError):
            made = [("UNSUPPORTED", f"{r.name} {r.arg}")]
        steps.extend(_Step(r.start, op, arg, r) for op, arg in made if arg is not _Skip)
    return steps


def _tidy(steps: list[_Step]) -> list[_Step]:
    """Fold what belongs together; drop what does nothing.  What is dropped passes its place on to the next one."""
    kept: list[_Step] = []
    for index, step in enumerate(steps):
        op = step.op
        after = steps[index + 1] if index + 1 < len(steps) else None
        if op == "BINARY_OP" and step.arg == "[]":
            step.op, step.arg = "BINARY_SUBSCR", None
        elif op == "YIELD_VALUE":
            step.arg = after is not None and after.op == "RESUME" and after.arg >= 2
        elif op == "TO_BOOL" and after is not None:
            # Jumps and `not` ask for the truth themselves, so that a branch is one instruction.
            if after.op in ("POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE") or (after.op, after.arg) == ("UNARY_OP", "not"):
                continue
        elif op == "SET_FUNCTION_ATTRIBUTE":
            maker = kept[-1]
            name = FUNCTION_ATTRIBUTES.get(step.arg)
            if maker.op == "MAKE_FUNCTION" and name is not None:
                maker.arg = (name, *maker.arg)  # they stand on the stack in the opposite order
                continue
            step.op, step.arg = "UNSUPPORTED", f"{step.raw.name} {step.arg}"
        elif op in ("NOP", "RESUME"):
            continue
        kept.append(step)
    for index, step in enumerate(kept):
        if step.op == "MAKE_FUNCTION" and "closure" in step.arg and index >= 2:
            if kept[index - 2].op == "BUILD_TUPLE":
                kept[index - 2].op = "BUILD_CLOSURE"
    return kept


def _exception_table(code: CodeType) -> list[tuple[int, int, int, int, bool]]:
    """(first unit, unit after the last, unit of the handler, depth, whether the raising index is pushed)."""
    data = iter(code.co_exceptiontable)

    def number() -> int:
        byte = next(data)
        value = byte & 63
        while byte & 64:
            byte = next(data)
            value = value << 6 | byte & 63
        return value

    table = []
    while True:
        try:
            start = number()
        except StopIteration:
            return table
        length, target, depth = number(), number(), number()
        table.append((start, start + length, target, depth >> 1, bool(depth & 1)))


def _decode(code: CodeType) -> Program:
    raw = _read(code)
    steps = _tidy(_expand(code, raw))
    size = len(code.co_code) // 2
    index_of = [len(steps)] * (size + 1)
    at = len(steps)
    first = {}
    for index in range(len(steps) - 1, -1, -1):
        first[steps[index].unit] = index
    for unit in range(size, -1, -1):
        at = index_of[unit] = first.get(unit, at)
    following = {r.start: r.after for r in raw}

    def resolve(to: _To) -> Any:
        unit = to.unit
        if to.loop:
            for _ in range(_LOOP_END):
                unit = following[unit]
        target = index_of[unit]
        return target if to.keep is None else (target, to.keep)

    positions: list[Position] = list(code.co_positions())
    nowhere: Position = (None, None, None, None)
    instructions = tuple(
        Instruction(
            step.op,
            resolve(step.arg) if type(step.arg) is _To else step.arg,
            positions[step.raw.unit] if step.raw.unit < len(positions) else nowhere,
            2 * step.raw.unit,
            step.raw.name,
        )
        for step in steps
    )
    handlers: list[Handler | None] = [None] * len(instructions)
    for start, end, target, depth, lasti in _exception_table(code):
        for index in range(index_of[start], index_of[min(end, size)]):
            handlers[index] = (index_of[target], depth, lasti)
    return Program(code, instructions, handlers)
