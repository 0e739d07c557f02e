"""Writes `conformance.md` and `differences.md` from runs of the two conformance scripts.

    python docs/make_conformance.py RUN.json ... [--cases "cases: 38, 31 pass"]

Each RUN.json is what `opinfo.py --json` wrote for one dtype and device.  Deliberate differences have their reasons here; for what
is simply not reached yet, the run's own finding is listed.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

REASONS = {
    "as_strided_scatter": "PyTorch 2.13 returns the whole incoming gradient for `input`, also where `src` was written over it; here "
    "the gradient is that of what the function computes (zero there), which finite differences confirm.",
    "nn.functional.triplet_margin_with_distance_loss": "the samples bring a distance function of PyTorch's own, which does not take this "
    "engine's tensors; with one written for it the operator agrees (tests/engine/ops).",
}
"""Operators that differ on purpose, and why."""

COMPILED = """\
## Wrapped in compile

Measured on 2026-11-30 by `tests/conformance/opinfo_compiled.py` (float32): each operator is called by a function that is compiled with
the backend "tapescope". Nothing falls short that does not fall short without compile, but for what is said below.

| kernels | operators | fully pass | gradients |
| --- | --- | --- | --- |
| C | 524 | 521 | 3340 of 3347 |
| NumPy programs | 524 | 519 | 3338 of 3347 |
| WGSL, one sample an operator | 524 | 522 | 455 of 456 |

Of the NumPy programs two more operators than of eager fell short in that run (`prod` and `linalg.norm` of tensors without elements); they
have been mended since, and pass when they are measured again."""
"""What `opinfo_compiled.py` gave; its runs are not read here."""
GENERAL = """\
- **Devices.** `cpu` and `webgpu`; `torch.cuda`, `mps` and `xpu` answer that they are not there. `torch.accelerator` offers WebGPU where
  an adapter is hardware.
- **bfloat16** is kept as float32 whose lower 16 bits are zero, and rounded after every operator; `nbytes` and files count two bytes.
- **float64, complex numbers and factorisations on WebGPU** are kept on the device and computed on the CPU, with one warning an operator.
- **Sparse tensors** have the coordinate form alone, and the functions that `engine/sparse.py` lists; **nested tensors** those of
  `engine/nested.py`. Quantised tensors do not exist.
- **`torch.jit.script`** leaves Python to Python; `trace` keeps sizes open and refuses to look at values. Saved traces are this engine's.
- **`torch.compile`** keeps eager semantics where PyTorch's does not: writes through an identity, `try/except` around an operator that
  fails. With generated kernels, checks of values in `binary_cross_entropy`, `gaussian_nll_loss` and the multi-label margin losses do not
  run. A gradient asked for a result that another result of the same graph hangs on is not seen behind a break (hooks, `retain_grad`).
- **`torch.distributed`** works over sockets through rank 0, with collectives alone.
- **`torch.save`** writes tensors of any device as the CPU's; `torch.load` reads only the archives of PyTorch 1.6 and later.
- **Forward mode** (`jvp`, dual numbers) is derived from reverse mode twice; operators that cannot be differentiated twice have none.
- **`vmap`** runs operators without a batch rule example by example. Random numbers inside are the same for all examples, whatever
  `randomness` says.
- **Integers and booleans** given to functions with float results: the last digit can differ from PyTorch's vectorised libraries, which the
  measurement does not allow for integer inputs. Among equal values, `topk`, `kthvalue` and `mode` may name another index.
- **Distributions**: `Kumaraswamy.mode` is the true mode (PyTorch: NaN); `Wishart.rsample` redraws singular samples only, so its seeded
  samples differ; divergences between `ContinuousBernoulli` and `Uniform` are finite where the supports only touch.
- **`DataLoader(num_workers=...)`** forks its workers; where a platform cannot fork it loads in the main process, with one warning.
"""


def summary(rows: list[dict[str, Any]]) -> dict[str, int]:
    """The figures that opinfo prints last."""
    return {
        "ops": len(rows),
        "full": sum(r["ok"] == r["samples"] and r["grads_ok"] == r["grads"] and r["samples"] > 0 for r in rows),
        "grads_ok": sum(r["grads_ok"] for r in rows),
        "grads": sum(r["grads"] for r in rows),
        "refused": sum(r["refused"] for r in rows),
        "bad": sum(r["bad"] for r in rows),
    }


def short(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that fall short somewhere."""
    return [r for r in rows if r["why"]]


def name(row: dict[str, Any]) -> str:
    """Operator and variant."""
    return row["op"] + (f" ({row['variant']})" if row["variant"] else "")


def cell(text: str) -> str:
    """Text for a table cell."""
    return " ".join(text.replace("|", "\\|").split())[:160]


def main() -> None:
    """Read the runs and write both pages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--cases", default="", help="the last line of cases.py")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    day = datetime.date.today().isoformat()
    runs = {
        json.loads(p.read_text())[0]["dtype"] + ("" if "webgpu" not in p.name else ", webgpu"): json.loads(
            p.read_text()
        )
        for p in args.runs
    }

    lines = [
        "# Conformance with PyTorch",
        "",
        f"Measured on {day} against PyTorch 2.13.0 (CPU build), with its own operator database: each operator's sample inputs, gradients and",
        "bad inputs. The command is `make conformance` with `OPINFO_ARGS='--dtype DTYPE --json RUN.json'`; this page is written from the",
        "runs by `docs/make_conformance.py`.",
        "",
        "| dtype | operators | fully pass | share | gradients | bad inputs refused |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind, rows in runs.items():
        s = summary(rows)
        lines.append(
            f"| {kind} | {s['ops']} | {s['full']} | {s['full'] / s['ops']:.1%} | {s['grads_ok']} of {s['grads']} | {s['refused']} of {s['bad']} |"
        )
    if args.cases:
        lines += [
            "",
            f"Programs compared letter for letter (`cases.py`): `{args.cases}`; those named C are about `compile`.",
        ]
    lines += ["", COMPILED]
    lines += ["", "What falls short is listed in [differences.md](differences.md).", ""]
    (HERE / "conformance.md").write_text("\n".join(lines))

    lines = [
        "# Differences from PyTorch",
        "",
        "PyTorch's behaviour is the specification. Where the engine differs on purpose, or is not there yet, it stands here. The tables are",
        f"written from the runs of {day} by `docs/make_conformance.py`.",
        "",
        "## On purpose",
        "",
        GENERAL,
        *[f"- **`{op}`**: {reason}" for op, reason in REASONS.items()],
    ]
    for kind, rows in runs.items():
        left = [r for r in short(rows) if r["op"] not in REASONS]
        lines += ["", f"## Not reached: {kind}", ""]
        if not left:
            lines.append("Nothing.")
            continue
        lines += ["| operator | values | gradients | refusals | first finding |", "| --- | --- | --- | --- | --- |"]
        lines += [
            f"| `{name(r)}` | {r['ok']}/{r['samples']} | {r['grads_ok']}/{r['grads']} | {r['refused']}/{r['bad']} | {cell(r['why'])} |"
            for r in left
        ]
    (HERE / "differences.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
