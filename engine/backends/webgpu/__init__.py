"""The device `webgpu`, and what a user can ask about it: `torch.webgpu`.

Importing this package opens nothing and imports no GPU library; the first tensor on the device does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base import backend as _backend
from ..base import register_backend as _register
from .gpu import AdapterInfo, DeviceError, DeviceLost, NoAdapter, OutOfMemory, StaleBuffer

if TYPE_CHECKING:
    from .backend import WebGPUBackend

__all__ = [
    "AdapterInfo", "DeviceError", "DeviceLost", "NoAdapter", "OutOfMemory", "StaleBuffer", "adapters", "device_name",
    "empty_cache", "is_available", "memory_stats", "synchronize",
]  # fmt: skip


def _open() -> WebGPUBackend:
    from .backend import WebGPUBackend

    return WebGPUBackend()


_register("webgpu", _open)


def _the_backend() -> Any:
    return _backend("webgpu")


def adapters() -> list[AdapterInfo]:
    """The adapters that can be opened, the best first (the one that will be, unless TAPESCOPE_ADAPTER names another).

    Raises NoAdapter where the package wgpu itself does not load.
    """
    from .native import adapters as found

    return found()


def is_available() -> bool:
    """Whether there is an adapter."""
    try:
        return bool(adapters())
    except NoAdapter:
        return False


def device_name() -> str:
    """The adapter in use. Opens the device; raises NoAdapter where there is none."""
    return str(_the_backend().device.gpu.info)


def memory_stats() -> dict[str, int]:
    """Bytes of device memory in use, reserved by the pool, and the most in use so far; counts of buffers and launches."""
    device = _the_backend().device
    return {**device.pool.stats(), "submissions": device.submissions, "pipelines": device.pipelines}


def empty_cache() -> None:
    """Give the memory that no tensor uses back to the driver."""
    device = _the_backend().device
    device.flush()
    device.pool.empty()


def synchronize() -> None:
    """Wait until everything launched has run."""
    _the_backend().synchronize()
