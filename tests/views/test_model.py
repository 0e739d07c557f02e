"""Questions one asks of a graph: by id, by line, by search; and its scopes."""

import pytest
from views.recorded import Recorder, load

from tapescope.graphviz_views.model import Edge, Graph, Node, TensorFacts
from tapescope.graphviz_views.tape import build_tape


@pytest.fixture(scope="module")
def mlp():
    return build_tape(load("mlp"))


def ops(graph, ids):
    return [graph.node(i).op for i in ids]


def test_nodes_of_a_line(mlp):
    assert ops(mlp, mlp.nodes_at("3", 8)) == ["linear", "relu"]
    assert ops(mlp, mlp.nodes_at("<cell 3>", 14)) == ["cross_entropy"]
    assert mlp.nodes_at("3", 100) == mlp.nodes_at("4", 8) == []
    assert ops(mlp, mlp.nodes_at("3", 9, revision=2)) == ["linear"]
    assert mlp.nodes_at("3", 9, revision=1) == []


def test_an_unknown_node(mlp):
    with pytest.raises(KeyError):
        mlp.node(999)
    assert 999 not in mlp
    assert mlp.inputs(999) == mlp.users(999) == mlp.carriers(999) == ()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", []),
        ("  ", []),
        ("LINEAR", ["linear", "linear"]),
        ("op:rel", ["relu"]),
        ("name:fc2", ["linear"]),
        ("[100, 10]", ["linear"]),
        ("[*, 32]", ["linear", "relu"]),
        ("100x32", ["linear", "relu"]),
        ("[]", ["cross_entropy"]),
        (":8", ["linear", "relu"]),
        ("line:14", ["cross_entropy"]),
        ("10", ["linear"]),
        ("14", ["cross_entropy"]),
        ("linear :9", ["linear"]),
        ("weight", ["linear", "linear"]),
        ("MulBackward", []),
        ("nothing", []),
    ],
)
def test_search(mlp, query, found):
    assert ops(mlp, mlp.search(query)) == found


def test_scopes_nest_by_module_path():
    graph = build_tape(load("blocks_x12"))
    assert [s.id for s in graph.scope_chain(graph.nodes[2].id)] == [
        "net",
        "net.blocks",
        "net.blocks.0",
        "net.blocks.0.up",
    ]
    block = graph.scopes["net.blocks.3"]
    assert block.parent == "net.blocks" and block.stop - block.start == 5
    assert graph.scope_title("net.blocks.3") == "blocks.3"
    assert graph.scopes["net.blocks.3.up"].trivial and not block.trivial


def test_a_module_called_again_opens_a_scope_of_its_own():
    graph = build_tape(load("two_losses"))
    assert graph.scope_title("discriminator#2") == "discriminator (call 2)"
    assert graph.scopes["discriminator#2"].path == "discriminator"


def test_a_module_that_is_named_like_a_second_call():
    r = Recorder()
    for module in ("net", "net#2", "net", "net"):
        r.op("mul", [], [1], module)
        r.op("mul", [], [1])
    graph = build_tape(r.snapshot())
    assert len(graph.scopes) == 5
    assert [graph.scopes[graph.scope_of[node.id]].path for node in graph.nodes[::2]] == ["net", "net#2", "net", "net"]


def test_every_scope_covers_a_contiguous_range():
    graph = build_tape(load("residual_cnn"))
    for scope in graph.scopes.values():
        for node in graph.nodes[scope.start : scope.stop]:
            assert scope.id == "" or scope.id in [s.id for s in graph.scope_chain(node.id)]


def test_very_deep_module_paths():
    r = Recorder()
    r.op("mul", [], [1], ".".join("a" * 5000))
    graph = build_tape(r.snapshot())
    assert len(graph.scope_chain(1)) == 32


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ("aa", [], "same id"),
        ("ab", [("a", "c")], "no node of the graph"),
        ("ab", [("b", "a")], "leads backwards"),
        ("a", [("a", "a")], "leads backwards"),
    ],
)
def test_a_graph_is_checked_when_built(nodes, edges, message):
    with pytest.raises(ValueError, match=message):
        Graph.build([Node(n, "op", n) for n in nodes], [Edge(*e) for e in edges])


def test_bytes_of_tensors():
    assert TensorFacts((2, 3), "float16").bytes == 12
    assert TensorFacts((), "int64").bytes == 8
    assert TensorFacts((2,), "posit8").bytes is None


def test_a_sequence_that_begins_again_is_another_call():
    r = Recorder()
    for module in ("Sequential.0", "Sequential.1", "Sequential.2", "Sequential.0", "Sequential.2", "Sequential.0"):
        r.op("mul", [], [1], module)
    graph = build_tape(r.snapshot())
    assert [s.id for s in graph.scopes.values() if s.path == "Sequential"] == [
        "Sequential",
        "Sequential#2",
        "Sequential#3",
    ]
    r = Recorder()
    for module in ("net.layers.2", "net.layers.1", "net", "net.layers.1", "net.layers.0", "net.layers.x"):  # no restart
        r.op("mul", [], [1], module)
    assert [s.call for s in build_tape(r.snapshot()).scopes.values() if s.name == "layers"] == [1, 2]
