"""Runs the programs under `programs/` on CPython and on the interpreter, and compares everything that can be seen.

Needs nothing but Python, so that it runs under every version, also under Pyodide::

    python standalone.py FOLDER        # prints {"version": ..., "programs": n, "skipped": n, "failures": [...]}

FOLDER holds the package `machine`: `bytecode/` and `interpreter/`, copied from `engine/compile/` with an empty
`__init__.py`.  `test_programs.py` uses the same functions on the engine's own modules.

A file of `programs/` holds many programs; each begins at a line `# --- name` or `# --- name (3.12+)`.  A program is a
module: it is executed as one, and what it prints, the exception that ends it (with type, message, notes, causes, and
a traceback with lines and columns), and the warnings it gives are compared.
"""

from __future__ import annotations

import builtins
import io
import json
import re
import sys
import traceback
import types
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import domains

PROGRAMS = Path(__file__).resolve().parent / "programs"
MODES = ("run", "step", "own", "dunders", "breaks")
"""`run`: everything is interpreted, libraries too; `step`: one instruction at a time; `own`: libraries run natively;
`dunders`: operators written in Python are frames too; `breaks`: each instruction is refused once before it runs."""

_HEAD = re.compile(r"^# --- (.+?)(?: \((\d+)\.(\d+)\+\))?$")


class Program(NamedTuple):
    name: str
    text: str
    line: int
    version: tuple[int, int]


def programs(folder: Path = PROGRAMS) -> list[Program]:
    """All programs of all files; `version` is the oldest Python that understands one."""
    found = []
    for path in sorted(folder.glob("*.txt")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        heads = [(i, match) for i, line in enumerate(lines) if (match := _HEAD.match(line.rstrip("\n")))]
        ends = [i for i, _ in heads[1:]] + [len(lines)]
        for (start, match), end in zip(heads, ends):
            version = (int(match[2]), int(match[3])) if match[2] else (3, 11)
            found.append(Program(f"{path.stem}: {match[1]}", "".join(lines[start + 1 : end]), start + 1, version))
    return found


class Seen(NamedTuple):
    """What can be seen of a run."""

    printed: str
    error: Any
    warned: list[tuple[str, str, int]]


def native(program: Program) -> Seen:
    return _observe(program, lambda code, space: exec(code, space))


def interpreted(program: Program, machine: Any, decode: Any, mode: str = "run") -> Seen:
    """Run on the interpreter: `machine` is the module `interpreter`, `decode` that of `bytecode`."""
    own = None
    if mode == "own":
        own = lambda function: function.__code__.co_filename.startswith("<program")  # noqa: E731
    makers = {"dunders": domains.with_dunders, "breaks": domains.with_breaks}
    domain = makers[mode](machine) if mode in makers else machine.ConcreteDomain(own)
    machine.tracebacks.own(domains.__file__)
    loop = machine.Interpreter(domain)

    def run(code: types.CodeType, space: dict[str, Any]) -> None:
        space.setdefault("__builtins__", builtins)
        frame = machine.Frame(decode(code), space, vars(builtins), names=space)
        if mode == "breaks":
            domains.run_with_breaks(loop, frame, machine)
        elif mode != "step":
            loop.run(frame)
        while mode == "step" and type(frame) is machine.Frame:
            frame = loop.step(frame)

    return _observe(program, run, internal=str(Path(machine.__file__).resolve().parent.parent))


def _observe(program: Program, run: Any, internal: str = "") -> Seen:
    name = "program_module"
    module = types.ModuleType(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the compiler has to say is not looked at
        code = compile(program.text, f"<program {program.name}>", "exec", dont_inherit=True)
    output = io.StringIO()
    error = None
    sys.modules[name] = module
    try:
        with redirect_stdout(output), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                run(code, module.__dict__)
            except BaseException as raised:
                error = _describe(raised, internal, set())
    finally:
        sys.modules.pop(name, None)
    said = [(w.category.__name__, str(w.message), w.lineno) for w in caught if w.filename.startswith("<program")]
    return Seen(output.getvalue(), error, said)


def _describe(error: BaseException | None, internal: str, seen: set[int]) -> Any:
    if error is None:
        return None
    if id(error) in seen:
        return "again"
    seen.add(id(error))
    entries = []
    for entry in traceback.extract_tb(error.__traceback__):
        if entry.filename in (__file__, domains.__file__) or (internal and entry.filename.startswith(internal)):
            continue
        entries.append((entry.name, entry.lineno, entry.end_lineno, entry.colno, entry.end_colno))
    described: dict[str, Any] = {"type": type(error).__name__, "text": str(error), "traceback": entries}
    described["notes"] = getattr(error, "__notes__", None)
    described["cause"] = _describe(error.__cause__, internal, seen)
    described["context"] = _describe(error.__context__, internal, seen)
    described["suppressed"] = error.__suppress_context__
    if isinstance(error, BaseExceptionGroup):
        described["parts"] = [_describe(part, internal, seen) for part in error.exceptions]
    return described


def difference(expected: Seen, got: Seen) -> str:
    """Where two runs differ, in words; empty where they do not."""
    lines = []
    for what, a, b in zip(Seen._fields, expected, got):
        if a != b:
            lines.append(f"{what}: CPython {a!r}, interpreter {b!r}")
    return "\n".join(lines)


def main(folder: str) -> int:
    sys.path.insert(0, folder)
    from machine import interpreter  # type: ignore[import-not-found]
    from machine.bytecode import decode  # type: ignore[import-not-found]

    failures, skipped, count = [], 0, 0
    for program in programs():
        if sys.version_info < program.version:
            skipped += 1
            continue
        count += 1
        try:
            expected = native(program)
        except SyntaxError as error:
            failures.append({"program": program.name, "mode": "compile", "problem": str(error)})
            continue
        for mode in MODES:
            problem = difference(expected, interpreted(program, interpreter, decode, mode))
            if problem:
                failures.append({"program": program.name, "mode": mode, "problem": problem})
    version = ".".join(map(str, sys.version_info[:3]))
    print(json.dumps({"version": version, "programs": count, "skipped": skipped, "failures": failures}))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
