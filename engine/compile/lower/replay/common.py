"""What segments of all devices share: symbolic sizes, plain numbers among inputs and results, the shape of what is returned."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...breaks import HalfWritten
from ..schedule.fuse import bare
from .assemble import Assembly


class Outputs:
    """Base of segments: an assembly, and what of a call does not depend on the device."""

    def __init__(self, assembly: Assembly):
        self.assembly, self.program = assembly, assembly.program
        self.symbols = sorted(self.program.sizes)
        self.bases = [None if o.value is None else bare(o.value) for o in self.program.outputs]
        """The values whose memory holds the outputs."""

    half_written = False
    """Whether this call has written into an input: if it fails now, running the operators instead would write a second time."""

    @functools.cached_property
    def first_write(self) -> int:
        """The first step that writes into memory of an input."""
        a = self.assembly
        inputs = [self.program.inputs[i] for i in a.direct.values()]
        slots = {a.slots.get(a.root(v)) for v in inputs if v is not None}
        for k, step in enumerate(a.steps):
            if any(a.slots.get(a.root(w)) in slots for w in step.writes):
                return k
        return len(a.steps)

    def guarded(self, run: Callable[[tuple[Any, ...]], Any], tensors: tuple[Any, ...]) -> Any:
        """A call of `run`. Raises HalfWritten where it failed after it had written into an input."""
        self.half_written = False
        try:
            return run(tensors)
        except Exception as error:
            if self.half_written:
                raise HalfWritten(
                    "A compiled graph failed after it had written into its inputs, so its operators were not run instead."
                ) from error
            raise

    def sizes(self, tensors: tuple[Any, ...]) -> tuple[int, ...]:
        """The values of the symbolic sizes in a call, in the order of `symbols`."""
        if not self.symbols:
            return ()
        values: dict[str, int] = {}
        later = []
        for name in self.symbols:
            where = self.program.sizes[name]
            if isinstance(where[0], int):
                i, d = where
                values[name] = int(tensors[i]) if d is None else tensors[i]._data.shape[d]
            else:
                later.append((name, where))
        for name, (atom, kind) in later:
            values[name] = kind({((atom, 1),): 1}).evaluate(values)
        self.last_sizes = tuple(values[s] for s in self.symbols)
        return self.last_sizes

    last_sizes: tuple[int, ...] | None = None
    """The symbolic sizes of the last call."""

    def known_sizes(self) -> dict[str, int]:
        """Those by name; none before a call."""
        return dict(zip(self.symbols, self.last_sizes or (), strict=False))

    def named(self, tensors: tuple[Any, ...], values: dict[str, int]) -> dict[str, Any]:
        """Sizes and numbers by the names of their symbols."""
        numbers = zip(self.program.input_names, tensors, strict=False)
        return {**values, **{name: t for name, t in numbers if not hasattr(t, "_data")}}

    def number(self, v: Any, tensors: tuple[Any, ...], held: Any, known: dict[str, Any] | None = None) -> float:
        """A number that a kernel is given: an input, or a formula of inputs and of elements that were computed on the CPU."""
        if type(v.data) is int:
            return float(tensors[v.data])
        if known is None:
            known = self.named(tensors, dict(zip(self.symbols, self.sizes(tensors), strict=True)))
        known = dict(known)
        elements = iter(v.args)
        for name in v.data.free_symbols():
            if name not in known:
                x = held[self.assembly.slots[self.assembly.root(next(elements))]]
                known[name] = x.item() if hasattr(x, "item") else x
        return float(v.data.evaluate(known))

    def plain(self, value: Any, tensors: tuple[Any, ...], values: dict[str, int]) -> Any:
        """A result that is no tensor; symbolic ones become numbers."""
        if type(value).__name__ in ("SymInt", "SymFloat"):
            return value.evaluate(self.named(tensors, values))
        return value

    def moved(self, k: int, array: np.ndarray, tensors: tuple[Any, ...], values: dict[str, int]) -> np.ndarray:
        """Output number `k` in memory of the order that the graph says."""
        steps = [self.plain(s, tensors, values) for s in self.assembly.moved[k]]
        shape = array.shape
        span = 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) if array.size else 0
        size = array.itemsize
        made = np.ndarray(shape, array.dtype, np.empty(span, array.dtype), 0, [s * size for s in steps])
        made[...] = array
        return made

    def filled(self, results: list[Any]) -> Any:
        """The results in the structure that the graph returns."""
        return fill(self.program.structure, results)


def fill(structure: Any, values: list[Any]) -> Any:
    """Numbers of results replaced by the results; lists become tuples."""
    if isinstance(structure, list):
        return tuple([fill(s, values) for s in structure])
    return values[structure]
