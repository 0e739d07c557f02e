"""The two lines at the foot of the screen: what is open and what the kernel does, and which keys are at hand.

`compose_status` is plain data in, text out; the widgets only draw it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import Static

from .ansi import inert
from .session import KernelInfo
from .themes import Look

__all__ = ["HintBar", "StatusBar", "StatusFacts", "compose_status"]

_SPIN = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@dataclass
class StatusFacts:
    """Everything the status line says. `failed` is the cell at which the last run ended."""

    file: str = "untitled"
    unsaved: bool = False
    changed_on_disk: bool = False
    kernel: KernelInfo = field(default_factory=KernelInfo)
    running: str = ""
    elapsed: float = 0.0
    waiting: int = 0
    failed: str = ""
    impatient: bool = False
    mode: str = "command"
    cell: int = 0
    cells: int = 0
    line: int | None = None
    column: int | None = None
    pending: str = ""


def _kernel_text(facts: StatusFacts) -> tuple[str, str]:
    """What the kernel does, and the name of the style it is said in."""
    kernel = facts.kernel
    spin = _SPIN[int(facts.elapsed * 10) % len(_SPIN)]
    if kernel.state == "dead":
        return f"✗ dead, 0 0 restarts it: {kernel.reason or 'the kernel is not running.'}", "error"
    if kernel.stage == 1 and facts.running:
        if facts.impatient:
            return f"{facts.running} does not stop: I I forces a restart", "error"
        return f"{spin} interrupting {facts.running}", "warning"
    if kernel.stage == 2 and kernel.state == "starting":
        return ("the kernel does not leave: I I kills it" if facts.impatient else "forcing a restart"), "warning"
    if kernel.stage == 3:
        return "killing the kernel", "warning"
    if kernel.state == "starting":
        return "kernel starting" + (f", {facts.waiting} waiting" if facts.waiting else ""), "muted"
    if facts.running:
        took = (
            f"{facts.elapsed:.1f} s" if facts.elapsed < 60 else f"{facts.elapsed // 60:.0f}:{facts.elapsed % 60:02.0f}"
        )
        rest = f", {facts.waiting} waiting" if facts.waiting else ""
        return f"{spin} running {facts.running}, {took}{rest}", "accent"
    if kernel.state == "busy":
        return "● busy", "accent"
    keys = "Esc E" if facts.mode == "edit" else "E"
    return (f"○ idle, {facts.failed} failed ({keys})", "error") if facts.failed else ("○ idle", "success")


def compose_status(facts: StatusFacts, width: int, look: Look) -> Text:
    """The status line in `width` columns. What matters least is left out first where it does not fit."""
    styles: dict[str, Style] = {
        name: getattr(look, name) for name in ("error", "warning", "muted", "accent", "success", "text", "strong")
    }
    name, mark = (
        inert(facts.file),
        (" ●" if facts.unsaved else "") + (" changed on disk" if facts.changed_on_disk else ""),
    )
    kernel, kernel_style = _kernel_text(facts)
    torch = f"torch is {facts.kernel.torch}" if facts.kernel.torch else ""
    device = facts.kernel.device
    place = f"{facts.cell}/{facts.cells}"
    if facts.line is not None:
        place = f"line {facts.line}, column {facts.column}"
    mode = {
        "command": "COMMAND",
        "edit": "EDIT",
        "inspector": "PANEL",
        "search": "FIND",
        "steps": "STEPS",
        "output": "OUTPUT",
    }.get(facts.mode, facts.mode.upper())
    if facts.pending:
        mode = f"{facts.pending} …"
    mode_style = {"edit": look.success, "command": look.primary}.get(facts.mode, look.accent)
    parts = [name + mark, kernel, torch, device, place, mode]
    # Drop, in this order: what torch means, the device, the place, the name.
    for drop in (2, 3, 4, 0):
        if sum(cell_len(p) + 3 for p in parts if p) <= width:
            break
        parts[drop] = ""
    text = Text(" ", end="", no_wrap=True)
    if parts[0]:
        text.append(name, look.strong)
        text.append(mark, look.accent)
        text.append("  ")
    text.append(kernel, styles[kernel_style])
    right = Text(end="", no_wrap=True)
    for part, style in ((parts[2], look.soft), (parts[3], look.soft), (parts[4], look.muted)):
        if part:
            right.append(part, style)
            right.append("  ")
    right.append(f" {mode} ", mode_style + Style(reverse=True, bold=True))
    text.truncate(max(1, width - right.cell_len - 1), overflow="ellipsis")
    text.append(" " * max(1, width - text.cell_len - right.cell_len))
    text.append_text(right)
    return text


class StatusBar(Static):
    """The status line."""

    DEFAULT_CSS = "StatusBar { height: 1; width: 1fr; background: $panel; }"

    def __init__(self, look: Callable[[], Look], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look = look
        self.facts = StatusFacts()

    def take(self, facts: StatusFacts) -> None:
        """Show other facts."""
        if facts != self.facts:
            self.facts = facts
            self.refresh()

    def render(self) -> Text:
        return compose_status(self.facts, self.size.width, self._look())


class HintBar(Static):
    """Keys and what they do; a click does it as well."""

    DEFAULT_CSS = "HintBar { height: 1; width: 1fr; }"

    @dataclass
    class Clicked(Message):
        """A hint was clicked."""

        action: str

    def __init__(self, look: Callable[[], Look], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look = look
        self._hints: list[tuple[str, str, str]] = []
        self._spans: list[tuple[int, int, str]] = []
        self._said = ""

    def say(self, text: str) -> None:
        """Show a line of text in place of the hints; "" brings them back."""
        if text != self._said:
            self._said = text
            self.refresh()

    def take(self, hints: list[tuple[str, str, str]]) -> None:
        """Show other hints: (keys, label, action name)."""
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def render(self) -> Text:
        look = self._look()
        text = Text(" ", end="", no_wrap=True)
        self._spans = []
        if self._said:
            text.append(inert(self._said), look.primary)
            text.truncate(self.size.width, overflow="ellipsis")
            return text
        # Where not all fit, those at the end (the ways to all others) stay and the middle gives way.
        shown = list(self._hints)
        while len(shown) > 3 and sum(cell_len(k) + cell_len(label) + 3 for k, label, _ in shown) > self.size.width:
            shown.pop(-4 if len(shown) > 3 else -1)
        for keys, label, action in shown:
            start = text.cell_len
            text.append(keys, look.accent)
            text.append(f" {label}", look.soft)
            self._spans.append((start, text.cell_len, action))
            text.append("  ")
        return text

    def on_click(self, event: events.Click) -> None:
        for start, end, action in self._spans:
            if start <= event.x < end:
                self.post_message(self.Clicked(action))
