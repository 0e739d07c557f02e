"""Names of the `torch` namespace that are no operators: layouts and memory formats, queries, scalar constants."""

from __future__ import annotations

from typing import Any

from . import dtypes
from .tensor import Tensor


class layout:
    """How a tensor's elements are stored; there is one here, `torch.strided`."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class memory_format(layout):
    """An order of dimensions in memory."""


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
inf, nan, pi, e = float("inf"), float("nan"), 3.141592653589793, 2.718281828459045
newaxis = None


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating-point type."""
    return input.dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.dtype.is_complex


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero."""
    return bool(input)


def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The dtype of an operator on both."""
    from .dispatch import result_type as rule

    return rule(tensor1, tensor2)


def promote_types(type1: dtypes.dtype, type2: dtypes.dtype) -> dtypes.dtype:
    """The smallest dtype that both fit in."""
    return dtypes.promote_types(type1, type2)


def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Whether a result of type `from_` may be written into a tensor of type `to`."""
    return dtypes.can_cast(from_, to)


NAMES = (
    layout, memory_format, is_tensor, is_floating_point, is_complex, numel, is_nonzero, result_type, promote_types, can_cast,
)  # fmt: skip
METHODS = (is_nonzero,)
