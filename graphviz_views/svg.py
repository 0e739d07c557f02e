"""Write a picture as SVG: self-contained, with selectable text, readable on light and dark pages.

The file carries its own colours for both schemes and follows the page's `prefers-color-scheme` (or one theme, if
asked for).  Every rule of its style sheet is limited to its own class, since front ends put SVG straight into their
pages.  There are no scripts, links, fonts or references to anything outside, and no ids that could clash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.sax.saxutils import escape, quoteattr

from .labels import cell_width, clean, count_text, trim
from .layout import Layout, Measure, Rect, Route, Size, Spacing, Stubs, lay_out
from .model import Badge, Graph, SourceRange
from .picture import MAX_BOXES, Box, Frame, Picture, make_picture
from .svg_style import BADGE, BADGES, FACT, TITLE, Theme, style

Link = Callable[[SourceRange], str | None]
"""Gives the address under which a host opens a place in the source; None where it cannot."""

_CELL = 0.605
"""Width of one cell of the monospaced fonts named below, as a part of the font size."""

_INSET, _STRIPE = 11.0, 4.0
_TITLE_LINE, _FACT_LINE, _BADGE_LINE = 18.0, 15.0, 19.0
_PILL = 7.0  # beside a badge's text
_BADGE_ROW = 250.0  # badges wrap beyond this width
_BAR = 90.0
_MARGIN = 20.0
_HEAD = 46.0
_NOTE_LINE = 17.0
_NARROWEST = 380.0


def tape_svg(
    graph: Graph,
    *,
    folded: Iterable[str] = (),
    opened: Iterable[str] = (),
    limit: int | None = MAX_BOXES,
    theme: Theme = "auto",
    backward: bool | None = None,
) -> str:
    """The SVG text of a graph; folding, the limit on boxes and `backward` as in `make_picture`."""
    return picture_svg(make_picture(graph, folded, opened, limit=limit, backward=backward), theme=theme)


def picture_svg(
    picture: Picture, *, theme: Theme = "auto", layout: Layout | None = None, link: Link | None = None
) -> str:
    """The SVG text of a picture, laid out here unless a layout is given. Raises ValueError for an unknown theme.

    With `link`, titles of boxes lead to the address that it gives for their source.
    """
    if theme not in ("auto", "light", "dark"):
        raise ValueError(f"unknown theme {theme!r}; the themes are auto, light and dark")
    measure = _Measure(picture)
    layout = layout or lay_out(picture, measure, _frame_width, Spacing())
    after_title = _text_width(picture.title, TITLE) + 12
    width = max(layout.width, _NARROWEST, after_title + _text_width(picture.summary, FACT))
    notes = [line for note in picture.notes for line in _wrap(clean(note), int(width / (FACT * _CELL)))]
    foot = 12 + _NOTE_LINE * len(notes) if notes else 0.0
    left = _MARGIN + (width - layout.width) / 2
    total = Size(width + 2 * _MARGIN, _HEAD + layout.height + foot + _MARGIN)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tapescope-picture" role="graphics-document" '
        f'width="{_n(total.width)}" height="{_n(total.height)}" viewBox="0 0 {_n(total.width)} {_n(total.height)}" '
        f"aria-label={_attribute(picture.title)}>",
        f"<title>{_text(picture.title)}</title>",
        f"<desc>{_text(_description(picture))}</desc>",
        f"<style>{style(theme)}</style>",
        f'<rect class="page" width="{_n(total.width)}" height="{_n(total.height)}"/>',
        f'<text class="title" x="{_n(_MARGIN)}" y="23">{_text(picture.title)}</text>',
        f'<text class="fact" x="{_n(_MARGIN + after_title)}" y="23">{_text(picture.summary)}</text>',
        f'<g transform="translate({_n(left)} {_n(_HEAD)})">',
    ]
    out += [_frame(picture.frames[key].title, rect, key) for key, rect in layout.frames.items()]
    out += [_frame(picture.frames[key].title, rect, key, "mirror") for key, rect in layout.mirror_frames.items()]
    out += _kept(picture, layout)
    out += _routes(picture, layout.routes)
    out += _routes(picture, layout.mirror_routes, back=True)
    out += [_frame_title(picture.frames[key], rect) for key, rect in layout.frames.items()]
    out += [_mirror_title(picture.frames[key], rect) for key, rect in layout.mirror_frames.items()]
    out += [measure.draw(picture.boxes[key], rect, layout.stubs, link) for key, rect in layout.boxes.items()]
    out += [measure.draw_back(picture.boxes[key], rect) for key, rect in layout.mirrors.items()]
    out.append("</g>")
    for number, note in enumerate(notes):
        y = _HEAD + layout.height + 22 + number * _NOTE_LINE
        out.append(f'<text class="fact" x="{_n(_MARGIN)}" y="{_n(y)}">{_text(note)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def measured(picture: Picture) -> Layout:
    """The layout of a picture with the sizes that the SVG writer uses."""
    return lay_out(picture, _Measure(picture), _frame_width, Spacing())


def measure_of(picture: Picture) -> Measure:
    """Says how large the boxes of a picture are, for another way to lay it out (`beautify`)."""
    return _Measure(picture)


def _frame_width(frame: Frame) -> float:
    return _text_width(frame.title, FACT) + 18 + _text_width(_frame_note(frame), FACT)


def _frame_note(frame: Frame) -> str:
    """What stands beside the title of an open scope."""
    return " · ".join(trim(clean(b.text), 32) for b in frame.badges[:3] if b.kind != "refused")


def _description(picture: Picture) -> str:
    parts = [f"{picture.summary}. Values flow downwards in {count_text(len(picture.boxes), 'box', 'boxes')}."]
    return " ".join([*parts, *picture.notes])


# -- boxes ------------------------------------------------------------------------------------------


class _Measure:
    """Sizes of boxes and their drawing, which must agree."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture

    def __call__(self, key: str, stubs: Stubs) -> Size:
        box = self.picture.boxes[key]
        rows = self._badge_rows(box, stubs)
        widest = [_text_width(box.title, TITLE), *(_text_width(line, FACT) for line in box.lines), _rows_width(rows)]
        lines = len(box.lines)
        if box.share is not None:
            lines += 1
            widest.append(_BAR + 8 + _text_width("100% of the time", FACT))
        height = _TITLE_LINE + _FACT_LINE * lines + _BADGE_LINE * len(rows)
        if box.back is not None:
            back, pills = box.back, _badge_rows(list(box.back.badges))
            widest += [
                _text_width(back.title, TITLE),
                *(_text_width(t, FACT) for t in back.lines),
                _rows_width(pills),
            ]
            height = max(height, _TITLE_LINE + _FACT_LINE * len(back.lines) + _BADGE_LINE * len(pills))
        return Size(max(86.0, max(widest) + 2 * _INSET + _STRIPE), height + 13)

    def _badge_rows(self, box: Box, stubs: Stubs) -> list[list[Badge]]:
        return _badge_rows([*box.badges, *self._stub_badges(box, stubs)])

    def _stub_badges(self, box: Box, stubs: Stubs) -> list[Badge]:
        """Names of the boxes at the other ends of lines that are too long to draw."""
        badges = [Badge(f"↖ from {self._called(other)}", "stub") for other in stubs.inputs.get(box.key, ())]
        users = stubs.users.get(box.key, [])
        if len(users) == 1:
            badges.append(Badge(f"↘ to {self._called(users[0])}", "stub"))
        elif users:
            badges.append(Badge(f"↘ to {len(users)} users below", "stub"))
        return badges

    def _called(self, key: str) -> str:
        box = self.picture.boxes[key]
        name = trim(box.title, 24)
        return name if box.node_id is None else f"{name} ({box.node_id})"

    def draw(self, box: Box, rect: Rect, stubs: Stubs, link: Link | None = None) -> str:
        """One box as a group with its facts, its badges and a tooltip."""

        kind = f"{box.kind} root" if box.is_root else box.kind
        if box.family == "kernel":
            kind += " kernel-box"
        node = "" if box.node_id is None else f" data-node={_attribute(str(box.node_id))}"
        href = link(box.source) if link is not None and box.source is not None else None
        if box.source is not None:
            place = box.source.cell or box.source.file
            node += f' data-source={_attribute(place)} data-line="{box.source.line}"'
        out = [
            f'<g class="box {kind}" data-box={_attribute(box.key)}{node} '
            f'transform="translate({_n(rect.x)} {_n(rect.y)})">',
            f"<title>{_text(box.tooltip)}</title>",
        ]
        if box.kind == "repeat":
            out.append(f'<rect class="behind" x="5" y="5" width="{_n(rect.width)}" height="{_n(rect.height)}" rx="6"/>')
        out.append(f'<rect class="body" width="{_n(rect.width)}" height="{_n(rect.height)}" rx="6"/>')
        if box.node_id is not None or box.family == "kernel":
            out.append(
                f'<rect class="{box.family}" x="0" y="6" width="{_n(_STRIPE)}" height="{_n(rect.height - 12)}" rx="2"/>'
            )
        x, y = _INSET + _STRIPE / 2, 6.0
        title = f'<text class="title" x="{_n(x)}" y="{_n(y + 13)}">{_text(box.title)}</text>'
        out.append(title if href is None else f"<a href={_attribute(href)}>{title}</a>")
        y += _TITLE_LINE
        for line in box.lines:
            out.append(f'<text class="fact" x="{_n(x)}" y="{_n(y + 11)}">{_text(line)}</text>')
            y += _FACT_LINE
        if box.share is not None:
            out.append(_bar(box.share, x, y))
            y += _FACT_LINE
        y += 2
        out += self._pills(self._badge_rows(box, stubs), x, y)
        out.append("</g>")
        return "".join(out)

    def draw_back(self, box: Box, rect: Rect) -> str:
        """The step of backward that belongs to a box."""
        back = box.back
        if back is None:
            return ""
        x, y = _INSET, 6.0
        out = [
            f'<g class="{"box back lit" if back.lit else "box back"}" data-box={_attribute(box.key)} '
            f'transform="translate({_n(rect.x)} {_n(rect.y)})">',
            f"<title>{_text(chr(10).join([back.title, *back.lines, *(b.text for b in back.badges)]))}</title>",
            f'<rect class="body" width="{_n(rect.width)}" height="{_n(rect.height)}" rx="6"/>',
            f'<text class="title" x="{_n(x)}" y="{_n(y + 13)}">{_text(back.title)}</text>',
        ]
        y += _TITLE_LINE
        for line in back.lines:
            out.append(f'<text class="fact" x="{_n(x)}" y="{_n(y + 11)}">{_text(line)}</text>')
            y += _FACT_LINE
        out += self._pills(_badge_rows(list(back.badges)), x, y + 2)
        out.append("</g>")
        return "".join(out)

    @staticmethod
    def _pills(rows: list[list[Badge]], x: float, y: float) -> list[str]:
        out: list[str] = []
        for row in rows:
            at = x
            for badge in row:
                width = _pill_width(badge)
                name = BADGES.get(badge.kind, "stub")
                out.append(
                    f'<rect class="pill {name}" x="{_n(at)}" y="{_n(y)}" width="{_n(width)}" height="16" rx="8"/>'
                    f'<text class="badge {name}" x="{_n(at + _PILL)}" y="{_n(y + 11.5)}">{_text(badge.text)}</text>'
                )
                at += width + 5
            y += _BADGE_LINE
        return out


