"""The pool: classes of sizes, reuse, stale handles, and what it tells."""

import gc

import numpy as np
import pytest

from tapescope.engine import dtypes as D
from tapescope.engine.backends.webgpu.gpu import BROWSER_LIMITS, OutOfMemory, StaleBuffer
from tapescope.engine.backends.webgpu.memory import Pool, handles, size_class
from tapescope.engine.observe import bus


class CountingGpu:
    """Stands for a device that runs nothing and has room for `room` bytes."""

    limits = BROWSER_LIMITS

    def __init__(self, room=1 << 40):
        self.room = room
        self.buffers = {}
        self.windows = {}

    def create_buffer(self, handle, nbytes):
        if sum(self.buffers.values()) + nbytes > self.room:
            raise OutOfMemory("no room.")
        assert handle not in self.buffers
        self.buffers[handle] = nbytes

    def create_window(self, handle, buffer, offset, nbytes):
        assert offset % 256 == 0 and offset + nbytes <= self.buffers[buffer]
        self.windows[handle] = buffer

    def destroy_buffer(self, handle):
        if self.windows.pop(handle, None) is None:
            del self.buffers[handle]


@pytest.fixture
def pool():
    gpu = CountingGpu()
    made = Pool(gpu, lambda: made.submitted())
    return made


@pytest.mark.parametrize("nbytes", [0, 1, 255, 256, 257, 1000, 4097, 65_536, 1_000_003, 100 << 20])
def test_size_classes_waste_at_most_a_quarter(nbytes):
    size = size_class(nbytes)
    assert nbytes <= size and size % 16 == 0
    assert size <= max(256, nbytes * 1.25 + 64)
    assert size_class(size) == size


def test_a_freed_buffer_serves_the_next_of_its_class_last_first(pool):
    a, b = pool.take(1000), pool.take(1000)
    first, second = a.buffer, b.buffer
    del a, b
    assert pool.take(1020).buffer == second
    assert pool.created == 2 and pool.reused == 1
    assert pool.take(5000).buffer not in (first, second)


def test_handles_are_never_used_twice(pool):
    seen = {pool.take(256).buffer}
    pool._submit()
    pool.empty()
    for _ in range(5):
        fresh = pool.take(256).buffer
        assert fresh not in seen
        seen.add(fresh)
        gc.collect()
        pool._submit()
        pool.empty()
    assert next(handles) > max(seen)


def test_a_block_that_was_given_back_raises(pool):
    block = pool.take(256)
    old = block.buffer, block.generation
    block.release()
    with pytest.raises(StaleBuffer, match="given back"):
        block.handle
    again = pool.take(256)
    assert again.buffer == old[0] and again.generation == old[1] + 1
    with pytest.raises(StaleBuffer, match="another tensor"):
        pool.check(*old)
    pool.check(again.buffer, again.generation)
    block.release()  # a second time does nothing
    assert pool.take(256).buffer != again.buffer


def test_an_array_on_stale_memory_raises_in_every_family(bench):
    x = bench.up(np.ones((4, 4), np.float32))
    x.block.release()
    for call in (
        lambda: bench.expression("x + 1", "x")(x),
        lambda: bench.op("sum")(x, (0,), False),
        lambda: bench.op("mm")(x, x),
        lambda: bench.op("softmax")(x, 0),
        lambda: bench.op("index_select")(x, bench.up(np.array([0])), 0),
        lambda: bench.down(x),
        lambda: bench.backend.contiguous(x),
    ):
        with pytest.raises(StaleBuffer):
            call()


def test_uploads_do_not_touch_what_unsubmitted_commands_use(pool):
    block = pool.take(256)
    buffer = block.buffer
    del block
    assert pool.take_idle(256).buffer != buffer
    pool._submit()
    assert pool.take_idle(256).buffer in (buffer, buffer + 1)


def test_a_buffer_overwritten_by_upload_after_its_tenant_died(bench):
    device = bench.backend.device
    for _ in range(20):
        x = bench.up(np.full(64, 1, np.float32))
        y = bench.expression("x * 2", "x")(x)
        del x
        bench.up(np.full(64, 5, np.float32))  # must not land in x before y was computed
        assert (bench.down(y) == 2).all()
    assert device.pool.in_use >= 0


def test_out_of_memory_empties_the_cache_first_then_says_how_much_is_in_use():
    gpu = CountingGpu(room=4096)
    pool = Pool(gpu, lambda: pool.submitted())
    a = pool.take(2048)
    b = pool.take(1024)
    del b
    c = pool.take(2048)  # fits once the freed one is gone
    with pytest.raises(OutOfMemory, match=r"in use by tensors"):
        pool.take(1024)
    assert a.buffer != c.buffer


def test_a_tensor_larger_than_a_buffer_is_refused_with_a_sentence(pool):
    with pytest.raises(OutOfMemory, match=r"300 MiB is larger than the largest buffer .*256 MiB"):
        pool.take(300 << 20)


def test_a_block_above_the_binding_limit_has_windows_instead_of_a_handle(pool):
    block = pool.take(200 << 20)
    with pytest.raises(RuntimeError, match=r"200 MiB does not fit into one binding .*128 MiB"):
        block.handle
    window, before = block.window(1000, 5000)
    assert before == 1000 - 768
    assert block.window(1000, 5000)[0] is window
    alive = dict(pool.gpu.windows)
    assert window.handle in alive
    del block
    assert window.owner.buffer, "a window keeps its block alive"
    del window
    assert pool.gpu.windows == alive, "its handle outlives it until the commands that name it are submitted"
    assert pool.in_use == 0
    pool._submit()
    assert not pool.gpu.windows


def test_stats_and_records(bench):
    pool = bench.backend.device.pool
    told = []
    stop = bus.subscribe(told.append, ["buffer"])
    try:
        before = pool.stats()
        x = bench.backend.empty((1000,), D.float32)
        during = pool.stats()
        del x
        after = pool.stats()
    finally:
        stop()
    assert during["allocated_bytes"] - before["allocated_bytes"] == size_class(4000)
    assert after["allocated_bytes"] == before["allocated_bytes"] <= during["peak_allocated_bytes"]
    assert [r.bytes for r in told] == [size_class(4000), -size_class(4000)]
    assert told[0].total == during["allocated_bytes"]


def test_memory_does_not_grow(bench):
    f = bench.expression("x * 0.5 + 1", "x")
    x = bench.up(np.zeros((64, 64), np.float32))
    bench.down(f(x))
    reserved = bench.backend.device.pool.reserved
    for _ in range(3000):
        x = f(x)
    bench.down(x)
    assert bench.backend.device.pool.reserved <= reserved + 4 * size_class(64 * 64 * 4)
