"""Batch rules of `vmap` for what moves elements, for linear algebra and for Fourier transforms.

Linear algebra treats all leading dimensions as batches, so one rule serves it: the mapped dimension is put before them.
"""

from __future__ import annotations

from typing import Any

from .. import dispatch
from ..ops import functions as F
from ..ops.table import Op
from ..tensor import Tensor
from .batch_rules import Made, _batch, rule
from .vmap import pad

# -- moving -------------------------------------------------------------------------------------


@rule("roll")
def _roll(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    x, (shifts, dims) = pairs[0][0], statics
    if dims is None:
        return dispatch.call(op, (x.reshape(size, -1),), (shifts, (1,))).reshape(x.shape), True
    return dispatch.call(op, (x,), (shifts, tuple(d + 1 for d in dims))), True


@rule("rot90")
def _rot90(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, (pairs[0][0],), (statics[0], tuple(d + 1 for d in statics[1]))), True


@rule("repeat")
def _repeat(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, (pad(pairs[0][0], True, len(statics[0])),), ((1, *statics[0]),)), True


@rule("diag_embed")
def _diag_embed(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, (pairs[0][0],), (statics[0], statics[1] + 1, statics[2] + 1)), True


@rule("fill")
def _fill(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    x, value = _batch(pairs[0], size), pairs[1][0]
    if not pairs[1][1]:
        return dispatch.call(op, (x, value), ()), True
    return value.reshape(size, *[1] * (x.ndim - 1)).expand(*x.shape).clone(), True


@rule("linalg_cross")
def _last_static_is_a_dim(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, tuple(_batch(p, size) for p in pairs), (statics[0] + 1,)), True


@rule("scatter_reduce", "index_reduce")
def _along_dim(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, tuple(_batch(p, size) for p in pairs), (statics[0] + 1, *statics[1:])), True


def _wide(index: Tensor, like: Tensor, dim: int) -> Tensor:
    """A vector of places for each example, repeated for all elements of the parts."""
    shape = [like.shape[0], *[-1 if d == dim else 1 for d in range(like.ndim - 1)]]
    return index.reshape(shape).expand(*like.shape)


@rule("index_add", "index_copy")
def _index_write(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    (index, index_batched), dim = pairs[1], statics[0]
    x, source = _batch(pairs[0], size), _batch(pairs[2], size)
    if not index_batched:
        return dispatch.call(op, (x, index, source), (dim + 1,)), True
    write = F.scatter_add if op.name == "index_add" else F.scatter
    return write(x, dim + 1, _wide(index, source, dim), source), True


@rule("index_fill")
def _index_fill(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    (index, index_batched), (value, value_batched), dim = pairs[1], pairs[2], statics[0]
    x = _batch(pairs[0], size)
    if not index_batched and not value_batched:
        return dispatch.call(op, (x, index, value), (dim + 1, *statics[1:])), True
    index = _batch(pairs[1], size)
    shape = [n if d != dim + 1 else index.shape[1] for d, n in enumerate(x.shape)]
    source = value.reshape(-1, *[1] * (x.ndim - 1)).expand(*shape)
    return x.scatter(dim + 1, _wide(index, source, dim), source), True


@rule("take")
def _take(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    x, index = _batch(pairs[0], size).reshape(size, -1), _batch(pairs[1], size)
    places = index.reshape(size, -1).remainder(x.shape[1])
    return x.gather(1, places).reshape(index.shape), True


@rule("put")
def _put(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    x, index, source = (_batch(p, size) for p in pairs)
    flat = x.reshape(size, -1)
    places = index.reshape(size, -1).remainder(flat.shape[1])
    write = F.scatter_add if statics[0] else F.scatter
    return write(flat, 1, places, source.reshape(size, -1)).reshape(x.shape), True


# -- products -----------------------------------------------------------------------------------


def _padded(pair: Any, rank: int) -> Tensor:
    return pad(pair[0], pair[1], rank)


def _added(product: Tensor, bias: tuple[Tensor, bool], rank: int, statics: tuple[Any, ...]) -> Made:
    beta, alpha = statics
    out = product if alpha == 1 else product * alpha
    return (out if beta == 0 else out + _padded(bias, rank) * beta), True


@rule("baddbmm")
def _baddbmm(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return _added(F.matmul(_padded(pairs[1], 3), _padded(pairs[2], 3)), pairs[0], 3, statics)


@rule("addbmm")
def _addbmm(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    product = F.matmul(_padded(pairs[1], 3), _padded(pairs[2], 3))
    product = product if product.ndim == 4 else product.unsqueeze(0)
    return _added(product.sum(1), pairs[0], 2, statics)


@rule("addmv")
def _addmv(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    product = F.matmul(pairs[1][0], pairs[2][0].unsqueeze(-1)).squeeze(-1)
    return _added(product, pairs[0], 1, statics)


@rule("addr")
def _addr(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return _added(pairs[1][0].unsqueeze(-1) * pairs[2][0].unsqueeze(-2), pairs[0], 2, statics)


@rule("vdot")
def _vdot(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return (pairs[0][0].conj() * pairs[1][0]).sum(-1), True


# -- matrices -----------------------------------------------------------------------------------

_CORES = {"linalg_pinv": (2, 0, 0), "lu_row_order": (1,)}
"""How many dimensions of each argument are no batch, where it is not two."""


def linalg(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Any:
    """The rule of all primitives of linear algebra."""
    cores = _CORES.get(op.name, (2,) * len(pairs))
    if op.name == "linalg_solve_ex" and statics[1]:
        cores = (2, 1)
    lead = max(t.ndim - int(b) - core for (t, b), core in zip(pairs, cores, strict=True))
    given = tuple(pad(_batch(p, size), True, lead + core) for p, core in zip(pairs, cores, strict=True))
    if op.name in ("linalg_solve_ex", "linalg_lstsq"):  # these tell vectors from matrices by their batches
        shape = given[1].shape[1 : 1 + lead]
        given = (given[0].expand(size, *shape, *given[0].shape[1 + lead :]), given[1])
    out = dispatch.call(op, given, statics)
    return [(o, True) for o in out] if op.multi else (out, True)


@rule("linalg_vector_norm")
def _vector_norm(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    order, dims, keepdim = statics
    return dispatch.call(op, (pairs[0][0],), (order, tuple(d + 1 for d in dims), keepdim)), True
