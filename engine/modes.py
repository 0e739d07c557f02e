"""The base of dispatch modes: what sees every primitive before the backend does.

A mode overrides `call` (and what else it wants) and reaches what lies below it inside `with self.outside():`.  By itself it changes
nothing.  `vmap` is a mode with an own class, since it also owns the tensors inside it.
"""

from __future__ import annotations

from typing import Any

from . import dispatch
from .ops.table import Op
from .state import state
from .tensor import Tensor


class Mode:
    """Passes everything on. `with mode:` puts it on the stack."""

    casts = False
    """Whether it brings the operands of an operator to one dtype."""

    def outside(self) -> Outside:
        """A context in which this mode, and those inside it, are off."""
        return Outside(self)

    def call(self, op: Op, args: tuple[Any, ...], statics: tuple[Any, ...]) -> Any:
        """Run a primitive."""
        with self.outside():
            return dispatch.call(op, args, statics)

    def inplace(self, op: Op, target: Tensor, others: tuple[Any, ...], statics: tuple[Any, ...]) -> Tensor:
        """Run an in-place primitive."""
        with self.outside():
            return dispatch.inplace(op, target, others, statics)

    def before_write(self, target: Tensor, value: Tensor) -> Tensor:
        """The value that is written into `target`."""
        with self.outside():
            return state.modes[-1].before_write(target, value) if state.modes else value

    def detach(self, t: Tensor, out: Tensor) -> Tensor:
        """What `t.detach()` gives."""
        return out

    def item(self, t: Tensor) -> Any:
        """The number in a tensor of one element."""
        with self.outside():
            return t.item()

    def __enter__(self) -> Mode:
        state.modes = (*state.modes, self)
        return self

    def __exit__(self, *error: object) -> None:
        state.modes = tuple(m for m in state.modes if m is not self)


class Outside:
    """Cuts the stack of modes below one of them."""

    __slots__ = ("_before", "_mode")

    def __init__(self, mode: Any):
        self._mode = mode

    def __enter__(self) -> None:
        self._before = state.modes
        if self._mode in state.modes:
            state.modes = state.modes[: state.modes.index(self._mode)]

    def __exit__(self, *error: object) -> None:
        state.modes = self._before
