"""Memory over 10,000 compiled training steps: in a process of its own, so that nothing else's memory is counted.

Not about how much memory a step takes, which the memory plan decides, but that it is the same after ten thousand of them, also when sizes
change from step to step.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import gc, json, sys
from tapescope import engine as torch

nn, F = torch.nn, torch.nn.functional
device, sizes, steps = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

@torch.compile
def step(x, y):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss

def held():
    gc.collect()
    pool = torch.webgpu.memory_stats()["reserved_bytes"] if device == "webgpu" else 0
    return [int(open("/proc/self/statm").read().split()[1]) * 4096, sys.getallocatedblocks(), pool]

data = [(torch.randn(n, 16).to(device), torch.zeros(n, dtype=torch.int64).to(device)) for n in sizes]
for i in range(steps):
    loss = step(*data[i % len(data)])
    if i % 50 == 0:
        loss.item()
    if i in (500, 999):  # the first look takes memory of its own
        early = held()
print(json.dumps([early, held()]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the process's size from /proc")
@pytest.mark.parametrize(
    ("device", "sizes"),
    [("cpu", [8]), ("cpu", [3, 8, 13, 21]), ("numpy", [3, 8, 13, 21]), ("webgpu", [8])],
    ids=["C", "C, sizes that change", "NumPy, sizes that change", "WebGPU, recorded"],
)
def test_ten_thousand_steps_take_no_more_memory_than_a_thousand(device, sizes):
    environment = dict(os.environ)
    if device == "numpy":
        environment["TAPESCOPE_CC"] = ""
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, device.replace("numpy", "cpu"), json.dumps(sizes), "10000"],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    early, late = json.loads(run.stdout)
    # A hundred bytes a step would be 900,000.
    assert late[0] - early[0] < 500_000
    assert late[1] - early[1] < 100 and late[2] == early[2]
