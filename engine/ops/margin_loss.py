"""Losses of margins: between scores of classes, between pairs and triplets of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dispatch, dtypes
from ..state import state
from ..tensor import Tensor
from .composed import composed
from .declare import operator
from .distance import pairwise_distance
from .loss import FUNCTIONAL, legacy_reduction, reduce, reduce_loss
from .nonlinear import where


@operator(spaces=("nn.functional", "torch"), method=False)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1, reduced."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    zeros = input.detach() * 0
    apart = where(target == 1, zeros, (margin - input).clamp(min=0))
    same = where(target == -1, zeros, input)
    return reduce_loss(apart + same, None, None, reduction)


@operator(spaces=("nn.functional", "torch"), method=False)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target (input1 - input2) + margin), reduced. Raises RuntimeError for different numbers of dimensions."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduce_loss((-target * (input1 - input2) + margin).clamp_min(0), None, None, reduction)


@operator(spaces=("nn.functional", "torch"), method=False)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(input1, input2) where the target is 1, max(0, cos - margin) where it is -1, reduced."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.ndim == 1 and input1.ndim != 2:
        raise RuntimeError(
            f"1D target tensor expects 2D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    if target.ndim == 0 and input1.ndim != 1:
        raise RuntimeError(
            f"0D target tensor expects 1D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    tiny = 1e-12
    dot = (input1 * input2).sum(target.ndim)
    cos = dot / (((input1 * input1).sum(target.ndim) + tiny) * ((input2 * input2).sum(target.ndim) + tiny)).sqrt()
    zeros = cos.detach() * 0
    loss = where(target == 1, 1 - cos, zeros) + where(target == -1, (cos - margin).clamp_min(0), zeros)
    return reduce_loss(loss, None, None, reduction)


@operator(spaces=("nn.functional", "torch"), method=False)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), reduced, with the p-norm's distance d.

    `swap` takes the smaller of the negative's distances to both. Raises ValueError for a margin of 0 or less.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return _triplets(anchor, positive, negative, distance, margin, swap, reduction)


def _triplets(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduce_loss((margin + near - far).clamp_min(0), None, None, reduction)


@operator(spaces=FUNCTIONAL, method=False)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """The triplet loss with a distance of one's own. Raises ValueError for a margin of 0 or less."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    return _triplets(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


# -- margins between classes ------------------------------------------------------------------------


def _check_scores(input: Tensor) -> None:
    if input.ndim > 2 or (input.ndim and input.shape[-1] == 0):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )


def _rows(input: Tensor) -> Tensor:
    return input if input.ndim == 2 else input.reshape(1, -1)


def _multi_margin_terms(input: Tensor, target: Tensor, p: int, margin: float, weight: Tensor | None) -> Tensor:
    """The summands: one a class, 0 for the right one."""
    x = _rows(input)
    place = target.reshape(-1, 1)
    right = x.gather(1, place)
    slack = (margin - right + x).clamp_min(0)
    terms = slack if p == 1 else slack * slack
    if weight is not None:
        terms = terms * weight._take_flat(place)
    others = (x.detach() * 0 + 1).scatter(1, place, 0.0)
    return terms * others / x.shape[1]


def _multi_margin_slope(
    g: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, p: int, margin: float, reduction: str
) -> Tensor:
    x = _rows(input)
    place = target.reshape(-1, 1)
    slack = (margin - x.gather(1, place) + x).clamp_min(0)
    slope = (slack > 0).to(x.dtype) if p == 1 else 2 * slack
    if weight is not None:
        slope = slope * weight._take_flat(place)
    others = (x.detach() * 0 + 1).scatter(1, place, 0.0)
    slope = slope * others / x.shape[1]
    slope = slope - slope.sum(1, keepdim=True) * (1 - others)
    share = g.reshape(-1, 1) if reduction == "none" else g / x.shape[0] if reduction == "mean" else g
    return (share * slope).reshape(input.shape)


@composed(
    "multi_margin_loss", "input target weight", "p margin reduction", grads={
        "input": lambda g, input, target, weight, p, margin, reduction: _multi_margin_slope(
            g, input, target, weight, p, margin, reduction
        )
    },
)  # fmt: skip
def _multi_margin(
    input: Tensor, target: Tensor, weight: Tensor | None, p: int, margin: float, reduction: str
) -> Tensor:
    losses = _multi_margin_terms(input, target, p, margin, weight).sum(1)
    return reduce(losses if input.ndim == 2 else losses.reshape(target.shape), reduction)


@operator(spaces=FUNCTIONAL, method=False)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """sum over the other classes of max(0, margin - x[right] + x[other])^p / classes: input [N, C] (or [C]), target
    [N].

    Raises ValueError for `p` other than 1 and 2, RuntimeError for a class out of range.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    _check_scores(input)
    classes = input.shape[-1] if input.ndim else 1
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    rows = input.shape[0] if input.ndim == 2 else 1
    if target.ndim > 1 or target.numel() != rows:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            "size). "
            f"Expected target size [{rows}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {dispatch.type_name(target.dtype)}")
    if not state.modes and not target._storage.backend.lifts and ((target < 0) | (target >= classes)).any():
        raise RuntimeError("target out of range")
    return _multi_margin(input, target, weight, p, margin, reduction)


def _targets(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of scores, which classes are right ones, and how often each entry of the target counts."""
    x, t = _rows(input), _rows(target)
    # Only what stands before the first -1 counts.
    counts = (t < 0).to(t.dtype).cumsum(1) == 0
    places = where(counts, t, t * 0)
    right = (x.detach() * 0).scatter_add(1, places, counts.to(x.dtype)) > 0
    return places, right, counts


def _multilabel_slope(g: Tensor, input: Tensor, target: Tensor, reduction: str) -> Tensor:
    x = _rows(input)
    places, right, counts = _targets(input, target)
    active = _slack(x, places, right, counts) > 0
    slope = active.to(x.dtype) / x.shape[1]
    out = slope.sum(1)
    out = out.scatter_add(1, places, -slope.sum(2))
    share = g.reshape(-1, 1) if reduction == "none" else g / x.shape[0] if reduction == "mean" else g
    return (share * out).reshape(input.shape)


def _slack(x: Tensor, places: Tensor, right: Tensor, counts: Tensor) -> Tensor:
    """max(0, 1 - x[right label] + x[other]) for each row, label and other class."""
    picked = x.gather(1, places)
    slack = (1 - picked.unsqueeze(2) + x.unsqueeze(1)).clamp_min(0)
    return slack * (counts.unsqueeze(2) & ~right.unsqueeze(1)).to(x.dtype)


@composed(
    "multilabel_margin_loss", "input target", "reduction", backward="MultilabelMarginLoss", grads={
        "input": lambda g, input, target, reduction: _multilabel_slope(g, input, target, reduction)
    },
)  # fmt: skip
def _multilabel_margin(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    x = _rows(input)
    losses = _slack(x, *_targets(input, target)).sum((1, 2)) / x.shape[1]
    return reduce(losses if input.ndim == 2 else losses.reshape(()), reduction)


@operator(spaces=FUNCTIONAL, method=False)
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """sum over right and wrong classes of max(0, 1 - x[right] + x[wrong]) / classes: both [N, C] (or [C]).

    The target lists the right classes, ended by -1. Raises RuntimeError for different shapes.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    _check_scores(input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    classes = input.shape[-1] if input.ndim else 1
    if not state.modes and not target._storage.backend.lifts and ((target < -1) | (target >= classes)).any():
        raise RuntimeError("argument #2 'target' is out of range")
    return _multilabel_margin(input, target, reduction)
