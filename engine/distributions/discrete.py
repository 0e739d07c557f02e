"""Counts and categories: Bernoulli, binomial and their waiting times, Poisson, categorical, one-hot, multinomial."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..dtypes import finfo, int64
from ..nn import functional
from ..ops import functions as F
from ..shapes import Size
from ..tensor import Tensor
from . import constraints
from .chances import Chances, one_of
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Gamma
from .utils import broadcast_all, lazy_property

_BINARY = {"probs": constraints.unit_interval, "logits": constraints.real}
_VECTOR = {"probs": constraints.simplex, "logits": constraints.real_vector}


def _cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    return functional.binary_cross_entropy_with_logits(logits, target, reduction="none")


def _listed(values: Tensor, batch: Size, event: tuple[int, ...], expand: bool) -> Tensor:
    """All values along a first dimension, with the batch's dimensions between it and the event's."""
    values = values.view((-1, *[1] * len(batch), *event))
    return values.expand((-1, *batch, *event)) if expand else values


class Bernoulli(Chances, ExponentialFamily):
    """1 with probability `probs` (log odds `logits`), else 0."""

    arg_constraints = _BINARY
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _batched = {"probs": 0, "logits": 0, "_param": 0}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        one_of(probs, logits)
        if probs is not None:
            self._take(probs=broadcast_all(probs)[0])
        else:
            self._take(logits=broadcast_all(logits)[0])
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with no_grad():
            return F.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -_cross_entropy(logits, value)

    def entropy(self) -> Tensor:
        return _cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = F.arange(2, dtype=self._param.dtype, device=self._param.device)
        return _listed(values, self._batch_shape, (), expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (F.logit(self.probs),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return F.log1p(F.exp(natural_params[0]))


class Binomial(Chances):
    """How many of `total_count` trials succeed."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, **_BINARY}
    has_enumerate_support = True
    _batched = {"total_count": 0, "probs": 0, "logits": 0, "_param": 0}

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        one_of(probs, logits)
        count, given = broadcast_all(total_count, logits if probs is None else probs)
        self.total_count = count.type_as(given)
        self._take(**{"logits" if probs is None else "probs": given})
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return F.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        # (x + |x|) / 2 has half the gradient at 0 from each side, as the other term needs it.
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        log_total = n * positive + n * F.log1p(F.exp(-F.abs(logits))) - F.lgamma(n + 1)
        return value * logits - F.lgamma(value + 1) - F.lgamma(n - value + 1) - log_total

    def _one_count(self, purpose: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{purpose}`.")
        return count

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(F.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._one_count("enumerate_support")
        values = F.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        return _listed(values, self._batch_shape, (), expand)


class Geometric(Chances):
    """The number of failures before the first success."""

    arg_constraints = _BINARY
    support = constraints.nonnegative_integer
    _batched = {"probs": 0, "logits": 0}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        one_of(probs, logits)
        if probs is not None:
            given = broadcast_all(probs)[0]
            self.__dict__["probs"] = given
        else:
            given = broadcast_all(logits)[0]
            self.__dict__["logits"] = given
        super().__init__(given.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            valid = value > 0
            if not valid.all():
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to be positive but found invalid values:\n{value.data[~valid]}"
                )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return F.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = F.empty(shape, dtype=self.probs.dtype, device=self.probs.device)
            u.uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = F.where((probs == 1) & (value == 0), 0.0, probs)  # no failure, and 0 times the logarithm of 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return _cross_entropy(self.logits, self.probs) / self.probs


class NegativeBinomial(Chances):
    """The number of successes before `total_count` failures."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer
    _batched = {"total_count": 0, "probs": 0, "logits": 0, "_param": 0}

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        one_of(probs, logits)
        count, given = broadcast_all(total_count, logits if probs is None else probs)
        self.total_count = count.type_as(given)
        self._take(**{"logits" if probs is None else "probs": given})
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * F.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / F.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(self.total_count, F.exp(-self.logits), validate_args=False)  # a count of 0 is allowed here

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with no_grad():
            return F.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        log_weight = n * functional.logsigmoid(-self.logits) + value * functional.logsigmoid(self.logits)
        log_total = -F.lgamma(n + value) + F.lgamma(1.0 + value) + F.lgamma(n)
        return log_weight - log_total.masked_fill(n + value == 0.0, 0.0)


class Poisson(ExponentialFamily):
    """The number of events of which `rate` are expected."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _batched = {"rate": 0}

    def __init__(self, rate: Any, validate_args: bool | None = None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with no_grad():
            return F.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (F.log(self.rate),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return F.exp(natural_params[0])


class Categorical(Chances):
    """One of the categories 0 to K - 1, with probabilities `probs` ([..., K], any positive weights) or `logits`."""

    arg_constraints = _VECTOR
    has_enumerate_support = True
    _binary = False
    _batched = {"probs": 1, "logits": 1, "_param": 1}
    _kept = ("_num_events",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        one_of(probs, logits)
        if probs is not None:
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self._take(probs=probs / probs.sum(-1, keepdim=True))
        else:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self._take(logits=logits - logits.logsumexp(-1, keepdim=True))
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return F.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return F.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        return F.multinomial(rows, shape.numel(), True).T.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, log_pmf = F.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = F.clamp(self.logits, min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = F.arange(self._num_events, dtype=int64, device=self._param.device)
        return _listed(values, self._batch_shape, (), expand)


class _OfCategories(Distribution):
    """A distribution that is described by the probabilities of a Categorical."""

    _categorical: Categorical

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """Probabilities of the categories."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Log probabilities of the categories."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return new


class OneHotCategorical(_OfCategories):
    """A category as a vector with one 1."""

    arg_constraints = _VECTOR
    support = constraints.one_hot
    has_enumerate_support = True
    _batched = {}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        probs = self._categorical.probs
        return functional.one_hot(probs.argmax(-1), num_classes=probs.shape[-1]).to(probs)

    @property
    def variance(self) -> Tensor:
        return self._categorical.probs * (1 - self._categorical.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        probs = self._categorical.probs
        return functional.one_hot(self._categorical.sample(sample_shape), self._categorical._num_events).to(probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        return _listed(F.eye(n, dtype=self._param.dtype, device=self._param.device), self.batch_shape, (n,), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples with the gradient of the probabilities (Y. Bengio, N. Leonard and A. Courville, 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        samples = self.sample(sample_shape)
        probs = self._categorical.probs
        return samples + (probs - probs.detach())


class Multinomial(_OfCategories):
    """How often each category comes in `total_count` draws."""

    arg_constraints = _VECTOR
    total_count: int
    _batched = {}
    _kept = ("total_count",)

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._binomial = Binomial(self.total_count, probs=new.probs, validate_args=False)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        sample_shape = Size(sample_shape)
        draws = self._categorical.sample(Size((self.total_count, *sample_shape))).movedim(0, -1)
        counts = draws.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, draws, F.ones_like(draws)).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return F.lgamma(value.sum(-1) + 1) - F.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n = F.tensor(self.total_count)
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = F.exp(self._binomial.log_prob(support)) * F.lgamma(support + 1)
        return n * self._categorical.entropy() - F.lgamma(n + 1) + weights.sum([0, -1])
