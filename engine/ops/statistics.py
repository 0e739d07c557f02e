"""Statistics: variances and standard deviations, covariances, correlations."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import numel, reduced_shape, wrap_dims
from ..tensor import Tensor
from .complex_numbers import make_complex
from .composed import composed
from .declare import op_functions, operator
from .gradients import choose, conj
from .reduction import Dims, count_of, spread

# -- variances ----------------------------------------------------------------------------------


def _centred(x: Tensor, dims: Dims) -> Tensor:
    return x - x.mean(dims, True) if x.ndim else x - x.mean()


def _var_formula(input: Tensor, dims: Dims, correction: float, keepdim: bool) -> Tensor:
    centred = _centred(input, dims)
    square = (centred * conj(centred)).real if input.dtype.is_complex else centred * centred
    total = square.sum(dims, keepdim) if input.ndim else square
    rest = max(count_of(tuple(input.shape), dims) - correction, 0)
    return total / rest


def _var_kernel(x: np.ndarray, dims: Dims, correction: float, keepdim: bool) -> Any:
    count = count_of(x.shape, dims)
    wide = np.dtype(np.float32) if x.dtype == np.float16 else x.dtype
    mean = np.add.reduce(x, axis=dims, keepdims=True, dtype=wide) / wide.type(count)
    centred = np.subtract(x, mean, dtype=wide)
    square = (
        np.square(np.abs(centred))
        if wide.kind == "c"
        else np.multiply(centred, centred, out=centred if x.ndim else None)
    )
    total = np.add.reduce(square, axis=dims, keepdims=keepdim)
    return np.divide(total, max(count - correction, 0), dtype=square.dtype).astype(
        np.float16 if x.dtype == np.float16 else square.dtype
    )


def _std_kernel(x: np.ndarray, dims: Dims, correction: float, keepdim: bool) -> Any:
    return np.sqrt(_var_kernel(x, dims, correction, keepdim))


def _real_type(t: Tensor, *_: Any) -> Any:
    return t._dtype.to_real()


def _var_backward(g: Tensor, x: Tensor, dims: Dims, correction: float, keepdim: bool) -> Tensor:
    rest = count_of(tuple(x.shape), dims) - correction
    g = spread(g, tuple(x.shape), dims, keepdim)
    if rest <= 0:
        return g * choose(x == x.mean(dims, True), math.nan, math.inf)
    return g * (2.0 / rest) * _centred(x, dims)


def _std_backward(g: Tensor, x: Tensor, result: Tensor, dims: Dims, correction: float, keepdim: bool) -> Tensor:
    return _var_backward(choose(result == 0, 0.0, g / (result * 2)), x, dims, correction, keepdim)


_var = composed(
    "var", "input", "dims correction keepdim", cpu=_var_kernel, dtype=_real_type,
    grads={
        "input": lambda g, input, dims, correction, keepdim: _var_backward(g, input, dims, correction, keepdim)
    },
)(_var_formula)  # fmt: skip


@composed(
    "std", "input", "dims correction keepdim", cpu=_std_kernel, dtype=_real_type,
    grads={
        "input": lambda g, input, result, dims, correction, keepdim: _std_backward(g, input, result, dims, correction, keepdim)
    },
)  # fmt: skip
def _std(input: Tensor, dims: Dims, correction: float, keepdim: bool) -> Tensor:
    return op_functions["sqrt"](_var_formula(input, dims, correction, keepdim))


def _mean_part(g: Tensor | None, x: Tensor, dims: Dims, keepdim: bool) -> Any:
    return 0 if g is None else spread(g / count_of(tuple(x.shape), dims), tuple(x.shape), dims, keepdim)


@composed(
    "var_mean", "input", "dims correction keepdim", multi=True,
    grads={
        "input": lambda g, input, dims, correction, keepdim: _var_backward(g[0], input, dims, correction, keepdim)
        + _mean_part(g[1], input, dims, keepdim)
    },
)  # fmt: skip
def _var_mean(input: Tensor, dims: Dims, correction: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _var_formula(input, dims, correction, keepdim), input.mean(dims, keepdim)


@composed(
    "std_mean", "input", "dims correction keepdim", multi=True,
    grads={
        "input": lambda g, input, results, dims, correction, keepdim: _std_backward(
            g[0], input, results[0], dims, correction, keepdim) + _mean_part(g[1], input, dims, keepdim)
    },
)  # fmt: skip
def _std_mean(input: Tensor, dims: Dims, correction: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    return op_functions["sqrt"](_var_formula(input, dims, correction, keepdim)), input.mean(dims, keepdim)


def _arguments(
    name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> tuple[Tensor, Dims, float, bool]:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{name} only support floating point and complex dtypes" if name == "std and var" else
            f"{name} only supports floating point and complex dtypes"
        )  # fmt: skip
    less = (1 if unbiased else 0) if correction is None else correction
    dims = wrap_dims(dim, input.ndim)
    if count_of(tuple(input.shape), dims) <= less and numel(reduced_shape(tuple(input.shape), dims, False)):
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
            "divided by output numel).",
            stacklevel=4,
        )
    return input, dims, less, bool(keepdim)


@operator(out=True)
def var(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The variance over `dim`, divided by the count less `correction` (1 unless `unbiased` is False)."""
    return _var(*_arguments("std and var", input, dim, unbiased, keepdim, correction))


