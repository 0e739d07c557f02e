"""Pointwise nonlinearities of `nn.functional`: rectifiers, smooth gates, shrinkage. Sigmoid, tanh, softmax stand
elsewhere.

Each is a primitive where PyTorch's tape has one node for it, so that it is one kernel and one node here, too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dispatch
from .. import random as source
from ..numerics.error import erf_array
from ..shapes import wrap_dim
from ..tensor import Tensor, wrap
from .composed import composed
from .declare import op_functions, operator, pointwise
from .gradients import conj
from .one_launch import either, one_launch
from .random import Draw
from .table import Op

FUNCTIONAL = ("nn.functional",)
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946
_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)


def where(condition: Tensor, a: Any, b: Any) -> Tensor:
    return op_functions["where"](condition, a, b)


def _primitive(name: str, signature: str, **parts: Any) -> Op:
    parts.setdefault("accepts", "f")
    return pointwise(name, signature, spaces=("primitive",), method=False, inplace=False, **parts)


def _run(op: Op, input: Tensor, inplace: bool, *statics: Any) -> Tensor:
    if inplace:
        return dispatch.inplace(op, input, (), statics)
    return dispatch.pointwise(op, (input,), statics)


def _store(values: np.ndarray, out: Any) -> np.ndarray:
    if out is None:
        return values
    np.copyto(out, values)
    return out


def _quiet(x: np.ndarray) -> np.ndarray:
    """exp without a word about overflow, where only the finite part is used."""
    with np.errstate(over="ignore"):
        return np.exp(x)


# -- rectifiers -----------------------------------------------------------------------------------


@operator(spaces=FUNCTIONAL, method=False)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    return _run(op_relu(), input, inplace)


def op_relu() -> Op:
    from .activation import RELU

    return RELU


LEAKY_RELU = _primitive(
    "leaky_relu", "input; negative_slope=0.01",
    cpu=lambda x, slope, out=None: _store(np.where(x > 0, x, x * x.dtype.type(slope)), out),
    expr="where(input > 0, input, input * negative_slope)",
    grads={"input": lambda g, input, negative_slope: where(input > 0, g, g * negative_slope)},
)  # fmt: skip


@operator(spaces=FUNCTIONAL, method=False, inplace=True)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x for positive x, else `negative_slope` x."""
    return _run(LEAKY_RELU, input, inplace, negative_slope)


PRELU = _primitive(
    "prelu", "input, weight", backward="PreluKernel", cpu=lambda x, w, out=None: _store(np.where(x > 0, x, x * w), out),
    expr="where(input > 0, input, input * weight)",
    grads={
        "input": lambda g, input, weight: where(input > 0, g, g * weight),
        "weight": lambda g, input: where(input > 0, 0.0, g * input),
    },
)  # fmt: skip


@operator(spaces=("nn.functional", "torch"))
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x for positive x, else `weight` x, with one weight or one a channel (dimension 1)."""
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if weight.numel() != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    shape = [1] * input.ndim
    if input.ndim > 1:
        shape[1] = weight.numel()
    return dispatch.pointwise(PRELU, (input, weight.reshape(*shape)))


def _elu(x: np.ndarray, below: Any, above: Any, inner: Any) -> np.ndarray:
    return np.where(x > 0, x * above, np.expm1(np.minimum(x, 0) * inner) * below)


ELU = _primitive(
    "elu", "input; alpha=1.0, scale=1.0, input_scale=1.0",
    cpu=lambda x, alpha, scale, inner, out=None: _store(
        _elu(x, *map(x.dtype.type, (alpha * scale, scale, inner))), out
    ),
    expr="where(input > 0, input * scale, expm1(input * input_scale) * alpha * scale)",
    grads={
        "input": lambda g, input, alpha, scale, input_scale: where(
            input > 0, g * scale, g * (alpha * scale * input_scale) * (input * input_scale).exp()
        )
    },
)  # fmt: skip
CELU = _primitive(
    "celu", "input; alpha=1.0",
    cpu=lambda x, alpha, out=None: _store(
        np.where(x > 0, x, np.expm1(np.minimum(x, 0) / x.dtype.type(alpha)) * x.dtype.type(alpha)), out
    ),
    expr="where(input > 0, input, expm1(input / alpha) * alpha)",
    grads={"input": lambda g, input, alpha: where(input > 0, g, g * (input / alpha).exp())},
)  # fmt: skip


@operator(spaces=FUNCTIONAL, method=False, inplace=True)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x for positive x, else `alpha` (exp(x) - 1) (Clevert et al., 2016)."""
    return _run(ELU, input, inplace, alpha, 1.0, 1.0)


