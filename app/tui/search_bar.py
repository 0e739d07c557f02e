"""The bar for find and replace at the foot of the cells: two lines of text, three switches, a count.

It takes what is typed and says what is wanted; finding and replacing is done by whoever owns the document.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from ..notebook.search import Query
from .themes import Look

__all__ = ["SearchBar"]

_SWITCHES = (("regex", "Regex", "alt+r"), ("case", "Case", "alt+c"), ("word", "Word", "alt+w"))


class _Switches(Static):
    """The switches, each with its key; a click turns one."""

    DEFAULT_CSS = "_Switches { width: 1fr; height: 1; }"

    def __init__(self, bar: SearchBar) -> None:
        super().__init__()
        self._bar = bar
        self._spans: list[tuple[int, int, str]] = []

    def render(self) -> Text:
        look = self._bar.look()
        text = Text(end="", no_wrap=True)
        self._spans = []
        for name, label, key in _SWITCHES:
            on = self._bar.on[name]
            start = text.cell_len
            text.append("■ " if on else "□ ", look.accent if on else look.muted)
            text.append(label, look.text if on else look.muted)
            text.append(f" {key.title()}", look.faint)
            self._spans.append((start, text.cell_len, name))
            text.append("  ")
        count = self._bar.count_text
        style = look.error if self._bar.wrong else look.soft
        room = self.size.width - text.cell_len
        if len(count) + 1 > room:
            text.truncate(max(0, self.size.width - len(count) - 2))
        text.append(" " * max(1, self.size.width - text.cell_len - len(count) - 1))
        text.append(count, style)
        return text

    def on_click(self, event: events.Click) -> None:
        for start, end, name in self._spans:
            if start <= event.x < end:
                self._bar.turn(name)


class _Field(Input):
    """A field that asks the bar about a key first: terminals give Alt with a letter the letter's character."""

    async def _on_key(self, event: events.Key) -> None:
        bar = next((node for node in self.ancestors if isinstance(node, SearchBar)), None)
        if bar is not None and bar.take_key(event.key):
            event.stop()
            event.prevent_default()


class SearchBar(Container):
    """Find and replace. It is there while `display` is on."""

    DEFAULT_CSS = """
    SearchBar { display: none; height: auto; background: $panel; padding: 0 1; }
    SearchBar Horizontal { height: 1; }
    SearchBar .label { width: 9; color: $text-muted; }
    SearchBar .help { width: auto; color: $text-muted; }
    SearchBar Input { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
    SearchBar Input:focus { border: none; background: $surface; }
    """

    @dataclass
    class Asked(Message):
        """Something is wanted: "changed", "next", "previous", "replace", "replace_all", "close", "edit"."""

        what: str

    def __init__(self, look: Callable[[], Look], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.look = look
        self.on = {name: False for name, _, _ in _SWITCHES}
        self.count_text = ""
        self.wrong = False
        self._find = _Field(id="find", compact=True, placeholder="in all cells")
        self._with = _Field(id="with", compact=True, placeholder="nothing: the finds are removed")
        self._switches = _Switches(self)

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static("Find", classes="label")
            yield self._find
            yield Static(" Enter next, Shift+Enter back", classes="help")
        with Horizontal():
            yield Static("Replace", classes="label")
            yield self._with
            yield Static(" Enter one, Alt+A all, Esc ends", classes="help")
        yield self._switches

    @property
    def query_wanted(self) -> Query:
        """What is looked for."""
        return Query(self._find.value, **self.on)

    @property
    def replacement(self) -> str:
        """What is put in its place."""
        return self._with.value

    def open(self, pattern: str = "", *, replace: bool = False) -> None:
        """Show the bar and put the keyboard into it."""
        self.display = True
        if pattern:
            self._find.value = pattern
        self.screen.set_focus(self._with if replace and self._find.value else self._find)
        if self._find.value and not replace:
            self._find.action_select_all()
        self.post_message(self.Asked("changed"))

    def say(self, text: str, *, wrong: bool = False) -> None:
        """How many there are, or what is wrong."""
        self.count_text, self.wrong = text, wrong
        self._switches.refresh()

    def turn(self, name: str) -> None:
        """Turn a switch."""
        self.on[name] = not self.on[name]
        self._switches.refresh()
        self.post_message(self.Asked("changed"))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input is self._find:
            self.post_message(self.Asked("changed"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Asked("next" if event.input is self._find else "replace"))

    def take_key(self, key: str) -> bool:
        """Do what a key means in the bar; False where it means nothing there."""
        switch = next((name for name, _, wanted in _SWITCHES if wanted == key), None)
        if switch is not None:
            self.turn(switch)
        elif key in ("shift+enter", "up", "alt+enter", "shift+f3"):
            self.post_message(self.Asked("previous"))
        elif key in ("down", "f3"):
            self.post_message(self.Asked("next"))
        elif key in ("alt+a", "ctrl+alt+enter"):
            self.post_message(self.Asked("replace_all"))
        elif key in ("tab", "shift+tab"):
            self.screen.set_focus(self._with if self._find.has_focus else self._find)
        elif key == "escape":
            self.post_message(self.Asked("close"))
        elif key == "ctrl+j":
            self.post_message(self.Asked("edit"))
        else:
            return False
        return True
