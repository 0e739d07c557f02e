"""The compiled function on the tape: saved values, versions, histories of written inputs, and what is refused."""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.aot import AotFunction
from tapescope.engine.compile.graph import Graph, GraphModule, effects

from .harness import ahead


def test_node_on_the_tape():
    x = torch.randn(3, requires_grad=True)
    y = ahead(lambda x: x.exp(), [x])(x)
    assert y.grad_fn.name() == "CompiledFunctionBackward" and y.grad_fn.next_functions[0][0].variable is x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_retain_graph():
    x = torch.randn(3, requires_grad=True)
    y = ahead(lambda x: x.exp(), [x])(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert torch.allclose(x.grad, 2 * x.detach().exp())


def test_double_backward_runs_the_operators():
    x, w = (
        torch.randn(3, dtype=torch.float64, requires_grad=True),
        torch.randn(3, dtype=torch.float64, requires_grad=True),
    )

    def function(x, w):
        return (x.exp() * w).sum(), (x * w).tanh()

    results = []
    for f in (ahead(function, [x, w]), function):
        a, b = f(x, w)
        first = torch.autograd.grad(a.square() + b.sum(), (x, w), create_graph=True)
        results.append([*first, *torch.autograd.grad(sum(g.square().sum() for g in first), (x, w))])
    assert all(torch.allclose(p, q) for p, q in zip(*results, strict=True))
    assert torch.autograd.gradgradcheck(ahead(function, [x, w]), (x, w))


def test_double_backward_is_refused_with_a_sentence():
    x = torch.randn(3, requires_grad=True)

    def function(y):
        y.mul_(2)
        return y.exp()

    y = ahead(function, [x * 1])(x * 1)
    with pytest.raises(RuntimeError, match="create_graph"):
        torch.autograd.grad(y.sum(), x, create_graph=True)


def test_changed_input_is_an_error():
    x, w = torch.randn(3), torch.randn(3, requires_grad=True)
    y = ahead(lambda x, w: x * w, [x, w])(x, w)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_changed_result_is_an_error_where_eager_saves_it():
    """`relu` keeps its result; the partition may not, but the user's mistake is the same."""
    x = torch.randn(3, requires_grad=True)
    y = ahead(lambda x: x.relu(), [x])(x)
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_mistake_inside_is_eagers_error():
    x = torch.randn(3, requires_grad=True)

    def wrong(x):
        y = x.exp()
        z = y * 2
        y.add_(1)
        (z.sum() + y.sum()).backward()

    compiled = ahead(wrong, [x])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        compiled(x)
    assert compiled.reason is not None and "inplace" in compiled.reason


def test_written_input_gets_the_history():
    leaf = torch.randn(4, requires_grad=True)
    x = leaf * 1

    def write(x):
        x.mul_(3)

    compiled = ahead(write, [x])
    compiled(x)
    assert compiled.reason is None
    x.sum().backward()
    assert leaf.grad.tolist() == [3.0] * 4


def test_view_of_an_input_keeps_its_base():
    leaf = torch.randn(2, 3, requires_grad=True)
    x = leaf * 1
    v = ahead(lambda x: x[1], [x])(x)
    assert v._base is x
    v.mul_(2)
    x.sum().backward()
    assert leaf.grad.tolist() == [[1.0] * 3, [2.0] * 3]


def test_results_of_shared_memory_stay_shared():
    x = torch.ones(2, 2)
    a, b = ahead(lambda x: (lambda y: (y, y[0]))(x + 1), [x])(x)
    b.add_(5)
    assert a.tolist() == [[7.0, 7.0], [2.0, 2.0]]


def test_inputs_of_shared_memory():
    x = torch.ones(4)

    def write(a, b):
        a.add_(1)
        return b * 2

    compiled = ahead(write, [x, torch.ones(4)])
    assert compiled(x, torch.ones(4)).tolist() == [2.0] * 4
    assert compiled(x, x).tolist() == [6.0] * 4


def test_gradient_modes_are_variants():
    x = torch.ones(2, requires_grad=True)
    compiled = ahead(lambda x: x * 2, [x])
    assert compiled(x).requires_grad
    with torch.no_grad():
        assert not compiled(x).requires_grad
    assert not compiled(x.detach()).requires_grad
    assert len(compiled.variants) == 3


def test_unsupported_runs_operator_by_operator():
    x = torch.tensor([1.0, 0.0, 2.0])
    compiled = ahead(lambda x: x[x > 0], [x])
    assert compiled(x).tolist() == [1.0, 2.0]
    assert compiled.reason is not None and "nonzero" in compiled.reason


def test_saved_tensors_hooks_see_what_is_saved():
    x = torch.randn(3, requires_grad=True)
    compiled = ahead(lambda x: x.exp(), [x])
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t):
        y = compiled(x)
    y.sum().backward()
    assert seen


