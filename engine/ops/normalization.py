"""Normalisation by moments: over features (layer), over the batch, over groups of channels, over instances; by root mean squares;
by neighbouring channels.

Each is one node on the tape. Where the device has a kernel for it, that runs; elsewhere its formula does, written with operators,
and so are the gradients. The layers, which keep running statistics, stand in `engine/nn/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import as_int, numel
from ..state import state
from ..tensor import Tensor
from .composed import composed
from .declare import operator
from .kernels import has_kernel
from .one_launch import one_launch
from .table import Op

Ints = tuple[int, ...]
FUNCTIONAL = ("nn.functional",)
_LETTERS = "abcdefghijklm"


# -- kernels --------------------------------------------------------------------------------------


def _moments(x: np.ndarray, axes: Ints, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`x` less its mean over `axes`, the mean, and the reciprocal deviation; the axes are kept as size 1."""
    count = numel(x.shape[a] for a in axes)
    mean = np.add.reduce(x, axis=axes, keepdims=True) / x.dtype.type(count)
    centred = x - mean
    names = _LETTERS[: x.ndim]
    kept = "".join(n for i, n in enumerate(names) if i not in axes)
    square = np.einsum(f"{names},{names}->{kept}", centred, centred).reshape(mean.shape)
    return centred, mean, 1 / np.sqrt(square / x.dtype.type(count) + x.dtype.type(eps))


def _scaled(y: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, shape: Ints) -> np.ndarray:
    if weight is not None:
        y *= weight.reshape(shape)
    if bias is not None:
        y += bias.reshape(shape)
    return y


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _layer_kernel(x: np.ndarray, weight: Any, bias: Any, rank: int, eps: float) -> tuple[np.ndarray, ...]:
    y, mean, rstd = _moments(_wide(x), tuple(range(x.ndim - rank, x.ndim)), eps)
    y *= rstd
    return _scaled(y, weight, bias, x.shape[x.ndim - rank :]).astype(x.dtype, copy=False), mean, rstd


def _batch_kernel(x: np.ndarray, weight: Any, bias: Any, eps: float) -> tuple[np.ndarray, ...]:
    y, mean, rstd = _moments(_wide(x), (0, *range(2, x.ndim)), eps)
    y *= rstd
    y = _scaled(y, weight, bias, _channels(x.ndim, x.shape[1]))
    return y.astype(x.dtype, copy=False), mean.reshape(-1), rstd.reshape(-1)


