"""Finding: distinct elements, places in sorted sequences, membership, counts by value and by bin."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import wrap_dim
from ..tensor import Tensor
from . import functions as F
from .declare import operator, tensor_argument
from .table import Op

# -- distinct elements --------------------------------------------------------------------------


def _firsts(rows: np.ndarray) -> np.ndarray:
    """Which rows differ from the one before; NaN differs from everything."""
    new = np.ones(len(rows), bool)
    different = rows[1:] != rows[:-1]
    new[1:] = different.any(axis=tuple(range(1, rows.ndim)))
    return new


def _distinct(rows: np.ndarray, consecutive: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows (in order, unless consecutive), which one each row is, and how often each occurs."""
    n = len(rows)
    if consecutive or n == 0:
        order = np.arange(n)
    elif rows.ndim == 1:
        order = np.argsort(rows, kind="stable")
    else:
        flat = rows.reshape(n, -1)
        order = np.lexsort(flat.T[::-1]) if flat.shape[1] else np.arange(n)
    rows = rows[order]
    new = _firsts(rows)
    which = np.empty(n, np.int64)
    which[order] = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    return rows[starts], which, np.diff(np.append(starts, n))


def _unique(x: np.ndarray, dim: int | None, consecutive: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if dim is None:
        values, which, counts = _distinct(x.reshape(-1), consecutive)
        return values, which.reshape(x.shape), counts
    values, which, counts = _distinct(np.moveaxis(x, dim, 0), consecutive)
    return np.ascontiguousarray(np.moveaxis(values, 0, dim)), which, counts


UNIQUE = Op(
    "unique", "input", "dim consecutive", kind="custom", multi=True, cpu=_unique,
    dtype=lambda t, *_: (t._dtype, dtypes.int64, dtypes.int64),
)  # fmt: skip


def _found(name: str, input: Tensor, dim: int | None, consecutive: bool, inverse: bool, counts: bool) -> Any:
    if tensor_argument(name, "input", 1, input).dtype.is_complex:
        raise NotImplementedError(f"\"unique\" not implemented for '{dispatch.type_name(input.dtype)}'")
    if dim is not None:
        dim = wrap_dim(dim, input.ndim)
        empty = [i for i, n in enumerate(input.shape) if n == 0]
        if empty and empty != [dim]:
            raise RuntimeError(
                f"{name}: There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
            )
        if input.ndim == 0:
            raise RuntimeError(f"{name}: dim cannot be given for a 0-d tensor")
    values, which, how_often = dispatch.call(UNIQUE, (input.detach(),), (dim, consecutive))
    out = (values, *([which] if inverse else []), *([how_often] if counts else []))
    return out if len(out) > 1 else values


@operator()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or parts along `dim`) in order; on demand which of them each one is, and how often they occur."""
    return _found("unique", input, dim, False, return_inverse, return_counts)


@operator()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or parts along `dim`) without those equal to the one before; on demand as `unique`."""
    return _found("unique_consecutive", input, dim, True, return_inverse, return_counts)


# -- places in sorted sequences -----------------------------------------------------------------


