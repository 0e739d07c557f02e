"""Comparison, tests of single elements, logic, the larger and smaller of two, clamping."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..tensor import Tensor
from .declare import op_functions, operator, pointwise, tensor_argument
from .gradients import choose

# -- comparison ---------------------------------------------------------------------------------


def _narrow(ufunc: Any) -> Any:
    """The comparison, with a number beside narrow integers wrapped to their width, as it would be for arithmetic."""

    def kernel(x: Any, y: Any, out: Any = None) -> Any:
        if type(y) is int and x.itemsize < 8 and x.dtype.kind in "iu":
            y = np.asarray(y).astype(x.dtype)
        return ufunc(x, y, out=out)

    return kernel


EQ = pointwise("eq", "input, other", cpu=_narrow(np.equal), expr="input == other", result="bool", numbers="other")
NE = pointwise(
    "ne",
    "input, other",
    cpu=np.not_equal,
    expr="input != other",
    result="bool",
    numbers="other",
    aliases=("not_equal",),
)
LT = pointwise(
    "lt", "input, other", cpu=_narrow(np.less), expr="input < other", result="bool", accepts="bif", numbers="other", aliases=("less",),
)  # fmt: skip
LE = pointwise(
    "le", "input, other", cpu=_narrow(np.less_equal), expr="input <= other", result="bool", accepts="bif", numbers="other",
    aliases=("less_equal",),
)  # fmt: skip
GT = pointwise(
    "gt", "input, other", cpu=_narrow(np.greater), expr="input > other", result="bool", accepts="bif", numbers="other",
    aliases=("greater",),
)  # fmt: skip
GE = pointwise(
    "ge", "input, other", cpu=_narrow(np.greater_equal), expr="input >= other", result="bool", accepts="bif", numbers="other",
    aliases=("greater_equal",),
)  # fmt: skip

# -- tests of single elements -------------------------------------------------------------------


def _infinite(name: str) -> Any:
    return {"c": f"{name} does not support complex inputs."}


ISNAN = pointwise("isnan", cpu=np.isnan, expr="isnan(input)", result="bool", inplace=False)
ISINF = pointwise("isinf", cpu=np.isinf, expr="isinf(input)", result="bool", inplace=False)
ISFINITE = pointwise("isfinite", cpu=np.isfinite, expr="isfinite(input)", result="bool", inplace=False)
ISPOSINF = pointwise(
    "isposinf", cpu=lambda x, out=None: np.equal(x, np.inf, out=out), expr="isinf(input) and input > 0", result="bool",
    accepts="bif", inplace=False, refusals=_infinite("isposinf"),
)  # fmt: skip
ISNEGINF = pointwise(
    "isneginf", cpu=lambda x, out=None: np.equal(x, -np.inf, out=out), expr="isinf(input) and input < 0", result="bool",
    accepts="bif", inplace=False, refusals=_infinite("isneginf"),
)  # fmt: skip
ISREAL = pointwise(
    "isreal", cpu=lambda x, out=None: np.equal(x.imag, 0, out=out), expr="True", result="bool", inplace=False,
    doc="Whether the imaginary part is zero.",
)  # fmt: skip


@operator()
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Elementwise |input - other| <= atol + rtol * |other|; equal infinities are close, NaNs only with `equal_nan`.

    Raises RuntimeError for different dtypes and negative tolerances.
    """
    tensor_argument("isclose", "other", 2, other)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{dispatch.type_name(input.dtype)} did not match {dispatch.type_name(other.dtype)}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    a, b = input.detach(), other.detach()
    close = a == b
    if equal_nan and a.dtype.category >= dtypes.FLOATING:
        close = close | (op_functions["isnan"](a) & op_functions["isnan"](b))
    if rtol == 0 and atol == 0:
        return close
    if a.dtype.category < dtypes.FLOATING:
        a, b = a.to(dtypes.get_default_dtype()), b.to(dtypes.get_default_dtype())
    distance = (a - b).abs()
    return close | (op_functions["isfinite"](distance) & (distance <= atol + (rtol * b).abs()))


