"""Walks along the lines of a graph, and nodes by what they cost."""

import itertools

import pytest
from views.recorded import Recorder, load

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
