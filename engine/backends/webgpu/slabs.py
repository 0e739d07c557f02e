"""Slabs: blocks of several tensors moved side by side into one buffer, so that one launch can bind all of them.

A block that lies in a slab goes on as it was: its `handle` is that of a window of the slab's buffer, so views, eager kernels, reads and
copies need not know. Its place is never given to another; the buffer goes back to the pool when the slab's last block is gone.

WebGPU takes no buffer as written and as only read in one launch, nor one as source and target of a copy; two windows are one buffer to it.
`Device.launch` and `Device.copy_bytes` ask `parts` (windows with their buffers), and read a copy where that would happen.
Blocks that lie in a slab are best of one role (all weights, all first moments), which kernels seldom mix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .memory import WINDOW_ALIGNMENT, Block, Pool, handles

if TYPE_CHECKING:
    from .device import Device


def seats(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Where parts of these sizes lie one after the other, each at an alignment that can be bound, and the size of all (bytes)."""
    places, end = [], 0
    for n in sizes:
        places.append(end)
        end += -(-max(n, 1) // WINDOW_ALIGNMENT) * WINDOW_ALIGNMENT
    return places, end


class Slab:
    """One buffer in which several blocks live; it stands where they expect the pool that they go back to. Made by `gather`."""

    def __init__(self, pool: Pool, nbytes: int):
        self.pool = pool
        self.block = pool.take(nbytes)

    @property
    def origin(self) -> Pool:
        """The pool of the device."""
        return self.pool

    @property
    def lost(self) -> str | None:
        """Why the device is gone, or None."""
        return self.pool.lost

    @property
    def binding_bytes(self) -> int:
        """The largest binding of the device."""
        return self.pool.binding_bytes

    @property
    def handle(self) -> int:
        """The buffer with all blocks."""
        return self.block.handle

    def put_back(self, block: Block, window: int) -> None:
        """A block is gone (called by blocks)."""
        self.pool.parts.pop(window, None)
        if self.pool.lost is None:
            self.pool.doom(window)


def gather(device: Device, blocks: Sequence[Block]) -> None:
    """Move blocks side by side into a new buffer, where `seats` says, on the device and in the order of its commands.

    They must be of this device's pool, distinct, and small enough to be bound together. Raises OutOfMemory, StaleBuffer, DeviceLost.
    """
    pool = device.pool
    places, total = seats([b.nbytes for b in blocks])
    olds = [b.handle for b in blocks]
    slab = Slab(pool, total)
    for block, place, old in zip(blocks, places, olds, strict=True):
        nbytes = -(-max(block.nbytes, 1) // WINDOW_ALIGNMENT) * WINDOW_ALIGNMENT
        device.copy_bytes(old, 0, slab.handle, place, min(-(-block.nbytes // 4) * 4, block.size, nbytes))
        window = next(handles)
        pool.gpu.create_window(window, slab.handle, place, nbytes)
        pool.parts[window] = (slab.handle, nbytes, place)
        owner = block.pool
        block.pool = slab  # type: ignore[assignment]
        block.buffer = block.handle = window
        owner.put_back(block, old)
        block.size = nbytes


__all__ = ["Slab", "gather", "seats"]
