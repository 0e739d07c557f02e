"""Rounding, fractions, signs as bits, neighbours among floats, steps, and replacing what is not a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch
from ..numerics.blocks import store
from ..tensor import Tensor
from .declare import op_functions, pointwise
from .gradients import choose, is_tensor, second_is_tensor, zeros_like


def _whole(name: str) -> dict[str, str]:
    return {"": f"{name}_vml_cpu", "c": f"{name} is not supported for complex inputs"}


def _flat(g: Tensor) -> Tensor:
    return zeros_like(g)


FLOOR = pointwise(
    "floor", cpu=np.floor, expr="floor(input)", accepts="if", refusals=_whole("floor"), grads={"input": _flat}
)
CEIL = pointwise("ceil", cpu=np.ceil, expr="ceil(input)", accepts="if", refusals=_whole("ceil"), grads={"input": _flat})
TRUNC = pointwise(
    "trunc", cpu=np.trunc, expr="trunc(input)", accepts="if", refusals=_whole("trunc"), grads={"input": _flat}, aliases=("fix",),
)  # fmt: skip


def _round(x: Any, decimals: int, out: Any = None) -> Any:
    if x.dtype.kind != "f":
        if decimals:
            raise NotImplementedError(
                f"\"round_cpu\" not implemented for '{dispatch.type_name(dispatch.dtypes.of_numpy(x.dtype))}'"
            )
        return np.positive(x, out=out)
    if decimals == 0:
        return np.rint(x, out=out)
    scale = x.dtype.type(10.0 ** abs(decimals))
    if decimals > 0:
        return np.divide(np.rint(x * scale), scale, out=out)
    return np.multiply(np.rint(x / scale), scale, out=out)


ROUND = pointwise(
    "round", "input, *, decimals=0", cpu=_round, accepts="if", spaces=("torch", "special"), refusals={"": "round_vml_cpu"},
    expr="where(decimals == 0, round(input), where(decimals > 0, round(input * pow(10.0, abs(decimals))) / pow(10.0, abs(decimals)), "
    "round(input / pow(10.0, abs(decimals))) * pow(10.0, abs(decimals))))",
    overload=lambda _, statics: 1 if statics[0] else 0, grads={"input": _flat},
    doc="The nearest whole number, or multiple of 10 ** -decimals; halves go to the even one.",
)  # fmt: skip
FRAC = pointwise(
    "frac", cpu=lambda x, out=None: np.subtract(x, np.trunc(x), out=out), expr="input - trunc(input)", accepts="f",
    grads={"input": lambda g: g}, doc="What is left of a number without its whole part, with its sign.",
)  # fmt: skip

# -- signs, neighbours, steps -------------------------------------------------------------------


def _signbit(x: Any, out: Any = None) -> Any:
    return np.signbit(x, out=out) if x.dtype.kind == "f" else np.less(x, 0, out=out)


def _copysign_backward(g: Tensor, x: Tensor, result: Tensor) -> Tensor:
    return g * choose(x == 0, 0.0, result / x)


COPYSIGN = pointwise(
    "copysign", "input, other", cpu=np.copysign, expr="copysign(input, other)", result="float", accepts="bif", numbers="other",
    overload=second_is_tensor, doc="The size of `input` with the sign of `other`.",
    grads={"input": lambda g, input, result: _copysign_backward(g, input, result), "other": _flat},
)  # fmt: skip
SIGNBIT = pointwise(
    "signbit", cpu=_signbit, expr="signbit(input)", result="bool", accepts="bif", inplace=False,
    refusals={"c": "signbit is not implemented for complex tensors."},
)  # fmt: skip
NEXTAFTER = pointwise(
    "nextafter", "input, other", cpu=np.nextafter, expr="nextafter(input, other)", accepts="f", doc="The next float after `input` towards `other`.",
    grads={"input": lambda g, input, other: choose(input == other, 0.0, g), "other": _flat},
)  # fmt: skip


def _heaviside(x: Any, values: Any, out: Any = None) -> Any:
    return store(np.where(np.equal(x, 0), values, np.greater(x, 0)), values.dtype, out)


def _same_kinds(x: Any, values: Any) -> None:
    if is_tensor(x) and is_tensor(values):
        if x._dtype.is_complex or values._dtype.is_complex:
            raise RuntimeError("heaviside is not yet implemented for complex tensors.")
        if x._dtype is not values._dtype:
            raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


HEAVISIDE = pointwise(
    "heaviside", "input, values", cpu=_heaviside, expr="where(input == 0, values, where(input > 0, 1, 0))", accepts="bif",
    refusals={"c": "heaviside is not yet implemented for complex tensors."}, guard=_same_kinds,
    doc="0 below zero, `values` at zero, 1 above.",
)  # fmt: skip

# -- replacing ----------------------------------------------------------------------------------


def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any, out: Any = None) -> Any:
    if x.dtype.kind in "iub":
        return store(x, x.dtype, out) if out is not None else x.copy()
    fresh = np.empty_like(x) if out is None else out
    if x.dtype.kind == "c":
        fresh.real = _nan_to_num(x.real, nan, posinf, neginf)
        fresh.imag = _nan_to_num(x.imag, nan, posinf, neginf)
        return fresh
    limits = np.finfo(x.dtype)
    np.copyto(fresh, x)
    np.copyto(fresh, limits.max if posinf is None else posinf, where=np.isposinf(x), casting="unsafe")
    np.copyto(fresh, limits.min if neginf is None else neginf, where=np.isneginf(x), casting="unsafe")
    np.copyto(fresh, 0.0 if nan is None else nan, where=np.isnan(x), casting="unsafe")
    return fresh


NAN_TO_NUM = pointwise(
    "nan_to_num", "input; nan=None, posinf=None, neginf=None", cpu=_nan_to_num,
    doc="NaN replaced with `nan` (0), infinities with `posinf` and `neginf` (the largest and smallest finite numbers).",
    grads={"input": lambda g, input: choose(op_functions["isfinite"](input), g, 0.0)},
)  # fmt: skip
