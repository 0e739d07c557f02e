"""What a cell writes: batched, carriage returns folded, and capped at the source.

`OutputBuffer` turns any number of small writes into few `Stream` events; `OutputStream` is the text file that
stands in for `sys.stdout` and `sys.stderr`.  Both are free of threads: somebody who has a thread calls
`flush_due` a moment after `on_pending` was called; without it, text waits for the next write or the cell's end.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TextIO

from .messages import Message, Stream

INTERVAL = 0.010
"""Seconds between two events of a cell that writes all the time."""

SIZE = 64 * 1024
"""Characters in one event at most."""

MAX_CHARACTERS = 5_000_000
MAX_LINES = 100_000
"""What one cell may show: half of it from the beginning, half from the end."""

_RUNS = 8
"""Alternations between stdout and stderr within one batch that keep their order; beyond, each is put together."""


def fold_carriage_returns(text: str, at_line_start: bool = True) -> str:
    """`text` with what carriage returns have overwritten left out, as a terminal would show it.

    A line that began before `text` (`at_line_start` false) keeps its first carriage return, because what it
    overwrites has already been sent.  A final carriage return stays: the next batch overwrites the line.
    """
    if "\r" not in text:
        return text
    lines = re.sub(r"\r+\n", "\n", text).split("\n")
    for i, line in enumerate(lines):
        if "\r" in line:
            lines[i] = _fold_line(line, at_line_start or i > 0)
    return "\n".join(lines)


def _fold_line(line: str, whole: bool) -> str:
    first, *rest = line.split("\r")
    if whole:
        rest.insert(0, first)
    shown = ""
    for part in rest:
        if "\x1b" in part or "\x1b" in shown:  # columns cannot be counted past an escape sequence
            shown = part or shown
        else:
            shown = part + shown[len(part) :]
    if line.endswith("\r"):
        shown += "\r"
    return shown if whole else f"{first}\r{shown}" if shown != "\r" else f"{first}\r"


class OutputBuffer:
    """Gathers what is written and sends it as `Stream` events.

    send          receives the events
    on_pending    called when text waits that no later call is sure to send; `flush_due` should follow in `interval`
    shield        a section that an interrupt must not tear (`Interrupts`)
    """

    def __init__(
        self,
        send: Callable[[Message], None],
        *,
        on_pending: Callable[[], None] | None = None,
        shield: AbstractContextManager[Any] | None = None,
        interval: float = INTERVAL,
        size: int = SIZE,
        max_characters: int = MAX_CHARACTERS,
        max_lines: int = MAX_LINES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._on_pending = on_pending
        self._shield = shield if shield is not None else contextlib.nullcontext()
        self._interval = interval
        self._size = size
        self._max_characters = max_characters
        self._max_lines = max_lines
        self._clock = clock
        self._lock = threading.RLock()  # re-entered when a destructor prints in the middle of a write
        self._cell: str | None = None
        self._parts: list[tuple[str, str]] = []
        self._length = 0
        self._pending = False
        self._last = float("-inf")
        self._fresh = {"stdout": True, "stderr": True}
        self._reset()

    def _reset(self) -> None:
        self._characters_left = self._max_characters // 2
        self._lines_left = self._max_lines // 2
        self._tail: deque[tuple[str, str, int]] | None = None  # None until the head is used up
        self._tail_characters = self._tail_lines = 0
        self._dropped_characters = self._dropped_lines = 0

    def begin(self, cell: str | None) -> None:
        """From here on, text belongs to `cell`, which has its whole allowance."""
        with self._shield, self._lock:
            self._finish()
            self._cell = cell
            self._fresh = dict.fromkeys(self._fresh, True)

    def end(self) -> None:
        """Send everything, and the end of a text that was too long. Later text belongs to the same cell still."""
        with self._shield, self._lock:
            self._finish()

    def detach(self) -> None:
        """Drop everything from now on. For a forked process, in which another thread may hold the lock for ever."""
        self._lock = threading.RLock()
        self._send = lambda message: None
        self._on_pending = None
        self._parts = []

    def write(self, name: str, text: str) -> None:
        """Add `text` to stream `name` ("stdout" or "stderr")."""
        if not text:
            return
        with self._shield, self._lock:
            self._parts.append((name, text))
            self._length += len(text)
            if self._length >= self._size or (text[-1] == "\n" and self._clock() - self._last >= self._interval):
                self._flush()
            elif not self._pending:
                self._pending = True
                if self._on_pending is not None:
                    self._on_pending()

    def flush(self) -> None:
        """Send what waits, now."""
        if self._parts:
            with self._shield, self._lock:
                self._flush()

    def flush_due(self) -> None:
        """Send what waits if the last event is long enough ago; what comes too early is announced again."""
        if not self._parts:
            return
        with self._shield, self._lock:
            if self._clock() - self._last >= self._interval:
                self._flush()
            elif self._on_pending is not None:
                self._on_pending()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        self._length = 0
        self._pending = False
        if not parts:
            return
        self._last = self._clock()
        for name, text in self._runs(parts):
            folded = fold_carriage_returns(text, self._fresh.get(name, True))
            self._fresh[name] = folded.endswith("\n")
            for start in range(0, len(folded), self._size):
                self._account(name, folded[start : start + self._size])

    @staticmethod
    def _runs(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
        runs: list[tuple[str, list[str]]] = []
        for name, text in parts:
            if runs and runs[-1][0] == name:
                runs[-1][1].append(text)
            else:
                runs.append((name, [text]))
        if len(runs) > _RUNS:
            merged: dict[str, list[str]] = {}
            for name, texts in runs:
                merged.setdefault(name, []).extend(texts)
            runs = list(merged.items())
        return [(name, "".join(texts)) for name, texts in runs]

    def _account(self, name: str, text: str) -> None:
        if self._tail is None:
            lines = text.count("\n")
            if len(text) <= self._characters_left and lines <= self._lines_left:
                self._characters_left -= len(text)
                self._lines_left -= lines
                self._send(Stream(self._cell, name, text))
                return
            head = _first(text, self._characters_left, self._lines_left)
            if head:
                self._send(Stream(self._cell, name, head))
            self._tail = deque()
            text = text[len(head) :]
        lines = text.count("\n")
        self._tail.append((name, text, lines))
        self._tail_characters += len(text)
        self._tail_lines += lines
        while len(self._tail) > 1:
            _, oldest, lines = self._tail[0]
            enough = self._tail_characters - len(oldest) >= self._max_characters // 2
            if not enough and self._tail_lines - lines < self._max_lines // 2:
                break
            self._tail.popleft()
            self._tail_characters -= len(oldest)
            self._tail_lines -= lines
            self._dropped_characters += len(oldest)
            self._dropped_lines += lines

    def _finish(self) -> None:
        self._flush()
        if self._tail is not None:
            tail = list(self._tail)
            characters, lines = self._max_characters // 2, self._max_lines // 2
            kept: list[tuple[str, str]] = []
            for name, text, _ in reversed(tail):
                last = _last(text, characters, lines)
                self._dropped_characters += len(text) - len(last)
                self._dropped_lines += text.count("\n") - last.count("\n")
                characters -= len(last)
                lines -= last.count("\n")
                kept.append((name, last))
            if self._dropped_characters:
                self._send(Stream(self._cell, "stdout", self._sentence()))
            for name, text in reversed(kept):
                if text:
                    self._send(Stream(self._cell, name, text))
        self._reset()

    def _sentence(self) -> str:
        return (
            f"\n[... {self._dropped_lines:,} lines ({self._dropped_characters:,} characters) left out here: a cell "
            f"shows at most {self._max_lines:,} lines and {self._max_characters:,} characters of output ...]\n"
        )


def _first(text: str, characters: int, lines: int) -> str:
    """The longest beginning of `text` within both limits, ending with a whole line where it holds one."""
    end = min(len(text), max(characters, 0))
    position = 0
    for _ in range(lines):
        found = text.find("\n", position, end)
        if found < 0:
            return text[: position or end]
        position = found + 1
    return text[:position]


def _last(text: str, characters: int, lines: int) -> str:
    """The longest end of `text` within both limits."""
    start = max(0, len(text) - max(characters, 0))
    if text.count("\n", start) > lines:
        position = len(text)
        for _ in range(max(lines, 0) + 1):
            position = text.rfind("\n", start, position)
        start = position + 1
    return text[start:]


class OutputStream(io.TextIOBase):
    """The text file behind `sys.stdout` or `sys.stderr` while a kernel runs.

    descriptor   what `fileno` answers, where the operating system's output is captured too
    elsewhere    gives another file for what the calling thread writes just now, or None
    """

    def __init__(
        self,
        name: str,
        buffer: OutputBuffer,
        descriptor: int | None = None,
        elsewhere: Callable[[], TextIO | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._stream = name
        self._output = buffer
        self._descriptor = descriptor
        self._elsewhere = elsewhere
        self._bytes = _Bytes(self)

    @property
    def name(self) -> str:
        return f"<{self._stream}>"

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "replace"

    @property
    def buffer(self) -> _Bytes:
        """The same stream for bytes (UTF-8)."""
        return self._bytes

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        other = self._elsewhere()
        if other is not None:
            return other.write(text)
        self._output.write(self._stream, text)
        return len(text)

    def flush(self) -> None:
        other = self._elsewhere()
        if other is not None:
            other.flush()
            return
        # A loop that flushes after every line must not send an event a line: this is a wish, not an order.
        self._output.flush_due()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        if self._descriptor is None:
            raise io.UnsupportedOperation("this stream has no file descriptor: the notebook collects what is written")
        return self._descriptor

    def reconfigure(self, **options: object) -> None:
        """Accepted for programs that set an encoding; the stream stays UTF-8."""

    def close(self) -> None:
        """Nothing: the stream outlives a cell that closes it."""


class _Bytes(io.BufferedIOBase):
    def __init__(self, text: OutputStream) -> None:
        super().__init__()
        self._text = text
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: Any, /) -> int:
        view = memoryview(data)
        self._text.write(self._decoder.decode(view.tobytes()))
        return view.nbytes

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        self._text.flush()

    def fileno(self) -> int:
        return self._text.fileno()

    def close(self) -> None:
        """Nothing, as for the text."""
