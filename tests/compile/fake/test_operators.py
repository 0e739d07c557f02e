"""Every primitive on fakes: results and gradients have the shapes, dtypes, memory order and gradient flags of the real run."""

from __future__ import annotations

import pytest
from engine.gradient_samples import DOMAINS, SAMPLES, statics_of

from tapescope import engine as torch
from tapescope.engine import dispatch
from tapescope.engine.compile.fake import DataDependent, fake_like, fake_mode, is_fake
from tapescope.engine.ops.table import OPS


def tensor(*shape, low=0.15, high=0.85, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(*shape, dtype=torch.float64, generator=generator) * (high - low) + low).requires_grad_()


def facts(value):
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), value.dtype, value.stride(), value.requires_grad, value.device.type)
    if isinstance(value, (tuple, list)):
        return tuple(map(facts, value))
    return value


def run(function, inputs):
    out = function(*inputs)
    outs = [out] if isinstance(out, torch.Tensor) else [o for o in out if isinstance(o, torch.Tensor)]
    differentiable = [o for o in outs if o.requires_grad]
    leaves = [t for t in inputs if t.requires_grad]
    grads = ()
    if differentiable and leaves:
        grads = torch.autograd.grad(
            differentiable, leaves, [torch.ones_like(o) for o in differentiable], allow_unused=True
        )
    return outs, grads


LOOKS = {"linalg_det", "linalg_slogdet", "linalg_eig", "masked_scatter"}
"""Primitives whose gradient rule looks at values."""


def cases():
    for name, op in sorted(OPS.items()):
        if name in SAMPLES or op.kind == "pointwise":
            yield name


def case(name):
    op = OPS[name]
    if name in SAMPLES:
        return SAMPLES[name](tensor)
    low, high = DOMAINS.get(name, (0.15, 0.85))
    shapes = [(2, 3), (3,), (2, 1)]
    kind = torch.float64 if op.fits[2] else torch.int64 if op.fits[1] else torch.bool
    inputs = [tensor(*shapes[i], low=low, high=high, seed=i).detach().to(kind) for i in range(len(op.tensors))]
    if op.rules and op.fits[2]:
        inputs = [t.requires_grad_() for t in inputs]
    return (lambda *args: dispatch.pointwise(op, args, statics_of(name))), inputs


def transposed(t):
    """The same values in the opposite order of dimensions in memory."""
    back = list(range(t.ndim - 1, -1, -1))
    return t.detach().permute(back).contiguous().permute(back).requires_grad_(t.requires_grad)


@pytest.mark.parametrize("order", ["row-major", "transposed"])
@pytest.mark.parametrize("name", list(cases()))
def test_primitive(name, order):
    function, inputs = case(name)
    if order == "transposed":
        inputs = [transposed(t) for t in inputs]
    try:
        expected = run(function, inputs)
    except (RuntimeError, ValueError):
        assert order == "transposed"  # a view that this order of memory does not allow
        return
    with fake_mode():
        fakes = [fake_like(t) for t in inputs]
        if name in LOOKS:
            with pytest.raises(DataDependent):
                run(function, fakes)
            return
        found = run(function, fakes)
    assert all(is_fake(o) for o in found[0])
    assert [facts(o) for o in found[0]] == [facts(o) for o in expected[0]]
    assert [facts(g)[:2] if g is not None else None for g in found[1]] == [
        facts(g)[:2] if g is not None else None for g in expected[1]
    ]