def _badge_rows(badges: list[Badge]) -> list[list[Badge]]:
    """Badges in rows; each row has at least one."""
    rows: list[list[Badge]] = []
    used = 0.0
    for badge in badges:
        width = _pill_width(badge)
        if not rows or used + 5 + width > _BADGE_ROW:
            rows.append([])
            used = -5.0
        rows[-1].append(badge)
        used += 5 + width
    return rows


def _rows_width(rows: list[list[Badge]]) -> float:
    return max((sum(_pill_width(b) for b in row) + 5 * (len(row) - 1) for row in rows), default=0.0)


def _bar(share: float, x: float, y: float) -> str:
    full = _BAR * min(1.0, max(0.0, share))
    return (
        f'<rect class="bar-rest" x="{_n(x)}" y="{_n(y + 4)}" width="{_n(_BAR)}" height="7" rx="3.5"/>'
        f'<rect class="bar" x="{_n(x)}" y="{_n(y + 4)}" width="{_n(max(full, 3.5))}" height="7" rx="3.5"/>'
        f'<text class="fact" x="{_n(x + _BAR + 8)}" y="{_n(y + 11)}">{share:.0%} of the time</text>'
    )


def _pill_width(badge: Badge) -> float:
    return _text_width(badge.text, BADGE) + 2 * _PILL


