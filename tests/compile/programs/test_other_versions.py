"""The programs under the other supported Pythons, where those have numpy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from ..test_versions import pythons

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_programs(version: str, tmp_path: Path) -> None:
    if "%d.%d" % sys.version_info[:2] == version:  # noqa: UP031
        pytest.skip("this is the version that runs the other tests")
    python = pythons().get(version)
    if python is None:
        pytest.skip(f"needs Python {version}: put python{version} on PATH, or name it in TAPESCOPE_PYTHONS")
    if subprocess.run([python, "-c", "import numpy"], capture_output=True, timeout=60).returncode:
        pytest.skip(f"needs numpy for Python {version}")
    home = tmp_path / "tapescope"
    home.mkdir()
    for name in ("engine", "webgpu_kernels", "graphviz_views"):
        (home / name).symlink_to(ROOT / name)
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, str(HERE / "standalone.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    lines = done.stdout.strip().splitlines()
    assert lines, done.stderr
    result = json.loads(lines[-1])
    assert result["version"] == version and result["programs"] > 250
    assert not result["failures"], json.dumps(result["failures"], indent=1)
