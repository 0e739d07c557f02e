"""What one eager operator costs on the CPU: 16 elements, float32, with nobody watching, recorded or not.

    python benchmarks/eager.py                 # this engine
    python benchmarks/eager.py --torch PYTHON  # beside PyTorch, run by that interpreter

Prints microseconds an operator: the least of several repeats, since everything else the machine does only adds.  The targets are 6 us
without and 10 us with recording.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import timeit

STATEMENTS = {
    "a + b": "add", "a * 2.0": "multiply by a number", "torch.exp(a)": "exp", "a.sum()": "sum", "m @ m": "4x4 product", "a.view(4, 4)": "view",
    "a[0]": "index", "a.add_(b)": "add in place", "w * b": "multiply, recorded", "w.exp()": "exp, recorded", "w.sum()": "sum, recorded",
    "w.view(4, 4)": "view, recorded", "chain(w)": "100 recorded adds, each", "chain(w).sum().backward()": "the same and backward, each",
}  # fmt: skip


def measure(engine: str, number: int = 2000) -> dict[str, float]:
    """Microseconds for each statement on one engine."""
    torch = __import__(engine, fromlist=["x"])
    torch.manual_seed(0)
    b = torch.rand(16)

    def chain(x):
        for _ in range(100):
            x = x + b
        return x

    names = {
        "torch": torch,
        "a": torch.rand(16),
        "b": b,
        "m": torch.rand(4, 4),
        "w": torch.rand(16, requires_grad=True),
        "chain": chain,
    }
    out = {}
    for statement in STATEMENTS:
        turns = number // 50 if "chain" in statement else number
        least = min(timeit.repeat(statement, number=turns, repeat=7, globals=names)) / turns
        out[statement] = least * 1e6 / (100 if "chain" in statement else 1)
    return out


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--torch", help="an interpreter that has PyTorch, to measure beside")
    parser.add_argument("--json", metavar="ENGINE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.json:
        print(json.dumps(measure(args.json)))
        return
    ours = measure("tapescope.engine")
    theirs = {}
    if args.torch:
        done = subprocess.run([args.torch, __file__, "--json", "torch"], capture_output=True, text=True, check=True)
        theirs = json.loads(done.stdout)
    print(f"{'operator':34}{'us':>8}" + (f"{'PyTorch':>10}{'ratio':>8}" if theirs else ""))
    for statement, label in STATEMENTS.items():
        line = f"{label:34}{ours[statement]:8.2f}"
        if theirs:
            line += f"{theirs[statement]:10.2f}{ours[statement] / theirs[statement]:8.1f}"
        print(line)


if __name__ == "__main__":
    sys.exit(main())
