"""Text with terminal escape sequences, made into styled lines that are safe to draw.

Colours and attributes (SGR sequences) are kept, carriage returns and backspaces overwrite as on a terminal, and
everything else that could act on a terminal (cursor movement, titles, links, clipboard, bidirectional overrides)
is dropped or shown as a visible sign.  It draws nothing and knows no widgets.
"""

from __future__ import annotations

import re

from rich.color import Color
from rich.style import Style
from rich.text import Text

__all__ = ["inert", "parse", "plain"]

_ESCAPE = re.compile(
    r"\x1b\[([0-9;:]*)m"  # 1: colours and attributes
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # other control sequences
    r"|\x1b[\]PX^_](?:[^\x07\x1b\x9c]|\x1b(?!\\))*(?:\x07|\x1b\\|\x9c)?"  # strings: titles, links, clipboard
    r"|\x1b[ -/]*[0-~]?"  # two-character sequences and a lone escape
    r"|\x9b([0-9;:]*)m"  # 2: the same as 1 with the 8-bit introducer
    r"|\x9b[0-?]*[ -/]*[@-~]"
)

_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

_SIGNS = {
    **{code: 0x2400 + code for code in range(32) if code not in (9, 10)},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    0x2028: 0x2424,
    0x2029: 0x2424,
    **{ord(sign): 0xFFFD for sign in _BIDI},
}
"""Characters that act on a terminal or on the order of a line, and the visible sign drawn instead."""

_UNSAFE = re.compile("[" + "".join(re.escape(chr(code)) for code in _SIGNS) + "]")

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ATTRIBUTES: dict[int, dict[str, bool]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    7: {"reverse": True},
    9: {"strike": True},
    21: {"underline": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    27: {"reverse": False},
    29: {"strike": False},
}


def inert(text: str) -> str:
    """`text` with every acting character replaced by a visible sign, one for one. Tabs and newlines stay."""
    return text.translate(_SIGNS) if _UNSAFE.search(text) else text


def plain(text: str) -> str:
    """`text` without escape sequences, and otherwise inert."""
    return inert(_ESCAPE.sub("", text).replace("\r\n", "\n"))


def parse(text: str, base: Style | None = None) -> list[Text]:
    """The lines of `text` as Rich texts. Colours carry over from line to line, as on a terminal."""
    base = base or Style.null()
    lines = []
    state: dict[str, object] = {}
    rows = text.replace("\r\n", "\n").split("\n")
    if rows and not rows[-1]:
        rows.pop()  # a closing newline ends the last line; it does not begin another
    for row in rows:
        lines.append(_line(row, state, base))
    return lines


def _line(row: str, state: dict[str, object], base: Style) -> Text:
    if "\r" in row or "\b" in row:
        return _overwritten(row, state, base)
    out = Text(style=base, end="", no_wrap=True)
    if "\x1b" not in row and "\x9b" not in row:
        out.append(inert(row), _style(state))
        return out
    position = 0
    for found in _ESCAPE.finditer(row):
        if found.start() > position:
            out.append(inert(row[position : found.start()]), _style(state))
        _apply(found, state)
        position = found.end()
    if position < len(row):
        out.append(inert(row[position:]), _style(state))
    return out


def _overwritten(row: str, state: dict[str, object], base: Style) -> Text:
    """A line in which the cursor went back: later characters replace earlier ones."""
    cells: list[tuple[str, Style | None]] = []
    column = 0

    def write(piece: str) -> None:
        nonlocal column
        style = _style(state)
        for character in piece:
            if character == "\r":
                column = 0
            elif character == "\b":
                column = max(0, column - 1)
            else:
                cells[column : column + 1] = [(character, style)]
                column += 1

    position = 0
    for found in _ESCAPE.finditer(row):
        write(row[position : found.start()])
        if found.group().endswith("K") and found.group().startswith("\x1b["):
            if found.group()[2:-1] in ("", "0"):
                del cells[column:]
            elif found.group()[2:-1] == "2":
                cells[:] = [(" ", None)] * column
        else:
            _apply(found, state)
        position = found.end()
    write(row[position:])
    out = Text(style=base, end="", no_wrap=True)
    for character, style in cells:
        out.append(inert(character), style)
    return out


def _style(state: dict[str, object]) -> Style | None:
    return Style(**state) if state else None  # type: ignore[arg-type]


def _apply(found: re.Match[str], state: dict[str, object]) -> None:
    codes = found.group(1) if found.group(1) is not None else found.group(2)
    if codes is None:
        return
    numbers = [int(code) if code.isdigit() else 0 for code in codes.replace(":", ";").split(";")]
    while numbers:
        code = numbers.pop(0)
        if code == 0:
            state.clear()
        elif code in _ATTRIBUTES:
            for name, on in _ATTRIBUTES[code].items():
                state.pop(name, None)
                if on:
                    state[name] = True
        elif code in (38, 48):
            colour = _extended(numbers)
            if colour is not None:
                state["color" if code == 38 else "bgcolor"] = colour
        elif code in (39, 49):
            state.pop("color" if code == 39 else "bgcolor", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            state["color"] = ("bright_" if code >= 90 else "") + _COLOURS[code % 10]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            state["bgcolor"] = ("bright_" if code >= 100 else "") + _COLOURS[code % 10]


def _extended(numbers: list[int]) -> Color | None:
    """The colour of `38;5;N` or `38;2;R;G;B`, taken off the front of `numbers`."""
    form = numbers.pop(0) if numbers else -1
    if form == 5 and numbers:
        return Color.from_ansi(min(numbers.pop(0), 255))
    if form == 2 and len(numbers) >= 3:
        red, green, blue = (min(numbers.pop(0), 255) for _ in range(3))
        return Color.from_rgb(red, green, blue)
    return None
