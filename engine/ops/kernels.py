"""Whether a primitive runs at the place where a tensor is, or its formula must."""

from __future__ import annotations

from ..state import state
from ..tensor import Tensor
from .table import Op


def has_kernel(op: Op, t: Tensor) -> bool:
    """Whether the device of `t` has a kernel for `op` of its own, and nothing (a transform, a capture) wants to see its formula."""
    backend = t._storage.backend
    return not state.modes and (backend.fuses if backend.fuses is not None else op.name in backend.kernels)
