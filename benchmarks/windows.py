"""What convolution and pooling of common networks cost on the CPU, forward and with backward.

    python benchmarks/windows.py               # this engine; beside PyTorch where the interpreter has both
    python benchmarks/windows.py --only conv2d --turns 21

Prints medians of processor time in milliseconds, the two taken in turns, one thread each (other programs then disturb little).  The
target for convolution is four times PyTorch's time.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

Case = tuple[str, list[tuple[int, ...]], Callable[..., Any]]


def conv(n: int, c: int, size: int, o: int, k: int, stride: int = 1, padding: int = 0, groups: int = 1) -> Case:
    name = f"conv2d {n}x{c}x{size}x{size} -> {o}, {k}x{k}"
    name += f", stride {stride}" * (stride > 1) + f", {groups} groups" * (groups > 1)
    shapes = [(n, c, size, size), (o, c // groups, k, k), (o,)]
    return name, shapes, lambda F, x, w, b: F.conv2d(x, w, b, stride, padding, 1, groups)


CASES: list[Case] = [
    conv(64, 1, 28, 32, 5), conv(64, 6, 14, 16, 5), conv(64, 16, 12, 32, 5), conv(32, 3, 32, 32, 3, 1, 1), conv(32, 32, 32, 64, 3, 1, 1),
    conv(8, 3, 224, 64, 7, 2, 3), conv(8, 64, 56, 64, 3, 1, 1), conv(8, 64, 56, 128, 3, 2, 1), conv(8, 128, 28, 128, 3, 1, 1),
    conv(8, 256, 14, 256, 3, 1, 1), conv(8, 512, 7, 512, 3, 1, 1), conv(8, 64, 56, 256, 1), conv(8, 256, 14, 512, 1, 2),
    conv(1, 64, 56, 64, 3, 1, 1), conv(8, 128, 28, 128, 3, 1, 1, 32), conv(8, 64, 56, 64, 3, 1, 1, 64), conv(8, 256, 14, 256, 3, 1, 1, 256),
    ("conv1d 16x64x200 -> 128, 5", [(16, 64, 200), (128, 64, 5)], lambda F, x, w: F.conv1d(x, w, padding=2)),
    ("conv3d 2x8x16x28x28 -> 16, 3x3x3", [(2, 8, 16, 28, 28), (16, 8, 3, 3, 3)], lambda F, x, w: F.conv3d(x, w, padding=1)),
    ("conv_transpose2d 8x64x14x14 -> 32, 4x4, stride 2", [(8, 64, 14, 14), (64, 32, 4, 4)],
     lambda F, x, w: F.conv_transpose2d(x, w, stride=2, padding=1)),
    ("max_pool2d 8x64x112x112, 3x3, stride 2", [(8, 64, 112, 112)], lambda F, x: F.max_pool2d(x, 3, 2, 1)),
    ("avg_pool2d 8x64x56x56, 2x2", [(8, 64, 56, 56)], lambda F, x: F.avg_pool2d(x, 2)),
    ("adaptive_avg_pool2d 8x512x14x14 -> 7x7", [(8, 512, 14, 14)], lambda F, x: F.adaptive_avg_pool2d(x, 7)),
    ("batch_norm 32x64x28x28", [(32, 64, 28, 28), (64,), (64,)], lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True)),
    ("layer_norm 512x768", [(512, 768), (768,), (768,)], lambda F, x, w, b: F.layer_norm(x, (768,), w, b)),
    ("interpolate 8x16x64x64 x2, bilinear", [(8, 16, 64, 64)], lambda F, x: F.interpolate(x, scale_factor=2, mode="bilinear")),
]  # fmt: skip


def once(torch: Any, function: Callable[..., Any], inputs: list[Any], backward: bool) -> float:
    """Milliseconds of the processor for one call."""
    start = time.process_time()
    out = function(torch.nn.functional, *inputs)
    if backward:
        torch.autograd.grad(out, inputs, torch.ones_like(out))
    return (time.process_time() - start) * 1e3


def compare(engines: list[Any], case: Case, backward: bool, turns: int) -> list[float]:
    """The median for each engine, measured in turns."""
    _, shapes, function = case
    inputs = []
    for torch in engines:
        torch.manual_seed(0)
        inputs.append([torch.randn(*s).requires_grad_(backward) for s in shapes])
    times: list[list[float]] = [[] for _ in engines]
    for turn in range(turns + 2):
        for own, torch, given in zip(times, engines, inputs, strict=True):
            spent = once(torch, function, given, backward)
            if turn > 1:  # the first ones warm caches up
                own.append(spent)
    return [statistics.median(t) for t in times]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="only cases with this in their name")
    parser.add_argument("--turns", type=int, default=9, help="how often each is measured")
    args = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # read when numpy is loaded
    engines = [importlib.import_module("tapescope.engine")]
    try:
        engines.append(importlib.import_module("torch"))
        engines[1].set_num_threads(1)
    except ImportError:
        print("PyTorch is not installed here: its columns are left out.")
    beside = "  PyTorch  ratio" if len(engines) > 1 else ""
    print(f"{'ms':52}  forward{beside}   with backward{beside}")
    for case in CASES:
        if args.only not in case[0]:
            continue
        cells = []
        for backward in (False, True):
            own, *other = compare(engines, case, backward, args.turns)
            cells.append(f"{own:9.2f}" + "".join(f"{t:9.2f}  x{own / t:4.1f}" for t in other))
        print(f"{case[0]:52}{cells[0]}       {cells[1]}", flush=True)


if __name__ == "__main__":
    main()
