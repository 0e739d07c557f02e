"""One index: from a line to tape nodes, graph nodes, kernels and lines of generated text, and back from each."""

import pytest
from hypothesis import given, settings
from views import captured
from views.recorded import Recorder
from views.test_capture import json_values

from tapescope.graphviz_views.capture import build_capture
from tapescope.graphviz_views.kernels import build_kernels
from tapescope.graphviz_views.links import GraphNode, Kernel, Links, TextLine, merged


@pytest.fixture(scope="module")
def links():
    capture = captured.training_step()
    r = Recorder("step.py")
    for node in capture["segments"][0]["nodes"]:
        if node["source"]:
            r.op(node["target"], [], [1], node["module"], node["source"]["line"], column=node["source"]["column"])
            r.nodes[-1]["source"] = node["source"]
    return Links(tape=r.snapshot(), capture=capture)


def names(linked):
    return [n.name for n in linked.nodes]


def test_from_a_line(links):
    linked = links.at_line("step.py", 6)
    assert names(linked) == ["sub", "mul", "mean"] and linked.tape == (4, 5, 6)
    assert linked.kernels == (Kernel("0", "2"),)
    assert [t.line for t in linked.text] == [3, 4, 7, 8]
    assert not links.at_line("step.py", 99) and not links.at_line("other.py", 6)


def test_from_a_tape_node(links):
    linked = links.of_tape(3)
    assert names(linked) == ["add"] and linked.kernels == (Kernel("0", "1"),)
    assert linked.text == (TextLine(Kernel("0", "1"), 8),)
    assert [(line.file, line.first) for line in linked.lines] == [("step.py", 5)]
    assert not links.of_tape(77)


def test_from_a_graph_node(links):
    linked = links.of_node("0", "gelu")
    assert linked.tape == (2,) and linked.kernels == (Kernel("0", "1"),) and [t.line for t in linked.text] == [5, 6]
    assert not links.of_node("0", "nothing")


def test_from_a_kernel(links):
    linked = links.of_kernel("0", "1")
    assert names(linked) == ["gelu", "add"] and linked.tape == (2, 3)
    assert [line.first for line in linked.lines] == [4, 5] and len(linked.text) == 3
    assert not links.of_kernel("0", "9")


def test_from_a_line_of_generated_text(links):
    linked = links.of_text("0", "2", 4)
    assert names(linked) == ["mul"] and linked.tape == (5,) and [line.first for line in linked.lines] == [6]
    assert linked.text == (TextLine(Kernel("0", "2"), 4),)
    assert not links.of_text("0", "2", 1)


def test_there_and_back(links):
    for linked in (links.at_line("step.py", n) for n in range(3, 9)):
        for node in linked.nodes:
            back = links.of_node(*node)
            assert set(back.tape) <= set(linked.tape) and set(back.kernels) <= set(linked.kernels)
            for text in back.text:
                assert node in links.of_text(*text.kernel, text.line).nodes


def test_the_ids_are_those_of_the_graphs(links):
    capture = captured.training_step()
    graph, kernels = build_capture(capture), build_kernels(capture)
    linked = links.at_line("step.py", 4)
    assert all(graph.carriers(key) for key in linked.ids("capture")) and linked.ids("capture") == ["0/linear", "0/gelu"]
    assert all(kernels.carriers(key) for key in linked.ids("kernels")) and linked.ids("tape") == [1, 2]
    assert linked.ids("module") == []
    for node in graph.nodes_at("step.py", 4):
        assert links.of("capture", node).nodes
    assert links.of("kernels", "0/kernel 2/mul").nodes == (GraphNode("0", "mul"),)
    assert links.of("kernels", "0/kernel 2").kernels == (Kernel("0", "2"),)
    assert links.of("tape", 1).tape == (1,) and not links.of("kernels", "nonsense")


def test_cells_and_their_revisions():
    links = Links(capture=captured.break_in_loop())
    assert names(links.at_line("5", 7)) == ["tensor", "mul"] == names(links.at_line("<cell 5:1>", 7))
    assert links.at_line("5", 7, revision=1) and not links.at_line("5", 7, revision=2)
    assert links.at_line("5", 7).lines[0].cell == "5"


def test_kernels_may_name_the_tape_themselves():
    kernel = captured.kernel(0, ["a"], [], tape=[3], segment="")
    links = Links(tape={"nodes": [{"id": 3, "op": "compiled", "source": None}]}, kernels={"kernels": [kernel]})
    assert links.of_tape(3).kernels == (Kernel("", "0"),) and links.of_kernel("", "0").tape == (3,)


def test_several_answers_as_one(links):
    both = merged([links.of_tape(2), links.of_tape(3)])
    assert both.tape == (2, 3) and both.kernels == (Kernel("0", "1"),)


@settings(max_examples=100, deadline=None)
@given(json_values)
def test_any_json(value):
    links = Links({"nodes": value}, {"segments": value}, {"kernels": value})
    Links(value, value, value)
    assert not links.at_line("nowhere", 1)


def test_parts_of_a_lowered_graph_lead_to_what_was_captured():
    capture = captured.training_step()
    segment = capture["segments"][0]
    kernel = segment["kernels"]["kernels"][1]
    kernel["nodes"] = ["erf", "mul_7", "add"]
    kernel["steps"] = [
        {"name": "erf", "target": "erf", "inputs": [], "captured": "gelu"},
        {"name": "mul_7", "target": "mul", "inputs": ["erf"], "captured": "gelu"},
        {"name": "add", "target": "add", "inputs": ["mul_7"], "captured": ""},
    ]
    kernel["lines"] = [[2, ["erf"]], [3, ["mul_7", "add"]]]
    kernel["segment"] = "1"  # which of a segment's programs it is, as the engine tells
    found = Links(capture=capture)
    owner = Kernel(segment["id"], kernel["id"])
    assert (
        owner in found.of_node(segment["id"], "gelu").kernels
        and owner not in found.of_node(segment["id"], "add").kernels
    )
    assert names(found.of_text(*owner, 3)) == ["gelu"] == names(found.of("kernels", f"0/kernel {owner.id}/mul_7"))
    assert not found.of("kernels", f"0/kernel {owner.id}/add")
    graph = build_kernels(capture)
    erf = graph.node(f"0/kernel {owner.id}/erf")
    assert erf.op == "erf" and erf.facts.details == (("part of", "gelu"),)
    assert erf.source is not None and erf.source.file == "step.py"


def test_an_operator_with_other_names_on_the_tape_is_found_by_its_module():
    capture = captured.training_step()
    node = next(n for n in capture["segments"][0]["nodes"] if n["target"] == "linear")
    r = Recorder("step.py")
    for op in ("t", "addmm"):
        r.op(op, [], [1], node["module"], node["source"]["line"])
        r.nodes[-1]["source"] = node["source"]
    found = Links(tape=r.snapshot(), capture=capture)
    assert found.of_node("0", node["name"]).tape == (1, 2) and names(found.of_tape(2)) == [node["name"]]
