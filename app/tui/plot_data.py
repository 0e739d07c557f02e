"""What a plotly figure's JSON says, reduced to what a terminal can draw: panels, traces, axes, titles.

It reads `application/vnd.plotly.v1+json` as it comes (plain lists or base64 typed arrays), without plotly and
without numpy, and never raises for a strange figure: what it cannot use it names in `Figure.left_out`.
"""

from __future__ import annotations

import array
import base64
import binascii
import math
import re
import sys
from dataclasses import dataclass, field
from typing import Any

__all__ = ["DRAWN", "Figure", "Panel", "Trace", "read_figure"]

DRAWN = ("scatter", "scattergl", "bar", "histogram", "heatmap", "contour", "image")
"""The trace types that are drawn."""

_MOST_PIXELS = 400

_CODES = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f4": "f", "f8": "d"}
_TAG = re.compile(r"<br\s*/?>|<[^>]{1,100}>")


@dataclass
class Trace:
    """One trace. `raw` is the JSON; `x`, `y` are flat lists, `z` is a list of rows."""

    type: str
    name: str
    raw: dict[str, Any]
    x: list[Any]
    y: list[Any]
    z: list[list[Any]]
    slot: int
    shown_in_legend: bool = True

    @property
    def horizontal(self) -> bool:
        return self.raw.get("orientation") == "h"

    @property
    def mode(self) -> str:
        mode = self.raw.get("mode")
        return mode if isinstance(mode, str) else "lines+markers" if len(self.x) < 20 else "lines"

    def part(self, *path: str) -> Any:
        """A nested value of the JSON, or None."""
        value: Any = self.raw
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value


@dataclass
class Panel:
    """One pair of axes and what is drawn between them; `column` and `row` are its domains, 0 to 1 (row 0 is below)."""

    column: tuple[float, float]
    row: tuple[float, float]
    x_axis: dict[str, Any]
    y_axis: dict[str, Any]
    title: str = ""
    traces: list[Trace] = field(default_factory=list)


@dataclass
class Figure:
    """A figure, ready to be drawn."""

    title: str
    panels: list[Panel]
    layout: dict[str, Any]
    left_out: list[str]


def text_of(value: Any) -> str:
    """Text of a title, which plotly writes as a string or as {"text": ...}, without HTML tags."""
    if isinstance(value, dict):
        value = value.get("text")
    return _TAG.sub(lambda tag: " " if tag.group().startswith("<br") else "", value) if isinstance(value, str) else ""


def values_of(data: Any) -> list[Any]:
    """A list from JSON's list or from plotly's {"dtype", "bdata", "shape"}; nested where it has two dimensions."""
    if isinstance(data, list):
        return data
    if not isinstance(data, dict) or "bdata" not in data:
        return []
    code = _CODES.get(str(data.get("dtype")))
    if code is None:
        return []
    try:
        raw = base64.b64decode(data["bdata"])
        numbers = array.array(code)
        numbers.frombytes(raw[: len(raw) - len(raw) % numbers.itemsize])
    except (binascii.Error, TypeError, ValueError):
        return []
    if sys.byteorder == "big":
        numbers.byteswap()
    flat = numbers.tolist()
    shape = [int(n) for n in re.findall(r"\d+", str(data.get("shape", "")))]
    for size in reversed(shape[1:]):
        if size:
            flat = [flat[start : start + size] for start in range(0, len(flat), size)]
    return flat


def _axis_name(letter: str, reference: Any) -> str:
    number = str(reference)[1:] if isinstance(reference, str) else ""
    return f"{letter}axis{number}"


def _domain(axis: dict[str, Any]) -> tuple[float, float]:
    domain = axis.get("domain")
    if isinstance(domain, list) and len(domain) == 2 and all(isinstance(d, (int, float)) for d in domain):
        return float(domain[0]), float(domain[1])
    return 0.0, 1.0


