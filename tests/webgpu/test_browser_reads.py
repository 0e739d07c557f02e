"""Values of a browser's device where Python can neither block nor suspend: `await tensor.item_async()`.

The page's half is stood in for by a module that runs the packed commands on the native device and answers as a promise does. What a
real page does is tests/web's subject.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import sys
import types

import pytest

from tapescope import engine as torch
from tapescope.engine import dtypes
from tapescope.engine.backends.webgpu import browser
from tapescope.engine.backends.webgpu.backend import WebGPUBackend
from tapescope.engine.backends.webgpu.gpu import DeviceError
from tapescope.engine.tensor import wrap


class Page(types.ModuleType):
    """The module `tapescope_gpu` of a page that cannot block."""

    synchronous = False

    def __init__(self, gpu):
        super().__init__("tapescope_gpu")
        self.gpu, self.reply, self.asked = gpu, b"", []

    async def request(self, what, argument):
        await asyncio.sleep(0)
        self.asked.append(what)
        if what == "open":
            info = self.gpu.info
            facts = {"name": info.name, "kind": info.kind, "driver": info.driver, "vendor": info.vendor, "features": []}
            self.reply = json.dumps(facts).encode()
        elif what == "read":
            parts = self.gpu.read(json.loads(argument))
            self.reply = b"".join(bytes(p) + b"\0" * (-len(p) % 8) for p in parts)
        return 1

    def text(self):
        return self.reply.decode()

    def take(self, pointer, start, n):
        ctypes.memmove(pointer, self.reply[start : start + n], n)

    def write(self, handle, offset, pointer, n):
        self.gpu.write(handle, offset, ctypes.string_at(pointer, n))

    def pipeline(self, *what):
        self.gpu.create_pipeline(*what)

    def commands(self, pointer, n):
        words, i, plain = list((ctypes.c_uint32 * n).from_address(pointer)), 0, []
        kinds = {browser.CREATE: ("create_buffer", 2), browser.WINDOW: ("create_window", 4),
                 browser.DESTROY: ("destroy_buffer", 1), browser.FORGET: ("destroy_pipeline", 1)}  # fmt: skip
        while i < n:
            if words[i] in kinds:
                if plain:
                    self.gpu.submit(plain)
                name, count = kinds[words[i]]
                getattr(self.gpu, name)(*words[i + 1 : i + 1 + count])
                i, plain = i + 1 + count, []
                continue
            if words[i] == 1:
                buffers = words[i + 5]
                size = 7 + buffers + words[i + 6 + buffers]
            else:
                size = 6 if words[i] == 2 else 4
            plain += words[i : i + size]
            i += size
        if plain:
            self.gpu.submit(plain)


@pytest.fixture
def page(need_vulkan, monkeypatch):
    need_vulkan()
    from tapescope.engine.backends.webgpu.native import NativeGpu

    made = Page(NativeGpu(without=("immediates",)))
    monkeypatch.setitem(sys.modules, "tapescope_gpu", made)
    ffi = types.ModuleType("pyodide.ffi")
    ffi.can_run_sync, ffi.run_sync = (lambda: False), None
    monkeypatch.setitem(sys.modules, "pyodide", types.ModuleType("pyodide"))
    monkeypatch.setitem(sys.modules, "pyodide.ffi", ffi)
    browser._opened.cache_clear()
    monkeypatch.setattr(browser, "_ahead", None)
    monkeypatch.setattr(browser, "_taken", [])
    yield made
    browser._opened.cache_clear()
    made.gpu.close()


def test_values_come_by_await_and_otherwise_the_error_names_it(page):
    asyncio.run(browser.open_ahead())
    backend = WebGPUBackend(browser.open_gpu)

    def up(values):
        a = torch.tensor(values).numpy()
        return wrap(backend.upload(a, dtypes.of_numpy(a.dtype)), dtypes.of_numpy(a.dtype), backend)

    x = up([[1.0, 2.0], [3.0, 4.5]])
    total = (x * 2 + 1).sum()
    assert asyncio.run(total.item_async()) == 25.0
    assert asyncio.run(x.t()[0, 1].item_async()) == 3.0
    assert asyncio.run(up([7])[0].item_async()) == 7
    with pytest.raises(DeviceError, match="item_async"):
        total.item()
    with pytest.raises(RuntimeError, match="a Tensor with 4 elements cannot be converted to Scalar"):
        asyncio.run(x.item_async())
    assert page.asked[0] == "open" and page.asked.count("open") == 1


def test_a_device_that_was_not_opened_ahead_says_what_to_do(page):
    assert browser.adapter() is None
    with pytest.raises(RuntimeError, match="device='cpu'"):
        browser.open_gpu()


@pytest.mark.parametrize("device", ["cpu", "webgpu"])
def test_it_is_the_value_everywhere(device, need_vulkan):
    if device == "webgpu":
        need_vulkan()
    t = torch.tensor([1.5, 2.5], device=device)
    assert asyncio.run(t.sum().item_async()) == 4.0
    assert asyncio.run((t.sum() > 3).item_async()) is True
