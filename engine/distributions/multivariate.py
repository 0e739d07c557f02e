"""Vectors and matrices: the multivariate normal with full or low-rank covariance, Wishart, LKJ."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..dtypes import finfo
from ..ops import functions as F
from ..ops.random import randn
from ..shapes import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Chi2
from .unit_interval import Beta
from .utils import _standard_normal, broadcast_all, lazy_property, linalg, sum_rightmost

_LOG_TWO_PI = math.log(2 * math.pi)
_ONE_OF = "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Batches of matrices times batches of vectors."""
    return F.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _solve_lower(factor: Tensor, right: Tensor) -> Tensor:
    return linalg("solve_triangular")(factor, right, upper=False)


def _cholesky_solve(right: Tensor, factor: Tensor) -> Tensor:
    """The solution of L L^T x = right."""
    return linalg("solve_triangular")(factor.mT, _solve_lower(factor, right), upper=True)


def _squares(factor: Tensor, right: Tensor) -> Tensor:
    """The sum of squares of L^-1 R: the trace of R^T (L L^T)^-1 R, for batches of lower triangular L."""
    return sum_rightmost(_solve_lower(factor, right).pow(2), 2)


def _distances(factor: Tensor, x: Tensor) -> Tensor:
    """x^T (L L^T)^-1 x for vectors."""
    if factor.dim() == 2:  # one matrix: all vectors are columns of one right side
        n = x.shape[-1]
        return _solve_lower(factor, x.reshape(-1, n).mT).pow(2).sum(0).reshape(x.shape[:-1])
    return _squares(factor, x.unsqueeze(-1))


def _half_log_det(factor: Tensor) -> Tensor:
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The lower Cholesky factor of the inverse of `precision`: the factor of the matrix turned round, inverted."""
    turned = linalg("cholesky")(F.flip(precision, (-2, -1)))
    upper_inverse = F.flip(turned, (-2, -1)).mT
    identity = F.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return _solve_lower(upper_inverse, identity)


class _OfCovariance(Distribution):
    """Keeps one of covariance, precision and Cholesky factor; the others follow from the factor."""

    _unbroadcasted_scale_tril: Tensor

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance."""
        n = self._event_shape[-1]
        return self._unbroadcasted_scale_tril.expand((*self._batch_shape, n, n))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """L L^T."""
        n = self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        return F.matmul(factor, factor.mT).expand((*self._batch_shape, n, n))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        n = self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        identity = F.eye(n, dtype=factor.dtype, device=factor.device)
        return _cholesky_solve(identity, factor).expand((*self._batch_shape, n, n))

    def _factor(self, covariance: Tensor | None, precision: Tensor | None, factor: Tensor | None) -> Tensor:
        if factor is not None:
            return factor
        if covariance is not None:
            return linalg("cholesky")(covariance)
        assert precision is not None
        return precision_to_scale_tril(precision)


