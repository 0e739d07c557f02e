"""What the WebGPU device does on this machine: python benchmarks/webgpu.py [--quick]

Prints the adapter and driver, the cold start to a first result, what one small dispatch costs beside a loop written by
hand with wgpu-py, matrix products in GFLOP/s, what moves memory in GB/s, and steps of training four networks, eagerly.
Every figure is the best of several rounds; the two sides of a comparison take turns in the same run.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tapescope.engine import dtypes
from tapescope.engine.backends.webgpu.backend import WebGPUBackend
from tapescope.engine.observe import bus
from tapescope.engine.ops.table import OPS
from tapescope.webgpu_kernels.wgsl import FOLDED, Program

CHAIN = 1000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    quick = options.parse_args().quick
    rounds = 3 if quick else 9
    backend = WebGPUBackend()
    info = backend.device.gpu.info
    print(f"adapter   {info.name}, {info.backend}, {info.kind}{' (software)' if info.software else ''}")
    print(f"driver    {info.driver}; features in use: {', '.join(sorted(backend.device.gpu.features)) or 'none'}")
    print(
        f"machine   {platform.machine()}, {platform.system()}, Python {platform.python_version()}, numpy {np.__version__}"
    )
    cold_start()
    peak = ceilings(backend, rounds)
    small_dispatches(backend, rounds)
    products(backend, rounds, (256, 512) if quick else (256, 512, 1024, 2048), peak)
    memory(backend, rounds, 1024 if quick else 4096)
    backend.device.close()
    training(rounds)


def best(rounds: int, run: Callable[[], Any], wait: Callable[[Any], None], repeat: int = 1) -> float:
    """Seconds of one `run`, at best."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(repeat):
            made = run()
        wait(made)
        times.append((time.perf_counter() - began) / repeat)
    return min(times)


def cold_start() -> None:
    """A fresh process from its first import to the first value that came back."""
    code = (
        "import time; began = time.perf_counter()\n"
        "import tapescope.engine as torch\n"
        "loaded = time.perf_counter()\n"
        "x = torch.ones(4, device='webgpu'); y = (x * 2).tolist()\n"
        "print(loaded - began, time.perf_counter() - began)"
    )
    found = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        found.append(tuple(map(float, done.stdout.split())))
    loaded, total = min(found, key=lambda pair: pair[1])
    print(
        f"\ncold start, import to first result         {total * 1000:8.0f} ms  (of it the engine's import {loaded * 1000:.0f})"
    )


def small_dispatches(backend: WebGPUBackend, rounds: int) -> None:
    """A chain of dependent adds of 16 elements: the backend, and the same dispatches by hand through wgpu-py."""
    add = backend.kernel(OPS["add"])
    one = backend.upload(np.ones(16, np.float32), dtypes.float32)
    start = backend.upload(np.zeros(16, np.float32), dtypes.float32)

    def chain() -> Any:
        x = start
        for _ in range(CHAIN):
            x = add(x, one, 1)
        return x

    def wait(x: Any) -> None:
        if backend.download(x, dtypes.float32)[0] != CHAIN:
            raise SystemExit("the chain gives a wrong sum")

    by_hand, wait_by_hand = hand_written()
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(best(1, chain, wait))
        theirs.append(best(1, by_hand, wait_by_hand))
    record = best(rounds, chain, lambda x: None)
    backend.synchronize()
    print(f"chain of {CHAIN} adds, through the backend       {min(ours) / CHAIN * 1e6:8.1f} us a dispatch")
    print(
        f"  the same, written by hand with wgpu-py   {min(theirs) / CHAIN * 1e6:8.1f} us a dispatch, ratio {min(ours) / min(theirs):.2f}"
    )
    print(f"  of ours, recording in Python             {record / CHAIN * 1e6:8.1f} us a dispatch")
    value = backend.upload(np.ones(1, np.float32), dtypes.float32)
    reading = best(rounds, lambda: backend.download(value, dtypes.float32), lambda x: None, 50)
    print(f"reading 4 bytes back                       {reading * 1e6:8.1f} us")


