"""The graph as boxes and lines: scrolled both ways, a box chosen by arrows or mouse, linked to the cells.

Layout and characters are the views' (`graphviz_views.browse`, `.cells`); here they get colours, a window, and keys.
Large graphs are drawn when they are looked at, never in the background.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from .direct_keys import DirectKeys
from .themes import Look

if TYPE_CHECKING:
    from ...graphviz_views.browse import GraphView as Browsed
    from ...graphviz_views.cells import Cells
    from ...graphviz_views.model import Graph, Node

__all__ = ["GraphView"]

_CELL = re.compile(r"cell ([0-9A-Za-z_-]{1,64}):(\d+)")

_NOTHING = (
    "No graph yet. Run a cell that computes with tensors that need gradients, or one that calls a compiled function."
)


class GraphView(ScrollView, DirectKeys, can_focus=True):
    """One graph on the screen. `sources` names what can be shown, each with a function that builds it."""

    DEFAULT_CSS = """
    GraphView { overflow: auto auto; scrollbar-size: 1 1; background: $background; }
    """

    BINDINGS: list[BindingType] = [
        Binding("up,k", "go('up')", show=False),
        Binding("down,j", "go('down')", show=False),
        Binding("left", "go('left')", show=False),
        Binding("right,l", "go('right')", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "end(-1)", show=False),
        Binding("end,G", "end(1)", show=False),
        Binding("space", "fold", show=False),
        Binding("plus,minus,equals_sign", "zoom", show=False),
        Binding("v", "turn", show=False),
        Binding("enter", "choose", show=False),
    ]

    @dataclass
    class Highlighted(Message):
        """A person chose a box."""

        view: GraphView

    @dataclass
    class Chosen(Message):
        """Enter, or a second click, on a box."""

        view: GraphView

    def __init__(
        self, look: Callable[[], Look], name_cell: Callable[[str], str] = str, *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._look, self._name_cell = look, name_cell
        self.key_first: Callable[[events.Key], bool] = lambda event: False
        self.sources: dict[str, Callable[[], Graph]] = {}
        self.shown = ""
        self.live = False
        self.cursor = 0  # the panel asks every table for it
        self.browsed: Browsed | None = None
        self._views: dict[str, Browsed] = {}
        self._zoom = "boxes"
        self._marked: frozenset[str] = frozenset()
        self._where: tuple[str, int | None] | None = None
        self._stale: set[str] = set()
        self._next_time = 0.0
        self._said = ""
        self._styles: tuple[Look, dict[str, Style]] | None = None

    # -- content ------------------------------------------------------------------------------------

    def offer(self, name: str, build: Callable[[], Graph] | None, *, live: bool = False) -> None:
        """A graph is there, or there is a newer one; `build` is called when it is looked at. None takes it away."""
        self.live = live
        if build is None:
            self.sources.pop(name, None)
            self._views.pop(name, None)
        else:
            self.sources[name] = build
            self._stale.add(name)
        if self.shown not in self.sources:
            self.shown = next(iter(self.sources), "")
            self._stale.add(self.shown)
        if self.is_attached and self.display and not (live and time.monotonic() < self._next_time):
            self.catch_up()

    def catch_up(self) -> None:
        """Draw the graph that is to be shown, where it is not drawn yet."""
        if not self.shown:
            self.browsed = None
            self._resize()
            return
        if self.shown not in self._stale and self.browsed is not None and self._views.get(self.shown) is self.browsed:
            return
        began = time.monotonic()
        try:
            graph = self.sources[self.shown]()
            known = self._views.get(self.shown)
            if known is None:
                from ...graphviz_views.browse import GraphView as Browsed

                known = self._views[self.shown] = Browsed(graph, folded=graph.initially_folded)
            else:
                known.take(graph)
            self._cells(known)
        except Exception as error:  # a graph that cannot be drawn must not take the notebook's window down
            self.browsed = None
            self._said = f"This graph cannot be drawn ({type(error).__name__}: {error})."
            self._resize()
            return
        self.browsed, self._said = known, ""
        self._stale.discard(self.shown)
        if known.selected is None:
            known.selected = next(iter(known.picture.boxes), None)
        self._resize()
        self._mark()
        self._next_time = time.monotonic() + 5 * (time.monotonic() - began)

    def _cells(self, browsed: Browsed) -> Cells:
        return browsed.cells(self._zoom)  # type: ignore[arg-type]

    def _resize(self) -> None:
        cells = self._cells(self.browsed) if self.browsed is not None else None
        self.virtual_size = Size(cells.width, cells.height) if cells is not None else Size(0, 0)
        self.refresh()

    def clear(self) -> None:
        """Forget all graphs."""
        self.sources.clear()
        self._views.clear()
        self.shown, self.browsed = "", None
        self._resize()

    # -- what is chosen -----------------------------------------------------------------------------

    @property
    def node(self) -> Node | None:
        """The node of the chosen box: of several, the first."""
        browsed = self.browsed
        box = browsed.picture.boxes.get(browsed.selected or "") if browsed is not None else None
        return browsed.graph.nodes[box.start] if browsed is not None and box is not None else None

    def go_to_node(self, node: int) -> bool:
        """Choose the box of a node and show it; False where there is none."""
        if self.browsed is None or self.browsed.reveal(node) is None:
            return False
        self._resize()
        self._show_selected()
        return True

    def mark_line(self, cell: str | None, line: int | None) -> None:
        """Mark the boxes of what was recorded at a line (from 1) of a cell."""
        where = (cell, line) if cell is not None else None
        if where != self._where:
            self._where = where
            if self.display:
                self._mark(show=not self.has_focus and line is not None)

    def _mark(self, show: bool = False) -> None:
        marked: frozenset[str] = frozenset()
        if self.browsed is not None and self._where is not None and self._where[1] is not None:
            cell, line = self._where[0], self._where[1] or 0
            nodes = [
                n.id for n in self.browsed.graph.nodes
                if n.source is not None and n.source.cell == cell and n.source.line <= line <= n.source.end_line
            ]  # fmt: skip
            marked = frozenset(self.browsed.boxes_of(nodes))
        if marked != self._marked:
            self._marked = marked
            if show and marked:
                rects = self._cells(self.browsed).rects  # type: ignore[arg-type]
                first = min(marked, key=lambda key: (rects[key].y, rects[key].x) if key in rects else (1 << 30, 0))
                self._show(first)
            self.refresh()

    def _show_selected(self) -> None:
        if self.browsed is not None and self.browsed.selected is not None:
            self._show(self.browsed.selected)

    def _show(self, key: str) -> None:
        """Scroll as little as needed to show a box, its beginning first."""
        rect = self._cells(self.browsed).rects.get(key) if self.browsed is not None else None
        size = self.scrollable_content_region.size
        if rect is None or not size.width:
            return
        x, y = self.scroll_offset
        x = min(max(x, rect.x + rect.width + 1 - size.width), max(0, rect.x - 1))
        y = min(max(y, rect.y + rect.height + 1 - size.height), max(0, rect.y - 1))
        if (x, y) != tuple(self.scroll_offset):
            self.scroll_to(x=x, y=y, animate=False, force=True)

    def note(self) -> str:
        if self.browsed is None:
            return ""
        others = [name for name in self.sources if name != self.shown]
        return f"{self.browsed.graph.summary()}" + (f", V shows the {others[0]}" if others else "")

    def detail(self, number: int) -> list[tuple[str, str]]:
        """What is known of the chosen box."""
        browsed = self.browsed
        box = browsed.picture.boxes.get(browsed.selected or "") if browsed is not None else None
        if browsed is None or box is None:
            return []
        pairs = [("", box.title)]
        pairs += [(name, _CELL.sub(self._named, text)) for name, text in box.details if name not in ("title", "line")]
        if not box.details:
            pairs.extend(("", line) for line in box.lines)
        if (source := box.source) is not None:
            pairs.append(("line", f"{self._name_cell(source.cell)}:{source.line}" if source.cell else source.text))
        elif box.kind in ("scope", "repeat", "cut"):
            pairs.append(("", "Space opens it"))
        return [(name, text) for name, text in pairs if text]

    # -- keys and mouse -----------------------------------------------------------------------------

    def _chose(self) -> None:
        self._show_selected()
        self.refresh()
        self.post_message(self.Highlighted(self))

    def action_go(self, direction: str) -> None:
        browsed = self.browsed
        if browsed is None or browsed.selected is None:
            return
        browsed.selected = self._cells(browsed).neighbour(browsed.selected, direction)  # type: ignore[arg-type]
        self._chose()

    def action_end(self, side: int) -> None:
        browsed = self.browsed
        if browsed is not None and browsed.picture.boxes:
            rects = self._cells(browsed).rects
            pick = min if side < 0 else max
            browsed.selected = pick(rects, key=lambda key: (rects[key].y, rects[key].x))
            self._chose()

    def action_page(self, by: int) -> None:
        self.scroll_relative(y=by * max(1, self.scrollable_content_region.height - 2), animate=False)

    def action_fold(self) -> None:
        if self.browsed is not None and self.browsed.selected is not None:
            self._toggle(self.browsed.selected)

    def _toggle(self, key: str) -> None:
        browsed = self.browsed
        if browsed is None:
            return
        box = browsed.picture.boxes.get(key)
        start = box.start if box is not None else None
        dx, dy = browsed.toggle_cells(key, self._zoom)  # type: ignore[arg-type]
        if browsed.selected is None and start is not None:
            browsed.selected = next((b.key for b in browsed.picture.boxes.values() if b.start <= start < b.stop), None)
        self._resize()
        x, y = self.scroll_offset
        self.scroll_to(x=max(0, x + dx), y=max(0, y + dy), animate=False, force=True)
        self._show_selected()
        self._mark()

    def action_zoom(self) -> None:
        self._zoom = "chips" if self._zoom == "boxes" else "boxes"
        self._resize()
        self._show_selected()

    def action_turn(self) -> None:
        """Show the next graph: tape, captured graph, kernels."""
        names = list(self.sources)
        if len(names) > 1:
            self.shown = names[(names.index(self.shown) + 1) % len(names)]
            self._stale.add(self.shown)
            self.catch_up()
            self.post_message(self.Highlighted(self))

    def fold_all(self) -> None:
        """Close everything, or open everything where all is closed."""
        if self.browsed is None:
            return
        if any(scope and scope not in self.browsed.folded for scope in self.browsed.graph.scopes):
            self.browsed.close_all()
        else:
            self.browsed.open_all()
        self.browsed.selected = next(iter(self.browsed.picture.boxes), None)
        self._resize()
        self._mark()

    def action_choose(self) -> None:
        browsed = self.browsed
        box = browsed.picture.boxes.get(browsed.selected or "") if browsed is not None else None
        if box is not None and box.kind in ("scope", "repeat", "cut"):
            self.action_fold()
        elif box is not None:
            self.post_message(self.Chosen(self))

    async def on_key(self, event: events.Key) -> None:
        if self.key_first(event) or await self.run_own_binding(event):
            event.stop()
            event.prevent_default()

    def on_click(self, event: events.Click) -> None:
        if self.browsed is None:
            return
        x, y = event.x + self.scroll_offset.x, event.y + self.scroll_offset.y
        cells = self._cells(self.browsed)
        key = cells.at(x, y)
        if key is None:
            frame = cells.frame_at(x, y)
            if frame is not None and event.chain > 1:
                self._toggle(frame)
            return
        self.browsed.selected = key
        self._chose()
        if event.chain > 1:
            self.action_choose()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_show(self) -> None:
        self.catch_up()

    # -- painting -----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        look = self._look()
        width = self.scrollable_content_region.width
        if self.browsed is None:
            words = _sentence(self._said or _NOTHING, width)
            strip = Strip([Segment(words[y] if y < len(words) else "", look.muted)])
            return strip.extend_cell_length(width).apply_style(look.ground)
        left, top = self.scroll_offset
        (row,) = self._cells(self.browsed).rows(
            top + y, 1, left, width, selected=self.browsed.selected, marked=self._marked
        )
        styles = self._resolved(look)
        segments = []
        for piece in row:
            style = styles.get(piece.style) or look.text
            if piece.mark == "selected":
                style = style + (look.row_cursor if self.has_focus else look.row_cursor_idle).background_style
            elif piece.mark == "marked":
                style = style + look.linked_soft
            segments.append(Segment(_CELL.sub(self._short_cell, piece.text), style))
        return Strip(segments).crop_extend(0, width, None).apply_style(look.ground)

    def _named(self, found: re.Match[str]) -> str:
        """A place with the name that its cell has on the screen."""
        return f"{self._name_cell(found[1])}:{found[2]}"

    def _short_cell(self, found: re.Match[str]) -> str:
        """The name a cell has on the screen in place of its id, in as many characters."""
        return f"{self._name_cell(found[1])}:{found[2]}"[: len(found[0])].ljust(len(found[0]))

    def _resolved(self, look: Look) -> dict[str, Style]:
        if self._styles is None or self._styles[0] is not look:
            self._styles = (look, styles_of(look))
        return self._styles[1]


def styles_of(look: Look) -> dict[str, Style]:
    """What the views' names of styles look like in a theme."""
    colours: Mapping[str, Any] = {
        "line": look.muted, "line.back": look.warning, "line.order": look.faint, "line.resume": look.accent,
        "tip": look.soft, "border": look.muted, "border.group": look.primary, "border.root": look.success,
        "border.error": look.error, "border.break": look.error, "border.back": look.warning, "frame": look.faint,
        "frame.title": look.primary, "frame.note": look.muted, "title": look.strong, "title.group": look.strong + look.primary,
        "title.back": look.warning, "fact": look.soft, "badge.leaf": look.success, "badge.saved": look.accent,
        "badge.grad": look.warning, "badge.root": look.success, "badge.stub": look.muted, "badge.error": look.error,
        "badge.note": look.warning, "badge.break": look.error, "badge.refused": look.warning, "bar": look.accent,
        "bar.rest": look.faint, "op.product": look.primary, "op.activation": look.syntax["class"],
        "op.norm": look.syntax["builtin"], "op.reduction": look.accent, "op.shape": look.soft, "op.other": look.text,
        "op.leaf": look.success, "op.input": look.success, "op.output": look.success, "op.call": look.primary,
        "op.break": look.error, "op.guard": look.warning, "op.kernel": look.accent, "op.error": look.error,
        "overview": look.muted, "overview.frame": look.faint, "viewport": look.accent,
    }  # fmt: skip
    return dict(colours)


def _sentence(text: str, width: int) -> list[str]:
    import textwrap

    return ["", *(f" {line}" for line in textwrap.wrap(text, max(10, width - 2)))]