# -- frames and lines -------------------------------------------------------------------------------


def _frame(title: str, rect: Rect, key: str, kind: str = "") -> str:
    return (
        f'<rect class="{f"frame {kind}".rstrip()}" data-scope={_attribute(key)} x="{_n(rect.x)}" y="{_n(rect.y)}" '
        f'width="{_n(rect.width)}" height="{_n(rect.height)}" rx="9"><title>{_text(title)}</title></rect>'
    )


def _frame_title(frame: Frame, rect: Rect) -> str:
    note = _frame_note(frame)
    width = _text_width(frame.title, FACT) + (10 + _text_width(note, FACT) if note else 0)
    text = _title_ground(rect.x + 8, rect, width + 8) if frame.title else ""
    text += f'<text class="name" x="{_n(rect.x + 12)}" y="{_n(rect.y + 17)}">{_text(frame.title)}'
    return text + (f'<tspan class="note" dx="10">{_text(note)}</tspan>' if note else "") + "</text>"


def _mirror_title(frame: Frame, rect: Rect) -> str:
    title = trim(f"backward of {frame.title}", int((rect.width - 24) / (FACT * _CELL)))
    x, width = rect.x + rect.width - 12, _text_width(title, FACT) + 8  # on the right, as all of the mirror is turned
    return (
        _title_ground(x + 4 - width, rect, width, " mirror")
        + f'<text class="name back" text-anchor="end" x="{_n(x)}" y="{_n(rect.y + 17)}">{_text(title)}</text>'
    )