@operator(spaces=("nn.functional", "torch"), method=False, inplace=True)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The scaled ELU whose constants keep mean 0 and variance 1 (Klambauer et al., 2017)."""
    return _run(ELU, input, inplace, _SELU_ALPHA, _SELU_SCALE, 1.0)


@operator(spaces=("nn.functional", "torch"), method=False, inplace=True)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)) (Barron, 2017). Raises RuntimeError for alpha 0."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _run(CELU, input, inplace, alpha)


HARDTANH = _primitive(
    "hardtanh", "input; min_val=-1.0, max_val=1.0", accepts="if",
    cpu=lambda x, low, high, out=None: np.clip(x, x.dtype.type(low), x.dtype.type(high), out=out),
    expr="minimum(maximum(input, min_val), max_val)",
    grads={
        "input": lambda g, input, min_val, max_val: where((input <= min_val) | (input >= max_val), 0.0, g)
    },
)  # fmt: skip


@operator(spaces=FUNCTIONAL, method=False, inplace=True)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x cut to [min_val, max_val]. Raises ValueError where these are the wrong way round."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if not input.dtype.is_signed and min_val < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return _run(HARDTANH, input, inplace, min_val, max_val)


@operator(spaces=FUNCTIONAL, method=False)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)."""
    return _run(HARDTANH, input, inplace, 0.0, 6.0)


THRESHOLD = _primitive(
    "threshold", "input; threshold, value", accepts="if",
    cpu=lambda x, limit, value, out=None: _store(np.where(x <= limit, x.dtype.type(value), x), out),
    expr="where(input <= threshold, value, input)",
    grads={"input": lambda g, input, threshold: where(input <= threshold, 0.0, g)},
)  # fmt: skip


@operator(spaces=("nn.functional", "torch"), method=False, inplace=True)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > `threshold`, else `value`."""
    return _run(THRESHOLD, input, inplace, threshold, value)


RRELU = _primitive(
    "rrelu", "input, noise", backward="RreluWithNoise", cpu=np.multiply, expr="input * noise",
    grads={"input": lambda g, noise: g * noise, "noise": lambda g, input: g * input},
)  # fmt: skip


def _slopes(values: np.ndarray, input: np.ndarray, lower: float, upper: float) -> None:
    """Ones, and numbers drawn from [lower, upper) where the input is not positive."""
    negative = input <= 0
    drawn = np.empty(int(negative.sum()), np.float64)
    source.uniform(drawn, lower, upper)
    values[...] = 1
    values[negative] = drawn


@operator(spaces=("nn.functional", "torch"), method=False, inplace=True)
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Leaky ReLU with a slope drawn from [lower, upper) for each element while training, their mean otherwise."""
    if training:
        home = input._storage.backend
        noise = wrap(home.draw(tuple(input.shape), input.dtype, Draw(_slopes, input, lower, upper)), input.dtype, home)
        out = dispatch.pointwise(RRELU, (input, noise))
        return dispatch.write(input, out) if inplace else out
    return _run(LEAKY_RELU, input, inplace, (lower + upper) / 2)


# -- smooth gates ---------------------------------------------------------------------------------


def _sigmoid(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _silu_slope(x: Tensor) -> Tensor:
    s = x.sigmoid()
    return s * (1 + x * (1 - s))


def _silu_gradient(g: Tensor, x: Tensor) -> Tensor:
    made = one_launch("g * sigmoid(x) * (1 + x * (1 - sigmoid(x)))", g=g, x=x)
    return either(made, lambda: g * conj(_silu_slope(x)))


SILU = _primitive(
    "silu", "input", cpu=lambda x, out=None: _store(x * _sigmoid(x), out), expr="input * sigmoid(input)",
    accepts="fc", grads={"input": lambda g, input: _silu_gradient(g, input)},
)  # fmt: skip


@operator(spaces=FUNCTIONAL, method=False)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x), also called swish."""
    return _run(SILU, input, inplace)


def _softplus_array(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _mish_slope(x: Tensor) -> Tensor:
    t, s = _run(SOFTPLUS, x, False, 1.0, 20.0).tanh(), x.sigmoid()
    return t + x * s * (1 - t * t)


MISH = _primitive(
    "mish", "input", cpu=lambda x, out=None: _store(x * np.tanh(_softplus_array(x)), out),
    expr="input * tanh(maximum(input, 0) + log1p(exp(-abs(input))))",
    grads={"input": lambda g, input: g * _mish_slope(input)},
)  # fmt: skip


@operator(spaces=FUNCTIONAL, method=False)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(softplus(x)) (Misra, 2019)."""
    return _run(MISH, input, inplace)


