"""The kernel without its transport: typed commands in, typed events out.

`KernelCore` runs cells in the thread that calls `handle`, and tells everything through one callable.  It opens no
pipe, starts no thread and does not ask which platform it is on; whoever has those (child.py, local.py, the browser's
worker) gives it a way to ask for input and a way to be told that output waits.
"""

from __future__ import annotations

import atexit
import builtins
import getpass
import io
import platform
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from IPython.core.completer import provisionalcompleter, rectify_completions
from IPython.utils.tokenutil import token_at_cursor

from . import figures, torch_name
from .captures import CaptureCollector
from .device_info import device_info, switch_device
from .hints import Scene, find_hints
from .interrupts import Interrupts
from .mark_dynamic import marked
from .messages import (
    AskDevice,
    Complete,
    Completions,
    Costs,
    DeviceInfo,
    DisplayData,
    Documentation,
    Error,
    Execute,
    Executed,
    GetRecording,
    Hints,
    InputRequest,
    Inspect,
    ListVariables,
    MarkDynamic,
    Message,
    Observe,
    Ready,
    Recording,
    Status,
    Variables,
)
from .output import OutputBuffer, OutputStream
from .provenance import Provenance
from .recorder import Recorder, costs_json, steps_json
from .shell import Shell, make_shell, text_of
from .tape_stream import TapeStream
from .tensor_facts import TensorFacts
from .variables import list_variables

