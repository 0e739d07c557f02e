"""Random numbers that are made by rejection: gamma, Dirichlet, Poisson and binomial, in PyTorch's stream.

How many numbers of the generator one sample uses depends on what was drawn, so where the next sample begins is known
only when this one is done: the loops below go from sample to sample, as PyTorch's kernels do, over uniforms that were
made by the block.  The same seed gives PyTorch's samples.  This file knows no tensors.

Sources: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables" (2000); W. Hoermann, "The
transformed rejection method for generating Poisson random variables" (1993) and "The generation of binomial random
variates" (1993).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator

import numpy as np

from .random import Generator, default_generator


class _Uniforms:
    """The doubles in [0, 1) of a generator, made in blocks; those that were not used are given back at the end."""

    def __init__(self, generator: Generator | None, guess: int):
        self.generator = generator or default_generator
        self._size = min(max(guess, 8), 1 << 16)
        self._before = self.generator.state_bytes()
        self._block: Iterator[float] = iter(())
        self._drawn = 0

    def _stream(self) -> Iterator[float]:
        while True:
            self._before = self.generator.state_bytes()
            self._drawn = self._size
            self._block = iter(self.generator.doubles(self._size).tolist())
            yield from self._block

    def draw(self) -> Callable[[], float]:
        """A function that returns the next one."""
        return self._stream().__next__

    def end(self) -> None:
        """Set the generator behind the last one that was used."""
        used = self._drawn - operator.length_hint(self._block)
        self.generator.load_state_bytes(self._before)
        self.generator.doubles(used)


def gamma(alpha: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    """A sample of the gamma distribution of rate 1 for each shape parameter, as float64; 0 where it is not positive."""
    shapes = np.asarray(alpha, np.float64).ravel().tolist()
    uniforms = _Uniforms(generator, 3 * len(shapes))
    kept, uniforms.generator.next_normal = uniforms.generator.next_normal, None
    uniform = uniforms.draw()
    log, log1p, sqrt, tau = math.log, math.log1p, math.sqrt, 2.0 * math.pi
    made = []
    for a in shapes:
        if not a > 0.0:
            made.append(0.0)
            continue
        scale = 1.0
        if a < 1.0:  # a sample for a + 1, times a power of a uniform
            scale = (1.0 - uniform()) ** (1.0 / a)
            a += 1.0
        d = a - 1.0 / 3.0
        c = 1.0 / sqrt(9.0 * d)
        while True:
            while True:
                if kept is None:
                    angle = tau * uniform()
                    radius = sqrt(-2.0 * log1p(-uniform()))
                    x, kept = radius * math.cos(angle), radius * math.sin(angle)
                else:
                    x, kept = kept, None
                y = 1.0 + c * x
                if y > 0.0:
                    break
            v = y * y * y
            u = 1.0 - uniform()
            square = x * x
            if u < 1.0 - 0.0331 * square * square or log(u) < 0.5 * square + d * (1.0 - v + log(v)):
                made.append(scale * d * v)
                break
    uniforms.end()
    uniforms.generator.next_normal = kept
    return np.array(made, np.float64).reshape(np.shape(alpha))


def dirichlet(alpha: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    """Samples of the Dirichlet distribution, as float64: gammas of the last dimension, divided by their sum."""
    parts = gamma(alpha, generator)
    with np.errstate(invalid="ignore", divide="ignore"):
        return parts / parts.sum(-1, keepdims=True)


def _poisson_rejection(rate: float, uniform: Callable[[], float]) -> float:
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    limit = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        if us <= 0.0:
            continue
        k = math.floor((2.0 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= limit:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        height = (math.log(v) if v else -math.inf) + log_inverse_alpha - math.log(a / (us * us) + b)
        if height <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


def poisson(rate: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    """A sample of the Poisson distribution for each rate, as float64. Raises RuntimeError for a negative rate or NaN."""
    rates = np.asarray(rate, np.float64)
    if not np.all(rates >= 0.0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    small = np.minimum(rates, 10.0)
    uniforms = _Uniforms(generator, int(small.sum()) + 2 * rates.size)
    uniform = uniforms.draw()
    made = []
    for r in rates.ravel().tolist():
        if r >= 10.0:
            made.append(_poisson_rejection(r, uniform) if r < math.inf else math.inf)
            continue
        count = 0
        if r > 0.0:  # uniforms are multiplied until they fall below exp(-rate)
            end, product = math.exp(-r), uniform()
            while product > end:
                count += 1
                product *= uniform()
        made.append(count)
    uniforms.end()
    return np.array(made, np.float64).reshape(rates.shape)


_STIRLING = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling(k: float) -> float:
    """log k! less Stirling's approximation of it."""
    if k <= 9:
        return _STIRLING[int(k)]
    square = (k + 1.0) * (k + 1.0)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0)


def _binomial_rejection(n: float, p: float, uniform: Callable[[], float]) -> float:
    deviation = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    limit = 0.92 - 4.2 / b
    odds = p / (1.0 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    m = math.floor((n + 1.0) * p)
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        if us <= 0.0:
            continue
        k = math.floor((2.0 * a / us + b) * u + c)
        if us >= 0.07 and v <= limit:
            return k
        if k < 0 or k > n:
            continue
        v = v * alpha / (a / (us * us) + b)
        bound = (
            (m + 0.5) * math.log((m + 1.0) / (odds * (n - m + 1.0)))
            + (n + 1.0) * math.log((n - m + 1.0) / (n - k + 1.0))
            + (k + 0.5) * math.log(odds * (n - k + 1.0) / (k + 1.0))
            + _stirling(m) + _stirling(n - m) - _stirling(k) - _stirling(n - k)
        )  # fmt: skip
        if (math.log(v) if v else -math.inf) <= bound:
            return k


def _binomial_waiting(n: float, p: float, uniform: Callable[[], float]) -> float:
    """The number of geometric waiting times that fit in `n` trials."""
    log_failure = math.log1p(-p)
    trials, count = 0.0, 0
    while True:
        u = uniform()
        trials += math.ceil(math.log(u) / log_failure) if u else math.inf
        if trials > n:
            return count
        count += 1


def binomial(count: np.ndarray, prob: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    """A sample of the binomial distribution for each pair of a count and a probability, as float64.

    0 for counts and probabilities that are not positive, the count for probabilities of 1 and more, NaN for NaN.
    """
    counts, probs = np.broadcast_arrays(np.asarray(count, np.float64), np.asarray(prob, np.float64))
    uniforms = _Uniforms(generator, 2 * counts.size)
    uniform = uniforms.draw()
    made = []
    for n, p in zip(counts.ravel().tolist(), probs.ravel().tolist(), strict=True):
        if n <= 0.0 or p <= 0.0:
            made.append(0.0)
        elif p >= 1.0:
            made.append(n)
        elif not (p == p and n < math.inf):
            made.append(math.nan)
        else:
            less = min(p, 1.0 - p)
            sample = (_binomial_rejection if n * less >= 10.0 else _binomial_waiting)(n, less, uniform)
            made.append(sample if p <= 0.5 else n - sample)
    uniforms.end()
    return np.array(made, np.float64).reshape(counts.shape)