def test_hooks_of_leaves_run_inside_and_outside():
    seen = []

    def made():
        w = torch.ones(2, requires_grad=True)
        w.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
        return w

    w = made()
    ahead(lambda w: (w * 3).sum(), [w])(w).backward()
    assert seen == [[3.0, 3.0]] and w.grad.tolist() == [6.0, 6.0]
    w = made()
    compiled = ahead(lambda w: (w * 3).sum().backward(), [w])
    compiled(w)
    assert seen == [[3.0, 3.0]] * 2 and w.grad.tolist() == [6.0, 6.0]
    assert compiled.reason is not None and "hook" in compiled.reason


def test_plain_inputs_are_part_of_the_code():
    x = torch.ones(2)
    compiled = ahead(lambda x, n, kind: x * n if kind == "times" else x + n, [x, 2, "times"])
    assert compiled(x, 2, "times").tolist() == [2.0, 2.0]
    assert compiled(x, 3, "times").tolist() == [3.0, 3.0]
    assert compiled(x, 3, "plus").tolist() == [4.0, 4.0]


def test_generators_are_inputs():
    generators = [torch.Generator().manual_seed(s) for s in (1, 2)]
    x = torch.ones(3)
    compiled = ahead(lambda x, g: x + torch.rand(3, generator=g), [x, generators[0]])
    for s, generator in zip((1, 2), generators, strict=True):
        wanted = x + torch.rand(3, generator=torch.Generator().manual_seed(s))
        assert torch.equal(compiled(x, generator), wanted)
    assert compiled.reason is None and len(compiled.variants) == 1


def test_errors_are_those_of_the_operators():
    """A kernel of the graph refuses: the operators run again from the start, and tell it, with what they had done by then."""

    def function(x, i):
        x.add_(1)
        noise = torch.rand(2)
        return torch.nn.functional.embedding(i, x) + noise

    x = torch.zeros(3, 2)
    compiled = ahead(function, [x, torch.tensor([0])])
    compiled(x, torch.tensor([0]))
    torch.manual_seed(0)
    with pytest.raises(IndexError, match="index out of range in self"):
        compiled(x, torch.tensor([9]))
    assert x.tolist() == [[2.0, 2.0]] * 3
    drawn = torch.rand(1)
    torch.manual_seed(0)
    torch.rand(2)
    assert torch.equal(torch.rand(1), drawn)


def test_transforms_see_the_operators():
    x = torch.arange(6.0).reshape(2, 3)
    compiled = ahead(lambda x: (x * x).sum(), [x[0]])
    assert compiled(x[0]).item() == 5.0
    assert torch.func.vmap(compiled)(x).tolist() == [5.0, 50.0]
    assert torch.func.grad(compiled)(x[1]).tolist() == [6.0, 8.0, 10.0]


def test_tracing_is_silent():
    from tapescope.engine.observe import bus

    heard = []
    unsubscribe = bus.subscribe(heard.append, ["op"])
    try:
        x = torch.ones(2, requires_grad=True)
        compiled = ahead(lambda x: x.exp(), [x])
        compiled(x)
    finally:
        unsubscribe()
    assert [r.op for r in heard] == ["exp"]


def test_gradient_mode_that_the_graph_leaves():
    graph = Graph()
    x = graph.placeholder("x")
    graph.call_function(effects.set_grad_enabled, (False,))
    y = graph.call_function(torch.exp, (x,))
    graph.output((y,))
    x = torch.ones(2, requires_grad=True)
    compiled = AotFunction(GraphModule(graph), [x], lambda gm, specs: gm.forward)
    try:
        (y,) = compiled(x)
        assert compiled.reason is None
        assert not y.requires_grad and not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_gradient_mode_switched_on_inside():
    graph = Graph()
    x = graph.placeholder("x")
    graph.call_function(effects.set_grad_enabled, (True,))
    graph.output((graph.call_function(torch.exp, (x,)),))
    x = torch.ones(2, requires_grad=True)
    compiled = AotFunction(GraphModule(graph), [x], lambda gm, specs: gm.forward)
    with torch.no_grad():
        (y,) = compiled(x)
        assert torch.is_grad_enabled()
    y.sum().backward()
    assert torch.allclose(x.grad, x.detach().exp())
