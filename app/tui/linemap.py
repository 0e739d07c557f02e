"""Where a line of an earlier text of a cell stands in the text it has now, and back.

A tape keeps the lines of the text that ran; the text may have been edited since.  Lines that were changed have no
counterpart.  Lines count from 0.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache

__all__ = ["line_after", "line_before"]

_MANY = 5000


@lru_cache(maxsize=64)
def _maps(old: str, new: str) -> tuple[dict[int, int], dict[int, int]]:
    before, after = old.split("\n"), new.split("\n")
    if len(before) * len(after) > _MANY**2 or old == new:
        forward = {n: n for n in range(min(len(before), len(after))) if before[n] == after[n]}
    else:
        blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        forward = {a + n: b + n for a, b, size in blocks for n in range(size)}
    return forward, {b: a for a, b in forward.items()}


def line_after(old: str, new: str, line: int) -> int | None:
    """The line of `new` that line `line` of `old` became; None where it was changed or removed."""
    return line if old == new else _maps(old, new)[0].get(line)


def line_before(old: str, new: str, line: int) -> int | None:
    """The line of `old` that line `line` of `new` was; None where it is new or changed."""
    return line if old == new else _maps(old, new)[1].get(line)
