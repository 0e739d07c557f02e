"""What tests of lowering share: where a program is compiled for."""

from __future__ import annotations

import pytest

from tapescope import engine as torch


@pytest.fixture(params=["c", "numpy", "webgpu"])
def device(request, monkeypatch, need, need_vulkan):
    """The device to compile for; on the CPU each of its printers in turn."""
    torch.manual_seed(0)
    if request.param == "webgpu":
        need_vulkan()
        return "webgpu"
    if request.param == "numpy":
        monkeypatch.setenv("TAPESCOPE_CC", "")
    else:
        need("cc")
        monkeypatch.setenv("TAPESCOPE_CFLAGS", "-O1")
    return "cpu"
