"""Under the traceback of an error of the engine's stands what to try; other errors are left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(tmp_path: Path, code: str) -> str:
    (tmp_path / "lesson.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "tapescope.app", "run", tmp_path / "lesson.py", "--torch", "tapescope"],
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 1
    return done.stderr


def test_what_to_try_stands_under_the_traceback(tmp_path: Path):
    told = run(tmp_path, "import torch\ntorch.nn.Linear(4, 2)(torch.ones(8, 5))\n")
    assert "mat1 and mat2 shapes cannot be multiplied (8x5 and 4x2)" in told
    assert "in_features=5" in told and told.index("in_features=5") > told.index("mat1 and mat2")
    assert told.splitlines()[-1].endswith("(8x5 and 4x2)"), "the last line stays the message alone"


def test_a_name_that_is_nearly_right(tmp_path: Path):
    assert "Did you mean softmax?" in run(tmp_path, "import torch\ntorch.sofmax(torch.ones(2), 0)\n")


def test_errors_of_the_users_own_code_get_none(tmp_path: Path):
    told = run(tmp_path, "import torch\ndef relu(x): pass\nrelu(y=1)\n")
    assert "Did you mean" not in told and "takes" not in told
