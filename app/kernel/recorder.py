"""What the operators of a cell did and cost: the engine's records, gathered while the cell runs.

The first operators of every cell are recorded (`FIRST`), which is enough for the hints and for stepping through a run;
all of them where somebody asked for costs.  A record costs a few microseconds; a cell that trains for minutes without
being measured pays for the first ones only.  The records become plain data here; drawing them is for front ends.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .cellnames import parse_cell_filename
from .import_hooks import when_imported
from .torch_name import ENGINE

__all__ = ["FIRST", "KEPT", "Line", "Recorder", "Step", "costs_json", "steps_json"]

FIRST = 3_000
"""Operators of a cell that are recorded without being asked."""

KEPT = 20_000
"""Steps that are kept for stepping through a run; more are counted, and their costs summed."""

KEPT_RUNS = 4
"""Cells whose last run is kept."""

KEPT_KERNELS = 500
"""Kernels whose source is kept."""

KEPT_PLACES = 20
"""Lines that are kept of each kernel."""


@dataclass(slots=True)
class Step:
    """One operator call. `place` is (cell, revision), `node` its sequence number on the tape where it has one.

    `phase` is "forward" or "backward"; a backward step has the place of the forward operator it belongs to.
    """

    op: str
    phase: str
    place: tuple[str, int] | None
    source: Any
    module: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    node: int | None
    seconds: float


@dataclass(slots=True)
class Line:
    """The costs of one source line (or of one operator): calls, seconds and bytes, forward and backward apart."""

    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0
    launches: int = 0
    backward_calls: int = 0
    backward_seconds: float = 0.0
    fallbacks: int = 0
    last_line: int = 0

    def json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


_SIZES = {"float64": 8, "int64": 8, "complex64": 8, "complex128": 16, "float16": 2, "bfloat16": 2, "int16": 2,
          "bool": 1, "uint8": 1, "int8": 1}  # fmt: skip


def _bytes(meta: Any) -> int:
    """Bytes of a tensor; 0 where a size is not a number (while a graph is captured with symbolic sizes)."""
    size = _SIZES.get(meta.dtype, 4)
    for n in meta.shape:
        if type(n) is not int:
            return 0
        size *= n
    return size


def _shape(shape: Any) -> list[Any]:
    return [n if type(n) is int else str(n) for n in shape]


_Key = tuple[str, int, int]
"""Cell, revision, line."""


@dataclass
class _Run:
    """Everything gathered of one cell's run."""

    cell: str
    steps: list[Step] = field(default_factory=list)
    dropped: int = 0
    lines: dict[_Key, Line] = field(default_factory=dict)
    ops: dict[str, Line] = field(default_factory=dict)
    nodes: dict[int, tuple[_Key, str]] = field(default_factory=dict)
    fallbacks: dict[str, tuple[str, str, _Key | None, int]] = field(default_factory=dict)
    launched: dict[str, list[Any]] = field(default_factory=dict)
    """Of each kernel: launches, seconds where the device tells them, operator, device, and the lines it ran for."""
    complete: bool = True
    backward: bool = False


