"""What runs each canonical instruction: moves values between slots and stack and asks the domain for the rest.

Each function takes (interpreter, frame, argument of the instruction) and answers as `loop.Function` says.  It looks at
its operands, asks the domain, and only then takes them from the stack, so that a `Break` leaves nothing half done.
Calls, generators and exceptions are in `handlers_flow.py`.
"""

from __future__ import annotations

from typing import Any

from .frame import DISCARD, PUSH, UNBOUND, Frame, OnReturn, UnsupportedOpcode
from .loop import Function, Interpreter

FUNCTIONS: dict[str, Function] = {}
"""Name of a canonical instruction -> what runs it."""


def instruction(name: str) -> Any:
    """Registers a function as what runs the instruction `name`."""

    def register(function: Function) -> Function:
        FUNCTIONS[name] = function
        return function

    return register


# Stack and constants


@instruction("NOP")
def nop(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    return None


@instruction("POP_TOP")
def pop_top(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack.pop()


@instruction("LOAD_CONST")
def load_const(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack.append(arg)


@instruction("COPY")
def copy(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    frame.stack.append(frame.stack[-arg])


@instruction("SWAP")
def swap(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


# Slots


@instruction("LOAD_FAST")
def load_fast(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    value = frame.locals[arg]
    if value is UNBOUND:
        raise frame.program.unbound(arg)
    frame.stack.append(value)


@instruction("LOAD_FAST_AND_CLEAR")
def load_fast_and_clear(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    frame.stack.append(frame.locals[arg])
    frame.locals[arg] = UNBOUND


@instruction("STORE_FAST")
def store_fast(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    frame.locals[arg] = frame.stack.pop()


@instruction("DELETE_FAST")
def delete_fast(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    if frame.locals[arg] is UNBOUND:
        raise frame.program.unbound(arg)
    frame.locals[arg] = UNBOUND


@instruction("MAKE_CELL")
def make_cell(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    frame.locals[arg] = interpreter.domain.make_cell(frame, frame.locals[arg])


@instruction("COPY_FREE_VARS")
def copy_free_vars(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    frame.locals[len(frame.locals) - arg :] = frame.closure


@instruction("LOAD_DEREF")
def load_deref(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    frame.stack.append(interpreter.domain.load_deref(frame, frame.locals[arg], arg))


@instruction("STORE_DEREF")
def store_deref(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    interpreter.domain.store_deref(frame, frame.locals[arg], frame.stack[-1])
    frame.stack.pop()


@instruction("DELETE_DEREF")
def delete_deref(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    interpreter.domain.delete_deref(frame, frame.locals[arg], arg)


@instruction("LOAD_FROM_DICT_OR_DEREF")
def load_from_dict_or_deref(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    frame.stack[-1] = interpreter.domain.load_from_mapping_or_cell(frame, frame.stack[-1], arg)


# Names


@instruction("LOAD_GLOBAL")
def load_global(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    frame.stack.append(interpreter.domain.load_global(frame, arg))


@instruction("STORE_GLOBAL")
def store_global(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    interpreter.domain.store_global(frame, arg, frame.stack[-1])
    frame.stack.pop()


@instruction("DELETE_GLOBAL")
def delete_global(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    interpreter.domain.delete_global(frame, arg)


@instruction("LOAD_NAME")
def load_name(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    frame.stack.append(interpreter.domain.load_name(frame, arg))


@instruction("STORE_NAME")
def store_name(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    interpreter.domain.store_name(frame, arg, frame.stack[-1])
    frame.stack.pop()


@instruction("DELETE_NAME")
def delete_name(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    interpreter.domain.delete_name(frame, arg)


@instruction("LOAD_LOCALS")
def load_locals(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack.append(interpreter.domain.load_locals(frame))


@instruction("LOAD_FROM_DICT_OR_GLOBALS")
def load_from_dict_or_globals(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    frame.stack[-1] = interpreter.domain.load_from_mapping_or_global(frame, frame.stack[-1], arg)


# Operators


@instruction("UNARY_OP")
def unary_op(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    stack = frame.stack
    result = interpreter.domain.unary(frame, arg, stack[-1])
    if type(result) is Frame:
        return interpreter.push(frame, result, 1, PUSH)
    stack[-1] = result


@instruction("BINARY_OP")
def binary_op(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    stack = frame.stack
    result = interpreter.domain.binary(frame, arg, stack[-2], stack[-1])
    if type(result) is Frame:
        return interpreter.push(frame, result, 2, PUSH)
    stack.pop()
    stack[-1] = result


@instruction("COMPARE_OP")
def compare_op(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    stack = frame.stack
    result = interpreter.domain.compare(frame, arg, stack[-2], stack[-1])
    if type(result) is Frame:
        return interpreter.push(frame, result, 2, PUSH)
    stack.pop()
    stack[-1] = result


@instruction("IS_OP")
def is_op(interpreter: Interpreter, frame: Frame, arg: bool) -> Any:
    stack = frame.stack
    result = interpreter.domain.is_(frame, stack[-2], stack[-1], arg)
    stack.pop()
    stack[-1] = result


@instruction("CONTAINS_OP")
def contains_op(interpreter: Interpreter, frame: Frame, arg: bool) -> Any:
    stack = frame.stack
    result = interpreter.domain.contains(frame, stack[-1], stack[-2], arg)
    if type(result) is Frame:
        return interpreter.push(frame, result, 2, PUSH)
    stack.pop()
    stack[-1] = result


@instruction("TO_BOOL")
def to_bool(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    result = interpreter.domain.truth(frame, stack[-1])
    if type(result) is Frame:
        return interpreter.push(frame, result, 1, PUSH)
    stack[-1] = result


# Attributes, items


@instruction("LOAD_ATTR")
def load_attr(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    stack = frame.stack
    result = interpreter.domain.load_attr(frame, stack[-1], arg)
    if type(result) is Frame:
        return interpreter.push(frame, result, 1, PUSH)
    stack[-1] = result


@instruction("STORE_ATTR")
def store_attr(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    stack = frame.stack
    result = interpreter.domain.store_attr(frame, stack[-1], arg, stack[-2])
    if type(result) is Frame:
        return interpreter.push(frame, result, 2, DISCARD)
    del stack[-2:]


@instruction("DELETE_ATTR")
def delete_attr(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    result = interpreter.domain.delete_attr(frame, frame.stack[-1], arg)
    if type(result) is Frame:
        return interpreter.push(frame, result, 1, DISCARD)
    frame.stack.pop()


@instruction("LOAD_SUPER_ATTR")
def load_super_attr(interpreter: Interpreter, frame: Frame, arg: tuple[str, bool]) -> Any:
    stack = frame.stack
    result = interpreter.domain.load_super_attr(frame, stack[-3], stack[-2], stack[-1], *arg)
    if type(result) is Frame:
        return interpreter.push(frame, result, 3, PUSH)
    stack[-3:] = [result]


@instruction("LOAD_SPECIAL")
def load_special(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    frame.stack[-1] = interpreter.domain.load_special(frame, frame.stack[-1], arg)


@instruction("BINARY_SUBSCR")
def binary_subscr(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    result = interpreter.domain.getitem(frame, stack[-2], stack[-1])
    if type(result) is Frame:
        return interpreter.push(frame, result, 2, PUSH)
    stack.pop()
    stack[-1] = result


@instruction("STORE_SUBSCR")
def store_subscr(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    result = interpreter.domain.setitem(frame, stack[-2], stack[-1], stack[-3])
    if type(result) is Frame:
        return interpreter.push(frame, result, 3, DISCARD)
    del stack[-3:]


@instruction("DELETE_SUBSCR")
def delete_subscr(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    result = interpreter.domain.delitem(frame, stack[-2], stack[-1])
    if type(result) is Frame:
        return interpreter.push(frame, result, 2, DISCARD)
    del stack[-2:]


# Displays


def _top(stack: list[Any], count: int) -> list[Any]:
    return stack[len(stack) - count :]


def _replace(stack: list[Any], count: int, value: Any) -> None:
    stack[len(stack) - count :] = [value]


@instruction("BUILD_TUPLE")
def build_tuple(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    _replace(frame.stack, arg, interpreter.domain.build_tuple(frame, _top(frame.stack, arg)))


@instruction("BUILD_CLOSURE")
def build_closure(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    _replace(frame.stack, arg, interpreter.domain.build_closure(frame, _top(frame.stack, arg)))


@instruction("BUILD_LIST")
def build_list(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    _replace(frame.stack, arg, interpreter.domain.build_list(frame, _top(frame.stack, arg)))


@instruction("BUILD_SET")
def build_set(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    _replace(frame.stack, arg, interpreter.domain.build_set(frame, _top(frame.stack, arg)))


@instruction("BUILD_MAP")
def build_map(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    pairs = _top(frame.stack, 2 * arg)
    _replace(frame.stack, 2 * arg, interpreter.domain.build_map(frame, pairs[::2], pairs[1::2]))


@instruction("BUILD_CONST_KEY_MAP")
def build_const_key_map(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    *values, keys = _top(frame.stack, arg + 1)
    _replace(frame.stack, arg + 1, interpreter.domain.build_map(frame, keys, values))


@instruction("BUILD_STRING")
def build_string(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    _replace(frame.stack, arg, interpreter.domain.build_string(frame, _top(frame.stack, arg)))


@instruction("BUILD_SLICE")
def build_slice(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    _replace(frame.stack, arg, interpreter.domain.build_slice(frame, _top(frame.stack, arg)))


@instruction("BUILD_TEMPLATE")
def build_template(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    result = interpreter.domain.build_template(frame, stack[-2], stack[-1])
    _replace(stack, 2, result)


@instruction("BUILD_INTERPOLATION")
def build_interpolation(interpreter: Interpreter, frame: Frame, arg: tuple[str | None, bool]) -> Any:
    conversion, has_spec = arg
    value, text, *spec = _top(frame.stack, 2 + has_spec)
    result = interpreter.domain.build_interpolation(frame, value, text, conversion, spec[0] if spec else "")
    _replace(frame.stack, 2 + has_spec, result)


@instruction("LIST_APPEND")
def list_append(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    interpreter.domain.list_append(frame, stack[-1 - arg], stack[-1])
    stack.pop()


@instruction("LIST_EXTEND")
def list_extend(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    interpreter.domain.list_extend(frame, stack[-1 - arg], stack[-1])
    stack.pop()


@instruction("LIST_TO_TUPLE")
def list_to_tuple(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack[-1] = interpreter.domain.list_to_tuple(frame, frame.stack[-1])


@instruction("SET_ADD")
def set_add(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    interpreter.domain.set_add(frame, stack[-1 - arg], stack[-1])
    stack.pop()


@instruction("SET_UPDATE")
def set_update(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    interpreter.domain.set_update(frame, stack[-1 - arg], stack[-1])
    stack.pop()


@instruction("MAP_ADD")
def map_add(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    interpreter.domain.map_add(frame, stack[-2 - arg], stack[-2], stack[-1])
    del stack[-2:]


@instruction("DICT_UPDATE")
def dict_update(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    interpreter.domain.dict_update(frame, stack[-1 - arg], stack[-1])
    stack.pop()


@instruction("DICT_MERGE")
def dict_merge(interpreter: Interpreter, frame: Frame, arg: tuple[int, int]) -> Any:
    stack = frame.stack
    interpreter.domain.dict_merge(frame, stack[-1 - arg[0]], stack[-1], stack[-1 - arg[1]])
    stack.pop()


@instruction("UNPACK_SEQUENCE")
def unpack_sequence(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    items = interpreter.domain.unpack(frame, frame.stack[-1], arg)
    frame.stack[-1:] = items[::-1]


@instruction("UNPACK_EX")
def unpack_ex(interpreter: Interpreter, frame: Frame, arg: tuple[int, int]) -> Any:
    items = interpreter.domain.unpack_ex(frame, frame.stack[-1], *arg)
    frame.stack[-1:] = items[::-1]


# Formatting


@instruction("CONVERT_VALUE")
def convert_value(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    frame.stack[-1] = interpreter.domain.convert_value(frame, frame.stack[-1], arg)


@instruction("FORMAT_SIMPLE")
def format_simple(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack[-1] = interpreter.domain.format_value(frame, frame.stack[-1], None)


@instruction("FORMAT_WITH_SPEC")
def format_with_spec(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    stack = frame.stack
    result = interpreter.domain.format_value(frame, stack[-2], stack[-1])
    _replace(stack, 2, result)


# Jumps and loops


@instruction("JUMP")
def jump(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    return arg


@instruction("JUMP_BACKWARD")
def jump_backward(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    if interpreter.watches_loops:
        interpreter.domain.backward_jump(frame, arg)
    return arg


@instruction("POP_JUMP_IF_FALSE")
def pop_jump_if_false(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    value = frame.stack[-1]
    if value is not True and value is not False:
        value = interpreter.domain.truth(frame, value)
        if type(value) is Frame:
            return interpreter.push(frame, value, 1, OnReturn("jump_if", (arg, False)))
    frame.stack.pop()
    return None if value else arg


@instruction("POP_JUMP_IF_TRUE")
def pop_jump_if_true(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    value = frame.stack[-1]
    if value is not True and value is not False:
        value = interpreter.domain.truth(frame, value)
        if type(value) is Frame:
            return interpreter.push(frame, value, 1, OnReturn("jump_if", (arg, True)))
    frame.stack.pop()
    return arg if value else None


@instruction("POP_JUMP_IF_NONE")
def pop_jump_if_none(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    none = interpreter.domain.is_none(frame, frame.stack[-1])
    frame.stack.pop()
    return arg if none else None


@instruction("POP_JUMP_IF_NOT_NONE")
def pop_jump_if_not_none(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    none = interpreter.domain.is_none(frame, frame.stack[-1])
    frame.stack.pop()
    return None if none else arg


# match


@instruction("GET_LEN")
def get_len(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack.append(interpreter.domain.get_len(frame, frame.stack[-1]))


@instruction("MATCH_MAPPING")
def match_mapping(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack.append(interpreter.domain.match_mapping(frame, frame.stack[-1]))


@instruction("MATCH_SEQUENCE")
def match_sequence(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack.append(interpreter.domain.match_sequence(frame, frame.stack[-1]))


@instruction("MATCH_KEYS")
def match_keys(interpreter: Interpreter, frame: Frame, arg: Any) -> Any:
    frame.stack.append(interpreter.domain.match_keys(frame, frame.stack[-2], frame.stack[-1]))


@instruction("MATCH_CLASS")
def match_class(interpreter: Interpreter, frame: Frame, arg: int) -> Any:
    stack = frame.stack
    result = interpreter.domain.match_class(frame, stack[-3], stack[-2], arg, stack[-1])
    _replace(stack, 3, result)


# What is not there


@instruction("UNSUPPORTED")
def unsupported(interpreter: Interpreter, frame: Frame, arg: str) -> Any:
    raise UnsupportedOpcode(arg, frame)
