"""Programs ahead of time against eager: results, gradients, writes to inputs, random numbers, aliasing."""

from __future__ import annotations

import warnings

import pytest

from tapescope import engine as torch

from .harness import ahead, pull, same, same_trees, tensors
from .programs import PROGRAMS


def made(name):
    function, makers, *rest = PROGRAMS[name]
    inputs = [m() for m in makers]
    if rest:
        inputs += rest[0]()
        function = function()
    return function, inputs


def run(function, inputs, seed):
    torch.manual_seed(seed)
    before = [t._version for t in inputs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = function(*inputs)
    after = torch.get_rng_state()
    writes = [t._version != v for t, v in zip(inputs, before, strict=True)]
    pull(out, inputs)
    return out, writes, after


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    function, inputs = made(name)
    _, others = made(name)
    compiled = ahead(function, inputs)
    for seed in (0, 1):
        wanted, writes, state = run(function, others, seed)
        got, wrote, reached = run(compiled, inputs, seed)
        assert compiled.reason is None
        same_trees(got, wanted)
        assert wrote == writes
        assert torch.equal(state, reached)
        for a, b in zip(inputs, others, strict=True):
            same(a, b)
            assert (a.grad is None) == (b.grad is None)
            if a.grad is not None:
                same(a.grad, b.grad)
    # A result that is memory of an input, or of another result, is so here.
    first, second = [*inputs, *tensors(got)], [*others, *tensors(wanted)]
    for i in range(len(first)):
        for j in range(i):
            assert (first[i] is first[j]) == (second[i] is second[j])
            assert shares(first[i], first[j]) == shares(second[i], second[j]), (i, j)


ON_DEVICE = (
    "linear_relu",
    "cross_entropy",
    "layer_norm",
    "convolution",
    "attention",
    "write_through_views",
    "dropout",
    "mlp",
    "cnn",
)


@pytest.mark.parametrize("name", ON_DEVICE)
def test_program_on_webgpu(name, need_vulkan):
    need_vulkan()
    function, ours = made(name)
    _, theirs = made(name)
    ours, theirs = (
        [t.detach().to("webgpu").requires_grad_(t.requires_grad) for t in inputs] for inputs in (ours, theirs)
    )
    before = torch.get_default_device()
    torch.set_default_device("webgpu")
    try:
        compiled = ahead(function, ours)
        wanted, _, _ = run(function, theirs, 0)
        got, _, _ = run(compiled, ours, 0)
    finally:
        torch.set_default_device(before)
    assert compiled.reason is None
    same_trees(got, wanted)
    for a, b in zip(ours, theirs, strict=True):
        same(a, b)
        if b.grad is not None:
            same(a.grad, b.grad)


def shares(a, b):
    import numpy as np

    return np.may_share_memory(a.detach().numpy(), b.detach().numpy()) if a.dtype.name != "bfloat16" else False
