"""Inputs written by kernels that read them, and results whose dimensions lie in another order: both printers of the CPU, against eager."""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.lower.backend import Choices, backend_with

from ..aot.harness import level1, tensors
from ..aot.test_fuzz import program, shares, steps
from .harness import PRINTERS


@pytest.fixture(autouse=True, params=PRINTERS)
def printer(request, need):
    if request.param == "c":
        need("cc")
    return request.param


def agrees(function, inputs, others, printer):
    """Results, written inputs, memory order and aliasing of a compiled function are eager's."""
    compiled = backend_with(Choices(printer=printer))(level1(function, inputs), inputs)
    got, wanted = compiled(*inputs), function(*others)
    assert not compiled.reasons()
    ours, theirs = [*inputs, *tensors(got)], [*others, *tensors(wanted)]
    for a, b in zip(ours, theirs, strict=True):
        assert a.requires_grad == b.requires_grad
        assert torch.allclose(a.detach(), b.detach(), rtol=1e-4, atol=1e-5, equal_nan=True), f"{a} against {b}"
        assert steps(a) == steps(b)
    for i in range(len(ours)):
        for j in range(i):
            assert shares(ours[i], ours[j]) == shares(theirs[i], theirs[j])


def rows(x, z):
    y = x[:, None] * z
    x.add_(1)
    return y


def softmax(x, z):
    y = z.softmax(-1)
    z[0] = 3.0
    return y


def softmax_and_more(x, z):
    y, w = z.softmax(-1), z * 2
    z.copy_(y)
    return y, w


def totals(x, z):
    s = z.sum(-1)
    y = x * s
    x.copy_(s)
    return y


def maximum(x, z):
    m = z.amax(-1)
    z.add_(1)
    return m


def exchanged(x, z):
    a = x.clone()
    x.copy_(z[:, 0])
    z[:, 0] = a
    return x * 1


def before_and_after(x, z):
    old = z.clone()
    z.masked_fill_(z > 1, 0.5)
    return old, torch.cat([z, z])


def centred(x, z):
    m = z.mean(-1, keepdim=True)
    v = ((z - m) ** 2).mean(-1, keepdim=True)
    y = (z - m) / (v + 1).sqrt()
    z.sub_(m)
    return y, v


@pytest.mark.parametrize("size", [(3, 4), (8, 8), (1, 5), (64, 200)])
@pytest.mark.parametrize(
    "function", [rows, softmax, softmax_and_more, totals, maximum, exchanged, before_and_after, centred]
)
def test_readers_come_before_writes(function, size, printer):
    n, m = size

    def made():
        return [torch.linspace(0, 1, n), torch.linspace(-1, 2, n * m).reshape(n, m)]

    agrees(function, made(), made(), printer)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.cat([x.t(), x.t()]),
        lambda x: torch.cat([x.t(), x.t()]).exp(),
        lambda x: x.t().cumsum(0),
        lambda x: (x.t() + 1, x.t().softmax(-1)),
    ],
)
def test_order_of_dimensions(function, printer):
    inputs, others = ([torch.linspace(-1, 2, 12).reshape(3, 4)] for _ in range(2))
    agrees(function, inputs, others, printer)


@pytest.mark.parametrize("seed", [25, 27, 56, 65, 185, 422, 467, 502, 541, 631, 635, 1041, 1061])
def test_random_programs(seed, printer):
    """Those of the random programs of views and writes that once went wrong."""
    differentiable = seed % 3 != 0

    def made():
        generator = torch.Generator().manual_seed(seed)
        return [
            torch.randn(4, 3, generator=generator).requires_grad_(differentiable),
            torch.randn(3, 4, generator=generator),
        ]

    agrees(program(seed, differentiable), made(), made(), printer)
