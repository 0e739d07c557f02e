"""Choices that are measured: vector width, loops unrolled, what is kept rather than computed again, and what is fused.

With `mode="max-autotune"` the first call runs the graph as it would be compiled anyway. A thread then builds it by each of
`CANDIDATES`, and times them on copies of the first call's arguments while no call has come for a moment; the fastest takes over. The
choice is kept on disk by the graph and the machine; `tried` says what was measured.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....tensor import Tensor
from ..cache import disk
from ..cache.compiler import machine

ROUNDS = 5

IDLE = 0.02
"""Seconds without a call after which measuring goes on."""

PATIENCE = 500
"""How often a measurement waits for such a moment, at most; a program that calls all the time is measured in its midst."""


@dataclass(frozen=True)
class Candidate:
    """One way to compile: flags for the compiler, `Caps.keep` and `Caps.merge`."""

    name: str
    flags: tuple[str, ...] = ()
    keep: int = 6
    merge: bool = True


CANDIDATES = (
    Candidate("the compiler's vector width"),
    Candidate("wide vectors", ("-mprefer-vector-width=512",)),
    Candidate("half vectors", ("-mprefer-vector-width=256",)),
    Candidate("keep nothing for later walks", (), 1 << 30),
    Candidate("unrolled loops", ("-funroll-loops",)),
    Candidate("whole groups stay apart", merge=False),
)


class Tuned:
    """A segment of which a better form may take over. `make` builds the segment of a candidate."""

    def __init__(self, make: Callable[[Candidate], Any], identity: str):
        self.make = make
        self.path = disk.folder() / f"choice-{disk.key(identity, machine())}.json"
        self.tried: list[dict[str, Any]] = []
        self.choice = ""
        """The name of the candidate in use."""

        self.settled = False
        """Whether everything was measured."""

        self.chosen: Any = None
        self.last = 0.0
        self.thread: threading.Thread | None = None
        self.lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        if name == "chosen" or self.chosen is None:
            raise AttributeError(name)
        return getattr(self.chosen, name)

    def __call__(self, *tensors: Any) -> Any:
        if self.chosen is None:
            with self.lock:
                if self.chosen is None:
                    self._begin(tensors)
        run = self.chosen
        assert run is not None  # `_begin` chose
        try:
            return run(*tensors)
        finally:
            self.last = time.monotonic()

    def wait(self) -> None:
        """Until everything was measured."""
        if self.thread is not None:
            self.thread.join()

    def tuning(self) -> dict[str, Any]:
        """What was tried and how it fared, as plain data."""
        return {"chosen": self.choice, "settled": self.settled, "tried": list(self.tried)}

    def _begin(self, tensors: tuple[Any, ...]) -> None:
        """The first call: the choice that is known, or the usual form, while others are measured."""
        try:
            known = json.loads(self.path.read_text())
            candidate = next(c for c in CANDIDATES if c.name == known["chosen"])
            self.tried = known["tried"]
        except (OSError, ValueError, KeyError, StopIteration):
            first = self.make(CANDIDATES[0])
            self.choice, self.chosen = CANDIDATES[0].name, first
            if any(step.kind == "call" for step in first.assembly.steps):
                self.settled = True  # calls may draw random numbers or have other effects: nothing may run twice
                self.tried = [
                    {"choice": CANDIDATES[0].name, "seconds": None, "error": "a kernel of the engine is called"}
                ]
                return
            copies = [t.detach().clone() if isinstance(t, Tensor) else t for t in tensors]
            self.thread = threading.Thread(
                target=self._measure, args=(first, copies), daemon=True, name="tapescope-autotune"
            )
            self.thread.start()
            return
        self.choice, self.chosen, self.settled = candidate.name, self.make(candidate), True

    def _measure(self, first: Any, copies: list[Any]) -> None:
        built: list[tuple[Candidate, Any]] = [(CANDIDATES[0], first)]
        tried: list[dict[str, Any]] = []
        for c in CANDIDATES[1:]:
            try:
                built.append((c, self.make(c)))
            except Exception as error:  # a flag that this compiler does not know
                tried.append({"choice": c.name, "seconds": None, "error": str(error)[:200]})
        times: dict[str, list[float]] = {c.name: [] for c, _ in built}
        try:
            for _ in range(ROUNDS):
                for c, segment in built:
                    self._idle()
                    began = time.perf_counter()
                    segment(*copies)
                    times[c.name].append(time.perf_counter() - began)
        except Exception as error:  # arguments that the user's own call could not take either
            self.tried = [*tried, {"choice": CANDIDATES[0].name, "seconds": None, "error": str(error)[:200]}]
            self.settled = True
            return
        figures = {name: statistics.median(t) for name, t in times.items()}
        self.tried = [*({"choice": name, "seconds": seconds} for name, seconds in figures.items()), *tried]
        best = min(figures, key=figures.__getitem__)
        try:
            disk.write(self.path, json.dumps({"chosen": best, "tried": self.tried}).encode())
        except OSError:
            pass  # then it is measured again by the next process
        self.choice, self.chosen = best, next(segment for c, segment in built if c.name == best)
        self.settled = True

    def _idle(self) -> None:
        for _ in range(PATIENCE):
            rest = self.last + IDLE - time.monotonic()
            if rest <= 0:
                return
            time.sleep(rest)
