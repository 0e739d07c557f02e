"""Every program of this folder, eager against compiled: by replay of the captured operators, and by each backend and printer of kernels."""

from __future__ import annotations

import importlib
import os
import pkgutil
from typing import Any

os.environ.setdefault("LP_NUM_THREADS", "0")

import pytest

from tapescope import engine as torch

from . import __name__ as package
from . import __path__ as folder
from .harness import PROGRAMS, check

for _found in pkgutil.iter_modules(folder):
    if _found.name not in ("harness", "standalone", "random_programs") and not _found.name.startswith("test_"):
        importlib.import_module(f"{package}.{_found.name}")

NOT_ON_A_GPU = {
    "breaking.numpy_in_the_middle": "a tensor of another device has no numpy(), which is an error before the breaks",
    "footguns.error_only_at_a_later_call": "a GPU notices bad indices when a value is read",
    "footguns.error_that_comes_out_later": "a GPU notices bad indices when a value is read",
    "footguns.error_after_something_was_written": "a GPU notices bad indices when a value is read",
    "footguns.error_comes_out_after_something_was_written": "a GPU notices bad indices when a value is read",
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program: Any) -> None:
    check(program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_ahead_of_time(program: Any) -> None:
    """Forward and backward as graphs of primitives."""
    check(program, "aot_eager", tolerance=1e-5)


@pytest.mark.parametrize("printer", ["c", "numpy"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_kernels(program: Any, printer: str) -> None:
    """Generated kernels on the CPU."""
    check(program, "tapescope", printer, tolerance=1e-5)


@pytest.mark.filterwarnings("ignore:.*WGSL has no float64")
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name not in NOT_ON_A_GPU], ids=lambda p: p.name)
def test_webgpu(program: Any, need_vulkan: Any) -> None:
    """Generated WGSL, all tensors being on the device."""
    need_vulkan()
    before = torch.get_default_device()
    torch.set_default_device("webgpu")
    try:
        check(program, "tapescope", tolerance=1e-4)
    finally:
        torch.set_default_device(before)
