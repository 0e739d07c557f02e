"""Scopes that no module path tells of: turns of loops, cells; and linear layers as one node."""

from views.recorded import Recorder, load

from tapescope import engine as torch
from tapescope.engine.autograd.snapshot import snapshot
from tapescope.graphviz_views.browse import GraphView
from tapescope.graphviz_views.outline import Outline
from tapescope.graphviz_views.tape import build_tape


def turns(graph):
    return [s for s in graph.scopes.values() if s.kind == "turn"]


def loop(r, count, lines=(5, 6), module=""):
    x = []
    for _ in range(count):
        for line in lines:
            x = [r.op(f"op{line}", x, [1], module, line)]
    return x


def test_turns_of_a_loop():
    r = Recorder()
    loop(r, 4, module="net")
    r.op("sum", [8], [], "", 9)
    graph = build_tape(r.snapshot())
    assert [(s.name, s.parent, s.stop - s.start) for s in turns(graph)] == [
        (f"turn {n}", "net", 2) for n in (1, 2, 3, 4)
    ]


def test_two_turns_are_no_loop_and_one_line_is_none():
    r = Recorder()
    loop(r, 2)
    assert not turns(build_tape(r.snapshot()))
    r = Recorder()
    for _ in range(9):  # what one expression records several times
        r.op("view", [], [1], "net", 5)
        r.op("transpose", [], [1], "net", 5)
    assert not turns(build_tape(r.snapshot()))


def test_a_loop_in_a_loop():
    r = Recorder()
    for _ in range(3):
        loop(r, 3)
        r.op("sum", [], [1], "", 8)
    assert len(turns(build_tape(r.snapshot()))) >= 9


def test_a_loop_over_time_folds():
    rows = Outline(build_tape(load("rnn"))).rows
    assert [r.operator for r in rows if r.kind == "repeat"] == ["turn 1 to turn 20 x20, one shown"]


def test_cells_are_scopes_where_there_are_several():
    r = Recorder()

    def op(module, cell):
        n = r.op("mul", [len(r.nodes)] if r.nodes else [], [1], module, 3)
        r.nodes[-1]["source"] |= {"cell": cell, "revision": 1}
        return n

    # the module's lines stand in cell a, it is called in b and between b and c
    for module, cell in (("", "b"), ("net", "a"), ("", "b"), ("net", "a"), ("", "c")):
        op(module, cell)
    graph = build_tape(r.snapshot(), cell_names={"b": "[2]"})
    chains = [[s.kind for s in graph.scope_chain(n.id)] for n in graph.nodes]
    assert chains == [["cell"], ["cell", "module"], ["cell"], ["module"], ["cell"]]
    assert graph.scope_title(graph.scope_chain(graph.nodes[0].id)[0].id) == "[2]"
    assert graph.scope_title(graph.scope_chain(graph.nodes[-1].id)[0].id) == "cell c"


def test_one_cell_is_no_scope():
    assert not [s for s in build_tape(load("mlp")).scopes.values() if s.kind == "cell"]


def test_a_linear_layer_is_one_node():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2, bias=False))
    for x in (torch.ones(3, 4), torch.ones(2, 3, 4)):
        tape = snapshot(model(x).sum())
        graph = build_tape(tape)
        assert [n.op for n in graph.nodes] == ["linear", "relu", "linear", "sum"]
        first = graph.nodes[0]
        assert [b.text for b in first.badges] == ["weight [8, 4]", "bias [8]"] and first.outputs[0].shape[-1] == 8
        assert len(first.parts) > 1 and all(graph.carriers(p) == (first.id,) for p in first.parts)
        assert first.name == "AddmmBackward0" and "addmm" in dict(first.facts.details)["made of"]
        assert sum(n.saved_bytes for n in graph.nodes) == sum(s["bytes"] for n in tape["nodes"] for s in n["saved"])
        flat = build_tape(tape, fold_layers=False)
        assert "t" in [n.op for n in flat.nodes] and len(flat.nodes) > len(graph.nodes)


def test_products_outside_of_modules_or_with_other_users_stay_apart():
    w = torch.ones(4, 2, requires_grad=True)
    t = w.t()
    assert [n.op for n in build_tape(snapshot((torch.ones(3, 2) @ t).sum())).nodes][:2] == ["t", "mm"]

    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(4, 2))

        def forward(self, x):
            turned = self.w.t()
            return (x @ turned) + turned.sum()

    assert "t" in [n.op for n in build_tape(snapshot(Twice()(torch.ones(3, 2)).sum())).nodes]


def test_a_long_loop_folds_whatever_its_shapes():
    def over(parameters):
        r = Recorder()
        total = r.op("mul", [], [], "", 1)
        for n in range(parameters):
            square = r.op("mul", [r.leaf(f"p{n}", n + 1)], [n + 1], "", 3)
            total = r.op("add", [total, r.op("sum", [square], [], "", 4)], [], "", 4, column=9)
        return GraphView(build_tape(r.snapshot(total))).picture.boxes.values()

    assert [b.title for b in over(40) if b.kind == "repeat"] == ["39 more like this"]
    assert not any(b.kind == "repeat" for b in over(8))
