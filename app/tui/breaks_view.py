"""Graph breaks and recompilations of compiled functions, as a list of things to do.

Each row is one distinct place: what stopped the graph, where, how often.  The details say why in plain words, what to
write instead, and what it costs.  It shows what the kernel reports (`kernel.messages.Captures`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment

from .ansi import inert
from .quantities import time_text
from .rows_view import RowsView, fit
from .themes import Look

__all__ = ["BreaksView", "Fix", "fixes_of"]

Fix = dict[str, Any]
"""One row: `kind` ("break" or "recompile"), `title`, `why`, `hint`, `cost`, `source`, `count`, `dimension`, and of a
recompilation `calls`: where the function was called (`kernel.callsites`)."""


def fixes_of(captures: list[dict[str, Any]], breaks: list[dict[str, Any]], guards: list[dict[str, Any]]) -> list[Fix]:
    """The list of things to do from what was captured, the most costly first."""
    found: dict[Any, Fix] = {}
    by_segment = {(c["function"], s["id"]): s for c in captures for s in c["segments"]}
    taken = {c["function"]: sum(s.get("seconds") or 0.0 for s in c["segments"]) for c in captures}
    graphs = {c["function"]: len(c["segments"]) for c in captures}
    for entry in breaks:
        source = entry.get("source") or {}
        key = ("break", entry.get("break_id"), source.get("file"), source.get("line"), entry.get("reason"))
        segment = by_segment.get((entry.get("function"), entry.get("segment")), {})
        count = graphs.get(entry.get("function", ""), 0)
        cost = [f"{entry['function']} is {count} graphs instead of one" if count > 1 else "the graph ends here"]
        if kernels := (segment.get("kernels") or {}).get("kernels"):
            cost.append(f"{len(kernels)} kernel{'s' if len(kernels) != 1 else ''} before it")
        if count > 1 and (took := taken.get(entry.get("function", ""))):
            cost.append(f"capturing them took {time_text(took)}")
        fix = found.setdefault(
            key,
            {
                "kind": "break", "title": str(entry.get("reason") or entry.get("break_id") or "graph break"),
                "why": f"{entry.get('category', '')}: {entry.get('break_id', '')}".strip(": "),
                "hint": str(entry.get("hint") or ""), "cost": ", ".join(cost), "source": source, "count": 0,
                "function": entry.get("function", ""), "dimension": None, "values": entry.get("values") or [],
            },
        )  # fmt: skip
        fix["count"] += int(entry.get("count", 1))
    for guard in guards:
        source = guard.get("source") or {}
        key = ("recompile", guard.get("function"), guard.get("guard"))
        segment = by_segment.get((guard.get("function"), guard.get("segment")), {})
        dimension = guard.get("dimension")
        seconds = segment.get("seconds")
        hint = (
            f"M writes a line that marks dimension {dimension[1]} of {dimension[0]} as dynamic: one graph then serves all "
            "sizes."
            if dimension
            else "Keep this value the same between calls, or pass it in as a tensor."
        )
        fix = found.setdefault(
            key,
            {
                "kind": "recompile", "title": f"recompiled: {guard.get('guard', '')}",
                "why": "", "hint": hint, "cost": f"a capture took {time_text(seconds)}" if seconds else "a new capture",
                "source": source, "count": 0, "function": guard.get("function", ""), "dimension": dimension, "values": [],
                "calls": [],
            },
        )  # fmt: skip
        fix["count"] += 1
        fix["calls"] += [call for call in guard.get("calls") or [] if call not in fix["calls"]]
        fix["why"] = f"it was {guard.get('old')} when captured, and is {guard.get('new')} now"
    return sorted(found.values(), key=lambda f: (-f["count"], f["kind"]))


class BreaksView(RowsView):
    """The list. `name_cell` gives a cell's short name."""

    def __init__(
        self, look: Callable[[], Look], name_cell: Callable[[str], str] = str, *, id: str | None = None
    ) -> None:
        super().__init__(look, id=id)
        self._name_cell = name_cell
        self.fixes: list[Fix] = []
        self.functions = self.graphs = 0
        self.say(
            "Nothing to do. Functions under torch.compile are captured as graphs; where a graph has to stop, or is "
            "captured again, the place and what to write instead appear here."
        )

    @property
    def count(self) -> int:
        return len(self.fixes)

    def note(self) -> str:
        if not self.functions:
            return ""
        return f"{self.count} to do, {self.graphs} graph{'s' if self.graphs != 1 else ''}"

    def take(self, captures: list[dict[str, Any]], breaks: list[dict[str, Any]], guards: list[dict[str, Any]]) -> None:
        """Show what was captured."""
        self.functions = len(captures)
        self.graphs = sum(len(c["segments"]) for c in captures)
        if self.functions:
            names = ", ".join(str(c["function"]) for c in captures[:3])
            self.say(f"Nothing to do: {names} captured without a break in {self.graphs} graph(s).")
        self.fixes = fixes_of(captures, breaks, guards)
        self.rows_changed()

    def fix_at(self, number: int) -> Fix | None:
        """The entry of a row."""
        return self.fixes[number] if 0 <= number < self.count else None

    def rows_at(self, cell: str, line: int) -> list[int]:
        """The rows whose place is a line (from 1) of a cell."""
        return [n for n, fix in enumerate(self.fixes) if _covers(fix["source"], cell, line)]

    def line_of(self, source: Mapping[str, Any]) -> str:
        """A place in short: "[3]:12"."""
        if not source:
            return ""
        if source.get("cell"):
            return f"{self._name_cell(source['cell'])}:{source['line']}"
        return f"{str(source.get('file', '')).rpartition('/')[2]}:{source.get('line')}"

    def row(self, number: int, width: int, look: Look) -> list[Segment]:
        fix = self.fixes[number]
        place = self.line_of(fix["source"])
        times = f"{fix['count']}×" if fix["count"] > 1 else ""
        box = Segment(" ☐ ", look.error if fix["kind"] == "break" else look.warning)
        room = width - 5 - cell_len(place) - cell_len(times)
        return [
            box,
            Segment(fit(inert(" ".join(fix["title"].split())), room), look.text),
            Segment(f"{times} ", look.accent),
            Segment(place + " ", look.muted),
        ]

    def detail(self, number: int) -> list[tuple[str, str]]:
        fix = self.fix_at(number)
        if fix is None:
            return []
        pairs = [
            ("", fix["title"]), ("why", fix["why"]), ("do", fix["hint"]), ("costs", fix["cost"]),
            ("in", f"{fix['function']}, {self.line_of(fix['source'])}".strip(", ")),
        ]  # fmt: skip
        return [(name, inert(" ".join(text.split()))) for name, text in pairs if text]


def _covers(source: Mapping[str, Any], cell: str, line: int) -> bool:
    return (
        bool(source) and source.get("cell") == cell and source["line"] <= line <= source.get("end_line", source["line"])
    )
