"""Affine maps: Identity, Linear, Bilinear."""

from __future__ import annotations

import math
from typing import Any

from ..tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


def fresh(*shape: int, device: Any = None, dtype: Any = None) -> Parameter:
    """A parameter that is to be filled."""
    from .. import empty

    return Parameter(empty(*shape, device=device, dtype=dtype))


class Identity(Module):
    """Hands its input on, whatever arguments it was made with.

    Shapes: any to the same.

    Example::

        nn.Identity()(torch.ones(2))                  # tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    r"""y = x W^T + b.

    Shapes: (..., in_features) to (..., out_features); weight (out_features, in_features), bias (out_features).
    Both start uniform in [-s, s) with s = 1 / sqrt(in_features).

    Example::

        nn.Linear(20, 30)(torch.randn(128, 20)).shape  # torch.Size([128, 30])
    """

    in_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = fresh(out_features, in_features, device=device, dtype=dtype)
        if bias:
            self.bias = fresh(out_features, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The linear map inside of attention; the same as Linear here."""


class Bilinear(Module):
    """y_k = x1^T A_k x2 + b_k.

    Shapes: (..., in1_features) and (..., in2_features) to (..., out_features); weight (out, in1, in2).
    Starts uniform in [-s, s) with s = 1 / sqrt(in1_features).

    Example::

        nn.Bilinear(20, 30, 40)(torch.randn(128, 20), torch.randn(128, 30)).shape  # torch.Size([128, 40])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = fresh(out_features, in1_features, in2_features, device=device, dtype=dtype)
        if bias:
            self.bias = fresh(out_features, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
