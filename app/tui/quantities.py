"""Times, sizes and counts as short text for tables, and little pictures of numbers."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["bar", "bytes_text", "count_text", "number_text", "sparkline", "time_text"]

_STEPS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def time_text(seconds: float | None) -> str:
    """ "1.2 s", "34 ms", "5.6 µs", at most seven characters; "" for None."""
    if seconds is None:
        return ""
    if seconds >= 60:
        return f"{seconds / 60:.0f} min"
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale or unit == "µs":
            value = seconds / scale
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
    return ""


def bytes_text(count: float | None) -> str:
    """ "512 B", "3.4 MB"; "" for None."""
    if count is None:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return ""


def count_text(count: int) -> str:
    """ "12", "3.4k", "12M"."""
    if count < 10_000:
        return str(count)
    return f"{count / 1000:.0f}k" if count < 1_000_000 else f"{count / 1e6:.1f}M"


def number_text(value: float) -> str:
    """A number in about four digits."""
    return f"{value:.4g}"


def sparkline(counts: Sequence[float], width: int) -> str:
    """A histogram in `width` characters at most; what is not empty is at least the lowest step."""
    if not counts or width < 1:
        return ""
    columns = min(width, len(counts))
    sums = [sum(counts[n * len(counts) // columns : (n + 1) * len(counts) // columns]) for n in range(columns)]
    most = max(sums)
    if most <= 0:
        return " " * columns
    return "".join(" " if not s else _STEPS[min(7, int(8 * s / most))] for s in sums)


def bar(share: float, width: int) -> str:
    """A bar that fills `share` (0 to 1) of `width` characters, in eighths."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)
