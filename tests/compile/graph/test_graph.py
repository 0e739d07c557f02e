"""Graphs: making, editing, checking, printing as valid Python, running, and finding the node of an error."""

from __future__ import annotations

import operator

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.graph import Graph, GraphModule, effects
from tapescope.engine.compile.graph.passes import eliminate_common_subexpressions
from tapescope.engine.ops.table import OPS

F = torch.nn.functional


def small():
    graph = Graph()
    x, w = graph.placeholder("x"), graph.placeholder("w")
    y = graph.call_function(F.linear, (x, w))
    z = graph.call_method("relu", (y,))
    graph.output((z, {"last": graph.call_function(operator.getitem, (z, (slice(None, 2), -1)))}))
    return graph, (x, w, y, z)


def test_runs():
    graph, _ = small()
    graph.lint()
    module = GraphModule(graph)
    x, w = torch.randn(3, 4), torch.randn(5, 4)
    z, rest = module(x, w)
    assert torch.equal(z, F.linear(x, w).relu())
    assert torch.equal(rest["last"], z[:2, -1])


def test_code_is_python_that_frees_what_is_not_needed():
    graph, _ = small()
    assert GraphModule(graph).code == (
        "def forward(self, x, w):\n"
        "    linear = torch.nn.functional.linear(x, w)\n"
        "    relu = linear.relu(); del linear\n"
        "    getitem = relu[:2, -1]\n"
        "    return (relu, {'last': getitem})\n"
    )


def test_names():
    graph = Graph()
    x = graph.placeholder("x")
    names = [graph.call_function(f, (x,)).name for f in (torch.sum, torch.sum, torch.relu, torch.relu)]
    assert names == ["sum_1", "sum_2", "relu", "relu_1"]
    assert graph.create_node("get_attr", "0.weight").name == "weight"
    assert graph.fresh_name("class") == "_class" and graph.fresh_name("0.weight") == "_0_weight"


def test_users_follow_edits():
    graph, (x, _, y, z) = small()
    assert list(x.users) == [y] and list(y.users) == [z]
    with graph.inserting_after(y):
        t = graph.call_function(torch.tanh, (y,))
    z.replace_input_with(y, t)
    assert list(y.users) == [t] and list(t.users) == [z]
    t.replace_all_uses_with(y)
    with pytest.raises(RuntimeError, match="cannot erase relu"):
        graph.erase_node(z)
    graph.erase_node(t)
    graph.lint()
    assert [n.name for n in graph] == ["x", "w", "linear", "relu", "getitem", "output"]


def test_lint_names_the_node():
    graph, (_, _, y, z) = small()
    graph.insert_before(y, z)
    with pytest.raises(RuntimeError, match="relu uses linear before it is defined"):
        graph.lint()


def test_dead_code_but_not_effects():
    graph = Graph()
    x, p = graph.placeholder("x"), graph.placeholder("p")
    graph.call_function(torch.exp, (x,))
    graph.call_method("add_", (x, 1))
    graph.call_function(torch.rand, (2,))
    graph.call_function(effects.set_grad, (p, None))
    graph.call_function(OPS["exp"], (x,))
    graph.call_function(torch.add, (x, x), {"out": p})
    graph.output(x)
    assert graph.eliminate_dead_code()
    assert [n.name for n in graph] == ["x", "p", "add_", "rand", "set_grad", "add", "output"]


def test_common_subexpressions():
    graph = Graph()
    x = graph.placeholder("x")
    a, b = (graph.call_function(OPS["mul"], (x, 2)) for _ in range(2))
    other = graph.call_function(OPS["mul"], (x, 2.0))
    draws = [graph.call_function(torch.rand, (2,)) for _ in range(2)]
    graph.output((a, b, other, *draws))
    assert eliminate_common_subexpressions(graph) == 1
    assert graph.output_node.args[0] == (a, a, other, *draws)


def test_error_knows_its_node():
    graph, (_, _, y, _) = small()
    module = GraphModule(graph)
    with pytest.raises(RuntimeError) as caught:
        module(torch.randn(3, 4), torch.randn(5, 5))
    assert module.node_of(caught.value) is y
    assert module.node_of(ValueError()) is None


def test_constants_and_literals():
    graph = Graph()
    module = GraphModule(graph)
    name = module.add_constant(torch.ones(2))
    x = graph.get_attr(name)
    made = graph.call_function(
        torch.full, ((2,), float("-inf")), {"dtype": torch.float64, "device": torch.device("cpu")}
    )
    graph.output((x, made, [1.5, None, ..., True, 1 + 2j], {"a": slice(1, None)}, x))
    x_, made_, plain, cut, again = module()
    assert x_ is again is module.constant and made_.tolist() == [float("-inf")] * 2
    assert plain == [1.5, None, ..., True, 1 + 2j] and cut == {"a": slice(1, None)}


def test_writes_are_statements():
    graph = Graph()
    x = graph.placeholder("x")
    graph.call_function(operator.setitem, (x, (slice(None), 1), 5.0))
    graph.call_function(operator.iadd, (x, 2))
    y = graph.call_function(operator.imul, (x, 3))
    graph.output(y)
    graph.eliminate_dead_code()
    module = GraphModule(graph)
    assert module.code.splitlines()[1:4] == ["    x[:, 1] = 5.0", "    x += 2", "    imul = operator.imul(x, 3)"]
    assert module(torch.zeros(1, 2)).tolist() == [[6.0, 21.0]]


def test_local_functions_and_names_in_the_way():
    def relu(x):
        return x + 1

    graph = Graph()
    x = graph.placeholder("x")
    a = graph.call_function(relu, (x,))
    b = graph.call_function(len, (x,))
    graph.output((a, graph.call_function(len, (a,)), b))
    assert GraphModule(graph)(torch.zeros(3))[1:] == (3, 3)


def test_copy_is_another_graph():
    graph, _ = small()
    module = GraphModule(graph)
    twin = module.copy()
    twin.graph.erase_node(twin.graph.output_node)
    assert "return (relu" in module.code and "return (relu" not in twin.recompile().src
