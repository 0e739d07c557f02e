"""The offer to mark a size as dynamic: shows the lines that would be written into the cells, and writes them.

What the lines are is decided in mark_dynamic.py; which calls there were, the kernel tells with each recompilation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ..kernel.mark_dynamic import Call, CannotWrite, Marked, argument_of, mark_calls
from .ansi import inert
from .breaks_view import Fix
from .dialogs import Ask, Choice
from .linemap import line_after

if TYPE_CHECKING:
    from .screen import NotebookScreen

__all__ = ["offer_mark"]


def offer_mark(screen: NotebookScreen, fix: Fix) -> None:
    """Ask whether the mark is to be written before the calls of a recompilation; where it cannot be, say why."""
    label, dimension = fix["dimension"]
    line = f"torch._dynamo.mark_dynamic({label}, {dimension})"
    try:
        changes = _changes(screen, fix)
    except CannotWrite as error:
        screen.app.copy_to_clipboard(line)
        screen.notify(
            f"{error} {line} is on the clipboard: put it before the call, with the name the tensor has there. "
            "Or compile with dynamic=True.",
            title="Not written",
            severity="warning",
            timeout=12,
        )
        return
    body = Text()
    for cell, marked in changes.items():
        body.append(f"cell {screen.notebook.index_of(cell) + 1}\n", "dim")
        for number, text in marked.lines:
            body.append(f"{number:>4} + {inert(text)}\n", "green")

    def answered(said: str | None) -> None:
        if said == "copy":
            screen.app.copy_to_clipboard("\n".join(text for m in changes.values() for _, text in m.lines))
            screen.notify("The lines are on the clipboard.", timeout=3)
        elif said == "write":
            _write(screen, changes)

    screen.app.push_screen(
        Ask(
            "One graph for all sizes",
            f"{fix['why'][:1].upper()}{fix['why'][1:]}. With dimension {dimension} of {label} marked before the call, one graph serves "
            "every size. These lines would be written:",
            [
                Choice("write", "Write them", "w", "primary"),
                Choice("copy", "Copy them", "c"),
                Choice("cancel", "Leave it", "l"),
            ],
            cancel="cancel",
            body=body,
        ),
        answered,
    )


def _changes(screen: NotebookScreen, fix: Fix) -> dict[str, Marked]:
    """The new texts of the cells with the calls. Raises CannotWrite."""
    label, dimension = fix["dimension"]
    calls: dict[str, list[Call]] = {}
    for place in fix.get("calls") or []:
        cell = screen.notebook.find(place["cell"])
        ran = screen.session.text_that_ran(place["cell"], place["revision"])
        argument = argument_of(place["arguments"], label)
        if cell is None or argument is None:
            continue
        line = line_after(ran, cell.source, place["line"] - 1) if ran is not None else place["line"] - 1
        if line is None:
            raise CannotWrite("The line of the call was edited since it ran.")
        calls.setdefault(cell.id, []).append(Call(line + 1, place["column"], argument, place.get("torch", "torch")))
    if not calls:
        raise CannotWrite(f"Which expression stands for {label} at the call cannot be read.")
    names = {str(v.get("name")) for v in screen.session.variables}
    return {
        cell: mark_calls(screen.notebook.cell(cell).source, found, dimension, names) for cell, found in calls.items()
    }


def _write(screen: NotebookScreen, changes: dict[str, Marked]) -> None:
    notebook = screen.notebook
    screen.pane.stop_editing(focus=False)
    notebook.checkpoint()
    with notebook.one_step():
        for cell, marked in changes.items():
            notebook.set_source(cell, marked.text)
    notebook.checkpoint()
    first, marked = next(iter(changes.items()))
    if screen.cells.select_id(first):
        screen.set_focus(screen.pane.view, scroll_visible=False)
        screen.select(screen.cells.index)
        view = screen.pane.view
        lines = [number - 1 for number, _ in marked.lines]
        view.link({first: range(min(lines), max(lines) + 1)})
        view.show_line(screen.cells.index, min(lines))
    screen.notify("Written; run the cell again. Z takes it back.", timeout=6)
