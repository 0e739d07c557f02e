"""Python's operators on tensors (`+`, `@`, `==`, `+=`, `.T`), as one table from special method to operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dispatch
from ..tensor import Tensor
from . import arithmetic, bitwise, comparison, complex_numbers, exponential, matmul, views
from .table import Op

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
    "add": (arithmetic.ADD, (1,)), "sub": (arithmetic.SUB, (1,)), "mul": (arithmetic.MUL, ()), "truediv": (arithmetic.DIV, ()),
    "floordiv": (arithmetic.FLOOR_DIVIDE, ()), "mod": (arithmetic.REMAINDER, ()), "pow": (exponential.POW, ()),
    "and": (bitwise.BITWISE_AND, ()), "or": (bitwise.BITWISE_OR, ()), "xor": (bitwise.BITWISE_XOR, ()),
    "lshift": (bitwise.LEFT_SHIFT, ()), "rshift": (bitwise.RIGHT_SHIFT, ()),
}  # fmt: skip
DUNDERS: dict[str, Any] = {}
for _name, (_op, _statics) in _ARITHMETIC.items():
    DUNDERS[f"__{_name}__"] = _binary(_op, _statics)
    DUNDERS[f"__r{_name}__"] = _binary(_op, _statics, swapped=True)
    DUNDERS[f"__i{_name}__"] = _inplace(_op, _statics)
for _name, _op in {
    "eq": comparison.EQ, "ne": comparison.NE, "lt": comparison.LT, "le": comparison.LE, "gt": comparison.GT, "ge": comparison.GE,
}.items():  # fmt: skip
    DUNDERS[f"__{_name}__"] = _compare(_op)
DUNDERS["__rsub__"] = _binary(arithmetic.RSUB, (1,))  # PyTorch has one node for a number less a tensor, ...


def _inverse_times(self: Tensor, other: Any) -> Any:
    """... and divides a number by a tensor in two steps."""
    other = _operand(other)
    if other is None:
        return NotImplemented
    return pointwise_call(arithmetic.MUL, (pointwise_call(arithmetic.RECIPROCAL, (self,)), other))


DUNDERS["__rtruediv__"] = DUNDERS["__rdiv__"] = _inverse_times


def _matmul(self: Tensor, other: Any) -> Any:
    return matmul.matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _invert(self: Tensor) -> Tensor:
    if self._dtype.category > 1:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return pointwise_call(bitwise.BITWISE_NOT, (self,))


def _transposed(self: Tensor) -> Tensor:
    return views.permute(self, *reversed(range(self.ndim)))


def _matrix_transposed(self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return views.transpose(self, -2, -1)


def _matrix_adjoint(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if self.ndim > 2 else "")
        )
    return _adjoint(self) if self.ndim else self


def _adjoint(self: Tensor) -> Tensor:
    out = _matrix_transposed(self) if self.ndim else self
    return out.conj() if self.dtype.is_complex else out


DUNDERS |= {
    "__matmul__": _matmul,
    "__rmatmul__": lambda self, other: matmul.matmul(other, self) if isinstance(other, Tensor) else NotImplemented,
    "__neg__": lambda self: pointwise_call(arithmetic.NEG, (self,)),
    "__pos__": arithmetic.positive,
    "__abs__": lambda self: pointwise_call(arithmetic.ABS, (self,)),
    "__invert__": _invert,
    "T": property(_transposed),
    "mT": property(_matrix_transposed),
    "H": property(_matrix_adjoint),
    "mH": property(_adjoint),
    **complex_numbers.PROPERTIES,
    "__hash__": object.__hash__,
}
