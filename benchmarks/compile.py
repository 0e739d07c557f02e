"""What `torch.compile` gains: training steps, elementwise chains and row operators, compiled by this engine and beside peers.

    python benchmarks/compile.py                        # this engine: eager and compiled
    python benchmarks/compile.py --torch PYTHON         # beside PyTorch (eager, fused Adam, compiled), run by that interpreter
    python benchmarks/compile.py --device webgpu        # on the GPU
    python benchmarks/compile.py --only mlp,softmax --rounds 5

Every engine and mode runs in a process of its own that stays up; they are measured in turns, so that what else the machine does
meets all of them. Prints the median of all rounds in milliseconds, and the ratio to the best PyTorch mode.  The workloads are those of
small multilayer perceptrons, a small convolutional network, a character model of four transformer blocks, and kernels of 4 M floats.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS = ("mlp", "mlp-large", "cnn", "gpt", "chain", "chain-backward", "softmax", "layer-norm", "sum")
MODES = {"tapescope": ("eager", "compiled"), "torch": ("eager", "fused", "compiled")}


def build(torch: Any, name: str, mode: str, device: str) -> Callable[[], Any]:
    """One turn of a program, which ends when its result is known."""
    nn, F = torch.nn, torch.nn.functional
    r = np.random.default_rng(1)
    compiled = (lambda f: torch.compile(f, backend="tapescope")) if not hasattr(torch, "_C") else torch.compile

    def data(*shape: int, scale: float = 1.0) -> Any:
        return torch.tensor((r.standard_normal(shape) * scale).astype(np.float32)).to(device)

    def classes(high: int, *shape: int) -> Any:
        return torch.tensor(r.integers(0, high, shape)).to(device)

    def training(model: Any, inputs: list[Any], targets: list[Any], loss: Any, optimizer: Any) -> Callable[[], Any]:
        def step(x: Any, y: Any) -> Any:
            out = loss(model(x), y)
            optimizer.zero_grad()
            out.backward()
            optimizer.step()
            return out

        run = compiled(step) if mode == "compiled" else step
        turn = [0]

        def once() -> Any:
            k = turn[0] = (turn[0] + 1) % len(inputs)
            return run(inputs[k], targets[k]).item()

        return once

    fused = {"fused": True} if mode == "fused" else {}
    torch.manual_seed(0)
    if name in ("mlp", "mlp-large"):
        sizes, batch = ((64, 128, 10), 32) if name == "mlp" else ((784, 512, 512, 10), 128)
        layers: list[Any] = []
        for a, b in itertools.pairwise(sizes):
            layers += [nn.Linear(a, b), nn.ReLU()]
        model = nn.Sequential(*layers[:-1]).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **fused)
        xs, ys = [data(batch, sizes[0]) for _ in range(8)], [classes(10, batch) for _ in range(8)]
        return training(model, xs, ys, F.cross_entropy, optimizer)
    if name == "cnn":
        model = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 7 * 7, 10),
        ).to(device)  # fmt: skip
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        xs, ys = [data(64, 1, 28, 28) for _ in range(8)], [classes(10, 64) for _ in range(8)]
        return training(model, xs, ys, F.cross_entropy, optimizer)
    if name == "gpt":
        model = _gpt(torch, device).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, **fused)
        xs, ys = [classes(65, 12, 64) for _ in range(8)], [classes(65, 12 * 64) for _ in range(8)]
        return training(model, xs, ys, lambda out, y: F.cross_entropy(out.reshape(-1, 65), y), optimizer)

    def kernel(function: Callable[..., Any], *inputs: Any) -> Callable[[], Any]:
        run = compiled(function) if mode == "compiled" else function
        if device == "cpu":
            return lambda: run(*inputs)

        def once() -> Any:
            out = run(*inputs)
            return (out[0] if isinstance(out, tuple) else out).reshape(-1)[:1].cpu()

        return once

    if name.startswith("chain"):
        x, w, b = data(4096, 1024), data(1024), data(1024)

        def chain(x: Any, w: Any, b: Any) -> Any:
            return F.gelu(x * w + b, approximate="tanh") * torch.sigmoid(x)

        if name == "chain":
            return kernel(chain, x, w, b)
        for t in (x, w, b):
            t.requires_grad_()

        run = compiled(chain) if mode == "compiled" else chain

        def backward() -> Any:
            got = torch.autograd.grad(run(x, w, b).sum(), (x, w, b))
            return got if device == "cpu" else got[1][:1].cpu()

        return backward
    big = data(4096, 1024)
    return {
        "softmax": kernel(lambda x: F.softmax(x, dim=-1), big),
        "layer-norm": kernel(lambda x: F.layer_norm(x, (1024,)), big),
        "sum": kernel(lambda x: x.sum(), big),
    }[name]


def _gpt(torch: Any, device: str) -> Any:
    """A character model of four pre-norm transformer blocks of width 128, with attention written out and a tied head."""
    nn, F = torch.nn, torch.nn.functional
    width, heads, block, vocabulary = 128, 4, 64, 65

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any, mask: Any) -> Any:
            n, length, _ = x.shape
            q, k, v = (
                self.qkv(self.ln1(x)).reshape(n, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
            )
            scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(width // heads)) + mask
            mixed = F.softmax(scores, dim=-1) @ v
            x = x + self.proj(mixed.permute(0, 2, 1, 3).reshape(n, length, width))
            return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(block, width)
            self.blocks = nn.ModuleList([Block() for _ in range(4)])
            self.lnf = nn.LayerNorm(width)
            lower = np.where(np.tril(np.ones((block, block), bool)), 0.0, -1e9).astype(np.float32)
            self.register_buffer("mask", torch.tensor(lower))
            self.register_buffer("positions", torch.tensor(np.arange(block)))

        def forward(self, tokens: Any) -> Any:
            x = self.wte(tokens) + self.wpe(self.positions)
            for b in self.blocks:
                x = b(x, self.mask)
            return F.linear(self.lnf(x), self.wte.weight)

    return Model()


def serve(engine: str, device: str) -> None:
    """Answer lines "PROGRAM MODE" with milliseconds (median of half a second of turns) and the seconds of the first call."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    torch = __import__("torch") if engine == "torch" else __import__("tapescope.engine", fromlist=["x"])
    ready: dict[str, Callable[[], Any]] = {}
    first: dict[str, float] = {}
    for line in sys.stdin:
        name, mode = line.split()
        try:
            if line not in ready:
                ready[line] = build(torch, name, mode, device)
                began = time.perf_counter()
                ready[line]()
                first[line] = time.perf_counter() - began
                for _ in range(4):
                    ready[line]()
            times: list[float] = []
            end = time.perf_counter() + 0.5
            while len(times) < 3 or (time.perf_counter() < end and len(times) < 2000):
                began = time.perf_counter()
                ready[line]()
                times.append(time.perf_counter() - began)
            print(json.dumps({"ms": statistics.median(times) * 1e3, "least": min(times) * 1e3, "first": first[line]}))
        except Exception as error:
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}))


