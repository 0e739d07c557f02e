"""Orthogonal polynomials of a degree given element by element, by their three-term recurrences (Abramowitz and Stegun 22.7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Step = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _recurrence(
    first: Callable[[np.ndarray], np.ndarray], step: Step
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The polynomial with P_0 = 1, P_1 = first(x), P_(k+1) = step(k, x, P_k, P_(k-1)); 0 for negative degrees."""

    def polynomial(x: np.ndarray, n: np.ndarray) -> np.ndarray:
        x, n = np.broadcast_arrays(x, n)
        degree = np.trunc(n)
        out = np.where(degree < 0, 0.0, np.where(degree == 0, 1.0, np.nan))
        before, here = np.ones_like(x), first(x)
        top = degree[np.isfinite(degree)].max(initial=0)
        k = 1
        while k <= top:
            out = np.where(degree == k, here, out)
            before, here = here, step(k, x, here, before)
            k += 1
        return out

    return polynomial


def _doubling(k: int, x: np.ndarray, here: np.ndarray, before: np.ndarray) -> np.ndarray:
    return 2.0 * x * here - before


def _shifted(polynomial: Callable[..., np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda x, n: polynomial(2.0 * x - 1.0, n)


chebyshev_t = _recurrence(lambda x: x.copy(), _doubling)
chebyshev_u = _recurrence(lambda x: 2.0 * x, _doubling)
chebyshev_v = _recurrence(lambda x: 2.0 * x - 1.0, _doubling)
chebyshev_w = _recurrence(lambda x: 2.0 * x + 1.0, _doubling)
shifted_chebyshev_t, shifted_chebyshev_u = _shifted(chebyshev_t), _shifted(chebyshev_u)
shifted_chebyshev_v, shifted_chebyshev_w = _shifted(chebyshev_v), _shifted(chebyshev_w)
hermite_h = _recurrence(lambda x: 2.0 * x, lambda k, x, here, before: 2.0 * x * here - 2.0 * k * before)
hermite_he = _recurrence(lambda x: x.copy(), lambda k, x, here, before: x * here - k * before)
laguerre_l = _recurrence(lambda x: 1.0 - x, lambda k, x, here, before: ((2 * k + 1 - x) * here - k * before) / (k + 1))
legendre_p = _recurrence(lambda x: x.copy(), lambda k, x, here, before: ((2 * k + 1) * x * here - k * before) / (k + 1))
