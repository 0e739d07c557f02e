"""Making fake tensors: twins of real ones, with symbolic sizes where asked, and the contexts in which new tensors are fake.

A twin has the geometry, dtype, device, `requires_grad` and class of its original, a version counter of its own, and no values. The
tape, views, in-place writes and `.grad` work on it as on any tensor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...state import state
from ...storage import Storage
from ...tensor import Tensor
from .array import FakeArray, FakeMemory
from .backend import FakeBackend
from .layout import is_row_major, ordered, row_major
from .symbolic import ShapeEnv

_shared: dict[str, FakeBackend] = {}


def fake_backend(name: str) -> FakeBackend:
    """The shared fake of a device, by the device's name."""
    found = _shared.get(name)
    if found is None:
        found = _shared[name] = FakeBackend(name)
    return found


def is_fake(value: Any) -> bool:
    """Whether a value is a tensor without values."""
    return isinstance(value, Tensor) and type(value._data) is FakeArray


def fake_like(
    tensor: Tensor,
    symbolic_dims: Iterable[int] | Mapping[int, Any] = (),
    *,
    env: ShapeEnv | None = None,
    source: Any = None,
    backends: Callable[[str], FakeBackend] = fake_backend,
) -> Tensor:
    """The fake twin of a tensor (a leaf, detached from its history).

    The sizes of `symbolic_dims` become symbols of `env` with sources `(source, dim)`; a mapping gives the sizes themselves (SymInts or
    ints). Sizes 0 and 1 stay numbers. Strides of a dense tensor follow its symbolic sizes.
    """
    shape: list[Any] = list(tensor._data.shape)
    strides: Any = tuple(tensor.stride())
    given = symbolic_dims if isinstance(symbolic_dims, Mapping) else dict.fromkeys(symbolic_dims)
    for d, size in given.items():
        if size is not None:
            shape[d] = size
        elif shape[d] >= 2:
            if env is None:
                raise ValueError("symbolic sizes need a ShapeEnv: pass env=")
            shape[d] = env.size(shape[d], (source, d))
    if given and len(shape):
        strides = _strides_of(tuple(tensor._data.shape), strides, tuple(shape))
    backend = backends(tensor._storage.backend.name)
    array = FakeArray(tuple(shape), strides, 0, tensor._dtype, FakeMemory(backend.name))
    out = object.__new__(type(tensor))
    out._data, out._dtype, out._storage, out._strides = array, tensor._dtype, Storage(backend, array), strides
    out._requires_grad = bool(tensor.requires_grad)
    for name, value in tensor.__dict__.items():
        if not name.startswith("_"):
            out.__dict__[name] = value
    return out


def _strides_of(real: tuple[int, ...], strides: tuple[int, ...], shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """The strides of a tensor with other sizes that lies in memory in the same way."""
    if is_row_major(real, strides):
        return row_major(shape)
    order = sorted(range(len(real)), key=lambda d: (-strides[d], -real[d] if strides[d] else 0))
    if strides == ordered(real, order):
        return ordered(shape, order)
    return strides


@contextlib.contextmanager
def fake_mode(backends: Callable[[str], FakeBackend] = fake_backend) -> Iterator[None]:
    """New tensors (`zeros`, `randn`, `tensor`) made in this thread are fake."""
    before = state.fakes
    state.fakes = backends
    try:
        yield
    finally:
        state.fakes = before
