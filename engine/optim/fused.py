"""Steps of several parameters at once, on devices that have kernels for them; the formulas stand beside each optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..state import state
from ..tensor import Tensor


class Gathered:
    """Parameters of a step whose update waits until all are known; runs them by kernels of their devices.

    `name` and the order of tensors and numbers are those of the kernels: parameter, gradient, states.
    """

    def __init__(self, group: dict[str, Any]):
        self.wanted = group.get("foreach") is not False and not group.get("differentiable") and not state.modes
        self.steps: dict[tuple[Any, ...], list[tuple[Tensor, ...]]] = {}

    def may(self, p: Tensor) -> bool:
        """Whether the parameter's device has such kernels at all."""
        return self.wanted and hasattr(p._storage.backend, "step_fits")

    def add(self, name: str, tensors: Sequence[Tensor], numbers: Sequence[float]) -> bool:
        """Take a parameter over. False where it must be stepped by the formula."""
        if not self.wanted:
            return False
        backend: Any = tensors[0]._storage.backend
        fits = getattr(backend, "step_fits", None)
        if fits is None or any(t._storage.backend is not backend for t in tensors):
            return False
        if not fits([t._data for t in tensors]):
            return False
        self.steps.setdefault((backend, name, *numbers), []).append(tuple(tensors))
        return True

    def run(self) -> None:
        """Step all that were taken over."""
        for (backend, name, *numbers), entries in self.steps.items():
            backend.step(name, [[t._data for t in e] for e in entries], numbers)
            for entry in entries:
                for i, t in enumerate(entry):
                    if i != 1:
                        t._storage.version += 1
        self.steps = {}