SOFTPLUS = _primitive(
    "softplus", "input; beta=1.0, threshold=20.0",
    cpu=lambda x, beta, limit, out=None: _store(
        np.where(x * beta > limit, x, np.log1p(_quiet(x * x.dtype.type(beta))) / x.dtype.type(beta)), out
    ),
    expr="where(input * beta > threshold, input, log1p(exp(input * beta)) / beta)",
    grads={
        "input": lambda g, input, beta, threshold: where(
            input * beta > threshold, g, g * (input * beta).sigmoid()
        )
    },
)  # fmt: skip


@operator(spaces=FUNCTIONAL, method=False)
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x is over `threshold`."""
    return _run(SOFTPLUS, input, False, beta, threshold)


def _gelu_slope(x: Tensor, approximate: str) -> Tensor:
    if approximate == "tanh":
        inner = _ROOT_TWO_OVER_PI * (x + 0.044715 * x * x * x)
        t = inner.tanh()
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (_ROOT_TWO_OVER_PI * (1 + 3 * 0.044715 * x * x))
    normal = 0.5 * (1 + (x * _ROOT_HALF).erf())
    return normal + x * ((x * x * -0.5).exp() * (1.0 / math.sqrt(2 * math.pi)))


_NORMAL_SLOPE = f"0.5 * (1 + erf(x * {_ROOT_HALF!r})) + x * exp(x * x * -0.5) * {1.0 / math.sqrt(2 * math.pi)!r}"
_INNER = f"tanh({_ROOT_TWO_OVER_PI!r} * (x + 0.044715 * x * x * x))"
_TANH_SLOPE = f"0.5 * (1 + {_INNER}) + 0.5 * x * (1 - {_INNER} * {_INNER}) * {_ROOT_TWO_OVER_PI!r} * (1 + {3 * 0.044715!r} * x * x)"


def _gelu_gradient(g: Tensor, x: Tensor, approximate: str) -> Tensor:
    slope = _TANH_SLOPE if approximate == "tanh" else _NORMAL_SLOPE
    return either(one_launch(f"g * ({slope})", g=g, x=x), lambda: g * _gelu_slope(x, approximate))


def _gelu_tanh(x: np.ndarray, out: Any = None) -> np.ndarray:
    inner = x.dtype.type(_ROOT_TWO_OVER_PI) * (x + x.dtype.type(0.044715) * x * x * x)
    return _store(x.dtype.type(0.5) * x * (1 + np.tanh(inner)), out)


GELU = _primitive(
    "gelu", "input",
    cpu=lambda x, out=None: _store(x * (x.dtype.type(0.5) * (1 + erf_array(x * x.dtype.type(_ROOT_HALF)))), out),
    expr=f"input * 0.5 * (1 + erf(input * {_ROOT_HALF!r}))",
    grads={"input": lambda g, input: _gelu_gradient(g, input, "none")},
)  # fmt: skip
GELU_TANH = _primitive(
    "gelu_tanh", "input", cpu=_gelu_tanh, backward="Gelu",
    expr=f"0.5 * input * (1 + tanh({_ROOT_TWO_OVER_PI!r} * (input + 0.044715 * input * input * input)))",
    grads={"input": lambda g, input: _gelu_gradient(g, input, "tanh")},
)  # fmt: skip


@operator(spaces=FUNCTIONAL, method=False)
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x; "tanh" approximates it. Raises RuntimeError for other words."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _run(GELU if approximate == "none" else GELU_TANH, input, False)


LOG_SIGMOID = _primitive(
    "log_sigmoid", "input", cpu=lambda x, out=None: _store(-_softplus_array(-x), out),
    expr="minimum(input, 0) - log1p(exp(-abs(input)))",
    grads={"input": lambda g, input: g * (-input).sigmoid()},
)  # fmt: skip


@operator(spaces=FUNCTIONAL, method=False)
def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x))."""
    return _run(LOG_SIGMOID, input, False)


