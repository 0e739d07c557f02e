"""Images in real pixels: which terminals get them, that each protocol carries the image, and that nothing is drawn over it."""

from __future__ import annotations

import base64
import os
import re
import zlib

import numpy as np
import pytest

from tapescope.app.kernel import messages as m
from tapescope.app.tui import graphics
from tapescope.app.tui.graphics import Graphics, choose, png
from tapescope.app.tui.image_view import decode_png, fit_image
from tapescope.app.tui.sixel import palette, sixel


def picture(height: int, width: int) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    return np.stack([x // 8 * 40 % 256, y // 5 * 50 % 256, (x + y) // 16 % 2 * 255], axis=-1).astype(np.uint8)


def read_sixels(text: str) -> np.ndarray:
    """A small reader of the format, for images without transparent pixels."""
    body = re.fullmatch(r"\x1bP0;1;0q\"1;1;(\d+);(\d+)(.*)\x1b\\", text, re.DOTALL)
    assert body is not None
    width, height = int(body[1]), int(body[2])
    out = np.full((height + 6, width, 3), -1.0)
    colours, colour, x, y = {}, 0, 0, 0
    for token in re.finditer(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)(.)|([$-])|([?-~])", body[3]):
        if token[1]:
            colour = int(token[1])
            if token[2]:
                colours[colour] = [int(token[n]) * 255 / 100 for n in (2, 3, 4)]
        elif token[7]:
            x, y = 0, y + 6 * (token[7] == "-")
        else:
            for _ in range(int(token[5] or 1)):
                bits = ord(token[6] or token[8]) - 63
                out[[y + bit for bit in range(6) if bits >> bit & 1], x] = colours[colour]
                x += 1  # noqa: SIM113
    return out[:height]


def test_sixels_are_the_image():
    """Every pixel has its colour, to the percent in which sixels count, also where the last band is not full."""
    image = picture(20, 50)
    assert np.abs(read_sixels(sixel(image)) - image).max() <= 2


def test_many_colours_become_few_that_are_near():
    """More colours than a terminal keeps: a palette of as many, and no pixel far from its own."""
    image = np.random.default_rng(0).integers(0, 256, (40, 40, 3)).astype(np.uint8)
    numbers, colours = palette(image, 64)
    assert len(colours) == 64 and np.abs(colours[numbers] - image.astype(int)).mean() < 40


def test_kitty_gets_the_image_once_and_characters_that_stand_for_it():
    """The image is sent compressed, in pieces of 4096 characters; each character names its row, column and image."""
    sent: list[str] = []
    kitty = Graphics("kitty", (10, 20), write=sent.append)
    raw = np.random.default_rng(1).integers(0, 256, (75, 61, 3)).astype(np.uint8)
    pixels = fit_image(png(raw), 80, "#102030", kitty.cell)
    assert (pixels.columns, pixels.rows) == (7, 4)
    lines = kitty.lines(pixels)
    assert kitty.lines(pixels)[0].plain == lines[0].plain and len(sent) == 1
    pieces = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", sent[0])
    assert all(len(body) <= 4096 for _, body in pieces) and [p[0][-1] for p in pieces] == ["1"] * (len(pieces) - 1) + [
        "0"
    ]
    facts = dict(pair.split("=") for pair in pieces[0][0].split(","))
    assert facts["U"] == "1" and (facts["c"], facts["r"], facts["s"], facts["v"]) == ("7", "4", "70", "80")
    body = zlib.decompress(base64.b64decode("".join(piece for _, piece in pieces)))
    assert np.array_equal(np.frombuffer(body, np.uint8).reshape(80, 70, 3)[:75, :61], raw)
    assert [line.cell_len for line in lines] == [7] * 4
    assert lines[1].plain.startswith("\U0010eeee\u030d\u0305\U0010eeee\u030d\u030d\U0010eeee\u030d\u030e")
    colour = lines[0].style.color.get_truecolor()
    assert (colour.red << 16) + (colour.green << 8) + colour.blue == int(facts["i"])
    kitty.forget()
    assert f"a=d,d=I,i={facts['i']}" in sent[-1]


def test_iterm2_gets_each_row_as_an_image():
    """The rows put together are the image."""
    iterm = Graphics("iterm2", (10, 20))
    image = picture(60, 80)
    pixels = fit_image(png(image), 80, "#000000", iterm.cell)
    rows = [re.fullmatch(r"\x1b\]1337;File=([^:]*):([^\x07]*)\x07", iterm.sequence(pixels, n)) for n in range(3)]
    assert all("width=8;height=1" in row[1] for row in rows)
    assert np.array_equal(np.concatenate([decode_png(base64.b64decode(row[2])) for row in rows]), image)


@pytest.mark.parametrize(
    ("answer", "environment", "protocol"),
    [
        ("\x1bP>|kitty(0.35.1)\x1b\\\x1b[6;20;10t\x1b[?62;c", {}, "kitty"),
        ("\x1bP>|kitty(0.26.5)\x1b\\\x1b[?62;c", {}, None),
        ("\x1bP>|ghostty 1.1.0\x1b\\\x1b[?62;22;52c", {}, "kitty"),
        ("\x1bP>|WezTerm 20240203\x1b\\\x1b[?65;4;6;18;22c", {}, "iterm2"),
        ("\x1b[?1;2c", {"LC_TERMINAL": "iTerm2"}, "iterm2"),
        ("\x1bP>|XTerm(379)\x1b\\\x1b[?63;1;2;4;6;9;15;16;22;28c", {}, "sixel"),
        ("\x1bP>|XTerm(379)\x1b\\\x1b[?64;1;2;6;9;15;18;21;22c", {}, None),
        ("", {}, None),
    ],
)
def test_a_terminal_is_believed(answer, environment, protocol):
    """What it says of itself decides; one that says nothing gets text."""
    assert choose(answer, environment) == protocol


def test_cells_and_colours_are_what_the_terminal_says():
    """Pixels of a character, colours of a sixel image; nonsense is not taken."""
    assert graphics.cell_of("\x1b[6;18;9t") == (9, 18) and graphics.cell_of("\x1b[6;0;0t") is None
    assert graphics.colours_of("\x1b[?1;0;16S") == 16 and graphics.colours_of("\x1b[?1;0;1024S") == 256


@pytest.mark.parametrize("name", ["TMUX", "STY"])
def test_under_a_multiplexer_nothing_is_asked(monkeypatch, name):
    """tmux and screen would show the sequences as text."""
    monkeypatch.setenv(name, "x")
    monkeypatch.delenv("TAPESCOPE_GRAPHICS", raising=False)
    monkeypatch.setattr(graphics.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(graphics.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(graphics, "_ask", lambda: pytest.fail("asked"))
    assert graphics.find_graphics() is None


async def test_sixels_lie_over_the_text_unless_something_else_does(open_app):
    """An image's rows are sent behind its half blocks; under a question they are not; what is scrolled away is not."""
    async with open_app("# %%\nx = 1\n" + "\n# %%\ny = 2\n" * 30) as user:
        view = user.screen.pane.view
        view.graphics = Graphics("sixel", (10, 20))
        view.reframe()
        cell = user.cell(0)
        await user.press("ctrl+j")
        image = base64.b64encode(png(picture(100, 200))).decode()
        user.kernel.run(cell, m.DisplayData(cell, {"image/png": image, "text/plain": "<image>"}))
        await user.sees("200 × 100 pixels")
        assert "▀" in user.text

        def drawn() -> int:
            update = user.app.screen._compositor.render_update(full=True)
            return update.render_segments(user.app.console).count("\x1bP0;1;0q")

        await user.until(lambda: drawn() == 5)
        user.screen.act("pick_theme")
        await user.pilot.pause()
        assert drawn() == 0
        await user.press("escape")
        await user.until(lambda: drawn() == 5)
        view.scroll_to(y=4, animate=False)
        await user.settle()
        assert drawn() == 3 or drawn() == 2


@pytest.mark.skipif(os.name != "posix", reason="there are no pseudo terminals")
@pytest.mark.parametrize("answers", [True, False])
def test_a_terminal_is_asked_for_its_name_only_when_it_answers(monkeypatch, answers):
    """A made-up terminal at the other end of a pseudo terminal: sixel by its abilities; a silent one gets text."""
    import pty
    import threading

    for name in ("TMUX", "STY", "TAPESCOPE_GRAPHICS", "LC_TERMINAL", "TERM_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    there, here = pty.openpty()
    asked = bytearray()

    def terminal() -> None:
        while not asked.endswith(b"\x1b[>q\x1b[c"):
            try:
                asked.extend(os.read(there, 100))
            except OSError:
                return
            if answers and asked.endswith(b"\x1b[c"):
                name = b"\x1bP>|some terminal\x1b\\" if b">q" in asked else b"\x1b[6;18;9t\x1b[?1;0;64S"
                os.write(there, name + b"\x1b[?62;4c")

    with open(here, "rb", buffering=0) as stdin, open(os.dup(here), "wb", buffering=0) as stdout:
        monkeypatch.setattr(graphics.sys, "stdin", stdin)
        monkeypatch.setattr(graphics.sys, "stdout", stdout)
        monkeypatch.setattr(graphics, "_PATIENCE", 2.0 if answers else 0.05)
        thread = threading.Thread(target=terminal, daemon=True)
        thread.start()
        found = graphics.find_graphics()
    if answers:
        thread.join(5)
        assert found is not None and (found.protocol, found.cell, found.colours) == ("sixel", (9, 18), 64)
    else:
        assert found is None and b">q" not in asked
    os.close(there)
