"""One output of a cell as lines of styled text in a given width.

Which MIME type of a bundle is drawn, and how, is one table (`_DRAWERS`).  Long texts keep their head and tail.
It knows outputs as nbformat dictionaries and no widgets.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len, chop_cells
from rich.style import Style
from rich.text import Text

from ..notebook.mathematics import readable
from . import ansi
from .graphics import MAX_COLUMNS, Graphics, Pixels
from .html_view import draw_table, read_tables, text_of_html
from .image_view import CannotDecode, draw_image, fit_image, half_blocks
from .markdown_view import render as render_markdown
from .plot_draw import draw
from .themes import Look
from .tracebacks import HEAD as FRAME_HEAD

__all__ = ["FIGURE", "Drawn", "Scroll", "Window", "bundle_kind", "draw_output", "text_of_output"]

FIGURE = "application/vnd.plotly.v1+json"
"""MIME type of a plotly figure."""

_LONG_LINE = 4000
"""Characters from which a line is no prose and is broken where the width ends."""

HEAD, TAIL = 12, 18
"""Lines kept at both ends of a long text."""

_LINK = "w opens it in the browser"


@dataclass(frozen=True)
class Drawn:
    """The lines of an output; `kind` ("stream", "error", "result", "display") says how its margin looks.

    `hidden` counts the lines that the cap leaves out; `window` tells of a text that scrolls in place.
    """

    lines: list[Text]
    kind: str
    hidden: int = 0
    window: Window | None = None
    pixels: Pixels | None = None
    """An image that is drawn over the first lines, where the terminal can do that."""


@dataclass(frozen=True)
class Window:
    """What of a text is shown: the first line (from 0), how many lines, of how many; `last` is the last possible first."""

    first: int
    shown: int
    total: int
    last: int


@dataclass(frozen=True)
class Scroll:
    """How a long text is to be shown in a window: its rows, and the first line (None: the end, also while it grows)."""

    rows: int
    first: int | None = None


def joined(value: Any) -> str:
    """nbformat's multi-line strings: a string or a list of strings."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else "" if value is None else str(value)


def draw_output(
    output: dict[str, Any],
    width: int,
    look: Look,
    *,
    full: bool = False,
    scroll: Scroll | None = None,
    graphics: Graphics | None = None,
) -> Drawn:
    """The lines of one nbformat output, at most `width` cells wide each.

    Of a long text both ends are shown, with `scroll` a window on it, with `full` everything.
    """
    kind = output.get("output_type")
    if kind == "stream":
        style = look.warning if output.get("name") == "stderr" else look.text
        return _capped(joined(output.get("text")), width, look, "stream", full, scroll, style=style)
    if kind == "error":
        traceback = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
        text = "\n".join(joined(line) for line in traceback)
        drawn = _capped(_without_frame(text), width, look, "error", full, scroll)
        for line in drawn.lines:  # what a click (or E) leads to
            line.highlight_regex(FRAME_HEAD, look.primary + Style(underline=True))
        return drawn
    data = output.get("data")
    data = data if isinstance(data, dict) else {}
    name = "result" if kind == "execute_result" else "display"
    mime = bundle_kind(data)
    if mime is None:
        return _capped(joined(data.get("text/plain")), width, look, name, full, scroll)
    try:
        if graphics is not None and mime in _IMAGES:
            return _image_in_pixels(data[mime], width, look, name, mime, graphics)
        return Drawn(_DRAWERS[mime](data[mime], width, look), name)
    except Exception as error:  # a strange output must not take the notebook's window down
        said = Text(f"This {mime} output could not be drawn ({type(error).__name__}: {error}).", look.warning, end="")
        return Drawn(_wrapped(said, width), name)


def bundle_kind(data: dict[str, Any]) -> str | None:
    """The MIME type of a bundle that is drawn, None where its plain text is."""
    if "text/plain" in data and "text/html" in data and not data.keys() & _DRAWN_FIRST:
        if "<td" in joined(data["text/html"])[:50_000].lower():
            return "text/html"
        return None  # its text form is made for terminals
    if any(mime.startswith("application/vnd.tapescope.") for mime in data) and "text/plain" in data:
        return None
    return next((mime for mime in _DRAWERS if mime in data), None)


def text_of_output(output: dict[str, Any]) -> str:
    """The output as plain text, for the clipboard."""
    kind = output.get("output_type")
    if kind == "stream":
        return ansi.plain(joined(output.get("text")))
    if kind == "error":
        return ansi.plain("\n".join(joined(line) for line in output.get("traceback") or []))
    data = output.get("data")
    return ansi.plain(joined(data.get("text/plain"))) if isinstance(data, dict) else ""