class Recorder:
    """Listens while a cell runs. `run` is the last run that had operators, None before one did."""

    def __init__(self, *, first: int = FIRST, clock: Callable[[], float] = time.perf_counter) -> None:
        self.everything = False
        """Record all operators of the cells to come, not only the first."""
        self.run: _Run | None = None
        self._runs: dict[str, _Run] = {}
        self._first = first
        self._clock = clock
        self._now: _Run | None = None
        self._left = 0
        self._last = 0.0
        self._pending: list[Any] = []  # records of a node of backward that has not been named yet
        self._pending_seconds = 0.0
        self._launches = 0
        self._launched: list[dict[_Key, None]] = []
        self._timed: Any = None
        self._inside_backward = False
        self._bus: Any = None
        self._texts: dict[str, str] = {}
        self._unsubscribe: Callable[[], None] = lambda: None
        self._stop: Callable[[], None] = lambda: None
        self._forget = when_imported(ENGINE, self._connect)

    def _connect(self, engine: Any) -> None:
        from ...engine.observe import bus

        self._bus = bus
        self._unsubscribe = bus.subscribe(self._built, ["kernel"])
        if self._now is not None:  # a cell imports the engine and goes on
            self._listen()

    def close(self) -> None:
        """Listen no more."""
        self._forget()
        self._stop()
        self._unsubscribe()

    def _built(self, record: Any) -> None:
        """A kernel was compiled, once for all cells: its source is kept for whoever launches it."""
        if len(self._texts) < KEPT_KERNELS:
            self._texts[record.name] = record.text

    def text_of(self, kernel: str) -> str:
        """The source of a kernel, "" where it is not known."""
        return self._texts.get(kernel, "")

    def begin(self, cell: str) -> None:
        """A cell is about to run."""
        self._now = _Run(cell)
        self._left = self._first
        self._pending, self._pending_seconds, self._launches = [], 0.0, 0
        self._launched.clear()
        self._inside_backward = False
        if self._bus is not None:
            self._listen()
            if self.everything:
                self._time_kernels(True)

    def _time_kernels(self, on: bool) -> None:
        """Let the WebGPU device, where it is open, measure its kernels while everything is recorded."""
        base = sys.modules.get(f"{ENGINE}.backends.base")
        backend = getattr(base, "_backends", {}).get("webgpu") if base is not None else None
        self._timed = getattr(backend, "device", None) if on else None
        if self._timed is not None:
            self._timed.timing = True

    def _end_timing(self) -> None:
        """What is still to be submitted is measured, too."""
        device, self._timed = self._timed, None
        if device is not None:
            try:
                device.flush()
            except Exception:  # a device that failed is told where the cell uses it
                pass
            device.timing = False

    def _listen(self) -> None:
        self._stop()
        self._stop = self._bus.subscribe(self._hear, ["op", "node", "backward", "launch", "fallback"])
        self._last = self._clock()

    def end(self) -> _Run | None:
        """The cell is over: what was recorded of it, None where it ran no operator."""
        self._end_timing()
        self._stop()
        self._stop = lambda: None
        now, self._now = self._now, None
        if now is None or not (now.steps or now.dropped):
            return None
        self._close_backward(now)
        self.run = now
        self._runs.pop(now.cell, None)
        self._runs[now.cell] = now
        while len(self._runs) > KEPT_RUNS:
            del self._runs[next(iter(self._runs))]
        return now

    def run_of(self, cell: str | None) -> _Run | None:
        """The last run of a cell where it is kept, else the last run of all."""
        return self._runs.get(cell or "", self.run)

    # -- records ------------------------------------------------------------------------------------

    def _hear(self, record: Any) -> None:
        run = self._now
        if run is None:
            return
        now = self._clock()
        kind = record.kind
        if kind == "op":
            self._left -= 1
            if self._left < 0 and not self.everything:
                run.complete = False
                self._stop()
                self._stop = lambda: None
                return
            if self._inside_backward and record.source is not None and record.node is None and self._is_user(record):
                # The user's code goes on: an operator of theirs outside of the tape (an optimizer's, a metric's).
                # Operators of backward have the position of the call of backward, so only another line says so.
                self._close_backward(run)
            if self._inside_backward and record.node is None:
                self._pending.append(record)
                self._pending_seconds += now - self._last
            else:
                if record.node is not None and self._inside_backward:
                    self._close_backward(run)
                self._forward(run, record, now - max(self._last, self._bus.began))
        elif kind == "node":
            self._visited(run, record, now - self._last)
        elif kind == "backward":
            self._close_backward(run)
            self._inside_backward = run.backward = True
            self._backward_line = (record.source.file, record.source.line) if record.source is not None else None
        elif kind == "launch":
            known = run.launched.setdefault(record.name, [0, None, record.op, record.device, {}])
            known[0] += 1
            if record.seconds is not None:
                known[1] = (known[1] or 0.0) + record.seconds
            else:  # timed launches are told when they were submitted, too late to know their line
                self._launches += 1
                self._launched.append(known[4])
            return  # the operator's own record follows, and takes the time
        elif kind == "fallback":
            known = run.fallbacks.get(record.op)
            run.fallbacks[record.op] = (
                record.device, record.reason, known[2] if known else None, known[3] + 1 if known else 1
            )  # fmt: skip
            return
        self._last = self._clock()

    _backward_line: tuple[str, int] | None = None

    def _is_user(self, record: Any) -> bool:
        return (record.source.file, record.source.line) != self._backward_line

    def _forward(self, run: _Run, record: Any, seconds: float) -> None:
        if any(type(n) is not int for out in record.outputs for n in out.shape):
            return  # a graph is being captured with symbolic sizes: nothing is computed
        source = record.source
        place = parse_cell_filename(source.file) if source is not None else None
        key: _Key | None = (*place, source.line) if place is not None and source is not None else None
        size = sum(map(_bytes, record.inputs)) + sum(map(_bytes, record.outputs))
        for line in self._lines(run, key, record.op):
            line.calls += 1
            line.seconds += seconds
            line.bytes += size
            line.launches += self._launches
            if source is not None:
                line.last_line = max(line.last_line, source.end_line)
        self._launches = 0
        self._at(key)
        if key is not None:
            if record.node is not None:
                run.nodes[record.node] = (key, record.op)
            fallback = run.fallbacks.get(record.op)
            if fallback is not None and fallback[2] is None:
                run.fallbacks[record.op] = (fallback[0], fallback[1], key, fallback[3])
        step = Step(
            record.op, "forward", place, source, record.module, record.inputs, record.outputs, record.node, seconds
        )
        self._keep(run, step)

    def _visited(self, run: _Run, record: Any, seconds: float) -> None:
        """One node of backward is done: what ran since the last one is its work, charged to the forward line."""
        key, op = run.nodes.get(record.node, (None, record.op))
        seconds += self._pending_seconds
        for line in self._lines(run, key, op):
            line.backward_calls += max(1, len(self._pending))
            line.backward_seconds += seconds
            line.launches += self._launches
        self._launches = 0
        self._at(key)
        self._pending, self._pending_seconds = [], 0.0
        place = (key[0], key[1]) if key is not None else None
        outputs = tuple(g for g in record.grads if g is not None)
        source = _LineOnly(key[2]) if key is not None else None
        self._keep(run, Step(record.op, "backward", place, source, "", (), outputs, record.node, seconds))

    def _at(self, key: _Key | None) -> None:
        """What was launched since the last operator ran for a line."""
        for places in self._launched:
            if key is not None and len(places) < KEPT_PLACES:
                places[key] = None
        self._launched.clear()

    def _close_backward(self, run: _Run) -> None:
        """What ran after the last node and before the user's next operator: gathering into leaves, mostly."""
        if self._pending:
            for record in self._pending:
                self._forward(run, record, self._pending_seconds / len(self._pending))
        self._pending, self._pending_seconds = [], 0.0
        self._inside_backward = False

    @staticmethod
    def _lines(run: _Run, key: _Key | None, op: str) -> list[Line]:
        found = [run.ops.setdefault(op, Line())]
        if key is not None:
            found.append(run.lines.setdefault(key, Line(last_line=key[2])))
        return found

    @staticmethod
    def _keep(run: _Run, step: Step) -> None:
        if len(run.steps) < KEPT:
            run.steps.append(step)
        else:
            run.dropped += 1


