"""Bessel functions of orders 0 and 1, modified ones, and the Airy function Ai.

Near zero they are Chebyshev series (after taking out what is singular there), further out amplitude and phase with the parts P and Q
of Abramowitz and Stegun 9.2.5, 9.2.6 and 10.4.59 to 10.4.60, which are Chebyshev series in the inverse argument.
Of infinite arguments the functions that grow or oscillate are NaN, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from . import coefficients as c
from .blocks import chebyshev, chebyshev_single, pieces

_TWO_OVER_PI = 2.0 / math.pi
_NEAR_SQUARE = 32.0


def _t(x: np.ndarray) -> np.ndarray:
    return x * x / _NEAR_SQUARE - 1.0


def _waves(x: np.ndarray, p: tuple[float, ...], q: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    inverse = 1.0 / x
    t = 128.0 * inverse * inverse - 1.0
    return np.sqrt(_TWO_OVER_PI * inverse), chebyshev(p, t), chebyshev(q, t) * inverse


def _order_0(x: np.ndarray, second: bool) -> np.ndarray:
    """J0 or Y0 for 8 <= x < inf. The phase x - pi/4 is taken through sin x and cos x."""
    size, p, q = _waves(x, c.J0_P, c.J0_Q)
    sine, cosine = np.sin(x), np.cos(x)
    a, b = (cosine + sine) * math.sqrt(0.5), (sine - cosine) * math.sqrt(0.5)
    return size * (b * p + a * q) if second else size * (a * p - b * q)


def _order_1(x: np.ndarray, second: bool) -> np.ndarray:
    """J1 or Y1 for 8 <= x < inf, with the phase x - 3 pi/4."""
    size, p, q = _waves(x, c.J1_P, c.J1_Q)
    sine, cosine = np.sin(x), np.cos(x)
    a, b = (sine - cosine) * math.sqrt(0.5), -(sine + cosine) * math.sqrt(0.5)
    return size * (b * p + a * q) if second else size * (a * p - b * q)


def j0(x: np.ndarray) -> np.ndarray:
    """The Bessel function of the first kind of order 0."""
    x = np.abs(x)
    return pieces(
        x,
        (x <= 8, lambda v: chebyshev(c.J0_NEAR, _t(v))),
        (x > 8, lambda v: _order_0(v, False)),
    )


def j1(x: np.ndarray) -> np.ndarray:
    """The Bessel function of the first kind of order 1."""
    size = np.abs(x)
    return pieces(
        x,
        (size <= 8, lambda v: v * chebyshev(c.J1_NEAR, _t(v))),
        (size > 8, lambda v: np.copysign(1.0, v) * _order_1(np.abs(v), False)),
    )


def y0(x: np.ndarray) -> np.ndarray:
    """The Bessel function of the second kind of order 0; -inf at 0, NaN below."""
    return pieces(
        x,
        (x < 0, lambda v: np.full_like(v, np.nan)),
        (x <= 8, lambda v: chebyshev(c.Y0_NEAR, _t(v)) + _TWO_OVER_PI * np.log(v) * j0(v)),
        (x > 8, lambda v: _order_0(v, True)),
    )


def y1(x: np.ndarray) -> np.ndarray:
    """The Bessel function of the second kind of order 1; -inf at 0, NaN below."""

    def near(v: np.ndarray) -> np.ndarray:
        return v * chebyshev(c.Y1_NEAR, _t(v)) + _TWO_OVER_PI * (np.log(v) * j1(v) - 1.0 / v)

    return pieces(
        x,
        (x < 0, lambda v: np.full_like(v, np.nan)),
        (x == 0, lambda v: np.full_like(v, -np.inf)),
        (x <= 8, near),
        (x > 8, lambda v: _order_1(v, True)),
    )


def i0e(x: np.ndarray) -> np.ndarray:
    """exp(-|x|) I0(x)."""
    x = np.abs(x)
    return pieces(
        x,
        (x <= 8, lambda v: chebyshev(c.I0_NEAR, 0.25 * v - 1.0)),
        (x > 8, lambda v: chebyshev(c.I0_FAR, 16.0 / v - 1.0) / np.sqrt(v)),
    )


def i0(x: np.ndarray) -> np.ndarray:
    """The modified Bessel function of the first kind of order 0."""
    return _grown(x, i0e(x))


def i1e(x: np.ndarray) -> np.ndarray:
    """exp(-|x|) I1(x)."""
    size = np.abs(x)
    return pieces(
        x,
        (size <= 8, lambda v: v * chebyshev(c.I1_NEAR, 0.25 * np.abs(v) - 1.0)),
        (size > 8, lambda v: np.copysign(chebyshev(c.I1_FAR, 16.0 / np.abs(v) - 1.0) / np.sqrt(np.abs(v)), v)),
    )


def i1(x: np.ndarray) -> np.ndarray:
    """The modified Bessel function of the first kind of order 1."""
    return _grown(x, i1e(x))


def _grown(x: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    """exp(|x|) times a scaled value, in two steps, so that only the product may overflow; NaN where x is infinite."""
    half = np.exp(0.5 * np.abs(x))
    return half * (half * scaled)


def _single(
    near: tuple[float, ...], far: tuple[float, ...], odd: bool, scaled: bool
) -> Callable[[np.ndarray], np.ndarray]:
    """I0 or I1, or the scaled form, of float32 vectors; as in PyTorch, I1 has shorter series there, which decides last digits."""
    least = 2.0**-26 if odd else 0.0

    def function(x: np.ndarray) -> np.ndarray:
        size = np.abs(x)
        growth = np.float32(1) if scaled else np.exp(size.astype(np.float64)).astype(np.float32)
        inner = np.minimum(size, np.float32(8))
        outer = np.maximum(size, np.float32(8))
        close = chebyshev_single(near, inner / np.float32(2) - np.float32(2), least)
        close = growth * inner * close if odd else growth * close
        away = growth * chebyshev_single(far, np.float32(32) / outer - np.float32(2), least) / np.sqrt(outer)
        value = np.where(size <= 8, close, away)
        return np.where(np.isnan(x), x, np.copysign(value, x) if odd else value)

    return function


i0_single = _single(c.I0_NEAR, c.I0_FAR, False, False)
i0e_single = _single(c.I0_NEAR, c.I0_FAR, False, True)
i1_single = _single(c.I1_NEAR, c.I1_FAR, True, False)
i1e_single = _single(c.I1_NEAR, c.I1_FAR, True, True)


def k0e(x: np.ndarray) -> np.ndarray:
    """exp(x) K0(x); infinite at 0, NaN below."""
    return _second_kind(x, lambda v: chebyshev(c.K0_NEAR, 0.5 * v * v - 1.0) - np.log(0.5 * v) * i0(v), c.K0_FAR)


def k1e(x: np.ndarray) -> np.ndarray:
    """exp(x) K1(x); infinite at 0, NaN below."""
    return _second_kind(x, lambda v: np.log(0.5 * v) * i1(v) + chebyshev(c.K1_NEAR, 0.5 * v * v - 1.0) / v, c.K1_FAR)


def _second_kind(x: np.ndarray, near: Callable[[np.ndarray], np.ndarray], far: tuple[float, ...]) -> np.ndarray:
    return pieces(
        x,
        (x < 0, lambda v: np.full_like(v, np.nan)),
        (x == 0, lambda v: np.full_like(v, np.inf)),
        (x <= 2, lambda v: near(v) * np.exp(v)),
        (x > 2, lambda v: chebyshev(far, 4.0 / v - 1.0) / np.sqrt(v)),
    )


def k0(x: np.ndarray) -> np.ndarray:
    """The modified Bessel function of the second kind of order 0."""
    return k0e(x) * np.exp(-x)


def k1(x: np.ndarray) -> np.ndarray:
    """The modified Bessel function of the second kind of order 1."""
    return k1e(x) * np.exp(-x)


def spherical_j0(x: np.ndarray) -> np.ndarray:
    """sin(x) / x, 1 at 0."""
    safe = np.where(x == 0, 1.0, x)
    return np.where(x == 0, 1.0, np.where(np.isinf(x), 0.0, np.sin(safe) / safe))


_ZETA_2 = 2.0 / 3.0 * 2.0**1.5
_ZETA_5 = 2.0 / 3.0 * 5.0**1.5


def airy(x: np.ndarray) -> np.ndarray:
    """The Airy function Ai."""

    def decaying(v: np.ndarray) -> np.ndarray:
        z = 2.0 / 3.0 * v * np.sqrt(v)
        return (
            chebyshev(c.AIRY_FAR, 2.0 * _ZETA_2 / z - 1.0)
            * np.exp(-z)
            / (2.0 * math.sqrt(math.pi) * np.sqrt(np.sqrt(v)))
        )

    def oscillating(v: np.ndarray) -> np.ndarray:
        v = -v
        z = 2.0 / 3.0 * v * np.sqrt(v)
        t = 2.0 * (_ZETA_5 / z) ** 2 - 1.0
        waves = np.sin(z + math.pi / 4) * chebyshev(c.AIRY_P, t) - np.cos(z + math.pi / 4) * chebyshev(c.AIRY_Q, t) / z
        return waves / (math.sqrt(math.pi) * np.sqrt(np.sqrt(v)))

    return pieces(
        x,
        (np.isinf(x), lambda v: np.full_like(v, np.nan)),
        (x > 2, decaying),
        (x >= -5, lambda v: chebyshev(c.AIRY_NEAR, (v + 1.5) / 3.5)),
        (x < -5, oscillating),
    )
