"""One graph on somebody's screen: what is folded, opened and selected, and the forms in which it is drawn.

A `GraphView` is what a front end holds.  It draws on request and remembers the result until something changes; it
reacts to no events and knows no user interface.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from .beautify import in_background
from .cells import Cells, Zoom, draw_cells
from .dot import picture_dot
from .layout import Layout
from .model import Gradient, Graph, NodeId
from .outline import Outline
from .page import page_json
from .picture import MAX_BOXES, Picture, make_picture
from .svg import Link, measure_of, measured, picture_svg
from .svg_style import Theme


class GraphView:
    """A graph with its folding. `limit` is the most boxes that are drawn, `backward` as in `make_picture`."""

    def __init__(
        self,
        graph: Graph,
        folded: Iterable[str] = (),
        opened: Iterable[str] = (),
        *,
        limit: int = MAX_BOXES,
        backward: bool | None = None,
    ) -> None:
        self.graph = graph
        self.folded, self.opened = set(folded), set(opened)
        self._limit, self._backward = limit, backward
        self._gradients: Mapping[NodeId, Gradient] = {}
        self.selected: str | None = None
        """Key of the selected box."""
        self._picture: Picture | None = None
        self._cells: dict[Zoom, Cells] = {}
        self._layout: Layout | None = None

    # -- what changes -------------------------------------------------------------------------------

    def take(self, graph: Graph) -> None:
        """Show another graph (a newer tape, say) with the same folding and, where it is still there, the same selection."""
        self.graph = graph
        self._changed()

    @property
    def backward(self) -> bool | None:
        """Whether the steps of backward stand beside a tape; None: where a gradient is known."""
        return self._backward

    @backward.setter
    def backward(self, value: bool | None) -> None:
        self._backward = value
        self._changed()

    def light(self, gradients: Mapping[NodeId, Gradient]) -> None:
        """Show these gradients instead of recorded ones, as `Timeline.at` gives them."""
        self._gradients = gradients
        self._changed()

    def toggle(self, key: str) -> bool:
        """Open or close what a box or a frame stands for, by its key; returns whether that did anything.

        A "scope", "repeat" or "cut" box opens, a frame closes (its key is its scope's id), and so does the innermost
        frame around a plain node.
        """
        box = self.picture.boxes.get(key)
        if box is None:
            frame = self.picture.frames.get(key)
            if frame is None or frame.parent is None:
                return False
            self._close(key)
        elif box.kind == "repeat":
            self.opened.add(box.scope)
        elif box.kind == "scope":
            self.folded.discard(box.scope)
            self.opened.add(box.scope)
            if f"scope {box.scope}" in self._drawn_after_change().boxes:  # the limit keeps it closed: make room
                self._make_room(box.scope)
        elif box.kind == "cut":
            self._limit = max(self._limit + MAX_BOXES, self._limit)
        elif box.scope:
            self._close(box.scope)
        else:
            return False
        self._changed()
        return True

    def _drawn_after_change(self) -> Picture:
        self._changed()
        return self.picture

    def _make_room(self, scope: str) -> None:
        """Close the scopes that stand beside a scope and its parents, so that it has room to be opened."""
        around: set[str] = set()
        at: str | None = scope
        while at is not None:
            around.add(at)
            at = self.graph.scopes[at].parent
        for other in self.graph.scopes.values():
            if other.id not in around and other.parent in around and other.parent != scope:
                self.folded.add(other.id)
                self.opened.discard(other.id)

    def _close(self, scope: str) -> None:
        self.folded.add(scope)
        self.opened.discard(scope)
        for repeat in [r for r in self.opened if r.startswith(f"{scope}*")]:
            self.opened.discard(repeat)

    def open_all(self) -> None:
        """Open every scope; repeats show one turn again."""
        self.folded.clear()
        self.opened = set(self.graph.initially_folded)
        self._changed()

    def close_all(self) -> None:
        """Close every scope."""
        self.folded, self.opened = {scope for scope in self.graph.scopes if scope}, set()
        self._changed()

    def reveal(self, node_id: NodeId) -> str | None:
        """Open what hides a node, select its box and return the box's key; None where the graph has no such node."""
        carriers = self.graph.carriers(node_id)
        if not carriers:
            return None
        outline = self.outline
        outline.reveal(carriers[0])
        if outline.folded != self.folded or outline.opened != self.opened:
            self.folded, self.opened = outline.folded, outline.opened
            self._changed()
        key = self.box_of(carriers[0])
        while key is not None and self.picture.boxes[key].kind in ("scope", "cut") and self.toggle(key):
            after = self.box_of(carriers[0])
            if after == key:
                break
            key = after
        self.selected = key
        return key

    def box_of(self, node_id: NodeId) -> str | None:
        """The key of the box that shows or hides a node, None for a node that is not in the graph."""
        carriers = self.graph.carriers(node_id)
        if not carriers:
            return None
        index = self.graph.position[carriers[0]]
        return next((box.key for box in self.picture.boxes.values() if box.start <= index < box.stop), None)

    def boxes_of(self, nodes: Collection[NodeId]) -> set[str]:
        """The keys of the boxes that show or hide these nodes, to mark them."""
        owner: list[str] = []
        for box in self.picture.boxes.values():
            owner += [box.key] * (box.stop - box.start)
        return {owner[self.graph.position[c]] for node in nodes for c in self.graph.carriers(node)}

    # -- forms --------------------------------------------------------------------------------------

    def _changed(self) -> None:
        self._picture = self._layout = None
        self._cells = {}

    def beautify(self, done: Callable[[str], None]) -> None:
        """Let Graphviz place the boxes in the background: `done("")` when `layout` is its, else a sentence why not.

        `done` is called in another thread.  Where something was opened or closed meanwhile, the answer is dropped.
        """
        picture = self.picture

        def take(layout: Layout | None, why: str) -> None:
            if self._picture is not picture:
                why = why or "The picture has changed meanwhile."
            elif layout is not None:
                self._layout = layout
            done(why)

        in_background(picture, measure_of(picture), take)

    @property
    def picture(self) -> Picture:
        """What is drawn now."""
        if self._picture is None:
            self._picture = make_picture(
                self.graph, self.folded, self.opened, limit=self._limit, backward=self._backward,
                gradients=self._gradients,
            )  # fmt: skip
            if self.selected not in self._picture.boxes:
                self.selected = None
        return self._picture

    @property
    def outline(self) -> Outline:
        """The same folding as an outline."""
        return Outline(self.graph, self.folded, self.opened)

    def cells(self, zoom: Zoom = "boxes") -> Cells:
        """The picture in terminal cells, drawn once for each zoom."""
        if zoom not in self._cells:
            self._cells[zoom] = draw_cells(self.picture, zoom)
        return self._cells[zoom]

    def toggle_cells(self, key: str, zoom: Zoom = "boxes") -> tuple[int, int]:
        """`toggle`, and how far (cells right, cells down) what was clicked has moved.

        Add it to the scroll offset, and what was clicked stays where it was on the screen.
        """
        x, y = self._toggle(key, lambda: self.cells(zoom))
        return int(x), int(y)

    def toggle_page(self, key: str) -> tuple[float, float]:
        """The same in the pixels of `page` and `svg`."""
        return self._toggle(key, lambda: self.layout)

    def _toggle(self, key: str, places: Callable[[], Cells | Layout]) -> tuple[float, float]:
        before = _place(places(), key)
        box = self.picture.boxes.get(key)
        anchor = box.start if box is not None else self._frame_start(key)
        scope = box.scope if box is not None else key
        if not self.toggle(key) or before is None:
            return (0, 0)
        now = places()
        after = _place(now, scope) or _place(now, f"scope {scope}")
        if after is None:
            found = next((b.key for b in self.picture.boxes.values() if b.start <= anchor < b.stop), "")
            after = _place(now, found) or before
        return after[0] - before[0], after[1] - before[1]

    def _frame_start(self, key: str) -> int:
        scope = self.graph.scopes.get(key)
        return scope.start if scope is not None else 0

    @property
    def layout(self) -> Layout:
        """Places in pixels: the own ones, until `beautify` has found others."""
        if self._layout is None:
            self._layout = measured(self.picture)
        return self._layout

    def svg(self, theme: Theme = "auto", link: Link | None = None) -> str:
        """The picture as SVG; `link` as in `picture_svg`."""
        return picture_svg(self.picture, theme=theme, layout=self.layout, link=link)

    def dot(self) -> str:
        """The picture in Graphviz's language."""
        return picture_dot(self.picture)

    def page(self) -> dict[str, Any]:
        """The picture with its places as JSON for the page, as `page.page_json` describes it."""
        return page_json(self.picture, self.layout)


def _place(places: Cells | Layout, key: str) -> tuple[float, ...] | None:
    """The rectangle of a box or of a frame, None where there is none."""
    boxes = places.rects if isinstance(places, Cells) else places.boxes
    return boxes.get(key) or places.frames.get(key)
