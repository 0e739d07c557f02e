"""Pointwise operators: arithmetic, powers and exponentials, trigonometry, rounding, comparison, logic, selection.

Each entry gives the numpy kernel, the scalar expression that the kernel printers share, and the gradient.  Activations
stand in `activation.py`, type conversion in `creation.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dispatch
from ..tensor import Tensor
from .declare import op_functions, operator, pointwise

_TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)


def conj(t: Tensor) -> Tensor:
    """The complex conjugate; real tensors are themselves."""
    return t.conj() if isinstance(t, Tensor) and t._dtype.is_complex else t


# -- arithmetic ---------------------------------------------------------------------------------


def _add(x: Any, y: Any, alpha: Any, out: Any = None) -> Any:
    if alpha == 1:
        return np.add(x, y, out=out)
    return np.add(x, np.multiply(y, alpha), out=out)


def _sub(x: Any, y: Any, alpha: Any, out: Any = None) -> Any:
    if alpha == 1:
        return np.subtract(x, y, out=out)
    return np.subtract(x, np.multiply(y, alpha), out=out)


ADD = pointwise(
    "add", "input, other, *, alpha=1", cpu=_add, expr="input + alpha * other",
    grads={"input": lambda g: g, "other": lambda g, alpha: g if alpha == 1 else g * alpha},
)  # fmt: skip
SUB = pointwise(
    "sub", "input, other, *, alpha=1", cpu=_sub, expr="input - alpha * other", accepts="ifc", aliases=("subtract",),
    grads={"input": lambda g: g, "other": lambda g, alpha: -g if alpha == 1 else g * -alpha},
)  # fmt: skip
MUL = pointwise(
    "mul", "input, other", cpu=np.multiply, expr="input * other", aliases=("multiply",),
    grads={"input": lambda g, other: g * conj(other), "other": lambda g, input: g * conj(input)},
)  # fmt: skip
DIV = pointwise(
    "true_divide", "input, other", cpu=np.true_divide, expr="input / other", result="float", backward="Div",
    grads={
        "input": lambda g, other: g / conj(other),
        "other": lambda g, input, other: -g * conj((input / other) / other),
    },
)  # fmt: skip
NEG = pointwise("neg", cpu=np.negative, expr="-input", accepts="ifc", grads={"input": lambda g: -g}, aliases=("negative",))
RECIPROCAL = pointwise(
    "reciprocal", cpu=lambda x, out=None: np.divide(1, x, out=out, dtype=x.dtype), expr="1 / input", result="float",
    grads={"input": lambda g, result: -g * conj(result * result)},
)  # fmt: skip
ABS = pointwise(
    "abs", cpu=np.abs, expr="abs(input)", accepts="if", grads={"input": lambda g, input: g * input.sgn()}, aliases=("absolute",),
)  # fmt: skip
SGN = pointwise("sgn", cpu=lambda x, out=None: np.sign(x, out=out), expr="sign(input)", accepts="bifc",
                grads={"input": lambda g: g * 0})  # fmt: skip
SIGN = pointwise("sign", cpu=lambda x, out=None: np.sign(x, out=out), expr="sign(input)", accepts="bif",
                 grads={"input": lambda g: g * 0})  # fmt: skip
SQUARE = pointwise(
    "square", cpu=np.square, expr="input * input", backward="Pow", grads={"input": lambda g, input: g * conj(2 * input)}
)
MAXIMUM = pointwise(
    "maximum", "input, other", cpu=np.maximum, expr="maximum(input, other)", accepts="bif", inplace=False,
    grads={
        "input": lambda g, input, other: _share_ties(g, input, other, input > other),
        "other": lambda g, input, other: _share_ties(g, input, other, other > input),
    },
)  # fmt: skip
MINIMUM = pointwise(
    "minimum", "input, other", cpu=np.minimum, expr="minimum(input, other)", accepts="bif", inplace=False,
    grads={
        "input": lambda g, input, other: _share_ties(g, input, other, input < other),
        "other": lambda g, input, other: _share_ties(g, input, other, other < input),
    },
)  # fmt: skip


def _share_ties(g: Tensor, a: Tensor, b: Tensor, wins: Tensor) -> Tensor:
    """The gradient where this side wins, half of it where both are equal."""
    return op_functions["where"](a == b, g / 2, op_functions["where"](wins, g, g * 0))


FLOOR_DIVIDE = pointwise(
    "floor_divide", "input, other", cpu=lambda x, y, out=None: _floor_divide(x, y, out), expr="floor_divide(input, other)",
    accepts="if",
)  # fmt: skip
REMAINDER = pointwise(
    "remainder", "input, other", cpu=lambda x, y, out=None: np.remainder(x, y, out=out), expr="remainder(input, other)", accepts="if",
    grads={"input": lambda g: g, "other": lambda g, input, other: -g * op_functions["floor"](input / other)},
)  # fmt: skip
FMOD = pointwise(
    "fmod", "input, other", cpu=lambda x, y, out=None: np.fmod(x, y, out=out), expr="fmod(input, other)", accepts="if",
    grads={"input": lambda g: g, "other": lambda g, input, other: -g * op_functions["trunc"](input / other)},
)  # fmt: skip


def _floor_divide(x: Any, y: Any, out: Any) -> Any:
    if getattr(x, "dtype", getattr(y, "dtype", None)).kind in "iu" and np.any(np.equal(y, 0)):  # type: ignore[union-attr]
        raise RuntimeError("ZeroDivisionError")
    return np.floor_divide(x, y, out=out)


@operator(inplace=True, out=True, aliases=("divide",))
def div(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`input / other`; with `rounding_mode` "trunc" or "floor" the quotient is rounded so. Raises RuntimeError for others."""
    if rounding_mode is None:
        return dispatch.pointwise(DIV, (input, other))
    if rounding_mode == "floor":
        return dispatch.pointwise(FLOOR_DIVIDE, (input, other))
    if rounding_mode == "trunc":
        kind = dispatch.result_type(input, other)
        quotient = op_functions["trunc"](dispatch.pointwise(DIV, (input, other)))
        return quotient if kind.category >= 2 else quotient.to(kind)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


