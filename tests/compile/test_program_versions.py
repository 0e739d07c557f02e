"""The programs of `programs/` compiled under the other supported Pythons, with numpy and nothing else.

An environment a version is made once, in `.venv-VERSION` of the checkout, from the interpreters that `test_versions` finds.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, missing

from .test_versions import pythons

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
    lines = done.stdout.strip().splitlines()
    assert lines and lines[-1].startswith("{"), done.stdout[-2000:] + done.stderr[-2000:]
    result = json.loads(lines[-1])
    assert result["version"] == version and result["programs"] >= 330
    assert not result["failures"], json.dumps(result["failures"], indent=1)