@dataclass(frozen=True, slots=True)
class _LineOnly:
    """A place of which only the line is known."""

    line: int
    column: int = 0
    end_column: int = 0

    @property
    def end_line(self) -> int:
        return self.line


def costs_json(run: _Run, text_of: Callable[[str], str] = lambda kernel: "") -> dict[str, Any]:
    """The costs of a run as plain data. `text_of` gives the source of a kernel.

    ========  =====================================================================================
    lines     list of {"cell", "revision", "line", and the fields of `Line`}, in the order of first use
    ops       list of {"op", and the fields of `Line`}, the most expensive first
    kernels   of a device that launches some: list of {"name", "op", "device", "text", "launches", "seconds", "sources"},
              `seconds` of all launches or None, `sources` lines of cells, in the order of first launch
    seconds   of all of them together
    complete  whether all operators were recorded; else only the first ones of the cell were
    ========  =====================================================================================
    """
    ops = sorted(run.ops.items(), key=lambda item: -(item[1].seconds + item[1].backward_seconds))
    return {
        "lines": [{"cell": c, "revision": r, "line": n, **line.json()} for (c, r, n), line in run.lines.items()],
        "ops": [{"op": op, **line.json()} for op, line in ops],
        "kernels": [
            {
                "name": name,
                "op": op,
                "device": device,
                "text": text_of(name),
                "launches": count,
                "seconds": seconds,
                "sources": [{"cell": c, "revision": r, "line": n, "end_line": n} for c, r, n in places],
            }
            for name, (count, seconds, op, device, places) in run.launched.items()
        ],
        "seconds": sum(line.seconds + line.backward_seconds for _, line in ops),
        "complete": run.complete,
    }


def steps_json(run: _Run) -> list[dict[str, Any]]:
    """The steps of a run as plain data, in order.

    Each has `op`, `phase` ("forward", "backward"), `cell`, `revision`, `line`, `end_line`, `column`, `end_column` (None
    outside of cells), `module`, `shape` and `dtype` of the first output, `device`, `inputs` (shapes), `node`, `seconds`.
    """
    found = []
    for step in run.steps:
        out = step.outputs[0] if step.outputs else None
        source = step.source if step.place is not None else None
        found.append(
            {
                "op": step.op,
                "phase": step.phase,
                "cell": step.place[0] if step.place is not None else None,
                "revision": step.place[1] if step.place is not None else None,
                "line": source.line if source is not None else None,
                "end_line": source.end_line if source is not None else None,
                "column": source.column if source is not None else None,
                "end_column": source.end_column if source is not None else None,
                "module": step.module,
                "shape": _shape(out.shape) if out is not None else None,
                "dtype": out.dtype if out is not None else "",
                "device": out.device if out is not None else "",
                "inputs": [_shape(meta.shape) for meta in step.inputs],
                "node": step.node,
                "seconds": step.seconds,
            }
        )
    return found
