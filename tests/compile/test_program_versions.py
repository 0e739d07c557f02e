"""The programs of `programs/` compiled under the other supported Pythons, with numpy and nothing else.

An environment a version is made once, in `.venv-VERSION` of the checkout, from the interpreters that `test_versions` finds.
Python 3.14 is Pyodide's, in Node, with the wheel of numpy that the tests of the page use.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, missing, need

from .test_versions import RUNTIME, install_pyodide, pythons

VERSIONS = ("3.12", "3.13")


def environment(version: str) -> Path:
    """The interpreter of an environment with numpy, made where it is not there yet."""
    folder = ROOT / f".venv-{version}"
    python, stamp = folder / "bin" / "python", folder / ".numpy"
    if not stamp.exists():
        found = pythons().get(version)
        if found is None:
            missing(f"needs Python {version}: put python{version} on PATH, or name it in TAPESCOPE_PYTHONS")
            raise AssertionError
        wanted = re.search(r'"(numpy[^"]*)"', (ROOT / "pyproject.toml").read_text())
        assert wanted is not None
        subprocess.run([found, "-m", "venv", "--clear", folder], check=True, timeout=120)
        subprocess.run([python, "-m", "pip", "install", "-q", wanted[1]], check=True, timeout=170)
        stamp.touch()
    return python


@pytest.mark.timeout(400)
@pytest.mark.parametrize("version", VERSIONS)
def test_programs_compiled_under_python(version: str, tmp_path: Path) -> None:
    python = environment(version)
    package = tmp_path / "path" / "tapescope"
    package.mkdir(parents=True)
    for room in ("engine", "webgpu_kernels"):
        (package / room).symlink_to(ROOT / room, target_is_directory=True)
    done = subprocess.run(
        [python, ROOT / "tests" / "compile" / "programs" / "standalone.py"],
        capture_output=True, text=True, timeout=300, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    check(done, version)


def check(done: subprocess.CompletedProcess[str], version: str) -> None:
    lines = done.stdout.strip().splitlines()
    assert lines and lines[-1].startswith("{"), done.stdout[-2000:] + done.stderr[-2000:]
    result = json.loads(lines[-1])
    assert result["version"] == version and result["programs"] >= 330
    assert not result["failures"], json.dumps(result["failures"], indent=1)


@pytest.mark.timeout(400)
def test_programs_compiled_under_pyodide(tmp_path: Path) -> None:
    node = need("node")
    install_pyodide()
    ignore = shutil.ignore_patterns("__pycache__")
    for room in ("engine", "webgpu_kernels"):
        shutil.copytree(ROOT / room, tmp_path / "tapescope" / room, ignore=ignore)
    shutil.copytree(ROOT / "tests" / "compile" / "programs", tmp_path / "programs", ignore=ignore)
    for wheel in numpy_wheel().glob("numpy-*.whl"):
        shutil.copy(wheel, tmp_path)
    (tmp_path / "run.py").write_text(
        "import runpy\nrunpy.run_path('/mounted/programs/standalone.py', run_name='__main__')\n"
    )
    command = [node, str(RUNTIME / "run.mjs"), str(tmp_path), "run.py"]
    check(subprocess.run(command, capture_output=True, text=True, timeout=350), "3.14")


def numpy_wheel() -> Path:
    """The folder of numpy's WebAssembly wheel, which the tests of the page fetch."""
    spec = importlib.util.spec_from_file_location("web_conftest", ROOT / "tests" / "web" / "conftest.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.numpy_wheel()
