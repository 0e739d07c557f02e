"""The devices: which one new tensors are made on, what is known of it, and where the time of the last run went.

It shows what the kernel reports (`kernel.messages.DeviceInfo` and the costs of the last run).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.segment import Segment

from .ansi import inert
from .quantities import bar, bytes_text, count_text, time_text
from .rows_view import RowsView, fit
from .themes import Look

__all__ = ["DeviceView"]


class DeviceView(RowsView):
    """Rows of four kinds: a device to choose, a fact, a heading, an operator with its time."""

    def __init__(self, look: Callable[[], Look], *, id: str | None = None) -> None:
        super().__init__(look, id=id)
        self.info: dict[str, Any] = {}
        self.costs: dict[str, Any] | None = None
        self._rows: list[tuple[str, Any, Any]] = []
        self.say("The kernel has not told of its devices yet.")

    @property
    def count(self) -> int:
        return len(self._rows)

    def note(self) -> str:
        return str(self.info.get("device", ""))

    def take(self, info: dict[str, Any], costs: dict[str, Any] | None) -> None:
        """Show what is known now."""
        self.info, self.costs = info, costs
        rows: list[tuple[str, Any, Any]] = []
        if info:
            rows.append(("head", "New tensors are made on", "Enter switches"))
            rows.extend(("device", name, name == info.get("device")) for name in info.get("devices", ()))
            rows.append(("head", "Memory and adapter", ""))
            rows.extend(("fact", str(name), str(text)) for name, text in info.get("facts", ()))
        if costs is not None and costs.get("ops"):
            whole = (
                "" if costs.get("complete") else f"first {count_text(sum(op['calls'] for op in costs['ops']))} calls"
            )
            rows.append(("head", f"Operators of the last run, {time_text(costs['seconds'])}", whole))
            rows.extend(("op", op, costs["seconds"]) for op in costs["ops"])
        self._rows = rows
        self.rows_changed()

    def device_at(self, number: int) -> str | None:
        """The device of a row that offers one."""
        if 0 <= number < self.count and self._rows[number][0] == "device":
            return str(self._rows[number][1])
        return None

    def row(self, number: int, width: int, look: Look) -> list[Segment]:
        kind, first, second = self._rows[number]
        if kind == "head":
            right = f"{second} " if second else ""
            return [Segment(" " + fit(inert(first), width - len(right) - 1), look.strong), Segment(right, look.muted)]
        if kind == "device":
            mark = Segment(" ● ", look.success) if second else Segment(" ○ ", look.muted)
            return [mark, Segment(fit(inert(first), width - 3), look.text if second else look.soft)]
        if kind == "fact":
            return [
                Segment(f"   {fit(inert(first), 14)} ", look.muted),
                Segment(fit(inert(second), width - 18), look.text),
            ]
        seconds = first["seconds"] + first["backward_seconds"]
        share = seconds / second if second else 0.0
        room = max(8, width - 35)
        return [
            Segment("   " + fit(inert(first["op"]), room), look.text),
            Segment(f"{count_text(first['calls'] + first['backward_calls']):>6}× ", look.muted),
            Segment(f"{time_text(seconds):>8} ", look.primary),
            Segment(bar(share, 8), look.accent),
            Segment(f"{share:5.0%} ", look.muted),
        ]

    def detail(self, number: int) -> list[tuple[str, str]]:
        if not 0 <= number < self.count or self._rows[number][0] != "op":
            return []
        op = self._rows[number][1]
        pairs = [
            ("", str(op["op"])),
            (
                "forward",
                f"{op['calls']:,} calls, {time_text(op['seconds'])}, {bytes_text(op['bytes'])} read and written",
            ),
        ]
        if op["backward_calls"]:
            pairs.append(("back", f"{op['backward_calls']:,} calls, {time_text(op['backward_seconds'])}"))
        if op["launches"]:
            pairs.append(("GPU", f"{op['launches']:,} kernel launches"))
        return pairs
