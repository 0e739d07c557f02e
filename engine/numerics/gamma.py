"""The gamma function's relatives: its logarithm, digamma, the Hurwitz zeta function, polygamma, incomplete gamma functions.

Asymptotic series, recurrences and reflections are those of Abramowitz and Stegun, "Handbook of Mathematical Functions", chapter 6
(6.1.41, 6.3.18, 6.3.7, 6.5.29, 6.5.31); zeta is summed after Euler and Maclaurin (23.1.30).
"""

from __future__ import annotations

import math

import numpy as np

from . import coefficients as c
from .blocks import chebyshev, pieces

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_MANY = 100_000
"""The most terms of a sum."""


def _sin_pi(x: np.ndarray) -> np.ndarray:
    """|sin(pi x)|."""
    return np.sin(np.pi * np.abs(x - np.rint(x)))


def _stirling(x: np.ndarray) -> np.ndarray:
    """lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2), for x >= 8."""
    inverse = 1.0 / (x * x)
    total = np.zeros_like(x)
    for k in range(8, 0, -1):
        total = total * inverse + _BERNOULLI[k - 1] / (2 * k * (2 * k - 1))
    return total / x


def _lgamma_positive(x: np.ndarray) -> np.ndarray:
    def middle(v: np.ndarray) -> np.ndarray:
        product = np.ones_like(v)
        for _ in range(5):
            above = v > 3
            v = np.where(above, v - 1.0, v)
            product = np.where(above, product * v, product)
        return np.log(product) + (v - 1.0) * (v - 2.0) * chebyshev(c.LGAMMA, v - 2.0)

    def near_zero(v: np.ndarray) -> np.ndarray:
        return v * (v - 1.0) * chebyshev(c.LGAMMA, v - 1.0) - np.log(v)

    def far(v: np.ndarray) -> np.ndarray:
        return (v - 0.5) * np.log(v) - v + _HALF_LOG_TWO_PI + _stirling(v)

    return pieces(x, (x < 1, near_zero), (x < 8, middle), (np.isfinite(x), far), (x > 0, np.copy))


def lgamma(x: np.ndarray) -> np.ndarray:
    """log |gamma(x)|; infinite at 0 and the negative integers."""

    def reflected(v: np.ndarray) -> np.ndarray:
        return np.log(np.pi / _sin_pi(v)) - _lgamma_positive(1.0 - v)

    return pieces(
        x,
        (x > 0, _lgamma_positive),
        ((x == np.rint(x)) | np.isinf(x), lambda v: np.full_like(v, np.inf)),
        (x < 0, reflected),
    )


def _digamma_positive(x: np.ndarray) -> np.ndarray:
    def middle(v: np.ndarray) -> np.ndarray:
        total = np.zeros_like(v)
        for _ in range(8):
            above, below = v > 2, v < 1
            total = np.where(below, total - 1.0 / v, total)
            v = np.where(above, v - 1.0, np.where(below, v + 1.0, v))
            total = np.where(above, total + 1.0 / v, total)
        root = (v - c.DIGAMMA_ROOT[0]) - c.DIGAMMA_ROOT[1]
        return total + root * chebyshev(c.DIGAMMA, 2.0 * v - 3.0)

    def far(v: np.ndarray) -> np.ndarray:
        inverse = 1.0 / (v * v)
        total = np.zeros_like(v)
        for k in range(8, 0, -1):
            total = (total + _BERNOULLI[k - 1] / (2 * k)) * inverse
        return np.log(v) - 0.5 / v - total

    return pieces(x, (x < 10, middle), (x >= 10, far))


def digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of lgamma; NaN at the negative integers, infinite at 0 with the opposite of its sign."""

    def reflected(v: np.ndarray) -> np.ndarray:
        turn = v - np.rint(v)
        return _digamma_positive(1.0 - v) - np.pi / np.tan(np.pi * turn)

    return pieces(
        x,
        (x > 0, _digamma_positive),
        (x == 0, lambda v: -np.copysign(np.inf, v)),
        ((x == np.rint(x)) | np.isinf(x), lambda v: np.full_like(v, np.nan)),
        (x < 0, reflected),
    )


def digamma_single(x: np.ndarray) -> np.ndarray:
    """digamma of float32 vectors: moved up to 10 or beyond, then the asymptotic series."""
    one = np.float32(1)
    positive = np.where(x > 0, x, one - x)
    total = np.zeros_like(x)
    for _ in range(10):
        low = positive < 10
        if not low.any():
            break
        total = np.where(low, total - one / positive, total)
        positive = np.where(low, positive + one, positive)
    inverse = one / (positive * positive)
    series = np.zeros_like(x)
    for k in range(7, 0, -1):
        series = series * inverse + np.float32(_BERNOULLI[k - 1] / (2 * k))
    value = total + np.log(positive) - np.float32(0.5) / positive - inverse * series
    turn = x.astype(np.float64)
    turn -= np.rint(turn)
    value = np.where(x < 0, value - (np.pi / np.tan(np.pi * turn)).astype(np.float32), value)
    value = np.where((x < 0) & (turn == 0), np.float32(np.nan), value)
    value = np.where(x == 0, -np.copysign(np.float32(np.inf), x), value)
    return np.where(np.isposinf(x), x, value)


def zeta(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The Hurwitz zeta function: the sum of (q + k)^-s over k >= 0, for s > 1.

    Infinite at s = 1 and at q = 0, -1, ...; NaN for s < 1, and for negative q with an s that is no integer.
    """
    s, q = np.broadcast_arrays(s, q)
    pole = (q <= 0) & (q == np.rint(q))
    undefined = (s < 1) | ((q < 0) & ~pole & (s != np.rint(s))) | np.isnan(s) | np.isnan(q)
    usable = ~(pole | undefined | (s == 1))
    w = np.where(usable, q, 1.0)
    power = np.where(usable, s, 2.0)
    total = np.zeros_like(w)
    for k in range(_MANY):
        small = w < 12.0
        if k >= 12:
            if not small.any():
                break
        else:
            small[...] = w < 1e8
        total = np.where(small, total + np.power(w, -power), total)
        w = np.where(small, w + 1.0, w)
    last = np.power(w, -power)
    total = total + last * w / (power - 1.0) + 0.5 * last
    factor, down = power.copy(), last / w
    for k in range(1, 11):
        total = total + _BERNOULLI[k - 1] / math.factorial(2 * k) * factor * down
        factor = factor * (power + (2 * k - 1)) * (power + 2 * k)
        down = down / (w * w)
    total = np.where(
        np.isinf(q) & (q > 0), 0.0, np.where(np.isinf(power), np.power(np.where(usable, q, 1.0), -power), total)
    )
    return np.where(undefined, np.nan, np.where(pole | (s == 1), np.inf, total))


