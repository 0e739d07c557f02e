"""Tuning of a WebGPU segment: how each kernel is printed by its own time, and whether whole groups are put together by the whole time.

Nothing of the user's is run: `kernels.py` measures on buffers of its own, beside the program.  The choice is kept by the graph, the
adapter and its driver.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from ....backends.webgpu.bench import Bench
from ..print_wgsl.ways import BY_NAME, Way
from .choices import ROUNDS, Candidate, Spent, Tuned
from .kernels import GAIN, Differs, Whole, agree, tune

TOGETHER = (Candidate("whole groups put together"), Candidate("whole groups stay apart", merge=False))

PLAIN = "every kernel as usual"


class TunedGpu(Tuned):
    """A WebGPU segment of which a better form may take over."""

    def __init__(self, make: Callable[[Candidate], Any], identity: str, adapter: str):
        super().__init__(make, identity, TOGETHER, adapter)

    def made(self, candidate: Candidate, known: dict[str, Any]) -> Any:
        segment = self.make(candidate)
        forms = {int(k): BY_NAME[name] for k, name in known["ways"].items()}
        segment.take({k: segment.print_step(k, way) for k, way in forms.items()})
        segment.tried = {int(k): told for k, told in known["kernels"].items()}
        return segment

    def prepare(self, first: Any, tensors: tuple[Any, ...]) -> tuple[str, Callable[[], None]]:
        sizes = dict(zip(first.symbols, first.sizes(tensors), strict=True))
        return "", lambda: self._measure_kernels(first, sizes)

    def _measure_kernels(self, first: Any, sizes: dict[str, int]) -> None:
        known: dict[str, tuple[Way, list[dict[str, Any]]]] = {}
        segments, forms = [first], [tune(first, sizes, self.pause, known)]
        tried: list[dict[str, Any]] = []
        apart = TOGETHER[1]
        try:
            other = self.make(apart)
            if _texts(other) == _texts(first):
                raise Differs("there are no whole groups to put together")
            forms.append(tune(other, sizes, self.pause, known))
            segments.append(other)
        except (Differs, NotImplementedError) as error:
            tried.append({"choice": apart.name, "seconds": None, "error": str(error)[:200]})
        best = 0
        with Bench(first.backend.device.gpu) as bench:
            try:
                figures, errors = self._measure_whole(segments, forms, sizes, bench)
                tried = [*({"choice": n, "seconds": s} for n, s in figures.items()), *errors, *tried]
                together = figures.get(TOGETHER[0].name, float("inf"))
                if figures.get(apart.name, float("inf")) < GAIN * min(together, figures[PLAIN]):
                    best = 1
                elif figures[PLAIN] < together * GAIN:  # what is better alone is not always so among others
                    forms[0] = {}
                    for told in first.tried.values():
                        told["chosen"] = "usual"
            except (Differs, Spent) as error:
                tried.append({"choice": PLAIN, "seconds": None, "error": str(error)[:200]})
        self.tried = tried
        segment, better = segments[best], forms[best]
        segment.take(better)
        self.keep({
            "chosen": TOGETHER[best].name, "tried": tried, "kernels": segment.tried,
            "ways": {k: segment.tried[k]["chosen"] for k in better},
        })  # fmt: skip
        self.choice, self.chosen = TOGETHER[best].name, segment

    def _measure_whole(
        self, segments: list[Any], forms: list[dict[int, Any]], sizes: dict[str, int], bench: Bench
    ) -> tuple[dict[str, float], list[dict[str, Any]]]:
        """Median seconds of whole segments by name. Raises Differs where they cannot be run beside the program."""
        usual = Whole(segments[0], {}, sizes, bench)
        expected = usual.results()
        wholes, errors = {PLAIN: usual}, []
        for c, segment, better in zip(TOGETHER, segments, forms, strict=False):
            if not better and segment is segments[0]:
                continue
            try:
                made = Whole(segment, better, sizes, bench)
                if not agree(made.results(), expected):
                    raise Differs("its results are not those of the usual form")
                wholes[c.name] = made
            except Differs as error:
                errors.append({"choice": c.name, "seconds": None, "error": str(error)[:200]})
        times: dict[str, list[float]] = {name: [] for name in wholes}
        for _ in range(2 * ROUNDS - 1):
            for name, whole in wholes.items():
                self.pause()
                times[name].append(whole.seconds())
        return {name: statistics.median(t) for name, t in times.items()}, errors


def _texts(segment: Any) -> list[str]:
    """What a segment's kernels do, in order."""
    return [p.shader.source for p in segment.printed.values()]


__all__ = ["TunedGpu"]
