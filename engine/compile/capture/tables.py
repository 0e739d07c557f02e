"""What answers calls while capturing, as tables by the identity of the function; other files fill them.

Here stands also what calls need in common: the break of nested code, and the switch that tests turn on.
"""

from __future__ import annotations

from typing import Any

from ..interpreter.frame import Control
from .stops import Stop

MAX_DEPTH = 200
"""How deep calls may nest within one graph."""

Handler = Any
"""(domain, frame, args, kwargs) -> a value or a frame."""

HANDLERS: dict[int, tuple[Any, Handler]] = {}
"""What answers a call of one particular function, by its identity."""

STOPS: dict[int, tuple[Any, str]] = {}
"""Functions that end a graph, by identity, with the id of the break."""

STOP_MODULES = {
    "logging": "logging", "time": "time", "random": "random", "numpy.random": "random", "os": "io", "io": "io", "pathlib": "io", "shutil": "io",
    "subprocess": "io", "socket": "io", "warnings": "warning", "_warnings": "warning", "traceback": "frames", "inspect": "frames",
    "secrets": "random",
    "uuid": "random", "datetime": "time", "threading": "io", "tempfile": "io", "pickle": "io", "json": "opaque-call", "sys": "frames",
    "_io": "io", "posix": "io", "gc": "io", "asyncio": "coroutine", "multiprocessing": "io", "concurrent": "io", "ast": "opaque-call",
    "linecache": "io", "importlib": "import", "unittest": "opaque-call", "numpy": "numpy", "re": "opaque-call",
}  # fmt: skip
"""Modules of Python whose functions are not looked into, with the id of the break."""

PURE: set[int] = set()
"""Native functions that may be called on plain values while capturing, by identity."""


class _Strict:
    """For tests: failures of the capture itself are raised."""

    on = False


STRICT = _Strict()


class Dirty(Control):
    """A break inside of code that ran nested: the capture starts anew and ends before the instruction that began it."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(str(stop))
        self.stop = stop


OBJECT_CALLS: dict[type, Any] = {}
"""Calls of objects of particular types: (domain, frame, obj, args, kwargs)."""

NATIVE_CALLS: dict[type, Any] = {}
"""Calls of objects of particular types that were made inside: (domain, frame, object, args, kwargs)."""

SYMBOLIC: dict[int, Any] = {}
"""Native functions of symbolic numbers, by identity."""
