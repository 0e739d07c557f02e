"""Frames as data: breaks, resuming, copies, refused code, tracebacks."""

from __future__ import annotations

import builtins
import gc
import itertools
import subprocess
import sys
import traceback
import weakref
from typing import Any

import pytest

from tapescope.engine.compile.bytecode import Program, decode
from tapescope.engine.compile.interpreter import (
    NULL,
    PUSH,
    UNBOUND,
    Break,
    ConcreteDomain,
    Frame,
    InterpretedGenerator,
    Interpreter,
    Returned,
    UnsupportedOpcode,
    tracebacks,
)


def frame_of(function: Any, *args: Any, domain: ConcreteDomain | None = None) -> tuple[Interpreter, Frame]:
    loop = Interpreter(domain or ConcreteDomain())
    return loop, loop.domain.make_frame(function, list(args), {})  # type: ignore[attr-defined]


def scale(x: int, k: int) -> int:
    return x * k


def work(n: int) -> list[int]:
    out = []
    for i in range(n):
        try:
            out.append(scale(i, 10 // (i - 1)))
        except ZeroDivisionError:
            out.append(-1)
    return out


def test_a_break_leaves_the_frame_and_names_it() -> None:
    class NoMultiplication(ConcreteDomain):
        refuse = True

        def binary(self, frame: Frame, op: str, a: Any, b: Any) -> Any:
            if op == "*" and self.refuse:
                raise Break("no multiplication")
            return super().binary(frame, op, a, b)

    domain = NoMultiplication()
    loop, frame = frame_of(work, 3, domain=domain)
    with pytest.raises(Break) as caught:
        loop.run(frame)
    innermost = caught.value.frame
    assert innermost is not None and innermost.function is scale
    assert innermost.stack == [0, -10] and innermost.instruction.op == "BINARY_OP"
    assert [one.function for one in innermost.chain()] == [scale, work]
    assert frame.program.instructions[frame.ip - 1].op == "CALL"  # it waits behind the call
    assert frame.line == work.__code__.co_firstlineno + 4
    domain.refuse = False
    assert loop.run(innermost) == work(3)


def test_a_break_passes_handlers_and_finally_of_the_program() -> None:
    seen = []

    class NoPrint(ConcreteDomain):
        def call(self, frame: Frame, callable: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
            if callable is print:
                raise Break("printing")
            return super().call(frame, callable, args, kwargs)

    def program() -> None:
        try:
            print("x")
        except BaseException:
            seen.append("except")
        finally:
            seen.append("finally")

    loop, frame = frame_of(program, domain=NoPrint())
    with pytest.raises(Break):
        loop.run(frame)
    assert not seen


@pytest.mark.parametrize("every", [1, 2, 7])
def test_a_copy_of_the_frames_goes_on_like_the_original(every: int) -> None:
    loop, frame = frame_of(work, 5)
    current: Any = frame
    count = 0
    while type(current) is Frame:
        count += 1
        if count % every == 0:  # the whole chain anew, from values alone
            copies = [one.copy() for one in current.chain()]
            for one, back in itertools.pairwise(copies):
                one.back = back
            current = copies[0]
        current = loop.step(current)
    assert type(current) is Returned and current.value == work(5)


def test_resuming_with_another_domain() -> None:
    loop, frame = frame_of(work, 5)
    for _ in range(40):
        frame = loop.step(frame)  # type: ignore[assignment]
    assert Interpreter(ConcreteDomain(lambda function: False)).run(frame) == work(5)


def test_a_frame_can_be_made_by_hand() -> None:
    code = compile("a + b.real", "<hand>", "eval")
    frame = Frame(decode(code), {"a": 1, "b": 2}, vars(builtins), names={})
    assert Interpreter(ConcreteDomain()).run(frame) == 3
    assert frame.back is None and repr(NULL) == "<null>" and repr(UNBOUND) == "<unbound>" and PUSH.name == "push"


def test_calls_need_no_python_stack() -> None:
    def down(n: int) -> int:
        return 0 if n == 0 else 1 + down(n - 1)

    loop, frame = frame_of(down, sys.getrecursionlimit() - 50)
    before = sys.getrecursionlimit()
    assert loop.run(frame) == before - 50

    def endless(n: int) -> int:
        return endless(n + 1)

    loop, frame = frame_of(endless, 0)
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        loop.run(frame)


def test_asynchronous_functions_are_called_natively() -> None:
    async def answer() -> int:
        return 5

    def program() -> Any:
        return answer()

    loop, frame = frame_of(program)
    coroutine = loop.run(frame)
    assert type(coroutine).__name__ == "coroutine"
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    assert stopped.value.value == 5


def test_an_unsupported_instruction_stops_before_it_runs() -> None:
    def program(x: list[int]) -> int:
        x.append(1)
        return -x[0]

    loop, frame = frame_of(program, [5])
    step = next(step for step in frame.program.instructions if step.op == "UNARY_OP")
    unknown = step._replace(op="UNSUPPORTED", arg="UNARY_NEGATIVE")
    instructions = tuple(unknown if one is step else one for one in frame.program.instructions)
    frame.program = Program(frame.code, instructions, frame.program.handlers)
    assert frame.program.refusal is not None and "UNARY_NEGATIVE" in frame.program.refusal
    with pytest.raises(UnsupportedOpcode, match="no instruction UNARY_NEGATIVE") as caught:
        loop.run(frame)
    assert caught.value.frame is frame and frame.stack == [5] and frame.instruction is unknown


def test_generators_pass_for_generators() -> None:
    def count(n: int) -> Any:
        yield from range(n)

    loop, frame = frame_of(count, 3)
    generator = loop.run(frame)
    assert type(generator) is InterpretedGenerator and generator.state == "created"
    assert list(generator) == [0, 1, 2] and generator.state == "closed" and generator.gi_frame is None
    with pytest.raises(TypeError, match="cannot pickle 'generator' object"):
        generator.__reduce__()


def test_tracebacks_name_the_lines_and_variables_of_the_program() -> None:
    def outer(x: int) -> float:
        y = x + 1
        return inner(y)

    def inner(z: int) -> float:
        return z / 0

    loop, frame = frame_of(outer, 1)
    with pytest.raises(ZeroDivisionError) as caught:
        loop.run(frame)
    found = tracebacks.strip_all(caught.value.__traceback__)
    summary = [entry for entry in traceback.extract_tb(found) if entry.name in ("outer", "inner")]
    first = outer.__code__.co_firstlineno
    assert [(entry.name, entry.lineno) for entry in summary] == [("outer", first + 2), ("inner", first + 5)]
    assert summary[1].colno is not None and summary[1].line == "return z / 0"
    locals_seen = []
    while found is not None:
        locals_seen.append(found.tb_frame.f_locals)
        found = found.tb_next
    assert {"x": 1, "y": 2}.items() <= locals_seen[-2].items() and locals_seen[-1] == {"z": 2}


def test_nothing_is_kept_alive_by_exceptions_that_were_handled() -> None:
    class Thing:
        pass

    watched = []

    def fail() -> None:
        thing = Thing()
        watched.append(weakref.ref(thing))
        raise ValueError(thing)

    def program() -> bool:
        try:
            fail()
        except ValueError:
            pass
        return watched[0]() is None

    gc.disable()
    try:
        loop, frame = frame_of(program)
        assert loop.run(frame)
    finally:
        gc.enable()


def test_the_two_packages_need_nothing_else() -> None:
    text = (
        "import sys\n"
        "from tapescope.engine.compile import bytecode\n"
        "before = set(sys.modules)\n"
        "from tapescope.engine.compile import interpreter\n"
        "new = {name for name in set(sys.modules) - before if name.startswith('tapescope')}\n"
        "assert all('.compile.interpreter' in name or '.compile.bytecode' in name for name in new), new\n"
        "assert not any(name.split('.')[0] == 'numpy' for name in set(sys.modules) - before)\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)
