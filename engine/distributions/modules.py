"""PyTorch's module of each distribution (`torch.distributions.normal`), for programs that import from there.

The files here are grouped by mathematics; these modules only show the same classes under the other names.
"""

from __future__ import annotations

import sys
from types import ModuleType

from . import (
    circular,
    composed,
    discrete,
    distribution,
    gamma_family,
    location_scale,
    mixture,
    multivariate,
    positive,
    simplex,
    unit_interval,
)

MODULES: dict[str, tuple[type, ...]] = {
    "bernoulli": (discrete.Bernoulli,),
    "beta": (unit_interval.Beta,),
    "binomial": (discrete.Binomial,),
    "categorical": (discrete.Categorical,),
    "cauchy": (location_scale.Cauchy,),
    "chi2": (gamma_family.Chi2,),
    "continuous_bernoulli": (unit_interval.ContinuousBernoulli,),
    "dirichlet": (simplex.Dirichlet,),
    "exp_family": (distribution.ExponentialFamily,),
    "exponential": (positive.Exponential,),
    "fishersnedecor": (gamma_family.FisherSnedecor,),
    "gamma": (gamma_family.Gamma,),
    "generalized_pareto": (positive.GeneralizedPareto,),
    "geometric": (discrete.Geometric,),
    "gumbel": (location_scale.Gumbel,),
    "half_cauchy": (positive.HalfCauchy,),
    "half_normal": (positive.HalfNormal,),
    "independent": (composed.Independent,),
    "inverse_gamma": (gamma_family.InverseGamma,),
    "kumaraswamy": (unit_interval.Kumaraswamy,),
    "laplace": (location_scale.Laplace,),
    "lkj_cholesky": (multivariate.LKJCholesky,),
    "log_normal": (positive.LogNormal,),
    "logistic_normal": (simplex.LogisticNormal,),
    "lowrank_multivariate_normal": (multivariate.LowRankMultivariateNormal,),
    "mixture_same_family": (mixture.MixtureSameFamily,),
    "multinomial": (discrete.Multinomial,),
    "multivariate_normal": (multivariate.MultivariateNormal,),
    "negative_binomial": (discrete.NegativeBinomial,),
    "normal": (location_scale.Normal,),
    "one_hot_categorical": (discrete.OneHotCategorical, discrete.OneHotCategoricalStraightThrough),
    "pareto": (positive.Pareto,),
    "poisson": (discrete.Poisson,),
    "relaxed_bernoulli": (unit_interval.LogitRelaxedBernoulli, unit_interval.RelaxedBernoulli),
    "relaxed_categorical": (simplex.ExpRelaxedCategorical, simplex.RelaxedOneHotCategorical),
    "studentT": (gamma_family.StudentT,),
    "transformed_distribution": (composed.TransformedDistribution,),
    "uniform": (location_scale.Uniform,),
    "von_mises": (circular.VonMises,),
    "weibull": (positive.Weibull,),
    "wishart": (multivariate.Wishart,),
}
"""The classes by PyTorch's module name."""


def install(package: str) -> dict[str, ModuleType]:
    """Make the modules importable below `package`, and return them by name."""
    made = {}
    for name, classes in MODULES.items():
        module = ModuleType(f"{package}.{name}", f"`torch.distributions.{name}`.")
        module.__dict__.update({c.__name__: c for c in classes}, __all__=[c.__name__ for c in classes])
        sys.modules[module.__name__] = module
        made[name] = module
    return made