def _without_frame(traceback: str) -> str:
    """IPython rules its tracebacks off and sets their head to 75 columns: neither fits a pane."""
    lines = traceback.split("\n")
    if lines and ansi.plain(lines[0]).strip("-") == "" and len(lines) > 1:
        del lines[0]
    lines[0] = re.sub(r" {3,}(?=Traceback \(most recent call last\))", "  ", lines[0])
    return "\n".join(lines)


# -- text -------------------------------------------------------------------------------------------


def _capped(
    text: str, width: int, look: Look, kind: str, full: bool, scroll: Scroll | None, style: Any = None
) -> Drawn:
    """Only what is shown is parsed: a cell that prints fast costs the same, however much it has printed."""
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    hidden = len(rows) - HEAD - TAIL
    if full or hidden <= 1:
        return Drawn(_lines("\n".join(rows), width, look, style), kind)
    if scroll is not None:
        return _windowed(rows, width, look, kind, scroll, style)
    lines = _lines("\n".join(rows[:HEAD]), width, look, style)
    said = f"⋯ {hidden:,} lines not shown (Shift+O or a click scrolls through them)"
    lines.append(Text(said, look.accent, end="", no_wrap=True))
    lines += _lines("\n".join(rows[-TAIL:]), width, look, style)
    return Drawn(lines, kind, hidden)


def _windowed(rows: list[str], width: int, look: Look, kind: str, scroll: Scroll, style: Any) -> Drawn:
    """A window of always the same height on the lines, with a row below it that says where it stands."""
    room = max(2, scroll.rows - 1)
    last, left = len(rows), room
    while last > 0 and left > 0:
        left -= len(_lines(rows[last - 1], width, look, style))
        if left < 0 and last < len(rows):
            break
        last -= 1
    first = last if scroll.first is None else max(0, min(scroll.first, last))
    lines: list[Text] = []
    shown = 0
    for row in rows[first : first + room]:
        drawn = _lines(row, width, look, style) or [Text("", end="")]
        if lines and len(lines) + len(drawn) > room:
            break
        lines += drawn
        shown += 1
    lines = lines[:room]
    lines += [Text("", end="") for _ in range(room - len(lines))]
    said = f"⋯ lines {first + 1:,} to {first + shown:,} of {len(rows):,} (↑ ↓ scroll, Esc leaves, Shift+O shows all)"
    lines.append(Text(said[: max(width, 1)], look.accent, end="", no_wrap=True))
    return Drawn(lines, kind, len(rows) - shown, Window(first, shown, len(rows), last))


def _lines(text: str, width: int, look: Look, style: Any) -> list[Text]:
    out: list[Text] = []
    for line in ansi.parse(text, style or look.text):
        out.extend(_wrapped(line, width))
    return out


def _wrapped(line: Text, width: int) -> list[Text]:
    """A line broken at `width` cells: behind a word where one ends not far from there, else in the middle of it."""
    if "\t" in line.plain:
        line.expand_tabs(8)
    if cell_len(line.plain) <= width:
        return [line]
    offsets, position = [], 0
    plain, width = line.plain, max(width, 2)
    if len(plain) > _LONG_LINE:
        for piece in chop_cells(plain, width)[:-1]:
            position += len(piece)
            offsets.append(position)
        return list(line.divide(offsets))
    while cell_len(plain[position:]) > width:
        piece = chop_cells(plain[position : position + width], width)[0]
        space = piece.rfind(" ") + 1
        if space > len(piece) // 2 and plain[position + len(piece)] != " " and piece[:space].strip():
            piece = piece[:space]
        position += len(piece)
        offsets.append(position)
    return list(line.divide(offsets))


# -- the types of a bundle --------------------------------------------------------------------------


def _figure(value: Any, width: int, look: Look) -> list[Text]:
    return draw(value, min(width, 100), look)


def _markdown(value: Any, width: int, look: Look) -> list[Text]:
    return [
        Text.assemble(*((s.text, s.style or "") for s in line), end="", no_wrap=True)
        for line in render_markdown(joined(value), width, look)
    ]


def _latex(value: Any, width: int, look: Look) -> list[Text]:
    source = joined(value).strip()
    inner = re.sub(r"^\$+(?:\\displaystyle)?|\$+$", "", source)
    return _lines(readable(inner) or source, width, look, look.text)


