"""Questions that stand in front of the notebook: choices, a line of text, a text to read.

Each is a modal screen that gives back its answer; none knows what it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

__all__ = ["Ask", "Choice", "Prompt", "Reader"]

_FRAME = """
    align: center middle;
    & > Vertical {
        width: 76; max-width: 96%; height: auto; max-height: 90%;
        border: round $primary; background: $surface; padding: 0 1;
    }
"""


@dataclass(frozen=True)
class Choice:
    """One answer: what it gives back, what its button says, the letter that picks it."""

    value: str
    label: str
    key: str
    kind: str = "default"


class Ask(ModalScreen[str]):
    """A question with a few answers. Escape gives `cancel`; `body` is shown above the buttons and scrolls."""

    DEFAULT_CSS = f"""
    Ask {{ {_FRAME} }}
    Ask .question {{ padding: 1 1 0 1; height: auto; }}
    Ask .body {{ height: auto; max-height: 14; margin: 1 1 0 1; background: $background; padding: 0 1; scrollbar-size-vertical: 1; }}
    Ask Horizontal {{ height: auto; padding: 1 1 0 1; align-horizontal: right; }}
    Ask Button {{ margin-left: 1; min-width: 10; }}
    """

    BINDINGS: list[BindingType] = [
        Binding("escape", "answer_cancel", show=False),
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
    ]

    def __init__(
        self, title: str, question: str, choices: Sequence[Choice], *, cancel: str, body: Text | None = None
    ) -> None:
        super().__init__()
        self._title, self._question = title, question
        self._choices, self._cancel, self._body = choices, cancel, body

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = self._title
            yield Static(Text(self._question), classes="question")
            if self._body is not None:
                with VerticalScroll(classes="body"):
                    yield Static(self._body)
            with Horizontal():
                for choice in self._choices:
                    label = Text(choice.label)
                    place = choice.label.lower().find(choice.key.lower())
                    if place >= 0:
                        label.stylize("underline", place, place + len(choice.key))
                    yield Button(label, id=f"answer-{choice.value}", variant=choice.kind)  # type: ignore[arg-type]

    def on_mount(self) -> None:
        self.app.clear_notifications()  # on a small screen they would lie over the question
        self.query(Button).first().focus()

    def on_key(self, event) -> None:  # type: ignore[no-untyped-def]
        for choice in self._choices:
            if event.key.lower() == choice.key.lower():
                event.stop()
                self.dismiss(choice.value)
                return

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss((event.button.id or "").removeprefix("answer-"))

    def action_answer_cancel(self) -> None:
        self.dismiss(self._cancel)


class Prompt(ModalScreen[str | None]):
    """One line of text; Escape gives None. With `low` it stands at the lower edge and leaves the cells in view."""

    DEFAULT_CSS = f"""
    Prompt {{ {_FRAME} }}
    Prompt.-low {{ align: center bottom; background: $background 0%; }}
    Prompt.-low > Vertical {{ margin-bottom: 2; }}
    Prompt Static {{ padding: 1 1 0 1; height: auto; }}
    Prompt Input {{ margin: 1 0 0 0; }}
    Prompt .help {{ color: $text-muted; padding: 0 1; }}
    """

    BINDINGS: list[BindingType] = [Binding("escape", "cancel", show=False)]

    def __init__(
        self,
        title: str,
        question: str,
        *,
        value: str = "",
        password: bool = False,
        escape: str = "cancels",
        low: bool = False,
    ) -> None:
        super().__init__(classes="-low" if low else None)
        self._title, self._question, self._value = title, question, value
        self._password, self._escape = password, escape

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = self._title
            if self._question:
                yield Static(Text(self._question))
            yield Input(self._value, password=self._password)
            yield Static(f"Enter confirms, Esc {self._escape}", classes="help")

    def on_mount(self) -> None:
        self.app.clear_notifications()  # on a small screen they would lie over the question
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        self.dismiss(None)


class Reader(ModalScreen[None]):
    """A text to read; Escape, Enter or Q closes it."""

    DEFAULT_CSS = f"""
    Reader {{ {_FRAME} }}
    Reader > Vertical {{ width: 100; height: 80%; padding: 0; }}
    Reader VerticalScroll {{ height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }}
    """

    BINDINGS: list[BindingType] = [
        Binding("escape,enter,q,shift+tab,f1,f3", "close", show=False),
        Binding("j", "down(1)", show=False),
        Binding("k", "down(-1)", show=False),
    ]

    def __init__(self, title: str, text: RenderableType) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = self._title
            frame.border_subtitle = "Esc closes, arrows scroll"
            with VerticalScroll():
                yield Static(self._text)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        self.dismiss(None)

    def action_down(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)