def hand_written() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """One pass, one submission, bind groups made once: what wgpu-py's public calls allow."""
    import wgpu

    device = wgpu.gpu.request_adapter_sync(power_preference="high-performance").request_device_sync()
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
    code = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> o: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) i: vec3<u32>) {
  if (i.x < arrayLength(&o)) { o[i.x] = x[i.x] + y[i.x]; }
}"""
    pipeline = device.create_compute_pipeline(
        layout="auto", compute={"module": device.create_shader_module(code=code), "entry_point": "main"}
    )
    zero, one = np.zeros(16, np.float32), np.ones(16, np.float32)
    x, y = (device.create_buffer_with_data(data=a, usage=usage) for a in (zero, one))
    turn = [device.create_buffer(size=64, usage=usage) for _ in range(2)]

    def group(a: Any, b: Any) -> Any:
        entries = [
            {"binding": i, "resource": {"buffer": buffer, "offset": 0, "size": 64}}
            for i, buffer in enumerate((a, y, b))
        ]
        return device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)

    groups = [group(x, turn[1]), group(turn[1], turn[0]), group(turn[0], turn[1])]

    def run() -> Any:
        encoder = device.create_command_encoder()
        stage = encoder.begin_compute_pass()
        for i in range(CHAIN):
            stage.set_pipeline(pipeline)
            stage.set_bind_group(0, groups[0 if i == 0 else 1 if i % 2 else 2])
            stage.dispatch_workgroups(1)
        stage.end()
        device.queue.submit([encoder.finish()])
        return turn[0]

    def wait(buffer: Any) -> None:
        if np.frombuffer(device.queue.read_buffer(buffer, 0, 4), np.float32)[0] != CHAIN:
            raise SystemExit("the loop by hand gives a wrong sum")

    return run, wait


def ceilings(backend: WebGPUBackend, rounds: int) -> float:
    """What the adapter does at best: multiply-adds in registers, and a copy of 64 MiB. Returns GFLOP/s."""
    p = Program("ceiling")
    p.buffer("out", "f32", "w", wide=True)
    turns = p.word("turns")
    p.main("let start = vec4<f32>(f32(lane) * 1e-3);", "let by = vec4<f32>(0.999);")
    p.main(*[f"var a{i} = start + {float(i)};" for i in range(8)], f"for (var k = 0u; k < {turns}; k++) {{")
    p.main(*[f"  a{i} = fma(a{i}, by, start);" for i in range(8)], "}")
    p.main(f"out[{FOLDED} * 64u + lane] = {' + '.join(f'a{i}' for i in range(8))};")
    device, kernel, groups = backend.device, device_pipeline(backend, p), 4096
    out = backend.empty((groups * 64 * 4,), dtypes.float32)

    def wait(x: Any) -> None:
        device.read(x.block, 0, 4)

    def run() -> Any:
        device.launch(kernel, (groups, 1, 1), [out.block.handle], [512])
        return out

    flops = groups * 64 * 512 * 8 * 4 * 2 / best(rounds, run, wait) / 1e9
    big = backend.full((16 << 20,), 1, dtypes.float32)
    moved = 2 * (64 << 20) / best(rounds, lambda: backend.contiguous(big), wait) / 1e9
    print(f"\nceilings  {flops:.0f} GFLOP/s multiply-adds in registers, {moved:.1f} GB/s copying 64 MiB")
    return flops


def device_pipeline(backend: WebGPUBackend, program: Program) -> int:
    """The pipeline of a program."""
    return backend.device.pipeline(program.build())


def products(backend: WebGPUBackend, rounds: int, sizes: tuple[int, ...], peak: float) -> None:
    """Square products in each transposition, and the shapes of a small network; also as a share of the ceiling."""
    rng = np.random.default_rng(0)
    mm = backend.kernels["mm"]

    def matrix(rows: int, cols: int, transposed: bool) -> Any:
        made = backend.upload(rng.standard_normal((cols, rows) if transposed else (rows, cols)), dtypes.float32)
        return backend.view(made, (rows, cols), (1, rows), 0) if transposed else made

    def wait(x: Any) -> None:
        backend.device.read(x.block, 0, 4)

    print("\nmatrix products, f32, GFLOP/s                  a b     a bT     aT b    aT bT  of ceiling")
    shapes = [(n, n, n) for n in sizes] + [(128, 784, 512), (128, 512, 10), (10, 128, 512)]
    for m, k, n in shapes:
        row = []
        for ta in (False, True):
            for tb in (False, True):
                a, b = matrix(m, k, ta), matrix(k, n, tb)
                seconds = best(max(3, rounds // 2), lambda a=a, b=b: mm(a, b), wait)
                row.append(2 * m * k * n / seconds / 1e9)
        print(
            f"  {m:5} x {k:5} x {n:5}                     "
            + " ".join(f"{v:8.1f}" for v in row)
            + f"{max(row) / peak:12.0%}"
        )


def memory(backend: WebGPUBackend, rounds: int, rows: int) -> None:
    """What reads or writes each element a few times."""
    cols = 1024
    rng = np.random.default_rng(0)
    x = backend.upload(rng.standard_normal((rows, cols)), dtypes.float32)
    y = backend.upload(rng.standard_normal(cols), dtypes.float32)
    kernels = backend.kernels

    def wait(made: Any) -> None:
        backend.device.read(made.block, 0, 4)

    def op(name: str) -> Any:
        return backend.kernel(OPS[name])

    turned = backend.view(x, (cols, rows), (1, cols), 0)
    work: list[tuple[str, int, Callable[[], Any]]] = [
        ("copy", 2, lambda: backend.contiguous(x)),
        ("x + x", 3, lambda: op("add")(x, x, 1)),
        ("x + row", 2, lambda: op("add")(x, y, 1)),
        ("transposing copy", 2, lambda: backend.contiguous(turned)),
        ("exp", 2, lambda: op("exp")(x)),
        ("gelu", 2, lambda: op("gelu")(x)),
        ("sum of all", 1, lambda: kernels["sum"](x, (0, 1), False)),
        ("sum of rows", 1, lambda: kernels["sum"](x, (1,), False)),
        ("sum of columns", 1, lambda: kernels["sum"](x, (0,), False)),
        ("softmax of rows", 2, lambda: kernels["softmax"](x, 1)),
        ("log_softmax of rows", 2, lambda: kernels["log_softmax"](x, 1)),
        ("softmax of columns", 2, lambda: kernels["softmax"](x, 0)),
        ("layer norm of rows", 2, lambda: kernels["native_layer_norm"](x, y, y, 1, 1e-5)[0]),
    ]
    print(f"\n{rows} x {cols} of f32                               ms     GB/s")
    for name, moved, run in work:
        seconds = best(rounds, run, wait)
        print(f"  {name:36} {seconds * 1000:8.2f} {moved * rows * cols * 4 / seconds / 1e9:8.1f}")


def training(rounds: int) -> None:
    """One step (forward, backward, optimizer, and the loss read back) of four networks, through the engine, eagerly."""
    from tapescope import engine as torch

    print("\ntraining, eager, ms a step                    best   median  launches")
    for name, make in (("MLP 64-128-10, batch 32, Adam", small_mlp), ("MLP 784-512-512-10, batch 128, Adam", large_mlp),
                       ("CNN 28x28, batch 64, SGD", cnn), ("transformer 4 layers, d 128, 12 x 64, AdamW", transformer)):  # fmt: skip
        torch.manual_seed(0)
        _model, optimizer, loss_of = make(torch)

        def step(optimizer: Any = optimizer, loss_of: Any = loss_of) -> None:
            optimizer.zero_grad()
            loss = loss_of()
            loss.backward()
            optimizer.step()
            loss.item()

        for _ in range(3):
            step()
        times = []
        for _ in range(rounds + 3):
            began = time.perf_counter()
            step()
            times.append(time.perf_counter() - began)
        told: list[Any] = []
        stop = bus.subscribe(told.append, ["launch"])
        step()
        stop()
        times.sort()
        print(f"  {name:42} {times[0] * 1000:7.1f} {times[len(times) // 2] * 1000:8.1f} {len(told):9}")


def _mlp(torch: Any, sizes: tuple[int, ...], batch: int) -> tuple[Any, Any, Callable[[], Any]]:
    nn = torch.nn
    layers: list[Any] = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ReLU()]
    model = nn.Sequential(*layers[:-1]).to("webgpu")
    x, y = torch.randn(batch, sizes[0]).to("webgpu"), torch.randint(0, sizes[-1], (batch,)).to("webgpu")
    return model, torch.optim.Adam(model.parameters()), lambda: nn.functional.cross_entropy(model(x), y)


def small_mlp(torch: Any) -> tuple[Any, Any, Callable[[], Any]]:
    """A small multilayer perceptron."""
    return _mlp(torch, (64, 128, 10), 32)


def large_mlp(torch: Any) -> tuple[Any, Any, Callable[[], Any]]:
    """A larger one."""
    return _mlp(torch, (784, 512, 512, 10), 128)


def cnn(torch: Any) -> tuple[Any, Any, Callable[[], Any]]:
    """Two convolutions with pooling, and a linear layer."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 10),
    ).to("webgpu")  # fmt: skip
    x, y = torch.randn(64, 1, 28, 28).to("webgpu"), torch.randint(0, 10, (64,)).to("webgpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return model, optimizer, lambda: nn.functional.cross_entropy(model(x), y)


def transformer(torch: Any) -> tuple[Any, Any, Callable[[], Any]]:
    """Characters: pre-norm blocks of 4 heads with masked softmax attention written out, tanh GELU, tied embedding."""
    nn, F = torch.nn, torch.nn.functional
    width, heads, length, batch, words = 128, 4, 64, 12, 65

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            parts = self.qkv(self.first(x)).reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            scores = (parts[0] @ parts[1].transpose(-2, -1)) * (width // heads) ** -0.5 + mask
            y = F.softmax(scores, dim=-1) @ parts[2]
            x = x + self.proj(y.permute(0, 2, 1, 3).reshape(batch, length, width))
            return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh"))

    token, place = nn.Embedding(words, width), nn.Embedding(length, width)
    blocks, last = nn.Sequential(*[Block() for _ in range(4)]), nn.LayerNorm(width)
    model = nn.ModuleList([token, place, blocks, last]).to("webgpu")
    mask = torch.full((length, length), -1e9).triu(1).to("webgpu")
    ids = torch.randint(0, words, (batch, length + 1))
    x, y, at = ids[:, :-1].to("webgpu"), ids[:, 1:].reshape(-1).to("webgpu"), torch.arange(length).to("webgpu")

    def loss() -> Any:
        out = F.linear(last(blocks(token(x) + place(at))), token.weight)
        return F.cross_entropy(out.reshape(-1, words), y)

    return model, torch.optim.AdamW(model.parameters(), lr=1e-3), loss


if __name__ == "__main__":
    main()
