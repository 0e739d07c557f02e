"""Angles: the von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..dtypes import bool_, float64
from ..ops import functions as F
from ..ops.random import rand
from ..shapes import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property


class VonMises(Distribution):
    """Density proportional to exp(concentration cos(x - loc)) on the circle; angles in radians, samples in [-pi, pi).

    Samples by rejection from a wrapped Cauchy distribution (D. Best and N. Fisher, 1979), in double precision on the CPU.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _batched = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    @lazy_property
    def _proposal_r(self) -> Any:
        kappa = self.concentration.cpu().to(float64)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # For small concentrations the difference above has no digits left; r is 1 / kappa + kappa there.
        return F.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        kappa = self.concentration
        log_bessel = F.i0e(kappa).log() + kappa
        return kappa * F.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, kappa = self.loc.cpu().to(float64), self.concentration.cpu().to(float64)
            x = F.zeros(shape, dtype=float64)
            done = F.zeros(shape, dtype=bool_)
            while not done.all():
                u1, u2, u3 = rand((3, *shape), dtype=float64).unbind()
                z = F.cos(math.pi * u1)
                f = (1 + self._proposal_r * z) / (self._proposal_r + z)
                c = kappa * (self._proposal_r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = F.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype).to(self.loc.device)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The circular variance, 1 - I1(concentration) / I0(concentration)."""
        return 1 - F.i1e(self.concentration) / F.i0e(self.concentration)
