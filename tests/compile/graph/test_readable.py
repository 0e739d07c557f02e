"""The readable graph of a small model, frozen as text (tests/golden/compile/mlp.txt), which is Python that runs."""

from __future__ import annotations

from pathlib import Path

from tapescope import engine as torch
from tapescope.engine.compile.aot import make_fx

GOLDEN = Path(__file__).parents[2] / "golden" / "compile" / "mlp.txt"
F = torch.nn.functional


def step(x, target, w1, b1, w2):
    hidden = F.linear(x, w1, b1).relu()
    hidden = F.dropout(hidden, 0.5)
    loss = F.cross_entropy(hidden @ w2, target)
    return loss, torch.autograd.grad(loss, (w1, b1, w2))


def inputs():
    torch.manual_seed(0)
    return (
        torch.randn(4, 3), torch.tensor([0, 1, 1, 0]), torch.randn(5, 3, requires_grad=True), torch.randn(5, requires_grad=True),
        torch.randn(5, 2, requires_grad=True),
    )  # fmt: skip


def test_readable_graph():
    module = make_fx(step, dynamic={0: [0], 1: [0]})(*inputs())
    assert module.code == GOLDEN.read_text()
    function = module.graph.python_code().function("<golden>")
    torch.manual_seed(1)
    got = function(module, *inputs())
    torch.manual_seed(1)
    wanted = step(*inputs())
    assert torch.allclose(got[0], wanted[0])
    assert all(torch.allclose(a, b) for a, b in zip(got[1], wanted[1], strict=True))


def test_other_sizes():
    """The graph's sizes are symbols: it runs for another batch, as long as the guards hold."""
    x, target, *params = inputs()
    module = make_fx(step, dynamic={0: [0], 1: [0]})(x, target, *params)
    env = module.meta["env"]
    assert env.guards == ["s0 >= 2", "s1 >= 2", "s1 == s0"]
    x, target = torch.randn(7, 3), torch.randint(2, (7,))
    assert env.checks({"s0": 7, "s1": 7}) and not env.checks({"s0": 7, "s1": 6})
    torch.manual_seed(1)
    got = module(x, target, *params)
    torch.manual_seed(1)
    assert torch.allclose(got[0], step(x, target, *params)[0])
