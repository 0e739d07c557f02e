"""The server of `tapescope serve`: the page, and the socket that leads to a native kernel.

HTTP and WebSocket are the library websockets'; what is answered is static_files.py's, who may come is native_access.py's, and what
is said is native_session.py's.  It listens on this machine only.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import http
import importlib.metadata
import json
import logging
import signal
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from ..command_error import FAILED, CommandError
from ..kernel import messages as m
from ..kernel.process import KernelProcess, on_loop
from ..notebook.state import digest
from .native_access import Keys, refuse_host, refuse_origin
from .native_document import Document
from .native_log import sendable
from .native_session import Json, Session
from .static_files import POLICY, Answer, answer_file, common_headers, find_file

SOCKET = "/kernel"
"""The path of the WebSocket."""

NO_KEY = 4401
"""Close code: the page has not shown the key."""
UNREADABLE = 4400
"""Close code: the page sent something that is no message."""

HELLO_SECONDS = 10.0
LOOK_SECONDS = 2.0
"""How often the file on the disk is looked at."""
MESSAGE_BYTES = 384 << 20
"""The largest message: a file of 256 MB, as text."""

HTML = "text/html; charset=utf-8"


class Connection:
    """A page at the other end of one socket; `sent` is the number of the last event that went there."""

    def __init__(self, socket: ServerConnection, name: str) -> None:
        self.name = name
        self.replies: deque[Json] = deque()
        self.sent = 0
        self._socket = socket
        self._something = asyncio.Event()
        self._leaving: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """There is something to send."""
        self._something.set()

    def leave(self, code: int, sentence: str) -> None:
        """Close, with the sentence that the page shows."""
        self._leaving = asyncio.ensure_future(self._socket.close(code, sentence))

    async def send(self, content: Json) -> None:
        """Send one message that is no event."""
        await self._socket.send(sendable(json.dumps(content, ensure_ascii=False)))

    async def send_all(self, session: Session) -> None:
        """Send replies and events for as long as the connection lasts. What is slow to go out is thinned by the log."""
        while True:
            await self._something.wait()
            self._something.clear()
            while self.replies:
                await self.send(self.replies.popleft())
            while session.page is self and (entry := session.log.after(self.sent)) is not None:
                self.sent = entry.seq
                await self._socket.send(sendable(entry.text))
                while self.replies:
                    await self.send(self.replies.popleft())


class NativeServer:
    """The server with its one session. `static` is the folder of the built page."""

    def __init__(self, static: Path, document: Document, *, port: int = 0, **kernel: Any) -> None:
        self.keys = Keys()
        self._static = static
        self._document = document
        self._port = port
        self._kernel = kernel
        self._server: Server | None = None
        self._looking: asyncio.Task[None] | None = None
        self.session: Session

    async def start(self) -> None:
        """Listen, and start the kernel. CommandError where the port is taken."""
        logger = logging.getLogger("tapescope.serve")
        logger.setLevel(logging.CRITICAL)  # the terminal belongs to the sentence that names the address
        try:
            self._server = await serve(
                self._handle, "127.0.0.1", self._port, process_request=self._request, compression=None,
                max_size=MESSAGE_BYTES, logger=logger, server_header=None, close_timeout=2,
            )  # fmt: skip
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            reason = "is in use, perhaps by another `tapescope serve`" if taken else f"cannot be listened on ({error})"
            sentence = f"Port {self._port} {reason}. Choose another with --port N; --port 0 takes a free one."
            raise CommandError(sentence, FAILED) from error
        loop = asyncio.get_running_loop()

        def make(on_event: Callable[[m.Message], None], folder: Path) -> KernelProcess:
            return KernelProcess(on_loop(loop, on_event), cwd=folder, **self._kernel)

        self.session = Session(self._document, make)
        self._looking = asyncio.create_task(self._look())

    @property
    def port(self) -> int:
        """The port that it listens on."""
        assert self._server is not None
        return next(iter(self._server.sockets)).getsockname()[1]

    def address(self, key: str | None = None) -> str:
        """The address with a key (default: that of the whole run). By number: `localhost` may also be asked at ::1, where
        somebody else could listen."""
        return f"http://127.0.0.1:{self.port}/#key={key or self.keys.token}"

    async def close(self) -> None:
        """End the kernel, and tell the pages that the server is gone."""
        if self._looking is not None:
            self._looking.cancel()
        await asyncio.to_thread(self.session.close)
        if self._server is not None:
            self._server.close()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), 3)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.session.look()

    # -- HTTP -----------------------------------------------------------------------------------------

    def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request; None lets a WebSocket through."""
        host = _header(request, "Host")
        refused = refuse_host(host)
        method = getattr(request, "method", "GET")
        if not refused and request.path == SOCKET:
            refused = refuse_origin(_header(request, "Origin"), host)
            if not refused:
                return None
        if refused:
            return _response(_sentence(http.HTTPStatus.FORBIDDEN, refused))
        if method not in ("GET", "HEAD"):
            return _response(_sentence(http.HTTPStatus.METHOD_NOT_ALLOWED, "This server only answers GET."))
        answer = self._page(request, host or "")
        if method == "HEAD":
            answer.body = b""
        return _response(answer)

    def _page(self, request: Request, host: str) -> Answer:
        policy = policy_of(host)
        name = request.path.partition("?")[0]
        if name == "/site.json":
            return Answer(
                http.HTTPStatus.OK, self._site(),
                {**common_headers("application/json", policy), "Cache-Control": "no-store"},
            )  # fmt: skip
        path = find_file(self._static, request.path)
        if path is None or path.name in ("sw.js", "built-from"):
            return _sentence(http.HTTPStatus.NOT_FOUND, "There is no such page here.")
        if path.suffix == ".html" and path.parent == self._static.resolve():
            text = path.read_text(encoding="utf-8").replace("FIRST_RECORDING", "")
            text = text.replace("connect-src 'self'", f"connect-src 'self' ws://{host}").replace(
                " 'wasm-unsafe-eval'", ""
            )
            return Answer(
                http.HTTPStatus.OK, text.encode(), {**common_headers(HTML, policy), "Cache-Control": "no-store"}
            )
        return answer_file(path, request.headers, policy=policy)

    @functools.cached_property
    def _build(self) -> str:
        return digest(b"".join(p.name.encode() for p in sorted(self._static.rglob("*"))))[:16]

    def _site(self) -> bytes:
        return json.dumps(
            {
                "version": importlib.metadata.version("tapescope"), "bundles": {}, "examples": [], "files": [],
                "docs": False, "build": self._build, "native": {"socket": SOCKET},
            }
        ).encode()  # fmt: skip

    # -- the socket -------------------------------------------------------------------------------------

    async def _handle(self, socket: ServerConnection) -> None:
        """One connection of a page, from its greeting to its end."""
        page: Connection | None = None
        sending: asyncio.Task[None] | None = None
        try:
            hello = _read(await asyncio.wait_for(socket.recv(), HELLO_SECONDS))
            refused = (
                self.keys.refuse(hello.get("key")) if hello.get("kind") == "hello" else "A page begins with a greeting."
            )
            if refused:
                await socket.close(NO_KEY, refused)
                return
            page = Connection(socket, str(hello.get("page"))[:64])
            joined = self.session.join(page, hello)
            if joined is None:
                await socket.wait_closed()
                return
            welcome, page.sent = joined
            # The page may have come by a ticket; this opens it when it is loaded again.
            await page.send({**welcome, "key": self.keys.token})
            sending = asyncio.create_task(page.send_all(self.session))
            page.wake()
            async for text in socket:
                if self.session.page is not page:
                    break
                self.session.receive(page, _read(text))
        except ConnectionClosed:
            pass
        except (m.BadMessage, TimeoutError) as error:
            reason = str(error) or "nothing came"
            sentence = f"The page sent something unreadable: {reason}".encode("ascii", "backslashreplace")
            await socket.close(UNREADABLE, sentence[:120].decode())  # a close frame has room for 123 bytes
        finally:
            if page is not None:
                self.session.part(page)
            if sending is not None:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError, ConnectionClosed):
                    await sending


