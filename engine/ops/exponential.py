"""Powers, exponentials, logarithms, roots, and what is made of them: logaddexp, xlogy, logit, scaling by powers of two."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..numerics.blocks import store
from ..return_types import return_type
from ..tensor import Tensor
from .declare import op_functions, operator, pointwise
from .gradients import choose, conj, is_tensor, zeros_like
from .table import Op

LN2, LN10 = math.log(2.0), math.log(10.0)

# -- powers -------------------------------------------------------------------------------------


def _power(x: Any, y: Any, out: Any = None) -> Any:
    if isinstance(y, (int, float)) and not isinstance(y, bool):
        kind = x.dtype.kind
        if y == 2:
            return np.multiply(x, x, out=out)
        if y == 3:
            return np.multiply(x * x, x, out=out)
        if kind in "fc":
            if y == 0.5:
                return np.sqrt(x, out=out)
            if y == -0.5:
                return _rsqrt(x, out)
            if y == -1:
                return np.divide(1, x, out=out, dtype=x.dtype)
            if y == -2:
                return np.divide(1, x * x, out=out, dtype=x.dtype)
        elif y < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return np.power(x, y, out=out)
    kind = (y if isinstance(y, np.ndarray) else x).dtype.kind
    if kind in "i" and np.less(y, 0).any():
        # 1 and -1 have integer inverses; those of other numbers are rounded to zero.
        inverse = np.where(np.equal(np.abs(x), 1), np.where(np.remainder(y, 2) == 0, 1, x), 0)
        powers = np.where(np.less(y, 0), inverse, np.power(x, np.maximum(y, 0)))
        return store(powers, (y if isinstance(y, np.ndarray) else x).dtype, out)
    return np.power(x, y, out=out)


def _pow_overload(tensors: tuple[Any, ...], _: tuple[Any, ...]) -> int:
    return 2 if not is_tensor(tensors[0]) else 1 if is_tensor(tensors[1]) else 0


def _pow_base(g: Tensor, x: Any, y: Any) -> Tensor:
    if not is_tensor(y):
        return zeros_like(g) if y == 0 else g * conj(y * x ** (y - 1))
    return choose(y == 0, 0.0, g * conj(y * x ** (y - 1)))


def _pow_exponent(g: Tensor, x: Any, y: Tensor, result: Tensor) -> Tensor:
    growing = (y.real if y._dtype.is_complex else y) >= 0
    if is_tensor(x):
        return g * choose((x == 0) & growing, 0.0, conj(result * op_functions["log"](x)))
    if x == 0:
        return g * choose(growing, 0.0, -conj(result))  # 0 ** negative is infinite, and so is its derivative
    if isinstance(x, complex):
        return g * conj(result * np.log(x).item())
    return g * conj(result * (math.log(x) if x > 0 else math.nan))


POW = pointwise(
    "pow", "input, exponent", cpu=_power, expr="pow(input, exponent)", accepts="ifc", numbers="input exponent",
    refusals={"": "pow"}, overload=_pow_overload,
    grads={
        "input": lambda g, input, exponent: _pow_base(g, input, exponent),
        "exponent": lambda g, input, exponent, result: _pow_exponent(g, input, exponent, result),
    },
)  # fmt: skip


def _wide(value: Any, kind: Any) -> Any:
    return value.to(kind) if is_tensor(value) else value


def _float_power(input: Any, exponent: Any) -> Tensor:
    operands = (input, exponent)
    if not any(map(is_tensor, operands)):
        raise TypeError(
            f"float_power() received an invalid combination of arguments - got ({type(input).__name__}, {type(exponent).__name__}), "
            "but expected a Tensor and a Tensor or Number"
        )
    complex_ = any(o._dtype.is_complex if is_tensor(o) else isinstance(o, complex) for o in operands)
    kind = dtypes.complex128 if complex_ else dtypes.float64
    return dispatch.pointwise(POW, (_wide(input, kind), _wide(exponent, kind)))


def _float_power_in_place(self: Tensor, exponent: Any) -> Tensor:
    complex_ = self._dtype.is_complex or (
        exponent._dtype.is_complex if is_tensor(exponent) else isinstance(exponent, complex)
    )
    kind = dtypes.complex128 if complex_ else dtypes.float64
    if self._dtype is not kind:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dispatch.type_name(self._dtype)} but the operation's result requires dtype "
            f"{dispatch.type_name(kind)}"
        )
    return dispatch.inplace(POW, self, (_wide(exponent, kind),))


@operator(inplace=_float_power_in_place, out=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """`input ** exponent` computed in float64, or complex128 where one of them is complex."""
    return _float_power(input, exponent)


# -- exponentials, logarithms, roots ------------------------------------------------------------


def _exp2(x: Any, out: Any = None) -> Any:
    return np.exp2(x, out=out) if x.dtype.kind != "c" else np.exp(x * x.dtype.type(LN2), out=out)


def _rsqrt(x: Any, out: Any = None) -> Any:
    return np.divide(1, np.sqrt(x), out=out, dtype=x.dtype)


SPECIAL = ("torch", "special")
EXP = pointwise(
    "exp", cpu=np.exp, expr="exp(input)", result="float", wide=True, grads={"input": lambda g, result: g * conj(result)}
)
EXP2 = pointwise(
    "exp2", cpu=_exp2, expr="exp2(input)", result="float", wide=True, spaces=SPECIAL,
    grads={"input": lambda g, result: g * conj(result * LN2)},
)  # fmt: skip
EXPM1 = pointwise(
    "expm1", cpu=np.expm1, expr="expm1(input)", result="float", wide=True, spaces=SPECIAL,
    grads={"input": lambda g, result: g * conj(result + 1)},
)  # fmt: skip
LOG = pointwise(
    "log", cpu=np.log, expr="log(input)", result="float", wide=True, grads={"input": lambda g, input: g / conj(input)}
)
LOG2 = pointwise(
    "log2",
    cpu=np.log2,
    expr="log2(input)",
    result="float",
    wide=True,
    grads={"input": lambda g, input: g / conj(input * LN2)},
)
LOG10 = pointwise(
    "log10",
    cpu=np.log10,
    expr="log10(input)",
    result="float",
    wide=True,
    grads={"input": lambda g, input: g / conj(input * LN10)},
)
LOG1P = pointwise(
    "log1p", cpu=np.log1p, expr="log1p(input)", result="float", wide=True, spaces=SPECIAL, backward="Log1P",
    grads={"input": lambda g, input: g / conj(input + 1)},
)  # fmt: skip
SQRT = pointwise(
    "sqrt", cpu=np.sqrt, expr="sqrt(input)", result="float", grads={"input": lambda g, result: g / conj(2 * result)}
)
RSQRT = pointwise(
    "rsqrt", cpu=_rsqrt, expr="rsqrt(input)", result="float",
    grads={"input": lambda g, result: g * conj(-0.5 * (result * result * result))},
)  # fmt: skip

# -- sums and products through logarithms -------------------------------------------------------


def complex_logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) with the operand of the larger real part taken out."""
    swap = np.real(x) < np.real(y)
    big, small = np.where(swap, y, x), np.where(swap, x, y)
    equal = (x == y) & ~np.isfinite(np.real(x))
    return np.where(equal, x, big + np.log1p(np.exp(small - big)))


