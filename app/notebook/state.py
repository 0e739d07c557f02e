"""Where the notebook keeps what is not the document, and how a file is replaced so that no crash can tear it.

The state folder holds earlier generations (files.py) and recovery journals (journal.py). `write_atomically` serves the
documents themselves too. It knows nothing of notebooks.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import platformdirs

STATE_VARIABLE = "TAPESCOPE_STATE_DIR"
"""The environment variable that names another state folder."""

_TEMPORARY = ".tapescope-{}.tmp"
_ABANDONED_AFTER = 3600.0  # seconds; a process killed while it wrote leaves its temporary file


def state_dir() -> Path:
    """The user's state folder of Tapescope; it need not exist yet."""
    if chosen := os.environ.get(STATE_VARIABLE):
        return Path(chosen)
    return platformdirs.user_state_path("tapescope", appauthor=False)


def document_key(path: str | os.PathLike[str]) -> str:
    """A file name that stands for the document at `path`, symbolic links followed."""
    real = os.path.realpath(path)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(real).stem)[:40]
    return f"{name}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:16]}"


def digest(data: bytes) -> str:
    """The SHA-256 of `data`, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def write_atomically(
    path: Path,
    data: bytes,
    *,
    mode: int | None = None,
    owner: tuple[int, int] | None = None,
    check: Callable[[bytes], None] | None = None,
) -> None:
    """Replace the content of `path` (no symbolic link) by `data`: whole, or not at all.

    The data go to a temporary file in the same folder, are forced to the disk, and read back for `check`, which may
    raise; only then does the file take its name. `mode` and `owner` are set on it (the owner where that is allowed).
    OSError as the system raises it; the old file then is untouched.
    """
    temporary = path.parent / _TEMPORARY.format(secrets.token_hex(6))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666 if mode is None else mode & 0o700)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if owner is not None:
            _set_owner(temporary, owner)
        if mode is not None:
            os.chmod(temporary, mode)
        if check is not None:
            check(temporary.read_bytes())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    _sweep(path.parent)


def _set_owner(path: Path, owner: tuple[int, int]) -> None:
    present = path.stat()
    if hasattr(os, "chown") and (present.st_uid, present.st_gid) != owner:
        try:
            os.chown(path, *owner)
        except OSError:
            pass  # only the superuser may give files away; the content matters more


def _sync_folder(folder: Path) -> None:
    """Force the new name itself to the disk, where the system can open folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _sweep(folder: Path) -> None:
    """Remove temporary files that killed processes left behind."""
    for leftover in folder.glob(_TEMPORARY.format("*")):
        try:
            if time.time() - leftover.stat().st_mtime > _ABANDONED_AFTER:
                leftover.unlink()
        except OSError:
            pass
