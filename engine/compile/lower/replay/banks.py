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

REST = 16
"""Calls after which inputs that lie elsewhere again are moved once more; until then launches run one by one."""


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
        self.calls, self.moved = 0, -REST

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
        away = []
        for bank in self.all:
            if bank.slab:
                blocks = [held[s].block for s in bank.slots]
                now = [block.handle for block in blocks]
                if now != bank.seen and not self._found(bank, now):
                    away.append((bank, blocks))
        if not away:
            return True
        if self.calls - self.moved < REST and self.moved > 0:
            return False
        for bank, blocks in away:
            for block, n in zip(blocks, bank.sizes, strict=True):
                if (
                    block.windows is not None
                    or -(-block.nbytes // 4) * 4 != n
                    or block.pool.origin is not self.device.pool
                ):
                    return False
        self.moved = self.calls
        for bank, blocks in away:
            gather(self.device, blocks)
            self._found(bank, [block.handle for block in blocks])
        return True

    def _found(self, bank: Bank, now: list[int]) -> bool:
        """Whether these are the windows of a slab, laid out as the bank is; then they are noted."""
        parts = [self.device.parts.get(h) for h in now]
        first = parts[0]
        if first is None or any(p is None or p[0] != first[0] for p in parts):
            return False
        if [p[2] for p in parts if p is not None] != bank.places:
            return False
        bank.seen, bank.buffer = now, first[0]
        return True


__all__ = ["Bank", "Banks"]