def polygamma(x: np.ndarray, n: int) -> np.ndarray:
    """The n-th derivative of digamma."""
    if n == 0:
        return digamma(x)
    return (-1.0) ** (n + 1) * math.gamma(n + 1) * zeta(np.full_like(x, n + 1.0), x)


def _prefactor(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x^a exp(-x) / gamma(a + 1)."""
    large = a >= 10
    at = np.where(large, a, 10.0)
    excess = (x - at) / at
    near = np.abs(excess) < 0.5
    exponent = np.where(near, np.log1p(np.where(near, excess, 0.0)) - excess, np.log(x / at) - excess)
    for_large = np.exp(at * exponent - _stirling(at)) / np.sqrt(2 * np.pi * at)
    small = np.where(large, 1.0, a)
    for_small = np.exp(small * np.log(x) - x - lgamma(small + 1.0))
    return np.where(large, for_large, for_small)


def _lower_series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    total, term = np.ones_like(a), np.ones_like(a)
    for k in range(1, _MANY):
        term = term * x / (a + k)
        total = total + term
        if not (term > total * 1e-17).any():
            break
    return _prefactor(a, x) * total


def _upper_fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Legendre's continued fraction by Lentz's method."""
    tiny = 1e-300
    b = x + 1.0 - a
    outer = 1.0 / tiny
    d = 1.0 / np.where(b == 0, tiny, b)
    total = d.copy()
    c_ = np.full_like(x, outer)
    for k in range(1, _MANY):
        numerator = -k * (k - a)
        b = b + 2.0
        d = numerator * d + b
        d = 1.0 / np.where(np.abs(d) < tiny, tiny, d)
        c_ = b + numerator / c_
        c_ = np.where(np.abs(c_) < tiny, tiny, c_)
        step = c_ * d
        total = total * step
        if not (np.abs(step - 1.0) > 4e-16).any():
            break
    return _prefactor(a, x) * a * total


def _incomplete(a: np.ndarray, x: np.ndarray, upper: bool) -> np.ndarray:
    a, x = np.broadcast_arrays(a, x)
    out = np.full(a.shape, np.nan)
    ordinary = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    series = ordinary & ((x < a + 1.0) | (x < 1.1))
    fraction = ordinary & ~series
    if series.any():
        value = _lower_series(a[series], x[series])
        out[series] = 1.0 - value if upper else value
    if fraction.any():
        value = _upper_fraction(a[fraction], x[fraction])
        out[fraction] = value if upper else 1.0 - value
    small_x = ordinary & (x < 1.1) & series
    if upper and small_x.any():
        out[small_x] = _upper_near_zero(a[small_x], x[small_x], out[small_x])
    zero = (x == 0) & (a > 0)
    done = ((a == 0) & (x > 0)) | (np.isinf(x) & (a >= 0) & np.isfinite(a))
    out[zero | (np.isinf(a) & (a > 0) & np.isfinite(x) & (x >= 0))] = 1.0 if upper else 0.0
    out[done] = 0.0 if upper else 1.0
    return out


def _upper_near_zero(a: np.ndarray, x: np.ndarray, by_difference: np.ndarray) -> np.ndarray:
    """1 - P where P is near 1: 1 - x^a / gamma(a + 1) less the rest of the series, without cancellation."""
    total, term = np.zeros_like(a), np.ones_like(a)
    for k in range(1, 60):
        term = -term * x / k
        total = total + term / (a + k)
    power = -np.expm1(a * np.log(x) - lgamma(a + 1.0))
    careful = power - a * np.exp(a * np.log(x) - lgamma(a + 1.0)) * total
    return np.where(by_difference < 0.5, careful, by_difference)


def gammainc(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The regularised lower incomplete gamma function P(a, x)."""
    return _incomplete(a, x, upper=False)


def gammaincc(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return _incomplete(a, x, upper=True)
