"""Normalisations: over the batch, over trailing dimensions, over groups of channels; each with mean 0 and variance 1.

Their gradient is one formula (Ioffe and Szegedy, 2015): with y = (x - mean) r, r = 1 / sqrt(var + eps), and gradient h
for y,
x gets r (h - mean(h) - y mean(h y)), the means taken where those of x were.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import dispatch, dtypes
from ..autograd.grad_mode import no_grad
from ..tensor import Tensor
from .composed import composed
from .declare import operator
from .loss import FUNCTIONAL

Axes = tuple[int, ...]


def _moments(x: Tensor, axes: Axes) -> tuple[Tensor, Tensor]:
    """Mean and (biased) variance, with the dimensions kept."""
    mean = x.mean(axes, keepdim=True)
    centred = x - mean
    return mean, (centred * centred).mean(axes, keepdim=True)


def _standard(x: Tensor, axes: Axes, eps: float) -> tuple[Tensor, Tensor]:
    """The normalised input and the factor 1 / sqrt(var + eps)."""
    mean, var = _moments(x, axes)
    r = (var + eps).rsqrt()
    return (x - mean) * r, r


def _through(h: Tensor, y: Tensor, r: Tensor, axes: Axes) -> Tensor:
    """The gradient of x from that of y (see above)."""
    return r * (h - h.mean(axes, keepdim=True) - y * (h * y).mean(axes, keepdim=True))


def _affine(y: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


def _no_integers(input: Tensor, kernel: str) -> None:
    if input.dtype.category < dtypes.FLOATING:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dispatch.type_name(input.dtype)}'")


# -- layer ----------------------------------------------------------------------------------------


def _layer_backward(
    g: Tensor, input: Tensor, weight: Any, bias: Any, axes: Axes, eps: float, needs: tuple[bool, ...]
) -> tuple[Any, ...]:
    y, r = _standard(input, axes, eps)
    lead = tuple(range(input.ndim + axes[0]))

    def over_rows(t: Tensor) -> Tensor:
        return t.sum(lead) if lead else t

    return (
        _through(g if weight is None else g * weight, y, r, axes) if needs[0] else None,
        over_rows(g * y) if needs[1] else None,
        over_rows(g) if needs[2] else None,
    )


@composed(
    "layer_norm", "input weight bias", "axes eps", backward="NativeLayerNorm",
    grads={("input", "weight", "bias"): _layer_backward},
)  # fmt: skip
def _layer(input: Tensor, weight: Tensor | None, bias: Tensor | None, axes: Axes, eps: float) -> Tensor:
    return _affine(_standard(input, axes, eps)[0], weight, bias)


def _check_shape(input: Tensor, normalized_shape: Sequence[int], weight: Any, bias: Any, comma: str) -> tuple[int, ...]:
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(t.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    if tuple(input.shape[-len(shape) :]) != shape:
        sizes = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{comma}{sizes}], but got input of "
            f"size{list(input.shape)}"
        )
    return tuple(range(-len(shape), 0))


@operator(spaces=("nn.functional", "torch"), method=False)
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Each row over the trailing dimensions `normalized_shape` normalised, times weight, plus bias (Ba et al., 2016).

    Raises RuntimeError where shapes do not fit.
    """
    axes = _check_shape(input, normalized_shape, weight, bias, ", ")
    _no_integers(input, "LayerNormKernelImpl")
    return _layer(input, weight, bias, axes, eps)


@operator(spaces=("nn.functional", "torch"), method=False)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Each row divided by the root of its mean square, times weight (Zhang and Sennrich, 2019).

    `eps` is the dtype's by default. Raises RuntimeError where shapes do not fit.
    """
    axes = _check_shape(input, normalized_shape, weight, None, "")
    small = dtypes.finfo(input.dtype).eps if eps is None else eps
    y = input * ((input * input).mean(axes, keepdim=True) + small).rsqrt()
    return y if weight is None else y * weight


# -- groups ---------------------------------------------------------------------------------------


def _grouped(x: Tensor, groups: int) -> Tensor:
    """[N, C, ...] as [N, groups, C / groups, all the rest]."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, math.prod(x.shape[2:]))


def _by_channel(t: Tensor, rank: int) -> Tensor:
    """A vector of channels that broadcasts over [N, C, ...]."""
    return t.reshape(1, -1, *[1] * (rank - 2))


def _group_backward(
    g: Tensor, input: Tensor, weight: Any, bias: Any, groups: int, eps: float, needs: tuple[bool, ...]
) -> tuple[Any, ...]:
    y, r = _standard(_grouped(input, groups), (2, 3), eps)
    h = g if weight is None else g * _by_channel(weight, input.ndim)
    others = (0, *range(2, input.ndim))
    return (
        _through(_grouped(h, groups), y, r, (2, 3)).reshape(input.shape) if needs[0] else None,
        (g * y.reshape(input.shape)).sum(others) if needs[1] else None,
        g.sum(others) if needs[2] else None,
    )


@composed(
    "group_norm", "input weight bias", "groups eps", backward="NativeGroupNorm",
    grads={("input", "weight", "bias"): _group_backward},
)  # fmt: skip
def _group(input: Tensor, weight: Tensor | None, bias: Tensor | None, groups: int, eps: float) -> Tensor:
    y = _standard(_grouped(input, groups), (2, 3), eps)[0].reshape(input.shape)
    return _affine(y, *[None if t is None else _by_channel(t, input.ndim) for t in (weight, bias)])


