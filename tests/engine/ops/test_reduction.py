"""Reductions, scans and statistics against numpy, and gradients of those that stand on the tape as one node."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapescope import engine as torch

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@st.composite
def arrays(draw):
    """An array, some of its dimensions, and whether to keep them."""
    shape = draw(SHAPES)
    seed = draw(st.integers(0, 1000))
    x = np.random.default_rng(seed).normal(size=shape).round(1)
    dims = draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1, max_size=len(shape)))
    return x, tuple(dims), draw(st.booleans())


@settings(deadline=None, max_examples=60)
@given(arrays())
def test_against_numpy(drawn):
    x, dims, keep = drawn
    t = torch.from_numpy(x)
    for ours, theirs in (
        ("sum", np.sum),
        ("mean", np.mean),
        ("amax", np.max),
        ("amin", np.min),
        ("all", np.all),
        ("any", np.any),
    ):
        got = getattr(t, ours)(dim=dims, keepdim=keep).numpy()
        want = theirs(x, axis=dims, keepdims=keep)
        assert got.shape == want.shape and np.allclose(got, want), ours
    assert np.allclose(t.var(dims, correction=0, keepdim=keep).numpy(), np.var(x, axis=dims, keepdims=keep))
    assert np.allclose(t.logsumexp(dims, keep).numpy(), np.log(np.exp(x).sum(axis=dims, keepdims=keep)))
    assert t.count_nonzero(dims).numpy().tolist() == np.count_nonzero(x, axis=dims).tolist()


@settings(deadline=None, max_examples=60)
@given(arrays())
def test_along_one_dimension(drawn):
    x, (dim, *_), keep = drawn
    t = torch.from_numpy(x)
    assert t.argmax(dim, keep).numpy().tolist() == np.argmax(x, axis=dim, keepdims=keep).tolist()
    values, places = t.max(dim, keep)
    assert np.array_equal(values.numpy(), np.max(x, axis=dim, keepdims=keep))
    assert np.array_equal(places.numpy(), np.argmax(x, axis=dim, keepdims=keep))
    assert np.allclose(t.cumsum(dim).numpy(), np.cumsum(x, axis=dim)) and np.allclose(
        t.cumprod(dim).numpy(), np.cumprod(x, axis=dim)
    )
    assert np.array_equal(t.cummax(dim).values.numpy(), np.maximum.accumulate(x, axis=dim))
    assert np.allclose(t.cummin(dim).values.numpy(), t.gather(dim, t.cummin(dim).indices).numpy())
    assert np.allclose(t.diff(dim=dim).numpy(), np.diff(x, axis=dim))
    assert np.allclose(torch.trapezoid(t, dim=dim).numpy(), np.trapezoid(x, axis=dim))
    assert np.allclose(t.prod(dim, keep).numpy(), np.prod(x, axis=dim, keepdims=keep))


def test_numpy_names_of_arguments():
    x = torch.arange(6.0).reshape(2, 3)
    assert x.sum(axis=0, keepdims=True).shape == (1, 3) and x.max(axis=1).values.tolist() == [2, 5]
    assert x.std(axis=1, keepdims=True).shape == (2, 1) and x.cumsum(axis=1).tolist() == x.cumsum(1).tolist()
    assert torch.sort(x, axis=0).values.tolist() == x.tolist()
    with pytest.raises(TypeError):
        x.sum(axes=0)


def test_half_floats_are_summed_in_single_precision():
    x = torch.full((4000,), 0.1).half()
    assert x.sum().item() == np.float16(np.float32(np.float16(0.1)) * 4000)
    assert x.cumsum(0)[-1].item() == x.sum().item() and abs(x.mean().item() - 0.1) < 1e-3


def test_results_of_several_parts():
    x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    got = x.max(dim=1)
    assert got.values.tolist() == [3, 5] and got[1].tolist() == [0, 1] and isinstance(got, tuple)
    values, indices = x.sort(descending=True)
    assert values.tolist() == [[3, 1], [5, 2]] and indices.tolist() == [[0, 1], [1, 0]]
    assert repr(x.median(0)) == "torch.return_types.median(\nvalues=tensor([2., 1.]),\nindices=tensor([1, 0]))"
    again = pickle.loads(pickle.dumps(got))
    assert (
        type(again) is type(got)
        and again.values.tolist() == got.values.tolist()
        and type(got) is torch.return_types.max
    )
    out = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.max(x, 1, out=out)
    assert out[0].tolist() == [3, 5] and out[1].tolist() == [0, 1]


def test_degrees_of_freedom():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert torch.ones(1).std().isnan() and torch.ones(2).var(correction=3).isnan()
    assert len(said) == 2 and "degrees of freedom is <= 0" in str(said[0].message)


def leaf(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(*shape, dtype=torch.float64, generator=generator) + 0.1).requires_grad_()


X, C = leaf(3, 4), leaf(3, 4, seed=1).detach()
FORMULAS = {
    "var": lambda x: x.var(), "var of dims": lambda x: x.var((0, 1), correction=0.5), "std": lambda x: x.std(1, keepdim=True),
    "var_mean": lambda x: torch.var_mean(x, 0), "std_mean": lambda x: torch.std_mean(x), "logsumexp": lambda x: x.logsumexp((0, 1)),
    "nansum": lambda x: x.nansum(1), "nanmean": lambda x: x.nanmean(0), "max of a dim": lambda x: x.max(1).values, "max": lambda x: x.max(),
    "aminmax": lambda x: tuple(torch.aminmax(x, dim=0)), "median": lambda x: x.median(), "median of a dim": lambda x: x.median(1).values,
    "nanmedian": lambda x: x.nanmedian(0, True).values, "kthvalue": lambda x: x.kthvalue(2, 0).values, "mode": lambda x: x.mode(1).values,
    "quantile": lambda x: x.quantile(torch.tensor([0.2, 0.7], dtype=torch.float64), dim=1), "nanquantile": lambda x: x.nanquantile(0.4),
    "msort": lambda x: x.msort(), "cov": lambda x: x.cov(), "corrcoef": lambda x: x.corrcoef(), "dist": lambda x: x.dist(C, 3),
    "renorm": lambda x: x.renorm(2, 0, 0.7), "cdist 2": lambda x: torch.cdist(x, C[:2]),
    "cdist 1": lambda x: torch.cdist(x[None], C[:2], p=1.0), "diff": lambda x: x.diff(2, dim=1),
    "trapezoid": lambda x: torch.trapezoid(x, C.cumsum(1), dim=1), "cumulative_trapezoid": lambda x: torch.cumulative_trapezoid(x),
    "gradient": lambda x: torch.gradient(x, dim=1, edge_order=2), "gradient at places": lambda x: torch.gradient(
        x, spacing=(torch.tensor([0.0, 1.0, 3.0, 3.5], dtype=torch.float64),), dim=1),
    "prod": lambda x: x.prod(), "logcumsumexp": lambda x: x.logcumsumexp(1), "square": lambda x: x.square(),
    "mvlgamma": lambda x: (x + 2).mvlgamma(3),
    "isclose": lambda x: x * x.isclose(x).double(), "positive": lambda x: torch.positive(x), "float_power": lambda x: x.float_power(1.5),
    "log_ndtr": lambda x: torch.special.log_ndtr(x), "ndtr": lambda x: torch.special.ndtr(x), "div": lambda x: x.div(x + 1, rounding_mode=None),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients(name):
    assert torch.autograd.gradcheck(FORMULAS[name], [X])
    if name not in ("isclose", "positive"):
        assert torch.autograd.gradgradcheck(FORMULAS[name], [X])


def test_products_with_zeros_twice():
    x = torch.tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(x.prod(1).sum(), x)[0].tolist() == [[0, 6, 0], [0, 0, 0]]
    for function in (lambda t: t.prod(1), lambda t: t.cumprod(1), lambda t: t.prod()):
        assert torch.autograd.gradcheck(function, [x]) and torch.autograd.gradgradcheck(function, [x])


def test_running_logarithms_of_nothing():
    x = torch.tensor([-float("inf"), -float("inf"), 0.5, 1.0], requires_grad=True)
    out = x.logcumsumexp(0)
    out[2:].sum().backward()
    assert out[:2].tolist() == [-float("inf")] * 2 and x.grad[:2].tolist() == [0, 0]


def test_ties_share_the_gradient_of_a_whole_reduction_only():
    x = torch.tensor([3.0, 3.0, 1.0], requires_grad=True)
    assert torch.autograd.grad(x.max(), x)[0].tolist() == [0.5, 0.5, 0]
    assert torch.autograd.grad(x.amax(0), x)[0].tolist() == [0.5, 0.5, 0]
    assert torch.autograd.grad(x.max(0).values, x)[0].tolist() == [1, 0, 0]
    y = torch.tensor([float("nan"), 1.0, float("nan")], requires_grad=True)
    assert torch.autograd.grad(y.max(), y)[0].tolist() == [0.5, 0, 0.5]


def test_distances_take_no_more_memory_than_they_must(monkeypatch):
    from tapescope.engine.ops import pairs

    a, b = torch.rand(30, 5), torch.rand(20, 5)
    whole = torch.cdist(a, b, p=1.5)
    monkeypatch.setattr(pairs, "_AT_ONCE", 300)
    assert torch.allclose(torch.cdist(a, b, p=1.5), whole)
    assert torch.allclose(torch.cdist(a, b), torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist"), atol=1e-5)
