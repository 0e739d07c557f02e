"""`tapescope run FILE`: all cells in order, their output on stdout and stderr, and a sentence where one fails.

The cells run in a kernel process like those of the terminal app, so a cell that ends its process does not end the
command.  The notebook's file is only read.
"""

from __future__ import annotations

import _thread
import builtins
import os
import re
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import TextIO

from .command_error import FAILED, INTERRUPTED
from .kernel import messages as m
from .kernel.exits import RESTART
from .kernel.runner import RunResult, run_notebook
from .notebook.document import Notebook
from .notebook.files import load
from .plain_output import bundle_text, without_colours

_PLACE = re.compile(r" \(<[^>]*>(, line \d+)?\)$")
"""What Python adds to the text of a SyntaxError."""


def run(path: Path, *, device: str | None, torch: str, quiet: bool) -> int:
    """Run the notebook at `path`; the exit code. Raises NotebookError for a file that is no notebook."""
    cells = Cells(path, load(path))
    printer = Printer(Progress(cells, quiet))
    try:
        result = run_notebook(
            cells.commands, printer.take, device=device, torch=torch, cwd=path.resolve().parent, ask=printer.ask
        )
    finally:
        printer.close()
    return cells.conclude(result, printer)


class Cells:
    """The code cells of a notebook as commands, and the sentences that name them by their place in the document."""

    def __init__(self, path: Path, notebook: Notebook) -> None:
        self.path = path
        chosen = [(n, c) for n, c in enumerate(notebook.cells, 1) if c.cell_type == "code" and c.source.strip()]
        self.commands = [m.Execute(cell.id, cell.revision, cell.source) for _, cell in chosen]
        self.number_of = {cell.id: number for number, cell in chosen}
        """The place of each cell in the document, from 1, text cells counted."""
        for warning in notebook.warnings:
            print(f"tapescope: {path}: {warning}", file=sys.stderr)

    def conclude(self, result: RunResult, printer: Printer) -> int:
        """Say on stderr how the run ended, unless well, and return the exit code."""
        if printer.reader_left or result.status == "ok":
            return 0
        number = self.number_of.get(result.cell or "")
        place = f"{self.path}, cell {number}" if number else str(self.path)
        error = printer.error if printer.error and printer.error.cell == result.cell else None
        line = f", line {error.line}" if error and error.line else ""
        if result.status == "interrupted":
            return self._say(f"Interrupted in {place}{line}; the cells below it did not run.", INTERRUPTED)
        if result.status == "died" and printer.died is not None:
            advice = printer.died.advice.removeprefix(RESTART).strip()  # here no kernel is left to restart
            return self._say(f"{place}: {printer.died.reason} {advice}".rstrip(), FAILED)
        if error is not None and number is None:
            reason = error.evalue.removesuffix(" The CPU takes its place.")
            return self._say(f"{self.path}: {reason} Nothing ran; `tapescope doctor` says what there is.", FAILED)
        return self._say(f"{place}{line}: {_what(error) if error else result.status}", FAILED)

    @staticmethod
    def _say(sentence: str, code: int) -> int:
        print(f"tapescope: {sentence}", file=sys.stderr, flush=True)
        return code


def _what(error: m.Error) -> str:
    """An exception in one line."""
    text = without_colours(error.evalue)
    if error.ename == "SystemExit":
        return f"The cell left by sys.exit({text}); the cells below it did not run."
    if issubclass(getattr(builtins, error.ename, object), SyntaxError):
        text = _PLACE.sub("", text)  # our sentence names the place already, as people see it
    return f"{error.ename}: {text}".splitlines()[0].removesuffix(": ")


