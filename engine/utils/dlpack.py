"""DLPack: tensors of the CPU exchanged with other libraries without a copy, through numpy's implementation of the protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.creation import from_numpy
from ..tensor import Tensor


def _capsule(self: Tensor, *, stream: Any = None, **kwargs: Any) -> Any:
    """The tensor's memory as a DLPack capsule. Raises BufferError for one on the tape or on another device."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if not self.is_cpu or self.dtype.rounds:
        raise BufferError(f"Can't export a tensor of {self.dtype} on {self.device}; use a CPU tensor of another dtype")
    return self._data.__dlpack__(**kwargs)


def _device(self: Tensor) -> tuple[int, int]:
    """DLPack's number of the device: (1, 0) is the CPU."""
    if not self.is_cpu:
        raise BufferError(f"Can't export a tensor on {self.device}; copy it with .cpu() first")
    return (1, 0)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array. Raises TypeError for what does not speak DLPack."""
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(f"from_dlpack wants an object with __dlpack__, got {type(ext_tensor).__name__}")
    array = np.from_dlpack(ext_tensor)
    out = from_numpy(array.copy() if copy or not array.flags.writeable else array)
    return out if device is None else out.to(device)


def to_dlpack(tensor: Tensor) -> Any:
    """The tensor's memory as a DLPack capsule."""
    return _capsule(tensor)


METHODS: dict[str, Any] = {"__dlpack__": _capsule, "__dlpack_device__": _device}
