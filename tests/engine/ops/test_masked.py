"""`torch.masked` against the plain operators on the elements that are left."""

from __future__ import annotations

import math

import pytest

from tapescope import engine as torch

X = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, 6.0]])
M = torch.tensor([[True, False, True], [False, False, False]])


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("sum", [4.0, 0.0]), ("prod", [3.0, 1.0]), ("amax", [3.0, -math.inf]), ("amin", [1.0, math.inf]), ("mean", [2.0, math.nan]),
        ("logsumexp", [math.log(math.exp(1) + math.exp(3)), -math.inf]), ("var", [2.0, math.nan]), ("std", [math.sqrt(2), math.nan]),
    ],
)  # fmt: skip
def test_reductions(name, want):
    got = getattr(torch.masked, name)(X, 1, mask=M)
    assert torch.allclose(got, torch.tensor(want), equal_nan=True)
    kept = getattr(torch.masked, name)(X, 1, keepdim=True, mask=M)
    assert kept.shape == (2, 1) and torch.allclose(kept.squeeze(1), got, equal_nan=True)
    assert torch.allclose(getattr(torch.masked, name)(X, mask=M), getattr(torch.masked, name)(X[M]), equal_nan=True)


def test_normalisations():
    got = torch.masked.softmax(X, 1, mask=M)
    assert torch.allclose(got[0, [0, 2]], torch.softmax(X[0, [0, 2]], 0)) and got[0, 1] == 0 and got[1].isnan().all()
    assert torch.masked.cumsum(X, 1, mask=M).tolist() == [[1, 1, 4], [0, 0, 0]]
    assert torch.masked.median(X, 1, mask=torch.ones_like(M)).tolist() == [1, 5]


def test_gradients_stop_at_the_mask():
    x = X.clone().requires_grad_()
    torch.masked.sum(x * x, mask=M).backward()
    assert x.grad.tolist() == [[2, 0, 6], [0, 0, 0]]


def test_masks_are_booleans():
    with pytest.raises(TypeError, match="boolean"):
        torch.masked.sum(X, mask=X)
