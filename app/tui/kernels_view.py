"""The kernels of compiled functions in launch order: time, share, bytes, distance to the ceiling, source.

Where nothing was compiled, it lists what the last run launched: the kernels of its device, else its operators.
It shows what the kernel reports (`kernel.messages.Captures`, and the costs of the last run).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.segment import Segment
from rich.text import Text

from .ansi import inert
from .quantities import bar, bytes_text, count_text, time_text
from .rows_view import RowsView, fit
from .themes import Look

__all__ = ["KernelsView", "source_text"]

_LEXERS = {"wgsl": "WgslLexer", "c": "CLexer", "numpy": "PythonLexer", "library": "PythonLexer"}


class KernelsView(RowsView):
    """Rows of kernels (dictionaries of `observe.kernels_json`), or of operators where there are none."""

    def __init__(self, look: Callable[[], Look], *, id: str | None = None) -> None:
        super().__init__(look, id=id)
        self.kernels: list[dict[str, Any]] = []
        self.refused: list[dict[str, Any]] = []
        self.peaks: list[str] = []
        self._total = 0.0
        self._marked: set[int] = set()
        self.say(
            "No kernels yet. Functions under torch.compile become a few kernels each; they appear here in the order of "
            "their launch, with source, time and what they read and write."
        )

    @property
    def count(self) -> int:
        return len(self.kernels)

    def note(self) -> str:
        if not self.kernels:
            return ""
        timed = f", {time_text(self._total)}" if self._total else ""
        return f"{self.count} kernel{'s' if self.count != 1 else ''}{timed}"

    def take(self, captures: list[dict[str, Any]], costs: dict[str, Any] | None = None) -> None:
        """Show the kernels of everything captured, in order; where there are none, what the last run launched."""
        kernels, refused, peaks = [], [], []
        for capture in captures:
            for segment in capture["segments"]:
                made = segment.get("kernels") or {}
                kernels.extend({"function": capture["function"], "device": made.get("device", ""), **k}
                               for k in made.get("kernels", ()))  # fmt: skip
                refused.extend(made.get("refused", ()))
                if made.get("peak_bytes") is not None and made.get("eager_peak_bytes"):
                    peaks.append(
                        f"{bytes_text(made['peak_bytes'])} at most, {bytes_text(made['eager_peak_bytes'])} eager"
                    )
        if not kernels and costs is not None:
            kernels = _launched(costs)
        self.kernels, self.refused, self.peaks = kernels, refused, peaks
        self._total = sum((k.get("seconds") or 0.0) * max(1, k.get("launches") or 1) for k in kernels)
        self._marked = set()
        self.rows_changed()

    def kernel_at(self, number: int) -> dict[str, Any] | None:
        """The kernel of a row."""
        return self.kernels[number] if 0 <= number < self.count else None

    def sources_of(self, number: int) -> list[dict[str, Any]]:
        """The source ranges in cells whose operators a kernel computes."""
        kernel = self.kernel_at(number) or {}
        return [s for s in kernel.get("sources") or () if s and s.get("cell")]

    def mark_line(self, cell: str | None, line: int | None) -> None:
        """Mark the kernels that compute something of a line (from 1) of a cell."""
        marked: set[int] = set()
        if cell is not None and line is not None:
            for number in range(self.count):
                if any(
                    s["cell"] == cell and s["line"] <= line <= s.get("end_line", s["line"])
                    for s in self.sources_of(number)
                ):
                    marked.add(number)
        if marked != self._marked:
            self._marked = marked
            if marked and not self.has_focus:
                self.cursor = min(marked)
                self.show_row(self.cursor)
            self.refresh()

    def row(self, number: int, width: int, look: Look) -> list[Segment]:
        kernel = self.kernels[number]
        marked = number in self._marked
        launches = max(1, kernel.get("launches") or 1)
        seconds = (kernel.get("seconds") or 0.0) * launches
        share = seconds / self._total if self._total else 0.0
        timed = kernel.get("seconds") is not None
        right = f"{time_text(seconds if timed else None):>8} {bytes_text(kernel.get('bytes')):>8} "
        name = f"{kernel.get('name', '')}"
        room = width - 2 - len(right) - 9
        segments = [
            Segment("▸" if marked else " ", look.accent),
            Segment(fit(inert(name), room), look.text if kernel.get("language") != "library" else look.soft),
            Segment(" "),
            Segment(right, look.primary if timed else look.muted),
            Segment(
                bar(share, 8) if timed else fit(str(kernel.get("language", "")), 8),
                look.accent if timed else look.muted,
            ),
            Segment(" "),
        ]
        return list(Segment.apply_style(segments, look.linked_soft)) if marked else segments

    def detail(self, number: int) -> list[tuple[str, str]]:
        kernel = self.kernel_at(number)
        if kernel is None:
            return []
        grid = kernel.get("launch") or {}
        shape = f"grid {grid['grid']}, block {grid['block']}" if "grid" in grid else ""
        if "loops" in grid:
            shape = f"loops {' × '.join(map(str, grid['loops']))}"
        pairs = [("", f"{kernel.get('name', '')}: {', '.join(map(str, kernel.get('nodes') or ()))}")]
        reads = ", ".join(f"{i.get('name')} {i.get('shape')}" for i in kernel.get("inputs") or ())
        pairs.append(("from", reads))
        pairs.append(("to", ", ".join(f"{o.get('name')} {o.get('shape')}" for o in kernel.get("outputs") or ())))
        pairs.append(
            ("launch", f"{shape}, {kernel.get('language', '')}, {count_text(kernel.get('launches') or 0)}×".strip(", "))
        )
        if kernel.get("seconds") and kernel.get("ceiling"):
            reached = kernel["ceiling"] / kernel["seconds"]
            pairs.append(("ceiling", f"{time_text(kernel['ceiling'])}: {reached:.0%} of what the device can"))
        for refusal in self.refused:
            if refusal.get("first") in (kernel.get("nodes") or ()):
                pairs.append(("apart", f"not with {refusal.get('second')}: {refusal.get('reason')}"))
                break
        return [(name, inert(" ".join(str(text).split()))) for name, text in pairs if text]


def _launched(costs: dict[str, Any]) -> list[dict[str, Any]]:
    """What a run without compiled functions launched, in the form of kernels."""
    found = [
        {
            "name": kernel["name"], "language": "wgsl", "device": kernel["device"], "text": kernel["text"],
            "nodes": [kernel["op"]], "launches": kernel["launches"],
            "seconds": kernel["seconds"] / kernel["launches"] if kernel["seconds"] is not None else None,
        }
        for kernel in costs.get("kernels") or ()
    ]  # fmt: skip
    if found:
        return found
    return [
        {
            "name": op["op"], "language": "library", "device": "cpu", "text": "", "nodes": [op["op"]],
            "launches": op["calls"] + op["backward_calls"], "bytes": op["bytes"] / op["calls"] if op["calls"] else None,
            "seconds": (op["seconds"] + op["backward_seconds"]) / max(1, op["calls"] + op["backward_calls"]),
        }
        for op in costs.get("ops") or ()
    ]  # fmt: skip


def source_text(kernel: dict[str, Any], look: Look) -> Text:
    """The source of a kernel with its syntax coloured, and which nodes each line computes at its right."""
    from pygments import lexers

    from .highlight import part_of

    source = inert(str(kernel.get("text") or "")).expandtabs(4)
    text = Text(end="", style=look.text)
    name = _LEXERS.get(str(kernel.get("language")), "TextLexer")
    lexer = getattr(lexers, name, None)
    if lexer is None or not source:
        text.append(source or "This is a call into a library: there is no source to show.")
    else:
        for token, piece in lexer(stripnl=False).get_tokens(source):
            part = part_of(token)
            text.append(piece, look.syntax[part] if part else None)
    nodes = {int(line): ", ".join(map(str, names)) for line, names in kernel.get("lines") or ()}
    if not nodes:
        return text
    lines = text.split("\n", allow_blank=True)
    width = min(76, max((line.cell_len for line in lines), default=0) + 2)
    out = Text(end="")
    for number, line in enumerate(lines, 1):
        if number in nodes and line.cell_len < width:
            line.pad_right(width - line.cell_len)
            line.append(f"◂ {nodes[number]}", look.faint)
        out.append_text(line)
        out.append("\n")
    return out
