"""The list of completions beside the cursor.

It never takes the focus: the editor keeps it and tells the list what to do.  It knows nothing of kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from .ansi import inert
from .themes import Look

__all__ = ["CompletionPopup"]

ROWS = 8


class CompletionPopup(Widget):
    """Up to `ROWS` names at a time, one of them chosen."""

    DEFAULT_CSS = "CompletionPopup { display: none; width: 20; height: 1; }"

    @dataclass
    class Picked(Message):
        """A name was clicked."""

        text: str

    def __init__(self, look: Callable[[], Look], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look = look
        self.matches: list[str] = []
        self.chosen = 0
        self.prefix = 0

    @property
    def open(self) -> bool:
        """The list is on the screen."""
        return bool(self.matches) and self.display

    def show(self, matches: list[str], prefix: int) -> None:
        """Offer `matches`; the first `prefix` characters of each are already in the text."""
        self.matches, self.chosen, self.prefix = matches, 0, prefix
        self.display = bool(matches)
        self.styles.height = min(ROWS, max(1, len(matches)))
        self.styles.width = min(44, max((cell_len(m) for m in matches), default=1) + 3)
        self.refresh()

    def close(self) -> None:
        """Take the list away."""
        self.matches = []
        self.display = False

    def move(self, by: int) -> None:
        """Choose another name, around the ends."""
        if self.matches:
            self.chosen = (self.chosen + by) % len(self.matches)
            self.refresh()

    def pick(self) -> str:
        """The chosen name; the list closes."""
        text = self.matches[self.chosen]
        self.close()
        return text

    def narrow(self, text: str) -> None:
        """Keep the names that begin with `text`, which is now before the cursor."""
        kept = [m for m in self.matches if m.startswith(text)]
        if kept and text and kept != [text]:
            self.show(kept, len(text))
        else:
            self.close()

    @property
    def _first(self) -> int:
        rows = self.size.height or ROWS
        return max(0, min(self.chosen - rows // 2, len(self.matches) - rows))

    def render_line(self, y: int) -> Strip:
        look = self._look()
        index = self._first + y
        width = self.size.width
        if index >= len(self.matches):
            return Strip.blank(width, look.chip)
        style = look.row_cursor if index == self.chosen else look.chip
        name = set_cell_size(inert(self.matches[index]), width - 3)
        rows, count = max(1, self.size.height), len(self.matches)
        thumb = self._first * rows // count <= y <= (self._first + rows) * rows // count - (self._first + rows < count)
        mark = "▐" if count > rows and thumb else " "
        return Strip([Segment(f" {name} ", style), Segment(mark, style)], width)

    def on_click(self, event: events.Click) -> None:
        index = self._first + event.y
        if index < len(self.matches):
            self.chosen = index
            self.post_message(self.Picked(self.pick()))
