"""The tape up to an operator that failed, with the shapes that disagree."""

import json

import pytest

from tapescope import engine as torch
from tapescope.engine.autograd.failure import failed_tape
from tapescope.graphviz_views.browse import GraphView
from tapescope.graphviz_views.tape import build_tape

F = torch.nn.functional


def failure(f):
    with pytest.raises((RuntimeError, ValueError, IndexError, TypeError)) as info:
        f()
    return failed_tape(info.value)


def test_a_layer_that_does_not_fit():
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    x = torch.ones(100, 64)
    tape = failure(lambda: model(x))
    error = tape["error"]
    assert error["op"] == "linear" and "cannot be multiplied (100x32 and 64x10)" in error["message"]
    assert error["module"] == "Sequential.2" and error["source"]["file"] == __file__
    assert [(i["shape"], i["disagrees"]) for i in error["inputs"][:2]] == [([100, 32], True), ([10, 64], True)]
    graph = build_tape(json.loads(json.dumps(tape)))
    assert [(n.kind, n.op) for n in graph.nodes] == [("op", "linear"), ("op", "relu"), ("error", "linear")]
    assert [b.text for b in graph.nodes[-1].badges if b.kind == "error"] == ["✗ input [100, 32]", "✗ 2.weight [10, 64]"]
    assert [e.kind for e in graph.edges] == ["value", "error"]
    assert graph.nodes[-1].module == "Sequential.2" and "linear failed" in graph.notes[0]
    view = GraphView(graph)
    for form in (view.svg(), view.cells().text(), view.dot()):
        assert "✗ input [100, 32]" in form
    assert not view.picture.mirrored


x3 = torch.ones(3, requires_grad=True)


@pytest.mark.parametrize(
    ("f", "op", "wrong"),
    [
        (lambda: (x3 * 2) + torch.ones(4), "add", [[3], [4]]),
        (lambda: torch.cat([x3, torch.ones(2, 2)]), "cat", [[3], [2, 2]]),
        (lambda: torch.ones(2, 3) @ torch.ones(4, 5, requires_grad=True), "matmul", [[2, 3], [4, 5]]),
        (lambda: F.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 2, 3, 3)), "conv2d", [[1, 3, 8, 8], [4, 2, 3, 3]]),
        (lambda: torch.where(x3 > 0, x3, torch.ones(5)), "where", [[3], [5]]),
    ],
)
def test_operators(f, op, wrong):
    error = failure(f)["error"]
    assert error["op"] == op
    assert [i["shape"] for i in error["inputs"] if i["disagrees"]] == wrong


def test_where_the_operands_come_from():
    y = x3 * 2
    tape = failure(lambda: y + torch.ones(4))
    assert tape["error"]["inputs"][0]["node"] == y.grad_fn.sequence_nr
    assert [n["op"] for n in tape["nodes"]] == ["leaf", "mul"] and tape["roots"] == []


def test_errors_that_are_no_operator_s():
    for f in (lambda: 1 / 0, lambda: [][3], lambda: torch.no_such_thing):
        try:
            f()
        except Exception as error:
            assert failed_tape(error) is None
    assert failed_tape(ValueError("never raised")) is None
    with pytest.raises(ValueError, match="did not arise in an operator"):
        torch.tapescope.failed(ZeroDivisionError())


def test_by_hand():
    try:
        x3 + torch.ones(2)
    except RuntimeError as error:
        view = torch.tapescope.failed(error)
    assert view.kind == "tape" and "add failed" in view.text()
