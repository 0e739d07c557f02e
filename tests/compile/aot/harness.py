"""Running a function ahead of time and eagerly from the same state."""

from __future__ import annotations

from tapescope import engine as torch
from tapescope.engine.compile.aot import AotFunction
from tapescope.engine.compile.backends import lookup_backend
from tapescope.engine.compile.graph import Graph, GraphModule
from tapescope.engine.func.trees import flatten


def level1(function, inputs):
    """A level-1 graph whose one step is a call of `function`."""
    graph = Graph()
    places = [graph.placeholder(f"a{i}") for i in range(len(inputs))]
    graph.output(graph.call_function(function, tuple(places)))
    module = GraphModule(graph)
    module.meta["moves_gradients"] = True
    return module


def ahead(function, inputs, backend="aot_eager") -> AotFunction:
    return lookup_backend(backend)(level1(function, inputs), inputs)  # type: ignore[return-value]


def tensors(value):
    return [v for v in flatten(value)[0] if isinstance(v, torch.Tensor)]


def same(a, b, exact=False):
    """Whether two results are equal but for the last digits."""
    if isinstance(a, torch.Tensor):
        assert isinstance(b, torch.Tensor)
        assert a.shape == b.shape and a.dtype is b.dtype and a.device == b.device, (a.shape, b.shape, a.dtype, b.dtype)
        assert a.requires_grad == b.requires_grad
        if exact or not a.dtype.is_floating_point:
            assert torch.equal(a, b), f"{a} against {b}"
        else:
            tolerance = 2e-2 if a.dtype.itemsize == 2 else 1e-5
            assert torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True), f"{a} against {b}"
    else:
        assert type(a) is type(b) and a == b


def same_trees(a, b):
    (left, _), (right, _) = flatten(a), flatten(b)
    assert len(left) == len(right)
    for x, y in zip(left, right, strict=True):
        same(x, y)


def pull(results, inputs):
    """Gradients of the inputs, pulled back from all results with fixed weights."""
    outs = [o for o in tensors(results) if o.requires_grad]
    if not outs:
        return
    torch.autograd.backward(outs, [torch.linspace(0.5, 1.5, o.numel(), dtype=o.dtype).reshape(o.shape) for o in outs])
