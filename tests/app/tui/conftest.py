"""What the tests of the terminal app share: an app driven by Pilot, a kernel that says what it is told, the screen's text.

`open_app` is an async context manager: it opens a document given as text, with a scripted kernel (the default) or the
real one, and gives a `Driven` whose methods read as a user's steps.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from rich.console import Console
from textual.pilot import Pilot

from tapescope.app.kernel import messages as m
from tapescope.app.tui.app import TapescopeApp
from tapescope.app.tui.screen import NotebookScreen
from tapescope.app.tui.settings import Settings

SIZE = (120, 40)


class ScriptedKernel:
    """A kernel that runs nothing: it keeps what it was sent, and tests say what it answers."""

    def __init__(self, on_event: Callable[[m.Message], None], folder: Path | None) -> None:
        self.on_event = on_event
        self.folder = folder
        self.sent: list[m.Message] = []
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")
        self.on_event(m.Ready("3.11", "tapescope", "cpu", 1))

    def send(self, *commands: m.Message) -> None:
        self.sent.extend(commands)

    def interrupt(self) -> None:
        self.calls.append("interrupt")

    def restart(self, *, force: bool = False) -> None:
        self.calls.append("force" if force else "restart")

    def cancel(self, cells=None) -> None:
        self.calls.append("cancel")
        self.emit(*(m.Executed(c.cell, "aborted", 0, 0.0) for c in self.executed if cells is None or c.cell in cells))

    def kill(self) -> None:
        self.calls.append("kill")

    def close(self) -> None:
        self.calls.append("close")

    @property
    def executed(self) -> list[m.Execute]:
        return [command for command in self.sent if isinstance(command, m.Execute)]

    def emit(self, *events: m.Message) -> None:
        for event in events:
            self.on_event(event)

    def run(self, cell: str, *events: m.Message, count: int = 1, status: str = "ok") -> None:
        """Tell of a whole run of a cell, with these events in the middle."""
        self.emit(m.Status("busy", cell), *events, m.Executed(cell, status, count, 0.5), m.Status("idle"))


class Driven:
    """A running app and the hands on it."""

    def __init__(self, app: TapescopeApp, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def screen(self) -> NotebookScreen:
        return self.app.notebook_screen

    @property
    def kernel(self) -> ScriptedKernel:
        kernel = self.screen.session.kernel
        assert isinstance(kernel, ScriptedKernel)
        return kernel

    @property
    def sources(self) -> list[str]:
        return [cell.source for cell in self.screen.notebook.cells]

    def cell(self, index: int) -> str:
        """The id of a cell."""
        return self.screen.notebook.cells[index].id

    @property
    def text(self) -> str:
        """What stands on the screen, row by row."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        names = {" ": "space", "\n": "enter", "\t": "tab"}
        await self.pilot.press(*(names.get(character, character) for character in text))

    async def settle(self, seconds: float = 0.1) -> None:
        """Let what is under way (batches of kernel events, layouts) arrive on the screen."""
        await asyncio.sleep(seconds)
        await self.pilot.pause()

    async def until(self, condition: Callable[[], object], what: str = "", seconds: float = 30) -> None:
        """Wait until something is so; fails with the screen's text where it never is."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                pytest.fail(f"never happened: {what or condition}\n{self.text}")
            await asyncio.sleep(0.02)
            await self.pilot.pause()

    async def sees(self, text: str, seconds: float = 30) -> None:
        """Wait until the text stands on the screen."""
        await self.until(lambda: text in self.text, f"{text!r} on the screen", seconds)

    async def ready(self) -> None:
        """Wait for an idle kernel."""
        await self.until(lambda: self.screen.session.idle, "an idle kernel")

    def toasts(self) -> str:
        """What the app has said in passing."""
        return "\n".join(note.message for note in self.app._notifications)


@pytest.fixture
def open_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`async with open_app(text) as driven`: the app on a document with that text (percent format)."""

    monkeypatch.setenv("TAPESCOPE_CONFIG_DIR", str(tmp_path / "config"))
    settings = Settings()
    settings.toured = True
    settings.save()

    @contextlib.asynccontextmanager
    async def opened(
        text: str | None = "# %%\nx = 1\n",
        *,
        size: tuple[int, int] = SIZE,
        real: bool = False,
        name: str = "lesson.py",
        path: Path | None = None,
        crash: bool = False,
    ) -> AsyncIterator[Driven]:
        if path is None and text is not None:
            path = tmp_path / name
            path.write_text(text, encoding="utf-8")
        app = TapescopeApp(path, make_kernel=None if real else ScriptedKernel)
        async with app.run_test(size=size) as pilot:
            driven = Driven(app, pilot)
            await pilot.pause()
            try:
                yield driven
            finally:
                if app._shown is not None:
                    app.notebook_screen.session.close()
                    if not crash:  # the next opening in this test must not be offered what this one left
                        app.notebook_screen.keeper.discard()
                        app.notebook_screen.keeper.unsaved = False

    return opened


@pytest.fixture
def plain() -> Callable[[object], str]:
    """The text of something that Rich can print."""

    def text(renderable: object) -> str:
        console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
        console.print(renderable)
        return console.export_text()

    return text
