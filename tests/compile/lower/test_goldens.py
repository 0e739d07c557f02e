"""The generated C, WGSL and numpy of five programs, and the loop-level form they are printed from.

`TAPESCOPE_UPDATE_GOLDENS=1 pytest tests/compile/lower/test_goldens.py` writes the files anew; read the difference before it is committed.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from tapescope.engine.compile.aot.trace import make_fx
from tapescope.engine.compile.lower.backend import Choices, lower
from tapescope.engine.compile.lower.loops.form import python
from tapescope.engine.compile.lower.print_c.functions import HEADER
from tapescope.engine.compile.lower.simplify.translate import translate

from .programs import PROGRAMS

FOLDER = Path(__file__).parent / "goldens"


def compare(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("TAPESCOPE_UPDATE_GOLDENS"):
        path.write_text(text)
    assert path.read_text() == text, f"{name} has changed"


def segment(name, printer, device="cpu"):
    function, inputs = PROGRAMS[name]
    args = [t.detach().to(device).requires_grad_(t.requires_grad) for t in inputs()]
    return lower(translate(make_fx(function)(*args)), Choices(printer=printer))


@pytest.mark.parametrize("name", PROGRAMS)
def test_c(name, need):
    need("cc")
    compare(f"{name}.c", segment(name, "c").file.text.removeprefix(HEADER).lstrip())


@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_and_the_loop_form(name):
    made = segment(name, "numpy")
    forms = "\n".join(python(s.kernel) for s in made.assembly.steps if s.kernel is not None)
    ast.parse(forms)
    compare(f"{name}.py.txt", "\n".join(made.texts.values()) + "\n# The loop-level form:\n\n" + forms)


@pytest.mark.parametrize("name", PROGRAMS)
def test_wgsl(name, need_vulkan):
    need_vulkan()
    made = segment(name, "wgsl", "webgpu")
    texts = [p.shader.source for p in made.printed.values()]
    compare(f"{name}.wgsl", "\n".join(t[t.index("@group") :] for t in texts))
