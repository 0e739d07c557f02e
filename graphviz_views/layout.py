"""Place a picture's boxes in layers, values flowing downwards: the coordinates that SVG and other writers draw.

Each frame is laid out by itself, inner frames first, and stands in its parent's layout as one large box; values
that cross a frame's border enter and leave through ports on its upper and lower edge.  Within a frame the steps are
the usual ones of layered drawing (Sugiyama, Tagawa and Toda, 1981): longest-path layers, sources pulled down to
their users, barycentre sweeps for the order within layers, and places by weighted isotonic regression.  A line over
many layers is not drawn: its ends are named as stubs instead.

Everything is deterministic and without recursion; units are the caller's.  This file knows sizes, not texts.
"""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from .ordering import Net, order_layers, place_layers
from .picture import Frame, Picture

_MANY = 2_000
"""Boxes from which on the garbage collector is paused."""

MAX_SPAN = 8
"""A line that runs through more layers than this becomes a stub at both of its ends."""


WIDEST = 16
"""A layer of more children than this is broken into rows below each other."""


class _Effort(NamedTuple):
    """What is spent on a picture of up to `boxes` boxes: longest lines, sweeps for order, sweeps for places."""

    boxes: float
    span: int
    order: int
    place: int
    exchange: bool = False
    attempts: int = 0


_EFFORTS = (
    _Effort(320, MAX_SPAN, 28, 40, True, 5), _Effort(1_200, MAX_SPAN, 6, 40), _Effort(4_000, 6, 4, 8),
    _Effort(float("inf"), 4, 2, 4),
)  # fmt: skip


class Size(NamedTuple):
    width: float
    height: float


class Rect(NamedTuple):
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Spacing:
    """Distances: between neighbours in a layer, between layers, inside a frame, above its content for its title."""

    across: float = 22
    down: float = 26
    padding: float = 14
    title: float = 22
    port: float = 14
    slope: float = 0.09
    """Layers move apart by this part of the widest sideways step between them, up to `steepest`."""
    steepest: float = 44
    tracks: float = 0
    """Layers move apart by this for each further line that must run sideways between them (where lines have corners)."""
    above: float | None = None
    """Inside a frame above its content where values enter it; by default what `title` and `padding` make."""
    below: float | None = None
    """Inside a frame below its content; by default `padding`."""
    slot: float = 24
    """Lines that enter one box from above stand at most this far apart."""
    whole: bool = False
    """Whether heights are whole numbers that must stay so."""
    mirror: float = 48
    """Between a picture and the backward pass beside it."""


class Route(NamedTuple):
    """A drawn line from the lower edge of box `source` to the upper edge of box `target`, through `points`.

    Points are the corners of the line, or (`curved`) the control points of cubic Bezier curves that follow each other.
    """

    source: str
    target: str
    points: tuple[tuple[float, float], ...]
    curved: bool = False


