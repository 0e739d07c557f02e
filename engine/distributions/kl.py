"""The Kullback-Leibler divergence of two distributions, and the registry of pairs that have a formula.

Pairs of one family have a formula each.  For pairs of different ones the divergence is the mean of -log q under p, less
the entropy of p: `_CROSS` has that mean by the class of q, written with a few means under p (of x, log x, ...).
Where q gives no density to a part of p's support, it is infinite.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..autograd import grad
from ..nn import functional
from ..ops import functions as F
from ..tensor import Tensor
from .composed import Independent, TransformedDistribution
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Gamma
from .location_scale import Cauchy, Gumbel, Laplace, Normal, Uniform
from .multivariate import LowRankMultivariateNormal, MultivariateNormal
from .positive import Exponential, HalfNormal, Pareto
from .simplex import Dirichlet
from .unit_interval import Beta, ContinuousBernoulli
from .utils import euler_constant, sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Tensor]

_KL_REGISTRY: dict[tuple[type, type], Formula] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Decorator: this function of (p, q) is the divergence for the pair of classes and their subclasses.

    Raises TypeError where one of them is no Distribution class.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def enter(formula: Formula) -> Formula:
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()
        return formula

    return enter


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The formula of the nearest pair of superclasses; a warning where p's and q's nearest disagree."""
    rank_p = {c: i for i, c in enumerate(type_p.__mro__)}
    rank_q = {c: i for i, c in enumerate(type_q.__mro__)}
    found = [(p, q) for p, q in _KL_REGISTRY if p in rank_p and q in rank_q]
    if not found:
        return NotImplemented
    by_p = min(found, key=lambda pair: (rank_p[pair[0]], rank_q[pair[1]]))
    by_q = min(found, key=lambda pair: (rank_q[pair[1]], rank_p[pair[0]]))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean of log(p(x) / q(x)) under `p`, of batch shape. Raises NotImplementedError for pairs without a formula."""
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    formula = _KL_MEMOIZE[pair]
    if formula is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return formula(p, q)


# -- one family -------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    ones = p.probs * (functional.softplus(-q.logits) - functional.softplus(-p.logits))
    ones = F.where(p.probs == 0, 0.0, F.where(q.probs == 0, math.inf, ones))
    zeros = (1 - p.probs) * (functional.softplus(q.logits) - functional.softplus(p.logits))
    return ones + F.where(p.probs == 1, 0.0, F.where(q.probs == 1, math.inf, zeros))


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    trial = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return F.where(p.total_count > q.total_count, math.inf, p.total_count * trial)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return F.where(p.probs == 0, 0.0, F.where(q.probs == 0, math.inf, terms)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - F.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    log_norm = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return log_norm + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    own = p._log_constant() + F.log1p(-p.probs)
    return p.mean * (p.logits - q.logits) + own - q._log_constant() - F.log1p(-q.probs)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    log_norm = q.concentration * (p.rate / q.rate).log() + F.lgamma(q.concentration) - F.lgamma(p.concentration)
    slope = (p.concentration - q.concentration) * F.digamma(p.concentration)
    return log_norm + slope + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return apart / q.scale + ratio * F.exp(-apart / p.scale) - 1 - ratio.log()


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    """F. Chyzak and F. Nielsen, 2019."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return apart - ratio.log() + ratio * euler_constant + F.exp((1 + ratio).lgamma() - apart) - (1 + euler_constant)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return F.where(p.scale < q.scale, math.inf, result)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return F.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed"
        )
    trace = q._form((q.loc - p.loc).unsqueeze(-1))
    for root in p._roots():
        trace = trace + q._form(root)
    return 0.5 * (q._log_det() - p._log_det() + trace - p.event_shape[0])


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log normaliser, for two of one family."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    theta = [t.detach().requires_grad_() for t in p._natural_params]
    normalizer = p._log_normalizer(*theta)
    result = q._log_normalizer(*q._natural_params) - normalizer
    slopes = grad(normalizer.sum(), theta, create_graph=True)
    for mine, theirs, slope in zip(theta, q._natural_params, slopes, strict=True):
        result = result - sum_rightmost((theirs - mine) * slope, mine.dim() - len(q.batch_shape))
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# -- two families: means under p ----------------------------------------------------------------------


def _x_log_x(x: Tensor) -> Tensor:
    return F.xlogy(x, x)


