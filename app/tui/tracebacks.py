"""Places in the text of a traceback: which cell and line a row of it speaks of."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["HEAD", "place_at", "places"]

HEAD = re.compile(r"Cell In\[(\d+)\], line (\d+)")
"""How a frame of a cell begins: its count and its line."""

_NUMBERED = re.compile(r"^(?:-+> ?)?\s*(\d+)(?:\s|$)")
_OTHER = re.compile(r"^File |^\S+Error\b|^\S+Exception\b")


def places(lines: Sequence[str]) -> list[tuple[int, int]]:
    """(count, line) of every frame that lies in a cell, the outermost first."""
    return [(int(found[1]), int(found[2])) for line in lines if (found := HEAD.search(line))]


def place_at(lines: Sequence[str], row: int) -> tuple[int, int] | None:
    """(count, line) of what stands in a row: a frame's head, or one of the source lines shown under it."""
    if not 0 <= row < len(lines):
        return None
    if found := HEAD.search(lines[row]):
        return int(found[1]), int(found[2])
    numbered = _NUMBERED.match(lines[row])
    if numbered is None:
        return None
    for above in range(row - 1, -1, -1):
        if found := HEAD.search(lines[above]):
            return int(found[1]), int(numbered[1])
        if _OTHER.match(lines[above]):
            return None
    return None
