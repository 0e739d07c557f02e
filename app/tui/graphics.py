"""Images in real pixels, where the terminal can draw them: which protocol it speaks, and images in that protocol.

Three are known: kitty's with Unicode placeholders (an image is sent once and then stands in the text as characters of
its own), iTerm2's, and sixel (both are sent row by row, each row of cells as an image of its own, so that images scroll
like text).  Under tmux and screen, and where a terminal does not answer, there are none: image_view.py draws half blocks.
`TAPESCOPE_GRAPHICS` (kitty, iterm2, sixel, off) decides instead of the terminal's answers.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
import time
import unicodedata
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from rich.color import Color as RichColor
from rich.style import Style
from rich.text import Text

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Graphics", "Pixels", "Protocol", "choose", "find_graphics"]

Protocol = Literal["kitty", "iterm2", "sixel"]

CELL = (10, 20)
"""Pixels of a character where the terminal does not tell."""

MAX_COLUMNS = 100
_KEPT = 64
_PATIENCE = 0.25
_ABILITIES = "\x1b[16t\x1b[?1;1;0S\x1b[c"
"""How many pixels a character has, how many colours sixels may have, and what the terminal can do at all; every terminal
answers the last."""

_NAME = "\x1b[>q\x1b[c"
"""What the terminal is; the second answer says that there is no other to wait for."""


@dataclass(eq=False)
class Pixels:
    """An image as it will stand on the screen: RGB bytes (rows x columns x 3) that fill `columns` x `rows` characters."""

    data: np.ndarray
    columns: int
    rows: int
    sequences: list[str] | None = None
    """What draws each row of characters, made when it is first drawn."""


@dataclass(eq=False)
class Graphics:
    """What the terminal can draw. `cell` are the pixels of a character, across and down; `write` sends to the terminal."""

    protocol: Protocol
    cell: tuple[int, int] = CELL
    colours: int = 256
    write: Callable[[str], None] | None = None
    _known: OrderedDict[tuple[bytes, int, int], int] = field(default_factory=OrderedDict)
    _next: int = 0

    @property
    def as_text(self) -> bool:
        """Images stand in the text, as characters: nothing has to be drawn over it."""
        return self.protocol == "kitty"

    def lines(self, pixels: Pixels) -> list[Text]:
        """Kitty: send the image, if the terminal does not have it yet, and give the characters that stand for it."""
        key = (hashlib.sha1(pixels.data.tobytes()).digest(), pixels.columns, pixels.rows)
        number = self._known.get(key)
        if number is None:
            # Numbers of our own, apart from those of other programs: from the process's number.
            self._next += 1
            number = 1 + (os.getpid() * 4099 + self._next) % 0xFFFFFF
            self._known[key] = number
            self._send(_kitty_image(pixels, number))
            while len(self._known) > _KEPT:
                _, old = self._known.popitem(last=False)
                self._send(f"\x1b_Ga=d,d=I,i={old},q=2\x1b\\")
        self._known.move_to_end(key)
        red, green, blue = number >> 16, number >> 8 & 255, number & 255
        style = Style(color=RichColor.from_rgb(red, green, blue))
        marks = _marks()
        return [
            Text("".join(_PLACE + marks[row] + marks[c] for c in range(pixels.columns)), style, end="", no_wrap=True)
            for row in range(pixels.rows)
        ]

    def sequence(self, pixels: Pixels, row: int) -> str:
        """iTerm2 and sixel: what draws a row of the image at the cursor. The cursor's place afterwards is open."""
        if pixels.sequences is None:
            pixels.sequences = [""] * pixels.rows
        if not pixels.sequences[row]:
            height = self.cell[1]
            part = pixels.data[row * height : (row + 1) * height]
            if self.protocol == "sixel":
                from .sixel import sixel

                pixels.sequences[row] = sixel(part, self.colours)
            else:
                pixels.sequences[row] = _iterm2(part, pixels.columns)
        return pixels.sequences[row]

    def forget(self) -> None:
        """Free what the terminal keeps of our images."""
        for number in self._known.values():
            self._send(f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\")
        self._known.clear()

    def _send(self, sequence: str) -> None:
        if self.write is not None:
            self.write(sequence)


# -- kitty ------------------------------------------------------------------------------------------

_PLACE = "\U0010eeee"
_COMPOSED = {0x300, 0x301, 0x302, 0x303, 0x304, 0x306, 0x307, 0x308, 0x309, 0x30A, 0x30B, 0x30C, 0x30F, 0x311, 0x313, 0x314,
             0x342, 0x653, 0x654}  # fmt: skip
_found_marks: list[str] = []


def _marks() -> list[str]:
    """The combining characters that count rows and columns: those that stand above a letter and never melt into one."""
    if not _found_marks:
        for code in range(0x300, 0x830):
            mark = chr(code)
            if unicodedata.combining(mark) == 230 and not unicodedata.decomposition(mark) and code not in _COMPOSED:
                _found_marks.append(mark)
    return _found_marks


def _kitty_image(pixels: Pixels, number: int) -> str:
    """The sequences that send an image and say which rectangle of characters it fills when placed by them."""
    height, width = pixels.data.shape[:2]
    body = base64.b64encode(zlib.compress(pixels.data.tobytes(), 6)).decode()
    parts = [body[n : n + 4096] for n in range(0, len(body), 4096)] or [""]
    head = f"a=T,U=1,q=2,f=24,o=z,t=d,s={width},v={height},i={number},c={pixels.columns},r={pixels.rows},"
    return "".join(
        f"\x1b_G{head if n == 0 else 'q=2,'}m={int(n < len(parts) - 1)};{part}\x1b\\" for n, part in enumerate(parts)
    )


# -- iTerm2 -----------------------------------------------------------------------------------------


def _iterm2(part: np.ndarray, columns: int) -> str:
    raw = png(part)
    return (
        f"\x1b]1337;File=inline=1;size={len(raw)};width={columns};height=1;preserveAspectRatio=0;doNotMoveCursor=1:"
        f"{base64.b64encode(raw).decode()}\x07"
    )


def png(part: np.ndarray) -> bytes:
    """RGB bytes as a PNG file."""
    import struct

    import numpy as np

    height, width = part.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)
    rows[:, 1:] = part.reshape(height, -1)

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6))
        + chunk(b"IEND", b"")
    )


