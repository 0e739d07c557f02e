"""Generated kernels against eager for shapes, strides and types: both printers of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from tapescope import engine as torch

from .harness import PRINTERS, agree, calls, check, kernels, lowered

F = torch.nn.functional


@pytest.fixture(autouse=True, params=PRINTERS)
def printer(request, need):
    if request.param == "c":
        need("cc")
    torch.manual_seed(0)
    return request.param


def some(*shape, dtype="float32", seed=0):
    r = np.random.default_rng(seed)
    if dtype == "bool":
        return torch.from_numpy(np.asarray(r.random(shape) < 0.5))
    if "int" in dtype:
        return torch.from_numpy(np.asarray(r.integers(0 if dtype[0] == "u" else -9, 9, shape)).astype(dtype))
    return torch.from_numpy(np.asarray(r.standard_normal(shape) * 2).astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "int8", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 1, 9), (0, 4), (33, 65)])
def test_sums_and_extremes(printer, dtype, shape):
    x = some(*shape, dtype=dtype)

    def function(x):
        out = [x.sum(), (x == 1).any(), (x != 0).all()]
        if x.ndim and x.numel():
            out += [x.sum(0), x.sum(-1, keepdim=True), x.amax(0), x.amin(-1)]
        return out

    check(function, x, printer=printer)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(printer, seed):
    """Chains of views, arithmetic and reductions on strided inputs."""
    r = np.random.default_rng(seed)
    shape = [int(n) for n in r.integers(1, 7, 3)]
    order = [int(d) for d in r.permutation(3)]
    x = some(*shape, seed=seed).permute(*order)
    y = some(*[1 if r.random() < 0.4 else n for n in x.shape], seed=seed + 1)
    dims = sorted({int(d) for d in r.integers(0, 3, 2)})
    choice = int(r.integers(0, 4))

    def function(x, y):
        z = x * y + 0.5
        if choice == 0:
            z = z.transpose(0, 2).reshape(-1, z.shape[1])
        elif choice == 1:
            z = z[:, ::2].relu() - 1
        elif choice == 2:
            z = (z - z.mean(dims, keepdim=True)).exp()
        else:
            z = torch.cat([z, z.flip(0)], 1)
        return z, z.sum(-1), z.amax(0), (z * z).mean()

    check(function, x, y, printer=printer)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows(printer, dtype):
    x, w, b = some(9, 33, dtype=dtype), some(33, dtype=dtype, seed=1), some(33, dtype=dtype, seed=2)
    for function in (
        lambda x, w, b: F.softmax(x, 1),
        lambda x, w, b: F.log_softmax(x * w, 1),
        lambda x, w, b: F.layer_norm(x, (33,), w, b),
        lambda x, w, b: F.softmax(x.t(), 0).t() @ w,
        lambda x, w, b: F.gelu(x * w + b) * torch.sigmoid(x),
        lambda x, w, b: (x - x.amax(1, keepdim=True)).exp().sum(1).log(),
    ):
        check(function, x, w, b, printer=printer)


def test_not_a_number_and_infinity(printer):
    x = torch.tensor([[1.0, float("nan"), 2.0], [float("inf"), -float("inf"), 0.0], [-0.0, 5.0, 1e-40]])
    check(
        lambda x: (x.amax(1), x.amin(1), x.relu(), torch.maximum(x, x.flip(0)), x.isnan(), x.sum(1)), x, printer=printer
    )
    check(
        lambda x: (torch.tanh(x), x.exp(), x.log(), x.sqrt(), torch.sigmoid(x), torch.erf(x), x.sign()),
        x,
        printer=printer,
    )


def test_indices(printer):
    table, rows = some(10, 4), torch.tensor([[1, 9], [0, 3]])
    check(lambda t, i: F.embedding(i, t) * 2, table, rows, printer=printer)
    check(lambda t, i: t.index_select(0, i.reshape(-1)).sum(0), table, rows, printer=printer)
    check(lambda t, i: t.gather(1, i.clamp(0, 3)), table, rows, printer=printer)
    check(lambda t, i: torch.zeros(10, 4).index_add(0, i.reshape(-1), t[:4]), table, rows, printer=printer)
    check(lambda t, i: F.cross_entropy(t, i.reshape(-1).clamp(0, 3)), table[:4], rows, printer=printer)


def test_index_out_of_range(printer):
    segment = lowered(lambda t, i: t.index_select(0, i), some(10, 4), torch.tensor([1, 2]), printer=printer)
    with pytest.raises(IndexError, match="out of range"):
        segment(some(10, 4), torch.tensor([1, 10]))
    agree(segment(some(10, 4), torch.tensor([1, 9])), some(10, 4)[torch.tensor([1, 9])])


def test_padding_and_triangles(printer):
    x = some(4, 6)
    check(lambda x: F.pad(x, (1, 2, 0, 3), value=0.5), x, printer=printer)
    check(lambda x: (x.tril(1), x.triu(-1)), x, printer=printer)
    check(lambda x: x.unfold(1, 3, 2).sum(-1), x, printer=printer)


def test_products(printer):
    a, b = some(3, 5, 7), some(3, 7, 4, seed=1)
    check(lambda a, b: a @ b, a, b, printer=printer)
    check(lambda a, b: (a.transpose(1, 2) @ (a @ b)).relu(), a, b, printer=printer)
    check(lambda a, b: a[0] @ b[1][:, ::2], a, b, printer=printer)
    check(lambda a, b: a[0] @ b[0][:, 0], a, b, printer=printer)


def test_strides_that_were_not_compiled_for(printer):
    segment = lowered(lambda x: x + 1, some(4, 6), printer=printer)
    for x in (some(6, 4).t(), some(8, 6)[::2], some(4, 12)[:, 1::2]):
        agree(segment(x), x + 1)


def test_writes_go_into_the_inputs(printer):
    def function(p, m, g):
        m.mul_(0.9).add_(g)
        p.sub_(m, alpha=0.1)
        return (p * p).sum()

    inputs, others = [some(50, 7, seed=i) for i in range(3)], [some(50, 7, seed=i) for i in range(3)]
    segment = lowered(function, *inputs, printer=printer)
    data = [t._data for t in inputs]
    for _ in range(3):
        agree(segment(*inputs), function(*others))
    agree(inputs, others)
    assert (
        all(t._data is d for t, d in zip(inputs, data, strict=True)) and inputs[0]._version == others[0]._version == 3
    )
    assert not segment.assembly.copied


def test_swap(printer):
    def function(a, b):
        c = a.clone()
        a.copy_(b)
        b.copy_(c)

    inputs, others = [some(40), some(40, seed=1)], [some(40), some(40, seed=1)]
    lowered(function, *inputs, printer=printer)(*inputs)
    function(*others)
    agree(inputs, others)


def test_results_have_memory_of_their_own(printer):
    segment = lowered(lambda x: (x * 1, x + 0.0, (x + 1).view(-1), x.t() * 2), some(3, 4), printer=printer)
    x = some(3, 4)
    first = segment(x)
    kept = [t.clone() for t in first]
    segment(x + 5)
    agree(first, kept)
    assert not np.shares_memory(first[0]._data, x._data)
    assert first[3].stride() == (x.t() * 2).stride()


def test_memory_is_constant(printer):
    segment = lowered(lambda x, w: F.softmax(x @ w, -1).sum(), some(64, 64), some(64, 64, seed=1), printer=printer)
    import tracemalloc

    x, w = some(64, 64), some(64, 64, seed=1)
    for _ in range(20):
        segment(x, w)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(500):
        segment(x, w)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000


def test_forks_have_threads_of_their_own(printer):
    import os

    segment = lowered(lambda x: (x.exp() * 2).sum(), some(512, 512), printer=printer)
    wanted = segment(some(512, 512)).item()
    child = os.fork()
    if child == 0:
        os._exit(0 if segment(some(512, 512)).item() == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_same_bits_on_every_call(printer):
    segment = lowered(lambda x: (x.sum(), x.sum(0), (x * x).mean(1)), some(700, 300), printer=printer)
    first = [t.numpy().tobytes() for t in segment(some(700, 300))]
    for _ in range(5):
        assert [t.numpy().tobytes() for t in segment(some(700, 300))] == first


def test_arithmetic_has_eagers_bits(printer):
    x, y = some(31, 17), some(31, 17, seed=1)

    def function(x, y):
        return x * y + y, (x - y) / (y * y + 1), torch.where(x > y, x, -y), (x * x).sqrt()

    segment = lowered(function, x, y, printer=printer)
    for a, b in zip(segment(x, y), function(x, y), strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()
    assert len(kernels(segment)) == 1 and not calls(segment)


def test_short_axes_inside_long_ones(printer):
    """Every element twice along both dimensions, as pooling's backward reads: by views of a shape with the short axes split off."""
    x, big = some(3, 14, 14), some(3, 28, 28)

    def function(x, big):
        wide = x.repeat_interleave(2, 1).repeat_interleave(2, 2)
        spread = x[:, :, None, :, None].expand(3, 14, 2, 14, 2).reshape(3, 28, 28)
        return torch.where(big > spread, wide, 0.0), (big * spread).sum((1, 2)), (big - spread).exp().amax(0)

    check(function, x, big, printer=printer)
    check(lambda a, b: (a * b + 1).sum(0), some(500, 3), some(500, 1), printer=printer)