def _logaddexp(x: Any, y: Any, out: Any = None) -> Any:
    kind = (x if isinstance(x, np.ndarray) else y).dtype.kind
    return np.logaddexp(x, y, out=out) if kind != "c" else store(complex_logaddexp(x, y), x.dtype, out)


def _share(g: Tensor, ahead: Any) -> Tensor:
    """The share of an operand that is `ahead` of the other: 1 / (1 + exp(-ahead)), the same for both where neither is."""
    return g / conj(1 + op_functions["exp"](-ahead))


LOGADDEXP = pointwise(
    "logaddexp", "input, other", cpu=_logaddexp, accepts="fc", inplace=False,
    expr="where(input == other, input + 0.6931471805599453, maximum(input, other) + log1p(exp(-abs(input - other))))",
    doc="log(exp(input) + exp(other)), without overflow.",
    grads={
        "input": lambda g, input, other: _share(g, input - other),
        "other": lambda g, input, other: _share(g, other - input),
    },
)  # fmt: skip
LOGADDEXP2 = pointwise(
    "logaddexp2", "input, other", cpu=np.logaddexp2, accepts="f", inplace=False,
    expr="where(input == other, input + 1.0, maximum(input, other) + 1.4426950408889634 * log1p(exp2(-abs(input - other))))",
    doc="log2(2 ** input + 2 ** other), without overflow.",
    grads={
        "input": lambda g, input, other: _share(g, (input - other) * LN2),
        "other": lambda g, input, other: _share(g, (other - input) * LN2),
    },
)  # fmt: skip


