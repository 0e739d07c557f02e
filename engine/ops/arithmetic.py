"""Arithmetic: sums, products, quotients, remainders, absolute values and signs, fused multiply-adds, interpolation.

Each entry gives the numpy kernel, the scalar expression that the kernel printers share, and the gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch
from ..dtypes import BOOL, FLOATING
from ..tensor import Tensor
from .declare import c_name, op_functions, operator, pointwise
from .gradients import choose, conj, is_tensor, second_is_number, second_is_tensor, zeros_like

_NO_BOOL_DIFFERENCE = "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
_NO_BOOL_OPERAND = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)

# -- sums and products --------------------------------------------------------------------------


def _scaled(y: Any, alpha: Any, x: Any) -> Any:
    kind = (y if isinstance(y, np.ndarray) else x).dtype.kind
    if isinstance(alpha, float) and kind in "iub":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return np.multiply(y, alpha)


def _add(x: Any, y: Any, alpha: Any, out: Any = None) -> Any:
    if alpha == 1:
        return np.add(x, y, out=out)
    return np.add(x, _scaled(y, alpha, x), out=out)


def _sub(x: Any, y: Any, alpha: Any, out: Any = None) -> Any:
    if alpha == 1:
        return np.subtract(x, y, out=out)
    return np.subtract(x, _scaled(y, alpha, x), out=out)


def _rsub(x: Any, y: Any, alpha: Any, out: Any = None) -> Any:
    if alpha == 1:
        return np.subtract(y, x, out=out)
    return np.subtract(y, _scaled(x, alpha, y), out=out)


def _no_bools(*operands: Any) -> None:
    for o in operands:
        if isinstance(o, Tensor) and o._dtype.category == BOOL:
            raise RuntimeError(_NO_BOOL_OPERAND)


ADD = pointwise(
    "add", "input, other, *, alpha=1", legacy=True, cpu=_add, expr="input + alpha * other", numbers="input other",
    grads={"input": lambda g: g, "other": lambda g, alpha: g if alpha == 1 else g * conj(alpha)},
)  # fmt: skip
SUB = pointwise(
    "sub", "input, other, *, alpha=1", legacy=True, cpu=_sub, expr="input - alpha * other", accepts="ifc", numbers="input other",
    aliases=("subtract",), refusals={"b": _NO_BOOL_DIFFERENCE}, guard=_no_bools,
    grads={"input": lambda g: g, "other": lambda g, alpha: -g if alpha == 1 else g * -conj(alpha)},
)  # fmt: skip
RSUB = pointwise(
    "rsub", "input, other, *, alpha=1", cpu=_rsub, expr="other - alpha * input", accepts="ifc", numbers="other",
    refusals={"b": _NO_BOOL_DIFFERENCE}, guard=_no_bools, method=False, inplace=False, overload=second_is_tensor,
    grads={"input": lambda g, alpha: -g if alpha == 1 else g * -conj(alpha), "other": lambda g: g},
)  # fmt: skip
MUL = pointwise(
    "mul", "input, other", cpu=np.multiply, expr="input * other", aliases=("multiply",), numbers="input other",
    grads={"input": lambda g, other: g * conj(other), "other": lambda g, input: g * conj(input)},
)  # fmt: skip
NEG = pointwise(
    "neg", cpu=np.negative, expr="-input", accepts="ifc", aliases=("negative",), grads={"input": lambda g: -g},
    refusals={
        "b": "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
        "`logical_not()` operator instead."
    },
)  # fmt: skip


@operator()
def positive(input: Tensor) -> Tensor:
    """`input` itself. Raises RuntimeError for bools."""
    if input.dtype.category == BOOL:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@operator(inplace=True, out=True)
def square(input: Tensor) -> Tensor:
    """`input * input`; bools become integers."""
    return op_functions["pow"](input, 2)


# -- quotients and remainders -------------------------------------------------------------------


def _nonzero_divisor(x: Any, y: Any) -> None:
    kind = (x if isinstance(x, np.ndarray) else y).dtype.kind
    if kind in "iu" and not np.all(y):
        raise RuntimeError("ZeroDivisionError")


def _div_floor(x: Any, y: Any, out: Any = None) -> Any:
    _nonzero_divisor(x, y)
    return np.floor_divide(x, y, out=out)


def _div_trunc(x: Any, y: Any, out: Any = None) -> Any:
    _nonzero_divisor(x, y)
    if (x if isinstance(x, np.ndarray) else y).dtype.kind == "f":
        return np.trunc(np.true_divide(x, y), out=out)
    quotient = np.floor_divide(x, y)
    inexact = (np.multiply(quotient, y) != x) & (np.less(x, 0) != np.less(y, 0))
    return np.add(quotient, inexact, out=out, dtype=quotient.dtype, casting="unsafe")


def _remainder(x: Any, y: Any, out: Any = None) -> Any:
    _nonzero_divisor(x, y)
    if (x if isinstance(x, np.ndarray) else y).dtype.kind != "f":
        return np.remainder(x, y, out=out)
    rest = np.asarray(np.remainder(x, y, out=None if out is x or out is y else out))
    zero = rest == 0
    if zero.any():  # to which numpy gives the sign of y
        np.copysign(rest, x, out=rest, where=zero)
    if out is not None and out is not rest:
        np.copyto(out, rest)
    return rest


def _fmod(x: Any, y: Any, out: Any = None) -> Any:
    _nonzero_divisor(x, y)
    return np.fmod(x, y, out=out)


DIV = pointwise(
    "true_divide", "input, other", cpu=np.true_divide, expr="input / other", result="float", primitive="div",
    numbers="input other",
    grads={
        "input": lambda g, other: g / conj(other),
        "other": lambda g, input, other: -g * conj((input / other) / other),
    },
)  # fmt: skip
FLOOR_DIVIDE = pointwise(
    "floor_divide", "input, other", cpu=_div_floor, expr="floor_divide(input, other)", accepts="if", numbers="input other",
    refusals={"": "div_floor_cpu"},
)  # fmt: skip
DIV_FLOOR = pointwise(
    "div_floor", "input, other", cpu=_div_floor, expr="floor_divide(input, other)", accepts="if", numbers="input other",
    spaces=("primitive",), method=False, inplace=False, backward="Div", overload=lambda *_: 2,
    grads={"input": zeros_like, "other": zeros_like},
)  # fmt: skip
DIV_TRUNC = pointwise(
    "div_trunc", "input, other", cpu=_div_trunc, expr="trunc(input / other)", accepts="if", numbers="input other",
    spaces=("primitive",), method=False, inplace=False, backward="Div", overload=lambda *_: 2,
    grads={"input": zeros_like, "other": zeros_like},
)  # fmt: skip
REMAINDER = pointwise(
    "remainder", "input, other", cpu=_remainder, expr="remainder(input, other)", accepts="if", numbers="input other",
    overload=second_is_number,
    grads={"input": lambda g: g, "other": lambda g, input, other: -g * dispatch.pointwise(DIV_FLOOR, (input, other))},
)  # fmt: skip
FMOD = pointwise(
    "fmod", "input, other", cpu=_fmod, expr="fmod(input, other)", accepts="if", numbers="other", overload=second_is_number,
    grads={"input": lambda g: g, "other": lambda g, input, other: -g * dispatch.pointwise(DIV_TRUNC, (input, other))},
)  # fmt: skip
RECIPROCAL = pointwise(
    "reciprocal", cpu=lambda x, out=None: np.divide(1, x, out=out, dtype=x.dtype), expr="1 / input", result="float",
    grads={"input": lambda g, result: -g * conj(result * result)},
)  # fmt: skip


def _quotient(rounding_mode: str | None) -> Any:
    if rounding_mode is None:
        return DIV
    if rounding_mode == "floor":
        return DIV_FLOOR
    if rounding_mode == "trunc":
        return DIV_TRUNC
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


def _div_in_place(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    return dispatch.inplace(_quotient(rounding_mode), self, (other,))


@operator(inplace=_div_in_place, out=True, aliases=("divide",))
def div(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`input / other`; with `rounding_mode` "trunc" or "floor" the quotient is rounded so. Raises RuntimeError for others."""
    return dispatch.pointwise(_quotient(rounding_mode), (input, other))


