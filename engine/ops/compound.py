"""Pointwise operators of three tensors that optimizers and interpolation are made of: addcmul, addcdiv, lerp."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..tensor import Tensor
from .declare import operator, pointwise
from .pointwise import conj


def _addcmul(x: Any, a: Any, b: Any, value: Any, out: Any = None) -> Any:
    product = np.multiply(a, b) if value == 1 else np.multiply(np.multiply(a, value), b)
    return np.add(x, product, out=out)


def _addcdiv(x: Any, a: Any, b: Any, value: Any, out: Any = None) -> Any:
    quotient = np.divide(a if value == 1 else np.multiply(a, value), b)
    return np.add(x, quotient, out=out)


def _lerp(x: Any, end: Any, weight: Any, out: Any = None) -> Any:
    """The formula that is exact at the nearer end."""
    difference = np.subtract(end, x)
    if not isinstance(weight, np.ndarray) and not isinstance(weight, np.generic):
        if abs(weight) < 0.5:
            return np.add(x, difference * weight, out=out)
        return np.subtract(end, difference * (1 - weight), out=out)
    near = np.abs(weight) < 0.5
    result = np.where(near, x + weight * difference, end - difference * (1 - weight))
    if out is None:
        return result
    np.copyto(out, result)
    return out


ADDCMUL = pointwise(
    "addcmul", "input, tensor1, tensor2, *, value=1", cpu=_addcmul, expr="input + value * tensor1 * tensor2", accepts="ifc",
    grads={
        "input": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conj(tensor2 * value),
        "tensor2": lambda g, tensor1, value: g * conj(tensor1 * value),
    },
)  # fmt: skip
ADDCDIV_FLOATS = pointwise(
    "addcdiv_floats", "input, tensor1, tensor2, *, value=1", cpu=_addcdiv, expr="input + value * tensor1 / tensor2",
    accepts="fc", spaces=("primitive",), method=False, inplace=False, backward="Addcdiv",
    grads={
        "input": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conj(value / tensor2),
        "tensor2": lambda g, tensor1, tensor2, value: -g * conj((value * tensor1) / (tensor2 * tensor2)),
    },
)  # fmt: skip
LERP = pointwise(
    "lerp_weights", "input, end, weight", cpu=_lerp, accepts="fc", spaces=("primitive",), method=False, inplace=False,
    backward="Lerp", numbers="weight", overload=lambda tensors, statics: int(isinstance(tensors[2], Tensor)),
    expr="where(abs(weight) < 0.5, input + weight * (end - input), end - (end - input) * (1 - weight))",
    grads={
        "input": lambda g, weight: g * conj(1 - weight),
        "end": lambda g, weight: g * conj(weight) if isinstance(weight, Tensor) else g * weight,
        "weight": lambda g, input, end: g * conj(end - input),
    },
)  # fmt: skip


def _no_integers(a: Any, b: Any) -> None:
    if all(isinstance(t, Tensor) and t.dtype.category < dtypes.FLOATING for t in (a, b)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
            "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
            "tensor2), for all dtypes."
        )


def _addcdiv_into(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """`addcdiv` with its result in `input`."""
    _no_integers(tensor1, tensor2)
    return dispatch.inplace(ADDCDIV_FLOATS, input, (tensor1, tensor2), (value,))


def _lerp_into(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """`lerp` with its result in `input`."""
    _same_kind(input, end)
    return dispatch.inplace(LERP, input, (end, weight))


def _same_kind(input: Tensor, end: Tensor) -> None:
    if input.dtype is not end.dtype:
        raise RuntimeError(
            f"expected dtype {dispatch.type_name(input.dtype).lower()} for `end` but got dtype "
            f"{dispatch.type_name(end.dtype).lower()}"
        )


@operator(out=True, inplace=_addcdiv_into)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """`input + value * tensor1 / tensor2`. Raises RuntimeError for two integer tensors."""
    _no_integers(tensor1, tensor2)
    return dispatch.pointwise(ADDCDIV_FLOATS, (input, tensor1, tensor2), (value,))


@operator(out=True, inplace=_lerp_into)
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """`input + weight * (end - input)`; `weight` is a number or a tensor. Raises RuntimeError for two dtypes."""
    _same_kind(input, end)
    return dispatch.pointwise(LERP, (input, end, weight))
