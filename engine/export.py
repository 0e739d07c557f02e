"""`torch.export`: a function as one graph. Gathered from `compile/exporting.py`; the module itself may be called, too."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .compile.exporting import Dim, ExportedProgram, PreconditionError, export

__all__ = ["Dim", "ExportedProgram", "PreconditionError", "export"]


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> ExportedProgram:
        return export(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
