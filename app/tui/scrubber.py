"""Stepping through the last recorded run: one operator a step, forward and then backward, shown in cells and tape.

A bar at the foot of the screen with the keyboard in it.  The steps come from the kernel (`messages.Recording`); the
text and the tape are only looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import events
from textual.timer import Timer
from textual.widget import Widget

from .ansi import inert
from .quantities import time_text
from .themes import Look

if TYPE_CHECKING:
    from .screen import NotebookScreen

__all__ = ["Scrubber"]

_PACE = 0.35
"""Seconds a step while it plays."""


class Scrubber(Widget, can_focus=True):
    """The bar. It is there while `display` is on."""

    DEFAULT_CSS = "Scrubber { display: none; height: 2; background: $panel; }"

    def __init__(self, screen: NotebookScreen, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._notebook = screen
        self.steps: list[dict[str, Any]] = []
        self.dropped = 0
        self.at = 0
        self._request: int | None = None
        self._timer: Timer | None = None

    def ask(self) -> None:
        """Ask for the last run (of the selected cell, where it has one) and show it when it comes."""
        cell = self._notebook.cells.current
        self._request = self._notebook.session.ask_recording(cell.id if cell is not None else None)

    def take(self, recording: Any) -> None:
        """The answer: the steps of a run."""
        if recording.request != self._request:
            return
        self._request = None
        if not recording.steps:
            self._notebook.notify(
                "There is no run to step through yet: run a cell that computes with tensors.", timeout=5
            )
            return
        self.steps, self.dropped, self.at = recording.steps, recording.dropped, 0
        self.display = True
        self._notebook.pane.stop_editing(focus=False)
        self._notebook.set_focus(self)
        self._go(0)

    def close(self) -> None:
        """Put the bar away."""
        self._stop()
        self.display = False
        self.steps = []
        self._notebook.pane.view.link({})
        self._notebook.set_focus(self._notebook.pane.view, scroll_visible=False)
        self._notebook.refresh_status()

    def _go(self, to: int) -> None:
        self.at = max(0, min(to, len(self.steps) - 1))
        step = self.steps[self.at]
        panel = self._notebook.inspector
        if not (step["cell"] and self._notebook.links.show_source(step)):
            self._notebook.pane.view.link({})
        if step["node"] is not None:
            if panel.tab == "graph":
                panel.graph.go_to_node(step["node"])
            else:
                panel.tape.go_to_node(step["node"])
            panel.refresh_head()
        self.refresh()

    def _line(self, by: int) -> None:
        """To the first step of the next (or last) other line."""
        here = (self.steps[self.at]["cell"], self.steps[self.at]["line"])
        at = self.at
        while 0 <= at + by < len(self.steps):
            at += by
            if (self.steps[at]["cell"], self.steps[at]["line"]) != here:
                break
        self._go(at)

    def _turn(self) -> None:
        """To where backward begins, or from there to the next forward step."""
        phase = self.steps[self.at]["phase"]
        later = range(self.at + 1, len(self.steps))
        self._go(next((n for n in later if self.steps[n]["phase"] != phase), 0))

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _play(self) -> None:
        if self._timer is not None:
            self._stop()
        else:
            self._timer = self.set_interval(_PACE, self._tick)
        self.refresh()

    def _tick(self) -> None:
        if self.at + 1 >= len(self.steps):
            self._stop()
        self._go(self.at + 1)

    # -- keys and mouse -----------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        page = max(1, len(self.steps) // 20)
        moves = {
            "right": 1, "l": 1, "left": -1, "h": -1, "pagedown": page, "pageup": -page,
            "home": -len(self.steps), "end": len(self.steps),
        }  # fmt: skip
        if event.key in moves:
            self._stop()
            self._go(self.at + moves[event.key])
        elif event.key in ("down", "j", "up", "k"):
            self._stop()
            self._line(1 if event.key in ("down", "j") else -1)
        elif event.key == "b":
            self._turn()
        elif event.key == "space":
            self._play()
        elif event.key in ("escape", "q", "enter"):
            self.close()
        else:
            return
        event.stop()
        event.prevent_default()

    def on_click(self, event: events.Click) -> None:
        self.focus()
        if event.y == 0 and self.steps:
            left, width = self._track()
            self._go(round((event.x - left) / max(1, width - 1) * (len(self.steps) - 1)))

    def on_mouse_scroll_down(self) -> None:
        self._go(self.at + 1)

    def on_mouse_scroll_up(self) -> None:
        self._go(self.at - 1)

    # -- painting -----------------------------------------------------------------------------------

    def _track(self) -> tuple[int, int]:
        """Where the track begins, and how wide it is."""
        label = len(f" ▶ {len(self.steps)}/{len(self.steps)} ")
        return label, max(4, self.size.width - label - 1)

    def render(self) -> Text:
        look: Look = self._notebook.look()
        text = Text(end="", no_wrap=True)
        if not self.steps:
            return text
        step = self.steps[self.at]
        left, width = self._track()
        sign = "⏸" if self._timer is not None else "▶"
        text.append(f" {sign} {self.at + 1}/{len(self.steps)}".ljust(left), look.strong)
        at = round(self.at / max(1, len(self.steps) - 1) * (width - 1))
        for column in range(width):
            index = round(column / max(1, width - 1) * (len(self.steps) - 1))
            back = self.steps[index]["phase"] == "backward"
            if column == at:
                text.append("█", look.accent)
            else:
                text.append("━", look.warning if back else look.primary if column < at else look.muted)
        text.append("\n ")
        back = step["phase"] == "backward"
        text.append("↩ backward " if back else "→ forward ", look.warning if back else look.primary)
        text.append(f"{inert(str(step['op']))} ", look.strong)
        shape = f"[{', '.join(map(str, step['shape']))}] " if step["shape"] is not None else ""
        text.append(shape, look.primary)
        if step["inputs"]:
            text.append("from " + ", ".join(str(s) for s in step["inputs"][:3]) + " ", look.muted)
        text.append(f"{inert(str(step['module']))} " if step["module"] else "", look.soft)
        text.append(time_text(step["seconds"]), look.accent)
        keys = "←→ step  ↑↓ line  B backward  Space plays  Esc ends"
        room = self.size.width - (text.cell_len - left - width) - 1
        for said in (keys, "←→ ↑↓ B Space Esc"):
            if len(said) + 2 <= room:
                text.append(" " * (room - len(said)) + said, look.muted)
                break
        return text