@operator(out=True)
def std(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The square root of the variance."""
    return _std(*_arguments("std and var", input, dim, unbiased, keepdim, correction))


@operator(method=False)
def var_mean(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """Variance and mean over `dim`."""
    return _var_mean(*_arguments("var_mean", input, dim, unbiased, keepdim, correction))


@operator(method=False)
def std_mean(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """Standard deviation and mean over `dim`."""
    return _std_mean(*_arguments("std_mean", input, dim, unbiased, keepdim, correction))


# -- covariances --------------------------------------------------------------------------------


def _weights(name: str, weights: Tensor, count: int, whole: bool) -> Tensor:
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
        )
    if whole and weights.dtype.category != dtypes.INTEGRAL:
        raise RuntimeError(
            f"cov(): expected {name} to have integral dtype but got {name} with {dispatch.type_name(weights.dtype)} dtype"
        )
    if not whole and not weights.dtype.is_floating_point:
        raise RuntimeError(
            f"cov(): expected {name} to have floating point dtype but got {name} with {dispatch.type_name(weights.dtype)} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got {weights.numel()} != {count}"
        )
    if count and bool((weights < 0).any().item()):
        raise RuntimeError(f"cov(): {name} cannot be negative")
    return weights


@operator()
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of variables in rows, [n, observations] to [n, n]; of a vector its variance.

    `fweights` (integers) repeat observations, `aweights` (floats) weigh them. Raises RuntimeError for weights that do not fit.
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input.dtype.category == dtypes.BOOL:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input.ndim == 2 else input.reshape(1, -1)
    count = x.shape[1]
    weights: Tensor | None = None
    if fweights is not None:
        weights = _weights("fweights", fweights, count, True)
    if aweights is not None:
        given = _weights("aweights", aweights, count, False)
        weights = given if weights is None else weights * given
    total: Any = weights.sum() if weights is not None else count
    if weights is not None and count and float(total.item()) == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x.sum(1) if weights is None else (x * weights).sum(1)) / total
    if weights is None or aweights is None or correction == 0:
        rest = total - correction
    else:
        rest = total - correction * (weights * aweights).sum() / total
    if (rest if not isinstance(rest, Tensor) else float(rest.item())) <= 0:
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            stacklevel=3,
        )
        rest = 0 if not isinstance(rest, Tensor) else rest * 0
    centred = x - mean.unsqueeze(1)
    weighed = centred if weights is None else centred * weights
    out = centred @ conj(weighed.t()) / rest
    return out.squeeze()


@operator()
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables in rows, [n, observations] to [n, n], within [-1, 1]."""
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    c = cov(input)
    if c.ndim == 0:
        return c / c
    spread_ = op_functions["sqrt"](c.diagonal().real if c.dtype.is_complex else c.diagonal())
    c = c / spread_.unsqueeze(1) / spread_.unsqueeze(0)
    if c.dtype.is_complex:
        return make_complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
    return c.clamp(-1, 1)
