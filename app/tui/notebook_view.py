"""The one scrolling view of all cells: it paints rows of pictures, with margins, selection and linked lines.

There is no widget per cell.  The view shows a document and a selection and changes neither: clicks become messages,
keys go to whoever owns the key map.  The text of the cell that is being edited is covered by the live editor
(editor.py), which notebook_pane.py places.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.segment import ControlType, Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ..notebook.document import Cell, Change, Notebook
from .cells import Cells
from .graphics import Graphics
from .output_view import HEAD, TAIL
from .pictures import Frame, Picture, Pictures, Row
from .quantities import bar, count_text, time_text
from .session import CellRun
from .themes import Look

__all__ = ["MARGIN", "NotebookView"]

MARGIN = 8
"""Columns left of the text: selection bar, count, marker."""

_RIGHT = 1

GUTTER = 27
"""Columns of the cost gutter: share, time, time of backward, calls."""

SLIM_GUTTER = 9
"""Of one with the time only, on narrow screens."""

_ROOMY = 84
"""Columns from which the whole gutter is shown."""


class NotebookView(ScrollView, can_focus=True):
    """All cells of a notebook as one drawing.

    The outputs of the cell whose id is `following` are kept on the screen as they grow, and the row that `keep_row`
    gives (of the cursor in the text) stays on it.  With `keep_current` the current cell stays on the screen as it
    grows.  Scrolling by hand ends both.
    """

    DEFAULT_CSS = """
    NotebookView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; background: $background; }
    """

    @dataclass
    class Pressed(Message):
        """A click on a cell. `place` is the line and character (both from 0) where it hit the cell's text."""

        index: int
        row: Row
        place: tuple[int, int] | None
        twice: bool
        output_row: tuple[int, int] | None = None
        """Of a click on an output: its number and the row within it."""

    class Moved(Message):
        """The view scrolled or was laid out anew: what lies over it must be placed again."""

    def __init__(
        self,
        notebook: Notebook,
        cells: Cells,
        runs: Mapping[str, CellRun],
        look: Callable[[], Look],
        key: Callable[[events.Key], bool],
        elapsed: Callable[[], float],
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.notebook, self.cells, self.runs = notebook, cells, runs
        self._look, self._key = look, key
        self._elapsed = elapsed
        self._numbers = False
        self._pictures: Pictures | None = None
        self._tops: list[int] = [0]
        self._linked: dict[str, range] = {}
        self._linked_columns: tuple[int, int] | None = None
        self._settling = False
        self._ids: list[str] = []
        self.costs_shown = False
        self.cost_of: Callable[[str, int], dict[str, Any] | None] = lambda cell, line: None
        """What a line (from 1) of a cell cost in its last run."""
        self.most_seconds = 0.0
        """Of the most expensive line of all: what a full bar in the gutter stands for."""
        self.hints: Mapping[str, Sequence[dict[str, Any]]] = {}
        self.show_hints = True
        self.found: Mapping[str, Sequence[tuple[int, int, int]]] = {}
        """Finds of a search: (line, first character, end) by cell id, lines from 0."""
        self.found_here: tuple[str, int, int, int] | None = None
        """The find that is the current one."""
        self.queue_place: Callable[[str], int] = lambda cell: 0
        self.let_go_by_hand = False
        """A person has scrolled since a run began."""
        self.graphics: Graphics | None = None
        """What the terminal can draw beside text."""
        self.covered: Callable[[], bool] = lambda: False
        """Something lies over the cells: images that are drawn over the text are left out."""
        self.following: str | None = None
        self.scrolled: tuple[str, int] | None = None
        """The cell and the number of the long output that the arrow keys scroll."""
        self.keep_current = True
        self.keep_row: Callable[[], int | None] = lambda: None

    # -- what is shown ------------------------------------------------------------------------------

    @property
    def pictures(self) -> Pictures:
        if self._pictures is None:
            self._pictures = Pictures(self._frame())
            self._pictures.window_rows = self._window_rows()
        self._pictures.hints = self.hints if self.show_hints else {}
        return self._pictures

    def _frame(self) -> Frame:
        width = self.scrollable_content_region.width or self.size.width or 80
        gutter = 0 if not self.costs_shown else GUTTER if width >= _ROOMY else SLIM_GUTTER
        width = max(width - MARGIN - _RIGHT - gutter, 10)
        return Frame(width, self._look(), self._numbers, gutter, self.graphics)

    def picture(self, index: int) -> Picture:
        return self.pictures.of(self.notebook.cells[index])

    def top(self, index: int) -> int:
        """The row of the whole drawing in which a cell begins."""
        return self._tops[index]

    @property
    def numbers(self) -> bool:
        """Line numbers are shown."""
        return self._numbers

    @numbers.setter
    def numbers(self, on: bool) -> None:
        self._numbers = on
        self.reframe()

    def reframe(self) -> None:
        """The width or the look changed: draw everything anew."""
        if self._pictures is not None:
            self._pictures.frame = self._frame()
            if self._pictures.window_rows != (rows := self._window_rows()):
                self._pictures.window_rows = rows
                self._pictures.changed(None)
        self.settle()

    def _window_rows(self) -> int:
        """Rows of a window on a long output: as many as its two ends take, fewer where the screen is small."""
        return max(5, min(HEAD + TAIL + 1, (self.scrollable_content_region.height or 40) - 3))

    def toggle_gutter(self) -> bool:
        """Show or hide the costs beside the code; returns whether they are shown now."""
        self.costs_shown = not self.costs_shown
        self.reframe()
        return self.costs_shown

    def hints_changed(self, cells: Iterable[str]) -> None:
        """The hints under these cells are others."""
        for cell in cells:
            self.pictures.changed(cell)
        self.settle()

    def note(self, change: Change) -> None:
        """The document changed; the drawing follows at once in what is asked of it, and on the screen soon."""
        if change.kind == "delete" and change.cell_id is not None:
            self.pictures.forget(change.cell_id)
        elif change.kind in ("source", "type", "outputs", "insert"):
            self.pictures.changed(change.cell_id)
        elif change.kind not in ("move",):
            return
        if not self._settling:
            self._settling = True
            self.call_next(self._settle_soon)

    def _settle_soon(self) -> None:
        if self._settling:
            self.settle()

    def settle(self) -> None:
        """Lay out now. What stands at the upper edge stays there, also when cells above it grew or shrank."""
        self._settling = False
        if not self.is_attached:
            return
        index, within = self._locate(self.scroll_offset.y)
        anchor = self._ids[index] if index < len(self._ids) else None
        self._lay_out()
        if anchor is not None and self.scroll_offset.y > 0:
            try:
                place = self.notebook.index_of(anchor)
            except KeyError:
                place = min(index, len(self.notebook) - 1)
            row = self._tops[place] + min(within, self.picture(place).height - 1)
            if row != self.scroll_offset.y:
                self.scroll_to(y=row, animate=False)
        if self.following is not None:
            self._follow(self.following)
        elif self.keep_current and self.keep_row() is None:
            self.show_cell(self.cells.index)
        self.refresh()
        self.post_message(self.Moved())

    def _lay_out(self) -> None:
        tops = [1]
        for index in range(len(self.notebook)):
            tops.append(tops[-1] + self.picture(index).height)
        self._tops = tops
        self._ids = [cell.id for cell in self.notebook.cells]
        self.virtual_size = Size(self.scrollable_content_region.width, tops[-1])

    def _locate(self, row: int) -> tuple[int, int]:
        """The index of the cell at a row of the drawing, and the row within the cell."""
        index = max(0, min(bisect_right(self._tops, row) - 1, len(self._tops) - 2))
        return index, row - self._tops[index]

    def on_mount(self) -> None:
        self._lay_out()

    def on_resize(self) -> None:
        self.reframe()

    # -- selection and links ------------------------------------------------------------------------

    def set_raw(self, cell_id: str | None) -> None:
        """The cell whose text is being edited: it is drawn as source text, whatever its type."""
        if self.pictures.raw != cell_id:
            self.pictures.raw = cell_id
            self.settle()

    def link(self, lines: dict[str, range], columns: tuple[int, int] | None = None) -> None:
        """Highlight source lines (from 0), by cell id; of a single line the characters `columns` stand out."""
        if lines != self._linked or columns != self._linked_columns:
            self._linked, self._linked_columns = lines, columns
            self.refresh()

    def output_mode(self, cell_id: str) -> str:
        return self.pictures.mode(cell_id)

    def set_output_mode(self, cell_id: str, mode: str) -> None:
        self.pictures.set_mode(cell_id, mode)
        self.settle()

    # -- long outputs -------------------------------------------------------------------------------

    def long_output(self, index: int) -> int | None:
        """The number of the last output of a cell of which not everything is shown, or of which a window is."""
        drawn = self.picture(index).drawn
        return next((n for n in range(len(drawn) - 1, -1, -1) if drawn[n].hidden or drawn[n].window), None)

    def open_window(self, index: int, number: int, *, at_end: bool = False) -> None:
        """Show a long output in a window that scrolls, and let the arrow keys scroll it."""
        cell = self.notebook.cells[index].id
        if self.pictures.mode(cell) != "scroll":
            self.pictures.scroll_to(cell, number, None if at_end else 0)
            self.pictures.set_mode(cell, "scroll")
        self.scrolled = (cell, number)
        self.settle()
        top = self._output_top(index, number)
        self.show_rows(top, top + self.pictures.window_rows)
        self.refresh()

    def _output_top(self, index: int, number: int) -> int:
        rows = self.picture(index).rows
        return self._tops[index] + next((n for n, r in enumerate(rows) if r.kind == "output" and r.place == number), 0)

    def scroll_window(self, by: int | None, *, pages: bool = False) -> bool:
        """Scroll the window by lines, or pages; None goes to the end. False where it is at that end already."""
        if self.scrolled is None:
            return False
        return self._scroll_window(*self.scrolled, by, pages)

    def _scroll_window(self, cell: str, number: int, by: int | None, pages: bool = False) -> bool:
        try:
            drawn = self.picture(self.notebook.index_of(cell)).drawn
        except KeyError:
            return False
        window = drawn[number].window if number < len(drawn) else None
        if window is None:
            return False
        step = by if not pages or by is None else by * max(1, window.shown - 1)
        first = window.last if step is None else max(0, min(window.last, window.first + step))
        if first == window.first:
            return False
        self.pictures.scroll_to(cell, number, None if first == window.last else first)
        self.settle()
        return True

    def leave_window(self) -> None:
        """The arrow keys scroll no output any more."""
        if self.scrolled is not None:
            self.scrolled = None
            self.refresh()

    def _wheel(self, event: events.MouseEvent, by: int) -> bool:
        """The wheel over a window scrolls it, as long as there is more in that direction."""
        index, within = self._locate(event.y + self.scroll_offset.y)
        if index >= len(self.notebook):
            return False
        picture = self.picture(index)
        row = picture.rows[min(within, picture.height - 1)]
        if row.kind != "output" or picture.drawn[row.place].window is None:
            return False
        return self._scroll_window(self.notebook.cells[index].id, row.place, by)

    def show_cell(self, index: int) -> None:
        """Scroll as little as needed to show a cell, its beginning first."""
        if not 0 <= index < len(self._tops) - 1:
            return
        top, bottom = self._tops[index], self._tops[index + 1] - 1
        height = self.scrollable_content_region.height
        if not height:
            return
        view_top = self.scroll_offset.y
        if bottom > view_top + height:
            view_top = bottom - height
        if top - 1 < view_top:
            view_top = max(0, top - 1)
        if index == 0:
            view_top = 0
        self._scroll(view_top)

    def lift(self, index: int, rows: int) -> None:
        """Scroll so that so many rows below a cell are free for what will lie over them, unless a person scrolled."""
        if not self.let_go_by_hand and 0 <= index < len(self._tops) - 1:
            view_top = self._tops[index + 1] - 1 + rows - self.scrollable_content_region.height
            if view_top > self.scroll_offset.y:
                self._scroll(view_top)

    def shows_end(self, index: int) -> bool:
        """Whether the last row of a cell, above the gap, is on the screen."""
        last = self._tops[index + 1] - 2
        return self.scroll_offset.y <= last < self.scroll_offset.y + self.scrollable_content_region.height

    def _follow(self, cell_id: str) -> None:
        """Scroll down to the end of a cell's outputs, and a little of the next cell where that is the current one."""
        try:
            index = self.notebook.index_of(cell_id)
        except KeyError:
            self.following = None
            return
        end = self._tops[index + 1]
        if self.cells.index == index + 1:
            end += min(self.picture(index + 1).height, 5)
        height = self.scrollable_content_region.height
        view_top = end - height
        if (kept := self.keep_row()) is not None:
            view_top = min(view_top, kept - 1)
        if height and view_top > self.scroll_offset.y:
            self._scroll(view_top)

    def show_line(self, index: int, line: int) -> None:
        """Scroll as little as needed to show a source line (from 0) of a cell, with a little room around it."""
        rows = self.picture(index).rows_of_line(line)
        row = self._tops[index] + (rows.start if rows else 0)
        self.show_rows(row, row + max(len(rows), 1), room=3)

    def show_rows(self, start: int, end: int, room: int = 0) -> None:
        """Scroll as little as needed to show rows of the drawing."""
        height = self.scrollable_content_region.height
        if not height:
            return
        room = min(room, max(0, (height - (end - start)) // 2))
        view_top = self.scroll_offset.y
        if end + room > view_top + height:
            view_top = end + room - height
        if start - room < view_top:
            view_top = start - room
        self._scroll(max(0, view_top))

    def page(self, by: int) -> None:
        """Scroll by screens; from then on the view stays where a person put it."""
        self.let_go()
        self.scroll_relative(y=by * max(1, self.scrollable_content_region.height - 2), animate=False)

    def _scroll(self, row: int) -> None:
        if row != self.scroll_offset.y:
            self.scroll_to(y=row, animate=False, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Moved())

    # -- painting -----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = y + self.scroll_offset.y
        look = self._look()
        ground = look.ground
        if row < self._tops[0] or row >= self._tops[-1] or not len(self.notebook):
            return Strip.blank(width, ground)
        index, within = self._locate(row)
        if index >= len(self.notebook):  # between a change and the next layout
            return Strip.blank(width, ground)
        cell = self.notebook.cells[index]
        picture = self.pictures.of(cell)
        if within >= picture.height:
            return Strip.blank(width, ground)
        kind, place, first = picture.rows[within]
        run = self.runs.get(cell.id)
        strip = picture.strip(within)
        marker = Segment("  ")
        if kind == "source":
            linked = place in self._linked.get(cell.id, ())
            failed = run is not None and run.error_line == place + 1 and run.revision == cell.revision
            gutter = self.pictures.frame.gutter
            strip = strip.crop(0, width - MARGIN - gutter).extend_cell_length(width - MARGIN - _RIGHT - gutter)
            for line, start, end in self.found.get(cell.id, ()):
                if line == place:
                    style = look.found_here if self.found_here == (cell.id, line, start, end) else look.found
                    strip = _marked(strip, *picture.cells_of(within, start, end), style)
            if linked and self._linked_columns is not None and len(self._linked[cell.id]) == 1:
                strip = _marked(strip, *picture.cells_of(within, *self._linked_columns), look.linked)
            strip = Strip(list(Segment.apply_style(strip, look.code + look.linked_line if linked else look.code)))
            if gutter:
                strip = Strip.join([strip, self._costs(cell, place, gutter, look) if first else Strip.blank(gutter)])
            if first and (linked or failed):
                marker = Segment("▸ ", look.error if failed else look.accent)
        elif kind == "output":
            drawn = picture.drawn[place]
            marker = Segment("│ ", look.error if drawn.kind == "error" else look.faint)
            if drawn.window is not None:
                marker = self._thumb(cell.id, place, picture, within, look)
        elif kind == "hint":
            marker = Segment("◆ " if first else "  ", look.accent)
        elif kind == "gap":
            strip = self._footnote(cell, run, look, width - MARGIN - _RIGHT)
        margin = self._margin(index, cell, run, within, kind, look)
        return Strip.join([Strip([*margin, marker]), strip]).crop_extend(0, width, None).apply_style(ground)

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = super().render_lines(crop)
        if self.graphics is None or self.graphics.as_text or crop.x or self.covered():
            return strips
        return [self._with_pixels(strip, y) for y, strip in zip(crop.line_range, strips)]

    def _with_pixels(self, strip: Strip, y: int) -> Strip:
        """The strip, and in it what draws a row of an image over its half blocks, where there is one.

        It takes no column, and stands before the last one of the text: what is behind that Textual leaves out.
        """
        row = y + self.scroll_offset.y
        index, within = self._locate(row)
        if self.graphics is None or row < self._tops[0] or index >= len(self.notebook):
            return strip
        picture = self.pictures.of(self.notebook.cells[index])
        if within >= picture.height or picture.rows[within].kind != "output":
            return strip
        pixels = picture.drawn[picture.rows[within].place].pixels
        if pixels is None:
            return strip
        first = within
        while not picture.rows[first].first:
            first -= 1
        if within - first >= pixels.rows:
            return strip
        place = f"\x1b[{self.content_region.x + MARGIN + 1}G"
        drawing = f"\x1b7{place}{self.graphics.sequence(pixels, within - first)}\x1b8"
        width = self.scrollable_content_region.width - 1
        segments = [*strip.crop(0, width), Segment(drawing, None, [(ControlType.HOME,)]), *strip.crop(width)]
        return Strip(segments, strip.cell_length)

    def _thumb(self, cell: str, number: int, picture: Picture, within: int, look: Look) -> Segment:
        """The margin beside a window: a bar that shows which part of the output it shows."""
        window = picture.drawn[number].window
        assert window is not None
        first = within
        while not picture.rows[first].first:
            first -= 1
        rows = len(picture.drawn[number].lines) - 1
        start = round(window.first / window.total * rows)
        stop = max(start + 1, round((window.first + window.shown) / window.total * rows))
        if window.first == window.last:
            start, stop = start - (stop - rows), rows
        here = self.scrolled == (cell, number)
        if start <= within - first < stop:
            return Segment("┃ ", look.accent if here else look.text)
        return Segment("│ ", look.faint)

    def _margin(self, index: int, cell: Cell, run: CellRun | None, within: int, kind: str, look: Look) -> list[Segment]:
        bar = Segment(" ")
        if kind != "gap" and index in self.cells.range:
            if index != self.cells.index:
                bar = Segment("▌", look.muted)
            else:
                editing = self.pictures.raw == cell.id
                bar = Segment("▌", look.success if editing else look.primary if self.has_focus else look.muted)
        count = ""
        style = look.muted
        if within == 0 and cell.cell_type == "code":
            count = f"[{cell.execution_count if cell.execution_count is not None else ' '}]"
            if run is not None and run.state == "running":
                count, style = "[*]", look.accent
            elif run is not None and run.state == "waiting":
                count, style = "[…]", look.warning
            elif run is not None and run.state in ("error", "died"):
                style = look.error
            elif cell.execution_count is not None and run is not None and run.revision != cell.revision:
                style = look.faint
        return [bar, Segment(f"{count:>5}", style)]

    def _costs(self, cell: Cell, line: int, width: int, look: Look) -> Strip:
        """What a source line cost: a bar of its share, time, time of backward, calls."""
        cost = self.cost_of(cell.id, line + 1)
        if cost is None:
            return Strip([Segment(" " * width)])
        seconds, back = cost["seconds"], cost["backward_seconds"]
        share = (seconds + back) / self.most_seconds if self.most_seconds else 0.0
        heat = look.error if share > 0.66 else look.warning if share > 0.33 else look.accent
        if width < GUTTER:
            return Strip([Segment(f"{time_text(seconds + back):>{width - 1}} ", heat)])
        return Strip(
            [
                Segment(" " + bar(share, 4), heat),
                Segment(f"{time_text(seconds):>8}", look.text),
                Segment(f"{'↩' + time_text(back) if back else '':>9}", look.muted),
                Segment(f"{count_text(cost['launches'] or cost['calls']):>4}× " if cost["calls"] < 1e4 or cost["launches"]
                        else f"{count_text(cost['calls']):>4}× "[:5], look.muted),
            ]
        ).crop_extend(0, width, None)  # fmt: skip

    def _footnote(self, cell: Cell, run: CellRun | None, look: Look, width: int) -> Strip:
        """The row below a cell says how its last run went, where that is worth a word."""
        if run is None or cell.cell_type != "code":
            return Strip([])
        time = f"{run.seconds:.1f} s" if run.seconds < 60 else f"{run.seconds / 60:.0f} min {run.seconds % 60:.0f} s"
        text, style = {
            "running": (f"running, {self._elapsed():.0f} s" if self._elapsed() >= 1 else "running", look.accent),
            "waiting": (f"waiting, number {self.queue_place(cell.id)} in line", look.warning),
            "ok": (time if run.seconds >= 0.1 else "", look.faint),
            "error": (f"failed after {time}", look.error),
            "interrupted": (f"interrupted after {time}", look.warning),
            "aborted": ("not run", look.warning),
            "died": ("the kernel died here", look.error),
        }[run.state]
        return Strip([Segment(f"{text:>{width}}", style)])

    # -- keys and mouse --------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if self._key(event):
            event.stop()
            event.prevent_default()

    def let_go(self) -> None:
        """A person scrolls: keep nothing on the screen that would pull the view back."""
        self.following = None
        self.keep_current = False
        self.let_go_by_hand = True

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheeled(event, 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheeled(event, -3)

    def _wheeled(self, event: events.MouseEvent, by: int) -> None:
        self.let_go()
        if self._wheel(event, by):
            event.stop()
            event.prevent_default()

    def on_scroll_to(self) -> None:
        self.let_go()

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if not len(self.notebook) or event.x >= self.scrollable_content_region.width:
            return
        row = min(max(row, self._tops[0]), self._tops[-1] - 1)
        index, within = self._locate(row)
        if index >= len(self.notebook):
            return
        picture = self.picture(index)
        shown = picture.rows[min(within, picture.height - 1)]
        place = None
        if shown.kind == "source" and event.x >= MARGIN - 1:
            place = picture.place_in_source(within, event.x - MARGIN)
        output_row = None
        if shown.kind == "output":
            first = within
            while not picture.rows[first].first:
                first -= 1
            output_row = (shown.place, within - first)
        self.post_message(self.Pressed(index, shown, place, event.chain > 1, output_row))


def _marked(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """The strip with the background of `style` under the columns from `start` to `end`; its colour, too, where it has one."""
    if start >= end:
        return strip
    before, marked, after = strip.crop(0, start), strip.crop(start, end), strip.crop(end)
    over = style if style.color is not None else None
    return Strip.join([before, Strip(list(Segment.apply_style(marked, style, over))), after])
