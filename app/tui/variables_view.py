"""What the cells defined: name, type, shape and the rest, one row a variable.

It shows what the kernel reports (`kernel.messages.Variables`) and asks nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment

from .ansi import inert
from .rows_view import RowsView, fit
from .themes import Look

__all__ = ["VariablesView"]


class VariablesView(RowsView):
    """The table of variables."""

    def __init__(self, look: Callable[[], Look], *, id: str | None = None) -> None:
        super().__init__(look, id=id)
        self.variables: list[dict[str, Any]] = []
        self._name_width = self._type_width = 0
        self.say("No variables yet. What your cells define appears here.")

    @property
    def count(self) -> int:
        return len(self.variables)

    def take(self, variables: list[dict[str, Any]]) -> None:
        """Show a list of variables; the cursor stays on the same name where it is still there."""
        name = self.variables[self.cursor].get("name") if self.cursor < len(self.variables) else None
        self.variables = variables
        self._name_width = min(24, max((cell_len(str(v.get("name", ""))) for v in variables), default=0))
        self._type_width = min(14, max((cell_len(str(v.get("type", ""))) for v in variables), default=0))
        self.cursor = next((n for n, v in enumerate(variables) if v.get("name") == name), self.cursor)
        self.rows_changed()

    def row(self, number: int, width: int, look: Look) -> list[Segment]:
        variable = self.variables[number]
        name, kind = self._name_width, self._type_width
        if width < name + kind + 16:
            kind = max(0, min(kind, width - name - 16))
        rest = width - name - kind - 3
        return [
            Segment(" "),
            Segment(fit(inert(str(variable.get("name", ""))), name), look.text),
            Segment(" "),
            Segment(fit(inert(str(variable.get("type", ""))), kind), look.syntax["class"]),
            Segment(" "),
            Segment(fit(self.short(variable), rest), look.primary if variable.get("shape") is not None else look.muted),
        ]

    @staticmethod
    def short(variable: dict[str, Any]) -> str:
        """A variable's worth in one line: a tensor's facts, else its value."""
        if variable.get("shape") is not None:
            facts = [
                f"[{', '.join(map(str, variable['shape']))}]",
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
        pairs = [("", str(variable.get("name", ""))), ("type", str(variable.get("type", "")))]
        if variable.get("shape") is not None:
            pairs.append(("tensor", self.short(variable)))
        if variable.get("bytes") is not None:
            pairs.append(("bytes", f"{variable['bytes']:,}"))
        pairs.append(("value", " ".join(str(variable.get("value", "")).split())))
        return [(name, inert(text)) for name, text in pairs if text]
