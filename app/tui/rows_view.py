"""A list of drawn rows with a cursor, for the tables of the inspector: rows are painted when they are seen.

Subclasses say how a row looks; ten thousand rows cost no more than the ones on the screen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from .direct_keys import DirectKeys
from .themes import Look

__all__ = ["RowsView", "fit"]


def fit(text: str, width: int, *, right: bool = False) -> str:
    """`text` in exactly `width` cells, cut with an ellipsis."""
    if width <= 0:
        return ""
    size = cell_len(text)
    if size > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - size) + text if right else text + " " * (width - size)


class RowsView(ScrollView, DirectKeys, can_focus=True):
    """A scrolling list. `cursor` is the chosen row; `key_first` is asked about every key before the list is."""

    DEFAULT_CSS = """
    RowsView { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; background: $background; }
    """

    BINDINGS: list[BindingType] = [
        Binding("up,k", "cursor(-1)", show=False),
        Binding("down,j", "cursor(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home,g", "end(-1)", show=False),
        Binding("end,G", "end(1)", show=False),
        Binding("enter", "choose", show=False),
    ]

    @dataclass
    class Highlighted(Message):
        """A person moved the cursor to a row."""

        view: RowsView
        row: int

    @dataclass
    class Chosen(Message):
        """Enter, or a second click, on a row."""

        view: RowsView
        row: int

    def __init__(self, look: Callable[[], Look], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look = look
        self.cursor = 0
        self.key_first: Callable[[events.Key], bool] = lambda event: False
        self._empty = ""

    # -- for subclasses -----------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many rows there are."""
        return 0

    def row(self, number: int, width: int, look: Look) -> list[Segment]:
        """The segments of one row."""
        raise NotImplementedError

    live = False
    """What is shown changes while a cell runs."""

    def note(self) -> str:
        """What the table has to say in short, for the head of the panel."""
        return ""

    def detail(self, number: int) -> list[tuple[str, str]]:
        """What is known of a row, as (name, text) pairs."""
        return []

    def say(self, sentence: str) -> None:
        """What to show where there are no rows."""
        self._empty = sentence

    def rows_changed(self) -> None:
        """The rows are others: the cursor stays within them, and they are drawn anew."""
        self.cursor = max(0, min(self.cursor, self.count - 1))
        self.virtual_size = Size(self.scrollable_content_region.width, self.count)
        self.refresh()

    # -- cursor -------------------------------------------------------------------------------------

    def move_to(self, row: int, *, tell: bool = True) -> None:
        """Put the cursor on a row and show it; with `tell`, say so."""
        if not self.count:
            return
        self.cursor = max(0, min(row, self.count - 1))
        self.show_row(self.cursor)
        self.refresh()
        if tell:
            self.post_message(self.Highlighted(self, self.cursor))

    def show_row(self, row: int) -> None:
        """Scroll as little as needed to show a row."""
        height = self.scrollable_content_region.height
        top = self.scroll_offset.y
        if row < top:
            self.scroll_to(y=row, animate=False, force=True)
        elif height and row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False, force=True)

    def action_cursor(self, by: int) -> None:
        self.move_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        self.move_to(self.cursor + by * max(1, self.scrollable_content_region.height - 1))

    def action_end(self, side: int) -> None:
        self.move_to(0 if side < 0 else self.count - 1)

    def action_choose(self) -> None:
        if self.count:
            self.post_message(self.Chosen(self, self.cursor))

    async def on_key(self, event: events.Key) -> None:
        if self.key_first(event) or await self.run_own_binding(event):
            event.stop()
            event.prevent_default()

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if row < self.count:
            self.move_to(row)
            if event.chain > 1:
                self.action_choose()

    def on_resize(self) -> None:
        self.rows_changed()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    # -- painting -----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        look = self._look()
        number = y + self.scroll_offset.y
        if not self.count:
            words = self._sentence(width)
            strip = Strip([Segment(words[y] if y < len(words) else "", look.muted)])
            return strip.extend_cell_length(width).apply_style(look.ground)
        if number >= self.count:
            return Strip.blank(width, look.ground)
        strip = Strip(self.row(number, width, look)).crop_extend(0, width, None)
        if number == self.cursor:
            base = look.row_cursor if self.has_focus else look.row_cursor_idle
            strip = Strip(list(Segment.apply_style(strip, post_style=base.background_style)), width)
        return strip.apply_style(look.ground)

    def _sentence(self, width: int) -> list[str]:
        lines, line = [""], " "
        for word in self._empty.split():
            if cell_len(line) + cell_len(word) + 1 > width and line.strip():
                lines.append(line)
                line = " "
            line += ("" if line == " " else " ") + word
        return [*lines, line]
