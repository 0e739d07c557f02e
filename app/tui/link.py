"""From the kernel's reader thread to the app's loop: events are gathered and handed over in batches.

However fast a cell prints, the app gets at most `RATE` batches a second, and the kernel is made to wait while the app
is behind.  It interprets no event.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable

from ..kernel.messages import Message

__all__ = ["RATE", "KernelLink"]

RATE = 25
"""Batches a second, at most: as often as the eye follows a moving plot."""

BACKLOG = 2_000
"""Events that may wait for the app before the thread that brings them has to wait."""


class KernelLink:
    """An `on_event` for a kernel transport; `deliver` is called in `loop` with the events since the last call."""

    def __init__(self, loop: asyncio.AbstractEventLoop, deliver: Callable[[list[Message]], None]) -> None:
        self._loop = loop
        self._deliver = deliver
        self._events: deque[Message] = deque()
        self._lock = threading.Condition()
        self._scheduled = False
        self._last = 0.0

    def __call__(self, event: Message) -> None:
        """Take one event, from any thread."""
        with self._lock:
            self._events.append(event)
            if self._scheduled:
                self._lock.wait_for(lambda: len(self._events) < BACKLOG or self._loop.is_closed(), timeout=1.0)
                return
            self._scheduled = True
        try:
            self._loop.call_soon_threadsafe(self._plan)
        except RuntimeError:  # the loop is closed: the app is gone, and so is whoever would look
            pass

    def _plan(self) -> None:
        wait = self._last + 1 / RATE - self._loop.time()
        if wait > 0:
            self._loop.call_later(wait, self._hand_over)
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        with self._lock:
            events, self._events = list(self._events), deque()
            self._scheduled = False
            self._lock.notify_all()
        self._last = self._loop.time()
        if events:
            self._deliver(events)
