"""Pictures in terminal cells: rows are exactly as wide as asked for, boxes are where they say, texts are inert."""

import itertools
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from views.dags import tapes
from views.recorded import every, load

from tapescope.graphviz_views.cells import STYLES, CellRect, draw_cells
from tapescope.graphviz_views.labels import cell_width
from tapescope.graphviz_views.picture import make_picture
from tapescope.graphviz_views.tape import build_tape


def drawn(name, zoom="boxes", **options):
    return draw_cells(make_picture(build_tape(load(name)), **options), zoom)


def apart(a, b):
    return a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y


def check(cells):
    for row in cells.rows():
        assert sum(cell_width(segment.text) for segment in row) == cells.width
        assert {segment.style for segment in row} <= set(STYLES)
    every = [*cells.rects.values(), *cells.mirrors.values()]
    assert all(apart(a, b) for a, b in itertools.combinations(every, 2))
    for key, rect in cells.rects.items():
        assert {
            cells.at(x, y) for x in range(rect.x, rect.x + rect.width) for y in (rect.y, rect.y + rect.height - 1)
        } == {key}
    for key, frame in cells.picture.frames.items():
        for child in frame.children if key else ():
            inner = cells.rects.get(child.key) or cells.frames[child.key]
            outer = cells.frames[key]
            assert outer.x < inner.x and inner.x + inner.width < outer.x + outer.width
            assert outer.y < inner.y and inner.y + inner.height < outer.y + outer.height


@settings(max_examples=60, deadline=None)
@given(
    tapes(30), st.sampled_from(["boxes", "chips"]), st.booleans(), st.sets(st.sampled_from(["net", "net.a", "other"]))
)
def test_random_tapes(tape, zoom, backward, folded):
    picture = make_picture(build_tape(tape), folded, backward=backward)
    cells = draw_cells(picture, zoom)
    check(cells)
    assert cells.text() == draw_cells(picture, zoom).text()
    assert set(cells.mirrors) == (set(picture.boxes) if backward else set())
    assert all(cells.mirrors[key].y == cells.rects[key].y for key in cells.mirrors)


@pytest.mark.parametrize("name", every())
@pytest.mark.parametrize("zoom", ["boxes", "chips"])
def test_recorded_tapes(name, zoom):
    check(drawn(name, zoom, backward=None))


def test_the_rows_of_a_window():
    cells = drawn("mlp")
    key = "node 3"
    rect = cells.rects[key]
    rows = cells.rows(rect.y, 3, rect.x, rect.width, selected=key)
    assert len(rows) == 3 and all(sum(len(s.text) for s in row) == rect.width for row in rows)
    assert {s.mark for row in rows for s in row} == {"selected"} and {s.key for row in rows for s in row} == {key}
    assert "".join(s.text for s in rows[0]).startswith("╭─ ▌linear ─")
    marked = cells.rows(rect.y, 1, rect.x, rect.width, marked={key})
    assert {s.mark for s in marked[0]} == {"marked"}
    outside = cells.rows(-2, 4, -5, 20)
    assert [sum(len(s.text) for s in row) for row in outside] == [20] * 4
    assert outside[0][0].text == " " * 20


def test_half_of_a_wide_character_at_the_edge_of_a_window():
    cells = drawn("hostile_labels")
    for left in range(10):
        for row in cells.rows(0, cells.height, left, 31):
            assert sum(cell_width(s.text) for s in row) == 31


def test_texts_are_inert():
    for zoom in ("boxes", "chips"):
        text = drawn("hostile_labels", zoom).text()
        assert not [
            c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs") and c not in "\n\u200d\u200c"
        ]
        assert "\x1b" not in text


def test_the_box_in_a_direction():
    cells = drawn("residual_cnn")
    first = next(iter(cells.rects))
    seen = [first]
    while (after := cells.neighbour(seen[-1], "down")) != seen[-1]:
        seen.append(after)
    assert len(seen) > 15 and seen[-1] == list(cells.rects)[-1]
    assert cells.neighbour(first, "up") == first and cells.neighbour("nothing", "up") == "nothing"
    shortcut = next(k for k, b in cells.picture.boxes.items() if "shortcut" in b.tooltip)
    assert cells.neighbour(cells.neighbour(shortcut, "left"), "right") == shortcut


def test_frames_answer_too():
    cells = drawn("mlp")
    rect = cells.frames["net"]
    assert cells.frame_at(rect.x, rect.y) == "net" and cells.at(rect.x, rect.y) is None
    assert cells.frame_at(cells.rects["node 7"].x, cells.height - 1) is None


def test_overview():
    cells = drawn("attention_x12", "chips")
    rows = cells.overview(40, 20, CellRect(0, 0, cells.width, 10), selected=list(cells.rects)[-1])
    assert len(rows) == 20 and all(sum(len(s.text) for s in row) == 40 for row in rows)
    assert {s.style for row in rows for s in row} == {"overview", "viewport"}
    text = "\n".join("".join(s.text for s in row) for row in rows)
    assert text.startswith("┌─") and re.fullmatch("[\u2800-\u28ff┌┐└┘─│\n]+", text)
    assert {s.key for row in rows for s in row} - {None} <= set(cells.rects)
    assert any(s.mark == "selected" for row in rows for s in row)
    assert cells.overview(0, 5) == []
    for x, y in ((0, 0), (5, 19)):
        right, down = cells.from_overview(x, y, 40, 20)
        assert 0 <= right and 0 <= down <= cells.height * 1.2


def test_an_unknown_zoom():
    with pytest.raises(ValueError, match="the zooms are boxes, chips"):
        drawn("mlp", "dots")


def test_an_empty_picture():
    cells = draw_cells(make_picture(build_tape({"version": 1, "nodes": []})))
    assert (cells.width, cells.height, cells.rows()) == (0, 0, [])
    assert cells.text().startswith("Tape: 0 operations")
