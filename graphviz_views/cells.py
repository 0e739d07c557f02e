"""Draw a picture in terminal cells: boxes and lines of box-drawing characters, one-line chips, a braille overview.

A `Cells` is finished text with places: front ends ask it for the rows of a window (`rows`), for the box under a cell
(`at`), for the place of a box (`rects`) and for the next box in a direction (`neighbour`).  Styles are names; what they
look like is the business of the front end.  All text is inert, whatever the records hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import replace
from typing import Literal, NamedTuple

from wcwidth import wcwidth

from .labels import cell_width, clean, pad, trim
from .layout import Layout, Rect, Route, Size, Spacing, Stubs, lay_out
from .model import Badge
from .ordering import assign_tracks
from .picture import Back, Box, Frame, Picture

Zoom = Literal["boxes", "chips"]
Direction = Literal["up", "down", "left", "right"]

STYLES = (
    "", "line", "line.back", "line.order", "line.resume", "tip", "border", "border.group", "border.root",
    "border.error", "border.break", "border.back", "border.lit", "frame", "frame.title", "frame.note", "title", "title.group",
    "title.back", "fact", "badge.leaf", "badge.saved", "badge.grad", "badge.root", "badge.stub", "badge.error",
    "badge.note", "badge.hint", "badge.break", "badge.refused", "badge.good", "badge.slow",
    "bar", "bar.rest", "op.product", "op.activation", "op.norm",
    "op.reduction", "op.shape", "op.other", "op.leaf", "op.input", "op.output", "op.call", "op.break", "op.guard",
    "op.kernel", "op.error", "overview", "overview.frame", "viewport",
)  # fmt: skip
"""Every name that `Segment.style` may have."""

_BADGES = {"constant": "note", "kept": "saved"}
"""Kinds of badges that look like others."""

_BADGE_ROW = 40  # cells; badges wrap beyond
_BAR = 10
_WIDEST = 64

_SPACING: dict[str, Spacing] = {
    "boxes": Spacing(3, 1, 2, 1, port=2, slope=0, steepest=0, tracks=1, above=2, below=1, slot=4, mirror=6, whole=True),
    "chips": Spacing(2, 1, 2, 1, port=2, slope=0, steepest=0, tracks=1, above=2, below=1, slot=4, mirror=5, whole=True),
}

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = {
    0: " ", 1: "│", 2: "│", 3: "│", 4: "─", 8: "─", 12: "─", 10: "╭", 6: "╮", 9: "╰", 5: "╯",
    11: "├", 7: "┤", 14: "┬", 13: "┴", 15: "┼",
}  # fmt: skip


class Segment(NamedTuple):
    """A piece of a row in one style. `key` is the box it belongs to (None between boxes).

    `mark` is "selected" or "marked" in boxes that were asked for as such, else "".
    """

    text: str
    style: str
    key: str | None = None
    mark: str = ""


class CellRect(NamedTuple):
    """A rectangle of cells by its upper left one."""

    x: int
    y: int
    width: int
    height: int

    def holds(self, x: int, y: int) -> bool:
        """Whether a cell lies in it."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


def draw_cells(picture: Picture, zoom: Zoom = "boxes") -> Cells:
    """The picture in cells, laid out here. Raises ValueError for an unknown zoom."""
    if zoom not in _SPACING:
        raise ValueError(f"unknown zoom {zoom!r}; the zooms are {', '.join(_SPACING)}")
    return Cells(picture, zoom)


