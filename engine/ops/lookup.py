"""Rows of a table by number. Bags of rows stand in `embedding_bag.py`."""

from __future__ import annotations

from .. import dispatch, dtypes
from ..autograd.grad_mode import no_grad
from ..tensor import Tensor
from .composed import composed
from .declare import operator
from .distance import length
from .nonlinear import where


def row_counts(indices: Tensor, rows: int, like: Tensor) -> Tensor:
    """How often each row is looked up."""
    ones = like.new_ones((indices.numel(),))
    return like.new_zeros((rows,)).index_add(0, indices.reshape(-1), ones)


def _embedding_backward(
    g: Tensor, indices: Tensor, weight_shape: tuple[int, ...], padding: int, by_count: bool
) -> Tensor:
    flat = indices.reshape(-1)
    rows = g.reshape(flat.shape[0], *weight_shape[1:])
    if padding >= 0:
        rows = where((flat == padding).reshape(-1, *[1] * (rows.ndim - 1)), 0.0, rows)
    if by_count:
        counts = row_counts(flat, weight_shape[0], g).index_select(0, flat)
        rows = rows / counts.reshape(-1, *[1] * (rows.ndim - 1))
    return g.new_zeros(weight_shape).index_add(0, flat, rows)


@composed("embedding", "weight indices", "padding by_count", grads={"weight": _embedding_backward})
def _embedding(weight: Tensor, indices: Tensor, padding: int, by_count: bool) -> Tensor:
    return weight.index_select(0, indices.reshape(-1)).reshape(*indices.shape, *weight.shape[1:])


def check_indices(indices: Tensor, rows: int, name: str = "embedding") -> None:
    """Raises RuntimeError for a dtype that numbers no rows, IndexError for rows that are not there."""
    if indices.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{dispatch.type_name(indices.dtype)}Tensor instead (while checking arguments for {name})"
        )
    if indices._is_host and indices.numel():
        data = indices._data
        if data.min() < 0 or data.max() >= rows:
            raise IndexError("index out of range in self")


def _padding_row(padding_idx: int | None, rows: int) -> int:
    """The number of the padding row, -1 for none."""
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


@no_grad()
def shorten_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are looked up down to the given length, in place."""
    used = weight.detach().index_select(0, indices.reshape(-1))
    size = length(used, norm_type, 1, True)
    shorter = where(size > max_norm, used * (max_norm / (size + 1e-7)), used)
    weight.detach().index_copy_(0, indices.reshape(-1), shorter)


@operator(spaces=("nn.functional",), method=False)
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` [rows, ...] with the numbers in `input`; result [*input, ...].

    The row `padding_idx` gets no gradient. Rows longer than `max_norm` are shortened in place first. Raises IndexError
    for
    a number out of range.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    padding = _padding_row(padding_idx, weight.shape[0])
    check_indices(input, weight.shape[0])
    if max_norm is not None:
        shorten_rows(weight, input, max_norm, norm_type)
    return _embedding(weight, input, padding, scale_grad_by_freq)


@operator(name="embedding", method=False)
def embedding_of_weight(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """The rows of `weight` with the numbers in `indices`."""
    return embedding(indices, weight, None if padding_idx == -1 else padding_idx, None, 2.0, scale_grad_by_freq)
