"""A sampler that gives each of several processes its own part of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th number from `rank` on, of an order that all processes agree on.

    The order is shuffled by `seed` and the epoch given to `set_epoch`; it is filled up (or with `drop_last` cut) so
    that
    all parts are equally long. Without `num_replicas` and `rank` there is one part. Raises ValueError for a rank out of
    range.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        num_replicas = 1 if num_replicas is None else num_replicas
        rank = 0 if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        n = len(dataset)
        cut = drop_last and n % num_replicas != 0
        self.num_samples = math.ceil((n - num_replicas if cut else n) / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        from ... import Generator, randperm

        n = len(self.dataset)
        if self.shuffle:
            order = randperm(n, generator=Generator().manual_seed(self.seed + self.epoch), device="cpu").tolist()
        else:
            order = list(range(n))
        if not self.drop_last:
            missing = self.total_size - n
            order += (order * math.ceil(missing / n))[:missing] if missing else []
        return iter(order[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose another order."""
        self.epoch = epoch
