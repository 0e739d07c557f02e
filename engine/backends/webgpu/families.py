"""Which kernels of which file serve which primitives of the operator table on the WebGPU device."""

from __future__ import annotations

from typing import Any

from . import (
    attention,
    indexing,
    losses,
    movement,
    normalise,
    order,
    products,
    reductions,
    resample,
    scans,
    small,
    windows,
)


def register(backend: Any) -> None:
    """Enter all kernels into the backend's table."""
    put = backend.kernels.__setitem__
    put("clone", backend.clone)
    put("contiguous", backend.contiguous)
    put("to_dtype", backend.cast)
    reductions.register(backend)
    products.register(backend)
    normalise.register(backend)
    indexing.register(backend)
    small.register(backend)
    movement.register(backend)
    windows.register(backend)
    scans.register(backend)
    resample.register(backend)
    order.register(backend)
    attention.register(backend)
    losses.register(backend)
