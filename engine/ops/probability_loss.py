"""Losses of probabilities: binary cross entropy with and without logits, Kullback-Leibler, soft margins, CTC."""

from __future__ import annotations

import warnings
from typing import Any

from .. import dispatch, dtypes
from ..shapes import broadcast_shapes
from ..state import state
from ..tensor import Tensor
from .composed import composed
from .declare import operator
from .loss import FUNCTIONAL, legacy_reduction, reduce, reduce_loss, share
from .nonlinear import logsigmoid, where


def _bce_slope(input: Tensor, target: Tensor) -> Tensor:
    return (input - target) / (input * (1 - input)).clamp(min=1e-12)


def _times(g: Tensor, weight: Tensor | None) -> Tensor:
    return g if weight is None else g * weight


@composed(
    "binary_cross_entropy", "input target weight", "reduction", grads={
        "input": lambda g, input, target, weight, reduction: _times(share(g, input, reduction), weight)
        * _bce_slope(input, target),
        "target": lambda g, input, weight, reduction: _times(share(g, input, reduction), weight)
        * ((1 - input).log() - input.log()),
    },
)  # fmt: skip
def _bce(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    # The logarithms are cut at -100, so that a certain but wrong prediction costs a finite amount.
    loss = (target - 1) * (1 - input).log().clamp(min=-100) - target * input.log().clamp(min=-100)
    return reduce(_times(loss, weight), reduction)


@operator(spaces=FUNCTIONAL, method=False)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target log(input) + (1 - target) log(1 - input)), for probabilities.

    Raises ValueError where the shapes differ, RuntimeError for an input outside of [0, 1] or a target of another dtype.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if input.dtype.category < dtypes.FLOATING:
        raise NotImplementedError(f"\"binary_cross_entropy\" not implemented for '{dispatch.type_name(input.dtype)}'")
    if target.dtype is not input.dtype:
        raise RuntimeError(
            f"Found dtype {dispatch.type_name(target.dtype)} but expected {dispatch.type_name(input.dtype)}"
        )
    if weight is not None:
        weight = weight.expand(*broadcast_shapes(target.shape, weight.shape))
    # A function transform or a capture has no values to look at.
    if not state.modes and not input._storage.backend.lifts and not ((input >= 0) & (input <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    return _bce(input, target, weight, reduction)


def _bce_logits_slope(input: Tensor, target: Tensor, pos_weight: Tensor | None) -> Tensor:
    s = input.sigmoid()
    if pos_weight is None:
        return s - target
    t = pos_weight * target
    return (t + 1 - target) * s - t


@composed(
    "binary_cross_entropy_with_logits", "input target weight pos_weight", "reduction", grads={
        "input": lambda g, input, target, weight, pos_weight, reduction: _times(share(g, input, reduction), weight)
        * _bce_logits_slope(input, target, pos_weight),
        "target": lambda g, input, weight, pos_weight, reduction: _times(share(g, input, reduction), weight)
        * (-input if pos_weight is None else logsigmoid(-input) - pos_weight * logsigmoid(input)),
    },
)  # fmt: skip
def _bce_logits(
    input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: str
) -> Tensor:
    if pos_weight is None:
        loss = (1 - target) * input - logsigmoid(input)
    else:
        loss = (1 - target) * input - ((pos_weight - 1) * target + 1) * logsigmoid(input)
    return reduce(_times(loss, weight), reduction)


@operator(spaces=("nn.functional", "torch"), method=False)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of sigmoid(input); `pos_weight` weighs positive targets.

    Raises ValueError for other shapes.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return _bce_logits(input, target, weight, pos_weight, reduction)


@operator(spaces=FUNCTIONAL, method=False)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target (log(target) - input), for log-probabilities `input`; with `log_target`, `target` are such, too.

    "batchmean" divides the sum by the number of rows, which is the mathematical definition.
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
            "divides only "
            "by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same "
            "as "
            "'batchmean' in the next major release.",
            stacklevel=2,
        )
    if log_target:
        loss = target.exp() * (target - input)
    else:
        from . import functions as F

        loss = F.xlogy(target, target) - target * input
    if reduction == "batchmean":
        total = loss.sum()
        return total / input.shape[0] if input.ndim else total
    return reduce_loss(loss, None, None, reduction)


def _soft_margin_slope(input: Tensor, target: Tensor) -> Tensor:
    return -target * (-target * input).sigmoid()


@composed(
    "soft_margin_loss", "input target", "reduction", grads={
        "input": lambda g, input, target, reduction: share(g, input, reduction) * _soft_margin_slope(input, target),
    },
)  # fmt: skip
def _soft_margin(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    return reduce((-target * input).exp().log1p(), reduction)


@operator(spaces=FUNCTIONAL, method=False)
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-target input)), for targets 1 and -1, reduced."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    shape = broadcast_shapes(input.shape, target.shape)
    return _soft_margin(input.expand(*shape), target.expand(*shape), reduction)


