"""Generators whose body is an interpreted frame.

An `InterpretedGenerator` can be used in two ways: a domain resumes its frame within a chain (`resume`, `throw_into`
answer the frame to be pushed), and native code uses it as any generator (`send`, `throw`, `close`, iteration), which
runs its frame on the interpreter it was made with.  `__class__` answers the generator type, so that `isinstance`,
`inspect.isgenerator` and the abstract classes take it for one; `type()` tells the difference.
"""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any

from . import tracebacks
from .callers import local_variables
from .frame import Frame, Yielded
from .loop import Interpreter


class InterpretedGenerator:
    """A generator; `state` is `created`, `suspended`, `running` or `closed`."""

    def __init__(self, frame: Frame, interpreter: Interpreter) -> None:
        function = frame.function
        self.frame = frame
        self.interpreter = interpreter
        self.state = "created"
        self.__name__: str = getattr(function, "__name__", frame.code.co_name)
        self.__qualname__: str = getattr(function, "__qualname__", frame.code.co_qualname)

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return types.GeneratorType

    def __repr__(self) -> str:
        return f"<generator object {self.__qualname__} at {id(self):#x}>"

    # What the loop says

    def suspend(self) -> None:
        """The frame has yielded."""
        self.state = "suspended"
        self.frame.generator = None

    def finish(self) -> None:
        """The frame has ended, by a return or an exception."""
        self.state = "closed"
        self.frame.generator = None
        self.frame.release()

    def _start(self) -> Frame:
        # Only while it runs does the frame know its generator, so that one that is dropped is finalised at once.
        self.state = "running"
        self.frame.generator = self
        return self.frame

    # What domains ask for

    def resume(self, value: Any = None) -> Frame | None:
        """The frame to go on with when `value` is sent; None where the generator has ended.

        Raises ValueError where it runs already, TypeError where a value is sent to one that has not started.
        """
        if self.state == "suspended" or (self.state == "created" and value is None):
            self.frame.stack.append(value)
            return self._start()
        if self.state == "running":
            raise ValueError("generator already executing")
        if self.state == "created":
            raise TypeError("can't send non-None value to a just-started generator")
        return None

    def throw_into(self, value: Any) -> Frame | None:
        """The frame to go on with when the exception is raised at its yield; None where the generator has ended.

        It does not look at `yield from`: see `delegate`.
        """
        if self.state == "running":
            raise ValueError("generator already executing")
        if self.state == "closed":
            return None
        self.frame.pending = value
        return self._start()

    def delegate(self) -> Any:
        """The iterator of the `yield from` in which it waits, else None."""
        if self.state != "suspended":
            return None
        frame = self.frame
        step = frame.program.instructions[frame.ip - 1]
        return frame.stack[-1] if step.op == "YIELD_VALUE" and step.arg else None

    def leave_delegate(self, value: Any) -> Frame:
        """The frame to go on with when the iterator of its `yield from` ended with `value` while it was thrown into.

        Only before Python 3.12: later, the bytecode itself looks for the StopIteration.
        """
        frame = self.frame
        send = frame.program.instructions[frame.ip]
        while send.op != "SEND":
            send = frame.program.instructions[send.arg]  # the jump back to it
        frame.ip, keep = send.arg
        if not keep:
            frame.stack.pop()
        frame.stack.append(value)
        return self._start()

    # What native code asks for

    def _run(self, frame: Frame | None) -> Any:
        if frame is None:
            raise StopIteration
        outcome = self.interpreter.execute(frame)
        if type(outcome) is Yielded:
            return outcome.value
        raise StopIteration(outcome.value) if outcome.value is not None else StopIteration

    def __iter__(self) -> InterpretedGenerator:
        return self

    def __next__(self) -> Any:
        return self._run(self.resume())

    def send(self, value: Any) -> Any:
        return self._run(self.resume(value))

    def throw(self, kind: Any, *rest: Any) -> Any:
        if rest and sys.version_info >= (3, 12):
            text = "the (type, exc, tb) signature of throw() is deprecated, use the single-arg signature instead."
            warnings.warn(text, DeprecationWarning, stacklevel=2)
        frame = self._throw(_instance(kind, *rest))
        del kind, rest  # the exception's traceback leads here: no cycle
        return frame[1] if frame[0] else self._run(frame[1])

    def _throw(self, exception: BaseException) -> tuple[bool, Any]:
        """(True, what an inner iterator yielded) or (False, the frame to go on with)."""
        if self.state == "running":
            raise ValueError("generator already executing")
        inner = self.delegate()
        if inner is not None:
            answered, result = self._throw_delegate(inner, exception)
            if answered or type(result) is Frame:
                return answered, result
            exception = result
        frame = self.throw_into(exception)
        if frame is None:
            try:
                raise exception
            finally:
                del exception
        return False, frame

    def _throw_delegate(self, inner: Any, exception: BaseException) -> tuple[bool, Any]:
        """(True, what the inner iterator yielded), (False, the frame to go on with) or (False, what to raise)."""
        leaving = isinstance(exception, GeneratorExit)
        method = getattr(inner, "close" if leaving else "throw", None)
        if method is None:
            return False, exception
        self.state = "running"
        try:
            answer = method() if leaving else method(exception)
        except StopIteration as stop:
            self.state = "suspended"
            step = self.frame.program.instructions[self.frame.ip]
            while step.op == "JUMP":
                step = self.frame.program.instructions[step.arg]
            if step.op == "SEND" and not step.arg[1]:
                return False, self.leave_delegate(stop.value)
            return False, stop
        except BaseException as error:
            self.state = "suspended"
            return False, error
        self.state = "suspended"
        return (False, exception) if leaving else (True, answer)

    def close(self) -> Any:
        if self.state == "created":
            self.finish()
            return None
        if self.state == "closed":
            return None
        try:
            self.throw(GeneratorExit)
        except StopIteration as stop:
            return stop.value if _CLOSE_ANSWERS else None
        except GeneratorExit:
            return None
        raise RuntimeError("generator ignored GeneratorExit")

    def __del__(self) -> None:
        if self.state == "suspended":
            self.close()

    @property
    def gi_running(self) -> bool:
        return self.state == "running"

    @property
    def gi_suspended(self) -> bool:
        return self.state == "suspended"

    @property
    def gi_code(self) -> types.CodeType:
        return self.frame.code

    @property
    def gi_frame(self) -> types.FrameType | None:
        """A frame of Python that says where it stands; None where it has ended."""
        if self.state == "closed":
            return None
        ip = max(self.frame.ip - (self.state == "suspended"), 0)
        return tracebacks.python_frame(self.frame, ip, local_variables(self.frame))

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'generator' object")

    @property
    def gi_yieldfrom(self) -> Any:
        return self.delegate()


