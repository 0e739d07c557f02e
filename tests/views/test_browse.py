"""A graph on somebody's screen: opening and closing, finding, and what was clicked stays where it was."""

import threading

import pytest
from conftest import need
from views import captured
from views.recorded import Recorder, load, stress

from tapescope.graphviz_views.browse import GraphView
from tapescope.graphviz_views.kernels import build_kernels
from tapescope.graphviz_views.model import Gradient
from tapescope.graphviz_views.tape import build_tape


def view(name, **options):
    return GraphView(build_tape(load(name)), **options)


def test_scopes_close_and_open():
    v = view("residual_cnn")
    assert v.toggle("net.layer1") and "scope net.layer1" in v.picture.boxes
    assert v.toggle("scope net.layer1") and "net.layer1" in v.picture.frames
    inside = next(k for k, b in v.picture.boxes.items() if b.scope == "net.layer1")
    assert v.toggle(inside) and "scope net.layer1" in v.picture.boxes
    assert not v.toggle("nothing") and not v.toggle("")
    top = next(k for k, b in v.picture.boxes.items() if b.scope == "")
    assert not v.toggle(top)


def test_repeats_open_and_close_with_their_scope():
    v = view("blocks_x12")
    rest = next(b for b in v.picture.boxes.values() if b.kind == "repeat")
    before = len(v.picture.boxes)
    assert v.toggle(rest.key) and len(v.picture.boxes) > before + 30
    v.toggle("net.blocks")
    v.toggle("scope net.blocks")
    assert any(b.kind == "repeat" and b.scope == rest.scope for b in v.picture.boxes.values())


@pytest.mark.parametrize("zoom", ["boxes", "chips"])
def test_what_was_clicked_stays_still(zoom):
    v = view("residual_cnn")
    for key in ("net.layer2", "scope net.layer2", "net.stem", "scope net.stem"):
        old = v.cells(zoom)
        before = old.rects.get(key) or old.frames[key]
        dx, dy = v.toggle_cells(key, zoom)
        new = v.cells(zoom)
        now = new.frames.get(key.removeprefix("scope ")) or new.rects[f"scope {key}"]
        assert (now.x - dx, now.y - dy) == (before.x, before.y)
    assert v.toggle_cells("nothing", zoom) == (0, 0)


def test_what_was_clicked_stays_still_on_the_page():
    v = view("residual_cnn")
    for key in ("net.layer2", "scope net.layer2"):
        old = v.layout
        before = old.boxes.get(key) or old.frames[key]
        dx, dy = v.toggle_page(key)
        now = v.layout.frames.get(key.removeprefix("scope ")) or v.layout.boxes[f"scope {key}"]
        assert (now.x - dx, now.y - dy) == pytest.approx((before.x, before.y))


def test_graphviz_beautifies_in_the_background():
    need("dot")
    answers, told = [], threading.Event()

    def done(why):
        answers.append(why)
        told.set()

    v = view("residual_cnn")
    own = v.svg()
    v.beautify(done)
    assert told.wait(120)
    if answers == [""]:  # a slow machine may miss the deadline
        assert v.layout.routes[0].curved and v.svg() != own and v.page()["lines"][0]["curved"]
    told.clear()
    v.beautify(done)
    v.toggle("net.layer1")
    assert told.wait(120) and answers[1] and not v.layout.routes[0].curved


def test_a_hidden_node_is_revealed():
    v = view("blocks_x12")
    last = next(n.id for n in reversed(v.graph.nodes) if n.module == "net.blocks.11")
    v.close_all()
    key = v.reveal(last)
    assert key == f"node {last}" == v.selected and v.box_of(last) == key
    assert v.reveal(10**9) is None and v.box_of(10**9) is None
    weight = next(n["id"] for n in load("blocks_x12")["nodes"] if n["label"] == "blocks.3.up.weight")
    key = v.reveal(weight)
    assert key is not None and "up" in v.picture.boxes[key].tooltip


def test_any_node_of_ten_thousand_is_revealed_within_the_limit():
    v = GraphView(build_tape(stress()))
    for node in (v.graph.nodes[5].id, v.graph.nodes[5_000].id, v.graph.nodes[-10].id):
        key = v.reveal(node)
        assert key is not None and len(v.picture.boxes) <= 150
        box = v.picture.boxes[key]
        assert box.start <= v.graph.position[node] < box.stop


def test_cut_nodes_are_shown_by_and_by():
    r = Recorder()
    x = []
    for n in range(500):
        x = [r.op(f"op{n}", x, [1])]
    v = GraphView(build_tape(r.snapshot()))
    for _ in range(5):
        cut = next((k for k, b in v.picture.boxes.items() if b.kind == "cut"), None)
        if cut is not None:
            assert v.toggle(cut)
    assert len(v.picture.boxes) == 500


def test_a_newer_tape_keeps_the_folding_and_the_selection():
    v = view("residual_cnn")
    v.toggle("net.layer1")
    v.selected = "scope net.layer1"
    v.take(build_tape(load("residual_cnn")))
    assert "scope net.layer1" in v.picture.boxes and v.selected == "scope net.layer1"
    v.take(build_tape(load("mlp")))
    assert v.picture.boxes and v.selected is None


def test_gradients_light_the_mirror():
    v = view("two_losses")
    assert not v.picture.mirrored
    node = v.graph.nodes[0].id
    v.light({node: Gradient((16, 64), "float32", 0.5)})
    backs = {b.node_id: b.back for b in v.picture.boxes.values()}
    assert v.picture.mirrored and [n for n, back in backs.items() if back.lit] == [node]
    assert "norm 0.5" in backs[node].lines[0]
    v.light({})
    v.backward = True
    assert v.picture.mirrored and not any(b.back.lit for b in v.picture.boxes.values())


def test_kernels_are_closed_until_they_are_opened():
    v = GraphView(build_kernels(captured.training_step()))
    assert [b.kind for b in v.picture.boxes.values()] == ["scope"] * 4
    key = list(v.picture.boxes)[1]
    assert v.toggle(key) and len(v.picture.boxes) == 5
    v.open_all()
    assert len(v.picture.boxes) == 7
    v.close_all()
    assert len(v.picture.boxes) == 4
    assert v.reveal("0/kernel 2/mul") == "node 0/kernel 2/mul"
    assert v.boxes_of(["0/kernel 0"]) == {"scope 0/kernel 0"}
    assert [row.folded for row in v.outline.rows if row.foldable] == [True, True, False, True]


def test_every_form_shows_the_same():
    v = view("mlp")
    for form in (v.svg("dark"), v.dot(), v.cells().text(), v.outline.text()):
        assert "cross_entropy" in form and "fc1" in form
