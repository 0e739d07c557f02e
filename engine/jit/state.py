"""Whether a trace is being made in this thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class _State(threading.local):
    depth = 0


_state = _State()


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Inside, `is_tracing()` is True."""
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1


def is_tracing() -> bool:
    """Whether a trace is being made."""
    return _state.depth > 0
