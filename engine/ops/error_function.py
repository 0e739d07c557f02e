"""The error function and its relatives: erf, erfc, erfinv.

numpy has none of them.  erf and erfc follow the rational approximations of Cephes' `ndtr.c` (S. L. Moshier) in double
precision; erfinv starts from M. Giles' approximation (2010) and takes three Newton steps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .declare import op_functions, pointwise

# Coefficients from the highest power down; a leading 1 is left out where the name ends in 1.
_T = (9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3,
      5.55923013010394962768e4)  # fmt: skip
_U1 = (3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3, 2.26290000613890934246e4,
       4.92673942608635921086e4)  # fmt: skip
_P = (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0, 4.86371970985681366614e1,
      1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3,
      5.57535335369399327526e2)  # fmt: skip
_Q1 = (1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2,
       1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3,
       5.57535340817727675546e2)  # fmt: skip
_R = (5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0, 6.16021097993053585195e0,
      7.40974269950448939160e0, 2.97886665372100240670e0)  # fmt: skip
_S1 = (2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1, 1.70814450747565897222e1,
       9.60896809063285878198e0, 3.36907645100081516050e0)  # fmt: skip


def _horner(x: np.ndarray, coefficients: tuple[float, ...], leading_one: bool = False) -> np.ndarray:
    y = np.ones_like(x) if leading_one else np.full_like(x, coefficients[0])
    for c in coefficients if leading_one else coefficients[1:]:
        y *= x
        y += c
    return y


def _small(x: np.ndarray) -> np.ndarray:
    """erf for |x| <= 1."""
    z = x * x
    return x * _horner(z, _T) / _horner(z, _U1, True)


def _tail(x: np.ndarray) -> np.ndarray:
    """erfc for x >= 1."""
    near = np.minimum(x, 8.0)
    far = np.maximum(x, 8.0)
    ratio = np.where(x < 8.0, _horner(near, _P) / _horner(near, _Q1, True), _horner(far, _R) / _horner(far, _S1, True))
    with np.errstate(under="ignore"):
        return np.exp(-x * x) * ratio


def erf_array(x: Any, out: Any = None) -> np.ndarray:
    """erf of a floating-point array, in its precision (computed in double)."""
    wide = np.asarray(x, np.float64)
    size = np.minimum(np.abs(wide), 30.0)
    size = np.where(np.isnan(wide), wide, size)
    large = np.copysign(1.0 - _tail(np.maximum(size, 1.0)), wide)
    return _given(np.where(size <= 1.0, _small(np.clip(wide, -1.0, 1.0)), large), x, out)


def erfc_array(x: Any, out: Any = None) -> np.ndarray:
    """erfc of a floating-point array, in its precision (computed in double)."""
    wide = np.asarray(x, np.float64)
    size = np.where(np.isnan(wide), wide, np.minimum(np.abs(wide), 30.0))
    tail = _tail(np.maximum(size, 1.0))
    outer = np.where(wide > 0, tail, 2.0 - tail)
    return _given(np.where(size <= 1.0, 1.0 - _small(np.clip(wide, -1.0, 1.0)), outer), x, out)


_CENTRE = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
           -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
_OUTER = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
          1.00167406, 2.83297682)  # fmt: skip


def erfinv_array(x: Any, out: Any = None) -> np.ndarray:
    """The inverse of erf, in the array's precision (computed in double); infinite at -1 and 1, NaN outside."""
    y = np.asarray(x, np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        w = -np.log((1.0 - np.abs(y)) * (1.0 + np.abs(y)))
        inner = np.clip(w, None, 5.0) - 2.5
        outer = np.sqrt(np.clip(w, 5.0, 800.0)) - 3.0
        guess = y * np.where(w < 5.0, _horner(inner, _CENTRE), _horner(outer, _OUTER))
        for _ in range(3):
            slope = 2.0 / math.sqrt(math.pi) * np.exp(-guess * guess)
            # Near the ends of its range erf says nothing, but the logarithm of erfc is nearly a parabola.
            tail = erfc_array(np.abs(guess))
            outwards = np.sign(y) * np.log(tail / (1.0 - np.abs(y))) * tail
            step = np.where(np.abs(y) < 0.5, y - erf_array(guess), outwards) / slope
            guess = np.where(np.isfinite(step), guess + step, guess)
        result = np.where(np.abs(y) < 1.0, guess, np.where(np.abs(y) == 1.0, np.copysign(np.inf, y), np.nan))
    return _given(result, x, out)


def _given(values: np.ndarray, like: Any, out: Any) -> np.ndarray:
    if out is None:
        return values.astype(np.asarray(like).dtype, copy=False)
    np.copyto(out, values, casting="same_kind")
    return out


_SLOPE = 2.0 / math.sqrt(math.pi)

ERF = pointwise(
    "erf", cpu=erf_array, expr="erf(input)", result="float", accepts="bif", spaces=("torch", "special"),
    grads={"input": lambda g, input: g * (_SLOPE * op_functions["exp"](-(input * input)))},
)  # fmt: skip
ERFC = pointwise(
    "erfc", cpu=erfc_array, expr="erfc(input)", result="float", accepts="bif", spaces=("torch", "special"),
    grads={"input": lambda g, input: g * (-_SLOPE * op_functions["exp"](-(input * input)))},
)  # fmt: skip
ERFINV = pointwise(
    "erfinv", cpu=erfinv_array, expr="erfinv(input)", result="float", accepts="bif", spaces=("torch", "special"),
    grads={"input": lambda g, result: g * (op_functions["exp"](result * result) / _SLOPE)},
)  # fmt: skip
