"""Answers of a server of static files, without the server: which file an address names, its type, and the headers.

serve.py (the playground) and native_server.py (the page of a native kernel) send what this module makes.  Nothing outside
of the root is ever named, and nothing whose name begins with a dot.
"""

from __future__ import annotations

import functools
import gzip
import posixpath
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

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

_COMPRESSED = (".html", ".js", ".mjs", ".css", ".json", ".wasm", ".svg", ".py", ".ipynb")
_HASHED = re.compile(r"(^|/)[\w.-]+-[\w-]{8,}\.\w+$")
_NO_FILE = b"There is no such page here.\n"


@dataclass(slots=True)
class Answer:
    """What is sent back: the status, the body (empty for "not modified"), and all headers but `Content-Length`."""

    status: HTTPStatus
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def common_headers(kind: str, policy: str = POLICY, isolated: bool = True) -> dict[str, str]:
    """The headers of every answer; `isolated` adds COOP and COEP, with which the page is cross-origin isolated."""
    headers = {
        "Content-Type": kind, "X-Content-Type-Options": "nosniff", "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
    }  # fmt: skip
    if isolated:
        headers |= {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
    return headers


def find_file(root: Path, target: str) -> Path | None:
    """The file that an address names (as it came, percent-encoded), None where there is none below the root."""
    try:
        name = posixpath.normpath(urllib.parse.unquote(urllib.parse.urlsplit(target).path)).lstrip("/")
    except ValueError:  # such as a bracket that is not closed
        return None
    if "\0" in name or any(part.startswith(".") for part in name.split("/") if part != "."):
        return None
    root = root.resolve()
    path = (root / name).resolve()
    if path.is_dir():
        path = path / "index.html"
    return path if path.is_relative_to(root) and path.is_file() else None


def answer_file(
    path: Path | None, request: Mapping[str, str], *, policy: str = POLICY, isolated: bool = True
) -> Answer:
    """The answer with a file (None: that there is none). `request` holds the headers of the request."""
    if path is None:
        return Answer(HTTPStatus.NOT_FOUND, _NO_FILE, common_headers("text/plain; charset=utf-8", policy, isolated))
    stat = path.stat()
    tag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
    headers = common_headers(TYPES.get(path.suffix, "application/octet-stream"), policy, isolated)
    headers["ETag"] = tag
    headers["Cache-Control"] = "public, max-age=31536000, immutable" if _HASHED.search(path.name) else "no-cache"
    if request.get("If-None-Match") == tag:
        return Answer(HTTPStatus.NOT_MODIFIED, b"", headers)
    if path.suffix in _COMPRESSED and "gzip" in (request.get("Accept-Encoding") or ""):
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Answer(HTTPStatus.OK, _gzipped(str(path), stat.st_mtime_ns), headers)
    return Answer(HTTPStatus.OK, path.read_bytes(), headers)


@functools.lru_cache(maxsize=256)
def _gzipped(path: str, stamp: int) -> bytes:
    return gzip.compress(Path(path).read_bytes(), compresslevel=6, mtime=0)
