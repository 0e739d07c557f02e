"""Blocks moved side by side into one buffer: whatever refers to them goes on, and no launch binds the buffer as read and as written."""

import gc

import numpy as np
import pytest

from tapescope.engine.backends.webgpu.gpu import StaleBuffer
from tapescope.engine.backends.webgpu.memory import Pool
from tapescope.engine.backends.webgpu.slabs import gather, seats

from .test_memory import CountingGpu


def made(bench, *sizes):
    arrays = [bench.up(np.arange(n, dtype=np.float32) + 100 * i) for i, n in enumerate(sizes)]
    gather(bench.backend.device, [a.block for a in arrays])
    return arrays


def test_seats_are_aligned():
    assert seats([4, 256, 300, 0]) == ([0, 256, 512, 1024], 1280)


def test_values_views_and_writes_stay(bench):
    before = bench.up(np.arange(70, dtype=np.float32))
    view = bench.backend.view(before, (5, 7), (7, 1), 35)
    gather(bench.backend.device, [before.block, bench.up(np.ones(3, np.float32)).block])
    assert (bench.down(view).ravel() == np.arange(35, 70)).all()
    bench.backend.copy(view, bench.up(np.zeros((5, 7), np.float32)))
    assert (bench.down(before)[35:] == 0).all() and (bench.down(before)[:35] == np.arange(35)).all()


def test_one_window_read_and_another_written(bench):
    a, b, c = made(bench, 64, 64, 64)
    bench.expression("x + y", "x", "y")(b, c, out=a)
    assert (bench.down(a) == 2 * np.arange(64) + 300).all()
    assert (bench.down(b) == np.arange(64) + 100).all()


@pytest.mark.parametrize("n", [16, 40_000])
def test_copies_between_windows(bench, n):
    a, b = made(bench, n, n)
    bench.backend.copy(a, b)
    assert (bench.down(a) == np.arange(n) + 100).all()


def test_moving_again(bench):
    a, b, c = made(bench, 10, 20, 30)
    gather(bench.backend.device, [c.block, a.block])
    assert (bench.down(a) == np.arange(10)).all() and (bench.down(c) == np.arange(30) + 200).all()
    assert (bench.down(b) == np.arange(20) + 100).all()


def test_the_last_tenant_frees_the_slab(bench):
    pool = bench.backend.device.pool
    gc.collect()
    used, parts = pool.in_use, len(pool.parts)
    arrays = made(bench, 1000, 1000)
    assert pool.in_use > used and len(pool.parts) == parts + 2
    first = arrays.pop()
    del arrays
    gc.collect()
    assert len(pool.parts) == parts + 1 and (bench.down(first) == np.arange(1000) + 100).all()
    del first
    gc.collect()
    assert pool.in_use == used and len(pool.parts) == parts


def test_a_lost_device_takes_the_handles():
    class Recorder:
        def __init__(self):
            self.pool = Pool(CountingGpu(), lambda: self.pool.submitted())  # type: ignore[arg-type]

        def copy_bytes(self, *command):
            pass

    device = Recorder()
    blocks = [device.pool.take(1000) for _ in range(3)]
    gather(device, blocks)  # type: ignore[arg-type]
    device.pool.invalidate("gone")
    for block in blocks:
        with pytest.raises(StaleBuffer, match="gone"):
            block.handle
