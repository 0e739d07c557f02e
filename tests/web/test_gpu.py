"""WebGPU in the page: a device in a worker of its own, command lists, values read while Python waits."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

COMPARE = """
import torch
import numpy as np
torch.manual_seed(0)
a = torch.randn(37, 53, device="cpu"); b = torch.randn(53, 29, device="cpu")
x, y = a.to("webgpu"), b.to("webgpu")
assert x.device.type == "webgpu"
programs = [
    lambda p, q: p @ q, lambda p, q: (p @ q).softmax(1).sum(0), lambda p, q: p.exp().mean(),
    lambda p, q: p.argmax(1), lambda p, q: p[3:9, ::7].t(), lambda p, q: torch.cat([p, p * 2]).cumsum(0),
]
for f in programs:
    assert np.allclose(f(x, y).cpu().numpy(), f(a, b).numpy(), atol=1e-4)
if x.sum() < 1e9:
    print("compared", [i for i in range(3) if x[i, 0] == x[i, 0]], float(x[0, 0]) == a[0, 0].item())
"""

TRAIN = """
import torch
from torch import nn
results = []
for device in ("cpu", "webgpu"):
    torch.manual_seed(1)
    with torch.device("cpu"):
        net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)); x = torch.randn(32, 8)
    net = net.to(device); x = x.to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(20):
        loss = net(x).pow(2).mean(); optimizer.zero_grad(); loss.backward(); optimizer.step()
    results.append(loss.item())
print(abs(results[0] - results[1]) < 1e-4, results[0] < 0.2)
"""

ENDLESS = """
import torch
x = torch.ones(64, 64, requires_grad=True, device="webgpu")
n = 0
while True:
    (x @ x).sum().backward(); x.grad.sum().item(); x.grad = None; n += 1
    if n == 3: print("it goes on")
"""


@pytest.fixture(scope="module")
def page(open_page: Callable):
    return open_page("?device=webgpu").ready()


def test_the_device_is_used(page):
    page.page.click("#tab-device")
    assert "in use" in page.page.inner_text("#panel-device")


def test_values_are_the_cpus(page):
    at = page.add(COMPARE)
    assert "compared [0, 1, 2] True" in page.run(at).done(at)


def test_a_large_tensor_goes_there_and_back(page):
    at = page.add(
        "x = torch.arange(3_000_000, device='cpu', dtype=torch.float32)\n"
        "y = (x.to('webgpu') + 1).cpu()\nprint(bool((y == x + 1).all()))"
    )
    assert "True" in page.run(at).done(at)


def test_gradients_and_steps(page):
    at = page.add(TRAIN)
    assert "True True" in page.run(at).done(at)


def test_a_training_loop_is_stopped_in_the_middle_of_reading(page):
    at = page.add(ENDLESS, "print(n > 0, x.sum().item())")
    page.run(at)
    page.cell(at).locator(".outputs", has_text="it goes on").wait_for(timeout=60_000)
    page.page.click(".stop")
    page.done(at, "interrupted")
    assert "True 4096.0" in page.run(at + 1).done(at + 1)


def test_kernels_are_timed_on_demand(page):
    page.page.click(".status")
    page.page.click('.menu button:has-text("Time every operator")')
    at = page.add(
        "import torch; y = (torch.ones(200, 200, device='webgpu') @ torch.ones(200, 200, device='webgpu')).sum().item()"
    )
    page.run(at).done(at)
    page.page.click("#tab-kernels")
    assert re.search(r"matmul.*1 launch · [\d.]+ (µs|ms)", page.page.inner_text("#panel-kernels"))
    page.page.click(".status")
    page.page.click('.menu button:has-text("Time every operator")')


def test_what_goes_wrong_on_the_device_is_told(page):
    at = page.add(
        "torch.ones(3, device='webgpu')[torch.tensor([7], device='webgpu')].sum().item()", "print(x.sum().item())"
    )
    assert "IndexError" in page.run(at).done(at, "error")
    assert "4096.0" in page.run(at + 1).done(at + 1)


def test_nothing_broke(page):
    assert page.errors == []


def test_a_lost_device_is_told_with_a_way_out_and_the_next_use_opens_another(page):
    at = page.add("x.sum().item()", "print(torch.ones(3, device='webgpu').sum().item())")
    (worker,) = [w for w in page.page.workers if "gpu" in w.url]
    worker.evaluate("() => executor.device.destroy()")
    page.page.wait_for_selector('.banner:has-text("The GPU was lost")')
    told = page.run(at).done(at, "error")
    assert "DeviceLost" in told and "was given" not in told
    assert "3.0" in page.run(at + 1).done(at + 1)
    page.page.click('.banner button:has-text("Restart Python")')
    page.page.wait_for_selector(".status[data-state=loading]")
    page.ready()
    assert page.page.locator(".banner").count() == 0
    assert "NameError" in page.run(at).done(at, "error")


def test_values_are_awaited_where_python_can_neither_block_nor_suspend(open_page, plain_address):
    page = open_page("?device=webgpu", at=plain_address, older=True, service_workers="block").ready()
    code = "import torch\nx = torch.arange(4.0, device='webgpu')"
    page.new(f"{code}\nprint(await (x * 2).sum().item_async())", "x.sum().item()", "print('on')").ready()
    assert "12.0" in page.run(0).done(0)
    assert "await tensor.item_async()" in page.run(1).done(1, "error")
    assert "on" in page.run(2).done(2)
    page.close()
