"""What moves, repeats, gathers and scatters elements, against numpy; memory that must be new, and memory that must not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapescope import engine as torch

RNG = np.random.default_rng(5)
X = np.arange(24).reshape(2, 3, 4)
ALONG = np.array([[[0], [1], [0]]])


def tensor(a):
    return torch.from_numpy(np.ascontiguousarray(a))


SAME = [
    ("flip", lambda t: t.flip(0, 2), lambda a: np.flip(a, (0, 2))),
    ("roll", lambda t: t.roll((1, -2), (0, 2)), lambda a: np.roll(a, (1, -2), (0, 2))),
    ("roll flat", lambda t: t.roll(5), lambda a: np.roll(a, 5)),
    ("rot90", lambda t: t.rot90(3, (0, 2)), lambda a: np.rot90(a, 3, (0, 2))),
    ("repeat", lambda t: t.repeat(2, 1, 3, 2), lambda a: np.tile(a, (2, 1, 3, 2))),
    ("tile", lambda t: t.tile(2, 3), lambda a: np.tile(a, (2, 3))),
    ("repeat_interleave", lambda t: t.repeat_interleave(2, 1), lambda a: np.repeat(a, 2, 1)),
    ("tril", lambda t: t.tril(1), lambda a: np.tril(a, 1)),
    ("triu", lambda t: t.triu(-1), lambda a: np.triu(a, -1)),
    ("take", lambda t: t.take(torch.tensor([[3, -1]])), lambda a: np.take(a, [[3, -1]])),
    ("hstack", lambda t: torch.hstack([t, t]), lambda a: np.hstack([a, a])),
    ("dstack", lambda t: torch.dstack([t, t]), lambda a: np.dstack([a, a])),
    ("column_stack", lambda t: torch.column_stack([t[0, 0], t[0, 1]]), lambda a: np.column_stack([a[0, 0], a[0, 1]])),
    ("array_split", lambda t: torch.cat(torch.tensor_split(t, 3, 2)[::-1], 2), lambda a: np.concatenate(np.array_split(a, 3, 2)[::-1], 2)),
    ("diagflat", lambda t: torch.diagflat(t, -2), lambda a: np.diagflat(a, -2)),
    ("argwhere", lambda t: torch.argwhere(t > 7), lambda a: np.argwhere(a > 7)),
    ("take_along_dim", lambda t: t.take_along_dim(tensor(ALONG), 2), lambda a: np.take_along_axis(a, ALONG, 2)),
]  # fmt: skip


@pytest.mark.parametrize("case", SAME, ids=lambda c: c[0])
@pytest.mark.parametrize("turned", [False, True])
def test_against_numpy(case, turned):
    _, ours, theirs = case
    a = X.transpose(0, 1, 2) if not turned else X.transpose(2, 1, 0).copy().transpose(2, 1, 0)
    t = torch.from_numpy(a)
    np.testing.assert_array_equal(ours(t).numpy(), theirs(a))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_scatter_and_gather_against_loops(data):
    shape = data.draw(st.tuples(*[st.integers(1, 4)] * data.draw(st.integers(1, 3))))
    dim = data.draw(st.integers(0, len(shape) - 1))
    part = tuple(n if d == dim else data.draw(st.integers(1, n)) for d, n in enumerate(shape))
    index = RNG.integers(0, shape[dim], part)
    x, source = RNG.integers(-9, 9, shape).astype(float), RNG.integers(-9, 9, part).astype(float)
    written, added, biggest = x.copy(), x.copy(), x.copy()
    got = np.empty(part)
    for place in np.ndindex(*part):
        at = (*place[:dim], index[place], *place[dim + 1 :])
        written[at] = source[place]
        added[at] += source[place]
        biggest[at] = max(biggest[at], source[place])
        got[place] = x[at]
    t, i, s = tensor(x), tensor(index), tensor(source)
    np.testing.assert_array_equal(t.gather(dim, i).numpy(), got)
    np.testing.assert_array_equal(t.scatter(dim, i, s).numpy(), written)
    np.testing.assert_array_equal(t.scatter_add(dim, i, s).numpy(), added)
    np.testing.assert_array_equal(t.scatter_reduce(dim, i, s, "amax").numpy(), biggest)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_advanced_indices_accumulate_as_loops_do(data):
    """The gradient of indexing with repeated places: any mixture of index tensors and whole dimensions."""
    shape = data.draw(st.tuples(*[st.integers(1, 4)] * 3))
    which = data.draw(st.lists(st.booleans(), min_size=3, max_size=3).filter(any))
    count = data.draw(st.integers(1, 5))
    indices = tuple(RNG.integers(-n, n, count) if w else slice(None) for n, w in zip(shape, which))
    want = np.zeros(shape)
    values = RNG.integers(-9, 9, want[indices].shape).astype(float)
    np.add.at(want, indices, values)
    view = tuple(tensor(i) if isinstance(i, np.ndarray) else slice(None) for i in indices)
    leaf = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    (leaf[view] * tensor(values)).sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), want)


@pytest.mark.parametrize("reduce, ufunc", [("prod", np.multiply), ("amax", np.maximum), ("amin", np.minimum)])
def test_index_reduce(reduce, ufunc):
    x, source = RNG.standard_normal((3, 4)), RNG.standard_normal((5, 4))
    index = np.array([0, 2, 0, 2, 2])
    want = x.copy()
    ufunc.at(want, index, source)
    np.testing.assert_allclose(tensor(x).index_reduce(0, tensor(index), tensor(source), reduce).numpy(), want)


def test_results_are_new_memory():
    t = torch.arange(6.0).reshape(2, 3)
    made = [
        t.flip(()), t.roll(0, 0), t.rot90(0), t.repeat(1, 1), t.tile(()), t.tril(5), torch.diag(t), t.repeat_interleave(1, 0),
        torch.cat([t]),
        torch.stack([t]), t.take(torch.arange(6).reshape(2, 3)), t.gather(0, torch.zeros(2, 3, dtype=torch.int64)), torch.hstack([t]),
        t.narrow_copy(0, 0, 2),
    ]  # fmt: skip
    before = t.clone()
    for m in made:
        m.fill_(99)
        assert torch.equal(t, before)


def test_parts_are_views_and_guard_themselves():
    t = torch.arange(6.0)
    t.split(2)[0].zero_()
    t.tensor_split(3)[1].fill_(7)
    t.unsafe_chunk(3)[2].fill_(8)
    assert t.tolist() == [0, 0, 7, 7, 8, 8]
    leaf = torch.ones(4, requires_grad=True)
    parts = (leaf * 1).chunk(2)
    assert str(parts[0].grad_fn).startswith("<SplitBackward0")
    with pytest.raises(RuntimeError, match="Output 0 of Split is a view"):
        parts[0].mul_(2)


def test_geometry_changed_in_place():
    t = torch.arange(6.0).reshape(2, 3)
    row = t[0]
    row.unsqueeze_(1).mul_(2)
    assert row.shape == (3, 1) and t[0].tolist() == [0, 2, 4]
    assert t.t_().shape == (3, 2) and t.transpose_(0, 1).is_contiguous()
    assert t.resize_(4, 2).shape == (4, 2) and t[:3].reshape(-1).tolist() == [0, 2, 4, 3, 4, 5]
    leaf = torch.ones(2, 3, requires_grad=True)
    twice = leaf * 2
    twice.t_()
    (twice * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert leaf.grad.tolist() == [[0, 4, 8], [2, 6, 10]]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        leaf.unsqueeze_(0)


@pytest.mark.parametrize(
    "value, kind", [(300, "uint8"), (float("inf"), "int64"), (1j, "float32"), (1e300, "float32"), (-0.5, "uint8")]
)
def test_numbers_that_a_dtype_cannot_hold(value, kind):
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.full((2,), value, dtype=getattr(torch, kind))


def test_ranges_round_as_pytorch_does():
    """Blocks of eight from their first element, products and sums rounded once: these digits are PyTorch's."""
    assert torch.arange(-1, 1, 0.05)[20].item() == pytest.approx(-2.9802323e-09, rel=1e-6)
    assert torch.arange(-1, 1, 0.05, dtype=torch.float64)[20].item() == pytest.approx(5.55111512e-17, rel=1e-6)
    assert torch.arange(0, 1, 0.1).tolist()[3] == pytest.approx(0.30000001192092896, abs=1e-12)
    assert torch.linspace(-1, 1, 100)[10].item() == np.float32(-0.7979798)


