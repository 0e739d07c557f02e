"""The gamma distribution and what is made of gammas: chi-squared, F, Student's t, inverse gamma."""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import finfo
from ..ops import functions as F
from ..shapes import Size
from ..tensor import Tensor
from . import constraints
from .composed import TransformedDistribution
from .distribution import Distribution, ExponentialFamily
from .scalar_transforms import PowerTransform
from .utils import _standard_normal, broadcast_all

_SHAPE_RATE = {"concentration": constraints.positive, "rate": constraints.positive}
_BATCHED = {"concentration": 0, "rate": 0}


class Gamma(ExponentialFamily):
    """The gamma distribution of shape parameter `concentration` and rate `rate` (one over the scale)."""

    arg_constraints = _SHAPE_RATE
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = _BATCHED

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        value = F._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # 0 is outside of the support; the gradient stays
        return value

    def log_prob(self, value: Any) -> Tensor:
        value = F.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        alpha = self.concentration
        return (
            F.xlogy(alpha, self.rate) + F.xlogy(alpha - 1, value) - self.rate * value - F.lgamma(alpha)
        )  # fmt: skip

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return F.igamma(self.concentration.expand((self.rate * value).shape), self.rate * value)

    def entropy(self) -> Tensor:
        alpha = self.concentration
        return alpha - F.log(self.rate) + F.lgamma(alpha) + (1.0 - alpha) * F.digamma(alpha)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return F.lgamma(x + 1) + (x + 1) * F.log(-y.reciprocal())


class Chi2(Gamma):
    """The sum of `df` squared standard normals."""

    arg_constraints = {"df": constraints.positive}
    _batched = _BATCHED

    def __init__(self, df: Any, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared variables, each divided by its degrees of freedom, `df1` and `df2`."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _batched = {"df1": 0, "df2": 0}

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._gamma1 = self._gamma1.expand(batch_shape)
        new._gamma2 = self._gamma2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return F.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return F.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Tensor:
        a, b = self.df1, self.df2
        value = 2 * b.pow(2) * (a + b - 2) / (a * (b - 2).pow(2) * (b - 4))
        return F.where(b > 4, value, math.nan)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        x1 = self._gamma1.rsample(sample_shape).view(shape)
        x2 = self._gamma2.rsample(sample_shape).view(shape)
        tiny = finfo(x2.dtype).tiny
        x2.detach().clamp_(min=tiny)
        y = x1 / x2
        y.detach().clamp_(min=tiny)
        return y

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
        return a * ratio.log() + (a - 1) * F.log(value) - (a + b) * F.log1p(ratio * value) - log_beta


class StudentT(Distribution):
    """Student's t with `df` degrees of freedom, moved by `loc` and stretched by `scale`."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return F.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        df = self.df
        finite = self.scale.pow(2) * df / (df - 2)
        return F.where(df <= 1, math.nan, F.where(df > 2, finite, math.inf))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        x = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * F.rsqrt(z / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        z = (
            self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
            + F.lgamma(0.5 * self.df) - F.lgamma(0.5 * (self.df + 1.0))
        )  # fmt: skip
        return -0.5 * (self.df + 1.0) * F.log1p(y**2.0 / self.df) - z

    def entropy(self) -> Tensor:
        log_beta = F.lgamma(0.5 * self.df) + math.lgamma(0.5) - F.lgamma(0.5 * (self.df + 1))
        slope = F.digamma(0.5 * (self.df + 1)) - F.digamma(0.5 * self.df)
        return self.scale.log() + 0.5 * (self.df + 1) * slope + 0.5 * self.df.log() + log_beta


class InverseGamma(TransformedDistribution):
    """One over a gamma variable."""

    arg_constraints = _SHAPE_RATE
    support = constraints.positive
    has_rsample = True
    _batched = {}

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The shape parameter."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma variable: the scale of this one."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        return F.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        alpha = self.concentration
        return F.where(alpha > 2, self.rate.square() / ((alpha - 1).square() * (alpha - 2)), math.inf)

    def entropy(self) -> Tensor:
        alpha = self.concentration
        return alpha + self.rate.log() + alpha.lgamma() - (1 + alpha) * alpha.digamma()
