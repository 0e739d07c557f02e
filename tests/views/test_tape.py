"""The graph of a tape, from good records and from broken ones."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from views.recorded import Recorder, every, load, to_text

from tapescope.graphviz_views.dot import tape_dot
from tapescope.graphviz_views.outline import Outline
from tapescope.graphviz_views.picture import make_picture
from tapescope.graphviz_views.svg import tape_svg
from tapescope.graphviz_views.tape import build_tape


def op(number, inputs, **more):
    return {"id": number, "kind": "op", "op": f"op{number}", "inputs": inputs, **more}


def tape(*nodes, roots=()):
    return {"version": 1, "roots": list(roots), "nodes": list(nodes), "dropped": 0}


@pytest.mark.parametrize("name", every())
def test_stored_tapes_are_those_written_down(name):
    assert to_text(load(name)) == to_text(every()[name])


def test_parameters_become_badges():
    graph = build_tape(load("mlp"))
    assert [node.op for node in graph.nodes] == ["linear", "relu", "linear", "cross_entropy"]
    first, relu, last, loss = graph.nodes
    assert [badge.text for badge in first.badges] == ["weight [32, 64]", "bias [32]"]
    assert [badge.text for badge in last.badges] == ["weight [10, 32]", "bias [10]"]
    assert not relu.badges
    assert graph.carriers(first.badges[0].node_id) == (first.id,)
    assert graph.inputs(last.id) == (relu.id,)
    assert graph.users(first.id) == (relu.id,)
    assert [node.is_root for node in graph.nodes] == [False, False, False, True]
    assert loss.grad is not None and loss.grad.text == "grad [], norm 1"
    assert first.saved_bytes == 100 * 64 * 4
    assert first.outputs[0].bytes == 100 * 32 * 4
    assert graph.notes == ()


def test_parameters_as_nodes():
    graph = build_tape(load("mlp"), leaves_as_nodes=True)
    titles = [node.title for node in graph.nodes]
    assert titles == ["fc1.weight", "fc1.bias", "linear", "relu", "fc2.weight", "fc2.bias", "linear", "cross_entropy"]
    linear = graph.nodes[6]
    assert [graph.node(i).title for i in graph.inputs(linear.id)] == ["relu", "fc2.weight", "fc2.bias"]
    # a leaf stands inside the module that uses it
    assert graph.scope_of[graph.nodes[4].id] == graph.scope_of[linear.id] == "net.fc2"


def test_a_shared_parameter_is_a_badge_on_each_user():
    r = Recorder()
    weight = r.leaf("tied.weight", 3)
    a = r.op("mul", [weight], [3], "net.tied")
    b = r.op("mul", [a, weight, weight], [3], "net.other")
    graph = build_tape(r.snapshot(b))
    assert graph.carriers(weight) == (a, b)
    assert [badge.text for node in graph.nodes for badge in node.badges] == ["weight [3]", "tied.weight [3]"]


def test_an_unnamed_leaf_and_a_leaf_alone():
    r = Recorder()
    x = r.leaf("", 2, 2)
    r.op("sum", [x], [])
    assert [b.text for b in build_tape(r.snapshot(2)).nodes[0].badges] == ["leaf [2, 2]"]
    graph = build_tape(r.snapshot(x))
    assert [node.title for node in graph.nodes] == ["leaf", "sum"]
    r = Recorder()
    r.leaf("alone", 1)
    assert [node.title for node in build_tape(r.snapshot()).nodes] == ["alone"]


@pytest.mark.parametrize(
    ("snapshot", "sentence"),
    [
        (None, "This is no tape: a dictionary with 'nodes' was expected, not nothing."),
        ([1], "This is no tape: a dictionary with 'nodes' was expected, not a value of type list."),
        ({"version": 1}, "The tape has no list of nodes (found nothing), so there is nothing to draw."),
        ({"version": 1, "nodes": "x"}, "The tape has no list of nodes (found a value of type str)"),
        ({"version": 7, "nodes": []}, "The tape has version 7, this program knows version 1;"),
        ({"version": 1, "nodes": [], "dropped": 4}, "4 older nodes were cut from this tape."),
        (tape(op(1, []), 5, {"op": "x"}), "2 records have no id and were left out (first: record 1)."),
        (tape(op(1, []), op(1, [])), "1 record repeats the id of an earlier one and was left out (node 1)."),
        (tape(op(1, [9])), "1 input comes from a node that is not in the record; its line is not drawn (node 1 uses"),
        (tape(op(1, [1])), "1 input closes a cycle, which a tape cannot have; its line is not drawn (op1 (node 1)"),
        (tape(op(1, [], outputs=[{"shape": [-1]}])), "1 field could not be read ('outputs' of node 1)."),
        (tape(op(1, [], source={"line": 0})), "1 field could not be read ('source' of node 1)."),
        (tape(op(1, [], module=3, saved=4, grad=5)), "3 fields could not be read (first: 'module' of node 1)."),
    ],
)
def test_problems_are_told_in_a_sentence(snapshot, sentence):
    graph = build_tape(snapshot)
    assert any(note.startswith(sentence) for note in graph.notes), graph.notes
    assert sentence.split("(")[0] in Outline(graph).text()
    assert tape_svg(graph).startswith("<svg") and tape_dot(graph).startswith("digraph")


def test_a_cycle_loses_one_line_and_no_node():
    graph = build_tape(tape(op(1, [3]), op(2, [1]), op(3, [2]), roots=[3]))
    assert len(graph.nodes) == 3 and len(graph.edges) == 2
    assert len(graph.notes) == 1


def test_records_out_of_order_are_put_in_order():
    graph = build_tape(tape(op(3, [2]), op(2, [1]), op(1, [])))
    assert [node.id for node in graph.nodes] == [1, 2, 3]
    assert graph.notes == ()


def test_numbers_beyond_reason_are_not_read():
    huge = 10**5000
    grad = {"shape": [1], "norm": huge}
    nodes = [op(1, [huge], outputs=[{"shape": [huge], "dtype": "float32"}], grad=grad), op(1, []) | {"id": huge}]
    graph = build_tape({"version": huge, "nodes": nodes, "roots": [huge], "dropped": huge})
    assert [node.id for node in graph.nodes] == [1] and graph.nodes[0].outputs == ()
    assert graph.notes[0].startswith("The tape has no version that is a number")
    Outline(graph).text()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 20) | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["shape", "line", "id"]), inner),
    max_leaves=6,
)
FIELDS = ("id", "kind", "op", "name", "label", "inputs", "outputs", "module", "source", "saved", "grad")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_broken_records_never_raise(data):
    snapshot = copy.deepcopy(load("mlp"))
    for _ in range(data.draw(st.integers(1, 6))):
        node = data.draw(st.sampled_from(snapshot["nodes"]))
        node[data.draw(st.sampled_from(FIELDS))] = data.draw(JSON)
    for field in data.draw(st.sets(st.sampled_from(["version", "roots", "dropped"]))):
        snapshot[field] = data.draw(JSON)
    graph = build_tape(snapshot, leaves_as_nodes=data.draw(st.booleans()))
    assert Outline(graph).text()
    assert tape_svg(graph)
    assert tape_dot(graph)


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_any_json_gives_a_picture(value):
    for snapshot in (value, {"version": 1, "nodes": value, "roots": value}, {"version": value, "nodes": [value]}):
        graph = build_tape(snapshot)
        assert tape_svg(graph) and Outline(graph).text()


def test_building_changes_no_record():
    snapshot = load("blocks_x12")
    before = json.dumps(snapshot)
    build_tape(snapshot)
    assert json.dumps(snapshot) == before


def test_times_of_operators():
    tape = load("mlp")
    graph = build_tape(tape, seconds={3: 3e-6, 7: 1e-6, 99: 5.0})
    assert [n.facts.seconds for n in graph.nodes] == [3e-6, None, 1e-6, None]
    assert graph.nodes[0].facts.share == 0.75 and graph.nodes[0].facts.lines == ("3 µs",)
    assert graph.ranked("seconds") == [3, 7]


def test_all_that_is_known_of_a_node_is_in_its_details():
    box = next(iter(make_picture(build_tape(load("mlp"), seconds={3: 3e-6})).boxes.values()))
    assert box.details == (
        ("shape", "[100, 32]"), ("dtype", "float32"), ("bytes", "12.5 KiB"), ("time", "3 µs"), ("module", "net.fc1"),
        ("line", "cell 3:8"), ("on the tape", "LinearBackward0"), ("uses", "weight [32, 64]"), ("uses", "bias [32]"),
        ("saves", "input [100, 64] float32 25.0 KiB"), ("gradient", "[100, 32], norm 0.0312"),
    )  # fmt: skip


def test_who_keeps_a_value_is_a_stub_and_not_a_line():
    graph = build_tape(load("residual_cnn"))
    stubs = {n.id: [b.text for b in n.badges if b.kind == "kept"] for n in graph.nodes}
    shared = [key for key, texts in stubs.items() if texts]
    assert len(shared) == 1 and stubs[shared[0]] == ["saved → 2 users"]
    told = dict(graph.node(shared[0]).facts.details)
    users = [n for n in graph.nodes if ("input comes from", f"relu (node {shared[0]})") in n.facts.details]
    assert [n.op for n in users] == ["conv2d", "conv2d"] and told["kept by"] == f"conv2d (node {users[-1].id})"


def test_a_tensor_that_two_keep_counts_once():
    graph = build_tape(load("mlp"))
    relu, linear = graph.nodes[1], graph.nodes[2]
    assert relu.saved_bytes == 12_800 and linear.saved_bytes == 12_800 + 1_280
    assert "42.7 KiB saved" in graph.summary()  # 25,600 + 12,800 + 1,280 + 4,000


def test_a_maker_that_is_not_there_is_no_problem():
    tape = load("mlp")
    for node in tape["nodes"]:
        for saved in node["saved"]:
            saved["node"] = {"no": "number"} if saved["name"] == "input" else 10**9
    graph = build_tape(tape)
    assert not any(b.kind == "kept" for n in graph.nodes for b in n.badges) and graph.notes == ()


def test_sizes_beyond_all_machines():
    tape = load("mlp")
    tape["nodes"][2]["outputs"] = [{"shape": [2**62] * 60, "dtype": "float32"}]
    tape["nodes"][2]["saved"] = [{"name": "x", "shape": [2**62] * 10, "dtype": "float32", "bytes": 2**63 - 1}]
    graph = build_tape(tape, seconds={3: 10**400, 4: float("inf"), 5: 1e-3})
    box = next(iter(make_picture(graph).boxes.values()))
    assert ("bytes", "over 1,024 EiB") in box.details and graph.ranked("bytes")[0] == graph.nodes[0].id


def test_an_empty_tape_says_so():
    assert build_tape({"version": 1, "roots": [], "nodes": [], "dropped": 0}).notes == (
        "Nothing was recorded, so there is nothing to draw.",
    )
