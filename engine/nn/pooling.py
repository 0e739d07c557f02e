"""Pooling as layers: the largest, the mean or a norm of each window; and largest values put back."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import functional as F
from .conv import ntuple
from .module import Module


class _MaxPool(Module):
    _function = ""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest of each window. Shapes: (N, C, L) or (C, L) to (N, C, L').

    L' = (L + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down (with `ceil_mode` up). The stride is the
    kernel's size by default.
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPool):
    """The largest of each window. Shapes: (N, C, H, W) or (C, H, W) to (N, C, H', W').

    Example::

        nn.MaxPool2d(2)(torch.randn(20, 16, 50, 32)).shape                  # torch.Size([20, 16, 25, 16])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPool):
    """The largest of each window. Shapes: (N, C, D, H, W) or (C, D, H, W) to (N, C, D', H', W')."""

    _function = "max_pool3d"


class _MaxUnpool(Module):
    _rank = 0
    _function = ""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        n = self._rank
        self.kernel_size = ntuple(kernel_size, n)
        self.stride = ntuple(stride if stride is not None else kernel_size, n)
        self.padding = ntuple(padding, n)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return getattr(F, self._function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Values put back where `MaxPool1d` found them, zeros elsewhere. Shapes: (N, C, L) to (N, C, L')."""

    _rank, _function = 1, "max_unpool1d"


class MaxUnpool2d(_MaxUnpool):
    """Values put back where `MaxPool2d` found them. Shapes: (N, C, H, W) to (N, C, H', W')."""

    _rank, _function = 2, "max_unpool2d"


class MaxUnpool3d(_MaxUnpool):
    """Values put back where `MaxPool3d` found them. Shapes: (N, C, D, H, W) to (N, C, D', H', W')."""

    _rank, _function = 3, "max_unpool3d"


class _AvgPool(Module):
    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """The mean of each window. Shapes: (N, C, L) or (C, L) to (N, C, L')."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, 1)
        self.stride = ntuple(stride if stride is not None else kernel_size, 1)
        self.padding = ntuple(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolNd(_AvgPool):
    _function = ""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolNd):
    """The mean of each window. Shapes: (N, C, H, W) or (C, H, W) to (N, C, H', W')."""

    _function = "avg_pool2d"


class AvgPool3d(_AvgPoolNd):
    """The mean of each window. Shapes: (N, C, D, H, W) or (C, D, H, W) to (N, C, D', H', W')."""

    _function = "avg_pool3d"


class _Adaptive(Module):
    _function = ""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """Means of windows such that the output has the given size. Shapes: (N, C, L) to (N, C, output_size)."""

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_Adaptive):
    """Means of windows such that the output has the given size (None keeps one). Shapes: (N, C, H, W)."""

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_Adaptive):
    """Means of windows such that the output has the given size. Shapes: (N, C, D, H, W)."""

    _function = "adaptive_avg_pool3d"


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """Largest of windows such that the output has the given size. Shapes: (N, C, L) to (N, C, output_size)."""

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMax):
    """Largest of windows such that the output has the given size. Shapes: (N, C, H, W)."""

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMax):
    """Largest of windows such that the output has the given size. Shapes: (N, C, D, H, W)."""

    _function = "adaptive_max_pool3d"


class _LPPool(Module):
    _function = ""

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """(sum of x^p)^(1/p) of each window. Shapes: (N, C, L) or (C, L) to (N, C, L')."""

    _function = "lp_pool1d"


class LPPool2d(_LPPool):
    """(sum of x^p)^(1/p) of each window. Shapes: (N, C, H, W) or (C, H, W) to (N, C, H', W')."""

    _function = "lp_pool2d"


class LPPool3d(_LPPool):
    """(sum of x^p)^(1/p) of each window. Shapes: (N, C, D, H, W) or (C, D, H, W) to (N, C, D', H', W')."""

    _function = "lp_pool3d"


class _FractionalMaxPool(Module):
    _rank = 0
    _function = ""

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        n, name = self._rank, type(self).__name__
        self.kernel_size = ntuple(kernel_size, n)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = ntuple(output_size, n) if output_size is not None else None
        self.output_ratio = ntuple(output_ratio, n) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Largest of windows at random places (Graham, 2014). Shapes: (N, C, H, W) or (C, H, W)."""

    _rank, _function = 2, "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPool):
    """Largest of windows at random places. Shapes: (N, C, D, H, W) or (C, D, H, W)."""

    _rank, _function = 3, "fractional_max_pool3d"
