"""Attention without its matrix of weights: values and gradients beside the CPU's formula, masks, and what memory it takes."""

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine.backends.base import backend as backend_of

attend = torch.nn.functional.scaled_dot_product_attention


@pytest.fixture(autouse=True)
def without_matrix(need_vulkan):
    need_vulkan()
    torch.manual_seed(0)
    attention = backend_of("webgpu").attention
    attention.always = True
    yield attention
    attention.always = False


def both(q, k, v, **options):
    here = [x.clone().requires_grad_() for x in (q, k, v)]
    there = [x.to("webgpu").requires_grad_() for x in (q, k, v)]
    moved = {n: x.to("webgpu") if isinstance(x, torch.Tensor) else x for n, x in options.items()}
    want, got = attend(*here, **options), attend(*there, **moved)
    np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().numpy(), rtol=1e-4, atol=1e-4)
    g = torch.randn(want.shape)
    want.backward(g)
    got.backward(g.to("webgpu"))
    for a, b in zip(here, there):
        np.testing.assert_allclose(b.grad.cpu().numpy(), a.grad.numpy(), rtol=1e-3, atol=1e-3)


def inputs(queries=17, keys=23, width=8):
    return torch.randn(2, 3, queries, width), torch.randn(2, 3, keys, width), torch.randn(2, 3, keys, width)


def nothing_in(row):
    mask = torch.rand(3, 17, 23) > 0.3
    mask[0, row] = False
    return mask


def numbers():
    mask = torch.randn(17, 23)
    mask[2] = float("-inf")
    mask[5, 3:] = float("-inf")
    return mask


@pytest.mark.parametrize(
    "options",
    [
        {}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": lambda: torch.rand(17, 23) > 0.4},
        {"attn_mask": lambda: torch.randn(2, 1, 17, 23)}, {"attn_mask": lambda: nothing_in(3)}, {"attn_mask": numbers},
    ],
    ids=["plain", "causal", "scale", "mask", "added", "a row of nothing", "minus infinity"],
)  # fmt: skip
def test_as_the_formula(options):
    both(*inputs(), **{n: v() if callable(v) else v for n, v in options.items()})


def test_large_scores_and_other_layouts():
    q, k, v = inputs()
    both(q * 6, k * 6, v * 10)
    both(q.transpose(1, 2).contiguous().transpose(1, 2), k, v, is_causal=True)
    both(*inputs(5, 5, 128))


def test_what_it_does_not_take(without_matrix):
    takes = without_matrix.takes
    q, k, v = (x.to("webgpu")._data for x in inputs())
    assert takes(q, k, v, None)
    assert not takes(*(x.to("webgpu")._data for x in inputs(width=6)), None)
    assert not takes(*(x.to("webgpu")._data for x in inputs(width=132)), None)
    assert not takes(*(x.half().to("webgpu")._data for x in inputs()), None)
    without_matrix.always = False
    assert not takes(q, k, v, None)
    large = torch.zeros(1, 1, 4200, 4, device="webgpu")._data
    assert takes(large, large, large, None)


def test_no_memory_of_queries_times_keys():
    q, k, v = (torch.randn(1, 1, 3000, 4).to("webgpu").requires_grad_() for _ in range(3))
    pool = backend_of("webgpu").device.pool
    pool.peak = before = pool.in_use
    attend(q, k, v, is_causal=True).sum().backward()
    assert pool.peak - before < 2 << 20  # the matrix would be 34 MiB


def test_second_derivatives_go_by_the_formula():
    q, k, v = (x.to("webgpu").requires_grad_() for x in inputs(4, 4, 4))
    (g,) = torch.autograd.grad(attend(q, k, v).sum(), q, create_graph=True)
    (g * g).sum().backward()
    assert q.grad is not None and q.grad.abs().sum().item() > 0
