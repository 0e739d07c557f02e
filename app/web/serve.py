"""Serving a playground on this machine: `tapescope playground serve`.

A small threaded server of static files with what the page needs of one: cross-origin isolation, right MIME types, a
Content-Security-Policy, compression, and answers that a browser may keep where the name has a hash.  It listens on
localhost unless told otherwise, and serves nothing outside of its folder.
"""

from __future__ import annotations

import functools
import gzip
import posixpath
import re
import socket
import urllib.parse
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ..command_error import FAILED, USAGE, CommandError
from . import docs_site

TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".json": "application/json", ".wasm": "application/wasm", ".svg": "image/svg+xml",
    ".png": "image/png", ".ico": "image/x-icon", ".zip": "application/zip", ".bundle": "application/octet-stream",
    ".py": "text/plain; charset=utf-8", ".ipynb": "application/json", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}  # fmt: skip

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self' blob:; worker-src 'self' blob:; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; object-src 'none'"
)
"""What the page may load: scripts of this site only, and no inline ones. The same stands in the page itself."""

DOCS_POLICY = POLICY.replace("'wasm-unsafe-eval'", "'unsafe-inline'")
"""Of the pages of the documentation, which name their own scripts by hash in a policy of their own (docs_site.py)."""

_COMPRESSED = (".html", ".js", ".mjs", ".css", ".json", ".wasm", ".svg", ".py", ".ipynb")
_HASHED = re.compile(r"(^|/)[\w.-]+-[\w-]{8,}\.\w+$")


@functools.lru_cache(maxsize=256)
def _gzipped(path: str, stamp: int) -> bytes:
    return gzip.compress(Path(path).read_bytes(), compresslevel=6, mtime=0)


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
        path = self._file()
        if path is None:
            self._send(HTTPStatus.NOT_FOUND, b"There is no such page here.\n", "text/plain; charset=utf-8", body)
            return
        stat = path.stat()
        tag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
        kind = TYPES.get(path.suffix, "application/octet-stream")
        keep = "public, max-age=31536000, immutable" if _HASHED.search(path.name) else "no-cache"
        extra = {"ETag": tag, "Cache-Control": keep}
        if path.is_relative_to(self.root.resolve() / docs_site.FOLDER):
            extra["Content-Security-Policy"] = DOCS_POLICY
        if self.headers.get("If-None-Match") == tag:
            self._send(HTTPStatus.NOT_MODIFIED, b"", kind, False, extra)
            return
        if path.suffix in _COMPRESSED and "gzip" in self.headers.get("Accept-Encoding", ""):
            data = _gzipped(str(path), stat.st_mtime_ns)
            extra |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        else:
            data = path.read_bytes()
        self._send(HTTPStatus.OK, data, kind, body, extra)

    def _file(self) -> Path | None:
        """The file that the address names, None where there is none below the root."""
        name = posixpath.normpath(urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)).lstrip("/")
        if "\0" in name or any(part.startswith(".") for part in name.split("/") if part != "."):
            return None
        root = self.root.resolve()
        path = (root / name).resolve()
        if path.is_dir():
            path = path / "index.html"
        return path if path.is_relative_to(root) and path.is_file() else None

    def _send(
        self, status: HTTPStatus, data: bytes, kind: str, body: bool, extra: dict[str, str] | None = None
    ) -> None:
        headers = {
            "Content-Type": kind, "Content-Length": str(len(data)), "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin", **(extra or {}),
        }  # fmt: skip
        if self.isolated:
            headers |= {
                "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp",
            }  # fmt: skip
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if body and status != HTTPStatus.NOT_MODIFIED:
            self.wfile.write(data)

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
