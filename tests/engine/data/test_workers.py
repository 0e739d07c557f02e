"""Loading in worker processes: the same batches in the same order, errors with their place, nothing left behind."""

from __future__ import annotations

import os
import time

import pytest

from tapescope import engine as torch
from tapescope.engine.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info, workers

pytestmark = pytest.mark.skipif(not workers.available(), reason="this platform cannot fork")


class Squares(Dataset):
    def __len__(self):
        return 23

    def __getitem__(self, i):
        if i == 7 and getattr(self, "bad", False):
            raise ValueError("seven")
        return torch.tensor(float(i * i)), i


def test_the_order_is_that_of_one_process():
    for options in ({}, {"shuffle": True}, {"drop_last": True, "prefetch_factor": 3}):
        torch.manual_seed(3)
        want = [
            b[1].tolist()
            for b in DataLoader(Squares(), batch_size=4, **{k: v for k, v in options.items() if k != "prefetch_factor"})
        ]
        torch.manual_seed(3)
        got = [b[1].tolist() for b in DataLoader(Squares(), batch_size=4, num_workers=2, **options)]
        assert got == want


def test_every_sample_once_in_any_order():
    loader = DataLoader(Squares(), batch_size=2, num_workers=3, in_order=False)
    assert sorted(i for b in loader for i in b[1].tolist()) == list(range(23))


def test_errors_name_worker_and_line():
    data = Squares()
    data.bad = True
    with pytest.raises(ValueError, match="(?s)Caught ValueError in DataLoader worker process 1.*seven"):
        list(DataLoader(data, batch_size=4, num_workers=2))


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, 10, step))


def test_streams_are_shared_by_the_workers_themselves():
    got = [b.tolist() for b in DataLoader(Stream(), batch_size=2, num_workers=2)]
    assert sorted(i for b in got for i in b) == list(range(10)) and got[0] == [0, 2] and got[1] == [1, 3]
    assert get_worker_info() is None


class Seeds(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return torch.tensor([get_worker_info().seed, int(torch.randint(0, 10**9, (1,)))])


def test_workers_have_seeds_of_their_own():
    def run():
        torch.manual_seed(0)
        return torch.cat(list(DataLoader(Seeds(), num_workers=2)))

    first, again = run(), run()
    assert torch.equal(first, again) and first[1, 0] == first[0, 0] + 1 and first[0, 1] != first[1, 1]


def test_persistent_workers_are_kept_and_others_end():
    class Pids(Seeds):
        def __getitem__(self, i):
            return os.getpid()

    kept = DataLoader(Pids(), num_workers=2, persistent_workers=True)
    first = {int(p) for b in kept for p in b}
    assert first == {int(p) for b in kept for p in b} and os.getpid() not in first
    kept._pool.close()
    loose = DataLoader(Pids(), num_workers=2)
    pids = {int(p) for b in loose for p in b}
    assert pids != {int(p) for b in loose for p in b}
    for pid in first | pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_worker_that_dies_and_one_that_sleeps():
    class Dies(Seeds):
        def __getitem__(self, i):
            os._exit(1)

    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(DataLoader(Dies(), num_workers=1))

    class Sleeps(Seeds):
        def __getitem__(self, i):
            time.sleep(30)

    with pytest.raises(RuntimeError, match="timed out after 0.2 seconds"):
        list(DataLoader(Sleeps(), num_workers=1, timeout=0.2))


def test_initial_function_runs_once_in_each_worker(tmp_path):
    def note(number):
        (tmp_path / f"{number}").write_text("here")

    list(DataLoader(Squares(), num_workers=2, worker_init_fn=note))
    assert sorted(os.listdir(tmp_path)) == ["0", "1"]
