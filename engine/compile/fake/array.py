"""What a fake tensor has for an array: geometry, a dtype and a memory, but no elements."""

from __future__ import annotations

import itertools
from typing import Any

_numbers = itertools.count()


class FakeMemory:
    """Memory that is not there, on the device of a name. `owner` is the array that it was made for; `writes` counts copies into it."""

    __slots__ = ("device", "number", "owner", "writes")

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.number = next(_numbers)
        self.owner: FakeArray | None = None
        self.writes = 0


class Shape(tuple):
    """Sizes; of two shapes with different numbers of dimensions no size is looked at, so that no needless guard arises."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and len(self) == len(other) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


class FakeArray:
    """A window on a `FakeMemory`: sizes, strides and offset in elements (ints or SymInts), and the engine's dtype.

    `constant` is a numpy array where the values are known after all (a literal), as long as nobody has written to the memory.
    """

    __slots__ = ("_dtype", "constant", "memory", "offset", "shape", "strides")

    def __init__(self, shape: Any, strides: Any, offset: Any, dtype: Any, memory: FakeMemory, constant: Any = None):
        self.shape = shape if type(shape) is Shape else Shape(shape)
        self.strides = strides
        self.offset = offset
        self._dtype = dtype
        self.memory = memory
        self.constant = constant
        if memory.owner is None:
            memory.owner = self

    @property
    def dtype(self) -> Any:
        """The engine's dtype."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def numel(self) -> Any:
        """The number of elements."""
        n: Any = 1
        for s in self.shape:
            n = n * s
        return n

    def stride(self) -> Any:
        """The strides, in elements."""
        return self.strides

    def __repr__(self) -> str:
        return f"<fake {self._dtype.name}{list(self.shape)} memory {self.memory.number}>"


class FakeRoot:
    """The handle for cutting views: the memory, read as a dtype."""

    __slots__ = ("dtype", "memory")

    def __init__(self, memory: FakeMemory, dtype: Any):
        self.memory = memory
        self.dtype = dtype
