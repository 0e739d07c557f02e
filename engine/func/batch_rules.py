"""How each primitive treats a batch dimension: the table of batch rules of `vmap`.

A rule gets the inner tensors with a flag each (is its first dimension the batch?) and the primitive's static arguments, and returns
the result with its flag.  Pointwise primitives, and those whose statics are dimension numbers, need no rule of their own.  What has
no rule runs example by example, which is right but slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dispatch
from ..ops import functions as F
from ..ops.table import Op
from ..tensor import Tensor
from .vmap import BatchArray, VmapMode, pad

Made = tuple[Tensor, bool]
Rule = Callable[..., Made]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the batch rule of these primitives."""

    def put(function: Rule) -> Rule:
        for n in names:
            RULES[n] = function
        return function

    return put


def apply(op: Op, args: tuple[Any, ...], statics: tuple[Any, ...], mode: VmapMode) -> list[Made]:
    """Run a primitive on the batched tensors of one level; a list with one entry an output."""
    arrays = [a._data if isinstance(a, Tensor) else None for a in args]
    if op.kind == "pointwise":
        return [_pointwise(op, args, arrays, statics)]
    if not any(a.batched for a in arrays if isinstance(a, BatchArray)) and not _batched_static(statics, mode):
        out = dispatch.call(op, tuple(a.inner if a is not None else None for a in arrays), _plain(statics, mode))
        return [(o, False) for o in (out if op.multi else (out,))]
    found = RULES.get(op.name) or (array_rules.linalg if op.kind == "linalg" else None)
    if found is not None and not _batched_static(statics, mode):
        pairs = [(a.inner, a.batched) if isinstance(a, BatchArray) else (None, False) for a in arrays]
        made = found(op, pairs, _plain(statics, mode), mode.size)
        return [made] if not op.multi else list(made)  # type: ignore[arg-type]
    return _one_by_one(op, arrays, statics, mode)


def _pointwise(op: Op, args: tuple[Any, ...], arrays: list[Any], statics: tuple[Any, ...]) -> Made:
    """Line the batches up and run on the inner tensors, promoted as the shown shapes want it."""
    rank = max((len(a.shape) for a in arrays if a is not None), default=0)
    kinds = {a._dtype for a in args if isinstance(a, Tensor)}
    target = dispatch.result_type(*args) if len(kinds) > 1 else None
    given = []
    for value, array in zip(args, arrays, strict=True):
        if array is None:
            given.append(value)
            continue
        inner = pad(array.inner, array.batched, rank)
        given.append(inner if target is None or inner._dtype is target else inner.to(target))
    return dispatch.pointwise(op, tuple(given), statics), any(a.batched for a in arrays if a is not None)


def _batched_static(statics: tuple[Any, ...], mode: VmapMode) -> bool:
    return any(
        isinstance(v, Tensor) and v._storage.backend is mode.backend and v._data.batched
        for s in statics
        for v in (s if type(s) is tuple else (s,))
    )


def _plain(statics: tuple[Any, ...], mode: VmapMode) -> tuple[Any, ...]:
    def inner(v: Any) -> Any:
        return v._data.inner if isinstance(v, Tensor) and v._storage.backend is mode.backend else v

    return tuple(tuple(inner(v) for v in s) if type(s) is tuple else inner(s) for s in statics)


def _one_by_one(op: Op, arrays: list[Any], statics: tuple[Any, ...], mode: VmapMode) -> list[Made]:
    """The primitive on each example, stacked."""

    def example(v: Any, b: int) -> Any:
        if isinstance(v, BatchArray):
            return v.inner.select(0, b) if v.batched else v.inner
        if isinstance(v, Tensor) and v._storage.backend is mode.backend:
            return example(v._data, b)
        return v

    rows = []
    for b in range(mode.size):
        plain = tuple(tuple(example(v, b) for v in s) if type(s) is tuple else example(s, b) for s in statics)
        out = dispatch.call(op, tuple(example(a, b) for a in arrays), plain)
        rows.append(out if op.multi else (out,))
    return [(F.stack([r[i] for r in rows]), True) for i in range(len(rows[0]))]


def _batch(pair: tuple[Tensor, bool], size: int) -> Tensor:
    """The inner tensor with a batch dimension in any case."""
    inner, batched = pair
    return inner if batched else inner.expand(size, *inner.shape)


# -- dimension numbers move by one --------------------------------------------------------------

_ONE_DIM = (
    "argmax", "argmin", "softmax", "log_softmax", "unsqueeze", "select", "unbind", "slice", "split", "split_with_sizes",
    "unsafe_split", "unsafe_split_with_sizes", "unfold",
    "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "mode", "sort", "topk", "flip_dim",
)  # fmt: skip


