"""Choices that are measured: vector width, loops unrolled, threads, blocks, what is kept rather than computed again, and what is fused.

With `mode="max-autotune"` the first call runs the graph as it would be compiled anyway. From the second call on (what is called once is
not worth it) a thread builds it by each of the candidates, and times them on copies of that call's arguments while no call has come for
a moment; the fastest whose results are those of the usual form takes over. One segment is measured at a time. The choice is kept on disk
by the graph and the machine; `tried` says what was measured.  What is special to WebGPU is in `gpu.py`.
"""

from __future__ import annotations

import atexit
import json
import statistics
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....tensor import Tensor
from ..cache import disk
from ..cache.compiler import machine

ROUNDS = 5

LEAST = 1e-3
"""Seconds that a measurement takes at least: short calls are repeated."""

IDLE = 0.02
"""Seconds without a call after which measuring goes on."""

PATIENCE = 500
"""How often a measurement waits for such a moment, at most; a program that calls all the time is measured in its midst."""

BUDGET = 60.0
"""Seconds after which nothing more is measured."""

GAIN = 0.97
"""What a candidate must take of the usual form's time at most, to be chosen instead."""


@dataclass(frozen=True)
class Candidate:
    """One way to compile: flags for the compiler, `Caps.keep` and `Caps.merge`, one thread only, elements of numpy's blocks."""

    name: str
    flags: tuple[str, ...] = ()
    keep: int = 6
    merge: bool = True
    alone: bool = False
    block: int | None = None


CANDIDATES = (
    Candidate("the compiler's vector width"),
    Candidate("wide vectors", ("-mprefer-vector-width=512",)),
    Candidate("half vectors", ("-mprefer-vector-width=256",)),
    Candidate("keep nothing for later walks", (), 1 << 30),
    Candidate("unrolled loops", ("-funroll-loops",)),
    Candidate("whole groups stay apart", merge=False),
    Candidate("one thread", alone=True),
)
"""Those of C, the usual one first."""

BLOCKS = (
    Candidate("blocks by what a kernel makes"),
    Candidate("blocks of 16 K elements", block=1 << 14),
    Candidate("blocks of 64 K elements", block=1 << 16),
    Candidate("blocks of 256 K elements", block=1 << 18),
    Candidate("the whole at once", block=0),
    Candidate("whole groups stay apart", merge=False),
)
"""Those of numpy programs."""


class Ended(Exception):
    """The program ends; what is not measured stays so."""


class Spent(Exception):
    """The time for measuring is spent."""


_ending = threading.Event()
_turn = threading.Lock()
"""Held by the one who measures."""
_measuring: weakref.WeakSet[Tuned] = weakref.WeakSet()


def _end() -> None:
    """At exit: let measurements stop where they are, before what they measure with is taken down."""
    _ending.set()
    for tuned in list(_measuring):
        if tuned.thread is not None:
            tuned.thread.join(2)


