"""What goes on between a document and its kernel: the queue of cells, their outputs, interrupting, restarting.

It knows no widgets and no threads: the app hands in kernel events (`apply`) and the time, and reads the state.
Texts and outputs live in the document; what the kernel does can never change a cell's source.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..kernel import messages as m
from ..notebook import outputs
from ..notebook.document import Cell, Notebook

__all__ = ["PATIENCE", "CellRun", "Kernel", "KernelInfo", "Session", "Update"]

PATIENCE = 2.0
"""Seconds a step of interrupting may take before the next, harder one is offered."""


class Kernel(Protocol):
    """What a session asks of a kernel transport (`kernel.process.KernelProcess` is one)."""

    def start(self) -> None: ...
    def send(self, *commands: m.Message) -> None: ...
    def interrupt(self) -> None: ...
    def cancel(self, cells: Collection[str] | None = None) -> None: ...
    def restart(self, *, force: bool = False) -> None: ...
    def kill(self) -> None: ...
    def close(self) -> None: ...


@dataclass
class KernelInfo:
    """The kernel as the status line shows it. `stage` counts the steps of interrupting that were tried (0 to 3)."""

    state: Literal["starting", "idle", "busy", "dead"] = "starting"
    torch: str = ""
    device: str = ""
    python: str = ""
    reason: str = ""
    advice: str = ""
    stage: int = 0
    stage_since: float = 0.0


@dataclass
class CellRun:
    """The latest run of one cell. `error_line` is the line of the cell (from 1) where it failed."""

    state: Literal["waiting", "running", "ok", "error", "interrupted", "aborted", "died"]
    started: float = 0.0
    seconds: float = 0.0
    error_line: int | None = None
    revision: int = 0


@dataclass
class Update:
    """What `Session.apply` found in a batch of events, beside the changes that the document itself announces."""

    status: bool = False
    tape: bool = False
    variables: bool = False
    completions: m.Completions | None = None
    documentation: m.Documentation | None = None
    input_request: m.InputRequest | None = None
    died: m.Died | None = None
    captures: bool = False
    costs: bool = False
    hints: set[str] = field(default_factory=set)
    device: bool = False
    recording: m.Recording | None = None
    began: str | None = None
    finished: list[str] = field(default_factory=list)
    runs: set[str] = field(default_factory=set)


class Session:
    """One document with one kernel. `make_kernel` builds the transport; it is started by `start`."""

    def __init__(
        self, notebook: Notebook, make_kernel: Callable[[], Kernel], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.notebook = notebook
        self.kernel = make_kernel()
        self.info = KernelInfo()
        self.runs: dict[str, CellRun] = {}
        self.tape: m.Tape | None = None
        self.variables: list[dict[str, Any]] = []
        self.costs: dict[str, dict[tuple[int, int], dict[str, Any]]] = {}
        """What the lines of each cell cost when they ran last, by revision and line (`kernel.recorder.costs_json`)."""
        self.last_costs: dict[str, Any] | None = None
        self.hints: dict[str, list[dict[str, Any]]] = {}
        """What a learner may want to hear about the last run of each cell."""
        self.captures = m.Captures(None, [])
        self.device: dict[str, Any] = {}
        self._clock = clock
        self._waiting: list[tuple[str, int]] = []
        self._counts: dict[int, tuple[str, int]] = {}
        self._ran: dict[tuple[str, int], str] = {}
        self._current: str | None = None
        self.failed: str | None = None
        """The cell at which the last run ended with an error."""
        self._last: str | None = None
        self._requests = 0
        self._restarting = False
        self._measuring = False
        self._switched: str | None = None
        self._asked: m.InputRequest | None = None

    # -- state --------------------------------------------------------------------------------------

    @property
    def running(self) -> str | None:
        """The id of the cell that runs."""
        return self._current

    @property
    def waiting(self) -> int:
        """How many cells wait for their turn."""
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """The kernel is ready and nothing runs or waits."""
        return self.info.state == "idle" and self._current is None and not self._waiting

    def cell_of_count(self, count: int) -> tuple[str, int] | None:
        """The cell and revision that ran as number `count` in this kernel."""
        return self._counts.get(count)

    def place_in_queue(self, cell_id: str) -> int:
        """The place of a cell among those that wait, from 1; 0 where it does not wait."""
        return next((n for n, (cell, _) in enumerate(self._waiting, 1) if cell == cell_id), 0)

    def elapsed(self) -> float:
        """Seconds the running cell has run."""
        run = self.runs.get(self._current or "")
        return self._clock() - run.started if run is not None else 0.0

    def impatient(self) -> bool:
        """The last step of interrupting had its time; the next, harder one may be offered."""
        return self.info.stage > 0 and self._clock() - self.info.stage_since >= PATIENCE

    def text_that_ran(self, cell: str, revision: int | None) -> str | None:
        """The text a cell had in a revision that was run in this session, for lines of tapes and tracebacks."""
        return self._ran.get((cell, revision if revision is not None else -1))

    # -- running ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the kernel in the background."""
        self.kernel.start()

    def run(self, cells: Iterable[Cell]) -> str:
        """Queue code cells with the text they have now; returns a sentence where that is impossible, else ""."""
        cells = [cell for cell in cells if cell.cell_type == "code"]
        if self.info.state == "dead" and cells:
            return f"The kernel is not running. {self.info.advice or 'Press 0 0 to restart it.'}"
        for cell in cells:
            if not cell.source.strip():
                self.notebook.clear_outputs(cell.id)
                continue
            if (cell.id, cell.revision) in self._waiting:
                continue
            self._waiting.append((cell.id, cell.revision))
            self._ran[cell.id, cell.revision] = cell.source
            if cell.id != self._current:
                self.runs[cell.id] = CellRun("waiting", revision=cell.revision)
            self.kernel.send(m.Execute(cell.id, cell.revision, cell.source))
        return ""

    def cancel(self, cells: Iterable[Cell] | None = None) -> int:
        """Take cells (all where `cells` is None) out of the queue; returns how many were in it."""
        waiting = {cell for cell, _ in self._waiting}
        chosen = waiting if cells is None else waiting & {cell.id for cell in cells}
        if chosen:
            self.kernel.cancel(sorted(chosen))
        return len(chosen)

    def measure(self, on: bool) -> None:
        """Measure every operator of the cells to come, or only the first ones of each; also in the kernels to come."""
        self._measuring = on
        self.kernel.send(m.Observe(costs=on))

    def ask_recording(self, cell: str | None = None) -> int:
        """Ask for the steps of a cell's last run, or of the last run of all; the answer carries the returned number."""
        self._requests += 1
        self.kernel.send(m.GetRecording(self._requests, cell))
        return self._requests

    def ask_device(self, switch: str | None = None) -> None:
        """Ask what the devices are; with `switch`, new tensors are made there from now on, also in the kernels to come."""
        self._switched = switch or self._switched
        self.kernel.send(m.AskDevice(switch))

    def _forget_waiting(self) -> None:
        """What waited will not run."""
        for cell, _ in self._waiting:
            run = self.runs.get(cell)
            if run is not None and run.state == "waiting":
                run.state = "aborted"
        self._waiting.clear()

    # -- stopping -----------------------------------------------------------------------------------

    def interrupt(self) -> str:
        """The next step of stopping: interrupt, then (when that had its time) force a restart, then kill.

        Returns a sentence that says what was done.
        """
        if self.info.state == "dead":
            return "The kernel is not running. Press 0 0 to restart it."
        if self.info.stage >= 2 and self.impatient():
            self._stage(3)
            self.kernel.kill()
            return "Killing the kernel."
        if self.info.stage == 1 and self.impatient():
            self.restart(force=True)
            self._stage(2)
            return "Forcing a restart of the kernel. The document is untouched."
        if self._current is None and not self._waiting:
            return "Nothing is running."
        self._forget_waiting()
        if self.info.stage < 2:
            if self.info.stage == 0:
                self._stage(1)
            self.kernel.interrupt()
        return "Interrupting."

    def _stage(self, stage: int) -> None:
        self.info.stage, self.info.stage_since = stage, self._clock()

    def restart(self, *, force: bool = False) -> None:
        """A new kernel process; what waited is cancelled, and the running cell is given up."""
        self._forget_waiting()
        was_dead = self.info.state == "dead"
        self._give_up("interrupted")
        self.failed = None
        self._restarting = not was_dead
        self.info = KernelInfo(torch=self.info.torch, device=self.info.device, python=self.info.python)
        self.variables = []
        self.captures, self.device = m.Captures(None, []), {}
        self._counts.clear()
        if was_dead:
            self.kernel.start()
        else:
            self.kernel.restart(force=force)
        # Before the first cell of the new kernel.
        if self._measuring:
            self.kernel.send(m.Observe(costs=True))
        if self._switched is not None:
            self.kernel.send(m.AskDevice(self._switched))

    def close(self) -> None:
        """End the kernel."""
        self.kernel.close()

    def _give_up(self, state: Literal["interrupted", "died"]) -> str | None:
        cell, self._current = self._current, None
        run = self.runs.get(cell or "")
        if run is not None and run.state == "running":
            run.state, run.seconds = state, self._clock() - run.started
        return cell

    # -- questions ----------------------------------------------------------------------------------

    def complete(self, code: str, cursor: int) -> int:
        """Ask for completions; the answer carries the returned number."""
        self._requests += 1
        self.kernel.send(m.Complete(self._requests, code, cursor))
        return self._requests

    def inspect(self, code: str, cursor: int) -> int:
        """Ask for documentation; the answer carries the returned number."""
        self._requests += 1
        self.kernel.send(m.Inspect(self._requests, code, cursor))
        return self._requests

    def answer(self, text: str) -> None:
        """Answer an `InputRequest`. Question and answer stay among what the cell printed; a password does not."""
        asked, self._asked = self._asked, None
        self.kernel.send(m.InputReply(text))
        if asked is not None and (cell := self._find(asked.cell)) is not None:
            outputs.append_stream(cell, "stdout", f"{asked.prompt}{'········' if asked.password else text}\n")
            self.notebook.outputs_changed(cell.id)

    # -- events -------------------------------------------------------------------------------------

    def apply(self, events: Iterable[m.Message]) -> Update:
        """Take in a batch of kernel events. Cells whose outputs changed are announced once each by the document."""
        update = Update()
        changed: dict[str, None] = {}
        for event in events:
            if self._restarting and not isinstance(event, (m.Ready, m.Died)):
                continue  # the last words of the process that was given up
            handler = getattr(self, f"_on_{event.kind}", None)
            if handler is not None:
                handler(event, update, changed)
        for cell in changed:
            if self._find(cell) is not None:
                self.notebook.outputs_changed(cell)
        return update

    def _find(self, cell: str | None) -> Cell | None:
        """The cell an event belongs to: output that names no cell goes to the cell that ran last."""
        try:
            return self.notebook.cell(cell or self._last or "")
        except KeyError:
            return None

    def _on_ready(self, event: m.Ready, update: Update, changed: dict[str, None]) -> None:
        self._restarting = False
        self.info = KernelInfo("idle", torch=event.torch, device=event.device, python=event.python)
        update.status = True

    def _on_status(self, event: m.Status, update: Update, changed: dict[str, None]) -> None:
        if self.info.state in ("idle", "busy"):
            self.info.state = "busy" if event.state == "busy" else "idle"
        if event.state == "busy" and event.cell is not None:
            self._begin(event.cell, update, changed)
        update.status = True

    def _begin(self, cell_id: str, update: Update, changed: dict[str, None]) -> None:
        """A cell's turn has come: it starts with no outputs."""
        place = next((n for n, (cell, _) in enumerate(self._waiting) if cell == cell_id), None)
        revision = self._waiting.pop(place)[1] if place is not None else 0
        self._current = self._last = update.began = cell_id
        self.failed = None
        self.hints.pop(cell_id, None)
        self.costs.pop(cell_id, None)
        update.costs = True
        self.runs[cell_id] = CellRun("running", self._clock(), revision=revision)
        update.runs.add(cell_id)
        if (cell := self._find(cell_id)) is not None:
            outputs.begin_execution(cell)
            changed[cell_id] = None

    def _on_stream(self, event: m.Stream, update: Update, changed: dict[str, None]) -> None:
        if (cell := self._find(event.cell)) is not None:
            outputs.append_stream(cell, event.name, event.text)
            changed[cell.id] = None

    def _on_display_data(self, event: m.DisplayData, update: Update, changed: dict[str, None]) -> None:
        if event.update and event.display_id is not None:
            changed.update(
                dict.fromkeys(outputs.update_display(self.notebook, event.display_id, event.data, event.metadata))
            )
        elif (cell := self._find(event.cell)) is not None:
            output = {"output_type": "display_data", "data": event.data, "metadata": event.metadata}
            outputs.append_output(cell, output, event.display_id)
            changed[cell.id] = None

    def _on_execute_result(self, event: m.ExecuteResult, update: Update, changed: dict[str, None]) -> None:
        if (cell := self._find(event.cell)) is not None:
            output = {
                "output_type": "execute_result",
                "execution_count": event.execution_count,
                "data": event.data,
                "metadata": event.metadata,
            }
            outputs.append_output(cell, output)
            changed[cell.id] = None

    def _on_clear_output(self, event: m.ClearOutput, update: Update, changed: dict[str, None]) -> None:
        if (cell := self._find(event.cell)) is not None:
            outputs.clear_output(cell, event.wait)
            changed[cell.id] = None

    def _on_error(self, event: m.Error, update: Update, changed: dict[str, None]) -> None:
        if (cell := self._find(event.cell)) is not None:
            output = {
                "output_type": "error",
                "ename": event.ename,
                "evalue": event.evalue,
                "traceback": event.traceback,
            }
            outputs.append_output(cell, output)
            changed[cell.id] = None
            if (run := self.runs.get(cell.id)) is not None:
                run.error_line = event.line

    def _on_executed(self, event: m.Executed, update: Update, changed: dict[str, None]) -> None:
        if event.cell == self._current:
            self._current = None
        else:
            self._waiting = [item for item in self._waiting if item[0] != event.cell]
        run = self.runs.get(event.cell)
        known = ("ok", "error", "interrupted", "aborted", "died")
        if run is not None and run.state in ("running", "waiting"):
            run.state = event.status if event.status in known else "error"  # type: ignore[assignment]
            run.seconds = event.seconds
            if run.state == "error":
                self.failed = event.cell
        if event.status not in ("aborted", "died"):
            self._counts[event.execution_count] = (event.cell, run.revision if run is not None else 0)
        if (cell := self._find(event.cell)) is not None and event.status not in ("aborted", "died"):
            cell.execution_count = event.execution_count
            changed[cell.id] = None
        if self.info.stage == 1:
            self.info.stage = 0
        update.finished.append(event.cell)
        update.runs.add(event.cell)
        update.status = True

    def _on_tape(self, event: m.Tape, update: Update, changed: dict[str, None]) -> None:
        self.tape = event
        update.tape = True

    def _on_variables(self, event: m.Variables, update: Update, changed: dict[str, None]) -> None:
        self.variables = event.variables
        update.variables = True

    def _on_costs(self, event: m.Costs, update: Update, changed: dict[str, None]) -> None:
        for line in event.costs["lines"]:
            # A line belongs to the cell it stands in, whichever cell called it.
            self.costs.setdefault(line["cell"], {})[line["revision"], line["line"]] = line
        self.last_costs = event.costs
        update.costs = True

    def _on_hints(self, event: m.Hints, update: Update, changed: dict[str, None]) -> None:
        touched = {cell for cell, hints in self.hints.items() if any(h.get("run") == event.cell for h in hints)}
        for cell in touched:
            self.hints[cell] = [h for h in self.hints[cell] if h.get("run") != event.cell]
        for hint in event.hints:
            home = hint.get("cell") or event.cell
            if home is not None:
                self.hints.setdefault(home, []).append({**hint, "run": event.cell})
                touched.add(home)
        update.hints |= touched

    def _on_captures(self, event: m.Captures, update: Update, changed: dict[str, None]) -> None:
        self.captures = event
        update.captures = True

    def _on_device_info(self, event: m.DeviceInfo, update: Update, changed: dict[str, None]) -> None:
        self.device = event.info
        if event.info.get("error"):
            self._switched = None
        if event.info.get("device"):
            self.info.device = event.info["device"]
        update.device = update.status = True

    def _on_recording(self, event: m.Recording, update: Update, changed: dict[str, None]) -> None:
        update.recording = event

    def _on_completions(self, event: m.Completions, update: Update, changed: dict[str, None]) -> None:
        update.completions = event

    def _on_documentation(self, event: m.Documentation, update: Update, changed: dict[str, None]) -> None:
        update.documentation = event

    def _on_input_request(self, event: m.InputRequest, update: Update, changed: dict[str, None]) -> None:
        update.input_request = self._asked = event

    def _on_died(self, event: m.Died, update: Update, changed: dict[str, None]) -> None:
        self._restarting = False
        self._forget_waiting()
        if (cell := self._give_up("died")) is not None:
            update.runs.add(cell)
            if (home := self._find(cell)) is not None:
                # It stays beside what the cell had printed, when the notice is long gone.
                said = {"output_type": "error", "ename": "KernelDied", "evalue": event.reason,
                        "traceback": [f"\x1b[31mThe kernel died.\x1b[39m {event.reason}", event.advice]}  # fmt: skip
                outputs.append_output(home, said)
                changed[home.id] = None
        self.info = KernelInfo("dead", self.info.torch, self.info.device, self.info.python, event.reason, event.advice)
        self.variables = []
        update.died = event
        update.status = update.variables = True