@dataclass(frozen=True, slots=True)
class Stubs:
    """Lines that are too long to draw: for each box the boxes at their other ends."""

    inputs: dict[str, list[str]]
    users: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Absolute rectangles of boxes and frames, and routes. `width` and `height` hold all of them.

    In a mirrored picture `mirrors`, `mirror_frames` and `mirror_routes` are the backward pass beside it: the same
    rectangles, turned about a vertical axis, so that each step of backward is level with what it belongs to; its routes
    lead upwards.
    """

    width: float
    height: float
    boxes: dict[str, Rect]
    frames: dict[str, Rect]
    routes: tuple[Route, ...]
    stubs: Stubs
    mirrors: dict[str, Rect] = field(default_factory=dict)
    mirror_frames: dict[str, Rect] = field(default_factory=dict)
    mirror_routes: tuple[Route, ...] = ()


Measure = Callable[[str, Stubs], Size]
"""Tells the size of a box by its key; it may grow by what its stubs say."""


def lay_out(
    picture: Picture,
    measure: Measure,
    frame_width: Callable[[Frame], float] = lambda frame: 7.0 * len(frame.title),
    spacing: Spacing = Spacing(),
    *,
    max_span: int | None = None,
) -> Layout:
    """Coordinates for a picture: no two boxes overlap, every box lies above those that use its values.

    Lines through more than `max_span` layers become stubs; by default `MAX_SPAN`, and fewer in very large pictures, which
    also get fewer sweeps.
    """
    size = len(picture.boxes)
    effort = next(e for e in _EFFORTS if size <= e.boxes)
    span = effort.span if max_span is None else max_span
    with _collector_paused() if size > _MANY else contextlib.nullcontext():
        return _best(picture, measure, frame_width, spacing, effort, span)


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """No search for reference cycles: a large layout makes a great many objects, none of which is garbage yet."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _best(
    picture: Picture,
    measure: Measure,
    frame_width: Callable[[Frame], float],
    spacing: Spacing,
    effort: _Effort,
    max_span: int,
) -> Layout:
    """The best of a few attempts, with its mirror."""
    found = _attempt(picture, measure, frame_width, spacing, effort, max_span, {})
    # Frames are laid out from the inside, where it is not known yet in which order values come from outside and go there.
    # In small pictures further attempts start from the order that the best one so far has found.
    idle = 0
    for turn in range(effort.attempts):
        hints = {key: _port_hints(picture, found.levels, key) for key in picture.frames if key}
        if not found.crossings or idle > 2 or not any(len(above) + len(below) > 1 for above, below in hints.values()):
            break
        kept = {
            key: (above if turn % 3 else {}, below if turn % 3 != 1 else {}) for key, (above, below) in hints.items()
        }
        other = _attempt(picture, measure, frame_width, spacing, effort, max_span, kept)
        found, idle = (other, 0) if other.crossings < found.crossings else (found, idle + 1)
    layout = _absolute(picture, found.levels, found.drawn, found.stubs)
    return with_mirror(layout, picture, spacing.mirror) if picture.mirrored else layout


_Way = tuple[tuple[str, str], "list[tuple[str, _Line]]"]
"""A line of the picture, and its way through frames."""

_Hints = tuple[dict[str, float], dict[str, float]]
"""Where values come from above a frame and go to below it, from left to right."""


class _Attempt(NamedTuple):
    levels: dict[str, _Level]
    drawn: list[_Way]
    stubs: Stubs
    crossings: int


def _attempt(
    picture: Picture,
    measure: Measure,
    frame_width: Callable[[Frame], float],
    spacing: Spacing,
    effort: _Effort,
    max_span: int,
    hints: dict[str, _Hints],
) -> _Attempt:
    """All frames laid out, inner before outer; with `hints` for the order of their ports."""
    levels = {key: _Level(key, len(frame.children)) for key, frame in picture.frames.items()}
    paths = _link(picture, levels)
    for level in levels.values():
        level.assign_layers()
    stubs = Stubs({}, {})
    drawn: list[_Way] = []
    for ends, path in paths.items():
        if any(levels[frame].span(line) > max_span for frame, line in path):
            stubs.users.setdefault(ends[0], []).append(ends[1])
            stubs.inputs.setdefault(ends[1], []).append(ends[0])
        else:
            drawn.append((ends, path))
            for frame, line in path:
                levels[frame].drawn[line] = None
    crossings = 0
    for frame in reversed(picture.frames.values()):  # inner before outer
        level = levels[frame.key]
        for place, child in enumerate(frame.children):
            if child.kind == "box":
                level.sizes[place] = measure(child.key, stubs)
            else:
                inner = levels[child.key]
                level.sizes[place] = inner.size
                level.ports_above[place], level.ports_below[place] = inner.port_places()
        crossings += level.place(
            spacing, effort, frame_width(frame) if frame.title else 0.0, hints.get(frame.key, ({}, {})),
            framed=frame.parent is not None,
        )  # fmt: skip
    return _Attempt(levels, drawn, stubs, crossings)


def _port_hints(picture: Picture, levels: dict[str, _Level], key: str) -> _Hints:
    """From where, left to right, values come to a frame in its parent's layout, and where they go."""
    parent = picture.frames[key].parent or ""
    number = next(n for n, child in enumerate(picture.frames[parent].children) if child.key == key)
    above: dict[str, float] = {}
    below: dict[str, float] = {}
    for line, points in levels[parent].points.items():
        if line.target == number:
            above[line.value] = points[max(0, len(points) - 3)][0]
        elif line.source == number:
            below[line.value] = points[min(2, len(points) - 1)][0]
    return above, below


