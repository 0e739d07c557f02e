"""Losses as functions: nll_loss, cross_entropy, mse_loss, l1_loss."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..observe import bus
from ..shapes import broadcast_shapes
from ..state import state
from ..tensor import Tensor
from .activation import log_softmax
from .composed import composed
from .declare import operator
from .one_launch import unwatched
from .table import Op

FUNCTIONAL = ("nn.functional",)


def reduce(loss: Tensor, reduction: str) -> Tensor:
    """ "mean", "sum" or "none" of the elementwise losses. Raises ValueError for other words."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_reduction(size_average: Any, reduce: Any, reduction: str) -> str:
    """The word that the deprecated flags `size_average` and `reduce` stand for."""
    if size_average is None and reduce is None:
        return reduction
    warnings.warn("size_average and reduce args will be deprecated, please use reduction instead.", stacklevel=4)
    size_average, reduce = (True if flag is None else flag for flag in (size_average, reduce))
    if size_average and reduce:
        return "mean"
    return "sum" if reduce else "none"


def _picked(logs: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ignore: int) -> np.ndarray:
    keep = target != ignore
    safe = np.where(keep, target, 0)
    got = -np.take_along_axis(logs, safe[:, None], axis=1)[:, 0]
    if weight is not None:
        got = got * weight[safe]
    return np.where(keep, got, np.zeros((), got.dtype)).astype(logs.dtype, copy=False)


def _picked_backward(
    g: Tensor, target: Tensor, weight: Tensor | None, input_shape: tuple[int, ...], ignore_index: int
) -> Tensor:
    keep = target != ignore_index
    safe = target * keep.to(target.dtype)
    part = -g * keep.to(g.dtype)
    if weight is not None:
        part = part * weight._take_flat(safe)
    return g.new_zeros(input_shape).scatter_add(1, safe.unsqueeze(1), part.unsqueeze(1))


NLL_LOSS = Op(
    "nll_loss", "input target weight", "ignore_index", kind="index", cpu=_picked, backward="NllLoss",
    shape=lambda s, *_: (s[0], *s[2:]),
    grads={"input": _picked_backward},
)  # fmt: skip


@operator(spaces=("method",))
def _take_flat(self: Tensor, index: Tensor) -> Tensor:
    """The elements of a vector at integer places of any shape."""
    return self.index_select(0, index.reshape(-1)).reshape(index.shape)


@operator(spaces=FUNCTIONAL, method=False)
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log-probabilities of the target classes: input [N, C, ...] (or [C]), target [N, ...] of class
    numbers.

    "mean" weighs by `weight` [C]; targets equal to `ignore_index` do not count. Raises ValueError for other shapes,
    IndexError
    for a class out of range.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input.ndim == 1:
        out = nll_loss(input.unsqueeze(0), target.reshape(1), weight, None, ignore_index, None, reduction)
        return out.reshape(()) if reduction == "none" else out
    _check_classes(input, target, weight, ignore_index, reduction)
    return (_nll if input.ndim == 2 else _nll_2d)(input, target, weight, ignore_index, reduction)


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> None:
    """Raises what `nll_loss` raises for these arguments."""
    if input.ndim == 0 or target.ndim != input.ndim - 1:
        raise (
            RuntimeError("0D or 1D target tensor expected, multi-target not supported")
            if input.ndim == 2
            else ValueError(f"Expected target of {input.ndim - 1} dimensions (got {target.ndim})")
        )
    if input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
        )
    if tuple(target.shape[1:]) != tuple(input.shape[2:]):
        raise ValueError(f"Expected target size {[input.shape[0], *input.shape[2:]]}, got {list(target.shape)}")
    if target.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {dispatch.type_name(target.dtype)}")
    if input.dtype.category < dtypes.FLOATING:
        kernel = "nll_loss_out_frame" if input.ndim == 2 else "nll_loss2d_forward_out_frame"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dispatch.type_name(input.dtype)}'")
    classes = input.shape[1]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
    if target._is_host and target.numel():
        data = target._data
        bad = data[(data != ignore_index) & ((data < 0) | (data >= classes))]
        if bad.size:
            raise IndexError(f"Target {int(bad.flat[0])} is out of bounds.")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def _by_class(input: Tensor) -> Tensor:
    """[N, C, ...] as rows of classes."""
    return input if input.ndim == 2 else input.movedim(1, -1).reshape(-1, input.shape[1])


