"""`torch.compile(check=True)`: eager beside every call, on every backend."""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.backends import lookup_backend
from tapescope.engine.compile.checking import Mismatch

F = torch.nn.functional


def step(net, optimizer):
    def train(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return train


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "tapescope", lambda gm, inputs: gm.forward])
def test_what_is_right_passes(backend):
    """Training with dropout and running statistics, a write to an input, views, hooks: as without the check."""
    outcomes = []
    for compiled in (lambda f: f, lambda f: torch.compile(f, backend=backend, check=True)):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3)
        )
        train = compiled(step(net, torch.optim.SGD(net.parameters(), 0.1)))
        losses = [train(torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])).item() for _ in range(4)]

        def write(x, w):
            x.mul_(2)
            return x.t(), (x * w).sum()

        x, w = torch.ones(2, 3), torch.rand(3, requires_grad=True)
        view, total = compiled(write)(x, w)
        w.register_hook(lambda g: g * 2)
        total.backward()
        outcomes.append((losses, [p.tolist() for p in net.parameters()], x.tolist(), view.tolist(), w.grad.tolist()))
    for p, q in zip(*outcomes, strict=True):
        same(p, q)


def same(a, b):
    if isinstance(a, list):
        assert len(a) == len(b)
        for p, q in zip(a, b, strict=True):
            same(p, q)
    else:
        assert a == pytest.approx(b, abs=1e-5)


def spoiled(spoil):
    """A backend whose graphs give what `spoil(graph, inputs)` does."""

    def backend(gm, inputs):
        return lambda *given: spoil(gm, given)

    return backend


def test_a_wrong_result_names_its_line():
    f = torch.compile(lambda x: x.sin() * 2, backend=spoiled(lambda gm, given: (gm(*given)[0] + 1e-3,)), check=True)
    with pytest.raises(
        Mismatch, match=r"result 0 \(from .*test_check.py:\d+\) is .* away from eager's, .* 2e-05 of that is allowed"
    ):
        f(torch.ones(3))


def test_wrong_facts():
    cases = {
        "eager's is": lambda gm, given: (gm(*given)[0].double(),),
        "requires a gradient": lambda gm, given: (gm(*given)[0].detach(),),
        "goes back to input 0": lambda gm, given: (gm(*given)[0].detach() + (given[0] - given[0].detach()) * 3,),
        "input 1 is": lambda gm, given: (given[1].add_(1), gm(*given))[1],
        "other random numbers": lambda gm, given: (torch.rand(1), gm(*given))[1],
        "other infinities or NaN": lambda gm, given: (gm(*given)[0] / 0,),
    }
    for words, spoil in cases.items():
        torch.compiler.reset()
        f = torch.compile(lambda x, y: x * 2 + 1 + y * 0, backend=spoiled(spoil), check=True)
        with pytest.raises(Mismatch, match=words):
            f(torch.ones(3, requires_grad=True), torch.ones(3))


def test_set_gradients_are_compared():
    def backend(gm, inputs):
        def run(*given):
            out = gm(*given)
            given[0].grad.mul_(1.5)
            return out

        return run

    def f(w):
        loss = (w * w).sum()
        loss.backward()
        return loss

    with pytest.raises(Mismatch, match="the gradient of input 0"):
        torch.compile(f, backend=backend, check=True)(torch.ones(3, requires_grad=True))


def test_the_same_bits_are_asked_of_the_same_kernels():
    """One unit in the last place is nothing to a fused kernel, and too much for a backend that runs eager's kernels."""
    from tapescope.engine.compile.checking import checked

    def near(gm, inputs):
        return lambda *given: (gm(*given)[0] * (1 + 2e-7),)

    assert torch.compile(lambda x: x.exp(), backend=checked(near, False))(torch.ones(3)).shape == (3,)
    torch.compiler.reset()
    with pytest.raises(Mismatch, match="although nothing was reordered"):
        torch.compile(lambda x: x.exp(), backend=checked(near, True))(torch.ones(3))


def test_kernels_without_reordering_have_the_same_bits():
    from tapescope.engine.compile.aot.trace import make_fx
    from tapescope.engine.compile.lower.replay.check import exact_results

    gm = make_fx(lambda x: ((x * 2 - 1).relu().t(), x.sum(), x.exp() + 1))(torch.randn(3, 4))
    assert exact_results(gm.graph) == [True, False, False]


def test_a_wrong_kernel_is_not_run_over_by_operators(monkeypatch):
    """What a compiled graph raises is run again by operators; a mismatch comes out."""
    from tapescope.engine.compile.lower.replay.check import Checked

    def wrong(self, made, wanted):
        raise Mismatch("found")

    monkeypatch.setattr(Checked, "compare", wrong)
    with pytest.raises(Mismatch, match="found"):
        torch.compile(lambda x: x.exp(), check=True)(torch.ones(3))


def test_errors_of_the_program_come_out_as_they_are():
    f = torch.compile(lambda x, i: x.index_select(0, i), check=True)
    f(torch.ones(3), torch.tensor([1]))
    with pytest.raises(IndexError):
        f(torch.ones(3), torch.tensor([7]))
    assert lookup_backend("eager") is not None
