"""The kernels of compiled functions in launch order: time, share, bytes, distance to the ceiling, source.

A kernel opens to the lines of its source, which are linked to the cells as the kernels are: each line of generated text
knows the graph nodes it computes, and those know their place.
Where nothing was compiled, it lists what the last run launched: the kernels of its device, else its operators.
It shows what the kernel reports (`kernel.messages.Captures`, and the costs of the last run).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text

from .ansi import inert
from .highlight import part_of
from .quantities import bar, bytes_text, count_text, time_text
from .rows_view import RowsView, fit
from .themes import Look

__all__ = ["KernelsView", "source_text"]

_LEXERS = {"wgsl": "WgslLexer", "c": "CLexer", "numpy": "PythonLexer", "library": "PythonLexer"}


_CELL = re.compile(r"<cell ([^<>:]+):\d+>")


class _Entry(NamedTuple):
    """A row: a kernel by its number, and the line of its source (from 0), -1 for the kernel itself."""

    kernel: int
    line: int = -1


class KernelsView(RowsView):
    """Rows of kernels (dictionaries of `observe.kernels_json`), or of operators where there are none."""

    def __init__(
        self, look: Callable[[], Look], name_cell: Callable[[str], str] = str, *, id: str | None = None
    ) -> None:
        super().__init__(look, id=id)
        self._name_cell = name_cell
        self.kernels: list[dict[str, Any]] = []
        self.refused: list[dict[str, Any]] = []
        self.compiled = False
        self._total = 0.0
        self._rows: list[_Entry] = []
        self._open: set[str] = set()
        self._places: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._texts: dict[int, list[str]] = {}
        self._where: tuple[str, int] | None = None
        self._marked: set[int] = set()
        self.say(
            "No kernels yet. Functions under torch.compile become a few kernels each; they appear here in the order of "
            "their launch, with source, time and what they read and write."
        )

    @property
    def count(self) -> int:
        return len(self._rows)

    def note(self) -> str:
        if not self.kernels:
            return ""
        what = "kernel" if self.compiled else "operator"
        timed = f", {time_text(self._total)}" if self._total else ""
        return f"{len(self.kernels)} {what}{'s' if len(self.kernels) != 1 else ''}{timed}"

    def take(self, captures: list[dict[str, Any]], costs: dict[str, Any] | None = None) -> None:
        """Show the kernels of everything captured, in order; where there are none, what the last run launched."""
        kernels: list[dict[str, Any]] = []
        refused: list[dict[str, Any]] = []
        places: dict[tuple[str, str, str], dict[str, Any]] = {}
        for capture in captures:
            for segment in capture["segments"]:
                made = segment.get("kernels") or {}
                for kernel in made.get("kernels", ()):
                    about = {"function": capture["function"], "device": made.get("device", "")}
                    kernels.append({**about, "tuning": made.get("tuning", ()), **kernel})
                refused.extend(made.get("refused", ()))
                for node in segment.get("nodes") or ():
                    if node.get("source"):
                        places[capture["function"], str(segment["id"]), str(node.get("name"))] = node["source"]
        if not kernels and costs is not None:
            kernels = _launched(costs)
        self.compiled = any(kernel.get("language") != "library" for kernel in kernels)
        self.kernels, self.refused, self._places = kernels, refused, places
        self._texts = {}
        self._total = sum((k.get("seconds") or 0.0) * max(1, k.get("launches") or 1) for k in kernels)
        self._take_rows()

    def _take_rows(self) -> None:
        self._rows = []
        for number, kernel in enumerate(self.kernels):
            self._rows.append(_Entry(number))
            if str(kernel.get("name")) in self._open:
                self._rows.extend(_Entry(number, line) for line in range(len(self._lines(number))))
        self.rows_changed()
        self._mark()

    def source_of(self, number: int) -> str:
        """A kernel's source, with the cells that its comments name called as they are called elsewhere."""
        text = str(self.kernels[number].get("text") or "")
        return _CELL.sub(lambda found: self._name_cell(found[1]), text)

    def _lines(self, number: int) -> list[str]:
        """The lines of a kernel's source."""
        if number not in self._texts:
            text = inert(self.source_of(number)).expandtabs(4).rstrip()
            self._texts[number] = text.split("\n") if text else []
        return self._texts[number]

    def kernel_at(self, number: int) -> dict[str, Any] | None:
        """The kernel of a row, or of the source line in it."""
        return self.kernels[self._rows[number].kernel] if 0 <= number < self.count else None

    def is_kernel(self, number: int) -> bool:
        """Whether a row is a kernel, and not a line of one's source."""
        return 0 <= number < self.count and self._rows[number].line < 0

    def toggle(self, number: int) -> bool:
        """Open or close the source of a row's kernel; False where there is none to show."""
        if not 0 <= number < self.count or not self._lines(self._rows[number].kernel):
            return False
        kernel = self._rows[number].kernel
        self._open ^= {str(self.kernels[kernel].get("name"))}
        self._take_rows()
        self.move_to(next(n for n, row in enumerate(self._rows) if row == _Entry(kernel)))
        return True

    def sources_of(self, number: int) -> list[dict[str, Any]]:
        """The source ranges in cells whose operators a row's kernel, or line of one, computes."""
        if not 0 <= number < self.count:
            return []
        kernel, line = self._rows[number]
        if line < 0:
            return [s for s in self.kernels[kernel].get("sources") or () if s and s.get("cell")]
        found = [self._place_of(kernel, name) for name in self._computed(kernel, line)]
        return [s for s in found if s and s.get("cell")]

    def _place_of(self, kernel: int, node: str) -> dict[str, Any] | None:
        known = self.kernels[kernel]
        return self._places.get((str(known.get("function")), str(known.get("segment")), node))

    def _computed(self, kernel: int, line: int) -> list[str]:
        """The nodes that a line (from 0) of a kernel's source computes."""
        for number, names in self.kernels[kernel].get("lines") or ():
            if number == line + 1:
                return [str(name) for name in names]
        return []

    def mark_line(self, cell: str | None, line: int | None) -> None:
        """Mark the kernels and the lines of their sources that compute something of a line (from 1) of a cell."""
        self._where = (cell, line) if cell is not None and line is not None else None
        self._mark(show=True)

    def _mark(self, show: bool = False) -> None:
        marked: set[int] = set()
        if self._where is not None:
            cell, line = self._where
            for number in range(self.count):
                if any(
                    s["cell"] == cell and s["line"] <= line <= s.get("end_line", s["line"])
                    for s in self.sources_of(number)
                ):
                    marked.add(number)
        if marked != self._marked:
            self._marked = marked
            if show and marked and not self.has_focus:
                self.cursor = min(marked)
                self.show_row(self.cursor)
            self.refresh()

    # -- painting -----------------------------------------------------------------------------------

    def row(self, number: int, width: int, look: Look) -> list[Segment]:
        entry = self._rows[number]
        marked = number in self._marked
        segments = (
            self._kernel_row(entry.kernel, width, look, marked)
            if entry.line < 0
            else self._source_row(entry.kernel, entry.line, width, look)
        )
        return list(Segment.apply_style(segments, look.linked_soft)) if marked else segments

    def _kernel_row(self, number: int, width: int, look: Look, marked: bool) -> list[Segment]:
        kernel = self.kernels[number]
        launches = max(1, kernel.get("launches") or 1)
        seconds = (kernel.get("seconds") or 0.0) * launches
        share = seconds / self._total if self._total else 0.0
        timed = kernel.get("seconds") is not None
        right = f"{time_text(seconds if timed else None):>8} {bytes_text(kernel.get('bytes')):>8} "
        sign = ("▾ " if str(kernel.get("name")) in self._open else "▸ ") if kernel.get("text") else "  "
        room = width - 4 - len(right) - 9
        return [
            Segment("▸" if marked else " ", look.accent),
            Segment(sign, look.muted),
            Segment(fit(inert(str(kernel.get("name", ""))), room), look.text if kernel.get("text") else look.soft),
            Segment(" "),
            Segment(right, look.primary if timed else look.muted),
            Segment(
                bar(share, 8) if timed else fit(str(kernel.get("language", "")), 8),
                look.accent if timed else look.muted,
            ),
            Segment(" "),
        ]

    def _source_row(self, number: int, line: int, width: int, look: Look) -> list[Segment]:
        text = self._lines(number)[line]
        names = ", ".join(self._computed(number, line))
        tail = f" ◂ {inert(names)}" if names else ""
        segments = [Segment(f"{line + 1:>5} ", look.faint)]
        room = max(8, width - 6 - min(cell_len(tail), width // 3))
        segments += coloured(
            fit(text, min(room, max(cell_len(text), 1))), str(self.kernels[number].get("language")), look
        )
        used = sum(cell_len(segment.text) for segment in segments)
        if tail:
            segments.append(Segment(fit(tail, max(0, width - used)), look.accent))
        return segments

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
        launched = f"{shape}, {kernel.get('language', '')}, {count_text(kernel.get('launches') or 0)}×"
        pairs.append(("launch", launched.strip(", ")))
        if kernel.get("seconds") and kernel.get("ceiling"):
            reached = kernel["ceiling"] / kernel["seconds"]
            pairs.append(("ceiling", f"{time_text(kernel['ceiling'])}: {reached:.0%} of what the device can"))
        for tuned in (kernel.get("tuned"), *(kernel.get("tuning") or ())):
            if tuned and tuned.get("tried"):
                pairs.append(("tuned", _tuned(tuned)))
        for refusal in self.refused:
            if refusal.get("first") in (kernel.get("nodes") or ()):
                pairs.append(("apart", f"not with {refusal.get('second')}: {refusal.get('reason')}"))
                break
        return [(name, inert(" ".join(str(text).split()))) for name, text in pairs if text]


def _tuned(record: dict[str, Any]) -> str:
    """What `max-autotune` chose, and how everything fared that it tried."""
    tried = [
        f"{t.get('choice')} {time_text(t['seconds']) if t.get('seconds') is not None else t.get('error') or '?'}"
        for t in record.get("tried") or ()
    ]
    going = "" if record.get("settled", True) else " (still measuring)"
    return f"{record.get('chosen')}{going}; tried: {', '.join(tried)}"


@lru_cache(maxsize=2048)
def coloured(line: str, language: str, look: Look) -> tuple[Segment, ...]:
    """One line of a kernel's source with its syntax coloured."""
    from pygments import lexers

    lexer = getattr(lexers, _LEXERS.get(language, "TextLexer"), None)
    if lexer is None:
        return (Segment(line, look.text),)
    segments = []
    for token, piece in lexer(stripnl=False, ensurenl=False).get_tokens(line):
        part = part_of(token)
        segments.append(Segment(piece.rstrip("\n"), look.syntax[part] if part else look.text))
    return tuple(segments)


def _launched(costs: dict[str, Any]) -> list[dict[str, Any]]:
    """What a run without compiled functions launched, in the form of kernels."""
    found = [
        {
            "name": kernel["name"], "language": "wgsl", "device": kernel["device"], "text": kernel["text"],
            "nodes": [kernel["op"]], "launches": kernel["launches"], "sources": kernel.get("sources") or [],
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


def source_text(kernel: dict[str, Any], look: Look, name_cell: Callable[[str], str] = str) -> Text:
    """The source of a kernel with its syntax coloured, and which nodes each line computes at its right."""
    from pygments import lexers

    source = _CELL.sub(lambda found: name_cell(found[1]), str(kernel.get("text") or ""))
    source = inert(source).expandtabs(4)
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
