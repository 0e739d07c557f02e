"""Serving a playground on this machine: `tapescope playground serve`.

A small threaded server of static files with what the page needs of one: cross-origin isolation, right MIME types, a
Content-Security-Policy, compression, and answers that a browser may keep where the name has a hash.  It listens on
localhost unless told otherwise, and serves nothing outside of its folder.  What an answer is, static_files.py says.
"""

from __future__ import annotations

import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ..command_error import FAILED, USAGE, CommandError
from . import docs_site
from .static_files import POLICY, answer_file, find_file

DOCS_POLICY = POLICY.replace("'wasm-unsafe-eval'", "'unsafe-inline'")
"""Of the pages of the documentation, which name their own scripts by hash in a policy of their own (docs_site.py)."""


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD for the files below `root`."""

    protocol_version = "HTTP/1.1"
    root: Path
    isolated = True

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, body: bool) -> None:
        path = find_file(self.root, self.path)
        docs = path is not None and path.is_relative_to(self.root.resolve() / docs_site.FOLDER)
        answer = answer_file(path, self.headers, policy=DOCS_POLICY if docs else POLICY, isolated=self.isolated)  # type: ignore[arg-type]
        self.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body and answer.status != HTTPStatus.NOT_MODIFIED:
            self.wfile.write(answer.body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: the terminal belongs to the sentence that names the address."""


class Server(ThreadingHTTPServer):
    """The server; its threads end with the process, and a browser that leaves early is no news."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


def make_server(folder: Path, host: str = "127.0.0.1", port: int = 0, *, isolated: bool = True) -> Server:
    """A server of `folder`, not yet running; port 0 takes a free one. `isolated` sends COOP and COEP.

    Raises CommandError where the folder is no site or the port is taken.
    """
    if not (folder / "site.json").is_file():
        raise CommandError(f"{folder} holds no playground; make one with `tapescope playground build {folder}`.", USAGE)
    handler = type("SiteHandler", (Handler,), {"root": folder, "isolated": isolated})
    try:
        return Server((host, port), handler)
    except (OSError, socket.gaierror) as error:
        raise CommandError(
            f"{host}:{port} cannot be listened on ({error.strerror or error}); choose another: --port N", FAILED
        ) from error
