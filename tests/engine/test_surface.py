"""The rest of the `torch` namespace: device-picking lines, autocast, checkpointing, profiler, timer, older spellings."""

from __future__ import annotations

import json
import warnings

import pytest

from tapescope import engine as torch
from tapescope.engine.profiler import ProfilerAction, profile, record_function, schedule
from tapescope.engine.utils.benchmark import Compare, Timer
from tapescope.engine.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def test_the_usual_device_picking_lines():
    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    assert torch.device(device).type == "cpu"
    torch.cuda.manual_seed_all(0)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.cuda.device_count() == 0 and torch.version.cuda is None
    picked = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    assert picked.type in ("cpu", "webgpu")
    with pytest.raises(AssertionError, match="not compiled with CUDA enabled"):
        torch.cuda.synchronize()


def test_older_spellings():
    assert torch.FloatTensor([1, 2]).dtype is torch.float32 and torch.LongTensor(2, 3).shape == (2, 3)
    assert isinstance(torch.ones(1), torch.FloatTensor) and not isinstance(torch.ones(1), torch.LongTensor)
    assert torch.Tensor([1, 2]).dtype is torch.float32 and torch.Tensor(2, 3).shape == (2, 3)


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))


def grads(m, run):
    m.zero_grad()
    torch.manual_seed(1)
    run().backward()
    return [p.grad.clone() for p in m.parameters()]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint(reentrant):
    m, x = model(), torch.rand(3, 4, requires_grad=True)
    calls = []
    m[1].register_forward_hook(lambda *_: calls.append(1))
    want = grads(m, lambda: m(x).sum())
    got = grads(m, lambda: checkpoint(m, x, use_reentrant=reentrant).sum())
    assert all(torch.equal(a, b) for a, b in zip(want, got)) and len(calls) == 3
    got = grads(m, lambda: checkpoint_sequential(m, 2, x, use_reentrant=reentrant).sum())
    assert all(torch.equal(a, b) for a, b in zip(want, got))


def test_checkpoint_keeps_less_and_differentiates_twice():
    x = torch.rand(4, dtype=torch.float64, requires_grad=True)

    def f(t):
        return checkpoint(lambda u: (u.sin() * u).exp(), t, use_reentrant=False)

    facts = f(x).grad_fn.saved_facts()
    assert facts == []
    assert torch.autograd.gradcheck(f, x) and torch.autograd.gradgradcheck(f, x)


def test_a_second_run_that_differs():
    shapes = iter([3, 4])
    with pytest.raises(CheckpointError, match="different metadata"):
        checkpoint(
            lambda t: (t.expand(next(shapes), 1).exp()).sum(), torch.ones(1, requires_grad=True), use_reentrant=False
        ).backward()


def test_autocast():
    m, x = model(), torch.rand(3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = m(x)
        assert y.dtype is torch.bfloat16 and torch.is_autocast_enabled("cpu")
        assert torch.nn.functional.mse_loss(y.float(), y.float()).dtype is torch.float32
        with torch.autocast("cpu", enabled=False):
            assert (x @ x.t()).dtype is torch.float32
        assert (x @ x.t()).dtype is torch.bfloat16 and (x + x).dtype is torch.float32
    y.float().sum().backward()
    assert m[0].weight.grad.dtype is torch.float32 and not torch.is_autocast_enabled("cpu")
    with pytest.warns(UserWarning, match="CUDA is not available"), torch.autocast("cuda"):
        assert (x @ x.t()).dtype is torch.float32
    with pytest.raises(RuntimeError, match="same dtype"):
        x @ x.t().double()


def test_grad_scaler():
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1)
    scaler.scale((p * 3).sum()).backward()
    assert p.grad.tolist() == [24, 24]
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [-2, -2] and scaler.get_scale() == 16
    p.grad.fill_(float("inf"))
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [-2, -2] and scaler.get_scale() == 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not torch.cuda.amp.GradScaler().is_enabled()