class MultivariateNormal(_OfCovariance):
    """The normal distribution of vectors with mean `loc` ([..., n]) and a covariance given in one of three ways ([..., n, n])."""

    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True
    _batched = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ):  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            "scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
        }  # fmt: skip
        present = {k: v for k, v in given.items() if v is not None}
        if len(present) != 1:
            raise ValueError(_ONE_OF)
        ((name, matrix),) = present.items()
        if matrix.dim() < 2:
            called = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{called} must be at least two-dimensional, with optional leading batch dimensions")
        batch = F.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor(covariance_matrix, precision_matrix, scale_tril)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand((*self._batch_shape, *self._event_shape))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _times(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _distances(self._unbroadcasted_scale_tril, value - self.loc)
        n = self._event_shape[0]
        return -0.5 * (n * _LOG_TWO_PI + distance) - _half_log_det(self._unbroadcasted_scale_tril)

    def _log_det(self) -> Tensor:
        """The logarithm of the determinant of the covariance."""
        return 2 * _half_log_det(self._unbroadcasted_scale_tril)

    def _roots(self) -> list[Tensor]:
        """Matrices whose squares R R^T sum to the covariance."""
        return [self._unbroadcasted_scale_tril]

    def _form(self, right: Tensor) -> Tensor:
        """The trace of R^T C^-1 R, C the covariance."""
        return _squares(self._unbroadcasted_scale_tril, right)

    def entropy(self) -> Tensor:
        n = self._event_shape[0]
        return (0.5 * n * (1.0 + _LOG_TWO_PI) + _half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """A normal distribution of vectors whose covariance is W W^T + D, W `cov_factor` ([..., n, m]), D `cov_diag` ([..., n]).

    Matrices of size m are factored, those of size n never, unless they are asked for.
    """

    arg_constraints = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True
    _batched = {
        "loc": 1, "cov_diag": 1, "cov_factor": 2, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2,
    }  # fmt: skip
    _kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = F.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand((*batch, -1))
        self.cov_diag = cov_diag.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        inner = F.matmul(scaled, cov_factor)  # the capacitance is I + W^T D^-1 W
        identity = F.eye(cov_factor.shape[-1], dtype=inner.dtype, device=inner.device)
        self._capacitance_tril = linalg("cholesky")(inner + identity)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        return (self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag).expand(
            (*self._batch_shape, *self._event_shape)
        )

    def _square(self, matrix: Tensor) -> Tensor:
        n = self._event_shape[0]
        return matrix.expand((*self._batch_shape, n, n))

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance, by way of the well-conditioned I + D^-1/2 W W^T D^-1/2."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        inner = F.matmul(scaled, scaled.mT)
        identity = F.eye(self._event_shape[0], dtype=inner.dtype, device=inner.device)
        return self._square(root * linalg("cholesky")(inner + identity))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """W W^T + D."""
        factor = self._unbroadcasted_cov_factor
        return self._square(F.matmul(factor, factor.mT) + F.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance, D^-1 - D^-1 W C^-1 W^T D^-1 with the capacitance C (Woodbury)."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        a = _solve_lower(self._capacitance_tril, scaled)
        return self._square(F.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - F.matmul(a.mT, a))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        low = _standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc.dtype, self.loc.device)
        own = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return (
            self.loc
            + _times(self._unbroadcasted_cov_factor, low)
            + self._unbroadcasted_cov_diag.sqrt() * own
        )  # fmt: skip

    def _roots(self) -> list[Tensor]:
        """Matrices whose squares R R^T sum to the covariance."""
        return [self._unbroadcasted_cov_factor, F.diag_embed(self._unbroadcasted_cov_diag.sqrt())]

    def _form(self, right: Tensor) -> Tensor:
        """The trace of R^T C^-1 R, C the covariance (Woodbury)."""
        diagonal = self._unbroadcasted_cov_diag.unsqueeze(-1)
        own = sum_rightmost(right.pow(2) / diagonal, 2)
        return own - _squares(self._capacitance_tril, F.matmul((self._unbroadcasted_cov_factor / diagonal).mT, right))

    def _log_det(self) -> Tensor:
        """The logarithm of the determinant of the covariance."""
        return 2 * _half_log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diff = value - self.loc
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        own = (diff.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        distance = own - _distances(self._capacitance_tril, _times(scaled, diff))
        return -0.5 * (self._event_shape[0] * _LOG_TWO_PI + self._log_det() + distance)

    def entropy(self) -> Tensor:
        return (0.5 * (self._event_shape[0] * (1.0 + _LOG_TWO_PI) + self._log_det())).expand(self._batch_shape)


class Wishart(_OfCovariance, ExponentialFamily):
    """The sum of x x^T over `df` normal vectors x with the given covariance; `df` may be any number above n - 1."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2, "_unbroadcasted_scale_tril": 2}

    def __init__(
        self, df: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ):  # fmt: skip
        given = {
            "scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
        }  # fmt: skip
        present = {k: v for k, v in given.items() if v is not None}
        if len(present) != 1:
            raise AssertionError(_ONE_OF)
        ((name, matrix),) = present.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, Tensor):
            batch = Size(F.broadcast_shapes(matrix.shape[:-2], df.shape))
            self.df = df.expand(batch)
        else:
            batch = Size(matrix.shape[:-2])
            self.df = F.tensor(df, dtype=matrix.dtype, device=matrix.device)
        event = matrix.shape[-2:]
        if self.df.le(event[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}.")
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        if self.df.lt(event[-1]).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor(covariance_matrix, precision_matrix, scale_tril)
        self._make_chi2()

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1),
        }  # fmt: skip

    def _make_chi2(self) -> None:
        factor = self._unbroadcasted_scale_tril
        n = self._event_shape[-1]
        steps = F.arange(n, dtype=factor.dtype, device=factor.device).expand((*self._batch_shape, n))
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - steps)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._make_chi2()
        return new

    @property
    def _df(self) -> Tensor:
        return self.df.expand(self._batch_shape)[..., None, None]

    @property
    def mean(self) -> Tensor:
        return self._df * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self._df - self._event_shape[-1] - 1
        return F.where(factor > 0, factor, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._df * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Samples by Bartlett's decomposition: a triangle of normals, with roots of chi-squared on the diagonal."""
        n = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = roots.clamp(min=finfo(roots.dtype).eps).diag_embed()
        i, j = F.tril_indices(n, n, offset=-1)
        shape = (*sample_shape, *self._batch_shape, n * (n - 1) // 2)
        noise[..., i, j] = randn(shape, dtype=noise.dtype, device=noise.device)
        factor = F.matmul(self._unbroadcasted_scale_tril, noise)
        return F.matmul(factor, factor.mT)

    def rsample(self, sample_shape: Any = Size(), max_try_correction: int | None = None) -> Tensor:  # noqa: B008
        """Samples; those that rounding made singular are drawn again, `max_try_correction` times (10) at most."""
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        singular = ~self.support.check(sample)
        if singular.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                sample = F.where(singular[..., None, None], self._bartlett_sampling(sample_shape), sample)
                singular = ~self.support.check(sample)
                if not singular.any():
                    break
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        df, p = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        trace = _cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -df * (p * math.log(2) / 2 + _half_log_det(factor)) - F.mvlgamma(df / 2, p=p)
            + (df - p - 1) / 2 * linalg("slogdet")(value)[1] - trace / 2
        )  # fmt: skip

    def entropy(self) -> Tensor:
        df, p = self.df, self._event_shape[-1]
        steps = F.arange(p, dtype=df.dtype, device=df.device) / 2
        slope = F.digamma((df / 2).unsqueeze(-1) - steps).sum(-1)
        return (
            (p + 1) * (p * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
            + F.mvlgamma(df / 2, p=p) - (df - p - 1) / 2 * slope + df * p / 2
        )  # fmt: skip

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (p * math.log(2) - linalg("slogdet")(-2 * x)[1]) + F.mvlgamma(half, p=p)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices M of size `dim`, with density of M proportional to det(M)^(concentration - 1).

    Sampled by the onion method (D. Lewandowski, D. Kurowicka and H. Joe, 2009).
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _batched = {"concentration": 0}
    _kept = ("dim",)

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        row = F.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = F.cat([row.new_zeros((1,)), row])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._beta = self._beta.expand((*batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        below = randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
        direction = below / below.norm(dim=-1, keepdim=True)
        direction[..., 0, :] = 0.0
        w = y.sqrt() * direction
        rest = (1 - (w**2).sum(-1)).clamp(min=finfo(w.dtype).tiny).sqrt()
        return w + F.diag_embed(rest)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # det(M) is the product of squared diagonal elements; the Jacobian to M gives L_ii^(D - i).
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = F.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        log_total = 0.5 * n * math.log(math.pi) + F.mvlgamma(alpha - 0.5, n) - F.lgamma(alpha) * n
        return (order * diagonal.log()).sum(-1) - log_total
