"""Which cell runs and which wait: the queue that every transport keeps in front of its kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from .messages import Execute, Executed


class CellQueue:
    """Hands cells out one at a time. A cell that fails or is interrupted takes the waiting ones with it.

    No thread safety of its own.
    """

    def __init__(self) -> None:
        self.running: Execute | None = None
        self._waiting: deque[Execute] = deque()

    @property
    def waiting(self) -> list[str]:
        """Ids of the cells that wait, in order."""
        return [command.cell for command in self._waiting]

    def add(self, command: Execute) -> None:
        """Put a cell at the end."""
        self._waiting.append(command)

    def take(self) -> Execute | None:
        """The next cell to run, now `running`; None while one runs or none waits."""
        if self.running is None and self._waiting:
            self.running = self._waiting.popleft()
            return self.running
        return None

    def ended(self, event: Executed) -> list[Executed]:
        """The running cell ended; returns the events of those that are cancelled by that."""
        self.running = None
        return [] if event.status == "ok" else self.cancel()

    def cancel(self, cells: Collection[str] | None = None, *, status: str = "aborted") -> list[Executed]:
        """Drop what waits (of these cells, where any are named); returns the event of each."""
        dropped = [command for command in self._waiting if cells is None or command.cell in cells]
        self._waiting = deque(command for command in self._waiting if command not in dropped)
        return [Executed(command.cell, status, 0, 0.0) for command in dropped]

    def died(self) -> list[Executed]:
        """The kernel is gone: the events of the running cell and of those that waited."""
        running, self.running = self.running, None
        first = [] if running is None else [Executed(running.cell, "died", 0, 0.0)]
        return first + self.cancel(status="died")
