"""HTML outputs as text: tables as grids, the rest as its words. No style, script or address of the page is used."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from rich.cells import cell_len
from rich.text import Text

from .ansi import inert
from .rows_view import fit
from .themes import Look

__all__ = ["Table", "draw_table", "read_tables", "text_of_html"]

MAX_ROWS = 60
MAX_COLUMNS = 40
_NARROWEST = 4


@dataclass
class Table:
    """Rows of cells; `heads` are the numbers of rows that are headings, `labels` how many first columns are."""

    rows: list[list[str]] = field(default_factory=list)
    heads: set[int] = field(default_factory=set)
    labels: int = 0
    caption: str = ""
    dropped: int = 0


class _Reader(HTMLParser):
    """Gathers tables; one inside another is read as text of its cell."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[Table] = []
        self._depth = 0
        self._row: list[tuple[str, bool, int]] | None = None
        self._cell: list[str] | None = None
        self._is_head = False
        self._span = 1
        self._skip = 0
        self._caption: list[str] | None = None
        self._after: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("style", "script"):
            self._skip += 1
        elif tag == "table":
            self._depth += 1
            if self._depth == 1:
                self.tables.append(Table())
        elif self._depth != 1:
            return
        elif tag == "tr":
            self._end_row()
            self._row = []
        elif tag in ("td", "th"):
            self._end_cell()
            if self._row is None:
                self._row = []
            self._cell, self._is_head = [], tag == "th"
            span = dict(attrs).get("colspan") or "1"
            self._span = min(int(span), MAX_COLUMNS) if span.isdigit() else 1
        elif tag == "br" and self._cell is not None:
            self._cell.append(" ")
        elif tag == "caption":
            self._caption = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("style", "script"):
            self._skip = max(0, self._skip - 1)
        elif tag == "table":
            if self._depth == 1:
                self._end_row()
            self._depth = max(0, self._depth - 1)
        elif self._depth == 1 and tag in ("td", "th"):
            self._end_cell()
        elif self._depth == 1 and tag == "tr":
            self._end_row()
        elif tag == "caption" and self._caption is not None and self.tables:
            self.tables[-1].caption = " ".join("".join(self._caption).split())
            self._caption = None

    def handle_data(self, data: str) -> None:
        if self._skip:
            return
        if self._caption is not None:
            self._caption.append(data)
        elif self._cell is not None and self._depth:
            self._cell.append(data)

    def _end_cell(self) -> None:
        if self._cell is not None and self._row is not None:
            text = " ".join("".join(self._cell).split())
            self._row.append((text, self._is_head, self._span))
        self._cell = None

    def _end_row(self) -> None:
        self._end_cell()
        row, self._row = self._row, None
        if not row or not self.tables:
            return
        table = self.tables[-1]
        if len(table.rows) >= MAX_ROWS:
            table.dropped += 1
            return
        cells = [cell for text, _, span in row for cell in (text, *[""] * (span - 1))][:MAX_COLUMNS]
        if all(head for _, head, _ in row):
            table.heads.add(len(table.rows))
        else:
            labels = 0
            for _, head, _ in row:
                if not head:
                    break
                labels += 1
            table.labels = max(table.labels, labels)
        table.rows.append(cells)


def read_tables(source: str) -> list[Table]:
    """The tables of a page that have rows."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    reader._end_row()
    return [table for table in reader.tables if table.rows]


def draw_table(table: Table, width: int, look: Look) -> list[Text]:
    """A table as a grid in at most `width` cells: numbers at the right, columns that do not fit left out and counted."""
    columns = max(len(row) for row in table.rows)
    rows = [[inert(cell) for cell in row] + [""] * (columns - len(row)) for row in table.rows]
    widths = [max(1, min(40, max(cell_len(row[n]) for row in rows))) for n in range(columns)]
    # The widest columns give way first; where that is not enough, columns in the middle are left out.
    while sum(widths) + 3 * columns > width and max(widths) > 12:
        widths[widths.index(max(widths))] -= 1
    kept = list(range(columns))
    while len(kept) > 2 and sum(widths[n] for n in kept) + 3 * len(kept) + 3 > width:
        del kept[len(kept) // 2]
    while sum(widths[n] for n in kept) + 3 * len(kept) > width and max(widths[n] for n in kept) > _NARROWEST:
        widest = max(kept, key=lambda n: widths[n])
        widths[widest] -= 1
    body = [row for number, row in enumerate(rows) if number not in table.heads]
    right = {n for n in kept if n >= table.labels and all(_is_number(row[n]) or not row[n] for row in body)}
    gap = next((place for place, (a, b) in enumerate(itertools.pairwise(kept), 1) if b != a + 1), None)
    lines: list[Text] = []
    if table.caption:
        lines.append(Text(inert(table.caption), look.strong, end="", no_wrap=True))
    for number, row in enumerate(rows):
        head = number in table.heads
        line = Text(end="", no_wrap=True)
        for place, n in enumerate(kept):
            if place:
                line.append(" … " if place == gap else "   ", look.muted)
            style = look.strong if head else look.soft if n < table.labels else look.text
            line.append(fit(row[n], widths[n], right=n in right), style)
        lines.append(line)
        if head and number + 1 not in table.heads:
            rule = "─┼─".join("─" * widths[n] for n in kept)
            lines.append(Text(rule.replace("┼", "─"), look.faint, end="", no_wrap=True))
    said = []
    if table.dropped:
        said.append(f"{table.dropped:,} rows")
    if len(kept) < columns:
        said.append(f"{columns - len(kept)} columns")
    if said:
        lines.append(Text(f"{' and '.join(said)} more; w opens the whole table", look.muted, end="", no_wrap=True))
    return lines


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[-+−]?[\d,. ]*\d[\d,.]*(?:[eE][-+]?\d+)?\s?%?|NaN|nan|inf|-inf|None|<NA>", text))


class _Words(HTMLParser):
    """The words of a page, a block a line."""

    _BLOCKS = {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "ul", "ol", "section", "hr"}

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._skip = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("style", "script", "head"):
            self._skip += 1
        elif tag in self._BLOCKS:
            self.parts.append("\n• " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("style", "script", "head"):
            self._skip = max(0, self._skip - 1)
        elif tag in self._BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.parts.append(data)


def text_of_html(source: str) -> str:
    """The words of a page; "" where there are none."""
    words = _Words()
    words.feed(source)
    words.close()
    lines = [" ".join(line.split()) for line in "".join(words.parts).split("\n")]
    return "\n".join(line for line in lines if line)
