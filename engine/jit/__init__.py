"""`torch.jit`: functions and modules as graphs of primitives that can be kept in files (`trace`), and the names of scripting (`script`).

`trace` records one run on tensors without values, so sizes stay open and branches on values are refused with a sentence; `torch.compile`
handles those. `script` leaves Python to Python: what it returns behaves as what it was given. A saved trace is data; loading one runs
nothing of it (`archive.py`).
"""

from __future__ import annotations

from .archive import load, save
from .script import (
    Attribute,
    Final,
    ScriptFunction,
    ScriptModule,
    annotate,
    export,
    freeze,
    fork,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    isinstance,
    onednn_fusion_enabled,
    optimize_for_inference,
    script,
    script_if_tracing,
    set_fusion_strategy,
    strict_fusion,
    unused,
    wait,
)
from .trace import TopLevelTracedModule, TracerWarning, trace, trace_module

TracedModule = TopLevelTracedModule
RecursiveScriptModule = ScriptModule
