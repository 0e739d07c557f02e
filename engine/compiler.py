"""`torch.compiler`: marks and questions that go with `torch.compile`. Gathered from `compile/api.py`."""

from __future__ import annotations

from .compile import api as _api
from .compile.api import (
    allow_in_graph,
    assume_constant_result,
    compile,
    config,
    cudagraph_mark_step_begin,
    disable,
    explain,
    is_compiling,
    is_dynamo_compiling,
    is_exporting,
    list_backends,
    reset,
    set_stance,
)

__all__ = [f.__name__ for f in _api.COMPILER]
_ = (
    allow_in_graph, assume_constant_result, compile, config, cudagraph_mark_step_begin, disable, explain, is_compiling, is_dynamo_compiling,
    is_exporting, list_backends, reset, set_stance,
)  # fmt: skip
