"""What importing costs and who may know whom: the parts of the house rules that import-linter does not see."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PRODUCT = ("app", "engine", "graphviz_views", "webgpu_kernels")
FOREIGN = ("textual", "rich", "wgpu", "plotly", "IPython", "jedi", "graphviz")


def loaded(code: str) -> set[str]:
    """The top names that are in sys.modules after `code` ran in a fresh interpreter."""
    program = f"{code}\nimport sys; print(*sorted({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import tapescope.engine",
        "from tapescope import engine as torch; x = torch.ones(2, requires_grad=True); (x * x).sum().backward()",
        "import tapescope.engine.nn, tapescope.engine.optim, tapescope.engine.utils.data",
        "import tapescope.engine.observe, tapescope.graphviz_views",
        "import tapescope.webgpu_kernels",
    ],
)
def test_the_engine_and_the_views_load_no_notebook_library(code: str):
    assert not loaded(code) & set(FOREIGN)


@pytest.mark.parametrize(
    "code", ["import tapescope.app.cli", "from tapescope.app.cli import main; main(['doctor', '-h'])"]
)
def test_the_command_line_answers_without_heavy_libraries(code: str):
    guarded = f"try:\n    {code}\nexcept SystemExit: pass".replace("; ", "\n    ")
    assert not loaded(f"import sys, io; out, sys.stdout = sys.stdout, io.StringIO()\n{guarded}\nsys.stdout = out") & {
        *FOREIGN, "numpy",
    }  # fmt: skip


def modules(root: Path, *rooms: str) -> list[Path]:
    return sorted(m for room in rooms for m in (root / room).rglob("*.py") if "node_modules" not in m.parts)


def imports(module: Path) -> list[tuple[int, str]]:
    """(level, name) of every import statement."""
    found = []
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or ""))
    return found


def test_imports_inside_the_product_are_relative(root: Path):
    absolute = [
        f"{module.relative_to(root)}: {name}"
        for module in modules(root, *PRODUCT)
        for level, name in imports(module)
        if level == 0 and name.partition(".")[0] in ("tapescope", *PRODUCT)
    ]
    assert not absolute


def test_the_records_import_nothing_of_the_project(root: Path):
    assert not [name for level, name in imports(root / "engine" / "observe.py") if level]


def test_the_kernels_import_nothing_of_the_project(root: Path):
    for module in modules(root, "webgpu_kernels"):
        depth = len(module.relative_to(root).parts) - 1
        assert not [name for level, name in imports(module) if level > depth], module


PLATFORM_FILES = {
    "engine/backends/webgpu/native.py", "engine/backends/webgpu/browser.py",
    "app/kernel/process.py", "app/kernel/worker.py",
}  # fmt: skip


def test_only_four_files_ask_for_the_browser(root: Path):
    asking = {
        str(module.relative_to(root))
        for module in modules(root, *PRODUCT)
        if re.search(r"emscripten|import js\b|from js\b|import pyodide|from pyodide", module.read_text())
    }
    assert asking <= PLATFORM_FILES


def test_import_contracts_hold(root: Path):
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        from conftest import missing

        missing("needs import-linter: pip install --editable '.[lint]'")
    done = subprocess.run(
        [linter, "--no-cache"], cwd=root, capture_output=True, text=True, timeout=120,
        env={**os.environ, "COLUMNS": "120"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
