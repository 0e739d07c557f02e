"""When a KeyboardInterrupt may be raised: in the user's code, and nowhere else.

A signal can arrive at any instruction.  In the middle of a half-written frame, or while a traceback is being
formatted, an exception would break the kernel instead of the cell.  `Interrupts` therefore holds a request back
until the user's code runs again, and forgets it when the cell is over.  It does not know how requests arrive: a
transport installs a signal handler, and calls `request` before it sends itself the signal.

Python throws away what is raised in a finaliser or in the callback of a weak reference. A KeyboardInterrupt that was lost so is raised again
a moment later.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """The state of one kernel's interruption. `with interrupts:` is a section that must not be torn.

    Cells are numbered as they begin, from 1, and a request is for one number: a request that comes too late for its
    cell never hits the next one.
    """

    __slots__ = (
        "_armed", "_depth", "_hook", "_insisting", "_number", "_owner", "_requested", "_running", "again", "delivered", "waking",
    )  # fmt: skip

    def __init__(self) -> None:
        self._owner = threading.get_ident()
        self._armed = False
        self._running = False
        self._depth = 0
        self._insisting = False
        self.waking = threading.Lock()
        """Held while `insist` wakes: whoever takes the signal handler away holds it, so that no signal comes after."""
        self._number = 0
        self._requested = 0
        self.delivered = False
        """Whether this cell was given a KeyboardInterrupt, whatever it did with it."""
        self.again: Callable[[], None] = self._insist_later
        """Has the main thread handle a signal soon, after an interrupt that nobody got; where there are no threads, set by the transport."""
        self._hook: Any = None
        """What was told of lost exceptions before the cell began."""

    def begin_cell(self) -> None:
        """The next cell is about to run in the calling thread."""
        self._owner = threading.get_ident()
        self._number += 1
        self._running = True
        self.delivered = False
        self._hook, sys.unraisablehook = sys.unraisablehook, self._lost

    def end_cell(self) -> None:
        """The cell is over."""
        self._armed = self._running = False
        if sys.unraisablehook == self._lost:
            sys.unraisablehook = self._hook
        self._hook = None

    def _lost(self, what: Any) -> None:
        """An exception was raised where Python can only throw it away."""
        if what.exc_type is not KeyboardInterrupt or not self.delivered or threading.get_ident() != self._owner:
            (self._hook or sys.__unraisablehook__)(what)
        elif self._running:
            self._depth += 1  # in here it would be lost again
            try:
                self.delivered = False
                self._requested = self._number
                self.again()
            finally:
                self._depth -= 1

    def _insist_later(self) -> None:
        from . import osapi  # a worker of a browser has none of what it asks for

        threading.Thread(target=self.insist, args=(osapi.interrupt_main_thread, 0.05, 0.01), daemon=True).start()

    @property
    def number(self) -> int:
        """The number of the cell that runs, or ran last."""
        return self._number

    def arm(self) -> bool:
        """The user's code runs from here on. Returns what was so before, for `restore`."""
        before = self._armed
        self._armed = True
        self._deliver()
        return before

    def restore(self, armed: bool) -> None:
        """Back to how it was before `arm`."""
        self._armed = armed

    def disarm(self) -> None:
        """The kernel's own code runs from here on."""
        self._armed = False

    def request(self, number: int) -> None:
        """Ask for an interrupt of cell `number`, from any thread; the cell may be running, over, or yet to begin.

        It is raised when the main thread next handles a signal or begins to run the cell's code.
        """
        self._requested = number

    @property
    def outstanding(self) -> bool:
        """Whether a request waits for its cell to be interrupted, or to begin."""
        return self._requested > self._number or (self._running and self._requested == self._number)

    def insist(self, wake: Callable[[], None], pause: float = 0.05, before: float = 0.0) -> None:
        """Call `wake`, which makes the main thread handle a signal, every `pause` seconds while a request is outstanding; the first
        time `before` seconds from now.

        Once is not enough: a signal that comes in the instant before a system call begins does not end that call.
        Returns when nothing is outstanding; meant for a thread of its own.
        """
        self._insisting = True
        try:
            time.sleep(before)
            while True:
                with self.waking:
                    if not self.outstanding:
                        return
                    wake()
                time.sleep(pause)
        finally:
            self._insisting = False

    def handle_signal(self, signum: int = 0, frame: FrameType | None = None) -> None:
        """A handler of SIGINT for a process in which the signal itself can be the request (Ctrl+C)."""
        if self._running:
            if not self._insisting:
                self._requested = self._number
            self.wake()

    def wake(self, signum: int = 0, frame: FrameType | None = None) -> None:
        """A handler of SIGINT that only delivers what `request` asked for; a second signal for it does nothing."""
        if self._running and threading.get_ident() == self._owner:
            self._deliver()

    def _deliver(self) -> None:
        if self._armed and self._depth == 0 and self._requested == self._number:
            self._requested = 0
            self.delivered = True
            raise KeyboardInterrupt

    def __enter__(self) -> None:
        if threading.get_ident() == self._owner:
            self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if threading.get_ident() == self._owner:
            self._depth -= 1
            self._deliver()
