"""Cells as rows of drawn text: what each row shows, how tall a cell is, which row belongs to which source line.

A picture is computed once and kept until its cell changes; the strips of a row are made when it is first seen.  It
knows no widgets: notebook_view.py puts margins and highlights around these rows and paints them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.text import Text
from textual.strip import Strip
from textual.widgets.text_area import Document, WrappedDocument

from ..notebook.document import Cell
from . import ansi
from .graphics import Graphics
from .highlight import Span, spans
from .markdown_view import render as render_markdown
from .output_view import Drawn, Scroll, draw_output, joined
from .themes import Look

__all__ = ["Frame", "Picture", "Pictures", "Row", "line_number_width", "source_height", "to_strip"]

TAB = 4
_CONSOLE = Console(force_terminal=True, color_system="truecolor", legacy_windows=False, width=80)


@dataclass(frozen=True)
class Frame:
    """What pictures depend on beside their cells. `width` is that of the text, without the margin and the cost gutter."""

    width: int
    look: Look
    numbers: bool = False
    gutter: int = 0
    graphics: Graphics | None = None
    """What the terminal can draw beside text."""


class Row(NamedTuple):
    """One row of a picture. `kind` is "source", "markdown", "output", "stub", "hint" or "gap"; `place` is the number of
    the source line (from 0), of the output or of the hint; `first` marks the first row of each."""

    kind: str
    place: int
    first: bool


def line_number_width(source: str) -> int:
    """Columns that the editor's line numbers take (its own rule: the digits of the last number and two)."""
    return len(str(source.count("\n") + 1)) + 2


def to_strip(text: Text) -> Strip:
    """A Rich text as a strip."""
    return Strip(list(text.render(_CONSOLE)), text.cell_len)


@lru_cache(maxsize=4096)
def _offsets(line: str, width: int) -> tuple[int, ...]:
    """Where a long line of code is broken, by the editor's own rule."""
    wrapped = WrappedDocument(Document(line), width, tab_width=TAB)
    return tuple(wrapped.get_offsets(0))


def _sections(line: str, width: int) -> tuple[int, ...]:
    # The editor keeps one column for its cursor at the end of a line.
    if (len(line) < width - 1 and line.isascii()) or cell_len(line) < width:
        return ()
    return _offsets(line, width - 1)


def source_height(source: str, width: int) -> int:
    """Rows that the text of a cell takes in `width` columns."""
    return sum(1 + len(_sections(line, width)) for line in source.expandtabs(TAB).split("\n"))


