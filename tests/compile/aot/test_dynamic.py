"""Symbolic sizes ahead of time: one compiled form serves all batches, forward and backward, with views and random draws."""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.aot import AotFunction
from tapescope.engine.compile.fake import ShapeEnv, fake_like

from .harness import level1, pull, same, same_trees

F = torch.nn.functional


def dynamic(function, inputs, dims):
    """Compiled with the sizes `dims[i]` of input i symbolic; equal names are one symbol."""
    env, symbols = ShapeEnv(), {}
    examples = []
    for i, t in enumerate(inputs):
        sizes = {}
        for d, name in dims.get(i, {}).items():
            if name not in symbols:
                symbols[name] = env.size(t.shape[d], (i, d))
            sizes[d] = symbols[name]
        examples.append(fake_like(t, sizes))
    return AotFunction(level1(function, inputs), examples, lambda gm, specs: gm.forward), env


def classify(x, y, w, b):
    h = F.dropout(F.linear(x, w, b).relu(), 0.5)
    return F.cross_entropy(h / h.shape[0], y), h[1:], x.shape[0] * 2


def normalise(x, w):
    n, length, d = x.shape
    y = F.layer_norm(x @ w, (d,)).view(n * length, d)
    mask = torch.arange(length).unsqueeze(0) < torch.arange(1, n + 1).unsqueeze(1)
    return y.view(n, length, d) * mask.unsqueeze(-1), torch.cat([x, x], 1).mean(1), y.new_zeros(n, 2)


def update(x, buffer):
    buffer.mul_(0.9).add_(x.mean(0), alpha=0.1)
    x[:, 0] = buffer[0]
    return x[-1], x


CASES = {
    "classify": (
        classify, {0: {0: "n"}, 1: {0: "n"}},
        lambda n: [torch.randn(n, 3), torch.randint(4, (n,)), torch.randn(4, 3).requires_grad_(), torch.randn(4).requires_grad_()],
    ),
    "normalise": (
        normalise, {0: {0: "n", 1: "t"}}, lambda n: [torch.randn(n, n + 2, 4).requires_grad_(), torch.randn(4, 4).requires_grad_()],
    ),
    "update": (update, {0: {0: "n"}}, lambda n: [torch.randn(n, 3), torch.zeros(3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_form_for_all_sizes(name):
    function, dims, make = CASES[name]
    torch.manual_seed(0)
    compiled, env = dynamic(function, make(5), dims)
    for n in (5, 2, 9):
        torch.manual_seed(n)
        ours = make(n)
        theirs = [t.detach().clone().requires_grad_(t.requires_grad) for t in ours]
        torch.manual_seed(n)
        got = compiled(*ours)
        assert compiled.reason is None
        pull(got, ours)
        torch.manual_seed(n)
        wanted = function(*theirs)
        pull(wanted, theirs)
        same_trees(got, wanted)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
            assert (a.grad is None) == (b.grad is None)
            if a.grad is not None:
                same(a.grad, b.grad)
    assert len(compiled.variants) == 1
    assert all(" == " not in g for g in env.guards), env.guards
