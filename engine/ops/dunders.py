"""Python's operators on tensors (`+`, `@`, `==`, `+=`, `.T`), as one table from special method to operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dispatch
from ..tensor import Tensor
from . import matmul, pointwise, views
from .table import FUNCTIONS, Op

_NUMBERS = (bool, int, float, complex, np.generic)
pointwise_call = dispatch.pointwise
inplace_call = dispatch.inplace


def _operand(other: Any) -> Any:
    """What may stand beside a tensor; None for what may not."""
    if isinstance(other, (Tensor, *_NUMBERS)):
        return other
    if isinstance(other, np.ndarray):
        from .creation import from_numpy

        return from_numpy(other)
    return None


def _binary(op: Op, statics: tuple[Any, ...] = (), swapped: bool = False) -> Callable[..., Any]:
    if swapped:

        def method(self: Tensor, other: Any) -> Any:
            other = _operand(other)
            return NotImplemented if other is None else pointwise_call(op, (other, self), statics)
    else:

        def method(self: Tensor, other: Any) -> Any:
            kind = type(other)
            if kind is Tensor or kind is float or kind is int:
                return pointwise_call(op, (self, other), statics)
            other = _operand(other)
            return NotImplemented if other is None else pointwise_call(op, (self, other), statics)

    return method


def _inplace(op: Op, statics: tuple[Any, ...] = ()) -> Callable[..., Any]:
    def method(self: Tensor, other: Any) -> Any:
        other = _operand(other)
        return NotImplemented if other is None else inplace_call(op, self, (other,), statics)

    return method


def _compare(op: Op, unequal: bool | None = None) -> Callable[..., Any]:
    def method(self: Tensor, other: Any) -> Any:
        other = _operand(other)
        return NotImplemented if other is None else pointwise_call(op, (self, other))

    return method


_ARITHMETIC: dict[str, tuple[Op, tuple[Any, ...]]] = {
    "add": (pointwise.ADD, (1,)), "sub": (pointwise.SUB, (1,)), "mul": (pointwise.MUL, ()), "truediv": (pointwise.DIV, ()),
    "floordiv": (pointwise.FLOOR_DIVIDE, ()), "mod": (pointwise.REMAINDER, ()), "pow": (pointwise.POW, ()),
    "and": (pointwise.BITWISE_AND, ()), "or": (pointwise.BITWISE_OR, ()), "xor": (pointwise.BITWISE_XOR, ()),
}  # fmt: skip
DUNDERS: dict[str, Any] = {}
for _name, (_op, _statics) in _ARITHMETIC.items():
    DUNDERS[f"__{_name}__"] = _binary(_op, _statics)
    DUNDERS[f"__r{_name}__"] = _binary(_op, _statics, swapped=True)
    DUNDERS[f"__i{_name}__"] = _inplace(_op, _statics)
for _name, _op in {
    "eq": pointwise.EQ, "ne": pointwise.NE, "lt": pointwise.LT, "le": pointwise.LE, "gt": pointwise.GT, "ge": pointwise.GE,
}.items():  # fmt: skip
    DUNDERS[f"__{_name}__"] = _compare(_op)


def _matmul(self: Tensor, other: Any) -> Any:
    return matmul.matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _divide_in_place(self: Tensor, other: Any) -> Tensor:
    return FUNCTIONS["div"].inplace(self, other)  # type: ignore[misc]


def _invert(self: Tensor) -> Tensor:
    return pointwise_call(pointwise.BITWISE_NOT, (self,))


def _transposed(self: Tensor) -> Tensor:
    return views.permute(self, *reversed(range(self.ndim)))


def _matrix_transposed(self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got " f"{self.ndim}-D tensor."
        )
    return views.transpose(self, -2, -1)


def _adjoint(self: Tensor) -> Tensor:
    out = _matrix_transposed(self) if self.ndim else self
    return out.conj() if self.dtype.is_complex else out  # type: ignore[attr-defined]


DUNDERS |= {
    "__matmul__": _matmul,
    "__rmatmul__": lambda self, other: matmul.matmul(other, self) if isinstance(other, Tensor) else NotImplemented,
    "__neg__": lambda self: pointwise_call(pointwise.NEG, (self,)),
    "__pos__": lambda self: self,
    "__abs__": lambda self: pointwise_call(pointwise.ABS, (self,)),
    "__invert__": _invert,
    "T": property(_transposed),
    "mT": property(_matrix_transposed),
    "H": property(_adjoint),
    "mH": property(_adjoint),
    "__hash__": object.__hash__,
}
