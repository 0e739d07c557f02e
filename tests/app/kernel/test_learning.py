"""Hints after a run, the costs of lines, the recording, where variables come from, and the cap on memory."""

from __future__ import annotations

import sys

import pytest

from tapescope.app.kernel.exits import explain_exit
from tapescope.app.kernel.messages import (
    AskDevice,
    Costs,
    DeviceInfo,
    Execute,
    Executed,
    GetRecording,
    Hints,
    Observe,
    Recording,
    Variables,
)
from tapescope.app.kernel.provenance import names_of

SETUP = """import torch
from torch import nn
torch.manual_seed(0)
x, y = torch.randn(8, 3), torch.randn(8)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)"""

LOOP = """for step in range(3):
    opt.zero_grad()
    loss = ((net(x).squeeze(1) - y) ** 2).mean()
    loss.backward()
    opt.step()"""


@pytest.fixture
def user(talk):
    """A kernel in this process whose first cell has run."""
    kernel = talk("local", torch="tapescope")
    assert kernel.run(SETUP).statuses() == [("c0", "ok")]
    return kernel


def hints(user, code):
    heard = user.run(code)
    assert all(status == "ok" for _, status in heard.statuses()), heard
    return {hint["id"]: hint for event in heard.all(Hints) for hint in event.hints}


def test_a_loop_that_does_everything_right_gets_no_hint(user):
    assert hints(user, LOOP) == {}


def test_a_forgotten_squeeze_is_told_with_both_shapes_and_the_line(user):
    found = hints(user, "\nloss = ((net(x) - y) ** 2).mean()")["broadcast"]
    assert "[8, 1] with [8] makes [8, 8]" in found["text"] and found["line"] == 2 and "squeeze" in found["advice"]
    assert "broadcast" not in hints(user, "x[:, :1] * torch.ones(8, 3)")


def test_a_forgotten_zero_grad_is_told_only_where_weights_were_updated(user):
    without = LOOP.replace("    opt.zero_grad()\n", "")
    assert hints(user, without)["zero_grad"]["line"] == 3
    accumulating = "opt.zero_grad()\nfor step in range(3):\n    (net(x) ** 2).mean().backward()\nopt.step()"
    assert hints(user, accumulating) == {}
    in_place = LOOP.replace("zero_grad()", "zero_grad(set_to_none=False)")
    assert hints(user, in_place) == {}


def test_a_parameter_out_of_reach_is_named(user):
    code = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.forgotten = nn.Linear(3, 1), nn.Linear(3, 1)
    def forward(self, x):
        return self.used(x)
model = Net()
model(x).sum().backward()"""
    found = hints(user, code)["no_gradient"]
    assert "model.forgotten.weight" in found["text"] and found["line"] == 8
    assert hints(user, LOOP) == {}, "it is not told again by cells that do not use the model"


def test_softmax_before_cross_entropy_is_told(user):
    code = (
        "scores = torch.randn(8, 4, requires_grad=True)\np = torch.softmax(scores, 1)\n"
        "loss = nn.functional.cross_entropy(p, torch.zeros(8, dtype=torch.int64))"
    )
    assert hints(user, code)["softmax"]["line"] == 2
    assert "softmax" not in hints(user, code.replace("cross_entropy(p,", "cross_entropy(scores,"))


@pytest.mark.parametrize(
    ("code", "operator", "line"),
    [
        ("w = torch.zeros(3, requires_grad=True)\nloss = (torch.log(w) * 0).sum()\nloss.backward()", "log", 2),
        ("w = torch.zeros(3, requires_grad=True)\nz = w * 2\nloss = (z / z).sum()\nloss.backward()", "div", 3),
        ("w = -torch.ones(3, requires_grad=True)\nloss = (w * 2).sqrt().mean()\nloss.backward()", "sqrt", 2),
    ],
)
def test_the_first_operator_that_gave_nan_is_found(user, code, operator, line):
    found = hints(user, code)["nan"]
    assert f"{operator} is the first operator" in found["text"] and found["line"] == line


def test_weights_that_were_nan_already_are_named(user):
    code = "with torch.no_grad():\n    net[0].weight[0, 0] = float('nan')\nloss = net(x).mean()\nloss.backward()"
    assert "net.0.weight held NaN" in hints(user, code)["nan"]["text"]


def test_an_infinity_that_is_meant_is_no_hint(user):
    code = """mask = torch.tensor([[False, True]])
