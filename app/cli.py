"""The command `tapescope`: understands what was typed and calls the room that does it.

Data goes to stdout, everything said about the work to stderr.  Heavy imports stand inside the functions, so that
`--help`, `--version` and mistakes answer at once.  What the commands do stands elsewhere: headless.py, tracing.py,
doctor.py, create.py, and the rooms below.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.metadata
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .command_error import FAILED, INTERRUPTED, USAGE, CommandError
from .notebook.errors import NotebookError

DEVICES = ("cpu", "webgpu")
TORCH = ("auto", "tapescope", "pytorch")
PROGRAM = "tapescope"


@dataclass(frozen=True, slots=True)
class Command:
    """One word after `tapescope`: its line in the help, its arguments, and what it does (returns the exit code)."""

    summary: str
    arguments: Callable[[argparse.ArgumentParser], None]
    action: Callable[[argparse.Namespace], int]


# -- arguments that several commands have -------------------------------------------------------------


def _device_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        metavar="|".join(DEVICES),
        help="where new tensors are made (default: what the variable TAPESCOPE_DEVICE says, else cpu)",
    )


def _torch_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--torch", default="auto", metavar="|".join(TORCH),
        help="what `import torch` means in a cell; auto (default): PyTorch where it is installed, else the engine",
    )  # fmt: skip


def _memory_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--memory", metavar="SIZE", type=_size,
        help="the most memory the cells may take, such as 4G or 500M: a cell that asks for more fails, the kernel lives on",
    )  # fmt: skip


def _size(text: str) -> int:
    """Bytes from "500M", "4G" or "4 GiB"; argparse tells what is wrong with anything else."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", text.lower())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 500M or 4G")
    size = int(float(found[1]) * 1024 ** " kmgt".index(found[2] or " "))
    if size < 256 << 20:
        raise argparse.ArgumentTypeError(f"{text!r} is too little: Python, numpy and the engine alone need up to 256M")
    return size


def _checked(options: argparse.Namespace) -> None:
    """Refuse names of devices and libraries that do not exist, before anything is started."""
    for option, known in (("device", DEVICES), ("torch", TORCH)):
        given = getattr(options, option, None)
        name, _, number = (given or "").partition(":") if option == "device" else (given, "", "")
        if given is not None and (name not in known or (number and not number.isdigit())):
            near = difflib.get_close_matches(given, known, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise CommandError(f"--{option} {given}: there is no such {option}; choose {_either(known)}.{hint}", USAGE)


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _notebook_path(text: str) -> Path:
    """The path of a notebook that is there; CommandError with a sentence otherwise."""
    path = Path(text)
    if path.is_dir():
        inside = sorted(p.name for p in path.iterdir() if p.suffix in (".py", ".ipynb"))[:3]
        hint = f" It holds {', '.join(inside)}." if inside else ""
        raise CommandError(f"{text} is a folder, not a notebook; name a .py or .ipynb file.{hint}", USAGE)
    if not path.exists():
        hint = _near(path)
        raise CommandError(f"There is no file {text}. {hint}", USAGE)
    return path


def _near(path: Path) -> str:
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f"Its folder {path.parent} is not there either; check the path."
    near = difflib.get_close_matches(path.name, names, 1)
    if near:
        return f"Did you mean {path.parent / near[0]}?"
    if path.parent == Path() and (word := difflib.get_close_matches(path.name, COMMANDS, 1)):
        return f"Did you mean the command `{PROGRAM} {word[0]}`?"
    return f"Check the path, or make a notebook: {PROGRAM} new {path}"


# -- the commands -------------------------------------------------------------------------------------


def _open_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="a notebook, .py (percent cells) or .ipynb")
    _device_argument(parser)
    _torch_argument(parser)
    _memory_argument(parser)


def _open(options: argparse.Namespace) -> int:
    path = _notebook_path(options.file) if options.file is not None else None
    _checked(options)
    return _open_app(path, options)


def _open_app(path: Path | None, options: argparse.Namespace) -> int:
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):  # Textual draws on stderr
        run = f"{PROGRAM} run {path or 'FILE'}"
        raise CommandError(
            f"The terminal app needs a terminal to draw on and to read keys from. Without one: {run}", USAGE
        )
    if os.environ.get("TERM") == "dumb":
        raise CommandError("The terminal app cannot draw on a terminal of type dumb; set TERM to its real type.", USAGE)
    from .tui.app import run_app

    return run_app(path, device=options.device, torch=options.torch, memory=options.memory) or 0


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a notebook, .py (percent cells) or .ipynb")
    _device_argument(parser)
    _torch_argument(parser)
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress line on the terminal")


def _run(options: argparse.Namespace) -> int:
    path = _notebook_path(options.file)
    _checked(options)
    from .headless import run

    return run(path, device=options.device, torch=options.torch, quiet=options.quiet)


def _trace_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a notebook, .py (percent cells) or .ipynb")
    _device_argument(parser)
    parser.add_argument(
        "--kinds", metavar="KIND,...", help="only these kinds of record, for instance op,node (default: all)"
    )


def _trace(options: argparse.Namespace) -> int:
    path = _notebook_path(options.file)
    _checked(options)
    from .tracing import trace

    kinds = options.kinds.split(",") if options.kinds is not None else None
    return trace(path, device=options.device, kinds=kinds)


def _new_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="the notebook to make; .py (the default) or .ipynb")
    parser.add_argument("--template", default="empty", metavar="NAME", help="empty (default) or model: a training loop")


def _new(options: argparse.Namespace) -> int:
    from .create import new

    print(new(Path(options.path), options.template))
    return 0


