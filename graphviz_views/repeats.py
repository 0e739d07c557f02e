"""Find neighbours of equal structure inside a scope, so that views can show one of "Block x12".

Two stretches are equal when their operators, shapes, dtypes, badges and nesting are equal, and
their scopes have the same names up to digits ("blocks.0", "blocks.1").  Values, sources and ids do not count, and in the
turns of a long loop neither do shapes.
This file only finds; the views decide what is open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .labels import trim
from .model import Graph, Item, Scope

MAX_PERIOD = 32
"""Longest stretch of items that is looked for; it bounds the work to this many comparisons an item."""

MIN_COUNT = 3
MIN_HIDDEN = 8
"""A repeat is folded where it comes at least `MIN_COUNT` times and folding hides at least `MIN_HIDDEN` nodes."""


LONG_LOOP = 12
"""Turns of a loop of at least so many are folded even where their shapes differ, as over the parameters of a model."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """`count` stretches of `period` items each, from item number `first` of scope `scope` on.

    `start` and `stop` are the range of nodes that they cover, `shown` is the end of the first stretch.
    """

    id: str
    scope: str
    first: int
    period: int
    count: int
    label: str
    start: int
    shown: int
    stop: int


Entry = Item | Repeat
"""What a scope lists once its repeats are known."""


def find_repeats(graph: Graph) -> dict[str, tuple[Entry, ...]]:
    """The entries of each scope, by its id: its items, with each repeat in place of the items that it covers."""
    numbers: dict[object, int] = {}
    signature: dict[str, int] = {}
    loose: dict[str, int] = {}  # of turns of loops, without shapes
    # lines do not count: the first of several blocks has fewer, where its input needs no gradient
    node_signature = [
        numbers.setdefault((n.kind, n.op, n.outputs, tuple((b.kind, _neutral(b.text)) for b in n.badges)), len(numbers))
        for n in graph.nodes
    ]
    entries: dict[str, tuple[Entry, ...]] = {}
    for scope in reversed(graph.scopes.values()):  # inner before outer
        codes = [
            node_signature[graph.position[item.key]] if item.kind == "node" else signature[str(item.key)]
            for item in scope.items
        ]
        if scope.kind == "turn":
            operators = tuple(n.op for n in graph.nodes[scope.start : scope.stop])
            loose[scope.id] = numbers.setdefault(("turn", operators), len(numbers))
        codes = _long_loops(codes, [loose.get(str(item.key)) for item in scope.items])
        signature[scope.id] = numbers.setdefault(("scope", _neutral(scope.name), *codes), len(numbers))
        entries[scope.id] = _fold(graph, scope, codes)
    return entries


def _long_loops(codes: list[int], turns: list[int | None]) -> list[int]:
    """The codes of items, with one code for all turns of a long loop, whatever their shapes (`turns`: without shapes)."""
    found = list(codes)
    first = 0
    for end in range(1, len(turns) + 1):
        if end < len(turns) and turns[end] == turns[first]:
            continue
        code = turns[first]
        if code is not None and end - first >= LONG_LOOP:
            found[first:end] = [code] * (end - first)
        first = end
    return found


def _neutral(name: str) -> str:
    return re.sub(r"\d+(?![^\[]*\])", "#", name)


def _fold(graph: Graph, scope: Scope, codes: list[int]) -> tuple[Entry, ...]:
    """The entries of one scope: at each item the repeat that hides most nodes, if one is worth folding."""
    size = len(codes)
    if size < MIN_COUNT:
        return scope.items
    starts = [_range(graph, item)[0] for item in scope.items] + [scope.stop]
    # run[p][i] counts the items from i on that equal the item p places further
    run: list[list[int]] = [[]]
    for period in range(1, min(MAX_PERIOD, size // MIN_COUNT) + 1):
        counts = [0] * (size + 1)
        for i in range(size - period - 1, -1, -1):
            counts[i] = counts[i + 1] + 1 if codes[i] == codes[i + period] else 0
        run.append(counts)
    entries: list[Entry] = []
    i = 0
    while i < size:
        best: Repeat | None = None
        for period in range(1, len(run)):
            count = run[period][i] // period + 1
            if count < MIN_COUNT:
                continue
            start, shown, stop = starts[i], starts[i + period], starts[i + period * count]
            if stop - shown >= MIN_HIDDEN and (best is None or stop - shown > best.stop - best.shown):
                label = _label(graph, scope, i, period, count)
                best = Repeat(f"{scope.id}*{i}", scope.id, i, period, count, label, start, shown, stop)
        if best is None:
            entries.append(scope.items[i])
            i += 1
        else:
            entries.append(best)
            i += best.period * best.count
    return tuple(entries)


def _range(graph: Graph, item: Item) -> tuple[int, int]:
    if item.kind == "scope":
        scope = graph.scopes[str(item.key)]
        return scope.start, scope.stop
    index = graph.position[item.key]
    return index, index + 1


def _label(graph: Graph, scope: Scope, first: int, period: int, count: int) -> str:
    """What repeats, for people: "blocks.0 to blocks.11", or the operators of one turn."""
    items = scope.items[first : first + period * count]
    if period == 1 and items[0].kind == "scope":
        names = [graph.scope_title(str(item.key)) for item in (items[0], items[-1])]
        return trim(names[0] if names[0] == names[1] else f"{names[0]} to {names[1]}", 48)
    names = [
        graph.scope_title(str(item.key)) if item.kind == "scope" else graph.node(item.key).title
        for item in items[:period]
    ]
    return trim(", ".join(names[:4]) + (", …" if period > 4 else ""), 48)
