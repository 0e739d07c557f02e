"""`torch.cuda`: answers as PyTorch built without CUDA does, so that the usual device-picking lines choose something else."""

from __future__ import annotations

from typing import Any

from . import amp as _amp


def _absent(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("Torch not compiled with CUDA enabled. This engine computes on 'cpu' and 'webgpu'.")


def is_available() -> bool:
    """False: there is no CUDA device."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def manual_seed(seed: int) -> None:
    """Accepted and without effect: there is no generator to seed."""
    int(seed)


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Nothing to free."""


def ipc_collect() -> None:
    """Nothing to collect."""


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing to reset."""


def memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
synchronize = current_device = get_device_name = get_device_properties = get_device_capability = set_device = _absent
get_rng_state = set_rng_state = current_stream = mem_get_info = memory_summary = _absent


class Event:
    """Cannot be made: there is no CUDA device to time."""

    def __init__(self, *args: Any, **kwargs: Any):
        _absent()


class Stream(Event):
    """Cannot be made."""


class device:
    """A context manager without effect, as for PyTorch's index -1."""

    def __init__(self, device: Any):
        self.device = device

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


class memory:
    """`torch.cuda.memory`: its functions, and what tells of a history that CUDA's allocator alone keeps."""

    empty_cache, memory_allocated = staticmethod(empty_cache), staticmethod(memory_allocated)
    max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
    reset_peak_memory_stats = staticmethod(reset_peak_memory_stats)
    _record_memory_history = _snapshot = _dump_snapshot = memory_summary = memory_stats = mem_get_info = staticmethod(
        _absent
    )


class amp:
    """`torch.cuda.amp`: the older names."""

    GradScaler = _amp.GradScaler

    @staticmethod
    def autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> Any:
        """`torch.autocast("cuda")`."""
        return _amp.autocast("cuda", dtype, enabled, cache_enabled)
