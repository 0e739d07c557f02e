"""The panel beside the cells (below them where the screen is narrow): a row of tabs, a table, details of its row.

A tab is one entry in `TABS` and one view of the same id with `note` and `detail`; the panel knows no kernel and no
document.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static

from .breaks_view import BreaksView
from .device_view import DeviceView
from .graph_view import GraphView
from .kernels_view import KernelsView
from .rows_view import RowsView, fit
from .tape_view import LineThatRan, TapeView
from .themes import Look
from .variables_view import VariablesView

__all__ = ["TABS", "Divider", "Inspector"]

TABS: tuple[tuple[str, str, str], ...] = (
    ("tape", "Tape", "Tape"),
    ("graph", "Graph", "Graph"),
    ("breaks", "Breaks", "Brk"),
    ("kernels", "Kernels", "Krn"),
    ("variables", "Variables", "Vars"),
    ("device", "Device", "Dev"),
)
"""Id, title and short title of each tab, in order."""


class _TabBar(Static):
    """The titles of the tabs, and at the right what the shown one has to say in short."""

    DEFAULT_CSS = "_TabBar { height: 1; width: 1fr; }"

    @dataclass
    class Clicked(Message):
        tab: str

    def __init__(self, look: Callable[[], Look]) -> None:
        super().__init__()
        self._look = look
        self._spans: list[tuple[int, int, str]] = []
        self.current = TABS[0][0]
        self.note = ""
        self.live = False
        self.active = False

    def _titles(self) -> list[tuple[str, str]]:
        """Id of each tab and its title as it fits."""
        short = sum(len(title) + 2 for _, title, _ in TABS) > self.size.width
        return [(name, brief if short and name != self.current else long) for name, long, brief in TABS]

    def _fitting(self) -> str:
        """The note, or its beginning, as it fits behind the titles; "" where it does not."""
        room = self.size.width - sum(len(title) + 2 for _, title in self._titles()) - 3 - 8 * self.live
        for note in (self.note, self.note.split(",")[0]):
            if cell_len(note) <= room:
                return note
        return ""

    @property
    def fits(self) -> bool:
        """The note stands in this row; else it stands in the rule above the details."""
        return bool(self._fitting())

    def render(self) -> Text:
        look = self._look()
        text = Text(" ", end="", no_wrap=True)
        self._spans = []
        gap = "  " if self.size.width >= 40 else " "
        for name, title in self._titles():
            start = text.cell_len
            style = (look.strong + (look.primary if self.active else look.text)) if name == self.current else look.muted
            if name == self.current:
                style += Style(underline=True)
            text.append(title, style)
            self._spans.append((start, text.cell_len, name))
            text.append(gap)
        note = self._fitting()
        live = "● live  " if self.live and note else "● live" if self.live else ""
        room = self.size.width - text.cell_len - 1
        if 0 < cell_len(live + note) <= room:
            text.append(" " * (room - cell_len(live + note)))
            text.append(live, look.accent)
            text.append(note, look.muted)
        return text

    def on_click(self, event: events.Click) -> None:
        for start, end, name in self._spans:
            if start - 1 <= event.x <= end:
                self.post_message(self.Clicked(name))


class _Detail(Static):
    """The facts of the chosen row, one a line, as many as fit."""

    DEFAULT_CSS = "_Detail { height: 5; width: 1fr; }"

    def __init__(self, look: Callable[[], Look]) -> None:
        super().__init__()
        self._look = look
        self.pairs: list[tuple[str, str]] = []
        self.note: Callable[[], str] = lambda: ""

    def wanted(self, width: int) -> int:
        """Rows that all facts take, with the rule above them."""
        return 1 + sum(len(_broken(value, max(8, width - 10))) for _, value in self.pairs)

    def render(self) -> Text:
        look = self._look()
        width, height = self.size.width, self.size.height
        text = Text(end="", no_wrap=True)
        note = fit(self.note(), min(cell_len(self.note()), width - 6)) if self.note() else ""
        if note:
            text.append("── ", look.faint)
            text.append(note, look.muted)
            text.append(" " + "─" * (width - cell_len(note) - 4) + "\n", look.faint)
        else:
            text.append("─" * width + "\n", look.faint)
        lines = 1
        for number, (name, value) in enumerate(self.pairs):
            label = f" {name:<7} " if name else " "
            pieces = _broken(value, max(8, width - len(label) - 1))
            # The facts after this one should have a line each as well.
            keep = max(1, height - lines - (len(self.pairs) - number - 1))
            for count, piece in enumerate(pieces[:keep]):
                if lines >= height:
                    return text
                text.append(label if not count else " " * len(label), look.muted)
                cut = count == keep - 1 and len(pieces) > keep
                piece = fit(piece + "…" * 2, min(cell_len(piece) + 1, width - len(label) - 1)) if cut else piece
                text.append(piece + "\n", look.strong if not name else look.text)
                lines += 1
        return text


def _broken(text: str, width: int) -> list[str]:
    lines, line = [], ""
    for word in text.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [fit(line, min(cell_len(line), width)) for line in [*lines, line]]


class Divider(Widget):
    """The line between cells and panel; dragging it gives one of them more room."""

    DEFAULT_CSS = """
    Divider { width: 1; height: 1fr; color: $foreground 30%; pointer: ew-resize; }
    Divider:hover { color: $accent; }
    Divider.-flat { width: 1fr; height: 1; pointer: ns-resize; }
    """

    @dataclass
    class Dragged(Message):
        """The line was dragged to a place on the screen."""

        x: int
        y: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._held = False

    def render(self) -> Text:
        if self.size.width > 1:
            return Text("─" * self.size.width, end="", no_wrap=True)
        return Text("\n".join("│" * self.size.height), end="")

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._held = True
        self.capture_mouse()
        event.stop()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._held = False
        self.release_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._held:
            self.post_message(self.Dragged(int(event.screen_x), int(event.screen_y)))


class Inspector(Container):
    """The six tabs. `tab` is the id of the shown one."""

    DEFAULT_CSS = """
    Inspector { layout: vertical; }
    Inspector ContentSwitcher { height: 1fr; }
    """

    @dataclass
    class TabChanged(Message):
        """Another tab is shown."""

        tab: str

    def __init__(
        self,
        look: Callable[[], Look],
        name_cell: Callable[[str], str],
        line_that_ran: LineThatRan,
        edited: Callable[[str, int], bool] = lambda cell, revision: False,
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.tape = TapeView(look, name_cell, line_that_ran, id="tape")
        self.graph = GraphView(look, name_cell, id="graph")
        self.breaks = BreaksView(look, name_cell, id="breaks")
        self.kernels = KernelsView(look, name_cell, id="kernels")
        self.variables = VariablesView(look, name_cell, edited, id="variables")
        self.device = DeviceView(look, id="device")
        self.views: dict[str, RowsView | GraphView] = {
            "tape": self.tape, "graph": self.graph, "breaks": self.breaks, "kernels": self.kernels,
            "variables": self.variables, "device": self.device,
        }  # fmt: skip
        self._bar = _TabBar(look)
        self._detail = _Detail(look)
        self._detail.note = lambda: "" if self._bar.fits else self._bar.note
        self.tab = TABS[0][0]

    def compose(self) -> ComposeResult:
        yield self._bar
        with ContentSwitcher(initial=self.tab):
            yield from self.views.values()
        yield self._detail

    @property
    def table(self) -> RowsView | GraphView:
        """The table of the shown tab."""
        return self.views[self.tab]

    def show(self, tab: str) -> None:
        """Show a tab."""
        self.tab = self._bar.current = tab
        self.query_one(ContentSwitcher).current = tab
        if tab in ("tape", "graph"):
            self.views[tab].catch_up()  # type: ignore[union-attr]
        self._bar.refresh()
        self.refresh_head()
        self.post_message(self.TabChanged(tab))

    def step(self, by: int = 1) -> None:
        """Show the next tab, around the end, and keep the keyboard in it."""
        names = [name for name, _, _ in TABS]
        self.show(names[(names.index(self.tab) + by) % len(names)])
        self.screen.set_focus(self.table, scroll_visible=False)

    def refresh_head(self) -> None:
        """Bring the tabs and the details in line with the table."""
        table = self.table
        note, live = table.note(), table.live
        pairs = table.detail(table.cursor)
        if (note, live) != (self._bar.note, self._bar.live):
            self._bar.note, self._bar.live = note, live
            self._bar.refresh()
            self._detail.refresh()
        shown = bool(pairs) and self.size.height >= 12
        if pairs != self._detail.pairs or shown != self._detail.display:
            self._detail.pairs = pairs
            self._detail.display = shown
            # As tall as its text, up to two fifths of the panel; on small screens always the same, which is quieter.
            least = 7 if self.size.height > 24 else 5
            wanted = self._detail.wanted(self.size.width)
            self._detail.styles.height = max(least, min(wanted, self.size.height * 2 // 5))
            self._detail.refresh()

    def take_look(self) -> None:
        """Draw everything anew, in other styles."""
        for part in (self._bar, *self.views.values(), self._detail):
            part.refresh()

    def on_resize(self) -> None:
        self.refresh_head()

    def on_descendant_focus(self) -> None:
        self._bar.active = True
        self._bar.refresh()

    def on_descendant_blur(self) -> None:
        self._bar.active = False
        self._bar.refresh()

    def on__tab_bar_clicked(self, event: _TabBar.Clicked) -> None:
        event.stop()
        self.show(event.tab)
        self.screen.set_focus(self.table, scroll_visible=False)
