#!/usr/bin/env python3
"""PyTorch's operator database through `compile`: every sample runs as a compiled function, values and gradients against PyTorch's.

The database and the comparison are those of the `opinfo.py` given with `--harness`; each operator is called by a function that is compiled
with the backend asked for. Run with an interpreter that has PyTorch and this project:

    python tests/conformance/opinfo_compiled.py --harness ../shared/conformance/opinfo.py --backend tapescope --samples 2

Options after those are the harness's own (`--ops`, `--dtype`, `--device`, `--json`).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--harness", type=Path, default=Path(__file__).parents[3] / "shared/conformance/opinfo.py")
    parser.add_argument("--backend", default="tapescope")
    mine, rest = parser.parse_known_args()
    if not mine.harness.exists():
        print(f"There is no {mine.harness}: give the path of opinfo.py with --harness.", file=sys.stderr)
        return 2
    spec = importlib.util.spec_from_file_location("opinfo", mine.harness)
    assert spec is not None and spec.loader is not None
    opinfo: Any = importlib.util.module_from_spec(spec)
    sys.modules["opinfo"] = opinfo
    spec.loader.exec_module(opinfo)
    from tapescope import engine

    plain_find = opinfo.Harness.find

    def find(self: Any, op: Any) -> Any:
        function = plain_find(self, op)

        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        def compiled(*args: Any, **kwargs: Any) -> Any:
            engine.compiler.reset()
            return engine.compile(call, backend=mine.backend)(*args, **kwargs)

        return compiled

    opinfo.Harness.find = find
    return opinfo.main([*rest, "--no-errors"] if "--no-errors" not in rest else rest)


if __name__ == "__main__":
    sys.exit(main())
