"""What the actions do: one method a command, on the screen that is open.

The table of actions (actions.py) gives each its name, its keys and its help.  The methods are short: the work is done
by the document, the session and the widgets.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from ..notebook.document import Cell, CellType
from ..notebook.errors import NotebookError
from . import external
from .ansi import parse
from .dialogs import Ask, Choice, Prompt, Reader
from .output_view import text_of_output
from .tool_commands import ToolCommands

if TYPE_CHECKING:
    from .screen import NotebookScreen

__all__ = ["Commands"]


class Commands(ToolCommands):
    """The commands of one notebook screen: here those that act on cells."""

    def __init__(self, screen: NotebookScreen) -> None:
        self.screen = screen

    # -- moving -------------------------------------------------------------------------------------

    def edit(self) -> None:
        self.screen.pane.start_editing()

    def leave(self) -> None:
        self.screen.leave()

    def next_cell(self) -> None:
        self.screen.select(self.screen.cells.index + 1)

    def previous_cell(self) -> None:
        self.screen.select(self.screen.cells.index - 1)

    def first_cell(self) -> None:
        self.screen.select(0)

    def last_cell(self) -> None:
        self.screen.select(len(self.screen.notebook) - 1)

    def extend_down(self) -> None:
        self.screen.select(self.screen.cells.index + 1, extend=True)

    def extend_up(self) -> None:
        self.screen.select(self.screen.cells.index - 1, extend=True)

    def page_down(self) -> None:
        self.screen.pane.view.page(1)

    def page_up(self) -> None:
        self.screen.pane.view.page(-1)

    def focus_next(self) -> None:
        self.screen.focus_next_part()

    # -- running ------------------------------------------------------------------------------------

    def run(self) -> None:
        self.screen.run_cells(self.screen.cells.selected(), follow=True)
        self._leave_text_cell()

    def _leave_text_cell(self) -> None:
        """Running a text cell shows it as it reads."""
        cell = self.screen.cells.current
        if cell is not None and cell.cell_type != "code":
            self.screen.pane.stop_editing()

    def run_advance(self) -> None:
        cells = self.screen.cells
        self.screen.run_cells(cells.selected(), follow=True)
        self.screen.pane.stop_editing()
        last = cells.range.stop - 1
        if last + 1 >= len(self.screen.notebook):
            cells.select(last)
            cells.insert(below=True)
            self.screen.select(last + 1)
            self.screen.pane.start_editing()
        else:
            self.screen.select(last + 1)

    def run_insert(self) -> None:
        cells = self.screen.cells
        self.screen.run_cells(cells.selected(), follow=True)
        self.screen.pane.stop_editing()
        cells.select(cells.range.stop - 1)
        cells.insert(below=True)
        self.screen.select(cells.index)
        self.screen.pane.start_editing()

    def run_all(self) -> None:
        self.screen.run_cells(self.screen.notebook.cells, trail=True)

    def run_above(self) -> None:
        self.screen.run_cells(self.screen.notebook.cells[: self.screen.cells.index], trail=True)

    def run_below(self) -> None:
        self.screen.run_cells(self.screen.notebook.cells[self.screen.cells.index :], trail=True)

    def interrupt(self) -> None:
        self.screen.notify(self.screen.session.interrupt(), timeout=3)
        self.screen.refresh_status()

    def restart(self) -> None:
        self.screen.restart_kernel()

    def restart_run_all(self) -> None:
        self.screen.restart_kernel()
        self.run_all()

    def kill(self) -> None:
        self.screen.session.kernel.kill()

    # -- cells --------------------------------------------------------------------------------------

    def _show(self) -> None:
        self.screen.select(self.screen.cells.index, keep=True)

    def insert_above(self) -> None:
        self.screen.cells.insert(below=False)
        self._show()

    def insert_below(self) -> None:
        self.screen.cells.insert(below=True)
        self._show()

    def delete(self) -> None:
        self.screen.cells.delete()
        self._show()

    def undo(self) -> None:
        if not self.screen.cells.undo():
            self.screen.notify("There is nothing to undo.", timeout=2)
        self._show()

    def redo(self) -> None:
        if not self.screen.cells.redo():
            self.screen.notify("There is nothing to do again.", timeout=2)
        self._show()

    def cut(self) -> None:
        self._say_cells(self.screen.cells.cut(), "cut")
        self._show()

    def copy(self) -> None:
        self._say_cells(self.screen.cells.copy(), "copied")

    def _say_cells(self, count: int, done: str) -> None:
        self.screen.notify(f"{count} cell{'s' if count != 1 else ''} {done}.", timeout=2)

    def paste(self) -> None:
        self._paste(below=True)

    def paste_above(self) -> None:
        self._paste(below=False)

    def _paste(self, *, below: bool) -> None:
        if not self.screen.cells.paste(below=below):
            self.screen.notify("No cells were cut or copied yet.", timeout=2)
        self._show()

    def move_up(self) -> None:
        self.screen.cells.move(-1)
        self._show()

    def move_down(self) -> None:
        self.screen.cells.move(1)
        self._show()

    def merge(self) -> None:
        if not self.screen.cells.merge():
            self.screen.notify("There is no cell below to merge with.", timeout=2)
        self._show()

    def split(self) -> None:
        pane = self.screen.pane
        if not pane.editing:
            self.screen.notify("A cell is split at the cursor: press Enter to put it into the text first.", timeout=4)
            return
        offset = pane.editor.cursor_character
        pane.stop_editing()
        self.screen.cells.split(offset)
        self._show()
        pane.start_editing()

    def to_code(self) -> None:
        self._change_type("code")

    def to_markdown(self) -> None:
        self._change_type("markdown")

    def to_raw(self) -> None:
        self._change_type("raw")

    def _change_type(self, cell_type: CellType) -> None:
        self.screen.cells.change_type(cell_type)
        self._show()

    # -- writing ------------------------------------------------------------------------------------

    def complete(self) -> None:
        self.screen.asking.completions()

    def documentation(self) -> None:
        self.screen.asking.documentation()

    def comment(self) -> None:
        self.screen.pane.editor.toggle_comment()

    def go_to_line(self) -> None:
        cell = self.screen.cells.current
        if cell is None:
            return
        count = cell.source.count("\n") + 1

        def go(answer: str | None) -> None:
            if answer is None:
                return
            if answer.strip().isdigit() and 1 <= int(answer) <= count:
                self.screen.pane.start_editing((int(answer) - 1, 0))
            else:
                self.screen.notify(f"The cell has lines 1 to {count}; {answer!r} is none of them.", severity="warning")

        self.screen.app.push_screen(Prompt("Go to line", f"A line of this cell, 1 to {count}"), go)

    # -- outputs ------------------------------------------------------------------------------------

    def toggle_output(self) -> None:
        self._output_mode("hidden")

    def full_output(self) -> None:
        """Of a long output: its ends, then a window that scrolls, then everything, then its ends again."""
        screen, view = self.screen, self.screen.pane.view
        cell = screen.cells.current
        if cell is None:
            return
        mode = view.output_mode(cell.id)
        long = view.long_output(screen.cells.index)
        if mode == "shown" and long is not None:
            screen.pane.stop_editing()
            view.open_window(screen.cells.index, long, at_end=cell.id == screen.session.running)
            return
        view.leave_window()
        view.set_output_mode(cell.id, "full" if mode == "scroll" else "shown")
        view.show_cell(screen.cells.index)

    def output_down(self) -> None:
        self.screen.pane.view.scroll_window(1)

    def output_up(self) -> None:
        self.screen.pane.view.scroll_window(-1)

    def output_page_down(self) -> None:
        self.screen.pane.view.scroll_window(1, pages=True)

    def output_page_up(self) -> None:
        self.screen.pane.view.scroll_window(-1, pages=True)

    def output_start(self) -> None:
        self.screen.pane.view.scroll_window(-(10**9))

    def output_end(self) -> None:
        self.screen.pane.view.scroll_window(None)

    def _output_mode(self, mode: str) -> None:
        view = self.screen.pane.view
        view.leave_window()
        for cell in self.screen.cells.selected():
            view.set_output_mode(cell.id, "shown" if view.output_mode(cell.id) == mode else mode)
        view.show_cell(self.screen.cells.index)

    def open_output(self) -> None:
        cell = self.screen.cells.current
        for output in reversed(cell.outputs if cell is not None else []):
            mime = external.openable(output)
            if mime is not None:
                self.screen.notify("Writing the file …", timeout=2)
                self.screen.run_worker(
                    partial(self._open, dict(output["data"]), mime), thread=True, group="external", exit_on_error=False
                )
                return
        self.screen.notify("This cell has no figure, image or page to open.", timeout=3)

    def _open(self, data: dict[str, object], mime: str) -> None:
        """In a worker thread: says how it went by a message, and touches no widget."""
        try:
            path = external.write_output(data, mime)
        except Exception as error:
            self.screen.tell(f"The output could not be written ({error}).", "error")
            return
        if external.open_in_browser(path):
            self.screen.tell(f"Opened {path}", "information")
        else:
            self.screen.tell(f"No browser can be opened from here. The file is {path}", "warning")

    def copy_output(self) -> None:
        cell = self.screen.cells.current
        text = "".join(text_of_output(output) for output in (cell.outputs if cell is not None else []))
        if text:
            self.screen.app.copy_to_clipboard(text)
            self.screen.notify("The output is on the clipboard.", timeout=2)
        else:
            self.screen.notify("This cell has no output in text form.", timeout=2)

    def clear_output(self) -> None:
        with self.screen.notebook.one_step():
            for cell in self.screen.cells.selected():
                self.screen.notebook.clear_outputs(cell.id)

    def clear_all(self) -> None:
        self.screen.notebook.clear_outputs()

    # -- view ---------------------------------------------------------------------------------------

    def toggle_inspector(self) -> None:
        self.screen.show_inspector(not self.screen.inspector.display)

    def show_tape(self) -> None:
        self.screen.go_to_tab("tape")

    def show_variables(self) -> None:
        self.screen.go_to_tab("variables")

    def next_tab(self) -> None:
        self.screen.inspector.step()

    def inspector_wider(self) -> None:
        self.screen.resize_inspector(1)

    def inspector_narrower(self) -> None:
        self.screen.resize_inspector(-1)

    def fold_tape(self) -> None:
        panel = self.screen.inspector
        (panel.graph if panel.tab == "graph" else panel.tape).fold_all()

    def toggle_numbers(self) -> None:
        view = self.screen.pane.view
        view.numbers = self.screen.settings.line_numbers = not view.numbers
        self.screen.settings.save()

    def screenshot(self) -> None:
        try:
            name = self.screen.app.save_screenshot(path=str(Path.cwd()))
        except OSError as error:
            self.screen.notify(f"The picture could not be written ({error}).", severity="error")
        else:
            self.screen.notify(f"The picture is {name}")

    # -- document -----------------------------------------------------------------------------------

    def save(self) -> None:
        self.screen.save()

    def save_as(self) -> None:
        self.screen.save_as()

    def palette(self) -> None:
        self.screen.app.action_command_palette()

    def help(self) -> None:
        from .help import help_text  # it lists the actions, and those are made from this class

        self.screen.app.push_screen(Reader("Help", help_text(self.screen.look(), self.screen.keymap)))

    async def quit(self) -> None:
        await self.screen.app.action_quit()


# -- questions that several commands ask ---------------------------------------------------------------


def ask_to_save(name: str, save: str = "Save and quit") -> Ask:
    """The question before a document is left, while something is unsaved."""
    return Ask(
        "Unsaved changes",
        f"{name} has changes that are not saved.",
        [
            Choice("save", save, "s", "primary"),
            Choice("discard", "Discard them", "d", "error"),
            Choice("cancel", "Stay", "t"),
        ],
        cancel="cancel",
    )


def ask_to_overwrite(name: str) -> Ask:
    """The question before a save, where the file on disk is not the one that was opened."""
    return Ask(
        "The file changed",
        f"{name} was changed on disk since you opened it. Saving puts your text in its place; the other one is kept "
        "among the earlier generations.",
        [Choice("save", "Save mine", "s", "warning"), Choice("cancel", "Do not save", "n")],
        cancel="cancel",
    )


def ask_to_recover(name: str, when: str, difference: Text) -> Ask:
    """The question at the start, where a journal holds work that was never saved."""
    return Ask(
        "Unsaved work found",
        f"Tapescope was closed without saving {name}. Work from {when} was kept; this is what it changes:",
        [Choice("keep", "Keep the work", "k", "primary"), Choice("discard", "Discard it", "d", "error")],
        cancel="later",
        body=difference,
    )


def documentation_text(text: str) -> Text:
    """Documentation from the kernel, with its colours."""
    out = Text()
    for line in parse(text):
        out.append_text(line)
        out.append("\n")
    return out


def signature_in(text: str) -> str:
    """The signature in documentation from the kernel, in one line; "" where it has none."""
    found = re.search(r"^(?:Init signature|Signature|Call signature):\s*(.+?)(?=^\w[\w ]*:|\Z)", text, re.M | re.S)
    if found is None:
        found = re.search(r"^Docstring:\s*(\w[\w.]*\(.*?\)(?: *-> *[^\n]+)?)", text, re.M | re.S)
    return " ".join(found[1].split()) if found is not None else ""


def saving_error(error: NotebookError | OSError) -> str:
    """What to say where a save failed."""
    return f"{error} Your text is safe here and in the recovery journal; try “Save as”."


def name_of(cell: Cell, index: int) -> str:
    """The short name of a cell: its count, or its place in the notebook where it has none."""
    return f"[{cell.execution_count}]" if cell.execution_count is not None else f"#{index + 1}"


def word_before(text: str, cursor: int) -> str:
    """The dotted name that ends at the cursor."""
    found = re.search(r"[\w.]*$", text[:cursor])
    return found.group() if found else ""
