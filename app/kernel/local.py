"""A kernel in the caller's own process and thread, with the same face as `KernelProcess`.

For headless runs that want the engine's live records, and for tests: nothing protects the caller from what a cell
does to the process.  `send(Execute(...))` returns when the cell is over; what a listener sends meanwhile waits its
turn.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator

from . import osapi
from .cellqueue import CellQueue
from .core import KernelCore
from .messages import Execute, Executed, InputReply, Message, Shutdown, Status, answer
from .output import INTERVAL
from .ticker import Ticker


class LocalKernel:
    """`on_event(message)` is called in the thread of `send` (and, for output, from a timer); `device` and `torch` as
    for `KernelProcess`.

    An `InputRequest` is answered by sending an `InputReply` before `on_event` returns; without one, `input()` raises
    EOFError. Cells can be interrupted while they run in the main thread.
    """

    def __init__(self, on_event: Callable[[Message], None], *, device: str | None = None, torch: str = "auto") -> None:
        self._on_event = on_event
        self._device = device
        self._torch = torch
        self._queue = CellQueue()
        self._later: deque[Message] = deque()
        self._answers: deque[InputReply] = deque()
        self._core: KernelCore | None = None
        self._ticker: Ticker | None = None
        self._working = False
        self._closed = False

    @property
    def state(self) -> str:
        """ "new", "idle", "busy" or "closed"."""
        if self._closed:
            return "closed"
        return "new" if self._core is None else "busy" if self._queue.running is not None else "idle"

    @property
    def running(self) -> str | None:
        """The id of the cell that runs, if any."""
        return None if self._queue.running is None else self._queue.running.cell

    @property
    def queued(self) -> list[str]:
        """The ids of the cells that wait, in order."""
        return self._queue.waiting

    @property
    def core(self) -> KernelCore:
        """The kernel itself; RuntimeError before `start`."""
        if self._core is None:
            raise RuntimeError("the kernel has not been started: call start() first")
        return self._core

    def start(self) -> None:
        """Make the kernel; `Ready` has been sent when this returns. Commands sent before follow then."""
        if self._core is not None or self._closed:
            return
        self._ticker = Ticker(self._flush_due, INTERVAL)
        self._core = KernelCore(
            self._event,
            ask=self._ask,
            on_pending=self._ticker.poke,
            device=self._device or os.environ.get("TAPESCOPE_DEVICE") or None,
            torch=self._torch,
            process=os.getpid(),
        )
        self._working = True  # what the listener sends when it hears `Ready` waits until all of it is there
        try:
            self._core.start()
        finally:
            self._working = False
        self._work()

    def send(self, *commands: Message) -> None:
        """Carry out commands, or put them behind the one that runs."""
        if self._closed:
            return
        for command in commands:
            if isinstance(command, InputReply):
                self._answers.append(command)
            elif isinstance(command, Execute):
                self._queue.add(command)
            elif isinstance(command, Shutdown):
                self.close()
            else:
                self._later.append(command)
        self._work()

    def interrupt(self) -> None:
        """Cancel the queued cells and raise KeyboardInterrupt in the one that runs. From any thread."""
        for event in self._queue.cancel():
            self._event(event)
        if self._core is not None and self._queue.running is not None:
            interrupts = self._core.interrupts
            insisting = interrupts.outstanding
            interrupts.request(interrupts.number)
            if not insisting:
                threading.Thread(target=interrupts.insist, args=(osapi.interrupt_main_thread,), daemon=True).start()

    def cancel(self, cells: Collection[str] | None = None) -> None:
        """Take queued cells (all of them where `cells` is None) out of the queue; each is told as "aborted"."""
        for event in self._queue.cancel(cells):
            self._event(event)

    def restart(self, *, force: bool = False) -> None:
        """A fresh namespace, between two cells. Raises RuntimeError while a cell runs: its thread is the caller's."""
        if self._queue.running is not None:
            raise RuntimeError("a kernel in the same process cannot be restarted while a cell runs")
        for event in self._queue.cancel():
            self._event(event)
        self._stop()
        self.start()

    def close(self) -> None:
        """Give the process back: streams, hooks, `import torch`. Sends no further event."""
        self._closed = True
        self._queue.cancel()
        if not self._working:
            self._stop()

    def _flush_due(self) -> None:
        core = self._core  # None where the ticker's thread comes a moment after `close`
        if core is not None:
            core.output.flush_due()

    def _stop(self) -> None:
        core, self._core = self._core, None
        if core is not None:
            core.close()
        if self._ticker is not None:
            self._ticker.close()

    def _work(self) -> None:
        if self._working or self._core is None:
            return
        self._working = True
        try:
            with _interrupted_by(self._core):
                while not self._closed:
                    command = self._later.popleft() if self._later else self._queue.take()
                    if command is None:
                        break
                    self._core.handle(command)
        finally:
            self._working = False
            if self._closed:
                self._stop()

    def _event(self, message: Message) -> None:
        if self._closed:
            return
        if isinstance(message, Status) and message.state == "idle" and self._queue.waiting:
            return  # the next cell follows at once
        with contextlib.nullcontext() if self._core is None else self._core.outside():
            self._on_event(message)
            if isinstance(message, Executed) and self.running == message.cell:
                for cancelled in self._queue.ended(message):
                    self._on_event(cancelled)

    def _ask(self, prompt: str, password: bool) -> str:
        if not self._answers:
            raise EOFError("input() has nobody to ask here")
        return answer(self._answers.popleft())


@contextlib.contextmanager
def _interrupted_by(core: KernelCore) -> Iterator[None]:
    """Ctrl+C goes to the kernel's cell, where this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, core.interrupts.handle_signal)
    try:
        yield
    finally:
        with core.interrupts.waking:
            signal.signal(signal.SIGINT, before)
