"""Captured graphs: segments in order, breaks between them with their reasons, recompiles beside their originals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from views import captured

from tapescope.engine import observe
from tapescope.graphviz_views import capture as capture_file
from tapescope.graphviz_views.browse import GraphView
from tapescope.graphviz_views.capture import build_capture
from tapescope.graphviz_views.links import node_key


def test_it_reads_the_version_that_the_engine_writes():
    assert capture_file.CAPTURE_VERSION == observe.CAPTURE_VERSION


def test_segments_breaks_and_where_they_lead():
    graph = build_capture(captured.break_in_loop())
    assert graph.notes == () and graph.title == "Graph of train"
    assert graph.summary() == "3 segments, 2 breaks, 8 operators"
    ends = [n for n in graph.nodes if n.kind in ("break", "output")]
    assert [n.title for n in ends] == ["graph break: side effect", "graph break: side effect", "return"]
    resumed = [(e.source, e.target) for e in graph.edges if e.kind == "resume"]
    assert resumed == [("0/<exit>", "1/<enter>"), ("1/<exit>", "2/<enter>")]
    second = graph.node("1/<exit>")
    assert "↻ back to segment 1" in [b.text for b in second.badges]
    details = dict(second.facts.details)
    assert details["reason"].startswith("print() needs") and details["hint"].startswith("print after the loop")
    assert second.source is not None and second.source.text == "cell 5:6" and second.source.cell == "5"
    assert [s.name for s in graph.scopes.values() if s.kind == "segment"] == ["segment 0", "segment 1", "segment 2"]


def test_parameters_are_badges_and_inputs_stand_at_the_entry():
    graph = build_capture(captured.recompile())
    enter = graph.node(node_key("0", "<enter>"))
    assert enter.facts.lines == ("x [64, 784] float32",)
    assert [b.text for b in enter.badges] == ["if x.shape[0] == 64", "if x.shape[1] == 784"]
    linear = graph.node(node_key("0", "linear"))
    assert [b.text for b in linear.badges] == ["self.fc1.weight [256, 784] float32", "self.fc1.bias [256] float32"]
    assert graph.inputs(linear.id) == (enter.id,)
    assert graph.carriers(node_key("0", "self_fc1_weight")) == (linear.id,)
    assert graph.carriers(node_key("0", "x")) == (enter.id,)


def test_a_recompile_is_a_sibling_with_its_guard():
    graph = build_capture(captured.recompile())
    guard = graph.node(node_key("1", "<guard>"))
    assert guard.title == "recompiled: segment 0 does not fit" and guard.facts.lines == ("x.shape[0] == 64",)
    assert [b.text for b in guard.badges] == ["was 64", "now 128"]
    assert dict(guard.facts.details)["size that moved"] == "dimension 0 of x"
    cells = GraphView(graph).cells()
    first, second = cells.frames["segment 0"], cells.frames["segment 1"]
    assert first.x + first.width <= second.x or second.x + second.width <= first.x
    assert abs(first.y - second.y) <= 1
    assert graph.search("[s0, 256]") == [node_key("1", n) for n in ("linear", "relu", "softmax", "<exit>")]


def test_a_recompile_after_a_break_follows_what_its_original_follows():
    record = captured.break_in_loop()
    other = {**record["segments"][2], "id": "3"}
    again = {"segment": "3", "instead_of": "2", "guard": "h.shape[0] == 64", "old": "64", "new": "32", "source": None}
    graph = build_capture({**record, "segments": [*record["segments"], other], "recompiles": [again]})
    assert ("1/<exit>", "3/<guard>") in [(e.source, e.target) for e in graph.edges if e.kind == "resume"]


def test_lines_of_a_cell_lead_to_its_nodes():
    graph = build_capture(captured.break_in_loop())
    assert [graph.node(n).op for n in graph.nodes_at("5", 5)] == ["linear", "relu", "linear", "relu"]


@pytest.mark.parametrize(
    ("record", "note"),
    [
        (None, "This is no capture"),
        ({"version": 9, "segments": []}, "version 9"),
        ({"version": 1}, "no list of segments"),
        ({"version": 1, "segments": [7, {"id": "0"}, {"id": "0"}]}, "no id of their own"),
        (
            {"version": 1, "segments": [{"id": "0", "exit": {"next": ["9"]}}]},
            "goes on in one that is not in the record",
        ),
        ({"version": 1, "segments": [], "recompiles": [{}]}, "recompile names no segment"),
        (
            {"version": 1, "segments": [{"id": "0", "nodes": [{"name": "a", "target": "mul", "inputs": ["b"]}]}]},
            "not above it",
        ),
        ({"version": 1, "segments": [{"id": "0", "nodes": [{}]}]}, "no name of its own"),
    ],
)
def test_what_cannot_be_used_is_said(record, note):
    graph = build_capture(record)
    assert any(note in n for n in graph.notes)
    assert note in GraphView(graph).svg().replace("&lt;", "<")


def test_segments_that_lead_in_circles():
    segments = [{"id": str(n), "exit": {"kind": "break", "next": [str((n + 1) % 4), str(n)]}} for n in range(4)]
    graph = build_capture({"version": 1, "segments": segments})
    backs = [b.text for n in graph.nodes for b in n.badges if b.text.startswith("↻")]
    assert len(backs) == 5 and len([e for e in graph.edges if e.kind == "resume"]) == 3


KEYS = [
    "version", "segments", "id", "inputs", "nodes", "outputs", "guards", "exit", "next", "kind", "break",
    "recompiles", "segment", "instead_of", "name", "source", "shape", "text", "reason", "hint", "kernels",
    "bytes", "seconds", "lines", "sources", "tape", "launch", "grid", "refused", "first", "second", "root",
    "children",
]  # fmt: skip

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["0", "x", "mul"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=30,
)


@settings(max_examples=150, deadline=None)
@given(json_values)
def test_any_json_gives_a_picture(value):
    for record in (
        value,
        {"version": 1, "segments": value},
        {"version": 1, "segments": [value, {"id": "0", "nodes": value, "exit": value}]},
    ):
        view = GraphView(build_capture(record))
        assert view.svg().startswith("<svg") and view.cells().text() and view.dot()


def test_hostile_texts_stay_texts():
    record = captured.break_in_loop()
    evil = '"];evil\x1b[31m</text><script>\u202e\n'
    record["segments"][0]["nodes"][2]["target"] = evil
    record["segments"][0]["exit"]["break"]["reason"] = evil
    view = GraphView(build_capture(record))
    for form in (view.svg(), view.cells().text(), view.dot(), view.outline.text()):
        assert "\x1b" not in form and "\u202e" not in form and "<script>" not in view.svg()


def test_constants_stand_on_their_users():
    graph = build_capture(captured.break_in_loop())
    mul = graph.node(node_key("1", "mul"))
    assert [(b.kind, b.text, b.node_id) for b in mul.badges] == [
        ("constant", "tensor(0.5) [] float32", node_key("1", "tensor"))
    ]
    assert node_key("1", "tensor") not in graph and graph.carriers(node_key("1", "tensor")) == (mul.id,)
    softmax = build_capture(captured.recompile()).node(node_key("0", "softmax"))
    assert [(b.kind, b.text) for b in softmax.badges] == [("constant", "-1")]
    assert dict(softmax.facts.details)["arguments"] == "-1"


def test_what_is_written_to_or_returned_is_no_constant():
    s = captured.Segment(0, "a.py", "f", 1)
    x = s.input("x", 3)
    state = s.op("zeros", [], [3], 2, constants=("3",))
    s.op("add_", [state, x], [3], 3)
    given = s.op("ones", [], [3], 4, constants=("3",))
    s.end("return", [given, s.op("mul", [given, state], [3], 5)])
    graph = build_capture(observe.capture_json("f", None, [s.record]))
    assert [n.op for n in graph.nodes if n.kind == "op"] == ["zeros", "add_", "ones", "mul"]


def optimizer_step(parameters):
    s = captured.Segment(0, "train.py", "step", 7)
    for n in range(parameters):
        w, g = (
            s.input(f"opt.groups[0]['params'][{n}]", n + 1, 4),
            s.input(f"opt.groups[0]['params'][{n}].grad", n + 1, 4),
        )
        m = s.op("mul_", [g], [n + 1, 4], 9, constants=("0.9",))
        s.op("addcdiv_", [w, m], [n + 1, 4], 9)
    s.record["code"] = "def forward(self):\n    # train.py:9  opt.step()\n    # x: f32[2]\n"
    return observe.capture_json("step", None, [s.end("return", [])])


def test_what_one_call_records_is_one_closed_box():
    graph = build_capture(optimizer_step(6))
    view = GraphView(graph)
    box = next(b for b in view.picture.boxes.values() if b.kind == "scope")
    assert box.title == "opt.step()" and box.lines == ("mul_ x6, addcdiv_ x6", "train.py:9")
    assert view.toggle(box.key)
    assert [f.title for f in view.picture.frames.values() if f.kind == "turn"] == [f"turn {n}" for n in range(1, 7)]
    assert not any(s.kind == "call" for s in build_capture(optimizer_step(3)).scopes.values())


def test_long_expressions_show_their_ends():
    graph = build_capture(optimizer_step(2))
    assert [b.text for b in graph.nodes[1].badges if b.kind == "leaf"] == ["…[0]['params'][0].grad [1, 4] float32"]
    assert "opt.groups[0]['params'][0].grad [1, 4] float32" in [text for _, text in graph.nodes[0].facts.details]