def _group_kernel(x: np.ndarray, weight: Any, bias: Any, groups: int, eps: float) -> tuple[np.ndarray, ...]:
    n, c = x.shape[:2]
    y, mean, rstd = _moments(_wide(x).reshape(n, groups, numel(x.shape[1:]) // groups), (2,), eps)
    y *= rstd
    y = _scaled(y.reshape(x.shape), weight, bias, _channels(x.ndim, c))
    return y.astype(x.dtype, copy=False), mean.reshape(n, groups), rstd.reshape(n, groups)


def _given_kernel(x: np.ndarray, weight: Any, bias: Any, mean: Any, var: Any, eps: float) -> np.ndarray:
    shape = _channels(x.ndim, x.shape[1])
    scale = 1 / np.sqrt(_wide(var) + np.float64(eps).astype(_wide(var).dtype))
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    return (x * scale.reshape(shape) + shift.reshape(shape)).astype(x.dtype, copy=False)


# -- gradients ------------------------------------------------------------------------------------


def _channels(rank: int, count: int) -> Ints:
    """The shape in which one number a channel broadcasts."""
    return (1, count, *[1] * (rank - 2))


def _slopes(
    g: Any, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, axes: Ints, shape: Ints, needs: tuple[bool, ...],
    defined: tuple[bool, ...],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Gradients of input, weight and bias. `g` are those of result, mean and reciprocal deviation; all broadcast to `x`.

    The weight's elements multiply x in `shape`, which their gradients have.
    """
    gy, gmean, grstd = g
    quick = None if any(defined[1:]) else _slopes_at_once(gy, x, mean, rstd, weight, axes, shape, needs)
    if quick is not None:
        return quick
    count = numel(x.shape[a] for a in axes)
    hat = (x - mean) * rstd
    dx = dw = db = None
    if needs[0]:
        part = gy if weight is None else gy * weight.reshape(shape)
        a = (part * hat).mean(axes, True) + grstd * rstd / count
        b = part.mean(axes, True) - gmean / (rstd * count)
        dx = (part - b - hat * a) * rstd
    if needs[1]:
        dw = (gy * hat).sum_to_size(*shape)
    if needs[2]:
        db = gy.sum_to_size(*shape)
    return dx, dw, db


def _slopes_at_once(
    g: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, axes: Ints, shape: Ints, needs: tuple[bool, ...]
) -> tuple[Any, Any, Any] | None:  # fmt: skip
    """The same in few passes over memory, on devices that make kernels of expressions; None elsewhere."""
    scale = {} if weight is None else {"w": weight.reshape(shape)}
    given = {"g": g, "x": x, "m": mean, "r": rstd}
    part = "g" if weight is None else "g * w"
    dx = dw = db = None
    if needs[0]:
        along = one_launch(f"{part} * (x - m) * r", **given, **scale)
        scaled = g if weight is None else one_launch(part, g=g, **scale)
        if along is None or scaled is None:
            return None
        a, b = along.mean(axes, True), scaled.mean(axes, True)
        dx = one_launch(f"({part} - b - (x - m) * r * a) * r", **given, **scale, a=a, b=b)
    if needs[1]:
        along = one_launch("g * (x - m) * r", **given)
        if along is None:
            return None
        dw = along.sum_to_size(*shape)
    if needs[2]:
        db = g.sum_to_size(*shape)
    return dx, dw, db


def _reshaped(parts: tuple[Any, Any, Any], x: Tensor, weight: Ints) -> tuple[Any, ...]:
    dx, *rest = parts
    return (None if dx is None else dx.reshape(x.shape), *[None if p is None else p.reshape(weight) for p in rest])


def _layer_backward(
    g: Any,
    input: Tensor,
    weight: Any,
    weight_shape: Ints,
    bias_shape: Ints,
    results: Any,
    rank: int,
    needs: Any,
    defined: Any,
) -> tuple[Any, ...]:
    axes = tuple(range(input.ndim - rank, input.ndim))
    shape = (*[1] * (input.ndim - rank), *input.shape[input.ndim - rank :])
    parts = _slopes(g, input, results[1], results[2], weight, axes, shape, needs, defined)
    return _reshaped(parts, input, weight_shape or bias_shape)


def _batch_backward(
    g: Any, input: Tensor, weight: Any, weight_shape: Ints, bias_shape: Ints, results: Any, needs: Any, defined: Any
) -> tuple[Any, ...]:
    shape = _channels(input.ndim, input.shape[1])
    gy, *small = [t if t.ndim > 1 else t.reshape(shape) for t in g]
    mean, rstd = (t.reshape(shape) for t in results[1:])
    axes = (0, *range(2, input.ndim))
    parts = _slopes((gy, *small), input, mean, rstd, weight, axes, shape, needs, defined)
    return _reshaped(parts, input, weight_shape or bias_shape)


def _group_backward(
    g: Any,
    input: Tensor,
    weight: Any,
    weight_shape: Ints,
    bias_shape: Ints,
    results: Any,
    groups: int,
    needs: Any,
    defined: Any,
) -> tuple[Any, ...]:
    n, c = input.shape[:2]
    x = input.reshape(n, groups, c // groups, numel(input.shape[2:]))
    gy = g[0].reshape(x.shape)
    gmean, grstd, mean, rstd = (t.reshape(n, groups, 1, 1) for t in (g[1], g[2], results[1], results[2]))
    shape = (1, groups, c // groups, 1)
    parts = _slopes((gy, gmean, grstd), x, mean, rstd, weight, (2, 3), shape, needs, defined)
    return _reshaped(parts, input, weight_shape or bias_shape)


def _given_backward(
    g: Tensor, input: Tensor, weight: Any, mean: Tensor, var: Tensor, eps: float, needs: Any
) -> tuple[Any, ...]:
    shape = _channels(input.ndim, input.shape[1])
    rstd = (var + eps).rsqrt().reshape(shape)
    dx = dw = db = None
    if needs[0]:
        dx = g * (rstd if weight is None else rstd * weight.reshape(shape))
    if needs[1]:
        dw = (g * ((input - mean.reshape(shape)) * rstd)).sum_to_size(*shape).reshape(-1)
    if needs[2]:
        db = g.sum_to_size(*shape).reshape(-1)
    return dx, dw, db


# -- primitives -----------------------------------------------------------------------------------


def _kinds(input: Tensor, *_: Any) -> tuple[Any, Any, Any]:
    """Statistics of half-precision inputs are kept in single."""
    wide = dtypes.float32 if input._dtype.itemsize < 4 else input._dtype
    return input._dtype, wide, wide


_KEY = ("input", "weight", "bias")
LAYER_NORM = Op(
    "native_layer_norm", "input weight bias", "rank eps", kind="fused", cpu=_layer_kernel, multi=True, dtype=_kinds,
    shape=lambda x, w, b, rank, eps: [x, *[(*x[: len(x) - rank], *[1] * rank)] * 2], grads={_KEY: _layer_backward},
)  # fmt: skip
BATCH_NORM = Op(
    "native_batch_norm", "input weight bias", "eps", kind="fused", cpu=_batch_kernel, multi=True, dtype=_kinds,
    shape=lambda x, w, b, eps: [x, (x[1],), (x[1],)], grads={_KEY: _batch_backward},
)  # fmt: skip
GROUP_NORM = Op(
    "native_group_norm", "input weight bias", "groups eps", kind="fused", cpu=_group_kernel, multi=True, dtype=_kinds,
    shape=lambda x, w, b, groups, eps: [x, (x[0], groups), (x[0], groups)], grads={_KEY: _group_backward},
)  # fmt: skip
GIVEN_NORM = Op(
    "batch_norm_with_statistics", "input weight bias mean var", "eps", kind="fused", cpu=_given_kernel, backward="NativeBatchNorm",
    shape=lambda x, *_: x, grads={_KEY: _given_backward},
)  # fmt: skip


def _standardised(x: Tensor, axes: Ints, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    mean = x.mean(axes, True)
    centred = x - mean
    rstd = ((centred * centred).mean(axes, True) + eps).rsqrt()
    return centred * rstd, mean, rstd


def _affine(y: Tensor, weight: Tensor | None, bias: Tensor | None, shape: Ints) -> Tensor:
    if weight is not None:
        y = y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


@composed("native_layer_norm", "input weight bias", "rank eps", multi=True, grads={_KEY: _layer_backward})
def _layer_formula(x: Tensor, weight: Any, bias: Any, rank: int, eps: float) -> tuple[Tensor, ...]:
    y, mean, rstd = _standardised(x, tuple(range(x.ndim - rank, x.ndim)), eps)
    return _affine(y, weight, bias, tuple(x.shape[x.ndim - rank :])), mean, rstd


@composed("native_batch_norm", "input weight bias", "eps", multi=True, grads={_KEY: _batch_backward})
def _batch_formula(x: Tensor, weight: Any, bias: Any, eps: float) -> tuple[Tensor, ...]:
    y, mean, rstd = _standardised(x, (0, *range(2, x.ndim)), eps)
    return _affine(y, weight, bias, _channels(x.ndim, x.shape[1])), mean.reshape(-1), rstd.reshape(-1)


@composed("native_group_norm", "input weight bias", "groups eps", multi=True, grads={_KEY: _group_backward})
def _group_formula(x: Tensor, weight: Any, bias: Any, groups: int, eps: float) -> tuple[Tensor, ...]:
    n, c = x.shape[:2]
    y, mean, rstd = _standardised(x.reshape(n, groups, numel(x.shape[1:]) // groups), (2,), eps)
    y = _affine(y.reshape(x.shape), weight, bias, _channels(x.ndim, c))
    return y, mean.reshape(n, groups), rstd.reshape(n, groups)


@composed(
    "batch_norm_with_statistics", "input weight bias mean var", "eps", backward="NativeBatchNorm", grads={_KEY: _given_backward}
)  # fmt: skip
def _given_formula(x: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float) -> Tensor:
    shape = _channels(x.ndim, x.shape[1])
    y = (x - mean.reshape(shape)) * (var + eps).rsqrt().reshape(shape)
    return _affine(y, weight, bias, shape)


def _detached(made: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Statistics that are handed out are no functions of the input to the tape, as in PyTorch."""
    return made[0], made[1].detach(), made[2].detach()


def _run(op: Op, formula: Any, tensors: tuple[Any, ...], statics: tuple[Any, ...]) -> Any:
    if has_kernel(op, tensors[0]):
        return dispatch.call(op, tensors, statics)
    return formula(*tensors, *statics)


# -- checks ---------------------------------------------------------------------------------------


def _check_dtypes(kernel: str, input: Tensor, *parameters: Tensor | None) -> None:
    if input._dtype.category != dtypes.FLOATING:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dispatch.type_name(input._dtype)}'")
    half = input._dtype.itemsize < 4
    for p in parameters:
        if p is not None and p._dtype is not input._dtype and not (half and p._dtype is dtypes.float32):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")


def _check_normalized(input: Tensor, shape: Any, weight: Any, bias: Any, name: str, separator: str) -> Ints:
    """The sizes of the normalised dimensions; raises where they are not the input's last ones."""
    if not isinstance(shape, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {type(shape).__name__}"
        )
    sizes = tuple(as_int(n) for n in shape)
    if not sizes:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []"
        )
    for p, label in ((weight, "weight"), (bias, "bias")):
        if p is not None and tuple(p.shape) != sizes:
            raise RuntimeError(
                f"Expected {label} to be of same shape as normalized_shape, but got {label} of shape {list(p.shape)} and "
                f"normalized_shape = {list(sizes)}"
            )
    if tuple(input.shape[-len(sizes) :]) != sizes:
        raise RuntimeError(
            f"Given normalized_shape={list(sizes)}, expected input with shape [*{separator}{', '.join(map(str, sizes))}], but got input "
            f"of size{list(input.shape)}"
        )
    return sizes


# -- functions ------------------------------------------------------------------------------------


@operator(method=False)
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm` with the means and reciprocal deviations, whose normalised dimensions have size 1."""
    sizes = _check_normalized(input, normalized_shape, weight, bias, "layer_norm", ", ")
    _check_dtypes("LayerNormKernelImpl", input, weight, bias)
    return _detached(_run(LAYER_NORM, _layer_formula, (input, weight, bias), (len(sizes), float(eps))))


@operator(spaces=("torch", "nn.functional"), method=False)
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """The last dimensions standardised, then scaled and shifted: input [..., *normalized_shape], weight and bias of that shape.

    The variance is the biased one (Ba et al., 2016). Raises RuntimeError where shapes do not fit.
    """
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def _check_channels(count: int, **tensors: Tensor | None) -> None:
    for name, t in tensors.items():
        if t is not None and t.numel() != count:
            raise RuntimeError(f"{name} should contain {count} elements not {t.numel()}")


def _track(running: Tensor | None, value: Tensor, momentum: float) -> None:
    """Move a running statistic towards the new value, unknown to the tape."""
    if running is None:
        return
    before, state.grad_enabled = state.grad_enabled, False
    try:
        running.mul_(1 - momentum).add_(value.detach().to(running.dtype), alpha=momentum)
    finally:
        state.grad_enabled = before


def _batch_norm(
    input: Tensor, mean: Tensor | None, var: Tensor | None, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    if input.ndim < 2 and input.numel():
        last = max(input.ndim, 1)
        raise IndexError(f"Dimension out of range (expected to be in range of [{-last}, {last - 1}], but got 1)")
    channels = input.shape[1] if input.ndim > 1 else 0
    _check_channels(channels, running_mean=mean, running_var=var, weight=weight, bias=bias)
    if not training:
        for t, name in ((mean, "running_mean"), (var, "running_var")):
            if t is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
    _check_dtypes("batch_norm", input, weight, bias, mean, var)
    if input.ndim < 2:
        return input.clone(), input.new_empty((0,)), input.new_empty((0,))
    if not training:
        assert mean is not None and var is not None
        out = _run(GIVEN_NORM, _given_formula, (input, weight, bias, mean.detach(), var.detach()), (float(eps),))
        return out, input.new_empty((0,)), input.new_empty((0,))
    if not isinstance(momentum, (int, float)):
        raise TypeError(f"batch_norm(): argument 'momentum' (position 7) must be float, not {type(momentum).__name__}")
    out, batch_mean, rstd = _run(BATCH_NORM, _batch_formula, (input, weight, bias), (float(eps),))
    count = input.numel() // channels if channels else 0
    if count:
        _track(mean, batch_mean, momentum)
    if var is not None and count:
        before, state.grad_enabled = state.grad_enabled, False
        biased = (1 / (rstd * rstd) - eps).clamp_min(0.0)
        state.grad_enabled = before
        _track(var, biased * (count / max(count - 1, 1)), momentum)
    return _detached((out, batch_mean, rstd))


@operator(name="batch_norm", spaces=FUNCTIONAL, method=False)
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Each channel (dimension 1) standardised over batch and space, then scaled and shifted (Ioffe and Szegedy, 2015).

    While `training` the batch's own moments are used, and the running ones move towards them by `momentum` (the variance unbiased);
    otherwise the running ones are used. Raises ValueError for one value a channel, RuntimeError where sizes do not fit.
    """
    if training:
        _more_than_one(input)
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)[0]


def _more_than_one(input: Tensor) -> None:
    if input.ndim >= 2 and input.shape[0] * numel(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")


@operator(name="batch_norm", method=False)
def torch_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: bool,
    momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm` with its arguments in another order."""
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)[0]


@operator(method=False)
def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: bool,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Batch normalisation with the batch's mean and reciprocal deviation of each channel (empty when not training)."""
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@operator(method=False)
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm` with mean and reciprocal deviation of each group, [N, groups]."""
    if group <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {group}")
    if C % group:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(input.shape)} and "
            f"num_groups={group}"
        )
    for p, label in ((weight, "weight"), (bias, "bias")):
        if p is not None and tuple(p.shape) != (C,):
            raise RuntimeError(
                f"Expected {label} to be a vector of size equal to the number of channels in input, but got {label} of shape "
                f"{list(p.shape)} and input of shape {list(input.shape)}"
            )
    _check_dtypes("GroupNormKernelImpl", input, weight, bias)
    return _run(GROUP_NORM, _group_formula, (input, weight, bias), (int(group), float(eps)))


def _group_norm(input: Tensor, groups: int, weight: Any, bias: Any, eps: float) -> Tensor:
    n, c, *rest = input.shape
    return native_group_norm(input, weight, bias, n, c, numel(rest), groups, eps)[0]


@operator(name="group_norm", spaces=FUNCTIONAL, method=False)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """`num_groups` groups of channels standardised in each example: input [N, C, ...], weight and bias [C] (Wu and He, 2018).

    Raises RuntimeError where the channels do not divide, ValueError for groups of one value.
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    if num_groups > 0 or num_groups == 0:
        values = input.shape[0] * input.shape[1] // num_groups * numel(input.shape[2:])
        if values == 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {list(input.shape)}"
            )
    return _group_norm(input, num_groups, weight, bias, eps)


@operator(name="group_norm", method=False)
def torch_group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.group_norm` without the check for groups of one value."""
    return _group_norm(input, num_groups, weight, bias, eps)


def _instance_norm(
    input: Tensor, mean: Tensor | None, var: Tensor | None, weight: Tensor | None, bias: Tensor | None, use_input_stats: bool,
    momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    if not use_input_stats and (mean is None or var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    n, c, *rest = input.shape
    many = [None if t is None else t.repeat(n) for t in (mean, var, weight, bias)]
    flat = input.reshape(1, n * c, *rest)
    out = _batch_norm(flat, many[0], many[1], many[2], many[3], use_input_stats, momentum, eps)[0]
    if use_input_stats:
        for t, each in ((mean, many[0]), (var, many[1])):
            if t is not None and each is not None:
                t.copy_(each.reshape(n, c).mean(0))
    return out.reshape(input.shape)


@operator(name="instance_norm", spaces=FUNCTIONAL, method=False)
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Each channel of each example standardised over space: input [N, C, ...] (Ulyanov et al., 2016).

    Raises ValueError for one value a channel, RuntimeError where sizes do not fit.
    """
    if use_input_stats and numel(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return _instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@operator(name="instance_norm", method=False)
def torch_instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm` with its arguments in another order."""
    return _instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@operator(spaces=("torch", "nn.functional"), method=False)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The last dimensions divided by their root mean square, then scaled; `eps` is the dtype's when None (Zhang and Sennrich, 2019)."""
    sizes = _check_normalized(input, normalized_shape, weight, None, "rms_norm", "")
    kind = input._dtype
    if kind.category < dtypes.FLOATING:
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{dispatch.type_name(kind)}'")
    x = input.to(dtypes.float32) if kind.itemsize < 4 else input
    if eps is None:
        eps = dtypes.finfo(x._dtype.to_real()).eps
    rank = len(sizes)
    scale = ((x * x).mean(tuple(range(x.ndim - rank, x.ndim)), True) + eps).rsqrt()
    y = (x * scale).to(kind)
    return y if weight is None else y * weight


@operator(spaces=FUNCTIONAL, method=False)
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Each element over (k + alpha * the mean of squares in `size` neighbouring channels) ** beta: input [N, C, ...].

    From Krizhevsky et al., 2012. Raises ValueError for fewer than three dimensions.
    """
    from .average_pooling import avg_pool2d, avg_pool3d
    from .padding import constant_pad_nd

    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    if input.numel() == 0:
        return input
    square = input * input
    before, after = size // 2, (size - 1) // 2
    if input.ndim == 3:
        padded = constant_pad_nd(square.unsqueeze(1), (0, 0, before, after))
        mean = avg_pool2d(padded, (size, 1), stride=1).squeeze(1)
    else:
        n, c, h, *_ = input.shape
        padded = constant_pad_nd(square.reshape(n, 1, c, h, -1), (0, 0, 0, 0, before, after))
        mean = avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1).reshape(input.shape)
    return input / (mean * alpha + k) ** beta
