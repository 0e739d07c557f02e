"""Scopes that no module path tells of: the cells that a tape comes from, and the turns of loops.

A loop is seen where the same operators come from the same lines, in the same order, at least three times.  Nodes get
their scopes as `Node.path`; this file draws nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from .model import Node, Outer, build_scopes, module_path

MIN_TURNS = 3
_NESTED = 3
"""How many loops inside each other are looked for."""

MAX_TURN = 64
"""Longest turn that is looked for, in nodes and scopes side by side."""


def cell_paths(nodes: Sequence[Node]) -> list[Node]:
    """The nodes with the cell they come from as outermost scope, where they come from more than one.

    The lines of a module may stand in another cell than the line that called it: a stretch inside modules belongs to a
    cell only where the nodes before and after it agree.
    """
    cells = [n.source.cell if n.source is not None and not n.module else "" for n in nodes]
    if len({c for c in cells if c}) < 2:
        return list(nodes)
    following: list[str] = []
    nearest = ""
    for cell in reversed(cells):
        nearest = cell or nearest
        following.append(nearest)
    following.reverse()
    found: list[Node] = []
    before = ""
    for node, cell, after in zip(nodes, cells, following, strict=True):
        before = cell or before
        own = cell or (before if before == after else "")
        found.append(replace(node, path=(Outer("cell", own), *module_path(node.module))) if own else node)
    return found


def with_turns(nodes: Sequence[Node]) -> list[Node]:
    """The nodes with the turns of loops among their scopes, and the turns of loops inside of those."""
    found = list(nodes)
    for _ in range(_NESTED):
        turned = _turned(found)
        if turned is None:
            break
        found = turned
    return found


def _turned(nodes: list[Node]) -> list[Node] | None:
    """The nodes with the turns of the outermost loops that have none yet; None where there is no loop."""
    scopes, _ = build_scopes(nodes, {})
    index = {node.id: i for i, node in enumerate(nodes)}
    codes: dict[object, int] = {}
    code_of: dict[str, int] = {}
    places: list[object]
    turns: list[tuple[int, int, int, int]] = []  # first node, end, depth of the scope around, number
    depth = {"": 0}
    for scope in scopes.values():
        if scope.parent is not None:
            depth[scope.id] = depth[scope.parent] + 1
    for scope in reversed(scopes.values()):  # inner before outer
        own: list[int] = []
        places = []
        starts: list[int] = []
        for item in scope.items:
            if item.kind == "scope":
                own.append(code_of[str(item.key)])
                places.append(scopes[str(item.key)].name)
                starts.append(scopes[str(item.key)].start)
            else:
                at = index[item.key]
                node = nodes[at]
                place = (
                    (node.source.file, node.source.line, node.source.column, node.source.end_column)
                    if node.source
                    else at
                )
                places.append(place)
                own.append(codes.setdefault((node.op, place), len(codes)))
                starts.append(at)
        code_of[scope.id] = codes.setdefault(("scope", scope.name, *own), len(codes))
        starts.append(scope.stop)
        if scope.kind == "call":  # the places are inside of what was called, and not known
            places = list(own)
        for first, period, count in _loops(own, places):
            for turn in range(count):
                begin = first + turn * period
                turns.append((starts[begin], starts[begin + period], depth[scope.id], turn + 1))
    if not turns:
        return None
    found = list(nodes)
    for start, stop, level, number in sorted(turns, key=lambda t: -t[2]):  # deeper ones first keep `level` right
        for i in range(start, stop):
            node = found[i]
            path = module_path(node.module) if node.path is None else node.path
            found[i] = replace(node, path=(*path[:level], Outer("turn", f"turn {number}"), *path[level:]))
    return found


def _loops(codes: list[int], places: list[object]) -> list[tuple[int, int, int]]:
    """Stretches that repeat side by side: (first item, items in a turn, turns), at each item the one that covers most.

    A turn comes from more than one place: what one expression records several times is no loop.
    """
    size = len(codes)
    repeated = size - len(set(codes))
    if repeated < 2 * (MIN_TURNS - 1):
        return []
    # a loop of some length has places that come again after just that many items
    distances: Counter[int] = Counter()
    last: dict[int, int] = {}
    for i, code in enumerate(codes):
        if code in last:
            distances[i - last[code]] += 1
        last[code] = i
    runs: dict[int, list[int]] = {}
    for period in sorted(distances):
        if not 2 <= period <= MAX_TURN or distances[period] < MIN_TURNS - 1:
            continue
        counts = [0] * (size + 1)
        for i in range(size - period - 1, -1, -1):
            counts[i] = counts[i + 1] + 1 if codes[i] == codes[i + period] else 0
        runs[period] = counts
    found: list[tuple[int, int, int]] = []
    i = 0
    while i < size:
        best: tuple[int, int] | None = None
        for period, counts in runs.items():
            count = counts[i] // period + 1
            if (
                count >= MIN_TURNS
                and len(set(places[i : i + period])) > 1
                and (best is None or period * count > best[0] * best[1])
            ):
                best = (period, count)
        if best is None:
            i += 1
        else:
            found.append((i, *best))
            i += best[0] * best[1]
    return found
