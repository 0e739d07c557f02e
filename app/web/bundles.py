"""The archives that carry Python files into the page: what goes into them, and their form.

A bundle is gzip around one line of JSON, a list of [path, bytes], followed by the contents of the files one after the
other.  The worker lays them into its file system without copying: that takes a tenth of the time of a zip.  Paths are
relative to `site-packages`.  The same files give the same bytes.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.metadata
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

Files = dict[str, bytes]

_LEFT_OUT = re.compile(
    r"(^|/)(tests?|_pyinstaller|f2py|include|__pycache__)/|\.(pxd|pyx|h|hpp|c|a|md|rst|ini|build)$"
    r"|^(?!jedi/third_party/typeshed/stdlib/).*\.pyi$|^jedi/third_party/(django-stubs|typeshed/(stubs|stdlib/(distutils|lib2to3|tkinter)))/"
    r"|/package_data/.*\.(js|gz)$|^plotly/labextension/|\.data/|py\.typed$"
)
_METADATA = re.compile(r"\.dist-info/(METADATA|entry_points\.txt)$")
_PROJECT_LEFT_OUT = re.compile(
    r"app/(tui|web|notebook)/|app/kernel/(process|child|runner)\.py|engine/backends/webgpu/native(_calls)?\.py"
)
"""What needs a terminal, processes, files or a native library."""
_ROOMS = ("app", "engine", "graphviz_views", "webgpu_kernels")


def wheel_files(path: Path) -> Files:
    """What of a wheel is needed to run it: no tests, no headers, no stubs."""
    found: Files = {}
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith("/") or (".dist-info/" in name and not _METADATA.search(name)):
                continue
            if not _LEFT_OUT.search(name):
                found[name] = archive.read(name)
    return found


def project_files() -> Files:
    """The project's own files: kernel, engine, views and kernels in WGSL."""
    found: Files = {}
    for room in _ROOMS:
        folder = _folder(room)
        for path in sorted(folder.rglob("*")):
            part = f"{room}/{path.relative_to(folder).as_posix()}"
            if not path.is_file() or "__pycache__" in part or _PROJECT_LEFT_OUT.match(part):
                continue
            if room == "app" and part.count("/") == 1 and part != "app/__init__.py":
                continue  # the command line stays at home
            if path.suffix in (".py", ".npz", ".json", ".ipynb", ".csv"):
                found[f"tapescope/{part}"] = path.read_bytes()
    distribution = importlib.metadata.distribution("tapescope")
    for name in ("METADATA", "entry_points.txt"):
        if text := distribution.read_text(name):
            found[f"tapescope-{distribution.version}.dist-info/{name}"] = text.encode()
    return found


def example_files() -> Files:
    """The data that the examples read; their text the page has as files of its own."""
    folder = _folder("examples") / "data"
    paths = sorted(p for p in folder.rglob("*") if p.suffix in (".npz", ".csv", ".json", ".txt"))
    return {f"tapescope/examples/data/{p.relative_to(folder).as_posix()}": p.read_bytes() for p in paths}


def _folder(room: str) -> Path:
    """The folder of a room, in a checkout as in an installed wheel."""
    return Path(__file__).resolve().parents[2] / room


def pack(files: Mapping[str, bytes]) -> bytes:
    """The bundle of these files."""
    names = sorted(files)
    head = json.dumps([[name, len(files[name])] for name in names], separators=(",", ":")).encode()
    return gzip.compress(b"".join([head, b"\n", *(files[name] for name in names)]), compresslevel=9, mtime=0)


def unpack(data: bytes) -> Files:
    """The files of a bundle."""
    head, _, body = gzip.decompress(data).partition(b"\n")
    found, at = {}, 0
    for name, size in json.loads(head):
        found[name] = body[at : at + size]
        at += size
    return found


def top_packages(files: Iterable[str]) -> list[str]:
    """The names that these files can be imported by."""
    return sorted({n.partition("/")[0].removesuffix(".py") for n in files if n.endswith(".py")})
