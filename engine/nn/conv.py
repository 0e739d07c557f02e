"""Convolutions and transposed convolutions as layers."""

from __future__ import annotations

import math
from typing import Any

from ..tensor import Tensor
from . import functional as F
from . import init
from .linear import fresh
from .module import Module

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def ntuple(value: Any, n: int) -> tuple[Any, ...]:
    """A number as `n` of them; what has several is a tuple already."""
    return tuple(value) if hasattr(value, "__iter__") and not isinstance(value, str) else (value,) * n


class _ConvNd(Module):
    """What all of them share: sizes, starting values, repr."""

    _rank: int = 0
    weight: Tensor
    bias: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {set(PADDING_MODES)}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._ends()
        outer, inner = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = fresh(outer, inner // groups, *kernel_size, device=device, dtype=dtype)
        if bias:
            self.bias = fresh(out_channels, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _ends(self) -> list[int]:
        """The padding before and after each dimension, from the last one on, as `pad` takes it."""
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        if self.padding == "same":
            out: list[int] = []
            for d, k in zip(reversed(self.dilation), reversed(self.kernel_size), strict=True):
                total = d * (k - 1)
                out += [total // 2, total - total // 2]
            return out
        return [p for p in reversed(self.padding) if not isinstance(p, str) for _ in range(2)]

    def reset_parameters(self) -> None:
        """Draw new starting values: uniform in [-s, s) with s = 1 / sqrt(inputs of one output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        out = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            out += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            out += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            out += f", output_padding={self.output_padding}"
        if self.groups != 1:
            out += f", groups={self.groups}"
        if self.bias is None:
            out += ", bias=False"
        if self.padding_mode != "zeros":
            out += f", padding_mode={self.padding_mode}"
        return out


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        n = self._rank
        super().__init__(
            in_channels,
            out_channels,
            ntuple(kernel_size, n),
            ntuple(stride, n),
            padding if isinstance(padding, str) else ntuple(padding, n),
            ntuple(dilation, n),
            False,
            (0,) * n,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        function = (F.conv1d, F.conv2d, F.conv3d)[self._rank - 1]
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._rank
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """y[n, o, l] = bias[o] + sum over i, k of weight[o, i, k] x[n, i, l stride + k dilation - padding].

    Shapes: (N, C_in, L) or (C_in, L) to (N, C_out, L') with L' = (L + 2 padding - dilation (kernel - 1) - 1) / stride
    + 1,
    rounded down. `padding` may be "same" or "valid"; `groups` connects groups of channels only with themselves. Raises
    ValueError where the groups do not divide the channels.

    Example::

        nn.Conv1d(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).shape       # torch.Size([20, 33, 24])
    """

    _rank = 1


class Conv2d(_Conv):
    """The same in two dimensions. Shapes: (N, C_in, H, W) or (C_in, H, W) to (N, C_out, H', W').

    Example::

        nn.Conv2d(16, 33, (3, 5), padding=(4, 2))(torch.randn(20, 16, 50, 100)).shape    # torch.Size([20, 33, 56, 100])
    """

    _rank = 2


class Conv3d(_Conv):
    """The same in three dimensions. Shapes: (N, C_in, D, H, W) or (C_in, D, H, W) to (N, C_out, D', H', W')."""

    _rank = 3


class _ConvTranspose(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        n = self._rank
        super().__init__(
            in_channels,
            out_channels,
            ntuple(kernel_size, n),
            ntuple(stride, n),
            ntuple(padding, n),
            ntuple(dilation, n),
            True,
            ntuple(output_padding, n),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _extra(self, input: Tensor, output_size: Any) -> Any:
        """The output padding that gives the wanted size. Raises ValueError for a size that cannot be."""
        n = self._rank
        if output_size is None:
            return self.output_padding
        lead = 2 if input.dim() == n + 2 else 1
        wanted = list(output_size)
        if len(wanted) == lead + n:
            wanted = wanted[lead:]
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {lead + n} elements (got "
                f"{len(wanted)})"
            )
        least = [
            (input.size(d + lead) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(n)
        ]
        most = [a + s - 1 for a, s in zip(least, self.stride, strict=True)]
        if any(not a <= w <= b for w, a, b in zip(wanted, least, most, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                f"{input.size()[2:]})"
            )
        return [w - a for w, a in zip(wanted, least, strict=True)]

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self._rank - 1]
        extra = self._extra(input, output_size)
        return function(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose1d(_ConvTranspose):
    """The gradient of Conv1d with respect to its input, as a layer.

    Shapes: (N, C_in, L) or (C_in, L) to (N, C_out, L') with L' = (L - 1) stride - 2 padding + dilation (kernel - 1) +
    output_padding + 1. Calling with `output_size` chooses the output padding.
    """

    _rank = 1


class ConvTranspose2d(_ConvTranspose):
    """The same in two dimensions. Shapes: (N, C_in, H, W) or (C_in, H, W) to (N, C_out, H', W').

    Example::

        nn.ConvTranspose2d(16, 33, 3, stride=2)(torch.randn(20, 16, 50, 100)).shape      # torch.Size([20, 33, 101,
        201])
    """

    _rank = 2


class ConvTranspose3d(_ConvTranspose):
    """The same in three dimensions. Shapes: (N, C_in, D, H, W) or (C_in, D, H, W) to (N, C_out, D', H', W')."""

    _rank = 3
