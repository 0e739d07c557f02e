"""Documents on disk: load and save, atomically, with earlier generations kept. The formats stand elsewhere.

A save writes the new text beside the old one, forces it to the disk, parses it back, keeps the old content as a
generation in the state folder, and only then lets the new file take the name. Reading is the subject of loading.py.
"""

from __future__ import annotations

import datetime
import errno
import os
import stat
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from . import journal, percent, sidecar
from .document import Notebook
from .errors import NotebookError
from .loading import FORMATS, DiskState, decode, encode, format_of, load, load_sidecar, read_file
from .state import digest, document_key, state_dir, write_atomically
from .templates import TEMPLATES

__all__ = [
    "DEFAULT_METADATA", "KEPT_GENERATIONS", "Generation", "NotebookError", "changed_on_disk", "generations", "load",
    "new_notebook", "restore", "save",
]  # fmt: skip

KEPT_GENERATIONS = 20
DEFAULT_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""What an `.ipynb` says when it was no `.ipynb` before: Jupyter asks for a kernel otherwise."""

_TIME = "%Y%m%dT%H%M%S%f"


@dataclass(frozen=True, slots=True)
class Generation:
    """An earlier content of a document: `path` is the copy, `time` (UTC) when it was replaced, `size` in bytes."""

    path: Path
    time: datetime.datetime
    size: int


def save(notebook: Notebook, path: str | os.PathLike[str] | None = None) -> Path:
    """Write the notebook where it lives, or to `path` (where it lives from then on); returns the absolute path.

    The suffix decides the format. Symbolic links are followed, permissions and line endings kept. What the file held
    before is in `generations`, also where another program had changed it (ask `changed_on_disk` first). The recovery
    journal is removed. NotebookError on failure: the file then is as it was, and the notebook still dirty. What went
    wrong beside the document itself (its kept outputs, the generation) is a sentence in `notebook.warnings`.
    """
    target = path if path is not None else notebook.path
    if target is None:
        raise NotebookError("The notebook has no name yet; say where to save it.")
    target = Path(target)
    kind = format_of(target)
    real = Path(os.path.realpath(target))
    if real.is_dir():
        raise NotebookError(f"{target} is a folder; name a file in it.")
    previous = notebook.format, notebook.metadata
    if kind == "ipynb" and notebook.format != "ipynb" and not notebook.metadata.keys() & DEFAULT_METADATA.keys():
        notebook.metadata = {**deepcopy(DEFAULT_METADATA), **notebook.metadata}
    notebook.format = kind
    try:
        data = encode(notebook, FORMATS[kind].writes(notebook))
        problem = _replace(notebook, real, data)
    except OSError as error:
        notebook.format, notebook.metadata = previous
        raise NotebookError(_not_saved(target, error)) from error
    except BaseException:
        notebook.format, notebook.metadata = previous
        raise
    notebook.warnings = [problem] if problem else []
    notebook.path = Path(os.path.abspath(target))
    _remember(notebook, real, data)
    if kind == "py":
        _save_sidecar(notebook, real)
    journal.discard(notebook)
    notebook.mark_saved()
    return notebook.path


def changed_on_disk(notebook: Notebook) -> bool:
    """True where the file differs from what was last loaded or saved (or is gone); False where it never had a file."""
    known = notebook.disk
    if notebook.path is None or not isinstance(known, DiskState):
        return False
    try:
        status = notebook.path.stat()
        if (status.st_mtime_ns, status.st_size) == (known.mtime_ns, known.size):
            return False
        if status.st_size != known.size:
            return True
        data = notebook.path.read_bytes()
    except OSError:
        return True
    if digest(data) != known.digest:
        return True
    notebook.disk = DiskState(status.st_mtime_ns, status.st_size, known.digest)  # touched, but the same
    return False


def generations(path: str | os.PathLike[str]) -> list[Generation]:
    """Earlier contents of the document at `path`, newest first; at most KEPT_GENERATIONS."""
    found: list[Generation] = []
    for copy in _generations_folder(path).glob("*Z.*"):
        try:
            time = datetime.datetime.strptime(copy.name.partition("Z")[0], _TIME).replace(tzinfo=datetime.UTC)
            found.append(Generation(copy, time, copy.stat().st_size))
        except (ValueError, OSError):
            continue
    return sorted(found, key=lambda each: each.time, reverse=True)


def restore(path: str | os.PathLike[str], generation: Generation) -> Notebook:
    """The document at `path` as it was in `generation`: dirty until it is saved. NotebookError if it cannot be read.

    Cells that still stand in the sidecar of a `.py` have their outputs.
    """
    path = Path(os.path.abspath(path))
    kind = format_of(path)
    notebook = decode(read_file(generation.path)[0], kind, generation.path)
    notebook.path = path
    notebook.dirty = True
    if kind == "py":
        load_sidecar(notebook, Path(os.path.realpath(path)))
    if path.exists():
        data, status = read_file(path)
        notebook.disk = DiskState(status.st_mtime_ns, status.st_size, digest(data))
    return notebook


def new_notebook(kind: str = "empty") -> Notebook:
    """An untitled notebook from a template: "empty" or "model"."""
    if kind not in TEMPLATES:
        raise NotebookError(f"There is no template {kind!r}; use {' or '.join(map(repr, TEMPLATES))}.")
    return percent.reads(TEMPLATES[kind])


# -- inside ---------------------------------------------------------------------------------------------


def _replace(notebook: Notebook, real: Path, data: bytes) -> str:
    """Put `data` in the place of the file. Returns a sentence where the old content could not be kept."""
    mode = owner = None
    old: bytes | None = None
    if real.exists():
        old, status = read_file(real)
        # Replacing needs no permission on the file itself, but who made it read-only meant it.
        if not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(real))
        mode, owner = stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)

    problem = ""

    def check(written: bytes) -> None:
        nonlocal problem
        text = written.decode("utf-8-sig" if notebook.byte_order_mark else "utf-8").replace("\r\n", "\n")
        FORMATS[notebook.format].check(notebook, text)
        if old is not None and old != data:
            try:
                _keep_generation(real, old)
            except OSError as error:
                reason = error.strerror or error
                problem = f"What {real.name} held before could not be kept as an earlier generation: {reason}."

    write_atomically(real, data, mode=mode, owner=owner, check=check)
    return problem


def _remember(notebook: Notebook, real: Path, data: bytes) -> None:
    try:
        status = real.stat()
        notebook.disk = DiskState(status.st_mtime_ns, status.st_size, digest(data))
    except OSError:
        notebook.disk = DiskState(0, len(data), digest(data))


def _save_sidecar(notebook: Notebook, real: Path) -> None:
    path = sidecar.path_for(real)
    try:
        text = sidecar.writes(notebook, DEFAULT_METADATA)
        if text is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, text.encode(), mode=stat.S_IMODE(real.stat().st_mode) & 0o666)
    except (OSError, NotebookError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        notebook.warnings.append(f"{real.name} is saved, but its outputs could not be kept in {path}: {reason}.")


def _generations_folder(path: str | os.PathLike[str]) -> Path:
    return state_dir() / "generations" / document_key(path)


def _keep_generation(real: Path, old: bytes) -> None:
    folder = _generations_folder(real)
    kept = generations(real)
    if kept and kept[0].size == len(old) and kept[0].path.read_bytes() == old:
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    now = datetime.datetime.now(datetime.UTC)
    if kept:  # the order must not depend on a clock that was set back
        now = max(now, kept[0].time + datetime.timedelta(microseconds=1))
    write_atomically(folder / f"{now.strftime(_TIME)}Z{real.suffix}", old, mode=0o600)
    for surplus in kept[KEPT_GENERATIONS - 1 :]:
        surplus.path.unlink(missing_ok=True)


def _not_saved(target: Path, error: OSError) -> str:
    kept = "what was on the disk is as it was" if target.exists() else "nothing was written"
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
        return f"{target} was not saved: there is no space left on the disk ({kept}). Free some and save again."
    if error.errno == errno.EROFS:
        return f"{target} was not saved: the file system is read-only. Save under another name."
    if isinstance(error, PermissionError):
        what = f"{target.name} is read-only" if target.exists() and not os.access(target, os.W_OK) else ""
        reason = what or f"the folder {target.parent} allows no new file"
        return f"{target} was not saved: {reason} ({kept}). Change that, or save under another name."
    if isinstance(error, FileNotFoundError):
        return f"{target} was not saved: the folder {target.parent} does not exist. Make it, or save elsewhere."
    return f"{target} was not saved: {error.strerror or error} ({kept})."