def _range(p: Any) -> tuple[Any, Any]:
    """The ends of the support."""
    if isinstance(p, Uniform):
        return p.low, p.high
    if isinstance(p, Pareto):
        return p.scale, math.inf
    if isinstance(p, Exponential | Gamma):
        return 0.0, math.inf
    if isinstance(p, Beta | ContinuousBernoulli):
        return 0.0, 1.0
    return -math.inf, math.inf


def _mean_log(p: Any) -> Tensor:
    """The mean of log x."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1  # Uniform


def _mean_log_rest(p: Uniform) -> Tensor:
    """The mean of log(1 - x)."""
    return (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / (p.high - p.low) - 1


def _mean_exp(p: Any, loc: Tensor, scale: Tensor) -> Tensor:
    """The mean of exp(-(x - loc) / scale)."""
    if isinstance(p, Exponential):
        return F.exp(loc / scale) * (p.rate * scale) / (p.rate * scale + 1)
    if isinstance(p, Gamma):
        return F.exp(loc / scale) * (1 + (p.rate * scale).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return F.exp((loc - p.loc) / scale + 0.5 * (p.scale / scale).pow(2))
    return scale / (p.high - p.low) * (F.exp((loc - p.low) / scale) - F.exp((loc - p.high) / scale))  # Uniform


def _mean_distance(p: Normal, loc: Tensor) -> Tensor:
    """The mean of |x - loc| for normal x."""
    apart = (p.loc - loc) / p.scale
    return math.sqrt(2 / math.pi) * p.scale * F.exp(-0.5 * apart.pow(2)) + (p.loc - loc) * F.erf(math.sqrt(0.5) * apart)


# -- two families: the mean of -log q, by the class of q ----------------------------------------------

_CROSS: dict[type, Formula] = {
    Beta: lambda p, q: (
        q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
        - (q.concentration1 - 1) * _mean_log(p) - (q.concentration0 - 1) * _mean_log_rest(p)
    ),
    ContinuousBernoulli: lambda p, q: -p.mean * q.logits - F.log1p(-q.probs) - q._log_constant(),
    Exponential: lambda p, q: q.rate * p.mean - q.rate.log(),
    Gamma: lambda p, q: (
        q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean
    ),
    Gumbel: lambda p, q: q.scale.log() + (p.mean - q.loc) / q.scale + _mean_exp(p, q.loc, q.scale),
    Laplace: lambda p, q: F.log(2 * q.scale) + _mean_distance(p, q.loc) / q.scale,
    Normal: lambda p, q: (
        0.5 * math.log(2 * math.pi) + q.scale.log() + (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    ),
    Pareto: lambda p, q: (q.alpha + 1) * _mean_log(p) - q.alpha.log() - q.alpha * q.scale.log(),
    Poisson: lambda p, q: q.rate - p.mean * q.rate.log(),
    Uniform: lambda p, q: (q.high - q.low).log(),
}  # fmt: skip

_BOUNDED = (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
"""The q whose support may not reach as far as p's."""

_PAIRS: dict[type, tuple[type, ...]] = {
    Bernoulli: (Poisson,),
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Uniform),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel, Laplace),
    Pareto: (Exponential, Gamma, Normal),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}
"""The q, by the class of p, for which there is a finite divergence."""

_OUTSIDE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
"""The q, by the class of p, whose support is never as large as p's."""


def _cross(kind: type) -> Formula:
    cross = _CROSS[kind]

    def formula(p: Any, q: Any) -> Tensor:
        if isinstance(p, Pareto):  # means that do not exist must not spoil the gradients of those that do
            order = 2 if kind is Normal else 1
            exists = p.alpha > order
            safe = Pareto(p.scale, F.where(exists, p.alpha, order + 1.0), validate_args=False)
            return F.where(exists, cross(safe, q) - safe.entropy(), math.inf)
        result = cross(p, q) - p.entropy()
        if kind not in _BOUNDED:
            return result
        (low, high), (least, most) = _range(p), _range(q)
        outside = F.as_tensor(low < least) | F.as_tensor(high > most)
        return F.where(outside, math.inf, result)

    return formula


def _infinite(p: Any, q: Any) -> Tensor:
    shape = F.broadcast_shapes(p.batch_shape, q.batch_shape)
    return F.full_like(p.mean, math.inf).expand(shape)


for _p, _kinds in _PAIRS.items():
    for _q in _kinds:
        register_kl(_p, _q)(_cross(_q))
for _p, _kinds in _OUTSIDE.items():
    for _q in _kinds:
        register_kl(_p, _q)(_infinite)
