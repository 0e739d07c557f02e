"""What a kernel process writes past Python: bytes from its file descriptors 1 and 2, cut at the end of each cell.

The process writes a mark to both when a cell is over.  `MarkScanner` takes the marks out of the bytes again, wherever
a read happens to end; `RawOutput` reads one descriptor in a thread and hands text to an `OutputBuffer`.
"""

from __future__ import annotations

import codecs
import os
import threading

from .output import OutputBuffer

_LAST_WORDS = 4000


class MarkScanner:
    """Takes the marks out of a stream of bytes."""

    def __init__(self, token: str) -> None:
        self._mark = b"\0" + token.encode("ascii") + b"\0"
        self._held = b""

    def feed(self, data: bytes) -> tuple[bytes, int]:
        """`(bytes without marks, marks found)`; what may be the beginning of a mark is held back."""
        pieces = (self._held + data).split(self._mark)
        last = pieces[-1]
        held = 0
        start = last.rfind(b"\0", -len(self._mark))
        while start >= 0:
            if self._mark.startswith(last[start:]):
                held = len(last) - start
            start = last.rfind(b"\0", -len(self._mark), start)
        self._held = last[len(last) - held :] if held else b""
        pieces[-1] = last[: len(last) - held]
        return b"".join(pieces), len(pieces) - 1

    def close(self) -> bytes:
        """What was held back, at the end of the stream."""
        held, self._held = self._held, b""
        return held


class RawOutput:
    """Reads descriptor `fd` until its end and closes it; the text goes to stream `name` of `buffer`."""

    def __init__(self, fd: int, name: str, token: str, buffer: OutputBuffer) -> None:
        self._fd = fd
        self._name = name
        self._buffer = buffer
        self._scanner = MarkScanner(token)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._marks = 0
        self._marked = threading.Condition()
        self._over = False
        self.last_words = ""
        self._thread = threading.Thread(target=self._run, name=f"tapescope-{name}", daemon=True)
        self._thread.start()

    def wait_for_mark(self, number: int, seconds: float) -> None:
        """Return when the `number`th mark has been read, at the end of the stream, or after `seconds`."""
        with self._marked:
            self._marked.wait_for(lambda: self._marks >= number or self._over, seconds)

    def join(self, seconds: float) -> None:
        """Wait until everything has been read, at most `seconds`."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            while data := os.read(self._fd, 65536):
                data, marks = self._scanner.feed(data)
                self._take(self._decoder.decode(data))
                if marks:
                    with self._marked:
                        self._marks += marks
                        self._marked.notify_all()
        except OSError:
            pass
        finally:
            self._take(self._decoder.decode(self._scanner.close(), True))
            os.close(self._fd)
            with self._marked:
                self._over = True
                self._marked.notify_all()

    def _take(self, text: str) -> None:
        if text:
            self.last_words = (self.last_words + text)[-_LAST_WORDS:]
            self._buffer.write(self._name, text)
