"""How fast the terminal app is, and how much memory it takes: the numbers of docs/terminal-app.md.

    python benchmarks/tui.py [--only NAME ...]

Each measure runs in a process of its own without a terminal (Textual's headless driver), so that start-up counts in full.
The targets are for two cores; a machine that is busy with other things misses them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CELLS = 300


def notebook(folder: Path, cells: int) -> Path:
    """A notebook with text, code and nothing run."""
    parts = []
    for n in range(cells):
        if n % 4 == 0:
            parts.append(f"# %% [markdown]\n# ## Part {n}\n#\n# Some *text* with `code` and $x_{{{n}}}^2$.\n")
        else:
            body = "\n".join(f"    total += item * {k}  # step {k}" for k in range(8))
            parts.append(
                f"# %%\ndef part_{n}(items):\n    total = 0\n    for item in items:\n    {body.strip()}\n    return total\n"
            )
    path = folder / f"cells{cells}.py"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def resident() -> float:
    """Megabytes of memory this process holds."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


# -- in the child: one measure each, printed as JSON ----------------------------------------------------


async def _start(path: str) -> dict[str, float]:
    began = float(os.environ["BENCH_BEGAN"])
    from tapescope.app.tui.app import TapescopeApp

    app = TapescopeApp(path)
    painted = spent = ready = 0.0
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        painted, spent = time.time() - began, time.process_time()
        while not app.notebook_screen.session.idle:
            await asyncio.sleep(0.01)
        ready = time.time() - began
        app.notebook_screen.session.close()
    return {"first paint, s": painted, "its processor time, s": spent, "kernel ready, s": ready}


