"""`torch.save` and `torch.load`: `.pt` files that PyTorch reads and writes too.

`archive.py` is the container, `pickling.py` and `unpickling.py` its pickle, `names.py` and `rebuild.py` the vocabulary, `safetensors.py`
another format.  Nothing that a file brings along is executed unless `weights_only=False`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..device import device as Device
from .archive import ArchiveError, Reader, Writer, encoded
from .names import Name, name_of
from .pickling import dumps
from .rebuild import LoadedStorage
from .unpickling import SafeUnpickler, TrustingUnpickler, storage_dtype, user_safe


def save(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True
) -> None:
    """Write `obj` (tensors in any containers, state dictionaries, modules) to a path or binary file.

    Tensors that share memory share it in the file; tensors of other devices are stored as the CPU's. A path is written
    beside itself first and put in place when it is whole. Raises RuntimeError for a missing folder.
    """
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        folder = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        partial = f"{path}.{os.getpid()}.partial"
        try:
            with open(partial, "wb") as file:
                _write(obj, file, os.path.basename(path).rpartition(".")[0] or "archive", pickle_protocol)
            os.replace(partial, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(partial)
            raise
        return
    if not hasattr(f, "write"):
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, got {type(f).__name__}"
        )
    buffer = io.BytesIO()
    _write(obj, buffer, "archive", pickle_protocol)
    f.write(buffer.getbuffer())


def _write(obj: Any, file: Any, top: str, protocol: int) -> None:
    text, storages = dumps(obj, protocol)
    writer = Writer(file, top)
    writer.put("data.pkl", text)
    writer.put(".format_version", b"1")
    writer.put(".storage_alignment", b"64")
    writer.put("byteorder", b"little" if np.little_endian else b"big")
    digest = hashlib.sha1(text)
    for i, (storage, kind) in enumerate(storages):
        root = storage.root
        count = storage.nbytes() // kind.numpy.itemsize
        flat = (
            storage.backend.download(storage.backend.view(root, (count,), (1,), 0), kind)
            if storage.backend.name != "cpu"
            else root
        )
        raw = encoded(flat, kind)
        digest.update(raw.data)
        writer.put(f"data/{i}", raw, align=True)
    writer.put("version", b"3\n")
    writer.put(".data/serialization_id", str(int(digest.hexdigest(), 16))[:40].zfill(40).encode())
    writer.close()


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    encoding: str = "utf-8",
    **_: Any,
) -> Any:
    """What `save` (here or PyTorch's) wrote to a path or binary file.

    By default only tensors, plain containers and allow-listed classes are read and nothing in the file is executed; a file that asks
    for more is a pickle.UnpicklingError. `map_location` says where tensors go (a device, a dictionary of places, or a function).
    With `mmap`, storages are mapped from the file. Raises FileNotFoundError, RuntimeError for damaged or foreign files.
    """
    if isinstance(f, (str, os.PathLike)):
        if mmap:
            return _read(Reader(os.fspath(f)), map_location, weights_only is not False, encoding, os.fspath(f))
        with open(f, "rb") as file:
            return _checked(file, map_location, weights_only is not False, encoding)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not hasattr(f, "read"):
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'read' attribute, got {type(f).__name__}"
        )
    return _checked(f, map_location, weights_only is not False, encoding)


def _checked(file: Any, map_location: Any, safe: bool, encoding: str) -> Any:
    data = file.read()
    if not data:
        raise EOFError("Ran out of input")
    if data[:4] != b"PK\x03\x04":
        kind = "a safetensors file: use safetensors' load_file" if data[8:9] == b"{" else "no ZIP archive"
        if data[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04"):
            kind = "of PyTorch's format before version 1.6: load it there and save it again"
        raise pickle.UnpicklingError(
            f"this file is {kind}; torch.load reads the archives that torch.save writes (its first bytes are {data[:8]!r})"
        )
    return _read(Reader(io.BytesIO(data)), map_location, safe, encoding, None)


def _read(reader: Reader, map_location: Any, safe: bool, encoding: str, path: str | None) -> Any:
    loaded: dict[str, LoadedStorage] = {}
    swapped = reader.swapped

    def persistent(pid: Any) -> Any:
        if not (isinstance(pid, tuple) and len(pid) >= 5 and pid[0] == "storage" and isinstance(pid[2], str)):
            raise pickle.UnpicklingError(f"the file refers to something that is no storage: {str(pid)[:80]}")
        kind = dtypes.DTYPES[storage_dtype(pid[1])]
        key = pid[2]
        if key not in loaded:
            if path is not None:
                offset, size = reader.place(f"data/{key}")
                raw = np.memmap(path, np.uint8, "c", offset, (size,)) if size else np.empty(0, np.uint8)
                raw = raw.view(np.ndarray)
            else:
                raw = np.frombuffer(bytearray(reader.get(f"data/{key}")), np.uint8)
            if raw.nbytes < int(pid[4]) * kind.itemsize:
                raise ArchiveError(
                    f"storage {key} has {raw.nbytes} bytes where the file says {int(pid[4]) * kind.itemsize}; it is damaged"
                )
            if swapped:
                half = kind.itemsize // 2 if kind.is_complex else kind.itemsize
                raw = raw.reshape(-1, half)[:, ::-1].reshape(-1).copy() if half > 1 else raw
            loaded[key] = LoadedStorage(raw, kind, _place(map_location, str(pid[3])))
        return loaded[key]

    unpickler = (SafeUnpickler if safe else TrustingUnpickler)(reader.get("data.pkl"), persistent, encoding)
    return unpickler.load()


def _place(map_location: Any, said: str) -> str:
    """The device that a storage saved at `said` goes to. Raises RuntimeError where there is no such device."""
    where: Any = said
    if isinstance(map_location, dict):
        where = map_location.get(said, said)
    elif isinstance(map_location, (str, Device)):
        where = map_location
    elif callable(map_location):
        where = "cpu"
    try:
        return Device(where).type
    except RuntimeError as error:
        if map_location is None:
            raise RuntimeError(
                f"the file's tensors were saved on device {said!r}, which is not available here; use torch.load with map_location='cpu'"
            ) from error
        raise


def _named(items: list[Any]) -> dict[Name, Any]:
    out: dict[Name, Any] = {}
    for item in items:
        obj, spelled = item if isinstance(item, tuple) else (item, None)
        if spelled is not None:
            module, _, attribute = spelled.rpartition(".")
            out[Name(module, attribute)] = obj
        else:
            out[name_of(obj) or Name(obj.__module__, obj.__qualname__)] = obj
    return out


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
    """Allow `load` to use these classes and functions when a file names them."""
    user_safe.update(_named(list(safe_globals)))


def get_safe_globals() -> list[Any]:
    """What was allowed."""
    return list(user_safe.values())


def clear_safe_globals() -> None:
    """Allow nothing beyond the default."""
    user_safe.clear()


class safe_globals:
    """Inside `with`, `load` may use these classes and functions."""

    def __init__(self, safe_globals: list[Any]):
        self._given = _named(list(safe_globals))

    def __enter__(self) -> None:
        self._before = dict(user_safe)
        user_safe.update(self._given)

    def __exit__(self, *error: object) -> None:
        user_safe.clear()
        user_safe.update(self._before)


__all__ = ["ArchiveError", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
