"""The native kernel: a Python process of its own, spoken to over pipes that only carry the protocol.

`KernelProcess` starts it, keeps the queue of cells, turns its death into events, and stops it in three steps that a
front end shows as such: `interrupt`, `restart(force=True)`, `kill`.  It knows no user interface and runs no cell
itself; the process's side is child.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from . import osapi
from .cellqueue import CellQueue
from .exits import explain_exit
from .frames import Unpacker, pack
from .messages import (
    AskDevice,
    BadMessage,
    Complete,
    Completions,
    Died,
    Documentation,
    Execute,
    Executed,
    Inspect,
    Interrupt,
    Message,
    Observe,
    Ready,
    Shutdown,
    Status,
    Stream,
)
from .output import INTERVAL, OutputBuffer
from .rawoutput import RawOutput
from .ticker import Ticker

GRACE = 1.0
"""Seconds that a kernel has to leave in order before it is killed."""

BACKLOG = 2_000
"""Events that may wait for the listener before the kernel is made to wait."""


class KernelProcess:
    """A kernel in a process of its own.

    `on_event(message)` is called from one thread of this object's own, for one message at a time, in order; handing
    over to another thread is the caller's business (`on_loop` and `EventQueue` do it for asyncio).

    `device` becomes TAPESCOPE_DEVICE and `torch` ("auto", "tapescope", "pytorch") TAPESCOPE_TORCH of the process;
    `memory`, a cap in bytes on the memory it may allocate, TAPESCOPE_MEMORY. A cell that asks for more gets a MemoryError
    and the kernel lives on (where the system can cap a process; elsewhere nothing happens).
    All methods may be called from any thread, `on_event` included, and none waits for the kernel except `close`.
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
        memory: int | None = None,
    ) -> None:
        self._on_event = on_event
        self._python = python
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._env = dict(os.environ if env is None else env)
        self._env["TAPESCOPE_TORCH"] = torch
        if device is not None:
            self._env["TAPESCOPE_DEVICE"] = device
        if memory is not None:
            self._env["TAPESCOPE_MEMORY"] = str(memory)
        # A pager would wait for a key that nobody can press.
        self._env.update(PAGER="cat", GIT_PAGER="cat")
        # Figures are shown in the notebook, as in Jupyter; IPython brings this backend with it.
        self._env.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        self._lock = threading.RLock()
        self._queue = CellQueue()
        self._life: _Life | None = None
        self._early: list[Message] = []
        self._state = "new"
        self._events: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._dispatcher: threading.Thread | None = None

    # -- what a front end asks --------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """ "new", "starting", "idle", "busy", "dead" (a `Died` was sent) or "closed"."""
        with self._lock:
            return "busy" if self._state == "idle" and self._queue.running is not None else self._state

    @property
    def running(self) -> str | None:
        """The id of the cell that runs, if any."""
        with self._lock:
            return None if self._queue.running is None else self._queue.running.cell

    @property
    def queued(self) -> list[str]:
        """The ids of the cells that wait, in order."""
        with self._lock:
            return self._queue.waiting

    @property
    def process(self) -> int | None:
        """The number of the running process, None where there is none."""
        with self._lock:
            return None if self._life is None else self._life.popen.pid

    def start(self) -> None:
        """Start the process and return at once; `Ready` follows. Commands sent before it are kept in order.

        A process that cannot be started is told by `Died`. Does nothing while a process lives.
        """
        with self._lock:
            if self._state in ("new", "dead"):
                self._begin()

    def send(self, *commands: Message) -> None:
        """Hand commands to the kernel. Never blocks on a running cell, never raises because the kernel is dead."""
        with self._lock:
            if self._state == "closed":
                return
            for command in commands:
                if isinstance(command, Execute):
                    self._queue.add(command)
                elif self._life is not None:
                    self._life.write(command)
                elif self._state == "starting" and isinstance(command, (AskDevice, Observe)):
                    self._early.append(command)
                elif isinstance(command, Complete):
                    self._put(Completions(command.request, [], command.cursor, command.cursor))
                elif isinstance(command, Inspect):
                    self._put(Documentation(command.request, ""))
            if self._state == "dead":
                self._put(*self._queue.died())
            self._pump()

    def interrupt(self) -> None:
        """Step 1: cancel the queued cells ("aborted") and raise KeyboardInterrupt in the one that runs."""
        with self._lock:
            self._put(*self._queue.cancel())
            if self._life is not None and self._queue.running is not None:
                self._life.write(Interrupt())

    def restart(self, *, force: bool = False) -> None:
        """Step 2: a new process; its `Ready` follows. Returns at once.

        The running cell ends as "died", the queued ones as "aborted". Without `force` the old process has a second to
        leave in order (a running cell is interrupted); with it, it is killed.
        """
        with self._lock:
            if self._state in ("closed", "starting") and self._life is None:
                return
            old = self._retire()
            self._state = "starting"

        def replace() -> None:
            if old is not None:
                old.finish(0.0 if force else GRACE)
            with self._lock:
                if self._state == "starting" and self._life is None:
                    self._begin()

        threading.Thread(target=replace, name="tapescope-restart", daemon=True).start()

    def cancel(self, cells: Collection[str] | None = None) -> None:
        """Take queued cells (all of them where `cells` is None) out of the queue; each is told as "aborted"."""
        with self._lock:
            self._put(*self._queue.cancel(cells))

    def kill(self) -> None:
        """Step 3: end the process at once; `Died` follows. `start` begins anew."""
        with self._lock:
            life = self._life
        if life is not None:
            life.asked = True
            osapi.kill(life.popen)

    def close(self) -> None:
        """Leave in order, kill what does not leave within a second, and send no further event."""
        with self._lock:
            if self._state == "closed":
                return
            old = self._retire(tell=False)
            self._state = "closed"
        if old is not None:
            old.finish(GRACE)
        self._events.put(None)
        if self._dispatcher is not None and self._dispatcher is not threading.current_thread():
            self._dispatcher.join(GRACE)

    # -- the machinery ----------------------------------------------------------------------------------

    def _put(self, *events: Message) -> None:
        for event in events:
            self._events.put(event)
        with self._lock:
            if self._dispatcher is None:
                self._dispatcher = threading.Thread(target=self._dispatch, name="tapescope-events", daemon=True)
                self._dispatcher.start()

    def _dispatch(self) -> None:
        while (event := self._events.get()) is not None:
            if self._state == "closed":
                return
            try:
                self._on_event(event)
            except Exception as error:  # a mistake of the listener: tell, and keep the kernel alive
                sys.excepthook(type(error), error, error.__traceback__)

    def _begin(self) -> None:
        self._state = "starting"
        try:
            self._life = _Life(self)
        except OSError as error:
            self._state = "dead"
            where = f" in {self._cwd}" if self._cwd is not None else ""
            reason = f"The kernel could not start: {self._python} cannot be run{where} ({error.strerror or error})."
            advice = "Check that this Python and the notebook's folder exist and that you may use them."
            self._put(Died(self.running, None, reason, advice), *self._queue.died())
        else:
            # What a front end wants of the new process comes before its first cell.
            early, self._early = self._early, []
            for command in early:
                self._life.write(command)
            self._pump()

    def _retire(self, tell: bool = True) -> _Life | None:
        """Part with the process: what it still sends is dropped."""
        old, self._life = self._life, None
        if old is not None:
            old.retired = True
        cancelled = self._queue.cancel()
        died = self._queue.died()
        if tell:
            self._put(*died, *cancelled)
        return old

    def _pump(self) -> None:
        if self._life is not None and (command := self._queue.take()) is not None:
            self._life.raw.begin(command.cell)
            self._life.write(command)

    def _receive(self, life: _Life, message: Message) -> None:
        """An event of the process, in its reading thread."""
        if isinstance(message, Executed):
            life.wait_for_raw_output()
        with self._lock:
            if life.retired:
                return
            if isinstance(message, Status) and message.state == "idle" and self._queue.running is not None:
                return  # the next cell is on its way already
            self._put(message)
            if isinstance(message, Ready):
                self._state = "idle"
            elif isinstance(message, Executed):
                self._put(*self._queue.ended(message))
                self._pump()
        while self._events.qsize() > BACKLOG and not life.retired:
            time.sleep(0.005)

    def _receive_raw(self, life: _Life, message: Message) -> None:
        if not life.retired:
            self._put(message)

    def _died(self, life: _Life, code: int | None) -> None:
        """The process ended, in the thread that waited for it."""
        with self._lock:
            if life.retired:
                return
            started = self._state == "idle"
            self._life, life.retired = None, True
            self._state = "dead"
            words = life.stderr.last_words
            memory = osapi.memory_kills() > life.memory_kills
            cell = self.running
            reason, advice = explain_exit(
                code,
                asked=life.asked,
                started=started,
                in_cell=cell is not None,
                out_of_memory=memory,
                last_words=words,
            )
            self._put(Died(cell, code, reason, advice), *self._queue.died())