class Tuned:
    """A segment of which a better form may take over. `make` builds the segment of a candidate."""

    def __init__(
        self,
        make: Callable[[Candidate], Any],
        identity: str,
        candidates: Sequence[Candidate] = CANDIDATES,
        where: str | None = None,
    ):
        """`where` names what a choice holds for beside the graph's `identity`; None is this machine."""
        self.make, self.candidates = make, candidates
        names = " ".join(c.name for c in candidates)
        self.path = disk.folder() / f"choice-{disk.key(identity, names, machine() if where is None else where)}.json"
        self.tried: list[dict[str, Any]] = []
        self.choice = ""
        """The name of the candidate in use."""

        self.settled = False
        """Whether everything was measured."""

        self.waiting = False
        """Whether the next call begins to measure."""

        self.chosen: Any = None
        self.last = 0.0
        self.began = 0.0
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
        elif self.waiting:
            with self.lock:
                if self.waiting:
                    self.waiting = False
                    self._start(tensors)
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
        """The first call: the choice that is known, or the usual form."""
        try:
            known = json.loads(self.path.read_text())
            candidate = next(c for c in self.candidates if c.name == known["chosen"])
            tried, made = known["tried"], self.made(candidate, known)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration):
            usual = self.candidates[0]
            self.choice, self.chosen, self.waiting = usual.name, self.make(usual), True
            return
        self.choice, self.chosen, self.tried, self.settled = candidate.name, made, tried, True

    def _start(self, tensors: tuple[Any, ...]) -> None:
        """Begin to measure."""
        reason, work = self.prepare(self.chosen, tensors)
        thread = threading.Thread(target=self._run, args=(work,), daemon=True, name="tapescope-autotune")
        if not reason:
            if not _measuring:
                atexit.register(_end)
            _measuring.add(self)
            self.thread = thread
            try:
                thread.start()
                return
            except RuntimeError as error:  # no threads here, as in a browser, or no more of them
                reason, self.thread = str(error), None
                _measuring.discard(self)
        self.settled = True
        self.tried = [{"choice": self.choice, "seconds": None, "error": reason}]

    def made(self, candidate: Candidate, known: dict[str, Any]) -> Any:
        """The segment of a choice that was read from disk."""
        return self.make(candidate)

    def prepare(self, first: Any, tensors: tuple[Any, ...]) -> tuple[str, Callable[[], None]]:
        """Why nothing can be measured ("" where it can), and what measures; called in the second call, before it runs."""
        if any(step.kind == "call" for step in first.assembly.steps):
            # Calls may draw random numbers or have other effects: nothing may run twice.
            return "a kernel of the engine is called", lambda: None
        kept = [t.detach().clone() if isinstance(t, Tensor) else t for t in tensors]
        return "", lambda: self._measure(first, kept)

    def _run(self, work: Callable[[], None]) -> None:
        try:
            while not _turn.acquire(timeout=IDLE):
                if _ending.is_set():
                    return
            try:
                self.began = time.monotonic()
                work()
            finally:
                _turn.release()
        except Ended:
            return
        except Exception as error:  # what the user's own call could not do either
            self.tried = [*self.tried, {"choice": self.choice, "seconds": None, "error": str(error)[:200]}]
        finally:
            _measuring.discard(self)
        self.settled = True

    def _measure(self, first: Any, kept: list[Any]) -> None:
        usual = self.candidates[0]
        built: list[tuple[Candidate, Any]] = []
        failed: list[dict[str, Any]] = []
        expected: list[Tensor] | None = None
        for c in self.candidates:
            try:
                self.pause()
                made = self.make(c)  # the usual one too: the one in use counts the user's calls only
                made.told = False
                if expected is None:
                    expected = _outcome(made, kept)
                elif not _agree(_outcome(made, kept), expected):
                    raise ValueError("its results are not those of the usual form")
                built.append((c, made))
            except Ended:
                raise
            except Exception as error:  # a flag that this compiler does not know; no time left
                if c is usual:
                    raise
                failed.append({"choice": c.name, "seconds": None, "error": str(error)[:200]})
        copies = _copies(kept)
        times: dict[str, list[float]] = {c.name: [] for c, _ in built}
        began = time.perf_counter()
        built[0][1](*copies)
        turns = max(1, min(50, int(LEAST / (time.perf_counter() - began))))
        for _ in range(ROUNDS):
            for c, segment in built:
                try:
                    self.pause()
                except Spent:
                    if min(map(len, times.values())):
                        break
                began = time.perf_counter()
                for _ in range(turns):
                    segment(*copies)
                times[c.name].append((time.perf_counter() - began) / turns)
        figures = {name: statistics.median(t) for name, t in times.items() if t}
        self.tried = [*({"choice": name, "seconds": seconds} for name, seconds in figures.items()), *failed]
        best = min(figures, key=figures.__getitem__)
        if figures[best] > GAIN * figures[usual.name]:
            best = usual.name
        self.keep({"chosen": best, "tried": self.tried})
        if best != usual.name:
            self.choice, self.chosen = best, next(segment for c, segment in built if c.name == best)
            self.chosen.told, self.chosen.launches = True, first.launches

    def keep(self, outcome: dict[str, Any]) -> None:
        """Write a choice to disk."""
        try:
            disk.write(self.path, json.dumps(outcome).encode())
        except OSError:
            pass  # then it is measured again by the next process

    def pause(self) -> None:
        """Wait for a moment without calls. Raises Ended where the program ends, Spent where the time for measuring is spent."""
        for _ in range(PATIENCE):
            if _ending.is_set():
                raise Ended
            if time.monotonic() - self.began > BUDGET:
                raise Spent("the time for measuring was spent")
            rest = self.last + IDLE - time.monotonic()
            if rest <= 0:
                return
            _ending.wait(rest)


def _copies(tensors: list[Any]) -> list[Any]:
    return [t.clone() if isinstance(t, Tensor) else t for t in tensors]


def _outcome(segment: Any, kept: list[Any]) -> list[Tensor]:
    """What a call returns and what it leaves in its arguments, with copies of the arguments."""
    copies = _copies(kept)
    out = segment(*copies)
    found: list[Tensor] = []

    def gather(x: Any) -> None:
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, (tuple, list)):
            for y in x:
                gather(y)

    gather([out, copies])
    return found


def _agree(ours: list[Tensor], theirs: list[Tensor]) -> bool:
    """Whether results are the same but for the order of additions."""
    if len(ours) != len(theirs):
        return False
    for x, y in zip(ours, theirs, strict=True):
        a, b = np.asarray(x._data), np.asarray(y._data)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.kind not in "fc":
            if not np.array_equal(a, b):
                return False
            continue
        size = np.abs(b[np.isfinite(b)])
        scale = float(size.max()) if size.size else 0.0
        rtol = 1e-9 if y.dtype.itemsize == 8 and a.dtype.kind == "f" else 1e-2 if y.dtype.itemsize < 4 else 1e-4
        if not np.allclose(a, b, rtol, rtol / 10 * scale, equal_nan=True):
            return False
    return True
