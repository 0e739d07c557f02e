"""`torch.utils.benchmark.Timer` in its common forms: a statement timed in repeated runs, the result as a Measurement."""

from __future__ import annotations

import statistics
import timeit as _timeit
from typing import Any

timer = _timeit.default_timer


class Measurement:
    """Seconds a run, over several blocks of `number_per_run` runs."""

    def __init__(self, number_per_run: int, raw_times: list[float], label: str | None, stmt: str, sub_label: str | None, description: str | None,
                 num_threads: int):  # fmt: skip
        self.number_per_run, self.raw_times = number_per_run, raw_times
        self.label, self.stmt, self.sub_label, self.description, self.num_threads = (
            label,
            stmt,
            sub_label,
            description,
            num_threads,
        )

    @property
    def times(self) -> list[float]:
        """Seconds a run, one for each block."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the blocks, in seconds a run."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the blocks, in seconds a run."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance of the quartiles, in seconds a run."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4)
        return high - low

    def __repr__(self) -> str:
        scale, unit = next(
            (s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")) if self.median >= s or u == "ns"
        )
        parts = [f"<{type(self).__module__}.Measurement object>", self.label or self.stmt]
        if self.sub_label:
            parts[-1] += f": {self.sub_label}"
        if len(self.times) > 1:
            parts.append(f"  Median: {self.median / scale:.2f} {unit}")
            parts.append(f"  IQR:    {self.iqr / scale:.2f} {unit}")
        else:
            parts.append(f"  {self.median / scale:.2f} {unit}")
        runs = f"{len(self.times)} measurement{'s' if len(self.times) > 1 else ''}"
        parts.append(
            f"  {runs}, {self.number_per_run} runs{' per measurement,' if len(self.times) > 1 else ' ,'} {self.num_threads} thread"
        )
        return "\n".join(parts)


class Timer:
    """Times `stmt` (with `setup` before, names from `globals`); waits for the accelerator at the end of each block."""

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Any = timer, globals: dict[str, Any] | None = None,
                 label: str | None = None, sub_label: str | None = None, description: str | None = None, env: str | None = None,
                 num_threads: int = 1, language: Any = "python"):  # fmt: skip
        from .. import accelerator

        self._about = {
            "label": label,
            "stmt": stmt,
            "sub_label": sub_label,
            "description": description,
            "num_threads": num_threads,
        }

        def clock() -> float:
            accelerator.synchronize()
            return timer()

        names = dict(globals or {})
        if "torch" not in names:
            from .. import __name__ as engine

            names["torch"] = __import__(engine, fromlist=["x"])
        self._timer = _timeit.Timer(stmt, setup, clock, names)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One block of `number` runs."""
        self._timer.timeit(max(number // 100, 1))
        return Measurement(number, [self._timer.timeit(number)], **self._about)  # type: ignore[arg-type]

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Blocks of a size that makes the clock's own cost small, for at least `min_run_time` seconds."""
        number = self._block(min_run_time)
        times: list[float] = []
        while sum(times) < min_run_time:
            times.append(self._timer.timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, **self._about)  # type: ignore[arg-type]

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """Blocks until the quartiles are within `threshold` of the median, or `max_run_time` is over."""
        number = self._block(min_run_time)
        times: list[float] = []
        while True:
            times.append(self._timer.timeit(number))
            made = Measurement(number, times, **self._about)  # type: ignore[arg-type]
            enough = len(times) >= 4 and made.iqr / made.median < threshold
            if (enough and sum(times) >= min_run_time) or sum(times) >= max_run_time:
                return made

    def _block(self, min_run_time: float) -> int:
        number = 1
        while True:
            took = self._timer.timeit(number)
            if took >= min(1e-3, min_run_time / 100) or number >= 1 << 24:
                return number
            number *= 10 if took < 1e-5 else 2


class Compare:
    """A table of measurements: rows by label and sub-label, columns by description."""

    def __init__(self, results: list[Measurement]):
        self._results = list(results)

    def extend_results(self, results: list[Measurement]) -> None:
        """Add measurements."""
        self._results += results

    def __str__(self) -> str:
        columns = list(dict.fromkeys(m.description or "" for m in self._results))
        rows: dict[str, dict[str, float]] = {}
        for m in self._results:
            name = " ".join(p for p in (m.label, m.sub_label or m.stmt) if p)
            rows.setdefault(name, {})[m.description or ""] = m.median
        width = max((len(r) for r in rows), default=0)
        lines = [" " * width + "".join(f" | {c:>12}" for c in columns)]
        for name, cells in rows.items():
            lines.append(
                f"{name:<{width}}"
                + "".join(f" | {cells[c] * 1e6:>12.1f}" if c in cells else " | " + " " * 12 for c in columns)
            )
        return "\n".join([*lines, "Times are in microseconds (us)."])

    def print(self) -> None:
        """Print the table."""
        print(self)

    def trim_significant_figures(self) -> None:
        """Accepted for compatibility."""

    def colorize(self, rowwise: bool = False) -> None:
        """Accepted for compatibility."""
