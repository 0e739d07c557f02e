"""The memory of what launches bind together: one buffer for each role (see `horizontal.py`).

A bank of inputs that are written is a slab: the first call that finds them elsewhere moves them. Any other bank belongs to the recording:
intermediate results live in it, inputs are copied into it before anything runs, results out of it at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....backends.webgpu.gpu import COPY
from ....backends.webgpu.memory import Window, handles
from ....backends.webgpu.slabs import gather, seats
from ....dtypes import DTYPES
from ..loops.scalar import NUMPY
from .horizontal import Horizontal

if TYPE_CHECKING:
    from .webgpu import GpuSegment

FREELY, REST = 4, 16
"""How often inputs that lie elsewhere are moved at once, and the calls between two moves from then on; until then launches run one by one."""


class Bank:
    """Arrays in one buffer: the bytes of each slot, and how many lie before it."""

    def __init__(self, slots: list[int], sizes: list[int], slab: bool):
        self.slots, self.sizes, self.slab = slots, sizes, slab
        self.places, self.bytes = seats(sizes)
        self.block: Any = None
        """The memory, where it is the recording's."""
        self.windows: dict[int, Window] = {}
        self.seen: list[int] = []
        """The windows of the inputs when they were last looked at."""
        self.buffer = 0
        """The slab's buffer then."""
        self.laid = self.places
        """How many bytes lie before each slot there. A slab that another recording made may have more in it, and in another order."""


class Banks:
    """The banks of one recording."""

    def __init__(self, segment: GpuSegment, device: Any, plan: Horizontal):
        self.device = device
        self.kinds = plan.kinds
        a = segment.assembly
        values = {s: v for v, s in a.slots.items() if a.root(v) is v}

        def size(s: int) -> int:
            v = values[s]
            return -(-(v.numel().number or 0) * segment.backend.itemsize(DTYPES[NUMPY[v.dtype]]) // 4) * 4

        self.all = [Bank(sorted(m), [size(s) for s in sorted(m)], plan.kinds[m[0]] == "slab") for m in plan.banks]
        self.of: dict[int, tuple[int, int]] = {}
        """Slot to (bank, bytes before it)."""
        self.bytes = 0
        for b, bank in enumerate(self.all):
            self.of.update({s: (b, place) for s, place in zip(bank.slots, bank.places, strict=True)})
            if not bank.slab:
                bank.block = device.pool.take(bank.bytes)
                self.bytes += bank.block.size
                for s, place, n in zip(bank.slots, bank.places, bank.sizes, strict=True):
                    window = bank.windows[s] = Window(bank.block, next(handles))
                    device.gpu.create_window(window.handle, bank.block.handle, place, -(-n // 256) * 256)
        self.calls = self.moved = self.moves = 0
        self.changed = False
        """Whether slabs are laid out otherwise than when the recording last looked."""

    def alone(self, s: int) -> int | None:
        """The handle of one slot for launches that bind nothing else of its bank; None for inputs, which have their own."""
        if s not in self.of or self.kinds[s] in ("slab", "in"):
            return None
        return self.all[self.of[s][0]].windows[s].handle

    def copies(self, kind: str) -> list[tuple[int, list[int]]]:
        """Copies of inputs into their banks ("in"), or of results out of them ("out"): slot and command, with 0 for the slot's handle."""
        out: list[tuple[int, list[int]]] = []
        for bank in self.all:
            for s, place, n in zip(bank.slots, bank.places, bank.sizes, strict=True):
                if not bank.slab and self.kinds[s] == kind:
                    mine = (bank.block.handle, place)
                    out.append((s, [COPY, 0, 0, *mine, n] if kind == "in" else [COPY, *mine, 0, 0, n]))
        return out

    def ready(self, held: dict[int, Any]) -> bool:
        """Whether all inputs that are written lie in their slabs, moved now where that is due."""
        self.calls += 1
        away: list[Bank] = []
        buffers: set[int] = set()
        for bank in self.all:
            if bank.slab:
                blocks = [held[s].block for s in bank.slots]
                now = [block.handle for block in blocks]
                if (now != bank.seen and not self._found(bank, blocks)) or bank.buffer in buffers:
                    away.append(bank)
                    bank.seen = []
                else:
                    buffers.add(bank.buffer)
        if not away:
            return True
        if self.moves > FREELY and self.calls - self.moved < REST:
            return False
        for bank in away:
            for s, n in zip(bank.slots, bank.sizes, strict=True):
                block = held[s].block
                if (
                    block.windows is not None
                    or -(-block.nbytes // 4) * 4 != n
                    or block.pool.origin is not self.device.pool
                ):
                    return False
        self.moved = self.calls
        self.moves += 1
        for bank in away:
            blocks = [held[s].block for s in bank.slots]
            gather(self.device, blocks)
            self._found(bank, blocks)
        return True

    def _found(self, bank: Bank, blocks: list[Any]) -> bool:
        """Whether these lie in one slab, each with the whole of its array and nothing else; then their windows are noted."""
        places, buffers = [], set()
        for block, n in zip(blocks, bank.sizes, strict=True):
            part = self.device.parts.get(block.handle)
            if part is None or not _whole(block, n):
                return False
            buffers.add(part[0])
            places.append(part[2])
        if len(buffers) > 1:
            return False
        bank.seen, bank.buffer = [block.handle for block in blocks], buffers.pop()
        if places != bank.laid:
            bank.laid, self.changed = places, True
        return True


def _whole(block: Any, nbytes: int) -> bool:
    """Whether a block has one handle, and room for just so many bytes: kernels may write up to the next multiple of four elements."""
    return block.windows is None and -(-block.nbytes // 4) * 4 == nbytes


__all__ = ["Bank", "Banks"]
