"""What the tape outside of a compiled graph sees of it is what it would see of the operators."""

from __future__ import annotations

import contextlib
import io

import pytest

from tapescope import engine as torch

from . import pass_programs, twice_programs  # noqa: F401  (they register their programs)
from .tape_programs import PROGRAMS, leaf


def plain(value):
    """Values as plain data."""
    if isinstance(value, torch.Tensor):
        return ["tensor", value.dtype.name, list(value.shape), value.requires_grad, value.detach().tolist()]
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def near(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-9 * max(1.0, abs(a))
    return type(a) is type(b) and a == b


def outcome(function, compiled):
    torch.compiler.reset()
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            return plain(function(compiled))
        except Exception as error:  # errors are compared too
            return ["raised", type(error).__name__, str(error)[:100]]


CASES = [(name, "aot_eager") for name in PROGRAMS] + [(name, "tapescope") for name in list(PROGRAMS)[::3]]


@pytest.mark.parametrize(("name", "backend"), CASES)
def test_program(name, backend):
    want = outcome(PROGRAMS[name], lambda f: f)
    assert not isinstance(want, list) or want[:1] != ["raised"], f"the program itself fails: {want}"
    got = outcome(PROGRAMS[name], lambda f: torch.compile(f, backend=backend))
    assert near(want, got), f"eager {want}\ncompiled {got}"


def test_running_again_refuses_inputs_that_were_written_to():
    x = leaf(3)
    y = torch.compile(lambda x: x.exp().sum(), backend="aot_eager")(x)
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="written to since"):
        torch.autograd.grad(y, x, create_graph=True)


def test_no_cycle_keeps_what_is_saved():
    """What a call keeps goes when its results go, without the collector."""
    import gc
    import weakref

    def function(x):
        h = x.exp()
        return h, (h * h).sum()

    compiled = torch.compile(function, backend="aot_eager")
    gc.collect()
    gc.disable()
    try:
        h, loss = compiled(leaf(3))
        call = weakref.ref(h.grad_fn.call)
        del h, loss
        assert call() is None
    finally:
        gc.enable()


def test_values_are_freed_by_the_pass():
    x = leaf(3)
    h, loss = torch.compile(lambda x: (x.exp(), x.sin().sum()), backend="aot_eager")(x)
    call = h.grad_fn.call
    loss.backward()
    assert call.saved is not None  # the other result's are there still
    h.sum().backward()
    assert call.saved is None
