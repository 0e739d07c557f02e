"""What the cells defined: name, type, shape and the rest, one row a variable, with a histogram of each tensor.

It shows what the kernel reports (`kernel.messages.Variables`) and asks nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment

from .ansi import inert
from .quantities import bytes_text, number_text, sparkline
from .rows_view import RowsView, fit
from .themes import Look

__all__ = ["VariablesView"]

_SPARK = 8


class VariablesView(RowsView):
    """The table of variables. `name_cell` gives a cell's short name, `edited` whether it was edited since a revision."""

    def __init__(
        self,
        look: Callable[[], Look],
        name_cell: Callable[[str], str] = str,
        edited: Callable[[str, int], bool] = lambda cell, revision: False,
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(look, id=id)
        self._name_cell, self._edited = name_cell, edited
        self.variables: list[dict[str, Any]] = []
        self._name_width = self._type_width = 0
        self.say("No variables yet. What your cells define appears here.")

    @property
    def count(self) -> int:
        return len(self.variables)

    def note(self) -> str:
        return f"{self.count} variable{'s' if self.count != 1 else ''}" if self.count else ""

    def take(self, variables: list[dict[str, Any]]) -> None:
        """Show a list of variables; the cursor stays on the same name where it is still there."""
        name = self.variables[self.cursor].get("name") if self.cursor < len(self.variables) else None
        self.variables = variables
        self._name_width = min(24, max((cell_len(str(v.get("name", ""))) for v in variables), default=0))
        self._type_width = min(14, max((cell_len(str(v.get("type", ""))) for v in variables), default=0))
        self.cursor = next((n for n, v in enumerate(variables) if v.get("name") == name), self.cursor)
        self.rows_changed()

    def place(self, number: int) -> tuple[str, int] | None:
        """The run (cell, revision) that made a variable."""
        variable = self.variables[number] if 0 <= number < self.count else {}
        return (variable["cell"], variable.get("revision", 0)) if variable.get("cell") else None

    def stale(self, variable: dict[str, Any]) -> str:
        """A sentence where a variable is not what its cell would compute now, else ""."""
        if variable.get("stale"):
            return str(variable["stale"])
        if variable.get("cell") and self._edited(variable["cell"], variable.get("revision", 0)):
            return "its cell was edited since it ran."
        return ""

    def row(self, number: int, width: int, look: Look) -> list[Segment]:
        variable = self.variables[number]
        name, kind = self._name_width, self._type_width
        if width < name + kind + 16:
            kind = max(0, min(kind, width - name - 16))
        rest = width - name - kind - 3
        bad = bool(variable.get("nan") or variable.get("inf"))
        stale = bool(self.stale(variable))
        mark = Segment("!", look.error) if bad else Segment("◦", look.warning) if stale else Segment(" ")
        segments = [
            mark,
            Segment(fit(inert(str(variable.get("name", ""))), name), look.muted if stale else look.text),
            Segment(" "),
            Segment(fit(inert(str(variable.get("type", ""))), kind), look.syntax["class"]),
            Segment(" "),
        ]
        facts = self.short(variable)
        style = look.primary if variable.get("shape") is not None else look.muted
        spark = sparkline(variable.get("histogram") or (), _SPARK)
        if spark and rest - _SPARK - 2 >= 14:
            segments += [Segment(fit(facts, rest - _SPARK - 2), style), Segment(" ")]
            segments.append(Segment(spark.ljust(_SPARK), look.error if bad else look.accent))
        else:
            segments.append(Segment(fit(facts, rest), style))
        return segments

    @staticmethod
    def short(variable: dict[str, Any]) -> str:
        """A variable's worth in one line: a tensor's facts, else its value."""
        if variable.get("shape") is not None:
            facts = [
                f"[{', '.join(map(str, variable['shape']))}]",
                f"{variable['nan']} NaN" if variable.get("nan") else "",
                f"{variable['inf']} inf" if variable.get("inf") else "",
                str(variable.get("dtype", "")).removeprefix("torch."),
                str(variable.get("device", "")),
                "grad" if variable.get("requires_grad") else "",
            ]
            return inert(" ".join(fact for fact in facts if fact))
        return inert(" ".join(str(variable.get("value", "")).split()))

    def detail(self, number: int) -> list[tuple[str, str]]:
        """What is known of a variable, as (name, text) pairs."""
        if not 0 <= number < len(self.variables):
            return []
        variable = self.variables[number]
        pairs = [("", f"{variable.get('name', '')}: {variable.get('type', '')}")]
        if variable.get("shape") is not None:
            size = f", {bytes_text(variable['bytes'])}" if variable.get("bytes") is not None else ""
            pairs.append(("tensor", self.short(variable) + size))
        if variable.get("low") is not None:
            about = " (a sample)" if variable.get("sampled") else ""
            mean = f", mean {number_text(variable['mean'])}" if variable.get("mean") is not None else ""
            pairs.append(("range", f"{number_text(variable['low'])} to {number_text(variable['high'])}{mean}{about}"))
        if variable.get("shape") is None:
            pairs.append(("value", " ".join(str(variable.get("value", "")).split())))
        if variable.get("cell"):
            pairs.append(("made in", self._name_cell(variable["cell"])))
        if stale := self.stale(variable):
            pairs.append(("stale", stale))
        return [(name, inert(text)) for name, text in pairs if text]