MAX_MATCHES = 2000
JEDI_LIMIT = 20_000
"""Characters of code beyond which completion does without Jedi, whose time grows with the text."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


class KernelCore:
    """Runs commands in the calling thread and reports through `send`.

    send         receives every event, in order; called from the thread of `handle`, and from any thread that prints
    ask          `ask(prompt, password)` waits for the answer to the `InputRequest` that was just sent; EOFError
                 where there is none
    on_pending   called when output waits: `output.flush_due()` should follow about 10 ms later
    device       default device of the engine, None for the engine's own choice
    torch        what `import torch` means: "auto", "tapescope" or "pytorch" (see torch_name.py)
    process      number of the process, for `Ready`
    memory       the cap on the process's memory in bytes, for `DeviceInfo`; setting it is the transport's business
    descriptors  file descriptors that `sys.stdout.fileno()` and `sys.stderr.fileno()` answer

    Raises ValueError for an unknown `torch`.
    """

    def __init__(
        self,
        send: Callable[[Message], None],
        *,
        ask: Callable[[str, bool], str] | None = None,
        on_pending: Callable[[], None] | None = None,
        device: str | None = None,
        torch: str = "auto",
        process: int = 0,
        memory: int | None = None,
        descriptors: tuple[int | None, int | None] = (None, None),
    ) -> None:
        self._send = send
        self._ask = ask
        self._device = device
        self._process = process
        self._torch = torch_name.install(torch)
        self.interrupts = Interrupts()
        self.output = OutputBuffer(send, on_pending=on_pending, shield=self.interrupts)
        self.shell: Shell = make_shell(self.emit, self.interrupts)
        self._streams = {
            "stdout": OutputStream("stdout", self.output, descriptors[0], lambda: self._elsewhere("stdout")),
            "stderr": OutputStream("stderr", self.output, descriptors[1], lambda: self._elsewhere("stderr")),
            "stdin": _InputStream(self._read_line),
        }
        self._thread = _Thread()
        self.tape = TapeStream(self.emit, self.shell.user_ns)
        self.recorder = Recorder()
        self.captures = CaptureCollector(self.emit)
        self._provenance = Provenance(self.shell.user_ns)
        self._facts = TensorFacts()
        self._memory = memory
        self._forget_figures = figures.install(self._show_figure)
        self._outside: dict[str, Any] | None = None
        self._failure: BaseException | None = None

    # -- the way out ----------------------------------------------------------------------------------

    def emit(self, message: Message) -> None:
        """Send an event, behind all text that was written before it."""
        with self.interrupts:
            self.output.flush()
            self._send(message)

    def start(self) -> None:
        """Open the device that was asked for and send `Ready`.

        A device that cannot be opened is told by an `Error` of no cell; the CPU takes its place.
        """
        device = "cpu"
        if self._device is not None and self._device != "cpu":
            try:
                device = self._open_device(self._device)
            except Exception as error:
                why = text_of(error).rstrip(".")
                reason = f"The device {self._device!r} cannot be used: {why}. The CPU takes its place."
                self.emit(Error(None, "DeviceError", reason, [f"{type(error).__name__}: {text_of(error)}"], None))
                with suppress(Exception):  # an engine that has no CPU tells it again when a cell imports it
                    self._open_device("cpu")
        self.emit(Ready(platform.python_version(), self._torch, device, self._process))

    @staticmethod
    def _open_device(name: str) -> str:
        from ...engine.device import get_default_device, set_default_device

        set_default_device(name)
        return str(get_default_device())

    # -- commands -------------------------------------------------------------------------------------

    def handle(self, command: Message) -> None:
        """Carry out one command; returns when it is done. Nothing the user's code does gets out."""
        with self.active():
            if isinstance(command, Execute):
                self._execute(command)
            elif isinstance(command, Complete):
                self._complete(command)
            elif isinstance(command, MarkDynamic):
                self.emit(marked(command, self.shell.user_ns))
            elif isinstance(command, Inspect):
                self._inspect(command)
            elif isinstance(command, ListVariables):
                self._list_variables()
            elif isinstance(command, Observe):
                self.recorder.everything = command.costs
            elif isinstance(command, GetRecording):
                run = self.recorder.run_of(command.cell)
                steps = steps_json(run) if run is not None else []
                self.emit(Recording(command.request, run.cell if run else None, steps, run.dropped if run else 0))
            elif isinstance(command, AskDevice):
                self._tell_device(command.switch)

    def _execute(self, command: Execute) -> None:
        began = self._begin(command)
        try:
            status, self._failure = self.shell.run(command.cell, command.revision, command.code, command.store)
        except BaseException as error:  # an interrupt between two steps of the user's code, where IPython does not look
            status = self._broke_off(error)
        self._end(command, began, status)

    async def execute_async(self, command: Execute) -> None:
        """Run a cell on an event loop that is running already; `await` in the cell is left to it."""
        with self.active():
            began = self._begin(command)
            try:
                status, self._failure = await self.shell.run_async(
                    command.cell, command.revision, command.code, command.store
                )
            except BaseException as error:
                status = self._broke_off(error)
            self._end(command, began, status)

    def _begin(self, command: Execute) -> float:
        """Everything before a cell runs; the time at which it begins."""
        cell = command.cell
        self.emit(Status("busy", cell))
        self.output.begin(cell)
        self.interrupts.begin_cell()
        self.tape.begin(cell)
        self._provenance.begin(cell, command.revision, command.code)
        self.recorder.begin(cell)
        return time.perf_counter()

    def _broke_off(self, error: BaseException) -> str:
        """An error that went past IPython: tell it, and answer how the cell ended."""
        if isinstance(error, KeyboardInterrupt):
            self.shell._showtraceback(KeyboardInterrupt, error, ["KeyboardInterrupt"])
            return "interrupted"
        self.shell._showtraceback(type(error), error, [f"{type(error).__name__}: {text_of(error)}"])
        return "error"

    def _end(self, command: Execute, began: float, status: str) -> None:
        """Everything after the run of a cell."""
        cell = command.cell
        seconds = time.perf_counter() - began
        self.interrupts.end_cell()
        run = self.recorder.end()
        failure, self._failure = self._failure, None
        self.tape.end(failure if status == "error" else None)
        del failure  # it holds the frames of the cell, and those hold tensors
        self.output.end()
        self._provenance.end()
        self._list_variables()
        self.captures.end(cell)
        if run is not None:
            self.emit(Costs(cell, costs_json(run, self.recorder.text_of)))
            tapes = [self.tape.last] if self.tape.last is not None else []
            self.emit(Hints(cell, find_hints(Scene(run, self.shell.user_ns, tapes, self.tape.watch))))
        self.emit(Executed(cell, status, self.shell.cell_count, seconds))
        self.emit(Status("idle"))

    def _list_variables(self) -> None:
        found = list_variables(self.shell.user_ns, self.shell.user_ns_hidden)
        self._facts.begin()
        for entry in found:
            name = entry["name"]
            entry.update(self._facts.of(name, self.shell.user_ns.get(name)))
            if (maker := self._provenance.maker(name)) is not None:
                entry["cell"], entry["revision"] = maker.cell, maker.revision
                if stale := self._provenance.stale(name):
                    entry["stale"] = stale
        self.emit(Variables(found))

    def _tell_device(self, switch: str | None) -> None:
        refused = switch_device(switch) if switch is not None else ""
        info = device_info(self._memory)
        info["error"] = refused
        self.emit(DeviceInfo(info))

    def _complete(self, command: Complete) -> None:
        cursor = max(0, min(command.cursor, len(command.code)))
        completer: Any = self.shell.Completer
        found: list[Any] = []
        for jedi in (True, False) if completer.use_jedi and len(command.code) <= JEDI_LIMIT else (False,):
            before, completer.use_jedi = completer.use_jedi, jedi
            try:
                with provisionalcompleter(), self.shell.builtin_trap:
                    raw = list(completer.completions(command.code, cursor))
                    found = list(rectify_completions(command.code, raw))
                break
            except Exception:  # Jedi reads half-written code and live objects: whatever it meets, go on without it
                found = []
            finally:
                completer.use_jedi = before
        start, end = (found[0].start, found[0].end) if found else (cursor, cursor)
        matches = list(dict.fromkeys(c.text for c in found))[:MAX_MATCHES]
        self.emit(Completions(command.request, matches, start, end))

    def _inspect(self, command: Inspect) -> None:
        text = ""
        try:
            name = token_at_cursor(command.code, command.cursor)
            if name:
                bundle = self.shell.object_inspect_mime(name, detail_level=0)
                text = _ANSI.sub("", str(bundle.get("text/plain", "")))
        except Exception:  # nothing known of it (KeyError), or the object refuses to be looked at
            text = ""
        self.emit(Documentation(command.request, text))

    # -- what the user's code meets ---------------------------------------------------------------------

    @contextmanager
    def active(self) -> Iterator[None]:
        """This kernel is the current one: its streams are `sys`'s, its shell is IPython's. May be nested."""
        if self._outside is not None:
            yield
            return
        self.activate()
        try:
            yield
        finally:
            self.deactivate()

    def activate(self) -> None:
        """Become the current kernel until `deactivate`."""
        self._outside = {
            "stdout": sys.stdout,
            "stderr": sys.stderr,
            "stdin": sys.stdin,
            "input": builtins.input,
            "getpass": getpass.getpass,
            "warnings": warnings.formatwarning,
            "main": sys.modules.get("__main__"),
            "shells": [(kind, kind._instance) for kind in type(self.shell)._walk_mro()],
        }
        sys.stdout, sys.stderr, sys.stdin = (self._streams[n] for n in ("stdout", "stderr", "stdin"))
        builtins.input = self._input
        getpass.getpass = self._getpass
        warnings.formatwarning = self.shell.format_warning
        sys.modules["__main__"] = self.shell.user_module
        for kind, _ in self._outside["shells"]:
            kind._instance = self.shell

    def deactivate(self) -> None:
        """Give the process back what `activate` took over."""
        outside, self._outside = self._outside, None
        if outside is None:
            return
        sys.stdout, sys.stderr, sys.stdin = outside["stdout"], outside["stderr"], outside["stdin"]
        builtins.input = outside["input"]
        getpass.getpass = outside["getpass"]
        warnings.formatwarning = outside["warnings"]
        if outside["main"] is not None:
            sys.modules["__main__"] = outside["main"]
        for kind, instance in outside["shells"]:
            kind._instance = instance

    @contextmanager
    def outside(self) -> Iterator[None]:
        """For a moment, this thread reads and writes where it did before: for a listener in the same process."""
        before, self._thread.outside = self._thread.outside, True
        try:
            yield
        finally:
            self._thread.outside = before

    def _elsewhere(self, name: str) -> Any:
        return self._outside[name] if self._thread.outside and self._outside is not None else None

    def close(self) -> None:
        """Let go of the process: streams, hooks, `import torch`."""
        self.output.end()
        self.tape.close()
        self.recorder.close()
        self.captures.close()
        self._forget_figures()
        self.deactivate()
        torch_name.uninstall()
        atexit.unregister(self.shell.atexit_operations)
        self.shell.user_ns.clear()

    def detach(self) -> None:
        """In a forked process: send nothing any more, and give the streams back. Waits for no lock."""
        self._send = lambda message: None
        self.output.detach()
        self.tape.close()
        self.recorder.close()
        self.captures.close()
        self.deactivate()

    def _show_figure(self, bundle: dict[str, Any]) -> None:
        self.emit(DisplayData(self.shell.cell, bundle))

    # Tracebacks of cells leave out the kernel's frames that have `__tracebackhide__`: asking is no news there.

    def _read(self, prompt: object, password: bool) -> str:
        __tracebackhide__ = True
        text = str(prompt)
        if self._ask is None:
            raise EOFError("input() has nobody to ask here: the notebook runs without a person in front of it")
        self.emit(InputRequest(self.shell.cell, text, password))
        return self._ask(text, password)

    def _input(self, prompt: object = "", /) -> str:
        __tracebackhide__ = True
        ask = self._elsewhere("input")
        return self._read(prompt, False) if ask is None else ask(prompt)

    def _getpass(self, prompt: str = "Password: ", stream: Any = None, **options: Any) -> str:
        __tracebackhide__ = True
        ask = self._elsewhere("getpass")
        return self._read(prompt, True) if ask is None else ask(prompt, stream, **options)

    def _read_line(self) -> str:
        stdin = self._elsewhere("stdin")
        return self._read("", False) + "\n" if stdin is None else stdin.readline()


class _Thread(threading.local):
    """Whether this thread is outside the kernel for a moment (`KernelCore.outside`)."""

    outside = False


class _InputStream(io.TextIOBase):
    """`sys.stdin` of a cell: each line is asked for."""

    def __init__(self, read_line: Callable[[], str]) -> None:
        super().__init__()
        self._read_line = read_line

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def readable(self) -> bool:
        return True

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        try:
            return self._read_line()
        except EOFError:
            return ""

    def read(self, size: int | None = -1, /) -> str:
        return self.readline()

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing: a cell that closes its input must not close the next one's."""
