"""The word `tapescope serve`: its arguments, and what it does with them. The server is native_server.py's."""

from __future__ import annotations

import argparse
import asyncio
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .native_server import NativeServer


def serve_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tapescope serve` beside those that the terminal app has too."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE|FOLDER",
        help="a notebook to open, or the folder to work in (default: this one)",
    )
    parser.add_argument("--port", type=int, default=8766, metavar="N", help="the port (default: 8766; 0: a free one)")
    parser.add_argument("--no-open", action="store_true", help="do not open the browser")


def serve(options: argparse.Namespace, find: Callable[[str], Path]) -> int:
    """Carry out `tapescope serve`. `find` gives the path of a notebook, or a sentence that there is none."""
    from . import client_build
    from .native_document import Document
    from .native_server import NativeServer, run

    folder = Path(options.file) if options.file is not None else Path.cwd()
    path = None if folder.is_dir() else find(str(options.file))
    document = Document((folder if path is None else path.parent).resolve(), path)
    static = client_build.ensure_built(lambda line: print(line, file=sys.stderr, flush=True))
    server = NativeServer(
        static, document, port=options.port, device=options.device, torch=options.torch, memory=options.memory
    )

    def started(server: NativeServer) -> None:
        print(f"The notebook is at {server.address()} (Ctrl+C ends it and its kernel)", flush=True)
        if not options.no_open:
            _open_browser(server.address(server.keys.ticket()))

    asyncio.run(run(server, started))
    if server.session.document.unsaved and (file := server.session.document.path) is not None:
        if server.session.not_kept:
            reason = (
                f"{server.session.not_kept} They are only in the page now: download them there before you close it."
            )
            print(f"{file.name} has unsaved changes that could not be kept. {reason}", file=sys.stderr)
        else:
            print(f"{file.name} has unsaved changes; they are kept: tapescope recover {file}", file=sys.stderr)
    return 0


def _open_browser(address: str) -> None:
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if not isinstance(browser, webbrowser.GenericBrowser) or isinstance(browser, webbrowser.BackgroundBrowser):
        browser.open(address)  # one that draws in the terminal would take it away from the server
