"""What runs the instructions of calls, functions, imports, loops over iterators, generators and exceptions.

See `handlers.py`, which has the others and the rules.
"""

from __future__ import annotations

from typing import Any, cast

from .frame import EXHAUSTED, NULL, PUSH, Frame, OnReturn, Returned, Yielded
from .handlers import FUNCTIONS, _replace, _top, instruction
from .loop import Delivery, Interpreter, Rethrow

# Calls and functions


@instruction("PUSH_NULL")
def push_null(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack.append(NULL)


@instruction("CALL")
def call(interpreter: Interpreter, frame: Frame, arg: tuple[int, tuple[str, ...]]) -> Any:
    count, names = arg
    stack = frame.stack
    base = len(stack) - count - 2
    callable, own = stack[base], stack[base + 1]
    args = stack[base + 2 :]
    if own is not NULL:
        if callable is NULL:
            callable = own
        else:
            args.insert(0, own)
    if names:
        split = len(args) - len(names)
        kwargs = dict(zip(names, args[split:]))
        del args[split:]
    else:
        kwargs = {}
    result = interpreter.domain.call(frame, callable, args, kwargs)
    if type(result) is Frame:
        return interpreter.push(frame, result, count + 2, PUSH)
    stack[base:] = [result]


@instruction("CALL_FUNCTION_EX")
def call_function_ex(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    has_kwargs = arg & 1
    *two, args = _top(stack, 3 + has_kwargs)[:3]
    callable = two[0] if two[0] is not NULL else two[1]
    kwargs = stack[-1] if has_kwargs and stack[-1] is not NULL else None
    result = interpreter.domain.call_ex(frame, callable, args, kwargs)
    if type(result) is Frame:
        return interpreter.push(frame, result, 3 + has_kwargs, PUSH)
    _replace(stack, 3 + has_kwargs, result)


@instruction("MAKE_FUNCTION")
def make_function(interpreter: Interpreter, frame: Frame, arg: tuple[str, ...]) -> Any:
    count = len(arg) + 1
    *values, code = _top(frame.stack, count)
    _replace(frame.stack, count, interpreter.domain.make_function(frame, code, dict(zip(arg, values))))


@instruction("LOAD_BUILD_CLASS")
def load_build_class(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack.append(interpreter.domain.load_build_class(frame))


@instruction("SETUP_ANNOTATIONS")
def setup_annotations(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    interpreter.domain.setup_annotations(frame)


@instruction("IMPORT_NAME")
def import_name(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    stack = frame.stack
    result = interpreter.domain.import_name(frame, arg, stack[-1], stack[-2])
    _replace(stack, 2, result)


@instruction("IMPORT_FROM")
def import_from(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    frame.stack.append(interpreter.domain.import_from(frame, frame.stack[-1], arg))


@instruction("IMPORT_STAR")
def import_star(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    interpreter.domain.import_star(frame, frame.stack[-1])
    frame.stack.pop()


@instruction("RETURN_VALUE")
def return_value(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    value = frame.stack.pop()
    back, convert, on_return, generator = frame.back, frame.convert, frame.on_return, frame.generator
    frame.back = frame.convert = None
    if generator is not None:
        generator.finish()
        if back is None:
            return Returned(value)
        return Delivery(back, on_return, convert, value, True)
    frame.release()
    if back is None:
        return Returned(value)
    if convert is None and on_return is PUSH:
        back.stack.append(value)
        return back
    return Delivery(back, on_return, convert, value, False)


# Iteration and generators


@instruction("GET_ITER")
def get_iter(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    result = interpreter.domain.get_iter(frame, frame.stack[-1])
    if type(result) is Frame:
        return interpreter.push(frame, result, 1, PUSH)
    frame.stack[-1] = result


@instruction("FOR_ITER")
def for_iter(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    item = interpreter.domain.for_iter(frame, stack[-1])
    if item is EXHAUSTED:
        stack.pop()
        return arg
    if type(item) is Frame:
        return interpreter.push(frame, item, 0, OnReturn("for_iter", arg))
    stack.append(item)


@instruction("RETURN_GENERATOR")
def return_generator(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    back, convert, on_return = frame.back, frame.convert, frame.on_return
    value = interpreter.domain.make_generator(frame)
    frame.back = frame.convert = None
    frame.ip += 1
    if back is None:
        return Returned(value)
    return Delivery(back, on_return, convert, value, False)


@instruction("YIELD_VALUE")
def yield_value(interpreter: Interpreter, frame: Frame, arg: bool) -> Any:
    value = frame.stack.pop()
    back, convert, on_return, generator = frame.back, frame.convert, frame.on_return, frame.generator
    frame.back = frame.convert = None
    frame.ip += 1
    assert generator is not None
    generator.suspend()
    if back is None:
        return Yielded(value, frame)
    return Delivery(back, on_return, convert, value, False)


@instruction("GET_YIELD_FROM_ITER")
def get_yield_from_iter(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    result = interpreter.domain.get_yield_from_iter(frame, frame.stack[-1])
    if type(result) is Frame:
        return interpreter.push(frame, result, 1, PUSH)
    frame.stack[-1] = result


@instruction("SEND")
def send(interpreter: Interpreter, frame: Frame, arg: tuple[int, bool]) -> Any:
    stack = frame.stack
    result = interpreter.domain.send(frame, stack[-2], stack[-1])
    if type(result) is Frame:
        return interpreter.push(frame, result, 1, OnReturn("send", arg))
    ended, value = cast("tuple[bool, Any]", result)
    stack[-1] = value
    if not ended:
        return None
    target, keep = arg
    if not keep:
        del stack[-2]
    return target


@instruction("END_SEND")
def end_send(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    del frame.stack[-2]


@instruction("CLEANUP_THROW")
def cleanup_throw(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    stopped, value = interpreter.domain.stop_value(frame, stack[-1])
    if not stopped:
        return Rethrow(stack.pop())
    stack[-3:] = [None, value]


@instruction("STOP_ITERATION_ERROR")
def stop_iteration_error(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack[-1] = interpreter.domain.generator_raised(frame, frame.stack[-1])


# With-blocks


@instruction("LOAD_CONTEXT_MANAGER")
def load_context_manager(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    enter = interpreter.domain.load_special(frame, stack[-1], "__enter__")
    stack[-1:] = [interpreter.domain.load_special(frame, stack[-1], "__exit__"), enter, NULL]


@instruction("WITH_EXCEPT_START")
def with_except_start(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    triple = list(interpreter.domain.exception_triple(frame, stack[-1]))
    # From 3.14 on the function is followed by a place for `self`, which `LOAD_SPECIAL` leaves empty.
    result = interpreter.domain.call(frame, stack[-arg], triple, {})
    if type(result) is Frame:
        return interpreter.push(frame, result, 0, PUSH)
    stack.append(result)


# Exceptions


@instruction("RAISE_VARARGS")
def raise_varargs(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    if arg == 0:
        value = frame.topmost_handled()
        if value is not None:
            return Rethrow(value)
        interpreter.domain.raise_(frame, None, None, False)
    elif arg == 1:
        interpreter.domain.raise_(frame, stack[-1], None, False)
    else:
        interpreter.domain.raise_(frame, stack[-2], stack[-1], True)


@instruction("RERAISE")
def reraise(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    return Rethrow(frame.stack[-1])


@instruction("PUSH_EXC_INFO")
def push_exc_info(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    value = frame.stack[-1]
    frame.stack[-1:] = [frame.handled, value]
    frame.handled = value
    frame.ip += 1
    return frame


@instruction("POP_EXCEPT")
def pop_except(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.handled = frame.stack.pop()
    frame.ip += 1
    return frame


@instruction("CHECK_EXC_MATCH")
def check_exc_match(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    stack[-1] = interpreter.domain.exception_match(frame, stack[-2], stack[-1])


@instruction("CHECK_EG_MATCH")
def check_eg_match(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    rest, match = interpreter.domain.exception_group_match(frame, stack[-2], stack[-1])
    stack[-2:] = [rest, match]
    if match is not None:
        frame.handled = match
        frame.ip += 1
        return frame


@instruction("RERAISE_STAR")
def reraise_star(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    result = interpreter.domain.reraise_star(frame, stack[-2], stack[-1])
    _replace(stack, 2, result)


Interpreter.functions = FUNCTIONS
