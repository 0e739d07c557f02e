"""Text that is safe to show: inert control characters, widths in terminal cells, short forms of facts.

Every string of a record passes through `clean` before it reaches a picture, whichever form the picture
has.  This file does not escape for a format (XML, DOT): that is the business of each writer.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence

from wcwidth import wcswidth, wcwidth

MAX_CELLS = 60
"""A label wider than this many terminal cells is trimmed."""

MAX_CHARACTERS = 2_000
"""Longer strings of a record are cut when they are read."""

_JOINERS = "\u200c\u200d"  # part of ordinary words and emoji: invisible, and harmless
_CONTROL_PICTURES = 0x2400


def clean(text: object) -> str:
    """`text` with everything that a terminal, a browser or a parser could act on made visible instead.

    C0 control characters become their control pictures (escape is "␛", newline is "␊"); other controls,
    bidirectional overrides, line separators, lone surrogates and unassigned characters become escapes such as
    `\\u202e`.  Applying it twice changes nothing more.
    """
    text = text if isinstance(text, str) else str(text)
    if len(text) > MAX_CHARACTERS:
        text = text[: MAX_CHARACTERS - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == 0x7F:
        return "␡"
    if character in _JOINERS or unicodedata.category(character) in ("Zs", "Co"):
        return character
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cell_width(text: str) -> int:
    """How many terminal cells `text` takes: wide characters count two, combining marks none."""
    return len(text) if text.isascii() else max(0, wcswidth(text))


def trim(text: str, cells: int = MAX_CELLS) -> str:
    """`text`, cut with "…" so that it takes at most `cells` terminal cells."""
    if cell_width(text) <= cells:
        return text
    used = 0
    for index, character in enumerate(text):
        used += max(0, wcwidth(character))
        if used > cells - 1:
            return text[:index] + "…"
    return text


def pad(text: str, cells: int) -> str:
    """`text` followed by spaces up to `cells` terminal cells."""
    return text + " " * (cells - cell_width(text))


def shape_text(shape: Sequence[int | str]) -> str:
    """A shape as it is printed everywhere: "[64, 10]", and "[]" for a single number."""
    return "[" + ", ".join(map(str, shape)) + "]"


def shapes_text(shapes: Sequence[Sequence[int | str]]) -> str:
    """Several shapes: "[64], [64, 10]", and "[3, 64] x20" for three or more equal ones in a row."""
    parts = []
    for text, group in itertools.groupby(map(shape_text, shapes)):
        count = sum(1 for _ in group)
        parts += [f"{text} x{count}"] if count > 2 else [text] * count
    return ", ".join(parts)


_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def bytes_text(count: int) -> str:
    """A size in bytes, short: "0 B", "640 B", "2.5 KiB", "1.0 GiB"; what no machine has is "over 1,024 EiB"."""
    if count >= 1 << 70:
        return "over 1,024 EiB"
    size = float(count)
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} {_UNITS[-1]}"


def count_text(count: int, singular: str, plural: str | None = None) -> str:
    """ "1 node", "12 nodes", "1,200 nodes"."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def seconds_text(seconds: float) -> str:
    """A duration, short: "840 ns", "12.3 µs", "4.56 ms", "1.20 s"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            value = seconds / size
            return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def wrapped(text: str, width: int = 56, most: int = 3) -> list[str]:
    """A sentence in lines of at most `width` characters, `most` lines of them."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    if len(lines) > most:
        lines = [*lines[: most - 1], trim(" ".join(lines[most - 1 :]), width)]
    return [trim(line, width) for line in lines if line]
