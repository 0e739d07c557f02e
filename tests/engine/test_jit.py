"""torch.jit: traces compute what the program does on other sizes too, go through files, and a hostile file runs nothing."""

from __future__ import annotations

import io

import pytest

from tapescope import engine as torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 2)
        self.bn = torch.nn.BatchNorm1d(2)
        self.parts = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2)})

    def forward(self, x, scale=None):
        h = torch.relu(self.bn(self.lin(x)))
        return self.parts["a"](h.view(h.shape[0], -1)) * 2, {"h": h}


def through_a_file(traced):
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    return torch.jit.load(file)


def test_a_traced_module_computes_the_same_for_other_sizes():
    net = Net().eval()
    traced = torch.jit.trace(net, torch.randn(4, 3))
    x = torch.randn(7, 3)
    for made in (traced, through_a_file(traced)):
        (out, parts), (wanted, wanted_parts) = made(x), net(x)
        assert torch.equal(out, wanted) and torch.equal(parts["h"], wanted_parts["h"])
        assert list(made.state_dict()) == list(net.state_dict())
        assert "original_name=Net" in repr(made)
    assert "ops.addmm" in traced.code


def test_gradients_reach_the_parameters_of_a_loaded_trace():
    net = Net().eval()
    loaded = through_a_file(torch.jit.trace(net, torch.randn(4, 3)))
    x = torch.randn(5, 3)
    loaded(x)[0].sum().backward()
    net(x)[0].sum().backward()
    torch.testing.assert_close(loaded.lin.weight.grad, net.lin.weight.grad)


def test_a_trace_in_training_mode_keeps_on_updating_statistics():
    net = Net().train()
    traced = torch.jit.trace(net, torch.randn(4, 3))
    other = Net().train()
    other.load_state_dict(net.state_dict())
    x = torch.randn(6, 3)
    traced(x)
    other(x)
    torch.testing.assert_close(net.bn.running_mean, other.bn.running_mean)
    assert traced.bn.num_batches_tracked == other.bn.num_batches_tracked == 1


def test_dropout_in_a_trace_draws_as_the_function_does():
    traced = through_a_file(
        torch.jit.trace(
            lambda x, y: torch.nn.functional.dropout(x @ y), (torch.ones(2, 3), torch.ones(3, 4)), check_trace=False
        )
    )
    x, y = torch.ones(5, 3), torch.ones(3, 2)
    torch.manual_seed(1)
    found = traced(x, y)
    torch.manual_seed(1)
    assert torch.equal(found, torch.nn.functional.dropout(x @ y))


def test_what_cannot_be_traced_is_said():
    with pytest.raises(RuntimeError, match=r"cannot look at the values of tensors.*torch\.compile"):
        torch.jit.trace(lambda x: x if x.sum() > 0 else -x, torch.ones(2))
    with pytest.raises(RuntimeError, match="needs example_inputs"):
        torch.jit.trace(lambda x: x)
    calls = []

    def changing(x):
        calls.append(1)
        return x + len(calls)

    with pytest.warns(torch.jit.TracerWarning, match="Output nr 1. of the traced function does not match"):
        torch.jit.trace(changing, torch.ones(2))


def test_scripted_things_behave_as_they_did():
    @torch.jit.script
    def twice(x: torch.Tensor, n: int) -> torch.Tensor:
        if n > 0:
            return x * n
        return x

    assert twice(torch.ones(2), 3).tolist() == [3.0, 3.0] and "if n > 0" in twice.code
    net = Net()
    scripted = torch.jit.script(net)
    assert list(scripted.state_dict()) == list(net.state_dict()) and scripted.lin is net.lin
    scripted.eval()
    assert not net.training
    x = torch.ones(2, 3)
    assert torch.equal(scripted(x)[0], net(x)[0]) and "def forward" in scripted.code
    with pytest.raises(RuntimeError, match=r"save torch\.jit\.trace"):
        scripted.save("nowhere.pt")
    assert not torch.jit.is_scripting() and not torch.jit.is_tracing()
    assert torch.jit.wait(torch.jit.fork(lambda a: a + 1, 2)) == 3


HOSTILE = {
    "an import": "def forward(self, x):\n    return __import__('os').system('echo hi')\n",
    "a dunder": "def forward(self, x):\n    return x.__class__\n",
    "another statement": "import os\ndef forward(self):\n    return 1\n",
    "the globals of a primitive": "def forward(self, x):\n    return ops.add.__globals__\n",
    "a comprehension": "def forward(self, x):\n    return [y for y in x]\n",
    "a lambda": "def forward(self, x):\n    return (lambda: 1)()\n",
    "another function of torch": "def forward(self, x):\n    return torch.load('x')\n",
    "a default": "def forward(self, x=print('hi')):\n    return x\n",
    "eval": "def forward(self, x):\n    return eval('1')\n",
    "a format string": "def forward(self, x):\n    return f'{x}'\n",
    "a loop": "def forward(self, x):\n    while True:\n        pass\n",
    "a decorator": "@print\ndef forward(self, x):\n    return x\n",
    "the module": "def forward(self, x):\n    return self.__dict__\n",
    "no Python": "def forward(self, x) return\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_runs_nothing(text, capsys):
    file = io.BytesIO()
    kept = {
        "format": "tapescope.jit",
        "version": 1,
        "name": "x",
        "code": text,
        "training": False,
        "arguments": [],
        "state": {},
    }
    torch.save({**kept, "parameters": [], "needs": [], "constants": {}}, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"the graph in this file is"):
        torch.jit.load(file)
    assert capsys.readouterr().out == ""


def test_other_files_are_refused_with_a_sentence():
    file = io.BytesIO()
    torch.save({"weights": torch.ones(1)}, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="this file holds no trace"):
        torch.jit.load(file)
    with pytest.raises(TypeError, match="takes what torch.jit.trace made"):
        torch.jit.save(torch.nn.Linear(1, 1), io.BytesIO())


def test_futures_wait_and_chain():
    f = torch.futures.Future()
    g = f.then(lambda done: done.value() + 1)
    f.set_result(1)
    assert (
        g.wait() == 2
        and torch.futures.wait_all([f, g]) == [1, 2]
        and len(torch.futures.collect_all([f, g]).wait()) == 2
    )
