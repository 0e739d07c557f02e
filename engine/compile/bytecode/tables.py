"""CPython's instructions in canonical ones, as data: one table for what all versions share, one for each version.

An entry is a tuple of steps (canonical instruction, kind of its argument); the kinds are read by `decode.py`:

- `-` none; `arg` the number itself; `const`, `name`, `slot` by the number; `name/2` the number shifted by one bit;
  `slot/16`, `slot%16` halves of a byte;
- `?1`, `?16` the step is there only where that bit is set (its argument is none);
- `forward`, `backward` a jump; `for` the jump of a loop, past what ends it; `send`, `send-pop` that of SEND;
- `=x` the constant x of `CONSTANTS`; all of them are functions in `decode.KINDS`.

An instruction that stands in no table (awaiting, asynchronous loops, what later versions bring) is unsupported.
"""

from __future__ import annotations

from typing import Any

Steps = tuple[tuple[str, str], ...]


def _same(names: str, kind: str) -> dict[str, Steps]:
    return {name: ((name, kind),) for name in names.split()}


SHARED: dict[str, Steps] = {
    **_same(
        "NOP POP_TOP PUSH_NULL BINARY_SUBSCR STORE_SUBSCR DELETE_SUBSCR GET_ITER GET_YIELD_FROM_ITER GET_LEN "
        "MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS LOAD_BUILD_CLASS SETUP_ANNOTATIONS PUSH_EXC_INFO POP_EXCEPT "
        "CHECK_EXC_MATCH CHECK_EG_MATCH RETURN_VALUE END_SEND CLEANUP_THROW TO_BOOL LOAD_LOCALS FORMAT_SIMPLE "
        "FORMAT_WITH_SPEC LIST_TO_TUPLE",
        "-",
    ),
    **_same(
        "COPY SWAP BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_MAP BUILD_STRING BUILD_SLICE BUILD_CONST_KEY_MAP "
        "LIST_APPEND LIST_EXTEND SET_ADD SET_UPDATE MAP_ADD DICT_UPDATE UNPACK_SEQUENCE RAISE_VARARGS RERAISE "
        "COPY_FREE_VARS MATCH_CLASS CALL_FUNCTION_EX",
        "arg",
    ),
    **_same("LOAD_CONST", "const"),
    **_same(
        "STORE_GLOBAL DELETE_GLOBAL LOAD_NAME STORE_NAME DELETE_NAME STORE_ATTR DELETE_ATTR IMPORT_NAME IMPORT_FROM "
        "LOAD_FROM_DICT_OR_GLOBALS",
        "name",
    ),
    **_same(
        "LOAD_FAST LOAD_FAST_AND_CLEAR STORE_FAST DELETE_FAST MAKE_CELL LOAD_DEREF STORE_DEREF DELETE_DEREF "
        "LOAD_FROM_DICT_OR_DEREF",
        "slot",
    ),
    **_same("IS_OP CONTAINS_OP", "flag"),
    **_same("POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE", "forward"),
    **_same("UNPACK_EX", "unpack"),
    "LOAD_FAST_CHECK": (("LOAD_FAST", "slot"),),
    "LOAD_CLOSURE": (("LOAD_FAST", "slot"),),
    "RESUME": (("RESUME", "resume"),),
    "INTERPRETER_EXIT": (("NOP", "-"),),
    "JUMP_FORWARD": (("JUMP", "forward"),),
    "JUMP_BACKWARD": (("JUMP_BACKWARD", "backward"),),
    "JUMP_BACKWARD_NO_INTERRUPT": (("JUMP", "backward"),),
    "FOR_ITER": (("FOR_ITER", "for"),),
    "END_FOR": (("NOP", "-"),),
    "SEND": (("SEND", "send"),),
    "YIELD_VALUE": (("YIELD_VALUE", "-"),),
    "RETURN_GENERATOR": (("RETURN_GENERATOR", "-"),),
    "RETURN_CONST": (("LOAD_CONST", "const"), ("RETURN_VALUE", "-")),
    "UNARY_NEGATIVE": (("UNARY_OP", "=-"),),
    "UNARY_POSITIVE": (("UNARY_OP", "=+"),),
    "UNARY_INVERT": (("UNARY_OP", "=~"),),
    "UNARY_NOT": (("UNARY_OP", "=not"),),
    "BINARY_OP": (("BINARY_OP", "binary"),),
    "BINARY_SLICE": (("BUILD_SLICE", "=2"), ("BINARY_SUBSCR", "-")),
    "STORE_SLICE": (("BUILD_SLICE", "=2"), ("STORE_SUBSCR", "-")),
    "LOAD_ASSERTION_ERROR": (("LOAD_CONST", "=AssertionError"),),
    "LOAD_ATTR": (("LOAD_ATTR", "name/2"), ("PUSH_NULL", "?1")),
    "LOAD_SUPER_ATTR": (("LOAD_SUPER_ATTR", "super"), ("PUSH_NULL", "?1")),
    "BEFORE_WITH": (("LOAD_CONTEXT_MANAGER", "-"), ("CALL", "=nothing")),
    "WITH_EXCEPT_START": (("WITH_EXCEPT_START", "=4"),),
    "DICT_MERGE": (("DICT_MERGE", "merge+3"),),
    "CALL": (("CALL", "call"),),
    "CALL_KW": (("CALL", "call-keywords"),),
    "MAKE_FUNCTION": (("MAKE_FUNCTION", "=none"),),
    "SET_FUNCTION_ATTRIBUTE": (("SET_FUNCTION_ATTRIBUTE", "arg"),),
    "CONVERT_VALUE": (("CONVERT_VALUE", "conversion"),),
}
"""What holds for every version that has the instruction, unless its own table says otherwise."""

