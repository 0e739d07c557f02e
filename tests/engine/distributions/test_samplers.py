"""Samplers by rejection: PyTorch's numbers for a seed, and pathwise gradients that are derivatives of quantiles."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from golden import distribution_case as case

from tapescope import engine as torch
from tapescope.engine.numerics import gamma, pathwise

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "distributions" / "samplers.json").read_text())


@pytest.mark.parametrize("expression", GOLDEN)
def test_the_stream_is_pytorchs(expression):
    for got, want in zip(case.sampler(torch, expression), GOLDEN[expression], strict=True):
        np.testing.assert_allclose(got, want, rtol=3e-6)


def test_a_generator_of_its_own():
    g = torch.Generator().manual_seed(5)
    a = torch.poisson(torch.full((4,), 12.0), generator=g)
    g.manual_seed(5)
    assert torch.equal(a, torch.poisson(torch.full((4,), 12.0), generator=g))


@pytest.mark.parametrize("alpha", [0.02, 0.3, 1.0, 2.5, 40.0, 3000.0])
def test_gamma_gradient_keeps_the_probability(alpha):
    a = np.full(9, alpha)
    x = alpha + np.sqrt(alpha) * np.linspace(-2, 3, 9)
    x = np.where(x > 0, x, alpha * np.linspace(1e-4, 1, 9))
    h = alpha * 1e-5
    moved = (gamma.gammainc(a + h, x) - gamma.gammainc(a - h, x)) / (2 * h)
    density = np.exp((a - 1) * np.log(x) - x - gamma.lgamma(a))
    np.testing.assert_allclose(pathwise.gamma_grad(a, x), -moved / density, rtol=2e-6)


@pytest.mark.parametrize("alpha, beta", [(0.1, 0.2), (2.0, 5.0), (30.0, 0.4), (0.3, 9.0), (200.0, 300.0)])
def test_beta_gradient_keeps_the_probability(alpha, beta):
    x = np.linspace(0.02, 0.98, 13)
    h = alpha * 1e-4
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def cdf(a):
        # t = x s^k takes the singularity at 0 away
        k = max(1.0, 4.0 / a)
        s = (nodes + 1) / 2
        t = x[:, None] * s**k
        log = (a - 1) * np.log(t) + (beta - 1) * np.log1p(-t) + np.log(k) + (k - 1) * np.log(s) + np.log(x[:, None])
        log = log + gamma.lgamma(np.array([a + beta])) - gamma.lgamma(np.array([a])) - gamma.lgamma(np.array([beta]))
        return np.exp(log) @ (weights / 2)

    density = np.exp(
        (alpha - 1) * np.log(x) + (beta - 1) * np.log1p(-x)
        + gamma.lgamma(np.array([alpha + beta])) - gamma.lgamma(np.array([alpha])) - gamma.lgamma(np.array([beta]))
    )  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):  # where the density underflows
        want = -(cdf(alpha + h) - cdf(alpha - h)) / (2 * h) / density / (1 - x)
    got = pathwise.dirichlet_grad(x, np.full_like(x, alpha), np.full_like(x, alpha + beta))
    usable = np.isfinite(want) & (density > 1e-3) & (density < 1e3)
    assert usable.any()
    np.testing.assert_allclose(got[usable], want[usable], rtol=1e-4, atol=1e-9)


def test_ends_of_the_support():
    assert pathwise.gamma_grad(np.array([2.0]), np.array([0.0])) == 0
    x = torch.tensor([1e-300, 0.5, 1.0], dtype=torch.float64)
    moved = torch._dirichlet_grad(x, torch.ones(3, dtype=torch.float64), torch.full((3,), 2.0, dtype=torch.float64))
    assert moved[:2].isfinite().all()


@pytest.mark.parametrize(
    "draw, words",
    [
        (lambda: torch.poisson(torch.tensor([-1.0])), "invalid Poisson rate, expected rate to be non-negative"),
        (lambda: torch.poisson(torch.tensor([1])), "\"poisson_cpu\" not implemented for 'Long'"),
        (lambda: torch._standard_gamma(torch.tensor([1])), "\"gamma_cpu\" not implemented for 'Long'"),
        (lambda: torch._standard_gamma(torch.ones(1).half()), "\"gamma_cpu\" not implemented for 'Half'"),
        (lambda: torch._sample_dirichlet(torch.tensor([1])), "\"dirichlet\" not implemented for 'Long'"),
        (
            lambda: torch.binomial(torch.tensor([1]), torch.tensor([0.5])),
            "binomial only supports floating-point dtypes for count, got: Long",
        ),
        (
            lambda: torch.binomial(torch.tensor([1.0]), torch.tensor([0.5], dtype=torch.float64)),
            "Found dtype Double but expected Float",
        ),
    ],
)
def test_refusals(draw, words):
    with pytest.raises((RuntimeError, NotImplementedError, ValueError), match=words):
        draw()


def test_poisson_has_a_gradient_of_zero():
    rate = torch.tensor([2.0, 30.0], requires_grad=True)
    torch.poisson(rate).sum().backward()
    assert rate.grad is not None and rate.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "draw, mean, variance",
    [
        (lambda n: torch._standard_gamma(torch.full((n,), 0.4)), 0.4, 0.4),
        (lambda n: torch.poisson(torch.full((n,), 17.0)), 17.0, 17.0),
        (lambda n: torch.binomial(torch.full((n,), 90.0), torch.full((n,), 0.3)), 27.0, 18.9),
    ],
)
def test_moments(draw, mean, variance):
    torch.manual_seed(11)
    sample = draw(20000)
    assert abs(float(sample.mean()) - mean) < 5 * (variance / 20000) ** 0.5
    assert abs(float(sample.var()) / variance - 1) < 0.1
