"""Freeze what PyTorch prints for the programs in tests/golden/*/programs, as NAME.out beside them.

Run with an interpreter that has PyTorch:  python tests/golden/make_programs.py
The programs find `torch` in their namespace; the tests run them with the engine there.
"""

import contextlib
import io
import warnings
from pathlib import Path

import torch
import torch.nn.attention.bias
import torch.nn.utils.prune
import torch.testing


def main():
    for path in sorted(Path(__file__).parent.glob("*/programs/*.py")):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            exec(compile(path.read_text(), str(path), "exec"), {"torch": torch, "__name__": path.stem})
        path.with_suffix(".out").write_text(said.getvalue())


if __name__ == "__main__":
    main()
