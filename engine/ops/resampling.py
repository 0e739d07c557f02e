"""Images in another size: `interpolate` in all its modes, with and without antialiasing.

Each mode is a linear map along each axis (`separable.py`), made from the sizes alone; gradients are the transposed maps. Sampling
at given coordinates stands in `grid_sampling.py`.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import dispatch, dtypes
from ..shapes import as_int
from ..tensor import Tensor
from .average_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .declare import operator
from .separable import Taps, along_last, taps, transposed
from .table import Op
from .windows import Ints

FUNCTIONAL = ("nn.functional",)
Scales = tuple[float | None, ...]


# -- maps of one axis -----------------------------------------------------------------------------


def _scale(size: int, count: int, align: bool, given: float | None, kind: Any) -> Any:
    """Elements of the input per element of the result."""
    if align:
        return kind(size - 1) / kind(count - 1) if count > 1 else kind(0)
    return kind(1.0 / given) if given is not None and given > 0 else kind(size) / kind(count)


def _sources(size: int, count: int, align: bool, given: float | None, kind: Any) -> np.ndarray:
    """Where the results lie on the axis of the input."""
    scale = _scale(size, count, align, given, kind)
    at = np.arange(count).astype(kind)
    return scale * at if align else scale * (at + kind(0.5)) - kind(0.5)


def _nearest(size: int, count: int, align: bool, given: float | None, kind: Any) -> Taps:
    scale = _scale(size, count, False, given, np.float32)
    at = np.floor(np.arange(count).astype(np.float32) * scale)
    return taps(size, np.minimum(at, size - 1).astype(np.int64))


def _nearest_of_images(size: int, count: int, align: bool, given: float | None, kind: Any) -> Taps:
    """In two dimensions one to one and one to two are taken as such, whatever scale was asked for."""
    if count in (size, 2 * size):
        return taps(size, np.arange(count) // (count // size))
    return _nearest(size, count, align, given, kind)


def _nearest_exact(size: int, count: int, align: bool, given: float | None, kind: Any) -> Taps:
    scale = _scale(size, count, False, given, np.float32)
    at = np.floor((np.arange(count).astype(np.float32) + np.float32(0.5)) * scale)
    return taps(size, np.minimum(at, size - 1).astype(np.int64))


def _linear(size: int, count: int, align: bool, given: float | None, kind: Any) -> Taps:
    if count == size:  # whatever scale was asked for
        return taps(size, np.arange(size))
    at = np.maximum(_sources(size, count, align, given, kind), 0)
    low = np.minimum(at.astype(np.int64), size - 1)
    part = np.clip(at - low, 0, 1)
    return taps(
        size, np.stack([low, np.minimum(low + 1, size - 1)], 1), np.stack([1 - part, part], 1).astype(np.float64)
    )


def _cubic(size: int, count: int, align: bool, given: float | None, kind: Any) -> Taps:
    """Keys' cubic convolution with a = -0.75; elements beyond the ends repeat the last ones."""
    at = _sources(size, count, align, given, kind)
    low = np.floor(at)
    part = np.clip(at - low, 0, 1)[:, None]
    distance = np.abs(part - np.array([-1, 0, 1, 2], kind))
    index = np.clip(low.astype(np.int64)[:, None] + np.array([-1, 0, 1, 2]), 0, size - 1)
    return taps(size, index, _keys(distance, -0.75).astype(np.float64))


def _keys(x: np.ndarray, a: float) -> np.ndarray:
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - x, 0)


def _lanczos_window(x: np.ndarray) -> np.ndarray:
    return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)


def _antialiased(reach: int, window: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Taps]:
    """Maps whose window of `reach` elements to each side grows with the scale when the image shrinks."""

    def make(size: int, count: int, align: bool, given: float | None, kind: Any) -> Taps:
        if count == size:  # whatever scale was asked for
            return taps(size, np.arange(size))
        scale = float(_scale(size, count, align, given, kind))
        wide = max(scale, 1.0)
        centre = scale * (np.arange(count) + 0.5)
        start = np.maximum((centre - reach * wide + 0.5).astype(np.int64), 0)
        width = np.minimum((centre + reach * wide + 0.5).astype(np.int64), size) - start
        k = np.arange(max(int(width.max(initial=1)), 1))
        index = start[:, None] + k
        weight = window(np.abs((index - centre[:, None] + 0.5) / wide))
        weight = np.where(k < width[:, None], weight, 0)
        total = weight.sum(1, keepdims=True)
        return taps(size, np.minimum(index, size - 1), weight / np.where(total == 0, 1, total))

    return make


