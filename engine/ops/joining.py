"""Putting tensors together: `cat`, `stack` and their relatives; products and combinations of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dispatch
from ..shapes import Size, broadcast_shapes, wrap_dim
from ..tensor import Tensor
from . import creation
from .arranging import meshgrid
from .declare import operator
from .table import Op


def _shape(shapes: Sequence[tuple[int, ...]], dim: int) -> tuple[int, ...]:
    first = shapes[0]
    return (*first[:dim], sum(s[dim] for s in shapes), *first[dim + 1 :])


def _cat_backward(g: Tensor, tensors_shape: list[tuple[int, ...]], dim: int) -> list[Tensor]:
    out, start = [], 0
    for shape in tensors_shape:
        out.append(g.narrow(dim, start, shape[dim]))
        start += shape[dim]
    return out


CAT = Op(
    "cat", "*tensors", "dim", kind="index", cpu=lambda arrays, dim: np.concatenate(arrays, axis=dim), shape=_shape,
    grads={"tensors": _cat_backward},
)  # fmt: skip


def _sequence(name: str, tensors: Any) -> list[Any]:
    if isinstance(tensors, Tensor) or not hasattr(tensors, "__iter__"):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    return list(tensors)


STACK = Op(
    "stack", "*tensors", "dim", kind="index", cpu=lambda arrays, dim: np.stack(arrays, axis=dim),
    shape=lambda shapes, dim: (*shapes[0][:dim], len(shapes), *shapes[0][dim:]),
    grads={"tensors": lambda g, tensors_shape, dim: [g.select(dim, i) for i in range(len(tensors_shape))]},
)  # fmt: skip


@operator(method=False, out=True, aliases=("concat", "concatenate"))
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after another along `dim`; they must agree in the other sizes. Raises RuntimeError otherwise."""
    parts = _sequence("cat", tensors)
    if not parts:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(parts):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
        if t.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    parts = [t for t in parts if tuple(t.shape) != (0,)] or parts[:1]
    at = wrap_dim(dim, parts[0].ndim)
    kind = dispatch.result_type(*parts)
    for i, t in enumerate(parts[1:], 1):
        if t.ndim != parts[0].ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {parts[0].ndim} and {t.ndim}")
        for d in range(t.ndim):
            if d != at and t.shape[d] != parts[0].shape[d]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {at}. Expected size {parts[0].shape[d]} but got size {t.shape[d]} "
                    f"for tensor number {i} in the list."
                )
    parts = [t if t._dtype is kind else t.to(kind) for t in parts]
    return dispatch.call(CAT, tuple(parts), (at,))


@operator(method=False, out=True)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape along a new dimension. Raises RuntimeError where the shapes differ."""
    parts = _sequence("stack", tensors)
    if not parts:
        raise RuntimeError("stack expects a non-empty TensorList")
    for i, t in enumerate(parts):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    at = wrap_dim(dim, parts[0].ndim + 1)
    for i, t in enumerate(parts[1:], 1):
        if t.shape != parts[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(parts[0].shape)} at entry 0 and {list(t.shape)} at entry {i}"
            )
    kind = dispatch.result_type(*parts)
    return dispatch.call(STACK, tuple(t if t._dtype is kind else t.to(kind) for t in parts), (at,))


def _listed(name: str, tensors: Any) -> list[Tensor]:
    """The tensors of a list; raises TypeError for what is none, RuntimeError for an empty one."""
    parts = _sequence(name, tensors)
    if not parts:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    for i, t in enumerate(parts):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return parts


@operator(method=False, out=True)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors side by side: along dimension 1, vectors and numbers along 0."""
    parts = [_at_least(1, t) for t in _listed("hstack", tensors)]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


@operator(method=False, out=True, aliases=("row_stack",))
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors one below another: along dimension 0, vectors as rows."""
    return cat([_at_least(2, t) for t in _listed("vstack", tensors)], 0)


@operator(method=False, out=True)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors one behind another: along dimension 2, vectors and matrices as planes."""
    return cat([_at_least(3, t) for t in _listed("dstack", tensors)], 2)