# -- which one --------------------------------------------------------------------------------------


def find_graphics() -> Graphics | None:
    """Ask the terminal what it can draw; None where that is text only. Call it before the app takes the terminal."""
    wanted = os.environ.get("TAPESCOPE_GRAPHICS", "").strip().lower()
    if wanted in ("off", "none", "0"):
        return None
    try:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            return None
    except ValueError:  # closed
        return None
    if wanted in ("kitty", "iterm2", "sixel"):
        return Graphics(cast(Protocol, wanted), cell_of("") or _cell_by_window() or CELL)
    term = os.environ.get("TERM", "")
    if (
        os.environ.get("TMUX")
        or os.environ.get("STY")
        or term.startswith(("screen", "tmux"))
        or term in ("dumb", "linux")
    ):
        return None
    answer = _ask()
    protocol = choose(answer, os.environ)
    if protocol is None:
        return None
    return Graphics(protocol, cell_of(answer) or _cell_by_window() or CELL, colours_of(answer))


def choose(answer: str, environment: Any) -> Protocol | None:
    """The protocol that a terminal's answers and its environment speak for."""
    said = re.search(r"\x1bP>\|([^\x1b\x07]*)", answer)
    name = said[1] if said is not None else ""
    version = tuple(int(part) for part in re.findall(r"\d+", name)[:2])
    if name.startswith("kitty"):
        return "kitty" if version >= (0, 28) else None  # the first that knows placeholders
    if name.lower().startswith("ghostty"):
        return "kitty"
    if name.startswith(("iTerm2", "WezTerm")):
        return "iterm2"
    if environment.get("TERM_PROGRAM") == "iTerm.app" or environment.get("LC_TERMINAL") == "iTerm2":
        return "iterm2"
    abilities = re.search(r"\x1b\[\?([\d;]*)c", answer)
    if abilities is not None and "4" in abilities[1].split(";"):
        return "sixel"
    return None


def cell_of(answer: str) -> tuple[int, int] | None:
    """Pixels of a character, across and down, from the terminal's answer."""
    found = re.search(r"\x1b\[6;(\d+);(\d+)t", answer)
    if found is None:
        return None
    height, width = int(found[1]), int(found[2])
    return (width, height) if 3 <= width <= 100 and 6 <= height <= 200 else None


def colours_of(answer: str) -> int:
    """How many colours a sixel image may have, from the terminal's answer (XTSMGRAPHICS of xterm)."""
    found = re.search(r"\x1b\[\?1;0;(\d+)S", answer)
    return max(2, min(256, int(found[1]))) if found is not None else 256


def _cell_by_window() -> tuple[int, int] | None:
    try:
        import fcntl
        import struct
        import termios

        packed = fcntl.ioctl(sys.stdout.fileno(), termios.TIOCGWINSZ, b"\0" * 8)
        rows, columns, across, down = struct.unpack("HHHH", packed)
    except (ImportError, OSError, ValueError):
        return None
    if not (rows and columns and across and down):
        return None
    return max(1, across // columns), max(1, down // rows)


def _ask() -> str:
    """The terminal's answers; "" where it gives none in time.

    Its name is asked for only when it has answered at all, and then with more patience: were that answer late, the app
    would take it for keys.
    """
    try:
        import termios
        import tty

        device = sys.stdin.fileno()
        before = termios.tcgetattr(device)
    except (ImportError, OSError, ValueError):
        return ""
    try:
        tty.setcbreak(device, termios.TCSANOW)
        answer = _exchange(device, _ABILITIES, _PATIENCE)
        return answer + _exchange(device, _NAME, 8 * _PATIENCE) if _ANSWERED.search(answer) else ""
    except OSError:
        return ""
    finally:
        termios.tcsetattr(device, termios.TCSANOW, before)


_ANSWERED = re.compile(r"\x1b\[\?[\d;]*c")


def _exchange(device: int, query: str, patience: float) -> str:
    """Send a query that ends with one for abilities, and read until that is answered, or for so many seconds."""
    import select

    os.write(sys.stdout.fileno(), query.encode())
    answer = ""
    end = time.monotonic() + patience
    while not _ANSWERED.search(answer):
        left = end - time.monotonic()
        if left <= 0 or not select.select([device], [], [], left)[0]:
            break
        answer += os.read(device, 1024).decode("ascii", "replace")
    return answer
