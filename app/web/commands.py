"""The words `tapescope playground ...` and `tapescope export`: their arguments, and what they call.

`cli.py` registers one `arguments` and one `action` of each. The work is done in site.py, serve.py and capsule.py.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from ..command_error import USAGE, CommandError


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def playground_arguments(parser: argparse.ArgumentParser) -> None:
    """The three words of `tapescope playground`."""
    words = parser.add_subparsers(dest="word", metavar="build|serve|record", required=True)
    build = words.add_parser(
        "build", help="make the static site", description="Make the static site.", allow_abbrev=False
    )
    build.add_argument("out", metavar="OUT", help="the folder to make")
    _build_options(build)
    serve = words.add_parser(
        "serve", help="serve it on this machine", description="Serve the site on this machine.", allow_abbrev=False
    )
    serve.add_argument("folder", nargs="?", metavar="FOLDER", help="a built site (default: one is built and kept)")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8765, metavar="N", help="the port (default: 8765; 0: a free one)")
    serve.add_argument("--open", action="store_true", help="open it in the browser")
    _build_options(serve)
    record = words.add_parser(
        "record",
        help="run the lessons and keep recordings of them, for `build --recordings`",
        description="Run the lessons and keep recordings of them, for `build --recordings`.",
        allow_abbrev=False,
    )
    record.add_argument("out", metavar="FOLDER", help="the folder for the recordings")
    record.add_argument("names", nargs="*", metavar="LESSON", help="such as 02_backward (default: all of them)")


def _build_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--packages",
        metavar="FOLDER",
        help="a folder with the wheels (numpy for WebAssembly, IPython, ...); no network then",
    )
    parser.add_argument(
        "--recordings", metavar="FOLDER", help="recordings that `playground record` made; other lessons are run now"
    )
    parser.add_argument(
        "--docs", metavar="FOLDER", help="built documentation (`make docs` leaves it in build/site), for OUT/docs"
    )
    parser.add_argument("--no-recordings", action="store_true", help="do not run the examples while building")
    parser.add_argument("--no-bytecode", action="store_true", help="do not compile Python's modules beforehand")


def playground(options: argparse.Namespace) -> int:
    """Carry out `tapescope playground`."""
    return {"build": _build, "serve": _serve, "record": _record}[options.word](options)


def _record(options: argparse.Namespace) -> int:
    from .recorded import make

    for file in make(Path(options.out), options.names, _say):
        print(file)
    return 0


def _build(options: argparse.Namespace) -> int:
    from .site import build

    folder = Path(options.packages) if options.packages else None
    out = build(
        Path(options.out),
        package_folder=folder,
        record=not options.no_recordings,
        recordings=Path(options.recordings) if options.recordings else None,
        bytecode=not options.no_bytecode,
        docs=Path(options.docs) if options.docs else None,
        say=_say,
    )
    print(out)
    return 0


def _serve(options: argparse.Namespace) -> int:
    from . import packages
    from .serve import make_server

    if options.folder is None:
        options.out = str(packages.cache_folder() / "site")
        with contextlib.redirect_stdout(sys.stderr):
            _build(options)
        options.folder = options.out
    server = make_server(Path(options.folder), options.host, options.port)
    name = "localhost" if options.host in ("127.0.0.1", "::1") else options.host
    address = f"http://{name}:{server.server_address[1]}/"
    print(f"The playground is at {address} (Ctrl+C ends it)", flush=True)
    if options.open:
        import webbrowser

        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0


def export_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tapescope export`."""
    parser.add_argument("notebook", metavar="NOTEBOOK", help="a notebook, .py or .ipynb")
    parser.add_argument("out", nargs="?", metavar="OUT", help="the file to write (default: beside it, as .html)")
    parser.add_argument(
        "--html", action="store_true", help="one HTML file that opens offline (the default, so far the only form)"
    )
    parser.add_argument("--no-run", action="store_true", help="show the outputs the notebook has instead of running it")
    parser.add_argument("--device", metavar="cpu|webgpu", help="where the run computes")
    parser.add_argument("--live", metavar="ADDRESS", help="a playground that the file offers to open itself in")
    parser.add_argument("--force", "-f", action="store_true", help="replace OUT if it is there")


def export(options: argparse.Namespace) -> int:
    """Carry out `tapescope export`."""
    from .capsule import export_html

    path = Path(options.notebook)
    if not path.is_file():
        raise CommandError(f"There is no file {path}. Check the path, or make a notebook: tapescope new {path}", USAGE)
    if options.device not in (None, "cpu", "webgpu"):
        raise CommandError(f"--device {options.device}: there is no such device; choose cpu or webgpu.", USAGE)
    out = Path(options.out) if options.out else path.with_suffix(".html")
    made = export_html(
        path, out, run=not options.no_run, device=options.device, live=options.live, overwrite=options.force
    )
    print(made)
    return 0
