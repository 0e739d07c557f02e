"""Measuring on an open device, beside whatever the program records: buffers of its own, and command lists that are timed.

Nothing here touches the device's recorder or its pool, so that a thread may measure while the program goes on.  Times are those of the
device's timestamps where it has them, else of a clock around a submission that is waited for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from ....webgpu_kernels.wgsl import FOLDED, Program, fold
from .gpu import DISPATCH, DeviceError, Gpu
from .memory import handles


class Bench:
    """Buffers and launches for measurements; `close` gives the buffers back."""

    def __init__(self, gpu: Gpu):
        self.gpu = gpu
        self.buffers: list[int] = []

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def buffer(self, nbytes: int, data: Any = None) -> int:
        """The handle of a new buffer of at least `nbytes`, with a copy of `data` in it. Raises OutOfMemory."""
        made = next(handles)
        self.gpu.create_buffer(made, max(256, -(-nbytes // 16) * 16))
        self.buffers.append(made)
        if data is not None:
            self.gpu.write(made, 0, data)
        return made

    def seconds(self, commands: Sequence[int]) -> float:
        """Run a list, and tell how long its dispatches took together."""
        told = self.gpu.submit_timed(commands)
        return self.whole(commands) if told is None else math.fsum(told)

    def whole(self, commands: Sequence[int]) -> float:
        """Run a list, and tell how long that took with what lies between its dispatches."""
        self.gpu.wait()
        began = time.perf_counter()
        self.gpu.submit(commands)
        self.gpu.wait()
        return time.perf_counter() - began

    def read(self, handle: int, nbytes: int) -> bytearray:
        """What is in a buffer."""
        return self.gpu.read([(handle, 0, -(-nbytes // 4) * 4)])[0]

    def close(self) -> None:
        """Give all buffers back."""
        for handle in self.buffers:
            self.gpu.destroy_buffer(handle)
        self.buffers.clear()


def dispatch(pipeline: int, groups: int, buffers: Sequence[int], words: Sequence[int]) -> list[int]:
    """The command of one launch of at least `groups` workgroups."""
    return [DISPATCH, pipeline, *fold(groups), len(buffers), *buffers, len(words), *words]


_TURNS = 256
"""Turns of the loop that measures arithmetic: eight multiply-adds of four numbers each."""

_TRIES = 4


_SIZES = (1 << 18, 1 << 24)
"""Bytes of the arrays whose copying is measured: they lie in a cache, and in memory."""


def _copying(each: int) -> Any:
    """Copies `each` times sixteen bytes a thread, neighbours' side by side."""
    p = Program(f"ceiling_copy_{each}")
    a, b = p.buffer("a", "f32", wide=True), p.buffer("b", "f32", "w", wide=True)
    count = p.word("count")
    p.main(f"let i = {FOLDED} * 64u + lane;", f"if (i >= {count}) {{ return; }}")
    p.main(*(f"{b.name}[i + {j}u * {count}] = {a.name}[i + {j}u * {count}];" for j in range(each)))
    return p.build()


def _computing() -> Any:
    p = Program("ceiling_fma")
    out = p.buffer("out", "f32", "w", wide=True)
    count = p.word("count")
    names = [f"v{j}" for j in range(8)]
    p.main(
        f"let i = {FOLDED} * 64u + lane;", f"if (i >= {count}) {{ return; }}", "let f = vec4<f32>(f32(lane) * 1e-6);"
    )
    p.main(*(f"var {n} = vec4<f32>({j}.5);" for j, n in enumerate(names)))
    p.main(f"for (var k = 0; k < {_TURNS}; k++) {{", *(f"  {n} = fma({n}, f, {n});" for n in names), "}")
    p.main(f"{out.name}[i] = {' + '.join(names)};")
    return p.build()


def ceilings(device: Any) -> tuple[tuple[float, float], float] | None:
    """What the device can do: bytes a second that it copies near and far, and floating-point operations a second. Measured once.

    None where the device refuses to measure.
    """
    found = getattr(device, "_ceilings", None)
    if found is not None:
        return found
    threads = 1 << 14
    try:
        copies = {each: device.pipeline(_copying(each)) for each in (1, 8)}
        compute = device.pipeline(_computing())
        with Bench(device.gpu) as bench:
            a, b = bench.buffer(_SIZES[1], bytes(_SIZES[1])), bench.buffer(_SIZES[1])

            def best(*lists: list[int]) -> float:
                return max(1e-9, min(bench.seconds(x) for x in lists for _ in range(_TRIES)))

            near, far = (
                2 * size / best(*(dispatch(p, size // 1024 // each, [a, b], [size // 16 // each]) for each, p in copies.items()))
                for size in _SIZES
            )  # fmt: skip
            worked = best(dispatch(compute, threads // 64, [b], [threads]))
    except DeviceError:
        return None
    device._ceilings = (max(near, far), far), threads * _TURNS * 8 * 4 * 2 / worked
    return device._ceilings


def least(device: Any, moved: int, operations: int) -> float | None:
    """The least seconds in which the device could move so many bytes and do so many operations; None where it was not measured."""
    known = ceilings(device)
    if known is None:
        return None
    (near, far), arithmetic = known
    return max(moved / (near if moved <= 2 * _SIZES[0] else far), operations / arithmetic)


__all__ = ["Bench", "ceilings", "dispatch", "least"]
