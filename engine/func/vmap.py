"""`vmap`: a function of single examples made a function of batches.

Inside, tensors are *batched*: their array is another tensor with the batch as first dimension, which they do not show.  Every
primitive goes through `VmapMode.call`, which applies the primitive's batch rule (`batch_rules.py`) to the inner tensors.  The tape
works on both levels: batched tensors record among themselves, inner ones on their own tape.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from .. import dispatch
from ..backends.base import Backend
from ..ops import functions as F
from ..ops.table import Op
from ..shapes import contiguous_strides
from ..state import state
from ..tensor import Tensor, wrap
from .trees import flatten

_levels = itertools.count(1)


class BatchArray:
    """What a batched tensor has for an array: an inner tensor, whose first dimension is the batch when `batched`."""

    __slots__ = ("batched", "inner")

    def __init__(self, inner: Tensor, batched: bool):
        self.inner = inner
        self.batched = batched

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that users see."""
        shape = tuple(self.inner._data.shape)
        return shape[1:] if self.batched else shape


class BatchBackend(Backend):
    """The device of one level's batched tensors; their memory is the inner tensors'."""

    name = "vmap"

    def __init__(self, mode: VmapMode):
        super().__init__()
        self.mode = mode

    def geometry(self, array: BatchArray) -> tuple[tuple[int, ...], int]:
        return contiguous_strides(array.shape), 0

    def cast(self, array: BatchArray, dtype: Any) -> BatchArray:
        with self.mode.outside():
            inner = array.inner
            return BatchArray(inner.clone() if inner._dtype is dtype else inner.to(dtype), array.batched)

    def copy(self, target: BatchArray, source: BatchArray) -> None:
        if source.batched and not target.batched:
            raise RuntimeError(_INPLACE)
        with self.mode.outside():
            value = source.inner
            if target.batched:
                value = pad(value, source.batched, len(target.shape))
            target.inner.copy_(value)

    def download(self, array: BatchArray, dtype: Any) -> Any:
        raise RuntimeError(_DATA)

    def nbytes(self, array: BatchArray) -> int:
        return array.inner.nbytes


_DATA = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to rewrite "
    "what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug report."
)
_INPLACE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements "
    "than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. Please try to use "
    "out-of-place operators instead of inplace arithmetic."
)


def pad(inner: Tensor, batched: bool, rank: int) -> Tensor:
    """The inner tensor with ones after the batch dimension, so that it shows `rank` dimensions and batches line up."""
    if not batched:
        return inner
    missing = rank - (inner.ndim - 1)
    return inner.reshape(inner.shape[0], *([1] * missing), *inner.shape[1:]) if missing > 0 else inner


class VmapMode:
    """One level of vmap on the stack of modes."""

    def __init__(self, size: int, randomness: str):
        self.level = next(_levels)
        self.size = size
        self.randomness = randomness
        self.backend = BatchBackend(self)

    def outside(self) -> _Outside:
        """A context in which this level and those inside it are off."""
        return _Outside(self)

    def wrap(self, inner: Tensor, batched: bool) -> Tensor:
        """A batched tensor of this level."""
        out = wrap(BatchArray(inner, batched), inner._dtype, self.backend)
        return out

    def lift(self, value: Any) -> Any:
        """A tensor as one of this level; others as they are."""
        if isinstance(value, Tensor) and value._storage.backend is not self.backend:
            return self.wrap(value, False)
        return value

    def call(self, op: Op, args: tuple[Any, ...], statics: tuple[Any, ...]) -> Any:
        """Run a primitive on batched tensors by its batch rule."""
        if not any(_belongs(a, self) for a in args) and not any(_belongs(s, self) for s in _spread(statics)):
            with self.outside():
                return dispatch.call(op, args, statics)
        from .batch_rules import apply

        lifted = tuple(self.lift(a) for a in args)
        with self.outside():
            made = apply(op, lifted, statics, self)
        outputs = tuple(self.wrap(t, b) for t, b in made)
        if op.kind == "view":
            for o in outputs:
                source = lifted[0]
                o._base = source if source._base is None else source._base
        needs = any(isinstance(t, Tensor) and t.requires_grad for t in args)
        return dispatch._finish(op, args, statics, outputs, needs)

    def inplace(self, op: Op, target: Tensor, others: tuple[Any, ...], statics: tuple[Any, ...]) -> Tensor:
        """An in-place primitive: computed, then written."""
        return dispatch.write(target, self.call(op, (target, *others), statics))

    def before_write(self, target: Tensor, value: Tensor) -> Tensor:
        """The value as the target's backend wants it; raises RuntimeError where a batch would go into one example's memory."""
        if _belongs(target, self):
            return self.lift(value)
        if _belongs(value, self):
            if value._data.batched:
                raise RuntimeError(_INPLACE)
            return value._data.inner
        return value

    def detach(self, t: Tensor, out: Tensor) -> Tensor:
        """`detach` of a batched tensor detaches the inner one of this level only."""
        return out

    def item(self, t: Tensor) -> Any:
        """Refuse to look at a batched value."""
        if _belongs(t, self):
            raise RuntimeError(_DATA)
        with self.outside():
            return t.item()


class _Outside:
    def __init__(self, mode: VmapMode):
        self.mode = mode

    def __enter__(self) -> None:
        self._before = state.modes
        at = state.modes.index(self.mode) if self.mode in state.modes else len(state.modes)
        state.modes = state.modes[:at]

    def __exit__(self, *error: object) -> None:
        state.modes = self._before


def _belongs(value: Any, mode: VmapMode) -> bool:
    return isinstance(value, Tensor) and value._storage.backend is mode.backend


