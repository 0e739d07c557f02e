"""The process of a native kernel: `python -m tapescope.app.kernel.child`, started by process.py.

Commands come over one pipe, events go over another, both frames of frames.py.  The main thread runs the cells; a
second reads commands, so that an interrupt, an answer or the end of the parent is noticed while a cell runs.  What is
written to file descriptors 1 and 2 is read by the parent; after each cell a mark is written there, so that the
parent knows when it has everything.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import os
import queue
import signal
import sys
import threading
from collections import deque

from . import osapi
from .core import KernelCore
from .frames import Unpacker, pack
from .messages import (
    Complete,
    Completions,
    Execute,
    Executed,
    InputReply,
    InputRequest,
    Interrupt,
    Message,
    Shutdown,
    answer,
)
from .output import INTERVAL
from .ticker import Ticker


class Child:
    """The kernel's side of the pipes."""

    def __init__(self, commands: int, events: int, life: int, token: str) -> None:
        self._commands_fd = commands
        self._events_fd = events
        self._life_fd = life
        self._token = token.encode("ascii")
        # The user's code may point 1 and 2 somewhere else; marks must not follow.
        self._captured = [os.dup(1), os.dup(2)]
        self._lock = threading.RLock()  # re-entered when a destructor prints while a frame is being written
        self._outgoing: deque[bytes] = deque()
        self._writing = False
        self._commands: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[InputReply] = queue.SimpleQueue()
        self._asking = False
        self._received = 0  # Execute commands that have come
        self._ended = 0  # and those that are done
        osapi.die_when_closed(life)
        ticker = Ticker(self._flush, INTERVAL)
        memory = os.environ.get("TAPESCOPE_MEMORY", "")
        cap = int(memory) if memory.isdigit() else None
        if cap is not None and not osapi.cap_memory(cap):
            cap = None
        self.core = KernelCore(
            self.send,
            ask=self._ask,
            on_pending=ticker.poke,
            device=os.environ.get("TAPESCOPE_DEVICE") or None,
            torch=os.environ.get("TAPESCOPE_TORCH") or "auto",
            process=os.getpid(),
            memory=cap,
            descriptors=(1, 2),
        )
        faulthandler.enable(self._captured[1], all_threads=False)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)
        signal.signal(signal.SIGINT, self.core.interrupts.wake)

    def run(self) -> None:
        """Carry out commands until one says that it is over."""
        self.core.activate()
        threading.Thread(target=self._read, name="tapescope-commands", daemon=True).start()
        self.core.start()
        while True:
            command = self._commands.get()
            if isinstance(command, Shutdown):
                break
            self.core.handle(command)
        self.core.output.end()

    def send(self, message: Message) -> None:
        """Write one event. Called under the core's shield, so that no interrupt tears a frame."""
        if isinstance(message, InputRequest):
            self._asking = True
        elif isinstance(message, Executed):
            self._mark()
            self._ended += 1
        data = pack(message)
        with self._lock:
            self._outgoing.append(data)
            if self._writing:
                return
            self._writing = True
            try:
                while self._outgoing:
                    view = memoryview(self._outgoing.popleft())
                    while view:
                        view = view[os.write(self._events_fd, view) :]
            except OSError:  # the parent is gone, and so is this process in a moment
                self._outgoing.clear()
            finally:
                self._writing = False

    def _mark(self) -> None:
        osapi.flush_c_streams()
        for fd in self._captured:
            with contextlib.suppress(OSError):
                os.write(fd, b"\0" + self._token + b"\0")

    def _flush(self) -> None:
        self.core.output.flush_due()

    def _read(self) -> None:
        unpacker = Unpacker()
        try:
            while data := os.read(self._commands_fd, 65536):
                for command in unpacker.feed(data):
                    self._receive(command)
        except OSError:
            pass
        osapi.kill_own_group()  # the parent has closed its end, or died: nobody would ever read what is still to come

    def _receive(self, command: Message) -> None:
        busy = self._received > self._ended
        if isinstance(command, Interrupt):
            self._interrupt()
        elif isinstance(command, InputReply):
            if self._asking:
                self._asking = False
                self._answers.put(command)
        elif isinstance(command, Complete) and busy:
            # The names can only be asked between cells; a list that comes minutes later helps nobody.
            self.core.emit(Completions(command.request, [], command.cursor, command.cursor))
        else:
            if isinstance(command, Execute):
                self._received += 1
            elif isinstance(command, Shutdown):
                self._interrupt()
            self._commands.put(command)

    def _interrupt(self) -> None:
        if self._received > self._ended:
            insisting = self.core.interrupts.outstanding
            self.core.interrupts.request(self._received)
            osapi.interrupt_own_group()
            if not insisting:
                insist = self.core.interrupts.insist
                threading.Thread(target=insist, args=(osapi.interrupt_main_thread,), daemon=True).start()

    def _ask(self, prompt: str, password: bool) -> str:
        __tracebackhide__ = True
        try:
            while True:
                with contextlib.suppress(queue.Empty):
                    # Not for ever: Windows interrupts between two waits only.
                    return answer(self._answers.get(timeout=0.2))
        finally:
            self._asking = False
            while not self._answers.empty():
                self._answers.get_nowait()

    def _after_fork(self) -> None:
        """In a process that the user's code has forked: it is no kernel and must not write frames."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        faulthandler.disable()  # its descriptor is closed below
        self.core.detach()
        for name, fd in (("stdout", 1), ("stderr", 2)):
            setattr(
                sys, name, io.TextIOWrapper(io.FileIO(fd, "w", closefd=False), "utf-8", "replace", write_through=True)
            )
        for fd in (self._commands_fd, self._events_fd, self._life_fd, *self._captured):
            with contextlib.suppress(OSError):
                os.close(fd)


def main() -> None:
    """Entry of the process. Its arguments are process.py's business."""
    parser = argparse.ArgumentParser(prog="tapescope.app.kernel.child")
    for name in ("commands", "events", "life", "token"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    commands = osapi.open_inherited(options.commands, write=False)
    life = osapi.open_inherited(options.life, write=False)
    events = osapi.open_inherited(options.events, write=True)
    sys.argv[:] = [""]
    sys.path.insert(0, "")  # the notebook's folder, which -P kept out while the kernel's own modules were imported
    Child(commands, events, life, options.token).run()


if __name__ == "__main__":
    main()
