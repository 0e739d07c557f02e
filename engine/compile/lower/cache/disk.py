"""Where compiled objects and measured choices are kept: a folder of files named by the hash of what they were made from.

`TAPESCOPE_CACHE` names the folder; else it is the user's cache folder. What cannot be written is kept for the process only.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

_temporary: tempfile.TemporaryDirectory[str] | None = None


def folder() -> Path:
    """The folder, made where it is missing; a temporary one where it cannot be written."""
    global _temporary
    named = os.environ.get("TAPESCOPE_CACHE")
    if named:
        path = Path(named)
    else:
        try:
            import platformdirs

            path = Path(platformdirs.user_cache_dir("tapescope")) / "compile"
        except ImportError:
            path = Path(tempfile.gettempdir()) / "tapescope-compile"
    try:
        path.mkdir(parents=True, exist_ok=True)
        if os.access(path, os.W_OK):
            return path
    except OSError:
        pass
    if _temporary is None:
        _temporary = tempfile.TemporaryDirectory(prefix="tapescope-")
    return Path(_temporary.name)


def key(*parts: str | bytes) -> str:
    """The name of what is made from these parts."""
    digest = hashlib.sha256()
    for p in parts:
        data = p.encode() if isinstance(p, str) else p
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def write(path: Path, data: bytes) -> None:
    """Write a file so that others see all of it or nothing."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
