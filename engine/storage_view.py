"""What users see of a tensor's memory: `t.untyped_storage()`, `t.storage()`, and the methods that speak of memory.

A view holds the engine's storage; two views of one storage are equal.
"""

from __future__ import annotations

from typing import Any

from .device import device as Device
from .storage import Storage
from .tensor import Tensor


class UntypedStorage:
    """The bytes that a tensor and its views share."""

    def __init__(self, storage: Storage, itemsize: int = 1):
        self._storage = storage
        self._stored = itemsize

    def nbytes(self) -> int:
        """Bytes."""
        return self._storage.nbytes()

    size = __len__ = nbytes

    def data_ptr(self) -> int:
        """Address (CPU) or handle of the first byte; equal for tensors that share memory."""
        root = self._storage.root
        pointer = getattr(root, "ctypes", None)
        return pointer.data if pointer is not None else id(self._storage)

    @property
    def device(self) -> Device:
        """Where the bytes are."""
        return Device(self._storage.backend.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return id(self._storage)

    def __repr__(self) -> str:
        return f"[torch.storage.{type(self).__name__}(device={self.device}) of size {len(self)}]"


class TypedStorage(UntypedStorage):
    """The elements that a tensor and its views share, in memory order."""

    def __init__(self, tensor: Tensor):
        super().__init__(tensor._storage)
        self.dtype = tensor.dtype

    def _flat(self) -> Any:
        storage = self._storage
        count = storage.nbytes() // self.dtype.numpy.itemsize
        return storage.backend.download(storage.backend.view(storage.root, (count,), (1,), 0), self.dtype)

    def size(self) -> int:
        """The number of elements."""
        return self._storage.nbytes() // self.dtype.numpy.itemsize

    __len__ = size

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._flat().tolist()

    def __getitem__(self, index: Any) -> Any:
        got = self._flat()[index]
        return got.item() if not got.shape else got.tolist()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._storage)

    def __repr__(self) -> str:
        lines = "\n ".join(str(v) for v in self.tolist())
        return f" {lines}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def _no_device(name: str) -> Any:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError(
            f"Torch not compiled with {name} enabled. This engine computes on 'cpu' and 'webgpu': use .to('webgpu')."
        )

    method.__doc__ = f"Raises AssertionError: there is no {name} device."
    return method


METHODS: dict[str, Any] = {
    "untyped_storage": lambda self: UntypedStorage(self._storage),
    "storage": lambda self: TypedStorage(self),
    "storage_type": lambda self: TypedStorage,
    "share_memory_": lambda self: self,
    "is_shared": lambda self: False,
    "pin_memory": lambda self, device=None: self,
    "is_pinned": lambda self, device=None: False,
    "has_names": lambda self: False,
    "is_set_to": lambda self, other: (
        self._storage is other._storage
        and self.shape == other.shape
        and self.stride() == other.stride()
        and self.storage_offset() == other.storage_offset()
    ),
    "cuda": _no_device("CUDA"),
    "xpu": _no_device("XPU"),
    "is_xpu": False,
    "is_nested": False,
    "is_meta": False,
    "is_mkldnn": False,
}
