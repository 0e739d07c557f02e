"""What is asked of the kernel while a person writes: names that fit, documentation, what a call takes.

Answers come later and carry the number of their question; one that comes too late is let go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel import messages as m
from .commands import documentation_text, signature_in
from .dialogs import Reader

if TYPE_CHECKING:
    from .screen import NotebookScreen

__all__ = ["Asking"]


class Asking:
    """The questions of one notebook screen."""

    def __init__(self, screen: NotebookScreen) -> None:
        self.screen = screen
        self._completion: int | None = None
        self._documentation: int | None = None
        self._signature: int | None = None

    def can_complete(self) -> bool:
        """Tab completes after a name or a dot, and indents elsewhere."""
        editor = self.screen.pane.editor
        if editor.code != "python" or not editor.selection.is_empty:
            return False
        row, column = editor.cursor_location
        before = editor.document.get_line(row)[:column]
        return bool(before) and (before[-1].isalnum() or before[-1] in "._")

    def completions(self) -> None:
        """Ask the kernel for names that fit at the cursor."""
        if self.screen.session.info.state == "dead":
            self.screen.notify("The kernel is not running; completion needs it. Press Esc, then 0 0 to restart it.")
            return
        editor = self.screen.pane.editor
        self._completion = self.screen.session.complete(editor.text, editor.cursor_character)
        if self.screen.session.running is not None:
            self.screen.notify("A cell is running: the names come when it is done.", timeout=2)

    def take_completions(self, reply: m.Completions) -> None:
        editor = self.screen.pane.editor
        if reply.request != self._completion or not self.screen.pane.editing:
            return
        self._completion = None
        text, cursor = editor.text, editor.cursor_character
        typed = text[reply.start : cursor]
        matches = [match for match in dict.fromkeys(reply.matches) if match.startswith(typed)]
        if cursor < reply.start or not matches:
            self.screen.notify("Nothing fits here.", timeout=2)
        elif len(matches) == 1:
            self.insert_completion(matches[0], len(typed))
        else:
            self.screen.pane.show_completions(matches[:400], len(typed))

    def insert_completion(self, match: str, typed: int) -> None:
        editor = self.screen.pane.editor
        row, column = editor.cursor_location
        editor.replace(match, (row, column - typed), (row, column), maintain_selection_offset=False)

    def popup_key(self, key: str) -> bool:
        popup = self.screen.pane.popup
        if key in ("down", "ctrl+n"):
            popup.move(1)
        elif key in ("up", "ctrl+p"):
            popup.move(-1)
        elif key in ("enter", "tab"):
            self.insert_completion(popup.pick(), popup.prefix)
        elif key == "escape":
            popup.close()
        else:
            return False
        return True

    def signature(self) -> None:
        """An opening bracket was typed: ask what the call takes, where the kernel has time for it."""
        editor = self.screen.pane.editor
        if self.screen.pane.editing and editor.code == "python" and self.screen.session.idle:
            self._signature = self.screen.session.inspect(editor.text, max(0, editor.cursor_character - 1))

    def forget_signature(self) -> None:
        self._signature = None
        self.screen.hints.say("")

    def documentation(self) -> None:
        """Ask the kernel about the name at the cursor."""
        editor = self.screen.pane.editor
        if not editor.selection.is_empty and "\n" in editor.selected_text:
            editor.outdent()
            return
        if self.screen.session.info.state == "dead":
            self.screen.notify("The kernel is not running; documentation needs it. Press Esc, then 0 0 to restart it.")
            return
        self._documentation = self.screen.session.inspect(editor.text, editor.cursor_character)

    def take_documentation(self, reply: m.Documentation) -> None:
        if reply.request == self._signature:
            self.screen.hints.say(signature_in(reply.text) if self.screen.pane.editing else "")
            return
        if reply.request != self._documentation:
            return
        self._documentation = None
        if reply.text.strip():
            self.screen.app.push_screen(Reader("Documentation", documentation_text(reply.text)))
        else:
            self.screen.notify("Nothing is known of the name at the cursor.", timeout=2)
