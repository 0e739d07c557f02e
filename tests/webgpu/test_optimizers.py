"""Steps of optimizers in few launches: the same numbers as the formulas on the CPU, for any number and shape of parameters."""

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine.observe import bus

SHAPES = [(7,), (4, 8), (3, 5), (1,), (), (0,), (130, 4)]
OPTIONS = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "sgd with decay": (torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.2, "maximize": True}),
    "momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    "nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "adam": (torch.optim.Adam, {"lr": 0.1, "weight_decay": 0.1}),
    "amsgrad": (torch.optim.Adam, {"lr": 0.1, "amsgrad": True}),
    "adamw": (torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.1, "eps": 1e-3}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 0.05, "weight_decay": 0.1}),
    "rmsprop with momentum": (torch.optim.RMSprop, {"lr": 0.05, "momentum": 0.5}),
    "rmsprop, centred": (torch.optim.RMSprop, {"lr": 0.05, "centered": True}),
}


@pytest.fixture(autouse=True)
def device(need_vulkan):
    need_vulkan()


def parameters(where, rng):
    made = [torch.tensor(np.float32(rng.standard_normal(s))).to(where) for s in SHAPES]
    root = torch.tensor(np.float32(rng.standard_normal((6, 9)))).to(where)
    made += [root[1:], torch.tensor(np.float32(rng.standard_normal((4, 6)))).to(where).t()]  # an offset; not row-major
    return [p.detach().requires_grad_() for p in made]


def run(where, kind, options, steps=4):
    rng = np.random.default_rng(0)
    params = parameters(where, rng)
    optimizer = kind(params, **options)
    for _ in range(steps):
        for p in params:
            p.grad = torch.tensor(np.float32(rng.standard_normal(p.shape))).to(where)
        optimizer.step()
    return params, optimizer


@pytest.mark.parametrize("name", OPTIONS)
def test_the_numbers_of_the_formula(name):
    kind, options = OPTIONS[name]
    (want, a), (got, b) = run("cpu", kind, options), run("webgpu", kind, options)
    for x, y in zip(want, got):
        np.testing.assert_allclose(y.detach().cpu().numpy(), x.detach().numpy(), rtol=2e-5, atol=2e-6)
    for x, y in zip(a.state_dict()["state"].values(), b.state_dict()["state"].values()):
        assert x.keys() == y.keys()
        for key in x:
            np.testing.assert_allclose(y[key].cpu().numpy(), x[key].numpy(), rtol=2e-5, atol=2e-6)
    separate, _ = run("webgpu", kind, {**options, "foreach": False})
    for x, y in zip(separate, got):
        np.testing.assert_allclose(y.detach().cpu().numpy(), x.detach().cpu().numpy(), rtol=2e-5, atol=2e-6)


def test_thirty_parameters_take_few_launches():
    params = [torch.randn(4, 5).to("webgpu").requires_grad_() for _ in range(30)]
    optimizer = torch.optim.Adam(params)
    for _ in range(2):
        for p in params:
            p.grad = torch.ones(4, 5, device="webgpu")
        told = []
        stop = bus.subscribe(told.append, ["launch"])
        optimizer.step()
        stop()
    assert len(told) == 15 and {r.name for r in told} == {"step_adam.2.wide"}


def test_a_step_is_a_write_to_the_tape():
    p = torch.ones(3, device="webgpu", requires_grad=True)
    loss = (p * p).sum()
    p.grad = torch.ones(3, device="webgpu")
    torch.optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
