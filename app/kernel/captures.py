"""What `torch.compile` has captured in this kernel, put together from its records: functions, breaks, failed guards.

One capture a function, as `observe.capture_json` describes it; a source range that lies in a cell gets `cell` and
`revision`, as those of the tape do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .callsites import calling_place
from .cellnames import parse_cell_filename
from .import_hooks import when_imported
from .messages import Captures, Message
from .torch_name import ENGINE

__all__ = ["CaptureCollector"]

MOST = 200
"""Functions, and breaks and guards of each kind, that are kept."""


class CaptureCollector:
    """Listens all the time: a capture is rare, and a listener that hears nothing costs nothing."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._functions: dict[str, dict[str, Any]] = {}
        self._breaks: list[dict[str, Any]] = []
        self._guards: list[dict[str, Any]] = []
        self._calls: dict[tuple[str, str], dict[str, Any] | None] = {}
        self._latest: dict[tuple[str, str], Callable[[], dict[str, Any] | None]] = {}
        self._changed = False
        self._stop: Callable[[], None] = lambda: None
        self._forget = when_imported(ENGINE, self._connect)

    def _connect(self, engine: Any) -> None:
        from ...engine.observe import bus

        self._stop = bus.subscribe(self._hear, ["segment", "graph_break", "guard"])

    def close(self) -> None:
        """Listen no more."""
        self._forget()
        self._stop()

    def _hear(self, record: Any) -> None:
        self._changed = True
        if record.kind == "segment":
            known = self._functions.setdefault(
                record.function, {"source": record.source, "segments": {}, "recompiles": []}
            )
            known["segments"][record.segment] = record.capture
            self._calls[record.function, record.segment] = calling_place()
            self._latest[record.function, record.segment] = record._latest
            while len(self._functions) > MOST:
                oldest = next(iter(self._functions))
                for segment in self._functions.pop(oldest)["segments"]:
                    self._latest.pop((oldest, segment), None)
        elif record.kind == "graph_break":
            entry = record.to_json()
            entry.pop("kind")
            same = next((b for b in self._breaks if _same(b, entry)), None)
            if same is not None:
                same["count"] += 1
            elif len(self._breaks) < MOST:
                self._breaks.append({**_located(entry), "count": 1})
        elif len(self._guards) < MOST:
            entry = record.to_json()
            entry.pop("kind")
            # Of the call whose size became part of the graph, and of the one that brought another size.
            places = [self._calls.get((record.function, record.segment)), calling_place()]
            self._guards.append(_located({**entry, "calls": [place for place in places if place is not None]}))

    def end(self, cell: str | None) -> None:
        """A cell is over: send what there is, where it changed."""
        for (function, segment), latest in self._latest.items():
            if (capture := latest()) is not None:
                self._functions[function]["segments"][segment] = capture
                self._changed = True
        if not self._changed:
            return
        self._changed = False
        from ...engine.observe import capture_json

        captures = []
        for name, known in self._functions.items():
            recompiles = [
                {
                    "segment": guard["segment"], "instead_of": "", "guard": guard["guard"], "old": guard["old"],
                    "new": guard["new"], "source": guard["source"], "dimension": guard["dimension"],
                }
                for guard in self._guards
                if guard["function"] == name
            ]  # fmt: skip
            capture = capture_json(name, known["source"], list(known["segments"].values()), recompiles)
            captures.append(_located(_plain(capture)))
        self._send(Captures(cell, captures, self._breaks, self._guards))


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    here, there = one.get("source") or {}, other.get("source") or {}
    return (one["function"], one["break_id"], here.get("file"), here.get("line"), one["reason"]) == (
        other["function"], other["break_id"], there.get("file"), there.get("line"), other["reason"]
    )  # fmt: skip


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return _plain(value.to_json())
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _located(value: Any) -> Any:
    """Every source range in `value` with the cell it lies in."""
    if isinstance(value, dict):
        if isinstance(value.get("file"), str) and "line" in value:
            place = parse_cell_filename(value["file"])
            if place is not None:
                value = {**value, "cell": place[0], "revision": place[1]}
            return value
        return {k: _located(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_located(v) for v in value]
    return value