def main() -> None:
    """Measure in turns and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--torch", help="an interpreter that has PyTorch, to measure beside")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default=",".join(PROGRAMS), help="programs, separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", metavar="ENGINE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve, args.device)
        return
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    engines = {"tapescope": sys.executable, **({"torch": args.torch} if args.torch else {})}
    workers = {
        engine: subprocess.Popen(
            [python, __file__, "--serve", engine, "--device", args.device if engine == "tapescope" else "cpu"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )
        for engine, python in engines.items()
    }  # fmt: skip
    columns = [(engine, mode) for engine in workers for mode in MODES[engine]]
    print(
        f"{'program':16}"
        + "".join(f"{e + ' ' + m:>20}" for e, m in columns)
        + f"{'to best torch':>15}{'first call, s':>15}"
    )
    for name in args.only.split(","):
        found: dict[tuple[str, str], list[float]] = {c: [] for c in columns}
        first = 0.0
        for _ in range(args.rounds):
            for engine, mode in columns:
                worker = workers[engine]
                assert worker.stdin is not None and worker.stdout is not None
                worker.stdin.write(f"{name} {mode}\n")
                worker.stdin.flush()
                answer = json.loads(worker.stdout.readline())
                if "ms" in answer:
                    found[engine, mode].append(answer["ms"])
                    if (engine, mode) == ("tapescope", "compiled"):
                        first = first or answer["first"]
                else:
                    print(f"  {engine} {mode}: {answer['error']}", file=sys.stderr)
        medians = {c: statistics.median(v) for c, v in found.items() if v}
        best = min((v for (engine, _), v in medians.items() if engine == "torch"), default=None)
        ours = medians.get(("tapescope", "compiled"))
        ratio = f"{ours / best:.2f}" if ours and best else ""
        cells = "".join(f"{medians[c]:>20.3f}" if c in medians else f"{'-':>20}" for c in columns)
        print(f"{name:16}{cells}{ratio:>15}{first:>15.2f}", flush=True)
    for worker in workers.values():
        assert worker.stdin is not None
        worker.stdin.close()
        worker.wait()


if __name__ == "__main__":
    main()
