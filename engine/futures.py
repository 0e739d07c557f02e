"""`torch.futures.Future`: a value that is there later. Here it is the standard library's, under PyTorch's names."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Any


class Future(concurrent.futures.Future):
    """A value that may still be missing. `wait()` gives it, or raises what went wrong."""

    def __init__(self, *, devices: Any = None):
        super().__init__()

    def wait(self) -> Any:
        """The value, once it is there."""
        return self.result()

    value = wait

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of `callback(self)`, which runs when this one is done."""
        out = Future()

        def run(done: Any) -> None:
            try:
                out.set_result(callback(self))
            except Exception as error:
                out.set_exception(error)

        self.add_done_callback(run)
        return out


def collect_all(futures: Sequence[Future]) -> Future:
    """A future of the list of futures, done when all are."""
    out, left = Future(), len(futures)

    def one(done: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            out.set_result(list(futures))

    if not futures:
        out.set_result([])
    for f in futures:
        f.add_done_callback(one)
    return out


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """The values of all, once they are there."""
    return [f.wait() for f in futures]
