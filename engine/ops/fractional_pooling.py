"""Fractional max pooling: windows of one size at random, nearly even steps, so that images shrink by any ratio (Graham, 2014).

Each plane has its own windows, made of one random number an axis.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import numel
from ..tensor import Tensor
from .declare import operator
from .max_pooling import lowest, returned_maxima, take_larger
from .pooling import FUNCTIONAL, flat_planes, pooled_shape
from .table import Op
from .windows import Ints, ints

_LETTERS = {2: ("height", "width"), 3: ("time", "height", "width")}


def _starts(samples: np.ndarray, size: int, kernel: int, count: int) -> np.ndarray:
    """Where the windows of each plane begin on an axis: [planes, windows]; the last one ends with the axis."""
    out = np.full((len(samples), count), size - kernel, np.int64)
    if count > 1:
        step = samples.dtype.type(size - kernel) / samples.dtype.type(count - 1)
        at = np.arange(count - 1).astype(samples.dtype)
        moved = ((at + samples[:, None]) * step).astype(np.int64)
        out[:, :-1] = moved - (samples * step).astype(np.int64)[:, None]
    return out


def _pool(x: np.ndarray, samples: np.ndarray, kernel: Ints, counts: Ints) -> tuple[np.ndarray, np.ndarray]:
    rank = len(kernel)
    lead, sizes = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    planes = flat_planes(x, rank)
    # The first number of a plane is that of its last axis, but for volumes, where they come in order.
    order = range(rank - 1, -1, -1) if rank == 2 else range(rank)
    numbers = samples.reshape(-1, rank)[: len(planes)]
    begins = [_starts(numbers[:, i], sizes[d], kernel[d], counts[d]) for d, i in zip(range(rank), order, strict=True)]
    wide = [b.reshape(len(planes), *[counts[d] if i == d else 1 for i in range(rank)]) for d, b in enumerate(begins)]
    which = np.arange(len(planes)).reshape(-1, *[1] * rank)
    best = np.full((len(planes), *counts), lowest(x.dtype), x.dtype)
    corner = np.zeros((), np.int64)
    for b, n in zip(wide, sizes, strict=True):
        corner = corner * n + b
    index = np.broadcast_to(corner, best.shape).copy()
    for place in itertools.product(*[range(k) for k in kernel]):
        at = [b + k for b, k in zip(wide, place, strict=True)]
        shift = 0
        for k, n in zip(place, sizes, strict=True):
            shift = shift * n + k
        take_larger(best, index, planes[(which, *at)], corner + shift, True)
    return best.reshape(*lead, *counts), index.reshape(*lead, *counts)


def _primitive(rank: int) -> Op:
    return Op(
        f"fractional_max_pool{rank}d", "input samples", "kernel_size output_size", kind="index", cpu=_pool, multi=True,
        backward=f"FractionalMaxPool{rank}D", dtype=lambda x, *_: (x._dtype, dtypes.int64),
        shape=lambda x, s, kernel, counts: [pooled_shape(x, rank, counts)] * 2,
        grads={"input": lambda g, results, input_shape: dispatch.call(
            returned_maxima(rank), (g[0], results[1]), (input_shape[len(input_shape) - rank :], False))},
    )  # fmt: skip


_OPS = {rank: _primitive(rank) for rank in (2, 3)}


def _fractional(
    rank: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None
) -> Any:
    name = f"fractional_max_pool{rank}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if input.ndim < rank + 1:
        last = max(input.ndim, 1)
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-last}, {last - 1}], but got {-rank - 1})"
        )
    sizes = tuple(input.shape[-rank:])
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (list, tuple)) else (output_ratio,) * rank
        if len(ratios) != rank:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = tuple(int(n * r) for n, r in zip(sizes, ratios, strict=True))
    for value, label in ((kernel_size, "kernel_size"), (output_size, "output_size")):
        if isinstance(value, (list, tuple)) and len(value) not in (1, rank):
            raise RuntimeError(f"{name}: {label} must either be a single Int or tuple of Ints")
    kernel, counts = ints(kernel_size, rank, name, "kernel_size"), ints(output_size, rank, name, "output_size")
    for d in range(input.ndim - rank - 1, input.ndim):
        if input.shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got{list(input.shape)} with dimension {d} "
                "being empty."
            )
    for n, k, c, axis in zip(sizes, kernel, counts, _LETTERS[rank], strict=True):
        if c + k - 1 > n - (rank == 3):  # volumes must leave room for a step
            kernel_name = name + "_out" if rank == 3 else name
            raise RuntimeError(f"{kernel_name}(): pool {axis} {k} too large relative to input {axis} {n}")
    if input._dtype.category != dtypes.FLOATING:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dispatch.type_name(input._dtype)}'")
    if samples is None:
        from .random import rand

        batch = 1 if input.ndim == rank + 1 else input.shape[0]
        samples = rand(batch, input.shape[-rank - 1], rank, dtype=input.dtype, device=input.device)
    if samples.numel() < numel(input.shape[:-rank]) * rank:
        raise RuntimeError(
            f"Expect _random_samples to have {rank} numbers for each plane of the input, but got {list(samples.shape)}"
        )
    return dispatch.call(_OPS[rank], (input, samples), (kernel, counts))


@operator(spaces=FUNCTIONAL, method=False)
def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Max pooling of images with windows at random steps: input [N, C, H, W] or [C, H, W]; `output_size`, or `output_ratio` of the size.

    With `return_indices` also the places of the maxima. Raises ValueError without either size, RuntimeError where nothing fits.
    """
    values, index = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return (values, index) if return_indices else values


@operator(spaces=FUNCTIONAL, method=False)
def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Max pooling of volumes with windows at random steps: input [N, C, D, H, W] or [C, D, H, W]. See `fractional_max_pool2d`."""
    values, index = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return (values, index) if return_indices else values


@operator(spaces=FUNCTIONAL, method=False)
def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`fractional_max_pool2d` with the places of the maxima."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


@operator(spaces=FUNCTIONAL, method=False)
def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`fractional_max_pool3d` with the places of the maxima."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
