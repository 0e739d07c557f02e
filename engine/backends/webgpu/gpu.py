"""The thin interface between the engine and a WebGPU implementation, and the packed list of commands it runs.

`Gpu` has fifteen calls.  There is one implementation on wgpu-py (`native.py`); the browser's will stand beside it.  Buffers
and pipelines are named by integers that the caller chooses and never uses twice, so that creating one needs no
answer, and a handle in a list can never come to mean another buffer.

**The command list** is flat integers, made once in Python and read once by the implementation:

=========  =====================================================================================================
DISPATCH   pipeline, workgroups x, y, z, number of buffers, the buffers, number of parameter words, the words
COPY       source, source offset, target, target offset, bytes
CLEAR      buffer, offset, bytes
=========  =====================================================================================================

Offsets and byte counts are multiples of 4; parameter words are unsigned 32-bit.  Commands of one list, and lists in the
order of their submission, run one after the other as far as anyone can see.

This file runs nothing and imports no GPU library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DISPATCH, COPY, CLEAR = 1, 2, 3
"""The commands."""

PARAMETER_BYTES = 256
"""Parameter words travel in slots of this size: the alignment that every device accepts for a dynamic offset."""


class DeviceError(RuntimeError):
    """The device refused something, or a kernel is not valid; the message says what."""


class DeviceLost(DeviceError):
    """The device is gone, with everything in its memory."""


class OutOfMemory(DeviceError):
    """The device has no memory left for a buffer."""


class StaleBuffer(DeviceError):
    """A buffer was used after it had been given back, or after its device was lost."""


class NoAdapter(RuntimeError):
    """There is no adapter to open, or not the one asked for; the message says what to install."""


@dataclass(frozen=True, slots=True)
class AdapterInfo:
    """What is known of an adapter. `kind` is "discrete", "integrated", "cpu" or "unknown"."""

    name: str
    backend: str
    kind: str
    driver: str = ""
    vendor: str = ""
    features: frozenset[str] = frozenset()

    @property
    def software(self) -> bool:
        """Whether it computes on the CPU."""
        return self.kind == "cpu"

    def __str__(self) -> str:
        return f"{self.name} ({'software, ' if self.software else ''}{self.backend})"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that kernels and buffers keep to. The defaults are what every browser grants."""

    storage_buffers: int = 8
    invocations: int = 256
    workgroup_bytes: int = 16_384
    binding_bytes: int = 128 << 20
    buffer_bytes: int = 256 << 20
    workgroups: int = 65_535


BROWSER_LIMITS = Limits()
"""What a device is opened with, whatever its adapter could do."""


class Gpu:
    """One open device. Not thread-safe unless an implementation says so."""

    info: AdapterInfo
    limits: Limits
    features: frozenset[str]
    """Those in use, by their WebGPU names: "shader-f16", "timestamp-query"."""
    lost: str | None = None
    """Why the device is gone, or None."""

    def create_buffer(self, handle: int, nbytes: int) -> None:
        """Storage memory. Raises OutOfMemory, DeviceLost."""
        raise NotImplementedError

    def create_window(self, handle: int, buffer: int, offset: int, nbytes: int) -> None:
        """A handle for a part of a buffer, to be bound where the whole is too large; `offset` is a multiple of 256."""
        raise NotImplementedError

    def destroy_buffer(self, handle: int) -> None:
        """Give a buffer's memory (or a window) back once submitted work is done with it."""
        raise NotImplementedError

    def create_pipeline(self, handle: int, source: str, access: str, words: int, label: str) -> None:
        """Compile WGSL. `access` has "r" or "w" for each storage binding, `words` is the size of the parameter block
        at the binding after them. Raises DeviceError with the compiler's message."""
        raise NotImplementedError

    def destroy_pipeline(self, handle: int) -> None:
        """Forget a pipeline."""
        raise NotImplementedError

    def write(self, handle: int, offset: int, data: Any) -> None:
        """Copy bytes (a contiguous buffer-protocol object) into a buffer, before anything submitted later runs."""
        raise NotImplementedError

    def read(self, ranges: Sequence[tuple[int, int, int]]) -> list[bytearray]:
        """Bytes of buffers, (handle, offset, bytes) each, once everything submitted has run. Raises DeviceLost."""
        raise NotImplementedError

    async def read_async(self, ranges: Sequence[tuple[int, int, int]]) -> list[bytearray]:
        """`read` where waiting may have to be left to an event loop."""
        return self.read(ranges)

    def submit(self, commands: Sequence[int]) -> None:
        """Run a command list. Returns before it has run. Raises DeviceError for what the device refuses."""
        raise NotImplementedError

    def submit_timed(self, commands: Sequence[int]) -> list[float] | None:
        """Run a command list, wait, and return the seconds of each dispatch; None where the device cannot tell."""
        raise NotImplementedError

    def wait(self) -> None:
        """Wait until everything submitted has run."""
        raise NotImplementedError

    def errors(self) -> list[str]:
        """What the device has complained about since this was last asked for."""
        raise NotImplementedError

    def close(self) -> None:
        """Give the device back. Everything in its memory is gone."""
        raise NotImplementedError


def validate(commands: Sequence[int]) -> int:
    """Walk over a command list and return how many commands it holds. Raises ValueError where it is malformed."""
    i, count, n = 0, 0, len(commands)
    while i < n:
        code = commands[i]
        if code == DISPATCH:
            j = i + 6 + commands[i + 5]
            i = j + 1 + commands[j] if j < n else n + 1
        elif code == COPY:
            i += 6
        elif code == CLEAR:
            i += 4
        else:
            raise ValueError(f"no command {code} at position {i} of the list")
        count += 1
    if i != n:
        raise ValueError("the command list ends inside of a command")
    return count
