"""What stands in one namespace (`linalg`, `fft`, `signal.windows`), gathered from the operator table."""

from __future__ import annotations

from typing import Any

from .table import FUNCTIONS


def members(space: str) -> dict[str, Any]:
    """Functions by the name they have in a namespace.

    An entry whose spaces name it appears under its own name and its aliases, one whose spaces name "SPACE.NAME" under that.
    """
    found: dict[str, Any] = {}
    for function in FUNCTIONS.values():
        for place in function.spaces:
            if place == space:
                for label in (function.name, *function.aliases):
                    found[label] = function.call
            elif place.startswith(space + ".") and "." not in place[len(space) + 1 :]:
                found[place[len(space) + 1 :]] = function.call
    return found
