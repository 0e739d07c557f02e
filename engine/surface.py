"""Names of the `torch` namespace that are no operators: layouts and memory formats, queries, scalar constants."""

from __future__ import annotations

from typing import Any

from . import dtypes
from .tensor import Tensor


class layout:
    """How a tensor's elements are stored: `torch.strided`, `torch.sparse_coo` (engine/sparse.py), `torch.jagged` (engine/nested.py)."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class memory_format(layout):
    """An order of dimensions in memory."""


strided, sparse_coo, jagged = layout("strided"), layout("sparse_coo"), layout("jagged")
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


def detach(input: Tensor) -> Tensor:
    """The same elements without a history."""
    return input.detach()


def detach_(input: Tensor) -> Tensor:
    """`input` itself, cut off its history."""
    return input.detach_()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype can hold negative numbers."""
    return input.is_signed()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return input.is_same_size(other)


def is_inference(input: Tensor) -> bool:
    """Whether it was made in inference mode."""
    return input.is_inference()


def get_device(input: Tensor) -> int:
    """The index of the device; -1 for the CPU."""
    return input.get_device()


def typename(obj: Any) -> str:
    """The name of an object's type; that of tensors with their dtype, "torch.FloatTensor"."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", "") or ""
    return kind.__qualname__ if module in ("", "builtins", "__builtin__") else f"{module}.{kind.__qualname__}"


NAMES = (
    layout, memory_format, is_tensor, is_floating_point, is_complex, numel, is_nonzero, result_type, promote_types, can_cast,
    detach, detach_, is_signed, is_same_size, is_inference, get_device, typename,
)  # fmt: skip
METHODS = (is_nonzero,)
