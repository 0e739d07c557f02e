"""Draws docs/images/app.svg, the picture in the README: the app on the first notebook, after all cells ran.

    python docs/images/draw.py            # with the package installed; takes some seconds

The picture is the app's own screenshot.  It is taken from a copy of the notebook, whose file stays as it is.
"""

from __future__ import annotations

import asyncio
import html
import re
import shutil
import tempfile
import time
from pathlib import Path

from rich.cells import cell_len

from tapescope.app.tui.app import TapescopeApp

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"
SIZE = (140, 48)
SECONDS = 120


async def picture(notebook: Path) -> str:
    """The screen as SVG once every cell has run, with the loop's cell and its curve in sight."""
    app = TapescopeApp(notebook, torch="tapescope")
    async with app.run_test(size=SIZE) as pilot:
        screen = app.notebook_screen
        await _until(pilot, lambda: screen.session.idle)
        await pilot.press("f8")
        cells = screen.notebook.cells
        await _until(pilot, lambda: any("test accuracy" in str(output) for output in cells[-2].outputs))
        await _until(pilot, lambda: screen.session.idle)
        loop = next(n for n, cell in enumerate(cells) if "optimizer.step()" in cell.source)
        await pilot.press("g", "g")
        for _ in range(loop):
            await pilot.press("j")
        await pilot.pause(0.5)
        await pilot.press("t")
        await pilot.press(*["down"] * 9)
        await pilot.pause(1.0)
        drawn = app.export_screenshot(title="Tapescope")
        screen.session.close()
        screen.keeper.discard()
        screen.keeper.unsaved = False
    return portable(drawn)


def portable(svg: str) -> str:
    """The same picture without fonts from elsewhere, and with every word placed by itself (braille dots
    one by one: fonts disagree about their width).

    Textual names a font on a server of others, and relies on `textLength` and on spaces that are kept, which not every
    program that shows SVG knows.
    """
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code, monospace", "monospace")
    return _TEXT.sub(_words, svg)


_TEXT = re.compile(r'<text class="(?P<style>[^"]+-r\d+)" x="(?P<x>[\d.]+)" (?P<rest>y=.*?)>(?P<text>.*?)</text>')
_CELL = 12.2
"""Width of a character, as Rich lays it out."""


def _words(match: re.Match[str]) -> str:
    rest = re.sub(r'textLength="[^"]*" ?', "", match["rest"])
    text = html.unescape(match["text"])
    return "".join(
        f'<text class="{match["style"]}" x="{float(match["x"]) + cell_len(text[: word.start()]) * _CELL:.1f}" '
        f'textLength="{cell_len(word[0]) * _CELL:.1f}" lengthAdjust="spacingAndGlyphs" {rest}>'
        f"{html.escape(word[0])}</text>"
        for word in re.finditer("[^\xa0 \u2800-\u28ff]+|[\u2801-\u28ff]", text)
    )


async def _until(pilot, condition) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the notebook did not come to its end")
        await asyncio.sleep(0.05)
        await pilot.pause()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "examples")
        shutil.copytree(EXAMPLES, copy)
        drawn = asyncio.run(picture(copy / "01_digits.py"))
    target = HERE / "app.svg"
    target.write_text(drawn, encoding="utf-8")
    print(f"{target}: {len(drawn) / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
