"""Order: sort and argsort, the largest few, the k-th, medians, quantiles, the most frequent."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..return_types import return_type
from ..shapes import wrap_dim
from ..tensor import Tensor
from . import functions as F
from .composed import composed
from .declare import op_functions, operator, tensor_argument
from .gradients import choose
from .reduction import nonempty, selected
from .table import Op

# -- sorting ------------------------------------------------------------------------------------


def _keys(x: np.ndarray) -> np.ndarray:
    """Unsigned integers in the order of the elements of a type of at most 32 bits; zeros are equal, NaNs the largest."""
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), np.float32(np.nan), x.astype(np.float32) + np.float32(0))
        bits = x.view(np.uint32)
        return np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(1 << 31))
    return (x.astype(np.int64) + (1 << 31)).astype(np.uint32)


def _order(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """Places in stable order; NaN counts as the largest."""
    n = x.shape[dim]
    if x.dtype.itemsize <= 4 and n > 16:
        # Key and place in one number: numpy sorts those fast, and equal keys stay in order.
        keys = np.moveaxis(_keys(x), dim, -1)
        packed = (~keys if descending else keys).astype(np.uint64) << np.uint64(32)
        packed |= np.arange(n, dtype=np.uint64)
        packed.sort(axis=-1)
        return np.moveaxis((packed & np.uint64(0xFFFFFFFF)).astype(np.int64), -1, dim)
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    turned = np.flip(x, dim)
    return n - 1 - np.flip(np.argsort(turned, axis=dim, kind="stable"), dim)


def _sort(x: np.ndarray, dim: int, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    order = _order(x, dim, descending)
    return np.take_along_axis(x, order, dim), np.ascontiguousarray(order)


def _topk(x: np.ndarray, dim: int, k: int, largest: bool, sorted: bool) -> tuple[np.ndarray, np.ndarray]:
    n = x.shape[dim]
    if k * 8 >= n or x.dtype.kind == "b":
        order = np.take(_order(x, dim, largest), np.arange(k), axis=dim)
        return np.take_along_axis(x, order, dim), order
    # Only the few are sorted; among equal ones at the border it does not matter which are taken.
    split = n - k if largest else k - 1
    few = np.argpartition(x, split, axis=dim)
    few = np.take(few, np.arange(n - k, n) if largest else np.arange(k), axis=dim)
    few.sort(axis=dim)
    chosen = np.take_along_axis(x, few, dim)
    order = _order(chosen, dim, largest)
    return np.take_along_axis(chosen, order, dim), np.take_along_axis(few, order, dim)


def _with_places(t: Tensor, *_: Any) -> tuple[Any, Any]:
    return t._dtype, dtypes.int64


SORT = Op(
    "sort", "input", "dim descending", kind="scan", multi=True, cpu=_sort, shape=lambda s, *_: [s, s], dtype=_with_places,
    grads={"input": lambda g, results, input_shape, dim: selected(g[0], results[1], input_shape, dim)},
)  # fmt: skip
TOPK = Op(
    "topk", "input", "dim k largest sorted", kind="scan", multi=True, cpu=_topk, dtype=_with_places,
    shape=lambda s, dim, k, *_: [(*s[:dim], k, *s[dim + 1 :])] * 2,
    grads={"input": lambda g, results, input_shape, dim: selected(g[0], results[1], input_shape, dim)},
)  # fmt: skip
SortResult = return_type("sort", "values indices")
TopkResult = return_type("topk", "values indices")


def _real(name: str, input: Any) -> Tensor:
    kind = tensor_argument(name, "input", 1, input).dtype
    if kind.category == dtypes.BOOL and name in ("topk", "kthvalue", "median", "nanmedian"):
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if kind.is_complex:
        label = {"sort": " Sort", "topk": " Topk"}.get(name, name)
        raise RuntimeError(f"{label} does not support complex dtypes on CPU")
    return input


def _sorted(name: str, input: Any, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    at = wrap_dim(dim, _real(name, input).ndim)
    if input.ndim == 0:
        values, places = dispatch.call(SORT, (input.reshape(1),), (0, False))
        return values.reshape(()), places.reshape(())
    return dispatch.call(SORT, (input,), (at, bool(descending)))


@operator(out=True)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    """The elements in order along `dim`, and where they came from; equal ones keep their order, NaN counts as the largest."""
    return SortResult(*_sorted("sort", input, dim, descending))


@operator(out=True)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The places of the elements in order along `dim`."""
    return _sorted("sort", input.detach(), dim, descending)[1]


@operator(out=True)
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
    return _sorted("sort", input, 0, False)[0]


