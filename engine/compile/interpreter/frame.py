"""Frames of interpreted code as plain objects, what ends them, and what stops them.

A `Frame` holds everything that running code needs, so that it can be looked at, copied, and resumed at any
instruction.  Frames are linked by `back`; no Python frame of the interpreter belongs to one of them.  This file does
not run anything (`loop.py` does) and knows no values (a `Domain` does).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..bytecode.decode import Instruction, Position, Program
    from .generators import InterpretedGenerator


_FIRST_TO_LAST = sys.version_info < (3, 14)
"""The order in which CPython lets go of a frame's variables."""


class Sentinel:
    """A value of the machine that no program can hold."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


NULL = Sentinel("null")
"""The empty place that calls keep for `self` on the stack."""

UNBOUND = Sentinel("unbound")
"""In a slot of `Frame.locals`: the variable has no value (not yet, or deleted)."""

EXHAUSTED = Sentinel("exhausted")
"""What `Domain.for_iter` answers when there is no further item."""


class Control(BaseException):
    """Base of what leaves the interpreter without being an exception of the interpreted program.

    No `except` of the program sees it, no `finally` of the program runs.
    """


class Break(Control):
    """Raised by a domain: this instruction cannot be done here.

    The frames are as they were before the instruction: nothing popped, `ip` at it.  The loop fills in `frame`, the
    innermost frame, where the domain left it empty.  Capture derives its own classes from this one.
    """

    def __init__(self, reason: str, frame: Frame | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.frame = frame


class UnsupportedOpcode(Break):
    """The instruction has no canonical form (`name` is CPython's name of it): run the frame natively instead."""

    def __init__(self, name: str, frame: Frame | None = None) -> None:
        super().__init__(f"the interpreter has no instruction {name}", frame)
        self.name = name


class Raised(BaseException):
    """An exception of the program in a form that only the domain understands (`value`, which is no exception itself).

    Domains whose exceptions are ordinary objects never need it: they raise those.
    """

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class OnReturn:
    """What the calling instruction does with the value of a frame it pushed.

    `name` is one of

    - `push`: put it on the stack; a generator that ends instead raises StopIteration;
    - `discard`: nothing;
    - `jump_if`: `payload` is (target, sense): jump where the value, a bool, equals `sense`;
    - `for_iter`: push a yielded value; at the end pop the iterator and jump to `payload`;
    - `send`: push a yielded value; at the end put the result in the place of the receiver (`payload` is
      (target, keep): the receiver stays below it where `keep`) and jump to target.
    """

    __slots__ = ("name", "payload")

    def __init__(self, name: str, payload: Any = None) -> None:
        self.name = name
        self.payload = payload

    def __repr__(self) -> str:
        return f"OnReturn({self.name!r})" if self.payload is None else f"OnReturn({self.name!r}, {self.payload!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OnReturn) and (self.name, self.payload) == (other.name, other.payload)

    def __hash__(self) -> int:
        return hash((self.name, self.payload))


PUSH = OnReturn("push")
DISCARD = OnReturn("discard")


class Convert:
    """What a domain has still to do with the value that a frame returns, before the calling instruction gets it.

    `finish(frame, value)` is called with the *caller's* frame; it answers the value to go on with or another `Frame`
    to run first, and may raise.  `failed(frame, exception)`, where there is one, is called when an exception leaves
    the frame (a StopIteration when a generator ends): it answers like `finish`, or NotImplemented where the exception
    is to go on to the caller.  Neither may raise `Break`.  `name` says what it is ("init", "class", "bool", "index" ...), `payload` what it
    needs, both for those who look at frames.
    """

    __slots__ = ("failed", "finish", "name", "payload")

    def __init__(
        self,
        name: str,
        finish: Callable[[Frame, Any], Any],
        payload: Any = None,
        failed: Callable[[Frame, Any], Any] | None = None,
    ) -> None:
        self.name = name
        self.finish = finish
        self.payload = payload
        self.failed = failed

    def __repr__(self) -> str:
        return f"Convert({self.name!r})"


class Returned:
    """Outcome of a chain of frames: the outermost one returned `value`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Returned({self.value!r})"


class Yielded:
    """Outcome of a chain of frames: the outermost one, a generator's, yielded `value` and waits in `frame`."""

    __slots__ = ("frame", "value")

    def __init__(self, value: Any, frame: Frame) -> None:
        self.value = value
        self.frame = frame

    def __repr__(self) -> str:
        return f"Yielded({self.value!r})"


class Frame:
    """One activation of a code object.

    - `program`: its decoded instructions; `ip`: index of the instruction to run next (while one runs: its own index).
      A frame that waits for another one has popped its operands and stands at the instruction after the call.
    - `locals`: one list for all slots, as in CPython: arguments, other local variables, cells, free variables
      (`program.slots` names them).  A slot of a cell or free variable holds the cell; an empty one holds `UNBOUND`.
    - `stack`: the values in use, the last one on top.
    - `globals`, `builtins`: the dictionaries.  `names`: the mapping in which a class or module body keeps its names,
      None in functions.  `closure`: the cells the function brought along.
    - `back`: the frame that waits for this one; `on_return`: what that one does with the value; `convert`: what the
      domain does first (None: nothing).
    - `handled`: the exception whose handler this frame is in, None where it is in none.
    - `pending`: an exception that is to be raised in this frame as soon as it runs (it was thrown into a generator).
    - `generator`: whose frame this is, while it runs; None for an ordinary call, and for a generator that waits.
    - `function`: the function that was called, None for bodies.  `depth`: number of frames below.
    - `note`: a place for the domain.
    """

    __slots__ = (
        "back", "builtins", "closure", "convert", "depth", "function", "generator", "globals", "handled", "ip",
        "locals", "names", "note", "on_return", "pending", "program", "stack",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        globals: dict[str, Any],
        builtins: dict[str, Any],
        locals: list[Any] | None = None,
        *,
        names: Any = None,
        closure: Any = (),
        function: Any = None,
    ) -> None:
        self.program = program
        self.globals = globals
        self.builtins = builtins
        self.locals = [UNBOUND] * len(program.slots) if locals is None else locals
        self.names = names
        self.closure = closure
        self.function = function
        self.stack: list[Any] = []
        self.ip = 0
        self.back: Frame | None = None
        self.on_return: OnReturn = PUSH
        self.convert: Convert | None = None
        self.handled: Any = None
        self.pending: Any = None
        self.generator: InterpretedGenerator | None = None
        self.depth = 0
        self.note: Any = None

    def __repr__(self) -> str:
        return f"<Frame of {self.program.code.co_qualname} at instruction {self.ip}, line {self.line}>"

    @property
    def code(self) -> CodeType:
        return self.program.code

    @property
    def instruction(self) -> Instruction:
        """The instruction at `ip`."""
        return self.program.instructions[self.ip]

    @property
    def position(self) -> Position:
        """(line, end line, column, end column) of the instruction at `ip`; entries may be None."""
        return self.program.instructions[self.ip].position

    @property
    def line(self) -> int | None:
        """The line of the instruction at `ip`, counted from 1."""
        return self.position[0] if self.ip < len(self.program.instructions) else None

    def chain(self) -> Iterator[Frame]:
        """This frame and those that wait for it, innermost first."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.back

    def topmost_handled(self) -> Any:
        """The exception that a bare `raise` would raise again here, None where there is none."""
        frame: Frame | None = self
        while frame is not None:
            if frame.handled is not None:
                return frame.handled
            frame = frame.back
        return None

    def release(self) -> None:
        """Let go of the variables, in the order in which CPython does when a frame ends."""
        if _FIRST_TO_LAST:
            self.locals.reverse()  # a list lets go of its items from the end
        self.locals.clear()
        self.stack.clear()

    def copy(self) -> Frame:
        """A frame of its own in the same state: slots and stack are copied, the values in them are shared."""
        other = Frame.__new__(Frame)
        for name in Frame.__slots__:
            setattr(other, name, getattr(self, name))
        other.locals = self.locals.copy()
        other.stack = self.stack.copy()
        return other