@operator(method=False, out=True)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors side by side along dimension 1, vectors as columns."""
    parts = _listed("column_stack", tensors)
    return cat([t.reshape(t.numel(), 1) if t.ndim <= 1 else t for t in parts], 1)


def _at_least(rank: int, t: Tensor) -> Tensor:
    """`t` with dimensions of size 1 so that there are `rank`: before a vector, behind a matrix."""
    if t.ndim >= rank:
        return t
    if rank == 1:
        return t.reshape(1)
    if t.ndim == 0:
        return t.reshape((1,) * rank)
    return t.unsqueeze(0) if rank == 2 else (t.unsqueeze(0).unsqueeze(-1) if t.ndim == 1 else t.unsqueeze(-1))


def _at_least_all(name: str, rank: int, tensors: tuple[Any, ...]) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return _at_least(rank, tensors[0])
    parts = _many(tensors)
    bad = next((t for t in parts if not isinstance(t, Tensor)), None)
    if bad is not None:
        raise TypeError(f"{name}() takes tensors, or a sequence of them, but got {type(bad).__name__}")
    return tuple(_at_least(rank, t) for t in parts)


@operator(method=False)
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension."""
    return _at_least_all("atleast_1d", 1, tensors)


@operator(method=False)
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions, added in front."""
    return _at_least_all("atleast_2d", 2, tensors)


@operator(method=False)
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions; a vector becomes [1, n, 1], a matrix [n, m, 1]."""
    return _at_least_all("atleast_3d", 3, tensors)


def _many(tensors: Any) -> list[Any]:
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


@operator(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape."""
    parts = _many(tensors)
    shape = broadcast_shapes(*[t.shape for t in parts])
    return tuple(t.expand(*shape) for t in parts)


@operator(method=False, name="broadcast_shapes")
def common_shape(*shapes: Any) -> Size:
    """The shape that all of these broadcast to. Raises RuntimeError where there is none, ValueError for negative sizes."""
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    out = [1] * max((len(s) for s in given), default=0)
    for i, s in enumerate(given):
        for d in range(-1, -1 - len(s), -1):
            if s[d] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if s[d] == 1 or s[d] == out[d]:
                continue
            if out[d] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {s[d]} at {d}! Mismatching argument at index {i} had {s}; but "
                    f"expected shape should be broadcastable to {out}"
                )
            out[d] = s[d]
    return Size(out)


# -- combinations of elements -------------------------------------------------------------------


@operator(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """Matrices on the diagonal of one matrix, zeros elsewhere; vectors are rows, numbers 1 by 1."""
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
        if t.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.ndim} dimensions"
            )
    if not tensors:
        return creation.empty(1, 0)
    blocks = [_at_least(2, t) for t in tensors]
    kind = dispatch.result_type(*blocks)
    width = sum(b.shape[1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        b = b.to(kind)
        before, after = b.new_zeros(b.shape[0], start), b.new_zeros(b.shape[0], width - start - b.shape[1])
        rows.append(cat([before, b, after], 1))
        start += b.shape[1]
    return cat(rows, 0)


@operator(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All tuples with one element of each vector, as rows. Raises RuntimeError for other ranks and for no vectors."""
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return stack([g.reshape(-1) for g in grids], 1)


@operator(method=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of a vector, in the order of `itertools`, as rows."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    n = input.shape[0]
    places = np.indices((n,) * r).reshape(r, -1)
    fits = places[1:] >= places[:-1] if with_replacement else places[1:] > places[:-1]
    chosen = np.ascontiguousarray(places[:, fits.all(axis=0)].T)
    index = creation.from_numpy(chosen.reshape(-1)).to(input.device)
    return input.index_select(0, index).reshape(-1, r)
