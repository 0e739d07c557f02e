"""IPython's shell, bound to events instead of a terminal.

`Shell` compiles each cell under the cell's own file name, sends results, displays and errors as messages, and lets
interrupts through only while the user's code runs.  It keeps no history, draws no prompt and knows no transport.
What a cell is and when it begins and ends is `core`'s subject.
"""

from __future__ import annotations

import ast
import asyncio
import base64
import bdb
import codeop
import contextlib
import linecache
import os
import sys
import textwrap
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import UsageError
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from traitlets.config import Config

from .cellnames import cell_filename, parse_cell_filename
from .figures import figure_bundle
from .interrupts import Interrupts
from .messages import ClearOutput, DisplayData, Error, ExecuteResult, Message, Stream
from .torch_name import ENGINE, explain_missing_name

MAX_TEXT = 1_000_000
"""Characters of one text output; the middle of a longer one is left out."""

ADVICE_WIDTH = 66
"""Columns of the advice under a traceback, so that narrow screens need not break its words."""

MAX_BUNDLE = 64_000_000
"""Characters of any other output; a larger one is replaced by a sentence."""

MAX_DISPLAYS = 2_000
"""Outputs that one cell may display; updates of a display do not count."""


class CellCompiler(CachingCompiler):
    """Compiles a cell under its file name, with the cell's own line numbers, whatever IPython did to the text.

    Leading empty lines that IPython takes away, and the body of a cell magic such as ``%%time`` or ``%%capture``,
    which is compiled on its own, get their lines back.
    """

    def __init__(self) -> None:
        super().__init__()
        # A cell is all there is: "'(' was never closed" says more than "incomplete input".
        self.flags &= ~codeop.PyCF_ALLOW_INCOMPLETE_INPUT  # type: ignore[attr-defined]
        self._cell_name: str | None = None
        self._cell_text = ""
        self._cached = False
        self._offset = 0

    def begin_cell(self, cell: str, revision: int, code: str) -> None:
        self._cell_name = cell_filename(cell, revision)
        self._cell_text = code
        self._cached = False
        self._offset = 0

    def end_cell(self) -> None:
        self._cell_name = None

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        if self._cell_name is not None and (not self._cached or self._is_body(raw_code)):
            return self._cell_name
        return super().get_code_name(raw_code, transformed_code, number)

    def _is_body(self, code: str) -> bool:
        text = self._cell_text.lstrip()
        return text.startswith("%%") and text.partition("\n")[2].rstrip() == code.rstrip()

    def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
        name = self.get_code_name(raw_code if raw_code is not None else transformed_code, transformed_code, number)
        if name != self._cell_name:
            self._offset = 0
            return super().cache(transformed_code, number, raw_code)
        text = self._cell_text
        self._offset = text[: len(text) - len(text.lstrip())].count("\n") + self._cached
        if not self._cached:
            self._cached = True
            self._filename_map[name] = number
            if text.lstrip().startswith("%%"):  # its body keeps its lines, which is more use than valid Python
                shown = text
            else:
                shown = "\n" * self._offset + transformed_code
            # No modification time: `linecache.checkcache` then leaves the entry alone.
            linecache.cache[name] = (len(shown), None, [line + "\n" for line in shown.splitlines()], name)
        return name

    def ast_parse(self, source: str, filename: str = "<unknown>", symbol: str = "exec") -> ast.AST:
        offset = self._offset if filename == self._cell_name else 0
        try:
            tree = super().ast_parse(source, filename, symbol)
        except SyntaxError as error:
            if offset and error.filename == filename and error.lineno is not None:
                error.lineno += offset
                if error.end_lineno is not None:
                    error.end_lineno += offset
            raise
        return ast.increment_lineno(tree, offset) if offset else tree

    def __call__(self, source: Any, filename: str, symbol: str, *args: Any, **options: Any) -> Any:
        if filename in ("<timed exec>", "<timed eval>") and isinstance(source, ast.AST):
            place = self._magic_place()
            if place is not None:
                filename, offset = place
                ast.increment_lineno(source, offset)
        call: Any = super().__call__
        return call(source, filename, symbol, *args, **options)

    @staticmethod
    def _magic_place() -> tuple[str, int] | None:
        """Where the statement of a running ``%time`` or ``%%time`` stands: file name and lines before it."""
        frame = sys._getframe(2)
        body = 0
        while frame is not None:
            code = frame.f_code
            if code.co_name == "run_cell_magic":
                body = 1
            elif parse_cell_filename(code.co_filename) is not None:
                return code.co_filename, frame.f_lineno - 1 + body
            frame = frame.f_back
        return None


