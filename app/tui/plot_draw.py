"""Plotly figures drawn as coloured text: lines, points, bars, histograms and heat maps, with axes and a legend.

`draw` gives the lines; reading the figure is the subject of plot_data.py, positions of plot_scale.py and
characters of plot_canvas.py.
"""

from __future__ import annotations

import bisect
import itertools
import math
import textwrap
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text
from textual.color import Color, ColorParseError

from .ansi import inert
from .plot_canvas import Canvas
from .plot_data import Figure, Panel, Trace, read_figure, text_of, values_of
from .plot_scale import Scale, nice_ticks, number_text
from .themes import Look

__all__ = ["draw"]

_FEWEST_COLUMNS = 20
"""Panels that would be narrower than this are drawn below each other."""

_SCALE = ((0.0, "#440154"), (0.25, "#3b528b"), (0.5, "#21918c"), (0.75, "#5ec962"), (1.0, "#fde725"))
_MANY_POINTS = 4000
_COLOUR_BAR = 10
"""Columns that the colour bar of a heat map takes, with its numbers."""


def draw(figure: Any, width: int, look: Look, height: int = 0) -> list[Text]:
    """The figure in `width` columns; `height` rows for a single row of panels (0: chosen by the width)."""
    read = read_figure(figure)
    height = height or max(10, min(18, width // 5))
    lines: list[Text] = []
    if read.title:
        lines.append(_centred(read.title, width, look.strong))
    lines.extend(_legend(read, width, look))
    for row in _grid(read.panels, width):
        share = max(1, width // len(row))
        sheet = Canvas(width, height)
        for number, panel in enumerate(row):
            sheet.paste(number * share, 0, _panel(panel, read, share - (1 if len(row) > 1 else 0), height, look))
        lines.extend(sheet.lines())
    if read.left_out or not read.panels:
        kinds = ", ".join(dict.fromkeys(read.left_out))
        said = f"{kinds} traces are not drawn in the terminal" if kinds else "The figure has nothing to draw"
        lines.extend(_words(f"{said}; open the figure in the browser to see it.", width, look.muted))
    return lines


def _words(sentence: str, width: int, style: Style) -> list[Text]:
    """A sentence broken between words."""
    return [Text(piece, style, end="", no_wrap=True) for piece in textwrap.wrap(inert(sentence), max(width, 8))]


def _centred(text: str, width: int, style: Style) -> Text:
    text = inert(text)
    if cell_len(text) > width:
        text = set_cell_size(text, max(0, width - 1)) + "…"
    return Text(" " * ((width - cell_len(text)) // 2) + text, style, end="", no_wrap=True)


def _grid(panels: list[Panel], width: int) -> list[list[Panel]]:
    """Panels in rows from above, each row from the left; rows that would be too narrow are broken."""
    rows: dict[float, list[Panel]] = {}
    for panel in panels:
        rows.setdefault(round(panel.row[1], 3), []).append(panel)
    most = max(1, width // _FEWEST_COLUMNS)
    out = []
    for top in sorted(rows, reverse=True):
        row = sorted(rows[top], key=lambda p: p.column)
        out.extend(row[start : start + most] for start in range(0, len(row), most))
    return out


# -- colours ----------------------------------------------------------------------------------------


def _parsed(colour: Any) -> str | None:
    if not isinstance(colour, str):
        return None
    try:
        return Color.parse(colour.replace(" ", "") if colour.startswith("rgb") else colour).hex6.lower()
    except ColorParseError:
        return None


def _colour(trace: Trace, figure: Figure, look: Look) -> str:
    """The trace's own colour, else its place in the theme's cycle.

    Plotly express writes its default cycle into every trace; those defaults are mapped to the theme's colours too.
    """
    own = trace.part("line", "color") if trace.type == "scatter" and "lines" in trace.mode else None
    own = own or trace.part("marker", "color") or trace.part("line", "color")
    if isinstance(own, str):
        cycle = _template(figure, "colorway")
        if isinstance(cycle, list) and own.lower() in [str(c).lower() for c in cycle]:
            return look.plot[[str(c).lower() for c in cycle].index(own.lower()) % len(look.plot)]
        if (parsed := _parsed(own)) is not None:
            return parsed
    return look.plot[trace.slot % len(look.plot)]


def _template(figure: Figure, name: str) -> Any:
    template = figure.layout.get("template")
    inner = template.get("layout") if isinstance(template, dict) else None
    return figure.layout.get(name) or (inner.get(name) if isinstance(inner, dict) else None)


class _Gradient:
    """A colour scale: numbers between `low` and `high` to colours."""

    def __init__(self, stops: Any, low: float, high: float, reverse: bool = False) -> None:
        pairs = []
        for stop in stops if isinstance(stops, list) else []:
            if isinstance(stop, (list, tuple)) and len(stop) == 2 and (colour := _parsed(stop[1])):
                pairs.append((float(stop[0]), colour))
        pairs = pairs if len(pairs) >= 2 else list(_SCALE)
        self.low, self.high = low, high
        table = []
        for n in range(65):
            t = 1 - n / 64 if reverse else n / 64
            place = min(max(bisect.bisect_right([p for p, _ in pairs], t), 1), len(pairs) - 1)
            (a, first), (b, second) = pairs[place - 1], pairs[place]
            mix = (t - a) / (b - a) if b > a else 0.0
            table.append(Color.parse(first).blend(Color.parse(second), min(max(mix, 0.0), 1.0)).hex6.lower())
        self._table = table

    def __call__(self, value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            return None
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self._table[round(min(max(share, 0.0), 1.0) * 64)]


def _gradient(trace: Trace, figure: Figure, values: list[float]) -> _Gradient:
    part = trace.raw if trace.type == "heatmap" else trace.part("marker") or {}
    axis_name = part.get("coloraxis")
    axis = figure.layout.get(axis_name) if isinstance(axis_name, str) else None
    source = axis if isinstance(axis, dict) else part
    prefix = "z" if source is trace.raw else "c"
    low, high = source.get(f"{prefix}min"), source.get(f"{prefix}max")
    low = low if isinstance(low, (int, float)) else min(values, default=0.0)
    high = high if isinstance(high, (int, float)) else max(values, default=1.0)
    scales = _template(figure, "colorscale")
    stops = source.get("colorscale") or (scales.get("sequential") if isinstance(scales, dict) else None)
    return _Gradient(stops, low, high, bool(source.get("reversescale")))


def _numbers(values: list[Any]) -> list[float]:
    return [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v)]


def _legend(figure: Figure, width: int, look: Look) -> list[Text]:
    traces = [t for panel in figure.panels for t in panel.traces if t.shown_in_legend and t.type != "heatmap"]
    if figure.layout.get("showlegend") is False or len(traces) < 2:
        return []
    seen: dict[str, Trace] = {}
    for trace in traces:
        seen.setdefault(trace.name, trace)
    lines = [Text(end="", no_wrap=True)]
    for name, trace in seen.items():
        sign = "•" if trace.type == "scatter" and "lines" not in trace.mode else "━" if trace.type == "scatter" else "■"
        name = inert(name)
        if lines[-1].cell_len and lines[-1].cell_len + cell_len(name) + 5 > width:
            lines.append(Text(end="", no_wrap=True))
        lines[-1].append("   " if lines[-1].cell_len else "")
        lines[-1].append(f"{sign} ", Style(color=_colour(trace, figure, look)))
        lines[-1].append(name, look.soft)
    return [Text(" " * max(0, (width - line.cell_len) // 2), end="", no_wrap=True).append_text(line) for line in lines]


# -- one panel --------------------------------------------------------------------------------------


def _panel(panel: Panel, figure: Figure, width: int, height: int, look: Look) -> Canvas:
    canvas = Canvas(width, height)
    maps = [t for t in panel.traces if t.type in ("heatmap", "image")]
    bars = _bars(panel, figure)
    x_scale, y_scale = _scales(panel, bars)
    x_title, y_title = text_of(panel.x_axis.get("title")), text_of(panel.y_axis.get("title"))
    top = 0
    if panel.title:
        line = _centred(panel.title, width, look.soft)
        canvas.text(0, 0, line.plain, look.soft)
        top = 1
    if y_title:
        canvas.text(0, top, inert(y_title)[:width], look.muted)
        top += 1
    show_x = panel.x_axis.get("visible") is not False and panel.x_axis.get("showticklabels") is not False
    show_y = panel.y_axis.get("visible") is not False and panel.y_axis.get("showticklabels") is not False
    below = 1 + (1 if show_x else 0) + (1 if x_title else 0)
    rows = max(2, height - top - below)
    y_ticks = y_scale.ticks(max(2, rows // 3 if y_scale.kind != "category" else rows)) if show_y else []
    margin = min(max((cell_len(inert(label)) for _, label in y_ticks), default=0), max(4, width // 3))
    left = margin + 1
    with_colours = (
        bool(maps) and maps[0].type == "heatmap" and maps[0].raw.get("showscale") is not False and width >= 40
    )
    columns = max(2, width - left - 1 - (_COLOUR_BAR if with_colours else 0))
    if maps and panel.y_axis.get("scaleanchor"):
        z = maps[0].z
        if z and z[0]:
            columns = max(2, min(columns, round(rows * 2 * len(z[0]) / len(z))))
    inner = Canvas(columns, rows)
    for trace in maps:
        _draw_map(trace, inner, figure, x_scale, y_scale)
    for bar in bars:
        _draw_bar(bar, inner, figure, look, x_scale, y_scale)
    if x_scale.kind != "category" and y_scale.kind == "linear" and y_scale.low < 0 < y_scale.high and not maps:
        _draw_zero(inner, y_scale, look)
    for trace in panel.traces:
        if trace.type == "scatter":
            _draw_scatter(trace, inner, figure, look, x_scale, y_scale)
    canvas.paste(left, top, inner)

    for row in range(rows):
        canvas.text(margin, top + row, "│", look.faint)
    for share, label in y_ticks:
        row = rows - 1 - min(rows - 1, max(0, math.floor(share * rows)))
        if not -1e-6 <= share <= 1 + 1e-6:
            continue
        label = set_cell_size(inert(label), margin) if cell_len(inert(label)) > margin else inert(label)
        canvas.text(margin - cell_len(label), top + row, label, look.muted)
        canvas.text(margin, top + row, "┤", look.faint)
    canvas.text(margin, top + rows, "└" + "─" * columns, look.faint)
    if show_x:
        _x_labels(canvas, x_scale, left, columns, top + rows, look)
    if x_title:
        title = inert(x_title)[:columns]
        canvas.text(left + (columns - cell_len(title)) // 2, top + rows + below - 1, title, look.muted)
    if with_colours:
        _colour_bar(canvas, maps[0], figure, left + columns + 2, top, rows, look)
    return canvas


def _x_labels(canvas: Canvas, scale: Scale, left: int, columns: int, row: int, look: Look) -> None:
    if scale.kind == "category":
        widest = max((cell_len(name) for name in scale.categories), default=1)
        count = max(1, columns // (min(widest, 12) + 2))
    else:
        count = max(2, columns // 10)
    free_from = 0
    for share, label in scale.ticks(count):
        if not -1e-6 <= share <= 1 + 1e-6:
            continue
        label = inert(label)
        column = left + min(columns - 1, math.floor(share * columns))
        start = max(0, min(column - cell_len(label) // 2, canvas.width - cell_len(label)))
        if start < free_from:
            continue
        canvas.text(start, row + 1, label, look.muted)
        canvas.text(column, row, "┴", look.faint)
        free_from = start + cell_len(label) + 1


def _colour_bar(canvas: Canvas, trace: Trace, figure: Figure, column: int, top: int, rows: int, look: Look) -> None:
    numbers = _numbers([v for row in trace.z for v in row])
    gradient = _gradient(trace, figure, numbers)
    if gradient.high <= gradient.low:
        return
    for row in range(rows):
        upper, lower = (
            gradient(gradient.high + (gradient.low - gradient.high) * (row * 2 + half) / max(1, rows * 2 - 1))
            for half in (0, 1)
        )
        canvas.halves(column, top + row, upper, lower)
        canvas.halves(column + 1, top + row, upper, lower)
    canvas.text(column + 3, top, number_text(gradient.high), look.muted)
    canvas.text(column + 3, top + rows - 1, number_text(gradient.low), look.muted)


def _scales(panel: Panel, bars: list[_Bar]) -> tuple[Scale, Scale]:
    x_values: list[Any] = []
    y_values: list[Any] = []
    tight = False
    for trace in panel.traces:
        if trace.type == "scatter":
            x_values += trace.x
            y_values += trace.y
        elif trace.type in ("heatmap", "image"):
            tight = True
            x_values += _edges(trace.x, max(map(len, trace.z), default=0))
            y_values += _edges(trace.y, len(trace.z))
    upright = [b for b in bars if not b.horizontal]
    lying = [b for b in bars if b.horizontal]
    for bar in bars:
        (y_values if bar.horizontal else x_values).extend(bar.extent())
        (x_values if bar.horizontal else y_values).extend((bar.base, bar.top))
    only_bars = bool(bars) and not any(t.type == "scatter" for t in panel.traces)
    return (
        Scale(x_values, panel.x_axis, zero=bool(lying), tight=tight or (only_bars and bool(upright)), padding=0.02),
        Scale(y_values, panel.y_axis, zero=bool(upright), tight=tight or (only_bars and bool(lying))),
    )


def _edges(places: list[Any], count: int) -> list[Any]:
    """The places of a heat map's columns, widened by half a column at both ends where they are numbers."""
    if not count:
        return []
    if places and len(places) >= count and not all(isinstance(p, (int, float)) for p in places):
        return places
    first, last = (places[0], places[-1]) if len(places) >= 2 else (0, count - 1)
    half = (last - first) / max(count - 1, 1) / 2 or 0.5
    return [first - half, last + half]


# -- traces -----------------------------------------------------------------------------------------


def _points(trace: Trace, canvas: Canvas, x_scale: Scale, y_scale: Scale) -> list[tuple[float, float] | None]:
    """Dot coordinates of the points; None stands for a gap."""
    right, bottom = canvas.width * 2 - 1, canvas.height * 4 - 1
    out: list[tuple[float, float] | None] = []
    for x_value, y_value in zip(trace.x, trace.y, strict=False):
        x, y = x_scale.at(x_value), y_scale.at(y_value)
        out.append(None if x is None or y is None else (x * right, (1 - y) * bottom))
    return out


def _thinned(points: list[tuple[float, float] | None], buckets: int) -> list[tuple[float, float] | None]:
    """Long lines keep the lowest and the highest point of each stretch: the picture is the same."""
    if len(points) <= _MANY_POINTS:
        return points
    size = math.ceil(len(points) / buckets)
    out: list[tuple[float, float] | None] = []
    for start in range(0, len(points), size):
        piece = [p for p in points[start : start + size] if p is not None]
        if not piece:
            out.append(None)
            continue
        low, high = min(piece, key=lambda p: p[1]), max(piece, key=lambda p: p[1])
        out.extend(sorted({piece[0], low, high, piece[-1]}))
    return out


def _draw_scatter(trace: Trace, canvas: Canvas, figure: Figure, look: Look, x_scale: Scale, y_scale: Scale) -> None:
    style = Style(color=_colour(trace, figure, look))
    points = _points(trace, canvas, x_scale, y_scale)
    if "lines" in trace.mode:
        dash = 3 if trace.part("line", "dash") in ("dash", "dot", "dashdot", "longdash") else 0
        before = None
        for point in _thinned(points, canvas.width * 2):
            if point is not None and before is not None:
                canvas.line(*before, *point, style, dash=dash)
            before = point if point is not None or not trace.raw.get("connectgaps") else before
    few = len(points) <= canvas.width // (3 if "lines" in trace.mode else 1)
    if "markers" not in trace.mode or (not few and "lines" in trace.mode):
        return
    colours = values_of(trace.part("marker", "color"))
    gradient = _gradient(trace, figure, _numbers(colours)) if colours else None
    for number, point in enumerate(points):
        if point is None:
            continue
        own = None
        if gradient is not None and number < len(colours):
            own = gradient(colours[number]) or _parsed(colours[number])
        marker = Style(color=own) if own else style
        if few:
            canvas.text(round(point[0]) >> 1, round(point[1]) >> 2, "●" if "lines" not in trace.mode else "•", marker)
        else:
            canvas.dot(round(point[0]), round(point[1]), marker)


def _draw_zero(canvas: Canvas, y_scale: Scale, look: Look) -> None:
    row = canvas.height - 1 - min(canvas.height - 1, max(0, math.floor(y_scale.fraction(0.0) * canvas.height)))
    canvas.text(0, row, "┈" * canvas.width, look.faint)


class _Bar:
    """One bar: where it stands (`place`, `width` in axis units, or a category), from `base` to `top`."""

    __slots__ = ("base", "colour", "count", "horizontal", "number", "place", "top", "trace", "width")

    def __init__(
        self, trace: Trace, place: Any, base: float, top: float, width: float | None, number: int, count: int
    ) -> None:
        self.trace, self.place, self.base, self.top, self.width = trace, place, base, top, width
        self.number, self.count = number, count
        self.horizontal = trace.horizontal
        self.colour: Any = None

    def extent(self) -> list[Any]:
        if self.width is None or not isinstance(self.place, (int, float)):
            return [self.place]
        return [self.place - self.width / 2, self.place + self.width / 2]


def _bars(panel: Panel, figure: Figure) -> list[_Bar]:
    """The bars of all bar and histogram traces of a panel, grouped or stacked as the layout says."""
    traces = [t for t in panel.traces if t.type in ("bar", "histogram")]
    mode = figure.layout.get("barmode", "group")
    if traces and all(t.type == "histogram" for t in traces) and "barmode" not in figure.layout:
        mode = "stack"
    heights: dict[tuple[str, bool], float] = {}
    out: list[_Bar] = []
    for number, trace in enumerate(traces):
        places, lengths, width = _histogram(trace, traces) if trace.type == "histogram" else _bar_values(trace)
        colours = values_of(trace.part("marker", "color"))
        for index, (place, length) in enumerate(zip(places, lengths, strict=False)):
            if isinstance(length, bool) or not isinstance(length, (int, float)) or not math.isfinite(length):
                continue
            base = 0.0
            if mode in ("stack", "relative"):
                key = (str(place), length >= 0)
                base = heights.get(key, 0.0)
                heights[key] = base + length
            grouped = mode == "group" and len(traces) > 1
            bar = _Bar(
                trace, place, base, base + length, width, number if grouped else 0, len(traces) if grouped else 1
            )
            bar.colour = colours[index] if index < len(colours) else None
            out.append(bar)
    return out


def _bar_values(trace: Trace) -> tuple[list[Any], list[Any], float | None]:
    places, lengths = (trace.y, trace.x) if trace.horizontal else (trace.x, trace.y)
    numbers = sorted(set(_numbers(places)))
    if len(numbers) < len(set(map(str, places))):
        return places, lengths, None
    gap = min((b - a for a, b in itertools.pairwise(numbers)), default=1.0)
    return places, lengths, gap


def _histogram(trace: Trace, traces: list[Trace]) -> tuple[list[Any], list[Any], float | None]:
    """Bins as plotly would choose them: round steps, about the square root of the count of them."""
    letter = "y" if trace.raw.get("x") is None and trace.raw.get("y") is not None else "x"
    if letter == "y":
        trace.raw.setdefault("orientation", "h")
    values = trace.y if letter == "y" else trace.x
    if any(isinstance(v, str) for v in values):
        counts: dict[Any, int] = {}
        for value in values:
            counts[value] = counts.get(value, 0) + 1
        return list(counts), list(counts.values()), None
    numbers = _numbers(values)
    if not numbers:
        return [], [], None
    # One set of bins for all histograms of the panel, so that they can be compared and stacked.
    together = [n for t in traces if t.type == "histogram" for n in _numbers(t.y if letter == "y" else t.x)] or numbers
    bins = trace.part(f"{letter}bins") or {}
    size, start = bins.get("size"), bins.get("start")
    low, high = min(together), max(together)
    if not isinstance(size, (int, float)) or size <= 0:
        wanted = trace.raw.get(f"nbins{letter}")
        wanted = (
            wanted if isinstance(wanted, int) and wanted > 0 else min(40, max(5, math.ceil(math.sqrt(len(numbers)))))
        )
        ticks = nice_ticks(low, high, wanted)
        size = ticks[1] - ticks[0] if len(ticks) > 1 else (high - low) or 1.0
    if not isinstance(start, (int, float)):
        start = math.floor(low / size) * size
    end = bins.get("end")
    end = end if isinstance(end, (int, float)) else high
    count = min(1000, max(1, math.floor((end - start) / size + 1e-9) + 1))
    heights = [0.0] * count
    for number in numbers:
        place = math.floor((number - start) / size)
        if 0 <= place < count:
            heights[place] += 1
    norm = str(trace.raw.get("histnorm", ""))
    total = sum(heights) or 1.0
    scale = {"percent": 100 / total, "probability": 1 / total, "density": 1 / size}.get(norm, 1.0)
    scale = 1 / total / size if norm == "probability density" else scale
    return [start + (n + 0.5) * size for n in range(count)], [h * scale for h in heights], size


def _draw_bar(bar: _Bar, canvas: Canvas, figure: Figure, look: Look, x_scale: Scale, y_scale: Scale) -> None:
    along, across = (x_scale, y_scale) if bar.horizontal else (y_scale, x_scale)
    place = across.place(bar.place)
    start, end = along.at(bar.base), along.at(bar.top)
    start = 0.0 if start is None and along.kind == "log" else start
    if place is None or start is None or end is None:
        return
    width = bar.width if across.kind == "linear" and bar.width is not None else 1.0
    if across.kind == "date":
        width = (across.high - across.low) / 20
    touching = bar.trace.type == "histogram" and across.kind == "linear"
    width *= 1.0 if touching else 0.8
    size = canvas.height if bar.horizontal else canvas.width
    first = across.fraction(place - width / 2) * size
    last = across.fraction(place + width / 2) * size
    first, last = sorted((first, last))
    step = (last - first) / bar.count
    first, last = first + step * bar.number, first + step * (bar.number + 1)
    low, high = round(first), max(round(first) + 1, round(last))
    if touching and high - low >= 5:
        high -= 1
    colour = _colour(bar.trace, figure, look)
    if isinstance(bar.colour, str):
        colour = _parsed(bar.colour) or colour
    elif isinstance(bar.colour, (int, float)):
        numbers = _numbers(values_of(bar.trace.part("marker", "color")))
        colour = _gradient(bar.trace, figure, numbers)(bar.colour) or colour
    if bar.horizontal:
        low, high = canvas.height - high, canvas.height - low
        canvas.row_bar(low, high, start * canvas.width, end * canvas.width, colour)
    else:
        canvas.column_bar(low, high, start * canvas.height, end * canvas.height, colour)


def _draw_map(trace: Trace, canvas: Canvas, figure: Figure, x_scale: Scale, y_scale: Scale) -> None:
    """A heat map, two pixels a cell; each pixel takes the value of the column and row it lies in."""
    rows, columns = len(trace.z), max(map(len, trace.z), default=0)
    if not rows or not columns:
        return
    gradient = None
    if trace.type == "heatmap":
        gradient = _gradient(trace, figure, _numbers([v for row in trace.z for v in row]))

    def colour(column: int, row: int) -> str | None:
        line = trace.z[row]
        value = line[column] if column < len(line) else None
        if gradient is not None:
            return gradient(value)
        if isinstance(value, list) and len(value) >= 3:
            red, green, blue = (min(255, max(0, int(v))) for v in value[:3])
            return f"#{red:02x}{green:02x}{blue:02x}"
        return None

    def index(share: float, scale: Scale, count: int) -> int:
        return min(count - 1, max(0, math.floor((1 - share if scale.reverse else share) * count)))

    for y in range(canvas.height):
        pair = [index(1 - (y * 2 + half + 0.5) / (canvas.height * 2), y_scale, rows) for half in (0, 1)]
        for x in range(canvas.width):
            column = index((x + 0.5) / canvas.width, x_scale, columns)
            canvas.halves(x, y, colour(column, pair[0]), colour(column, pair[1]))
