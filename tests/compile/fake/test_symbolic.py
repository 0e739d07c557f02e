"""Symbolic numbers: arithmetic in normal form, decisions that become guards, and models whose sizes stay symbols."""

from __future__ import annotations

import math
import random

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.fake import (
    DataDependent,
    ShapeEnv,
    SymInt,
    fake_like,
    fake_mode,
    symbolic_call,
    symbolic_max,
    symbolic_min,
)
from tapescope.engine.func import functional_call

nn, F = torch.nn, torch.nn.functional


def test_normal_form():
    env = ShapeEnv()
    a, b = env.size(6), env.size(10)
    assert str((a * 4) // 4) == "s0" and str((a * 4 + 3) // 4) == "s0"
    assert str((a * b * 64) // (b * 64)) == "s0" and (a * b * 12) % (b * 4) == 0
    assert str((a + 2 * 1 - 2 - 1) // 2 + 1) == "((s0 + 1)//2)"
    assert (a + b) - b - a == 0 and type((a + b) - b - a) is int
    assert str(a // 2 // 3) == "(s0//6)"
    assert str(-1 % a) == "s0 - 1" and 1 // a == 0
    assert str(symbolic_min(a, b)) == "min(s0, s1)" and symbolic_max(a, a) is not None
    assert env.guards == ["s0 >= 2", "s1 >= 2"]


def test_is_an_int_to_python_but_not_to_c():
    env = ShapeEnv()
    a = env.size(5, ("x", 0))
    assert isinstance(a, int) and type(a) is SymInt
    assert list(range(a)) == [0, 1, 2, 3, 4]
    assert env.guards == ["s0 >= 2", "s0 == 5"]
    assert env.sources["s0"] == ("x", 0)
    assert {5: "found"}[a] == "found"


def test_decisions():
    env = ShapeEnv()
    a, b = env.size(5), env.size(5)
    assert a != 1 and a > 0 and not a < 2 and a * 4 != 2
    assert env.guards == ["s0 >= 2", "s1 >= 2"]
    assert a > 3 and a >= 4 and not a <= 3
    assert env.guards[2:] == ["s0 > 3"]
    assert a == b and a * 2 == b * 2
    assert env.guards[3:] == ["s0 == s1"]
    assert env.checks({"s0": 8, "s1": 8}) and not env.checks({"s0": 8, "s1": 7}) and not env.checks({"s0": 3, "s1": 3})


def test_floats_are_formulas():
    env = ShapeEnv()
    a, f = env.size(4), env.real(0.5, "lr")
    scale = (1 - 0.9 ** (a / 2)) * -f
    assert isinstance(scale, float)
    assert scale.evaluate({"s0": 8, "f0": 0.25}) == (1 - 0.9 ** (8 / 2)) * -0.25
    assert symbolic_call("math.sqrt", math.sqrt, a).evaluate({"s0": 9}) == 3.0
    assert f < 1 and "f0 < 1" in env.guards
    unknown = env.real(None)
    assert (unknown * 2).hint is None
    with pytest.raises(DataDependent):
        bool(unknown > 1)
    with pytest.raises(DataDependent):
        float(unknown)


@pytest.mark.parametrize("seed", range(40))
def test_formulas_mean_what_python_means(seed):
    """Random formulas, built with symbols and with numbers: equal values for the hints and for other values that pass the guards."""
    draw = random.Random(seed)
    names = ["s0", "s1", "s2"]

    def build(values, draw):
        pool = [*values, draw.randint(1, 9), draw.randint(-3, 5)]
        for _ in range(8):
            x, y = draw.choice(pool), draw.choice(pool)
            kind = draw.choice("+-*/%mM<")
            if kind == "+":
                pool.append(x + y)
            elif kind == "-":
                pool.append(x - y)
            elif kind == "*":
                pool.append(x * y)
            elif kind == "/" and y != 0:
                pool.append(x // y)
            elif kind == "%" and y != 0:
                pool.append(x % y)
            elif kind == "m":
                pool.append(symbolic_min(x, y))
            elif kind == "M":
                pool.append(symbolic_max(x, y))
            elif kind == "<":
                pool.append(x if x < y else y + 1)
        return pool

    hints = [draw.randint(2, 12) for _ in names]
    env = ShapeEnv()
    state = draw.getstate()
    symbolic = build([env.size(h) for h in hints], draw)
    held = 0
    for trial in range(60):
        values = hints if not trial else [draw.randint(2, 12) for _ in names]
        bound = dict(zip(names, values, strict=True))
        if not env.checks(bound):
            assert trial, "the hints themselves must pass the guards"
            continue
        held += 1
        again = random.Random()
        again.setstate(state)
        plain = build(values, again)
        assert [v.evaluate(bound) if type(v) is SymInt else v for v in symbolic] == plain
    assert held


def test_specialisation_says_why():
    env = ShapeEnv()
    a = env.size(3)
    hash(a)
    assert [r.text for r in env.records] == ["s0 >= 2", "s0 == 3"]
    assert env.records[1].why and env.records[1].symbols == ("s0",)


# -- models ------------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.first, self.second = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.project = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.heads, self.drop = heads, nn.Dropout(0.1)

    def forward(self, x):
        n, length, d = x.shape
        q, k, v = self.qkv(self.first(x)).split(d, dim=2)
        q, k, v = (t.view(n, length, self.heads, d // self.heads).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).contiguous().view(n, length, d))
        return x + self.drop(self.down(F.gelu(self.up(self.second(x)))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(17, 8), nn.Embedding(64, 8)
        self.blocks, self.head = nn.Sequential(Block(8, 2), Block(8, 2)), nn.Linear(8, 17)

    def forward(self, words, target):
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        logits = self.head(self.blocks(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), target.view(-1))


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 8)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)).view(1, 64, 64))

    def forward(self, x, _):
        length = x.shape[1]
        k = self.q(x)
        a = (k @ k.transpose(-2, -1)) * 8**-0.5
        a = a.masked_fill(self.mask[:, :length, :length] == 0, float("-inf")).softmax(-1)
        return (a @ x).mean()


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = (
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.Conv2d(4, 8, 3, stride=2),
        )
        self.pool, self.head = nn.MaxPool2d(2), nn.Linear(8 * 3 * 3, 10)

    def forward(self, x, target):
        x = F.relu(self.norm(self.first(x)))
        x = torch.flatten(self.pool(F.relu(self.second(x))), 1)
        x = torch.cat([x, x], 0)[: x.shape[0]]
        return F.cross_entropy(self.head(x), target)


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(12, 7), nn.ReLU(), nn.Dropout(0.5), nn.Linear(7, 3))

    def forward(self, x, target):
        y = self.layers(x)
        picked = y.softmax(-1)[torch.arange(x.shape[0]), target]
        return F.mse_loss(picked, torch.zeros(x.shape[0])) + F.log_softmax(y, 1).sum() / x.shape[0]


MODELS = {
    "perceptron": (Perceptron, lambda: (torch.randn(5, 3, 4), torch.randint(3, (5,))), (0,), ["s0 >= 2"]),
    "convolutional": (Convolutional, lambda: (torch.randn(6, 1, 14, 14), torch.randint(10, (6,))), (0,), ["s0 >= 2"]),
    "transformer": (
        Transformer, lambda: (torch.randint(17, (3, 6)), torch.randint(17, (3, 6))), (0, 1), ["s0 >= 2", "s1 >= 2"],
    ),
    "masked": (Masked, lambda: (torch.randn(3, 6, 8), None), (0, 1), ["s0 >= 2", "s1 >= 2", "s1 <= 64", "s1 != 64"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_sizes_stay_symbolic_through_forward_and_backward(name):
    make, inputs, dims, guards = MODELS[name]
    model, (x, target) = make(), inputs()
    env = ShapeEnv()
    before = torch.get_rng_state()
    with fake_mode():
        state = {k: fake_like(v) for k, v in {**dict(model.named_parameters()), **dict(model.named_buffers())}.items()}
        fake = fake_like(x, dims, env=env, source="x")
        sizes = {d: fake.shape[d] for d in dims}
        other = None if target is None else fake_like(target, {d: s for d, s in sizes.items() if d < target.ndim})
        loss = functional_call(model, state, (fake, other))
        loss.backward()
    assert env.guards == guards
    assert torch.equal(before, torch.get_rng_state()), "drawing fakes must not move the real generator"
    for v in state.values():
        assert not v.requires_grad or (v.grad is not None and v.grad.shape == v.shape)