class CellDisplayHook(DisplayHook):
    """Sends the value of a cell's last expression as `ExecuteResult`."""

    shell: Shell  # type: ignore[assignment]

    def quiet(self) -> bool:
        try:
            return bool(self.semicolon_at_end_of_expression(self.shell.cell_text))
        except Exception:  # text that the tokenizer refuses has no semicolon that counts
            return False

    def write_output_prompt(self) -> None:
        """No prompt: the count is part of the event."""

    def write_format_data(self, format_dict: dict[str, Any], md_dict: dict[str, Any] | None = None) -> None:
        data, metadata = presentable(format_dict, md_dict)
        self.shell.emit(ExecuteResult(self.shell.cell, self.shell.cell_count, data, metadata))

    def log_output(self, format_dict: dict[str, Any]) -> None:
        """Nothing is logged: outputs belong to the document."""

    def finish_displayhook(self) -> None:
        self._is_active = False


class CellDisplayPublisher(DisplayPublisher):
    """Sends what `display` shows."""

    shell: Shell  # type: ignore[assignment]

    def publish(
        self,
        data: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        *unused: Any,
        transient: dict[str, Any] | None = None,
        update: bool = False,
        **ignored: Any,
    ) -> None:
        self._validate_data(data, metadata)
        if not update and not self.shell.may_display():
            return
        data, metadata = presentable(data, metadata)
        display_id = (transient or {}).get("display_id")
        self.shell.emit(
            DisplayData(self.shell.cell, data, metadata, None if display_id is None else str(display_id), update)
        )

    def clear_output(self, wait: bool = False) -> None:
        self.shell.displayed = 0
        self.shell.emit(ClearOutput(self.shell.cell, bool(wait)))


