"""A picture of the app at work: opens a notebook, runs it, and writes the screen as SVG.

    python -m tapescope.app.tui.screenshot examples/01_digits.py docs/app.svg --do cost_gutter graph

The app runs without a terminal, with the real kernel.  Nothing is written to the notebook's file.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..notebook.errors import NotebookError
from ..notebook.state import STATE_VARIABLE
from .app import TapescopeApp
from .settings import CONFIG_VARIABLE

__all__ = ["main", "take"]

FONT = "SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


async def take(
    path: str | Path,
    *,
    size: tuple[int, int] = (120, 40),
    theme: str = "",
    keys: Sequence[str] = (),
    do: Sequence[str] = (),
    select: int | None = None,
    device: str | None = None,
    run: bool = True,
    seconds: float = 300,
) -> str:
    """The SVG text of the app after it ran all cells of a notebook, selected a cell, carried out actions and got `keys`.

    `select` is the index of a cell, `do` names of actions (`actions.by_name`). Settings and unsaved work of the person who
    makes the picture are left out.

    TimeoutError where the cells do not end within `seconds`, NotebookError where the notebook cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="tapescope-") as folder, _state_in(folder):
        return await _take(path, size, theme, keys, do, select, device, run, seconds)


@contextlib.contextmanager
def _state_in(folder: str) -> Iterator[None]:
    """The app keeps its state in a folder for a while."""
    names = (STATE_VARIABLE, CONFIG_VARIABLE)
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, folder))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


async def _take(
    path: str | Path,
    size: tuple[int, int],
    theme: str,
    keys: Sequence[str],
    do: Sequence[str],
    select: int | None,
    device: str | None,
    run: bool,
    seconds: float,
) -> str:
    app = TapescopeApp(path, device, "tapescope")
    app.settings.toured = True
    async with app.run_test(size=size) as pilot:
        if theme:
            app.theme = theme
        screen = app.notebook_screen
        app.clear_notifications()
        end = time.monotonic() + seconds

        async def idle() -> None:
            while not screen.session.idle:
                if time.monotonic() > end:
                    raise TimeoutError(f"the cells of {path} did not end within {seconds:g} s")
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.2)  # the last batch of events
            await pilot.pause()

        await idle()
        if run:
            screen.act("run_all")
            await idle()
        if select is not None:
            screen.select(select)
        for name in do:
            screen.act(name)
            await idle()
        await pilot.press(*keys)
        await idle()
        app.clear_notifications()
        await pilot.pause(0.2)
        picture = app.export_screenshot(title=f"tapescope {Path(path).name}", simplify=True)
        screen.session.close()
        screen.keeper.discard()
        screen.keeper.unsaved = False
    # The page that shows the picture should fetch no font for it.
    return _own_fonts(picture)


def _own_fonts(svg: str) -> str:
    """The SVG with fonts that readers have, in place of ones it would fetch."""
    while (start := svg.find("@font-face")) >= 0:
        svg = svg[:start] + svg[svg.index("}", start) + 1 :]
    return svg.replace("Fira Code, monospace", FONT)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of this module; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tapescope.app.tui.screenshot", description="Picture a notebook.")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("output", type=Path, help="the SVG file to write")
    parser.add_argument("--size", default="120x40", help="columns x rows (default: 120x40)")
    parser.add_argument("--theme", default="tapescope-dark")
    parser.add_argument("--device", default=None)
    parser.add_argument("--keys", default="", help="keys to press after the run, with spaces between")
    parser.add_argument("--do", nargs="*", default=[], metavar="ACTION", help="actions to carry out before the keys")
    parser.add_argument("--select", type=int, default=None, metavar="N", help="the cell to select, counted from 0")
    options = parser.parse_args(arguments)
    try:
        width, height = (int(n) for n in options.size.split("x"))
    except ValueError:
        parser.error(f"--size is columns x rows, such as 120x40, not {options.size!r}")
    try:
        picture = asyncio.run(
            take(
                options.notebook,
                size=(width, height),
                theme=options.theme,
                keys=options.keys.split(),
                do=options.do,
                select=options.select,
                device=options.device,
            )
        )
        options.output.write_text(picture, encoding="utf-8")
    except (NotebookError, OSError) as error:
        print(f"tapescope: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
