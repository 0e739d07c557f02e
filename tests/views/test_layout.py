"""Coordinates: boxes never overlap, values flow downwards, lines cross no box, and all of it is deterministic."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from views.dags import tapes
from views.recorded import Recorder, every, load

from tapescope.graphviz_views.layout import Rect, Size, Spacing, lay_out
from tapescope.graphviz_views.picture import make_picture
from tapescope.graphviz_views.tape import build_tape

EPSILON = 1e-6


def measure(key, stubs):
    """Sizes that differ from box to box, and grow with stubs."""
    return Size(60 + sum(map(ord, key)) % 50, 30 + 10 * len(stubs.inputs.get(key, ())))


def overlap(a, b):
    return (
        a.x < b.x + b.width - EPSILON
        and b.x < a.x + a.width - EPSILON
        and a.y < b.y + b.height - EPSILON
        and b.y < a.y + a.height - EPSILON
    )


def inside(a, b):
    return (
        b.x - EPSILON <= a.x
        and a.x + a.width <= b.x + b.width + EPSILON
        and b.y - EPSILON <= a.y
        and a.y + a.height <= b.y + b.height + EPSILON
    )


def check(picture, layout):
    assert list(layout.boxes) == list(picture.boxes)
    rects = list(layout.boxes.values())
    for i, a in enumerate(rects):
        assert a.x >= -EPSILON and a.x + a.width <= layout.width + EPSILON
        assert a.y >= -EPSILON and a.y + a.height <= layout.height + EPSILON
        assert not any(overlap(a, b) for b in rects[i + 1 :])
    children = {key: {c.key for c in frame.children} for key, frame in picture.frames.items()}
    for key, frame in layout.frames.items():
        for other, rect in {**layout.boxes, **layout.frames}.items():
            if other in children[key]:
                assert inside(rect, frame)
            elif other in layout.boxes:
                assert inside(rect, frame) or not overlap(rect, frame)
    drawn = set()
    for source, target, points, _ in layout.routes:
        drawn.add((source, target))
        a, b = layout.boxes[source], layout.boxes[target]
        assert a.y + a.height <= b.y + EPSILON
        assert abs(points[0][1] - a.y - a.height) < EPSILON and a.x <= points[0][0] <= a.x + a.width
        assert abs(points[-1][1] - b.y) < EPSILON and b.x <= points[-1][0] <= b.x + b.width
        for (x, y), (right, down) in itertools.pairwise(points):
            assert down >= y - EPSILON
            way = Rect(min(x, right), y, max(abs(right - x), 0.1), down - y)
            assert not any(overlap(way, rect) for rect in rects)
    stubs = {(a, b) for a, users in layout.stubs.users.items() for b in users}
    assert stubs == {(a, b) for b, inputs in layout.stubs.inputs.items() for a in inputs}
    assert drawn | stubs == set(picture.lines) and not drawn & stubs
    for source, target in stubs:
        assert layout.boxes[source].y < layout.boxes[target].y


@settings(max_examples=120, deadline=None)
@given(tapes(), st.booleans(), st.sets(st.sampled_from(["net", "net.a", "other", "net.a.b"])), st.integers(0, 9))
def test_random_graphs(tape, leaves, folded, span):
    picture = make_picture(build_tape(tape, leaves_as_nodes=leaves), folded)
    layout = lay_out(picture, measure, max_span=span)
    check(picture, layout)
    assert lay_out(picture, measure, max_span=span) == layout


@pytest.mark.parametrize("name", every())
def test_recorded_tapes(name):
    for graph in (build_tape(load(name)), build_tape(load(name), leaves_as_nodes=True)):
        for limit in (None, 5):
            picture = make_picture(graph, limit=limit)
            check(picture, lay_out(picture, measure))


def test_nothing():
    layout = lay_out(make_picture(build_tape({"version": 1, "nodes": []})), measure)
    assert (layout.width, layout.boxes, layout.routes) == (0, {}, ())


def test_a_chain_is_straight():
    r = Recorder()
    x = []
    for _ in range(8):
        x = [r.op("relu", x, [1])]
    layout = lay_out(make_picture(build_tape(r.snapshot()), opened=["*0"]), measure)
    middles = {round(rect.x + rect.width / 2, 3) for rect in layout.boxes.values()}
    assert len(middles) == 1
    ys = [rect.y for rect in layout.boxes.values()]
    assert ys == sorted(ys)


def test_leaves_stand_beside_their_users():
    r = Recorder()
    x = []
    for n in range(6):
        x = [r.op(f"op{n}", x, [1])]
    r.op("mul", [*x, r.leaf("late", 1)], [1])
    layout = lay_out(make_picture(build_tape(r.snapshot(), leaves_as_nodes=True)), lambda key, stubs: Size(50, 20))
    assert layout.boxes["node 7"].y == layout.boxes["node 6"].y


def test_a_long_line_becomes_stubs():
    r = Recorder()
    first = x = r.op("start", [], [1])
    for n in range(12):
        x = r.op(f"op{n}", [x], [1])
    last = r.op("end", [x, first], [1])
    picture = make_picture(build_tape(r.snapshot()))
    layout = lay_out(picture, measure, max_span=8)
    assert layout.stubs.users == {f"node {first}": [f"node {last}"]}
    assert layout.stubs.inputs == {f"node {last}": [f"node {first}"]}
    assert not lay_out(picture, measure, max_span=20).stubs.users


def test_crossings_that_can_be_avoided_are_avoided():
    r = Recorder()
    a, b = r.op("a", [], [1]), r.op("b", [], [1])
    d, c = r.op("d", [b], [1]), r.op("c", [a], [1])
    boxes = lay_out(make_picture(build_tape(r.snapshot())), lambda key, stubs: Size(50, 20)).boxes
    left = [boxes[f"node {n}"].x for n in (a, b, c, d)]
    assert (left[0] < left[1]) == (left[2] < left[3])


def test_distances_are_kept():
    r = Recorder()
    top = r.op("top", [], [1])
    for n in range(4):
        r.op(f"op{n}", [top], [1])
    boxes = lay_out(
        make_picture(build_tape(r.snapshot())), lambda key, stubs: Size(50, 20), spacing=Spacing(across=30, down=40)
    ).boxes
    row = sorted(rect.x for key, rect in boxes.items() if key != "node 1")
    assert all(right - left >= 80 - EPSILON for left, right in itertools.pairwise(row))
    assert boxes["node 2"].y - boxes["node 1"].y >= 60


def test_a_wide_layer_is_broken_into_rows():
    r = Recorder()
    first = r.op("mul", [], [1])
    many = [r.op(f"op{n}", [first], [1]) for n in range(60)]
    r.op("cat", many, [60])
    layout = lay_out(make_picture(build_tape(r.snapshot()), limit=None), lambda key, stubs: Size(90, 40))
    tops = Counter(rect.y for rect in layout.boxes.values())
    assert len(tops) == 6 and max(tops.values()) == 15
    assert all(a[1] <= b[1] for route in layout.routes for a, b in itertools.pairwise(route.points))
