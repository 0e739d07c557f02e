"""`tapescope trace FILE`: runs all cells and prints every record of the engine as one line of JSON.

Each line is what `engine.observe` says (kind, operator, shapes, dtypes, module path, source range), with the place in
the notebook put on top: `cell` (its place in the document, from 1), `cell_id` and `line` (within the cell, from 1).
What the cells print goes to stderr, so that stdout holds nothing but records.

The cells run in a child process that writes the records itself: a cell that ends its process cannot end the command
without a sentence.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .command_error import FAILED, INTERRUPTED, USAGE, CommandError
from .kernel.messages import Message, Status

STOP_SECONDS = 5
"""How long the child may take to end after Ctrl+C."""


# -- the parent ---------------------------------------------------------------------------------------


def trace(path: Path, *, device: str | None, kinds: list[str] | None) -> int:
    """Run the notebook at `path` in a child that prints its records; the exit code."""
    from ..engine.observe import RECORDS

    unknown = [kind for kind in kinds or () if kind not in RECORDS]
    if unknown:
        known = ", ".join(sorted(RECORDS))
        raise CommandError(f"--kinds: there is no kind of record named {unknown[0]!r}; the kinds are {known}.", USAGE)
    with tempfile.TemporaryDirectory(prefix="tapescope-trace-") as folder:
        place = Path(folder, "place")
        place.write_text("0")
        order = json.dumps({"path": str(path), "device": device, "kinds": kinds, "place": str(place)})
        child = subprocess.Popen([sys.executable, "-m", __name__, order])
        interrupted = _wait(child)
        left_at = place.read_text()
    if left_at == "end":
        return child.returncode
    if interrupted:
        print("tapescope: Interrupted; the process of the cells did not end by itself and was killed.", file=sys.stderr)
        return INTERRUPTED
    code = child.returncode
    how = f"was killed by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"ended with exit code {code}"
    print(
        f"tapescope: {path}, cell {left_at}: the process {how} while this cell ran. The records up to then are "
        "printed; look in the cell for what ends the process or takes all memory.",
        file=sys.stderr,
    )
    return FAILED


def _wait(child: subprocess.Popen[bytes]) -> bool:
    """Wait for the child; whether Ctrl+C came meanwhile (a terminal sends it to the child as well)."""
    interrupted = False
    while True:
        try:
            child.wait(STOP_SECONDS if interrupted else None)
            return interrupted
        except subprocess.TimeoutExpired:
            child.kill()
        except KeyboardInterrupt:
            if interrupted:
                child.kill()
            else:
                interrupted = True
                child.send_signal(signal.SIGINT)


# -- the child ----------------------------------------------------------------------------------------


class Writer:
    """Writes records to a file descriptor, a line at a time and unbuffered: the last before a crash matters most."""

    def __init__(self, descriptor: int, number_of: dict[str, int]) -> None:
        self.descriptor = descriptor
        self.number_of = number_of
        """The place in the document of each cell id."""

    def __call__(self, record: Any) -> None:
        line = record.to_json()
        source = line.get("source")
        if source is not None:
            from .kernel.cellnames import parse_cell_filename

            found = parse_cell_filename(source["file"])
            line = {
                **line, "line": source["line"],
                "cell": self.number_of.get(found[0]) if found else None, "cell_id": found[0] if found else None,
            }  # fmt: skip
        try:
            text = (json.dumps(line, ensure_ascii=False) + "\n").encode()
            while text:
                text = text[os.write(self.descriptor, text) :]
        except BrokenPipeError:
            # Whoever read has left (`| head`). Raising here would surface inside the user's cell.
            _end(0)


def _end(code: int) -> None:
    Path(_order["place"]).write_text("end")
    os._exit(code)


_order: dict[str, Any] = {}


def _child() -> int:
    from ..engine.observe import bus
    from .headless import Cells, Printer, Progress
    from .kernel.runner import run_notebook
    from .notebook.errors import NotebookError
    from .notebook.files import load

    _order.update(json.loads(sys.argv[1]))
    path, place = Path(_order["path"]), Path(_order["place"])
    # Records have the real stdout for themselves; whatever else writes there, native code included, goes to stderr.
    descriptor = os.dup(1)
    os.dup2(2, 1)
    try:
        cells = Cells(path, load(path))
    except NotebookError as error:
        print(f"tapescope: {error}", file=sys.stderr, flush=True)
        return FAILED
    printer = Printer(Progress(cells, quiet=True))

    def listen(event: Message) -> None:
        if isinstance(event, Status) and event.cell is not None:
            place.write_text(str(cells.number_of[event.cell]))
        printer.take(event)

    bus.subscribe(Writer(descriptor, cells.number_of), _order["kinds"])
    result = run_notebook(
        cells.commands, listen, device=_order["device"], torch="tapescope", in_process=True, cwd=path.resolve().parent
    )
    return cells.conclude(result, printer)


if __name__ == "__main__":
    _end(_child())
