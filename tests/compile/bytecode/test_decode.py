"""Decoding: the canonical instructions of small functions, the same on every version where that is promised."""

from __future__ import annotations

import dis
import json
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from tapescope.engine.compile.bytecode import decode
from tapescope.engine.compile.bytecode.canonical import CANONICAL, JUMPS
from tapescope.engine.compile.bytecode.decode import KINDS
from tapescope.engine.compile.bytecode.tables import BY_ARGUMENT, SHARED, VERSIONS

reading = sys.modules[
    "tapescope.engine.compile.bytecode.decode"
]  # the package's name for the function hides the module


def codes(text: str) -> Iterator[types.CodeType]:
    """All code objects of a module's text."""
    todo = [compile(text, "<test>", "exec", dont_inherit=True)]
    while todo:
        code = todo.pop()
        yield code
        todo += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def steps(function: Any) -> list[tuple[str, Any]]:
    return [(step.op, step.arg) for step in decode(function.__code__).instructions]


def test_tables_name_canonical_instructions_and_known_kinds() -> None:
    entries = [*SHARED.values(), *(steps for table in VERSIONS.values() for steps in table.values())]
    entries += [steps for table in BY_ARGUMENT.values() for steps in table.values()]
    marks = {"NOP", "RESUME", "SET_FUNCTION_ATTRIBUTE"}  # gone before a program is made
    for entry in entries:
        for op, kind in entry:
            assert op in CANONICAL or op in marks
            assert kind in KINDS


@pytest.mark.skipif(sys.version_info[1] not in VERSIONS, reason="a Python whose bytecode is not known")
def test_all_instructions_of_this_python_are_known_or_meant_not_to_be() -> None:
    unknown = set()
    table = {**SHARED, **VERSIONS[sys.version_info[1]], **BY_ARGUMENT}
    for name, number in dis.opmap.items():
        if number < 256 and name not in table and not name.startswith("INSTRUMENTED_"):
            unknown.add(name)
    asynchronous = {"GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "END_ASYNC_FOR", "BEFORE_ASYNC_WITH", "ASYNC_GEN_WRAP"}
    internal = {"CACHE", "EXTENDED_ARG", "RESERVED", "PRINT_EXPR", "EXIT_INIT_CHECK", "ENTER_EXECUTOR"}
    assert unknown <= asynchronous | internal


def test_a_branch_is_one_instruction() -> None:
    def branch(a: Any, b: Any) -> Any:
        if a > b:
            return a
        return not b

    assert [op for op, _ in steps(branch)] == [
        "LOAD_FAST", "LOAD_FAST", "COMPARE_OP", "POP_JUMP_IF_FALSE", "LOAD_FAST", "RETURN_VALUE",
        "LOAD_FAST", "UNARY_OP", "RETURN_VALUE",
    ]  # fmt: skip
    assert steps(branch)[3] == ("POP_JUMP_IF_FALSE", 6)


def test_calls_carry_their_keywords() -> None:
    def caller(f: Any) -> Any:
        return f(1, 2, k=3, z=4), f.g(5), f(*[1], **{})

    found = steps(caller)
    assert ("CALL", (4, ("k", "z"))) in found
    assert ("CALL", (1, ())) in found
    assert ("LOAD_ATTR", "g") in found
    assert [op for op, _ in found].count("CALL_FUNCTION_EX") == 1


def test_functions_carry_their_attributes() -> None:
    def outer(x: Any) -> Any:
        def inner(a: Any, b: Any = 1, *, c: Any = 2) -> Any:
            return x

        return inner

    found = dict(steps(outer))
    assert found["MAKE_FUNCTION"][:2] == ("defaults", "kwdefaults")
    assert found["MAKE_FUNCTION"][-1] == "closure" and found["BUILD_CLOSURE"] == 1
    program = decode(outer.__code__)
    assert program.slots == ("x", "inner") and program.cells == {0} and program.first_free == 2
    inner = decode(next(c for c in outer.__code__.co_consts if isinstance(c, types.CodeType)))
    assert inner.slots[-1] == "x" and inner.first_free == 3


def test_loops_end_behind_what_cleans_up() -> None:
    def loop(xs: Any) -> Any:
        for _x in xs:
            pass
        return 5

    found = steps(loop)
    target = next(arg for op, arg in found if op == "FOR_ITER")
    assert found[target] == ("LOAD_CONST", 5)


def test_jumps_stay_inside_and_slots_agree_with_cpython() -> None:
    for module in (json.decoder, types, dis):
        with open(module.__file__, encoding="utf-8") as file:  # type: ignore[arg-type]
            text = file.read()
        for code in codes(text):
            program = decode(code)
            assert program.refusal is None or code.co_flags & 0x280
            for slot, name in enumerate(program.slots):
                assert code._varname_from_oparg(slot) == name  # type: ignore[attr-defined]
            lines = {step.position[0] for step in program.instructions}
            assert lines <= {line for _, _, line in code.co_lines()} | {None}
            for step in program.instructions:
                assert step.op in CANONICAL
                if step.op in JUMPS:
                    target = step.arg[0] if step.op == "SEND" else step.arg
                    assert 0 <= target < len(program.instructions)
            for handler in program.handlers:
                assert handler is None or 0 <= handler[0] < len(program.instructions)


def test_the_same_program_for_the_same_code() -> None:
    assert decode(codes.__code__) is decode(codes.__code__)


def test_specialised_and_instrumented_code_looks_the_same() -> None:
    def work(n: int) -> int:
        total = 0
        for i in range(n):
            total += i
        return total

    fresh = compile("def work(n):\n  t = 0\n  for i in range(n): t += i\n  return t", "<test>", "exec")
    space: dict[str, Any] = {}
    exec(fresh, space)
    before = [tuple(step) for step in decode(space["work"].__code__).instructions]
    space["work"](5000)  # the interpreter specialises its instructions
    again = space["work"].__code__.replace()
    sys.settrace(lambda *args: None)
    try:
        space["work"](3)
    finally:
        sys.settrace(None)
    assert [tuple(step) for step in decode(again).instructions] == before
    assert work(3) == 3


def test_positions_are_those_of_the_source() -> None:
    code = compile("x = [1,\n     y.z]", "<test>", "exec")
    step = next(step for step in decode(code).instructions if step.op == "LOAD_ATTR")
    assert step.position == (2, 2, 5, 8)


def test_asynchronous_code_is_refused_with_a_reason() -> None:
    async def wait(x: Any) -> Any:
        return await x

    async def produce() -> Any:
        yield 1

    for function in (wait, produce):
        refusal = decode(function.__code__).refusal
        assert refusal is not None and "asynchronous" in refusal and function.__qualname__ in refusal


def test_an_unknown_instruction_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(reading._TABLE, "BINARY_SUBSCR" if sys.version_info < (3, 14) else "GET_LEN")
    code = compile("x[1]" if sys.version_info < (3, 14) else "match x:\n  case [1]: pass", "<test>", "exec")
    program = decode(code)
    (unknown,) = [step for step in program.instructions if step.op == "UNSUPPORTED"]
    assert unknown.arg == unknown.native
    assert program.refusal == f"<module> uses the instruction {unknown.native}, line {unknown.position[0]}"


def test_listing_names_every_instruction() -> None:
    text = decode(codes.__code__).listing()
    assert "FOR_ITER" in text or "POP_JUMP_IF" in text
    assert len(text.splitlines()) == len(decode(codes.__code__).instructions)
