"""Gradients in one launch: the numbers of the formulas, fewer launches, and the formulas where a second derivative is wanted."""

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine.observe import bus

F = torch.nn.functional
W = torch.linspace(0.5, 1.5, 12)
FUNCTIONS = {
    "gelu": (F.gelu, 1),
    "gelu by tanh": (lambda x: F.gelu(x, approximate="tanh"), 1),
    "silu": (F.silu, 1),
    "relu": (F.relu, 1),
    "tanh": (torch.tanh, 1),
    "sigmoid": (torch.sigmoid, 1),
    "softmax": (lambda x: F.softmax(x, 1), 1),
    "log_softmax": (lambda x: F.log_softmax(x, 0), 1),
    "layer norm": (lambda x: F.layer_norm(x, (12,), W.to(x.device), W.to(x.device)), 8),
    "layer norm without weight": (lambda x: F.layer_norm(x, (12,)), 6),
    "group norm": (lambda x: F.group_norm(x, 3, W.to(x.device)), 8),
    "batch norm": (lambda x: F.batch_norm(x, None, None, W.to(x.device), training=True), 8),
}


@pytest.fixture(autouse=True)
def device(need_vulkan):
    need_vulkan()
    torch.manual_seed(0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_numbers_of_the_formula(name):
    function, most = FUNCTIONS[name]
    x, g = torch.randn(9, 12) * 2, torch.randn(9, 12)
    a, b = x.clone().requires_grad_(), x.to("webgpu").requires_grad_()
    function(a).backward(g)
    made, there = function(b), g.to("webgpu")
    told = []
    stop = bus.subscribe(told.append, ["launch"])
    (got,) = torch.autograd.grad(made, b, there, retain_graph=True)
    stop()
    assert len(told) <= most, [r.name for r in told]
    np.testing.assert_allclose(got.cpu().numpy(), a.grad.numpy(), rtol=1e-4, atol=1e-5)
    (slow,) = torch.autograd.grad(made, b, there, create_graph=True)
    np.testing.assert_allclose(slow.detach().cpu().numpy(), a.grad.numpy(), rtol=1e-4, atol=1e-5)
    assert slow.requires_grad or name == "relu"  # whose slope is constant


def test_parameters_of_a_norm_in_half_precision_go_by_the_formula():
    x = torch.randn(4, 8).half().to("webgpu").requires_grad_()
    F.layer_norm(x, (8,)).sum().backward()
    assert x.grad.dtype is torch.float16