class _Life:
    """One process: its pipes and the threads that serve them."""

    def __init__(self, kernel: KernelProcess) -> None:
        self._kernel = kernel
        self.retired = False
        self.asked = False
        self._executed = 0
        self.memory_kills = osapi.memory_kills()
        token = secrets.token_hex(8)
        with contextlib.ExitStack() as child_ends:
            pipes = [os.pipe() for _ in range(3)]
            commands_read, self._commands = pipes[0]
            self._events, events_write = pipes[1]
            life_read, self._alive = pipes[2]
            for fd in (commands_read, events_write, life_read):
                child_ends.callback(os.close, fd)
            try:
                self.popen: subprocess.Popen[Any] = osapi.spawn(
                    [kernel._python, "-P", "-m", f"{__package__}.child", f"--token={token}"],
                    {"commands": commands_read, "events": events_write, "life": life_read},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=kernel._cwd,
                    env=kernel._env,
                    bufsize=0,
                )
            except BaseException:
                for fd in (self._commands, self._events, self._alive):
                    os.close(fd)
                raise
        self._ticker = Ticker(self._flush, INTERVAL)
        self.raw = OutputBuffer(lambda message: kernel._receive_raw(self, message), on_pending=self._ticker.poke)
        assert self.popen.stdout is not None and self.popen.stderr is not None
        self.stdout = RawOutput(_detach(self.popen.stdout), "stdout", token, self.raw)
        self.stderr = RawOutput(_detach(self.popen.stderr), "stderr", token, self.raw)
        self._outgoing: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._reader = self._thread(self._read, "reader")
        self._thread(self._write, "writer")
        self._waiter = self._thread(self._wait, "waiter")

    @staticmethod
    def _thread(target: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=target, name=f"tapescope-{name}", daemon=True)
        thread.start()
        return thread

    def write(self, command: Message) -> None:
        """Send a command, from a thread that may wait for a full pipe."""
        self._outgoing.put(command)

    def finish(self, grace: float) -> None:
        """End the process: in order within `grace` seconds, else by force. Returns when it is gone."""
        if grace:
            self.write(Shutdown())
            self._waiter.join(grace)
        osapi.kill(self.popen)
        self._waiter.join(GRACE)

    def wait_for_raw_output(self) -> None:
        """A cell is over: wait for what it wrote to its file descriptors, and send it."""
        self._executed += 1
        for stream in (self.stdout, self.stderr):
            stream.wait_for_mark(self._executed, 0.5)
        self.raw.end()

    def _flush(self) -> None:
        self.raw.flush_due()

    def _read(self) -> None:
        unpacker = Unpacker()
        try:
            while data := os.read(self._events, 1 << 20):
                for message in unpacker.feed(data):
                    self._kernel._receive(self, message)
        except OSError:
            pass
        except BadMessage as error:
            self._kernel._receive(self, Stream(None, "stderr", f"[the kernel sent something unreadable: {error}]\n"))
            osapi.kill(self.popen)
        finally:
            os.close(self._events)

    def _write(self) -> None:
        while (command := self._outgoing.get()) is not None:
            view = memoryview(pack(command))
            with contextlib.suppress(OSError):  # the process is gone; `_wait` tells, and ends this thread
                while view:
                    view = view[os.write(self._commands, view) :]
        os.close(self._commands)

    def _wait(self) -> None:
        code = self.popen.wait()
        # A forked process may hold the pipes open for ever: what has not come soon will not come.
        self._reader.join(1.0)
        for stream in (self.stdout, self.stderr):
            stream.join(0.5)
        self.raw.end()
        self._outgoing.put(None)
        self._ticker.close()
        os.close(self._alive)
        self._kernel._died(self, code)


def _detach(file: object) -> int:
    """The descriptor of one of `Popen`'s unbuffered pipes, without the file around it."""
    fd = os.dup(file.fileno())  # type: ignore[attr-defined]
    file.close()  # type: ignore[attr-defined]
    return fd


def on_loop(loop: asyncio.AbstractEventLoop, callback: Callable[[Message], None]) -> Callable[[Message], None]:
    """An `on_event` that calls `callback` in `loop`; events that come after the loop was closed are dropped."""

    def hand_over(message: Message) -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(callback, message)

    return hand_over


class EventQueue:
    """An `on_event` to be read with `async for` in the loop that was running when it was made."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Message] = asyncio.Queue()
        self._hand_over = on_loop(asyncio.get_running_loop(), self._queue.put_nowait)

    def __call__(self, message: Message) -> None:
        self._hand_over(message)

    async def __aiter__(self) -> AsyncIterator[Message]:
        while True:
            yield await self._queue.get()
