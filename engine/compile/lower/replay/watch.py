"""What becomes of the seconds that a WebGPU device tells of the launches of a segment's steps.

A device tells them when it submits, long after a step was launched; a step that the engine's own kernels do has several launches.  So
each step of each watched call has a list, to which the device adds.  Nothing here is made while nobody listens.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .assemble import Step

KEPT = 64
"""Calls of which times are kept."""


class Watch:
    """The times of a segment's steps."""

    def __init__(self) -> None:
        self.calls: dict[int, deque[list[float]]] = {}

    def purpose(self, k: int, step: Step) -> tuple[str, list[float]]:
        """For `Device.purpose`: what step `k` computes, and a new list for the seconds of its launches."""
        from .tell import origins

        into: list[float] = []
        self.calls.setdefault(k, deque(maxlen=KEPT)).append(into)
        return ", ".join(origins(step)[:8]), into

    def times(self) -> dict[int, list[float]]:
        """Seconds of each step, of the calls of which they are known."""
        known = {k: [math.fsum(c) for c in calls if c] for k, calls in self.calls.items()}
        return {k: t for k, t in known.items() if t}