async def _large(path: str) -> dict[str, float]:
    from tapescope.app.tui.app import TapescopeApp

    began = time.perf_counter()
    app = TapescopeApp(path)
    times: list[float] = []
    moves: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        opened = time.perf_counter() - began
        screen = app.notebook_screen
        while not screen.session.idle:
            await asyncio.sleep(0.01)
        screen.select(CELLS // 2 + 1)
        await pilot.pause()
        for step in [1, -1] * 10:
            start = time.perf_counter()
            screen.select(screen.cells.index + step)
            screen._compositor.render_strips()
            moves.append(time.perf_counter() - start)
        await pilot.press("enter", "end")
        spent = time.process_time()
        for key in "abcdefghijklmnopqrst":
            times.append(await _key(app, screen, key))
        spent = (time.process_time() - spent) / 20
        memory = resident()
        screen.session.close()
        screen.keeper.discard()
        screen.keeper.unsaved = False
    return {
        "300 cells open, s": opened, "key press, ms": 1e3 * statistics.median(times),
        "its processor time, ms": 1e3 * spent, "slowest of 20, ms": 1e3 * max(times),
        "next cell, ms": 1e3 * statistics.median(moves), "app memory, MB": memory,
    }  # fmt: skip


async def _key(app: Any, screen: Any, key: str) -> float:
    """Seconds from a key to the painted screen, without the pauses that tests need."""
    from textual import events

    start = time.perf_counter()
    app.post_message(events.Key(key, key))
    editor = screen.pane.editor
    before = editor.text
    while editor.text == before:
        await asyncio.sleep(0)
    painted = asyncio.Event()
    screen.call_after_refresh(painted.set)
    await painted.wait()
    return time.perf_counter() - start


async def _printed(path: str) -> dict[str, float]:
    from tapescope.app.tui.app import TapescopeApp

    app = TapescopeApp(path)
    times: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.notebook_screen
        while not screen.session.idle:
            await asyncio.sleep(0.01)
        screen.run_cells([screen.notebook.cells[0]])
        screen.select(1)
        await pilot.press("enter", "end")
        while screen.session.running is None:
            await asyncio.sleep(0.01)
        while screen.session.running is not None and len(times) < 40:
            times.append(await _key(app, screen, "x"))
            await asyncio.sleep(0.03)
        while not screen.session.idle:
            await asyncio.sleep(0.01)
        after = [await _key(app, screen, "y") for _ in range(10)]
        screen.session.close()
        screen.keeper.discard()
        screen.keeper.unsaved = False
    return {"key while 200,000 lines are printed, ms": 1e3 * statistics.median(times or [0.0]),
            "slowest, ms": 1e3 * max(times or [0.0]), "key after it, ms": 1e3 * statistics.median(after)}  # fmt: skip


async def _tape(path: str) -> dict[str, float]:
    from tapescope.app.kernel import messages as m
    from tapescope.app.tui.app import TapescopeApp

    nodes = []
    for n in range(10_000):
        inputs = [n - 1] if n else []
        nodes.append({
            "id": n, "kind": "op", "op": "mul" if n % 3 else "addmm", "name": "MulBackward0", "label": "", "inputs": inputs,
            "outputs": [{"shape": [64, 64], "dtype": "float32", "device": "cpu"}], "module": f"net.blocks.{n // 100}",
            "source": {"file": "x.py", "line": n % 50 + 1, "end_line": n % 50 + 1, "column": 0, "end_column": 5, "function": "f"},
            "saved": [], "grad": None,
        })  # fmt: skip
    tape = {"version": 1, "roots": [9_999], "nodes": nodes, "dropped": 0}
    app = TapescopeApp(path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.notebook_screen
        while not screen.session.idle:
            await asyncio.sleep(0.01)
        await asyncio.sleep(1.0)  # the views are imported in the background
        start = time.perf_counter()
        screen.session.apply([m.Tape(screen.notebook.cells[0].id, tape, False)])
        screen.inspector.tape.take(tape, False)
        screen.inspector.tape.fold_all()
        screen.inspector.tape.fold_all()
        screen._compositor.render_strips()
        opened = time.perf_counter() - start
        screen.inspector.graph.offer("tape", lambda: _built(tape))
        start = time.perf_counter()
        screen.inspector.show("graph")
        screen.inspector.graph.catch_up()
        drawn = time.perf_counter() - start
        screen.go_to_tab("tape")
        await pilot.pause()
        view = screen.inspector.tape
        steps = []
        for _ in range(30):
            start = time.perf_counter()
            view.action_page(1)
            view.scroll_to(y=view.scroll_offset.y + 30, animate=False, force=True)
            screen._compositor.render_strips()
            steps.append(time.perf_counter() - start)
            await asyncio.sleep(0)
        screen.session.close()
    return {
        "10,000 nodes as outline, s": opened,
        "as graph, s": drawn,
        "a page of it, ms": 1e3 * statistics.median(steps),
    }


def _built(tape: dict[str, Any]) -> Any:
    from tapescope.graphviz_views.tape import build_tape

    return build_tape(tape)


def _kernel(path: str) -> dict[str, float]:
    import threading

    from tapescope.app.kernel.messages import Execute, Executed, Message, Ready
    from tapescope.app.kernel.process import KernelProcess

    over = threading.Event()
    began = time.perf_counter()
    times: dict[str, float] = {}

    def hear(message: Message) -> None:
        if isinstance(message, Ready):
            times["kernel alone ready, s"] = time.perf_counter() - began
        elif isinstance(message, Executed):
            over.set()

    kernel = KernelProcess(hear, torch="tapescope")
    kernel.start()
    kernel.send(Execute("a", 1, "import torch"))
    over.wait(60)
    with open(f"/proc/{kernel.process}/statm", encoding="ascii") as file:
        times["kernel memory with the engine, MB"] = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    kernel.close()
    return times


def _live(path: str) -> dict[str, float]:
    """What listening costs a training loop: with the kernel's listeners on, against the same loop alone."""
    from tapescope.app.kernel.local import LocalKernel
    from tapescope.app.kernel.messages import Execute, Stream

    code = """import torch, time
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(128, 256), torch.randint(0, 10, (128,))
def train(n):
    began = time.perf_counter()
    for _ in range(n):
        opt.zero_grad(); loss = nn.functional.cross_entropy(net(x), y); loss.backward(); opt.step()
    return time.perf_counter() - began
train(50)"""
    said: list[str] = []
    kernel = LocalKernel(lambda e: said.append(e.text) if isinstance(e, Stream) else None, torch="tapescope")
    kernel.start()
    kernel.send(Execute("a", 1, code))
    best: dict[str, float] = {}
    for _ in range(5):
        for name in ("with", "alone"):
            if name == "alone":
                kernel.core.tape._disconnect()
            said.clear()
            kernel.send(Execute("b", 1, "print(train(600))"))
            best[name] = min(best.get(name, 1e9), float("".join(said)))
            if name == "alone":
                from tapescope.engine.observe import bus

                kernel.core.tape._disconnect = bus.subscribe(kernel.core.tape._on_backward, ["backward"])
    kernel.close()
    return {"live tape, % of the loop": 100 * (best["with"] / best["alone"] - 1)}


MEASURES: dict[str, tuple[Callable[[str], Any], int, dict[str, float]]] = {
    "start": (_start, 12, {"first paint, s": 0.7, "kernel ready, s": 2.0}),
    "large": (_large, CELLS, {"300 cells open, s": 1.0, "key press, ms": 30, "app memory, MB": 150}),
    "printed": (_printed, -1, {"key while 200,000 lines are printed, ms": 50, "key after it, ms": 50}),
    "tape": (_tape, 4, {"10,000 nodes as outline, s": 1.0, "as graph, s": 1.0}),
    "kernel": (_kernel, 1, {"kernel memory with the engine, MB": 90}),
    "live": (_live, 1, {"live tape, % of the loop": 3}),
}
"""Each measure: its function, the cells of its notebook, and its targets."""


def main() -> int:
    """Run the measures and print a table; 1 where a target was missed."""
    parser = argparse.ArgumentParser(description="Measure the terminal app.")
    parser.add_argument("--only", nargs="*", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--child", choices=MEASURES, help=argparse.SUPPRESS)
    parser.add_argument("--path", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        made = MEASURES[options.child][0](options.path)
        print("\n" + json.dumps(asyncio.run(made) if asyncio.iscoroutine(made) else made))
        return 0
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "TAPESCOPE_STATE_DIR": str(folder / "state")}
        for measure in options.only:
            _, cells, targets = MEASURES[measure]
            path = notebook(folder, max(cells, 2))
            if cells < 0:
                path.write_text("# %%\nfor i in range(200_000): print('line', i)\n\n# %%\nx = 1\n")
            environment["BENCH_BEGAN"] = str(time.time())
            command = [sys.executable, __file__, "--child", measure, "--path", str(path)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
            if done.returncode:
                print(f"{measure}: failed\n{done.stderr[-2000:]}")
                missed += 1
                continue
            for label, value in json.loads(done.stdout.strip().split("\n")[-1]).items():
                target = targets.get(label)
                verdict = "" if target is None else f"   target {target:g}: {'met' if value < target else 'MISSED'}"
                missed += target is not None and value >= target
                print(f"{label:44} {value:10.3f}{verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
