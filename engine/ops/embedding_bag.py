"""Bags of rows of a table, summed, averaged or compared: `embedding_bag`.

A bag is a run of row numbers; `owner` says of each number to which bag it belongs. On the CPU runs are reduced at once.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import numel
from ..tensor import Tensor
from .composed import composed
from .declare import operator
from .kernels import has_kernel
from .lookup import check_indices, row_counts, shorten_rows
from .table import Op

_MODES = ("sum", "mean", "max")


# -- kernel and formula ---------------------------------------------------------------------------


def _reduced(
    weight: np.ndarray, indices: np.ndarray, owner: np.ndarray, scale: np.ndarray | None, bags: int, mode: str, by_count: bool
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The reduced bags; for "max" also which row each element came from, -1 for none."""
    rows = np.take(weight, indices, 0)
    if scale is not None:
        rows *= scale[:, None]
    columns = weight.shape[1]
    out = np.zeros((bags, columns), weight.dtype)
    which = np.full((bags, columns) if mode == "max" else (0,), -1, np.int64)
    if not rows.size:
        return out, which
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    used = owner[starts]
    if mode == "max":
        best = np.maximum.reduceat(rows, starts, 0)
        out[used] = best
        lengths = np.diff(starts, append=len(owner))
        hit = (rows == np.repeat(best, lengths, 0)) | np.isnan(rows)
        place = np.where(hit, np.arange(len(owner))[:, None], len(owner))
        which[used] = indices[np.minimum.reduceat(place, starts, 0)]
        return out, which
    wide = rows.astype(np.float32) if rows.dtype == np.float16 else rows
    total = np.add.reduceat(wide, starts, 0)
    if mode == "mean":
        total /= np.diff(starts, append=len(owner)).astype(total.dtype)[:, None]
    out[used] = total
    return out, which


def _weight_slope(
    g: Any, weight_shape: tuple[int, ...], indices: Tensor, owner: Tensor, scale: Tensor | None, results: Any, bags: int, mode: str,
    by_count: bool,
) -> Tensor:  # fmt: skip
    from .nonlinear import where

    given = g[0]
    zeros = given.new_zeros(weight_shape)
    if mode == "max":
        which = results[1]
        return zeros.scatter_add(0, which.clamp(min=0), where(which >= 0, given, 0.0))
    rows = given.index_select(0, owner)
    if mode == "mean":
        rows = rows / row_counts(owner, bags, given).index_select(0, owner).unsqueeze(1)
    if scale is not None:
        rows = rows * scale.unsqueeze(1)
    if by_count:
        rows = rows / row_counts(indices, weight_shape[0], given).index_select(0, indices).unsqueeze(1)
    return zeros.index_add(0, indices, rows)


def _scale_slope(g: Any, weight: Tensor, indices: Tensor, owner: Tensor) -> Tensor:
    return (g[0].index_select(0, owner) * weight.index_select(0, indices)).sum(1)


_GRADS: dict[str | tuple[str, ...], Any] = {"weight": _weight_slope, "scale": _scale_slope}
_TENSORS, _STATICS = "weight indices owner scale", "bags mode by_count"
EMBEDDING_BAG = Op(
    "embedding_bag", _TENSORS, _STATICS, kind="index", cpu=_reduced, multi=True, grads=_GRADS,
    dtype=lambda weight, *_: (weight._dtype, dtypes.int64),
    shape=lambda w, i, o, s, bags, mode, by_count: [(bags, w[1]), (bags, w[1]) if mode == "max" else (0,)],
)  # fmt: skip


@composed("embedding_bag", _TENSORS, _STATICS, multi=True, grads=_GRADS)
def _formula(
    weight: Tensor, indices: Tensor, owner: Tensor, scale: Tensor | None, bags: int, mode: str, by_count: bool
) -> tuple[Tensor, Tensor]:
    from . import functions as F

    rows = weight.index_select(0, indices)
    if scale is not None:
        rows = rows * scale.unsqueeze(1)
    empty = weight.new_zeros((bags, weight.shape[1]))
    none = F.zeros((0,), dtype=dtypes.int64, device=weight.device)
    if mode == "max":
        best = empty.index_reduce(0, owner, rows.detach(), "amax", include_self=False)
        hit = rows.detach() == best.index_select(0, owner)
        place = F.arange(indices.shape[0], device=weight.device).unsqueeze(1).expand(*rows.shape)
        last = F.where(hit, place, indices.shape[0])
        first = last.new_full(best.shape, indices.shape[0]).index_reduce(0, owner, last, "amin", include_self=False)
        found = first < indices.shape[0]
        safe = F.where(found, first, 0)
        picked = rows.gather(0, safe) if rows.shape[0] else empty
        which = F.where(
            found, indices.index_select(0, safe.reshape(-1)).reshape(safe.shape) if rows.shape[0] else safe, -1
        )
        return F.where(found, picked, 0.0), which
    total = empty.index_add(0, owner, rows)
    if mode == "mean":
        total = total / row_counts(owner, bags, weight).clamp(min=1).unsqueeze(1)
    return total, none


