"""`Gpu` on a browser's WebGPU, for Python that runs in a web worker.

The worker registers the JavaScript module `tapescope_gpu`, which sends packed lists to the worker that owns the device
and blocks for its answers; where it cannot block (`synchronous` is false) it runs the device itself, and a read suspends
the Python stack.  Creating and destroying buffers travels in the same list as the launches, so that order is kept and
one call into JavaScript carries them all.  A kernel that does not compile is told by the next read or wait.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import signal
import sys
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from .gpu import BROWSER_LIMITS, AdapterInfo, DeviceError, DeviceLost, Gpu, NoAdapter, OutOfMemory

CREATE, WINDOW, DESTROY, FORGET = 16, 17, 18, 19
"""Commands beside those of `gpu`: buffer and bytes; window, buffer, offset and bytes; buffer; pipeline."""

_NO_WAIT = (
    "This browser lets Python neither block nor suspend for a value of the WebGPU device. Serve the page cross-origin "
    "isolated (`tapescope playground serve` does), read values by `await tensor.item_async()`, or use the CPU."
)
_MAX_PENDING = 4096


def available() -> bool:
    """Whether this Python runs in a worker that has the module for WebGPU."""
    return "tapescope_gpu" in sys.modules or (
        sys.platform == "emscripten" and importlib.util.find_spec("tapescope_gpu") is not None
    )


@functools.cache
def _opened() -> BrowserGpu | None:
    """A device opened to learn what there is; the first use takes it."""
    global _ahead
    facts, _ahead = _ahead, None
    try:
        return BrowserGpu(facts=facts)
    except (NoAdapter, DeviceError):
        return None


def adapter() -> AdapterInfo | None:
    """The adapter that the browser offers, None where it has none."""
    found = _opened()
    return None if found is None else found.info


def open_gpu() -> BrowserGpu:
    """An open device. Raises NoAdapter."""
    found = _opened() if not _taken else None
    _taken.append(True)
    return found if found is not None and found.lost is None else BrowserGpu()


async def open_ahead() -> None:
    """Open the device before it is asked for, where Python can neither block nor suspend to do it then.

    Without an adapter nothing happens; the first use says so.
    """
    global _ahead
    host: Any = importlib.import_module("tapescope_gpu")
    if not host.synchronous and await host.request("open", "[]") == 1:
        _ahead = json.loads(host.text())


_ahead: dict[str, Any] | None = None
"""The facts of the device that was opened ahead, until it is used."""
_taken: list[bool] = []


def _places(ranges: Sequence[tuple[int, int, int]]) -> str:
    return json.dumps([list(map(int, part)) for part in ranges])


class BrowserGpu(Gpu):
    """The browser's best adapter, with default limits. `without` names features to leave off; `facts` are the adapter's
    where it has been opened already (`open_ahead`). Raises NoAdapter."""

    def __init__(self, *, without: Sequence[str] = (), facts: dict[str, Any] | None = None):
        try:
            self._host: Any = importlib.import_module("tapescope_gpu")
        except ModuleNotFoundError:
            raise NoAdapter("The browser's WebGPU can only be used by Python that runs in a web page.") from None
        self._pending: list[int] = []
        self._errors: list[str] = []
        self._closed = False
        self.limits = BROWSER_LIMITS
        if facts is None:
            try:
                facts = json.loads(self._request("open", json.dumps(list(without)), opening=True))
            except DeviceError as error:
                raise NoAdapter(f"{error} Use device='cpu'.") from None
        told: dict[str, Any] = facts or {}
        self.info = AdapterInfo(
            told["name"], "WebGPU", told["kind"], told["driver"], told["vendor"], frozenset(told["features"])
        )
        self.features = self.info.features

    # -- the way to the device ------------------------------------------------------------------------

    def _request(self, what: str, argument: str = "", opening: bool = False) -> str:
        """Ask and wait for the answer, whose bytes then lie with the module; its text if it has one."""
        if self._host.synchronous:
            return self._answered(self._host.request(what, argument), what, opening)
        from pyodide.ffi import can_run_sync, run_sync  # type: ignore[import-not-found]

        if not can_run_sync():
            raise DeviceError(_NO_WAIT)
        code = run_sync(self._host.request(what, argument))
        return self._answered(code, what, opening)

    def _answered(self, code: int, what: str, opening: bool = False) -> str:
        """The text of an answer that has come. Raises what it says."""
        if code < 0:
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                handler(signal.SIGINT, None)
            raise KeyboardInterrupt
        if code == 2:
            self._raise(json.loads(self._host.text()), opening)
        return "" if what in ("read", "times") else self._host.text()

    def _raise(self, problem: dict[str, str], opening: bool) -> None:
        kind, message = problem["kind"], " ".join(problem["message"].split())
        if opening:
            raise DeviceError(message)
        if kind == "lost":
            self.lost = "it was closed" if self._closed else message.rstrip(" .")
            raise DeviceLost(
                f"The WebGPU device was lost ({self.lost}). Tensors in its memory are gone; make them again."
            )
        if kind == "memory":
            raise OutOfMemory(f"The WebGPU device ran out of memory: {message}")
        raise DeviceError(f"The WebGPU device refused {message}")

    def _flush(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, []
            self._send(pending)

    def _send(self, words: Sequence[int]) -> None:
        packed = array("I", words)
        self._host.commands(packed.buffer_info()[0], len(packed))

    def _record(self, *words: int) -> None:
        self._pending.extend(words)
        if len(self._pending) > _MAX_PENDING:
            self._flush()

    # -- buffers and pipelines ------------------------------------------------------------------------

    def create_buffer(self, handle: int, nbytes: int) -> None:
        self._record(CREATE, handle, nbytes)

    def create_window(self, handle: int, buffer: int, offset: int, nbytes: int) -> None:
        self._record(WINDOW, handle, buffer, offset, nbytes)

    def destroy_buffer(self, handle: int) -> None:
        self._record(DESTROY, handle)

    def create_pipeline(self, handle: int, source: str, access: str, words: int, label: str) -> None:
        self._host.pipeline(handle, source, access, words, label)

    def destroy_pipeline(self, handle: int) -> None:
        self._record(FORGET, handle)

    # -- commands and values --------------------------------------------------------------------------

    def write(self, handle: int, offset: int, data: Any) -> None:
        self._flush()
        view = np.frombuffer(data, np.uint8)
        self._host.write(handle, offset, view.__array_interface__["data"][0], view.nbytes)

    def submit(self, commands: Sequence[int]) -> None:
        if self._pending:
            self._pending.extend(commands)
            self._flush()
        else:
            self._send(commands)

    def submit_timed(self, commands: Sequence[int]) -> list[float] | None:
        """By the device's timestamps where it has them, which browsers round to 100 us; else by the clock, launch by launch."""
        self._flush()
        packed = array("I", commands)
        self._host.time(packed.buffer_info()[0], len(packed))
        self._request("times")
        seconds = np.empty(self._host.size() // 8)
        if seconds.size:
            self._host.take(seconds.__array_interface__["data"][0], 0, seconds.nbytes)
        return seconds.tolist()

    def read(self, ranges: Sequence[tuple[int, int, int]]) -> list[bytearray]:
        self._flush()
        self._request("read", _places(ranges))
        return self._answer_in(ranges)

    async def read_async(self, ranges: Sequence[tuple[int, int, int]]) -> list[bytearray]:
        if self._host.synchronous:
            return self.read(ranges)
        self._flush()
        self._answered(await self._host.request("read", _places(ranges)), "read")
        return self._answer_in(ranges)

    def _answer_in(self, ranges: Sequence[tuple[int, int, int]]) -> list[bytearray]:
        """The bytes of the last answer, range by range."""
        found, at = [], 0
        for _, _, nbytes in ranges:
            out = bytearray(nbytes)
            if nbytes:
                self._host.take(np.frombuffer(out, np.uint8).__array_interface__["data"][0], at, nbytes)
            found.append(out)
            at += -(-nbytes // 8) * 8
        return found

    def wait(self) -> None:
        self._flush()
        self._request("wait")

    def errors(self) -> list[str]:
        found, self._errors = self._errors, []
        return found

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._flush()
            self._request("close")
            self.lost = "it was closed"
