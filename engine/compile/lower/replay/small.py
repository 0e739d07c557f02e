"""What the CPU does in each call of a recorded WebGPU segment: small results such as counters of steps, and numbers for kernels.

An optimizer has a counter and some formulas (corrections of bias) for each parameter, and they are mostly equal. So a formula is compiled once,
whatever its symbols are called, and within a call equal ones of equal operands are worked out once.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..values import Slot, Value

if TYPE_CHECKING:
    from .assemble import Step
    from .webgpu import GpuSegment


class Formula:
    """A number that kernels are given, by the elements and plain inputs that it depends on."""

    def __init__(self, segment: GpuSegment, v: Value):
        self.value = v
        self.input = v.data if type(v.data) is int else None
        """The input that it is."""
        self.names: list[str] = []
        self.slots: list[int] = []
        self.code = ""
        if self.input is None:
            a = segment.assembly
            formula: Any = v.data
            self.names = formula.free_symbols()
            self.slots = [a.slots[a.root(x)] for x in v.args]
            places = {name: f"x{i}" for i, name in enumerate(self.names)}
            self.code = re.sub(r"\b[A-Za-z_]\w*", lambda m: places.get(m[0], m[0]), formula.code())
            self.function = _compiled(self.code, len(self.names))

    def __call__(
        self, tensors: Sequence[Any], held: dict[int, Any], known: dict[str, Any], memo: dict[Any, float]
    ) -> float:
        """The number in this call; `memo` holds those that were worked out in it."""
        if self.input is not None:
            return float(tensors[self.input])
        slots = iter(self.slots)
        values = []
        for name in self.names:
            if name in known:
                values.append(known[name])
            else:
                x = held[next(slots)]
                values.append(x.item() if hasattr(x, "item") else x)
        key = (self.code, *[(type(x), repr(x)) for x in values])
        found = memo.get(key)
        if found is None:
            found = memo[key] = float(self.function(*values))
        return found


@functools.lru_cache(1024)
def _compiled(code: str, count: int) -> Callable[..., Any]:
    """A formula as a function of its symbols, in the order in which they stand."""
    import math

    space = {"__builtins__": {"min": min, "max": max, "abs": abs, "float": float, "round": round}, "math": math}
    return eval(f"lambda {', '.join(f'x{i}' for i in range(count))}: ({code})", space)


class HostStep:
    """A call whose operands and results are small arrays of the CPU."""

    def __init__(self, segment: GpuSegment, step: Step):
        v = step.value
        assert v is not None
        self.segment, self.step = segment, step
        a = segment.assembly
        self.reads = [a.slots[a.root(r)] for r in step.reads]
        self.writes = [a.slots[item] for item in step.writes]
        arguments = tuple([("slot", x.position) if isinstance(x, Slot) else x for x in v.data.arguments])
        self.key: Any = None
        """What the call is, beside the values of its operands; None where it cannot be told or draws random numbers."""
        plain = all(
            type(x) in (int, float, bool, str, type(None)) or (type(x) is tuple and x[0] == "slot") for x in arguments
        )
        if plain and not v.data.impure and [x is y for x, y in zip(v.args, step.reads, strict=True)].count(False) == 0:
            self.key = (v.data.op, tuple([(type(x), x) for x in arguments]))

    def run(self, tensors: Sequence[Any], held: dict[int, Any], known: dict[str, Any], memo: dict[Any, Any]) -> None:
        """Compute into `held`."""
        operands = [held[s] for s in self.reads]
        if self.key is None or any(type(x) is not np.ndarray or x.ndim for x in operands):
            self.segment._call(self.step, held, known, tensors)
            return
        key = (self.key, *[(x.dtype.char, x.tobytes()) for x in operands])
        found = memo.get(key)
        if found is None:
            self.segment._call(self.step, held, known, tensors)
            memo[key] = [held[s] for s in self.writes]
            return
        for s, array in zip(self.writes, found, strict=True):
            held[s] = array.copy()


__all__ = ["Formula", "HostStep"]
