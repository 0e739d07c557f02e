"""`torch.multiprocessing`: the standard library's, and `spawn`. Tensors travel between processes as copies."""

from __future__ import annotations

import multiprocessing as _mp
from collections.abc import Callable
from multiprocessing import *  # noqa: F403  (the whole of it is the surface)
from typing import Any


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Run `fn(rank, *args)` in `nprocs` processes; waits for them unless `join` is False. Raises RuntimeError when one fails."""
    context = _mp.get_context(start_method)
    processes: list[Any] = [context.Process(target=fn, args=(rank, *args), daemon=daemon) for rank in range(nprocs)]  # type: ignore[attr-defined]
    for p in processes:
        p.start()
    if not join:
        return processes
    for p in processes:
        p.join()
    failed = next((i for i, p in enumerate(processes) if p.exitcode), None)
    if failed is not None:
        raise RuntimeError(f"process {failed} terminated with exit code {processes[failed].exitcode}")
    return None


def get_sharing_strategy() -> str:
    """How tensors would share memory between processes; they do not."""
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted, without effect."""
