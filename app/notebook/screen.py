"""Text written to a stream, folded the way a terminal shows it, with a bounded number of lines.

A progress bar rewrites its line with carriage returns, backspaces and a few cursor movements (ECMA-48 control
sequences). `Screen` applies them across chunks and keeps what would be left on the screen, colours included. It knows
no cells and draws nothing. One character counts as one column; wide characters are not told apart, which only matters
to a program that overwrites part of a line.
"""

from __future__ import annotations

import re
import unicodedata

MAX_COLUMNS = 100_000
"""A longer line is cut, with a note of how much is missing."""

_CONTROLS = re.compile(r"[\x00-\x08\x0d-\x1f\x7f]")
_TOKENS = re.compile(
    r"(?P<csi>\x1b\[[0-9:;<=>?]*[ -/]*[@-~])"
    r"|(?P<osc>\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\))"
    r"|(?P<esc>\x1b[ -/]*[0-~])"
    r"|(?P<control>[\x00-\x08\x0a\x0d-\x1f\x7f])"
    r"|(?P<text>[^\x00-\x08\x0a\x0d-\x1f\x7f]+)"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9:;<=>?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z")
_MAX_UNFINISHED = 4096

Glyph = tuple[str, str]  # a character (with its combining marks) and the colour sequence it is drawn with
Row = list[Glyph]


class Pen:
    """The colours and styles that a terminal draws the next character with (SGR, ECMA-48 8.3.117)."""

    _ENDS = {"22": ("1", "2"), "23": ("3",), "24": ("4", "21"), "25": ("5", "6"), "27": ("7",), "28": ("8",),
             "29": ("9",), "39": ("fg",), "49": ("bg",), "55": ("53",), "59": ("ul",)}  # fmt: skip
    _LONG = {"38": "fg", "48": "bg", "58": "ul"}

    def __init__(self) -> None:
        self._set: dict[str, str] = {}
        self.sequence = ""

    def change(self, parameters: str) -> None:
        """Apply the parameters of one `ESC [ ... m`."""
        values = parameters.split(";") if parameters else ["0"]
        while values:
            value = values.pop(0) or "0"
            code = value.split(":")[0].lstrip("0") or "0"
            if code == "0":
                self._set.clear()
            elif code in self._ENDS:
                for name in self._ENDS[code]:
                    self._set.pop(name, None)
            elif code in self._LONG:
                rest = [] if ":" in value else values[: {"5": 2, "2": 4}.get(values[0], 0) if values else 0]
                del values[: len(rest)]
                self._set[self._LONG[code]] = ";".join([value, *rest])
            elif code.isdigit() and (30 <= int(code) <= 37 or 90 <= int(code) <= 97):
                self._set["fg"] = value
            elif code.isdigit() and (40 <= int(code) <= 47 or 100 <= int(code) <= 107):
                self._set["bg"] = value
            elif code.isdigit() and int(code) < 66:
                self._set[code] = value
        self.sequence = f"\x1b[{';'.join(self._set.values())}m" if self._set else ""


class Screen:
    """The lines a stream has left so far. `feed` adds text, `text` gives all of it back.

    Of more than `max_lines` lines the first half and the last half are kept. Every kept line is complete in itself:
    it starts with its own colours and ends without any.
    """

    def __init__(self, max_lines: int = 1000) -> None:
        if max_lines < 2:
            raise ValueError(f"max_lines is {max_lines}; at least 2 lines must be kept, the first and the last")
        self.max_lines = max_lines
        self.dropped = 0
        self._lines: list[str | Row] = [""]
        self._row = 0
        self._column: int | None = None  # None: at the end of the last line, which then is a plain string
        self._cut = 0  # characters missing at the end of the last line
        self._pen = Pen()
        self._unfinished = ""

    def feed(self, text: str) -> None:
        """Add `text`. A control sequence may be cut anywhere between two calls."""
        text = self._unfinished + text
        self._unfinished = ""
        if self._column is None and not self._pen.sequence and not _CONTROLS.search(text):
            self._feed_plain(text)
        else:
            if (unfinished := _UNFINISHED.search(text)) and len(unfinished[0]) < _MAX_UNFINISHED:
                self._unfinished = unfinished[0]
                text = text[: unfinished.start()]
            for token in _TOKENS.finditer(text):
                self._feed_token(token)
            self._settle()
        self._trim()

    @property
    def text(self) -> str:
        """What is left, lines joined by newlines, with a line in place of those that were dropped."""
        lines = [line if isinstance(line, str) else _render(line) for line in self._lines]
        if self._cut:
            lines[-1] += _cut_note(self._cut)
        if self.dropped:
            noun = "line" if self.dropped == 1 else "lines"
            lines.insert(self._head, f"[... {self.dropped:,} {noun} dropped ...]")
        return "\n".join(lines)

    # -- plain text: the usual case -----------------------------------------------------------------

    def _feed_plain(self, text: str) -> None:
        first, *others = text.split("\n")
        last = self._lines[-1]
        assert isinstance(last, str)
        for number, line in enumerate((first, *others)):
            if number:
                self._finish_last()
                self._lines.append("")
                last = ""
            room = MAX_COLUMNS - len(last)
            if len(line) > room:
                self._cut += len(line) - max(room, 0)
                line = line[: max(room, 0)]
            self._lines[-1] = last = last + line
        self._row = len(self._lines) - 1

    def _finish_last(self) -> None:
        if self._cut:
            last = self._lines[-1]
            self._lines[-1] = (last if isinstance(last, str) else _render(last)) + _cut_note(self._cut)
            self._cut = 0

    # -- everything else ----------------------------------------------------------------------------

    def _feed_token(self, token: re.Match[str]) -> None:
        kind, text = token.lastgroup, token[0]
        if kind == "text":
            self._write(text)
        elif text == "\n":
            self._newline()
        elif text == "\r":
            self._at()
            self._column = 0
        elif text == "\b":
            self._column = max(self._at() - 1, 0)
        elif kind == "csi":
            self._control(text[-1], text[2:-1])

    def _at(self) -> int:
        if self._column is None:
            self._column = len(self._current())
        return self._column

    def _current(self) -> Row:
        line = self._lines[self._row]
        if isinstance(line, str):
            line = self._lines[self._row] = _parse(line)
        return line

    def _write(self, text: str) -> None:
        column, row, pen = self._at(), self._current(), self._pen.sequence
        if column > len(row):
            row.extend([(" ", "")] * (min(column, MAX_COLUMNS) - len(row)))
        start = min(column, len(row))
        glyphs = _glyphs(text, pen, before=row[start - 1 : start])
        if start:
            row[start - 1] = glyphs.pop(0)
        room = MAX_COLUMNS - column
        if len(glyphs) > room:
            if self._row == len(self._lines) - 1:
                self._cut += len(glyphs) - max(room, 0)
            del glyphs[max(room, 0) :]
        row[column : column + len(glyphs)] = glyphs
        self._column = column + len(glyphs)

    def _newline(self) -> None:
        if self._row == len(self._lines) - 1:
            self._finish_last()
            self._lines.append("")
        self._go_to(self._row + 1)
        self._column = 0

    def _go_to(self, row: int) -> None:
        self._at()
        self._lines[self._row] = _render(self._current())
        self._row = row

    def _control(self, name: str, parameters: str) -> None:
        if name == "m":
            if not parameters.startswith(("<", "=", ">", "?")):
                self._pen.change(parameters)
            return
        number = int(parameters) if parameters.isdecimal() and len(parameters) < 7 else 0
        count = max(number, 1)
        if name in "AF":
            # A program cannot reach lines that were dropped, nor those before them.
            self._go_to(max(self._row - count, self._head if self.dropped else 0))
        elif name in "BE":
            self._go_to(min(self._row + count, len(self._lines) - 1))
        elif name == "C":
            self._column = min(self._at() + count, MAX_COLUMNS)
        elif name == "D":
            self._column = max(self._at() - count, 0)
        elif name == "G":
            self._column = min(count - 1, MAX_COLUMNS)
        elif name == "K":
            self._erase_in_line(number)
        elif name == "J":
            self._erase_in_screen(number)
        if name in "EF":
            self._column = 0

    def _erase_in_line(self, mode: int) -> None:
        column, row = self._at(), self._current()
        if self._row == len(self._lines) - 1:
            self._cut = 0
        if mode == 0:
            del row[column:]
        elif mode == 1:
            row[: column + 1] = [(" ", "")] * min(column + 1, len(row))
        else:
            row.clear()

    def _erase_in_screen(self, mode: int) -> None:
        self._cut = 0
        if mode == 0:
            self._erase_in_line(0)
            del self._lines[self._row + 1 :]
        elif mode in (2, 3):
            self._lines = [""]
            self._row = self._column = self.dropped = 0

    def _settle(self) -> None:
        """Back to plain strings where the cursor stands at the end of everything."""
        row = self._lines[self._row]
        if self._row == len(self._lines) - 1 and isinstance(row, list) and self._column == len(row):
            self._lines[self._row] = _render(row)
            self._column = None

    @property
    def _head(self) -> int:
        return self.max_lines // 2

    def _trim(self) -> None:
        # A line that is still empty after the last newline is no line yet.
        count = len(self._lines) - (not self._lines[-1])
        excess = min(count - self.max_lines, self._row - self._head)
        if excess > 0:
            del self._lines[self._head : self._head + excess]
            self._row -= excess
            self.dropped += excess


def _cut_note(count: int) -> str:
    return f" [... {count:,} characters dropped]"


def _glyphs(text: str, pen: str, before: Row) -> Row:
    """The glyphs of `before` and of `text` after it; a combining mark belongs to the character it follows."""
    row = before
    for character in text:
        if row and unicodedata.combining(character):
            row[-1] = (row[-1][0] + character, row[-1][1])
        else:
            row.append((character, pen))
    return row


def _parse(line: str) -> Row:
    """The glyphs of a line that `_render` made, or of plain text."""
    pen, row = Pen(), []
    for token in _TOKENS.finditer(line):
        if token.lastgroup == "text":
            row = _glyphs(token[0], pen.sequence, before=row)
        elif token.lastgroup == "csi" and token[0].endswith("m"):
            pen.change(token[0][2:-1])
    return row


def _render(row: Row) -> str:
    parts: list[str] = []
    present = ""
    for character, pen in row:
        if pen != present:
            parts.append(("\x1b[0m" if present else "") + pen)
            present = pen
        parts.append(character)
    if present:
        parts.append("\x1b[0m")
    return "".join(parts)
