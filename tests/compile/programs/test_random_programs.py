"""Random programs, eager against compiled: by replay, ahead of time, and as NumPy programs."""

from __future__ import annotations

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from .harness import STRICT, Numbers, Program, run
from .random_programs import make

FORMS = {"replay": ("", "", 0.0, 60), "aot_eager": ("aot_eager", "", 1e-6, 25), "numpy": ("", "numpy", 1e-5, 25)}
"""Backend, printer, how far floating point numbers may be apart as a part of the largest, and how many programs."""


@pytest.mark.parametrize("form", FORMS)
def test_random_program(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, printer, tolerance, examples = FORMS[form]
    monkeypatch.setattr(Numbers, "tolerance", tolerance)
    monkeypatch.setattr(STRICT, "on", True)

    @seed(2)
    @settings(max_examples=examples, deadline=None, database=None)
    @given(st.integers(0, 1_000_000))
    def hold(number: int) -> None:
        build, text = make(number)
        program = Program(build, (), None, everywhere=False, options={})
        want = run(program, False)[0]
        got = run(program, True, backend, printer)[0]
        for i, (w, g) in enumerate(zip(want, got, strict=True)):
            assert g == w, f"call {i} of program {number}:\n eager    {w}\n compiled {g}\n{text}"

    hold()
