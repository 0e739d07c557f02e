"""The programs and primitives of ahead-of-time tests with generated kernels: results, gradients, writes, random numbers, aliasing."""

from __future__ import annotations

import functools

import pytest

from tapescope.engine.compile.lower.backend import Unlowered
from tapescope.engine.compile.lower.cache.compiler import find
from tapescope.engine.ops.table import OPS

from ..aot import harness, test_operators, test_programs
from ..aot.programs import PROGRAMS


@pytest.fixture(autouse=True, params=["c", "numpy"])
def generated(monkeypatch, need, request):
    """`ahead` compiles with the backend under test; what it could not lower is remembered."""
    if request.param == "numpy":
        monkeypatch.setenv("TAPESCOPE_CC", "")
    else:
        need("cc")
        monkeypatch.setenv("TAPESCOPE_CFLAGS", "-O1")  # quick to compile
    assert (find() is None) == (request.param == "numpy")
    made = []

    def ahead(function, inputs, backend="tapescope"):
        out = harness.ahead(function, inputs, backend)
        made.append(out)
        return out

    monkeypatch.setattr(test_programs, "ahead", ahead)
    monkeypatch.setattr(test_operators, "ahead", ahead)
    yield
    for function in made:
        for variant in function.variants.values():
            if variant is not None:
                for part in variant.parts():
                    assert not isinstance(part, Unlowered), part.reason


@functools.cache
def programs():
    return list(PROGRAMS)


@pytest.mark.parametrize("name", programs())
def test_program(name):
    test_programs.test_program(name)


@pytest.mark.parametrize("name", test_operators.cases())
def test_primitive(name, request):
    if "c-" in request.node.name and OPS[name].kind == "pointwise" and sum(map(ord, name)) % 4:
        pytest.skip("a quarter of the pointwise ones will do for the compiler")
    test_operators.test_primitive(name)
