"""One open device: its command list, its pipelines, and the way values come and go.

Operators record launches; nothing runs until a value is read, or the list reaches a cap on commands or on bytes of fresh
results (so that no submission keeps a display driver's watchdog waiting).  A submission cannot be interrupted half way:
Ctrl+C is held back until it is made.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from ....webgpu_kernels.wgsl import Kernel
from ...observe import KernelBuilt, KernelLaunched, bus
from .gpu import CLEAR, COPY, DISPATCH, DeviceError, DeviceLost, Gpu
from .memory import Block, Pool, handles

MAX_INTEGERS = 8192
"""Integers in the command list at which it is submitted: some 400 launches."""
MAX_WORK = 4 << 30
"""Units of work (about one multiply-add or byte each) at which the list is submitted."""

COUNT_FROM_THE_END = frozenset(("index", "index_put"))
"""Operators whose negative indices count from the end; to others they are out of range."""
STRICT = 1 << 31
"""The bit of a guard's code that says so to kernels."""


class Device:
    """A `Gpu` with a recorder and a pool in front.

    With `debug`, every launch is submitted and waited for at once, so that an error is raised by the operator that
    caused it.  With `timing`, each submission waits and tells the time of every launch to listeners of "launch".
    """

    def __init__(self, gpu: Gpu, *, debug: bool = False):
        self.gpu = gpu
        self.commands: list[int] = []
        self.pool = Pool(gpu, self.flush)
        self.debug = debug
        self.timing = False
        self.submissions = self.launches = 0
        self._cap = 0 if debug else MAX_INTEGERS
        self._work = 0
        self._lock = threading.RLock()
        self._pipelines: dict[tuple[str, str, int], int] = {}
        self._names: dict[int, str] = {}
        self._untimed: list[tuple[str, str, tuple[int, int, int], list[float] | None]] = []
        self.purpose: tuple[str, list[float]] | None = None
        """What launches are for, where something stands above the operators: what listeners are told, and where their seconds go."""
        self._access: dict[int, str] = {}
        self.parts = self.pool.parts
        self._fault: Block | None = None
        self._guards: list[tuple[str, str]] = []

    # -- kernels ------------------------------------------------------------------------------------------------

    def pipeline(self, kernel: Kernel) -> int:
        """The handle of a kernel's pipeline, compiled when first asked for. Raises DeviceError where it is not valid."""
        key = (kernel.source, kernel.access, kernel.words)
        found = self._pipelines.get(key)
        if found is None:
            made = next(handles)
            began = time.perf_counter()
            self.gpu.create_pipeline(made, kernel.source, kernel.access, kernel.words, kernel.name)
            found = self._pipelines[key] = made
            self._names[made] = kernel.name
            self._access[made] = kernel.access
            if bus.kernel:
                bus.publish(KernelBuilt(kernel.name, "webgpu", kernel.source, time.perf_counter() - began))
        return found

    @property
    def pipelines(self) -> int:
        """How many pipelines have been compiled."""
        return len(self._pipelines)

    def launch(
        self, pipeline: int, grid: Sequence[int], buffers: Sequence[int], words: Sequence[int], work: int = 0
    ) -> None:
        """Record one dispatch. `work` estimates what it costs, for launches that are long by themselves."""
        if self.parts and not self.parts.keys().isdisjoint(buffers):
            buffers, _spare = self._apart(pipeline, buffers)  # what was copied lives until the launch is recorded
        commands = self.commands
        commands.extend((DISPATCH, pipeline, *grid, len(buffers), *buffers, len(words), *words))
        if bus.launch:
            self._tell(pipeline, grid)
        if work:
            self._work += work
            if self._work > MAX_WORK:
                self.flush()
        if len(commands) > self._cap:
            self.flush()

    def _apart(self, pipeline: int, buffers: Sequence[int]) -> tuple[Sequence[int], list[Block]]:
        """The buffers of a launch; windows of a slab that is written here too, which are only read, are copied before."""
        parts, access = self.parts, self._access[pipeline]
        written = {parts[h][0] for h, a in zip(buffers, access, strict=False) if a == "w" and h in parts}
        out, copies = list(buffers), []
        for i, (h, a) in enumerate(zip(buffers, access, strict=False)):
            if a == "r" and h in parts and parts[h][0] in written:
                copies.append(self._copied(h))
                out[i] = copies[-1].handle
        return out, copies

    def _copied(self, window: int) -> Block:
        """What a window holds now, for the next command: the memory may serve another after that."""
        nbytes = self.parts[window][1]
        spare = self.pool.take(nbytes)
        self.commands.extend((COPY, window, 0, spare.handle, 0, nbytes))
        return spare

    def append(self, commands: Sequence[int], work: int = 0) -> None:
        """Record commands that were put together before (see `gpu`); nobody is told of them one by one."""
        self.commands.extend(commands)
        self._work += work
        if self._work > MAX_WORK or len(self.commands) > self._cap:
            self.flush()

    def _tell(self, pipeline: int, grid: Sequence[int]) -> None:
        name = self._names[pipeline]
        where = (int(grid[0]), int(grid[1]), int(grid[2]))
        op, into = self.purpose or (name.partition(".")[0], None)
        if self.timing:
            self._untimed.append((name, op, where, into))
        else:
            bus.publish(KernelLaunched(name, op, "webgpu", where))

    def copy_bytes(self, source: int, source_offset: int, target: int, target_offset: int, nbytes: int) -> None:
        """Record a copy between buffers; everything a multiple of 4."""
        parts = self.parts
        if parts and source in parts and target in parts and parts[source][0] == parts[target][0]:
            source = self._copied(source).handle
        self.commands.extend((COPY, source, source_offset, target, target_offset, nbytes))
        if len(self.commands) > self._cap:
            self.flush()

    def clear_bytes(self, buffer: int, offset: int, nbytes: int) -> None:
        """Record the zeroing of a part of a buffer."""
        self.commands.extend((CLEAR, buffer, offset, nbytes))
        if len(self.commands) > self._cap:
            self.flush()

    def flush(self) -> None:
        """Submit what has been recorded. Raises DeviceError, DeviceLost."""
        commands = self.commands
        if not commands:
            return
        with self._lock, _uninterrupted():
            taken = commands[:]
            del commands[: len(taken)]  # another thread may have appended in between
            self._work = 0
            self.submissions += 1
            with self._losing():
                if self.timing and bus.launch:
                    self._submit_timed(taken)
                else:
                    self.gpu.submit(taken)
                if self.debug:
                    self.gpu.wait()
            self.pool.submitted()

    def _submit_timed(self, commands: list[int]) -> None:
        told, self._untimed = self._untimed, []
        seconds = self.gpu.submit_timed(commands)
        if seconds is None or len(seconds) < len(told):
            taken: list[float | None] = [None] * len(told)
        else:  # launches from before somebody listened come first, and nobody is told of them
            taken = [*seconds[len(seconds) - len(told) :]]
        for (name, op, grid, into), spent in zip(told, taken, strict=True):
            if into is not None and spent is not None:
                into.append(spent)
            bus.publish(KernelLaunched(name, op, "webgpu", grid, spent))

    def guard(self, op: str, what: str | None) -> tuple[int, int]:
        """For a kernel that checks its indices: the handle of the fault buffer, and a code for this launch.

        The next read of a value looks whether a code was written, and raises IndexError with `op` and `what` if so. With
        `what` None the indices are known to be in range, and nobody will look.
        """
        if self._fault is None:
            self._fault = self.upload(bytes(16), 16)
        if what is None:
            return self._fault.handle, 0
        strict = 0 if op in COUNT_FROM_THE_END else STRICT
        if not self._guards or self._guards[-1] != (op, what):
            if len(self._guards) >= 256:
                self._check_guards()
            self._guards.append((op, what))
        return self._fault.handle, len(self._guards) | strict

    def _check_guards(self) -> None:
        if self._guards and self._fault is not None:
            self.flush()
            with self._losing():
                (found,) = self.gpu.read([(self._fault.buffer, 0, 8)])
            self._raise_fault(found)

    def _raise_fault(self, found: bytearray) -> None:
        """Raise IndexError if a kernel has written a fault."""
        guards, self._guards = self._guards, []
        code, index = memoryview(found).cast("I")
        code &= ~STRICT
        if code:
            with self._losing():
                self.gpu.write(self._fault.buffer, 0, bytes(16))  # type: ignore[union-attr]
            op, what = guards[min(code, len(guards)) - 1]
            index -= (index >> 31) << 32
            raise IndexError(f"{what.format(index=index)} (in {op} on device 'webgpu', noticed when a value was read)")

    # -- values -------------------------------------------------------------------------------------------------

    def upload(self, data: Any, nbytes: int) -> Block:
        """Fresh memory with a copy of `data`, a contiguous buffer whose size is a multiple of 4."""
        block = self.pool.take_idle(nbytes)
        if nbytes:
            with self._losing():
                self.gpu.write(block.buffer, 0, data)
        return block

    def read(self, block: Block, offset: int, nbytes: int) -> bytearray:
        """Bytes of a block (offset and size multiples of 4), after all that was recorded."""
        ranges = self._ranges(block, offset, nbytes)
        with self._losing():
            out, *fault = self.gpu.read(ranges)
        if fault:
            self._raise_fault(fault[0])
        return out

    async def read_async(self, block: Block, offset: int, nbytes: int) -> bytearray:
        """`read` that leaves the waiting to the event loop where the device cannot block."""
        ranges = self._ranges(block, offset, nbytes)
        with self._losing():
            out, *fault = await self.gpu.read_async(ranges)
        if fault:
            self._raise_fault(fault[0])
        return out

    def _ranges(self, block: Block, offset: int, nbytes: int) -> list[tuple[int, int, int]]:
        """What is read for bytes of a block, with the word that tells of indices out of range where a kernel may write it."""
        if not block.buffer:
            block.handle  # noqa: B018  (raises with the reason)
        self.flush()
        wanted = [(block.buffer, offset, nbytes)]
        if self._guards and self._fault is not None:
            wanted.append((self._fault.buffer, 0, 8))
        return wanted

    def wait(self) -> None:
        """Submit, and wait until everything has run."""
        self.flush()
        self._check_guards()
        with self._losing():
            self.gpu.wait()

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        try:
            yield
        except DeviceLost:
            if self.pool.lost is None:
                self.pool.invalidate(self.gpu.lost or "unknown cause")
                self.commands.clear()
            raise
        except DeviceError:
            self._untimed.clear()
            raise

    @property
    def lost(self) -> bool:
        """Whether the device is gone; a lost one never comes back."""
        return self.pool.lost is not None or self.gpu.lost is not None

    def close(self) -> None:
        """Give the device back; what is in its memory is gone."""
        self.commands.clear()
        if self.pool.lost is None:
            self.pool.invalidate("it was closed")
        self.gpu.close()


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl+C back until the block is done (on the main thread; others are never interrupted)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):
        yield
        return
    held: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])
