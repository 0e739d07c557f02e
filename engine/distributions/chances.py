"""What families given by `probs` or `logits` share: one of the two is given, the other follows when it is asked for."""

from __future__ import annotations

from typing import Any, ClassVar

from ..shapes import Size
from ..tensor import Tensor
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, probs_to_logits


def one_of(probs: Any, logits: Any) -> None:
    """Raises ValueError unless just one of the two is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Chances(Distribution):
    """Keeps `probs` or `logits`; `_param` is the one that was given."""

    _binary: ClassVar[bool] = True
    _param: Tensor

    def _take(self, **given: Tensor) -> Tensor:
        """Keep the one that was given."""
        self.__dict__.update(given)
        self._param = next(iter(given.values()))
        return self._param

    @lazy_property
    def logits(self) -> Any:
        """Log odds of success, or log probabilities of the categories."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)
