"""Losses of classes: sums, means and gradients by few launches, against the formulas on the CPU."""

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine.observe import bus
from tapescope.engine.ops import loss as losses

F = torch.nn.functional


@pytest.fixture(autouse=True)
def device(need_vulkan, rows):
    torch.manual_seed(0)


@pytest.fixture(params=["separate", "at once"])
def way(request, monkeypatch):
    """The two steps with the logarithms in memory, and the loss without."""
    if request.param == "at once":
        monkeypatch.setattr(losses, "LARGE", 1)
    return request.param


def both(shape, classes, turn=None, weight=None, ignored=0, **options):
    """Losses and gradients on CPU and device."""
    x = torch.randn(*shape) * 3
    target = torch.randint(0, classes, (shape[0], *shape[2:]))
    if ignored:
        target.reshape(-1)[:ignored] = options.get("ignore_index", -100)
    out = []
    for where in ("cpu", "webgpu"):
        leaf = x.clone().to(where).requires_grad_()
        given = leaf if turn is None else turn(leaf)
        w = None if weight is None else weight.to(where)
        loss = F.cross_entropy(given, target.to(where), w, **options)
        (g,) = torch.autograd.grad((loss * loss).sum(), leaf)
        out.append((loss.detach().cpu().numpy(), g.cpu().numpy()))
    return out


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (70, 12), (33, 65), (5, 6, 9), (4, 8, 3, 5), (2, 5000), (9000, 4)])
def test_shapes_and_reductions(way, shape, reduction):
    weight = torch.linspace(0.5, 2.0, shape[1])
    for options in (
        {},
        {"weight": weight},
        {"weight": weight, "ignored": 2, "ignore_index": 0},
        {"label_smoothing": 0.2},
    ):
        if shape[0] == 1 and "ignored" in options:
            continue
        (want, slope), (got, steep) = both(shape, shape[1], reduction=reduction, **options)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)
        np.testing.assert_allclose(steep, slope, rtol=2e-4, atol=1e-5 * max(1.0, np.abs(slope).max()))


def test_strided_logits_and_targets(way):
    """Classes in another place of memory, rows with gaps, space that cannot be walked as one dimension."""
    for turn, shape in (
        (lambda x: x[:, 1:6], (8, 9)),
        (lambda x: x[::2].transpose(1, 2).contiguous().transpose(1, 2), (8, 5, 6)),
        (lambda x: x[..., ::2], (3, 5, 4, 6)),
        (lambda x: x.transpose(2, 3), (3, 5, 4, 6)),
    ):
        x = torch.randn(*shape)
        seen = turn(x)
        target = torch.randint(0, seen.shape[1], (2 * seen.shape[0], *seen.shape[2:]))
        made = []
        for where in ("cpu", "webgpu"):
            leaf = x.clone().to(where).requires_grad_()
            loss = F.cross_entropy(turn(leaf), target.to(where)[::2])
            loss.backward()
            made.append((loss.item(), leaf.grad.cpu().numpy()))
        assert made[1][0] == pytest.approx(made[0][0], rel=1e-5)
        np.testing.assert_allclose(made[1][1], made[0][1], rtol=1e-4, atol=1e-6)


def test_few_launches(way):
    x, y = torch.randn(32, 10).to("webgpu").requires_grad_(), torch.randint(0, 10, (32,)).to("webgpu")
    told = []
    stop = bus.subscribe(told.append, ["launch"])
    loss = F.cross_entropy(x, y)
    forward = len(told)
    loss.backward()
    stop()
    assert forward == 2 and len(told) <= 8, [r.name for r in told]


def test_second_derivatives_go_by_the_formula(way):
    x = torch.randn(4, 6)
    made = []
    for where in ("cpu", "webgpu"):
        leaf = x.clone().to(where).requires_grad_()
        loss = F.cross_entropy(leaf, torch.tensor([1, 5, 0, 2]).to(where))
        (g,) = torch.autograd.grad(loss, leaf, create_graph=True)
        (g * g).sum().backward()
        made.append(leaf.grad.cpu().numpy())
    np.testing.assert_allclose(made[1], made[0], rtol=1e-4, atol=1e-6)


def test_a_loss_may_be_changed_before_its_gradient_is_taken(way):
    x = torch.randn(4, 6).to("webgpu").requires_grad_()
    loss = F.cross_entropy(x, torch.tensor([1, 5, 0, 2]).to("webgpu"))
    loss /= 4
    loss.backward()
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision(way, kind):
    x, y = torch.randn(16, 11), torch.randint(0, 11, (16,))
    a = x.clone().requires_grad_()
    F.cross_entropy(a, y).backward()
    b = x.to(getattr(torch, kind)).to("webgpu").requires_grad_()
    loss = F.cross_entropy(b, y.to("webgpu"))
    loss.backward()
    assert loss.dtype is b.dtype and b.grad.dtype is b.dtype
    np.testing.assert_allclose(b.grad.float().cpu().numpy(), a.grad.numpy(), atol=2e-3)


def test_a_class_out_of_range(way):
    x, y = torch.randn(4, 6).to("webgpu"), torch.tensor([0, 6, 1, 2])
    for target in (y.to("webgpu"), y.to("webgpu") + 0):
        with pytest.raises(IndexError, match=r"Target 6 is out of bounds"):
            F.cross_entropy(x, target).item()


def test_infinite_and_undefined_logits(way):
    x = torch.randn(5, 6)
    x[0, 1], x[1, 2], x[2, 3] = float("inf"), float("nan"), -float("inf")
    y = torch.tensor([0, 1, 2, 3, 4])
    with np.errstate(invalid="ignore"):
        want = [F.cross_entropy(x[i : i + 1], y[i : i + 1]).item() for i in range(5)]
    got = [F.cross_entropy(x.to("webgpu")[i : i + 1], y.to("webgpu")[i : i + 1]).item() for i in range(5)]
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_all_ignored_is_undefined_as_a_mean_and_zero_as_a_sum(way):
    x, y = torch.randn(5, 6).to("webgpu").requires_grad_(), torch.full((5,), -100).to("webgpu")
    assert np.isnan(F.cross_entropy(x, y).item())
    total = F.cross_entropy(x, y, reduction="sum")
    assert total.item() == 0
    total.backward()
    assert not x.grad.any()
