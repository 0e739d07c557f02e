"""The tape of the running cell: while it runs, when it is over, and what it costs."""

from __future__ import annotations

import json

import pytest

from tapescope import engine as torch
from tapescope.app.kernel.messages import Executed, Stream, Tape
from tapescope.app.kernel.tape_stream import TapeStream

SETUP = "import torch\nx = torch.tensor(2.0, requires_grad=True)"


@pytest.fixture
def stream():
    """A `TapeStream` with a clock in its list `now`, and what it sent in its list `sent`."""
    now, sent, namespace = [0.0], [], {}
    stream = TapeStream(sent.append, namespace, clock=lambda: now[0])
    stream.now, stream.sent, stream.names = now, sent, namespace
    yield stream
    stream.close()


def backward(names, power=2):
    x = names.setdefault("x", torch.tensor(2.0, requires_grad=True))
    (x**power + 3 * x + 1).backward()


def test_at_most_one_live_tape_in_a_tenth_of_a_second(stream):
    stream.begin("c")
    for i in range(1000):
        stream.now[0] = i / 1000
        backward(stream.names)
    assert 5 <= len(stream.sent) <= 10 and all(e.live for e in stream.sent)
    stream.end()
    assert [e.live for e in stream.sent[-2:]] == [True, False]


def test_the_final_tape_is_that_of_the_last_backward_with_what_was_saved(stream):
    stream.begin("c")
    backward(stream.names)
    backward(stream.names, 3)
    stream.end()
    live, final = stream.sent
    assert live.tape["roots"] != final.tape["roots"]
    assert [n["op"] for n in final.tape["nodes"]] == [n["op"] for n in live.tape["nodes"]]
    saved = [n["saved"] for n in final.tape["nodes"]]
    assert any(saved) and saved == [n["saved"] for n in live.tape["nodes"]]
    (leaf,) = [n for n in final.tape["nodes"] if n["kind"] == "leaf"]
    assert leaf["label"] == "x" and leaf["grad"]["shape"] == []


def test_nothing_is_sent_between_cells_or_by_a_cell_without_a_tape(stream):
    backward(stream.names)
    stream.names["y"] = stream.names["x"] ** 2
    stream.begin("c")
    stream.names["z"] = torch.ones(3)
    stream.end()
    assert stream.sent == [], "y was made before the cell"


def test_a_slow_snapshot_is_taken_less_often(stream):
    stream.begin("c")
    send = stream._send

    def slow(event):
        stream.now[0] += 0.5
        send(event)

    stream._send = slow
    for _ in range(50):
        stream.now[0] += 0.1
        backward(stream.names)
    assert len(stream.sent) == 1, "0.5 s of work are followed by 10 s without"


def test_a_snapshot_that_fails_is_told_once_and_hurts_no_backward(stream, monkeypatch):
    stream.begin("c")

    class Broken:
        def __init__(self, engine):
            self.newest_root = engine.newest_root

        def snapshot(self, *args):
            raise RuntimeError("no picture")

    stream._engine = Broken(stream._engine)
    for _ in range(3):
        backward(stream.names)
        stream.now[0] += 1
    stream.end()
    (told,) = stream.sent
    assert isinstance(told, Stream) and "RuntimeError: no picture" in told.text
    assert stream.names["x"].grad is not None


# -- in a kernel --------------------------------------------------------------------------------------


def final(heard):
    tapes = heard.all(Tape)
    assert tapes and [t.live for t in tapes][-1] is False and sum(not t.live for t in tapes) == 1
    return tapes[-1]


def test_backward_in_a_cell_gives_a_tape_with_cells_and_lines(kernel):
    heard = kernel.run(SETUP, "y = x**2\nz = y + 3*x\nz.backward()")
    tape = final(heard)
    json.dumps(tape.tape)
    assert tape.cell == "c1"
    places = {n["op"]: n["source"] for n in tape.tape["nodes"] if n["kind"] == "op"}
    assert {(s["cell"], s["revision"]) for s in places.values()} == {("c1", 1)}
    assert sorted({s["line"] for s in places.values()}) == [1, 2]
    assert [n["label"] for n in tape.tape["nodes"] if n["kind"] == "leaf"] == ["x"]
    kinds = [e.kind for e in heard if e.kind in ("tape", "executed") and getattr(e, "cell", "") == "c1"]
    assert kinds[-1] == "executed", "the final tape comes before the end of the cell"


def test_a_tensor_alone_shows_its_tape(kernel):
    heard = kernel.run(SETUP, "y = x**2 + 3*x + 1", "'nothing of tensors'")
    assert [t.cell for t in heard.all(Tape)] == ["c1"]
    assert len([n for n in final(heard).tape["nodes"] if n["kind"] == "op"]) == 4


def test_functions_of_earlier_cells_lead_back_to_them(kernel):
    heard = kernel.run(SETUP + "\n\ndef f(v):\n    return v * v", "f(x).backward()")
    (node,) = [n for n in final(heard).tape["nodes"] if n["kind"] == "op"]
    assert (node["source"]["cell"], node["source"]["line"], node["source"]["function"]) == ("c0", 5, "f")


def test_cell_magics_keep_the_lines_of_the_tape(kernel):
    heard = kernel.run(SETUP, "%%time\ny = x * x\ny.backward()")
    (node,) = [n for n in final(heard).tape["nodes"] if n["kind"] == "op"]
    assert (node["source"]["cell"], node["source"]["line"]) == ("c1", 2)


def test_a_loop_shows_live_tapes_and_can_be_interrupted(kernel):
    heard = kernel.run(SETUP)
    heard = kernel.run_and_interrupt(
        "(x * x).backward()\nprint('started', flush=True)\nwhile True:\n    (x * x).backward()"
    )
    assert heard.one(Executed).status == "interrupted"
    final(heard)


def test_a_cell_that_fails_after_backward_shows_its_tape_all_the_same(kernel):
    final(kernel.run(SETUP, "(x * x).backward()\n1/0"))


def test_a_cell_that_an_operator_ended_shows_the_tape_up_to_there(stream):
    stream.begin("c")
    code = compile("def f(x):\n    y = x * 2\n    return y + torch.ones(4)\nf(x)", "<cell c1:3>", "exec")
    with pytest.raises(RuntimeError) as info:
        exec(code, {"torch": torch, "x": torch.ones(3, requires_grad=True)})
    stream.end(info.value)
    (event,) = stream.sent
    assert not event.live and [n["op"] for n in event.tape["nodes"]] == ["leaf", "mul"]
    error = event.tape["error"]
    assert error["op"] == "add" and [i["shape"] for i in error["inputs"] if i["disagrees"]] == [[3], [4]]
    assert (error["source"]["cell"], error["source"]["revision"], error["source"]["line"]) == ("c1", 3, 3)
    json.dumps(event.tape)


def test_other_errors_leave_the_tape_as_it_is(stream):
    stream.begin("c")
    stream.names["y"] = torch.ones(3, requires_grad=True) * 2
    stream.end(ZeroDivisionError("division by zero"))
    assert [n["op"] for n in stream.sent[0].tape["nodes"]] == ["leaf", "mul"] and "error" not in stream.sent[0].tape
