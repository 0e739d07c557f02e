"""How good a layout is, as numbers: crossings of lines, their length, and how much of it leads sideways.

Used by tests and benchmarks, which compare with Graphviz; nothing here draws.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from .layout import Layout, Route

Point = tuple[float, float]

_STEPS = 8  # straight pieces for one Bezier curve


class Scores(NamedTuple):
    """Crossings of pairs of lines, the length of all lines, and the part of it that leads sideways (0 to 1)."""

    crossings: int
    length: float
    sideways: float


def score(layout: Layout) -> Scores:
    """The scores of a layout; lines that share an end count as crossing only where they do so away from it."""
    lines = [polyline(route) for route in layout.routes]
    length = sideways = 0.0
    for line in lines:
        for (x, y), (right, down) in itertools.pairwise(line):
            length += math.hypot(right - x, down - y)
            sideways += abs(right - x)
    ends = [(route.source, route.target) for route in layout.routes]
    boxes = [_bounds(line) for line in lines]
    crossings = 0
    for i, a in enumerate(lines):
        for j in range(i + 1, len(lines)):
            if _apart(boxes[i], boxes[j]) or ends[i] == ends[j]:
                continue
            together = ends[i][0] == ends[j][0] or ends[i][1] == ends[j][1]
            if not together and _cross(a, lines[j]):
                crossings += 1
    return Scores(crossings, length, sideways / length if length else 0.0)


def polyline(route: Route) -> list[Point]:
    """The line of a route in straight pieces."""
    if not route.curved:
        return list(route.points)
    points = list(route.points[:1])
    for start in range(0, len(route.points) - 3, 3):
        a, b, c, d = route.points[start : start + 4]
        for step in range(1, _STEPS + 1):
            t = step / _STEPS
            u = 1 - t
            points.append(
                tuple(u**3 * a[k] + 3 * u * u * t * b[k] + 3 * u * t * t * c[k] + t**3 * d[k] for k in (0, 1))  # pyright: ignore[reportArgumentType]
            )
    return points


def _bounds(line: Sequence[Point]) -> tuple[float, float, float, float]:
    xs, ys = [x for x, _ in line], [y for _, y in line]
    return min(xs), min(ys), max(xs), max(ys)


def _apart(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]


def _cross(a: Sequence[Point], b: Sequence[Point]) -> bool:
    """Whether two lines cross: whether any of their pieces do."""
    for p, q in itertools.pairwise(a):
        for r, s in itertools.pairwise(b):
            if _apart(_bounds((p, q)), _bounds((r, s))):
                continue
            if _side(p, q, r) * _side(p, q, s) < 0 and _side(r, s, p) * _side(r, s, q) < 0:
                return True
    return False


def _side(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