def rounded(function: Any) -> Any:
    """An elementary function computed in double precision and rounded to the dtype of its argument."""

    def kernel(x: Any) -> Any:
        return function(np.asarray(x, np.float64)).astype(x.dtype) if isinstance(x, np.ndarray) else function(x)

    return kernel


def _times_log(log: Any) -> Any:
    log = rounded(log)

    def kernel(x: Any, y: Any, out: Any = None) -> Any:
        product = np.where(np.isnan(y), y, np.where(np.equal(x, 0), 0, np.multiply(x, log(y))))
        return store(product, (x if isinstance(x, np.ndarray) else y).dtype, out)

    return kernel


XLOGY = pointwise(
    "xlogy", "input, other", cpu=_times_log(np.log), result="float", accepts="bif", numbers="input other", spaces=SPECIAL,
    expr="where(isnan(other), other, where(input == 0, 0.0, input * log(other)))", doc="`input * log(other)`, 0 where input is 0.",
    grads={
        "input": lambda g, input, other: g * _unless(input, other, other <= 0, op_functions["log"]),
        "other": lambda g, input, other: g * input / other,
    },
)  # fmt: skip
XLOG1PY = pointwise(
    "xlog1py", "input, other", cpu=_times_log(np.log1p), result="float", accepts="bif", numbers="input other",
    spaces=("special",), method=False, backward="SpecialXlog1Py",
    expr="where(isnan(other), other, where(input == 0, 0.0, input * log1p(other)))",
    doc="`input * log1p(other)`, 0 where input is 0.",
    grads={
        "input": lambda g, input, other: g * _unless(input, other, other <= -1, op_functions["log1p"]),
        "other": lambda g, input, other: g * input / (other + 1),
    },
)  # fmt: skip


def _unless(x: Tensor, y: Any, low: Any, log: Any) -> Any:
    """log(y), 0 where x is 0 and y has no finite logarithm."""
    if is_tensor(y):
        return choose((x == 0) & low, 0.0, log(y))
    value = log(x.new_full((), y))
    return choose(x == 0, 0.0, value) if low else value


def _logit(x: Any, eps: Any, out: Any = None) -> Any:
    if eps is not None:
        x = np.clip(x, eps, 1 - eps)
    return np.log(x / (1 - x), out=out)


def _logit_backward(g: Tensor, x: Tensor, eps: Any) -> Tensor:
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    return choose((x < low) | (x > high), math.nan if eps is None else 0.0, g / (x * (1 - x)))


LOGIT = pointwise(
    "logit", "input; eps=None", cpu=_logit, result="float", accepts="bif", spaces=SPECIAL,
    doc="log(x / (1 - x)), with x clamped to [eps, 1 - eps] where `eps` is given.",
    grads={"input": lambda g, input, eps: _logit_backward(g, input, eps)},
)  # fmt: skip

# -- powers of two ------------------------------------------------------------------------------

LDEXP = pointwise(
    "ldexp", "input, other", cpu=lambda x, y, out=None: np.multiply(x, np.exp2(y), out=out, dtype=x.dtype) if x.dtype.kind != "c"
    else np.multiply(x, _exp2(y), out=out), expr="input * exp2(other)", result="float", doc="`input * 2 ** other`.",
    grads={
        "input": lambda g, other: g * conj(op_functions["exp2"](other)),
        "other": lambda g, result: g * conj(result * LN2),
    },
)  # fmt: skip


def _frexp(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mantissa, exponent = np.frexp(x)
    return np.asarray(mantissa), np.asarray(exponent, np.int32)


FREXP = Op(
    "frexp", "input", kind="custom", multi=True, cpu=_frexp, shape=lambda s: [s, s], dtype=lambda t: (t._dtype, dtypes.int32),
    grads={"input": lambda g, results: g[0] / op_functions["exp2"](results[1].to(g[0].dtype))},
)  # fmt: skip
FrexpResult = return_type("frexp", "mantissa exponent")


@operator(out=True)
def frexp(input: Tensor) -> Any:
    """Mantissas (of absolute value in [0.5, 1)) and exponents: `input == mantissa * 2 ** exponent`. Floats only."""
    if not input.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return FrexpResult(*dispatch.call(FREXP, (input,)))
