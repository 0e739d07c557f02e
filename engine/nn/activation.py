"""Activations as modules.

Each keeps its arguments and calls the function of the same name; formulas stand there too.
"""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import functional as F
from .module import Module


class _InPlace(Module):
    """An activation without other arguments than `inplace`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """max(0, x). Shapes: any to the same.

    Example::

        nn.ReLU()(torch.tensor([-1.0, 2.0]))          # tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


class Sigmoid(Module):
    """1 / (1 + exp(-x)). Shapes: any to the same."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(Module):
    """(exp(x) - exp(-x)) / (exp(x) + exp(-x)). Shapes: any to the same."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class _Dimension(Module):
    """A normalised exponential along `dim`."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_Dimension):
    """exp(x_i) / sum_j exp(x_j) along `dim`. Shapes: any to the same.

    Example::

        nn.Softmax(dim=0)(torch.zeros(2))             # tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_Dimension):
    """log(softmax(x)) along `dim`. Shapes: any to the same."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


__all__ = ["LogSoftmax", "ReLU", "Sigmoid", "Softmax", "Tanh"]