# -- whole numbers ------------------------------------------------------------------------------


GCD = pointwise(
    "gcd",
    "input, other",
    cpu=np.gcd,
    expr="gcd(input, other)",
    accepts="i",
    doc="The greatest common divisor of the absolute values.",
)
LCM = pointwise(
    "lcm",
    "input, other",
    cpu=np.lcm,
    expr="lcm(input, other)",
    accepts="i",
    doc="The least common multiple of the absolute values.",
)

# -- size and sign ------------------------------------------------------------------------------


def _abs_in_place(self: Tensor) -> Tensor:
    if self._dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return dispatch.inplace(ABS, self, ())


def _sign(x: Any, out: Any = None) -> Any:
    if x.dtype.kind == "b":
        return np.positive(x.view(np.uint8), out=None if out is None else out.view(np.uint8)).view(np.bool_)
    if x.dtype.kind == "f":  # NaN has the sign zero here
        return np.subtract(x > 0, x < 0, out=out, dtype=x.dtype)
    return np.sign(x, out=out)


def _sgn(x: Any, out: Any = None) -> Any:
    if x.dtype.kind != "c":
        return _sign(x, out)
    size = np.abs(x)
    return np.divide(x, np.where(size == 0, 1, size), out=out, dtype=x.dtype)


def _sgn_backward(g: Tensor, x: Any, result: Tensor) -> Tensor:
    if not result._dtype.is_complex:
        return zeros_like(g)
    size = x.abs()
    along = (g * conj(result)).real * result
    return choose(size == 0, 0.0, (g - along) / choose(size == 0, 1.0, size))


