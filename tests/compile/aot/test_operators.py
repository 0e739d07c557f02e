"""Every primitive ahead of time: values and gradients of the compiled graph are those of eager."""

from __future__ import annotations

import pytest
from engine.gradient_samples import DOMAINS, SAMPLES, statics_of

from tapescope import engine as torch
from tapescope.engine import dispatch
from tapescope.engine.ops.table import OPS

from .harness import ahead, pull, same_trees

LOOKS = {"linalg_det", "linalg_slogdet", "linalg_eig", "masked_scatter"}
"""Primitives whose gradient rule looks at values: they run operator by operator."""


def tensor(*shape, low=0.15, high=0.85, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(*shape, dtype=torch.float64, generator=generator) * (high - low) + low).requires_grad_()


def cases():
    return [name for name, op in sorted(OPS.items()) if name in SAMPLES or (op.kind == "pointwise" and op.fits[2])]


def made(name):
    op = OPS[name]
    if name in SAMPLES:
        return SAMPLES[name](tensor)
    low, high = DOMAINS.get(name, (0.15, 0.85))
    inputs = [tensor(*[(2, 3), (3,), (2, 1)][i], low=low, high=high, seed=i) for i in range(len(op.tensors))]
    return (lambda *args: dispatch.pointwise(op, args, statics_of(name))), inputs


@pytest.mark.parametrize("name", cases())
def test_primitive(name):
    function, ours = made(name)
    _, theirs = made(name)
    compiled = ahead(function, ours)
    got, wanted = compiled(*ours), function(*theirs)
    if name in LOOKS:
        assert compiled.reason is not None
    else:
        assert compiled.reason is None
    same_trees(got, wanted)
    pull(got, ours)
    pull(wanted, theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert torch.allclose(a.grad, b.grad, rtol=1e-9, atol=1e-9), f"{a.grad} against {b.grad}"