@operator()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close: |input - other| <= atol + rtol * |other|. Raises as `isclose` does."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())


@operator()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and elements."""
    tensor_argument("equal", "other", 2, other)
    return input.shape == other.shape and bool((input == other).all().item())


# -- logic --------------------------------------------------------------------------------------

LOGICAL_NOT = pointwise("logical_not", cpu=np.logical_not, expr="not input", result="bool")
LOGICAL_AND = pointwise(
    "logical_and", "input, other", cpu=np.logical_and, expr="input != 0 and other != 0", result="bool"
)
LOGICAL_OR = pointwise("logical_or", "input, other", cpu=np.logical_or, expr="input != 0 or other != 0", result="bool")
LOGICAL_XOR = pointwise(
    "logical_xor", "input, other", cpu=np.logical_xor, expr="(input != 0) != (other != 0)", result="bool"
)

# -- the larger and smaller of two --------------------------------------------------------------


def _share_ties(g: Tensor, a: Tensor, b: Tensor, wins: Tensor) -> Tensor:
    """The gradient where this side wins, half of it where both are equal."""
    return choose(a == b, g / 2, choose(wins, g, 0.0))


def _no_complex(name: str) -> dict[str, str]:
    return {"c": f"{name} not implemented for complex tensors."}


MAXIMUM = pointwise(
    "maximum", "input, other", cpu=np.maximum, expr="maximum(input, other)", accepts="bif", inplace=False,
    refusals=_no_complex("maximum"),
    grads={
        "input": lambda g, input, other: _share_ties(g, input, other, input > other),
        "other": lambda g, input, other: _share_ties(g, input, other, other > input),
    },
)  # fmt: skip
MINIMUM = pointwise(
    "minimum", "input, other", cpu=np.minimum, expr="minimum(input, other)", accepts="bif", inplace=False,
    refusals=_no_complex("minimum"),
    grads={
        "input": lambda g, input, other: _share_ties(g, input, other, input < other),
        "other": lambda g, input, other: _share_ties(g, input, other, other < input),
    },
)  # fmt: skip
FMAX = pointwise(
    "fmax", "input, other", cpu=np.fmax, accepts="bif", inplace=False, refusals=_no_complex("fmax"),
    expr="where(isnan(input), other, where(isnan(other), input, maximum(input, other)))",
    doc="The larger of two; a number rather than a NaN.",
    grads={
        "input": lambda g, input, other: choose((input >= other) | op_functions["isnan"](other), g, 0.0),
        "other": lambda g, input, other: choose((input >= other) | op_functions["isnan"](other), 0.0, g),
    },
)  # fmt: skip
FMIN = pointwise(
    "fmin", "input, other", cpu=np.fmin, accepts="bif", inplace=False, refusals=_no_complex("fmin"),
    expr="where(isnan(input), other, where(isnan(other), input, minimum(input, other)))",
    doc="The smaller of two; a number rather than a NaN.",
    grads={
        "input": lambda g, input, other: choose((input <= other) | op_functions["isnan"](other), g, 0.0),
        "other": lambda g, input, other: choose((input <= other) | op_functions["isnan"](other), 0.0, g),
    },
)  # fmt: skip

# -- clamping -----------------------------------------------------------------------------------


def _clamp(x: Any, low: Any, high: Any, out: Any = None) -> Any:
    if low is not None:
        x = np.maximum(x, _bound(low, x), out=out)
    return x if high is None else np.minimum(x, _bound(high, x), out=out)


def _bound(value: Any, x: Any) -> Any:
    """A bound in the dtype of `x`; one outside of an integer dtype's range as the end of the range."""
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        return min(max(int(value), int(limits.min)), int(limits.max))
    return value


