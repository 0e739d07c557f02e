"""`torch._dynamo.testing`: backends that count what was captured."""

from __future__ import annotations

from typing import Any

from ..compile.backends import lookup_backend


class CompileCounter:
    """A backend that counts graphs (`frame_count`) and the calls in them (`op_count`)."""

    def __init__(self) -> None:
        self.frame_count = self.op_count = 0

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self._count(gm)
        return gm.forward

    def _count(self, gm: Any) -> None:
        self.frame_count += 1
        self.op_count += sum(1 for n in gm.graph if n.op.startswith("call"))

    def clear(self) -> None:
        """Count from nothing."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """The same in front of another backend; `graphs` keeps the graphs."""

    def __init__(self, backend: Any) -> None:
        super().__init__()
        self.backend = backend
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self._count(gm)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)


class EagerAndRecordGraphs:
    """A backend that keeps the graphs and runs them."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.graphs.append(gm)
        return gm.forward


__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs"]
