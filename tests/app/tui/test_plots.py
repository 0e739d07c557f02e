"""Figures as text: what is drawn where, for every trace type, on plain data and on what plotly itself writes."""

from __future__ import annotations

import base64
import json
import math
import struct

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plotly.subplots import make_subplots

from tapescope.app.tui.graphics import png
from tapescope.app.tui.plot_data import read_figure, values_of
from tapescope.app.tui.plot_draw import draw
from tapescope.app.tui.plot_scale import Scale, nice_ticks, number_text
from tapescope.app.tui.themes import DARK, look_of

LOOK = look_of(DARK, {})


def lines(figure, width: int = 70, height: int = 14) -> list[str]:
    """The drawing of a plotly figure, or of its JSON, as plain text."""
    data = figure if isinstance(figure, dict) else json.loads(plotly.io.to_json(figure))
    drawn = draw(data, width, LOOK, height)
    assert all(line.cell_len <= width for line in drawn)
    return [line.plain for line in drawn]


def dots(text: list[str]) -> list[tuple[int, int]]:
    """Column and row of every character that holds a part of a curve."""
    return [(x, y) for y, line in enumerate(text) for x, c in enumerate(line) if "⠀" < c <= "⣿"]


def test_a_falling_curve_falls():
    """A line starts high at the left and ends low at the right."""
    text = lines(go.Figure(go.Scatter(y=[math.exp(-n / 10) for n in range(60)], mode="lines")))
    found = dots(text)
    left = [y for x, y in found if x < 12]
    right = [y for x, y in found if x > 60]
    assert max(left) < min(right)


def test_axes_have_round_numbers_and_titles():
    """Ticks, titles and the figure's own title are there."""
    figure = go.Figure(go.Scatter(x=[0, 200], y=[0, 1]))
    figure.update_layout(title="Loss", xaxis_title="step", yaxis_title="loss")
    text = "\n".join(lines(figure))
    for word in ("Loss", "step", "loss", "100", "0.5", "└", "┤"):
        assert word in text


def test_two_curves_have_a_legend_and_two_colours():
    """Each name stands beside a sign in its curve's colour."""
    figure = go.Figure([go.Scatter(y=[1, 2, 3], name="train"), go.Scatter(y=[3, 2, 1], name="test")])
    drawn = draw(json.loads(plotly.io.to_json(figure)), 70, LOOK)
    legend = drawn[0]
    assert "train" in legend.plain and "test" in legend.plain
    colours = [span.style.color.name for span in legend.spans if legend.plain[span.start] == "━"]
    assert len(set(colours)) == 2
    curve = {span.style.color.name for line in drawn[1:] for span in line.spans if span.style and span.style.color}
    assert set(colours) <= curve


def test_bars_are_as_high_as_their_values():
    """A bar twice as high takes twice the rows."""
    text = lines(go.Figure(go.Bar(x=["a", "b"], y=[2, 4])), height=18)
    full = [sum(1 for line in text if len(line) > x and line[x] in "▁▂▃▄▅▆▇█") for x in range(70)]
    low, high = full[20], full[52]
    assert abs(high - 2 * low) <= 2 and low > 3
    assert "a" in text[-1] and "b" in text[-1]


def test_negative_and_lying_bars():
    """Bars below zero hang down; orientation h lies."""
    text = lines(go.Figure(go.Bar(x=["a", "b"], y=[2, -2])))
    assert any("█" in line[10:35] for line in text[:5]) and any("█" in line[38:65] for line in text[6:11])
    lying = lines(go.Figure(go.Bar(y=["long", "short"], x=[4, 1], orientation="h")))
    counts = [line.count("█") for line in lying if "█" in line]
    assert max(counts) >= 3.5 * min(counts)


def test_bars_stack_and_group():
    """Stacked bars end at the sum, grouped ones stand side by side."""
    data = [go.Bar(x=["a"], y=[1], name="one"), go.Bar(x=["a"], y=[3], name="two")]
    stacked = "\n".join(lines(go.Figure(data).update_layout(barmode="stack")))
    grouped = "\n".join(lines(go.Figure(data)))
    assert "4┤" in stacked and "4┤" not in grouped


def test_a_histogram_counts():
    """The highest bin holds the most frequent values, and the axis shows its count."""
    text = "\n".join(lines(go.Figure(go.Histogram(x=[1.1] * 30 + [2.1] * 10 + [3.1] * 20))))
    assert "30┤" in text or "20┤" in text
    assert "█" in text


def test_a_heat_map_shows_high_and_low():
    """Cells differ in colour with their values, and a colour bar names both ends."""
    drawn = draw(json.loads(plotly.io.to_json(go.Figure(go.Heatmap(z=[[0, 1], [2, 30]])))), 70, LOOK)
    text = "\n".join(line.plain for line in drawn)
    assert "30" in text and "▀" in text
    assert len({s.style.color.name for line in drawn for s in line.spans if s.style and s.style.bgcolor}) >= 4


def test_an_image_keeps_its_shape():
    """`scaleanchor` makes pixels square: an 8 by 8 image is twice as many columns wide as rows high."""
    figure = go.Figure(go.Heatmap(z=[[i * j for i in range(8)] for j in range(8)], showscale=False))
    figure.update_yaxes(autorange="reversed", scaleanchor="x")
    text = lines(figure, height=14)
    rows = [line for line in text if "▀" in line]
    assert abs(max(line.count("▀") for line in rows) - 2 * len(rows)) <= 1


