"""The device `webgpu`, and what a user can ask about it: `torch.webgpu`.

Importing this package opens nothing and imports no GPU library; the first tensor on the device does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base import backend as _backend
from ..base import register_backend as _register
from .generator import default_generator as _generator
from .gpu import AdapterInfo, DeviceError, DeviceLost, NoAdapter, OutOfMemory, StaleBuffer

if TYPE_CHECKING:
    from .backend import WebGPUBackend

__all__ = [
    "AdapterInfo", "DeviceError", "DeviceLost", "NoAdapter", "OutOfMemory", "StaleBuffer", "adapters", "device_name",
    "empty_cache", "get_rng_state", "initial_seed", "is_available", "kernel_choices", "manual_seed", "manual_seed_all", "memory_stats", "seed",
    "set_rng_state", "synchronize",
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
    from . import browser

    if browser.available():
        offered = browser.adapter()
        return [] if offered is None else [offered]
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


def kernel_choices() -> list[str]:
    """Lines that tell which kernels the adapter was found to want, and the figures. Measures it where that has not been done."""
    from .tuning import report

    return report(_the_backend())


def memory_stats() -> dict[str, int]:
    """Bytes of device memory in use, reserved by the pool, and the most in use so far; counts of buffers and launches."""
    device = _the_backend().device
    return {**device.pool.stats(), "submissions": device.submissions, "pipelines": device.pipelines}


def empty_cache() -> None:
    """Give the memory that no tensor uses back to the driver."""
    device = _the_backend().device
    device.flush()
    device.pool.empty()


def manual_seed(seed: int) -> None:
    """Start the device's default generator from `seed` (`torch.manual_seed` does that too)."""
    _generator.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Start the device's default generator from a seed that nobody can foretell."""
    _generator.seed()


def initial_seed() -> int:
    """The seed that the device's default generator was started from."""
    return _generator.initial_seed()


def get_rng_state(device: Any = "webgpu") -> Any:
    """The state of the device's default generator: a uint8 tensor of 16 elements, the seed and the counter."""
    return _generator.get_state()


def set_rng_state(new_state: Any, device: Any = "webgpu") -> None:
    """Set the state of the device's default generator to what `get_rng_state` gave."""
    _generator.set_state(new_state)


def synchronize() -> None:
    """Wait until everything launched has run."""
    _the_backend().synchronize()
