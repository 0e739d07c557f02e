"""Mixtures whose components are of one family."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..ops import functions as F
from ..shapes import Size
from ..tensor import Tensor
from . import constraints
from .discrete import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """One of k components is chosen by a Categorical; the components are the last batch dimension of one distribution."""

    arg_constraints = {}
    has_rsample = False
    _batched = {}
    _kept = ("_num_component", "_event_ndims")

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        chosen, shape = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(chosen), reversed(shape), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                    f"`component_distribution.batch_shape`({shape})"
                )
        k, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if k != components:
            raise ValueError(
                f"`mixture_distribution component` ({k}) does not equal `component_distribution.batch_shape[-1]` "
                f"({components})"
            )
        self._num_component = k
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(shape, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        return super().expand(batch_shape, new)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The Categorical that chooses."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components, along the last batch dimension."""
        return self._component_distribution

    def _pad(self, x: Tensor) -> Tensor:
        """`x` with a dimension for the components in front of the event."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        """The weights, shaped to broadcast with the components' events."""
        chosen = len(self.mixture_distribution.batch_shape)
        more = 0 if chosen == 1 else len(self.batch_shape) - chosen
        return x.reshape(*x.shape[:-1], *[1] * more, x.shape[-1], *[1] * self._event_ndims)

    def _weighted(self, values: Tensor) -> Tensor:
        return F.sum(self._pad_mixture_dimensions(self.mixture_distribution.probs) * values, -1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        within = self._weighted(self.component_distribution.variance)
        return within + self._weighted((self.component_distribution.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, value: Tensor) -> Tensor:
        return F.sum(self.component_distribution.cdf(self._pad(value)) * self.mixture_distribution.probs, -1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        each = self.component_distribution.log_prob(self._pad(value))
        return F.logsumexp(each + F.log_softmax(self.mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            each = self.component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            event = self.event_shape
            index = chosen.reshape(*chosen.shape, *[1] * (len(event) + 1)).repeat(*[1] * chosen.dim(), 1, *event)
            return F.gather(each, dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
