"""Device memory: blocks for tensors, cut from a pool of buffers in size classes.

A freed block's buffer goes back to the pool and serves the next tensor of its class, last in first out, so that a loop
meets the same buffers again and with them the bind groups made for them.  Each buffer counts its generations: a block
whose buffer was given back, or whose device was lost, has no `handle` any more, and asking for it raises.

A block above the size that a binding may have has no single handle either; `window` gives handles for parts of it.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from ...observe import BufferChanged, bus
from .gpu import Gpu, OutOfMemory, StaleBuffer

handles = itertools.count(1)
"""Numbers for buffers and pipelines, of all devices of the process; none is used twice."""

WINDOW_ALIGNMENT = 256


class TooLarge(RuntimeError):
    """The memory is larger than one binding, and the operator asked for all of it at once."""


def size_class(nbytes: int) -> int:
    """The size of the buffer that serves `nbytes`: four classes to each doubling, 256 at least."""
    if nbytes <= 256:
        return 256
    step = 1 << (nbytes.bit_length() - 3)
    return -(-nbytes // step) * step


class Block:
    """Memory of one tensor storage, given back when nobody refers to it any more.

    `handle` names the buffer in commands. `generation` counts the tenants of the buffer up to this one.  `bounds` are two
    values between which all of the block lie, and whether both occur, where that is known (of integers that came from the host or
    from a kernel that makes places, until something writes here).
    """

    __slots__ = ("__weakref__", "bounds", "buffer", "generation", "handle", "nbytes", "pool", "size", "windows")

    handle: int

    def __init__(self, pool: Pool, buffer: int, size: int, nbytes: int, generation: int, large: bool):
        self.pool = pool
        self.buffer = buffer
        self.size = size
        self.nbytes = nbytes
        self.generation = generation
        self.bounds: tuple[int, int, bool] | None = None
        self.windows: WeakValueDictionary[tuple[int, int], Window] | None = WeakValueDictionary() if large else None
        if not large:
            self.handle = buffer

    def __getattr__(self, name: str) -> Any:
        # Only reached where the slot is empty.
        if name == "handle":
            if self.buffer and self.windows is not None:
                limit = self.pool.binding_bytes >> 20
                raise TooLarge(
                    f"A tensor of {self.nbytes / 2**20:.0f} MiB does not fit into one binding of the WebGPU device ({limit} MiB), and "
                    "this operator needs all of it at once. Work on slices of it, or on device='cpu'."
                )
            raise StaleBuffer(
                f"This tensor's memory (generation {self.generation} of its buffer) is no longer its own: "
                + (
                    f"the WebGPU device was lost ({self.pool.lost})."
                    if self.pool.lost
                    else "it was given back to the pool."
                )
                + " Make the tensor again."
            )
        raise AttributeError(name)

    def window(self, start: int, nbytes: int) -> tuple[Window, int]:
        """The part of a large block that holds these bytes, and how many bytes of it lie before `start`."""
        if not self.buffer or self.windows is None:
            raise StaleBuffer("This tensor's memory is no longer its own. Make the tensor again.")
        first = start - start % WINDOW_ALIGNMENT
        end = min(self.size, -(-(start + nbytes) // WINDOW_ALIGNMENT) * WINDOW_ALIGNMENT)
        made = self.windows.get((first, end))
        if made is None:
            made = self.windows[first, end] = Window(self, next(handles))
            self.pool.gpu.create_window(made.handle, self.buffer, first, end - first)
        return made, start - first

    def release(self) -> None:
        """Give the memory back now; whatever still refers to the block cannot use it any more."""
        buffer = self.buffer
        if buffer:
            self.buffer = 0
            if self.windows is None:
                del self.handle
            self.pool.put_back(self, buffer)

    def __del__(self) -> None:
        try:
            if self.buffer:
                self.pool.put_back(self, self.buffer)
        except AttributeError:
            pass  # the interpreter is shutting down, or the block was never finished


class Window:
    """A part of a large block, with a handle of its own; stands where kernels expect a block, and keeps it alive."""

    __slots__ = ("__weakref__", "bounds", "handle", "owner", "windows")

    def __init__(self, owner: Block, handle: int):
        self.bounds = None
        self.owner = owner
        self.handle = handle
        self.windows = None

    @property
    def buffer(self) -> int:
        """What commands call it."""
        return self.handle

    @property
    def pool(self) -> Pool:
        """The pool of the block."""
        return self.owner.pool

    def __del__(self) -> None:
        self.owner.pool.doom(self.handle)


class Pool:
    """The buffers of one device. `submit` sends what was recorded so far, and ends by calling `submitted`."""

    def __init__(self, gpu: Gpu, submit: Callable[[], None]):
        self.gpu = gpu
        self.binding_bytes = gpu.limits.binding_bytes
        self.buffer_bytes = gpu.limits.buffer_bytes
        self.lost: str | None = None
        self.epoch = 0
        """Counts submissions; a buffer freed in an earlier epoch is in no unsubmitted command."""
        self._submit = submit
        self._free: dict[int, list[int]] = {}
        self._freed_in: dict[int, int] = {}
        self._generations: dict[int, int] = {}
        self._classes: dict[int, int] = {}
        self._doomed: list[int] = []
        self.parts: dict[int, tuple[int, int, int]] = {}
        """Windows of slabs (`slabs.py`): the buffer that each is a part of, its bytes, and how many lie before it."""
        self.in_use = self.reserved = self.peak = 0
        self.created = self.reused = 0

    @property
    def origin(self) -> Pool:
        """Itself; of a slab it is the pool that has the slab's memory."""
        return self

    def take(self, nbytes: int) -> Block:
        """A block of at least `nbytes` with unspecified contents. Raises OutOfMemory, DeviceLost."""
        size = self._classes.get(nbytes) or self._class(nbytes)
        free = self._free.get(size)
        if free:
            buffer = free.pop()
            self.reused += 1
        else:
            buffer = self._create(size)
        return self._block(buffer, size, nbytes)

    def take_idle(self, nbytes: int) -> Block:
        """A block that no unsubmitted command refers to, so that it may be written right away."""
        size = self._classes.get(nbytes) or self._class(nbytes)
        free = self._free.get(size, ())
        for i in range(len(free) - 1, -1, -1):
            if self._freed_in.get(free[i], -1) < self.epoch:
                self.reused += 1
                return self._block(free.pop(i), size, nbytes)  # type: ignore[union-attr]
        return self._block(self._create(size), size, nbytes)

    def _block(self, buffer: int, size: int, nbytes: int) -> Block:
        generation = self._generations[buffer] = self._generations[buffer] + 1
        self.in_use += size
        if self.in_use > self.peak:
            self.peak = self.in_use
        if bus.buffer:
            bus.publish(BufferChanged("webgpu", size, self.in_use))
        return Block(self, buffer, size, nbytes, generation, nbytes > self.binding_bytes)

    def _class(self, nbytes: int) -> int:
        if nbytes > self.buffer_bytes:
            raise OutOfMemory(
                f"A tensor of {nbytes / 2**20:.0f} MiB is larger than the largest buffer of the WebGPU device "
                f"({self.buffer_bytes >> 20} MiB). Split it, or keep it on device='cpu'."
            )
        size = size_class(nbytes)
        if size > self.binding_bytes >= nbytes:
            size = self.binding_bytes
        self._classes[nbytes] = size = min(size, self.buffer_bytes)
        return size

    def _create(self, size: int) -> int:
        buffer = next(handles)
        try:
            self.gpu.create_buffer(buffer, size)
        except OutOfMemory:
            self._submit()
            self.empty()
            try:
                self.gpu.create_buffer(buffer, size)
            except OutOfMemory as error:
                raise OutOfMemory(
                    f"{error} {self.in_use / 2**20:.1f} MiB are in use by tensors, {size / 2**20:.1f} MiB more were asked for."
                ) from None
        self._generations[buffer] = 0
        self.reserved += size
        self.created += 1
        return buffer

    def put_back(self, block: Block, buffer: int) -> None:
        """Take a buffer back from a block (called by blocks)."""
        size = block.size
        self.in_use -= size
        if self.lost is None:
            self._freed_in[buffer] = self.epoch
            free = self._free.get(size)
            if free is None:
                free = self._free.setdefault(size, [])
            free.append(buffer)
        if bus.buffer:
            bus.publish(BufferChanged("webgpu", -size, self.in_use))

    def doom(self, window: int) -> None:
        """Destroy a window's handle once the commands that may name it are submitted (called by windows)."""
        self._doomed.append(window)

    def submitted(self) -> None:
        """All commands made so far have been submitted."""
        self.epoch += 1
        while self._doomed:
            self.gpu.destroy_buffer(self._doomed.pop())

    def generation(self, buffer: int) -> int:
        """How many tenants a buffer has had."""
        return self._generations.get(buffer, 0)

    def check(self, buffer: int, generation: int) -> None:
        """Raise StaleBuffer unless `generation` is the buffer's latest tenant, alive or not."""
        now = self._generations.get(buffer)
        if now != generation or self.lost is not None:
            raise StaleBuffer(
                f"Buffer {buffer} belongs to another tensor by now (generation {now}, not {generation})."
                if self.lost is None
                else f"Buffer {buffer} is gone: the WebGPU device was lost ({self.lost})."
            )

    def empty(self) -> int:
        """Destroy the buffers that no tensor uses; returns how many bytes they had. Call after a submission."""
        freed = 0
        for size, free in self._free.items():
            while free:
                buffer = free.pop()
                self.gpu.destroy_buffer(buffer)
                self._generations.pop(buffer, None)
                self._freed_in.pop(buffer, None)
                freed += size
        self.reserved -= freed
        return freed

    def invalidate(self, cause: str) -> None:
        """The device is lost: take the handles away from all blocks, so that using one says so at once."""
        self.lost = cause.rstrip(" .")
        self._free.clear()
        self.parts.clear()
        for found in gc.get_objects():
            if type(found) is Block and found.buffer and found.pool.origin is self:
                found.buffer = 0
                if found.windows is None:
                    del found.handle
        self.in_use = self.reserved = 0

    def stats(self) -> dict[str, int]:
        """Bytes in use, reserved, and the most in use so far; buffers created, and taken again from the pool."""
        return {
            "allocated_bytes": self.in_use,
            "reserved_bytes": self.reserved,
            "peak_allocated_bytes": self.peak,
            "buffers_created": self.created,
            "buffers_reused": self.reused,
        }
