"""The ZIP archive of a `.pt` file: a pickle, one member of raw bytes for each storage, and a few small members.

Members are stored, not compressed, and storages begin at multiples of 64 bytes, so that a file can be mapped into memory.  ZIP64 is
used where sizes ask for it.  What the pickle says is `pickling.py`'s and `unpickling.py`'s business.
"""

from __future__ import annotations

import struct
import sys
import zipfile
import zlib
from typing import Any

import numpy as np

from .. import dtypes

ALIGNMENT = 64


_DAMAGE = (
    zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, struct.error, zlib.error, IndexError, OverflowError, MemoryError,
)  # fmt: skip
"""What the standard library's reader raises for damaged archives."""


class ArchiveError(RuntimeError):
    """The file is no archive of this kind, or a damaged one."""


class Writer:
    """Writes the members of an archive below the folder `top`."""

    def __init__(self, file: Any, top: str):
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self.top = top

    def put(self, name: str, content: Any, align: bool = False) -> None:
        """Write one member; `content` is bytes or a flat array."""
        info = zipfile.ZipInfo(f"{self.top}/{name}", (1980, 1, 1, 0, 0, 0))
        view = memoryview(content).cast("B") if not isinstance(content, bytes) else memoryview(content)
        if align and self.zip.fp is not None:
            begin = self.zip.fp.tell() + 30 + len(info.filename.encode()) + 4
            if view.nbytes >= zipfile.ZIP64_LIMIT:
                begin += 20
            info.extra = struct.pack("<HH", 0x4246, -begin % ALIGNMENT) + bytes(-begin % ALIGNMENT)
        info.file_size = view.nbytes
        with self.zip.open(info, "w", force_zip64=view.nbytes >= zipfile.ZIP64_LIMIT) as member:
            for at in range(0, max(view.nbytes, 1), 1 << 24):
                member.write(view[at : at + (1 << 24)])

    def close(self) -> None:
        """Write the directory at the end."""
        self.zip.close()


class Reader:
    """Reads the members of an archive. Raises ArchiveError for what is none."""

    def __init__(self, file: Any):
        try:
            self.zip = zipfile.ZipFile(file)
        except _DAMAGE as error:
            raise ArchiveError(
                f"PytorchStreamReader failed reading zip archive: failed finding central directory ({error}). The file is cut off, or it is "
                "no .pt file of this kind."
            ) from error
        names = self.zip.namelist()
        found = next((n for n in names if n.endswith("/data.pkl") or n == "data.pkl"), None)
        if found is None:
            raise ArchiveError(
                "PytorchStreamReader failed locating file data.pkl: file not found. This ZIP archive was not written by torch.save."
            )
        self.top = found[: -len("data.pkl")]
        self.names = set(names)

    def has(self, name: str) -> bool:
        """Whether there is such a member."""
        return self.top + name in self.names

    def get(self, name: str) -> bytes:
        """The bytes of a member; raises ArchiveError where it is missing or damaged."""
        if not self.has(name):
            raise ArchiveError(
                f"PytorchStreamReader failed locating file {name}: file not found. The archive is incomplete."
            )
        try:
            return self.zip.read(self.top + name)
        except (*_DAMAGE, OSError, RuntimeError) as error:
            raise ArchiveError(
                f"PytorchStreamReader failed reading file {name}: {error}. The file is damaged."
            ) from error

    def place(self, name: str) -> tuple[int, int]:
        """Offset and size of a stored member within the file, for mapping it into memory."""
        if not self.has(name):
            raise ArchiveError(
                f"PytorchStreamReader failed locating file {name}: file not found. The archive is incomplete."
            )
        info = self.zip.getinfo(self.top + name)
        if info.compress_type != zipfile.ZIP_STORED or self.zip.fp is None:
            raise ArchiveError(
                f"the member {name} is compressed and cannot be mapped into memory; load without mmap=True"
            )
        self.zip.fp.seek(info.header_offset)
        header = self.zip.fp.read(30)
        name_length, extra_length = struct.unpack("<HH", header[26:30])
        return info.header_offset + 30 + name_length + extra_length, info.file_size

    @property
    def swapped(self) -> bool:
        """Whether the bytes are of the other order than this machine's."""
        order = self.get("byteorder").decode("ascii", "replace").strip() if self.has("byteorder") else "little"
        if order not in ("little", "big"):
            raise ArchiveError(f"the archive says its byte order is {order!r}, which is neither little nor big")
        return order != sys.byteorder


def encoded(array: np.ndarray, kind: dtypes.dtype) -> np.ndarray:
    """A flat array as the bytes that files hold: bfloat16 in two bytes an element."""
    if kind.rounds:
        return (
            np.ascontiguousarray(array, np.float32)
            .view(np.uint32)
            .__rshift__(np.uint32(16))
            .astype(np.uint16)
            .view(np.uint8)
        )
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def decoded(raw: np.ndarray, kind: dtypes.dtype) -> np.ndarray:
    """The bytes of a storage as a flat array of `kind`."""
    usable = raw[: raw.nbytes // kind.itemsize * kind.itemsize]
    if kind.rounds:
        return (usable.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    return usable.view(kind.numpy)