def _answers() -> bool:
    def body() -> Any:
        try:
            yield
        except GeneratorExit:
            return 1

    generator = body()
    next(generator)
    return generator.close() is not None


_CLOSE_ANSWERS = _answers()
"""Whether `close()` answers what the generator returns: from Python 3.13 on."""


def _instance(kind: Any, value: Any = None, traceback: Any = None) -> BaseException:
    """The exception of a `throw` with its older forms of arguments."""
    if traceback is not None and not isinstance(traceback, types.TracebackType):
        raise TypeError("throw() third argument must be a traceback object")
    if isinstance(kind, type) and issubclass(kind, BaseException):
        if isinstance(value, kind):
            made = value
        elif value is None:
            made = kind()
        elif isinstance(value, tuple):
            made = kind(*value)
        else:
            made = kind(value)
    elif isinstance(kind, BaseException):
        if value is not None:
            raise TypeError("instance exception may not have a separate value")
        made = kind
    else:
        raise TypeError(
            f"exceptions must be classes or instances deriving from BaseException, not {type(kind).__name__}"
        )
    if not isinstance(made, BaseException):
        # thrown in its place
        return TypeError(f"calling {kind!r} should have returned an instance of BaseException, not {type(made)!r}")
    return made if traceback is None else made.with_traceback(traceback)
