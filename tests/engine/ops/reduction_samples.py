"""Gradient samples of reductions and scans; zeros and equal elements where they matter."""

from __future__ import annotations

from tapescope import engine as torch

from ..gradient_samples import call


def with_zero(x):
    """One element less itself: a zero that has a gradient."""
    zero = torch.ones(x.shape, dtype=x.dtype)
    zero[0, 1] = 0
    return x * zero


SAMPLES = {
    "prod": lambda t: (lambda x: call("prod", (1,), False)(with_zero(x)), [t(2, 3)]),
    "cumsum": lambda t: (call("cumsum", 1), [t(2, 3)]),
    "cumprod": lambda t: (lambda x: call("cumprod", 1)(with_zero(x)), [t(2, 4)]),
    "cummax": lambda t: (lambda x: call("cummax", 1)(x)[0], [t(2, 4)]),
    "cummin": lambda t: (lambda x: call("cummin", 0)(x)[0], [t(3, 2)]),
    "logcumsumexp": lambda t: (call("logcumsumexp", 1), [t(2, 3)]),
    "linear_scan": lambda t: (call("linear_scan", 1, True), [t(2, 5), t(2, 5, seed=1)]),
}