@rule(*_ONE_DIM)
def _first_static_is_a_dim(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Any:
    out = dispatch.call(op, (pairs[0][0],), (statics[0] + 1, *statics[1:]))
    return [(o, True) for o in out] if op.multi else (out, True)


@rule("sum", "mean", "prod", "amax", "amin", "all", "any", "squeeze", "flip", "fft_c2c", "fft_r2c", "fft_c2r")
def _first_static_is_dims(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, (pairs[0][0],), (tuple(d + 1 for d in statics[0]), *statics[1:])), True


@rule("linear_scan")
def _linear_scan(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, tuple(_batch(p, size) for p in pairs), (statics[0] + 1, *statics[1:])), True


@rule("complex", "polar")
def _like_pointwise(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    rank = max(t.ndim - b for t, b in pairs)
    return dispatch.call(op, tuple(pad(t, b, rank) for t, b in pairs), statics), True


@rule("view_as_real", "view_as_complex")
def _other_parts(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, (pairs[0][0],), statics), True


@rule("transpose")
def _transpose(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, (pairs[0][0],), (statics[0] + 1, statics[1] + 1)), True


@rule("t")
def _t(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    inner = pairs[0][0]
    return (inner.transpose(1, 2) if inner.ndim == 3 else inner.alias()), True


@rule("permute")
def _permute(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, (pairs[0][0],), ((0, *[d + 1 for d in statics[0]]),)), True


@rule("diagonal")
def _diagonal(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, (pairs[0][0],), (statics[0], statics[1] + 1, statics[2] + 1)), True


@rule("view", "unsafe_view")
def _view(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return pairs[0][0].reshape(size, *statics[0]), True


@rule("expand")
def _expand(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    inner = pad(pairs[0][0], True, len(statics[0]))
    return inner.expand(size, *statics[0]), True


@rule("alias", "clone", "contiguous", "to_dtype")
def _same(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, (pairs[0][0],), statics), True


@rule("cat", "stack")
def _cat(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return dispatch.call(op, tuple(_batch(p, size) for p in pairs), (statics[0] + 1,)), True


# -- products -----------------------------------------------------------------------------------


@rule("mm", "bmm")
def _matmul(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    (a, a_batched), (b, b_batched) = pairs
    rank = 3 if op.name == "bmm" else 2
    return F.matmul(pad(a, a_batched, rank), pad(b, b_batched, rank)), True


@rule("addmm")
def _addmm(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    (bias, bias_batched), (a, a_batched), (b, b_batched) = pairs
    beta, alpha = statics
    out = F.matmul(pad(a, a_batched, 2), pad(b, b_batched, 2))
    out = out if alpha == 1 else out * alpha
    return (out if beta == 0 else out + pad(bias, bias_batched, 2) * beta), True


@rule("dot")
def _dot(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return (pairs[0][0] * pairs[1][0]).sum(-1), True


@rule("mv")
def _mv(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    return F.matmul(pairs[0][0], pairs[1][0].unsqueeze(-1)).squeeze(-1), True


# -- indexing -----------------------------------------------------------------------------------


@rule("gather", "scatter", "scatter_add")
def _along_dim(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    if any(p[0].ndim - p[1] == 0 for p in pairs):
        wide = tuple(_batch(p, size).reshape(size, -1) for p in pairs)
        out = dispatch.call(op, wide, (1,))
        return (out.squeeze(1) if pairs[-1][0].ndim - pairs[-1][1] == 0 else out), True
    return dispatch.call(op, tuple(_batch(p, size) for p in pairs), (statics[0] + 1,)), True


@rule("where")
def _where(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    rank = max(t.ndim - b for t, b in pairs)
    return dispatch.call(op, tuple(pad(t, b, rank) for t, b in pairs), ()), True


@rule("index_select")
def _index_select(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    (x, x_batched), (index, index_batched) = pairs
    dim = statics[0]
    if not index_batched:
        return dispatch.call(op, (x, index), (dim + 1,)), True
    x = _batch((x, x_batched), size)
    shape = list(x.shape)
    shape[dim + 1] = index.shape[1]
    wide = index.reshape(size, *[-1 if i == dim else 1 for i in range(x.ndim - 1)]).expand(*shape)
    return x.gather(dim + 1, wide), True


@rule("index")
def _index(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    indices = statics[0]
    at = [i for i, v in enumerate(indices) if v is not None]
    apart = at[-1] - at[0] + 1 != len(at)
    out = dispatch.call(op, (pairs[0][0],), ((None, *indices),))
    if apart:  # the index dimensions come first, before the batch
        out = out.movedim(max(v.ndim for v in indices if v is not None), 0)
    return out, True


@rule("as_strided_scatter")
def _write_window(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    size_, stride, offset = statics
    whole = _batch(pairs[0], size)
    step = whole[0].numel()
    return dispatch.call(op, (whole, _batch(pairs[1], size)), ((size, *size_), (step, *stride), offset)), True


@rule("nll_loss")
def _nll(op: Op, pairs: Any, statics: tuple[Any, ...], size: int) -> Made:
    if pairs[2][1]:
        logs, target = _batch(pairs[0], size), _batch(pairs[1], size)
        rows = [dispatch.call(op, (logs[b], target[b], pairs[2][0][b]), statics) for b in range(size)]
        return F.stack(rows), True
    logs, target = _batch(pairs[0], size), _batch(pairs[1], size)
    out = dispatch.call(op, (logs.reshape(-1, logs.shape[-1]), target.reshape(-1), pairs[2][0]), statics)
    return out.reshape(size, -1), True


from . import array_rules as array_rules  # noqa: E402  (these enter their rules here)
from . import window_rules as window_rules  # noqa: E402