class Mode(NamedTuple):
    """A mode's operator, the number of spatial dimensions, and the map of one axis."""

    name: str
    rank: int
    backward: str
    make: Callable[..., Taps]


MODES = {
    **{
        ("nearest", n, False): Mode(
            f"upsample_nearest{n}d", n, f"UpsampleNearest{n}D", _nearest_of_images if n == 2 else _nearest
        )
        for n in (1, 2, 3)
    },
    **{
        ("nearest-exact", n, False): Mode(
            f"_upsample_nearest_exact{n}d", n, f"UpsampleNearestExact{n}D", _nearest_exact
        )
        for n in (1, 2, 3)
    },
    ("linear", 1, False): Mode("upsample_linear1d", 1, "UpsampleLinear1D", _linear),
    ("bilinear", 2, False): Mode("upsample_bilinear2d", 2, "UpsampleBilinear2D", _linear),
    ("trilinear", 3, False): Mode("upsample_trilinear3d", 3, "UpsampleTrilinear3D", _linear),
    ("bicubic", 2, False): Mode("upsample_bicubic2d", 2, "UpsampleBicubic2D", _cubic),
    ("bilinear", 2, True): Mode("_upsample_bilinear2d_aa", 2, "UpsampleBilinear2DAa", _antialiased(1, _triangle)),
    ("bicubic", 2, True): Mode(
        "_upsample_bicubic2d_aa", 2, "UpsampleBicubic2DAa", _antialiased(2, lambda x: _keys(x, -0.5))
    ),
    ("lanczos", 2, True): Mode("_upsample_lanczos2d_aa", 2, "UpsampleLanczos2DAa", _antialiased(3, _lanczos_window)),
}
"""The modes by name in `interpolate`, rank, and whether they are antialiased."""


# -- primitives -----------------------------------------------------------------------------------


def _primitive(mode: Mode) -> Op:
    """The primitive of a mode and its transpose, each the gradient of the other."""

    @functools.lru_cache(256)
    def one(size: int, count: int, align: bool, given: float | None, double: bool) -> Taps:
        return mode.make(size, count, align, given, np.float64 if double else np.float32)

    def maps(sizes: Ints, counts: Ints, align: bool, scales: Scales, kind: np.dtype) -> tuple[Taps, ...]:
        double = kind.itemsize == 8
        return tuple(one(n, m, align, s, double) for n, m, s in zip(sizes, counts, scales, strict=True))

    def forward(x: np.ndarray, counts: Ints, align: bool, scales: Scales) -> np.ndarray:
        axes = maps(x.shape[2:], counts, align, scales, x.dtype)
        if x.dtype.kind == "u" and "nearest" not in mode.name:
            made = np.rint(along_last(x.astype(np.float32), axes))
            return np.clip(made, 0, np.iinfo(x.dtype).max).astype(x.dtype)
        return along_last(x, axes)

    def backward(g: np.ndarray, counts: Ints, align: bool, scales: Scales, size: Ints) -> np.ndarray:
        return along_last(g, tuple(transposed(t) for t in maps(size, counts, align, scales, g.dtype)))

    op = Op(
        mode.name, "input", "output_size align_corners scales", kind="index", cpu=forward, backward=mode.backward,
        shape=lambda x, counts, *_: (*x[:2], *counts),
        grads={"input": lambda g, input_shape, output_size, align_corners, scales: dispatch.call(
            back, (g,), (output_size, align_corners, scales, input_shape[2:]))},
    )  # fmt: skip
    back = Op(
        mode.name + "_backward", "grad_output", "output_size align_corners scales input_size", kind="index", cpu=backward,
        backward=mode.backward + "Backward", shape=lambda g, counts, align, scales, size: (*g[:2], *size),
        grads={"grad_output": lambda g, output_size, align_corners, scales: dispatch.call(
            op, (g,), (output_size, align_corners, scales))},
    )  # fmt: skip
    return op


