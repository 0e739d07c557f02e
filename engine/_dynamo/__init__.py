"""`torch._dynamo`: the names of it that programs use. Gathered from `compile/api.py`."""

from __future__ import annotations

from ..compile import api as _api
from ..compile.api import (
    allow_in_graph,
    config,
    disable,
    explain,
    graph_break,
    is_compiling,
    list_backends,
    mark_dynamic,
    mark_static,
    mark_unbacked,
    maybe_mark_dynamic,
    reset,
)
from ..compile.breaks import FailOnRecompileLimitHit, Unsupported
from . import exc, testing

__all__ = [*(f.__name__ for f in _api.DYNAMO), "FailOnRecompileLimitHit", "Unsupported", "config", "exc", "testing"]
_ = (
    allow_in_graph, config, disable, explain, graph_break, is_compiling, list_backends, mark_dynamic, mark_static, mark_unbacked,
    maybe_mark_dynamic, reset, FailOnRecompileLimitHit, Unsupported,
)  # fmt: skip
