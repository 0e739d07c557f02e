"""Choices that are measured: vector width, and how dear a value must be to be kept rather than computed again.

With `mode="max-autotune"` the first call builds the same graph by each of `CANDIDATES`, times each on copies of the arguments, and
keeps the fastest. The choice is kept on disk by the graph and the machine; `tried` says what was measured.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....tensor import Tensor
from ..cache import disk
from ..cache.compiler import machine

ROUNDS = 5


@dataclass(frozen=True)
class Candidate:
    """One way to compile: flags for the compiler, and `Caps.keep`."""

    name: str
    flags: tuple[str, ...] = ()
    keep: int = 6


CANDIDATES = (
    Candidate("the compiler's vector width"),
    Candidate("wide vectors", ("-mprefer-vector-width=512",)),
    Candidate("half vectors", ("-mprefer-vector-width=256",)),
    Candidate("keep nothing for later walks", (), 1 << 30),
    Candidate("unrolled loops", ("-funroll-loops",)),
)


class Tuned:
    """A segment that is chosen on its first call. `make` builds the segment of a candidate."""

    def __init__(self, make: Callable[[Candidate], Any], identity: str):
        self.make = make
        self.path = disk.folder() / f"choice-{disk.key(identity, machine())}.json"
        self.tried: list[dict[str, Any]] = []
        self.chosen: Any = None

    def __getattr__(self, name: str) -> Any:
        if name == "chosen" or self.chosen is None:
            raise AttributeError(name)
        return getattr(self.chosen, name)

    def __call__(self, *tensors: Any) -> Any:
        if self.chosen is None:
            self.chosen = self._choose(tensors)
        return self.chosen(*tensors)

    def _choose(self, tensors: tuple[Any, ...]) -> Any:
        try:
            known = json.loads(self.path.read_text())
            self.tried = known["tried"]
            return self.make(next(c for c in CANDIDATES if c.name == known["chosen"]))
        except (OSError, ValueError, KeyError, StopIteration):
            pass
        built: list[tuple[Candidate, Any]] = []
        for c in CANDIDATES:
            try:
                built.append((c, self.make(c)))
            except Exception as error:  # a flag that this compiler does not know
                self.tried.append({"choice": c.name, "seconds": None, "error": str(error)[:200]})
        copies = [t.detach().clone() if isinstance(t, Tensor) else t for t in tensors]
        times: dict[str, list[float]] = {c.name: [] for c, _ in built}
        for _ in range(ROUNDS):
            for c, segment in built:
                began = time.perf_counter()
                segment(*copies)
                times[c.name].append(time.perf_counter() - began)
        figures = {name: statistics.median(t) for name, t in times.items()}
        self.tried += [{"choice": name, "seconds": seconds} for name, seconds in figures.items()]
        best = min(figures, key=figures.__getitem__)
        try:
            disk.write(self.path, json.dumps({"chosen": best, "tried": self.tried}).encode())
        except OSError:
            pass  # then it is measured again by the next process
        return next(segment for c, segment in built if c.name == best)
