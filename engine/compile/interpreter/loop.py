"""The loop: runs canonical instructions in a chain of frames, without a Python frame for any of them.

`Interpreter.run` runs a chain to its end, `step` runs one instruction, `call` runs a callable from outside.  This
file knows how frames follow each other and where exceptions go; single instructions are in `handlers.py`, the meaning
of values is the domain's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from ..bytecode.decode import Program
from .domain import Domain
from .frame import EXHAUSTED, Break, Control, Convert, Frame, OnReturn, Raised, Returned, Yielded

Function = Callable[["Interpreter", Frame, Any], Any]
"""Runs one instruction.  It answers None (go on with the next), an int (jump there), a Frame (go on in that one), a
`Delivery`, a `Rethrow`, or an outcome (`Returned`, `Yielded`).  If it raises, it has changed nothing."""


_int = int  # a program may put something else into `builtins`


class Delivery:
    """A value on its way to the frame that waits for it; `ended`: a generator returned it."""

    __slots__ = ("convert", "ended", "frame", "on_return", "value")

    def __init__(self, frame: Frame, on_return: OnReturn, convert: Convert | None, value: Any, ended: bool) -> None:
        self.frame = frame
        self.on_return = on_return
        self.convert = convert
        self.value = value
        self.ended = ended


class Rethrow:
    """An exception is raised again: its traceback names this frame already."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Interpreter:
    """Runs frames over the values of `domain`."""

    functions: dict[str, Function]
    """What runs each canonical instruction; `handlers.py` fills it in.  A subclass may have entries of its own."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        domain.interpreter = self
        self.watches_loops = type(domain).backward_jump is not Domain.backward_jump

    # Running

    def run(self, frame: Frame) -> Any:
        """Run the chain whose innermost frame is `frame`; the value that its outermost frame returns.

        Raises what that frame raises, and `Break` (with `frame` set to the innermost frame, all frames as they were
        before the instruction).
        """
        outcome = self.execute(frame)
        if type(outcome) is Yielded:
            raise RuntimeError("a frame of a generator is run by its generator")
        return outcome.value

    def call(self, callable: Any, args: list[Any], kwargs: dict[str, Any], frame: Frame | None = None) -> Any:
        """Call from outside of any instruction, to the end.  `frame`: on whose behalf, for the domain's eyes."""
        result = self.domain.call(frame, callable, args, kwargs)  # type: ignore[arg-type]
        while type(result) is Frame:
            convert, result.convert = result.convert, None
            try:
                value = self.run(result)
            except Exception as error:
                if convert is None or convert.failed is None or frame is None:
                    raise
                result = convert.failed(frame, self.domain.catch(frame, error))
                if result is NotImplemented:
                    raise
                continue
            result = value if convert is None else convert.finish(frame, value)  # type: ignore[arg-type]
        return result

    def execute(self, frame: Frame) -> Returned | Yielded:
        """As `run`, but answers an outcome: the outermost frame may be a generator's, which yields."""
        current: Any = frame
        while type(current) is Frame:
            # While the program handles an exception, its native code must find it in sys.exc_info(), and what is
            # raised must get it as context: so the loop itself runs inside of an `except`.
            handled = current.topmost_handled()
            native = None if handled is None else self.domain.native_exception(handled)
            if native is None:
                current = self._run(current, handled)
            else:
                current = self._run_handling(current, handled, native, self._run)
            if type(current) is _Escaped:
                current.throw()
        return current

    def step(self, frame: Frame) -> Frame | Returned | Yielded:
        """Run one instruction of `frame`: the frame to go on with (it may have been pushed), or an outcome."""
        handled = frame.topmost_handled()
        native = None if handled is None else self.domain.native_exception(handled)
        if native is None:
            result = self._step(frame, handled)
        else:
            result = self._run_handling(frame, handled, native, self._step)
        if type(result) is _Escaped:
            result.throw()
        return result

    def _run_handling(self, frame: Frame, handled: Any, native: BaseException, run: Any) -> Any:
        traceback, context = native.__traceback__, native.__context__
        try:
            raise native
        except BaseException:
            native.__traceback__ = traceback
            native.__context__ = context
            del traceback, context, native  # what the program lets go of must not live on here
            return run(frame, handled)

    def link(self, program: Program) -> list[tuple[Function, Any]]:
        """The functions of a program's instructions with their arguments."""
        kind = type(self)
        code = program.linked.get(kind)
        if code is None:
            functions = kind.functions
            code = program.linked[kind] = [(functions[step.op], step.arg) for step in program.instructions]
        return code

    def _run(self, frame: Frame, handled: Any) -> Any:
        """Run until an outcome, or until another exception (or none) is the handled one: then answer the frame."""
        code = self.link(frame.program)
        result: Any = frame if frame.pending is not None else None
        while True:
            fresh = True
            try:
                if result is None:
                    ip = frame.ip
                    while True:
                        function, arg = code[ip]
                        result = function(self, frame, arg)
                        if result is None:
                            frame.ip = ip = ip + 1
                        elif type(result) is _int:
                            frame.ip = ip = result
                        else:
                            break
                kind = type(result)
                if kind is Frame:
                    settled = result is not frame and frame.handled is None and result.handled is None
                    frame, result = result, None
                    if not settled and frame.topmost_handled() is not handled:
                        return frame
                    code = self.link(frame.program)
                    if frame.pending is None:
                        continue
                    value = self.domain.thrown(frame, frame.pending)
                    frame.pending = None
                    frame.ip -= 1
                elif kind is Delivery:
                    frame = result.frame
                    result = self._deliver(result)
                    if result is None:
                        result = frame if frame.topmost_handled() is not handled else None
                        code = self.link(frame.program)
                    continue
                elif kind is Rethrow:
                    value, fresh = result.value, False
                else:
                    return result
            except Control as control:
                if isinstance(control, Break) and control.frame is None:
                    control.frame = frame
                raise
            except Raised as raised:
                value = raised.value
            except BaseException as raised:
                value = self.domain.catch(frame, raised)
            result = self._unwind(frame, value, fresh)
            value = None
            if type(result) is _Escaped:
                return result
            if type(result) is Frame:
                frame, result = result, None
                if frame.topmost_handled() is not handled:
                    return frame
                code = self.link(frame.program)
            else:
                frame = result.frame

    def _step(self, frame: Frame, handled: Any) -> Any:
        ip = frame.ip
        fresh = True
        try:
            if frame.pending is not None:
                value = self.domain.thrown(frame, frame.pending)
                frame.pending = None
                frame.ip -= 1
            else:
                function, arg = self.link(frame.program)[ip]
                result = function(self, frame, arg)
                if result is None:
                    frame.ip = ip + 1
                    return frame
                kind = type(result)
                if kind is _int:
                    frame.ip = result
                    return frame
                if kind is Delivery:
                    frame = result.frame
                    return self._deliver(result) or frame
                if kind is not Rethrow:
                    return result
                value, fresh = result.value, False
        except Control as control:
            if isinstance(control, Break) and control.frame is None:
                control.frame = frame
            raise
        except Raised as raised:
            value = raised.value
        except BaseException as raised:
            value = self.domain.catch(frame, raised)
        result = self._unwind(frame, value, fresh)
        while type(result) is Delivery:
            frame = result.frame
            try:
                return self._deliver(result) or frame
            except Control:
                raise
            except Raised as raised:
                value = raised.value
            except BaseException as raised:
                value = self.domain.catch(frame, raised)
            result = self._unwind(frame, value, True)
        return result

    # Frames that follow each other

    def push(self, frame: Frame, callee: Frame, operands: int, on_return: OnReturn) -> Frame:
        """Leave `frame` at its instruction, whose `operands` are popped, for `callee`; answers that."""
        depth = frame.depth + 1
        if depth >= sys.getrecursionlimit():
            raise RecursionError("maximum recursion depth exceeded")
        if operands:
            del frame.stack[-operands:]
        frame.ip += 1
        callee.depth = depth
        callee.back = frame
        callee.on_return = on_return
        return callee

    def _deliver(self, delivery: Delivery) -> Frame | None:
        """Hand a value to the frame that waits for it.  Answers a frame to be run first, None when it is done.

        While it runs the frame stands at the waiting instruction, so that what is raised is raised there.
        """
        frame, on_return, convert, value = delivery.frame, delivery.on_return, delivery.convert, delivery.value
        after = frame.ip
        frame.ip = after - 1
        ended = delivery.ended
        name = on_return.name
        if ended and name != "for_iter" and name != "send":
            stop = self.domain.catch(frame, StopIteration(value) if value is not None else StopIteration())
            value = NotImplemented if convert is None or convert.failed is None else convert.failed(frame, stop)
            if value is NotImplemented:
                raise self.domain.throwable(stop)
            ended, convert = False, None
        if convert is not None and not ended and value is not EXHAUSTED:
            value = convert.finish(frame, value)
        if type(value) is Frame:
            frame.ip = after
            value.back, value.on_return, value.depth = frame, on_return, frame.depth + 1
            return value
        if name == "push":
            frame.stack.append(value)
        elif name == "jump_if":
            target, sense = on_return.payload
            if value is sense:
                after = target
        elif name == "for_iter":
            if ended or value is EXHAUSTED:
                frame.stack.pop()
                after = on_return.payload
            else:
                frame.stack.append(value)
        elif name == "send":
            if ended:
                target, keep = on_return.payload
                if not keep:
                    frame.stack.pop()
                after = target
            frame.stack.append(value)
        frame.ip = after
        return None

    def _unwind(self, frame: Frame, value: Any, fresh: bool) -> Any:
        """Take the exception to its handler: the frame that has one, a `Delivery`, or `_Escaped` from the last frame."""
        domain = self.domain
        while True:
            if fresh:
                domain.add_traceback(frame, value)
            ip = frame.ip
            handler = frame.program.handlers[ip]
            if handler is not None:
                target, depth, lasti = handler
                stack = frame.stack
                del stack[depth:]
                if lasti:
                    stack.append(ip)
                stack.append(value)
                frame.ip = target
                return frame
            back, convert, on_return = frame.back, frame.convert, frame.on_return
            if frame.generator is not None:
                value = domain.generator_raised(frame, value)
                frame.generator.finish()
            else:
                frame.release()
            frame.back = frame.convert = frame.handled = None
            if back is None:
                return _Escaped(domain.throwable(value))
            frame = back
            frame.ip -= 1
            if convert is not None and convert.failed is not None:
                try:
                    answer = convert.failed(frame, value)
                except Control:
                    raise
                except Raised as raised:
                    answer, value = NotImplemented, raised.value
                except BaseException as raised:
                    answer, value = NotImplemented, domain.catch(frame, raised)
                if answer is not NotImplemented:
                    frame.ip += 1
                    return Delivery(frame, on_return, None, answer, False)
            fresh = True


class _Escaped:
    """An exception that no frame of the chain handles."""

    __slots__ = ("exception",)

    def __init__(self, exception: BaseException) -> None:
        self.exception: BaseException | None = exception

    def throw(self) -> NoReturn:
        exception, self.exception = self.exception, None
        assert exception is not None
        if isinstance(exception, Raised):
            raise exception
        # Raising gives it a context anew, and it has the right one.
        context = exception.__context__
        try:
            raise exception
        finally:
            exception.__context__ = context
            del exception, context  # its traceback leads here: no cycle