def _search(sequence: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    side = "right" if right else "left"
    kind = np.result_type(sequence, values)
    if sequence.ndim == 1:
        return np.asarray(
            np.searchsorted(sequence.astype(kind, copy=False), values.astype(kind, copy=False), side), np.int64
        )
    # Rows at once: sort each row together with the values asked for, and count the row's elements before each of those.
    m, n = values.shape[-1], sequence.shape[-1]
    rows = np.concatenate([sequence, values] if right else [values, sequence], axis=-1).astype(kind, copy=False)
    order = np.argsort(rows, axis=-1, kind="stable")
    of_sequence = order < n if right else order >= m
    passed = np.cumsum(of_sequence, axis=-1)
    places = np.empty(rows.shape, np.int64)
    np.put_along_axis(places, order, passed, axis=-1)
    return np.ascontiguousarray(places[..., n:] if right else places[..., :m])


SEARCH = Op(
    "searchsorted", "sorted_sequence values", "right", kind="custom", cpu=_search, dtype=lambda *_: dtypes.int64,
    shape=lambda sequence, values, right: values,
)  # fmt: skip


def _to_right(side: str | None, right: bool) -> bool:
    if side is None:
        return bool(right)
    if side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    return side == "right"


def _given_values(input: Any, sequence: Tensor) -> Tensor:
    return input.detach() if isinstance(input, Tensor) else F.tensor(input, device=sequence.device)


def _narrowed(out: Tensor, out_int32: bool) -> Tensor:
    return out.to(dtypes.int32) if out_int32 else out


def _ordered(label: str, *tensors: Tensor) -> None:
    for t in tensors:
        if t.dtype.is_complex or t.dtype.category == dtypes.BOOL:
            raise NotImplementedError(f"\"{label}\" not implemented for '{dispatch.type_name(t.dtype)}'")


@operator(method=False, out=True)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Tensor:
    """Where elements of `input` belong in the rows of a sorted sequence: before equal ones, or behind them where `right`.

    `sorter` gives the order of an unsorted sequence. Raises RuntimeError for shapes that do not go together.
    """
    after = _to_right(side, right)
    sequence, values = tensor_argument("searchsorted", "sorted_sequence", 1, sorted_sequence).detach(), input
    if not isinstance(input, Tensor) and sequence.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor "
            f"dim({sequence.ndim}) and input value's dim(0) numel(1)"
        )
    values = _given_values(input, sequence)
    if sequence.ndim == 0:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    _ordered("searchsorted_out_cpu", sequence, values)
    if sequence.ndim != 1 and (sequence.ndim != values.ndim or sequence.shape[:-1] != values.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
            f"value tensor must match, but we got boundaries tensor {list(sequence.shape)} and input value tensor {list(values.shape)}"
        )
    if sorter is not None:
        if sorter.shape != sequence.shape:
            raise RuntimeError(
                f"torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {list(sequence.shape)} and "
                f"got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype is not dtypes.int64:
            raise RuntimeError(
                f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {dispatch.type_name(sorter.dtype)}"
            )
        if sorter.numel() and (int(sorter.min().item()) < 0 or int(sorter.max().item()) >= sorter.shape[-1]):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        sequence = sequence.gather(-1, sorter)
    return _narrowed(dispatch.call(SEARCH, (sequence, values), (after,)), out_int32)


@operator(method=False, out=True)
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the bucket between sorted `boundaries` that each element is in."""
    edges = tensor_argument("bucketize", "boundaries", 2, boundaries)
    if edges.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({edges.ndim})")
    values = _given_values(input, edges)
    _ordered("bucketize_cpu", edges, values)
    return _narrowed(dispatch.call(SEARCH, (edges.detach(), values), (bool(right),)), out_int32)


# -- membership ---------------------------------------------------------------------------------

ISIN = Op(
    "isin", "elements test_elements", "invert", kind="custom", dtype=lambda *_: dtypes.bool_, shape=lambda e, t, invert: e,
    cpu=lambda e, t, invert: np.asarray(np.isin(e, t, invert=invert)),
)  # fmt: skip


@operator(method=False, out=True)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is one of `test_elements` (or is none of them, with `invert`)."""
    given = [v for v in (elements, test_elements) if isinstance(v, Tensor)]
    if not given:
        raise TypeError(
            "isin() received an invalid combination of arguments - elements or test_elements must be a Tensor"
        )
    a, b = (
        v.detach() if isinstance(v, Tensor) else F.tensor(v, device=given[0].device) for v in (elements, test_elements)
    )
    kind = dispatch.result_type(elements, test_elements)
    if kind.is_complex or kind.category == dtypes.BOOL:
        raise RuntimeError(f"Unsupported input type encountered for isin(): {dispatch.type_name(kind)}")
    return dispatch.call(ISIN, (a.to(kind), b.to(kind)), (bool(invert),))
