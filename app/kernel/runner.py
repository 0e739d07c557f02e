"""Running a whole notebook without a front end: all cells in order, until one fails."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .local import LocalKernel
from .messages import Died, Error, Execute, Executed, InputReply, InputRequest, Message, Ready
from .process import KernelProcess


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    status   "ok", "error", "interrupted" or "died"
    cell     id of the cell that did not end well; None where all did, or where no cell had begun
    ran      how many cells ended "ok"
    seconds  how long it took, the kernel's start included
    """

    status: str
    cell: str | None
    ran: int
    seconds: float

    @property
    def exit_code(self) -> int:
        """What a command should exit with: 0, 1 for an error, 130 for an interrupt."""
        return {"ok": 0, "interrupted": 130}.get(self.status, 1)


def run_notebook(
    cells: Iterable[Execute],
    on_event: Callable[[Message], None],
    *,
    device: str | None = None,
    torch: str = "auto",
    in_process: bool = False,
    cwd: str | Path | None = None,
    ask: Callable[[InputRequest], str] | None = None,
) -> RunResult:
    """Run the code cells in order and stop at the first that does not end "ok".

    on_event     receives every event, in order, one at a time
    in_process   run in this process and thread (for its live records) instead of a process of its own
    cwd          folder of the notebook: the cells' working directory, and where they import from
    ask          answers `input()`; without it, or where it raises EOFError, `input()` raises EOFError in the cell

    A device that cannot be opened ends the run with status "error" before the first cell; an `Error` of no cell
    says why. Ctrl+C interrupts the cell; pressed again it kills the kernel ("interrupted" as well).
    Raises ValueError for an unknown `torch`.
    """
    began = time.perf_counter()
    run = _Run(list(cells), on_event, ask)
    if in_process:
        with _in_folder(cwd):
            kernel = LocalKernel(run.receive, device=device, torch=torch)
            run.kernel = kernel
            try:
                kernel.start()
            finally:
                kernel.close()
    else:
        process = KernelProcess(run.receive, device=device, torch=torch, cwd=cwd)
        run.kernel = process
        try:
            process.start()
            if _wait(run.over, process) and run.status == "died":
                run.status = "interrupted"
        finally:
            process.close()
    return RunResult(run.status, run.cell, run.ran, time.perf_counter() - began)


class _Run:
    """The listener of one run."""

    def __init__(
        self, cells: list[Execute], on_event: Callable[[Message], None], ask: Callable[[InputRequest], str] | None
    ) -> None:
        self._cells = cells
        self._left = len(cells)
        self._on_event = on_event
        self._ask = ask
        self.kernel: KernelProcess | LocalKernel | None = None
        self.status = "ok"
        self.cell: str | None = None
        self.ran = 0
        self.over = threading.Event()

    def receive(self, message: Message) -> None:
        assert self.kernel is not None
        self._on_event(message)
        if isinstance(message, Error) and message.cell is None:
            self.status = "error"
        elif isinstance(message, Ready):
            if self.status == "ok":
                self.kernel.send(*self._cells)
            if self.status != "ok" or not self._cells:
                self.over.set()
        elif isinstance(message, InputRequest):
            self.kernel.send(self._answer(message))
        elif isinstance(message, Died):
            self.status = "died"
            self.cell = message.cell
            self.over.set()
        elif isinstance(message, Executed):
            self._left -= 1
            if message.status == "ok":
                self.ran += 1
            elif message.status != "aborted" and self.status == "ok":
                self.status, self.cell = message.status, message.cell
            if self._left == 0:
                self.over.set()

    def _answer(self, request: InputRequest) -> InputReply:
        if self._ask is None:
            return InputReply("", end=True)
        try:
            return InputReply(self._ask(request))
        except EOFError:
            return InputReply("", end=True)


def _wait(over: threading.Event, kernel: KernelProcess) -> int:
    """Wait until the run is over; how often Ctrl+C was pressed meanwhile."""
    presses = 0
    while True:
        try:
            while not over.wait(0.2):  # not for ever: Windows hears of Ctrl+C between two waits only
                pass
            return presses
        except KeyboardInterrupt:
            presses += 1
            if presses == 1:
                kernel.interrupt()
            else:
                kernel.kill()


@contextlib.contextmanager
def _in_folder(folder: str | Path | None) -> Iterator[None]:
    """This process works and imports in `folder` for a while."""
    if folder is None:
        yield
        return
    before, path = os.getcwd(), list(sys.path)
    os.chdir(folder)
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