def _title_ground(x: float, rect: Rect, width: float, kind: str = "") -> str:
    """What hides the lines that run behind the title of a frame."""
    width = min(width, rect.x + rect.width - 2 - x)
    return f'<rect class="ground{kind}" x="{_n(x)}" y="{_n(rect.y + 5)}" width="{_n(max(0.0, width))}" height="16"/>'


def _kept(picture: Picture, layout: Layout) -> list[str]:
    """A dotted line from a box that keeps tensors to its mirror, where nothing stands between them."""
    out = []
    rects = [*layout.boxes.values(), *layout.mirrors.values()]
    for key, mirror in layout.mirrors.items():
        if not any(badge.kind == "saved" for badge in picture.boxes[key].badges):
            continue
        rect = layout.boxes[key]
        left, right, y = rect.x + rect.width, mirror.x, rect.y + 17
        if right > left and not any(
            r.x < right and left < r.x + r.width and r.y - 2 < y < r.y + r.height + 2 for r in rects
        ):
            out.append(
                f'<path class="kept" d="M{_n(left + 4)} {_n(y)}H{_n(right - 4)}"><title>saved for backward</title></path>'
            )
    return out


def _routes(picture: Picture, routes: Iterable[Route], *, back: bool = False) -> list[str]:
    out = []
    for route in routes:
        (x, y), *rest = route.points
        path = [f"M{_n(x)} {_n(y)}"]
        if route.curved:
            path += [f"{'C' if n % 3 == 0 else ' '}{_n(right)} {_n(down)}" for n, (right, down) in enumerate(rest)]
            before = rest[-2] if len(rest) > 1 else (x, y)
            x, y = rest[-1]
            upwards = before[1] > y
        else:
            upwards = rest[-1][1] < y
            for right, down in rest:
                if right == x:
                    path.append(f"V{_n(down)}")
                else:
                    middle = _n((y + down) / 2)
                    path.append(f"C{_n(x)} {middle} {_n(right)} {middle} {_n(right)} {_n(down)}")
                x, y = right, down
        ends = f"data-from={_attribute(route.source)} data-to={_attribute(route.target)}"
        value = (route.target, route.source) if back else (route.source, route.target)
        kind = "back" if back else picture.line_kinds.get(value, "")
        if kind == "below":
            continue
        tip = 7 if upwards else -7
        out.append(
            f'<g class="{f"line {kind}".rstrip()}" {ends}><path d="{"".join(path)}"/>'
            f'<path class="tip" d="M{_n(x - 3.5)} {_n(y + tip)}L{_n(x)} {_n(y)}L{_n(x + 3.5)} {_n(y + tip)}Z"/></g>'
        )
    return out


# -- text and style ---------------------------------------------------------------------------------


def _text_width(text: str, size: float) -> float:
    return cell_width(text) * size * _CELL


def _wrap(text: str, cells: int) -> list[str]:
    """`text` in lines of at most `cells` cells, broken at spaces where there are any."""
    lines = [""]
    for word in text.split(" "):
        word = trim(word, cells)
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_width(longer) <= cells:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _text(text: str) -> str:
    """Text content: cleaned (except line feeds, which tooltips use) and escaped."""
    return escape("\n".join(clean(line) for line in text.split("\n")))


def _attribute(text: str) -> str:
    return quoteattr(clean(text))


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