# -- powers, exponentials, logarithms -----------------------------------------------------------


def _power(x: Any, y: Any, out: Any = None) -> Any:
    if isinstance(y, (int, float)) and not isinstance(y, bool):
        if y == 2:
            return np.multiply(x, x, out=out)
        if y == 3:
            return np.multiply(x * x, x, out=out)
        if y == 0.5 and x.dtype.kind == "f":
            return np.sqrt(x, out=out)
        if y < 0 and x.dtype.kind in "iu":
            raise RuntimeError("Integers to negative integer powers are not allowed.")
    return np.power(x, y, out=out)


POW = pointwise(
    "pow", "input, exponent", cpu=_power, expr="pow(input, exponent)",
    grads={
        "input": lambda g, input, exponent: _pow_base(g, input, exponent),
        "exponent": lambda g, input, exponent, result: _pow_exponent(g, input, exponent, result),
    },
)  # fmt: skip


def _pow_base(g: Tensor, x: Any, y: Any) -> Tensor:
    if not isinstance(y, Tensor):
        return g * 0 if y == 0 else g * conj(y * x ** (y - 1))
    return op_functions["where"](y == 0, g * 0, g * conj(y * x ** (y - 1)))


def _pow_exponent(g: Tensor, x: Any, y: Tensor, result: Tensor) -> Tensor:
    if not isinstance(x, Tensor):
        return g * conj(result * math.log(x)) if x > 0 else g * 0
    safe = op_functions["where"]((x == 0) & (y >= 0), 0.0, conj(result * op_functions["log"](x)))
    return g * safe


EXP = pointwise("exp", cpu=np.exp, expr="exp(input)", result="float", grads={"input": lambda g, result: g * conj(result)})
EXP2 = pointwise("exp2", cpu=np.exp2, expr="exp2(input)", result="float",
                 grads={"input": lambda g, result: g * conj(result * math.log(2))})  # fmt: skip
EXPM1 = pointwise("expm1", cpu=np.expm1, expr="expm1(input)", result="float", grads={"input": lambda g, result: g * conj(result + 1)})
LOG = pointwise("log", cpu=np.log, expr="log(input)", result="float", grads={"input": lambda g, input: g / conj(input)})
LOG2 = pointwise("log2", cpu=np.log2, expr="log2(input)", result="float",
                 grads={"input": lambda g, input: g / conj(input * math.log(2))})  # fmt: skip
LOG10 = pointwise("log10", cpu=np.log10, expr="log10(input)", result="float",
                  grads={"input": lambda g, input: g / conj(input * math.log(10))})  # fmt: skip
LOG1P = pointwise("log1p", cpu=np.log1p, expr="log1p(input)", result="float", grads={"input": lambda g, input: g / conj(input + 1)})
SQRT = pointwise("sqrt", cpu=np.sqrt, expr="sqrt(input)", result="float", grads={"input": lambda g, result: g / conj(2 * result)})


def _rsqrt(x: Any, out: Any = None) -> Any:
    return np.divide(1, np.sqrt(x), out=out, dtype=x.dtype)


RSQRT = pointwise(
    "rsqrt", cpu=_rsqrt, expr="rsqrt(input)", result="float",
    grads={"input": lambda g, result: g * conj(-0.5 * result * result * result)},
)  # fmt: skip

# -- trigonometric and hyperbolic functions -----------------------------------------------------

SIN = pointwise("sin", cpu=np.sin, expr="sin(input)", result="float",
                grads={"input": lambda g, input: g * conj(op_functions["cos"](input))})  # fmt: skip
COS = pointwise("cos", cpu=np.cos, expr="cos(input)", result="float",
                grads={"input": lambda g, input: g * -conj(op_functions["sin"](input))})  # fmt: skip
