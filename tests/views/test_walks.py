"""Walks along the lines of a graph, and nodes by what they cost."""

import itertools

import pytest
from views import captured
from views.recorded import Recorder, load

from tapescope import engine as torch
from tapescope.graphviz_views.capture import build_capture
from tapescope.graphviz_views.tape import build_tape


@pytest.fixture(scope="module")
def cnn():
    return build_tape(load("residual_cnn"))


def test_path_between_two_nodes(cnn):
    first, last = cnn.nodes[0].id, cnn.nodes[-1].id
    way = cnn.path(first, last)
    assert way[0] == first and way[-1] == last
    assert all(a in cnn.inputs(b) for a, b in itertools.pairwise(way))
    assert "shortcut" in " ".join(cnn.node(n).module for n in way)  # the shorter of two ways
    assert cnn.path(last, first) == way
    assert cnn.path(first, first) == [first] and cnn.path(first, 10**9) == []


def test_no_way():
    r = Recorder()
    a, b = r.op("a", [], [1]), r.op("b", [], [1])
    assert build_tape(r.snapshot()).path(a, b) == []


def test_ancestors_and_users(cnn):
    loss = cnn.nodes[-1].id
    assert cnn.ancestors(loss) == [n.id for n in cnn.nodes[:-1]]
    assert cnn.descendants(cnn.nodes[0].id) == [n.id for n in cnn.nodes[1:]]
    assert cnn.ancestors(cnn.nodes[0].id) == [] == cnn.descendants(loss)


def test_largest_first():
    graph = build_tape(load("mlp"))
    by = {order: [graph.node(n).op for n in graph.ranked(order)] for order in ("bytes", "saved", "gradient")}
    assert by["bytes"][:2] == ["linear", "relu"] and by["saved"] == ["linear", "linear", "relu", "cross_entropy"]
    assert by["gradient"][0] == "cross_entropy" and graph.ranked("seconds") == []
    with pytest.raises(ValueError, match="the orders are bytes"):
        graph.ranked("beauty")


def test_walks_need_no_recursion():
    r = Recorder()
    x = []
    for _ in range(20_000):
        x = [r.op("relu", x, [1])]
    graph = build_tape(r.snapshot())
    assert len(graph.ancestors(x[0])) == len(graph.path(1, x[0])) - 1 == 19_999


def test_walks_and_orders_are_terms_of_a_search():
    graph = build_tape(load("mlp"))
    linear, relu, second, loss = (n.id for n in graph.nodes)
    assert graph.search(f"before:{second}") == [linear, relu]
    assert graph.search(f"after:{relu} op:linear") == [second]
    assert graph.search(f"path:{linear}..{loss}") == [linear, relu, second, loss]
    assert graph.search("TOP:saved")[0] == linear and graph.search("top:bytes linear") == [linear, second]
    assert graph.search("top:gradient") == [loss, second, linear, relu]
    assert [graph.search(q) for q in ("top:beauty", "before:999", "path:1..", "before:x", "path:..")] == [[]] * 5
    leaf = graph.nodes[0].badges[0].node_id
    assert graph.search(f"after:{leaf}") == [relu, second, loss]  # a leaf stands for the node that carries it
    capture = build_capture(captured.break_in_loop())
    assert capture.search("before:0/mean op:relu") == ["0/relu"]


def test_what_was_found_as_text():
    view = torch.tapescope.view(load("mlp"))
    lines = view.find("top:saved").splitlines()
    assert lines[0] == "Tape: 4 nodes found" and lines[1].split()[:2] == ["3", "linear"]
    assert view.find("nothing like this") == "Tape: 0 nodes found\n"
