"""Find and replace over all cells of a document: plain text or regular expressions, as one step of undo.

It finds places and changes texts; it shows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .document import Notebook
from .errors import NotebookError

__all__ = ["Find", "Query", "find", "replace", "replace_all"]

MOST = 10_000
"""Finds that are listed; a pattern that matches more is too general to be walked through."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for. `pattern` is plain text unless `regex` is set."""

    pattern: str
    regex: bool = False
    case: bool = False
    word: bool = False

    def compiled(self) -> re.Pattern[str]:
        """The pattern to match with; NotebookError with a sentence for an invalid regular expression."""
        source = self.pattern if self.regex else re.escape(self.pattern)
        if self.word:
            source = rf"\b(?:{source})\b"
        try:
            return re.compile(source, re.MULTILINE | (0 if self.case else re.IGNORECASE))
        except (re.error, RecursionError, OverflowError) as error:
            where = f" at character {error.pos + 1}" if isinstance(error, re.error) and error.pos is not None else ""
            said = error.msg if isinstance(error, re.error) else str(error)
            raise NotebookError(f"This is no regular expression: {said}{where}.") from error


@dataclass(frozen=True, slots=True)
class Find:
    """One place: characters `start` to `end` of a cell's source."""

    cell: str
    start: int
    end: int

    def lines_of(self, source: str) -> list[tuple[int, int, int]]:
        """The place as (line, first character, end) for each line it touches, lines from 0."""
        found = []
        position = 0
        for number, line in enumerate(source.split("\n")):
            start, end = max(self.start, position), min(self.end, position + len(line))
            if start < end:
                found.append((number, start - position, end - position))
            position += len(line) + 1
            if position > self.end:
                break
        return found

    def place_in(self, source: str) -> tuple[int, int]:
        """Line and character (from 0) of its beginning."""
        before = source[: self.start]
        return before.count("\n"), len(before) - before.rfind("\n") - 1


def find(notebook: Notebook, query: Query, cells: Iterable[str] | None = None) -> list[Find]:
    """Every place, in order, at most `MOST`; empty finds are left out. `cells` are ids to look in (all where None)."""
    if not query.pattern:
        return []
    pattern = query.compiled()
    wanted = None if cells is None else set(cells)
    found: list[Find] = []
    for cell in notebook.cells:
        if wanted is not None and cell.id not in wanted:
            continue
        for match in pattern.finditer(cell.source):
            if match.end() > match.start():
                found.append(Find(cell.id, match.start(), match.end()))
                if len(found) == MOST:
                    return found
    return found


def _replacement(query: Query, match: re.Match[str], text: str) -> str:
    if not query.regex:
        return text
    try:
        return match.expand(text)
    except (re.error, IndexError) as error:
        raise NotebookError(f"The replacement cannot be made: {error}.") from error


def replace(notebook: Notebook, query: Query, place: Find, text: str) -> int:
    """Replace one find, if the text there still matches; returns where the new text ends, -1 where it did not.

    With a regular expression `text` may name groups ("\\1", "\\g<name>"). NotebookError where it names one that is not.
    """
    source = notebook.cell(place.cell).source
    match = query.compiled().match(source, place.start)
    if match is None or match.end() != place.end:
        return -1
    new = _replacement(query, match, text)
    notebook.checkpoint()
    notebook.set_source(place.cell, source[: place.start] + new + source[place.end :])
    notebook.checkpoint()
    return place.start + len(new)


def replace_all(notebook: Notebook, query: Query, text: str, cells: Iterable[str] | None = None) -> tuple[int, int]:
    """Replace every find as one step of undo; returns (places, cells) that changed."""
    if not query.pattern:
        return 0, 0
    pattern = query.compiled()
    wanted = None if cells is None else set(cells)
    places = 0
    changed: dict[str, str] = {}
    for cell in notebook.cells:
        if wanted is not None and cell.id not in wanted:
            continue
        count = 0
        pieces, position = [], 0
        for match in pattern.finditer(cell.source):
            if match.end() == match.start():
                continue
            pieces += [cell.source[position : match.start()], _replacement(query, match, text)]
            position = match.end()
            count += 1
        if count:
            changed[cell.id] = "".join(pieces) + cell.source[position:]
            places += count
    notebook.checkpoint()
    with notebook.one_step():
        for cell_id, source in changed.items():
            notebook.set_source(cell_id, source)
    notebook.checkpoint()
    return places, len(changed)