@operator(spaces=("nn.functional", "torch"), method=False)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Groups of channels of [N, C, ...] normalised in each sample (Wu and He, 2018); weight and bias are of [C].

    Raises RuntimeError where the groups do not divide the channels.
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    channels = input.shape[1]
    if num_groups <= 0 or channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and (t.ndim != 1 or t.numel() != channels):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(t.shape)} and input of shape {list(input.shape)}"
            )
    _no_integers(input, "GroupNormKernelImpl")
    return _group(input, weight, bias, num_groups, eps)


# -- batch ----------------------------------------------------------------------------------------


def _channel_axes(rank: int) -> Axes:
    return (0, *range(2, rank))


def _batch_backward(
    g: Tensor, input: Tensor, weight: Any, bias: Any, eps: float, needs: tuple[bool, ...]
) -> tuple[Any, ...]:
    axes = _channel_axes(input.ndim)
    y, r = _standard(input, axes, eps)
    h = g if weight is None else g * _by_channel(weight, input.ndim)
    return (
        _through(h, y, r, axes) if needs[0] else None,
        (g * y).sum(axes) if needs[1] else None,
        g.sum(axes) if needs[2] else None,
    )


@composed(
    "batch_norm", "input weight bias", "eps", backward="NativeBatchNorm",
    grads={("input", "weight", "bias"): _batch_backward},
)  # fmt: skip
def _batch(input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    y = _standard(input, _channel_axes(input.ndim), eps)[0]
    return _affine(y, *[None if t is None else _by_channel(t, input.ndim) for t in (weight, bias)])


def _running_backward(
    g: Tensor, input: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float, needs: tuple[bool, ...]
) -> tuple[Any, ...]:
    axes, rank = _channel_axes(input.ndim), input.ndim
    r = _by_channel((var + eps).rsqrt(), rank)
    return (
        (g if weight is None else g * _by_channel(weight, rank)) * r if needs[0] else None,
        (g * ((input - _by_channel(mean, rank)) * r)).sum(axes) if needs[1] else None,
        g.sum(axes) if needs[2] else None,
    )


@composed(
    "batch_norm_with_running_statistics", "input weight bias mean var", "eps", backward="NativeBatchNorm",
    grads={("input", "weight", "bias"): _running_backward},
)  # fmt: skip
def _running(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float
) -> Tensor:
    rank = input.ndim
    scale = (var + eps).rsqrt()
    if weight is not None:
        scale = scale * weight
    return _affine(
        (input - _by_channel(mean, rank)) * _by_channel(scale, rank),
        None,
        None if bias is None else _by_channel(bias, rank),
    )


def _check_channels(channels: int, **vectors: Tensor | None) -> None:
    for name, t in vectors.items():
        if t is not None and t.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t.numel()}")


@no_grad()
def _follow(running: Tensor, value: Tensor, momentum: float) -> None:
    running.mul_(1 - momentum).add_(value.reshape(running.shape).to(running.dtype), alpha=momentum)


def _normalize_batch(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    channels = input.shape[1] if input.ndim > 1 else 0
    _check_channels(channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    _no_integers(input, "batch_norm")
    for t in (running_mean, running_var, weight, bias):
        if t is not None and t.dtype is not input.dtype and t.dtype is not dtypes.float32:
            raise RuntimeError("mixed dtype (CPU): all the inputs must share same datatype.")
        if t is not None and input.dtype is dtypes.float64 and t.dtype is not input.dtype:
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean must be defined in evaluation mode")
        return _running(input, weight, bias, running_mean, running_var, eps)
    if running_mean is not None and running_var is not None and input.numel():
        count = input.numel() // channels
        with no_grad():
            mean, var = _moments(input.detach(), _channel_axes(input.ndim))
            _follow(running_mean, mean, momentum)
            # The running variance is the unbiased one, as it is to stand for other batches.
            _follow(running_var, var * (count / max(count - 1, 1)), momentum)
    return _batch(input, weight, bias, eps)


@operator(spaces=FUNCTIONAL, method=False)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of [N, C, ...] normalised over the batch while training, else by the running statistics.

    While training these move by `momentum` towards the batch's. Raises ValueError for a single value a channel,
    RuntimeError where vectors are not of [C].
    """
    if training and math.prod((input.shape[0], *input.shape[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    return _normalize_batch(input, running_mean, running_var, weight, bias, training, momentum, eps)


@operator(spaces=FUNCTIONAL, method=False)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample of [N, C, ...] normalised by itself (Ulyanov et al., 2017).

    Raises ValueError for a single value a channel, RuntimeError for missing statistics.
    """
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    rows, channels = input.shape[0], input.shape[1]
    _check_channels(channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    repeated = [None if t is None else t.repeat(rows) for t in (running_mean, running_var, weight, bias)]
    out = _normalize_batch(
        input.reshape(1, rows * channels, *input.shape[2:]), *repeated, use_input_stats, momentum, eps
    )
    if use_input_stats:
        with no_grad():
            for running, moved in zip((running_mean, running_var), repeated, strict=False):
                if running is not None and moved is not None:
                    running.copy_(moved.reshape(rows, channels).mean(0))
    return out.view(*input.shape)


@operator(spaces=FUNCTIONAL, method=False)
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha mean of the squares of `size` neighbouring channels)^beta (Krizhevsky et al., 2012).

    Raises ValueError for less than three dimensions.
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    if input.numel() == 0:
        return input
    from . import functions as F

    square = input * input
    border = list(square.shape)
    before, after = size // 2, (size - 1) // 2
    padded = [square]
    for place, width in ((0, before), (1, after)):
        border[1] = width
        if width:
            padded.insert(0 if place == 0 else len(padded), square.new_zeros(border))
    spread = F.cat(padded, 1)
    channels = input.shape[1]
    total = spread.narrow(1, 0, channels)
    for i in range(1, size):
        total = total + spread.narrow(1, i, channels)
    return input / (total / size * alpha + k) ** beta
