"""What the terminal at hand can show and send: size, colours, Unicode, and the kitty keyboard protocol.

Sizes and colours come from the environment; the keyboard is asked with an escape sequence, because no variable tells.
It draws nothing, and leaves the terminal's modes as they were.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Abilities:
    """`colours` is 2, 8, 16, 256 or 2**24; `terminal` is False where the output goes elsewhere."""

    terminal: bool
    name: str
    columns: int
    rows: int
    colours: int
    unicode: bool
    kitty_keyboard: bool


def abilities() -> Abilities:
    """The abilities of the terminal on stdout."""
    terminal = sys.stdout.isatty()
    columns, rows = shutil.get_terminal_size()
    return Abilities(
        terminal=terminal,
        name=os.environ.get("TERM_PROGRAM") or os.environ.get("TERM") or "unknown",
        columns=columns,
        rows=rows,
        colours=colours(os.environ),
        unicode="utf" in (sys.stdout.encoding or "").lower(),
        kitty_keyboard=terminal and kitty_keyboard(),
    )


def colours(environment: os._Environ[str] | dict[str, str]) -> int:
    """How many colours the environment promises; `NO_COLOR` is a wish of the user's and does not matter here."""
    term = environment.get("TERM", "")
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith(("-direct", "-kitty")):
        return 2**24
    if environment.get("WT_SESSION"):  # Windows Terminal sets no COLORTERM
        return 2**24
    if "256color" in term:
        return 256
    return 2 if term in ("", "dumb") else 16


def kitty_keyboard(seconds: float = 0.3) -> bool:
    """Whether the terminal speaks the kitty keyboard protocol, so that Shift+Enter differs from Enter.

    It is asked for its keyboard flags and then for its device attributes, which every terminal answers: what came
    before that answer tells.  False where nothing can be asked (no terminal, Windows) and after `seconds` of silence.
    """
    try:
        import termios
        import tty
    except ImportError:  # Windows
        return False
    try:
        device = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return False
    try:
        modes = termios.tcgetattr(device)
        try:
            tty.setcbreak(device, termios.TCSANOW)
            os.write(device, b"\x1b[?u\x1b[c")
            return b"u" in _reply(device, seconds)
        finally:
            termios.tcsetattr(device, termios.TCSANOW, modes)
    except (OSError, termios.error):
        return False
    finally:
        os.close(device)


def _reply(device: int, seconds: float) -> bytes:
    """What the terminal answers, up to its device attributes (`ESC [ ? ... c`)."""
    end = time.monotonic() + seconds
    reply = b""
    while not re.search(rb"\x1b\[\?[\d;]*c", reply):
        left = end - time.monotonic()
        if left <= 0 or not select.select([device], [], [], left)[0]:
            break
        reply += os.read(device, 1024)
    return reply
