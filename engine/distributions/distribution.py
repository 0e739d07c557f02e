"""The base of all distributions: shapes, validation, samples, and the families whose entropy follows from a normaliser."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

from ..autograd import grad
from ..autograd.grad_mode import no_grad
from ..ops import functions as F
from ..shapes import Size
from ..tensor import Tensor
from . import constraints
from .utils import computed, lazy_property


class Distribution:
    """A probability distribution over events of `event_shape`, a batch of `batch_shape` of them.

    With `validate_args` (on unless Python runs with -O) parameters and values are checked, and ValueError raised for
    those outside of their constraints.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__

    _batched: ClassVar[dict[str, int]] = {}
    """The tensors that `expand` expands, each with the number of its dimensions that belong to an event."""
    _kept: ClassVar[tuple[str, ...]] = ()
    """The attributes that `expand` takes over as they are."""

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments where `validate_args` is not given. Raises ValueError for no bool."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: bool | None = None):  # noqa: B008
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            limits = self.arg_constraints
        except NotImplementedError:
            limits = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in limits.items():
            if constraints.is_dependent(constraint):
                continue  # its bound is another parameter, which has a check of its own
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # made from those that were given
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    # -- shapes ---------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one of them."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:  # noqa: B008
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The same distribution with its batch expanded to `batch_shape`, as `Tensor.expand` does."""
        owner = next((c for c in type(self).__mro__ if "_batched" in c.__dict__), Distribution)
        if owner is Distribution:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        shape = Size(batch_shape)
        for name, dims in self._batched.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                new.__dict__[name] = value.expand((*shape, *value.shape[value.dim() - dims :]))
        for name in self._kept:
            new.__dict__[name] = getattr(self, name)
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    # -- what a distribution may know -----------------------------------------------------------

    @computed
    def arg_constraints(self) -> dict[str, Any]:
        """The constraints of the parameters, by name."""
        raise NotImplementedError

    @computed
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean, of batch and event shape."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value of the largest density."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance, of batch and event shape."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Samples of shape `sample_shape` + batch + event, without history."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Samples that are differentiable by the parameters, where `has_rsample`."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`n` samples; `sample((n,))` is the newer name."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density (or mass) at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which the probability is `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a first dimension, expanded over the batch or not."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats, of batch shape."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return F.exp(self.entropy())

    # -- validation -----------------------------------------------------------------------------

    def _validate_sample(self, value: Tensor) -> None:
        """Raises ValueError where `value` is no tensor, has another shape, or lies outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        begin = value.dim() - len(self._event_shape)
        if value.size()[begin:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        expected = Size((*self._batch_shape, *self._event_shape))
        for i, j in zip(reversed(value.size()), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                shown.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{self.__class__.__name__}({', '.join(shown)})"


class ExponentialFamily(Distribution):
    """Densities exp(<t(x), theta> - F(theta) + k(x)) with natural parameters theta and log normaliser F.

    A subclass gives `_natural_params`, `_log_normalizer(*theta)` and `_mean_carrier_measure` (the mean of k).
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @computed
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, F(theta) - <theta, F'(theta)> - mean of k (F. Nielsen and R. Nock, 2010)."""
        result: Any = -self._mean_carrier_measure
        theta = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*theta)
        result = result + normalizer
        for p, g in zip(theta, grad(normalizer.sum(), theta, create_graph=True), strict=True):
            result = result - (p * g).reshape(*self._batch_shape, -1).sum(-1)
        return result
