"""Counting: occurrences of whole numbers, and elements in bins of one or several dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..return_types import return_type
from ..tensor import Tensor
from . import functions as F
from .declare import operator, tensor_argument
from .table import Op

# -- occurrences --------------------------------------------------------------------------------

BINCOUNT = Op(
    "bincount", "input weights", "minlength", kind="custom", dtype=lambda input, weights, _: _count_type(weights),
    cpu=lambda x, weights, minlength: _bincount(x, weights, minlength),
)  # fmt: skip


def _count_type(weights: Tensor | None) -> Any:
    return dtypes.int64 if weights is None else weights._dtype


def _bincount(x: np.ndarray, weights: np.ndarray | None, minlength: int) -> np.ndarray:
    if x.size == 0:
        return np.zeros(minlength, np.int64 if weights is None else weights.dtype)
    counts = np.bincount(x, weights, minlength)
    return counts.astype(np.int64 if weights is None else weights.dtype, copy=False)


@operator()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each whole number from 0 on occurs in a vector, or the sum of its `weights`. Raises RuntimeError for negative ones."""
    if tensor_argument("bincount", "input", 1, input).dtype.category != dtypes.INTEGRAL:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{dispatch.type_name(input.dtype)}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.ndim != 1 or (input.numel() and int(input.min().item()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None:
        if weights.shape != input.shape:
            raise RuntimeError("weights should be 1-d and have the same length as input")
        weights = weights.detach()
        if weights.dtype.name not in ("float32", "float64"):
            weights = weights.to(dtypes.float64)
    return dispatch.call(BINCOUNT, (input, weights), (int(minlength),))


# -- bins of one dimension ----------------------------------------------------------------------


def _span(name: str, x: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """The range of the bins: the data's where none is given, and never empty."""
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min")
    return (low - 1, high + 1) if low == high else (low, high)


def _histc(x: np.ndarray, bins: int, low: float, high: float) -> np.ndarray:
    x = x.reshape(-1)
    low, high = _span("torch.histc", x, low, high)
    inside = x[(x >= low) & (x <= high)]
    place = ((inside - x.dtype.type(low)) / x.dtype.type(high - low) * bins).astype(np.int64)
    return np.bincount(np.minimum(place, bins - 1), minlength=bins).astype(x.dtype)


HISTC = Op("histc", "input", "bins min max", kind="custom", cpu=_histc, shape=lambda s, bins, *_: (bins,))


@operator(out=True)
def histc(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """Counts of the elements in equal bins between `min` and `max` (those of the data where both are 0); others are not counted."""
    if not tensor_argument("histc", "input", 1, input).dtype.is_floating_point:
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{dispatch.type_name(input.dtype)}'")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    return dispatch.call(HISTC, (input.detach(),), (int(bins), float(min), float(max)))


# -- bins of several dimensions -----------------------------------------------------------------


def _histogram(
    points: np.ndarray, weights: np.ndarray | None, edges: tuple[np.ndarray, ...], density: bool
) -> np.ndarray:
    """Weighted counts of points [n, d] in the bins between the edges of each dimension; the last edge belongs to the last bin."""
    kind = points.dtype
    shape = tuple(len(e) - 1 for e in edges)
    inside = np.ones(len(points), bool)
    places = []
    for d, e in enumerate(edges):
        x = points[:, d]
        inside &= (x >= e[0]) & (x <= e[-1])
        places.append(np.minimum(np.searchsorted(e, x, "right") - 1, len(e) - 2))
    flat = np.ravel_multi_index([p[inside] for p in places], shape) if inside.any() else np.zeros(0, np.int64)
    total = (
        np.bincount(flat, None if weights is None else weights[inside], math.prod(shape)).reshape(shape).astype(kind)
    )
    if density:
        volume = np.ones((), kind)
        for d, e in enumerate(edges):
            volume = volume * np.diff(e).reshape([-1 if i == d else 1 for i in range(len(edges))])
        total = total / (total.sum() * volume)
    return total.astype(kind, copy=False)


HISTOGRAM = Op(
    "histogramdd", "input weight", "edges density", kind="index", dtype=lambda input, *_: input._dtype, cpu=_histogram,
    shape=lambda input, weight, edges, density: tuple(e.shape[0] - 1 for e in edges),
)  # fmt: skip


def _edges(name: str, points: Tensor, bins: Any, span: Sequence[float] | None) -> list[Tensor]:
    """The edges of each dimension: given as vectors, or evenly spread over the range or the data."""
    rank = points.shape[1]
    if not isinstance(bins, Tensor) and isinstance(bins, (tuple, list)) and len(bins) and isinstance(bins[0], Tensor):
        if span is not None:
            raise TypeError(f"{name}() received an invalid combination of arguments - range with edges")
        if len(bins) != rank:
            raise RuntimeError(
                f"torch.histogramdd(): Expected {rank} sequences of bin edges for a {rank}-dimensional histogram but got {len(bins)}"
            )
        for i, e in enumerate(bins):
            if e.dtype is not points.dtype:
                raise RuntimeError(
                    "torch.histogramdd(): input tensor and bins tensors should have the same dtype, but got input with dtype "
                    f"{dispatch.type_name(points.dtype)} and bins for dimension {i} with dtype {dispatch.type_name(e.dtype)}"
                )
            if e.ndim != 1:
                raise RuntimeError(
                    f"torch.histogramdd(): bins tensor should have one dimension, but got {e.ndim} dimensions in the bins tensor for "
                    f"dimension {i}"
                )
            if e.numel() == 0:
                raise RuntimeError(
                    f"torch.histogramdd(): bins tensor should have at least 1 element, but got {e.numel()} elements in the bins tensor "
                    f"for dimension {i}"
                )
        return [e.detach() for e in bins]
    counts = [bins] * rank if isinstance(bins, int) else list(bins)
    if len(counts) != rank:
        raise RuntimeError(
            f"torch.histogramdd(): The size of bins must be equal to the innermost dimension of the input, but got {len(counts)} bins "
            f"for a {rank}-dimensional histogram"
        )
    for i, n in enumerate(counts):
        if n <= 0:
            raise RuntimeError(f"{name}(): bins must be > 0, but got {n} for dimension {i}")
    if span is not None and len(span) != 2 * rank:
        raise RuntimeError(
            f"torch.histogramdd(): for a {rank}-dimensional histogram range should have {2 * rank} elements, but got {len(span)}"
        )
    data = points._host()
    out = []
    for d, n in enumerate(counts):
        if span is not None:
            low, high = float(span[2 * d]), float(span[2 * d + 1])
            if not (math.isfinite(low) and math.isfinite(high)):
                raise RuntimeError(f"{name}(): dimension {d}'s range [{low:g}, {high:g}] is not finite")
            if low > high:
                raise RuntimeError(
                    f"{name}(): min should not exceed max, but got min {low:g} max {high:g} for dimension {d}"
                )
            low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        elif not len(data):
            low, high = 0.0, 1.0
        else:
            low, high = float(data[:, d].min()), float(data[:, d].max())
            if not (math.isfinite(low) and math.isfinite(high)):
                raise RuntimeError(f"{name}(): dimension {d}'s range [{low:g}, {high:g}] is not finite")
            low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        out.append(F.linspace(low, high, n + 1, dtype=points.dtype, device=points.device))
    return out


def _counted(points: Tensor, weight: Tensor | None, edges: list[Tensor], density: bool) -> Tensor:
    if weight is not None:
        if weight.numel() != points.shape[0]:
            raise RuntimeError(
                "torch.histogramdd(): if weight tensor is provided it should have the same shape as the input tensor excluding its "
                f"innermost dimension, but got input with shape {list(points.shape)} and weight with shape {list(weight.shape)}"
            )
        if weight.dtype is not points.dtype:
            raise RuntimeError(
                "torch.histogramdd(): if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
                f"input({dispatch.type_name(points.dtype)}), and weight({dispatch.type_name(weight.dtype)})"
            )
        weight = weight.detach().reshape(-1)
    return dispatch.call(HISTOGRAM, (points, weight), (tuple(edges), bool(density)))


def _floats(name: str, input: Any) -> Tensor:
    if tensor_argument(name, "input", 1, input).dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{dispatch.type_name(input.dtype)}'")
    return input.detach()


HistogramResult = return_type("histogram", "hist bin_edges")
HistogramddResult = return_type("histogramdd", "hist bin_edges")


@operator(out=True)
def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Counts (or weights, or densities) of the elements in `bins`: a number of equal ones, or a vector of edges. Also the edges."""
    points = _floats("histogram", input).reshape(-1, 1)
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError(
            "torch.histogramdd(): if weight tensor is provided it should have the same shape as the input tensor excluding its "
            f"innermost dimension, but got input with shape {list(input.shape)} and weight with shape {list(weight.shape)}"
        )
    edges = _edges("torch.histogram", points, [bins] if isinstance(bins, Tensor) else bins, range)
    return HistogramResult(_counted(points, weight, edges, density), edges[0])


@operator(method=False)
def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Counts (or weights, or densities) of points, [..., d], in the bins of d dimensions, and the edges of each dimension."""
    points = _floats("histogramdd", input)
    if points.ndim < 2:
        raise RuntimeError("torch.histogramdd(): input tensor should have at least 2 dimensions")
    flat = points.reshape(-1, points.shape[-1])
    edges = _edges("torch.histogramdd", flat, bins, range)
    return HistogramddResult(_counted(flat, weight, edges, density), tuple(edges))
