"""Trigonometric and hyperbolic functions, their inverses, angles between axes, degrees and radians, sinc."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..numerics.blocks import store
from ..tensor import Tensor
from .declare import op_functions, pointwise
from .gradients import choose, conj
from .one_launch import either, one_launch

# -- circular functions -------------------------------------------------------------------------

SIN = pointwise(
    "sin", cpu=np.sin, expr="sin(input)", result="float", wide=True,
    grads={"input": lambda g, input: g * conj(op_functions["cos"](input))},
)  # fmt: skip
COS = pointwise(
    "cos", cpu=np.cos, expr="cos(input)", result="float", wide=True,
    grads={"input": lambda g, input: g * -conj(op_functions["sin"](input))},
)  # fmt: skip
TAN = pointwise(
    "tan", cpu=np.tan, expr="tan(input)", result="float", wide=True,
    grads={"input": lambda g, result: g * conj(1 + result * result)},
)  # fmt: skip
ASIN = pointwise(
    "asin", cpu=np.arcsin, expr="asin(input)", result="float", wide=True, aliases=("arcsin",),
    grads={"input": lambda g, input: g * conj(op_functions["rsqrt"](1 - input * input))},
)  # fmt: skip
ACOS = pointwise(
    "acos", cpu=np.arccos, expr="acos(input)", result="float", wide=True, aliases=("arccos",),
    grads={"input": lambda g, input: g * -conj(op_functions["rsqrt"](1 - input * input))},
)  # fmt: skip
ATAN = pointwise(
    "atan", cpu=np.arctan, expr="atan(input)", result="float", wide=True, aliases=("arctan",),
    grads={"input": lambda g, input: g / conj(input * input + 1)},
)  # fmt: skip

# -- hyperbolic functions -----------------------------------------------------------------------

SINH = pointwise(
    "sinh", cpu=np.sinh, expr="sinh(input)", result="float", wide=True,
    grads={"input": lambda g, input: g * conj(op_functions["cosh"](input))},
)  # fmt: skip
COSH = pointwise(
    "cosh", cpu=np.cosh, expr="cosh(input)", result="float", wide=True,
    grads={"input": lambda g, input: g * conj(op_functions["sinh"](input))},
)  # fmt: skip
TANH = pointwise(
    "tanh", cpu=np.tanh, expr="tanh(input)", result="float", wide=True, spaces=("torch", "nn.functional"),
    grads={"input": lambda g, result: either(one_launch("g * (1 - y * y)", g=g, y=result), lambda: g * conj(1 - result * result))},
)  # fmt: skip
ASINH = pointwise(
    "asinh", cpu=np.arcsinh, expr="asinh(input)", result="float", wide=True, aliases=("arcsinh",),
    grads={"input": lambda g, input: g * conj(op_functions["rsqrt"](input * input + 1))},
)  # fmt: skip


def _acosh_backward(g: Tensor, x: Tensor) -> Tensor:
    rsqrt = op_functions["rsqrt"]
    if x._dtype.is_complex:  # the product of the roots has the branch cut of acosh, the root of the product has not
        return g * conj(rsqrt(x + 1) * rsqrt(x - 1))
    return g * rsqrt(x * x - 1)


ACOSH = pointwise(
    "acosh", cpu=np.arccosh, expr="acosh(input)", result="float", wide=True, aliases=("arccosh",),
    grads={"input": lambda g, input: _acosh_backward(g, input)},
)  # fmt: skip
ATANH = pointwise(
    "atanh", cpu=np.arctanh, expr="atanh(input)", result="float", wide=True, aliases=("arctanh",),
    grads={"input": lambda g, input: g / conj(1 - input * input)},
)  # fmt: skip

# -- triangles and angles -----------------------------------------------------------------------


def _inverse_square(x: Tensor, y: Tensor) -> Tensor:
    return op_functions["reciprocal"](x * x + y * y)


ATAN2 = pointwise(
    "atan2", "input, other", cpu=np.arctan2, expr="atan2(input, other)", result="float", wide=True, accepts="bif", aliases=("arctan2",),
    grads={
        "input": lambda g, input, other: g * other * _inverse_square(input, other),
        "other": lambda g, input, other: g * -input * _inverse_square(input, other),
    },
)  # fmt: skip
HYPOT = pointwise(
    "hypot", "input, other", cpu=np.hypot, accepts="f", doc="The length of the hypotenuse, without overflow.",
    expr="where(maximum(abs(input), abs(other)) == 0, 0.0, where(isinf(input) or isinf(other), inf, "
    "maximum(abs(input), abs(other)) * sqrt(1.0 + pow(minimum(abs(input), abs(other)) / maximum(abs(input), abs(other)), 2.0))))",
    grads={"input": lambda g, input, result: g * (input / result), "other": lambda g, other, result: g * (other / result)},
)  # fmt: skip
_DEGREES = 180.0 / math.pi
DEG2RAD = pointwise(
    "deg2rad", cpu=lambda x, out=None: np.multiply(x, 1 / _DEGREES, out=out), expr=f"input * {1 / _DEGREES!r}", result="float",
    accepts="bif", backward="Deg2Rad", refusals={"c": "deg2rad is not supported for complex tensors."},
    grads={"input": lambda g: g * (1 / _DEGREES)},
)  # fmt: skip
RAD2DEG = pointwise(
    "rad2deg", cpu=lambda x, out=None: np.multiply(x, _DEGREES, out=out), expr=f"input * {_DEGREES!r}", result="float",
    accepts="bif", backward="Rad2Deg", refusals={"c": "rad2deg is not supported for complex tensors."},
    grads={"input": lambda g: g * _DEGREES},
)  # fmt: skip


def _sinc(x: Any, out: Any = None) -> Any:
    angle = np.multiply(x, math.pi)
    zero = angle == 0
    return store(np.where(zero, 1, np.sin(angle) / np.where(zero, 1, angle)), x.dtype, out)


def _sinc_backward(g: Tensor, x: Tensor) -> Tensor:
    angle = x * math.pi
    slope = (angle * op_functions["cos"](angle) - op_functions["sin"](angle)) / (x * angle)
    return choose(x == 0, 0.0, g * conj(slope))


SINC = pointwise(
    "sinc", cpu=_sinc, result="float", spaces=("torch", "special"), doc="sin(pi x) / (pi x), 1 at 0.",
    expr=f"where(input == 0, 1.0, sin(input * {math.pi!r}) / (input * {math.pi!r}))",
    grads={"input": lambda g, input: _sinc_backward(g, input)},
)  # fmt: skip