class Picture:
    """One cell, drawn. `outputs` is "shown", "hidden", "scroll" or "full"; `raw` draws markdown as its source text.

    `scroll` says, for a mode of "scroll", how the output of a number is to be shown.
    """

    def __init__(
        self,
        cell: Cell,
        frame: Frame,
        *,
        outputs: str = "shown",
        raw: bool = False,
        old: Picture | None = None,
        hints: Sequence[dict[str, Any]] = (),
        scroll: Callable[[int], Scroll] | None = None,
    ):
        self.cell_id = cell.id
        self.frame = frame
        self.raw = raw
        self.rows: list[Row] = []
        self.drawn: list[Drawn] = []
        self._kept: list[tuple[dict[str, Any], object, Drawn]] = []
        self._strips: dict[int, Strip] = {}
        self._markdown: tuple[tuple[Segment, ...], ...] = ()
        self._hints: list[list[Text]] = []
        self._source = cell.source.expandtabs(TAB)
        self._language = {"code": "python", "markdown": "markdown"}.get(cell.cell_type, "")
        self._lines = self._source.split("\n")
        self._cuts: dict[int, tuple[int, ...]] = {}
        self._cut_numbers: dict[int, int] = {}
        self.number_width = line_number_width(self._source) if frame.numbers else 0
        if cell.cell_type == "markdown" and not raw:
            self._add_markdown()
        else:
            self._add_source()
        self.source_rows = len(self.rows)
        if cell.cell_type == "code":
            self._add_outputs(cell, outputs, old, scroll)
            self._add_hints(hints)
        self.rows.append(Row("gap", 0, True))

    @property
    def height(self) -> int:
        return len(self.rows)

    # -- building -----------------------------------------------------------------------------------

    def _add_source(self) -> None:
        width = self.frame.width - self.number_width
        for number, line in enumerate(self._lines):
            cuts = _sections(line, width)
            if cuts:
                self._cuts[number] = cuts
            self._cut_numbers[number] = len(self.rows)
            self.rows.append(Row("source", number, True))
            self.rows.extend(Row("source", number, False) for _ in cuts)

    def _add_markdown(self) -> None:
        self._markdown = render_markdown(self._source, self.frame.width, self.frame.look)
        self.rows = [Row("markdown", number, number == 0) for number in range(max(1, len(self._markdown)))]

    def _add_outputs(self, cell: Cell, mode: str, old: Picture | None, scroll: Callable[[int], Scroll] | None) -> None:
        if not cell.outputs:
            return
        if mode == "hidden":
            self.rows.append(Row("stub", len(cell.outputs), True))
            return
        known = old._kept if old is not None and old.frame == self.frame else []
        for number, output in enumerate(cell.outputs):
            content = _content(output)
            window = scroll(number) if scroll is not None and mode == "scroll" else None
            before = known[number] if number < len(known) else None
            if before is not None and before[0] is output and before[1] == (content, mode, window):
                drawn = before[2]
            else:
                drawn = draw_output(
                    output,
                    self.frame.width,
                    self.frame.look,
                    full=mode == "full",
                    scroll=window,
                    graphics=self.frame.graphics,
                )
            self._kept.append((output, (content, mode, window), drawn))
            self.drawn.append(drawn)
            self.rows.extend(Row("output", number, line == 0) for line in range(len(drawn.lines)))

    def _add_hints(self, hints: Sequence[dict[str, Any]]) -> None:
        look = self.frame.look
        for number, hint in enumerate(hints):
            line = f"line {hint['line']}: " if hint.get("line") else ""
            said = Text.assemble(
                (line, look.accent), (ansi.inert(hint["text"]), look.text), ("  ", look.text),
                (ansi.inert(hint["advice"]), look.soft), end="",
            )  # fmt: skip
            drawn = list(said.wrap(_CONSOLE, max(20, self.frame.width)))
            self._hints.append(drawn)
            self.rows.extend(Row("hint", number, not row) for row in range(len(drawn)))

    # -- asking -------------------------------------------------------------------------------------

    def rows_of_line(self, line: int) -> range:
        """The rows of source line `line` (from 0); empty for markdown as it is drawn."""
        first = self._cut_numbers.get(line)
        return range(0) if first is None else range(first, first + 1 + len(self._cuts.get(line, ())))

    def cells_of(self, row: int, start: int, end: int) -> tuple[int, int]:
        """The columns of a source row under characters `start` to `end` of its line; equal ones where it shows none."""
        line = self._lines[self.rows[row].place]
        first, last = self._section(row)
        start, end = max(start, first), min(end, last)
        if start >= end:
            return 0, 0
        left = self.number_width + cell_len(line[first:start])
        return left, left + cell_len(line[start:end])

    def place_in_source(self, row: int, column: int) -> tuple[int, int]:
        """The line (from 0) and character under a row and a column of the text area; the end of the text at most."""
        if not self.rows or row >= self.source_rows or self.rows[row].kind != "source":
            return len(self._lines) - 1, len(self._lines[-1])
        number = self.rows[row].place
        start, end = self._section(row)
        width, character = max(0, column - self.number_width), start
        for sign in self._lines[number][start:end]:
            width -= cell_len(sign)
            if width < 0:
                break
            character += 1
        return number, character

    def _section(self, row: int) -> tuple[int, int]:
        """The characters of its line that a source row shows."""
        number = self.rows[row].place
        bounds = (0, *self._cuts.get(number, ()), len(self._lines[number]))
        part = row - self._cut_numbers[number]
        return bounds[part], bounds[part + 1]

    def strip(self, row: int) -> Strip:
        """The text of a row, without the margin; made on first use."""
        strip = self._strips.get(row)
        if strip is None:
            strip = self._strips[row] = self._make(row)
        return strip

    def _make(self, row: int) -> Strip:
        kind, place, first = self.rows[row]
        look = self.frame.look
        if kind == "source":
            start, end = self._section(row)
            segments = _segments(self._lines[place], self._spans(place), start, end, look)
            if self.number_width:
                number = str(place + 1) if first else ""
                segments.insert(0, Segment(f"{number:>{self.number_width - 2}}  ", look.faint))
            return Strip(segments)
        if kind == "markdown":
            if not self._markdown:
                return Strip([Segment("Empty text: press Enter to write", look.faint)])
            return Strip(list(self._markdown[place]))
        if kind in ("output", "hint"):
            lines = self.drawn[place].lines if kind == "output" else self._hints[place]
            offset = row
            while not self.rows[offset].first:
                offset -= 1
            return to_strip(lines[row - offset])
        if kind == "stub":
            count = f"{place} output{'s' if place != 1 else ''} hidden (o shows)"
            return Strip([Segment("⋯ ", look.accent), Segment(count, look.muted)])
        return Strip([])

    def _spans(self, line: int) -> tuple[Span, ...]:
        return spans(self._source, self._language)[line] if self._language else ()


