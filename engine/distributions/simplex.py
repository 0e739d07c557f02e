"""Vectors of positive numbers with sum 1: Dirichlet, logistic-normal, relaxed one-hot."""

from __future__ import annotations

from typing import Any

from ..nn import functional
from ..ops import functions as F
from ..ops.random import rand
from ..shapes import Size
from ..tensor import Tensor
from . import constraints
from .composed import TransformedDistribution
from .discrete import Categorical, _OfCategories
from .distribution import ExponentialFamily
from .location_scale import Normal
from .scalar_transforms import ExpTransform
from .utils import broadcast_all, clamp_probs
from .vector_transforms import StickBreakingTransform


class Dirichlet(ExponentialFamily):
    """Density proportional to the product of x_i^(concentration_i - 1)."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _batched = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(-1)
        mode[corner] = functional.one_hot(mode[corner].argmax(-1), above.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return F._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return F.xlogy(a - 1.0, value).sum(-1) + F.lgamma(a.sum(-1)) - F.lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a = self.concentration
        k, total = a.size(-1), a.sum(-1)
        log_beta = F.lgamma(a).sum(-1) - F.lgamma(total)
        return log_beta - (k - total) * F.digamma(total) - ((a - 1.0) * F.digamma(a)).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x = natural_params[0]
        return x.lgamma().sum(-1) - F.lgamma(x.sum(-1))


class LogisticNormal(TransformedDistribution):
    """Normal vectors of n numbers, broken as sticks into n + 1 parts of 1."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _batched = {}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal vectors."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal vectors."""
        return self.base_dist.base_dist.scale


class ExpRelaxedCategorical(_OfCategories):
    """The logarithm of a relaxed one-hot vector (C. Maddison, A. Mnih and Y. W. Teh, 2017)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _batched = {}
    _kept = ("temperature",)

    def __init__(self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        uniforms = clamp_probs(rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbels = -((-(uniforms.log())).log())
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        temperature = F.as_tensor(self.temperature, dtype=logits.dtype)
        log_scale = F.full_like(temperature, float(k)).lgamma() + (k - 1) * temperature.log()
        score = logits - value.mul(temperature)
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """A one-hot vector softened by `temperature` (the Gumbel-softmax), so that it has gradients."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _batched = {}

    def __init__(self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """How soft: near 0 the samples are near one-hot."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log probabilities of the categories."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities of the categories."""
        return self.base_dist.probs