ABS = pointwise(
    "abs", cpu=np.abs, expr="abs(input)", result="real", accepts="ifc", inplace=_abs_in_place,
    grads={"input": lambda g, input: g * op_functions["sgn"](input)}, aliases=("absolute",),
)  # fmt: skip
SGN = pointwise(
    "sgn", cpu=_sgn, expr="sign(input)", grads={"input": lambda g, input, result: _sgn_backward(g, input, result)},
    doc="The sign; of complex numbers the number divided by its absolute value.",
)  # fmt: skip
SIGN = pointwise(
    "sign", cpu=_sign, expr="sign(input)", accepts="bif", grads={"input": zeros_like},
    refusals={"c": "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."},
)  # fmt: skip

# -- fused multiply-adds, interpolation ---------------------------------------------------------


def _addcmul(x: Any, a: Any, b: Any, value: Any, out: Any = None) -> Any:
    if x.dtype.kind in "iub":
        value = int(value)
    product = np.multiply(a, b) if value == 1 else np.multiply(np.multiply(a, value), b)
    return np.add(x, product, out=out, dtype=x.dtype, casting="unsafe")


def _addcdiv(x: Any, a: Any, b: Any, value: Any, out: Any = None) -> Any:
    if x.dtype.kind in "iub":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
            "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
            "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs."
        )
    return np.add(x, np.divide(a if value == 1 else np.multiply(a, value), b), out=out)


ADDCMUL = pointwise(
    "addcmul", "input, tensor1, tensor2, *, value=1", legacy=True, cpu=_addcmul, expr="input + value * tensor1 * tensor2",
    accepts="ifc", doc="`input + value * tensor1 * tensor2`.",
    grads={
        "input": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conj(tensor2 * value),
        "tensor2": lambda g, tensor1, value: g * conj(tensor1 * value),
    },
)  # fmt: skip
ADDCDIV = pointwise(
    "addcdiv", "input, tensor1, tensor2, *, value=1", legacy=True, cpu=_addcdiv, expr="input + value * tensor1 / tensor2",
    doc="`input + value * tensor1 / tensor2`. Raises RuntimeError for integers.",
    grads={
        "input": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conj(value / tensor2),
        "tensor2": lambda g, tensor1, tensor2, value: -g * conj(value * tensor1 / (tensor2 * tensor2)),
    },
)  # fmt: skip


def _lerp(x: Any, end: Any, weight: Any, out: Any = None) -> Any:
    difference = np.subtract(end, x)
    if not isinstance(weight, np.ndarray):
        if abs(weight) < 0.5:
            return np.add(x, difference * weight, out=out)
        return np.subtract(end, difference * (1 - weight), out=out)
    near = np.abs(weight) < 0.5
    return np.add(np.where(near, x, end), difference * np.where(near, weight, weight - 1), out=out, dtype=x.dtype)


def _one_dtype(input: Any, end: Any, weight: Any) -> None:
    if input._dtype.category < FLOATING:
        raise NotImplementedError(f"\"lerp_kernel_scalar\" not implemented for '{dispatch.type_name(input._dtype)}'")
    for name, t in (("end", end), ("weight", weight)):
        if is_tensor(t) and t._dtype is not input._dtype and (name == "end" or t._data.shape):
            raise RuntimeError(f"expected dtype {c_name(input._dtype)} for `{name}` but got dtype {c_name(t._dtype)}")


LERP = pointwise(
    "lerp", "input, end, weight", cpu=_lerp, expr="input + weight * (end - input)", accepts="fc", numbers="weight",
    refusals={"": "lerp_kernel_scalar"}, guard=_one_dtype, overload=lambda tensors, _: 1 if is_tensor(tensors[2]) else 0,
    doc="`input + weight * (end - input)`.",
    grads={
        "input": lambda g, weight: g * (1 - conj(weight)),
        "end": lambda g, weight: g * conj(weight),
        "weight": lambda g, input, end: g * conj(end - input),
    },
)  # fmt: skip
