"""A thread that does something a moment after it was asked for, once however often that was."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Ticker:
    """Calls `action()` `delay` seconds after `poke`, from a thread of its own that sleeps otherwise."""

    def __init__(self, action: Callable[[], None], delay: float) -> None:
        self._action = action
        self._delay = delay
        self._event = threading.Event()
        self._closed = False
        threading.Thread(target=self._run, name="tapescope-ticker", daemon=True).start()

    def poke(self) -> None:
        """Ask for the action. Cheap, callable from any thread."""
        self._event.set()

    def close(self) -> None:
        """End the thread; what was asked for is not done any more."""
        self._closed = True
        self._event.set()

    def _run(self) -> None:
        while True:
            self._event.wait()
            time.sleep(self._delay)
            self._event.clear()
            if self._closed:
                return
            self._action()
