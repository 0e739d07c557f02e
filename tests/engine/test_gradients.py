"""Every gradient rule of the operator table against finite differences, once and twice.

Pointwise primitives get their inputs from their parameter names; the others have a sample here, and a primitive with
a rule and no sample fails the test, so that a new entry cannot go unchecked.
"""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine import dispatch
from tapescope.engine.ops.table import OPS

from .gradient_samples import DOMAINS, SAMPLES, SINGLE, statics_of


def tensor(*shape, low=0.15, high=0.85, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(*shape, dtype=torch.float64, generator=generator) * (high - low) + low).requires_grad_()


def cases():
    for name, op in sorted(OPS.items()):
        if op.rules and (op.kind == "pointwise" or name in SAMPLES):
            yield name


def test_every_rule_has_a_sample():
    # Random ones have pathwise gradients, which differences of samples do not show: tests/engine/distributions/test_samplers.py
    kinds = ("pointwise", "random")
    missing = [n for n, op in OPS.items() if op.rules and op.kind not in kinds and n not in SAMPLES]
    assert not missing, f"no gradient sample for {missing}; add one to tests/engine/gradient_samples.py"


@pytest.mark.parametrize("name", list(cases()))
def test_gradient(name):
    op = OPS[name]
    if name in SAMPLES:
        function, inputs = SAMPLES[name](tensor)
    else:
        low, high = DOMAINS.get(name, (0.15, 0.85))
        shapes = [(2, 3), (3,), (2, 1)]
        inputs = [tensor(*shapes[i], low=low, high=high, seed=i) for i in range(len(op.tensors))]
        statics = statics_of(name)

        def function(*args):
            return dispatch.pointwise(op, args, statics)

    assert torch.autograd.gradcheck(function, inputs)
    if name not in SINGLE:
        out = function(*inputs)
        outs = [out] if isinstance(out, torch.Tensor) else list(out)
        first = torch.autograd.grad(
            [o for o in outs if o.requires_grad], [t for t in inputs if t.requires_grad],
            [torch.ones_like(o) for o in outs if o.requires_grad], create_graph=True, allow_unused=True,
        )  # fmt: skip
        if any(g is not None and g.requires_grad for g in first):
            assert torch.autograd.gradgradcheck(function, inputs)
