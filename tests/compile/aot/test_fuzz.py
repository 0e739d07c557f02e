"""Random programs of views and in-place writes: what functionalisation makes of them equals eager, gradients and aliasing included."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tapescope import engine as torch

from .harness import ahead, pull, same, tensors

VIEWS = [
    lambda t, d: t.t() if t.ndim == 2 else t,
    lambda t, d: t.reshape(-1) if t.is_contiguous() else t,
    lambda t, d: t[d.randrange(t.shape[0])] if t.ndim > 1 else t,
    lambda t, d: t[..., d.randrange(t.shape[-1]) :],
    lambda t, d: t[:: d.choice([1, 2])],
    lambda t, d: t.unsqueeze(0).squeeze(0),
    lambda t, d: t.view(t.shape),
    lambda t, d: t.narrow(0, 0, max(1, t.shape[0] - 1)),
    lambda t, d: t.diagonal() if t.ndim == 2 else t,
    lambda t, d: t.view(2, -1) if t.is_contiguous() and t.numel() % 2 == 0 else t,
    lambda t, d: t.detach() if not t.requires_grad else t,
    lambda t, d: t.unfold(0, 1, 1),
    lambda t, d: t.transpose(0, -1),
    lambda t, d: t.permute(*range(t.ndim - 1, -1, -1)),
    lambda t, d: t.as_strided((2, 2), (1, 2), 0) if not t.requires_grad else t,
]
WRITES = [
    lambda t, d: t.mul_(1.5),
    lambda t, d: t.add_(t.sum()),
    lambda t, d: t.zero_(),
    lambda t, d: t.copy_(t * 2 + 1),
    lambda t, d: t.sub_(t.mean(0)),
    lambda t, d: t.__setitem__(0, 3.0),
    lambda t, d: t.__setitem__((..., -1), t[..., 0] * 2),
    lambda t, d: t.clamp_(-2, 2),
    lambda t, d: t.masked_fill_(t > 1, 0.5),
    lambda t, d: t.fill_(0.25),
    lambda t, d: t.sin_(),
]
VALUES = [
    lambda t, d: t.exp(),
    lambda t, d: t * t,
    lambda t, d: t.sum(0),
    lambda t, d: t.clone(),
    lambda t, d: torch.cat([t, t]),
    lambda t, d: t.contiguous(),
    lambda t, d: t.softmax(-1),
]


def program(seed, differentiable):
    def run(x, y):
        draw = random.Random(seed)
        pool = [x * 1 if differentiable else x, y]
        pool.append(pool[0] + 1)
        for _ in range(draw.randint(4, 12)):
            t = draw.choice(pool)
            if t.numel() == 0 or not t.ndim:
                continue
            kind = draw.random()
            if kind < 0.45:
                pool.append(draw.choice(VIEWS)(t, draw))
            elif kind < 0.75 and t is not (x if differentiable else None):
                draw.choice(WRITES)(t, draw)
            else:
                pool.append(draw.choice(VALUES)(t, draw))
        return pool[2:], pool[0]

    return run


def steps(t):
    return [s for n, s in zip(t.shape, t.stride(), strict=True) if n > 1]


def shares(a, b):
    return np.may_share_memory(a.detach().numpy(), b.detach().numpy())


@pytest.mark.parametrize("seed", range(200))
def test_random_program(seed):
    differentiable = seed % 3 != 0
    function = program(seed, differentiable)

    def inputs():
        generator = torch.Generator().manual_seed(seed)
        return [
            torch.randn(4, 3, generator=generator).requires_grad_(differentiable),
            torch.randn(3, 4, generator=generator),
        ]

    ours, theirs = inputs(), inputs()
    compiled = ahead(function, ours)
    try:
        wanted = function(*theirs)
        pulled = True
        try:
            pull(wanted, theirs)
        except (RuntimeError, ValueError):
            pulled = False  # written over what backward needs, or a window beyond its base
    except RuntimeError as error:
        with pytest.raises(type(error)):
            compiled(*ours)
        return
    if not pulled:
        with pytest.raises((RuntimeError, ValueError)):
            pull(compiled(*ours), ours)
        return
    got = compiled(*ours)
    assert compiled.reason is None
    first, second = [*ours, *tensors(got)], [*theirs, *tensors(wanted)]
    for a, b in zip(first, second, strict=True):
        same(a, b)
        assert steps(a) == steps(b)
    for i in range(len(first)):
        for j in range(i):
            assert (first[i] is first[j]) == (second[i] is second[j])
            assert shares(first[i], first[j]) == shares(second[i], second[j]), (i, j)
    pull(got, ours)
    for a, b in zip(ours, theirs, strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert torch.allclose(a.grad, b.grad, rtol=1e-4, atol=1e-4, equal_nan=True)
