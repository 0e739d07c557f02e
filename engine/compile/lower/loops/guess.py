"""How long a kernel runs on one core, guessed from its statements: enough to tell what is worth a second core, no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .form import Let, Loop
from .scalar import COST

LANES_SPEED, SPEED, MEMORY_SPEED = 48.0, 1.0, 24.0
"""Simple operations a nanosecond side by side in lanes and one by one, and bytes a nanosecond."""


def duration(body: Sequence[Any], lanes: bool = False) -> float:
    """Nanoseconds of the statements, those in loops by the turns of the loops (64 where a size is symbolic)."""
    total = 0.0
    for s in body:
        if isinstance(s, Loop):
            total += (s.size.number if s.size.number is not None else 64) * duration(s.body, s.lanes)
            continue
        cost = COST.get(s.scalar.op, 1) if isinstance(s, Let) else 1
        library = isinstance(s, Let) and cost > 3 and s.scalar.type == "f64"
        total += cost / (LANES_SPEED if lanes and not library else SPEED)
    return total
