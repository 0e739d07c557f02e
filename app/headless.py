"""`tapescope run FILE`: all cells in order, their output on stdout and stderr, and a sentence where one fails.

The cells run in a kernel process like those of the terminal app, so a cell that ends its process does not end the
command.  The notebook's file is only read.
"""

from __future__ import annotations

import queue
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from .command_error import FAILED, INTERRUPTED
from .kernel.messages import (
    ClearOutput,
    Died,
    DisplayData,
    Error,
    Execute,
    Executed,
    ExecuteResult,
    InputReply,
    InputRequest,
    Message,
    Ready,
    Stream,
)  # fmt: skip
from .kernel.process import KernelProcess
from .notebook.document import Cell, Notebook
from .notebook.files import load
from .plain_output import bundle_text, without_colours

INTERRUPT_SECONDS = 5
"""How long a cell may take to notice Ctrl+C before its process is killed."""

START_SECONDS = 60
"""How long the kernel may take to be ready; the first start on a new machine compiles Python's caches."""


def numbered_code_cells(notebook: Notebook) -> list[tuple[int, Cell]]:
    """The cells that run, each with its place in the document (from 1, text cells counted)."""
    return [(n, c) for n, c in enumerate(notebook.cells, 1) if c.cell_type == "code" and c.source.strip()]


class Progress:
    """One line on stderr that says how far the run is; nothing where stderr is no terminal or `quiet` is set."""

    def __init__(self, total: int, quiet: bool, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.on = not quiet and self.stream.isatty()
        self.total = total
        self.shown = False
        self.began = time.monotonic()

    def show(self, done: int, number: int) -> None:
        """Draw the line: the `done + 1`st of all cells runs, number `number` of the document."""
        if self.on:
            seconds = time.monotonic() - self.began
            self.stream.write(f"\r\x1b[K[{done + 1}/{self.total}] cell {number} runs, {seconds:.0f} s")
            self.stream.flush()
            self.shown = True

    def hide(self) -> None:
        """Take the line away, so that output can be written."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self.shown = False


@dataclass
class Printer:
    """Writes the events of a run as they come; what has a display id is held until its cell ends, then shown once."""

    width: int
    at_line_start: bool = True
    held: dict[str, str] = field(default_factory=dict)
    error: Error | None = None

    def write(self, text: str, stream: TextIO) -> None:
        if text:
            stream.write(text)
            stream.flush()
            self.at_line_start = text.endswith("\n")

    def take(self, event: Message) -> None:
        """Print one event of a cell."""
        if isinstance(event, Stream):
            self.write(event.text, sys.stderr if event.name == "stderr" else sys.stdout)
        elif isinstance(event, DisplayData | ExecuteResult):
            text = bundle_text(event.data, self.width)
            display = event.display_id if isinstance(event, DisplayData) else None
            if display is None:
                self.write(text, sys.stdout)
            else:
                self.held[display] = text
        elif isinstance(event, ClearOutput):
            self.held.clear()  # what was printed cannot be taken back
        elif isinstance(event, Error):
            self.error = event
            lines = "\n".join(event.traceback)
            self.write((lines if sys.stderr.isatty() else without_colours(lines)).rstrip("\n") + "\n", sys.stderr)

    def end_cell(self) -> None:
        """Write what was held, and end a line that the cell left open."""
        for text in self.held.values():
            self.write(text, sys.stdout)
        self.held.clear()
        if not self.at_line_start:
            self.write("\n", sys.stdout)


def run(path: Path, *, device: str | None, torch: str, quiet: bool) -> int:
    """Run the notebook at `path`; the exit code. Raises NotebookError for a file that is no notebook."""
    notebook = load(path)
    for warning in notebook.warnings:
        print(f"tapescope: {path}: {warning}", file=sys.stderr)
    cells = numbered_code_cells(notebook)
    events: queue.SimpleQueue[Message] = queue.SimpleQueue()
    kernel = KernelProcess(events.put, device=device, torch=torch, cwd=path.resolve().parent)
    kernel.start()
    try:
        return _run_cells(path, cells, kernel, events, Progress(len(cells), quiet))
    finally:
        kernel.close()


def _run_cells(
    path: Path,
    cells: list[tuple[int, Cell]],
    kernel: KernelProcess,
    events: queue.SimpleQueue[Message],
    progress: Progress,
) -> int:
    printer = Printer(min(shutil.get_terminal_size().columns, 100))
    for done, (number, cell) in enumerate(cells):
        kernel.send(Execute(cell.id, cell.revision, cell.source))
        status = _until_executed(cell, kernel, events, printer, progress, done, number)
        progress.hide()
        printer.end_cell()
        if isinstance(status, Died):
            return _say(f"{path}, cell {number}: {status.reason} {status.advice}", FAILED)
        if status == "interrupted":
            return _say(
                f"Interrupted in cell {number} of {path}{_line(printer)}; the cells below it did not run.", INTERRUPTED
            )
        if status != "ok":
            error = printer.error
            what = f"{error.ename}: {without_colours(error.evalue)}" if error else "the cell failed"
            return _say(f"{path}, cell {number}{_line(printer)}: {what.splitlines()[0]}", FAILED)
    return 0


def _line(printer: Printer) -> str:
    return f", line {printer.error.line}" if printer.error and printer.error.line else ""


def _until_executed(
    cell: Cell,
    kernel: KernelProcess,
    events: queue.SimpleQueue[Message],
    printer: Printer,
    progress: Progress,
    done: int,
    number: int,
) -> str | Died:
    """Print what the cell says until it ends; its status, or the Died of its process."""
    interrupted = 0.0
    while True:
        try:
            try:
                event = events.get(timeout=0.2)
            except queue.Empty:
                if interrupted and time.monotonic() - interrupted > INTERRUPT_SECONDS:
                    kernel.kill()
                if printer.at_line_start:
                    progress.show(done, number)
                continue
            if isinstance(event, Died):
                return "interrupted" if interrupted else event
            if isinstance(event, Executed) and event.cell == cell.id:
                if event.status != "died":
                    return event.status
            elif isinstance(event, InputRequest):
                progress.hide()
                kernel.send(InputReply(_ask(event)))
            elif not isinstance(event, Ready):
                progress.hide()
                printer.take(event)
        except KeyboardInterrupt:
            if interrupted:
                kernel.kill()
            else:
                interrupted = time.monotonic()
                kernel.interrupt()


def _ask(request: InputRequest) -> str:
    if request.password and sys.stdin.isatty():
        import getpass

        return getpass.getpass(request.prompt)
    sys.stdout.write(request.prompt)
    sys.stdout.flush()
    return sys.stdin.readline().rstrip("\n")


def _say(sentence: str, code: int) -> int:
    print(f"tapescope: {sentence}", file=sys.stderr)
    return code