@operator(spaces=FUNCTIONAL, method=False)
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of sigmoid(input), averaged over the classes (the last dimension), reduced over the rest."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = _times(loss, weight).sum(dim=-1) / input.shape[-1]
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    return reduce_loss(loss, None, None, reduction)


@operator(spaces=("nn.functional", "torch"), method=False)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification (Graves et al., 2006): the negative log-likelihood of label sequences.

    log_probs [T, N, C] (or [T, C]); targets [N, S], or all of them one after the other; lengths of each. "mean"
    divides each
    loss by its target's length. The recursion runs over time; batch and labels are one operation.
    """
    from .. import tensor

    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    steps, rows, classes = log_probs.shape
    times, sizes = ([int(v) for v in (x.reshape(-1).tolist() if isinstance(x, Tensor) else x if isinstance(x, (list, tuple)) else [x])]
                    for x in (input_lengths, target_lengths))  # fmt: skip
    if len(times) != rows or len(sizes) != rows:
        raise RuntimeError("input_lengths must be of size batch_size")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    if any(t > steps or t < 0 for t in times):
        raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {max(times)}")
    flat = targets.reshape(-1).tolist()
    width = targets.shape[1] if targets.ndim == 2 else 0
    labels, at = [], 0
    for n, size in enumerate(sizes):
        begin = n * width if targets.ndim == 2 else at
        labels.append([int(v) for v in flat[begin : begin + size]])
        at += size
    longest = max(sizes, default=0)
    # Between and around the labels stand blanks: b a b b b c b.
    spread = [[blank, *[v for label in row for v in (label, blank)]] for row in labels]
    places = [row + [blank] * (2 * longest + 1 - len(row)) for row in spread]
    index = tensor(places, device=log_probs.device)
    skips = tensor(
        [[i > 1 and i % 2 == 1 and row[i] != row[i - 2] for i in range(2 * longest + 1)] for row in places],
        device=log_probs.device,
    )
    emitted = log_probs.gather(2, index.unsqueeze(0).expand(steps, *index.shape))
    never = float("-inf")
    start = tensor(
        [[i < 2 and i < 2 * size + 1 for i in range(2 * longest + 1)] for size in sizes], device=log_probs.device
    )
    alpha = emitted[0].masked_fill(~start, never)
    last = [alpha]
    for t in range(1, steps):
        stay, one, two = alpha, _shifted(alpha, 1), _shifted(alpha, 2).masked_fill(~skips, never)
        alpha = _log_sum(stay, one, two) + emitted[t]
        last.append(alpha)
    ends = []
    for n, (time, size) in enumerate(zip(times, sizes, strict=True)):
        row = last[time - 1][n]
        ends.append(_log_sum(row[2 * size], row[2 * size - 1], row[2 * size] * 0 + never) if size else row[0])
    from . import functions as F

    losses = -F.stack(ends)
    # PyTorch's gradient takes for granted that log_probs come from log_softmax, and adds what that would cancel.
    valid = tensor([[t < time for time in times] for t in range(steps)], device=log_probs.device)
    mass = (log_probs.exp() * valid.unsqueeze(2).to(log_probs.dtype)).sum((0, 2))
    losses = losses + (mass - mass.detach())
    if zero_infinity:
        losses = where(losses == float("inf"), 0.0, losses)
    if reduction == "mean":
        return (losses / tensor([max(s, 1) for s in sizes], device=losses.device).to(losses.dtype)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses[0] if single else losses


def _shifted(alpha: Tensor, by: int) -> Tensor:
    """Moved to the right by `by` places, with impossible states coming in."""
    from . import functions as F

    if alpha.shape[1] <= by:
        return alpha * 0 + float("-inf")
    return F.cat([alpha.new_full((alpha.shape[0], by), float("-inf")), alpha[:, :-by]], 1)


def _log_sum(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """log(exp(a) + exp(b) + exp(c)), -inf (with gradients of 0) where all of them are."""
    most = a.detach().maximum(b.detach()).maximum(c.detach())
    most = where(most == float("-inf"), 0.0, most)
    total = (a - most).exp() + (b - most).exp() + (c - most).exp()
    impossible = total.detach() == 0
    return where(impossible, float("-inf"), where(impossible, 1.0, total).log() + most)