@operator(spaces=FUNCTIONAL, method=False)
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


@operator(spaces=FUNCTIONAL, method=False)
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - input.tanh()


def _glu_backward(g: Tensor, input: Tensor, dim: int) -> Tensor:
    from . import functions as F

    a, b = input.chunk(2, dim)
    s = b.sigmoid()
    return F.cat([g * s, g * a * s * (1 - s)], dim)


@composed("glu", "input", "dim", grads={"input": _glu_backward})
def _glu(input: Tensor, dim: int) -> Tensor:
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


@operator(spaces=FUNCTIONAL, method=False)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a sigmoid(b) of the two halves of the input along `dim`. Raises RuntimeError for an odd size."""
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    at = wrap_dim(dim, input.ndim)
    if input.shape[at] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[at]}")
    return _glu(input, at)


# -- shrinkage and hard gates ---------------------------------------------------------------------

HARDSHRINK = _primitive(
    "hardshrink", "input; lambd=0.5",
    cpu=lambda x, lambd, out=None: _store(np.where((x >= -lambd) & (x <= lambd), x.dtype.type(0), x), out),
    expr="where((input >= -lambd) & (input <= lambd), 0.0, input)",
    grads={"input": lambda g, input, lambd: where((input >= -lambd) & (input <= lambd), 0.0, g)},
)  # fmt: skip


@operator(spaces=("nn.functional", "torch"))
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x outside of [-lambd, lambd], 0 inside."""
    return _run(HARDSHRINK, input, False, lambd)


SOFTSHRINK = _primitive(
    "softshrink", "input; lambd=0.5",
    cpu=lambda x, lambd, out=None: _store(
        np.where(x > lambd, x - x.dtype.type(lambd), np.where(x < -lambd, x + x.dtype.type(lambd), x * 0)), out
    ),
    expr="where(input > lambd, input - lambd, where(input < -lambd, input + lambd, input * 0.0))",
    grads={"input": lambda g, input, lambd: where((input >= -lambd) & (input <= lambd), 0.0, g)},
)  # fmt: skip


@operator(spaces=FUNCTIONAL, method=False)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved by `lambd` towards 0, which it does not pass. Raises RuntimeError for a negative `lambd`."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd:g}.")
    return _run(SOFTSHRINK, input, False, lambd)


HARDSIGMOID = _primitive(
    "hardsigmoid", "input",
    cpu=lambda x, out=None: _store(np.clip(x + x.dtype.type(3), 0, 6) / x.dtype.type(6), out),
    expr="minimum(maximum(input + 3, 0), 6) / 6",
    grads={"input": lambda g, input: where((input > -3) & (input < 3), g * (1.0 / 6.0), 0.0)},
)  # fmt: skip
HARDSWISH = _primitive(
    "hardswish", "input",
    cpu=lambda x, out=None: _store(x * np.clip(x + x.dtype.type(3), 0, 6) / x.dtype.type(6), out),
    expr="input * minimum(maximum(input + 3, 0), 6) / 6",
    grads={"input": lambda g, input: where(input <= -3, 0.0, where(input < 3, g * (input / 3 + 0.5), g))},
)  # fmt: skip


@operator(spaces=FUNCTIONAL, method=False)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x + 3, 0), 6) / 6."""
    return _run(HARDSIGMOID, input, inplace)


@operator(spaces=FUNCTIONAL, method=False)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x hardsigmoid(x) (Howard et al., 2019)."""
    return _run(HARDSWISH, input, inplace)


# -- along a dimension ----------------------------------------------------------------------------


@operator(spaces=FUNCTIONAL, method=False)
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-x) along `dim`."""
    from .activation import softmax

    return softmax(-input, dim, _stacklevel, dtype)


@operator(spaces=FUNCTIONAL, method=False)
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution along `dim` (Jang et al., 2017).

    With `hard` it is one-hot in the forward pass and soft in the backward one.
    """
    from .activation import softmax

    gumbels = -logits.new_empty(logits.shape).exponential_().log()
    soft = softmax((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return logits.new_zeros(logits.shape).scatter_(dim, index, 1.0) - soft.detach() + soft
