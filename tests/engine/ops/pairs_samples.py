"""Gradient samples of distances of pairs."""

from __future__ import annotations

from ..gradient_samples import call

SAMPLES = {"cdist": lambda t: (call("cdist", 3.0, False), [t(2, 3), t(4, 3, seed=1)])}
