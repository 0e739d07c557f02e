"""Views, slices and advanced indexing against numpy, over random shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapescope import engine as torch

SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)


def filled(shape):
    a = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return a, torch.from_numpy(a.copy())


@st.composite
def indexed(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple))
    parts = []
    for n in shape[: draw(st.integers(0, len(shape)))]:
        kind = draw(st.sampled_from(["int", "slice", "list", "tensor", "none", "mask"]))
        if kind == "int":
            parts.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            edge = st.none() | st.integers(-n - 1, n + 1)
            parts.append(slice(draw(edge), draw(edge), draw(st.none() | st.integers(1, 3))))
        elif kind == "list":
            parts.append([draw(st.integers(-n, n - 1)) for _ in range(2)])
        elif kind == "tensor":
            parts.append(np.array([[draw(st.integers(0, n - 1))], [draw(st.integers(0, n - 1))]]))
        elif kind == "none":
            parts += [None, slice(None)]
        else:
            parts.append(np.array([draw(st.booleans()) for _ in range(n)]))
    if draw(st.booleans()):
        parts.append(Ellipsis)
    masks = [p for p in parts if isinstance(p, np.ndarray) and p.dtype == bool]
    others = [p for p in parts if isinstance(p, list) or (isinstance(p, np.ndarray) and p.dtype != bool)]
    if len(masks) > 1 or (masks and others):
        parts = [slice(None) if isinstance(p, (list, np.ndarray)) else p for p in parts]
    return shape, tuple(parts)


def given_to_engine(index):
    return tuple(torch.from_numpy(p) if isinstance(p, np.ndarray) else p for p in index)


@settings(max_examples=300, deadline=None)
@given(indexed())
def test_getitem_is_numpys(case):
    shape, index = case
    if any(isinstance(p, (list, np.ndarray)) for p in index) and any(isinstance(p, int) for p in index):
        index = tuple(
            slice(p, p + 1 or None) if isinstance(p, int) else p for p in index
        )  # numpy mixes them differently
    a, t = filled(shape)
    want = a[index]
    got = t[given_to_engine(index)]
    assert tuple(got.shape) == want.shape
    assert np.array_equal(got.numpy(), want)


@settings(max_examples=200, deadline=None)
@given(indexed(), st.floats(-9, 9, width=32))
def test_setitem_is_numpys(case, value):
    shape, index = case
    if any(isinstance(p, (list, np.ndarray)) for p in index) and any(isinstance(p, int) for p in index):
        index = tuple(slice(p, p + 1 or None) if isinstance(p, int) else p for p in index)
    a, t = filled(shape)
    a[index] = value
    t[given_to_engine(index)] = value
    assert np.array_equal(t.numpy(), a)


@settings(max_examples=200, deadline=None)
@given(SHAPES, st.randoms(use_true_random=False))
def test_chains_of_views_share_memory(shape, rng):
    a, t = filled(shape)
    base = t
    for _ in range(rng.randint(1, 4)):
        choice = rng.choice(["transpose", "unsqueeze", "slice", "expand", "squeeze", "permute"])
        if choice == "transpose" and t.ndim > 1:
            i, j = rng.sample(range(t.ndim), 2)
            a, t = a.swapaxes(i, j), t.transpose(i, j)
        elif choice == "permute" and t.ndim:
            order = rng.sample(range(t.ndim), t.ndim)
            a, t = a.transpose(order), t.permute(order)
        elif choice == "unsqueeze":
            i = rng.randint(0, t.ndim)
            a, t = np.expand_dims(a, i), t.unsqueeze(i)
        elif choice == "slice" and t.ndim:
            i = rng.randrange(t.ndim)
            index = (slice(None),) * i + (slice(rng.randint(-2, 2), None, rng.randint(1, 2)),)
            a, t = a[index], t[index]
        elif choice == "expand":
            a, t = np.broadcast_to(a, (2, *a.shape)), t.expand(2, *t.shape)
        elif choice == "squeeze":
            a, t = a.squeeze(), t.squeeze()
    assert tuple(t.shape) == a.shape and np.array_equal(t.numpy(), a)
    assert np.array_equal(t.reshape(-1).numpy(), a.reshape(-1)) and np.array_equal((t + 0).numpy(), a)
    if t is not base:
        assert t._base is base
        with torch.no_grad():
            base.fill_(-5)
        assert (t == -5).all()


def test_view_needs_compatible_strides():
    t = torch.arange(6).view(2, 3)
    assert t.t().reshape(-1).tolist() == [0, 3, 1, 4, 2, 5]
    with pytest.raises(RuntimeError, match="Use .reshape"):
        t.t().view(-1)
    assert t[:, :2].view(2, 2, 1).tolist() == [[[0], [1]], [[3], [4]]]


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        (lambda t: t[5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        (lambda t: t[0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
        (lambda t: t[::-1], ValueError, "step must be greater than zero"),
        (lambda t: t[torch.tensor([0.5])], IndexError, "must be long, int, byte or bool"),
        (lambda t: t[torch.tensor([True])], IndexError, "The shape of the mask"),
        (lambda t: t[1.5], IndexError, "valid indices"),
        (lambda t: t["a"], TypeError, "invalid data type .str."),
        (lambda t: t.view(4), RuntimeError, r"shape '\[4\]' is invalid for input of size 6"),
        (lambda t: t.expand(4, 3), RuntimeError, "must match the existing size"),
        (lambda t: t.transpose(0, 2), IndexError, "Dimension out of range"),
        (lambda t: t.as_strided((9,), (1,)), RuntimeError, "out of bounds for storage"),
    ],
)
def test_what_no_view_can_do(action, error, words):
    with pytest.raises(error, match=words):
        action(torch.arange(6).view(2, 3))


def test_writing_through_expanded_memory_is_refused():
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.zeros(1).expand(3).add_(1)
