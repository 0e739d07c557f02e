"""Lists to choose from, in front of the notebook: a few rows with a filter, and a look at what the row stands for.

Also the tester that says what a key is called and means, and the pages of the tour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from .ansi import inert

__all__ = ["Item", "KeyTester", "Pages", "Picker"]


@dataclass(frozen=True)
class Item:
    """One row: what it gives back, its text, and a remark at its right."""

    value: Any
    label: str
    remark: str = ""


class Picker(ModalScreen[Any]):
    """Choose one row, or Escape for None. What is typed narrows the list; `preview` shows what a row stands for.

    `on_move` is called with the value under the cursor, `cancelled` when nothing is chosen.
    """

    DEFAULT_CSS = """
    Picker { align: center middle; }
    Picker > Vertical { width: 110; max-width: 96%; height: 80%; border: round $primary; background: $surface; }
    Picker Input { border: none; height: 1; margin: 0 1 1 1; padding: 0 1; background: $panel; }
    Picker Input:focus { border: none; }
    Picker Horizontal { height: 1fr; }
    Picker OptionList { width: 1fr; height: 1fr; border: none; background: $surface; padding: 0; scrollbar-size-vertical: 1; }
    Picker VerticalScroll { width: 1fr; height: 1fr; background: $background; padding: 0 1; scrollbar-size-vertical: 1; }
    """

    BINDINGS: list[BindingType] = [
        Binding("escape", "cancel", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "move(10)", show=False, priority=True),
        Binding("pageup", "move(-10)", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        items: Sequence[Item],
        *,
        preview: Callable[[Any], RenderableType] | None = None,
        on_move: Callable[[Any], None] | None = None,
        empty: str = "Nothing to choose from.",
        chosen: int = 0,
    ) -> None:
        super().__init__()
        self._title, self._items, self._preview, self._empty = title, list(items), preview, empty
        self._on_move = on_move
        self._chosen = chosen
        self._shown: list[Item] = []

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = self._title
            frame.border_subtitle = "Enter chooses, Esc closes, typing narrows"
            yield Input(placeholder="type to narrow the list", compact=True)
            with Horizontal():
                yield OptionList()
                if self._preview is not None:
                    with VerticalScroll():
                        yield Static(id="preview")

    def on_mount(self) -> None:
        self.app.clear_notifications()
        self._fill("")
        self.query_one(OptionList).highlighted = min(self._chosen, len(self._shown) - 1) if self._shown else None
        self.query_one(Input).focus()

    def _fill(self, wanted: str) -> None:
        words = wanted.lower().split()
        self._shown = [
            item for item in self._items if all(word in f"{item.label} {item.remark}".lower() for word in words)
        ]
        options = self.query_one(OptionList)
        options.clear_options()
        for item in self._shown:
            text = Text(inert(item.label), no_wrap=True, overflow="ellipsis")
            if item.remark:
                text.append(f"  {inert(item.remark)}", "dim")
            options.add_option(Option(text))
        if not self._shown:
            options.add_option(Option(Text(self._empty, "dim"), disabled=True))
        else:
            options.highlighted = 0

    def on_input_changed(self, event: Input.Changed) -> None:
        self._fill(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._choose(self.query_one(OptionList).highlighted)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option_index)

    def _choose(self, index: int | None) -> None:
        if index is not None and index < len(self._shown):
            self.dismiss(self._shown[index].value)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index >= len(self._shown):
            return
        value = self._shown[event.option_index].value
        if self._on_move is not None:
            self._on_move(value)
        if self._preview is not None:
            self.query_one("#preview", Static).update(self._preview(value))

    def action_move(self, by: int) -> None:
        options = self.query_one(OptionList)
        if self._shown:
            options.highlighted = max(0, min((options.highlighted or 0) + by, len(self._shown) - 1))

    def action_cancel(self) -> None:
        self.dismiss(None)


class KeyTester(ModalScreen[None]):
    """Says what each pressed key is called here and what it means; Escape twice closes it.

    `describe` gives the meanings of a key in each mode.
    """

    DEFAULT_CSS = """
    KeyTester { align: center middle; }
    KeyTester > Vertical { width: 76; max-width: 96%; height: 18; border: round $primary; background: $surface; padding: 1 2; }
    """

    def __init__(self, describe: Callable[[str], list[tuple[str, str]]], path: str) -> None:
        super().__init__()
        self._describe, self._path = describe, path
        self._last = ""
        self._rows: list[Text] = []

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = "Key tester"
            frame.border_subtitle = "Esc twice closes"
            yield Static()

    def on_mount(self) -> None:
        self._draw()

    def _draw(self) -> None:
        text = Text("Press keys: this is what the terminal sends, and what it means in each mode.\n", "dim")
        text.append(f"Keys of your own go into {self._path}\n\n", "dim")
        for row in self._rows[-9:]:
            text.append_text(row)
        self.query_one(Static).update(text)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key == "escape" == self._last:
            self.dismiss(None)
            return
        self._last = event.key
        meanings = self._describe(event.key)
        row = Text.assemble((f"{event.key:<17} ", "bold"))
        row.append(
            "; ".join(f"{mode}: {meaning}" for mode, meaning in meanings) or "nothing", "" if meanings else "dim"
        )
        row.append("\n")
        self._rows.append(row)
        self._draw()


class Pages(ModalScreen[None]):
    """Texts to page through: (title, text) each. The arrows or Enter turn the page, Escape closes."""

    DEFAULT_CSS = """
    Pages { align: center middle; }
    Pages > Vertical { width: 76; max-width: 96%; height: auto; max-height: 94%; border: round $accent; background: $surface; padding: 1 2; }
    Pages Static { height: auto; }
    """

    BINDINGS: list[BindingType] = [
        Binding("escape,q", "close", show=False),
        Binding("right,enter,space,pagedown,l,j", "turn(1)", show=False),
        Binding("left,backspace,pageup,h,k", "turn(-1)", show=False),
    ]

    def __init__(self, pages: Sequence[tuple[str, RenderableType]]) -> None:
        super().__init__()
        self._pages = pages
        self._at = 0

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static()

    def on_mount(self) -> None:
        self.app.clear_notifications()
        self.action_turn(0)

    def action_turn(self, by: int) -> None:
        if self._at + by >= len(self._pages):
            self.dismiss(None)
            return
        self._at = max(0, self._at + by)
        title, text = self._pages[self._at]
        frame = self.query_one(Vertical)
        frame.border_title = title
        last = self._at + 1 == len(self._pages)
        frame.border_subtitle = (
            f"{self._at + 1} of {len(self._pages)}   Enter {'closes' if last else 'goes on'}, Esc ends"
        )
        self.query_one(Static).update(text)

    def on_click(self) -> None:
        self.action_turn(1)

    def action_close(self) -> None:
        self.dismiss(None)
