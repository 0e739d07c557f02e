"""Ten steps of every optimizer end where PyTorch's end, but for the last bits of float32."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tapescope import engine as torch

CASES = json.loads((Path(__file__).parents[2] / "golden" / "optim" / "steps.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['name']}-{c['options']}")
def test_ten_steps(case):
    torch.manual_seed(0)
    name = case["name"]
    params = [torch.nn.Parameter(torch.randn(s)) for s in ([(4, 3), (2, 5)] if name == "Muon" else [(5,), (3, 4)])]
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in case["options"].items()}
    optimizer = getattr(torch.optim, name)(params, **options)
    for _ in range(10):
        for p in params:
            p.grad = p.detach() * 0.3 + torch.randn(p.shape)
        optimizer.step()
    for p, end in zip(params, case["end"], strict=True):
        want = np.array(end, np.int32).view(np.float32).reshape(p.shape)
        # Muon computes in bfloat16, whose products are summed in another order here.
        np.testing.assert_allclose(p.detach().numpy(), want, rtol=2e-6, atol=2e-2 if name == "Muon" else 5e-7)


def test_updates_leave_no_tape():
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"):
        torch.optim.__dict__[name]([p]).step()
        assert p.is_leaf and p.grad_fn is None and p.requires_grad
