"""Random programs, eager against compiled."""

from __future__ import annotations

from hypothesis import given, seed, settings
from hypothesis import strategies as st

from .harness import STRICT, Program, run
from .random_programs import make


@seed(2)
@settings(max_examples=60, deadline=None, database=None)
@given(st.integers(0, 1_000_000))
def test_random_program(number: int) -> None:
    build, text = make(number)
    program = Program(build, (), None, everywhere=False, options={})
    before, STRICT.on = STRICT.on, True
    try:
        want = run(program, False)[0]
        got = run(program, True)[0]
    finally:
        STRICT.on = before
    for i, (w, g) in enumerate(zip(want, got, strict=True)):
        assert g == w, f"call {i} of program {number}:\n eager    {w}\n compiled {g}\n{text}"
