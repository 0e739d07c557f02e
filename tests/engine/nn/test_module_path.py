"""The path of the running module, as the tape sees it, and the counter of changes."""

from __future__ import annotations

import copy

import pytest

from tapescope import engine as torch
from tapescope.engine import module_path

nn = torch.nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.loose = [nn.Linear(2, 2)]

    def forward(self, x):
        return self.loose[0](self.block(x)).sum()


def paths(t):
    """Module paths along the first inputs, from the last node on, each once."""
    seen, node = [], t.grad_fn
    while node is not None:
        seen.append(node.module)
        node = next(
            (n for n, _ in node.next_functions if n is not None and n.name() != "torch::autograd::AccumulateGrad"), None
        )
    return list(dict.fromkeys(seen))


def test_paths_are_names_within_the_outermost_module():
    out = Net()(torch.ones(1, 2, requires_grad=True))
    assert paths(out) == ["Net", "Net.Linear", "Net.block", "Net.block.layers.1", "Net.block.layers.0"]
    assert module_path.current == ""


def test_a_part_called_alone_is_the_root():
    net = Net()
    assert paths(net.block.layers[0](torch.ones(1, 2))) == ["Linear"]
    assert paths(net.block(torch.ones(1, 2)))[-1] == "Block.layers.0"


def test_outside_of_modules_there_is_no_path():
    x = torch.ones(1, requires_grad=True)
    assert (x * 2).grad_fn.module == ""
    assert (Block()(torch.ones(1, 2)) + x).grad_fn.module == ""


def test_the_path_is_restored_after_an_exception():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        nn.Sequential(nn.ReLU(), Fails())(torch.ones(1))
    assert module_path.current == ""


def test_paths_follow_changes_of_the_structure():
    s = nn.Sequential(nn.Linear(1, 1))
    assert paths(s(torch.ones(1, 1))) == ["Sequential.0"]
    s.insert(0, nn.Identity())
    assert paths(s(torch.ones(1, 1))) == ["Sequential.1"]
    del s[0]
    assert paths(s(torch.ones(1, 1))) == ["Sequential.0"]


def test_a_copy_has_paths_of_its_own():
    net = Net()
    net(torch.ones(1, 2))
    assert paths(copy.deepcopy(net)(torch.ones(1, 2)))[0] == "Net"


CHANGES = {
    "parameter": lambda m: setattr(m, "weight", nn.Parameter(torch.ones(2, 2))),
    "buffer": lambda m: m.register_buffer("b", torch.ones(1)),
    "child": lambda m: setattr(m, "c", nn.ReLU()),
    "no more": lambda m: delattr(m, "bias"),
    "mode": lambda m: m.eval(),
    "hook": lambda m: m.register_forward_hook(lambda *a: None),
    "hook removed": lambda m: m.register_forward_hook(lambda *a: None).remove(),
    "moved": lambda m: m.double(),
    "loaded by assignment": lambda m: m.load_state_dict(m.state_dict(), assign=True),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_counter_moves_with_every_change(name):
    m = nn.Linear(2, 2)
    before = module_path.structure_epoch
    CHANGES[name](m)
    assert module_path.structure_epoch > before


def test_the_counter_stands_still_while_training():
    m = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    m.steps = 0
    o = torch.optim.Adam(m.parameters())
    before = module_path.structure_epoch
    for _ in range(3):
        o.zero_grad()
        m(torch.ones(1, 2)).sum().backward()
        o.step()
        m.steps += 1
    assert module_path.structure_epoch == before