TAN = pointwise("tan", cpu=np.tan, expr="tan(input)", result="float",
                grads={"input": lambda g, result: g * conj(1 + result * result)})  # fmt: skip
TANH = pointwise("tanh", cpu=np.tanh, expr="tanh(input)", result="float",
                 grads={"input": lambda g, result: g * conj(1 - result * result)})  # fmt: skip

# -- rounding -----------------------------------------------------------------------------------

FLOOR = pointwise("floor", cpu=np.floor, expr="floor(input)", accepts="if", grads={"input": lambda g: g * 0})
CEIL = pointwise("ceil", cpu=np.ceil, expr="ceil(input)", accepts="if", grads={"input": lambda g: g * 0})
TRUNC = pointwise("trunc", cpu=np.trunc, expr="trunc(input)", accepts="if", grads={"input": lambda g: g * 0}, aliases=("fix",))

# -- comparison and logic -----------------------------------------------------------------------

EQ = pointwise("eq", "input, other", cpu=np.equal, expr="input == other", result="bool")
NE = pointwise("ne", "input, other", cpu=np.not_equal, expr="input != other", result="bool", aliases=("not_equal",))
LT = pointwise("lt", "input, other", cpu=np.less, expr="input < other", result="bool", accepts="bif", aliases=("less",))
LE = pointwise("le", "input, other", cpu=np.less_equal, expr="input <= other", result="bool", accepts="bif", aliases=("less_equal",))
GT = pointwise("gt", "input, other", cpu=np.greater, expr="input > other", result="bool", accepts="bif", aliases=("greater",))
GE = pointwise("ge", "input, other", cpu=np.greater_equal, expr="input >= other", result="bool", accepts="bif",
               aliases=("greater_equal",))  # fmt: skip
LOGICAL_NOT = pointwise("logical_not", cpu=np.logical_not, expr="not input", result="bool")
LOGICAL_AND = pointwise("logical_and", "input, other", cpu=np.logical_and, expr="(input != 0) & (other != 0)", result="bool")
LOGICAL_OR = pointwise("logical_or", "input, other", cpu=np.logical_or, expr="(input != 0) | (other != 0)", result="bool")
LOGICAL_XOR = pointwise("logical_xor", "input, other", cpu=np.logical_xor, expr="(input != 0) ^ (other != 0)", result="bool")
BITWISE_NOT = pointwise("bitwise_not", cpu=np.invert, expr="~input", accepts="bi")
BITWISE_AND = pointwise("bitwise_and", "input, other", cpu=np.bitwise_and, expr="input & other", accepts="bi")
BITWISE_OR = pointwise("bitwise_or", "input, other", cpu=np.bitwise_or, expr="input | other", accepts="bi")
BITWISE_XOR = pointwise("bitwise_xor", "input, other", cpu=np.bitwise_xor, expr="input ^ other", accepts="bi")
ISNAN = pointwise("isnan", cpu=np.isnan, expr="isnan(input)", result="bool", inplace=False)
ISINF = pointwise("isinf", cpu=np.isinf, expr="isinf(input)", result="bool", inplace=False)
ISFINITE = pointwise("isfinite", cpu=np.isfinite, expr="not (isnan(input) | isinf(input))", result="bool", inplace=False)

# -- selection ----------------------------------------------------------------------------------


def _select(x: Any, y: Any, condition: Any, out: Any = None) -> Any:
    chosen = np.where(condition, x, y)
    kind = getattr(x, "dtype", getattr(y, "dtype", None))
    if out is None:
        return chosen.astype(kind, copy=False) if kind is not None else chosen
    np.copyto(out, chosen, casting="unsafe")
    return out


def _clamp(x: Any, low: Any, high: Any, out: Any = None) -> Any:
    return np.clip(x, low, high, out=out)


CLAMP = pointwise(
    "clamp_numbers", "input; min=None, max=None", cpu=_clamp, expr="clamp(input, min, max)", accepts="if", spaces=("primitive",),
    method=False, inplace=False, backward="Clamp",
    grads={"input": lambda g, input, min, max: _inside(g, input, min, max)},
)  # fmt: skip


def _inside(g: Tensor, x: Tensor, low: Any, high: Any) -> Tensor:
    inside = None
    for bound, test in ((low, op_functions["ge"]), (high, op_functions["le"])):
        if bound is not None:
            fits = test(x, bound)
            inside = fits if inside is None else inside & fits
    return op_functions["where"](inside, g, 0.0)


@operator(inplace=True, out=True, aliases=("clip",))
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Elements below `min` become `min`, those above `max` become `max`; bounds are numbers, tensors or None.

    Raises RuntimeError where both are None.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        out = input
        if min is not None:
            out = dispatch.pointwise(MAXIMUM, (out, min))
        if max is not None:
            out = dispatch.pointwise(MINIMUM, (out, max))
        return out
    kind = dispatch.result_type(input, *[b for b in (min, max) if b is not None])
    return dispatch.pointwise(CLAMP, (input if input._dtype is kind else input.to(kind),), (min, max))
