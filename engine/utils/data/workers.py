"""Loading batches in worker processes: who loads what, in which order results are handed out, and what happens when one fails.

Each worker has one pipe, on which it gets tasks (numbers of samples) and gives batches. Workers are forked, so that datasets defined in
a notebook need not be importable; where a platform cannot fork, the loader loads in the main process instead.
"""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection, get_context
from typing import Any

DEATH_CHECK = 5.0
"""Seconds between two looks of an idle worker at whether its parent is still there."""


@dataclass
class WorkerInfo:
    """What a worker process knows about itself."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


info: WorkerInfo | None = None
"""Set in worker processes."""


def available() -> bool:
    """Whether this platform can fork and has the standard library's processes (browsers have neither)."""
    return hasattr(os, "fork") and importlib.util.find_spec("_multiprocessing") is not None


class Failure:
    """An exception of a worker, on its way to the main process."""

    def __init__(self, worker: int, error: BaseException):
        self.kind = type(error)
        where = (
            f"Caught {type(error).__name__} in DataLoader worker process {worker}.\nOriginal {traceback.format_exc()}"
        )
        self.text = where

    def reraise(self) -> None:
        """Raise the same kind of exception here, with the worker's traceback as its message."""
        try:
            error = self.kind(self.text)
        except Exception:  # an exception class that wants other arguments
            error = RuntimeError(self.text)
        raise error


def _serve(
    pipe: Any, number: int, count: int, loader: Any, fetch: Callable[[Any, Any, bool], Any], take: Callable[..., Any]
) -> None:
    """The life of a worker: epochs begin with ("begin", seed); tasks are ("load", task, numbers); None ends it."""
    global info
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is the main process's business
    from ... import device as Device
    from ... import manual_seed

    parent = os.getppid()
    samples: Iterator[Any] | None = None
    ended = False
    setup_error: Failure | None = None
    started = False
    with Device("cpu"):  # handles of other devices do not outlive a fork
        while True:
            while not pipe.poll(DEATH_CHECK):
                if os.getppid() != parent:
                    return
            try:
                message = pipe.recv()
            except EOFError:
                return
            if message is None:
                return
            if message[0] == "begin":
                seed = message[1] + number
                manual_seed(seed)
                random.seed(seed)
                if "numpy" in sys.modules:
                    sys.modules["numpy"].random.seed(seed % 2**32)
                info = WorkerInfo(number, count, seed, loader.dataset)
                ended, setup_error = False, None
                try:
                    if loader.worker_init_fn is not None and not started:
                        loader.worker_init_fn(number)
                    started = True
                    samples = iter(loader.dataset) if loader._iterable else None
                except Exception as error:
                    setup_error = Failure(number, error)
                continue
            _, task, numbers = message
            try:
                if setup_error is not None:
                    pipe.send((task, "failed", setup_error))
                    setup_error = None
                    continue
                if samples is not None:
                    data, ended = take(samples, numbers, loader, ended)
                    if data is None:
                        pipe.send((task, "ended", None))
                        continue
                else:
                    data = fetch(loader.dataset, numbers, loader._auto_collation)
                pipe.send((task, "loaded", loader.collate_fn(data)))
            except Exception as error:
                pipe.send((task, "failed", Failure(number, error)))


class Pool:
    """The worker processes of a loader."""

    def __init__(self, loader: Any, fetch: Callable[..., Any], take: Callable[..., Any]):
        wanted = loader.multiprocessing_context or "fork"
        context: Any = get_context(wanted) if isinstance(wanted, str) else wanted
        self.pipes: list[Any] = []
        self.processes: list[Any] = []
        for number in range(loader.num_workers):
            mine, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(theirs, number, loader.num_workers, loader, fetch, take), daemon=True
            )
            with warnings.catch_warnings():
                # Python warns of forking beside threads; a worker uses none of the locks that they may hold.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            theirs.close()
            self.pipes.append(mine)
            self.processes.append(process)
        self._finalizer = weakref.finalize(self, _end, self.pipes, self.processes)

    def begin(self, seed: int) -> None:
        """A new walk over the data."""
        for pipe in self.pipes:
            pipe.send(("begin", seed))

    def close(self) -> None:
        """End the workers."""
        self._finalizer()


def _end(pipes: list[Any], processes: list[Any]) -> None:
    for pipe in pipes:
        try:
            pipe.send(None)
        except OSError:
            pass
    for process in processes:
        process.join(timeout=1)
        if process.is_alive():
            process.terminate()
            process.join(timeout=1)
    for pipe in pipes:
        pipe.close()


class WorkerWalk:
    """One walk over a loader's batches, loaded by a pool. Batches come in the order of their tasks unless `in_order` is off."""

    def __init__(self, loader: Any, pool: Pool, numbers: Iterator[Any], base_seed: int):
        self._loader = loader
        self._pool = pool
        self._numbers = numbers
        self._alive = list(range(loader.num_workers))
        self._turn = 0
        self._sent = self._next = 0
        self._owner: dict[int, int] = {}
        self._arrived: dict[int, tuple[str, Any]] = {}
        pool.begin(base_seed)
        for _ in range(loader.prefetch_factor * loader.num_workers):
            self._hand_out()

    def __iter__(self) -> WorkerWalk:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def _hand_out(self) -> None:
        """Give the next task to the next worker that still has data."""
        if not self._alive:
            return
        try:
            numbers = next(self._numbers)
        except StopIteration:
            return
        worker = self._alive[self._turn % len(self._alive)]
        self._turn += 1
        self._owner[self._sent] = worker
        self._pool.pipes[worker].send(("load", self._sent, numbers))
        self._sent += 1

    def __next__(self) -> Any:
        while True:
            if not self._owner:  # nothing is on its way
                self._finish()
                raise StopIteration
            key = self._next if self._loader.in_order else next(iter(self._arrived), -1)
            if key not in self._arrived:
                self._receive()
                continue
            what, value = self._arrived.pop(key)
            worker = self._owner.pop(key)
            self._next += 1
            if what == "ended":
                if worker in self._alive:
                    self._alive.remove(worker)
                self._hand_out()
                continue
            self._hand_out()
            if what == "failed":
                value.reraise()
            return value

    def _receive(self) -> None:
        pool, timeout = self._pool, self._loader.timeout or None
        sentinels = {p.sentinel: p for p in pool.processes}
        ready = connection.wait([*pool.pipes, *sentinels], timeout)
        if not ready:
            self._finish(force=True)
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        got = False
        for pipe in pool.pipes:
            if pipe in ready:
                try:
                    task, what, value = pipe.recv()
                except (EOFError, ConnectionError):
                    continue
                self._arrived[task] = (what, value)
                got = True
        if not got:
            for process in pool.processes:
                process.join(timeout=0.2)  # the pipe may close before the process has ended
            dead = [p.pid for p in pool.processes if not p.is_alive()]
            self._finish(force=True)
            raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(map(str, dead))}) exited unexpectedly")

    def _finish(self, force: bool = False) -> None:
        if force or not self._loader.persistent_workers:
            self._pool.close()
            self._loader.__dict__["_pool"] = None

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")
