"""The tour of a minute: a few pages for somebody who has just opened the app for the first time.

Keys in it come from the table of actions, so that they are right whatever a person's own key map says.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text

from .themes import Look

__all__ = ["tour_pages"]


def tour_pages(look: Look, key: Callable[[str], str]) -> list[tuple[str, RenderableType]]:
    """The pages; `key` gives the first key of an action."""

    def page(*parts: str) -> Text:
        """Parts in turn plain and as keys."""
        text = Text()
        for number, part in enumerate(parts):
            text.append(part, look.accent + Style(bold=True) if number % 2 else look.text)
        return text

    k = key
    return [
        (
            "Welcome to Tapescope",
            page(
                "A notebook that shows what the machine does. The cells are on the left; the panel beside them shows the "
                "tape that your tensors record, the graphs, breaks and kernels of compiled functions, your variables and "
                "the device.\n\nThere are two modes, as in Jupyter. In command mode single keys act on cells: ",
                "J K", " move, ", k("insert_above"), " and ", k("insert_below"), " insert, ", k("delete"), " deletes, ",
                k("undo"), " undoes. ", k("edit"), " begins to write and ", k("leave"), " ends it.",
            ),
        ),
        (
            "Running cells",
            page(
                "", k("run"), " runs the cell, ", k("run_advance"), " runs it and goes on to the next, ", k("run_all"),
                " runs everything. Terminals cannot send every key: these always arrive.\n\n", k("interrupt"),
                " interrupts. If that does nothing, the same keys go further: a forced restart, then a kill. ",
                k("restart"), " gives a fresh Python. Your text is safe whatever happens to it.",
            ),
        ),
        (
            "Seeing what happens",
            page(
                "", k("tape"), " goes to the tape: each row is an operator, and choosing it lights up its line. ",
                k("graph"), " shows it as a graph. ", k("variables"), " lists variables with a little histogram each.\n\n",
                k("cost_gutter"), " shows beside the code what every line costs, backward included. ", k("scrub"),
                " steps through the last run, operator by operator, forward and back.",
            ),
        ),
        (
            "Finding things",
            page(
                "", k("palette"), " opens the list of all commands: type a few letters of what you want. ", k("help"),
                " shows every key. ", k("find"), " finds and replaces in all cells. ", k("documentation"),
                " explains the name at the cursor, and Tab completes it.",
            ),
        ),
        (
            "Keeping your work",
            page(
                "", k("save"), " saves. What you typed is kept even if the machine stops: it is offered when you come back. "
                "Earlier saves can be brought back, and the notebook exports to HTML, Markdown, .py and .ipynb; both are "
                "in ", k("palette"), ".\n\nFor lessons, leave with ", k("quit"), " and run ", "tapescope tutorial", ".",
            ),
        ),
    ]  # fmt: skip
