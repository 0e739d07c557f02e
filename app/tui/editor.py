"""The one live editor: a text area for the text of the cell that is being edited.

It colours the text as the cells around it are coloured, keeps indentation and brackets in order, and hands every key
that is bound to an action on to whoever owns the key map.  It knows no document: the owner loads and reads its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditHistory, EditResult, Selection, TextAreaTheme

from . import ansi
from .direct_keys import DirectKeys
from .highlight import spans
from .pictures import TAB
from .themes import Look

__all__ = ["CellEditor"]

_PAIRS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'"}
_MANY_LINES = 300
"""Above this many lines each line is coloured by itself, so that a key press stays quick."""

_KEPT_HISTORIES = 50


class CellEditor(TextArea, DirectKeys):
    """A text area that knows cells. `look` gives the styles, `key` is asked about every key first.

    `leave` is called with "up" or "down" where an arrow key would leave the text.
    """

    DEFAULT_CSS = """
    CellEditor {
        border: none; padding: 0; height: 1; overflow: hidden hidden;
        &:focus { border: none; }
    }
    """

    class CursorMoved(Message):
        """The cursor is elsewhere, or the text around it moved."""

    def __init__(self, look: Callable[[], Look], key: Callable[[events.Key], bool], *, id: str | None = None) -> None:
        super().__init__(
            "",
            id=id,
            soft_wrap=True,
            tab_behavior="indent",
            show_line_numbers=False,
            compact=True,
            max_checkpoints=1000,
        )
        self._look = look
        self._key = key
        self.leave: Callable[[str], None] = lambda towards: None
        self.cell_id: str | None = None
        self.code = "python"
        self._histories: dict[str, tuple[str, EditHistory]] = {}
        self.indent_width = TAB

    def on_mount(self) -> None:
        self.take_look()

    def take_look(self) -> None:
        """Use the styles of the present look."""
        look = self._look()
        self.styles.background = look.surface
        self.register_theme(
            TextAreaTheme(
                name=f"cells-{look.name}",
                base_style=look.code,
                gutter_style=look.faint + Style(bgcolor=look.surface),
                cursor_style=look.cursor,
                cursor_line_style=look.edit_line,
                cursor_line_gutter_style=look.muted + look.edit_line,
                bracket_matching_style=Style(underline=True, bold=True),
                selection_style=look.selection,
            )
        )
        self.theme = f"cells-{look.name}"

    # -- content ------------------------------------------------------------------------------------

    def open(self, cell_id: str, source: str, language: str, place: tuple[int, int] | None = None) -> None:
        """Edit the text of a cell, with the undo history it had when it was left; the cursor goes to `place`."""
        self.keep_history()
        self.cell_id = cell_id
        self.code = language
        with self.prevent(TextArea.Changed, TextArea.SelectionChanged):
            self.load_text(source)
            kept = self._histories.pop(cell_id, None)
            if kept is not None and kept[0] == source:
                self.history = kept[1]
            row, column = place if place is not None else (0, 0)
            self.move_cursor(self.clamp_visitable((row, column)))
        self.history.checkpoint()

    def keep_history(self) -> None:
        """Remember the undo history of the open cell, for when it is opened again with the same text."""
        if self.cell_id is None:
            return
        self._histories[self.cell_id] = (self.text, self.history)
        if len(self._histories) > _KEPT_HISTORIES:
            del self._histories[next(iter(self._histories))]
        self.history = EditHistory(max_checkpoints=1000, checkpoint_timer=2.0, checkpoint_max_characters=100)

    def replace_all(self, source: str) -> None:
        """Take over a text that was changed from outside, keeping the cursor as near as possible."""
        if source != self.text:
            place = self.cursor_location
            with self.prevent(TextArea.Changed):
                self.load_text(source)
            self.move_cursor(self.clamp_visitable(place))

    @property
    def rows(self) -> int:
        """How many rows the text takes."""
        return max(1, self.wrapped_document.height)

    @property
    def cursor_character(self) -> int:
        """The cursor's place in the text, in characters."""
        row, column = self.cursor_location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    @property
    def cursor_row(self) -> int:
        """The row of the editor in which the cursor stands (lines may be broken)."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    # -- drawing ------------------------------------------------------------------------------------

    def get_line(self, line_index: int) -> Text:
        line = self.document.get_line(line_index)
        text = Text(ansi.inert(line), end="", no_wrap=True)
        if self.document.line_count > _MANY_LINES:
            parts = spans(line, self.code)[0]
        else:
            lines = spans(self.document.text.replace("\r\n", "\n"), self.code)
            parts = lines[line_index] if line_index < len(lines) else ()
        syntax = self._look().syntax
        for start, end, part in parts:
            text.stylize(syntax[part], start, end)
        return text

    def edit(self, edit: Edit) -> EditResult:
        result = super().edit(edit)
        self._line_cache.clear()  # a quote typed here may colour lines far below
        return result

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        # The editor is as tall as its text and never scrolls; the view beneath it does.
        self._recompute_cursor_offset()
        self.post_message(self.CursorMoved())
        return Offset(0, 0)

    def place_terminal_cursor(self) -> None:
        """Put the terminal's own cursor where the editor's is: input methods draw there."""
        if self.has_focus:
            self.app.cursor_position = self.cursor_screen_offset

    # -- keys ---------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        if self._key(event) or self.cell_id is None or self._own_key(event) or await self.run_own_binding(event):
            event.stop()
            event.prevent_default()
            self._restart_blink()
        # Otherwise the base class's handler, which runs next, inserts the character.

    def _own_key(self, event: events.Key) -> bool:
        key, character = event.key, event.character
        if key in ("up", "down") and self.selection.is_empty:
            at_edge = self.cursor_row == 0 if key == "up" else self.cursor_row == self.rows - 1
            if at_edge:
                self.leave(key)
                return True
        elif key == "enter":
            self._new_line()
            return True
        elif key == "tab":
            self._indent(1)
            return True
        elif key == "backspace" and self.selection.is_empty:
            return self._delete_back()
        elif character is not None and event.is_printable and self.code == "python":
            return self._typed(character)
        return False

    def _around(self) -> tuple[str, str]:
        """The text of the line before and after the cursor."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        return line[:column], line[column:]

    def _new_line(self) -> None:
        """Break the line and keep its indentation; one step deeper after a colon or an open bracket."""
        before, after = self._around()
        indent = before[: len(before) - len(before.lstrip())]
        code = re.sub(r"#.*", "", before).rstrip() if self.code == "python" else ""
        start, end = sorted(self.selection)
        if code and code[-1] in ":([{":
            deeper = indent + " " * TAB
            if code[-1] in "([{" and after[:1] == _PAIRS[code[-1]]:
                self.replace(f"\n{deeper}\n{indent}", start, end, maintain_selection_offset=False)
                self.move_cursor((start[0] + 1, len(deeper)))
                return
            indent = deeper
        elif re.match(r"\s*(return|pass|break|continue|raise)\b", code) and indent and not after.strip():
            indent = indent[: max(0, len(indent) - TAB)]
        self.replace(f"\n{indent}", start, end, maintain_selection_offset=False)

    def _indent(self, step: int) -> None:
        """Indent (or, with -1, outdent) the selected lines; without a selection, insert up to the next stop."""
        if self.selection.is_empty and step > 0:
            width = TAB - self.get_column_width(*self.cursor_location) % TAB
            self.insert(" " * width, maintain_selection_offset=False)
            return
        if step > 0:
            self.change_lines(lambda line: " " * TAB + line if line else line)
        else:
            self.change_lines(lambda line: re.sub(rf"^ {{1,{TAB}}}", "", line))

    def outdent(self) -> None:
        """Take one step of indentation off the selected lines."""
        self._indent(-1)

    def change_lines(self, change: Callable[[str], str]) -> None:
        """Put every selected line (or the cursor's) through `change`, as one step of undo."""
        (first, _), (last, last_column) = sorted(self.selection)
        if last > first and last_column == 0:
            last -= 1
        before = [self.document.get_line(row) for row in range(first, last + 1)]
        after = [change(line) for line in before]
        if after == before:
            return
        old = self.selection
        self.replace("\n".join(after), (first, 0), (last, len(before[-1])), maintain_selection_offset=False)

        def kept(place: tuple[int, int]) -> tuple[int, int]:
            row, column = place
            if first <= row <= last:
                column = max(0, column + len(after[row - first]) - len(before[row - first]))
            return self.clamp_visitable((row, column))

        self.selection = Selection(kept(old.start), kept(old.end))

    def toggle_comment(self) -> None:
        """Comment the selected lines out, or in again where all are comments."""
        (first, _), (last, _) = sorted(self.selection)
        lines = [self.document.get_line(row) for row in range(first, last + 1)]
        full = [line for line in lines if line.strip()]
        if full and all(line.lstrip().startswith("#") for line in full):
            self.change_lines(lambda line: re.sub(r"^(\s*)# ?", r"\1", line))
        else:
            column = min((len(line) - len(line.lstrip()) for line in full), default=0)
            self.change_lines(lambda line: f"{line[:column]}# {line[column:]}" if line.strip() else line)

    def _delete_back(self) -> bool:
        before, after = self._around()
        row, column = self.cursor_location
        if before and after and _PAIRS.get(before[-1]) == after[0] and self.code == "python":
            self.delete((row, column - 1), (row, column + 1), maintain_selection_offset=False)
            return True
        if before and not before.strip(" ") and len(before) % TAB == 0:
            self.delete((row, column - TAB), (row, column), maintain_selection_offset=False)
            return True
        return False

    def _typed(self, character: str) -> bool:
        """Brackets and quotes come in pairs, where that can only be meant."""
        before, after = self._around()
        row, column = self.cursor_location
        if not self.selection.is_empty:
            if character in _PAIRS and self.selected_text:
                start, end = sorted(self.selection)
                self.replace(
                    f"{character}{self.selected_text}{_PAIRS[character]}", start, end, maintain_selection_offset=False
                )
                return True
            return False
        if after[:1] == character and character in _PAIRS.values() and self._closes(before, after, character):
            self.move_cursor((row, column + 1))
            return True
        if character not in _PAIRS or (after and after[0] not in " \t)]},:;"):
            return False
        if character in "\"'":
            # After a word a quote is an apostrophe or ends a string; after a prefix it may begin one.
            word = re.search(r"\w*$", before)
            if word and word.group() and word.group().lower() not in ("f", "r", "b", "u", "fr", "rf", "br", "rb"):
                return False
            if before.count(character) % 2 or before.endswith(character) or self._in_comment(before):
                return False
        self.insert(character + _PAIRS[character], maintain_selection_offset=False)
        self.move_cursor((row, column + 1))
        return True

    @staticmethod
    def _closes(before: str, after: str, character: str) -> bool:
        if character in "\"'":
            return before.count(character) % 2 == 1
        opening = next(a for a, b in _PAIRS.items() if b == character)
        line = before + after
        return line.count(opening) <= line.count(character)

    @staticmethod
    def _in_comment(before: str) -> bool:
        return "#" in before
