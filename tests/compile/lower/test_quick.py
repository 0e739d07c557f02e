"""The hot path that is written out for a variant: used where it fits, and left, with nothing done, where it does not."""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.lower.backend import LoweredFunction, compile_graph

nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def compiler(need, request):
    if "numpy" not in request.fixturenames:
        need("cc")


@pytest.fixture
def numpy(monkeypatch):
    """No compiler."""
    monkeypatch.setenv("TAPESCOPE_CC", "")


@pytest.fixture
def hot(monkeypatch):
    """The calls that ended on a hot path, by what they gave."""
    found: list[bool] = []
    look = LoweredFunction._look_for_quick

    def counted(self):
        look(self)
        made = self.quick
        if made is not None and not hasattr(made, "counted"):

            def call(*inputs):
                out = made(*inputs)
                from tapescope.engine.compile.lower.backend import MISS

                found.append(out is not MISS)
                return out

            call.counted = True
            self.quick = call

    monkeypatch.setattr(LoweredFunction, "_look_for_quick", counted)
    return found


def training(compiled):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return (torch.compile(step) if compiled else step), model, optimizer


def data(k):
    torch.manual_seed(100 + k)
    return torch.randn(5, 6), torch.randint(0, 3, (5,))


def same(ours, theirs):
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(a.detach(), b.detach(), atol=1e-6)
        assert torch.allclose(a.grad, b.grad, atol=1e-6)
        assert a._version == b._version


def test_training_takes_it(hot):
    ours, model, _ = training(True)
    theirs, other, _ = training(False)
    for k in range(8):
        a, b = ours(*data(k)), theirs(*data(k))
        assert torch.allclose(a.detach(), b.detach(), atol=1e-6) and a.requires_grad
    same(model, other)
    assert sum(hot) >= 4
    with pytest.raises(RuntimeError, match="second time"):
        a.backward()


def test_results_are_fresh(hot):
    f = torch.compile(lambda x: (x * 2).sin())
    x = torch.randn(4, 4)
    results = [f(x + k) for k in range(6)]
    assert any(hot)
    for k, r in enumerate(results):
        assert torch.allclose(r, ((x + k) * 2).sin(), atol=1e-6)


def test_another_layout_is_taken_by_the_general_way(hot):
    def f(x, out):
        out.copy_(x.exp() + 1)
        return x.sum(0)

    gm = torch.compile(f, dynamic=False)
    for turn in range(6):
        x, out = torch.randn(4, 5), torch.zeros(4, 5)
        if turn == 5:
            x, out = torch.randn(5, 4).t(), torch.zeros(5, 4).t()
        got = gm(x, out)
        assert torch.allclose(got, x.sum(0), atol=1e-6) and torch.allclose(out, x.exp() + 1, atol=1e-6)
        assert out._version == 1
    assert any(hot)


def test_hooks_and_modes_leave_it(hot):
    ours, model, _ = training(True)
    theirs, other, _ = training(False)
    seen = []
    for k in range(10):
        if k == 6:
            for m in (model, other):
                m[0].weight.register_hook(lambda g: seen.append(1) or g * 2)
        ours(*data(k))
        theirs(*data(k))
    same(model, other)
    assert sum(hot) >= 2 and len(seen) == 8


def test_memory_that_is_shared(hot):
    def f(a, b):
        a.add_(b)
        b.mul_(3)
        return a + b

    ours = torch.compile(f)
    for turn in range(8):
        base, wanted = torch.ones(6), torch.ones(6)
        pairs = [(m, m.clone() * 2) if turn < 6 else (m, m.detach()) for m in (base, wanted)]
        got = ours(*pairs[0])
        expected = f(*pairs[1])
        assert torch.equal(got, expected), turn
        assert torch.equal(pairs[0][0], pairs[1][0]) and torch.equal(pairs[0][1], pairs[1][1])
    assert any(hot)


def test_an_index_out_of_range(hot):
    f = torch.compile(lambda table, i: table[i] * 2)
    table = torch.randn(4, 3)
    for _ in range(5):
        assert torch.equal(f(table, torch.tensor([0, 3])), table[torch.tensor([0, 3])] * 2)
    with pytest.raises(IndexError):
        f(table, torch.tensor([0, 9]))
    assert torch.equal(f(table, torch.tensor([1, 1])), table[torch.tensor([1, 1])] * 2)


def test_a_segment_refuses_what_it_was_not_made_for():
    from tapescope.engine.compile.aot.trace import make_fx

    gm = make_fx(lambda x: x + 1)(torch.ones(3))
    segment = compile_graph(gm)
    with pytest.raises(ValueError):
        segment(torch.ones(3, 2))


def test_nothing_is_allocated_but_results(hot):
    import tracemalloc

    ours, _, _ = training(True)
    batches = [data(k) for k in range(2)]
    for k in range(20):
        ours(*batches[k % 2])
    tracemalloc.start()
    try:
        for k in range(4):
            ours(*batches[k % 2])
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for k in range(20):
            ours(*batches[k % 2])
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    results = 4 * (6 * 8 + 8 + 8 * 3 + 3 + 1)  # fresh gradients and the loss, in float32
    assert after - before < 2048
    assert peak - before < results + 6000, "the objects around them"


def test_numpy_programs_take_it(hot, numpy):
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    f = torch.compile(lambda x: (model(x).softmax(-1), x * 2))
    with torch.no_grad():
        kept = [f(torch.full((2, 4), float(k))) for k in range(5)]
        for k, (a, b) in enumerate(kept):  # each call has results of its own
            x = torch.full((2, 4), float(k))
            assert torch.allclose(a, model(x).softmax(-1)) and torch.equal(b, x * 2)
        assert len(hot) >= 2 and all(hot)
        turned = torch.arange(8.0).reshape(4, 2).T
        a, b = f(turned)
        assert torch.allclose(a, model(turned).softmax(-1)) and torch.equal(b, turned * 2)
    a, _ = f(torch.ones(2, 4))
    assert a.requires_grad  # another gradient mode is another variant


def test_numpy_programs_raise_as_operators_do(hot, numpy):
    f = torch.compile(lambda x, i: x.index_select(0, i) + 1)
    x = torch.arange(4.0)
    for _ in range(4):
        f(x, torch.tensor([0, 3]))
    assert hot and all(hot)
    with pytest.raises(IndexError, match="out of"):
        f(x, torch.tensor([0, 4]))
    assert not hot[-1] and torch.equal(f(x, torch.tensor([1, 2])), x[1:3] + 1)


def test_numpy_programs_that_write_go_the_general_way(hot, numpy):
    f = torch.compile(lambda x, y: x.add_(y))
    for k in range(4):
        x = torch.ones(3)
        f(x, x)
        assert torch.equal(x, torch.full((3,), 2.0)), k
    assert not hot
