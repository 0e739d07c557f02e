"""Dropout of whole channels, and alpha dropout, which keeps mean and variance."""

from __future__ import annotations

import math
import warnings

from .. import random as source
from ..tensor import Tensor
from .declare import operator
from .loss import FUNCTIONAL
from .random import Draw, _drawn

_ALPHA = 1.7580993408473766
"""The negative of SELU's lowest value, which dropped elements get."""


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise(input: Tensor, p: float, by_channel: bool) -> Tensor:
    """Ones with probability 1 - p, zeros else: one an element, or one a channel of [N, C, ...]."""
    shape = tuple(input.shape)
    if by_channel:
        shape = shape[:2] + (1,) * (input.ndim - 2)
    like = None if by_channel else input
    return _drawn(shape, input.dtype, input.device, False, Draw(source.bernoulli, 1.0 - p), like)


def _drop(input: Tensor, p: float, training: bool, inplace: bool, by_channel: bool, alpha: bool = False) -> Tensor:
    _check(p)
    if p == 0 or not training or input.numel() == 0:
        return input
    if by_channel and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if p == 1:
        return input.mul_(0.0) if inplace else input * input.new_zeros(())
    noise = _noise(input, p, by_channel)
    if not alpha:
        noise = noise / (1.0 - p)
        return input.mul_(noise) if inplace else input * noise
    scale = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1.0 - p))
    shift = (noise - 1) * (_ALPHA * scale) + _ALPHA * scale * p
    noise = noise * scale
    return input.mul_(noise).add_(shift) if inplace else input * noise + shift


@operator(spaces=("nn.functional",), method=False)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros for whole channels of [N, C, L] or [C, L]. Raises RuntimeError for other dimensions."""
    _check(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to "
            "provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
            "dimension "
            "(i.e. 2D or 3D inputs)."
        )
    return _maybe_batched(input, p, training, inplace, 2)


def _maybe_batched(input: Tensor, p: float, training: bool, inplace: bool, single: int) -> Tensor:
    if input.ndim != single:
        return _drop(input, p, training, inplace, True)
    return _drop(input.unsqueeze(0), p, training, inplace, True).squeeze(0)


@operator(spaces=("nn.functional",), method=False)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros for whole channels of [N, C, H, W] (a 3-D input counts as [N, C, L])."""
    _check(p)
    if input.ndim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result in an "
            "error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            "dropout2d "
            "exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an "
            "optional "
            "batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    return _drop(input, p, training, inplace, True)


@operator(spaces=("nn.functional",), method=False)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros for whole channels of [N, C, D, H, W] or [C, D, H, W]."""
    _check(p)
    if input.ndim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result in an "
            "error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            "dropout3d "
            "exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an "
            "optional "
            "batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    return _maybe_batched(input, p, training, inplace, 4)


@operator(spaces=FUNCTIONAL, method=False)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean 0 and variance 1; dropped elements get SELU's lowest value (Klambauer et al., 2017)."""
    return _drop(input, p, training, inplace, False, True)


@operator(spaces=FUNCTIONAL, method=False)
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Alpha dropout of whole channels."""
    return _drop(input, p, training, inplace, True, True)