_OPS = {key: _primitive(mode) for key, mode in MODES.items()}


# -- functions ------------------------------------------------------------------------------------


def _per_dimension(value: Any, rank: int, sizes: list[int], scale: bool) -> tuple[Any, ...]:
    """One value a spatial dimension. Raises ValueError for another number of them."""
    if not isinstance(value, (list, tuple)):
        return (value,) * rank
    if len(value) != rank:
        asked, label, example = (
            (f"scale_factor of shape {value}", "scale_factor", "(s1, s2, ...,sK)")
            if scale
            else (f"output size of {value}", "output size", "(o1, o2, ...,oK)")
        )
        both = "Input and scale_factor" if scale else "Input and output"
        raise ValueError(
            f"{both} must have the same number of spatial dimensions, but got input with spatial dimensions of {sizes} and {asked}. "
            f"Please provide input tensor in (N, C, d1, d2, ...,dK) format and {label} in {example} format."
        )
    return tuple(value)


def _output_size(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None, area: bool
) -> tuple[Ints, Scales]:
    """The sizes of the result, and the scales that the maps are made with (None: from the sizes)."""
    rank, sizes = max(input.ndim - 2, 0), list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        given = _per_dimension(size, rank, sizes, False)
        if not all(hasattr(n, "__index__") for n in given):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with types "
                f"{[type(n) for n in given]}"
            )
        return tuple(as_int(n) for n in given), (None,) * rank
    scales = tuple(float(s) for s in _per_dimension(scale_factor, rank, sizes, True))
    counts = tuple(math.floor(n * s) for n, s in zip(sizes, scales, strict=True))
    return counts, (None,) * rank if recompute or area else scales


_NEEDS = {"linear": 3, "bilinear": 4, "trilinear": 5}
_LETTERS = {1: ("W",), 2: ("H", "W"), 3: ("D", "H", "W")}


def _check(input: Tensor, counts: Ints, name: str, nearest: bool) -> None:
    sizes = tuple(input.shape[2:])
    if any(n <= 0 for n in (*sizes, *counts)):
        letters = _LETTERS[len(counts)]
        before, after = (
            ", ".join(f"{a}: {n}" for a, n in zip(letters, values, strict=True)) for values in (sizes, counts)
        )
        joined = "and " if len(counts) == 1 else ""
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({before}) {joined}output ({after})"
        )
    if input.shape[1] == 0:
        raise RuntimeError(
            f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes {list(input.shape)}"
        )
    kind = input._dtype
    if kind.category != dtypes.FLOATING and kind is not dtypes.uint8:
        raise NotImplementedError(f"\"{name}_channels_last\" not implemented for '{dispatch.type_name(kind)}'")


@operator(spaces=FUNCTIONAL, method=False)
def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """`input` [N, C, ...] resized to `size`, or by `scale_factor`, in its one to three spatial dimensions.

    Modes: "nearest", "nearest-exact", "area" for all; "linear", "bilinear", "trilinear" for one, two, three dimensions;
    "bicubic", and with `antialias` "lanczos", for two. `align_corners` lets the corners' centres coincide. Raises ValueError or
    NotImplementedError for what does not go together.
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    counts, scales = _output_size(input, size, scale_factor, recompute_scale_factor, mode == "area")
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "area" and input.ndim in (3, 4, 5):
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[input.ndim - 3](input, counts)
    if mode == "lanczos" and input.ndim == 4:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    op = _OPS.get((mode, input.ndim - 2, bool(antialias)))
    if op is None:
        if mode in _NEEDS and input.ndim in (3, 4, 5):
            raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_NEEDS[mode]}D input")
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | linear | bilinear | "
            f"bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    _check(input, counts, op.name, "nearest" in mode)
    return dispatch.call(op, (input,), (counts, bool(align_corners), scales))


def _deprecated(name: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)


@operator(spaces=FUNCTIONAL, method=False)
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The former name of `interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@operator(spaces=FUNCTIONAL, method=False)
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` by the nearest elements."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@operator(spaces=FUNCTIONAL, method=False)
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Bilinear `interpolate` with aligned corners."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
