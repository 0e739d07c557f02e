"""What ends a segment: a break with its id, the end of a turn over an iterator that existed before, and what needs a new try.

All of them leave the frames as they were before the instruction, which is then done on real values.
"""

from __future__ import annotations

from typing import Any

from ..breaks import BREAKS, describe
from ..interpreter.frame import Break


class Stop(Break):
    """A graph break. `what` fills the sentence of the registry, `values` are texts of the values involved."""

    counted = True

    def __init__(self, id: str, what: str = "", values: tuple[str, ...] = ()) -> None:
        super().__init__(describe(id, what))
        self.id, self.what, self.values = id, what, values

    @property
    def category(self) -> str:
        return BREAKS[self.id].category

    @property
    def hint(self) -> str:
        return BREAKS[self.id].hint


class Turn(Stop):
    """An iterator that existed before gives its next item: no break of its own, the segment ends so that all turns share the next."""

    counted = False

    def __init__(self) -> None:
        Break.__init__(self, "the next turn of a loop")
        self.id, self.what, self.values = "turn", "", ()

    @property
    def category(self) -> str:
        return "loop"

    @property
    def hint(self) -> str:
        return ""


def name_of(value: Any) -> str:
    """How a sentence names a function or another value."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if isinstance(name, str):
        module = getattr(value, "__module__", None)
        if module in (None, "builtins", "__main__") or (callable(value) and type(value).__name__ == "function"):
            return name
        return f"{module}.{name}"
    return f"a {type(value).__name__}"
