"""What the kernel's devices are and hold, for the panel that shows it. Nothing is opened by asking."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

from .torch_name import ENGINE

__all__ = ["device_info", "switch_device"]

DEVICES = ("cpu", "webgpu")


def switch_device(name: str) -> str:
    """Make new tensors on a device from now on; "" or a sentence that says why that is impossible."""
    if name not in DEVICES:
        return f"There is no device {name!r}; choose {' or '.join(DEVICES)}."
    from ...engine.device import set_default_device

    try:
        set_default_device(name)
    except Exception as error:
        return f"The device {name!r} cannot be used: {str(error).rstrip('.')}."
    return ""


def device_info(limit: int | None = None) -> dict[str, Any]:
    """Facts as `messages.DeviceInfo` describes them. `limit` is the kernel's memory cap in bytes."""
    facts: list[tuple[str, str]] = []
    memory: dict[str, int] = {}
    device = os.environ.get("TAPESCOPE_DEVICE") or "cpu"
    if ENGINE in sys.modules:
        from ...engine.device import get_default_device

        device = get_default_device().type
    facts.append(("processor", f"{platform.machine()}, {(n := os.cpu_count() or 1)} core{'s' if n != 1 else ''}"))
    if (resident := _resident()) is not None:
        memory["process"] = resident
        facts.append(("kernel memory", _size(resident)))
    if limit is not None:
        memory["limit"] = limit
        facts.append(("memory cap", _size(limit)))
    if (pair := _machine_memory()) is not None:
        facts.append(("machine", f"{_size(pair[1])} free of {_size(pair[0])}"))
    facts.extend(_webgpu(memory))
    return {"device": device, "devices": list(DEVICES), "facts": facts, "memory": memory, "error": ""}


def _webgpu(memory: dict[str, int]) -> list[tuple[str, str]]:
    """Adapter and pool, where the device is open already."""
    base = sys.modules.get(f"{ENGINE}.backends.base")
    backend = getattr(base, "_backends", {}).get("webgpu") if base is not None else None
    if backend is None:
        return [("webgpu", "not opened")]
    from ...engine.backends import webgpu

    facts = [("adapter", webgpu.device_name())]
    stats = webgpu.memory_stats()
    for name, value in stats.items():
        if isinstance(value, int):
            memory[f"webgpu {name}"] = value
    shown = {"in_use": "in use", "reserved": "pool", "peak": "peak"}
    facts.extend((text, _size(stats[name])) for name, text in shown.items() if name in stats)
    facts.extend((name.replace("_", " "), f"{value:,}") for name, value in stats.items() if name not in shown)
    return facts


def _resident() -> int | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def _machine_memory() -> tuple[int, int] | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in file if "kB" in line}
        return found["MemTotal"], found["MemAvailable"]
    except (OSError, ValueError, KeyError, IndexError):
        return None


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"
