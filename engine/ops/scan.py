"""Scans along a dimension: running sums, products, extremes and logarithms of sums; differences and integrals of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..return_types import return_type
from ..shapes import wrap_dim
from ..tensor import Tensor
from . import functions as F
from .creation import full
from .declare import op_functions, operator, tensor_argument
from .exponential import complex_logaddexp
from .gradients import choose, conj
from .reduction import as_type, summing_type
from .table import Op

# -- neighbours along a dimension ---------------------------------------------------------------


def _edge(x: Tensor, dim: int, fill: float) -> Tensor:
    shape = [1 if i == dim else n for i, n in enumerate(x.shape)]
    return full(shape, fill, dtype=x.dtype, device=x.device)


def before(x: Tensor, dim: int, fill: float) -> Tensor:
    """Each element's predecessor along `dim`; `fill` for the first."""
    if x.shape[dim] == 0:
        return x
    return F.cat([_edge(x, dim, fill), x.narrow(dim, 0, x.shape[dim] - 1)], dim)


def after(x: Tensor, dim: int, fill: float) -> Tensor:
    """Each element's successor along `dim`; `fill` for the last."""
    if x.shape[dim] == 0:
        return x
    return F.cat([x.narrow(dim, 1, x.shape[dim] - 1), _edge(x, dim, fill)], dim)


def products_before(x: Tensor, dim: int) -> Tensor:
    """The product of all elements before each one along `dim`; 1 for the first."""
    return before(dispatch.call(CUMPROD, (x,), (dim,)), dim, 1.0)


# -- the linear recurrence that gradients of scans are made of ----------------------------------


def _linear_scan(a: np.ndarray, b: np.ndarray, dim: int, reverse: bool) -> np.ndarray:
    """s[i] = b[i] + a[i] s[i - 1], in log2(n) steps over ever longer runs (Hillis and Steele, 1986)."""
    factor = np.moveaxis(np.array(a), dim, 0)
    total = np.array(b, order="C")
    run = np.moveaxis(total, dim, 0)
    if reverse:
        factor, run = factor[::-1], run[::-1]
    step = 1
    while step < len(run):
        run[step:] += factor[step:] * run[:-step]
        factor[step:] = factor[step:] * factor[:-step]
        step *= 2
    return total


LINEAR_SCAN = Op(
    "linear_scan", "a b", "dim reverse", kind="scan", cpu=_linear_scan, shape=lambda a, b, dim, reverse: a,
    grads={("a", "b"): lambda g, a, result, dim, reverse: _linear_scan_backward(g, a, result, dim, reverse)},
)  # fmt: skip


def _linear_scan_backward(g: Tensor, a: Tensor, result: Tensor, dim: int, reverse: bool) -> tuple[Tensor, Tensor]:
    behind, ahead = (after, before) if reverse else (before, after)
    adjoint = linear_scan(conj(ahead(a, dim, 0.0)), g, dim, not reverse)
    return adjoint * conj(behind(result, dim, 0.0)), adjoint


def linear_scan(a: Tensor, b: Tensor, dim: int, reverse: bool = False) -> Tensor:
    """s[i] = b[i] + a[i] s[i - 1] along `dim`, or s[i + 1] where `reverse`; both tensors of one shape and dtype."""
    return dispatch.call(LINEAR_SCAN, (a, b), (dim, reverse))


# -- running sums and products ------------------------------------------------------------------


def _accumulate(ufunc: Any) -> Any:
    def kernel(x: np.ndarray, dim: int) -> np.ndarray:
        if x.dtype == np.float16:
            return ufunc.accumulate(x, axis=dim, dtype=np.float32).astype(np.float16)
        if x.dtype == np.bool_:
            return ufunc.accumulate(x, axis=dim, dtype=np.int64).astype(np.bool_)
        return ufunc.accumulate(x, axis=dim, dtype=x.dtype)

    return kernel


def _cumprod_backward(g: Tensor, x: Tensor, result: Tensor, dim: int) -> Tensor:
    """The product before each element times what the gradients after it weigh: no division, so that zeros need no care."""
    return conj(before(result, dim, 1.0)) * linear_scan(conj(after(x, dim, 0.0)), g, dim, True)


