"""What holds in every test of compile: differentiating, splitting and lowering a graph fail for reasons that are written down, never by a slip.

A graph that cannot be compiled runs its operators instead, so that a mistake in there would show as nothing but slowness.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tapescope.engine.compile.aot import function

SLIPS = (TypeError, AttributeError, NameError, LookupError, AssertionError, ArithmeticError)


@pytest.fixture(autouse=True)
def ahead_of_time_without_slips(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    slips: list[str] = []
    build = function.build

    def watched(owner, given):
        try:
            return build(owner, given)
        except SLIPS as error:
            slips.append(f"{type(error).__name__}: {error}")
            raise

    monkeypatch.setattr(function, "build", watched)
    monkeypatch.setenv("TAPESCOPE_RAISE", "1")  # what lowering swallows else
    yield
    assert not slips, f"building fell back to the operators: {slips}"
