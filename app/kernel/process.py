"""The native kernel: a Python process of its own, spoken to over pipes that only carry the protocol."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from .messages import Message


class KernelProcess:
    """A kernel in a process of its own.

    `on_event(message)` is called from one thread of this object's own, for one message at a time, in order;
    handing over to another thread is the caller's business (`on_loop` does it for asyncio).

    `device` becomes TAPESCOPE_DEVICE and `torch` ("auto", "tapescope", "pytorch") TAPESCOPE_TORCH of the process.
    """

    def __init__(
        self,
        on_event: Callable[[Message], None],
        *,
        device: str | None = None,
        torch: str = "auto",
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        python: str = sys.executable,
    ) -> None:
        self.on_event = on_event

    @property
    def state(self) -> str:
        """ "new", "starting", "idle", "busy", "dead" (a `Died` was sent) or "closed"."""
        raise NotImplementedError

    @property
    def running(self) -> str | None:
        """The id of the cell that runs, if any."""
        raise NotImplementedError

    @property
    def queued(self) -> list[str]:
        """The ids of the cells that wait, in order."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the process and return at once; `Ready` follows. Commands sent before it are kept in order."""
        raise NotImplementedError

    def send(self, command: Message) -> None:
        """Hand one command to the kernel. Never blocks on a running cell, never raises because the kernel is dead."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Step 1: cancel the queued cells ("aborted") and raise KeyboardInterrupt in the one that runs."""
        raise NotImplementedError

    def restart(self, *, force: bool = False) -> None:
        """Step 2: a new process. Without `force` the old one may leave in order first; with it, it is killed."""
        raise NotImplementedError

    def kill(self) -> None:
        """Step 3: end the process at once; `Died` follows. `start` begins anew."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave in order, kill what does not, and send no further event."""
        raise NotImplementedError


def on_loop(loop: asyncio.AbstractEventLoop, callback: Callable[[Message], None]) -> Callable[[Message], None]:
    """An `on_event` that calls `callback` in `loop`; events that come after the loop was closed are dropped."""

    def hand_over(message: Message) -> None:
        try:
            loop.call_soon_threadsafe(callback, message)
        except RuntimeError:
            pass

    return hand_over
