"""Sampling images and volumes at given coordinates (`grid_sample`), and the coordinates of affine maps (`affine_grid`).

Coordinates run from -1 to 1 over each axis of the input. On the CPU a sample is a weighted sum of rows of channels; the gradient
of the input adds rows up by their places.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import dispatch, dtypes
from ..shapes import numel
from ..tensor import Tensor
from .composed import composed
from .declare import operator
from .table import Op

Ints = tuple[int, ...]
FUNCTIONAL = ("nn.functional",)
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


# -- coordinates ----------------------------------------------------------------------------------


def _reflected(x: np.ndarray, slope: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates thrown back at `low` and `high` as often as needed, and their slopes."""
    span = high - low
    if span <= 0:
        return np.zeros_like(x), np.zeros_like(x)
    away = x - low
    slope = np.where(away < 0, -slope, slope)
    away = np.abs(away)
    times = np.floor(away / span)
    rest = away - times * span
    odd = times % 2 == 1
    return np.where(odd, span - rest, rest) + low, np.where(odd, -slope, slope)


def _bounded(x: np.ndarray, slope: Any, size: int, padding: int, align: bool) -> tuple[np.ndarray, np.ndarray]:
    """Places on an axis brought inside where the padding mode wants it, with their slopes."""
    slope = np.broadcast_to(slope, x.shape)
    if padding == 2:
        low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
        x, slope = _reflected(x, slope, low, high)
    if padding:
        slope = np.where((x <= 0) | (x >= size - 1), 0, slope)
        x = np.where(np.isnan(x), 0, np.clip(x, 0, size - 1))
    return x, slope


def _places(coordinates: np.ndarray, size: int, padding: int, align: bool) -> tuple[np.ndarray, np.ndarray]:
    """Places in elements for coordinates of one axis, and how fast they move with them."""
    half = (size - 1) / 2 if align else size / 2
    x = (coordinates + 1) * coordinates.dtype.type(half)
    if not align:
        x -= coordinates.dtype.type(0.5)
    x, slope = _bounded(x, half, size, padding, align)
    # What is no place at all lies outside, where it counts as zero.
    return np.where(np.abs(x) < 2.0**31, x, -100).astype(coordinates.dtype), slope


# -- kernels --------------------------------------------------------------------------------------

_Corner = tuple[list[np.ndarray], np.ndarray, list[np.ndarray]]


