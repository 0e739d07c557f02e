"""Formulas that are one node: the node's gradient is that of the formula, twice over, and transforms see the
operators."""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine.ops.composed import COMPOSED
from tapescope.engine.ops.loss import _of_logits

F = torch.nn.functional
LABELS = torch.tensor([1, 0, 3])
WEIGHT = torch.tensor([1.0, 2.0, 0.5, 0.0], dtype=torch.float64)


def t(*shape, low=-1.0, high=1.0, seed=0):
    g = torch.Generator().manual_seed(seed)
    return (torch.rand(*shape, generator=g, dtype=torch.float64) * (high - low) + low).requires_grad_()


def rows(seed=0, **k):
    return t(3, 4, seed=seed, **k)


SIGNS = torch.tensor([[1.0, -1.0, 1.0, -1.0]] * 3, dtype=torch.float64)
LISTS = torch.tensor([[1, 2, -1, 0], [3, -1, 1, 1], [-1, 0, 0, 0]])
SAMPLES = {
    "nll_loss": (lambda x, r: F.nll_loss(x, LABELS, WEIGHT, ignore_index=1, reduction=r), lambda: [rows()]),
    "nll_loss2d": (lambda x, r: F.nll_loss(x, torch.tensor([[1, 0, 3], [2, 2, 1]]), reduction=r), lambda: [t(2, 4, 3)]),
    "cross_entropy": (lambda x, r: _of_logits(x, LABELS, WEIGHT, x.detach(), 1, r), lambda: [rows()]),
    "mse_loss": (lambda a, b, r: F.mse_loss(a, b, reduction=r), lambda: [rows(), rows(1)]),
    "smooth_l1_loss": (lambda a, b, r: F.smooth_l1_loss(a, b, beta=0.4, reduction=r), lambda: [rows(), rows(1)]),
    "huber_loss": (lambda a, b, r: F.huber_loss(a, b, delta=0.4, reduction=r), lambda: [rows(), rows(1)]),
    "binary_cross_entropy": (
        lambda a, b, r: F.binary_cross_entropy(a, b, WEIGHT, reduction=r),
        lambda: [rows(low=0.1, high=0.9), rows(1, low=0.1, high=0.9)],
    ),
    "binary_cross_entropy_with_logits": (
        lambda a, b, r: F.binary_cross_entropy_with_logits(a, b, WEIGHT, pos_weight=WEIGHT + 1, reduction=r),
        lambda: [rows(), rows(1, low=0.1, high=0.9)],
    ),
    "soft_margin_loss": (lambda x, r: F.soft_margin_loss(x, SIGNS, reduction=r), lambda: [rows()]),
    "multi_margin_loss": (lambda x, r: F.multi_margin_loss(x, LABELS, 2, 0.7, WEIGHT, reduction=r), lambda: [rows()]),
    "multilabel_margin_loss": (lambda x, r: F.multilabel_margin_loss(x, LISTS, reduction=r), lambda: [rows()]),
    "vector_length": (lambda a, b, r: F.pairwise_distance(a, b, 3.0), lambda: [rows(), rows(1)]),
    "_weight_norm_interface": (lambda v, g, r: torch._weight_norm(v, g, 0), lambda: [rows(), rows(1)[:, :1]]),
    "glu": (lambda x, r: F.glu(x, 1), lambda: [rows()]),
}
REDUCED = ("loss", "entropy")


def cases():
    for name in SAMPLES:
        for reduction in ("mean", "sum", "none") if any(w in name for w in REDUCED) else ("",):
            yield pytest.param(name, reduction, id=f"{name}-{reduction}")


def test_every_loss_has_a_sample():
    assert {n for n in COMPOSED if any(w in n for w in REDUCED)} <= set(SAMPLES)


@pytest.mark.parametrize(("name", "reduction"), list(cases()))
def test_gradient(name, reduction):
    function, inputs = SAMPLES[name]
    given = inputs()

    def call(*args):
        return function(*args, reduction)

    assert torch.autograd.gradcheck(call, given)
    assert torch.autograd.gradgradcheck(call, given)
    out = call(*given)
    op = COMPOSED[name][0]
    tops = {out.grad_fn.name(), *(n.name() for n, _ in out.grad_fn.next_functions if n is not None)}
    assert any(top.startswith(op.node_name()[:-1]) for top in tops)  # the number is the overload's


@pytest.mark.parametrize("name", list(SAMPLES))
def test_vmap_sees_the_operators(name):
    function, inputs = SAMPLES[name]
    given = [x.detach() for x in inputs()]
    stacked = [torch.stack([x, x * 0.9]) for x in given]
    out = torch.func.vmap(lambda *a: function(*a, "mean"))(*stacked)
    for i in range(2):
        assert torch.allclose(out[i], function(*[s[i] for s in stacked], "mean"))
