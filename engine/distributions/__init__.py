"""`torch.distributions`: probability distributions with log densities, samples, gradients and divergences.

Files are grouped by mathematics: location and scale, positive numbers, the gamma family, the unit interval, counts and
categories, the simplex, vectors and matrices, angles; then transforms, constraints and divergences.  This file assembles.
"""

from __future__ import annotations

from . import constraint_registry, constraints, distribution, kl, transforms, utils
from .constraint_registry import biject_to, transform_to
from .distribution import Distribution, ExponentialFamily
from .kl import kl_divergence, register_kl
from .modules import MODULES as _MODULES, install as _install
from .transforms import *

_SHOWN = [
    c
    for classes in _MODULES.values()
    for c in classes
    if c.__name__ not in ("LogitRelaxedBernoulli", "ExpRelaxedCategorical")
]
globals().update(_install(__name__))
globals().update({c.__name__: c for c in _SHOWN})

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "Distribution", *sorted(c.__name__ for c in _SHOWN), "biject_to", "kl_divergence", "register_kl", "transform_to",
    *transforms.__all__,
]  # fmt: skip