def _nll_formula(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> Tensor:
    if reduction != "none" and not (state.grad_enabled and input.requires_grad):
        quick = unwatched("nll_total", (input, target, weight), ignore_index, reduction)
        if quick is not None:
            return quick[0]
    where = target.reshape(-1)
    losses = dispatch.call(NLL_LOSS, (_by_class(input), where, weight), (ignore_index,))
    if reduction == "none":
        return losses.reshape(target.shape)
    total = losses.sum()
    return total if reduction == "sum" else total / _class_weights(where, weight, ignore_index, total.dtype).sum()


def _class_weights(target: Tensor, weight: Tensor | None, ignore_index: int, kind: Any) -> Tensor:
    """The weight of each target, 0 for those that do not count."""
    keep = target != ignore_index
    if weight is None:
        return keep.to(kind)
    return weight._take_flat(target * keep.to(target.dtype)) * keep.to(kind)


def _nll_backward(
    g: Tensor, target: Tensor, weight: Tensor | None, input_shape: tuple[int, ...], ignore_index: int, reduction: str
) -> Tensor:
    if not state.grad_enabled:
        quick = unwatched("nll_slope", (g, target, weight), tuple(input_shape), ignore_index, reduction)
        if quick is not None:
            return quick[0]
    where = target.reshape(-1)
    parts = _class_weights(where, weight, ignore_index, g.dtype)
    share = g.reshape(-1) if reduction == "none" else g / parts.sum() if reduction == "mean" else g
    keep = where != ignore_index
    picked = (where * keep.to(where.dtype)).unsqueeze(1)
    # A mean of nothing is undefined, but what is ignored has no part in it.
    each = (share * parts).masked_fill(~keep, 0)
    rows = g.new_zeros((where.shape[0], input_shape[1])).scatter_add(1, picked, -each.unsqueeze(1))
    if len(input_shape) == 2:
        return rows
    return rows.reshape(input_shape[0], *input_shape[2:], input_shape[1]).movedim(-1, 1)


_nll, _nll_2d = (
    composed(name, "input target weight", "ignore_index reduction", backward=node, grads={"input": _nll_backward})(
        _nll_formula
    )
    for name, node in (("nll_loss", "NllLoss"), ("nll_loss2d", "NllLoss2D"))
)


def _logits_backward(
    g: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, moments: Tensor, ignore_index: int, reduction: str
) -> Tensor:
    if not state.grad_enabled:
        quick = unwatched("cross_entropy_slope", (g, input, target, weight, moments), ignore_index, reduction)
        if quick is not None:
            return quick[0]
    by_logs = _nll_backward(g, target, weight, tuple(input.shape), ignore_index, reduction)
    return by_logs - log_softmax(input, 1).exp() * by_logs.sum(1, True)


@composed(
    "cross_entropy", "input target weight moments", "ignore_index reduction", grads={"input": _logits_backward},
    backward="NllLoss", overload=lambda tensors, statics: 0 if tensors[0].ndim == 2 else "NllLoss2DBackward0",
)  # fmt: skip
def _of_logits(
    input: Tensor, target: Tensor, weight: Tensor | None, moments: Tensor, ignore_index: int, reduction: str
) -> Tensor:
    made = unwatched("cross_entropy", (input, target, weight, moments), ignore_index, reduction)
    return (
        nll_loss(log_softmax(input, 1), target, weight, None, ignore_index, None, reduction)
        if made is None
        else made[0]
    )


LARGE = 1 << 20
"""Logits from this number on are not copied to logarithms where the device has a kernel for both steps and nobody watches."""


def _at_once(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> Tensor | None:
    """The loss without the logarithms in memory: less than half the memory and time; one node on the tape instead of two."""
    if (
        "row_moments" not in input._storage.backend.kernels
    ):  # asked first: sizes that are symbols are not compared in vain
        return None
    if input.ndim < 2 or input.numel() < LARGE or reduction not in ("mean", "sum") or bus.op or state.modes:
        return None
    moments = unwatched("row_moments", (input,))  # of each row of classes the maximum, and the logarithm of the sum
    if moments is None:
        return None
    _check_classes(input, target, weight, ignore_index, reduction)
    return _of_logits(input, target, weight, moments[0], ignore_index, reduction)


@operator(spaces=FUNCTIONAL, method=False)
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """log_softmax and nll_loss in one: input [N, C, ...] of logits, target class numbers [N, ...] or probabilities [N,
    C, ...].

    Raises ValueError or RuntimeError where shapes or dtypes do not fit.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = 0 if input.ndim == 1 else 1
    if label_smoothing == 0.0 and target.ndim == input.ndim - 1:
        made = _at_once(input, target, weight, ignore_index, reduction)
        if made is not None:
            return made
    logs = log_softmax(input, axis)
    if target.shape == input.shape and target.dtype.category >= dtypes.FLOATING:
        return _soft_cross_entropy(logs, target, weight, reduction, label_smoothing, axis)
    loss = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0.0:
        return loss
    weighted = logs if weight is None else logs * weight.reshape(*([-1] + [1] * (input.ndim - axis - 1)))
    keep = (target != ignore_index).to(logs.dtype)
    smooth = -weighted.sum(axis) * keep
    if reduction == "mean":
        if weight is None:
            smooth = smooth.sum() / keep.sum()
        else:
            safe = target * keep.to(target.dtype)
            smooth = smooth.sum() / (weight._take_flat(safe) * keep).sum()
    elif reduction == "sum":
        smooth = smooth.sum()
    share = label_smoothing / input.shape[axis]
    return loss * (1 - label_smoothing) + smooth * share


def _soft_cross_entropy(
    logs: Tensor, target: Tensor, weight: Any, reduction: str, smoothing: float, axis: int
) -> Tensor:
    classes = logs.shape[axis]
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    parts = logs * target
    if weight is not None:
        parts = parts * weight.reshape(*([-1] + [1] * (logs.ndim - axis - 1)))
    losses = -parts.sum(axis)
    if reduction == "mean":
        return losses.sum() / max(losses.numel(), 1)
    return reduce(losses, reduction)


def _pair(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
    shape = broadcast_shapes(input.shape, target.shape)
    return input.expand(*shape), target.expand(*shape)


def share(g: Tensor, of: Tensor, reduction: str) -> Tensor:
    """The gradient that reaches each elementwise loss."""
    return g / of.numel() if reduction == "mean" else g


def weighted(loss: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Elementwise losses times weights; their mean is over the weights. Raises ValueError for another shape."""
    if weight.shape != loss.shape:
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduce(loss, reduction)


@composed(
    "mse_loss", "input target", "reduction", grads={
        "input": lambda g, input, target, reduction: share(g, input, reduction) * (2 * (input - target)),
        "target": lambda g, input, target, reduction: share(g, input, reduction) * (2 * (target - input)),
    },
)  # fmt: skip
def _mse(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    difference = input - target
    return reduce(difference * difference, reduction)


@operator(spaces=FUNCTIONAL, method=False)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared differences, reduced. Raises ValueError for a weight of another shape."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    a, b = _pair("mse_loss", input, target)
    if weight is not None:
        return weighted((a - b) * (a - b), weight, reduction)
    return _mse(a, b, reduction)


@operator(spaces=FUNCTIONAL, method=False)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute differences, reduced. Raises ValueError for a weight of another shape."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    a, b = _pair("l1_loss", input, target)
    loss = (a - b).abs()
    return reduce_loss(loss, None, None, reduction) if weight is None else weighted(loss, weight, reduction)


def reduce_loss(loss: Tensor, size_average: Any, reduce_flag: Any, reduction: str) -> Tensor:
    """Reduce by the word, or by what the deprecated flags mean."""
    return reduce(loss, legacy_reduction(size_average, reduce_flag, reduction))