scores = torch.randn(1, 2, requires_grad=True)
loss = torch.softmax(scores.masked_fill(mask, float("-inf")), 1)[0, 0]
loss.backward()"""
    assert hints(user, code) == {}


def test_costs_are_told_a_line_and_backward_is_charged_to_the_forward_line(user):
    costs = user.run(LOOP).one(Costs).costs
    by_line = {line["line"]: line for line in costs["lines"]}
    assert costs["complete"] and by_line[3]["backward_calls"] > 0 and by_line[3]["calls"] >= 15
    assert by_line[3]["backward_seconds"] > 0 and by_line[3]["bytes"] > 0
    assert by_line[5]["calls"] > 0, "the optimizer's operators belong to its own line"
    assert by_line[5]["backward_calls"] == 0
    assert {"addmm", "relu"} <= {op["op"] for op in costs["ops"]}


def test_what_python_does_between_operators_is_charged_to_no_line(user):
    code = "import time\ny = x + 1\nbegan = time.perf_counter()\ntime.sleep(0.5)\nslept = time.perf_counter() - began\nz = x + 2"
    by_line = {line["line"]: line for line in user.run(code + "\nprint(slept)").one(Costs).costs["lines"]}
    assert 0 < by_line[6]["seconds"] < 0.5


def test_only_the_first_operators_of_a_cell_are_recorded_until_all_are_wanted(user):
    user.kernel.core.recorder._first = 5
    code = "for i in range(20):\n    x + i"
    assert not user.run(code).one(Costs).costs["complete"]
    user.kernel.send(Observe(costs=True))
    costs = user.run(code).one(Costs).costs
    assert costs["complete"] and sum(line["calls"] for line in costs["lines"]) == 20


def test_the_last_run_can_be_stepped_through(user):
    user.run(LOOP)
    begin = len(user.events)
    user.kernel.send(GetRecording(7))
    recording = user.wait_for_one(Recording, begin)
    assert recording.request == 7 and recording.cell == "c0" and recording.dropped == 0
    phases = [step["phase"] for step in recording.steps]
    assert "backward" in phases and phases.index("backward") > phases.index("forward")
    linear = next(step for step in recording.steps if step["op"] == "addmm" and step["phase"] == "forward")
    assert linear["line"] == 3 and linear["shape"] == [8, 4] and linear["module"]
    back = next(step for step in recording.steps if step["phase"] == "backward")
    assert back["line"] == 3, "a backward step is shown at the forward line"


def test_the_runs_of_several_cells_are_kept_for_stepping(user):
    user.run("x + 1", "x * y.sum()")
    for cell, operator in (("c0", "add"), ("c1", "mul"), ("none", "mul")):
        begin = len(user.events)
        user.kernel.send(GetRecording(1, cell))
        assert operator in [step["op"] for step in user.wait_for_one(Recording, begin).steps], cell


def variables(user, code):
    return {v["name"]: v for v in user.run(code).one(Variables).variables}


def test_a_tensor_is_told_with_its_range_its_histogram_and_what_is_not_a_number(user):
    found = variables(user, "v = torch.tensor([0.0, 1.0, float('nan'), float('inf'), 2.0])")["v"]
    assert (found["low"], found["high"], found["nan"], found["inf"]) == (0.0, 2.0, 1, 1)
    assert sum(found["histogram"]) == 3


def test_a_variable_is_stale_when_what_it_was_computed_from_changes(user):
    user.run("a = torch.ones(3)\nfree = 5", "b = a * 2\nc = free + 1")
    found = variables(user, "a += 1")
    assert "a changed" in found["b"]["stale"] and "stale" not in found["c"]
    assert found["b"]["cell"] == "c1" and found["a"]["cell"] == "c0"
    assert "stale" not in variables(user, "b = a * 2")["b"]


def test_what_a_trained_network_predicted_before_is_stale(user):
    user.run("before = net(x)")
    assert "net changed" in variables(user, LOOP)["before"]["stale"]


def test_names_are_followed_through_a_cell():
    flow = names_of(
        "%matplotlib inline\nh = x + 1\nfor i in range(n):\n    t = h * i\ndef f(x, k=q):\n    return x + z\n"
    )
    assert flow == {"h": {"x"}, "i": {"range", "n"}, "t": {"h", "i"}, "f": {"q", "z"}}
    assert names_of("not python at all") == {}


def test_the_device_is_told_and_a_switch_that_is_impossible_is_refused(user):
    begin = len(user.events)
    user.kernel.send(AskDevice())
    info = user.wait_for_one(DeviceInfo, begin).info
    assert info["device"] == "cpu" and info["error"] == "" and info["memory"]["process"] > 0
    begin = len(user.events)
    user.kernel.send(AskDevice("abacus"))
    assert "no device 'abacus'" in user.wait_for_one(DeviceInfo, begin).info["error"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot cap a process's memory")
def test_a_cell_that_wants_more_memory_than_the_cap_fails_and_the_kernel_lives(talk):
    kernel = talk("process", memory=600 << 20)
    heard = kernel.run("value = 42", "import numpy\nnumpy.ones(1 << 30)", "print(value)")
    assert heard.error.ename.endswith("MemoryError")
    assert kernel.run("print(value)").text() == "42\n"


def test_single_cells_are_taken_out_of_the_queue(talk):
    kernel = talk("process")
    begin = len(kernel.events)
    kernel.kernel.send(
        Execute("a", 1, "import time\nprint('started', flush=True)\ntime.sleep(0.5)"),
        Execute("b", 1, "1"),
        Execute("c", 1, "2"),
    )
    kernel.wait_for(lambda events: any(getattr(e, "text", "").startswith("started") for e in events[begin:]))
    kernel.kernel.cancel(["b"])
    kernel.wait_for(lambda events: sum(isinstance(e, Executed) for e in events[begin:]) >= 3)
    ended = {e.cell: e.status for e in kernel.events[begin:] if isinstance(e, Executed)}
    assert ended == {"a": "ok", "b": "aborted", "c": "ok"}


def test_operators_of_symbolic_sizes_cost_no_bytes_and_break_nothing(user):
    code = """@torch.compile
