"""The error function and its relatives.

erf and erfinv near zero are odd Chebyshev series; further out everything rests on erfcx(x) = exp(x^2) erfc(x), in the form of
Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < inf" (Math. Comp. 36, 1981).
"""

from __future__ import annotations

import math

import numpy as np

from . import coefficients as c
from .blocks import blockwise, chebyshev, horner, pieces

ROOT_HALF = math.sqrt(0.5)
ROOT_TWO = math.sqrt(2.0)


def _exp_minus_square(x: np.ndarray) -> np.ndarray:
    """exp(-x^2), with x^2 taken in two parts so that its rounding does not show."""
    x = np.minimum(np.abs(x), 40.0)
    head = np.rint(x * 16.0) / 16.0
    return np.exp(-head * head) * np.exp((head - x) * (head + x))


def _erfcx_positive(x: np.ndarray) -> np.ndarray:
    big = np.minimum(x, 1e300)
    return chebyshev(c.ERFCX, (big - 3.75) / (big + 3.75)) / (1.0 + 2.0 * x)


def erfcx(x: np.ndarray) -> np.ndarray:
    """exp(x^2) erfc(x)."""
    return pieces(
        x,
        (x >= 0, _erfcx_positive),
        (x < -26.7, lambda v: np.full_like(v, np.inf)),
        (x < 0, lambda v: 2.0 / _exp_minus_square(v) - _erfcx_positive(-v)),
    )


def _erf_near(x: np.ndarray) -> np.ndarray:
    return x * chebyshev(c.ERF, 2.0 * (x * x) - 1.0)


def erf(x: np.ndarray) -> np.ndarray:
    """2 / sqrt(pi) times the integral of exp(-u^2) from 0 to x."""
    size = np.abs(x)
    return pieces(
        x,
        (size <= 1, _erf_near),
        (size > 1, lambda v: np.copysign(1.0 - _exp_minus_square(v) * _erfcx_positive(np.abs(v)), v)),
    )


def _erf_single(x: np.ndarray) -> np.ndarray:
    """erf in single precision: one quotient of polynomials in x^2."""
    x = np.clip(x, np.float32(-4), np.float32(4))
    s = x * x
    x *= horner(c.ERF_SINGLE_P, s)
    x /= horner(c.ERF_SINGLE_Q, s)
    return np.clip(x, np.float32(-1), np.float32(1), out=x)


def erfc(x: np.ndarray) -> np.ndarray:
    """1 - erf(x), without cancellation for large x."""
    return pieces(
        x,
        (np.abs(x) <= 0.5, lambda v: 1.0 - _erf_near(v)),
        (x > 0, lambda v: _exp_minus_square(v) * _erfcx_positive(v)),
        (x < 0, lambda v: 2.0 - _exp_minus_square(v) * _erfcx_positive(-v)),
    )


def _erfc_inverse(p: np.ndarray) -> np.ndarray:
    """The x with erfc(x) = p, for 0 <= p <= 0.25; NaN for negative p."""
    r = np.sqrt(-np.log(p))
    return pieces(
        r,
        (r <= 3, lambda v: v * chebyshev(c.ERFCINV_NEAR, (v - 1.1) * (2 / 1.9) - 1.0)),
        (r <= 8, lambda v: v * chebyshev(c.ERFCINV_MIDDLE, (v - 3.0) * 0.4 - 1.0)),
        (r <= 28, lambda v: v * chebyshev(c.ERFCINV_FAR, (v - 8.0) * 0.1 - 1.0)),
    )


def erfinv(y: np.ndarray) -> np.ndarray:
    """The x with erf(x) = y; infinite at -1 and 1, NaN outside."""
    size = np.abs(y)
    return pieces(
        y,
        (size <= 0.75, lambda v: v * chebyshev(c.ERFINV, (v * v) * (2 / 0.5625) - 1.0)),
        (size > 0.75, lambda v: np.copysign(_erfc_inverse(1.0 - np.abs(v)), v)),
    )


def ndtri(p: np.ndarray) -> np.ndarray:
    """The x where the normal distribution function is p; NaN outside [0, 1]."""
    return pieces(
        p,
        (np.abs(2.0 * p - 1.0) <= 0.75, lambda v: ROOT_TWO * erfinv(2.0 * v - 1.0)),
        (p < 0.5, lambda v: -ROOT_TWO * _erfc_inverse(2.0 * v)),
        (p > 0.5, lambda v: ROOT_TWO * _erfc_inverse(2.0 * (1.0 - v))),
    )


def log_ndtr(x: np.ndarray) -> np.ndarray:
    """The logarithm of the normal distribution function."""
    return pieces(
        x,
        (x < -1, lambda v: np.log(0.5 * erfcx(-v * ROOT_HALF)) - 0.5 * v * v),
        (x >= -1, lambda v: np.log1p(-0.5 * erfc(v * ROOT_HALF))),
    )


erf_array = blockwise(erf, single=_erf_single)
"""erf of a floating-point array, in its precision."""
