"""The garbage collector held still while the compiler works: it makes hundreds of thousands of objects that all live, and looking
through them again and again is an eighth of a first call."""

from __future__ import annotations

import gc
import threading
from types import TracebackType

_lock = threading.Lock()
_depth = 0
_before = False


class Still:
    """No collection inside of it, in any thread; afterwards as before. May be nested."""

    def __enter__(self) -> None:
        global _depth, _before
        with _lock:
            if not _depth:
                _before = gc.isenabled()
                gc.disable()
            _depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _depth
        with _lock:
            _depth -= 1
            if not _depth and _before:
                gc.enable()


__all__ = ["Still"]
