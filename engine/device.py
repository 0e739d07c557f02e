"""Devices by name, and which one new tensors are made on.

The default comes from `set_default_device`, else from the environment variable `TAPESCOPE_DEVICE`, else it is
`cpu`.  Which hardware stands behind a name is the backends' business.
"""

from __future__ import annotations

import os
from types import TracebackType

from .backends.base import backend, device_names


class device:
    """`torch.device("cpu")`, `torch.device("webgpu", 0)` or `torch.device("webgpu:0")`; compared by value.

    Also a context manager: new tensors are made on it inside `with`. Raises RuntimeError for a name no backend has.
    """

    __slots__ = ("_outer", "index", "type")

    def __init__(self, type: str | device, index: int | None = None):
        if isinstance(type, device):
            type, index = type.type, type.index
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        name, _, number = type.partition(":")
        if number:
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        if name not in device_names() and name != "meta":
            missing = "Torch not compiled with CUDA enabled. " if name == "cuda" else ""
            raise RuntimeError(
                f"{missing}Expected one of {', '.join(device_names())} device type at start of device string: {name}"
            )
        self.type = name
        self.index = index
        self._outer: list[device | None] = []

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and (self.index or 0) == (other.index or 0)

    def __hash__(self) -> int:
        return hash((self.type, self.index or 0))

    def __reduce__(self) -> tuple:
        return (device, (self.type, self.index))

    def __enter__(self) -> device:
        global _default
        self._outer.append(_default)
        _default = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _default
        _default = self._outer.pop()


_default: device | None = None
_CPU: device | None = None


def get_default_device() -> device:
    """The device that new tensors are made on."""
    global _default
    if _default is None:
        _default = device(os.environ.get("TAPESCOPE_DEVICE") or "cpu")
    return _default


def set_default_device(d: device | str | None) -> None:
    """Make new tensors on `d`; None means the CPU. Opens the device, so that a missing one is told here.

    Raises RuntimeError where the device cannot be opened, with advice.
    """
    global _default
    chosen = device(d) if d is not None else device("cpu")
    backend(chosen.type)
    _default = chosen


def resolve(d: device | str | int | None) -> device:
    """A `device=` argument as a device; None is the default."""
    if d is None:
        return get_default_device()
    if isinstance(d, device):
        return d
    if isinstance(d, int):
        raise RuntimeError(
            f"PyTorch is not linked with support for cuda devices (device index {d}); use 'cpu' or 'webgpu'"
        )
    return device(d)
