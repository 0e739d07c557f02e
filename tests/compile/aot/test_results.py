"""Results as the caller gets them: histories of what shares memory, writes to results, functions of the engine compiled themselves or replaced."""

from __future__ import annotations

from unittest import mock

import pytest

from tapescope import engine as torch

F = torch.nn.functional

BACKENDS = ("eager", "aot_eager", "tapescope")


@pytest.fixture(params=BACKENDS)
def compiled(request):
    return lambda f: torch.compile(f, backend=request.param)


def test_detached_before_its_source(compiled):
    w = torch.ones(3, requires_grad=True)

    def f(x):
        y = w * x
        return y.detach(), y, y.view(3, 1)

    z, y, v = compiled(f)(torch.ones(3))
    assert not z.requires_grad and y.requires_grad and v.requires_grad
    (y.sum() + v.sum()).backward()
    assert w.grad.tolist() == [2, 2, 2]


def test_leaf_made_inside(compiled):
    def f(x):
        x = x * 2
        x.requires_grad_()
        return x, x * 3

    x, y = compiled(f)(torch.ones(2))
    y.sum().backward()
    assert x.is_leaf and x.grad.tolist() == [3, 3]


def test_geometry_of_an_argument(compiled):
    def f(x):
        x.t_()
        x.unsqueeze_(0)
        return x * 2

    c = compiled(f)
    for _ in range(2):
        x = torch.ones(2, 3)
        assert c(x).shape == x.shape == (1, 3, 2)


def turned(x):
    y = x * 1
    y.transpose_(0, 1)
    return (y,)


def filled(x):
    y = torch.zeros(4)
    y[:2] = x[0]
    v = y.view(2, 2)
    v[1] = x[1]
    return v, y


def reshaped(x):
    return x.reshape(4), x.t().reshape(4), x.t().contiguous()


@pytest.mark.parametrize("function", [turned, filled, reshaped])
def test_results_written_by_the_caller(compiled, function):
    grads = []
    for f in (function, compiled(function)):
        w = torch.arange(4.0).view(2, 2).requires_grad_()
        results = f(w * 1)
        for t in results:
            t.mul_(2)
        sum((t * (i + 1)).sum() for i, t in enumerate(results)).backward()
        grads.append(w.grad.tolist())
    assert grads[0] == grads[1]


@pytest.mark.parametrize(
    "function", [lambda x: x.split(1), lambda x: x.unbind(), lambda x: x.chunk(2, 1), lambda x: ((x * 1).split(1)[0],)]
)
def test_several_views_are_not_written(compiled, function):
    w = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Output 0 of .* is a view and is being modified inplace"):
        compiled(function)(w * 1)[0].mul_(2)


def test_functions_of_the_engine_themselves(compiled):
    x, n = torch.rand(2, 3), torch.rand(3)
    for f in (torch.remainder, torch.special.chebyshev_polynomial_t, torch.special.legendre_polynomial_p):
        c = compiled(f)
        assert torch.allclose(c(x, n), f(x, n)) and c.__name__ == f.__name__
    scores, classes = torch.randn(4, 3, requires_grad=True), torch.tensor([0, 1, -100, 2])
    compiled(F.nll_loss)(scores, classes).backward()
    got, scores.grad = scores.grad, None
    F.nll_loss(scores, classes).backward()
    assert torch.allclose(got, scores.grad)


def test_replaced_functions(compiled):
    c = compiled(lambda x: F.relu(x) + torch.sin(x))
    x = torch.zeros(1)
    assert c(x).item() == 0
    with mock.patch.object(F, "relu", lambda x: x + 100):
        assert c(x).item() == 100
        with mock.patch.object(torch, "sin", torch.cos):
            assert c(x).item() == 101
    assert c(x).item() == 0
