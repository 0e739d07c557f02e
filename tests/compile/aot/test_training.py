"""Whole training steps as one graph: forward, backward, optimizer and what it keeps, against eager step by step."""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.aot import AotFunction
from tapescope.engine.compile.graph import Graph, GraphModule, effects

from .harness import ahead, same

F = torch.nn.functional


def parameters():
    torch.manual_seed(0)
    shapes = [(6, 4), (6,), (3, 6), (3,)]
    return [torch.randn(*s).requires_grad_() for s in shapes]


def data():
    torch.manual_seed(1)
    return torch.randn(5, 4), torch.randint(3, (5,))


def loss_of(x, y, w1, b1, w2, b2):
    h = F.dropout(F.linear(x, w1, b1).relu(), 0.25)
    return F.cross_entropy(F.linear(h, w2, b2), y)


def sgd(x, y, *rest):
    params, momenta = rest[:4], rest[4:]
    for p in params:
        p.grad = None
    loss = loss_of(x, y, *params)
    loss.backward()
    with torch.no_grad():
        for p, m in zip(params, momenta, strict=True):
            m.mul_(0.9).add_(p.grad)
            p.add_(p.grad.add(m, alpha=0.9), alpha=-0.1)
    return loss


def adam(x, y, *rest):
    """Adam with bias corrections as Python numbers of a step counter, as `torch.optim.Adam` has it."""
    params, means, squares, steps = rest[:4], rest[4:8], rest[8:12], rest[12:]
    loss = loss_of(x, y, *params)
    loss.backward()
    with torch.no_grad():
        for p, m, v, s in zip(params, means, squares, steps, strict=True):
            s += 1
            p.mul_(1 - 0.1 * 0.01)
            m.lerp_(p.grad, 0.1)
            v.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
            p.sub_(m / (v.sqrt() + 1e-8) * 0.1)
    for p in params:
        p.grad = None
    return loss.detach()


def accumulate(x, y, *params):
    """Gradients add up over two calls of backward, and stay."""
    (loss_of(x, y, *params) * 0.5).backward()
    (loss_of(x.flip(0), y.flip(0), *params) * 0.5).backward()


def state_of(step, params):
    if step is sgd:
        return [torch.zeros(p.shape) for p in params]
    if step is adam:
        return [*[torch.zeros(p.shape) for p in params * 2], *[torch.zeros(()) for _ in params]]
    return []


@pytest.mark.parametrize("step", [sgd, adam, accumulate])
def test_step(step):
    x, y = data()
    ours, theirs = parameters(), parameters()
    our_state, their_state = state_of(step, ours), state_of(step, theirs)
    compiled = ahead(step, [x, y, *ours, *our_state])
    for i in range(4):
        torch.manual_seed(i)
        got = compiled(x, y, *ours, *our_state)
        torch.manual_seed(i)
        wanted = step(x, y, *theirs, *their_state)
        assert compiled.reason is None
        if wanted is not None:
            same(got, wanted)
        for a, b in zip([*ours, *our_state], [*theirs, *their_state], strict=True):
            same(a, b)
            assert (a.grad is None) == (b.grad is None)
            if a.grad is not None:
                same(a.grad, b.grad)
    assert len(compiled.variants) == (2 if step is not adam else 1)


def test_step_is_one_functional_graph():
    x, y = data()
    params = parameters()
    inputs = [x, y, *params, *state_of(adam, params)]
    compiled = ahead(adam, inputs)
    compiled(*inputs)
    (variant,) = compiled.variants.values()
    graph = variant.forward_graph.graph
    assert variant.backward_graph is None
    assert not any(n.name.endswith("_") for n in graph)
    assert len(variant.mutated) == 4 * 4
    assert [n.name for n in graph if n.meta.get("random")] == ["draw"]


def test_number_of_a_tensor_stays_a_number_of_the_graph():
    """`step.item()` in an optimizer: the number is read when the graph runs, and formulas of it are arguments."""
    graph = Graph()
    p, g, step = (graph.placeholder(n) for n in ("p", "g", "step"))
    graph.call_method("add_", (step, 1))
    t = graph.call_method("item", (step,))
    import operator

    power = graph.call_function(operator.pow, (0.9, t))
    correction = graph.call_function(operator.sub, (1, power))
    scale = graph.call_function(operator.truediv, (-0.1, correction))
    graph.call_function(effects.set_grad_enabled, (False,))
    graph.call_method("add_", (p, g), {"alpha": scale})
    graph.call_function(effects.set_grad_enabled, (True,))
    graph.output(())
    module = GraphModule(graph)
    ours = [torch.ones(3).requires_grad_(), torch.arange(3.0), torch.zeros(())]
    theirs = [t.clone().detach() for t in ours]
    compiled = AotFunction(module, ours, lambda gm, specs: gm.forward)
    for n in range(1, 4):
        compiled(*ours)
        assert compiled.reason is None
        theirs[0].add_(theirs[1], alpha=-0.1 / (1 - 0.9**n))
        assert torch.equal(ours[0].detach(), theirs[0])
        assert ours[2].item() == n
    (variant,) = compiled.variants.values()
    assert "item" in variant.forward_graph.code and "(0.9 ** item)" in variant.forward_graph.code


def test_hidden_gradients_are_inputs():
    """A gradient that is there before the step is added to in place, as eagerly."""
    w = torch.ones(3).requires_grad_()
    w.grad = kept = torch.full((3,), 2.0)

    def step(w):
        (w * w).sum().backward()

    compiled = ahead(step, [w])
    compiled(w)
    assert compiled.reason is None
    assert w.grad is kept and w.grad.tolist() == [4.0, 4.0, 4.0]


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adamax", "Adadelta", "ASGD"]
)
def test_optimizers_of_the_engine(name):
    """The optimizer's own code runs on fakes: its counters are numbers of the graph, its state is written in place."""
    options = {"SGD": {"momentum": 0.9, "nesterov": True}, "Adam": {"amsgrad": True, "weight_decay": 0.01}}.get(
        name, {}
    )
    x, y = data()

    def made():
        params = parameters()
        optimizer = getattr(torch.optim, name)(params, lr=0.01, **options)
        for p in params:
            p.grad = torch.ones_like(p)
        optimizer.step()  # makes the state
        optimizer.zero_grad()
        state = [v for p in params for v in optimizer.state[p].values() if isinstance(v, torch.Tensor)]
        return params, state, optimizer

    ours, our_state, _ = made()
    theirs, their_state, eager = made()
    _, _, template = made()

    def step(x, y, *rest):
        params, values = list(rest[:4]), iter(rest[4:])
        for old, p in zip(template.param_groups[0]["params"], params, strict=True):
            template.state[p] = {
                k: next(values) if isinstance(v, torch.Tensor) else v for k, v in template.state.pop(old).items()
            }
        template.param_groups[0]["params"] = params
        loss = loss_of(x, y, *params)
        loss.backward()
        template.step()
        template.zero_grad()
        return loss

    compiled = ahead(step, [x, y, *ours, *our_state])
    for i in range(3):
        torch.manual_seed(i)
        got = compiled(x, y, *ours, *our_state)
        torch.manual_seed(i)
        wanted = loss_of(x, y, *theirs)
        wanted.backward()
        eager.step()
        eager.zero_grad()
        if name in ("RAdam", "ASGD"):  # decide by the counter
            assert compiled.reason is not None
            return
        assert compiled.reason is None
        same(got.detach(), wanted.detach())
        for a, b in zip([*ours, *our_state], [*theirs, *their_state], strict=True):
            same(a, b)
