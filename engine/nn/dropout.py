"""Dropout in its forms: single elements, whole channels, and with a mean that stays (alpha dropout)."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import functional as F
from .module import Module


class _Dropout(Module):
    """A layer with a probability; does nothing in evaluation mode."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"

    def _function(self) -> Any:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        return self._function()(input, self.p, self.training, self.inplace)


class Dropout(_Dropout):
    """While training, sets elements to 0 with probability `p` and divides the others by 1 - p.

    Shapes: any to the same. Raises ValueError for `p` outside of [0, 1].

    Example::

        nn.Dropout(0.2)(torch.ones(5))                # tensor([1.2500, 0.0000, ...])
    """

    def _function(self) -> Any:
        return F.dropout


class Dropout1d(_Dropout):
    """While training, sets whole channels to 0 with probability `p`. Shapes: (N, C, L) or (C, L) to the same."""

    def _function(self) -> Any:
        return F.dropout1d


class Dropout2d(_Dropout):
    """While training, sets whole channels to 0 with probability `p`. Shapes: (N, C, H, W) or (N, C, L) to the same."""

    def _function(self) -> Any:
        return F.dropout2d


class Dropout3d(_Dropout):
    """While training, sets whole channels to 0 with probability `p`. Shapes: (N, C, D, H, W) or (C, D, H, W)."""

    def _function(self) -> Any:
        return F.dropout3d


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance of standard normal inputs; goes with SELU (Klambauer et al., 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_Dropout):
    """Alpha dropout of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
