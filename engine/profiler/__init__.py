"""`torch.profiler` in its common forms: time and calls by operator, `record_function` ranges, schedules, a Chrome trace.

A dispatch mode times every primitive; on WebGPU the time is that of the launch, since waiting for each would change what is measured.
"""

from __future__ import annotations

import enum
import functools
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

from .. import dispatch
from ..modes import Mode
from ..ops.table import Op
from ..state import state
from ..tensor import Tensor


class ProfilerActivity(enum.Enum):
    """What can be profiled; there are CPU times only."""

    CPU = 0
    XPU = 1
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What a step of a schedule does."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Cycles of waiting, warming up and recording steps, as a function of the step number."""

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        length = wait + warmup + active
        if repeat and step // length >= repeat:
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


class _Timing(Mode):
    def __init__(self, events: list[Event], shapes: bool):
        self.events, self.shapes = events, shapes

    def call(self, op: Op, args: tuple[Any, ...], statics: tuple[Any, ...]) -> Any:
        begin = time.perf_counter_ns()
        with self.outside():
            out = dispatch.call(op, args, statics)
        self._add(op, begin, args)
        return out

    def inplace(self, op: Op, target: Tensor, others: tuple[Any, ...], statics: tuple[Any, ...]) -> Tensor:
        begin = time.perf_counter_ns()
        with self.outside():
            out = dispatch.inplace(op, target, others, statics)
        self._add(op, begin, (target, *others), "_")
        return out

    def _add(self, op: Op, begin: int, args: tuple[Any, ...], suffix: str = "") -> None:
        shapes = [list(a.shape) if isinstance(a, Tensor) else [] for a in args] if self.shapes else []
        self.events.append(Event(f"aten::{op.name}{suffix}", begin, time.perf_counter_ns(), shapes))


class Event:
    """One call of an operator, or one `record_function` range. Times in nanoseconds of `perf_counter`."""

    def __init__(self, name: str, begin: int, end: int, input_shapes: list[list[int]], inner: int = 0):
        self.name = self.key = name
        self.begin, self.end = begin, end
        self.input_shapes = input_shapes
        self.inner = inner
        self.count = 1

    @property
    def cpu_time_total(self) -> float:
        """Microseconds, with what it called."""
        return (self.end - self.begin) / 1000

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, without the operators inside a range."""
        return (self.end - self.begin - self.inner) / 1000


class Average:
    """All calls of one name. Times in microseconds."""

    def __init__(self, key: str, events: list[Event]):
        self.key = self.name = key
        self.count = len(events)
        self.cpu_time_total = sum(e.cpu_time_total for e in events)
        self.self_cpu_time_total = sum(e.self_cpu_time_total for e in events)
        self.input_shapes = events[0].input_shapes

    @property
    def cpu_time(self) -> float:
        """Microseconds a call."""
        return self.cpu_time_total / self.count


class EventList(list):
    """Averages or events, printable as a table."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75, header: str | None = None,
              top_level_events_only: bool = False) -> str:  # fmt: skip
        """The rows as text, sorted by an attribute such as "cpu_time_total"."""
        rows = list(self)
        if sort_by:
            name = sort_by.replace("cuda", "cpu").replace("device", "cpu")
            rows.sort(key=lambda r: getattr(r, name, 0), reverse=True)
        total = sum(r.self_cpu_time_total for r in rows) or 1.0
        shown = rows[:row_limit] if row_limit >= 0 else rows
        shapes = any(r.input_shapes for r in shown)
        head = [
            "Name",
            "Self CPU %",
            "Self CPU",
            "CPU total",
            "CPU time avg",
            "# of Calls",
            *(["Input Shapes"] if shapes else []),
        ]
        body = [
            [
                r.key, f"{100 * r.self_cpu_time_total / total:.2f}%", _micro(r.self_cpu_time_total), _micro(r.cpu_time_total),
                _micro(r.cpu_time_total / r.count), str(r.count), *([str(r.input_shapes)] if shapes else []),
            ]
            for r in shown
        ]  # fmt: skip
        widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
        rule = "  ".join("-" * w for w in widths)
        lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in [head, *body]]
        text = "\n".join([rule, lines[0], rule, *lines[1:], rule, f"Self CPU time total: {_micro(total)}"])
        return f"{header}\n{text}" if header else text

    def total_average(self) -> Average:
        """All rows as one."""
        return Average("Total", list(self))


