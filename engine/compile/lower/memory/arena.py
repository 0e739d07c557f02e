"""Memory for intermediate results that the segments of one compiled function share: forward's are dead when backward runs.

It grows to what the largest segment needs; those that were prepared before are told where it is then.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, Protocol

import numpy as np

from .plan import ALIGN


class Tenant(Protocol):
    """Something prepared that names places in the arena."""

    def bind(self, start: int) -> None:
        """The arena begins at this address from now on."""
        ...


class Arena:
    """One stretch of memory. `lock` is held by whoever runs on it or joins; `blocks` are those of a device, for the same use."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.array = np.empty(0, np.uint8)
        self.blocks: list[Any] = []
        self._tenants: list[weakref.ref[Any]] = []

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return self.array.nbytes

    def hold(self, nbytes: int) -> np.ndarray:
        """The memory, at least this long and beginning at a multiple of 64; call with the lock."""
        if nbytes > self.array.nbytes:
            whole = np.empty(nbytes + ALIGN, np.uint8)
            at = -whole.ctypes.data % ALIGN
            self.array = whole[at : at + nbytes]
            self._tenants = [t for t in self._tenants if t() is not None]
            for tenant in self._tenants:
                found = tenant()
                if found is not None:
                    found.bind(self.array.ctypes.data)
        return self.array

    def join(self, tenant: Tenant, nbytes: int) -> None:
        """Give a tenant its places, now and whenever the memory moves; call with the lock."""
        array = self.hold(nbytes)
        tenant.bind(array.ctypes.data)
        self._tenants.append(weakref.ref(tenant))
        if len(self._tenants) > 64:
            self._tenants = [t for t in self._tenants if t() is not None]
