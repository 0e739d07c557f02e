"""The safetensors format, both ways: a length, a JSON header, and the raw bytes of the tensors.

The layout is that of the format's public description: eight bytes of little-endian header length, the header with dtype, shape and
byte range of each tensor, then the data.  Nothing in such a file can be executed.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.base import backend
from ..shapes import numel
from ..tensor import Tensor, wrap
from .archive import decoded, encoded

_CODES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32", "I64": "int64",
    "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64",
}  # fmt: skip
_OF_DTYPE = {d: c for c, d in _CODES.items()}
_HEADER_LIMIT = 100_000_000


class SafetensorError(Exception):
    """The file is no safetensors file, or a damaged one."""


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The file's bytes for a dictionary of tensors. Raises ValueError for what is none, RuntimeError for shared memory."""
    _check(tensors)
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    parts, at = [], 0
    for name in sorted(tensors, key=lambda n: (-tensors[n].dtype.itemsize, n)):
        t = tensors[name]
        if t.dtype.name not in _OF_DTYPE:
            raise ValueError(f"tensor {name!r} has dtype {t.dtype}, which safetensors files do not know")
        raw = encoded(np.ascontiguousarray(t.detach_shallow()._host()), t.dtype)
        header[name] = {"dtype": _OF_DTYPE[t.dtype.name], "shape": list(t.shape), "data_offsets": [at, at + raw.nbytes]}
        parts.append(raw.tobytes())
        at += raw.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def _check(tensors: dict[str, Tensor]) -> None:
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    owners: dict[int, str] = {}
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}")
        first = owners.setdefault(id(t._storage), name)
        if first != name and t.numel():
            raise RuntimeError(
                f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: "
                f"[{{{first!r}, {name!r}}}]. Save copies (tensor.clone()), or one of them."
            )


def save_file(
    tensors: dict[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write a dictionary of tensors to a file, in place of an old one only when it is whole."""
    content = save(tensors, metadata)
    path = os.fspath(filename)
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "wb") as file:
            file.write(content)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def _header(data: Any) -> tuple[dict[str, Any], int]:
    if len(data) < 8:
        raise SafetensorError(f"Error while deserializing header: header too small: the file has {len(data)} bytes")
    (length,) = struct.unpack("<Q", bytes(data[:8]))
    if length > _HEADER_LIMIT:
        raise SafetensorError("Error while deserializing header: header too large; this is no safetensors file")
    if 8 + length > len(data):
        raise SafetensorError("Error while deserializing header: invalid header length: the file is cut off")
    try:
        header = json.loads(bytes(data[8 : 8 + length]).decode())
    except ValueError as error:
        raise SafetensorError(f"Error while deserializing header: invalid JSON in header ({error})") from error
    if not isinstance(header, dict):
        raise SafetensorError("Error while deserializing header: it is no JSON object")
    return header, 8 + length


def load(data: bytes, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors in a file's bytes. Raises SafetensorError for damaged ones."""
    header, start = _header(data)
    return {n: _tensor(n, e, data, start, device) for n, e in header.items() if n != "__metadata__"}


def _tensor(name: str, entry: Any, data: Any, start: int, device: Any) -> Tensor:
    try:
        kind = dtypes.DTYPES[_CODES[entry["dtype"]]]
        shape = tuple(int(n) for n in entry["shape"])
        begin, end = (int(v) for v in entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise SafetensorError(
            f"tensor {name!r} is described in a way this format does not know: {entry!r}"[:300]
        ) from error
    if (
        any(n < 0 for n in shape)
        or end - begin != numel(shape) * kind.itemsize
        or not 0 <= begin <= end <= len(data) - start
    ):
        raise SafetensorError(
            f"tensor {name!r} of shape {list(shape)} and dtype {kind.name} does not fit its bytes {begin} to {end}; the file is damaged"
        )
    raw = np.frombuffer(bytearray(data[start + begin : start + end]), np.uint8)
    out = wrap(decoded(raw, kind).reshape(shape), kind, backend("cpu"))
    return out if str(device) == "cpu" else out.to(device)


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file. Raises FileNotFoundError, SafetensorError for damaged ones."""
    with open(filename, "rb") as file:
        return load(file.read(), device)


def metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The notes in a file's header."""
    with open(filename, "rb") as file:
        return _header(file.read())[0].get("__metadata__", {})
