"""What is saved between forward and backward, what is computed again, and that the partition says so."""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.aot import AotFunction
from tapescope.engine.compile.aot.mincut import Network
from tapescope.engine.compile.graph import Graph, GraphModule

from .harness import ahead

F = torch.nn.functional


def compiled(function, *inputs):
    made = ahead(function, inputs)
    made(*inputs)
    assert made.reason is None
    (variant,) = made.variants.values()
    return variant


def actions(variant):
    return {d.node: d.action for d in variant.decisions}


def test_chain_of_elementwise_work_is_computed_again():
    x = torch.randn(8, 8, requires_grad=True)
    variant = compiled(lambda x: x.sin().exp().cos().tanh() * 2, x)
    assert actions(variant)["x" if "x" in actions(variant) else "a0"] == "keep"
    assert "save" not in actions(variant).values()
    assert "recompute" in actions(variant).values()
    assert all(d.reason for d in variant.decisions)


def test_products_and_random_draws_are_saved():
    x, w = torch.randn(8, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
    variant = compiled(lambda x, w: F.dropout((x @ w).tanh(), 0.5).sin(), x, w)
    saved = {n for n, a in actions(variant).items() if a == "save"}
    assert saved == {"mm", "draw"}
    targets = [getattr(n.target, "name", getattr(n.target, "__name__", "")) for n in variant.backward_graph.graph]
    assert "draw" not in targets
    assert targets.count("mm") == 2  # the two of the gradient, not the forward's
    reasons = {d.node: d.reason for d in variant.decisions}
    assert "random" in reasons["draw"]


def test_smaller_value_is_saved():
    """A narrow value that a wide one is made from costs less to keep than the wide one."""
    x = torch.randn(64, requires_grad=True)
    w = torch.randn(64, 4, requires_grad=True)
    variant = compiled(lambda x, w: ((x @ w).expand(100, 4).exp() * 2).sin(), x, w)
    saved = {n for n, a in actions(variant).items() if a == "save"}
    assert len(saved) == 1
    (name,) = saved
    assert next(d.bytes for d in variant.decisions if d.node == name) == 16


def test_decisions_are_plain_data():
    x = torch.randn(4, requires_grad=True)
    variant = compiled(lambda x: x.exp().sin(), x)
    assert all(set(d.to_json()) == {"node", "action", "reason", "bytes"} for d in variant.decisions)


def test_explanation_is_plain_data():
    import json

    x, b = torch.randn(4, requires_grad=True), torch.zeros(4)

    def function(x, b):
        b.add_(1)
        return (x @ x).exp() * b

    made = ahead(function, [x, b])
    made(x, b)
    (story,) = json.loads(json.dumps(made.explain()))
    assert "ops.dot" in story["forward"] and "tangent_0" in story["backward"]
    assert story["written"] == ["a1"]
    assert {d["action"] for d in story["decisions"]} == {"keep", "save", "recompute"}
    refused = ahead(lambda x: x.nonzero(), [b])
    refused(b)
    assert "nonzero" in refused.explain()[0]["reason"]


def test_nodes_know_where_they_come_from():
    """Forward and backward nodes have the source line and the level-1 node of the operator that the user called."""
    graph = Graph()
    a = graph.placeholder("a")
    first = graph.call_function(torch.exp, (a,))
    second = graph.call_function(torch.sin, (first,))
    graph.output((second,))
    x = torch.randn(4, requires_grad=True)
    made = AotFunction(GraphModule(graph), [x], lambda gm, specs: gm.forward)
    made(x)
    (variant,) = made.variants.values()
    assert {n.meta.get("origin") for n in variant.forward_graph.graph if n.op == "call_function"} == {"exp", "sin"}
    cosine = next(n for n in variant.backward_graph.graph if n.name.startswith("cos"))
    assert cosine.meta["origin"] == "sin" and cosine.meta["backward"] and cosine.meta["tape"] is not None


def test_minimum_cut():
    """The textbook network of Cormen et al. (figure 26.6), whose maximum flow is 23."""
    net = Network(6)
    edges = [(0, 1, 16), (0, 2, 13), (1, 3, 12), (2, 1, 4), (2, 4, 14), (3, 2, 9), (3, 5, 20), (4, 3, 7), (4, 5, 4)]
    for a, b, capacity in edges:
        net.add(a, b, capacity)
    side = net.cut(0, 5)
    assert sum(c for a, b, c in edges if a in side and b not in side) == 23
    endless = Network(2)
    endless.add(0, 1, float("inf"))
    with pytest.raises(ValueError, match="infinite"):
        endless.cut(0, 1)
