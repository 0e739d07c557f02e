"""Rows of a table by number: `embedding`, and bags of them summed, averaged or compared."""

from __future__ import annotations

from .. import dispatch, dtypes
from ..autograd.grad_mode import no_grad
from ..tensor import Tensor
from .composed import composed
from .declare import operator
from .distance import length
from .nonlinear import where


def _counts(indices: Tensor, rows: int, like: Tensor) -> Tensor:
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
        counts = _counts(flat, weight_shape[0], g).index_select(0, flat)
        rows = rows / counts.reshape(-1, *[1] * (rows.ndim - 1))
    return g.new_zeros(weight_shape).index_add(0, flat, rows)


@composed("embedding", "weight indices", "padding by_count", grads={"weight": _embedding_backward})
def _embedding(weight: Tensor, indices: Tensor, padding: int, by_count: bool) -> Tensor:
    return weight.index_select(0, indices.reshape(-1)).reshape(*indices.shape, *weight.shape[1:])


def _check_indices(indices: Tensor, rows: int) -> None:
    if indices.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{dispatch.type_name(indices.dtype)}Tensor instead (while checking arguments for embedding)"
        )
    if indices.is_cpu and indices.numel():
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
def _shorten(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
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
    padding = _padding_row(padding_idx, weight.shape[0])
    _check_indices(input, weight.shape[0])
    if max_norm is not None:
        _shorten(weight, input, max_norm, norm_type)
    return _embedding(weight, input, padding, scale_grad_by_freq)


@operator(name="embedding", method=False)
def embedding_of_weight(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """The rows of `weight` with the numbers in `indices`."""
    return embedding(indices, weight, None if padding_idx == -1 else padding_idx, None, 2.0, scale_grad_by_freq)


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

    Raises ValueError for arguments that contradict each other.
    """
    from . import functions as F

    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            "same "
            f"shape as the input ({input.shape})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                "sequences. "
                f"However, found offsets of type {type(offsets)}"
            )
        bags, size = input.shape
        begins = [i * size for i in range(bags)]
    elif input.ndim == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        begins = [int(v) for v in offsets.tolist()]
        if include_last_offset:
            begins = begins[:-1]
        if begins and begins[0] != 0:
            raise ValueError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0."
            )
        bags = len(begins)
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode != "sum" and per_sample_weights is not None:
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    flat = input.reshape(-1)
    _check_indices(flat, weight.shape[0])
    padding = _padding_row(padding_idx, weight.shape[0])
    if max_norm is not None:
        _shorten(weight, flat, max_norm, norm_type)
    ends = [*begins[1:], flat.shape[0]]
    owners = [bag for bag, (a, b) in enumerate(zip(begins, ends, strict=True)) for _ in range(a, b)]
    numbers = flat.tolist()
    kept = [i for i, n in enumerate(numbers) if n != padding]
    keep = F.tensor(kept, dtype=dtypes.int64, device=flat.device)
    owner = F.tensor([owners[i] for i in kept], dtype=dtypes.int64, device=flat.device)
    rows = _embedding(weight, flat.index_select(0, keep), -1, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1).index_select(0, keep).unsqueeze(1)
    empty = weight.new_zeros((bags, weight.shape[1]))
    if mode == "max":
        return empty.index_reduce(0, owner, rows, "amax", include_self=False)
    total = empty.index_add(0, owner, rows)
    if mode == "sum":
        return total
    sizes = weight.new_zeros((bags,)).index_add(0, owner, weight.new_ones((len(kept),)))
    return total / sizes.clamp(min=1).unsqueeze(1)
