"""What the poolings share: how many windows an axis has, adaptive windows, and the checks of arguments."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import as_int, numel
from ..tensor import Tensor
from .windows import Ints, ints

FUNCTIONAL = ("nn.functional",)
BLOCK = 1 << 17
"""Elements of planes that are pooled at a time."""


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    """How many windows an axis has. With `ceil` the last may hang over the end, but must begin inside."""
    n = (size + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil else 0)) // stride + 1
    return n - 1 if ceil and (n - 1) * stride >= size + padding else n


def window_counts(sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool) -> Ints:
    return tuple(window_count(*numbers, ceil) for numbers in zip(sizes, kernel, stride, padding, dilation, strict=True))


def flat_planes(x: np.ndarray, rank: int) -> np.ndarray:
    return x.reshape(numel(x.shape[: x.ndim - rank]), *x.shape[x.ndim - rank :])


def pooled_shape(shape: Ints, rank: int, counts: Ints) -> Ints:
    return (*shape[: len(shape) - rank], *counts)


def spans(size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """First elements and ends of `count` adaptive windows, which cover an axis evenly and may overlap."""
    o = np.arange(count)
    return o * size // max(count, 1), -(-(o + 1) * size // max(count, 1))


@functools.lru_cache(256)
def adaptive_table(size: int, count: int) -> np.ndarray:
    start, end = spans(size, count)
    width = int((end - start).max(initial=1))
    return np.minimum(start[:, None] + np.arange(width), end[:, None] - 1)


_WORDS = {1: "one int", 2: "two ints", 3: "three ints"}
_LETTERS = {1: ("W",), 2: ("H", "W"), 3: ("T", "H", "W")}


def window_numbers(name: str, rank: int, values: dict[str, Any]) -> list[Ints]:
    out = []
    for label, value in values.items():
        if isinstance(value, (list, tuple)) and len(value) not in (1, rank):
            form = "be omitted, a single int" if label == "stride" else "be a single int"
            word = "must be either" if label == "dilation" else "must either"
            form = form if word == "must either" else "a single int"
            if name == "avg_pool3d":
                word, form = "must", form.replace("a single int", "a single int")
            raise RuntimeError(f"{name}: {label} {word} {form}, or a tuple of {_WORDS[rank]}")
        out.append(ints(value, rank, name, label))
    return out


def check_windows(
    name: str, input: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
) -> None:
    rank = len(kernel)
    shape = list(input.shape)
    if input.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(f"non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input")
    if any(s == 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    letters = _LETTERS[rank]
    for values, what, short in (
        (kernel, "kernel size", "k"),
        (stride, "stride", "d"),
        (dilation, "dilation", "dilation"),
    ):
        if any(v <= 0 for v in values):
            said = " ".join(f"{short}{a}: {v}" for a, v in zip(letters, values, strict=True))
            raise RuntimeError(f"{what} should be greater than zero, but got {said}")
    if any(n == 0 for n in shape[-rank - 1 :]):
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}"
        )
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    counts = window_counts(tuple(shape[-rank:]), kernel, stride, padding, dilation, ceil)
    if any(n < 1 for n in counts):
        c = shape[-rank - 1]
        raise RuntimeError(
            f"Given input size: ({c}x{'x'.join(map(str, shape[-rank:]))}). Calculated output size: ({c}x{'x'.join(map(str, counts))}). "
            "Output size is too small"
        )
    if input._dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise NotImplementedError(f"\"{name}\" not implemented for '{dispatch.type_name(input._dtype)}'")


def stride_or(stride: Any, kernel: Any) -> Any:
    return kernel if stride is None or (isinstance(stride, (list, tuple)) and not stride) else stride


def adaptive_sizes(name: str, rank: int, input: Tensor, size: Any) -> Ints:
    """The numbers of windows; None keeps an axis. Raises RuntimeError for another number of them."""
    if isinstance(size, (list, tuple)):
        if len(size) != rank:
            raise RuntimeError(
                f"{name}(): internal error: output_size.size() must be {rank}"
                if "max" in name
                else f"{name}: output_size must be {rank}"
            )
        return tuple(n if s is None else as_int(s) for s, n in zip(size, input.shape[input.ndim - rank :], strict=True))
    return ints(size, rank, name, "output_size")


def check_adaptive(name: str, rank: int, input: Tensor, size: Ints) -> None:
    shape = list(input.shape)
    if input.ndim not in (rank + 1, rank + 2):
        colon = ":" if "max" in name else ""
        raise RuntimeError(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got{colon} {shape}")
    for d in range(input.ndim - rank, input.ndim):
        if shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shape} with dimension {d} "
                "being empty"
            )
    if any(n < 0 for n in size):
        if "max" in name:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(size)}: {[*shape[:-rank], *size]}"
            )
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{', '.join(map(str, size))}}}"
        )
    if input._dtype.category != dtypes.FLOATING:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dispatch.type_name(input._dtype)}'")


def single_size(name: str, input: Tensor, size: Any) -> int:
    """The one number of windows of a one-dimensional adaptive pooling."""
    if isinstance(size, (list, tuple)):
        if len(size) != 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(size)})")
        size = size[0]
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while checking arguments for "
            f"{name})"
        )
    return input.shape[-1] if size is None else as_int(size)
