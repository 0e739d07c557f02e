"""Calls of engine kernels, and of functions of tensors, on the arrays of a segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....dtypes import DTYPES
from ....state import state
from ....tensor import wrap
from ...graph.primitives import runner
from ..loops.scalar import NUMPY
from ..values import Slot, Value


def run_call(v: Value, operands: list[Any], home: Any, numbers: dict[str, Any] | None = None) -> list[Any]:
    """The arrays that an engine kernel, or a function of tensors, gives for operand arrays of a backend (or of one each).

    Symbolic numbers among the arguments are worked out with `numbers`.
    """
    call = v.data
    homes = home if isinstance(home, list) else [home] * len(operands)

    def filled(a: Any) -> Any:
        if isinstance(a, Slot):
            return wrap(operands[a.position], dtype_of(v.args[a.position]), homes[a.position])
        if type(a).__name__ in ("SymInt", "SymFloat"):
            return a.evaluate(numbers or {})
        return type(a)(filled(x) for x in a) if type(a) in (tuple, list) else a

    arguments = [filled(a) for a in call.arguments]
    before, state.grad_enabled = state.grad_enabled, False
    try:
        function: Callable[..., Any] = runner(call.op) if hasattr(call.op, "list_input") else call.op
        made = function(*arguments)
    finally:
        state.grad_enabled = before
    return [t._data for t in (made if isinstance(made, tuple) else (made,))]


def dtype_of(v: Value) -> Any:
    """The engine's dtype of a value."""
    return DTYPES[NUMPY.get(v.dtype) or v.dtype.removeprefix("opaque ")]