def test_profiler(tmp_path):
    x = torch.rand(4, 4, requires_grad=True)
    with profile(record_shapes=True) as p:
        with record_function("mine"):
            (x @ x).sum().backward()
    names = {a.key: a for a in p.key_averages()}
    assert names["aten::mm"].count == 3 and names["mine"].cpu_time_total >= names["aten::mm"].cpu_time_total
    table = p.key_averages().table(sort_by="self_cpu_time_total", row_limit=3)
    assert "aten::mm" in p.key_averages().table() and table.count("\n") == 3 + 3 + 1
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    assert any(e["name"] == "aten::sum" for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"])
    x.exp()
    assert "aten::exp" not in {e.key for e in p.events()}


def test_profiler_schedule():
    plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    kinds = [plan(i) for i in range(5)]
    assert (
        kinds[:2] == [ProfilerAction.NONE, ProfilerAction.WARMUP]
        and kinds[3] is ProfilerAction.RECORD_AND_SAVE
        and kinds[4] is ProfilerAction.NONE
    )
    seen = []
    with profile(schedule=plan, on_trace_ready=lambda p: seen.append(len(p.events()))) as p:
        for _ in range(6):
            torch.ones(2) + 1
            p.step()
    assert seen == [2]


def test_timer():
    made = Timer("x + y", globals={"x": torch.ones(2), "y": torch.ones(2)}, label="add", description="ours").timeit(50)
    assert made.median > 0 and made.number_per_run == 50 and "add" in repr(made) and "50 runs" in repr(made)
    assert "ours" in str(Compare([made]))


def test_switches_are_kept():
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(2)
    assert torch.get_num_threads() == 2
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    with pytest.raises(RuntimeError, match="is not one of"):
        torch.set_float32_matmul_precision("low")
    torch.set_default_tensor_type("torch.DoubleTensor")
    assert torch.tensor(1.0).dtype is torch.float64
    torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.tensor(1.0).dtype is torch.float32


def test_storages():
    t = torch.arange(6.0).view(2, 3)
    assert t[1:].untyped_storage() == t.untyped_storage() and t.untyped_storage().nbytes() == 24
    assert t.t().storage().tolist() == [0, 1, 2, 3, 4, 5] and t.storage()[4] == 4.0 and len(t[0].storage()) == 6
    assert (
        t.untyped_storage().data_ptr() == t[1:].untyped_storage().data_ptr() != t.clone().untyped_storage().data_ptr()
    )
    assert t.is_set_to(t.view(2, 3)) and not t.is_set_to(t.t())
    with pytest.raises(AssertionError, match="CUDA"):
        t.cuda()


def test_dlpack_shares_memory_both_ways():
    import numpy as np

    t = torch.arange(6.0).view(2, 3)
    a = np.from_dlpack(t.t())
    t[0, 1] = 9
    assert a[1, 0] == 9
    b = np.arange(4.0)
    u = torch.from_dlpack(b)
    b[2] = 7
    assert u[2] == 7 and torch.from_dlpack(t).data_ptr() == t.data_ptr()
    with pytest.raises(BufferError, match="require gradient"):
        np.from_dlpack(torch.ones(1, requires_grad=True))
    with pytest.raises(TypeError, match="__dlpack__"):
        torch.from_dlpack([1])


def test_data_parallel_on_one_device():
    inner = torch.nn.Linear(2, 1)
    outer = torch.nn.DataParallel(inner)
    x = torch.ones(3, 2)
    assert torch.equal(outer(x), inner(x)) and list(outer.state_dict()) == ["module.weight", "module.bias"]
    assert torch.equal(torch.nn.parallel.data_parallel(inner, x), inner(x))
    with pytest.raises(RuntimeError, match="one device of a kind"):
        torch.nn.DataParallel(inner, device_ids=[0, 1])


def test_the_older_profiler():
    with torch.autograd.profiler.profile() as p:
        torch.ones(2).exp()
    assert "aten::exp" in p.table() and p.self_cpu_time_total > 0
    with torch.autograd.profiler.profile(enabled=False) as p:
        torch.ones(2).exp()
    assert not p.events()


def test_functions_of_another_library_do_not_ask_for_ever():
    def foreign(x):  # what dispatches on `__torch_function__` without looking at the engine's switches
        out = type(x).__torch_function__(foreign, (type(x),), (x,), {})
        if out is NotImplemented:
            raise TypeError("foreign() does not take this")
        return out

    with pytest.raises(TypeError, match="does not take this"):
        foreign(torch.ones(2))
