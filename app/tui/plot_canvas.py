"""A sheet of terminal cells to draw plots on: braille dots, blocks and text, each cell with its colours.

It draws shapes at cell or dot coordinates; what they mean is the subject of plot_draw.py.
"""

from __future__ import annotations

import math

from rich.style import Style
from rich.text import Text

__all__ = ["Canvas"]

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LEFT_EIGHTHS = " ▏▎▍▌▋▊▉█"


class Canvas:
    """`width` by `height` cells; column 0, row 0 is the upper left one. A cell has 2 by 4 dots."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = max(width, 1), max(height, 1)
        self._chars = [[" "] * self.width for _ in range(self.height)]
        self._styles: list[list[Style | None]] = [[None] * self.width for _ in range(self.height)]
        self._dots = [[0] * self.width for _ in range(self.height)]

    def text(self, column: int, row: int, text: str, style: Style | None = None) -> None:
        """Write text at a cell; what lies outside of the canvas is cut off."""
        if not 0 <= row < self.height:
            return
        for offset, character in enumerate(text):
            if 0 <= column + offset < self.width:
                self._chars[row][column + offset] = character
                self._styles[row][column + offset] = style
                self._dots[row][column + offset] = 0

    def dot(self, x: int, y: int, style: Style) -> None:
        """Set one dot; x counts half columns, y quarter rows, from the upper left."""
        column, row = x >> 1, y >> 2
        if 0 <= column < self.width and 0 <= row < self.height:
            self._dots[row][column] |= _DOTS[y & 3][x & 1]
            self._styles[row][column] = style
            self._chars[row][column] = " "

    def line(self, x0: float, y0: float, x1: float, y1: float, style: Style, *, dash: int = 0) -> None:
        """A line of dots between two points in dot coordinates. With `dash`, gaps of that many dots."""
        # Clipped first, so that a point far outside costs no time.
        clipped = _clip(x0, y0, x1, y1, self.width * 2 - 1, self.height * 4 - 1)
        if clipped is None:
            return
        x0, y0, x1, y1 = clipped
        steps = max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0))))
        for n in range(steps + 1):
            if dash and (n // dash) % 2:
                continue
            self.dot(round(x0 + (x1 - x0) * n / steps), round(y0 + (y1 - y0) * n / steps), style)

    def column_bar(self, x0: int, x1: int, bottom: float, top: float, colour: str) -> None:
        """Fill columns x0..x1-1 between two heights in rows from the lower edge, in steps of an eighth of a row."""
        low, high = sorted((max(0.0, bottom), min(float(self.height), top)))
        for row in range(max(0, math.floor(low)), min(self.height, math.ceil(high))):
            covered_from, covered_to = max(low, row) - row, min(high, row + 1) - row
            y = self.height - 1 - row
            if covered_from <= 1 / 16:
                sign, style = _EIGHTHS[round(covered_to * 8)], Style(color=colour)
            else:
                # A block that hangs from above is drawn as its complement, in reverse.
                sign, style = _EIGHTHS[round(covered_from * 8)], Style(color=colour, reverse=True)
            if sign != " " or style.reverse:
                self._fill(x0, x1, y, sign, style)

    def row_bar(self, y0: int, y1: int, left: float, right: float, colour: str) -> None:
        """Fill rows y0..y1-1 between two columns, in steps of an eighth of a column."""
        low, high = sorted((max(0.0, left), min(float(self.width), right)))
        for column in range(max(0, math.floor(low)), min(self.width, math.ceil(high))):
            covered_from, covered_to = max(low, column) - column, min(high, column + 1) - column
            if covered_from <= 1 / 16:
                sign, style = _LEFT_EIGHTHS[round(covered_to * 8)], Style(color=colour)
            else:
                sign, style = _LEFT_EIGHTHS[round(covered_from * 8)], Style(color=colour, reverse=True)
            if sign != " " or style.reverse:
                for y in range(y0, y1):
                    self._fill(column, column + 1, y, sign, style)

    def halves(self, column: int, row: int, upper: str | None, lower: str | None) -> None:
        """Colour the two halves of one cell; None leaves the half bare."""
        if upper and lower:
            self._fill(column, column + 1, row, "▀", Style(color=upper, bgcolor=lower))
        elif upper:
            self._fill(column, column + 1, row, "▀", Style(color=upper))
        elif lower:
            self._fill(column, column + 1, row, "▄", Style(color=lower))

    def _fill(self, x0: int, x1: int, y: int, sign: str, style: Style) -> None:
        if 0 <= y < self.height:
            for x in range(max(0, x0), min(self.width, x1)):
                self._chars[y][x], self._styles[y][x], self._dots[y][x] = sign, style, 0

    def paste(self, column: int, row: int, other: Canvas) -> None:
        """Copy another canvas onto this one."""
        for y in range(min(other.height, self.height - row)):
            width = min(other.width, self.width - column)
            self._chars[row + y][column : column + width] = other._chars[y][:width]
            self._styles[row + y][column : column + width] = other._styles[y][:width]
            self._dots[row + y][column : column + width] = other._dots[y][:width]

    def lines(self) -> list[Text]:
        """The canvas as one Rich text a row."""
        out = []
        for chars, styles, dots in zip(self._chars, self._styles, self._dots, strict=True):
            text = Text(end="", no_wrap=True)
            run, run_style = "", None
            for character, style, bits in zip(chars, styles, dots, strict=True):
                character = chr(0x2800 + bits) if bits else character
                if style is not run_style and run:
                    text.append(run, run_style)
                    run = ""
                run_style = style
                run += character
            text.append(run, run_style)
            out.append(text)
        return out


def _clip(
    x0: float, y0: float, x1: float, y1: float, right: float, bottom: float
) -> tuple[float, float, float, float] | None:
    """The part of a line inside [0, right] x [0, bottom] (Liang and Barsky's clipping), or None."""
    dx, dy = x1 - x0, y1 - y0
    enter, leave = 0.0, 1.0
    for p, q in ((-dx, x0), (dx, right - x0), (-dy, y0), (dy, bottom - y0)):
        if p == 0:
            if q < 0:
                return None
            continue
        t = q / p
        if p < 0:
            enter = max(enter, t)
        else:
            leave = min(leave, t)
        if enter > leave:
            return None
    return x0 + dx * enter, y0 + dy * enter, x0 + dx * leave, y0 + dy * leave
