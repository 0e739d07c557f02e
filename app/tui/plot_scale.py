"""Axes of a plot: from data values to a position between 0 and 1, and the labels along the way.

Linear, logarithmic, time and category axes. It knows no characters and no colours.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["Scale", "nice_ticks", "number_text"]


def number_text(value: float, step: float | None = None) -> str:
    """A number as an axis shows it; `step` is the distance of neighbouring labels."""
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size and (size >= 1e6 or size < 1e-4):
        return f"{value:.2g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    if step:
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        while digits < 8 and abs(round(step, digits) - step) > step * 1e-3:
            digits += 1
        text = f"{value:.{digits}f}"
    else:
        text = f"{value:.4g}"
    return "0" if float(text) == 0 else text


def nice_ticks(low: float, high: float, count: int) -> list[float]:
    """About `count` round numbers within [low, high]."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low or count < 1:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, str):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _time(value: Any) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or datetime.UTC).timestamp()


class Scale:
    """One axis. `kind` is "linear", "log", "date" or "category"; `low` and `high` are in its own units.

    Made from all values that will be drawn on it, and from plotly's description of the axis (`type`, `range`,
    `autorange`, `categoryarray`). `padding` is the share of free room at both ends.
    """

    def __init__(
        self,
        values: Iterable[Any],
        axis: dict[str, Any] | None = None,
        *,
        zero: bool = False,
        padding: float = 0.04,
        tight: bool = False,
    ) -> None:
        axis = axis or {}
        seen = [v for v in values if v is not None]
        self.kind = self._kind(seen, axis)
        self.categories: dict[str, int] = {}
        if self.kind == "category":
            for value in [*(axis.get("categoryarray") or []), *seen]:
                self.categories.setdefault(str(value), len(self.categories))
        places = [p for p in map(self.place, seen) if p is not None]
        if self.kind == "category":
            low, high = -0.5, max(len(self.categories), 1) - 0.5
        elif not places:
            low, high = 0.0, 1.0
        else:
            low, high = min(places), max(places)
            if zero and self.kind == "linear":
                low, high = min(low, 0.0), max(high, 0.0)
            if low == high:
                low, high = low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)
            elif not tight:
                room = (high - low) * padding
                # Room must not make up a sign that no value has.
                low = 0.0 if self.kind == "linear" and 0 <= low < room else low - (0 if zero and low == 0 else room)
                high = (
                    0.0 if self.kind == "linear" and -room < high <= 0 else high + (0 if zero and high == 0 else room)
                )
        bounds = axis.get("range")
        if isinstance(bounds, Sequence) and not isinstance(bounds, str) and len(bounds) == 2:
            # On a logarithmic axis plotly gives the range as exponents, which are our own units.
            first, second = (_number(b) if self.kind != "date" else _time(b) for b in bounds)
            low = first if first is not None else low
            high = second if second is not None else high
        self.reverse = low > high or axis.get("autorange") == "reversed"
        self.low, self.high = min(low, high), max(low, high)
        if self.low == self.high:
            self.high = self.low + 1.0

    @staticmethod
    def _kind(values: list[Any], axis: dict[str, Any]) -> str:
        declared = axis.get("type")
        if declared in ("linear", "log", "date", "category"):
            return declared
        texts = [v for v in values if isinstance(v, str)]
        if texts:
            return "date" if len(texts) == len(values) and all(_time(v) is not None for v in texts) else "category"
        if values and all(isinstance(v, bool) for v in values):
            return "category"
        return "linear"

    def place(self, value: Any) -> float | None:
        """The value in the axis's units, or None where it has no place on it (NaN, text on a linear axis)."""
        if self.kind == "category":
            return self.categories.get(str(value))
        if self.kind == "date":
            return _time(value) if isinstance(value, str) else _number(value)
        number = _number(value)
        if self.kind == "log":
            return math.log10(number) if number is not None and number > 0 else None
        return number

    def at(self, value: Any) -> float | None:
        """Where the value stands: 0 at the axis's beginning, 1 at its end (may lie outside)."""
        place = self.place(value)
        return None if place is None else self.fraction(place)

    def fraction(self, place: float) -> float:
        """Where a place in the axis's units stands between 0 and 1."""
        share = (place - self.low) / (self.high - self.low)
        return 1 - share if self.reverse else share

    def ticks(self, count: int) -> list[tuple[float, str]]:
        """At most about `count` (position, label) pairs."""
        if self.kind == "category":
            names = list(self.categories)
            every = max(1, math.ceil(len(names) / max(count, 1)))
            return [(self.fraction(self.categories[name]), name) for name in names[::every]]
        if self.kind == "date":
            return self._time_ticks(count)
        if self.kind == "log":
            whole = [t for t in nice_ticks(self.low, self.high, count) if abs(t - round(t)) < 1e-9]
            if len(whole) >= 2:
                return [(self.fraction(t), f"1e{round(t)}" if abs(t) > 3 else number_text(10.0**t)) for t in whole]
            return [(self.fraction(t), number_text(10.0**t)) for t in nice_ticks(self.low, self.high, count)]
        places = nice_ticks(self.low, self.high, count)
        step = places[1] - places[0] if len(places) > 1 else None
        return [(self.fraction(p), number_text(p, step)) for p in places]

    def _time_ticks(self, count: int) -> list[tuple[float, str]]:
        span = self.high - self.low
        steps = (1, 5, 15, 60, 300, 900, 3600, 10800, 43200, 86400, 7 * 86400, 30 * 86400, 91 * 86400, 365 * 86400)
        step = next((s for s in steps if span / s <= max(count, 1)), 365 * 86400 * max(1, round(span / 3e8)))
        form = "%Y-%m-%d" if step >= 86400 else "%d %b %H:%M" if span > 86400 else "%H:%M" if step >= 60 else "%H:%M:%S"
        first = math.ceil(self.low / step) * step
        places = [first + n * step for n in range(int((self.high - first) // step) + 1)] if first <= self.high else []
        return [(self.fraction(p), datetime.datetime.fromtimestamp(p, datetime.UTC).strftime(form)) for p in places]
