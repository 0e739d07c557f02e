"""The terminal app: opens a document, offers unsaved work of an earlier session, and shows the notebook's screen.

`run_app` is what the command line calls.  What the screen does stands in screen.py.
"""

from __future__ import annotations

import asyncio
import difflib
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from rich.text import Text
from textual.binding import BindingType
from textual.driver import Driver

from ..kernel.messages import Message
from ..kernel.process import KernelProcess
from ..notebook import files, journal, recent
from ..notebook.document import Notebook
from ..notebook.errors import NotebookError
from .ansi import inert
from .commands import ask_to_recover, ask_to_save
from .direct_keys import Serial
from .graphics import Graphics, find_graphics
from .link import KernelLink
from .screen import KernelEvents, NotebookScreen
from .session import Kernel
from .settings import Settings
from .terminal_keys import install as install_terminal_keys
from .themes import THEMES

__all__ = ["TapescopeApp", "run_app"]

MakeKernel = Callable[[Callable[[Message], None], Path | None], Kernel]
"""Builds a kernel transport from its `on_event` and the folder it works in."""


class TapescopeApp(Serial):
    """The app on one document. Without a path it opens an untitled one.

    Raises NotebookError with a sentence where the document cannot be read. `make_kernel` is for tests.
    """

    TITLE = "Tapescope"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: list[BindingType] = []
    COMMANDS = set()  # the library's own: ours stand in the table of actions

    CSS = """
    ToastRack { margin-bottom: 2; }
    Toast { max-width: 70; }
    CommandPalette > Vertical { margin-top: 2; }
    """

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        device: str | None = None,
        torch: str = "auto",
        *,
        memory: int | None = None,
        graphics: Graphics | None = None,
        make_kernel: MakeKernel | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        install_terminal_keys()
        super().__init__(driver_class=driver_class)
        self._device, self._torch = device, torch
        self._make_kernel = make_kernel or self._process
        self.document = files.load(path) if path is not None else files.new_notebook()
        if not len(self.document):
            self.document.insert(0)
            self.document.dirty = False
        self.settings = Settings.load()
        self._memory = memory
        self._graphics = graphics
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self.settings.theme if self.settings.theme in self.available_themes else THEMES[0].name
        self._shown: NotebookScreen | None = None

    def _process(self, on_event: Callable[[Message], None], folder: Path | None) -> Kernel:
        return KernelProcess(on_event, device=self._device, torch=self._torch, cwd=folder, memory=self._memory)

    @property
    def notebook_screen(self) -> NotebookScreen:
        """The screen of the open document."""
        assert self._shown is not None, "the app is not running yet"
        return self._shown

    @property
    def graphics(self) -> Graphics | None:
        """What the terminal can draw beside text; None for text only, and where colours are not exact."""
        graphics = self._graphics
        if graphics is not None and graphics.as_text and self.console.color_system != "truecolor":
            return None  # kitty's placeholders name their image by their colour
        return graphics

    async def on_mount(self) -> None:
        if self._graphics is not None and self._driver is not None:
            self._graphics.write = self._driver.write
        found = self._unsaved_work()
        self._open(self.document)
        if found is not None:
            self._offer(found)
        else:
            self._warn()
            if not self.settings.toured:
                self.settings.toured = True
                self.settings.save()
                self.notify(
                    "Ctrl+P lists everything there is; “Take the tour” among it shows the place in a minute. F1 has all keys.",
                    title="For the first time here?",
                    timeout=12,
                )

    def _warn(self) -> None:
        """Say what reading the document had to put right."""
        for sentence in self.document.warnings:
            self.notify(sentence, severity="warning", timeout=10)

    def _open(self, document: Notebook) -> None:
        """Show a document; the one that was shown is closed with its kernel."""
        self.document = document
        folder = document.path.resolve().parent if document.path is not None else None
        loop = asyncio.get_running_loop()
        screen: NotebookScreen

        def deliver(events: list[Message]) -> None:
            screen.post_message(KernelEvents(events))

        def make_kernel() -> Kernel:
            return self._make_kernel(KernelLink(loop, deliver), folder)

        screen = NotebookScreen(document, make_kernel, settings=self.settings)
        if document.path is not None:
            recent.note_opened(document.path)
        if self._shown is not None:
            self._shown.session.close()
            self.switch_screen(screen)
        else:
            self.push_screen(screen)
        self._shown = screen

    def change_document(self, document: Notebook) -> None:
        """Show another document in place of the open one; unsaved changes of that are asked about first."""
        screen = self.notebook_screen
        if not len(document):
            document.insert(0)
            document.dirty = False

        def go_on() -> None:
            self._open(document)
            if (found := self._unsaved_work()) is not None and document.path is not None:
                self._offer(found)
            else:
                self._warn()

        def answered(said: str | None) -> None:
            if said == "save":
                screen.save(then=go_on)
            elif said == "discard":
                screen.keeper.discard()
                screen.keeper.unsaved = False
                go_on()

        if screen.keeper.unsaved:
            self.push_screen(ask_to_save(screen.document_name, "Save and go on"), answered)
        else:
            go_on()

    # -- recovery -----------------------------------------------------------------------------------

    def _unsaved_work(self) -> journal.Recovery | None:
        found = journal.pending(self.document.path)
        if found is None or not found.differs:
            return None
        return found

    def _offer(self, found: journal.Recovery) -> None:
        name = found.path.name if found.path is not None else "an untitled notebook"
        when = found.time.astimezone().strftime("%d %B, %H:%M")
        self.push_screen(ask_to_recover(name, when, self._difference(found)), lambda said: self._recover(said, found))

    def _difference(self, found: journal.Recovery) -> Text:
        """What the recovered text changes, cell by cell, as a unified diff."""
        try:
            recovered = journal.recover(found)
        except NotebookError as error:
            return Text(str(error))
        old, new = _lines_of(self.document), _lines_of(recovered)
        out = Text()
        for line in list(difflib.unified_diff(old, new, lineterm="", n=1))[2:400]:
            style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
            out.append(inert(line) + "\n", style)
        return out if out.plain else Text("(only outputs or the order of cells)")

    def _recover(self, said: str | None, found: journal.Recovery) -> None:
        if said == "keep":
            try:
                self._open(journal.recover(found))
            except NotebookError as error:
                self.notify(str(error), severity="error", timeout=12)
            else:
                self.notify("This is the recovered work; save it to keep it.", timeout=6)
        elif said == "discard":
            journal.discard(found)
        self._warn()

    def notify(self, message: str, **how: Any) -> None:  # type: ignore[override]
        """Say something in passing. The text is taken as it is: it may hold names and errors of the user's."""
        super().notify(message, **{**how, "markup": False})

    # -- the end ------------------------------------------------------------------------------------

    async def action_quit(self) -> None:
        """Leave; unsaved changes are asked about first."""
        screen = self.notebook_screen
        if self.screen is not screen:  # a question is open already
            return
        if not screen.keeper.unsaved:
            self.leave()
            return

        def answered(said: str | None) -> None:
            if said == "save":
                screen.save(then=self.leave)
            elif said == "discard":
                screen.keeper.discard()
                screen.keeper.unsaved = False
                self.leave()

        self.push_screen(ask_to_save(screen.document_name), answered)

    def action_help_quit(self) -> None:
        """Ctrl+C where no part of the screen uses it."""
        self.notify("Ctrl+Q quits. In command mode I I interrupts a running cell.", timeout=4)

    def _handle_exception(self, error: Exception) -> None:
        """A mistake in the app itself ends it: what was typed goes to the journal first."""
        if self._shown is not None:
            self._shown.keep_everything()
        super()._handle_exception(error)

    def leave(self) -> None:
        """End the kernel and the app."""
        self.notebook_screen.session.close()
        if self._graphics is not None:
            self._graphics.forget()
        self.exit(0)


def _lines_of(document: Notebook) -> list[str]:
    return [line for cell in document.cells for line in ("", *cell.source.split("\n"))]


def run_app(
    path: str | PathLike[str] | None = None, device: str | None = None, torch: str = "auto", memory: int | None = None
) -> int:
    """Open the terminal app on a document and return its exit code when it is left.

    Raises NotebookError with a sentence, before anything is drawn, where the document cannot be read.
    """
    app = TapescopeApp(path, device, torch, memory=memory, graphics=find_graphics())
    app.run()
    if app.return_code and app._shown is not None and app._shown.keeper.unsaved:
        print(
            "Tapescope failed. What you typed is kept; it is offered when you open the notebook again.", file=sys.stderr
        )
    return app.return_value if isinstance(app.return_value, int) else app.return_code or 0
