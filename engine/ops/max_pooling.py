"""Max pooling: the largest element of each window, of given size or of given number, and its reverse.

All windows are gone through at once, element by element of a window. Maxima come with the places of their elements in the
flattened plane, through which gradients go back.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import numel
from ..state import state
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
    stride_or,
    window_count,
    window_counts,
    window_numbers,
)
from .table import OPS, Op
from .windows import Ints, blocks, offsets

# -- maxima: kernels ------------------------------------------------------------------------------


def lowest(kind: np.dtype) -> Any:
    """What every number is at least."""
    return -np.inf if kind.kind == "f" else np.iinfo(kind).min


def _has_nan(x: np.ndarray) -> bool:
    return x.dtype.kind == "f" and bool(x.size) and bool(np.isnan(x.max()))


def take_larger(best: np.ndarray, code: np.ndarray, candidate: np.ndarray, number: Any, nan: bool) -> None:
    """Keep the larger elements and the number of who had them; NaN is larger than all."""
    wins = candidate > best
    if nan:
        wins |= candidate != candidate
        np.copyto(best, candidate, where=wins)
    else:
        np.maximum(best, candidate, out=best)
    np.copyto(code, number, where=wins)


def _max_direct(
    x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, counts: Ints
) -> tuple[np.ndarray, np.ndarray]:
    """Maxima of windows and their places in the plane: x [planes, ...]."""
    sizes = x.shape[1:]
    first = np.zeros((), np.int64)  # the number of the first element of each window that lies inside
    base = np.zeros((), np.int64)  # the place of each window's corner
    places = np.zeros((), np.int64)  # how far each element of a window is from it
    for k, s, p, d, n, size in zip(kernel, stride, padding, dilation, counts, sizes, strict=True):
        corner = np.arange(n) * s - p
        first = first[..., None] * k + np.maximum(-(corner // d), 0)
        base = base[..., None] * size + corner
        places = places[..., None] * size + np.arange(k) * d
    places = places.reshape(-1)
    values = np.full((len(x), *counts), lowest(x.dtype), x.dtype)
    index = np.empty(values.shape, np.int64)
    nan = _has_nan(x)
    steps = list(offsets(kernel, stride, padding, dilation, counts, sizes))
    for i, j in blocks(len(x), numel(sizes), BLOCK):
        best, code = values[i:j], np.empty((j - i, *counts), np.uint8 if len(places) <= 256 else np.int32)
        code[...] = first
        for number, (_, windows, elements) in enumerate(steps):
            at = (slice(None), *windows)
            take_larger(best[at], code[at], x[(slice(i, j), *elements)], number, nan)
        np.add(places[code], base, out=index[i:j])
    return values, index


def _max_by_axes(x: np.ndarray, tables: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Maxima over rectangles of elements: `tables[i]` [windows, elements] names those of axis i of x [planes, ...]."""
    sizes, nan = x.shape[1:], _has_nan(x)
    index: Any = None
    for axis in range(len(tables), 0, -1):
        table = tables[axis - 1]
        best = np.full((*x.shape[:axis], len(table), *x.shape[axis + 1 :]), lowest(x.dtype), x.dtype)
        code = np.zeros(best.shape, np.int32)
        for k in range(table.shape[1]):
            take_larger(best, code, np.take(x, table[:, k], axis), k, nan)
        after = (1,) * (x.ndim - axis - 1)
        window = np.arange(len(table)).reshape(-1, *after)
        place = table[window, code]
        step = numel(sizes[axis:])
        index = place * step if index is None else place * step + np.take_along_axis(index, place, axis)
        x = best
    return x, index


