"""Every program of this folder, eager against compiled."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

from . import __name__ as package
from . import __path__ as folder
from .harness import PROGRAMS, check

for _found in pkgutil.iter_modules(folder):
    if _found.name not in ("harness", "standalone", "random_programs") and not _found.name.startswith("test_"):
        importlib.import_module(f"{package}.{_found.name}")

EVERYWHERE = ("across_breaks", "needless")
"""The files whose programs run with every backend."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program: Any) -> None:
    check(program)


@pytest.mark.parametrize("backend", ["aot_eager", "tapescope"])
@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.everywhere or p.name.partition(".")[0] in EVERYWHERE], ids=lambda p: p.name
)
def test_with_compiled_backends(program: Any, backend: str) -> None:
    """With backends whose graphs have a tape of their own."""
    check(program, backend)
