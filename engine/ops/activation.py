"""Activations and normalised exponentials: relu and its relatives, sigmoid, softmax.

Pointwise ones are primitives with an expression; softmax and log_softmax are primitives of their own, since fusing them
pays on every device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import wrap_dim
from ..tensor import Tensor
from .declare import op_functions, operator, pointwise
from .one_launch import by_kernel, either, one_launch
from .table import Op

RELU = pointwise(
    "relu", cpu=lambda x, out=None: np.maximum(x, 0, out=out), expr="maximum(input, 0)", accepts="if",
    spaces=("torch", "nn.functional"), grads={"input": lambda g, result: either(
        one_launch("where(y > 0, g, 0.0)", g=g, y=result), lambda: op_functions["where"](result > 0, g, 0.0)
    )},
)  # fmt: skip


def _sigmoid(x: Any, out: Any = None) -> Any:
    # An overflowing exponential is infinite, and its inverse the zero that it should be; half floats need the wider range.
    e = np.exp(-(x.astype(np.float32) if x.dtype == np.float16 else x))
    e += 1
    return np.divide(1, e, out=out, dtype=None if e.dtype == x.dtype else e.dtype, casting="same_kind").astype(
        x.dtype, copy=False
    )


SIGMOID = pointwise(
    "sigmoid", cpu=_sigmoid, expr="sigmoid(input)", result="float", spaces=("torch", "nn.functional", "special.expit"),
    grads={"input": lambda g, result: either(one_launch("g * ((1 - y) * y)", g=g, y=result), lambda: g * ((1 - result) * result))},
)  # fmt: skip


def _softmax(x: np.ndarray, dim: int) -> np.ndarray:
    e = np.exp(x - np.max(x, axis=dim, keepdims=True)) if x.size else np.exp(x)
    e /= np.sum(e, axis=dim, keepdims=True)
    return e


def _log_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    if not x.size:
        return x.copy()
    shifted = x - np.max(x, axis=dim, keepdims=True)
    shifted -= np.log(np.sum(np.exp(shifted), axis=dim, keepdims=True))
    return shifted


SOFTMAX = Op(
    "softmax", "input", "dim", kind="fused", cpu=_softmax, shape=lambda s, dim: s,
    grads={
        "input": lambda g, result, dim: either(
            by_kernel("softmax_backward", (g, result), dim), lambda: (g - (g * result).sum(dim, True)) * result
        )
    },
)  # fmt: skip
LOG_SOFTMAX = Op(
    "log_softmax", "input", "dim", kind="fused", cpu=_log_softmax, shape=lambda s, dim: s,
    grads={
        "input": lambda g, result, dim: either(
            by_kernel("log_softmax_backward", (g, result), dim), lambda: g - result.exp() * g.sum(dim, True)
        )
    },
)  # fmt: skip


def _prepare(name: str, input: Tensor, dim: Any, dtype: Any) -> tuple[Tensor, int]:
    if dtype is not None and dtype is not input.dtype:
        input = input.to(dtype)
    if dim is None:
        import warnings

        warnings.warn(
            f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
            stacklevel=4,
        )
        dim = 0 if input.ndim in (0, 1, 3) else 1
    if input.dtype.category < dtypes.FLOATING:
        raise NotImplementedError(
            f"\"{name}_lastdim_kernel_impl\" not implemented for '{dispatch.type_name(input.dtype)}'"
        )
    return input, wrap_dim(dim, input.ndim)


@operator(spaces=("torch", "nn.functional", "special"))
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`, computed with the largest element taken off."""
    x, at = _prepare("softmax", input, dim, dtype)
    if x.ndim == 0:
        return softmax(x.reshape(1), 0).reshape(())
    return dispatch.call(SOFTMAX, (x,), (at,))


@operator(spaces=("torch", "nn.functional", "special"))
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(x)) along `dim`, without forming the quotient."""
    x, at = _prepare("log_softmax", input, dim, dtype)
    if x.ndim == 0:
        return log_softmax(x.reshape(1), 0).reshape(())
    return dispatch.call(LOG_SOFTMAX, (x,), (at,))