def test_subplots_stand_side_by_side_or_below_each_other():
    """Three panels with their titles share a wide line and stack in a narrow one."""
    figure = make_subplots(rows=1, cols=3, subplot_titles=["one", "two", "three"])
    for column in (1, 2, 3):
        figure.add_trace(go.Scatter(y=[1, 2, column]), row=1, col=column)
    wide = lines(figure, width=100)
    assert any("one" in line and "two" in line and "three" in line for line in wide)
    narrow = lines(figure, width=30)
    assert len(narrow) > 2 * len(wide)
    assert [word for line in narrow for word in ("one", "two", "three") if word in line] == ["one", "two", "three"]


def test_logarithmic_and_time_axes():
    """Powers of ten are evenly spaced; dates are written as dates."""
    log = "\n".join(lines(go.Figure(go.Scatter(y=[1, 10, 100, 1000])).update_yaxes(type="log")))
    assert "1000┤" in log and "10┤" in log
    dates = "\n".join(lines(go.Figure(go.Scatter(x=["2024-01-01", "2024-06-01"], y=[1, 2]))))
    assert "2024-" in dates


def test_gaps_and_infinities_are_left_out():
    """NaN, None and infinity break the line and do not disturb the axis."""
    figure = {"data": [{"type": "scatter", "y": [1.0, None, float("nan"), float("inf"), 2.0], "mode": "lines+markers"}]}
    text = lines(figure)
    assert sum(line.count("•") for line in text) == 2


def test_what_cannot_be_drawn_is_named():
    """A pie is a sentence that points to the browser."""
    assert "pie" in " ".join(lines(go.Figure(go.Pie(values=[1, 2]))))
    assert "nothing to draw" in " ".join(lines({}))


def test_typed_arrays_are_read_without_numpy():
    """plotly's base64 arrays, of one and of two dimensions."""
    raw = base64.b64encode(struct.pack("<4d", 1, 2, 3, 4)).decode()
    assert values_of({"dtype": "f8", "bdata": raw}) == [1, 2, 3, 4]
    assert values_of({"dtype": "f8", "bdata": raw, "shape": "2, 2"}) == [[1, 2], [3, 4]]
    assert values_of({"dtype": "x9", "bdata": "!"}) == [] and values_of({"dtype": "f8", "bdata": "?"}) == []


def test_titles_lose_their_markup():
    """HTML in titles is not shown."""
    assert read_figure({"layout": {"title": {"text": "<b>Loss</b><br>of a run"}}}).title == "Loss of a run"


def test_a_hundred_thousand_points_are_thinned():
    """Long curves keep their extremes: a single spike is still drawn."""
    y = [0.0] * 100_000
    y[50_000] = 1.0
    found = dots(lines({"data": [{"type": "scatter", "mode": "lines", "y": y}]}))
    assert min(y for _, y in found) <= 2


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=6) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=5)
            | st.dictionaries(
                st.sampled_from(
                    ["data", "layout", "type", "x", "y", "z", "marker", "color", "xaxis", "range", "title", "mode"]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=25,
    )
)
def test_reading_never_raises(figure):
    """Whatever JSON claims to be a figure, reading it gives a figure."""
    read_figure(figure)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (0, 1437, [0, 500, 1000]), (-1, 1, [-1, -0.5, 0, 0.5, 1])],
)
def test_nice_ticks(low, high, ticks):
    """Steps of 1, 2, 2.5 or 5 times a power of ten."""
    count = 5 if high != 1437 else 4
    assert nice_ticks(low, high, count) == pytest.approx(ticks)


def test_number_texts():
    """As short as the step allows."""
    assert [number_text(v, 0.5) for v in (0.0, 0.5, 1.0)] == ["0", "0.5", "1.0"]
    assert number_text(1e9) == "1e9" and number_text(2.5e-7) == "2.5e-7"


def test_scales_are_monotonous():
    """Larger values stand further along; reversed axes turn that round."""
    scale = Scale([0, 5, 10])
    assert scale.at(0) < scale.at(5) < scale.at(10)
    back = Scale([0, 10], {"autorange": "reversed"})
    assert back.at(0) > back.at(10)
    assert Scale([1, 1]).at(1) == pytest.approx(0.5)
    assert Scale([]).ticks(4)


def test_an_image_is_drawn_the_right_way_up():
    """`plotly.express.imshow` writes pixels as a PNG: the first row is above, pixels are square; a broken one is named."""
    pixels = np.zeros((4, 4, 3), dtype=np.uint8)
    pixels[0] = 255
    source = "data:image/png;base64," + base64.b64encode(png(pixels)).decode()
    drawn = [line for line in draw({"data": [{"type": "image", "source": source}]}, 60, LOOK, 14) if "▀" in line.plain]
    assert abs(drawn[0].plain.count("▀") - 2 * len(drawn)) <= 1

    def colours(line):
        return {s.style.color.triplet.hex for s in line.spans if s.style.color is not None and s.style.color.triplet}

    assert "#ffffff" in colours(drawn[0]) and "#ffffff" not in colours(drawn[-1])
    broken = lines({"data": [{"type": "image", "source": source[:40]}]})
    assert "image traces are not drawn" in " ".join(broken)