@operator(out=True)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) elements along `dim` in order, and their places. Raises RuntimeError where there are fewer."""
    at = wrap_dim(dim, _real("topk", input).ndim)
    k = k.__index__()
    size = input.shape[at] if input.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError("selected index k out of range")
    if input.ndim == 0:
        values, places = dispatch.call(TOPK, (input.reshape(1),), (0, k, bool(largest), bool(sorted)))
        return TopkResult(values.sum(), places.sum()) if k == 0 else TopkResult(values.reshape(()), places.reshape(()))
    return TopkResult(*dispatch.call(TOPK, (input,), (at, k, bool(largest), bool(sorted))))


# -- one in the order ---------------------------------------------------------------------------


def _taken(values: Tensor, places: Tensor, at: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """What stands at the position `at` (kept dimension) of the order."""
    value, place = values.gather(dim, at), places.gather(dim, at)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


def _selection(name: str, statics: str = "", *, backward: str | None = None, overload: Any = None) -> Any:
    """Decorator for `formula(input, dim, keepdim, ...)` that gives values and their places: one node on the tape."""

    def declare(formula: Any) -> Any:
        return composed(
            name, "input", f"dim keepdim {statics}", multi=True, backward=backward, overload=overload,
            grads={
                "input": lambda g, results, input_shape, dim, keepdim: selected(g[0], results[1], input_shape, dim, keepdim)
            },
        )(formula)  # fmt: skip

    return declare


def _choice(name: str, function: Any, input: Tensor, dim: int, keepdim: bool, *statics: Any) -> tuple[Tensor, Tensor]:
    at = wrap_dim(dim, _real(name, input).ndim)
    if input.ndim == 0:
        values, places = function(input.reshape(1), 0, False, *statics)
        return values.reshape(()), places.reshape(())
    nonempty(name, input, (at,))
    return function(input, at, bool(keepdim), *statics)


def _position(x: Tensor, dim: int, position: Any) -> Tensor:
    shape = [1 if i == dim else n for i, n in enumerate(x.shape)]
    return F.full(shape, position, dtype=dtypes.int64, device=x.device)


@_selection("kthvalue", "k")
def _kthvalue(input: Tensor, dim: int, keepdim: bool, k: int) -> tuple[Tensor, Tensor]:
    values, places = dispatch.call(SORT, (input,), (dim, False))
    return _taken(values, places, _position(input, dim, k - 1), dim, keepdim)


KthvalueResult = return_type("kthvalue", "values indices")


@operator(out=True)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest element along `dim` (from 1), and its place. Raises RuntimeError where there is none."""
    at = wrap_dim(dim, _real("kthvalue", input).ndim)
    nonempty("kthvalue", input, (at,) if input.ndim else ())
    if not 1 <= k <= (input.shape[at] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {at}")
    return KthvalueResult(*_choice("kthvalue", _kthvalue, input, dim, keepdim, int(k)))


def _nans(x: Tensor, dim: int) -> Tensor:
    return op_functions["isnan"](x).sum(dim, keepdim=True)


@_selection("median_dim", backward="Median", overload=lambda *_: 1)
def _median(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    values, places = dispatch.call(SORT, (input,), (dim, False))
    n = input.shape[dim]
    at = _position(input, dim, (n - 1) // 2)
    if input.dtype.is_floating_point:
        nans = _nans(input, dim)
        at = F.where(nans > 0, n - nans, at)
    return _taken(values, places, at, dim, keepdim)


@_selection("nanmedian_dim", backward="Nanmedian", overload=lambda *_: 1)
def _nanmedian(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    values, places = dispatch.call(SORT, (input,), (dim, False))
    n = input.shape[dim]
    at = _position(input, dim, (n - 1) // 2)
    if input.dtype.is_floating_point:
        at = ((n - 1 - _nans(input, dim)).clamp(min=0) / 2).to(dtypes.int64)
    return _taken(values, places, at, dim, keepdim)


def _whole_median(name: str, along: Any) -> Any:
    def share(g: Tensor, x: Tensor, result: Tensor) -> Tensor:
        isnan = op_functions["isnan"]
        hits = (x == result) | (isnan(x) & isnan(result))
        return choose(hits, g / hits.to(g.dtype).sum(), 0.0)

    @composed(name, "input", grads={"input": lambda g, input, result: share(g, input, result)})
    def formula(input: Tensor) -> Tensor:
        return along(input.reshape(-1), 0, False)[0]

    return formula


_all_median, _all_nanmedian = _whole_median("median", _median), _whole_median("nanmedian", _nanmedian)
MedianResult = return_type("median", "values indices")
NanmedianResult = return_type("nanmedian", "values indices")


def _middle(name: str, whole: Any, along: Any, kind: Any, input: Tensor, dim: int | None, keepdim: bool) -> Any:
    if dim is not None:
        return kind(*_choice(name, along, input, dim, keepdim))
    if _real(name, input).numel() == 0:
        empty = float("nan") if input.dtype.is_floating_point else input._storage.backend.limits(input.dtype)[0]
        return input.new_full((), empty)
    return whole(input)


@operator(out=True)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median (of an even count the lower of the middle two), NaN where there is one; along `dim` also its place."""
    return _middle("median", _all_median, _median, MedianResult, input, dim, keepdim)


@operator(out=True)
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median without the NaNs; along `dim` also its place."""
    return _middle("nanmedian", _all_nanmedian, _nanmedian, NanmedianResult, input, dim, keepdim)


# -- the most frequent --------------------------------------------------------------------------


def _mode(x: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """The smallest of the most frequent elements, and its last place."""
    order = np.moveaxis(_order(x, dim, False), dim, -1)
    values = np.take_along_axis(np.moveaxis(x, dim, -1), order, -1)
    n = values.shape[-1]
    place = np.arange(n)
    starts = np.ones(values.shape, bool)
    starts[..., 1:] = values[..., 1:] != values[..., :-1]
    run = place - np.maximum.accumulate(np.where(starts, place, 0), axis=-1)
    best = np.argmax(run, axis=-1, keepdims=True)
    found = [np.take_along_axis(a, best, -1) for a in (values, order)]
    shaped = [np.moveaxis(a, -1, dim) if keepdim else a[..., 0] for a in found]
    return np.array(shaped[0], order="C"), np.array(shaped[1], order="C")


MODE = Op(
    "mode", "input", "dim keepdim", kind="scan", multi=True, cpu=_mode, dtype=_with_places,
    shape=lambda s, dim, keepdim: [(*s[:dim], *([1] if keepdim else []), *s[dim + 1 :])] * 2,
    grads={"input": lambda g, results, input_shape, dim, keepdim: selected(g[0], results[1], input_shape, dim, keepdim)},
)  # fmt: skip
ModeResult = return_type("mode", "values indices")


@operator(out=True)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along `dim` (the smallest of several), and its place."""
    if _real("mode", input).ndim and input.numel() == 0:
        nonempty("mode", input, (wrap_dim(dim, input.ndim),))

    def along(x: Tensor, at: int, keep: bool) -> Any:
        return dispatch.call(MODE, (x,), (at, keep))

    return ModeResult(*_choice("mode", along, input, dim, keepdim))


# -- quantiles ----------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _asked(name: str, input: Tensor, q: Any, interpolation: str) -> Tensor:
    if tensor_argument(name, "input", 1, input).dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        q = input.new_full((), q)
    elif q.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.device != input.device:
        raise RuntimeError(f"{name}() q tensor must be on the same device as the input tensor")
    if q._is_host and q.numel() and not dispatch.state.modes and not bool(((q >= 0) & (q <= 1)).all().item()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    return q


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip: bool
) -> Tensor:
    asked = _asked(name, input, q, interpolation)
    if dim is None:
        flat, shape = input.reshape(-1), [1] * input.ndim
    else:
        at = wrap_dim(dim, input.ndim)
        flat = input.movedim(at, -1) if input.ndim else input.reshape(1)
        shape = [1 if i == at else n for i, n in enumerate(input.shape)]
    values = _sorted(name, flat, -1, False)[0]
    count = flat.shape[-1]
    nans = op_functions["isnan"](flat.detach()).sum(-1, keepdim=True)
    rank: Any = asked.reshape(-1) * ((count - 1 - nans).clamp(min=0) if skip else count - 1)
    if not skip:
        rank = F.where(nans > 0, float(count - 1), rank.expand(*flat.shape[:-1], asked.numel()))
    else:
        rank = rank.expand(*flat.shape[:-1], asked.numel())
    rank = rank.to(input.dtype)
    if interpolation == "lower":
        rank = rank.floor()
    elif interpolation == "higher":
        rank = rank.ceil()
    elif interpolation == "nearest":
        rank = rank.round()
    low = rank.detach().floor()
    out = values.gather(-1, low.to(dtypes.int64))
    if interpolation in ("linear", "midpoint"):
        weight = rank - low if interpolation == "linear" else F.full_like(low, 0.5)
        out = F.lerp(out, values.gather(-1, rank.detach().ceil().to(dtypes.int64)), weight)
    out = out.movedim(-1, 0)
    if keepdim:
        out = out.reshape(-1, *shape)
    return out if asked.ndim else out.squeeze(0)


@operator(out=True)
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The quantiles `q` (a number or a vector, in [0, 1]) along `dim`, or of all elements; a vector gives a first dimension.

    Raises RuntimeError for anything but float32 and float64.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@operator(out=True)
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """`quantile` without the NaNs."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)
