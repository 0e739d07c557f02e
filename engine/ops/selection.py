"""Choosing between tensors by a condition: `where`, `masked_fill`.

The condition is an operand of its own dtype, which is why these do not go through the pointwise promotion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch
from ..backends.base import backend as backend_of
from ..observe import bus
from ..shapes import broadcast_shapes
from ..state import state
from ..tensor import Tensor
from .creation import number_as
from .declare import c_name, op_functions, operator, write_back
from .table import Op


def _where(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, x, y)


WHERE = Op(
    "where", "condition input other", kind="index", cpu=_where,
    shape=lambda c, x, y: broadcast_shapes(c, x, y), dtype=lambda c, x, y: x._dtype,
    grads={
        "input": lambda g, condition: where(condition, g, 0.0),
        "other": lambda g, condition: where(condition, 0.0, g),
    },
)  # fmt: skip


@operator(out=True, method=False)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where `condition`, else of `other`; with the condition alone, the indices of its true elements.

    Raises RuntimeError for a condition that is not boolean (or uint8).
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise TypeError(
            "where() received an invalid combination of arguments: it takes a condition alone, or with two tensors or numbers"
        )
    if not isinstance(condition, Tensor):
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}")
    if condition.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {dispatch.type_name(condition.dtype)}"
        )
    kind = dispatch.result_type(input, other)
    parts = [_operand(condition, v, kind) for v in (input, other)]
    broadcast_shapes(condition.shape, parts[0].shape, parts[1].shape)
    mask = condition if condition.dtype.name == "bool" else condition.to(dispatch.dtypes.bool_)
    return dispatch.call(WHERE, (mask, parts[0], parts[1]))


def _operand(like: Tensor, value: Any, kind: Any) -> Tensor:
    if isinstance(value, Tensor):
        if value._storage.backend is not like._storage.backend and not value._data.shape:
            value = value.to(like.device)
        return value if value._dtype is kind else value.to(kind)
    return like.new_full((), value, dtype=kind)


op_functions["where"] = where


@operator(name="where", spaces=("method",))
def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor's elements where `condition`, else those of `other`."""
    return where(condition, self, other)


def _masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Write `value` (a number or 0-d tensor) where `mask`, in place."""
    plain = isinstance(value, (bool, int, float)) and isinstance(mask, Tensor) and mask.dtype.name == "bool"
    if (
        not plain
        or state.modes
        or bus.op
        or not (self._is_host and mask._is_host)
        or (state.grad_enabled and self.requires_grad)
    ):
        return write_back(self, masked_fill, (mask, value), {})
    dispatch.check_inplace(self, state.grad_enabled)
    if broadcast_shapes(self.shape, mask.shape) != tuple(self.shape):
        return write_back(self, masked_fill, (mask, value), {})
    number = backend_of("cpu").full((), number_as(value, self._dtype), self._dtype)
    np.copyto(self._data, number, where=mask._data)
    self._storage.version += 1
    return self


@operator(inplace=_masked_fill_)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value` (a number or 0-d tensor) where `mask`, else `input`."""
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if mask.dtype.name != "bool":
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype " + c_name(mask.dtype))
    if not isinstance(value, Tensor):
        value = input.new_full((), number_as(value, input._dtype))
    elif value._dtype.is_complex and not input._dtype.is_complex:
        value = input.new_full((), number_as(value.item(), input._dtype))
    return where(mask, value.to(input.dtype), input)
