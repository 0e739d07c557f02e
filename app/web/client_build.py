"""Building the page from its TypeScript: `python -m tapescope.app.web.client_build`.

Runs `npm ci` and Vite in `app/web/client` and lays the result, with the files of Pyodide that the page loads, into
`app/web/static`, which is packaged and not committed.  A stamp says which sources it was made of; where it is still
true, nothing is done.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from ..command_error import FAILED, CommandError

HERE = Path(__file__).resolve().parent
CLIENT = HERE / "client"
STATIC = HERE / "static"
STAMP = "built-from"
PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")


def fingerprint() -> str:
    """A hash of everything the page is built from; empty where its sources are not here (an installed wheel)."""
    if not (CLIENT / "package.json").is_file():
        return ""
    digest = hashlib.sha256()
    for path in sorted(CLIENT.rglob("*")):
        part = path.relative_to(CLIENT)
        if path.is_file() and part.parts[0] not in ("node_modules", "dist"):
            digest.update(part.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def ensure_built(say: object = print) -> Path:
    """The folder of the built page, built now if it is not there or its sources have changed.

    Raises CommandError where it cannot be built.
    """
    wanted = fingerprint()
    stamp = STATIC / STAMP
    if not wanted:
        if stamp.is_file():
            return STATIC
        raise CommandError("This installation came without the page's files; install tapescope from a wheel.", FAILED)
    if stamp.is_file() and stamp.read_text() == wanted:
        return STATIC
    npm = shutil.which("npm")
    if npm is None:
        raise CommandError("Building the page needs Node with npm: https://nodejs.org, or apt-get install npm.", FAILED)
    lock = CLIENT / "package-lock.json"
    installed = CLIENT / "node_modules" / ".installed-from"
    of_lock = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not (installed.is_file() and installed.read_text() == of_lock):
        _run([npm, "ci", "--no-audit", "--no-fund"])
        installed.write_text(of_lock)
    shutil.rmtree(STATIC, ignore_errors=True)
    _run([npm, "run", "--silent", "build"])
    pyodide = STATIC / "pyodide"
    pyodide.mkdir(parents=True)
    for name in PYODIDE_FILES:
        shutil.copyfile(CLIENT / "node_modules" / "pyodide" / name, pyodide / name)
    stamp.write_text(wanted)
    return STATIC


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        told = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise CommandError(f"`{' '.join(command[1:])}` failed in {CLIENT}:\n{told}", FAILED)


if __name__ == "__main__":
    try:
        print(ensure_built())
    except CommandError as error:
        print(error, file=sys.stderr)
        raise SystemExit(1) from None
