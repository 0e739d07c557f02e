"""What capturing costs: an interpreted instruction, the hot call of a captured function, and `explain` of a transformer.

    python benchmarks/capture.py              # all three, in microseconds and seconds
    python benchmarks/capture.py --rounds 9   # more rounds; the best one counts

- **instruction**: capturing plain Python (arithmetic, containers, calls, comprehensions), over the number of instructions interpreted.
- **hot call**: a captured multilayer perceptron's forward, guards and all, less what its graph alone takes: backend "eager".
- **explain**: `torch.compiler.explain` of a transformer of 12 layers, from nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from tapescope import engine as torch
from tapescope.engine.compile.capture import capture as capturing

nn = torch.nn


def plain(x: Any) -> Any:
    """Some thousand instructions of ordinary Python around one operator."""

    def weight(i: int, scale: float = 0.5) -> float:
        return i * scale if i % 3 else -i

    total, seen = 0.0, {}
    for i in range(300):
        row = [weight(j) for j in range(i % 5)]
        seen[i % 7] = seen.get(i % 7, 0) + len(row)
        total += sum(row) if row else 1.0
    return x * total + len(seen)


def instruction(rounds: int) -> float:
    """Seconds of a capture, over its interpreted instructions."""
    counted = 0
    step = capturing.SymbolicInterpreter.step

    def counting(self: Any, frame: Any) -> Any:
        nonlocal counted
        counted += 1
        return step(self, frame)

    best = float("inf")
    x = torch.ones(1)
    capturing.SymbolicInterpreter.step = counting  # type: ignore[method-assign]
    torch.compile(plain, backend="eager")(x)
    capturing.SymbolicInterpreter.step = step  # type: ignore[method-assign]
    for _ in range(rounds):
        f = torch.compile(plain, backend="eager")
        began = time.perf_counter()
        f(x)
        best = min(best, time.perf_counter() - began)
    return best / counted


def timed(runs: list[Callable[[], Any]], rounds: int, calls: int = 500) -> list[float]:
    """Seconds of one call of each, in turns: the best of the rounds."""
    best = [float("inf")] * len(runs)
    for _ in range(rounds * 4):
        for i, run in enumerate(runs):
            began = time.perf_counter()
            for _ in range(calls):
                run()
            best[i] = min(best[i], (time.perf_counter() - began) / calls)
    return best


def hot_call(rounds: int) -> list[float]:
    """Seconds of a call, and of its graph alone."""
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
    x = torch.randn(8, 16)
    kept: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        kept[:] = gm.forward, list(inputs)
        return gm.forward

    compiled = torch.compile(model, backend=backend)
    with torch.no_grad():
        compiled(x)
        graph, values = kept
        return timed([lambda: compiled(x), lambda: graph(*values)], rounds)


def explain(rounds: int) -> float:
    """Seconds of `explain` of 12 layers."""
    best = float("inf")
    for _ in range(max(1, rounds // 3)):
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        model = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
        began = time.perf_counter()
        str(torch.compiler.explain(model)(torch.randn(2, 16, 64)))
        best = min(best, time.perf_counter() - began)
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"capture: {instruction(rounds) * 1e6:.2f} us an interpreted instruction")
    call, graph = hot_call(rounds)
    print(
        f"hot call of a multilayer perceptron: {call * 1e6:.1f} us, {(call - graph) * 1e6:.1f} us over its graph alone"
    )
    print(f"explain of a transformer of 12 layers: {explain(rounds):.2f} s")


if __name__ == "__main__":
    main()
