"""The canonical instruction set: every instruction's name, its argument, and what it does to the stack.

One entry an instruction; `decode.py` makes them from CPython's bytecode, `interpreter/` runs them.  The stack is
written bottom to top, `--` separates before and after.  Several of CPython's instructions become two or three of
these; none of these does two things that a program can tell apart.

Jumps carry the index of an instruction.  `NULL` is the empty place for `self` that CPython's calls keep on the stack.
"""

from __future__ import annotations

CANONICAL: dict[str, str] = {
    # Stack and constants
    "NOP": "--",
    "POP_TOP": "a --",
    "PUSH_NULL": "-- NULL",
    "COPY": "-- the value `arg` places from the top (1 is the top)",
    "SWAP": "exchanges the top with the value `arg` places from it",
    "LOAD_CONST": "-- arg",
    # Slots: arguments, local variables, cells
    "LOAD_FAST": "-- locals[arg]; UnboundLocalError where it is empty",
    "LOAD_FAST_AND_CLEAR": "-- locals[arg] or UNBOUND; the slot is emptied (comprehensions that stand inside a frame)",
    "STORE_FAST": "a --",
    "DELETE_FAST": "--",
    "MAKE_CELL": "-- ; locals[arg] becomes a cell that holds it",
    "COPY_FREE_VARS": "-- ; the closure's cells go to the last `arg` slots",
    "LOAD_DEREF": "-- what the cell in slot arg holds",
    "STORE_DEREF": "a --",
    "DELETE_DEREF": "--",
    "LOAD_FROM_DICT_OR_DEREF": "mapping -- a   slot arg",
    # Names
    "LOAD_GLOBAL": "-- a   name arg",
    "STORE_GLOBAL": "a --",
    "DELETE_GLOBAL": "--",
    "LOAD_NAME": "-- a   name arg of a class or module body",
    "STORE_NAME": "a --",
    "DELETE_NAME": "--",
    "LOAD_LOCALS": "-- the mapping of the body",
    "LOAD_FROM_DICT_OR_GLOBALS": "mapping -- a   name arg",
    # Operators
    "UNARY_OP": "a -- b   arg: - + ~ not",
    "BINARY_OP": "a b -- c   arg: the operator, with = where in place",
    "COMPARE_OP": "a b -- c   arg: the operator",
    "IS_OP": "a b -- bool   arg: inverted",
    "CONTAINS_OP": "item container -- bool   arg: inverted",
    "TO_BOOL": "a -- bool",
    # Attributes, items
    "LOAD_ATTR": "a -- b   name arg",
    "STORE_ATTR": "value a --",
    "DELETE_ATTR": "a --",
    "LOAD_SUPER_ATTR": "super class obj -- a   arg: (name, whether super was given arguments)",
    "LOAD_SPECIAL": "a -- bound method   name arg",
    "LOAD_CONTEXT_MANAGER": "a -- exit enter NULL",
    "BINARY_SUBSCR": "container key -- a",
    "STORE_SUBSCR": "value container key --",
    "DELETE_SUBSCR": "container key --",
    # Displays; `arg` is a number of values, or how deep below the top the container lies
    "BUILD_TUPLE": "arg values -- tuple",
    "BUILD_CLOSURE": "arg cells -- closure",
    "BUILD_LIST": "arg values -- list",
    "BUILD_SET": "arg values -- set",
    "BUILD_MAP": "arg pairs key value -- dict",
    "BUILD_CONST_KEY_MAP": "arg values, tuple of keys -- dict",
    "BUILD_STRING": "arg strings -- string",
    "BUILD_SLICE": "arg values (2 or 3) -- slice",
    "BUILD_INTERPOLATION": "value text [spec] -- interpolation   arg: (conversion or None, has spec)",
    "BUILD_TEMPLATE": "strings interpolations -- template",
    "LIST_APPEND": "a --",
    "LIST_EXTEND": "iterable --",
    "LIST_TO_TUPLE": "list -- tuple",
    "SET_ADD": "a --",
    "SET_UPDATE": "iterable --",
    "MAP_ADD": "key value --",
    "DICT_UPDATE": "mapping --",
    "DICT_MERGE": "mapping --   arg: (depth of the dict, depth of the callable, for messages)",
    "UNPACK_SEQUENCE": "a -- arg values, the first on top",
    "UNPACK_EX": "a -- values, the first on top   arg: (before, after)",
    # Formatting
    "CONVERT_VALUE": "a -- string   arg: s r a",
    "FORMAT_SIMPLE": "a -- string",
    "FORMAT_WITH_SPEC": "a spec -- string",
    # Jumps
    "JUMP": "--   target arg",
    "JUMP_BACKWARD": "--   target arg; the end of a turn of a loop",
    "POP_JUMP_IF_FALSE": "a --   tests the truth of a itself",
    "POP_JUMP_IF_TRUE": "a --",
    "POP_JUMP_IF_NONE": "a --",
    "POP_JUMP_IF_NOT_NONE": "a --",
    "GET_ITER": "a -- iterator",
    "FOR_ITER": "iterator -- iterator item; at the end: iterator -- and a jump to arg",
    # Generators
    "RETURN_GENERATOR": "-- None; the call answers a generator, which goes on here",
    "YIELD_VALUE": "a -- what was sent   arg: whether it stands in a yield from",
    "GET_YIELD_FROM_ITER": "a -- iterator",
    "SEND": "receiver a -- receiver yielded; at the end receiver result and a jump   arg: (target, keep receiver)",
    "END_SEND": "receiver a -- a",
    "CLEANUP_THROW": "receiver a exception -- None value   for a StopIteration; others are raised again",
    # match
    "GET_LEN": "a -- a length",
    "MATCH_MAPPING": "a -- a bool",
    "MATCH_SEQUENCE": "a -- a bool",
    "MATCH_KEYS": "a keys -- a keys values-or-None",
    "MATCH_CLASS": "a class names -- values-or-None   arg: number of positional patterns",
    # Calls, functions, classes, imports
    "CALL": "callable NULL args -- a, or NULL callable args, or callable self args   arg: (number, names of the last)",
    "CALL_FUNCTION_EX": "as CALL, with one iterable and, where arg, one mapping or NULL",
    "MAKE_FUNCTION": "attributes, code -- function   arg: names of the attributes, bottom to top",
    "LOAD_BUILD_CLASS": "-- a",
    "SETUP_ANNOTATIONS": "--",
    "IMPORT_NAME": "level fromlist -- module",
    "IMPORT_FROM": "module -- module a",
    "IMPORT_STAR": "module --",
    "RETURN_VALUE": "a --   and the frame ends",
    # Exceptions
    "RAISE_VARARGS": "arg values --   0: again, 1: exception, 2: exception and cause",
    "RERAISE": "exception --   and it is raised again, without a further line in its traceback",
    "PUSH_EXC_INFO": "exception -- exception handled before, exception",
    "POP_EXCEPT": "exception handled before --",
    "CHECK_EXC_MATCH": "exception types -- exception bool",
    "CHECK_EG_MATCH": "exception types -- rest match",
    "RERAISE_STAR": "original list -- exception or None",
    "WITH_EXCEPT_START": "-- what exit answers   arg: depth of the exit function",
    "STOP_ITERATION_ERROR": "exception -- exception   StopIteration becomes RuntimeError",
    # What has no canonical form
    "UNSUPPORTED": "   arg: CPython's name of it",
}

JUMPS = frozenset(
    {
        "JUMP", "JUMP_BACKWARD", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE",
        "FOR_ITER", "SEND",
    }
)  # fmt: skip
"""Instructions that carry a target; SEND carries it as the first of a pair."""

ENDS = frozenset({"JUMP", "JUMP_BACKWARD", "RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "UNSUPPORTED"})
"""Instructions after which the next one is not reached."""

BINARY = (
    "+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^",
    "+=", "&=", "//=", "<<=", "@=", "*=", "%=", "|=", "**=", ">>=", "-=", "/=", "^=", "[]",
)  # fmt: skip
"""The operators of CPython's BINARY_OP by its argument; the last one from 3.14 on."""

COMPARE = ("<", "<=", "==", "!=", ">", ">=")
"""The operators of CPython's COMPARE_OP."""