class Cells:
    """A picture of `width` by `height` cells, with the places of its boxes, frames and mirror boxes by key."""

    def __init__(self, picture: Picture, zoom: Zoom) -> None:
        self.picture, self.zoom = picture, zoom
        self._draw_box = _chip if zoom == "chips" else _box
        layout = lay_out(picture, self._measure, _frame_width, _SPACING[zoom])
        self.width, self.height = _up(layout.width), _up(layout.height)
        self.rects = {key: _whole(rect) for key, rect in layout.boxes.items()}
        self.frames = {key: _spanned(rect) for key, rect in layout.frames.items()}
        self.mirrors = {key: _whole(rect) for key, rect in layout.mirrors.items()}
        every = [*self.rects.values(), *self.frames.values(), *self.mirrors.values()]
        self.width = max([self.width, *(r.x + r.width for r in every)])
        self.height = max([self.height, *(r.y + r.height for r in every)])
        self._text = [[" "] * self.width for _ in range(self.height)]
        self._style = [[""] * self.width for _ in range(self.height)]
        self._key: list[list[str | None]] = [[None] * self.width for _ in range(self.height)]
        self._paint(layout)

    # -- questions ----------------------------------------------------------------------------------

    def rows(
        self,
        top: int = 0,
        height: int | None = None,
        left: int = 0,
        width: int | None = None,
        *,
        selected: str | None = None,
        marked: Collection[str] = (),
    ) -> list[list[Segment]]:
        """The rows of a window, each exactly `width` cells wide; outside of the picture there is blank space.

        `selected` and `marked` are keys of boxes.
        """
        height = self.height - top if height is None else height
        width = self.width - left if width is None else width
        return [self._row(y, left, width, selected, marked) for y in range(top, top + height)]

    def _row(self, y: int, left: int, width: int, selected: str | None, marked: Collection[str]) -> list[Segment]:
        if not 0 <= y < self.height:
            return [Segment(" " * width, "")]
        texts, styles, keys = self._text[y], self._style[y], self._key[y]
        row: list[Segment] = []
        run: list[str] = []
        style, key = "", None
        stop = left + width

        def flush() -> None:
            if run:
                mark = "" if key is None else "selected" if key == selected else "marked" if key in marked else ""
                row.append(Segment("".join(run), style, key, mark))
                run.clear()

        for x in range(left, stop):
            if not 0 <= x < self.width:
                text, at = " ", ("", None)
            else:
                text, at = texts[x], (styles[x], keys[x])
                # half of a wide character at an edge of the window
                if (not text and x == left) or (x == stop - 1 and x + 1 < self.width and not texts[x + 1]):
                    text = " "
            if at != (style, key):
                flush()
                style, key = at
            run.append(text)
        flush()
        return row

    def text(self) -> str:
        """The whole picture as plain text, with its title above and its sentences below; every line ends with a newline."""
        lines = [f"{clean(self.picture.title)}: {clean(self.picture.summary)}", ""]
        lines += ["".join(s.text for s in row).rstrip() for row in self.rows()]
        lines += ["", *(f"Note: {clean(note)}" for note in self.picture.notes)] if self.picture.notes else []
        return "\n".join(lines) + "\n"

    def at(self, x: int, y: int) -> str | None:
        """The key of the box at a cell: its own or its mirror's rectangle; None where there is none."""
        return self._key[y][x] if 0 <= y < self.height and 0 <= x < self.width else None

    def frame_at(self, x: int, y: int) -> str | None:
        """The key of the innermost frame around a cell, None outside of all."""
        found = [key for key, rect in self.frames.items() if rect.holds(x, y)]
        return found[-1] if found else None

    def neighbour(self, key: str, direction: Direction) -> str:
        """The box that the eye finds next in a direction, `key` itself where there is none or it is unknown."""
        here = self.rects.get(key)
        if here is None:
            return key
        x, y = here.x + here.width / 2, here.y + here.height / 2
        best, least = key, float("inf")
        for other, rect in self.rects.items():
            right, down = rect.x + rect.width / 2 - x, (rect.y + rect.height / 2 - y) * 2
            along, across = {
                "up": (-down, right), "down": (down, right), "left": (-right, down), "right": (right, down)
            }[direction]  # fmt: skip
            if other != key and along > 0.5:
                far = along + 3 * abs(across)
                if far < least:
                    best, least = other, far
        return best

    # -- painting -----------------------------------------------------------------------------------

    def _measure(self, key: str, stubs: Stubs) -> Size:
        lines = self._draw_box(self.picture.boxes[key], stubs, self.picture, None)
        width = max(sum(cell_width(text) for text, _ in line) for line in lines)
        back = self.picture.boxes[key].back
        if back is not None:
            other = self._draw_box(self.picture.boxes[key], stubs, self.picture, back)
            width = max(width, max(sum(cell_width(text) for text, _ in line) for line in other))
            lines = max(lines, other, key=len)
        return Size(width + (0 if self.zoom == "chips" else 4), len(lines) + (0 if self.zoom == "chips" else 1))

    def _paint(self, layout: Layout) -> None:
        for key, rect in self.frames.items():
            self._frame(rect, self.picture.frames[key])
        for key, rect in layout.mirror_frames.items():
            self._frame(_spanned(rect), self.picture.frames[key])
        self._lines(layout.routes, back=False)
        self._lines(layout.mirror_routes, back=True)
        for key, rect in self.frames.items():
            self._frame_title(rect, self.picture.frames[key])
        for key, rect in layout.mirror_frames.items():
            frame = replace(self.picture.frames[key], title=f"backward of {self.picture.frames[key].title}", badges=())
            self._frame_title(_spanned(rect), frame, "frame.note")
        for key, rect in self.rects.items():
            box = self.picture.boxes[key]
            self._rect(rect, key, box, self._draw_box(box, layout.stubs, self.picture, None), back=False)
        for key, rect in self.mirrors.items():
            box = self.picture.boxes[key]
            self._rect(rect, key, box, self._draw_box(box, layout.stubs, self.picture, box.back), back=True)

    def _put(self, x: int, y: int, text: str, style: str, key: str | None = None) -> None:
        texts, styles, keys = self._text[y], self._style[y], self._key[y]
        at = x
        for character in text:
            width = max(0, wcwidth(character))
            if not width:
                if at > x:
                    texts[at - 1 if texts[at - 1] else at - 2] += character
                continue
            if at + width > self.width:
                return
            for step in range(width):
                texts[at + step] = "" if step else character
                styles[at + step] = style
                if key is not None:
                    keys[at + step] = key
            at += width

    def _frame(self, rect: CellRect, frame: Frame) -> None:
        x, y, width, height = rect
        self._put(x, y, "┌" + "─" * (width - 2) + "┐", "frame")
        for row in range(y + 1, y + height - 1):
            self._put(x, row, "│", "frame")
            self._put(x + width - 1, row, "│", "frame")
        self._put(x, y + height - 1, "└" + "─" * (width - 2) + "┘", "frame")

    def _frame_title(self, rect: CellRect, frame: Frame, style: str = "frame.title") -> None:
        x, y, width, _ = rect
        title = trim(f" {frame.title} ", max(0, width - 4))
        note = trim(_frame_note(frame), max(0, width - 4 - cell_width(title)))
        self._put(x + 2, y, title, style)
        self._put(x + 2 + cell_width(title), y, note, "frame.note")

    def _rect(self, rect: CellRect, key: str, box: Box, lines: list[list[tuple[str, str]]], *, back: bool) -> None:
        x, y, width, height = rect
        if self.zoom == "chips":
            self._line(x, y, width, lines[0], key)
            return
        kind = ("lit" if box.back is not None and box.back.lit else "back") if back else _border(box)
        style = f"border.{kind}" if kind else "border"
        heavy = kind == "error"
        corners, across, beside = ("┏┓┗┛", "━", "┃") if heavy else ("╭╮╰╯", "─", "│")
        if kind in ("break", "group"):
            across, beside = "┄", "┆"
        self._put(x, y, corners[0] + across * (width - 2) + corners[1], style, key)
        at = x + 2
        for text, name in lines[0]:
            self._put(at, y, text, name, key)
            at += cell_width(text)
        for row in range(1, height - 1):
            self._put(x, y + row, pad(beside, width - 1) + beside, style, key)
            if row < len(lines):
                self._line(x + 2, y + row, width - 4, lines[row], key)
        self._put(x, y + height - 1, corners[2] + across * (width - 2) + corners[3], style, key)

    def _line(self, x: int, y: int, width: int, line: list[tuple[str, str]], key: str) -> None:
        self._put(x, y, " " * width, "fact", key)
        for text, style in line:
            self._put(x, y, text, style, key)
            x += cell_width(text)

    def _lines(self, routes: tuple[Route, ...], *, back: bool) -> None:
        """Lines with right angles: where they must go sideways each has a track of its own, and vertical ones go over."""
        paths: list[tuple[Route, list[tuple[int, int]]]] = []
        steps: dict[tuple[int, int], dict[tuple[str, int], tuple[int, int]]] = {}
        for route in routes:
            if self.picture.line_kinds.get((route.source, route.target)) == "below":
                continue
            points = [(int(x + 0.5), int(y + 0.5)) for x, y in route.points]
            if back:
                points.reverse()
            paths.append((route, points))
            value = route.target if back else route.source
            for (x, y), (right, down) in itertools.pairwise(points):
                if x != right:
                    band = steps.setdefault((y, down), {})
                    left, end = band.get((value, x), (x, x))
                    band[value, x] = (min(left, right), max(end, right))
        rows: dict[tuple[int, int, str, int], int] = {}
        for (y, down), band in steps.items():
            room = max(1, down - y - 1)
            for (value, x), track in zip(band, assign_tracks([(a, b) for a, b in band.values()]), strict=True):
                rows[y, down, value, x] = max(y, down - 2 - track % room)
        grid: dict[tuple[int, int], dict[str, int]] = {}
        tips: list[tuple[int, int]] = []
        styles: dict[str, str] = {}
        for route, points in paths:
            value = route.target if back else route.source
            kind = self.picture.line_kinds.get(
                (route.target, route.source) if back else (route.source, route.target), ""
            )
            styles[value] = "line.back" if back else f"line.{kind}" if kind else "line"
            corners = [points[0]]
            for (x, y), (right, down) in itertools.pairwise(points):
                if x != right:
                    turn = rows[y, down, value, x]
                    corners += [(x, turn), (right, turn)]
                corners.append((right, down))
            # the line ends in the row above the box it leads to
            corners[-1] = (corners[-1][0], max(corners[-1][1] - 1, corners[-2][1]))
            tips.append(points[0] if back else corners[-1])
            for (x, y), (right, down) in itertools.pairwise(corners):
                self._stroke(grid, value, x, y, right, down)
            grid[corners[0]][value] |= _UP
            grid[corners[-1]][value] |= _DOWN
        for (x, y), nets in grid.items():
            if not (0 <= x < self.width and 0 <= y < self.height):
                continue
            net, mask = next(iter(nets.items()))
            for other, more in nets.items():
                if more & 3 == 3 and not more & 12 and mask & 12 == 12 and not mask & 3:
                    net, mask = other, more  # a vertical line goes over one that runs sideways
                elif not (mask & 3 == 3 and not mask & 12 and more & 12 == 12 and not more & 3):
                    mask |= more
            self._put(x, y, _LINES[mask], styles[net])
        for x, y in tips:
            if 0 <= x < self.width and 0 <= y < self.height and self._text[y][x] == "│":
                self._put(x, y, "▴" if back else "▾", "tip")

    @staticmethod
    def _stroke(grid: dict[tuple[int, int], dict[str, int]], net: str, x: int, y: int, right: int, down: int) -> None:
        dx, dy = (right > x) - (right < x), (down > y) - (down < y)
        out = {(0, 1): _DOWN, (0, -1): _UP, (1, 0): _RIGHT, (-1, 0): _LEFT}.get((dx, dy), 0)
        into = {_DOWN: _UP, _UP: _DOWN, _LEFT: _RIGHT, _RIGHT: _LEFT}.get(out, 0)
        cell = grid.setdefault((x, y), {})
        cell.setdefault(net, 0)
        while (x, y) != (right, down):
            grid[x, y][net] |= out
            x, y = x + dx, y + dy
            cell = grid.setdefault((x, y), {})
            cell[net] = cell.get(net, 0) | into

    # -- overview -----------------------------------------------------------------------------------

    def overview(
        self, width: int, height: int, viewport: CellRect | None = None, *, selected: str | None = None
    ) -> list[list[Segment]]:
        """The whole picture in `height` rows of `width` cells of braille dots, with `viewport` as a frame.

        Boxes are filled, open scopes outlined; a segment's `key` is a box that it shows.
        """
        if width < 1 or height < 1:
            return []
        across, down = width * 2, height * 4
        scale_x, scale_y = self._scales(width, height)
        dots: dict[tuple[int, int], int] = {}
        keys: dict[tuple[int, int], str] = {}

        def dot(x: int, y: int) -> tuple[int, int] | None:
            if 0 <= x < across and 0 <= y < down:
                cell = (x // 2, y // 4)
                dots[cell] = dots.get(cell, 0) | _DOTS[y % 4][x % 2]
                return cell
            return None

        def place(rect: CellRect) -> tuple[int, int, int, int]:
            x, y = int(rect.x * scale_x), int(rect.y * scale_y)
            return (
                x,
                y,
                max(x + 1, int((rect.x + rect.width) * scale_x)),
                max(y + 1, int((rect.y + rect.height) * scale_y)),
            )

        for rect in self.frames.values():
            left, top, right, bottom = place(rect)
            if right - left < 6 or bottom - top < 6:
                continue
            for x in range(left, right):
                dot(x, top)
                dot(x, bottom - 1)
            for y in range(top, bottom):
                dot(left, y)
                dot(right - 1, y)
        for rects in (self.rects, self.mirrors):
            for key, rect in rects.items():
                left, top, right, bottom = place(rect)
                for y in range(top, bottom):
                    for x in range(left, right):
                        cell = dot(x, y)
                        if cell is not None and (cell not in keys or key == selected):
                            keys[cell] = key
        view = self._viewport(viewport, scale_x, scale_y, width, height)
        rows: list[list[Segment]] = []
        for y in range(height):
            row: list[Segment] = []
            for x in range(width):
                text, style = chr(0x2800 + dots.get((x, y), 0)), "overview"
                if (x, y) in view:
                    text, style = view[x, y], "viewport"
                key = keys.get((x, y))
                mark = "selected" if key is not None and key == selected else ""
                if row and row[-1][1:] == (style, key, mark):
                    row[-1] = row[-1]._replace(text=row[-1].text + text)
                else:
                    row.append(Segment(text, style, key, mark))
            rows.append(row)
        return rows

    def from_overview(self, x: int, y: int, width: int, height: int) -> tuple[int, int]:
        """The cell of the picture that cell (x, y) of an overview of this size shows."""
        scale_x, scale_y = self._scales(width, height)
        return int((x * 2 + 1) / scale_x), int((y * 4 + 2) / scale_y)

    def _scales(self, width: int, height: int) -> tuple[float, float]:
        """Dots for a cell of the picture, across and down, so that all of it fits.

        Dots are square and cells twice as high as wide; a picture is stretched sideways by up to two, since most are tall.
        """
        across, down = width * 2 / max(1, self.width), height * 4 / max(1, self.height)
        return min(across, down), min(down, 2 * across)

    @staticmethod
    def _viewport(
        view: CellRect | None, scale_x: float, scale_y: float, width: int, height: int
    ) -> dict[tuple[int, int], str]:
        """The cells of the frame around the part that is in view."""
        if view is None:
            return {}
        left = min(width - 1, max(0, int(view.x * scale_x / 2)))
        top = min(height - 1, max(0, int(view.y * scale_y / 4)))
        right = max(left + 1, min(width - 1, int((view.x + view.width) * scale_x / 2)))
        bottom = max(top + 1, min(height - 1, int((view.y + view.height) * scale_y / 4)))
        cells: dict[tuple[int, int], str] = {}
        for x in range(left + 1, right):
            cells[x, top] = cells[x, bottom] = "─"
        for y in range(top + 1, bottom):
            cells[left, y] = cells[right, y] = "│"
        cells |= {(left, top): "┌", (right, top): "┐", (left, bottom): "└", (right, bottom): "┘"}
        return {(x, y): c for (x, y), c in cells.items() if x < width and y < height}


_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


# -- the text of a box ------------------------------------------------------------------------------

_Line = list[tuple[str, str]]
"""The text of one line of a box, in pieces with their styles."""


def _border(box: Box) -> str:
    if box.kind in ("error", "break"):
        return box.kind
    if box.is_root:
        return "root"
    return "group" if box.kind in ("repeat", "cut") else ""


def _box(box: Box, stubs: Stubs, picture: Picture, back: Back | None) -> list[_Line]:
    """The lines of a box: its title (which stands in the upper border), its facts, its badges."""
    if back is not None:
        lines: list[_Line] = [[(f" {back.title} ", "title.back")]]
        lines += [[(line, "fact")] for line in back.lines]
        return lines + _badge_lines(list(back.badges))
    group = box.kind in ("scope", "repeat", "cut")
    head = "▸ " if box.kind in ("scope", "repeat") else "▌"
    title = trim(box.title, _WIDEST - 4)
    lines = [[(f" {head}", f"op.{box.family}"), (f"{title} ", "title.group" if group else "title")]]
    lines += [[(trim(line, _WIDEST), "fact")] for line in box.lines]
    if box.share is not None:
        lines.append(_bar(box.share))
    return lines + _badge_lines([*box.badges, *_stub_badges(box, stubs, picture)])


def _chip(box: Box, stubs: Stubs, picture: Picture, back: Back | None) -> list[_Line]:
    """One line: the title and the most telling fact."""
    if back is not None:
        return [[("◂ ", "border.back"), (trim(back.title, 28), "title.back")]]
    group = box.kind in ("scope", "repeat", "cut")
    line: _Line = [("▸ " if box.kind in ("scope", "repeat") else "▌", f"op.{box.family}")]
    line.append((trim(box.title, 32), "title.group" if group else "title"))
    if box.lines:
        line.append((f" {trim(box.lines[0], 24)}", "fact"))
    if box.kind == "error":
        line.append((" ✗", "badge.error"))
    if box.is_root:
        line.append((" ◆", "badge.root"))
    line.append((" ", "fact"))
    return [line]


def _bar(share: float) -> _Line:
    full = max(0, min(_BAR, round(share * _BAR)))
    return [("█" * full, "bar"), ("░" * (_BAR - full), "bar.rest"), (f" {share:.0%}", "fact")]


def _badge_lines(badges: list[Badge]) -> list[_Line]:
    lines: list[_Line] = []
    used = 0
    for badge in badges:
        text = trim(badge.text, _WIDEST)
        if not lines or used + 2 + cell_width(text) > _BADGE_ROW:
            lines.append([])
            used = -2
        elif lines[-1]:
            lines[-1].append(("  ", "fact"))
        style = f"badge.{_BADGES.get(badge.kind, badge.kind)}"
        lines[-1].append((text, style if style in STYLES else "badge.note"))
        used += 2 + cell_width(text)
    return lines


def _stub_badges(box: Box, stubs: Stubs, picture: Picture) -> list[Badge]:
    """Names of the boxes at the other ends of lines that are too long to draw."""
    badges = [Badge(f"↖ from {trim(picture.boxes[o].title, 24)}", "stub") for o in stubs.inputs.get(box.key, ())]
    users = stubs.users.get(box.key, [])
    if len(users) == 1:
        badges.append(Badge(f"↘ to {trim(picture.boxes[users[0]].title, 24)}", "stub"))
    elif users:
        badges.append(Badge(f"↘ to {len(users)} users below", "stub"))
    return badges


def _frame_note(frame: Frame) -> str:
    return "".join(f"· {trim(clean(b.text), 32)} " for b in frame.badges[:3] if b.kind != "refused")


def _frame_width(frame: Frame) -> float:
    return cell_width(frame.title) + cell_width(_frame_note(frame)) + 6.0


def _up(value: float) -> int:
    return int(-(-value // 1))


def _whole(rect: Rect) -> CellRect:
    return CellRect(int(rect.x + 0.5), int(rect.y + 0.5), int(rect.width + 0.5), int(rect.height + 0.5))


def _spanned(rect: Rect) -> CellRect:
    x, right = int(rect.x + 0.5), int(rect.x + rect.width + 0.5)
    return CellRect(x, int(rect.y + 0.5), max(2, right - x), max(2, int(rect.height + 0.5)))