CUMSUM = Op(
    "cumsum", "input", "dim", kind="scan", cpu=_accumulate(np.add), shape=lambda s, dim: s,
    grads={"input": lambda g, dim: g.flip(dim).cumsum(dim).flip(dim)},
)  # fmt: skip
CUMPROD = Op(
    "cumprod", "input", "dim", kind="scan", cpu=_accumulate(np.multiply), shape=lambda s, dim: s,
    grads={"input": lambda g, input, result, dim: _cumprod_backward(g, input, result, dim)},
)  # fmt: skip


def _scan(op: Op, input: Tensor, dim: int) -> Any:
    at = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        out = dispatch.call(op, (input.reshape(1),), (0,))
        return tuple(o.reshape(()) for o in out) if op.multi else out.reshape(())
    return dispatch.call(op, (input,), (at,))


def _running(op: Op, name: str, input: Tensor, dim: int, dtype: Any) -> Tensor:
    tensor_argument(name, "input", 1, input)
    return _scan(op, as_type(input, summing_type(input, dtype)), dim)


def _in_place(op: Op) -> Any:
    def write(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        if dtype is not None and dtype is not self.dtype:
            raise RuntimeError(
                f"Bad in-place call: input tensor dtype {self.dtype.name} and output tensor dtype {dtype.name} should match"
            )
        dispatch.check_inplace(self, dispatch.state.grad_enabled)
        return dispatch.write(self, _scan(op, self, dim))

    return write


@operator(out=True, inplace=_in_place(CUMSUM))
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The sum up to each element along `dim`; integers are summed as int64."""
    return _running(CUMSUM, "cumsum", input, dim, dtype)


@operator(out=True, inplace=_in_place(CUMPROD))
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The product up to each element along `dim`; integers are multiplied as int64."""
    return _running(CUMPROD, "cumprod", input, dim, dtype)


# -- running extremes ---------------------------------------------------------------------------


def _running_extreme(ufunc: Any) -> Any:
    def kernel(x: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
        values = ufunc.accumulate(x, axis=dim)
        place = np.arange(x.shape[dim]).reshape([-1 if i == dim else 1 for i in range(x.ndim)])
        new = (x == values) | (x != x)
        return values, np.maximum.accumulate(np.where(new, place, 0), axis=dim)

    return kernel


def _extreme_op(name: str, ufunc: Any) -> Op:
    return Op(
        name, "input", "dim", kind="scan", multi=True, cpu=_running_extreme(ufunc), shape=lambda s, dim: [s, s],
        dtype=lambda t, dim: (t._dtype, dtypes.int64),
        grads={"input": lambda g, results, input_shape, dim: g[0].new_zeros(input_shape).scatter_add(dim, results[1], g[0])},
    )  # fmt: skip


CUMMAX, CUMMIN = _extreme_op("cummax", np.maximum), _extreme_op("cummin", np.minimum)
CummaxResult = return_type("cummax", "values indices")
CumminResult = return_type("cummin", "values indices")


def _real(name: str, input: Tensor) -> Tensor:
    tensor_argument(name, "input", 1, input)
    if input.dtype.is_complex:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dispatch.type_name(input.dtype)}'")
    return input


@operator(out=True)
def cummax(input: Tensor, dim: int) -> Any:
    """The largest element so far along `dim`, and where it (the last of equal ones) stands."""
    return CummaxResult(*_scan(CUMMAX, _real("cummax", input), dim))


@operator(out=True)
def cummin(input: Tensor, dim: int) -> Any:
    """The smallest element so far along `dim`, and where it (the last of equal ones) stands."""
    return CumminResult(*_scan(CUMMIN, _real("cummin", input), dim))


# -- running logarithms of sums -----------------------------------------------------------------


def _logcumsumexp(x: np.ndarray, dim: int) -> np.ndarray:
    if x.dtype.kind != "c":
        if x.dtype == np.float16:
            return np.logaddexp.accumulate(x.astype(np.float32), axis=dim).astype(np.float16)
        return np.logaddexp.accumulate(x, axis=dim)
    total = np.array(x, order="C")
    run = np.moveaxis(total, dim, 0)
    for i in range(1, len(run)):  # one after the other, since the order decides which turn of the angle comes out
        run[i] = complex_logaddexp(run[i - 1], run[i])
    return total


def _logcumsumexp_backward(g: Tensor, x: Tensor, result: Tensor, dim: int) -> Tensor:
    """exp(x[i]) times the sum of g[k] exp(-result[k]) over k >= i, with every exponent's real part at most 0."""
    exp = op_functions["exp"]
    later = after(result, dim, 0.0)
    nothing = (result if not result.dtype.is_complex else result.real) == -float("inf")
    decay = choose(nothing, 0.0, exp(result - later))
    share = choose(nothing, 0.0, exp(x - result))
    return conj(share) * linear_scan(conj(decay), g, dim, True)


LOGCUMSUMEXP = Op(
    "logcumsumexp", "input", "dim", kind="scan", cpu=_logcumsumexp, shape=lambda s, dim: s,
    grads={"input": lambda g, input, result, dim: _logcumsumexp_backward(g, input, result, dim)},
)  # fmt: skip


@operator(out=True)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """log(cumsum(exp(input))) along `dim`, without overflow. Raises RuntimeError for integers."""
    tensor_argument("logcumsumexp", "input", 1, input)
    if input.dtype.category < dtypes.FLOATING:
        raise NotImplementedError(f"\"logcumsumexp_out_cpu\" not implemented for '{dispatch.type_name(input.dtype)}'")
    return _scan(LOGCUMSUMEXP, input, dim)


# -- differences --------------------------------------------------------------------------------


def _steps(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """All but the last, and all but the first along `dim`."""
    count = max(x.shape[dim] - 1, 0)
    return x.narrow(dim, 0, count), x.narrow(dim, min(1, x.shape[dim]), count)


@operator(out=True)
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The `n`-th differences of neighbours along `dim`, after joining `prepend` and `append` to the ends; of bools, xor."""
    tensor_argument("diff", "input", 1, input)
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    at = wrap_dim(dim, input.ndim)
    for end in (prepend, append):
        if end is None:
            continue
        if end.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for i, (have, want) in enumerate(zip(end.shape, input.shape, strict=True)):
            if have != want and i != at:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                    f"dimension; input.size({i}) = {want}, but got tensor.size({i}) = {have}"
                )
    parts = [p for p in (prepend, input, append) if p is not None]
    if n == 0:
        return input.clone()
    out = F.cat(parts, at) if len(parts) > 1 else input
    for _ in range(min(n, out.shape[at])):
        low, high = _steps(out, at)
        out = op_functions["logical_xor"](high, low) if out.dtype.category == dtypes.BOOL else high - low
    return out


# -- integrals ----------------------------------------------------------------------------------


def _widths(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> Any:
    """The distances of samples: a number, or a tensor that broadcasts with the differences of `y`."""
    if any(isinstance(t, Tensor) and t.dtype.category == dtypes.BOOL for t in (y, x)):
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    if x is None:
        if isinstance(dx, bool) or (isinstance(dx, complex) and not y.dtype.is_complex):
            raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
        return 1 if dx is None else dx
    if dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments - x and dx cannot both be given")
    tensor_argument(name, "x", 2, x)
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([-1 if i == dim else 1 for i in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.reshape([*[1] * (y.ndim - x.ndim), *x.shape])
    low, high = _steps(x, dim)
    return high - low


def _pairs(y: Tensor, dim: int) -> Tensor:
    low, high = _steps(y, dim)
    return low + high


@operator(method=False)
def trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral of samples along `dim` by the trapezoidal rule, at places `x` or with distance `dx` (1)."""
    at = wrap_dim(dim, tensor_argument("trapezoid", "y", 1, y).ndim)
    if y.shape[at] == 0:
        return y.sum(at)
    width = _widths("trapezoid", y, x, dx, at)
    if not isinstance(width, Tensor):
        return (y.sum(at) - (y.select(at, 0) + y.select(at, -1)) * 0.5) * width
    return (_pairs(y, at) * width).sum(at) / 2.0


@operator(method=False)
def trapz(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """`trapezoid` by its older name."""
    return trapezoid(y, x, dx=dx, dim=dim)


@operator(method=False)
def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integrals up to each sample but the first along `dim`, by the trapezoidal rule."""
    at = wrap_dim(dim, tensor_argument("cumulative_trapezoid", "y", 1, y).ndim)
    width = _widths("cumulative_trapezoid", y, x, dx, at)
    if not isinstance(width, Tensor):
        return (_pairs(y, at) * (width / 2.0)).cumsum(at)
    return (_pairs(y, at) * width).cumsum(at) / 2.0


# -- derivatives of samples ---------------------------------------------------------------------


def _even(y: Tensor, dim: int, width: Any, order: int) -> Tensor:
    """Central differences inside, one-sided ones of the given order at the ends, for samples at an even distance."""
    n = y.shape[dim]

    def at(start: int, length: int = 1) -> Tensor:
        return y.narrow(dim, start, length)

    centre = (at(2, n - 2) - at(0, n - 2)) / (2 * width)
    if order == 1:
        first, last = (at(1) - at(0)) / width, (at(n - 1) - at(n - 2)) / width
    else:
        first = (-1.5 * at(0) + 2 * at(1) - 0.5 * at(2)) / width
        last = (0.5 * at(n - 3) - 2 * at(n - 2) + 1.5 * at(n - 1)) / width
    return F.cat([first, centre, last], dim)


def _uneven(y: Tensor, dim: int, places: Tensor, order: int) -> Tensor:
    """The same for samples at given places: quotients of the parabola through three neighbours."""
    n = y.shape[dim]

    def at(start: int, length: int = 1) -> Tensor:
        return y.narrow(dim, start, length)

    shape = [-1 if i == dim else 1 for i in range(y.ndim)]
    width = diff(places)
    a, b = width[: n - 2], width[1:]
    low, middle, high = -b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b))
    centre = (
        low.reshape(shape) * at(0, n - 2) + middle.reshape(shape) * at(1, n - 2) + high.reshape(shape) * at(2, n - 2)
    )
    if order == 1:
        first, last = (at(1) - at(0)) / width[0], (at(n - 1) - at(n - 2)) / width[-1]
    else:
        p, q = width[0], width[1]
        first = -(2 * p + q) / (p * (p + q)) * at(0) + (p + q) / (p * q) * at(1) - p / (q * (p + q)) * at(2)
        p, q = width[-2], width[-1]
        last = q / (p * (p + q)) * at(n - 3) - (p + q) / (p * q) * at(n - 2) + (2 * q + p) / (q * (p + q)) * at(n - 1)
    return F.cat([first, centre, last], dim)


@operator(method=False)
def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    """Estimated derivatives along the dimensions `dim` (all when None), one tensor each.

    `spacing` is a distance (1), or a sequence with a distance or a vector of places for each dimension. Raises RuntimeError for
    dimensions with too few samples.
    """
    tensor_argument("gradient", "input", 1, input)
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [wrap_dim(d, input.ndim) for d in dims]
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if len(set(dims)) != len(dims):
        again = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"dim {again} appears multiple times in the list of dims")
    several = isinstance(spacing, Sequence) and not isinstance(spacing, str)
    widths = list(spacing) if several else [1 if spacing is None else spacing] * len(dims)
    if len(widths) != len(dims):
        if dim is None:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
                f"{input.ndim}', since dim argument was not given, but got a list of length {len(widths)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but "
            f"got a spacing argument of length {len(widths)} and a dim argument of length {len(dims)}."
        )
    for d in dims:
        if input.ndim == 0 or input.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    out = []
    for d, width in zip(dims, widths, strict=True):
        if isinstance(width, Tensor) and width.ndim:
            if width.ndim != 1 or width.numel() != input.shape[d]:
                raise RuntimeError(
                    f"torch.gradient expected a coordinate for each value along dim {d}, but got spacing of shape {list(width.shape)}"
                )
            out.append(_uneven(input, d, width, edge_order))
        else:
            out.append(_even(input, d, width, edge_order))
    return tuple(out)