def test_writing_by_index_is_in_place():
    """Nothing is copied where nothing is recorded; what reads the memory that it writes sees it as it was."""
    x = torch.zeros(4, 3)
    array, version = x.numpy(), x._version
    x[torch.tensor([0, 2])] = 1.0
    x.index_add_(0, torch.tensor([0, 0]), torch.ones(2, 3))
    x.scatter_(1, torch.tensor([[0], [1]]), 9.0)
    x.masked_fill_(x == 0, -1.0)
    x.index_fill_(0, torch.tensor([3]), 5.0)
    assert array.tolist() == [[9, 3, 3], [-1, 9, -1], [1, 1, 1], [5, 5, 5]] and x._version == version + 5
    y = torch.arange(4.0)
    y.index_add_(0, torch.tensor([1, 2, 3]), y[:3])
    assert y.tolist() == [0, 1, 3, 5]
    y[torch.tensor([0, 1])] = y[torch.tensor([2, 3])]
    assert y.tolist() == [3, 5, 3, 5]
    part = torch.arange(6.0).reshape(2, 3).t()
    part[torch.tensor([0])] = 7.0
    assert part.tolist() == [[7, 7], [1, 4], [2, 5]]


def test_writing_by_index_is_recorded():
    leaf = torch.ones(3, requires_grad=True)
    values = torch.ones(2, requires_grad=True)
    twice = leaf * 2
    twice[torch.tensor([0, 2])] = values * 3
    twice.index_add_(0, torch.tensor([1]), leaf[:1])
    (twice * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert leaf.grad.tolist() == [2, 4, 0] and values.grad.tolist() == [3, 9]
    squared = leaf * 1
    saved = squared * squared
    squared.index_fill_(0, torch.tensor([0]), 0.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()