def step(t):
    return (t * 2).sum()
for size in (8, 9, 10):
    step(torch.randn(size, 4))"""
    costs = user.run(code).one(Costs).costs
    assert all(isinstance(op["bytes"], int) for op in costs["ops"])
    begin = len(user.events)
    user.kernel.send(GetRecording(1))
    for step in user.wait_for_one(Recording, begin).steps:
        assert all(isinstance(n, (int, str)) for n in step["shape"] or ())


def test_native_code_that_gives_up_for_lack_of_memory_is_told_as_that():
    reason, advice = explain_exit(1, last_words="OpenBLAS error: Memory allocation still failed after 10 retries\n")
    assert "Memory ran out" in reason and "smaller batches" in advice
    assert "Memory ran out" in explain_exit(-6, last_words="terminate called after throwing std::bad_alloc")[0]
    assert "exit code 1" in explain_exit(1, last_words="some words")[0]


def test_figures_of_matplotlib_are_shown_in_the_notebook(talk, monkeypatch):
    """The backend that IPython brings is chosen, unless the user chose one."""
    shown = "import os; print(os.environ['MPLBACKEND'])"
    monkeypatch.delenv("MPLBACKEND", raising=False)
    assert "matplotlib_inline" in talk("process").run(shown).text()
    monkeypatch.setenv("MPLBACKEND", "agg")
    assert talk("process").run(shown).text() == "agg\n"


def test_what_a_new_process_is_to_measure_is_known_before_its_first_cell(talk):
    """Commands that come while the old process is still leaving are kept for the new one."""
    kernel = talk("process", torch="tapescope")
    kernel.kernel.restart(force=True)
    kernel.kernel.send(Observe(costs=True))
    heard = kernel.run("import torch\nx = torch.ones(3)\nfor i in range(3100):\n    x + i")
    assert heard.one(Costs).costs["complete"]
