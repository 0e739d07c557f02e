"""Writing the pickle of a `.pt` file: protocol 2, with PyTorch's names for its classes and a persistent id for each storage.

The standard library's pickler in Python is used, since only there a global can be spelled by a name that need not be importable.
"""

from __future__ import annotations

import io
import pickle
import types
from collections import OrderedDict
from typing import Any

from ..device import device
from ..shapes import Size
from ..storage import Storage
from ..tensor import Tensor
from .names import STORAGES, UNTYPED, Name, name_of


class _Spelled:
    """A global to be written as `name`."""

    def __init__(self, name: Name):
        self.name = name

    def __call__(self, *args: Any) -> Any:  # picklers want the function of a reduction to be callable
        raise TypeError(f"{self.name} is only a name in a file")


class _StorageId(tuple):
    """What stands for a storage: it becomes the pickle's persistent id."""


_REBUILD_V2 = _Spelled(Name("torch._utils", "_rebuild_tensor_v2"))
_REBUILD_V3 = _Spelled(Name("torch._utils", "_rebuild_tensor_v3"))
_REBUILD_PARAMETER = _Spelled(Name("torch._utils", "_rebuild_parameter"))
_DEVICE = _Spelled(Name("torch", "device"))
_SIZE = _Spelled(Name("torch", "Size"))
_spelled: dict[Name, _Spelled] = {}


_Base: Any = getattr(pickle, "_Pickler")  # noqa: B009 (the stub does not name it)


class Pickler(_Base):
    """Collects the storages it meets in `storages`, in order, as (storage, dtype)."""

    def __init__(self, file: io.BytesIO, protocol: int = 2):
        super().__init__(file, protocol)
        self.storages: list[tuple[Storage, Any]] = []
        self._keys: dict[int, str] = {}

    def persistent_id(self, obj: Any) -> Any:
        """Storages are named by a tuple; everything else is pickled."""
        return tuple(obj) if type(obj) is _StorageId else None

    def _storage_id(self, t: Tensor) -> _StorageId:
        key = self._keys.get(id(t._storage))
        if key is None:
            key = self._keys[id(t._storage)] = str(len(self.storages))
            self.storages.append((t._storage, t._dtype))
        count = t._storage.nbytes() // t._dtype.numpy.itemsize
        typed = STORAGES.get(t._dtype.name)
        name = Name("torch", typed) if typed else UNTYPED
        return _StorageId(("storage", _spell(name), key, "cpu", count if typed else count * t._dtype.itemsize))

    def reducer_override(self, obj: Any) -> Any:
        """How the engine's own objects are put together again, in PyTorch's words."""
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if isinstance(obj, Size):
            return _SIZE, (tuple(obj),)
        if isinstance(obj, device):
            return _DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        return NotImplemented

    def _tensor(self, t: Tensor) -> Any:
        from ..nn import Parameter

        plain = t
        if isinstance(t, Parameter):
            plain = t.detach_shallow()
        typed = t._dtype.name in STORAGES
        args: tuple[Any, ...] = (
            self._storage_id(plain),
            plain.storage_offset(),
            tuple(plain.shape),
            plain.stride(),
            plain.requires_grad,
            OrderedDict(),
        )
        if not typed:
            args = (*args, t._dtype)
        made = (_REBUILD_V2 if typed else _REBUILD_V3, args)
        if isinstance(t, Parameter):
            return _REBUILD_PARAMETER, (_Reduced(*made), t.requires_grad, OrderedDict())
        return made

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """A class or function; the engine's are spelled as PyTorch's."""
        found = name_of(obj)
        if found is not None:
            self.save(_spell(found))
            return
        super().save_global(obj, name)

    def _save_spelled(self, obj: _Spelled) -> None:
        self.write(pickle.GLOBAL + f"{obj.name.module}\n{obj.name.attribute}\n".encode())
        self.memoize(obj)

    def _save_dtype(self, obj: Any) -> None:
        self.save(_spell(Name("torch", obj.name)))

    def _save_reduced(self, obj: _Reduced) -> None:
        self.save_reduce(obj.function, obj.args)

    dispatch: dict[type, Any] = dict(_Base.dispatch)


class _Reduced:
    """A call to be written in place."""

    def __init__(self, function: Any, args: tuple[Any, ...]):
        self.function = function
        self.args = args


def _spell(name: Name) -> _Spelled:
    found = _spelled.get(name)
    if found is None:
        found = _spelled[name] = _Spelled(name)
    return found


def _register() -> None:
    from ..dtypes import dtype

    table = Pickler.dispatch
    table[_Spelled] = Pickler._save_spelled
    table[_Reduced] = Pickler._save_reduced
    table[dtype] = Pickler._save_dtype
    table[types.FunctionType] = Pickler.save_global
    table[type] = _save_type


def _save_type(self: Any, obj: Any) -> None:
    if name_of(obj) is not None:
        self.save_global(obj)
    else:
        _Base.save_type(self, obj)


_register()


def dumps(obj: Any, protocol: int = 2) -> tuple[bytes, list[tuple[Storage, Any]]]:
    """The pickle of `obj`, and the storages its persistent ids name, in order."""
    buffer = io.BytesIO()
    pickler = Pickler(buffer, protocol)
    pickler.dump(obj)
    return buffer.getvalue(), pickler.storages
