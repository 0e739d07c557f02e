"""Average pooling: the mean or the power mean of each window, of given size or of given number.

Sums of windows are sums along each axis in turn; so are their transposes, which gradients need.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import numel
from ..tensor import Tensor
from .declare import operator, tensor_argument
from .pooling import (
    BLOCK,
    FUNCTIONAL,
    adaptive_sizes,
    adaptive_table,
    check_adaptive,
    check_windows,
    flat_planes,
    pooled_shape,
    single_size,
    spans,
    stride_or,
    window_counts,
    window_numbers,
)
from .separable import Taps, along_last, taps, transposed
from .table import Op
from .windows import Ints, blocks, inside


def _sums(x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, counts: Ints) -> np.ndarray:
    """Sums over windows, axis by axis: x [planes, ...]."""
    for axis, (k, s, p, n) in enumerate(zip(kernel, stride, padding, counts, strict=True), 1):
        out = np.zeros((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype)
        lead = (slice(None),) * axis
        for i in range(k):
            windows, elements = inside(i - p, s, n, x.shape[axis])
            out[(*lead, windows)] += x[(*lead, elements)]
        x = out
    return x


def _spread(g: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, sizes: Ints) -> np.ndarray:
    """The transpose of `_sums`."""
    for axis, (k, s, p, size) in enumerate(zip(kernel, stride, padding, sizes, strict=True), 1):
        out = np.zeros((*g.shape[:axis], size, *g.shape[axis + 1 :]), g.dtype)
        lead = (slice(None),) * axis
        for i in range(k):
            windows, elements = inside(i - p, s, g.shape[axis], size)
            out[(*lead, elements)] += g[(*lead, windows)]
        g = out
    return g


@functools.lru_cache(256)
def _divisors(
    sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, counts: Ints, include_pad: bool, override: int | None
) -> np.ndarray:
    """By how much the sum of each window is divided: its size, without what lies outside of the padding (or of the input)."""
    if override is not None:
        return np.full((), override, np.int64)
    out = np.ones((), np.int64)
    for size, k, s, p, n in zip(sizes, kernel, stride, padding, counts, strict=True):
        start = np.arange(n) * s - p
        end = np.minimum(start + k, size + p)
        width = end - start if include_pad else np.minimum(end, size) - np.maximum(start, 0)
        out = out[..., None] * width
    return out


def _divided(total: np.ndarray, by: np.ndarray) -> np.ndarray:
    if total.dtype.kind in "iu":
        return np.sign(total) * np.sign(by) * (np.abs(total) // np.abs(by))
    return total / by.astype(total.dtype)


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _avg_pool(
    x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, ceil: bool, include_pad: bool, override: int | None
) -> np.ndarray:
    rank = len(kernel)
    lead, sizes = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    counts = window_counts(sizes, kernel, stride, padding, (1,) * rank, ceil)
    by = _divisors(sizes, kernel, stride, padding, counts, include_pad, override)
    planes = flat_planes(x, rank)
    out = np.empty((len(planes), *counts), x.dtype)
    for i, j in blocks(len(planes), numel(sizes), BLOCK):
        out[i:j] = _divided(_sums(_wide(planes[i:j]), kernel, stride, padding, counts), by)
    return out.reshape(*lead, *counts)


def _avg_pool_backward(
    g: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, ceil: bool, include_pad: bool, override: int | None, size: Ints
) -> np.ndarray:  # fmt: skip
    rank = len(kernel)
    lead, counts = g.shape[: g.ndim - rank], g.shape[g.ndim - rank :]
    by = _divisors(size, kernel, stride, padding, counts, include_pad, override)
    planes = flat_planes(g, rank)
    out = np.empty((len(planes), *size), g.dtype)
    for i, j in blocks(len(planes), numel(size), BLOCK):
        out[i:j] = _spread(_divided(_wide(planes[i:j]), by), kernel, stride, padding, size)
    return out.reshape(*lead, *size)


_AVERAGE = "kernel_size stride padding ceil_mode count_include_pad divisor_override"


def _avg_primitive(rank: int) -> Op:
    def shape(x: Ints, kernel: Ints, stride: Ints, padding: Ints, ceil: bool, *_: Any) -> Ints:
        return pooled_shape(x, rank, window_counts(x[len(x) - rank :], kernel, stride, padding, (1,) * rank, ceil))

    def backward(g: Tensor, input_shape: Ints, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
                 count_include_pad: bool, divisor_override: int | None) -> Tensor:  # fmt: skip
        numbers = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return dispatch.call(back, (g,), (*numbers, input_shape[len(input_shape) - rank :]))

    def again(g: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
              divisor_override: int | None) -> Tensor:  # fmt: skip
        return dispatch.call(op, (g,), (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override))

    op = Op(
        f"avg_pool{rank}d", "input", _AVERAGE, kind="index", cpu=_avg_pool, backward=f"AvgPool{rank}D", shape=shape,
        grads={"input": backward},
    )  # fmt: skip
    back = Op(
        f"avg_pool{rank}d_backward", "grad_output", _AVERAGE + " size", kind="index", cpu=_avg_pool_backward,
        backward=f"AvgPool{rank}DBackward", shape=lambda g, *numbers: pooled_shape(g, rank, numbers[-1]), grads={"grad_output": again},
    )  # fmt: skip
    return op


@functools.lru_cache(256)
def _adaptive_taps(size: int, count: int) -> Taps:
    start, end = spans(size, count)
    table = adaptive_table(size, count)
    width = (end - start)[:, None]
    return taps(size, table, np.where(np.arange(table.shape[1]) < width, 1.0 / np.maximum(width, 1), 0.0))


def _adaptive_maps(sizes: Ints, counts: Ints) -> tuple[Taps, ...]:
    return tuple(_adaptive_taps(n, m) for n, m in zip(sizes[len(sizes) - len(counts) :], counts, strict=True))


def _adaptive_avg_primitive(rank: int) -> Op:
    op = Op(
        f"adaptive_avg_pool{rank}d", "input", "output_size", kind="index", backward=f"AdaptiveAvgPool{rank}D",
        cpu=lambda x, size: along_last(x, _adaptive_maps(x.shape, size)), shape=lambda x, size: pooled_shape(x, rank, size),
        grads={"input": lambda g, input_shape, output_size: dispatch.call(
            back, (g,), (output_size, input_shape[len(input_shape) - rank :]))},
    )  # fmt: skip
    back = Op(
        f"adaptive_avg_pool{rank}d_backward", "grad_output", "output_size size", kind="index", backward=f"AdaptiveAvgPool{rank}DBackward",
        cpu=lambda g, counts, size: along_last(g, tuple(transposed(t) for t in _adaptive_maps(size, counts))),
        shape=lambda g, counts, size: pooled_shape(g, rank, size),
        grads={"grad_output": lambda g, output_size: dispatch.call(op, (g,), (output_size,))},
    )  # fmt: skip
    return op


_AVG = {rank: (_avg_primitive(rank), _adaptive_avg_primitive(rank)) for rank in (2, 3)}


def _pool_avg(
    rank: int,
    input: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil: bool,
    include_pad: bool,
    override: int | None,
) -> Tensor:
    name = f"avg_pool{rank}d"
    tensor_argument(name, "input", 1, input)
    if rank == 2 and input.ndim < 3:
        last = max(input.ndim, 1)
        raise IndexError(f"Dimension out of range (expected to be in range of [{-last}, {last - 1}], but got -3)")
    given = {"kernel_size": kernel, "stride": stride_or(stride, kernel), "padding": padding}
    size, step, pad = window_numbers(name, rank, given)
    if override == 0:
        raise RuntimeError("divisor must be not zero")
    sizes = tuple(input.shape[-3:])
    if rank == 3 and input.ndim in (4, 5) and all(sizes) and any(n < k for n, k in zip(sizes, size, strict=True)):
        given = " ".join(f"{a}: {n}" for a, n in zip("THW", sizes, strict=True))
        wanted = " ".join(f"k{a}: {n}" for a, n in zip("THW", size, strict=True))
        raise RuntimeError(f"input image ({given}) smaller than kernel size ({wanted})")
    check_windows(name, input, size, step, pad, (1,) * rank, bool(ceil))
    if input._dtype.category == dtypes.INTEGRAL and input._dtype is not dtypes.int64:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dispatch.type_name(input._dtype)}'")
    return dispatch.call(_AVG[rank][0], (input,), (size, step, pad, bool(ceil), bool(include_pad), override))


# -- functions ------------------------------------------------------------------------------------


@operator(spaces=("torch", "nn.functional"), method=False)
def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:  # fmt: skip
    """The mean of each window of a length: input [N, C, L] or [C, L]. See `avg_pool2d`."""
    given = {"kernel_size": kernel_size, "stride": stride_or(stride, kernel_size), "padding": padding}
    for label, value in given.items():
        if isinstance(value, (list, tuple)) and len(value) != 1:
            raise RuntimeError(f"avg_pool1d() argument '{label}' should contain one int (got {len(value)})")
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while checking arguments for "
            "avg_pool1d)"
        )
    k, s, p = (v[0] if isinstance(v, (list, tuple)) else v for v in given.values())
    out = _pool_avg(2, input.unsqueeze(-2), (1, k), (1, s), (0, p), ceil_mode, count_include_pad, None)
    return out.squeeze(-2)


@operator(spaces=FUNCTIONAL, method=False)
def avg_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of images: input [N, C, H, W] or [C, H, W].

    `stride` is the window's size by default. The padding counts as zeros, or not at all without `count_include_pad`;
    `divisor_override` divides the sums instead of the count. Raises RuntimeError where nothing fits.
    """
    return _pool_avg(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@operator(spaces=FUNCTIONAL, method=False)
def avg_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of volumes: input [N, C, D, H, W] or [C, D, H, W]. See `avg_pool2d`."""
    return _pool_avg(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive_pool_avg(rank: int, input: Tensor, size: Any) -> Tensor:
    name = f"adaptive_avg_pool{rank}d"
    counts = adaptive_sizes(name, rank, input, size)
    check_adaptive(name, rank, input, counts)
    if all(n == 1 for n in counts):
        return input.mean(tuple(range(-rank, 0)), True)
    return dispatch.call(_AVG[rank][1], (input,), (counts,))


@operator(spaces=("torch", "nn.functional"), method=False)
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of `output_size` windows that cover a length evenly: input [N, C, L] or [C, L]."""
    size = single_size("adaptive_avg_pool1d", input, output_size)
    return _adaptive_pool_avg(2, input.unsqueeze(-2), (1, size)).squeeze(-2)


@operator(spaces=FUNCTIONAL, method=False)
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many windows (one number or two, None keeps an axis) that cover images evenly: [N, C, H, W] or [C, H, W]."""
    return _adaptive_pool_avg(2, input, output_size)


@operator(spaces=FUNCTIONAL, method=False)
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many windows that cover volumes evenly: input [N, C, D, H, W] or [C, D, H, W]."""
    return _adaptive_pool_avg(3, input, output_size)


def _power_mean(mean: Tensor, count: int, power: float) -> Tensor:
    """The root of a window's sum of powers from their mean."""
    from . import functions as F

    return ((mean.sign() * F.relu(mean.abs())) * count) ** (1.0 / power)


@operator(spaces=FUNCTIONAL, method=False)
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The root of the sum of powers of each window of a length: input [N, C, L] or [C, L]."""
    size = numel(window_numbers("lp_pool1d", 1, {"kernel_size": kernel_size})[0])
    return _power_mean(avg_pool1d(input**norm_type, kernel_size, stride, 0, ceil_mode), size, norm_type)


@operator(spaces=FUNCTIONAL, method=False)
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The root of the sum of powers of each window of images: input [N, C, H, W] or [C, H, W]."""
    size = numel(window_numbers("lp_pool2d", 2, {"kernel_size": kernel_size})[0])
    return _power_mean(avg_pool2d(input**norm_type, kernel_size, stride, 0, ceil_mode), size, norm_type)


@operator(spaces=FUNCTIONAL, method=False)
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The root of the sum of powers of each window of volumes: input [N, C, D, H, W] or [C, D, H, W]."""
    size = numel(window_numbers("lp_pool3d", 3, {"kernel_size": kernel_size})[0])
    return _power_mean(avg_pool3d(input**norm_type, kernel_size, stride, 0, ceil_mode), size, norm_type)