def _content(output: dict[str, Any]) -> object:
    """What changes when an output is rewritten in place, compared by value for text and by identity for bundles."""
    if output.get("output_type") == "stream":
        return joined(output.get("text"))
    return _Same(output.get("data") if "data" in output else output.get("traceback"))


class _Same:
    """Equal to another one around the same object."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]


def _segments(line: str, parts: tuple[Span, ...], start: int, end: int, look: Look) -> list[Segment]:
    """The segments of `line[start:end]` with its parts coloured."""
    out: list[Segment] = []
    position = start
    base = look.text
    for a, b, part in parts:
        a, b = max(a, start), min(b, end)
        if a >= b:
            continue
        if a > position:
            out.append(Segment(ansi.inert(line[position:a]), base))
        out.append(Segment(ansi.inert(line[a:b]), look.syntax[part]))
        position = b
    if position < end:
        out.append(Segment(ansi.inert(line[position:end]), base))
    return out


class Pictures:
    """The pictures of all cells of a document at one frame, kept until told that a cell changed."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._known: dict[str, Picture] = {}
        self._stale: set[str] = set()
        self._modes: dict[str, str] = {}
        self._firsts: dict[tuple[str, int], int | None] = {}
        self.window_rows = 31
        """Rows of the window on a long output that scrolls in place."""
        self.hints: Mapping[str, Sequence[dict[str, Any]]] = {}
        """What is to be said under each cell."""
        self._raw: str | None = None

    @property
    def frame(self) -> Frame:
        return self._frame

    @frame.setter
    def frame(self, frame: Frame) -> None:
        if frame != self._frame:
            self._frame = frame
            self._known.clear()

    def of(self, cell: Cell) -> Picture:
        """The picture of a cell."""
        known = self._known.get(cell.id)
        if known is not None and cell.id not in self._stale:
            return known
        picture = Picture(
            cell, self._frame, outputs=self._modes.get(cell.id, "shown"), raw=self._raw == cell.id, old=known,
            hints=self.hints.get(cell.id, ()), scroll=lambda number: self._scroll(cell.id, number),
        )  # fmt: skip
        self._known[cell.id] = picture
        self._stale.discard(cell.id)
        return picture

    def changed(self, cell_id: str | None) -> None:
        """The cell changed (None: any may have)."""
        if cell_id is None:
            self._stale.update(self._known)
        else:
            self._stale.add(cell_id)

    def forget(self, cell_id: str) -> None:
        """The cell is gone."""
        self._known.pop(cell_id, None)
        self._stale.discard(cell_id)

    def mode(self, cell_id: str) -> str:
        """How the outputs of a cell are shown: "shown" (both ends of long ones), "scroll" (a window), "hidden" or "full"."""
        return self._modes.get(cell_id, "shown")

    def set_mode(self, cell_id: str, mode: str) -> None:
        self._modes[cell_id] = mode
        self.changed(cell_id)

    def _scroll(self, cell_id: str, number: int) -> Scroll:
        return Scroll(self.window_rows, self._firsts.get((cell_id, number), 0))

    def scroll_to(self, cell_id: str, number: int, first: int | None) -> None:
        """The first line that the window on an output shows; None for the end, also while it grows."""
        self._firsts[cell_id, number] = first
        self.changed(cell_id)

    @property
    def raw(self) -> str | None:
        """The id of the cell that is being edited, and so drawn as source text."""
        return self._raw

    @raw.setter
    def raw(self, cell_id: str | None) -> None:
        for changed in {self._raw, cell_id} - {None}:
            self.changed(changed)
        self._raw = cell_id
