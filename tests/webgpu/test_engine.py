"""The device as users meet it: tensors, gradients, training, what falls back, and what it tells."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine import nn
from tapescope.engine.backends.base import backend as backend_of
from tapescope.engine.observe import bus

F = nn.functional


@pytest.fixture(autouse=True)
def device(need_vulkan):
    need_vulkan()
    return "webgpu"


def train(where, steps=20):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 5)).to(where)
    data = torch.randn(64, 12)
    labels = (data[:, :5]).argmax(1)
    x, y = data.to(where), labels.to(where)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for i in range(steps):
        chosen = torch.tensor(list(range(i % 4 * 16, i % 4 * 16 + 16))).to(where)
        loss = F.cross_entropy(model(x[chosen]), y[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        right = (model(x).argmax(dim=1) == y).float().mean().item()
        wrong = (model(x).argmax(dim=1) != y).nonzero().flatten().tolist()
    return losses, right, wrong


def test_training_agrees_with_the_cpu_and_nothing_falls_back():
    told = []
    stop = bus.subscribe(told.append, ["fallback"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            there = train("webgpu")
    finally:
        stop()
    here = train("cpu")
    assert not told
    np.testing.assert_allclose(there[0], here[0], atol=1e-4)
    assert there[1:] == here[1:]


def test_first_programs():
    x = torch.tensor(2.0, requires_grad=True, device="webgpu")
    y = x**2 + 3 * x + 1
    y.backward()
    assert repr(x.grad) == "tensor(7., device='webgpu:0')" or x.grad.item() == 7
    if (x.detach() * 0 + 1).sum() > 0:
        assert y.item() == 11


def test_views_share_memory_on_the_device():
    x = torch.zeros(4, 4, device="webgpu")
    x[1:3, ::2] = 5
    x.t()[0].add_(1)
    expected = np.zeros((4, 4), np.float32)
    expected[1:3, ::2] = 5
    expected.T[0] += 1
    np.testing.assert_array_equal(x.cpu().numpy(), expected)


def test_an_operator_without_a_kernel_runs_on_the_cpu_and_says_so_once():
    from tapescope.engine.ops.table import Op

    name = "test_only_on_the_cpu"
    op = Op(name, "input", kind="custom", cpu=lambda x: np.sort(x), shape=lambda s: s)
    try:
        told = []
        stop = bus.subscribe(told.append, ["fallback"])
        x = torch.tensor([3.0, 1.0, 2.0], device="webgpu")
        from tapescope.engine import dispatch

        with pytest.warns(RuntimeWarning, match=f"{name} runs on the CPU because it has no WebGPU kernel"):
            y = dispatch.call(op, (x,))
        assert y.device.type == "webgpu" and y.tolist() == [1, 2, 3]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dispatch.call(op, (x,))
        stop()
        assert [(r.op, r.device) for r in told] == [(name, "webgpu")] * 2
    finally:
        from tapescope.engine.ops.table import OPS

        del OPS[name]
        backend_of("webgpu").kernels.pop(name, None)


def test_numbers_that_cannot_be_there():
    with pytest.raises(RuntimeError, match="Integers to negative integer powers"):
        torch.tensor([2], device="webgpu") ** -1
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.tensor([2], device="webgpu") // 0


def test_float64_is_stored_and_computed_on_the_cpu():
    told = []
    stop = bus.subscribe(told.append, ["fallback"])
    x = torch.tensor([1.0, 2.0, 3.0], device="webgpu", dtype=torch.float64)
    assert not told and x[1:].tolist() == [2, 3] and x.flip(0).contiguous().tolist() == [3, 2, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x * 1e-300 * 1e-5
        x += 1
        narrow = x.float()
    stop()
    assert (
        y.dtype is torch.float64 and y.device.type == "webgpu" and y.tolist() == pytest.approx([1e-305, 2e-305, 3e-305])
    )
    assert x.tolist() == [2, 3, 4] and narrow.dtype is torch.float32 and narrow.tolist() == [2, 3, 4]
    assert [r.op for r in told] == ["mul", "mul", "add", "to_dtype"]
    assert {r.reason for r in told} == {"WGSL has no float64"}


def test_complex_numbers_with_gradients():
    r = torch.tensor([1.0, -2.0, 0.5], device="webgpu", requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = torch.complex(r, r * 2)
        (z.abs() ** 2).sum().backward()
        turned = (z.detach() * 1j).T
    np.testing.assert_allclose(r.grad.cpu().numpy(), [10, -20, 5], rtol=1e-6)
    assert z.device.type == "webgpu" and z.dtype is torch.complex64
    assert torch.view_as_real(turned).tolist() == [[-2, 1], [4, -2], [-1, 0.5]]
    pairs = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device="webgpu")
    assert torch.view_as_complex(pairs)[1].item() == 3 + 4j
    assert torch.zeros(2, 2, dtype=torch.complex64, device="webgpu").tolist() == [[0j, 0j], [0j, 0j]]


def test_a_fallback_warns_where_the_user_called():
    torch.webgpu.synchronize()
    backend_of("webgpu")._warned.discard("linalg_det")
    with pytest.warns(RuntimeWarning, match="linalg_det runs on the CPU") as found:
        torch.linalg.det(torch.eye(3, device="webgpu"))
    assert found[0].filename == __file__


def test_masked_reductions_of_whole_numbers_use_the_limits_of_the_device():
    x, m = torch.tensor([[3, -5], [7, 2]]).to("webgpu"), torch.tensor([[True, False], [False, False]]).to("webgpu")
    assert torch.masked.amax(x, 1, mask=m).tolist() == [3, -(2**31)]
    assert torch.masked.amin(x, 1, mask=m).tolist() == [3, 2**31 - 1]
    assert torch.masked.argmax(x, 1, mask=m).tolist()[0] == 0 == torch.masked.argmin(x, 1, mask=m).tolist()[0]
    assert torch.masked.amax(x.to(torch.int32), 1, mask=m).tolist() == [3, -(2**31)]
    assert torch.masked.amax(x.to(torch.uint8), 1, mask=m).tolist() == [3, 0]


def test_refusals_that_depend_on_numbers():
    i, x = torch.tensor([7, 2]).to("webgpu"), torch.ones(2).to("webgpu")
    for call, kind, words in (
        (lambda: i.add(1, alpha=1.5), RuntimeError, "alpha must not be a floating point"),
        (lambda: x.add(1, alpha=1j), RuntimeError, "alpha must not be a complex"),
        (lambda: i.sub(i, alpha=0.5), RuntimeError, "alpha must not be a floating point"),
        (lambda: i.div(0, rounding_mode="trunc"), RuntimeError, "ZeroDivisionError"),
        (lambda: i.div(0, rounding_mode="floor"), RuntimeError, "ZeroDivisionError"),
        (lambda: torch.addcdiv(i, i, i), RuntimeError, "addcdiv"),
        (lambda: torch.round(i, decimals=1), NotImplementedError, "not implemented for 'Long'"),
    ):
        with pytest.raises(kind, match=words):
            call()


def test_negative_indices_count_from_the_end_only_between_brackets():
    x, below, beside = torch.arange(6.0).reshape(2, 3).to("webgpu"), torch.tensor([-1]), torch.tensor([[0, -1, 1]])
    assert x[:, below.to("webgpu")].tolist() == [[2], [5]]
    for away in (lambda t: t.to("webgpu"), lambda t: t.to("webgpu") + 0):  # known, and not, before the launch
        for call in (
            lambda a=away: x.index_select(1, a(below)), lambda a=away: x.gather(0, a(beside)),
            lambda a=away: x.scatter(1, a(beside), 1.0), lambda a=away: x.scatter_add(1, a(beside), x),
            lambda a=away: x.index_add(1, a(below), torch.ones(2, 1).to("webgpu")),
        ):  # fmt: skip
            with pytest.raises((IndexError, RuntimeError), match="index -1 is out of bounds"):
                call().cpu()


def test_gradcheck_moves_the_elements_on_the_device():
    x = torch.linspace(0.2, 1.0, 4, dtype=torch.float64).to("webgpu").requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = x.tolist()
        assert torch.autograd.gradcheck(lambda t: (t * t).sin(), (x,))
        assert x.tolist() == before


def test_shapes_that_do_not_fit():
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        torch.zeros(3, device="webgpu") + torch.zeros(4, device="webgpu")


def test_memory_is_told_and_freed():
    x = torch.zeros(1000, 1000, device="webgpu")
    x = x + 1
    stats = torch.webgpu.memory_stats()
    assert stats["allocated_bytes"] >= 4_000_000 and stats["pipelines"] > 0
    del x
    torch.webgpu.synchronize()
    torch.webgpu.empty_cache()
    after = torch.webgpu.memory_stats()
    assert after["reserved_bytes"] < stats["reserved_bytes"]
    assert torch.webgpu.is_available() and torch.webgpu.device_name()


def test_importing_the_package_opens_nothing():
    code = "import sys; import tapescope.engine; assert not [m for m in sys.modules if m.split('.')[0] == 'wgpu']"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_missing_adapter_is_told_in_a_sentence():
    code = (
        "import tapescope.engine as torch\n"
        "try:\n    torch.zeros(1, device='webgpu')\n"
        "except RuntimeError as e:\n    print(e)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={"TAPESCOPE_ADAPTER": "nothing", "PATH": "/usr/bin"},
    )
    assert "No WebGPU adapter has 'nothing' in its name" in done.stdout, done.stderr


def test_bfloat16_is_rounded_on_every_store():
    values = [1.0, 1.00390625, 3.14159, -2.7182, 1e30, float("inf")]
    here, there = (torch.tensor(values, device=d).to(torch.bfloat16) for d in ("cpu", "webgpu"))
    for made in (lambda t: t, lambda t: t * t, lambda t: (t + 0.3).sum(), lambda t: t.exp()):
        assert made(there).float().tolist() == made(here).float().tolist()
        assert made(there).dtype is torch.bfloat16


def test_memory_read_as_another_dtype():
    x = torch.tensor([1.0, -2.0], device="webgpu")
    bits = x.view(torch.int32)
    assert bits.tolist() == [0x3F800000, -0x40000000]
    bits[0] = 0x40000000
    assert x.tolist() == [2, -2]
