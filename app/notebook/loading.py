"""Reading a document from disk: every way in which that can go wrong has a sentence. It writes nothing.

The formats stand in `FORMATS`, one entry each; saving (files.py) and recovery (journal.py) use the same table.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from . import ipynb, percent, sidecar
from .document import Format, Notebook
from .errors import NotebookError
from .state import digest

FORMATS: dict[Format, ModuleType] = {"py": percent, "ipynb": ipynb}
"""Formats by suffix without the dot. A module has `reads(text)`, `writes(notebook)` and `check(notebook, text)`."""

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class DiskState:
    """What the file was like when it was last read or written: enough to see that somebody else has changed it."""

    mtime_ns: int
    size: int
    digest: str


def format_of(path: Path) -> Format:
    """The format a file name asks for. NotebookError where it asks for none."""
    for name in FORMATS:
        if path.suffix.lower() == f".{name}":
            return name
    known = " or ".join(f".{name}" for name in FORMATS)
    if not path.suffix:
        raise NotebookError(f"{path} has no suffix; a notebook is a {known} file.")
    raise NotebookError(f"{path} ends in {path.suffix}, which is no kind of notebook; use {known}.")


def load(path: str | os.PathLike[str]) -> Notebook:
    """Read a `.py` or `.ipynb` document, with the outputs kept beside a `.py`.

    NotebookError with a sentence for a missing file, a folder, no permission, text that is not UTF-8, text that is not
    JSON, JSON that is no notebook, and an unknown suffix. What could be repaired is in `warnings` of the notebook.
    """
    path = Path(path)
    kind = format_of(path) if not path.is_dir() else "py"
    data, status = read_file(path)
    notebook = decode(data, kind, path)
    notebook.path = Path(os.path.abspath(path))
    notebook.disk = DiskState(status.st_mtime_ns, status.st_size, digest(data))
    if kind == "py":
        load_sidecar(notebook, Path(os.path.realpath(path)))
    return notebook


def read_file(path: Path) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file, and what they were like. NotebookError otherwise."""
    try:
        # Without O_NONBLOCK, opening a pipe would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not stat.S_ISREG(status.st_mode):
                raise NotebookError(f"{path} is no regular file, and so no notebook.")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(), status
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        if not path.parent.is_dir():
            raise NotebookError(f"There is no file {path}: the folder {path.parent} does not exist.") from error
        raise NotebookError(f"There is no file {path}. `tapescope new {path.name}` makes one.") from error
    except OSError as error:
        if error.errno == errno.EISDIR or path.is_dir():
            raise NotebookError(f"{path} is a folder; name a notebook in it.") from error
        if isinstance(error, PermissionError):
            raise NotebookError(f"{path} cannot be read: permission denied. Check its owner and mode.") from error
        raise NotebookError(f"{path} cannot be read: {error.strerror or error}.") from error


def decode(data: bytes, kind: Format, path: Path) -> Notebook:
    """The notebook in the bytes of a file; `path` is for the sentences."""
    mark = data.startswith(_MARK)
    try:
        text = data[len(_MARK) :].decode() if mark else data.decode()
    except UnicodeDecodeError as error:
        raise NotebookError(_not_utf8(data, error, path)) from error
    breaks, pairs = text.count("\n"), text.count("\r\n")
    text = text.replace("\r\n", "\n")
    try:
        notebook = FORMATS[kind].reads(text)
    except NotebookError as error:
        raise NotebookError(f"{path}: {error}") from error
    notebook.byte_order_mark = mark
    notebook.newline = "\r\n" if pairs > breaks - pairs else "\n"
    if 0 < pairs < breaks:
        ending = "CR LF" if notebook.newline == "\r\n" else "LF"
        notebook.warnings.append(f"{path.name} mixes line endings; saving it will write all of them as {ending}.")
    return notebook


def encode(notebook: Notebook, text: str) -> bytes:
    """The bytes of a file for the text of a notebook: the reverse of `decode`."""
    try:
        data = text.replace("\n", notebook.newline).encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise NotebookError(
            f"The character U+{ord(text[error.start]):04X} in line {line} is half of a surrogate pair, which UTF-8 "
            "cannot hold. Remove it and save again."
        ) from error
    return _MARK + data if notebook.byte_order_mark else data


def _not_utf8(data: bytes, error: UnicodeDecodeError, path: Path) -> str:
    command = f"-t utf-8 {path.name} > NEW{path.suffix}"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"{path} is UTF-16, not UTF-8. Convert it, for example: iconv -f utf-16 {command}"
    if b"\0" in data:
        return f"{path} is no text: it has bytes that only binary files have. Name a .py or .ipynb notebook."
    start = data.rfind(b"\n", 0, error.start) + 1
    line = data.count(b"\n", 0, error.start) + 1
    column = len(data[start : error.start].decode(errors="replace")) + 1
    where = f"position {error.start} (line {line}, column {column})"
    return (
        f"{path} is not UTF-8: byte 0x{data[error.start]:02x} at {where}. "
        f"Convert it, for example from Latin-1: iconv -f latin1 {command}"
    )


def load_sidecar(notebook: Notebook, document: Path) -> None:
    """Give a percent notebook the outputs kept beside `document`; a damaged file is a sentence in its warnings."""
    path = sidecar.path_for(document)
    if not path.exists():
        return
    try:
        data, _ = read_file(path)
        sidecar.apply(notebook, data.decode())
    except (NotebookError, UnicodeDecodeError) as error:
        reason = str(error).rstrip(".")
        notebook.warnings.append(f"The kept outputs in {path} could not be read ({reason}); run the cells again.")