def _tutorial_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", default="tapescope-tutorial", metavar="FOLDER",
        help="where your copy of the notebooks goes (default: tapescope-tutorial); what you changed there stays",
    )  # fmt: skip
    parser.add_argument("--no-open", action="store_true", help="only make the copy, and print its path")
    _device_argument(parser)
    _torch_argument(parser)
    _memory_argument(parser)


def _tutorial(options: argparse.Namespace) -> int:
    _checked(options)
    from .create import tutorial

    first = tutorial(Path(options.folder))
    if options.no_open:
        print(first)
        return 0
    print(f"Your copy is {first}", file=sys.stderr)
    return _open_app(first, options)


def _convert_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help="a notebook, .py or .ipynb")
    parser.add_argument("target", metavar="TO", help="the file to write; its suffix says the format")
    parser.add_argument("--force", "-f", action="store_true", help="replace TO if it is there")


def _convert(options: argparse.Namespace) -> int:
    path = _notebook_path(options.source)
    from .notebook.convert import convert

    print(convert(path, Path(options.target), overwrite=options.force))
    return 0


def _recover_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="the notebook whose unsaved work is wanted (none: list all)"
    )
    parser.add_argument("--to", metavar="PATH", help="write it there instead of beside FILE as FILE.recovered")


def _recover(options: argparse.Namespace) -> int:
    from .recovery import recover, show

    if options.file is None:
        return show()
    print(recover(options.file, Path(options.to) if options.to else None))
    return 0


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    from .web.native_commands import serve_arguments

    serve_arguments(parser)
    _device_argument(parser)
    _torch_argument(parser)
    _memory_argument(parser)


def _serve(options: argparse.Namespace) -> int:
    _checked(options)
    if not 0 <= options.port <= 65535:
        raise CommandError(f"--port {options.port}: ports go from 0 (a free one) to 65535.", USAGE)
    from .web.native_commands import serve

    return serve(options, _notebook_path)


def _playground_arguments(parser: argparse.ArgumentParser) -> None:
    from .web.commands import playground_arguments

    playground_arguments(parser)


def _playground(options: argparse.Namespace) -> int:
    from .web.commands import playground

    return playground(options)


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    from .web.commands import export_arguments

    export_arguments(parser)
    parser.add_argument(
        "--static", action="store_true",
        help="a plain HTML page with the outputs the notebook was saved with; OUT may also end in .md, .ipynb or .py",
    )  # fmt: skip


def _export(options: argparse.Namespace) -> int:
    if not options.static and (options.out is None or Path(options.out).suffix.lower() == ".html"):
        from .web.commands import export

        return export(options)
    path = _notebook_path(options.notebook)
    from .notebook.export import export as write
    from .notebook.files import load

    target = Path(options.out) if options.out is not None else path.with_suffix(".html")
    print(write(load(path), target, overwrite=options.force))
    return 0


def _doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kernels", action="store_true", help="show which kernels the WebGPU adapter wants, measured once in about a second"
    )  # fmt: skip


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import kernels, main

    return kernels() if options.kernels else main()


COMMANDS: dict[str, Command] = {
    "run": Command("run all cells without a screen and print their output", _run_arguments, _run),
    "trace": Command("run all cells and print the engine's records as JSON lines", _trace_arguments, _trace),
    "new": Command("make a notebook", _new_arguments, _new),
    "tutorial": Command("make your copy of the teaching notebooks and open the first", _tutorial_arguments, _tutorial),
    "convert": Command("rewrite a notebook in the other format", _convert_arguments, _convert),
    "serve": Command("open a notebook in the browser, with its kernel on this machine", _serve_arguments, _serve),
    "playground": Command("build or serve the notebook as a web page", _playground_arguments, _playground),
    "export": Command("make one HTML file that replays a run of a notebook", _export_arguments, _export),
    "recover": Command("get unsaved work back after a crash", _recover_arguments, _recover),
    "doctor": Command("say what this machine offers, with advice", _doctor_arguments, _doctor),
}
"""Every command. One is added here; help, parsing and suggestions follow."""


# -- parsing ------------------------------------------------------------------------------------------


def _main_parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [FILE] [options]\n       {PROGRAM} COMMAND ...",
        description="A visual notebook for PyTorch-style Python. Without a command it opens the terminal app.",
        epilog="commands:\n"
        + "\n".join(f"  {word:{width}}  {command.summary}" for word, command in COMMANDS.items())
        + f"\n\n`{PROGRAM} COMMAND --help` tells more. Exit codes: 0 done, 1 failed, 2 not understood, 130 Ctrl+C.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {importlib.metadata.version('tapescope')}")
    _open_arguments(parser)
    return parser


def _command_parser(word: str) -> argparse.ArgumentParser:
    summary = COMMANDS[word].summary
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} {word}", description=f"{summary[0].upper()}{summary[1:]}.", allow_abbrev=False
    )
    COMMANDS[word].arguments(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line (default: the process's own) and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words and words[0] in COMMANDS:
            options = _command_parser(words[0]).parse_args(words[1:])
            return COMMANDS[words[0]].action(options)
        return _open(_main_parser().parse_args(words))
    except CommandError as error:
        return _say(str(error), error.code)
    except NotebookError as error:
        return _say(str(error), FAILED)
    except KeyboardInterrupt:
        return _say("Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has left (`| head`): nothing is wrong. The null device takes what is still flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"{where}{error.strerror or error}.", FAILED)


def _say(sentence: str, code: int) -> int:
    print(f"{PROGRAM}: {sentence}", file=sys.stderr)
    return code
