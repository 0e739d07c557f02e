"""Read values out of records that nobody vouches for: each function returns what it could use, or None.

Problems are counted in `Notes`, one sentence for each sort.  This file knows no form as a whole; builders do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from .labels import clean
from .model import Gradient, SavedTensor, Shape, SourceRange, TensorFacts

_CELL = re.compile(r"<cell (?P<cell>.+):(?P<revision>\d+)>", re.DOTALL)
"""The pseudo file of a notebook's cell, as the kernel names it."""

_MAX_DIMENSIONS = 64
_MAX_INTEGER = 2**63 - 1
_LONGEST = 1_000_000
_LARGEST = 1e30


class Notes:
    """Sentences, each said once; problems of one sort are counted and named by their first example."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._counted: dict[tuple[str, str], tuple[int, str]] = {}

    def say(self, sentence: str) -> None:
        """Add a sentence."""
        self._sentences.append(sentence)

    def count(self, singular: str, plural: str, example: str) -> None:
        """Count a problem; `example` is told of the first."""
        seen, first = self._counted.get((singular, plural), (0, example))
        self._counted[singular, plural] = (seen + 1, first)

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of them, counted problems last."""
        counted = (
            f"{n:,} {singular if n == 1 else plural} ({'' if n == 1 else 'first: '}{example})."
            for (singular, plural), (n, example) in self._counted.items()
        )
        return (*self._sentences, *counted)


def integer(value: Any, low: int = 0, high: int = _MAX_INTEGER) -> int | None:
    """A whole number from `low` to `high`."""
    return value if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high else None


def number(value: Any) -> float | None:
    """A finite number that is not negative; nothing that is measured is larger than 1e30."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value > _LARGEST:
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def text(value: Any) -> str:
    """A string, made inert; "" for anything else."""
    return clean(value) if isinstance(value, str) else ""


def text_of(value: Any) -> str:
    """A longer text as it is, to be searched and not shown; "" for anything else."""
    return value[:_LONGEST] if isinstance(value, str) else ""


def mapping(value: Any) -> Mapping[str, Any]:
    """A dictionary; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """The items of a list; none for anything else."""
    return list(value) if isinstance(value, (list, tuple)) else []


def texts(value: Any) -> list[str]:
    """The strings of a list, made inert; what is none is left out."""
    return [clean(item) for item in items(value) if isinstance(item, str)]


def shape(value: Any) -> Shape | None:
    """Sizes of a tensor: numbers, or the names of symbolic sizes."""
    if not isinstance(value, (list, tuple)) or len(value) > _MAX_DIMENSIONS:
        return None
    sizes: list[int | str] = []
    for item in value:
        size = clean(item) if isinstance(item, str) and item else integer(item)
        if size is None:
            return None
        sizes.append(size)
    return tuple(sizes)


def dtype(value: Any) -> str:
    """The name of a dtype without "torch."."""
    return text(value).removeprefix("torch.")


def tensor(value: Any) -> TensorFacts | None:
    """Shape, dtype and device of a tensor."""
    record = mapping(value)
    sizes = shape(record.get("shape"))
    return None if sizes is None else TensorFacts(sizes, dtype(record.get("dtype")), text(record.get("device")))


def saved(value: Any) -> SavedTensor | None:
    """A tensor that is kept for backward."""
    record = mapping(value)
    sizes = shape(record.get("shape"))
    if sizes is None:
        return None
    return SavedTensor(
        text(record.get("name")), sizes, dtype(record.get("dtype")), integer(record.get("bytes")) or 0,
        integer(record.get("node")),
    )  # fmt: skip


def gradient(value: Any) -> Gradient | None:
    """A gradient; its norm may be any number or missing."""
    record = mapping(value)
    sizes = shape(record.get("shape"))
    if sizes is None:
        return None
    norm = record.get("norm")
    return Gradient(sizes, dtype(record.get("dtype")), norm if isinstance(norm, float) else integer(norm))


def source(value: Any) -> SourceRange | None:
    """A range of source text, with the cell that its pseudo file names."""
    record = mapping(value)
    line = integer(record.get("line"), 1)
    if line is None:
        return None
    file = record.get("file")
    in_cell = _CELL.fullmatch(file) if isinstance(file, str) else None
    cell = record.get("cell", in_cell["cell"] if in_cell else None)
    revision = record.get("revision", int(in_cell["revision"][:18]) if in_cell else None)
    return SourceRange(
        file=text(file),
        line=line,
        end_line=integer(record.get("end_line"), line) or line,
        column=integer(record.get("column")) or 0,
        end_column=integer(record.get("end_column")) or 0,
        function=text(record.get("function")),
        cell=clean(cell) if isinstance(cell, (str, int)) else "",
        revision=integer(revision),
    )


def kind(value: Any) -> str:
    """What a value is, for a sentence."""
    return "nothing" if value is None else f"a value of type {type(value).__name__}"