def _cubic_weights(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys' weights (a = -0.75) of the four elements around a place, `t` behind the second, and their slopes."""
    a = -0.75
    x = np.abs(t[None] - np.array([-1, 0, 1, 2], t.dtype).reshape(-1, *[1] * t.ndim))
    sign = np.sign(t[None] - np.array([-1, 0, 1, 2], t.dtype).reshape(-1, *[1] * t.ndim))
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    near_slope, far_slope = (3 * (a + 2) * x - 2 * (a + 3)) * x, (3 * a * x - 10 * a) * x + 8 * a
    inner = np.array([False, True, True, False]).reshape(-1, *[1] * t.ndim)
    return np.where(inner, near, far), np.where(inner, near_slope, far_slope) * sign


def _corners(grid: np.ndarray, sizes: Ints, mode: int, padding: int, align: bool) -> Iterator[_Corner]:
    """The elements that samples are made of: per axis the places, the product of weights, and its slope by each coordinate.

    `grid` is [N, samples, axes], its last axis innermost dimension first; places and weights are [N, samples].
    """
    rank = len(sizes)
    bounds = 0 if mode == 2 else padding  # cubic windows bring each of their elements inside by themselves
    axes = [_places(grid[..., rank - 1 - d], n, bounds, align) for d, n in enumerate(sizes)]
    if mode == 1:
        at = [np.rint(x).astype(np.int64) for x, _ in axes]
        yield at, np.ones(grid.shape[:-1], grid.dtype), [np.zeros(grid.shape[:-1], grid.dtype)] * rank
        return
    choices = []
    for d, (x, slope) in enumerate(axes):
        low = np.floor(x)
        part = x - low
        if mode == 0:
            weights, slopes = [1 - part, part], [-slope, slope]
            at = [low.astype(np.int64) + k for k in (0, 1)]
        else:
            w, dw = _cubic_weights(part)
            weights, slopes = list(w), [s * slope for s in dw]
            steps = [low + k for k in (-1, 0, 1, 2)]
            at = [_bounded(p, 1.0, sizes[d], padding, align)[0] for p in steps]
            at = [np.where(np.abs(p) < 2.0**31, p, -100).astype(np.int64) for p in at]
        choices.append(list(zip(at, weights, slopes, strict=True)))
    for corner in itertools.product(*choices):
        weight = corner[0][1]
        for c in corner[1:]:
            weight = weight * c[1]
        gradient = []
        for d in range(rank):
            part = corner[d][2]
            for e in range(rank):
                if e != d:
                    part = part * corner[e][1]
            gradient.append(part)
        yield [c[0] for c in corner], weight, gradient


def _flat(at: list[np.ndarray], sizes: Ints) -> tuple[np.ndarray, np.ndarray]:
    """Places in the flattened plane (0 for those outside), and which are inside."""
    inside = np.ones(at[0].shape, bool)
    index = np.zeros(at[0].shape, np.int64)
    for a, n in zip(at, sizes, strict=True):
        inside &= (a >= 0) & (a < n)
        index = index * n + a
    return np.where(inside, index, 0), inside


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _rows(x: np.ndarray) -> np.ndarray:
    """[N, C, ...] as rows of channels [N, elements, C]."""
    return np.ascontiguousarray(x.reshape(*x.shape[:2], -1).swapaxes(1, 2))


def _sample(x: np.ndarray, grid: np.ndarray, mode: int, padding: int, align: bool) -> np.ndarray:
    n, c, *sizes = x.shape
    points = _wide(grid).reshape(n, numel(grid.shape[1:-1]), grid.shape[-1])
    out = np.zeros((n, points.shape[1], c), _wide(x).dtype)
    if out.size:
        rows, first = _rows(_wide(x)), np.arange(n)[:, None]
        for at, weight, _ in _corners(points, tuple(sizes), mode, padding, align):
            index, inside = _flat(at, tuple(sizes))
            out += rows[first, index] * np.where(inside, weight, 0)[..., None]
    made = out.swapaxes(1, 2).reshape(n, c, *grid.shape[1:-1])
    return np.ascontiguousarray(made).astype(x.dtype, copy=False)


def _sample_backward(
    g: np.ndarray, x: np.ndarray, grid: np.ndarray, mode: int, padding: int, align: bool
) -> tuple[np.ndarray, np.ndarray]:
    n, c, *sizes = x.shape
    each, rank = numel(sizes), len(sizes)
    points = _wide(grid).reshape(n, numel(grid.shape[1:-1]), grid.shape[-1])
    back = np.zeros((c, n * each))
    slopes = np.zeros(points.shape, points.dtype)
    if g.size:
        rows, given, first = _rows(_wide(x)), _rows(_wide(g)), np.arange(n)[:, None]
        for at, weight, gradient in _corners(points, tuple(sizes), mode, padding, align):
            index, inside = _flat(at, tuple(sizes))
            place = (index + first * each).reshape(-1)
            part = (given * np.where(inside, weight, 0)[..., None]).reshape(-1, c)
            for channel in range(c):
                back[channel] += np.bincount(place, weights=part[:, channel], minlength=n * each)
            dot = np.where(inside, np.einsum("npc,npc->np", rows[first, index], given), 0)
            for d in range(rank):
                slopes[..., rank - 1 - d] += dot * gradient[d]
    dx = back.reshape(c, n, *sizes).swapaxes(0, 1)
    return np.ascontiguousarray(dx, dtype=x.dtype), slopes.reshape(grid.shape).astype(grid.dtype, copy=False)


# -- primitives -----------------------------------------------------------------------------------


def _no_derivative(name: str) -> Any:
    def refuse(g: Any) -> NoReturn:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return refuse


def _primitive(rank: int) -> Op:
    name = f"grid_sampler_{rank}d"
    back = Op(
        name + "_backward", "grad_output input grid", "mode padding align_corners", kind="index", cpu=_sample_backward, multi=True,
        dtype=lambda g, x, grid, *_: (x._dtype, grid._dtype), shape=lambda g, x, grid, *_: [x, grid],
        grads={("grad_output", "input", "grid"): _no_derivative(name + "_backward")},
    )  # fmt: skip
    return Op(
        name, "input grid", "mode padding align_corners", kind="index", cpu=_sample, backward=f"GridSampler{rank}D",
        shape=lambda x, grid, *_: (*x[:2], *grid[1:-1]),
        grads={("input", "grid"): lambda g, input, grid, mode, padding, align_corners: dispatch.call(
            back, (g, input, grid), (mode, padding, align_corners))},
    )  # fmt: skip


_SAMPLERS = {rank: _primitive(rank) for rank in (2, 3)}


# -- functions ------------------------------------------------------------------------------------


@operator(method=False)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample` with its modes as numbers."""
    shapes = f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        rank = 4 if input.ndim == 4 else 5
        raise RuntimeError(
            f"grid_sampler(): expected {rank}D input and grid with same number of dimensions, but {shapes}"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but {shapes}")
    rank = input.ndim - 2
    if grid.shape[-1] != rank:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {rank} in last dimension, but got grid with sizes {list(grid.shape)}"
        )
    for d in range(2, input.ndim):
        if input.shape[d] == 0:
            raise RuntimeError(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(input.shape)} with "
                f"dimension {d} being empty"
            )
    if rank == 3 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input._dtype is not grid._dtype:
        raise RuntimeError(
            f"expected scalar type {dispatch.type_name(input._dtype)} but found {dispatch.type_name(grid._dtype)}"
        )
    if input._dtype.category != dtypes.FLOATING:
        raise NotImplementedError(
            f"\"grid_sampler{rank}d_cpu\" not implemented for '{dispatch.type_name(input._dtype)}'"
        )
    numbers = (int(interpolation_mode), int(padding_mode), bool(align_corners))
    return dispatch.call(_SAMPLERS[rank], (input, grid), numbers)


for _rank in (2, 3):
    operator(name=f"grid_sampler_{_rank}d", method=False)(grid_sampler)


@operator(spaces=FUNCTIONAL, method=False)
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """`input` [N, C, H, W] sampled at the coordinates `grid` [N, H', W', 2] (x, y from -1 to 1), giving [N, C, H', W'].

    Volumes [N, C, D, H, W] go with grids [N, D', H', W', 3]. Modes "bilinear", "nearest", "bicubic" (images only); what lies outside is
    "zeros", the "border", or a "reflection". With `align_corners` -1 and 1 are the centres of the corner elements, else their edges.
    Raises ValueError for other words, RuntimeError for shapes that do not fit.
    """
    if mode not in _MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            stacklevel=3,
        )
    return grid_sampler(input, grid, _MODES.index(mode), _PADDINGS.index(padding_mode), bool(align_corners))


def _base(like: Tensor, sizes: Ints, align: bool) -> Tensor:
    """Homogeneous coordinates of all elements, [elements, axes + 1], the innermost axis first."""
    from . import functions as F

    columns = []
    for d in range(len(sizes) - 1, -1, -1):
        n = sizes[d]
        line = F.linspace(-1, 1, n, dtype=like.dtype, device=like.device) if n > 1 else like.new_zeros((1,))
        if not align:
            line = line * ((n - 1) / n)
        shape = [1] * len(sizes)
        shape[d] = n
        columns.append(line.reshape(shape).expand(*sizes).reshape(-1))
    columns.append(like.new_ones((numel(sizes),)))
    return F.stack(columns, 1)


def _affine_backward(g: Tensor, size: Ints, align_corners: bool) -> Tensor:
    base = _base(g, size[2:], align_corners)
    rank = len(size) - 2
    return g.reshape(g.shape[0], -1, rank).transpose(1, 2) @ base


@composed(
    "affine_grid_generator", "theta", "size align_corners", backward="AffineGridGenerator", grads={"theta": _affine_backward}
)  # fmt: skip
def _affine(theta: Tensor, size: Ints, align_corners: bool) -> Tensor:
    n, rank = size[0], len(size) - 2
    base = _base(theta.detach(), size[2:], align_corners)
    made = base.unsqueeze(0).expand(n, *base.shape).bmm(theta.transpose(1, 2))
    return made.reshape(n, *size[2:], rank)


@operator(method=False)
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid` without its checks."""
    return _affine(theta, tuple(n.__index__() for n in size), bool(align_corners))


@operator(spaces=FUNCTIONAL, method=False)
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for `grid_sample` that affine maps give: theta [N, 2, 3] with size (N, C, H, W), giving [N, H, W, 2].

    Volumes: theta [N, 3, 4], size (N, C, D, H, W), giving [N, D, H, W, 3]. Raises ValueError where they do not fit.
    """
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            stacklevel=3,
        )
    if theta._dtype.category != dtypes.FLOATING:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    rank = len(size) - 2
    if rank not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (rank, rank + 1):
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if (rank == 2 and align_corners and min(size[2:]) == 1) or (rank == 3 and align_corners and min(size[2:]) == 1):
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an "
            "intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=3,
        )
    return affine_grid_generator(theta, size, bool(align_corners))