class CellDisplayFormatter(DisplayFormatter):
    """IPython's formatter, with plotly's figures as plain bundles."""

    def format(self, obj: Any, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = figure_bundle(obj)
        if bundle is not None:
            return bundle, {}
        return super().format(obj, include, exclude)


def presentable(data: dict[str, Any], metadata: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """A MIME bundle of JSON values within the size limits: bytes in base64, long text shortened."""
    shown: dict[str, Any] = {}
    for mime, value in data.items():
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode("ascii")
        if isinstance(value, str):
            limit = MAX_TEXT if mime == "text/plain" else MAX_BUNDLE
            if len(value) > limit:
                if mime == "text/plain":
                    value = shorten(value, limit)
                else:
                    note = f"[an output of type {mime} with {len(value):,} characters was left out: too large to show]"
                    shown["text/plain"] = f"{shown['text/plain']}\n{note}" if "text/plain" in shown else note
                    continue
        shown[str(mime)] = value
    return shown, dict(metadata or {})


def shorten(text: str, limit: int) -> str:
    """`text`, or its beginning and end with a note of how much is missing between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"


def text_of(error: BaseException) -> str:
    """`str(error)`, even of an exception whose `__str__` fails, and never endless."""
    try:
        return shorten(str(error), 100_000)
    except Exception as failure:
        return f"<no text: its __str__ raised {type(failure).__name__}>"


def line_in_cell(error: BaseException, cell: str, revision: int) -> int | None:
    """The line of the cell at which it stopped: its innermost frame there, or where its syntax is wrong."""
    place = (cell, revision)
    if isinstance(error, SyntaxError) and isinstance(error.filename, str):
        if parse_cell_filename(error.filename) == place:
            return error.lineno
    found = None
    trace = error.__traceback__
    while trace is not None:
        if parse_cell_filename(trace.tb_frame.f_code.co_filename) == place:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def _only_cells(trace: TracebackType | None) -> TracebackType | None:
    """The same traceback with the frames of cells only."""
    kept = []
    while trace is not None:
        if parse_cell_filename(trace.tb_frame.f_code.co_filename) is not None:
            kept.append(trace)
        trace = trace.tb_next
    result = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


class Shell(InteractiveShell):
    """One user namespace and the ways to run code in it. Made by `make_shell`."""

    compiler_class = CellCompiler
    displayhook_class = CellDisplayHook
    display_pub_class = CellDisplayPublisher
    compile: CellCompiler

    # Set by `make_shell` before the base class calls the methods below.
    emit: Callable[[Message], None] = staticmethod(lambda message: None)
    interrupts: Interrupts

    cell: str | None = None
    """The cell that runs, or ran last."""
    cell_revision = 0
    cell_text = ""
    cell_count = 0

    def __init__(self, emit: Callable[[Message], None], interrupts: Interrupts, **options: Any) -> None:
        self.emit = emit
        self.interrupts = interrupts
        self.errors_sent = self.displayed = 0
        self._cancelled = False
        self._awaiting: asyncio.Task[Any] | None = None
        super().__init__(**options)
        self.set_hook("show_in_pager", _show_in_pager, 0)
        transformers = self.input_transformer_manager.token_transformers
        transformers[:] = [_keeping_lines(transformer) for transformer in transformers]
        self.loop_runner = self._run_in_loop

    # -- what IPython would do on a disk or a terminal -------------------------------------------------

    def init_profile_dir(self, profile_dir: Any) -> None:
        """No profile: a kernel writes nothing into the user's home."""

    def _ipython_dir_changed(self, change: Any) -> None:
        """No folder is made either."""

    def init_prompts(self) -> None:
        """No prompts. `sys.ps1` exists, because programs take it for the sign that somebody is there."""
        sys.ps1 = "In : "

    def init_display_formatter(self) -> None:
        self.display_formatter = CellDisplayFormatter(parent=self)
        configurables: list[Any] = self.configurables
        configurables.append(self.display_formatter)

    def _tee(self, channel: str) -> contextlib.AbstractContextManager[None]:
        """Outputs are not kept: the document has them, and a long training run would fill the memory."""
        return contextlib.nullcontext()

    def ask_exit(self) -> None:
        """`exit` and `quit` in a cell: the same as `sys.exit()`."""
        raise SystemExit

    def set_next_input(self, s: str, replace: bool = False) -> None:
        """`%load` and `%recall` want to write a cell; the text is shown instead."""
        self.emit(DisplayData(self.cell, {"text/plain": f"# put this into a cell to run it\n{s}"}))

    def may_display(self) -> bool:
        """Whether the running cell may show one more output; the first that is too many is told."""
        self.displayed += 1
        if self.displayed == MAX_DISPLAYS + 1:
            sentence = f"[the cell has displayed {MAX_DISPLAYS:,} outputs; further ones are left out]\n"
            self.emit(Stream(self.cell, "stderr", sentence))
        return self.displayed <= MAX_DISPLAYS

    # -- running ------------------------------------------------------------------------------------------

    def run(self, cell: str, revision: int, code: str, store: bool) -> tuple[str, BaseException | None]:
        """Run a cell's text; returns "ok", "error" or "interrupted", and what ended it."""
        self._begin(cell, revision, code)
        try:
            result = self.run_cell(code, store_history=store, silent=False, cell_id=cell)
        finally:
            self.compile.end_cell()
        return self._ended(result)

    async def run_async(self, cell: str, revision: int, code: str, store: bool) -> tuple[str, BaseException | None]:
        """`run` on an event loop that is running already and cannot be entered again: a browser's."""
        self._begin(cell, revision, code)
        try:
            try:
                text, wrong = self.transform_cell(code), None
            except Exception:
                text, wrong = code, sys.exc_info()
            running = self.run_cell_async(
                code,
                store_history=store,
                silent=False,
                cell_id=cell,
                transformed_cell=text,
                preprocessing_exc_tuple=wrong,
            )
            self._awaiting = asyncio.ensure_future(running)
            result = await self._awaiting
            self.events.trigger("post_execute")
            self.events.trigger("post_run_cell", result)
        finally:
            self._awaiting = None
            self.compile.end_cell()
        return self._ended(result)

    def _begin(self, cell: str, revision: int, code: str) -> None:
        self.cell, self.cell_revision, self.cell_text = cell, revision, code
        self.cell_count = self.execution_count
        self.errors_sent = self.displayed = 0
        self._cancelled = False
        self.compile.begin_cell(cell, revision, code)

    def _ended(self, result: ExecutionResult) -> tuple[str, BaseException | None]:
        """What `run` answers for a result of IPython's."""
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            return "ok", None
        if not self.errors_sent:  # IPython could not format it
            self.interrupts.disarm()
            self._showtraceback(type(error), error, traceback.format_exception(error))
        return ("interrupted" if self._interrupted(error) else "error"), error

    def _interrupted(self, error: BaseException) -> bool:
        return isinstance(error, KeyboardInterrupt) or self._cancelled

    async def run_code(self, code_obj: Any, result: ExecutionResult | None = None, *, async_: bool = False) -> bool:
        """Run compiled code of a cell; returns whether it failed. Every exception is shown, none gets out."""
        __tracebackhide__ = "__ipython_bottom__"
        hook, sys.excepthook = sys.excepthook, self.excepthook
        self.sys_excepthook = hook
        armed = False
        try:
            try:
                armed = self.interrupts.arm()
                if async_:
                    await eval(code_obj, self.user_global_ns, self.user_ns)
                else:
                    exec(code_obj, self.user_global_ns, self.user_ns)
            finally:
                self.interrupts.restore(armed)
                sys.excepthook = hook
        except bdb.BdbQuit as error:  # the debugger was left: nothing to show
            if result is not None:
                result.error_in_exec = error
            self.errors_sent += 1
        except BaseException as error:
            if result is not None:
                result.error_in_exec = error
            if isinstance(error, self.custom_exceptions):
                self.CustomTB(type(error), error, error.__traceback__)
            else:
                self.showtraceback(running_compiled_code=True)
        else:
            return False
        return True

    def _run_in_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a cell with `await` at its top level.

        An interrupt that finds the loop waiting cancels the cell's task, which would else wake up in the next
        asynchronous cell.
        """
        from IPython.core.async_helpers import get_asyncio_loop

        loop = get_asyncio_loop()
        self._awaiting = task = loop.create_task(coroutine)
        try:
            while True:
                try:
                    return loop.run_until_complete(task)
                except KeyboardInterrupt:
                    if task.done():
                        raise
                    self.cancel_awaiting()
        finally:
            self._awaiting = None

    def cancel_awaiting(self) -> bool:
        """Interrupt a cell that awaits something at its top level; returns whether one does."""
        if self._awaiting is None:
            return False
        self._cancelled = True
        return self._awaiting.cancel()

    # -- errors -------------------------------------------------------------------------------------------

    def showtraceback(
        self,
        exc_tuple: Any = None,
        filename: str | None = None,
        tb_offset: int | None = None,
        exception_only: bool = False,
        running_compiled_code: bool = False,
    ) -> None:
        self.interrupts.disarm()
        etype, error, trace = self._get_exc_info(exc_tuple)
        if isinstance(error, SystemExit):
            self._showtraceback(etype, error, [self._exit_sentence(error)])
        elif isinstance(error, KeyboardInterrupt) or (self._cancelled and isinstance(error, asyncio.CancelledError)):
            if not isinstance(error, KeyboardInterrupt):
                error = KeyboardInterrupt().with_traceback(trace)
            shown = KeyboardInterrupt(*error.args).with_traceback(_only_cells(trace))
            lines = self.InteractiveTB.structured_traceback(type(shown), shown, shown.__traceback__, tb_offset=0)
            self._showtraceback(KeyboardInterrupt, error, lines)
        elif isinstance(error, BaseExceptionGroup) and not isinstance(error, SyntaxError):
            self._showtraceback(etype, error, traceback.format_exception(etype, error, _without_kernel(trace)))
        else:
            told = (explain_missing_name(error), _advice(error)) if error is not None else ()
            sentence = "\n".join(filter(None, told))
            if sentence and error is not None and sentence not in getattr(error, "__notes__", ()):
                error.add_note(sentence)
            verbose = self.InteractiveTB.mode == "Verbose"  # %xmode Verbose shows the engine's frames, too
            exc_tuple = (etype, error, _without_kernel(trace, engine=verbose))
            super().showtraceback(exc_tuple, filename, tb_offset, exception_only, running_compiled_code)

    def _format_exception_for_storage(self, exception: BaseException, *unused: Any, **ignored: Any) -> dict[str, Any]:
        """Nothing is stored, so nothing needs to be formatted a second time."""
        return {"ename": type(exception).__name__, "evalue": "", "traceback": []}

    def showsyntaxerror(self, filename: str | None = None, running_compiled_code: bool = False) -> None:
        self.interrupts.disarm()
        super().showsyntaxerror(filename, running_compiled_code)

    def show_usage_error(self, exc: BaseException) -> None:
        self._showtraceback(UsageError, exc, [f"UsageError: {text_of(exc)}"])

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        self.errors_sent += 1
        line = None
        if self.cell is not None and isinstance(evalue, BaseException):
            line = line_in_cell(evalue, self.cell, self.cell_revision)
        lines = [shorten(line_, 100_000) for line_ in stb]
        self.emit(Error(self.cell, etype.__name__, text_of(evalue), lines, line))

    def format_warning(
        self, message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        """A warning with its place named as tracebacks name it, and the line."""
        if parse_cell_filename(filename) is None:
            shown = filename
        else:
            count = self.compile._filename_map.get(filename, self.cell_count)
            shown = f"Cell In[{count}], line {lineno}"
        place = f"{shown}:{lineno}" if shown == filename else shown
        text = (line if line is not None else linecache.getline(filename, lineno)).strip()
        return f"{place}: {category.__name__}: {message}\n" + (f"  {text}\n" if text else "")

    def _exit_sentence(self, error: SystemExit) -> str:
        line = line_in_cell(error, self.cell or "", self.cell_revision)
        where = f" in line {line}" if line else ""
        code = "" if error.code is None else f" with {error.code!r}"
        return f"The cell left by SystemExit{code}{where}. The kernel keeps running, with all its variables."


def _advice(error: BaseException) -> str | None:
    """What to try after an error of the engine's; None where nothing is known, or the engine is not loaded."""
    engine = sys.modules.get(f"{ENGINE}.advice")
    told = engine.advice(error) if engine is not None else ""
    return textwrap.fill(told, ADVICE_WIDTH, break_long_words=False, break_on_hyphens=False) or None


def _without_kernel(trace: TracebackType | None, engine: bool = False) -> TracebackType | None:
    """The traceback from the first frame of a cell on, without the kernel's own frames at its end.

    These name themselves by a local variable `__tracebackhide__`. IPython knows it too, but always shows the last frame.
    Without `engine`, frames of the engine (and of numpy below it) are left out as well: a mistake in a cell is in the cell.
    """
    start = trace
    while start is not None and parse_cell_filename(start.tb_frame.f_code.co_filename) is None:
        start = start.tb_next
    if start is None:
        return trace
    entries = [start]
    while entries[-1].tb_next is not None:
        entries.append(entries[-1].tb_next)
    count = len(entries)
    while count > 1 and _is_hidden(entries[count - 1].tb_frame):
        count -= 1
    kept, inside = [], False
    for entry in entries[:count]:
        file = entry.tb_frame.f_code.co_filename
        inside = not engine and (file.startswith(_ENGINE) or (inside and _NUMPY in file))
        if not inside:
            kept.append(entry)
    if len(kept) == len(entries):
        return start
    result = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


_ENGINE = str(Path(__file__).resolve().parents[2] / "engine") + os.sep
_NUMPY = f"{os.sep}numpy{os.sep}"


def _is_hidden(frame: FrameType) -> bool:
    return frame.f_globals.get("__package__") == __package__ and "__tracebackhide__" in frame.f_locals


def _show_in_pager(shell: Shell, data: Any, start: int = 0, screen_lines: int = 0) -> None:
    bundle = data if isinstance(data, dict) else {"text/plain": str(data)}
    shown, metadata = presentable({k: v for k, v in bundle.items() if v}, None)
    shell.emit(DisplayData(shell.cell, shown, metadata))


def _keeping_lines(transformer: Any) -> Any:
    """A token transformer that puts empty lines where it joined lines, so that later lines keep their number."""

    class KeepingLines(transformer):
        def transform(self, lines: list[str]) -> list[str]:
            changed = super().transform(lines)
            missing = len(lines) - len(changed)
            if missing <= 0:
                return changed
            behind = self.start_line + 1
            return [*changed[:behind], *["\n"] * missing, *changed[behind:]]

    KeepingLines.__name__ = transformer.__name__
    return KeepingLines


def make_shell(emit: Callable[[Message], None], interrupts: Interrupts) -> Shell:
    """A shell that sends its events to `emit`. It becomes IPython's current one when `core` activates it."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "neutral"
    config.InteractiveShell.banner1 = config.InteractiveShell.banner2 = ""
    config.InteractiveShell.separate_in = ""
    return Shell(emit, interrupts, config=config, ipython_dir="")