def _micro(us: float) -> str:
    return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class profile:
    """Records the operators run inside `with`. `step()` moves a schedule on; `on_trace_ready` gets the profiler after each cycle."""

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, use_cuda: bool | None = None,
                 **_: Any):  # fmt: skip
        self._schedule, self._ready, self._shapes = schedule, on_trace_ready, record_shapes
        self._events: list[Event] = []
        self._mode: _Timing | None = None
        self.step_num = 0

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin."""
        self._apply(self._schedule(0) if self._schedule else ProfilerAction.RECORD)

    def stop(self) -> None:
        """End; hands the trace out where there is no schedule or a cycle is open."""
        recording = self._mode is not None
        self._apply(ProfilerAction.NONE)
        if recording and self._ready is not None:
            self._ready(self)

    def step(self) -> None:
        """The next step of the schedule."""
        before = self._schedule(self.step_num) if self._schedule else ProfilerAction.RECORD
        self.step_num += 1
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._apply(ProfilerAction.NONE)
            if self._ready is not None:
                self._ready(self)
        if self._schedule:
            self._apply(self._schedule(self.step_num))

    def _apply(self, action: ProfilerAction) -> None:
        wanted = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if wanted and self._mode is None:
            self._events = []
            self._mode = _Timing(self._events, self._shapes)
            self._mode.__enter__()
        elif not wanted and self._mode is not None:
            self._mode.__exit__()
            self._mode = None

    def events(self) -> EventList:
        """Every call."""
        return EventList(self._events)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **_: Any) -> EventList:
        """Calls gathered by name (and input shapes)."""
        groups: dict[Any, list[Event]] = {}
        for e in self._events:
            groups.setdefault((e.key, str(e.input_shapes) if group_by_input_shape else ""), []).append(e)
        return EventList(Average(k[0], v) for k, v in groups.items())

    def total_average(self) -> Average:
        """All calls as one."""
        return Average("Total", self._events)

    def export_chrome_trace(self, path: str) -> None:
        """Write the calls as a trace that Chrome and Perfetto show."""
        rows = [
            {"name": e.name, "ph": "X", "ts": e.begin / 1000, "dur": (e.end - e.begin) / 1000, "pid": 0, "tid": 0, "cat": "cpu_op",
             "args": {"Input Dims": e.input_shapes}}
            for e in self._events
        ]  # fmt: skip
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": rows}, file)

    def __str__(self) -> str:
        return self.key_averages().table()


class record_function:
    """A named range in the trace; a context manager and a decorator."""

    def __init__(self, name: str, args: str | None = None):
        self.name = name

    def __enter__(self) -> record_function:
        self._begin = time.perf_counter_ns()
        mode = next((m for m in state.modes if isinstance(m, _Timing)), None)
        self._mode, self._at = mode, len(mode.events) if mode is not None else 0
        return self

    def __exit__(self, *error: object) -> None:
        if self._mode is not None:
            inside = self._mode.events[self._at :]
            inner = sum(e.end - e.begin - e.inner for e in inside)
            self._mode.events.append(Event(self.name, self._begin, time.perf_counter_ns(), [], inner))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return wrapped


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """A handler for `on_trace_ready` that writes each trace into a folder."""
    import os

    def handle(profiler: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        profiler.export_chrome_trace(os.path.join(dir_name, f"{worker_name or 'trace'}.{time.time_ns()}.pt.trace.json"))

    return handle