class Progress:
    """One line on stderr that says how far the run is; nothing where stderr is no terminal or `quiet` is set."""

    def __init__(self, cells: Cells, quiet: bool, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.on = not quiet and self.stream.isatty()
        self.cells = cells
        self.done = 0
        self.running: str | None = None
        self._shown = False
        self._began = time.monotonic()

    def show(self) -> None:
        """Draw the line: which cell runs, and for how long all of it has."""
        if self.on:
            what = f"cell {self.cells.number_of[self.running]} runs" if self.running else "the kernel starts"
            turn = f"[{min(self.done + 1, len(self.cells.commands))}/{len(self.cells.commands)}]"
            self.stream.write(f"\r\x1b[K{turn} {what}, {time.monotonic() - self._began:.0f} s")
            self.stream.flush()
            self._shown = True

    def hide(self) -> None:
        """Take the line away, so that output can be written."""
        if self._shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self._shown = False


class Printer:
    """Writes the events of a run as they come. An output that has a display id is shown once, when its cell ends.

    error        the last exception of a cell (or of none, where the device cannot be opened)
    died         why the kernel's process ended, if it did
    reader_left  nobody reads stdout any more (`| head`); the run is then interrupted
    """

    def __init__(self, progress: Progress, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = sys.stdout if out is None else out
        self._err = sys.stderr if err is None else err
        self._progress = progress
        self._width = min(shutil.get_terminal_size().columns, 100)
        self._held: dict[str, str] = {}
        self._at_line_start = True
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self.error: m.Error | None = None
        self.died: m.Died | None = None
        self.reader_left = False
        if progress.on:
            threading.Thread(target=self._tick, daemon=True).start()

    def take(self, event: m.Message) -> None:
        """Print one event; called from the kernel's thread."""
        with self._lock:
            self._take(event)

    def _take(self, event: m.Message) -> None:
        if isinstance(event, m.Status):
            self._progress.running = event.cell if event.state == "busy" else None
        elif isinstance(event, m.Stream):
            self._write(event.text, self._err if event.name == "stderr" else self._out)
        elif isinstance(event, m.ExecuteResult):
            self._write(bundle_text(event.data, self._width), self._out)
        elif isinstance(event, m.DisplayData):
            text = bundle_text(event.data, self._width)
            if event.display_id is None:
                self._write(text, self._out)
            else:
                self._held[event.display_id] = text
        elif isinstance(event, m.ClearOutput):
            self._held.clear()  # what was printed cannot be taken back
        elif isinstance(event, m.Error):
            self.error = event
            # Of an exit there is no traceback, and the sentence at the end says it.
            if event.cell is not None and event.ename != "SystemExit":
                lines = "\n".join(event.traceback)
                self._end_line()
                self._write((lines if self._err.isatty() else without_colours(lines)).rstrip("\n") + "\n", self._err)
        elif isinstance(event, m.Died):
            self.died = event
            self._end_cell()
        elif isinstance(event, m.Executed):
            self._progress.done += 1
            self._end_cell()

    def ask(self, request: m.InputRequest) -> str:
        """A line from stdin for a cell that asks for one; EOFError where there is none."""
        with self._lock:
            self._progress.hide()
            if request.password and sys.stdin.isatty():
                import getpass

                return getpass.getpass(request.prompt)
            self._write(request.prompt, self._out)
            line = sys.stdin.readline()
            self._at_line_start = True
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def close(self) -> None:
        """Take the progress line away for good."""
        self._closed.set()
        with self._lock:
            self._progress.hide()
            self._progress.on = False

    def _end_cell(self) -> None:
        for text in self._held.values():
            self._write(text, self._out)
        self._held.clear()
        self._end_line()

    def _end_line(self) -> None:
        if not self._at_line_start:
            self._write("\n", self._out)

    def _write(self, text: str, stream: TextIO) -> None:
        if not text or self.reader_left:
            return
        self._progress.hide()
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            self.reader_left = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            _thread.interrupt_main()  # the run waits in the main thread
        self._at_line_start = text.endswith("\n")

    def _tick(self) -> None:
        while not self._closed.wait(0.2):
            with self._lock:
                if self._at_line_start and not self._closed.is_set():
                    self._progress.show()
