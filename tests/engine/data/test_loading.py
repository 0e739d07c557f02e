"""What the programs about loading do not show: the short way for tensors, and workers that are not there."""

from __future__ import annotations

import warnings

import pytest

from tapescope import engine as torch
from tapescope.engine.utils.data import workers

D = torch.utils.data


class Rows(D.TensorDataset):
    """A dataset of the user's own, for which there is no short way."""


@pytest.mark.parametrize("subset", [False, True])
@pytest.mark.parametrize("shape", [(10,), (10, 3), (10, 0)])
def test_the_short_way_gives_the_same_batches(shape, subset):
    tensors = torch.arange(10 * max(1, len(shape[1:]) and shape[1])).float()[:10].reshape(10), torch.zeros(shape)
    walks = []
    for kind in (D.TensorDataset, Rows):
        dataset = kind(*tensors)
        torch.manual_seed(3)
        loader = D.DataLoader(D.Subset(dataset, [8, 6, 1, 0, 2]) if subset else dataset, batch_size=3, shuffle=True)
        walks.append(list(loader))
    assert len(walks[0]) == len(walks[1])
    for a, b in zip(*walks, strict=True):
        assert type(a) is type(b) is list
        assert all(torch.equal(x, y) and x.shape == y.shape and x.dtype is y.dtype for x, y in zip(a, b, strict=True))
        assert a[0].is_contiguous() and a[0].data_ptr() != tensors[0].data_ptr()


def test_rows_that_need_gradients_keep_their_tape():
    w = torch.ones(4, requires_grad=True)
    (batch,) = next(iter(D.DataLoader(D.TensorDataset(w * 2), batch_size=2)))
    batch.sum().backward()
    assert w.grad.tolist() == [2, 2, 0, 0]


def test_workers_are_replaced_by_this_process_where_there_can_be_none(monkeypatch):
    monkeypatch.setattr(workers, "available", lambda: False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loader = D.DataLoader(range(4), batch_size=2, num_workers=2)
        assert [b.tolist() for b in loader] == [[0, 1], [2, 3]]
        assert [b.tolist() for b in loader] == [[0, 1], [2, 3]]
    assert len(caught) == 1 and "in the main process" in str(caught[0].message)


def test_samples_of_a_type_of_ones_own():
    class Point:
        def __init__(self, x):
            self.x = x

    with pytest.raises(
        TypeError, match=r"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists"
    ):
        D.default_collate([Point(1)])
    rules = {Point: lambda batch, *, collate_fn_map=None: torch.tensor([p.x for p in batch])}
    assert D.collate([(Point(1), 0), (Point(2), 1)], collate_fn_map={**rules, int: len_of})[0].tolist() == [1, 2]


def len_of(batch, *, collate_fn_map=None):
    return len(batch)
