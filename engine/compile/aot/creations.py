"""What level-2 graphs call besides primitives: memory made from nothing, random draws, reading a number, and copies of outputs.

All arguments are positional and plain, so that passes can match them: shapes are tuples, devices names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...backends.base import backend
from ...dtypes import dtype as DType
from ...ops.random import Draw
from ...tensor import Tensor, wrap


def full(shape: tuple[int, ...], value: Any, dtype: DType, device: str) -> Tensor:
    """A row-major tensor of one number."""
    home = backend(device)
    return wrap(home.full(shape, value, dtype), dtype, home)


def empty(shape: tuple[int, ...], dtype: DType, device: str) -> Tensor:
    """A row-major tensor with unspecified elements."""
    home = backend(device)
    return wrap(home.empty(shape, dtype), dtype, home)


def arange(first: int, step: int, count: int, dtype: DType, device: str) -> Tensor:
    """The integers `first + step * i` for i below `count`."""
    import numpy as np

    home = backend(device)
    made = home.arange(first, step, count, dtype)
    if made is None:
        values = (first + step * np.arange(count, dtype=np.int64)).astype(dtype.numpy)
        made = values if home.is_host else home.upload(values, dtype)
    return wrap(made, dtype, home)


def draw(
    shape: tuple[int, ...],
    dtype: DType,
    device: str,
    function: Callable[..., None],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    like: tuple[int, ...] | None = None,
    gaps: bool = False,
) -> Tensor:
    """Random numbers of the engine's generators: see `Backend.draw`. Calls must stay in their order."""
    home = backend(device)
    return wrap(home.draw(shape, dtype, Draw(function, *args, **(kwargs or {})), like, gaps), dtype, home)


def to_device(t: Tensor, device: str) -> Tensor:
    """A copy on another device."""
    home = backend(device)
    return wrap(home.receive(t._data, t._storage.backend, t._dtype), t._dtype, home)


def item(t: Tensor) -> Any:
    """The one element as a Python number."""
    return t.item()


def fresh(t: Tensor) -> Tensor:
    """A copy with memory of its own, in the same order: an output that must not be the same memory as another."""
    return t.detach_shallow()._fresh_copy()


def laid_out(t: Tensor, strides: tuple[int, ...]) -> Tensor:
    """The tensor with its elements in memory as `strides` say; a copy where they lie otherwise."""
    if t.stride() == tuple(strides):
        return t
    home = t._storage.backend
    if not t.numel():
        return t.contiguous()
    span = 1 + sum((n - 1) * s for n, s in zip(t.shape, strides, strict=True))
    memory = wrap(home.empty((span,), t._dtype), t._dtype, home)
    out = home.view(home.root(memory._data), tuple(t.shape), tuple(strides), 0)
    home.copy(out, t._data)
    made = wrap(out, t._dtype, home)
    made._strides = tuple(strides)
    return made


def copy_(target: Tensor, value: Tensor) -> Tensor:
    """Write `value` into `target`, unseen by the tape but counted by its version."""
    target._storage.backend.copy(target._data, value._data)
    target._storage.version += 1
    return target


CREATIONS = (full, empty, arange, draw)
"""Functions that make memory from nothing."""
