"""Padding as layers: with a constant, reflected, replicated, or around the circle."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import functional as F
from .conv import ntuple
from .module import Module


class _Pad(Module):
    """Padding at both ends of the last `_rank` dimensions."""

    _rank = 0
    _mode = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self._rank)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """`value` at the ends. Shapes: (..., W) to (..., W + left + right)."""

    _rank = 1


class ConstantPad2d(_ConstantPad):
    """`value` at the borders. Shapes: (..., H, W) to (..., H', W'); padding (left, right, top, bottom)."""

    _rank = 2


class ConstantPad3d(_ConstantPad):
    """`value` around. Shapes: (..., D, H, W) to (..., D', H', W')."""

    _rank = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Zeros at the ends. Shapes: (..., W) to (..., W + left + right)."""

    _rank = 1


class ZeroPad2d(_ZeroPad):
    """Zeros at the borders. Shapes: (..., H, W) to (..., H', W')."""

    _rank = 2


class ZeroPad3d(_ZeroPad):
    """Zeros around. Shapes: (..., D, H, W) to (..., D', H', W')."""

    _rank = 3


class ReflectionPad1d(_Pad):
    """The input mirrored at its ends, which are not repeated. Shapes: (N, C, W) or (C, W)."""

    _rank, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """The input mirrored at its borders. Shapes: (N, C, H, W) or (C, H, W)."""

    _rank, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """The input mirrored around. Shapes: (N, C, D, H, W) or (C, D, H, W)."""

    _rank, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The ends repeated. Shapes: (N, C, W) or (C, W)."""

    _rank, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The borders repeated. Shapes: (N, C, H, W) or (C, H, W)."""

    _rank, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The outside repeated. Shapes: (N, C, D, H, W) or (C, D, H, W)."""

    _rank, _mode = 3, "replicate"


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self._rank + 1, self._rank + 2):
            raise ValueError(f"expected {self._rank + 1}D or {self._rank + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """The other end at each end. Shapes: (N, C, W) or (C, W)."""

    _rank = 1


class CircularPad2d(_CircularPad):
    """The other side at each side. Shapes: (N, C, H, W) or (C, H, W)."""

    _rank = 2


class CircularPad3d(_CircularPad):
    """The other side at each side. Shapes: (N, C, D, H, W) or (C, D, H, W)."""

    _rank = 3
