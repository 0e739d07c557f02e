"""What is said of a terminal: from its environment, and from its answer to the question about its keyboard."""

from __future__ import annotations

import sys

import pytest

from tapescope.app.terminal_abilities import colours


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, 2),
        ({"TERM": "dumb"}, 2),
        ({"TERM": "xterm"}, 16),
        ({"TERM": "xterm-256color"}, 256),
        ({"TERM": "screen-256color", "COLORTERM": "truecolor"}, 2**24),
        ({"TERM": "xterm-kitty"}, 2**24),
        ({"TERM": "xterm", "WT_SESSION": "1"}, 2**24),
    ],
)
def test_colours(environment: dict[str, str], expected: int):
    assert colours(environment) == expected


ASKING = "from tapescope.app.terminal_abilities import kitty_keyboard; print('answer', kitty_keyboard(5.0))"


@pytest.mark.parametrize(
    ("reply", "expected"), [(b"\x1b[?0u\x1b[?62;c", True), (b"\x1b[?1;2c", False)], ids=["kitty", "plain"]
)
def test_the_keyboard_is_asked(reply: bytes, expected: bool):
    """A pseudoterminal plays the terminal: it answers the question and reads what the program prints."""
    pty = pytest.importorskip("pty", reason="pseudoterminals exist on POSIX only")
    import os

    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-c", ASKING])
    seen = b""
    try:
        while b"\x1b[c" not in seen:
            seen += os.read(terminal, 1024)
        os.write(terminal, reply)
        while b"answer" not in seen or not seen.endswith(b"\n"):
            seen += os.read(terminal, 1024)
    except OSError:  # the child has closed its side
        pass
    os.waitpid(process, 0)
    os.close(terminal)
    assert f"answer {expected}".encode() in seen
