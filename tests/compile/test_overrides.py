"""Compiled code beside `__torch_function__`: fronts of functions do not show, modes and tensor classes are asked as in eager."""

from __future__ import annotations

from tapescope import engine as torch
from tapescope.engine.overrides import TorchFunctionMode, install

F = torch.nn.functional


def step(x, w):
    y = torch.relu(x @ w)
    return F.linear(F.gelu(y.sum(dim=-1) + x.shape[0]), w).mean()


def test_fronts_are_not_looked_into():
    """Trap: after the first tensor class of the user every function is another object, and every call a graph break."""
    install()
    x, w = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
    story = torch.compiler.explain(step)(x, w)
    assert not story.breaks and len(story.graphs) == 1
    assert "torch.nn.functional.gelu(" in story.graphs[0].code
    assert torch.allclose(torch.compile(step, fullgraph=True)(x, w), step(x, w))
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    assert torch.allclose(torch.compile(model, fullgraph=True)(x), model(x))


def test_a_mode_sees_every_function_of_compiled_code():
    """Trap: code compiled before a mode was entered runs past the mode."""
    seen = []

    class Count(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    compiled = torch.compile(step)
    x, w = torch.randn(4, 4), torch.randn(4, 4)
    want = compiled(x, w)
    with Count():
        got = compiled(x, w)
    assert "gelu" in seen and torch.allclose(got, want)
    seen.clear()
    assert torch.allclose(compiled(x, w), want) and not seen


def test_a_tensor_class_is_asked():
    """Trap: the class's own function is skipped because the operator went into the graph."""
    seen = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.randn(4, 4).as_subclass(Logged)
    compiled = torch.compile(lambda a: torch.relu(a) * 2)
    for _ in range(2):
        seen.clear()
        out = compiled(x)
        assert "relu" in seen and "mul" in seen and type(out) is Logged
