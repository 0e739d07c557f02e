"""Memory on a device, shared by a tensor and its views, with a counter of the writes to it."""

from __future__ import annotations

from typing import Any

from .backends.base import Backend
from .state import state

INFERENCE = -(1 << 62)
"""Where the versions of memory made in inference mode start: they stay below zero however often it is written to."""


class Storage:
    """`data` is the backend's array that owns the memory; `version` counts in-place writes, from below zero in inference mode.

    `root` is the backend's handle for cutting views, made when the first view is asked for.
    """

    __slots__ = ("__weakref__", "_root", "backend", "data", "version")

    def __init__(self, backend: Backend, data: Any):
        self.backend = backend
        self.data = data
        self.version = INFERENCE if state.inference else 0
        self._root = None

    @property
    def root(self) -> Any:
        if self._root is None:
            self._root = self.backend.root(self.data)
        return self._root

    def nbytes(self) -> int:
        """Bytes of the memory."""
        return self.backend.nbytes(self.data)


class ReinterpretedStorage(Storage):
    """The memory of another storage read as another dtype: offsets count in its elements, writes count in the other's version."""

    __slots__ = ("owner",)

    def __init__(self, owner: Storage, dtype: Any):
        self.owner = owner.owner if isinstance(owner, ReinterpretedStorage) else owner
        self.backend = owner.backend
        self.data = owner.data
        self._root = owner.backend.reinterpret(owner.root, dtype)

    @property
    def version(self) -> int:  # type: ignore[override]
        return self.owner.version

    @version.setter
    def version(self, value: int) -> None:
        self.owner.version = value
