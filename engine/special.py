"""`torch.special`: every operator function that stands in this namespace, gathered from the operator table.

There is nothing to edit here: an entry in the table whose spaces name "special" appears under its name, one whose spaces name
"special.NAME" under that.
"""

from __future__ import annotations

from typing import Any

from .ops import families as families  # fills the table
from .ops.table import FUNCTIONS


def _gather() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for function in FUNCTIONS.values():
        for space in function.spaces:
            if space == "special" or space.startswith("special."):
                found[space.partition(".")[2] or function.name] = function.call
    return found


globals().update(_gather())
__all__ = sorted(_gather())  # pyright: ignore[reportUnsupportedDunderAll]
