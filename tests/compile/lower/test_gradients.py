"""Finite differences in double precision through compiled forward and backward passes."""

from __future__ import annotations

import pytest

from tapescope import engine as torch

from ..aot.harness import ahead
from .harness import PRINTERS

F = torch.nn.functional


def leaf(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()


PROGRAMS = {
    "softmax": (lambda x: F.softmax(x, -1), [leaf(3, 4)]),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (5,), w, b), [leaf(3, 5), leaf(5, seed=1), leaf(5, seed=2)]),
    "attention": (
        lambda q, k, v: F.softmax(q @ k.transpose(-1, -2) * 0.5, -1) @ v,
        [leaf(2, 3, 4), leaf(2, 3, 4, seed=1), leaf(2, 3, 4, seed=2)],
    ),
    "cross entropy": (lambda x: F.cross_entropy(x, torch.tensor([1, 0, 3])), [leaf(3, 4)]),
    "gelu": (lambda x, w: F.gelu(x * w).sum(0), [leaf(4, 3), leaf(3, seed=1)]),
    "batch norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        [leaf(3, 2, 2, 2), leaf(2, seed=1), leaf(2, seed=2)],
    ),
    "embedding": (lambda t: F.embedding(torch.tensor([0, 2, 2, 1]), t) ** 2, [leaf(3, 4)]),
    "split": (lambda x: (lambda a, b, c: a * b.tanh() - c)(*x.reshape(2, 3, 2).unbind(1)), [leaf(2, 6)]),
}


@pytest.mark.parametrize("printer", PRINTERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name, printer, need, monkeypatch):
    if printer == "c":
        need("cc")
    else:
        monkeypatch.setenv("TAPESCOPE_CC", "")
    function, inputs = PROGRAMS[name]
    compiled = ahead(function, inputs, "tapescope")
    assert torch.autograd.gradcheck(compiled, inputs)
    assert compiled.reason is None and not compiled.reasons()
    parts = compiled.segments()
    assert len(parts) >= 2, "forward and backward are generated code"
    for part in parts:
        assert any(s.kind == "kernel" for s in part.assembly.steps) or name == "embedding"
    if name in ("softmax", "gelu"):  # gradients of gradients run the operators again
        assert torch.autograd.gradgradcheck(compiled, inputs)
