"""What is drawn: folding, the limit on boxes and the sentences about it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from views.dags import tapes
from views.recorded import Recorder, load

from tapescope.graphviz_views.outline import Outline
from tapescope.graphviz_views.picture import make_picture
from tapescope.graphviz_views.tape import build_tape


@settings(max_examples=120, deadline=None)
@given(tapes(60), st.sets(st.sampled_from(["net", "net.a", "other"])), st.none() | st.integers(2, 30))
def test_every_node_is_behind_one_box(tape, folded, limit):
    graph = build_tape(tape)
    picture = make_picture(graph, folded, limit=limit)
    covered = [i for box in picture.boxes.values() for i in range(box.start, box.stop)]
    assert covered == list(range(len(graph.nodes)))
    assert limit is None or len(picture.boxes) <= limit
    place = {key: n for n, key in enumerate(picture.boxes)}
    assert all(place[a] < place[b] for a, b in picture.lines)
    listed = [c.key for frame in picture.frames.values() for c in frame.children]
    assert sorted(listed) == sorted([*picture.boxes, *(key for key in picture.frames if key)])
    if limit is not None and any(b.kind == "cut" for b in picture.boxes.values()):
        assert any("not shown one by one" in note for note in picture.notes)


def test_a_folded_scope_is_one_box():
    picture = make_picture(build_tape(load("mlp")), ["net"])
    scope, loss = picture.boxes.values()
    assert (scope.kind, scope.title, scope.lines) == ("scope", "net", ("[100, 10] float32", "3 nodes"))
    assert [b.text for b in scope.badges] == ["saved 38.8 KiB"]  # what relu makes is kept by two and counted once
    assert loss.is_root and loss.badges[0].text == "backward starts here"
    assert picture.lines == ((scope.key, loss.key),)
    assert picture.notes == ()


def test_repeats_show_one_turn_and_the_rest():
    graph = build_tape(load("blocks_x12"))
    rest = [box for box in make_picture(graph).boxes.values() if box.kind == "repeat"]
    assert [(box.title, box.lines[-1]) for box in rest] == [
        ("11 more like this", "blocks.0 to blocks.11 x12, one shown"),
        ("11 more like this", "turn 1 to turn 12 x12, one shown"),
    ]
    picture = make_picture(graph, opened=[box.scope for box in rest])
    assert len(picture.boxes) == len(graph.nodes)


def test_outer_scopes_are_opened_first():
    picture = make_picture(build_tape(load("residual_cnn")), limit=10)
    titles = [box.title for box in picture.boxes.values()]
    assert titles[:3] == ["conv2d", "batch_norm", "relu"]
    assert titles[3:] == ["layer1", "layer2", "mean", "linear", "cross_entropy"]
    assert picture.notes == ("Only 10 boxes are drawn: 2 scopes (net.layer1, net.layer2) stay closed.",)


def test_of_a_flat_graph_the_newest_nodes_are_shown():
    r = Recorder()
    x = []
    for n in range(400):
        x = [r.op(f"op{n}", x, [1], "net" if n < 399 else "", n + 1)]
    picture = make_picture(build_tape(r.snapshot()))
    boxes = list(picture.boxes.values())
    assert len(boxes) == 150
    assert boxes[0].kind == "cut" and boxes[0].title == "251 earlier nodes"
    assert picture.notes == ("Only 150 boxes are drawn: 251 earlier nodes are not shown one by one.",)
    assert [box.title for box in boxes[-2:]] == ["op398", "op399"]
    assert len(make_picture(build_tape(r.snapshot()), limit=None).boxes) == 400


def test_too_small_a_limit():
    with pytest.raises(ValueError, match="room for at least 2 boxes, not 1"):
        make_picture(build_tape(load("mlp")), limit=1)


def test_tooltips_say_everything():
    picture = make_picture(build_tape(load("mlp")))
    assert next(iter(picture.boxes.values())).tooltip.splitlines() == [
        "linear (node 3, LinearBackward0)",
        "[100, 32] float32",
        "net.fc1",
        "cell 3:8",
        "weight [32, 64]",
        "bias [32]",
        "saved input [100, 64] float32",
    ]


def test_the_inside_of_a_library_s_module_is_closed_at_first():
    r = Recorder()
    x = []
    for n in range(12):  # many operators of one call
        x = [r.op(f"op{n}", x, [4], "net.attn", 7)]
    for n in range(12):  # the user's own lines
        x = [r.op(f"op{n}", x, [4], "net.own", n + 1)]
    graph = build_tape(r.snapshot(*x))
    boxes = make_picture(graph).boxes
    assert "scope net.attn" in boxes and len(boxes) == 13
    assert len(make_picture(graph, opened=["net.attn"]).boxes) == 24
    outline = Outline(graph)
    folded = [row.scope for row in outline.rows if row.folded]
    assert folded == ["net.attn"] and outline.toggle("net.attn") is False and len(outline.rows) == 27