VERSIONS: dict[int, dict[str, Steps]] = {
    11: {
        "LOAD_GLOBAL": (("PUSH_NULL", "?1"), ("LOAD_GLOBAL", "name/2")),
        "LOAD_ATTR": (("LOAD_ATTR", "name"),),
        "LOAD_METHOD": (("LOAD_ATTR", "name"), ("PUSH_NULL", "-")),
        "COMPARE_OP": (("COMPARE_OP", "compare"),),
        "LOAD_CLASSDEREF": (("LOAD_LOCALS", "-"), ("LOAD_FROM_DICT_OR_DEREF", "slot")),
        "PRECALL": (("NOP", "-"),),
        "KW_NAMES": (("NOP", "keywords"),),
        "MAKE_FUNCTION": (("MAKE_FUNCTION", "function"),),
        "DICT_MERGE": (("DICT_MERGE", "merge+2"),),
        "JUMP_IF_FALSE_OR_POP": (("COPY", "=1"), ("POP_JUMP_IF_FALSE", "forward"), ("POP_TOP", "-")),
        "JUMP_IF_TRUE_OR_POP": (("COPY", "=1"), ("POP_JUMP_IF_TRUE", "forward"), ("POP_TOP", "-")),
        "POP_JUMP_FORWARD_IF_FALSE": (("POP_JUMP_IF_FALSE", "forward"),),
        "POP_JUMP_FORWARD_IF_TRUE": (("POP_JUMP_IF_TRUE", "forward"),),
        "POP_JUMP_FORWARD_IF_NONE": (("POP_JUMP_IF_NONE", "forward"),),
        "POP_JUMP_FORWARD_IF_NOT_NONE": (("POP_JUMP_IF_NOT_NONE", "forward"),),
        "POP_JUMP_BACKWARD_IF_FALSE": (("POP_JUMP_IF_FALSE", "backward"),),
        "POP_JUMP_BACKWARD_IF_TRUE": (("POP_JUMP_IF_TRUE", "backward"),),
        "POP_JUMP_BACKWARD_IF_NONE": (("POP_JUMP_IF_NONE", "backward"),),
        "POP_JUMP_BACKWARD_IF_NOT_NONE": (("POP_JUMP_IF_NOT_NONE", "backward"),),
        "SEND": (("SEND", "send-pop"),),
        "PREP_RERAISE_STAR": (("RERAISE_STAR", "-"),),
        "IMPORT_STAR": (("IMPORT_STAR", "-"),),
    },
    12: {
        "LOAD_GLOBAL": (("PUSH_NULL", "?1"), ("LOAD_GLOBAL", "name/2")),
        "COMPARE_OP": (("COMPARE_OP", "compare/16"),),
        "KW_NAMES": (("NOP", "keywords"),),
        "MAKE_FUNCTION": (("MAKE_FUNCTION", "function"),),
        "DICT_MERGE": (("DICT_MERGE", "merge+2"),),
    },
    13: {
        "LOAD_GLOBAL": (("LOAD_GLOBAL", "name/2"), ("PUSH_NULL", "?1")),
        "COMPARE_OP": (("COMPARE_OP", "compare/32"), ("TO_BOOL", "?16")),
        "LOAD_FAST_LOAD_FAST": (("LOAD_FAST", "slot/16"), ("LOAD_FAST", "slot%16")),
        "STORE_FAST_LOAD_FAST": (("STORE_FAST", "slot/16"), ("LOAD_FAST", "slot%16")),
        "STORE_FAST_STORE_FAST": (("STORE_FAST", "slot/16"), ("STORE_FAST", "slot%16")),
    },
    14: {
        "LOAD_GLOBAL": (("LOAD_GLOBAL", "name/2"), ("PUSH_NULL", "?1")),
        "COMPARE_OP": (("COMPARE_OP", "compare/32"), ("TO_BOOL", "?16")),
        "LOAD_FAST_BORROW": (("LOAD_FAST", "slot"),),
        "LOAD_FAST_LOAD_FAST": (("LOAD_FAST", "slot/16"), ("LOAD_FAST", "slot%16")),
        "LOAD_FAST_BORROW_LOAD_FAST_BORROW": (("LOAD_FAST", "slot/16"), ("LOAD_FAST", "slot%16")),
        "STORE_FAST_LOAD_FAST": (("STORE_FAST", "slot/16"), ("LOAD_FAST", "slot%16")),
        "STORE_FAST_STORE_FAST": (("STORE_FAST", "slot/16"), ("STORE_FAST", "slot%16")),
        "LOAD_SMALL_INT": (("LOAD_CONST", "arg"),),
        "LOAD_COMMON_CONSTANT": (("LOAD_CONST", "common"),),
        "LOAD_SPECIAL": (("LOAD_SPECIAL", "special"), ("PUSH_NULL", "-")),
        "WITH_EXCEPT_START": (("WITH_EXCEPT_START", "=5"),),
        "NOT_TAKEN": (("NOP", "-"),),
        "POP_ITER": (("POP_TOP", "-"),),
        "CALL_FUNCTION_EX": (("CALL_FUNCTION_EX", "=1"),),
        "BUILD_TEMPLATE": (("BUILD_TEMPLATE", "-"),),
        "BUILD_INTERPOLATION": (("BUILD_INTERPOLATION", "interpolation"),),
    },
}
"""What the minor versions of CPython 3 have for themselves."""