CLAMP = pointwise(
    "clamp_numbers", "input; min=None, max=None", cpu=_clamp, expr="clamp(input, min, max)", accepts="bif", spaces=("primitive",),
    method=False, inplace=False, backward="Clamp", overload=lambda *_: 1,
    refusals={"c": "clamp is not supported for complex types"},
    grads={"input": lambda g, input, min, max: _inside(g, input, min, max)},
)  # fmt: skip
CLAMP_BETWEEN = pointwise(
    "clamp_tensors", "input, min, max", cpu=lambda x, low, high, out=None: np.minimum(np.maximum(x, low), high, out=out),
    expr="minimum(maximum(input, min), max)", accepts="bif", spaces=("primitive",), numbers="min max", method=False, inplace=False,
    backward="Clamp", refusals={"c": "clamp is not supported for complex types"},
    grads={
        "input": lambda g, input, min, max: choose((input >= min) & (input <= max), g, 0.0),
        "min": lambda g, input, min, max: choose((input < min) & _less(min, max), g, 0.0),
        "max": lambda g, input, min, max: choose((input > max) | _less(max, min), g, 0.0),
    },
)  # fmt: skip


def _less(a: Any, b: Any) -> Any:
    """`a < b` where one of them may be a number."""
    return a < b if isinstance(a, Tensor) else b > a


def _inside(g: Tensor, x: Tensor, low: Any, high: Any) -> Tensor:
    if low is None:
        return choose(x <= high, g, 0.0)
    return choose(x >= low if high is None else (x >= low) & (x <= high), g, 0.0)


def _clamp_plan(name: str, input: Tensor, low: Any, high: Any) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """The primitive, its tensors and its statics."""
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    tensors = [isinstance(b, Tensor) for b in (low, high) if b is not None]
    if any(tensors):
        if not all(tensors):
            raise TypeError(
                f"{name}() received an invalid combination of arguments - min and max must both be Tensors or both be Numbers"
            )
        kind = dispatch.result_type(input, low, high)
        if kind.category >= dtypes.FLOATING:
            ends: tuple[Any, Any] = (-math.inf, math.inf)
        else:
            limits = dtypes.iinfo(kind) if kind.category == dtypes.INTEGRAL else None
            ends = (limits.min, limits.max) if limits is not None else (False, True)
        bounds = (low if low is not None else ends[0], high if high is not None else ends[1])
        return CLAMP_BETWEEN, (input, *bounds), ()
    for b in (low, high):
        if b is not None and not isinstance(b, (bool, int, float, np.generic)):
            raise TypeError(f"{name}(): argument 'min' must be Number, not {type(b).__name__}")
    return CLAMP, (input,), (low, high)


def _clamp_in_place(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    op, tensors, statics = _clamp_plan("clamp_", self, min, max)
    kind = dispatch.result_type(self, *[b for b in (min, max) if b is not None])
    if not dtypes.can_cast(kind, self._dtype):
        raise RuntimeError(
            f"result type {dispatch.type_name(kind)} can't be cast to the desired output type {dispatch.type_name(self._dtype)}"
        )
    return dispatch.inplace(op, self, tensors[1:], statics)


@operator(inplace=_clamp_in_place, out=True, aliases=("clip",))
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Elements below `min` become `min`, those above `max` become `max`; bounds are numbers, tensors or None.

    Raises RuntimeError where both are None.
    """
    op, tensors, statics = _clamp_plan("clamp", tensor_argument("clamp", "input", 1, input), min, max)
    if op is CLAMP:
        kind = dispatch.result_type(input, *[b for b in statics if b is not None])
        if input._dtype is not kind:
            tensors = (input.to(kind),)
    return dispatch.pointwise(op, tensors, statics)


@operator(inplace=lambda self, min: _clamp_in_place(self, min), out=True)
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Elements below `min` become `min`."""
    return dispatch.pointwise(*_one_bound("clamp_min", input, min, None))


@operator(inplace=lambda self, max: _clamp_in_place(self, None, max), out=True)
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Elements above `max` become `max`."""
    return dispatch.pointwise(*_one_bound("clamp_max", input, None, max))


def _one_bound(name: str, input: Tensor, low: Any, high: Any) -> tuple[Any, ...]:
    op, tensors, statics = _clamp_plan(name, tensor_argument(name, "input", 1, input), low, high)
    if op is CLAMP:
        kind = dispatch.result_type(input, low if high is None else high)
        tensors = (input if input._dtype is kind else input.to(kind),)
    return op, tensors, statics
