"""Runs all programs without pytest, so that other versions of Python can: prints one line of JSON with the failures."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import traceback
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    package = importlib.import_module("programs")
    harness = importlib.import_module("programs.harness")
    for found in pkgutil.iter_modules(package.__path__):
        if found.name not in ("harness", "standalone", "random_programs") and not found.name.startswith("test_"):
            importlib.import_module(f"programs.{found.name}")
    failures = {}
    for program in harness.PROGRAMS:
        try:
            harness.check(program)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            failures[program.name] = f"{type(error).__name__}: {str(error)[:2000]} ({last.filename}:{last.lineno})"
    print(
        json.dumps(
            {
                "version": f"{sys.version_info[0]}.{sys.version_info[1]}",
                "programs": len(harness.PROGRAMS),
                "failures": failures,
            }
        )
    )
