"""Every form that a graph goes through is told as Python text with shapes, and every pass tells what it did."""

from __future__ import annotations

import ast
import re

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.lower.forms import PASSES, pass_of
from tapescope.engine.compile.lower.simplify.decompose import DECOMPOSITIONS
from tapescope.engine.compile.lower.simplify.views import VIEWS

from ..aot.programs import PROGRAMS as MANY
from .programs import PROGRAMS

F = torch.nn.functional
ORDER = ["captured", "primitives", "partition", "values", "steps", "loops", "kernels"]


def told(function, args):
    return torch.compiler.explain(torch.compile(function))(*args)


def check(explained):
    """That all forms are there, in order, as valid Python with shapes in comments."""
    forms = explained.forms
    at = [ORDER.index(f["form"]) for f in forms]
    assert at[0] == 0 and at.count(1) == 1 and set(at) >= {2, 3, 4}
    for part in ("forward", "backward"):
        places = [ORDER.index(f["form"]) for f in forms if f["part"] == part and f["form"] != "partition"]
        assert places == sorted(places)
    for f in forms:
        assert f["text"].strip() or f["form"] == "loops", f["form"]
        if f["language"] in ("python", "numpy"):
            ast.parse(f["text"])
        if f["form"] in ("primitives", "values", "loops") and f["text"].count("\n") > 2:
            assert re.search(r"# .*[fiub]\w+\[", f["text"]), f"no shapes in {f['form']}:\n{f['text']}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_forms_in_c(name, need, monkeypatch):
    need("cc")
    monkeypatch.setenv("TAPESCOPE_CFLAGS", "-O0")
    function, inputs = PROGRAMS[name]
    check(told(function, inputs()))


@pytest.mark.parametrize("name", MANY)
def test_forms_in_numpy(name, monkeypatch):
    monkeypatch.setenv("TAPESCOPE_CC", "")
    function, makers, *rest = MANY[name]
    inputs = [m() for m in makers]
    if rest:
        inputs += rest[0]()
        function = function()
    explained = told(function, inputs)
    if explained.graph_count == 1 and len(explained.entries[0].compiled.variants) == 1:
        check(explained)
    for f in explained.forms:
        if f["language"] in ("python", "numpy"):
            ast.parse(f["text"])


def test_forms_with_symbolic_sizes(monkeypatch):
    monkeypatch.setenv("TAPESCOPE_CC", "")
    x = torch.randn(6, 8)
    torch._dynamo.mark_dynamic(x, 0)
    explained = told(lambda x: F.softmax(x.reshape(-1, 4), -1).sum(0), [x])
    check(explained)
    assert any("s0" in f["text"] for f in explained.forms if f["form"] == "values")


def test_passes_are_told_by_their_tables():
    def f(x, w):
        y = (x.exp() * 1 + x.exp() * 1) @ w.t()
        return F.gelu(y).sum()

    x, w = torch.randn(8, 16, requires_grad=True), torch.randn(4, 16, requires_grad=True)
    explained = told(f, [x, w])
    passes = explained.segments[0]["kernels"]["passes"]
    done = {(p["pass"], p["name"]): p["rewrites"] for p in passes}
    assert all(n > 0 for n in done.values())
    assert done["primitives", "common subexpressions"] >= 1
    assert done["partition", "computed again"] >= 1 and done["partition", "saved"] >= 1
    assert done["decompositions", "mm"] >= 3 and done["views", "t"] >= 1
    assert done["algebra", "times or divided by one"] >= 1
    for stage, name in done:
        table = {"decompositions": DECOMPOSITIONS, "views": VIEWS, **PASSES}.get(stage)
        assert table is None or name in table
        assert stage != "rewrites", f"{name} is in no table"
    assert pass_of("test of a maximum") == "algebra in kernels" and pass_of("one of no table") == "rewrites"
    text = str(explained)
    assert "algebra: times or divided by one" in text and "partition: " in text


def test_the_partition_gives_its_reasons():
    explained = told(lambda x, w: F.gelu(x @ w).sum(), [torch.randn(4, 4, requires_grad=True) for _ in range(2)])
    (backward,) = [f["text"] for f in explained.forms if f["form"] == "partition" and f["part"] == "backward"]
    assert "# mm: save, 64 bytes: products and convolutions are too dear to be computed twice" in backward
