"""`torch.accelerator`: the device that computes fast here, if there is one: a WebGPU adapter that is hardware.

A software adapter is never offered; where the session's default device was set to `webgpu` by hand, that is respected.
"""

from __future__ import annotations

from typing import Any

from .device import device, get_default_device


def _hardware() -> bool:
    from .backends import webgpu

    if get_default_device().type == "webgpu":
        return True
    try:
        return any(not a.software for a in webgpu.adapters())
    except Exception:  # a broken driver is no accelerator
        return False


def is_available() -> bool:
    """Whether there is an accelerator."""
    return _hardware()


def current_accelerator(check_available: bool = False) -> device | None:
    """The accelerator's device, or None."""
    return device("webgpu") if _hardware() else None


def device_count() -> int:
    """How many there are: one or none."""
    return int(_hardware())


def current_device_index() -> int:
    """The index of the current one."""
    return 0


def set_device_index(index: Any) -> None:
    """There is one accelerator at most; raises RuntimeError for another."""
    if device(index).index not in (None, 0) if not isinstance(index, int) else index != 0:
        raise RuntimeError(f"there is one accelerator at most; there is none with index {index}")


def synchronize(device: Any = None) -> None:
    """Wait for the accelerator's work."""
    from .backends.base import _backends

    if "webgpu" in _backends:
        _backends["webgpu"].synchronize()


def empty_cache() -> None:
    """Give unused device memory back."""
    from .backends import webgpu
    from .backends.base import _backends

    if "webgpu" in _backends:
        webgpu.empty_cache()


def memory_stats(device: Any = None) -> dict[str, int]:
    """What the device's memory holds; empty before it is used."""
    from .backends import webgpu
    from .backends.base import _backends

    return webgpu.memory_stats() if "webgpu" in _backends else {}


current_device_idx, set_device_idx = current_device_index, set_device_index
