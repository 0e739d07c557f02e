"""Bytecode and interpreter under every supported Python: 3.11, 3.12, 3.13 natively, 3.14 as Pyodide in Node.

The two packages need nothing of the project and no library; they are copied to an empty folder, and a script runs all
programs of `interpreter/programs/` there.  Natively the interpreters are looked for under the names `python3.12` and so
on and among pyenv's versions; `TAPESCOPE_PYTHONS`, a list of paths as in PATH, replaces that.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, missing, need

HERE = Path(__file__).resolve().parent
RUNTIME = ROOT / "tests" / "browser-runtime"
VERSIONS = ("3.11", "3.12", "3.13")


def pythons() -> dict[str, str]:
    """Version -> path of an interpreter that answers to it."""
    named = os.environ.get("TAPESCOPE_PYTHONS")
    if named is not None:
        candidates = [Path(path) for path in named.split(os.pathsep) if path]
    else:
        found = [shutil.which(f"python{version}") for version in VERSIONS]
        root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
        candidates = [Path(sys.executable), *(Path(path) for path in found if path)]
        candidates += sorted(root.glob("versions/3.*/bin/python"))
    answers: dict[str, str] = {}
    for path in candidates:
        ask = [str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        try:
            said = subprocess.run(ask, capture_output=True, text=True, timeout=30)
        except OSError:
            continue
        if said.returncode == 0:  # pyenv's shims are there for versions that are not
            answers.setdefault(said.stdout.strip(), str(path))
    return answers


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package `machine` and the script with its programs, and nothing else."""
    folder = tmp_path_factory.mktemp("machine")
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("bytecode", "interpreter"):
        shutil.copytree(ROOT / "engine" / "compile" / name, folder / "machine" / name, ignore=ignore)
    (folder / "machine" / "__init__.py").write_text("")
    shutil.copytree(HERE / "interpreter" / "programs", folder / "programs")
    for name in ("standalone.py", "domains.py"):
        shutil.copy(HERE / "interpreter" / name, folder)
    return folder


def check(done: subprocess.CompletedProcess[str], version: str) -> None:
    lines = done.stdout.strip().splitlines()
    assert lines and lines[-1].startswith("{"), done.stdout + done.stderr
    result = json.loads(lines[-1])
    assert result["version"].startswith(version)
    assert result["programs"] > 240
    assert not result["failures"], json.dumps(result["failures"], indent=1)
    assert done.returncode == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_programs_under_python(version: str, machine: Path) -> None:
    python = pythons().get(version)
    if python is None:
        missing(f"needs Python {version}: put python{version} on PATH, or name it in TAPESCOPE_PYTHONS")
    command = [python, "-S", "-E", str(machine / "standalone.py"), str(machine)]  # no packages, no environment
    check(subprocess.run(command, capture_output=True, text=True, timeout=150, cwd=machine), version)


def test_programs_under_pyodide(machine: Path) -> None:
    """Python 3.14 as it runs in the browser."""
    node = need("node")
    install_pyodide()
    command = [node, str(RUNTIME / "run.mjs"), str(machine), "standalone.py", "/mounted"]
    check(subprocess.run(command, capture_output=True, text=True, timeout=170), "3.14")


def install_pyodide() -> None:
    """`npm ci` of `tests/browser-runtime/`, unless what is there is what the lock names."""
    wanted = json.loads((RUNTIME / "package-lock.json").read_text())["packages"]["node_modules/pyodide"]["version"]
    there = RUNTIME / "node_modules" / "pyodide" / "package.json"
    if there.exists() and json.loads(there.read_text())["version"] == wanted:
        return
    command = [need("npm"), "ci", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=RUNTIME, capture_output=True, text=True, timeout=150)
    if done.returncode != 0:
        missing(f"needs the package pyodide {wanted} of the npm registry; npm ci said: {done.stderr.strip()[-500:]}")
