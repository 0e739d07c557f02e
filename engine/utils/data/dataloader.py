"""`DataLoader`: batches of a dataset, in an order, one after the other.

The order is PyTorch's for the same seed: each walk first draws a base seed from the generator, then the sampler's.
Loading happens in this process, or with `num_workers` in processes of their own (`workers.py`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from . import workers
from .collate import default_collate, default_convert
from .dataset import IterableDataset, Subset, TensorDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed

T_co = TypeVar("T_co", covariant=True)


class _Forever(Sampler):
    """What stands for an order where the dataset has its own: None without end."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield None


def get_worker_info() -> Any:
    """What a worker process knows about itself; None in the main process."""
    return workers.info


class DataLoader(Generic[T_co]):
    """Walks over `dataset` in batches of `batch_size`, which `collate_fn` makes of lists of samples.

    `shuffle` (or a `sampler` of numbers, or a `batch_sampler` of lists of numbers) says in which order. `drop_last`
    leaves an
    incomplete last batch out. `batch_size=None` yields single samples. `generator` is what seeds are drawn from. Raises
    ValueError for arguments that contradict each other.

    Example::

        for x, y in DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True):
            ...
    """

    _fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
    _ready = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable | None = None,
        batch_sampler: Iterable | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if multiprocessing_context is not None and num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={num_workers}"
            )
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            said = "DataLoader with IterableDataset: expected unspecified {0} option, but got {0}={1}"
            if shuffle not in (False, None):
                raise ValueError(said.format("shuffle", shuffle))
            if sampler is not None:
                raise ValueError(said.format("sampler", sampler))
            if batch_sampler is not None:
                raise ValueError(said.format("batch_sampler", batch_sampler))
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._iterable:
                sampler = _Forever()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._said_length: int | None = None
        self._ready = True
        if num_workers > 0 and not workers.available():
            warnings.warn(
                f"num_workers={num_workers}: worker processes are not available here, so batches are loaded in the "
                "main process.",
                stacklevel=2,
            )

    def __setattr__(self, name: str, value: Any) -> None:
        if self._ready and name in self._fixed:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> Any:
        if not self.num_workers or not workers.available():
            return _Walk(self)
        numbers, base_seed = iter(self._index_sampler), draw_seed(self.generator)
        pool = self.__dict__.get("_pool") if self.persistent_workers else None
        if pool is None:
            pool = workers.Pool(self, _fetch, _take)
            if self.persistent_workers:
                self.__dict__["_pool"] = pool
        return workers.WorkerWalk(self, pool, numbers, base_seed)

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        length = self._said_length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)


class _Walk:
    """One walk over a loader's batches."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._numbers = iter(loader._index_sampler)
        # PyTorch draws this for its workers, and draws it without workers, too.
        self._base_seed = draw_seed(loader.generator)
        self._samples = iter(loader.dataset) if loader._iterable else None
        self._columns = _columns(loader)
        self._yielded = 0
        self._ended = False

    def __iter__(self) -> _Walk:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def __next__(self) -> Any:
        numbers = next(self._numbers)
        if self._samples is not None:
            data = self._take(numbers)
        elif self._columns is not None:
            return self._columns(numbers)
        else:
            data = _fetch(self._loader.dataset, numbers, self._loader._auto_collation)
        batch = self._loader.collate_fn(data)
        self._yielded += 1
        said = self._loader._said_length
        if self._samples is not None and said is not None and self._yielded > said:
            warnings.warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {said}(when accessing "
                "len(dataloader)), "
                f"but {self._yielded} samples have been fetched. ",
                stacklevel=2,
            )
        return batch

    def _take(self, numbers: Any) -> Any:
        """The next sample of a dataset that is walked over, or the next so many."""
        assert self._samples is not None
        data, self._ended = _take(self._samples, numbers, self._loader, self._ended)
        if data is None:
            raise StopIteration
        return data

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


def _take(samples: Iterator[Any], numbers: Any, loader: DataLoader, ended: bool) -> tuple[Any, bool]:
    """The next sample, or the next so many (None where there are no more), and whether the data ended."""
    if ended:
        return None, True
    if not loader._auto_collation:
        for sample in samples:
            return sample, False
        return None, True
    data = []
    for _ in numbers:
        try:
            data.append(next(samples))
        except StopIteration:
            ended = True
            break
    if not data or (loader.drop_last and len(data) < len(numbers)):
        return None, True
    return data, ended


def _fetch(dataset: Any, numbers: Any, batched: bool) -> Any:
    if not batched:
        return dataset[numbers]
    batch = getattr(dataset, "__getitems__", None)
    return batch(numbers) if batch else [dataset[i] for i in numbers]


def _columns(loader: DataLoader) -> Callable[[Any], list[Any]] | None:
    """A short way for rows of tensors, whose stacked samples are one selection of each tensor; None where it differs."""
    dataset, indices = loader.dataset, None
    if type(dataset) is Subset:
        dataset, indices = dataset.dataset, dataset.indices
    plain = type(dataset) is TensorDataset and loader._auto_collation and loader.collate_fn is default_collate
    if not plain or any(t.requires_grad for t in dataset.tensors):
        return None
    from ... import int64, tensor

    def select(numbers: Any) -> list[Any]:
        chosen = list(numbers) if indices is None else [indices[i] for i in numbers]
        index = tensor(chosen, dtype=int64, device=dataset.tensors[0].device)
        return [t[index] for t in dataset.tensors]

    return select
