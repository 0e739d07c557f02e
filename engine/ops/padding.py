"""Padding at the ends of dimensions in all modes, and rearrangements of channels and space; one-hot vectors.

Padding that repeats elements is a map along each axis (`separable.py`); its gradient is the transposed map.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import as_int, numel
from ..tensor import Tensor
from .declare import operator
from .separable import Taps, along_last, taps, transposed
from .table import Op
from .windows import Ints

FUNCTIONAL = ("nn.functional",)


def _padded_shape(shape: Ints, pad: Ints) -> Ints:
    out = list(shape)
    for i in range(len(pad) // 2):
        out[-1 - i] += pad[2 * i] + pad[2 * i + 1]
    return tuple(out)


# -- with a constant ------------------------------------------------------------------------------


def _constant(x: np.ndarray, pad: Ints, value: Any) -> np.ndarray:
    out = (
        np.full(_padded_shape(x.shape, pad), value, x.dtype)
        if value
        else np.zeros(_padded_shape(x.shape, pad), x.dtype)
    )
    source, target = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    for i in range(len(pad) // 2):
        left, right, at = pad[2 * i], pad[2 * i + 1], x.ndim - 1 - i
        source[at] = slice(max(-left, 0), x.shape[at] - max(-right, 0))
        target[at] = slice(max(left, 0), out.shape[at] - max(right, 0))
    out[tuple(target)] = x[tuple(source)]
    return out


CONSTANT_PAD = Op(
    "constant_pad_nd", "input", "pad value", kind="index", cpu=_constant, shape=lambda s, pad, value: _padded_shape(s, pad),
    grads={"input": lambda g, pad: dispatch.call(CONSTANT_PAD, (g,), (tuple(-p for p in pad), 0))},
)  # fmt: skip


@operator(method=False)
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """`input` with `value` around it: `pad` counts before and after the last dimension, then the one before it; negative cuts off.

    Raises RuntimeError for an odd or too long `pad`, or where more is cut off than there is.
    """
    pads = tuple(as_int(p) for p in pad)
    if len(pads) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pads)}")
    if len(pads) > 2 * input.ndim:
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pads)} while the "
            f"input has {input.ndim} dimensions."
        )
    for i in range(len(pads) // 2):
        if input.shape[-1 - i] + min(pads[2 * i], 0) + min(pads[2 * i + 1], 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    if isinstance(value, Tensor):
        value = value.item()
    kind = input._dtype.category
    if kind < dtypes.FLOATING:
        value = bool(value) if kind == dtypes.BOOL else int(value)
    return dispatch.call(CONSTANT_PAD, (input,), (pads, value))


# -- with elements of the input -------------------------------------------------------------------


@functools.lru_cache(512)
def _taps(mode: str, size: int, left: int, right: int) -> Taps:
    """Where the elements of one padded axis come from."""
    at = np.arange(max(size + left + right, 0)) - left
    if mode == "reflect":
        at = np.where(at < 0, -at, at)
        at = np.where(at >= size, 2 * (size - 1) - at, at)
    elif mode == "replicate":
        at = np.clip(at, 0, size - 1)
    else:
        kept = size + min(left, 0) + min(right, 0)
        at = max(-left, 0) + (at + min(left, 0)) % max(kept, 1)
    return taps(size, at)


def _maps(mode: str, sizes: Ints, pad: Ints) -> tuple[Taps, ...]:
    """One map an axis, from the first padded one to the last."""
    rank = len(pad) // 2
    return tuple(
        _taps(mode, n, pad[2 * i], pad[2 * i + 1])
        for n, i in zip(sizes[len(sizes) - rank :], range(rank - 1, -1, -1), strict=True)
    )


def _repeating(name: str, mode: str, node: str) -> Op:
    """The primitive of one mode and its transpose, each the gradient of the other."""

    def forward(x: np.ndarray, padding: Ints) -> np.ndarray:
        return along_last(x, _maps(mode, x.shape, padding))

    def backward(g: np.ndarray, padding: Ints, size: Ints) -> np.ndarray:
        return along_last(g, tuple(transposed(t) for t in _maps(mode, size, padding)))

    op = Op(
        name, "input", "padding", kind="index", cpu=forward, shape=_padded_shape, backward=node,
        grads={"input": lambda g, input_shape, padding: dispatch.call(back, (g,), (padding, input_shape))},
    )  # fmt: skip
    back = Op(
        name + "_backward", "grad_output", "padding size", kind="index", cpu=backward, backward=node + "Backward",
        shape=lambda g, padding, size: size,
        grads={"grad_output": lambda g, padding: dispatch.call(op, (g,), (padding,))},
    )  # fmt: skip
    return op


_REPEATING = {
    ("reflect", 1): _repeating("reflection_pad1d", "reflect", "ReflectionPad1D"),
    ("reflect", 2): _repeating("reflection_pad2d", "reflect", "ReflectionPad2D"),
    ("reflect", 3): _repeating("reflection_pad3d", "reflect", "ReflectionPad3D"),
    ("replicate", 1): _repeating("replication_pad1d", "replicate", "ReplicationPad1D"),
    ("replicate", 2): _repeating("replication_pad2d", "replicate", "ReplicationPad2D"),
    ("replicate", 3): _repeating("replication_pad3d", "replicate", "ReplicationPad3D"),
}
_CIRCULAR = _repeating("circular_pad", "circular", "CircularPad")


def _check_repeating(mode: str, input: Tensor, pads: Ints) -> None:
    rank = len(pads) // 2
    shape = list(input.shape)
    if not 1 <= rank <= 3 or input.ndim not in (rank + 1, rank + 2):
        raise NotImplementedError(f"Padding size {len(pads)} is not supported for {input.ndim}D input tensor.")
    sizes = shape[-rank:]
    letters = "DHW"[-rank:]
    if mode == "circular":
        if any(max(pads[2 * i], pads[2 * i + 1]) > sizes[-1 - i] for i in range(rank)):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        after = _padded_shape(tuple(sizes), pads)
        if any(n < 0 for n in after):
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        return
    if any(n == 0 for n in shape[-rank - 1 :]):
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {shape}"
        )
    for i in range(rank):
        if mode == "reflect" and max(pads[2 * i], pads[2 * i + 1]) >= sizes[-1 - i]:
            raise RuntimeError(
                f"Argument #{2 * i + 4}: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({pads[2 * i]}, {pads[2 * i + 1]}) at dimension {input.ndim - 1 - i} of input {shape}"
            )
    after = _padded_shape(tuple(sizes), pads)
    if all(n < 1 for n in after):
        raise RuntimeError(
            f"input ({' '.join(f'{a}: {n}' for a, n in zip(letters, sizes, strict=True))}) is too small. Calculated output "
            f"{' '.join(f'{a}: {n}' for a, n in zip(letters, after, strict=True))}"
        )
    if any(n < 0 for n in after):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(after)}: {[*shape[:-rank], *after]}")
    if input._dtype.category == dtypes.BOOL:
        kernel = f"reflection_pad{rank}d" if mode == "reflect" else f"replication_pad{rank}d"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


@operator(spaces=FUNCTIONAL, method=False)
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Tensor:
    """`input` padded at both ends of its last dimensions: `pad` counts for the last one first; negative numbers cut off.

    Modes: "constant" (`value`), "reflect", "replicate", "circular", the latter three for the last one to three dimensions.
    Raises RuntimeError or NotImplementedError where a mode cannot.
    """
    if not isinstance(pad, (list, tuple)):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    for i, p in enumerate(pad):
        if not hasattr(p, "__index__"):
            raise TypeError(
                f"pad(): argument 'pad' failed to unpack the object at pos {i + 1} with error \"type must be tuple of ints,but got "
                f'{type(p).__name__}"'
            )
    pads = tuple(as_int(p) for p in pad)
    if len(pads) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pads) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pads)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        return constant_pad_nd(input, pads, 0 if value is None else value)
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    _check_repeating(mode, input, pads)
    op = _CIRCULAR if mode == "circular" else _REPEATING[mode, len(pads) // 2]
    return dispatch.call(op, (input,), (pads,))


# -- channels and space ---------------------------------------------------------------------------


def _at_least(name: str, what: str, input: Tensor, factor: int) -> None:
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {what}, but got {factor}")


@operator(spaces=("torch", "nn.functional"), method=False)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels moved into space: [..., C r^2, H, W] to [..., C, H r, W r] (Shi et al., 2016)."""
    r = upscale_factor
    _at_least("pixel_shuffle", "upscale_factor", input, r)
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    parts = input.reshape(*lead, c // (r * r), r, r, h, w)
    return parts.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2).reshape(*lead, c // (r * r), h * r, w * r)


@operator(spaces=("torch", "nn.functional"), method=False)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Space moved into channels, the reverse of `pixel_shuffle`: [..., C, H r, W r] to [..., C r^2, H, W]."""
    r = downscale_factor
    _at_least("pixel_unshuffle", "downscale_factor", input, r)
    *lead, c, h, w = input.shape
    for size, name, at in ((h, "height", -2), (w, "width", -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({at})={size} is not divisible by {r}"
            )
    n = len(lead)
    parts = input.reshape(*lead, c, h // r, r, w // r, r)
    return parts.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3).reshape(*lead, c * r * r, h // r, w // r)


@operator(spaces=("torch", "nn.functional"), method=False, aliases=("native_channel_shuffle",))
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels (dimension 1) of `groups` groups dealt out in turn: [N, C, ...] to the same (Zhang et al., 2018)."""
    if input.ndim <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c, *rest = input.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return input.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(n, c, *rest)


@operator(spaces=FUNCTIONAL, method=False)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Class numbers of any shape as vectors with one 1 in a new last dimension; -1 takes the largest number + 1 as their length.

    Raises RuntimeError for a dtype other than int64 and for numbers out of range.
    """
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not numel(tensor.shape):
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return tensor.new_zeros((*tensor.shape, num_classes))
    if tensor.min().item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    most = int(tensor.max().item())
    if num_classes == -1:
        num_classes = most + 1
    elif most >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return tensor.new_zeros((*tensor.shape, num_classes)).scatter(-1, tensor.unsqueeze(-1), 1)