def _spread(statics: tuple[Any, ...]) -> list[Any]:
    return [v for s in statics for v in (s if type(s) is tuple else (s,))]


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps `func` over a dimension of its arguments.

    `in_dims` says which dimension of each argument is mapped (an int, None for none, or a structure of them), `out_dims` where the
    batch goes in the results. With `chunk_size`, that many examples at a time. Raises ValueError for arguments that do not fit.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, build = flatten(list(args))
        dims = _dims_of(in_dims, args, func)
        places = _checked(leaves, dims, func, in_dims)
        kw_leaves, kw_build = flatten(kwargs)
        kw_places = [0 if isinstance(v, Tensor) else None for v in kw_leaves]
        sizes = {v.shape[d] for v, d in zip([*leaves, *kw_leaves], [*places, *kw_places], strict=True) if d is not None}
        if not sizes:
            raise ValueError(
                f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): at least one of in_dims must be non-None"
            )
        if len(sizes) > 1:
            shown = [tuple(v.shape) for v in leaves if isinstance(v, Tensor)]
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sorted(sizes)} for the mapped "
                f"dimension of shapes {shown}"
            )
        size = sizes.pop()
        step = size if chunk_size is None else chunk_size
        if step < 1 and size:
            raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

        def run(start: int, stop: int) -> Any:
            def part(v: Any, d: int | None) -> Any:
                return v if d is None or (start, stop) == (0, size) else v.narrow(d, start, stop - start)

            return _one(
                func,
                build,
                [part(v, d) for v, d in zip(leaves, places, strict=True)],
                places,
                kw_build,
                [part(v, d) for v, d in zip(kw_leaves, kw_places, strict=True)],
                kw_places,
                stop - start,
                randomness,
                out_dims,
            )

        if step >= size:
            return run(0, size)
        pieces = [run(i, min(i + step, size)) for i in range(0, size, step)]
        flat = [flatten(p)[0] for p in pieces]
        rebuild = flatten(pieces[0])[1]
        outs = _spread_dims(out_dims, len(flat[0]), func)
        return rebuild([F.cat(list(column), d) for column, d in zip(zip(*flat, strict=True), outs, strict=True)])

    return wrapped


def _one(
    func: Any,
    build: Any,
    leaves: Any,
    places: Any,
    kw_build: Any,
    kw_leaves: Any,
    kw_places: Any,
    size: int,
    randomness: str,
    out_dims: Any,
) -> Any:
    mode = VmapMode(size, randomness)

    def enter(v: Any, d: int | None) -> Any:
        if d is None:
            return v
        return mode.wrap(v if d == 0 else v.movedim(d, 0), True)

    given = build([enter(v, d) for v, d in zip(leaves, places, strict=True)])
    named = kw_build([enter(v, d) for v, d in zip(kw_leaves, kw_places, strict=True)])
    before = state.modes
    state.modes = (*before, mode)
    try:
        out = func(*given, **named)
    finally:
        state.modes = before
    results, rebuild = flatten(out)
    dims = _spread_dims(out_dims, len(results), func)
    return rebuild([_leave(v, d, mode, func) for v, d in zip(results, dims, strict=True)])


def _leave(v: Any, dim: int | None, mode: VmapMode, func: Any) -> Tensor:
    if not isinstance(v, Tensor):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(v)} as a return."
        )
    array = v._data if _belongs(v, mode) else None
    inner, batched = (array.inner, array.batched) if array is not None else (v, False)
    if dim is None:
        if batched:
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None"
            )
        return inner
    if not batched:
        inner = inner.expand(mode.size, *inner.shape)
    return inner if dim == 0 else inner.movedim(0, dim)


def _name(func: Any) -> str:
    return getattr(func, "__name__", repr(func))


def _dims_of(in_dims: Any, args: tuple[Any, ...], func: Any) -> list[Any]:
    """`in_dims` spread over the flattened arguments."""

    def spread(dims: Any, tree: Any) -> list[Any]:
        if dims is None or isinstance(dims, int):
            return [dims] * len(flatten(tree)[0])
        children = (
            list(tree.values()) if isinstance(tree, dict) else list(tree) if isinstance(tree, (list, tuple)) else None
        )
        given = [dims[k] for k in tree] if isinstance(dims, dict) and isinstance(tree, dict) else list(dims)
        if children is None or len(children) != len(given):
            raise ValueError(
                f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. in_dims "
                f"has {len(given)} parts but inputs {len(children) if children is not None else 1}."
            )
        return [d for part, child in zip(given, children, strict=True) for d in spread(part, child)]

    if not isinstance(in_dims, (int, tuple, list)) and in_dims is not None:
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple matching "
            f"the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs."
        )
    return spread(in_dims, list(args))


def _checked(leaves: list[Any], dims: list[Any], func: Any, in_dims: Any) -> list[int | None]:
    out: list[int | None] = []
    for v, d in zip(leaves, dims, strict=True):
        if d is None:
            out.append(None)
            continue
        where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={d} for an input"
        if not isinstance(d, int):
            raise ValueError(f"{where} but in_dim must be either an integer dimension or None.")
        if not isinstance(v, Tensor):
            raise ValueError(
                f"{where} but the input is of type {type(v)}. We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -v.ndim <= d < v.ndim:
            raise ValueError(
                f"{where}, but that input is a Tensor of dimensionality {v.ndim} so expected in_dim to satisfy -{v.ndim} <= in_dim < {v.ndim}."
            )
        out.append(d % v.ndim)
    return out


def _spread_dims(out_dims: Any, count: int, func: Any) -> list[Any]:
    if isinstance(out_dims, int) or out_dims is None:
        return [out_dims] * count
    flat = flatten(out_dims)[0]
    if len(flat) != count:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims}): out_dims is not compatible with the structure of outputs."
        )
    return flat
