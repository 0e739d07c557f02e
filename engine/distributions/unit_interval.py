"""Numbers in [0, 1]: beta, Kumaraswamy, continuous Bernoulli, relaxed Bernoulli."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..nn import functional
from ..ops import functions as F
from ..ops.random import rand
from ..shapes import Size
from ..tensor import Tensor
from . import constraints
from .chances import Chances, one_of
from .composed import TransformedDistribution
from .distribution import ExponentialFamily
from .location_scale import Uniform
from .scalar_transforms import AffineTransform, PowerTransform, SigmoidTransform
from .simplex import Dirichlet
from .utils import broadcast_all, clamp_probs, euler_constant, lazy_property, logits_to_probs

_TWO_SHAPES = {"concentration1": constraints.positive, "concentration0": constraints.positive}
_BINARY = {"probs": constraints.unit_interval, "logits": constraints.real}


class Beta(ExponentialFamily):
    """Density proportional to x^(concentration1 - 1) (1 - x)^(concentration0 - 1)."""

    arg_constraints = _TWO_SHAPES
    support = constraints.unit_interval
    has_rsample = True
    _batched = {}

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        pair = F.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(pair, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        return new

    @property
    def concentration1(self) -> Tensor:
        """The exponent of x, plus 1."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The exponent of 1 - x, plus 1."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(F.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return F.lgamma(x) + F.lgamma(y) - F.lgamma(x + y)


def _moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    """The n-th moment of the Kumaraswamy distribution, b B(1 + n / a, b)."""
    first = 1 + n / a
    return b * F.exp(F.lgamma(first) + F.lgamma(b) - F.lgamma(first + b))


class Kumaraswamy(TransformedDistribution):
    """Probability 1 - (1 - x^concentration1)^concentration0 of values up to x: like a beta, with closed formulas."""

    arg_constraints = _TWO_SHAPES
    support = constraints.unit_interval
    has_rsample = True
    _batched = {"concentration1": 0, "concentration0": 0}

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            F.full_like(self.concentration0, 0), F.full_like(self.concentration0, 1), validate_args=validate_args
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return F.where((a < 1) | (b < 1), math.nan, mode)

    @property
    def variance(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = F.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - F.log(a) - F.log(b)


class ContinuousBernoulli(Chances, ExponentialFamily):
    """Density proportional to probs^x (1 - probs)^(1 - x) on [0, 1] (G. Loaiza-Ganem and J. Cunningham, 2019).

    Between `lims`, where the exact formulas divide 0 by 0, series are used.
    """

    arg_constraints = _BINARY
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"probs": 0, "logits": 0, "_param": 0}
    _kept = ("_lims",)

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ):  # fmt: skip
        one_of(probs, logits)
        if probs is not None:
            (probs,) = broadcast_all(probs)
            if validate_args is not None and not _BINARY["probs"].check(probs).all():
                raise ValueError("The parameter probs has invalid values")
            self._take(probs=clamp_probs(probs))
        else:
            self._take(logits=broadcast_all(logits)[0])
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        """The parameter as a probability, inside of (0, 1)."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        """The parameter, moved out of the region where formulas break down."""
        return F.where(self._outside(), self.probs, self._lims[0] * F.ones_like(self.probs))

    def _log_constant(self) -> Tensor:
        p = self._cut()
        below = F.where(p <= 0.5, p, 0.0)
        above = F.where(p >= 0.5, p, 1.0)
        log_norm = F.log(F.abs(F.log1p(-p) - F.log(p))) - F.where(
            p <= 0.5, F.log1p(-2.0 * below), F.log(2.0 * above - 1.0)
        )
        x = (self.probs - 0.5).pow(2)
        return F.where(self._outside(), log_norm, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        p = self._cut()
        exact = p / (2.0 * p - 1.0) + 1.0 / (F.log1p(-p) - F.log(p))
        x = self.probs - 0.5
        return F.where(self._outside(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        p = self._cut()
        exact = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / (F.log1p(-p) - F.log(p)).pow(2)
        x = (self.probs - 0.5).pow(2)
        return F.where(self._outside(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return self._log_constant() - functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut()
        exact = (F.pow(p, value) * F.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = F.where(self._outside(), exact, value)
        return F.where(value <= 0.0, 0.0, F.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut()
        low = F.log1p(-p)
        exact = (F.log1p(-p + value * (2.0 * p - 1.0)) - low) / (F.log(p) - low)
        return F.where(self._outside(), exact, value)

    def entropy(self) -> Tensor:
        low = F.log1p(-self.probs)
        return self.mean * (low - F.log(self.probs)) - self._log_constant() - low

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x = natural_params[0]
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = F.where(outside, x, (self._lims[0] - 0.5) * F.ones_like(x))
        log_norm = F.log(F.abs(F.expm1(cut))) - F.log(F.abs(cut))
        return F.where(outside, log_norm, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)


class LogitRelaxedBernoulli(Chances):
    """The log odds of a relaxed Bernoulli variable (C. Maddison, A. Mnih and Y. W. Teh, 2017)."""

    arg_constraints = _BINARY
    support = constraints.real
    has_rsample = True
    _batched = {"probs": 0, "logits": 0, "_param": 0}
    _kept = ("temperature",)

    def __init__(self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self.temperature = temperature
        one_of(probs, logits)
        if probs is not None:
            self._take(probs=broadcast_all(probs)[0])
        else:
            self._take(logits=broadcast_all(logits)[0])
        super().__init__(self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """A coin softened by `temperature`: numbers in (0, 1), near 0 and 1 where the temperature is near 0."""

    arg_constraints = _BINARY
    support = constraints.unit_interval
    has_rsample = True
    _batched = {}

    def __init__(self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(
            LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args
        )

    @property
    def temperature(self) -> Tensor:
        """How soft."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities of 1."""
        return self.base_dist.probs