def _html(value: Any, width: int, look: Look) -> list[Text]:
    source = joined(value)
    tables = read_tables(source) if "<table" in source.lower() and len(source) < MAX_HTML else []
    if tables:
        lines = [line for table in tables[:4] for line in draw_table(table, width, look)]
        if len(tables) > 4:
            lines += _sentence(f"{len(tables) - 4} tables more; {_LINK}.", width, look)
        return lines
    text = text_of_html(source) if len(source) < 20_000 else ""
    if text and "<svg" not in source and "<img" not in source and "<canvas" not in source and "<script" not in source:
        return _lines(text, width, look, look.text)
    count = len(source)
    return _sentence(f"HTML, {_size(count)}; {_LINK}.", width, look)


def _svg(value: Any, width: int, look: Look) -> list[Text]:
    source = joined(value)
    title = re.search(r"<title[^>]*>([^<]*)</title>", source)
    name = f" “{ansi.inert(title.group(1).strip())}”" if title and title.group(1).strip() else ""
    return _sentence(f"Drawing{name} (SVG, {_size(len(source))}); {_LINK}.", width, look)


def _image(form: str) -> Callable[[Any, int, Look], list[Text]]:
    def image(value: Any, width: int, look: Look) -> list[Text]:
        try:
            raw = base64.b64decode(joined(value))
        except (binascii.Error, ValueError):
            return _sentence(f"An image that is not valid base64 ({form}).", width, look)
        size = _pixels(raw)
        measured = f"{size[0]} × {size[1]} pixels, " if size else ""
        said = f"Image ({form}, {measured}{_size(len(raw))}); {_LINK}."
        try:
            drawn = draw_image(raw, min(width, 100), look.background)
        except CannotDecode as error:
            return _sentence(f"{said} {error}", width, look)
        return [*drawn, *_sentence(said, width, look)]

    return image


def _image_in_pixels(value: Any, width: int, look: Look, kind: str, mime: str, graphics: Graphics) -> Drawn:
    """An image in the terminal's own pixels; under it half blocks of the same size, for when something lies over it."""
    form = _IMAGES[mime]
    try:
        raw = base64.b64decode(joined(value))
        pixels = fit_image(raw, min(width, MAX_COLUMNS), look.background, graphics.cell)
    except (CannotDecode, binascii.Error, ValueError):
        return Drawn(_DRAWERS[mime](value, width, look), kind)
    size = _pixels(raw)
    measured = f"{size[0]} × {size[1]} pixels, " if size else ""
    said = _sentence(f"Image ({form}, {measured}{_size(len(raw))}); {_LINK}.", width, look)
    if graphics.as_text:
        return Drawn([*graphics.lines(pixels), *said], kind)
    return Drawn([*half_blocks(pixels.data, pixels.columns, pixels.rows), *said], kind, pixels=pixels)


def _sentence(text: str, width: int, look: Look) -> list[Text]:
    pieces = textwrap.wrap(text, max(width, 8)) or [""]
    return [line for piece in pieces for line in _wrapped(Text(piece, look.muted, end="", no_wrap=True), width)]


def _size(count: int) -> str:
    return f"{count} B" if count < 1000 else f"{count / 1000:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def _pixels(raw: bytes) -> tuple[int, int] | None:
    """Width and height from the header of a PNG, GIF, or JPEG."""
    if raw[:8] == b"\x89PNG\r\n\x1a\n" and len(raw) >= 24:
        return struct.unpack(">II", raw[16:24])
    if raw[:6] in (b"GIF87a", b"GIF89a") and len(raw) >= 10:
        return struct.unpack("<HH", raw[6:10])
    place = 2
    while raw[:2] == b"\xff\xd8" and place + 9 < len(raw) and raw[place] == 0xFF:
        marker, length = raw[place + 1], int.from_bytes(raw[place + 2 : place + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", raw[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return None


_DRAWN_FIRST = {FIGURE, "image/png", "image/jpeg", "image/gif", "text/markdown"}
"""Types that are drawn although there is HTML, too."""

_IMAGES = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF"}

MAX_HTML = 2_000_000

_DRAWERS: dict[str, Callable[[Any, int, Look], list[Text]]] = {
    FIGURE: _figure,
    "text/markdown": _markdown,
    **{mime: _image(form) for mime, form in _IMAGES.items()},
    "image/svg+xml": _svg,
    "text/latex": _latex,
    "text/html": _html,
}
"""How each MIME type is drawn, the preferred one first."""
