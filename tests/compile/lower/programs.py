"""Programs whose generated code is kept in `goldens/`: a change of this file's lines changes the comments there."""

from __future__ import annotations

from tapescope import engine as torch

F = torch.nn.functional


def softmax(x):
    scaled = x * 0.5
    return F.softmax(scaled, dim=-1)


def layer_norm(x, weight, bias, g):
    y = F.layer_norm(x, (64,), weight, bias)
    return torch.autograd.grad(y, (x, weight, bias), g)


def gelu_chain(x, w, b):
    z = x * w + b
    gate = torch.sigmoid(x)
    return F.gelu(z, approximate="tanh") * gate


def linear_relu(x, weight, bias):
    return F.relu(F.linear(x, weight, bias)).sum(0)


def adam(p, g, m, v):
    m.lerp_(g, 0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    p.addcdiv_(m, v.sqrt().add_(1e-8), value=-0.001)


def leaf(*shape):
    return torch.zeros(*shape).requires_grad_()


PROGRAMS = {
    "softmax": (softmax, lambda: [torch.zeros(32, 100)]),
    "layer_norm": (layer_norm, lambda: [leaf(48, 64), leaf(64), leaf(64), torch.zeros(48, 64)]),
    "gelu_chain": (gelu_chain, lambda: [torch.zeros(64, 96), torch.zeros(96), torch.zeros(96)]),
    "linear_relu": (linear_relu, lambda: [torch.zeros(24, 16), torch.zeros(8, 16), torch.zeros(8)]),
    "adam": (adam, lambda: [torch.zeros(40, 30) for _ in range(4)]),
}
