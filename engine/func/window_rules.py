"""How convolution, pooling, padding and resampling treat a batch dimension under `vmap`.

Where one set of weights serves all examples, the examples become one larger batch of images; where each has its own, they become
groups of one convolution.
"""

from __future__ import annotations

from typing import Any

from .. import dispatch
from ..ops.table import OPS, Op
from ..tensor import Tensor
from .batch_rules import Made, _batch, rule

_POOLS = tuple(
    name
    for name in OPS
    if name.startswith(("max_pool", "avg_pool", "adaptive_max_pool", "adaptive_avg_pool", "max_unpool"))
)
_RESIZES = tuple(name for name in OPS if name.startswith(("upsample_", "_upsample_")))
_PADS = tuple(name for name in OPS if name.startswith(("reflection_pad", "replication_pad", "circular_pad")))


@rule(*_POOLS, "constant_pad_nd")
def _any_leading_dimensions(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Any:
    out = dispatch.call(op, tuple(_batch(p, size) for p in pairs), statics)
    return [(o, True) for o in out] if op.multi else (out, True)


@rule(*_PADS)
def _pad(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    if op.name.endswith("_backward"):
        statics = (statics[0], (size, *statics[1]))
    return dispatch.call(op, (pairs[0][0],), statics), True


def _merged(t: Tensor) -> Tensor:
    return t.reshape(t.shape[0] * t.shape[1], *t.shape[2:])


def _parted(t: Tensor, size: int) -> Tensor:
    return t.reshape(size, t.shape[0] // size, *t.shape[1:])


@rule(
    *_RESIZES,
    "im2col",
    "col2im",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "grid_sampler_2d_backward",
    "grid_sampler_3d_backward",
)
def _more_images(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Any:
    out = dispatch.call(op, tuple(_merged(_batch(p, size)) for p in pairs), statics)
    return [(_parted(o, size), True) for o in out] if op.multi else (_parted(out, size), True)


def _channels(pair: tuple[Tensor, bool], size: int) -> Tensor:
    """[B, N, C, ...] as [N, B C, ...]."""
    t = _batch(pair, size).transpose(0, 1)
    return t.reshape(t.shape[0], t.shape[1] * t.shape[2], *t.shape[3:])


@rule("convolution")
def _convolution(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    (x, x_batched), (weight, weight_batched), (bias, bias_batched) = pairs
    if not weight_batched and not bias_batched:
        return _parted(dispatch.call(op, (_merged(x), weight, bias), statics), size), True
    if not weight_batched:
        out = _batch((x, x_batched), size)
        made = _parted(dispatch.call(op, (_merged(out), weight, None), statics), size)
        return made + bias.reshape(size, 1, bias.shape[1], *[1] * (made.ndim - 3)), True
    if bias is not None:
        bias = _batch((bias, bias_batched), size).reshape(-1)
    grouped = (*statics[:-1], statics[-1] * size)
    out = dispatch.call(op, (_channels((x, x_batched), size), _merged(weight), bias), grouped)
    return out.reshape(out.shape[0], size, out.shape[1] // size, *out.shape[2:]).transpose(0, 1), True


@rule("convolution_weight")
def _convolution_weight(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    grouped = (*statics[:-1], statics[-1] * size)
    return _parted(dispatch.call(op, tuple(_channels(p, size) for p in pairs), grouped), size), True
