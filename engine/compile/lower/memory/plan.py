"""Where arrays live: intermediate results share one arena, in which a stretch is used again when what it held is dead.

Sizes may be symbolic; then the plan is laid out for the sizes of a call, and kept for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGN = 64


@dataclass(frozen=True)
class Need:
    """A stretch of memory: its bytes, and the first and the last step that use it."""

    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Layout:
    """Offsets in the arena, its size, and the bytes that would be needed if nothing were used twice."""

    offsets: tuple[int, ...]
    bytes: int
    unshared: int


def lay_out(needs: Sequence[Need]) -> Layout:
    """Place every need so that those alive at the same time do not overlap: the largest first, each at the lowest place that is free."""
    order = sorted(range(len(needs)), key=lambda i: (-needs[i].bytes, needs[i].first))
    offsets = [0] * len(needs)
    placed: list[int] = []
    total = 0
    for i in order:
        n = needs[i]
        size = -(-n.bytes // ALIGN) * ALIGN
        busy = sorted(
            (offsets[j], offsets[j] + -(-needs[j].bytes // ALIGN) * ALIGN)
            for j in placed
            if needs[j].first <= n.last and n.first <= needs[j].last
        )
        at = 0
        for low, high in busy:
            if at + size <= low:
                break
            at = max(at, high)
        offsets[i] = at
        placed.append(i)
        total = max(total, at + size)
    return Layout(tuple(offsets), total, sum(-(-n.bytes // ALIGN) * ALIGN for n in needs))
