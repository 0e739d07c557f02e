"""Write a picture as SVG: self-contained, with selectable text, readable on light and dark pages.

The file carries its own colours for both schemes and follows the page's `prefers-color-scheme` (or one theme, if
asked for).  Every rule of its style sheet is limited to its own class, since front ends put SVG straight into their
pages.  There are no scripts, links, fonts or references to anything outside, and no ids that could clash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from .families import FAMILIES, KINDS
from .labels import cell_width, clean, count_text, trim
from .layout import Layout, Rect, Route, Size, Spacing, Stubs, lay_out
from .model import Badge, Graph, SourceRange
from .picture import MAX_BOXES, Box, Frame, Picture, make_picture

Theme = Literal["auto", "light", "dark"]

Link = Callable[[SourceRange], str | None]
"""Gives the address under which a host opens a place in the source; None where it cannot."""

_CELL = 0.605
"""Width of one cell of the monospaced fonts named below, as a part of the font size."""

_TITLE, _FACT, _BADGE = 13.0, 11.0, 10.5  # font sizes
_INSET, _STRIPE = 11.0, 4.0
_TITLE_LINE, _FACT_LINE, _BADGE_LINE = 18.0, 15.0, 19.0
_PILL = 7.0  # beside a badge's text
_BADGE_ROW = 250.0  # badges wrap beyond this width
_BAR = 90.0
_MARGIN = 20.0
_HEAD = 46.0
_NOTE_LINE = 17.0
_NARROWEST = 380.0

_BADGES = {
    "leaf": "leaf", "saved": "saved", "grad": "grad", "root": "root", "error": "error", "break": "break", "note": "note",
    "hint": "grad", "good": "grad", "slow": "saved", "refused": "break",
}  # fmt: skip
"""Whose colours a kind of badge has; any other is a stub."""

_LIGHT = {
    "page": "#ffffff", "ink": "#1f2328", "muted": "#59636e", "line": "#818b98", "box": "#ffffff", "edge": "#afb8c1",
    "frame": "#f6f8fa", "border": "#d1d9e0", "group": "#eaeef2", "root": "#bf3989",
    "product": "#0969da", "activation": "#e16f24", "norm": "#8250df", "reduction": "#1a7f37", "shape": "#818b98",
    "other": "#1b7c83", "leaf": "#0969da",
    "leaf-fill": "#ddf4ff", "leaf-ink": "#0550ae", "saved-fill": "#fff8c5", "saved-ink": "#7d4e00",
    "grad-fill": "#dafbe1", "grad-ink": "#116329", "root-fill": "#ffeff7", "root-ink": "#99286e",
    "error-fill": "#ffcecb", "error-ink": "#a40e26", "break-fill": "#ffe3cc", "break-box": "#fff8f2", "break-ink": "#953800",
    "note-fill": "#eaeef2", "note-ink": "#424a53",
    "input": "#57606a", "output": "#57606a", "call": "#57606a", "break": "#e16f24", "guard": "#bf8700",
    "kernel": "#6639ba", "error": "#cf222e", "error-box": "#fff5f4", "back": "#f6fbf7", "back-edge": "#a6d1b0", "back-ink": "#1a7f37", "lit": "#e6f7ea",
    "bar": "#8c959f", "bar-rest": "#eaeef2",
}  # fmt: skip
_DARK = {
    "page": "#0d1117", "ink": "#e6edf3", "muted": "#9198a1", "line": "#6e7681", "box": "#161b22", "edge": "#484f58",
    "frame": "#11161d", "border": "#30363d", "group": "#21262d", "root": "#db61a2",
    "product": "#4493f8", "activation": "#f0883e", "norm": "#a371f7", "reduction": "#3fb950", "shape": "#6e7681",
    "other": "#39c5cf", "leaf": "#4493f8",
    "leaf-fill": "#0c2d6b", "leaf-ink": "#a5d6ff", "saved-fill": "#3b2300", "saved-ink": "#f2cc60",
    "grad-fill": "#04260f", "grad-ink": "#7ee787", "root-fill": "#42062a", "root-ink": "#ffbedd",
    "error-fill": "#67060c", "error-ink": "#ffb3ad", "break-fill": "#4a2208", "break-box": "#23150b", "break-ink": "#ffc680",
    "note-fill": "#21262d", "note-ink": "#b1bac4",
    "input": "#8b949e", "output": "#8b949e", "call": "#8b949e", "break": "#f0883e", "guard": "#d29922",
    "kernel": "#a371f7", "error": "#f85149", "error-box": "#2a0d0f", "back": "#0f1c14", "back-edge": "#2b5a38", "back-ink": "#56d364", "lit": "#143a20",
    "bar": "#8b949e", "bar-rest": "#30363d",
}  # fmt: skip


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
    after_title = _text_width(picture.title, _TITLE) + 12
    width = max(layout.width, _NARROWEST, after_title + _text_width(picture.summary, _FACT))
    notes = [line for note in picture.notes for line in _wrap(clean(note), int(width / (_FACT * _CELL)))]
    foot = 12 + _NOTE_LINE * len(notes) if notes else 0.0
    left = _MARGIN + (width - layout.width) / 2
    total = Size(width + 2 * _MARGIN, _HEAD + layout.height + foot + _MARGIN)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tapescope-picture" role="graphics-document" '
        f'width="{_n(total.width)}" height="{_n(total.height)}" viewBox="0 0 {_n(total.width)} {_n(total.height)}" '
        f"aria-label={_attribute(picture.title)}>",
        f"<title>{_text(picture.title)}</title>",
        f"<desc>{_text(_description(picture))}</desc>",
        f"<style>{_style(theme)}</style>",
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


def _frame_width(frame: Frame) -> float:
    return _text_width(frame.title, _FACT) + 18 + _text_width(_frame_note(frame), _FACT)


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
        widest = [_text_width(box.title, _TITLE), *(_text_width(line, _FACT) for line in box.lines), _rows_width(rows)]
        lines = len(box.lines)
        if box.share is not None:
            lines += 1
            widest.append(_BAR + 8 + _text_width("100% of the time", _FACT))
        height = _TITLE_LINE + _FACT_LINE * lines + _BADGE_LINE * len(rows)
        if box.back is not None:
            back, pills = box.back, _badge_rows(list(box.back.badges))
            widest += [
                _text_width(back.title, _TITLE),
                *(_text_width(t, _FACT) for t in back.lines),
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
            f'<g class="{"box back lit" if back.lit else "box back"}" data-box={_attribute(box.key)} transform="translate({_n(rect.x)} {_n(rect.y)})">',
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
                name = _BADGES.get(badge.kind, "stub")
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
    return _text_width(badge.text, _BADGE) + 2 * _PILL


# -- frames and lines -------------------------------------------------------------------------------


def _frame(title: str, rect: Rect, key: str, kind: str = "") -> str:
    return (
        f'<rect class="{f"frame {kind}".rstrip()}" data-scope={_attribute(key)} x="{_n(rect.x)}" y="{_n(rect.y)}" '
        f'width="{_n(rect.width)}" height="{_n(rect.height)}" rx="9"><title>{_text(title)}</title></rect>'
    )


def _frame_title(frame: Frame, rect: Rect) -> str:
    note = _frame_note(frame)
    text = f'<text class="name" x="{_n(rect.x + 12)}" y="{_n(rect.y + 17)}">{_text(frame.title)}'
    return text + (f'<tspan class="note" dx="10">{_text(note)}</tspan>' if note else "") + "</text>"


def _mirror_title(frame: Frame, rect: Rect) -> str:
    title = trim(f"backward of {frame.title}", int((rect.width - 24) / (_FACT * _CELL)))
    return f'<text class="name back" x="{_n(rect.x + 12)}" y="{_n(rect.y + 17)}">{_text(title)}</text>'


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


def _style(theme: Theme) -> str:
    """The style sheet; plain rules instead of variables, which not every SVG reader knows."""
    fonts = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'
    shape = _scoped(
        [
            f"text{{font-family:{fonts};font-size:{_n(_FACT)}px;white-space:pre}}",
            f"text.title{{font-size:{_n(_TITLE)}px;font-weight:600}}",
            f"text.badge{{font-size:{_n(_BADGE)}px}}",
            "text.name{font-weight:600;paint-order:stroke;stroke-width:4px;stroke-linejoin:round}",
            ".line path{fill:none;stroke-width:1.4}",
            ".box.root .body{stroke-width:2}",
            ".box.repeat rect,.box.cut .body{stroke-dasharray:5 3}",
            ".pill.stub{fill:none;stroke-dasharray:2 2}",
            "tspan.note{font-weight:400}",
            ".line.order path,.line.resume path{stroke-dasharray:2 4}",
            ".line.resume path{stroke-dasharray:6 4}",
            ".line path.tip{stroke-dasharray:none}",
            ".line.error path{stroke-width:2}",
            ".kept{fill:none;stroke-width:1.2;stroke-dasharray:1.5 4;stroke-linecap:round}",
            ".box.break .body,.box.guard .body{stroke-dasharray:6 3}",
            ".box.error .body{stroke-width:2}",
            ".box.kernel-box .body{stroke-dasharray:none}",
        ]
    )
    if theme != "auto":
        return shape + _scoped(_colours(_DARK if theme == "dark" else _LIGHT))
    dark = _scoped(_colours(_DARK))
    return f"{shape}{_scoped(_colours(_LIGHT))}@media (prefers-color-scheme:dark){{{dark}}}"


def _scoped(rules: list[str]) -> str:
    scoped = []
    for rule in rules:
        selectors, _, body = rule.partition("{")
        scoped.append(",".join(f".tapescope-picture {s}" for s in selectors.split(",")) + "{" + body)
    return "".join(scoped)


def _colours(c: dict[str, str]) -> list[str]:
    rules = [
        f".page{{fill:{c['page']}}}",
        f"text{{fill:{c['ink']}}}",
        f"text.fact{{fill:{c['muted']}}}",
        f"text.name{{fill:{c['muted']};stroke:{c['frame']}}}",
        f".frame{{fill:{c['frame']};stroke:{c['border']}}}",
        f".body{{fill:{c['box']};stroke:{c['edge']}}}",
        f".behind,.box.scope .body,.box.repeat .body,.box.cut .body{{fill:{c['group']};stroke:{c['edge']}}}",
        f".box.root .body{{stroke:{c['root']}}}",
        f".line path{{stroke:{c['line']}}}",
        f".line path.tip{{fill:{c['line']};stroke:none}}",
        f".pill.stub{{stroke:{c['line']}}}",
        f"text.stub{{fill:{c['muted']}}}",
    ]
    rules += [
        f".box.break .body,.box.guard .body{{fill:{c['break-box']};stroke:{c['break']}}}",
        f".box.error .body{{fill:{c['error-box']};stroke:{c['error']}}}",
        f".box.kernel-box .body{{fill:{c['box']};stroke:{c['edge']}}}",
        f".box.back .body{{fill:{c['back']};stroke:{c['back-edge']}}}",
        f".box.back.lit .body{{fill:{c['lit']};stroke:{c['back-ink']}}}",
        f".box.back text.title{{fill:{c['back-ink']}}}",
        f".frame.mirror{{fill:{c['back']};stroke:{c['back-edge']}}}",
        f"text.name.back{{fill:{c['back-ink']};stroke:{c['back']}}}",
        f".kept{{stroke:{c['saved-ink']}}}",
        f".line.back path{{stroke:{c['back-ink']}}}",
        f".line.back path.tip{{fill:{c['back-ink']};stroke:none}}",
        f".line.error path{{stroke:{c['error']}}}",
        f".line.error path.tip{{fill:{c['error']};stroke:none}}",
        f".bar{{fill:{c['bar']}}}",
        f".bar-rest{{fill:{c['bar-rest']}}}",
    ]
    rules += [f"rect.{family}{{fill:{c[family]}}}" for family in (*FAMILIES, "other", *KINDS)]
    for kind in dict.fromkeys(_BADGES.values()):
        rules += [f".pill.{kind}{{fill:{c[kind + '-fill']}}}", f"text.{kind}{{fill:{c[kind + '-ink']}}}"]
    return rules
