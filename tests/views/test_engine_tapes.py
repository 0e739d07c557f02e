"""Tapes that the engine records now, not only stored ones."""

import json

from tapescope import engine as torch
from tapescope.engine.autograd.snapshot import snapshot
from tapescope.graphviz_views.display import mimebundle
from tapescope.graphviz_views.outline import Outline
from tapescope.graphviz_views.tape import build_tape


def test_a_small_expression():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = (x * x + 3 * x).sum()
    line = test_a_small_expression.__code__.co_firstlineno + 2
    graph = build_tape(json.loads(json.dumps(snapshot(y))))
    assert graph.notes == ()
    assert [node.op for node in graph.nodes] == ["mul", "mul", "add", "sum"]
    assert [node.shape_text for node in graph.nodes] == ["[2, 2]", "[2, 2]", "[2, 2]", "[]"]
    assert graph.nodes_at(__file__, line) == [node.id for node in graph.nodes]
    assert [badge.text for badge in graph.nodes[0].badges] == ["leaf [2, 2]"]
    assert graph.nodes[-1].is_root and graph.nodes[0].saved_bytes == 16  # x, kept once for both factors


def test_the_same_tape_after_backward():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    before = Outline(build_tape(snapshot(y))).rows
    y.backward()
    graph = build_tape(snapshot(y))
    assert [row.operator for row in Outline(graph).rows] == [row.operator for row in before]
    assert graph.nodes[0].saved_bytes == 0


def test_a_tensor_shows_its_tape():
    y = torch.tensor([1.0, 2.0], requires_grad=True).sum()
    bundle = y._repr_mimebundle_()
    assert bundle == mimebundle(snapshot(y), repr(y))
    assert bundle["text/plain"] == repr(y)


def test_a_loop_folds():
    h = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(30):
        h = torch.tanh(h) * 2
    rows = Outline(build_tape(snapshot(h))).rows
    # the first turn uses the leaf and differs from the others, which does not count in so long a loop
    assert [row.operator for row in rows if row.kind == "repeat"] == ["turn 1 to turn 30 x30, one shown"]
    assert len(rows) < 8


def test_kept_tensors_name_their_makers():
    x = torch.randn(3, 3, requires_grad=True)
    y = x.exp()
    graph = build_tape(snapshot((y * y.sin() + y @ x).sum()))
    exp, sin, mul, product = graph.nodes[:4]
    assert [(s.name, s.maker) for s in exp.saved] == [("result", exp.id)]
    assert {s.maker for s in mul.saved} == {exp.id, sin.id}
    assert [b.text for b in exp.badges if b.kind == "kept"] == ["saved → 3 users"]
    assert sum(s.bytes for s in product.saved) == 72  # the leaf and what exp made
