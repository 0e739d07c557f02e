"""What is told of generated kernels: where they come from, how they are launched, what they move and do, and how long they took."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("LP_NUM_THREADS", "0")

import pytest

from tapescope import engine as torch
from tapescope.engine.backends.base import backend
from tapescope.engine.compile.capture.story import compiled_of, records
from tapescope.engine.observe import bus


def told_segments(f):
    compiled = compiled_of(f)
    assert compiled is not None
    return records(compiled)["segments"]


def kernels(f):
    return [k for s in told_segments(f) for k in s["kernels"]["kernels"]]


def opened() -> Any:
    return backend("webgpu")


@pytest.fixture
def watched(device):
    """Listens to launches, and has the device measure them."""
    gpu = opened().device if device == "webgpu" else None
    seen = []
    stop = bus.subscribe(seen.append, ["launch"])
    if gpu is not None:
        gpu.timing = True
    yield seen
    stop()
    if gpu is not None:
        gpu.flush()
        gpu.timing = False


def test_a_kernel_knows_all_of_it(device, watched):
    m = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)).to(device)
    x = torch.randn(8, 16).to(device)

    @torch.compile
    def step(x):
        m.zero_grad()
        loss = m(x).square().mean()
        loss.backward()
        return loss

    for _ in range(3):
        step(x).item()
    found = kernels(step)
    assert found
    for k in found:
        assert k["nodes"] and k["sources"] and k["bytes"] > 0 and k["seconds"] > 0 and k["ceiling"] > 0, k["name"]
        assert k["operations"] > 0 or k["language"] == "library", k["name"]
        if k["language"] == "wgsl":
            assert all(n >= 1 for n in (*k["launch"]["grid"], *k["launch"]["block"]))
        else:
            assert k["launch"]["loops"] is not None
    assert all(k["tape"] for k in found if any(s["backward"] for s in k["steps"]))
    first = next(k for k in found if not any(s["backward"] for s in k["steps"]))
    assert first["tape"]  # the nodes that forward leaves on the tape
    told = {r.name: r for r in watched}
    for k in found:
        if k["language"] == "wgsl":
            assert list(told[k["name"]].workgroups) == k["launch"]["grid"]
            assert told[k["name"]].op == ", ".join(k["nodes"][:8])
    assert all(r.seconds is not None for r in watched)


def test_symbolic_sizes_count_as_in_the_last_call(device):
    f = torch.compile(lambda x: torch.softmax(x @ x.T, -1) * 2, dynamic=True)
    counted = []
    for rows in (8, 16):
        f(torch.randn(rows, 4).to(device))
        for s in told_segments(f):
            assert s["kernels"] is not None
        found = kernels(f)
        counted.append([(k["bytes"], k["operations"]) for k in found])
        for k in found:
            if k["language"] == "wgsl":
                assert k["launch"]["grid"][0] >= 1
    (a, b), (c, d) = counted[0][:2], counted[1][:2]
    assert a == (4 * (8 * 4 + 64), 2 * 4 * 64) and c == (4 * (16 * 4 + 256), 2 * 4 * 256)
    assert 0 < b[0] < d[0] and 0 < b[1] < d[1]


def test_nobody_watching_keeps_no_times(device):
    f = torch.compile(lambda x: torch.exp(x) * 2)
    for _ in range(3):
        f(torch.ones(8).to(device))
    (k,) = kernels(f)
    assert k["seconds"] is None and k["launches"] == 3
    if device == "webgpu":
        assert opened().device.purpose is None


def test_without_timestamps_a_clock_tells(need_vulkan, monkeypatch):
    need_vulkan()
    gpu = opened().device.gpu
    monkeypatch.setattr(gpu, "features", frozenset(gpu.features) - {"timestamp-query"})
    from tapescope.engine.backends.webgpu.bench import Bench, dispatch
    from tapescope.webgpu_kernels.tuning import SUBGROUP_PROBE

    device = opened().device
    with Bench(gpu) as bench:
        out = bench.buffer(256)
        command = dispatch(device.pipeline(SUBGROUP_PROBE), 1, [out], [0])
        told = gpu.submit_timed([*command, *command])
        assert len(told) == 2 and all(t > 0 for t in told) and bench.seconds(command) > 0
    assert not bench.buffers
