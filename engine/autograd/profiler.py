"""`torch.autograd.profiler`: the older names of what `torch.profiler` does."""

from __future__ import annotations

from typing import Any

from .. import profiler as _profiler
from ..profiler import EventList, record_function


class profile(_profiler.profile):
    """Records the operators run inside `with`, unless `enabled` is False."""

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, record_shapes: bool = False, **_: Any):
        super().__init__(record_shapes=record_shapes)
        self.enabled = enabled

    def start(self) -> None:
        """Begin."""
        if self.enabled:
            super().start()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all operators."""
        return sum(e.self_cpu_time_total for e in self.events())

    def table(self, sort_by: str | None = None, row_limit: int = 100, **_: Any) -> str:
        """Every call as text."""
        return self.events().table(sort_by, row_limit)


__all__ = ["EventList", "profile", "record_function"]
