"""The recipes for contributors work: each is followed in a scratch copy of the checkout, block by block.

In docs/contribute/*.md a block with a title such as `title="engine/ops/nonlinear.py"` is appended to that file (or is the file, where
there is none), and a `diff` block with such a title changes it. Then the page's commands are run there, in order.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from blocks import Block, blocks

ROOMS = ("app", "engine", "graphviz_views", "webgpu_kernels")
RECIPES = sorted(p.stem for p in (ROOT / "docs" / "contribute").glob("*.md") if p.stem != "tests")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A scratch copy of what git knows, with the rooms importable from it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *ROOMS, "tests", "docs", "pyproject.toml"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    folder = tmp_path / "checkout"
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("app/web/client", "tests/golden", "docs/images")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (tmp_path / "path" / "tapescope").mkdir(parents=True)
    for room in ROOMS:
        (tmp_path / "path" / "tapescope" / room).symlink_to(folder / room)
    return folder


def changed(text: str, block: Block) -> str:
    """`text` with the changes of a `diff` block: the lines that stay and go are found, and those that come put in their place."""
    for part in block.text.split("@@\n"):
        lines = part.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[:1] in " -")
        new = "".join(line[1:] for line in lines if line[:1] in " +")
        assert text.count(old) == 1, f"{block.title} has these lines {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    return text


def follow(page: Path, copy: Path) -> None:
    """Do what the page says."""
    environment = {
        **os.environ, "PYTHONPATH": str(copy.parent / "path"), "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    for block in blocks(page):
        target = copy / block.title
        if block.mark:
            continue
        if "/" in block.title:
            before = target.read_text(encoding="utf-8") if target.exists() else ""
            if block.language == "diff":
                target.write_text(changed(before, block), encoding="utf-8")
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(before + ("\n\n" if before else "") + block.text, encoding="utf-8")
        elif block.language == "console":
            for line in block.text.splitlines():
                if line.startswith("$ "):
                    done = subprocess.run(
                        ["bash", "-c", line[2:]], cwd=copy, env=environment, capture_output=True, text=True, timeout=150
                    )
                    assert done.returncode == 0, f"`{line[2:]}`\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_works(name: str, copy: Path, need_vulkan: Callable[[], str]):
    if name == "kernel":
        need_vulkan()
    follow(ROOT / "docs" / "contribute" / f"{name}.md", copy)


def test_the_copy_is_what_is_imported(copy: Path):
    done = subprocess.run(
        [sys.executable, "-c", "from tapescope import engine; print(engine.__file__)"],
        env={**os.environ, "PYTHONPATH": str(copy.parent / "path")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(done.stdout.strip()).resolve().is_relative_to(copy)