def _dictionary(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def read_figure(figure: Any) -> Figure:
    """The figure in plotly's JSON (already parsed)."""
    figure = _dictionary(figure)
    layout = _dictionary(figure.get("layout"))
    panels: dict[tuple[str, str], Panel] = {}
    left_out: list[str] = []
    raw_traces = figure.get("data")
    for slot, raw in enumerate(raw_traces if isinstance(raw_traces, list) else []):
        if not isinstance(raw, dict) or raw.get("visible") in (False, "legendonly"):
            continue
        kind = str(raw.get("type", "scatter"))
        if kind not in DRAWN or (kind == "image" and not _pixels(raw)[0]):
            left_out.append(kind)
            continue
        names = _axis_name("x", raw.get("xaxis")), _axis_name("y", raw.get("yaxis"))
        if names not in panels:
            x_axis, y_axis = (_dictionary(layout.get(name)) for name in names)
            if kind == "image":  # as plotly has it where the figure says nothing: the first row above, pixels square
                y_axis = {
                    "scaleanchor": names[0],
                    **({} if y_axis.get("range") else {"autorange": "reversed"}),
                    **y_axis,
                }
            panels[names] = Panel(_domain(x_axis), _domain(y_axis), x_axis, y_axis)
        panels[names].traces.append(_trace(kind, raw, slot))
    merged = _share_overlays(list(panels.values()))
    _give_titles(merged, layout.get("annotations"))
    return Figure(text_of(layout.get("title")), merged, layout, left_out)


def _trace(kind: str, raw: dict[str, Any], slot: int) -> Trace:
    x, y, z = values_of(raw.get("x")), values_of(raw.get("y")), values_of(raw.get("z"))
    if kind in ("scatter", "scattergl", "bar"):
        x = x or _steps(raw, "x", len(y))
        y = y or _steps(raw, "y", len(x))
    if kind == "scattergl":
        kind = "scatter"
    if kind == "contour":
        kind = "heatmap"
    if kind == "image":
        z, x, y = _pixels(raw)
    rows = [row for row in z if isinstance(row, list)]
    return Trace(
        kind,
        text_of(raw.get("name")),
        raw,
        x,
        y,
        rows,
        slot,
        raw.get("showlegend") is not False and bool(raw.get("name")),
    )


def _pixels(raw: dict[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The rows of an image, and the places of its columns and rows; all empty where it holds none that is drawn.

    Pixels come as numbers in `z`, or as a PNG in `source` (as `plotly.express.imshow` writes it).  No screen shows more
    than some hundred: of a larger image some are left out.
    """
    source = raw.get("source")
    z: Any = [row for row in values_of(raw.get("z")) if isinstance(row, list)]
    if not z and isinstance(source, str) and source.startswith("data:image/png;base64,"):
        from .image_view import CannotDecode, decode_png

        try:
            z = decode_png(base64.b64decode(source.partition(",")[2]))
        except (CannotDecode, binascii.Error, ValueError):
            return [], [], []
    down, across = len(z), len(z[0]) if len(z) else 0
    by, along = -(-down // _MOST_PIXELS) or 1, -(-across // _MOST_PIXELS) or 1
    x, y = _steps(raw, "x", across)[::along], _steps(raw, "y", down)[::by]
    if isinstance(z, list):
        return [row[::along] for row in z[::by]], x, y
    return z[::by, ::along].tolist(), x, y


def _steps(raw: dict[str, Any], letter: str, count: int) -> list[Any]:
    start, step = raw.get(f"{letter}0", 0), raw.get(f"d{letter}", 1)
    if not isinstance(start, (int, float)) or not isinstance(step, (int, float)):
        start, step = 0, 1
    return [start + n * step for n in range(count)]


def _share_overlays(panels: list[Panel]) -> list[Panel]:
    """A second y axis over the first one (`overlaying`) is drawn in the same panel, on the first one's scale."""
    out: list[Panel] = []
    for panel in panels:
        base = next((p for p in out if p.column == panel.column and p.row == panel.row), None)
        if base is not None and (panel.y_axis.get("overlaying") or panel.x_axis.get("overlaying")):
            base.traces.extend(panel.traces)
        else:
            out.append(panel)
    return out


def _give_titles(panels: list[Panel], annotations: Any) -> None:
    """Subplot titles are annotations above the upper edge of a panel."""
    for note in annotations if isinstance(annotations, list) else []:
        note = _dictionary(note)
        x, y, text = note.get("x"), note.get("y"), text_of(note.get("text"))
        if not text or note.get("showarrow") is not False or not isinstance(x, (int, float)):
            continue
        if not isinstance(y, (int, float)):
            continue
        for panel in panels:
            if panel.column[0] <= x <= panel.column[1] and math.isclose(panel.row[1], y, abs_tol=0.02):
                panel.title = text
