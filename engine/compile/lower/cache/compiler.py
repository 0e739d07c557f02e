"""The system's C compiler: found once, asked once what it can, and its products kept on disk.

`TAPESCOPE_CC` names one; an empty value means that none is used. `TAPESCOPE_CFLAGS` are flags put after its own.
Nothing here is needed: without a compiler kernels run as numpy programs.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import disk

FLAGS = (
    "-std=gnu11",
    "-O3",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-semantic-interposition",
)
"""Optimisation that changes no result: no reordering of floating-point arithmetic, no contraction to fused operations."""


_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
"""Comments name the user's lines: code that only moved is compiled already."""


class CompilerFailed(RuntimeError):
    """The compiler refused a file; the message is what it said."""


@dataclass(frozen=True)
class Compiler:
    """A C compiler: its path, what it calls itself, and its flags."""

    path: str
    version: str
    flags: tuple[str, ...]

    def build(self, source: str, name: str, *, extra: tuple[str, ...] = ()) -> tuple[Path, bool]:
        """The shared object of a source, from the cache where it is there; and whether it was. Raises CompilerFailed."""
        flags = (*self.flags, *extra, *os.environ.get("TAPESCOPE_CFLAGS", "").split())
        identity = disk.key(_COMMENT.sub("", source), self.version, " ".join(flags), machine())
        path = disk.folder() / f"{name}-{identity}.so"
        if path.exists():
            return path, True
        with tempfile.TemporaryDirectory(prefix="tapescope-") as work:
            c, out = Path(work) / "kernels.c", Path(work) / "kernels.so"
            c.write_text(source)
            command = [self.path, *flags, "-shared", "-fPIC", "-o", str(out), str(c), "-lm"]
            made = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if made.returncode:
                raise CompilerFailed(f"{self.path} failed on generated code:\n{made.stderr[:4000]}")
            disk.write(path, out.read_bytes())
        return path, False


@functools.cache
def machine() -> str:
    """What compiled code depends on beside the compiler: the processor's features."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return platform.machine() + disk.key(line)
    except OSError:
        pass
    return platform.machine() + platform.processor()


_ANSWERS: dict[str, Compiler | None] = {}


def find() -> Compiler | None:
    """The compiler to use, None where there is none that works."""
    named = os.environ.get("TAPESCOPE_CC")
    wanted = named if named is not None else "\0"
    if wanted not in _ANSWERS:
        _ANSWERS[wanted] = None
        for name in [named] if named is not None else ["gcc", "clang", "cc"]:
            path = shutil.which(name) if name else None  # none where there are no programs, as in a browser
            made = _tried(path) if path else None
            if made is not None:
                _ANSWERS[wanted] = made
                break
    return _ANSWERS[wanted]


def _tried(path: str) -> Compiler | None:
    """A compiler that can make a shared object that loads, with the flags that it knows."""
    try:
        version = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30).stdout.split("\n")[0]
    except (OSError, subprocess.SubprocessError):
        return None
    probe = "#include <math.h>\n#include <pthread.h>\nint probe(int a) { return a + 1; }\n"
    for flags in ((*FLAGS, "-fopenmp-simd"), FLAGS, tuple(f for f in FLAGS if f != "-march=native")):
        compiler = Compiler(path, version, flags)
        try:
            built, _ = compiler.build(probe, "probe")
            if ctypes.CDLL(str(built)).probe(1) == 2:
                return compiler
        except (CompilerFailed, OSError, subprocess.SubprocessError):
            continue
    return None


@functools.cache
def blas() -> tuple[int, int] | None:
    """Addresses of `cblas_sgemm` and `cblas_dgemm` with 64-bit integers inside the library that numpy brings, None where it has none."""
    import numpy as np

    roots = [
        Path(np.__file__).parent.parent / "numpy.libs",
        Path(np.__file__).parent / ".libs",
        Path(np.__file__).parent / ".dylibs",
    ]
    for root in roots:
        for path in sorted(root.glob("lib*openblas64*")) if root.is_dir() else []:
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            for form in ("scipy_cblas_{}64_", "cblas_{}64_"):
                found = [getattr(library, form.format(n), None) for n in ("sgemm", "dgemm")]
                if all(f is not None for f in found):
                    _BLAS.append(library)
                    s, d = (ctypes.cast(f, ctypes.c_void_p).value for f in found)  # type: ignore[arg-type]
                    return int(s or 0), int(d or 0)
    return None


@functools.cache
def single_thread() -> Any:
    """A function that sets the number of threads of numpy's BLAS and returns the number before; None where it has none."""
    for library in _BLAS:
        found = getattr(library, "openblas_set_num_threads_local", None)
        if found is not None:
            found.argtypes, found.restype = [ctypes.c_int], ctypes.c_int
            return found
    return None


_BLAS: list[ctypes.CDLL] = []


@functools.cache
def threads() -> tuple[ctypes.CDLL, int] | None:
    """The library that runs the parts of kernels on several cores, and the address of its function; None without a compiler."""
    from ..print_c.functions import THREADS

    compiler = find()
    if compiler is None:
        return None
    path, _ = compiler.build(THREADS, "threads", extra=("-pthread",))
    library = ctypes.CDLL(str(path))
    count = int(os.environ.get("TAPESCOPE_THREADS", "0")) or cores()
    library.ts_threads(ctypes.c_int(count))
    return library, ctypes.cast(library.ts_parallel, ctypes.c_void_p).value or 0


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
