"""The first teaching notebook: it learns, on both devices, and the devices agree step by step."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

# Appended as a cell, so that the test can read what the notebook computed.
REPORT = """
# %%
import json
print("REPORT", json.dumps({"losses": losses, "accuracy": accuracy, "device": str(loss.device)}))
"""

STEPS = 20
"""How many steps are compared between the devices."""


@pytest.fixture(scope="module")
def run(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict]:
    """Runs the notebook on a device, once a device."""
    known: dict[str, dict] = {}

    def on(device: str) -> dict:
        if device not in known:
            folder = tmp_path_factory.mktemp(device) / "examples"
            shutil.copytree(root / "examples", folder)
            path = folder / "01_digits.py"
            path.write_text(path.read_text() + REPORT)
            done = subprocess.run(
                [sys.executable, "-m", "tapescope.app", "run", path, "--device", device, "--torch", "tapescope"],
                capture_output=True, text=True, timeout=170, stdin=subprocess.DEVNULL,
                env={**os.environ, "COLUMNS": "80"},
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            known[device] = {
                "output": done.stdout,
                "errors": done.stderr,
                **json.loads(re.search(r"^REPORT (.*)$", done.stdout, re.MULTILINE)[1]),
            }
        return known[device]

    return on


def test_it_learns_on_the_cpu(run: Callable[[str], dict]):
    done = run("cpu")
    assert done["device"] == "cpu"
    assert done["accuracy"] >= 0.95
    assert f"test accuracy {done['accuracy']:.3f}" in done["output"]
    assert done["losses"][0] > 2.0 and np.mean(done["losses"][-20:]) < 0.1
    assert done["errors"] == ""


def test_the_curve_is_shown_once_as_it_was_at_the_end(run: Callable[[str], dict]):
    output = run("cpu")["output"]
    assert output.count("cross entropy") == 1
    assert "│" in output, "the figure is not drawn"


def test_it_learns_the_same_on_webgpu(run: Callable[[str], dict], need_vulkan: Callable[[], str]):
    need_vulkan()
    cpu, gpu = run("cpu"), run("webgpu")
    assert gpu["device"].startswith("webgpu")
    assert gpu["accuracy"] >= 0.95
    assert abs(gpu["accuracy"] - cpu["accuracy"]) <= 0.02
    np.testing.assert_allclose(gpu["losses"][:STEPS], cpu["losses"][:STEPS], rtol=0, atol=1e-4)


# The same notebook under PyTorch 2.13.0 on a CPU printed these.
PYTORCH_LOSSES = [
    2.3270184993743896, 2.316385269165039, 2.3331942558288574, 2.2855048179626465, 2.258704662322998,
    2.257413625717163, 2.214508533477783, 2.19191312789917, 2.197484254837036, 2.1400063037872314,
]  # fmt: skip


def test_the_steps_are_those_of_pytorch(run: Callable[[str], dict]):
    losses = run("cpu")["losses"]
    np.testing.assert_allclose(losses[: len(PYTORCH_LOSSES)], PYTORCH_LOSSES, rtol=0, atol=1e-5)


def test_the_records_lead_to_the_lines_of_the_notebook(root: Path):
    done = subprocess.run(
        [sys.executable, "-m", "tapescope.app", "trace", root / "examples" / "01_digits.py", "--kinds", "op"],
        capture_output=True, text=True, timeout=170, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ops = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"op", "inputs", "outputs", "module", "cell", "line"} <= ops[0].keys()
    assert {"hidden", "scores"} <= {module for op in ops for module in op["module"].split(".")}
    cells = re.split(r"^# %%", (root / "examples" / "01_digits.py").read_text(), flags=re.MULTILINE)[1:]
    text = {n: cell.split("\n", 1)[1].splitlines() for n, cell in enumerate(cells, 1)}
    lines = {text[op["cell"]][op["line"] - 1].strip() for op in ops if op["cell"]}
    assert any("F.relu(self.hidden(x))" in line for line in lines)
    assert any("F.cross_entropy" in line for line in lines)
