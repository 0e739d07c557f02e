"""Triangles and diagonals of matrices: tril, triu and their indices, diag, diag_embed, diagflat, fill_diagonal_.

`diagonal`, which is a view, stands in `views.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import as_int, wrap_dim
from ..tensor import Tensor
from . import creation
from .declare import operator, tensor_argument
from .table import Op

TRIL = Op("tril", "input", "diagonal", kind="linalg", cpu=np.tril, shape=lambda s, _: s,
          grads={"input": lambda g, diagonal: g.tril(diagonal)})  # fmt: skip
TRIU = Op("triu", "input", "diagonal", kind="linalg", cpu=np.triu, shape=lambda s, _: s,
          grads={"input": lambda g, diagonal: g.triu(diagonal)})  # fmt: skip


def _triangle(op: Op, input: Tensor, diagonal: Any) -> Tensor:
    tensor_argument(op.name, "input", 1, input)
    if input.ndim < 2:
        raise RuntimeError(f"{op.name}: input tensor must have at least 2 dimensions")
    return dispatch.call(op, (input,), (as_int(diagonal),))


@operator(inplace=True, out=True)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices with zeros above a diagonal. Raises RuntimeError for less than two dimensions."""
    return _triangle(TRIL, input, diagonal)


@operator(inplace=True, out=True)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices with zeros below a diagonal. Raises RuntimeError for less than two dimensions."""
    return _triangle(TRIU, input, diagonal)


def _triangle_indices(name: str, found: Any, row: int, col: int, offset: int, dtype: Any, device: Any) -> Tensor:
    if row < 0 or col < 0:
        which, size = ("row", row) if row < 0 else ("col", col)
        raise RuntimeError(f"{which} must be non-negative, got{size}")
    kind = dtype or dtypes.int64
    if kind not in (dtypes.int64, dtypes.int32):
        raise NotImplementedError(f"\"{name}\" not implemented for '{dispatch.type_name(kind)}'")
    return creation.from_numpy(np.stack(found(row, offset, col)).astype(kind.numpy)).to(
        device or creation.zeros(0).device
    )


@operator(method=False)
def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Rows and columns of the elements of a [row, col] matrix on and below a diagonal, as [2, n]."""
    return _triangle_indices("tril_indices", np.tril_indices, row, col, offset, dtype, device)


@operator(method=False)
def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Rows and columns of the elements of a [row, col] matrix on and above a diagonal, as [2, n]."""
    return _triangle_indices("triu_indices", np.triu_indices, row, col, offset, dtype, device)


# -- diagonals ----------------------------------------------------------------------------------


def _embedded_shape(shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> tuple[int, ...]:
    size = shape[-1] + abs(offset)
    rest = iter(shape[:-1])
    return tuple(size if d in (dim1, dim2) else next(rest) for d in range(len(shape) + 1))


def _diag_embed(x: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    out = np.zeros(_embedded_shape(x.shape, offset, dim1, dim2), x.dtype)
    line = np.diagonal(out, offset, dim1, dim2)
    line.flags.writeable = True
    line[...] = x
    return out


DIAG_EMBED = Op(
    "diag_embed", "input", "offset dim1 dim2", kind="index", cpu=_diag_embed, shape=_embedded_shape,
    grads={"input": lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2)},
)  # fmt: skip


@operator()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices (in the planes of two dimensions) with the last dimension of `input` on a diagonal and zeros elsewhere."""
    if input.ndim == 0:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    a, b = wrap_dim(dim1, input.ndim + 1), wrap_dim(dim2, input.ndim + 1)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return dispatch.call(DIAG_EMBED, (input,), (offset, a, b))


@operator(out=True)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix with a vector on a diagonal, or the (copied) diagonal of a matrix. Raises RuntimeError for other ranks."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return input.diagonal(diagonal).clone()


@operator()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of `input` on a diagonal."""
    return diag_embed(input.reshape(-1), offset)


@operator(spaces=("method",))
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal in place; with `wrap`, the diagonal of a tall matrix begins again after each square.

    Raises RuntimeError for less than two dimensions, and for more unless all sizes are equal.
    """
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    size = min(self.shape)
    start = self.storage_offset()
    self.as_strided((size,), (step,), start).fill_(fill_value)
    rows, columns = self.shape[0], self.shape[1]
    if wrap and self.ndim == 2 and rows > columns + 1:
        rest = -(-self.numel() // (columns + 1)) - size
        self.as_strided((rest,), (step,), start + self.stride(0) * (columns + 1)).fill_(fill_value)
    return self
