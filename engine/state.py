"""What is switched on right now, per thread: gradient mode and the stack of dispatch modes.

Dispatch modes (function transforms, autocast, capture) see every operator before the backend does; the
innermost one is asked first and may call the operator again with itself taken off the stack.
"""

from __future__ import annotations

import threading
from typing import Any


class State(threading.local):
    """Per-thread switches; the class attributes are what a new thread starts with."""

    grad_enabled = True
    inference = False
    modes: tuple[Any, ...] = ()
    anomaly = False
    anomaly_check_nan = True
    fakes: Any = None
    """While a graph is captured: gives the fake backend that stands in for the device of a name."""


state = State()