@pytest.mark.parametrize("shape", [(40, 16), (40, 15), (3, 5000), (4, 6, 32)])
def test_sums_of_products(printer, shape):
    x, y = some(*shape), some(*shape, seed=1)

    def function(x, y):
        product = x * y
        return (x * x).sum(-1), (x * y).mean(-1, keepdim=True), product + 1, product.sum(0), (x * x[..., :1]).sum(-1)

    check(function, x, y, printer=printer)
    check(lambda x: x * (x * x).sum(-1, keepdim=True), x, printer=printer)

    def writing(x, y):
        norm = (x * x).sum(-1, keepdim=True)
        x.copy_(y / norm)
        return norm

    ours, theirs = [x.clone(), y], [x.clone(), y]
    agree(lowered(writing, *ours, printer=printer)(*ours), writing(*theirs))
    agree(ours, theirs)


def test_what_the_engine_does_better_stays_with_it():
    from tapescope.engine.compile.aot.trace import make_fx
    from tapescope.engine.compile.lower.backend import Choices, compile_graph
    from tapescope.engine.compile.lower.replay.tell import tell

    x, w = some(2, 3, 8, 8), some(4, 3, 3, 3, seed=1)

    def function(x, w):
        return F.conv2d(x, w).relu()

    segment = compile_graph(make_fx(function)(x, w), (), Choices(printer="numpy"))
    agree(segment(x, w), function(x, w))
    assert calls(segment) == ["convolution"]
    assert any("measured" in r["reason"] for r in tell([segment], "cpu")["refused"])


@pytest.mark.parametrize("compiler", ["", None])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)])
def test_nothing_in_it(shape, compiler, monkeypatch):
    """Kernels that only move elements take all at once: also none."""
    if compiler is not None:
        monkeypatch.setenv("TAPESCOPE_CC", compiler)
    for f in (lambda x: x + 1, lambda x: (x + 1).sum(), lambda x: torch.cat([x, x]) * 2, lambda x: x.prod(-1)):
        torch.compiler.reset()
        x = torch.randn(*shape, requires_grad=True)
        y = torch.compile(f)(x)
        y.backward(torch.ones_like(y))
        assert torch.equal(y.detach(), f(x).detach()) and x.grad.shape == x.shape


def test_what_is_cut_off_has_a_gradient_of_zeros(monkeypatch):
    monkeypatch.setenv("TAPESCOPE_CC", "")
    x = torch.randn(3, 3, requires_grad=True)
    torch.compile(lambda x: F.pad(x, (-1, -2), value=1.0))(x).sum().backward()
    assert torch.equal(x.grad, torch.zeros(3, 3))
