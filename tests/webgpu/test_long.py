"""Work that would keep one thread in a loop for too long: Mesa's software driver leaves loops after 65,535 turns, silently."""

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine.ops.table import OPS

F = torch.nn.functional
N = 70_001


@pytest.fixture(autouse=True)
def device(need_vulkan):
    need_vulkan()


def near(got, want, tolerance=1e-4):
    np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().numpy(), rtol=tolerance, atol=tolerance)


def test_long_rows():
    torch.manual_seed(0)
    x = torch.randn(3, N)
    y = x.to("webgpu")
    near(torch.softmax(y, 1) * N, torch.softmax(x, 1) * N)
    near(torch.log_softmax(y, 1), torch.log_softmax(x, 1))
    near(F.layer_norm(y, (N,)), F.layer_norm(x, (N,)))
    assert y.argmax(1).tolist() == x.argmax(1).tolist()


def test_many_sources_of_one_place(bench):
    rng = np.random.default_rng(0)
    index, source = rng.integers(0, 3, N), rng.integers(-9, 9, N)
    zero = np.zeros(3, np.int64)
    want = OPS["scatter_add"].cpu(zero, index, source, 0)
    np.testing.assert_array_equal(
        bench.down(bench.op("scatter_add")(bench.up(zero), bench.up(index), bench.up(source), 0)), want
    )
    for reduce in ("amax", "sum"):
        got = bench.op("scatter_reduce")(bench.up(zero), bench.up(index), bench.up(source), 0, reduce, True)
        np.testing.assert_array_equal(bench.down(got), OPS["scatter_reduce"].cpu(zero, index, source, 0, reduce, True))
    alone = bench.op("index_add")(bench.up(zero), bench.up(np.full(N, 1)), bench.up(np.ones(N, np.int64)), 0)
    assert bench.down(alone).tolist() == [0, N, 0]


def test_large_windows():
    torch.manual_seed(0)
    x = torch.randn(1, 2, 300, 300)
    for layer in (
        lambda v: F.adaptive_avg_pool2d(v, 1),
        lambda v: F.max_pool2d(v, 1),
        lambda v: F.avg_pool2d(v, 250, 25),
        lambda v: F.avg_pool2d(v, 140, 40),
        lambda v: F.avg_pool2d(v[..., :200, :200], 100, 1),
        lambda v: F.adaptive_max_pool2d(v, 1),
    ):
        a, b = x.clone().requires_grad_(), x.to("webgpu").requires_grad_()
        near(layer(b), layer(a))
        layer(a).sum().backward()
        layer(b).sum().backward()
        near(b.grad, a.grad)


def test_many_short_runs_of_a_reduction():
    x = torch.randn(90, 90, 90)
    y = x.to("webgpu")
    near(y[::2, ::2, ::2].amax(), x[::2, ::2, ::2].amax())
    x = torch.ones(300, 150, 300)[:, ::2, ::2]
    near(x.to("webgpu").sum(), x.sum())


def test_a_long_inner_dimension_of_a_product():
    a, b = torch.ones(1, 300_000), torch.ones(300_000, 2)
    assert (a.to("webgpu") @ b.to("webgpu")).tolist() == [[300_000.0] * 2]


def test_long_scans_and_modes():
    x = torch.arange(N) % 10
    y = x.to("webgpu")
    assert y.cumsum(0)[-1].item() == x.sum().item()
    assert y.cummax(0)[1][-1].item() == max(i for i in range(N - 20, N) if i % 10 == 9)
    assert y.mode() == x.mode()
