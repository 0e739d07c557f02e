"""The kernel in a browser: `KernelCore` in a web worker, driven by `app/web/client/src/kernel_worker.ts`.

That file registers the module `tapescope_host`: how to post an event, wait for an answer, sleep, and notice an interrupt.
There are no threads and no signals from outside; the page asks for an interrupt through a shared byte, which Pyodide
turns into SIGINT, and for the flushing of text, which it turns into SIGUSR1.  Where the page is not cross-origin isolated
nothing is shared: waiting suspends the stack instead, and a cell cannot be interrupted.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType, ModuleType
from typing import Any

from .core import KernelCore
from .messages import Execute, InputReply, Message, answer, decode, encode

INTERRUPTED = -1
FLUSH = 2
_NO_WAIT = (
    "input() cannot wait here: this browser lets Python neither block nor suspend. Serve the page cross-origin "
    "isolated (`tapescope playground serve` does), or use a browser with JavaScript Promise Integration."
)


class WorkerKernel:
    """One kernel, made by the worker when its packages are there. `device` is "auto", "cpu" or "webgpu"."""

    def __init__(self, device: str = "auto") -> None:
        self._host: Any = importlib.import_module("tapescope_host")
        late = _LatePackages(self._host)
        sys.meta_path.insert(0, late)
        if device == "auto":
            device = "webgpu" if self._host.webgpu and self._has_gpu() else "cpu"
        self.core = KernelCore(self._send, ask=self._ask, on_pending=self._pending, device=device, torch="auto")
        # IPython has not seen Jedi, which comes with the first completion.
        self.core.shell.Completer.use_jedi = late.has("jedi") or self.core.shell.Completer.use_jedi  # type: ignore[union-attr]
        self._sleep = time.sleep

    @staticmethod
    def _has_gpu() -> bool:
        """Whether there is an adapter that is more than the CPU in disguise."""
        from ...engine.backends.webgpu.browser import adapter

        found = adapter()
        return found is not None and not found.software

    def start(self) -> None:
        """Become the current kernel, say `Ready`, and import the engine, which the first cell will want."""
        self.core.activate()
        if self._host.isolated:
            time.sleep = self._wait
            signal.signal(signal.SIGINT, self.core.interrupts.handle_signal)
            self.core.interrupts.again = self._host.set_interrupt
            signal.signal(signal.SIGUSR1, self._flush)
        self.core.start()
        importlib.import_module(f"{__name__.partition('.app.')[0]}.engine")

    def handle(self, text: str) -> None:
        """Carry out one command, given as the page sent it."""
        command = decode(text)
        # A request that came too late for its cell must not end this one.
        self._host.clear_interrupt()
        self.core.handle(command)
        if isinstance(command, Execute):
            self._host.clear_interrupt()

    async def handle_async(self, text: str) -> None:
        """`handle` where Python cannot suspend for what a cell awaits: the page's own event loop goes on meanwhile."""
        command = decode(text)
        self._host.clear_interrupt()
        if isinstance(command, Execute):
            await self.core.execute_async(command)
            self._host.clear_interrupt()
        else:
            self.core.handle(command)

    def interrupt(self) -> None:
        """An interrupt that came as a message: the cell awaits something. What runs is reached by the shared byte."""
        self.core.shell.cancel_awaiting()

    # -- the way out --------------------------------------------------------------------------------

    def _send(self, message: Message) -> None:
        self._host.post(encode(message))

    def _pending(self) -> None:
        if self._host.isolated:
            self._host.pending()

    def _flush(self, number: int = 0, frame: FrameType | None = None) -> None:
        self.core.output.flush_due()

    # -- waiting ------------------------------------------------------------------------------------

    def _ask(self, prompt: str, password: bool) -> str:
        __tracebackhide__ = True
        if self._host.isolated:
            self._host.begin_input()
            while True:
                code = self._host.wait_input()
                if code == INTERRUPTED:
                    interrupted()
                elif code == FLUSH:
                    self._host.clear_interrupt()
                else:
                    text = self._host.input_text()
                    break
        else:
            from pyodide.ffi import can_run_sync, run_sync  # type: ignore[import-not-found]

            if not can_run_sync():
                raise EOFError(_NO_WAIT)
            text = run_sync(self._host.input_later())
        return answer(InputReply("" if text is None else str(text), text is None))

    def _wait(self, seconds: float, /) -> None:
        """`time.sleep` that an interrupt ends."""
        __tracebackhide__ = True
        if isinstance(seconds, str) or not hasattr(seconds, "__float__"):
            self._sleep(seconds)  # raises what it always raises
        duration = float(seconds)
        if duration < 0:
            raise ValueError("sleep length must be non-negative")
        self.core.output.flush_due()
        deadline = self._host.now() + duration * 1000
        while (code := self._host.sleep(deadline)) != 0:
            if code == INTERRUPTED:
                interrupted()
            else:
                self._host.clear_interrupt()
                self.core.output.flush_due()


def interrupted() -> None:
    """The interrupt byte was taken by somebody who waited: hand it to the handler of SIGINT."""
    __tracebackhide__ = True
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, None)


class _LatePackages(importlib.abc.MetaPathFinder):
    """Loads the bundle of a large package when it is first imported, then lets the other finders find it."""

    def __init__(self, host: Any) -> None:
        self._host = host
        self._bundles: dict[str, str] = json.loads(host.late())

    def has(self, name: str) -> bool:
        """Whether a package of this name waits to be loaded."""
        return name in self._bundles

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        bundle = self._bundles.get(fullname)
        if bundle is not None:
            self._bundles = {k: v for k, v in self._bundles.items() if v != bundle}
            self._host.load_late(bundle)
            importlib.invalidate_caches()
        return None