@functools.lru_cache(256)
def _table(size: int, kernel: int, stride: int, padding: int, dilation: int, count: int) -> np.ndarray:
    """The elements of each window of an axis; those outside are replaced by one of the window that is inside."""
    corner = (np.arange(count) * stride - padding)[:, None]
    at = corner + np.arange(kernel) * dilation
    first = corner + np.maximum(-(corner // dilation), 0) * dilation
    last = corner + (size - 1 - corner) // dilation * dilation
    return np.clip(at, first, np.maximum(last, first))


def _max_pool(
    x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
) -> tuple[np.ndarray, np.ndarray]:
    rank = len(kernel)
    lead, sizes = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    counts = window_counts(sizes, kernel, stride, padding, dilation, ceil)
    planes = flat_planes(x, rank)
    if numel(kernel) <= 16:
        values, index = _max_direct(planes, kernel, stride, padding, dilation, counts)
    else:
        axes = zip(sizes, kernel, stride, padding, dilation, counts, strict=True)
        values, index = _max_by_axes(planes, [_table(*numbers) for numbers in axes])
    return values.reshape(*lead, *counts), index.reshape(*lead, *counts)


def _adaptive_max(x: np.ndarray, size: Ints) -> tuple[np.ndarray, np.ndarray]:
    rank = len(size)
    lead, sizes = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    tables = [adaptive_table(n, m) for n, m in zip(sizes, size, strict=True)]
    values, index = _max_by_axes(flat_planes(x, rank), tables)
    return values.reshape(*lead, *size), index.reshape(*lead, *size)


def _put_back(g: np.ndarray, index: np.ndarray, size: Ints, distinct: bool) -> np.ndarray:
    """Elements added up at their places in planes of `size`."""
    rank = len(size)
    lead = g.shape[: g.ndim - rank]
    planes, each = numel(lead), numel(size)
    places = (
        index.reshape(planes, numel(index.shape[index.ndim - rank :])) + np.arange(planes)[:, None] * each
    ).reshape(-1)
    values = g.reshape(-1)
    if distinct:
        out = np.zeros(planes * each, g.dtype)
        out[places] = values
    else:
        out = np.bincount(places, weights=values, minlength=planes * each).astype(g.dtype)
    return out.reshape(*lead, *size)


# -- maxima: primitives ---------------------------------------------------------------------------


def _picked(t: Tensor, index: Tensor, rank: int) -> Tensor:
    """The elements of planes at the places `index`; the transpose of `_put_back`."""
    flat = t.reshape(*t.shape[: t.ndim - rank], numel(t.shape[t.ndim - rank :]))
    places = index.reshape(*index.shape[: index.ndim - rank], numel(index.shape[index.ndim - rank :]))
    return flat.gather(-1, places).reshape(index.shape)


def _max_primitives(rank: int) -> tuple[Op, Op, Op]:
    """Max pooling, adaptive max pooling and unpooling of so many dimensions, with what their gradients need."""

    def windows_apart(kernel: Ints, stride: Ints, dilation: Ints) -> bool:
        return all(s >= (k - 1) * d + 1 for k, s, d in zip(kernel, stride, dilation, strict=True))

    def back(g: Any, results: Any, shape: Ints, distinct: bool) -> Tensor:
        return dispatch.call(returned, (g[0], results[1]), (shape[len(shape) - rank :], distinct))

    returned = Op(
        f"max_pool{rank}d_with_indices_backward", "grad_output indices", "size distinct", kind="index", cpu=_put_back,
        backward=f"MaxPool{rank}DWithIndicesBackward", shape=lambda g, index, size, distinct: pooled_shape(g, rank, size),
        grads={"grad_output": lambda g, indices: _picked(g, indices, rank)},
    )  # fmt: skip
    pool = Op(
        f"max_pool{rank}d_with_indices", "input", "kernel_size stride padding dilation ceil_mode", kind="index", cpu=_max_pool, multi=True,
        backward=f"MaxPool{rank}DWithIndices", dtype=lambda x, *_: (x._dtype, dtypes.int64),
        shape=lambda x, *numbers: [pooled_shape(x, rank, window_counts(x[len(x) - rank :], *numbers))] * 2,
        grads={"input": lambda g, results, input_shape, kernel_size, stride, dilation: back(
            g, results, input_shape, windows_apart(kernel_size, stride, dilation))},
    )  # fmt: skip
    adaptive = Op(
        f"adaptive_max_pool{rank}d", "input", "output_size", kind="index", cpu=_adaptive_max, multi=True,
        backward=f"AdaptiveMaxPool{rank}D", dtype=lambda x, *_: (x._dtype, dtypes.int64),
        shape=lambda x, size: [pooled_shape(x, rank, size)] * 2,
        grads={"input": lambda g, results, input_shape: back(g, results, input_shape, False)},
    )  # fmt: skip
    undone = Op(
        f"max_unpool{rank}d", "input indices", "size", kind="index", cpu=lambda x, index, size: _put_back(x, index, size, True),
        backward=f"MaxUnpool{rank}D", shape=lambda x, index, size: pooled_shape(x, rank, size),
        grads={"input": lambda g, indices: _picked(g, indices, rank)},
    )  # fmt: skip
    return pool, adaptive, undone


_MAX = {rank: _max_primitives(rank) for rank in (2, 3)}


def returned_maxima(rank: int) -> Op:
    """The primitive that puts gradients where the maxima were."""
    return OPS[f"max_pool{rank}d_with_indices_backward"]


def _pool_max(rank: int, input: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
    name = f"max_pool{rank}d"
    tensor_argument(name, "input", 1, input)
    given = {"kernel_size": kernel, "stride": stride_or(stride, kernel), "padding": padding, "dilation": dilation}
    numbers = window_numbers(name, rank, given)
    check_windows(name, input, *numbers, bool(ceil))  # type: ignore[arg-type]
    return dispatch.call(_MAX[rank][0], (input,), (*numbers, bool(ceil)))


# -- maxima: functions ----------------------------------------------------------------------------


def _single(name: str, label: str, value: Any, optional: bool = False) -> Any:
    if isinstance(value, (list, tuple)):
        if len(value) > 1:
            form = (
                "must be None, an int, list of ints, or tuple of ints"
                if optional
                else "must be an int, list of ints or tuple of ints"
            )
            raise RuntimeError(f"{name}() {label} {form} of size 1 but got size {len(value)}")
        return value[0] if value else None
    return value


def _max_pool1d(
    input: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> tuple[Tensor, Tensor]:
    name = "max_pool1d"
    tensor_argument(name, "input", 1, input)
    if input.ndim not in (2, 3) or any(n == 0 for n in input.shape[-2:]):
        raise RuntimeError(
            f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(input.shape)}"
        )
    k = _single(name, "kernel_size", kernel)
    s = _single(name, "stride", stride, True)
    s = k if s is None else s
    p, d = _single(name, "padding", padding), _single(name, "dilation", dilation)
    for value, label in ((k, "kernel_size"), (s, "stride")):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {label} must be greater than zero, but got {value}")
    if p < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {p}")
    if d <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {d}")
    if p > (d * (k - 1) + 1) // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"
        )
    count = window_count(input.shape[-1], k, s, p, d, bool(ceil))
    if count <= 0 and not (input.requires_grad and state.grad_enabled):  # what is recorded is refused as an image
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")
    values, index = _pool_max(2, input.unsqueeze(-2), (1, k), (1, s), (0, p), (1, d), ceil)
    return values.squeeze(-2), index.squeeze(-2)


@operator(spaces=FUNCTIONAL, method=False)
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool1d` with the places of the maxima."""
    return _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


@operator(name="max_pool1d_with_indices", method=False)
def torch_max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with the places of the maxima."""
    return _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


@operator(spaces=FUNCTIONAL, method=False)
def max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool2d` with the places of the maxima."""
    return _pool_max(2, input, kernel_size, stride, padding, dilation, ceil_mode)


@operator(spaces=FUNCTIONAL, method=False)
def max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool3d` with the places of the maxima."""
    return _pool_max(3, input, kernel_size, stride, padding, dilation, ceil_mode)


@operator(spaces=("torch", "nn.functional"), method=False)
def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of a length: input [N, C, L] or [C, L]; with `return_indices` also its place.

    `stride` is the window's size by default; the padding counts as smallest. Raises RuntimeError where nothing fits.
    """
    values, index = _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, index) if return_indices else values


@operator(spaces=("torch", "nn.functional"), method=False)
def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of images: input [N, C, H, W] or [C, H, W]; with `return_indices` also its place in the plane.

    `stride` is the window's size by default; the padding counts as smallest. Raises RuntimeError where nothing fits.
    """
    values, index = _pool_max(2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, index) if return_indices else values


@operator(spaces=("torch", "nn.functional"), method=False)
def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of volumes: input [N, C, D, H, W] or [C, D, H, W]; see `max_pool2d`."""
    values, index = _pool_max(3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, index) if return_indices else values


def _adaptive_pool_max(rank: int, input: Tensor, size: Any) -> tuple[Tensor, Tensor]:
    name = f"adaptive_max_pool{rank}d"
    counts = adaptive_sizes(name, rank, input, size)
    check_adaptive(name, rank, input, counts)
    return dispatch.call(_MAX[rank][1], (input,), (counts,))


def _adaptive_max_pool1d(input: Tensor, size: Any) -> tuple[Tensor, Tensor]:
    count = single_size("adaptive_max_pool1d", input, size)
    if input.shape[-1] == 0:
        check_adaptive("adaptive_max_pool1d", 1, input, (count,))
    values, index = _adaptive_pool_max(2, input.unsqueeze(-2), (1, count))
    return values.squeeze(-2), index.squeeze(-2)


@operator(spaces=FUNCTIONAL, method=False)
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of `output_size` windows that cover a length evenly: input [N, C, L] or [C, L]."""
    values, index = _adaptive_max_pool1d(input, output_size)
    return (values, index) if return_indices else values


@operator(name="adaptive_max_pool1d", method=False)
def torch_adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The largest elements of `output_size` windows that cover a length evenly, and their places."""
    return _adaptive_max_pool1d(input, output_size)


@operator(spaces=FUNCTIONAL, method=False)
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of so many windows (one number or two, None keeps an axis) that cover images evenly.

    Input [N, C, H, W] or [C, H, W]; with `return_indices` also their places in the plane.
    """
    values, index = _adaptive_pool_max(2, input, output_size)
    return (values, index) if return_indices else values


@operator(spaces=FUNCTIONAL, method=False)
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of so many windows that cover volumes evenly: input [N, C, D, H, W] or [C, D, H, W]."""
    values, index = _adaptive_pool_max(3, input, output_size)
    return (values, index) if return_indices else values


def _with_places(name: str, pool: Any) -> None:
    def function(input: Tensor, output_size: Any, return_indices: bool = False) -> tuple[Tensor, Tensor]:
        return pool(input, output_size)

    function.__name__ = name + "_with_indices"
    function.__doc__ = f"`{name}` with the places of the maxima."
    operator(spaces=FUNCTIONAL, method=False)(function)


_with_places("adaptive_max_pool1d", _adaptive_max_pool1d)
_with_places("adaptive_max_pool2d", functools.partial(_adaptive_pool_max, 2))
_with_places("adaptive_max_pool3d", functools.partial(_adaptive_pool_max, 3))


# -- unpooling ------------------------------------------------------------------------------------


def _unpooled_size(input: Tensor, kernel: Ints, stride: Ints, padding: Ints, size: Any) -> Ints:
    """The size of a plane that max pooling may have come from. Raises ValueError where the one asked for cannot be."""
    rank = len(kernel)
    usual = tuple(
        (n - 1) * s + k - 2 * p for n, k, s, p in zip(input.shape[-rank:], kernel, stride, padding, strict=True)
    )
    if size is None:
        return usual
    size = tuple(size)
    if len(size) == rank + 2:
        size = size[-rank:]
    if len(size) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it has a length of '{len(size)}'"
        )
    for d in range(rank):
        least, most = usual[d] - stride[d], usual[d] + stride[d]
        if not least < size[d] < most:
            raise ValueError(f'invalid output_size "{size}" (dim {d} must be between {least} and {most})')
    return size


def _max_unpool(
    rank: int, input: Tensor, indices: Tensor, kernel: Any, stride: Any, padding: Any, size: Any, flat: bool = False
) -> Tensor:
    """Unpooling; with `flat` the planes are lengths, with a second axis of size 1."""
    name = f"max_unpool{1 if flat else rank}d"
    own = 1 if flat else rank
    given = {"kernel_size": kernel, "stride": stride_or(stride, kernel), "padding": padding}
    kernel, step, pad = window_numbers(name, own, given)
    size = _unpooled_size(input, kernel, step, pad, size)
    if flat:
        input, indices, size = input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1)
    if input.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Input to max_unpooling{rank}d should be a {rank + 1}d or {rank + 2}d Tensor, but got a tensor with {input.ndim} dimensions."
        )
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {dispatch.type_name(indices.dtype)}")
    if indices.shape != input.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices tensor with shape: "
            f"{list(indices.shape)}"
        )
    for d in range(input.ndim - rank - 1, input.ndim):
        if input.shape[d] == 0:
            raise RuntimeError(
                f"max_unpooling{rank}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but got "
                f"{list(input.shape)} with dimension {d} being empty."
            )
    if indices._is_host and indices.numel():
        low, high = int(indices._data.min()), int(indices._data.max())
        if low < 0 or high >= numel(size):
            bad = low if low < 0 else high
            raise RuntimeError(
                f"Found an invalid max index: {bad} (output volumes are of size {'x'.join(map(str, size))})"
            )
    out = dispatch.call(_MAX[rank][2], (input, indices), (size,))
    return out.squeeze(-1) if flat else out


@operator(spaces=FUNCTIONAL, method=False)
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Maxima put back where `max_pool1d` found them, zeros elsewhere: input and indices [N, C, L] or [C, L]."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size, True)


@operator(spaces=FUNCTIONAL, method=False)
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Maxima put back where `max_pool2d` found them, zeros elsewhere: input and indices [N, C, H, W] or [C, H, W].

    `output_size` chooses among the sizes that the pooling may have had. Raises ValueError for one that it cannot have had.
    """
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


@operator(spaces=FUNCTIONAL, method=False)
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Maxima put back where `max_pool3d` found them, zeros elsewhere: input and indices [N, C, D, H, W] or [C, D, H, W]."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