def with_mirror(layout: Layout, picture: Picture, gap: float) -> Layout:
    """The same layout with its mirror image to the right, `gap` away; boxes without a `back` have none."""
    has = {key for key, box in picture.boxes.items() if box.back is not None}
    width = 2 * layout.width + gap

    def flip(rect: Rect) -> Rect:
        return rect._replace(x=width - rect.x - rect.width)

    routes = tuple(
        Route(r.target, r.source, tuple((width - x, y) for x, y in reversed(r.points)), r.curved)
        for r in layout.routes
        if r.source in has and r.target in has
    )
    return replace(
        layout, width=width, mirrors={k: flip(r) for k, r in layout.boxes.items() if k in has},
        mirror_frames={k: flip(r) for k, r in layout.frames.items()}, mirror_routes=routes,
    )  # fmt: skip


class _Line(NamedTuple):
    """A value's way through one frame. Ends are children by number, or ports (`_IN`, `_OUT`) of the value."""

    value: str
    source: int
    target: int


_IN = -1
_OUT = -2


@dataclass
class _Level:
    """The layout of one frame's children. Elements are children, then ports, then bends of lines."""

    key: str
    count: int
    lines: dict[_Line, None] = field(default_factory=dict)
    drawn: dict[_Line, None] = field(default_factory=dict)
    layer: list[int] = field(default_factory=list)
    last: int = 0
    sizes: dict[int, Size] = field(default_factory=dict)
    ports_above: dict[int, dict[str, float]] = field(default_factory=dict)
    ports_below: dict[int, dict[str, float]] = field(default_factory=dict)
    size: Size = field(default_factory=lambda: Size(0, 0))
    rects: dict[int, Rect] = field(default_factory=dict)
    points: dict[_Line, list[tuple[float, float]]] = field(default_factory=dict)
    inputs: dict[str, float] = field(default_factory=dict)
    outputs: dict[str, float] = field(default_factory=dict)

    # -- layers -------------------------------------------------------------------------------------

    def assign_layers(self) -> None:
        """Longest path from the top; children that use nothing stand just above their first user."""
        above: list[list[int]] = [[] for _ in range(self.count)]
        below: list[list[int]] = [[] for _ in range(self.count)]
        has_input = [False] * self.count
        for line in self.lines:
            if line.source >= 0 and line.target >= 0:
                above[line.target].append(line.source)
                below[line.source].append(line.target)
            elif line.source == _IN and line.target >= 0:
                has_input[line.target] = True
        self.layer = [0] * self.count
        for child in range(self.count):  # children stand in an order that fits the lines
            self.layer[child] = 1 + max((self.layer[a] for a in above[child]), default=-1)
        for child in reversed(range(self.count)):
            if not above[child] and not has_input[child] and below[child]:
                self.layer[child] = min(self.layer[b] for b in below[child]) - 1
        self._break_wide_layers()
        self.last = max(self.layer, default=0)

    def _break_wide_layers(self) -> None:
        sizes = Counter(self.layer)
        if max(sizes.values(), default=0) <= WIDEST:
            return
        rows = {number: -(-size // WIDEST) for number, size in sizes.items()}
        first: dict[int, int] = {}
        at = 0
        for number in sorted(sizes):
            first[number] = at
            at += rows[number]
        seen: Counter[int] = Counter()
        for child, number in enumerate(self.layer):
            row = seen[number] * rows[number] // sizes[number]
            seen[number] += 1
            self.layer[child] = first[number] + row

    def span(self, line: _Line) -> int:
        """How many layers a line leads down."""
        source = -1 if line.source == _IN else self.layer[line.source]
        target = self.last + 1 if line.target == _OUT else self.layer[line.target]
        return target - source

    def port_places(self) -> tuple[dict[str, float], dict[str, float]]:
        """Where values enter above and leave below, by value, from the left edge."""
        return self.inputs, self.outputs

    # -- places -------------------------------------------------------------------------------------

    def place(self, spacing: Spacing, effort: _Effort, title_width: float, hints: _Hints, *, framed: bool) -> int:
        """Compute the rectangles of the children and the points of the lines, relative to this frame.

        Returns how many lines cross in it.  With `hints`, ports stand in that order.
        """
        net = Net()
        elements = [net.add(self.layer[c] + 1, self.sizes[c].width, spacing.across) for c in range(self.count)]
        chains: dict[_Line, list[int]] = {}
        ends: dict[_Line, int] = {}  # the last piece of each line
        bends: dict[tuple[str, int], list[int]] = {}  # by value and source: one element a layer, shared by its lines
        for line in self.drawn:
            top = 0 if line.source == _IN else self.layer[line.source] + 1
            bottom = self.last + 2 if line.target == _OUT else self.layer[line.target] + 1
            if (line.value, line.source) not in bends:
                start = net.add(0, 0, spacing.port) if line.source == _IN else elements[line.source]
                bends[line.value, line.source] = [start]
            shared = bends[line.value, line.source]
            leaves_at = self.ports_below.get(line.source, {}).get(line.value)
            while len(shared) < bottom - top:
                bend = net.add(top + len(shared), 0, spacing.port)
                first = len(shared) == 1
                net.join(shared[-1], bend, leaves_at if first else None, None, weight=1.0 if first else 2.0)
                shared.append(bend)
            above = shared[bottom - top - 1]
            end = net.add(bottom, 0, spacing.port) if line.target == _OUT else elements[line.target]
            direct = bottom - top == 1
            ends[line] = net.join(
                above,
                end,
                leaves_at if direct else None,
                self.ports_above.get(line.target, {}).get(line.value),
                weight=3.0 if direct else 1.0,
            )
            chains[line] = [*shared[: bottom - top], end]
        self._apply(hints, net, chains)
        crossings = order_layers(net, effort.order, exchange=effort.exchange)
        place_layers(net, effort.place, spacing.across * 0.6)
        self._measure_layers(net, chains, ends, elements, spacing, title_width, framed=framed)
        return crossings

    def _apply(self, hints: _Hints, net: Net, chains: dict[_Line, list[int]]) -> None:
        """Keep the ports in the order of the hints: they are alone in the first and the last layer."""
        for line, chain in chains.items():
            if line.source == _IN and line.value in hints[0]:
                net.fixed[chain[0]] = hints[0][line.value]
            if line.target == _OUT and line.value in hints[1]:
                net.fixed[chain[-1]] = hints[1][line.value]

    def _measure_layers(
        self,
        net: Net,
        chains: dict[_Line, list[int]],
        ends: dict[_Line, int],
        elements: list[int],
        spacing: Spacing,
        title_width: float,
        *,
        framed: bool,
    ) -> None:
        padding = spacing.padding if framed else 0.0
        left, right = net.extent()
        width = max(right - left, title_width) + 2 * padding
        shift = (width - (right - left)) / 2 - left
        rows = self.last + 3  # ports above, children, ports below
        heights = [0.0] * rows
        for child, element in enumerate(elements):
            row = net.layer[element]
            heights[row] = max(heights[row], self.sizes[child].height)
        gaps = net.gaps(rows, spacing.down, spacing.slope, spacing.steepest, spacing.tracks)
        if framed:
            above = spacing.title + padding / 2 if spacing.above is None else spacing.above
            if spacing.above is not None and not any(line.source == _IN for line in self.drawn):
                above = spacing.title
            below = padding if spacing.below is None else spacing.below
            gaps[0] = above + max(0.0, gaps[0] - spacing.down)
            gaps[-1] = below + max(0.0, gaps[-1] - spacing.down)
        else:
            gaps[0] = gaps[-1] = 0.0
        tops = [0.0] * rows
        for row in range(1, rows):
            tops[row] = tops[row - 1] + heights[row - 1] + gaps[row - 1]
        height = tops[-1]
        self.size = Size(width, height)
        for child, element in enumerate(elements):
            size = self.sizes[child]
            row = net.layer[element]
            # boxes stand in the middle of their layer, frames at its top, so that siblings begin level
            lower = 0.0 if child in self.ports_above else (heights[row] - size.height) / 2
            if spacing.whole:
                lower = float(int(lower))
            self.rects[child] = Rect(net.x[element] + shift, tops[row] + lower, size.width, size.height)
        slots = net.spread({e for c, e in enumerate(elements) if c not in self.ports_above}, spacing.slot)
        for line, chain in chains.items():
            self.points[line] = self._route(line, chain, slots.get(ends[line]), net, tops, heights, shift)

    def _route(
        self,
        line: _Line,
        chain: list[int],
        slot: float | None,
        net: Net,
        tops: list[float],
        heights: list[float],
        shift: float,
    ) -> list[tuple[float, float]]:
        points: list[tuple[float, float]] = []
        if line.source == _IN:
            x = net.x[chain[0]] + shift
            self.inputs[line.value] = x
            points.append((x, 0.0))
        else:
            rect = self.rects[line.source]
            at = self.ports_below.get(line.source, {}).get(line.value)
            x = rect.x + (rect.width / 2 if at is None else at)
            row = net.layer[chain[0]]
            points += [(x, rect.y + rect.height), (x, tops[row] + heights[row])]
        for bend in chain[1:-1]:
            x, row = net.x[bend] + shift, net.layer[bend]
            points += [(x, tops[row]), (x, tops[row] + heights[row])]
        if line.target == _OUT:
            x = net.x[chain[-1]] + shift
            self.outputs[line.value] = x
            points.append((x, tops[self.last + 2]))
        else:
            rect = self.rects[line.target]
            at = self.ports_above.get(line.target, {}).get(line.value)
            x = rect.x + (slot if at is None and slot is not None else rect.width / 2 if at is None else at)
            points += [(x, tops[net.layer[chain[-1]]]), (x, rect.y)]
        return points


def _link(picture: Picture, levels: dict[str, _Level]) -> dict[tuple[str, str], list[tuple[str, _Line]]]:
    """Lead each of the picture's lines through the frames around its ends; returns its way, from source to target."""
    place: dict[str, int] = {}  # of a box among the children of its frame
    home: dict[str, str] = {}
    outside: dict[str, tuple[str, int]] = {}  # of a frame: its parent, and its place there
    depth: dict[str, int] = {}
    for frame in picture.frames.values():
        depth[frame.key] = 0 if frame.parent is None else depth[frame.parent] + 1
        for number, child in enumerate(frame.children):
            if child.kind == "box":
                place[child.key], home[child.key] = number, frame.key
            else:
                outside[child.key] = (frame.key, number)
    paths: dict[tuple[str, str], list[tuple[str, _Line]]] = {}
    for source, target in picture.lines:
        up, down = (home[source], place[source]), (home[target], place[target])
        leaving: list[tuple[str, _Line]] = []
        entering: list[tuple[str, _Line]] = []
        while up[0] != down[0]:
            if depth[up[0]] >= depth[down[0]]:
                leaving.append((up[0], _Line(source, up[1], _OUT)))
                up = outside[up[0]]
            else:
                entering.append((down[0], _Line(source, _IN, down[1])))
                down = outside[down[0]]
        path = [*leaving, (up[0], _Line(source, up[1], down[1])), *reversed(entering)]
        for key, line in path:
            levels[key].lines[line] = None
        paths[source, target] = path
    return paths


def _absolute(
    picture: Picture,
    levels: dict[str, _Level],
    drawn: list[tuple[tuple[str, str], list[tuple[str, _Line]]]],
    stubs: Stubs,
) -> Layout:
    """Add up the places of the frames, outer before inner, and join each line's points."""
    corner: dict[str, tuple[float, float]] = {}
    boxes: dict[str, Rect] = {}
    frames: dict[str, Rect] = {}
    size = Size(0, 0)
    for frame in picture.frames.values():
        level = levels[frame.key]
        if frame.parent is None:
            corner[frame.key] = (0.0, 0.0)
            size = level.size
        x, y = corner[frame.key]
        for number, child in enumerate(frame.children):
            rect = level.rects[number]
            rect = rect._replace(x=rect.x + x, y=rect.y + y)
            if child.kind == "box":
                boxes[child.key] = rect
            else:
                frames[child.key] = rect
                corner[child.key] = (rect.x, rect.y)
    routes = []
    for (source, target), path in drawn:
        points: list[tuple[float, float]] = []
        for key, line in path:
            x, y = corner[key]
            for point in levels[key].points[line]:
                moved = (point[0] + x, point[1] + y)
                if not points or moved != points[-1]:
                    points.append(moved)
        routes.append(Route(source, target, tuple(points)))
    return Layout(size.width, size.height, {key: boxes[key] for key in picture.boxes}, frames, tuple(routes), stubs)
