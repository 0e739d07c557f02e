"""What `max-autotune` measures: each device's choices, nothing of the user's touched, kept for the next process, and told."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

os.environ.setdefault("LP_NUM_THREADS", "0")

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine.backends.base import backend
from tapescope.engine.compile.capture.story import compiled_of, explain
from tapescope.engine.compile.lower.autotune import choices, gpu, kernels
from tapescope.engine.observe import bus

F = torch.nn.functional


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    torch.manual_seed(0)
    monkeypatch.setenv("TAPESCOPE_CACHE", str(tmp_path))
    monkeypatch.setenv("TAPESCOPE_CFLAGS", "-O1")
    monkeypatch.setattr(choices, "ROUNDS", 1)
    monkeypatch.setattr(gpu, "ROUNDS", 1)
    monkeypatch.setattr(kernels, "ROUNDS", 1)
    monkeypatch.setattr(choices, "IDLE", 0.0)


def entries(f):
    compiled = compiled_of(f)
    assert compiled is not None
    return list(compiled.by_id.values())


def segment_of(f):
    (segment,) = entries(f)[0].compiled.segments()
    return segment


def opened() -> Any:
    return backend("webgpu")


def tuned(f):
    return [
        v.forward for e in entries(f) for v in e.compiled.variants.values() if hasattr(v.forward, "tuning")
    ]  # fmt: skip


def settle(f, *again):
    """Call it a second time, which begins to measure, and wait."""
    if again:
        f(*again)
    parts = tuned(f)
    assert parts
    for p in parts:
        p.wait()
        assert p.settled or p.waiting  # such as the first step of an optimizer, which comes once
    assert any(p.settled for p in parts)
    return parts


def program(x, w):
    return torch.softmax(F.gelu(x @ w), -1) * 2


def data(device):
    return torch.randn(16, 64).to(device), torch.randn(64, 64).to(device)


def test_each_kernel_of_webgpu_has_its_way(need_vulkan):
    need_vulkan()
    x, w = data("webgpu")
    f = torch.compile(program, mode="max-autotune")
    want = program(x, w)
    assert torch.allclose(f(x, w).cpu(), want.cpu(), atol=1e-5)
    (part,) = settle(f, x, w)
    assert part.tuning()["chosen"] in {c.name for c in gpu.TOGETHER}
    told = {k["name"]: k["tuned"] for e in entries(f) for k in e.compiled.kernels_json()["kernels"]}
    product = next(t for name, t in told.items() if name.startswith("k0"))
    names = [t["choice"] for t in product["tried"]]
    assert names[0] == "usual" and "the engine's product" in names and "tiling 2 by subgroups" in names
    assert all(t["seconds"] or t["error"] for k in told.values() if k for t in k["tried"])
    assert torch.allclose(f(x, w).cpu(), want.cpu(), atol=1e-5)
    assert "measured alone" in str(explain(f)(x, w))


def test_every_way_computes_the_same(need_vulkan, monkeypatch):
    need_vulkan()
    x, w = data("webgpu")
    f = torch.compile(program)
    want = f(x, w).cpu()
    segment = segment_of(f)
    other = 0
    for k in range(len(segment.assembly.steps)):
        usual = segment.printed[k]
        for way, p, error in kernels.ways(segment, k):
            assert not error, (way, error)
            segment.take({k: p})
            for _ in range(2):
                assert torch.allclose(f(x, w).cpu(), want, atol=1e-5), way
            other += way.name != "usual"
        segment.take({k: usual})
    assert other >= 5


def test_a_way_that_computes_something_else_is_out(need_vulkan, monkeypatch):
    need_vulkan()
    x, w = data("webgpu")
    f = torch.compile(program)
    f(x, w)
    segment = segment_of(f)
    monkeypatch.setattr(kernels, "agree", lambda ours, theirs: False)
    assert kernels.tune(segment, {}, lambda: None, {}) == {}
    errors = [t["error"] for told in segment.tried.values() for t in told["tried"] if t["choice"] != "usual"]
    assert errors and all("usual form" in e for e in errors)


@pytest.mark.parametrize("device", ["webgpu", "cpu"])
def test_parameters_and_generators_are_left_alone(device, need_vulkan, need):
    need_vulkan() if device == "webgpu" else need("cc")

    def trained(mode):
        torch.manual_seed(1)
        m = torch.nn.Linear(8, 4).to(device)
        optimizer = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
        x = torch.randn(4, 8).to(device)

        def step(x):
            optimizer.zero_grad()
            loss = m(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step, mode=mode) if mode else step
        losses = [run(x).item() for _ in range(3)]
        if mode:
            settle(run)
        losses += [run(x).item() for _ in range(3)]
        return losses, float(torch.rand(1))

    (ours, drawn), (theirs, expected) = trained("max-autotune"), trained(None)
    assert np.allclose(ours, theirs, rtol=1e-4) and drawn == expected


def test_the_next_process_measures_nothing(need_vulkan, monkeypatch):
    need_vulkan()
    x, w = data("webgpu")
    first = torch.compile(program, mode="max-autotune")
    first(x, w)
    (a,) = settle(first, x, w)
    monkeypatch.setattr(gpu, "tune", None)
    second = torch.compile(lambda x, w: program(x, w), mode="max-autotune")
    want = program(x, w).cpu()
    assert torch.allclose(second(x, w).cpu(), want, atol=1e-5)
    (b,) = tuned(second)
    assert b.thread is None and b.settled and b.tuning() == a.tuning() and b.chosen.tried == a.chosen.tried
    torch.compile(program, mode="max-autotune")(x[:8], w)  # other sizes are another graph
    assert len(list(choices.disk.folder().glob("choice-*.json"))) >= 1


def test_a_numpy_program_tries_blocks(monkeypatch):
    monkeypatch.setenv("TAPESCOPE_CC", "")
    f = torch.compile(lambda x: (x.exp() * 2).tanh() + x, mode="max-autotune")
    x = torch.randn(300, 300)
    seen = []
    stop = bus.subscribe(seen.append, ["launch"])
    f(x)
    (part,) = settle(f, x)
    stop()
    assert len(seen) == 2  # nobody hears of what is only measured
    assert [t["choice"] for t in part.tuning()["tried"]] == [c.name for c in choices.BLOCKS]
    assert torch.allclose(f(x), (x.exp() * 2).tanh() + x, atol=1e-6)
    assert part.chosen.launches == 3


def test_what_is_called_once_is_not_measured():
    f = torch.compile(lambda x: x.exp() * 2, mode="max-autotune")
    f(torch.randn(4))
    (part,) = tuned(f)
    assert part.thread is None and not part.settled and part.waiting


def test_no_time_is_no_error(need_vulkan, monkeypatch):
    need_vulkan()
    monkeypatch.setattr(choices, "BUDGET", -1.0)
    x, w = data("webgpu")
    f = torch.compile(program, mode="max-autotune")
    for _ in range(2):
        assert torch.allclose(f(x, w).cpu(), program(x, w).cpu(), atol=1e-5)
        (part,) = settle(f, x, w)
    assert all("spent" in t["error"] for k in part.chosen.tried.values() for t in k["tried"])


def test_without_threads_the_usual_form_stays(need_vulkan, monkeypatch):
    need_vulkan()

    def refuse(self):
        raise RuntimeError("can't start new thread")

    x, w = data("webgpu")
    f = torch.compile(program, mode="max-autotune")
    with monkeypatch.context() as m:
        m.setattr(choices.threading.Thread, "start", refuse)
        f(x, w)
        (part,) = settle(f, x, w)
    assert "thread" in part.tuning()["tried"][0]["error"]


def test_a_script_that_ends_does_not_wait(need_vulkan, tmp_path):
    need_vulkan()
    text = """
from tapescope import engine as torch
f = torch.compile(lambda x, w: torch.softmax(x @ w, -1), mode="max-autotune")
x = torch.randn(64, 64, device="webgpu")
f(x, x)
f(x, x)
print("done")
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "done\n" and not done.stderr, done.stderr


def test_the_device_records_as_before(need_vulkan):
    """Measuring leaves the recorder and the pool of the device as they were."""
    need_vulkan()
    device = opened().device
    x, w = data("webgpu")
    f = torch.compile(program)
    f(x, w)
    segment = segment_of(f)
    device.flush()
    kernels.tune(segment, {}, lambda: None, {})
    assert not device.commands
