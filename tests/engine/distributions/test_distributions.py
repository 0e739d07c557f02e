"""Every distribution answers as PyTorch's: shapes, moments, densities, samples of a seed, gradients, divergences, refusals."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import pytest
from golden import distribution_case as case

from tapescope import engine as torch

GOLDEN = Path(__file__).parents[2] / "golden" / "distributions"


def load(name):
    return json.loads((GOLDEN / name).read_text())


CASES, PAIRS, TRANSFORMS = load("cases.json"), load("divergences.json"), load("transforms.json")
REFUSED, CONSTRAINTS = load("refused.json"), load("constraints.json")

ON_PURPOSE = {
    ("D.Kumaraswamy(t(.5, 2., 3.), t(.7, 2., 5.))", "mode"),  # NaN there for every parameter
    # There, a bare number is compared in single precision with parameters in double.
    *(("D.GeneralizedPareto(t(0., 1., 2.), t(1., 2., 3.), t(0., .3, -.4))", part) for part in ("log_prob", "log_prob grads", "cdf",
      "grown log_prob")),
    # A matrix that is positive definite is drawn again there, with a warning, as if it were singular.
    *((w, part) for w in CASES if w.startswith("D.Wishart") for part in ("sample", "another", "rsample grads", "grown sample",
      "log_prob", "log_prob grads", "grown log_prob")),
}  # fmt: skip
"""Where PyTorch's answer is a mistake of its own."""

BY_APPROXIMATION = (
    "D.Gamma",
    "D.Beta",
    "D.Dirichlet",
    "D.Chi2",
    "D.Fisher",
    "D.StudentT",
    "D.InverseGamma",
    "D.VonMises",
)
"""Families whose pathwise gradients or Bessel functions PyTorch approximates; here they are exact."""


def close(got, want, tolerance, where):
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), (where, got, want)
        for g, w in zip(got, want, strict=True):
            close(g, w, tolerance, where)
    elif isinstance(want, float) and isinstance(got, int | float) and not isinstance(got, bool):
        same = math.isnan(want) and math.isnan(got)
        assert same or math.isclose(got, want, rel_tol=tolerance, abs_tol=tolerance * 0.1), (where, got, want)
    else:
        assert got == want, (where, got, want)


@pytest.mark.parametrize("expression", CASES)
def test_distribution(expression):
    want = CASES[expression]
    got = case.distribution(torch, expression)
    assert got.keys() == want.keys()
    for part in want:
        if (expression, part) not in ON_PURPOSE:
            loose = expression.startswith(BY_APPROXIMATION) and ("grads" in part or "Von" in expression)
            close(got[part], want[part], 2e-3 if loose else 2e-6, part)


@pytest.mark.parametrize("expression", load("drawn.json"))
def test_samples_in_single_precision(expression):
    close(case.drawn(torch, expression), load("drawn.json")[expression], 2e-4, expression)


@pytest.mark.parametrize("pair", PAIRS)
def test_divergence(pair):
    t = case.Leaves(torch)
    value = case.evaluate(torch, f"D.kl_divergence({pair})", t)
    close([case.plain(value), case.tried(lambda: t.grads(value))], PAIRS[pair], 1e-5, pair)


@pytest.mark.parametrize("expression, at", case.TRANSFORMS)
def test_transform(expression, at):
    got, want = case.transform(torch, expression, at), TRANSFORMS[f"{expression} at {at}"]
    for part in want:
        close(got[part], want[part], 2e-6, part)


@pytest.mark.parametrize("expression", REFUSED)
def test_refusal(expression):
    assert case.tried(lambda: case.evaluate(torch, expression)) == REFUSED[expression]


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint(name):
    assert repr(getattr(torch.distributions.constraints, name)) == CONSTRAINTS[name]


def test_modules_of_single_distributions():
    import importlib

    base = torch.distributions.__name__
    assert importlib.import_module(f"{base}.normal").Normal is torch.distributions.Normal
    assert importlib.import_module(f"{base}.relaxed_bernoulli").LogitRelaxedBernoulli
    assert torch.distributions.utils.broadcast_all(1.0, torch.zeros(2))[0].shape == (2,)


def test_entropy_of_a_family_from_its_normaliser():
    d = torch.distributions.Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0]))
    base = torch.distributions.ExponentialFamily.entropy(d) + 0.5 * math.log(2 * math.pi) - 0.5 * math.log(2 * math.pi)
    assert torch.allclose(base, d.entropy())


def test_a_policy_gradient_step():
    torch.manual_seed(0)
    logits = torch.zeros(3, requires_grad=True)
    d = torch.distributions.Categorical(logits=logits)
    action = d.sample()
    (-d.log_prob(action) * 2.0).backward()
    assert logits.grad is not None
    want = torch.full((3,), 2 / 3)
    want[action] -= 2
    assert torch.allclose(logits.grad, want)


def test_registry_takes_new_pairs():
    D = torch.distributions

    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Poisson)
    def formula(p, q):
        return p.loc * 0 + 7

    assert float(D.kl_divergence(Mine(0.0, 1.0), D.Poisson(1.0))) == 7
    assert torch.allclose(D.kl_divergence(Mine(0.0, 1.0), D.Normal(1.0, 1.0)), torch.tensor(0.5))


def test_ambiguous_pairs_warn():
    D = torch.distributions

    class Left(D.Laplace):
        pass

    class Right(D.Laplace):
        pass

    D.register_kl(Left, D.Laplace)(lambda p, q: p.loc)
    D.register_kl(D.Laplace, Right)(lambda p, q: q.loc)
    with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
        D.kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0))


def test_validation_can_be_turned_off():
    D = torch.distributions
    assert float(D.Normal(0.0, -1.0, validate_args=False).scale) == -1
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        D.Normal(0.0, -1.0)


def test_cached_transforms_give_back_what_they_took():
    f = torch.distributions.TanhTransform(cache_size=1)
    x = torch.tensor([30.0])
    assert f.inv(f(x)) is x
    assert f.inv.inv is f


def test_sample_n_is_deprecated():
    with pytest.warns(FutureWarning):
        assert torch.distributions.Normal(0.0, 1.0).sample_n(3).shape == (3,)


def test_wishart_samples_have_the_mean():
    torch.manual_seed(0)
    d = torch.distributions.Wishart(torch.tensor(5.0), torch.tensor([[2.0, 0.5], [0.5, 1.0]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample = d.sample((4000,))
    assert torch.allclose(sample.mean(0), d.mean, rtol=0.05, atol=0.05)
