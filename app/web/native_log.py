"""What a kernel told, in order and numbered, so that a page that was away can have what it missed.

An entry that a later one makes pointless is dropped (the next live tape of a cell, the next list of variables, the next
picture under one display id), so a cell that runs for hours while nobody listens fills no memory; texts are capped by the kernel.
Beside that the latest state is kept, for a page that comes anew.  It knows the contract of the kernel and no connection.
"""

from __future__ import annotations

import bisect
import dataclasses
import json
import math
import re
from typing import Any

from ..kernel import messages as m

Key = tuple[str, ...]

_HALF = re.compile("[\ud800-\udfff]")
_OUTPUTS = ("stream", "display_data", "execute_result", "error", "clear_output")


@dataclasses.dataclass(slots=True)
class Entry:
    """One event: its number (from 1), its text as JSON with that number as `seq`, its kind and its cell."""

    seq: int
    text: str
    kind: str
    cell: str | None


class EventLog:
    """Numbers events, keeps what may still be wanted, and the latest state of everything the panel shows."""

    def __init__(self) -> None:
        self.seq = 0
        self._entries: list[Entry] = []
        self._latest: dict[Key, Entry] = {}
        self._state: dict[Key, Entry] = {}
        self._clearing: set[str] = set()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, event: m.Message) -> Entry:
        """Number an event and keep it."""
        self.seq += 1
        cell = getattr(event, "cell", None)
        entry = Entry(self.seq, _text(event, self.seq), event.kind, cell)
        if isinstance(event, m.Ready):
            self._state.clear()
        if isinstance(event, m.Status) and event.state == "busy" and cell is not None:
            self._drop_outputs(cell)
            self._clearing.discard(cell)
        if isinstance(event, m.ClearOutput) and cell is not None:
            if event.wait:
                self._clearing.add(cell)
            else:
                self._drop_outputs(cell)
        elif event.kind in _OUTPUTS and cell in self._clearing and not getattr(event, "update", False):
            # What was cleared is gone for good now. The clearing itself must stay, for those who have seen the rest.
            self._clearing.discard(cell)
            self._drop_outputs(cell, but_last_clear=True)
        key = _replaces(event)
        if key is not None:
            if (old := self._latest.get(key)) is not None:
                self._remove(old)
            if isinstance(event, m.Tape) and not event.live:
                self._latest.pop(key, None)
            else:
                self._latest[key] = entry
        state = _state_key(event)
        if state is not None:
            self._state.pop(state, None)
            self._state[state] = entry
        self._entries.append(entry)
        return entry

    def after(self, seq: int) -> Entry | None:
        """The first entry that is kept behind number `seq`."""
        at = bisect.bisect_right(self._entries, seq, key=lambda entry: entry.seq)
        return self._entries[at] if at < len(self._entries) else None

    def state(self, seq: int) -> list[str]:
        """The texts of the latest state up to number `seq`, in order: for a page that has seen nothing."""
        return [e.text for e in sorted(self._state.values(), key=lambda e: e.seq) if e.seq <= seq]

    def forget(self, seq: int) -> None:
        """Drop what is in a document that was kept: the entries up to number `seq`."""
        at = bisect.bisect_right(self._entries, seq, key=lambda entry: entry.seq)
        for entry in self._entries[:at]:
            for key in [key for key, latest in self._latest.items() if latest is entry]:
                del self._latest[key]
        del self._entries[:at]

    def _remove(self, entry: Entry) -> None:
        at = bisect.bisect_left(self._entries, entry.seq, key=lambda e: e.seq)
        if at < len(self._entries) and self._entries[at] is entry:
            del self._entries[at]

    def _drop_outputs(self, cell: str, but_last_clear: bool = False) -> None:
        last = next((e for e in reversed(self._entries) if e.cell == cell and e.kind == "clear_output"), None)
        self._entries = [
            e for e in self._entries
            if e.cell != cell or e.kind not in _OUTPUTS or (but_last_clear and e is last)
        ]  # fmt: skip


def _replaces(event: m.Message) -> Key | None:
    """What an event has the latest word on."""
    if isinstance(event, m.Variables | m.Captures | m.DeviceInfo):
        return (event.kind,)
    if isinstance(event, m.Tape | m.Costs | m.Hints | m.Recording):
        return (event.kind, event.cell or "")
    if isinstance(event, m.DisplayData) and event.update and event.display_id is not None:
        return ("update", event.display_id)
    return None


def _state_key(event: m.Message) -> Key | None:
    if isinstance(event, m.Ready):
        return (event.kind,)
    if isinstance(event, m.InputRequest | m.DisplayData):
        return None
    return _replaces(event)


def _text(event: m.Message, seq: int) -> str:
    """The message as `messages.encode` writes it, with its number. `kind` stays first and `live` last: readers look there."""
    fields = {f.name: getattr(event, f.name) for f in dataclasses.fields(event)}
    content = {"kind": event.kind, "seq": seq, **fields}
    text = json.dumps(content, default=str, ensure_ascii=False)
    if "NaN" in text or "Infinity" in text:
        try:
            json.dumps(content, default=str, allow_nan=False)
        except ValueError:  # Python writes them, and JSON in a browser does not know them
            text = json.dumps(_finite(content), default=str, ensure_ascii=False)
    return text


def sendable(text: str) -> str:
    """JSON text as UTF-8 can carry it: half a character (a lone surrogate, which both Python and JavaScript can hold in a text)
    is written as the escape that JSON has for it."""
    return text if text.isascii() else _HALF.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