LOOP_END: dict[int, int] = {11: 0, 12: 1, 13: 2, 14: 2}
"""How many instructions at the target of FOR_ITER only clean up behind it: the canonical one has done that."""

FUNCTION_ATTRIBUTES = {1: "defaults", 2: "kwdefaults", 4: "annotations", 8: "closure", 16: "annotate"}
"""Bits of MAKE_FUNCTION and SET_FUNCTION_ATTRIBUTE."""

BY_ARGUMENT: dict[str, dict[int, Steps]] = {
    "CALL_INTRINSIC_1": {
        2: (("IMPORT_STAR", "-"), ("LOAD_CONST", "=None")),
        3: (("STOP_ITERATION_ERROR", "-"),),
        5: (("UNARY_OP", "=+"),),
        6: (("LIST_TO_TUPLE", "-"),),
    },
    "CALL_INTRINSIC_2": {1: (("RERAISE_STAR", "-"),)},
    "FORMAT_VALUE": {
        0: (("FORMAT_SIMPLE", "-"),),
        1: (("CONVERT_VALUE", "=s"), ("FORMAT_SIMPLE", "-")),
        2: (("CONVERT_VALUE", "=r"), ("FORMAT_SIMPLE", "-")),
        3: (("CONVERT_VALUE", "=a"), ("FORMAT_SIMPLE", "-")),
        4: (("FORMAT_WITH_SPEC", "-"),),
        5: (("SWAP", "=2"), ("CONVERT_VALUE", "=s"), ("SWAP", "=2"), ("FORMAT_WITH_SPEC", "-")),
        6: (("SWAP", "=2"), ("CONVERT_VALUE", "=r"), ("SWAP", "=2"), ("FORMAT_WITH_SPEC", "-")),
        7: (("SWAP", "=2"), ("CONVERT_VALUE", "=a"), ("SWAP", "=2"), ("FORMAT_WITH_SPEC", "-")),
    },
}
"""Instructions whose steps depend on their argument.  What is missing here (type parameters, printing, asynchronous
generators) is unsupported."""

CONVERSIONS = {0: None, 1: "s", 2: "r", 3: "a"}

COMMON_CONSTANTS = (AssertionError, NotImplementedError, tuple, all, any)
"""LOAD_COMMON_CONSTANT by its argument."""

SPECIAL_METHODS = ("__enter__", "__exit__", "__aenter__", "__aexit__")
"""LOAD_SPECIAL by its argument."""

CONSTANTS: dict[str, Any] = {
    "-": "-", "+": "+", "~": "~", "not": "not", "1": 1, "2": 2, "4": 4, "5": 5, "none": (), "nothing": (0, ()),
    "s": "s", "r": "r", "a": "a", "None": None, "AssertionError": AssertionError,
}  # fmt: skip