# -- functions ------------------------------------------------------------------------------------


def _integers(values: np.ndarray, like: Tensor) -> Tensor:
    from .creation import from_numpy

    return from_numpy(np.ascontiguousarray(values, np.int64)).to(like.device)


def _starts(input: Tensor, offsets: Tensor, include_last: bool) -> np.ndarray:
    """Where the bags of a flat input begin. Raises RuntimeError where they begin nowhere."""
    begins = offsets.detach()._host()
    if begins.size and begins[0] != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {begins[0]}"
        )
    if begins.size and begins[-1] > input.shape[0]:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {input.shape[0]} but got offsets[-1] of {begins[-1]}"
        )
    return begins[:-1] if include_last else begins


def _check_rows(indices: np.ndarray, rows: int) -> None:
    bad = np.flatnonzero((indices < 0) | (indices >= rows))
    if bad.size:
        raise RuntimeError(
            f"Index {bad[0]} of input takes value {indices[bad[0]]} which is not in the valid range [0, {rows})"
        )


def _bags(
    weight: Tensor, flat: Tensor, begins: np.ndarray, mode: str, by_count: bool, scale: Tensor | None, padding: int | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """The reduced bags, the owners of all row numbers, the sizes of the bags, and the rows chosen by "max"."""
    if flat.dtype not in (dtypes.int64, dtypes.int32):
        check_indices(flat, weight.shape[0], "embedding_bag")
    rows = weight.shape[0]
    if padding is not None:
        if not -rows <= padding < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding}"
            )
        padding %= rows
    if scale is not None and scale._dtype is not weight._dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but type "
            f"torch.{dispatch.type_name(weight._dtype)}Tensor does not equal torch.{dispatch.type_name(scale._dtype)}Tensor (while "
            "checking arguments for embedding_bag)"
        )
    numbers = flat.detach()._host()
    _check_rows(numbers, rows)
    count = len(begins)
    owners = np.repeat(np.arange(count), np.diff(begins, append=numbers.size)) if count else np.zeros(0, np.int64)
    indices, kept = flat.to(dtypes.int64), owners
    if padding is not None and (numbers == padding).any():
        keep = np.flatnonzero(numbers != padding)
        kept = owners[keep]
        at = _integers(keep, flat)
        indices = indices.index_select(0, at)
        scale = None if scale is None else scale.index_select(0, at)
    owner = _integers(kept, flat)
    tensors, statics = (weight, indices, owner, scale), (count, mode, bool(by_count))
    made = (
        dispatch.call(EMBEDDING_BAG, tensors, statics)
        if has_kernel(EMBEDDING_BAG, weight)
        else _formula(*tensors, *statics)
    )
    sizes = np.bincount(kept, minlength=count) if mode != "sum" else np.zeros(count)
    return made[0], _integers(owners, flat), _integers(sizes, flat), made[1]


@operator(spaces=("nn.functional",), method=False)
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Rows of `weight` by number, reduced ("sum", "mean", "max") over each bag: input [B, N], or all bags one after the
    other with the `offsets` at which they begin. The result is [B, columns].

    Numbers equal to `padding_idx` do not count. Raises ValueError, RuntimeError or NotImplementedError for arguments that contradict
    each other.
    """
    if weight.dtype is dtypes.int64 and input.dtype.is_floating_point:
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, and "
            "should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=3,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as the "
            f"input ({input.shape})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, "
                f"found offsets of type {type(offsets)}"
            )
        begins = np.arange(input.shape[0]) * input.shape[1]
    elif input.ndim == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        begins = _starts(input, offsets, include_last_offset)
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode != "sum" and per_sample_weights is not None:
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    flat = input.reshape(numel(input.shape))
    if max_norm is not None:
        check_indices(flat, weight.shape[0], "embedding_bag")
        shorten_rows(weight, flat, max_norm, norm_type)
    scale = None if per_sample_weights is None else per_sample_weights.reshape(flat.shape)
    return _bags(weight, flat, begins, mode, scale_grad_by_freq, scale, padding_idx)[0]


@operator(name="embedding_bag", method=False)
def embedding_bag_of_weight(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """`nn.functional.embedding_bag` of a flat input, `mode` being 0 (sum), 1 (mean) or 2 (max).

    Returns the bags, the bag of each row number, the sizes of the bags (for mean and max), and the rows that max chose.
    """
    padding = None if padding_idx is None or padding_idx < 0 else padding_idx
    begins = _starts(indices, offsets, include_last_offset)
    out, owner, sizes, which = _bags(
        weight, indices, begins, _MODES[mode], scale_grad_by_freq, per_sample_weights, padding
    )
    return out, owner, sizes, which.clamp(min=0) if mode == 2 else sizes
