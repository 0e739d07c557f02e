"""Losses of numbers: smooth L1, Huber, and the likelihoods of normal and Poisson variables."""

from __future__ import annotations

import math
from typing import Any

from ..tensor import Tensor
from .composed import composed
from .declare import operator
from .loss import FUNCTIONAL, _pair, legacy_reduction, reduce, reduce_loss, share
from .nonlinear import where


def _smooth_l1_slope(difference: Tensor, beta: float) -> Tensor:
    return where(difference.abs() < beta, difference / beta, difference.sign())


@composed(
    "smooth_l1_loss", "input target", "beta reduction", backward="SmoothL1Loss", grads={
        "input": lambda g, input, target, beta, reduction: share(g, input, reduction) * _smooth_l1_slope(input - target, beta),
        "target": lambda g, input, target, beta, reduction: share(g, input, reduction) * _smooth_l1_slope(target - input, beta),
    },
)  # fmt: skip
def _smooth_l1(input: Tensor, target: Tensor, beta: float, reduction: str) -> Tensor:
    size = (input - target).abs()
    return reduce(where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta), reduction)


@operator(spaces=FUNCTIONAL, method=False)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d^2 / (2 beta) where |d| < beta, else |d| - beta / 2, reduced. Raises RuntimeError for a negative `beta`."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    a, b = _pair("smooth_l1_loss", input, target)
    if beta == 0:
        return reduce_loss((a - b).abs(), None, None, reduction)
    return _smooth_l1(a, b, beta, reduction)


def _huber_slope(difference: Tensor, delta: float) -> Tensor:
    return difference.clamp(-delta, delta)


@composed(
    "huber_loss", "input target", "delta reduction", grads={
        "input": lambda g, input, target, delta, reduction: share(g, input, reduction) * _huber_slope(input - target, delta),
        "target": lambda g, input, target, delta, reduction: share(g, input, reduction) * _huber_slope(target - input, delta),
    },
)  # fmt: skip
def _huber(input: Tensor, target: Tensor, delta: float, reduction: str) -> Tensor:
    size = (input - target).abs()
    return reduce(where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta)), reduction)


@operator(spaces=FUNCTIONAL, method=False)
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), reduced. Raises RuntimeError for `delta` <= 0."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    a, b = _pair("huber_loss", input, target)
    if weight is None:
        return _huber(a, b, delta, reduction)
    if weight.shape != a.shape:
        raise ValueError("Weights and input must have the same size.")
    return reduce(_huber(a, b, delta, "none") * weight, reduction)


@operator(spaces=("nn.functional", "torch"), method=False)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """exp(input) - target input, or input - target log(input + eps); `full` adds Stirling's log(target!) where target
    > 1."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(loss, None, None, reduction)


@operator(spaces=FUNCTIONAL, method=False)
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """(log(var) + (input - target)^2 / var) / 2, with var of at least `eps`; `full` adds log(2 pi) / 2.

    `var` is a number or a tensor in the shape of the input, of its leading dimensions, or with a 1 in one of them.
    Raises ValueError for other shapes and negative variances.
    """
    if not isinstance(var, Tensor):
        var = input.detach() * 0 + var
    if not var._storage.backend.lifts and (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or sum(b for a, b in zip(input.shape, var.shape, strict=True) if a != b) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    # The bound shifts values, not gradients: those go to `var` as if nothing had been cut.
    var = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce(loss, reduction)
