"""Small helpers of gradient rules: conjugates, zeros, choices. They run operators, so that rules can be differentiated again."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .declare import op_functions


def conj(value: Any) -> Any:
    """The complex conjugate of a tensor or number; real ones are themselves."""
    if isinstance(value, Tensor):
        return op_functions["conj_physical"](value) if value._dtype.is_complex else value
    return value.conjugate() if type(value) is complex else value


def zeros_like(g: Tensor) -> Tensor:
    """Zeros in the shape, dtype and device of a gradient, not connected to it."""
    return g.new_zeros(g.shape)


def choose(condition: Tensor, a: Any, b: Any) -> Tensor:
    """`a` where the condition holds, else `b`."""
    return op_functions["where"](condition, a, b)


def is_tensor(value: Any) -> bool:
    """Whether an argument of a rule is a tensor, not a number."""
    return isinstance(value, Tensor)


def second_is_number(tensors: tuple[Any, ...], _: tuple[Any, ...]) -> int:
    """PyTorch's overloads (Tensor, Number) and (Tensor, Tensor), numbered 0 and 1."""
    return 1 if isinstance(tensors[1], Tensor) else 0


def second_is_tensor(tensors: tuple[Any, ...], _: tuple[Any, ...]) -> int:
    """PyTorch's overloads (Tensor, Tensor) and (Tensor, Number), numbered 0 and 1."""
    return 0 if isinstance(tensors[1], Tensor) else 1