def policy_of(host: str) -> str:
    """The content policy of the page: its own socket is named, since not every browser counts it as its own."""
    return POLICY.replace("connect-src 'self'", f"connect-src 'self' ws://{host}").replace(" 'wasm-unsafe-eval'", "")


def _sentence(status: http.HTTPStatus, sentence: str) -> Answer:
    return Answer(status, f"{sentence}\n".encode(), common_headers("text/plain; charset=utf-8"))


def _response(answer: Answer) -> Response:
    headers = Headers({**answer.headers, "Content-Length": str(len(answer.body)), "Connection": "close"})
    return Response(answer.status.value, answer.status.phrase, headers, answer.body)


def _header(request: Request, name: str) -> str | None:
    """A header that may stand there once; None where it does not."""
    found = request.headers.get_all(name)
    return found[0] if len(found) == 1 else None


def _read(text: str | bytes) -> Json:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise m.BadMessage(f"no JSON ({type(error).__name__})") from error
    if not isinstance(content, dict):
        raise m.BadMessage("no object")
    return content


async def run(server: NativeServer, started: Callable[[NativeServer], None]) -> None:
    """Serve until Ctrl+C or SIGTERM; `started` is called when the address is known."""
    await server.start()
    try:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, RuntimeError):  # Windows has neither; Ctrl+C raises there
                loop.add_signal_handler(number, ended.set)
        started(server)
        await ended.wait()
    finally:
        await server.close()
