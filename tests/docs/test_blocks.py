"""Every block of code in the documentation runs and prints what the page says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from blocks import blocks, fits

FRAGMENTS = {
    "docs/rooms/graphviz_views.md": "an overview of an interface, with names for what the reader has",
    "docs/rooms/engine.md": "pieces of the operator table as they stand there",
    "docs/rooms/kernel.md": "a kernel for a callback of the reader's own",
    "docs/rooms/interpreter.md": "an overview of an interface",
}
"""Pages whose Python is not a program from top to bottom, and why."""

RECIPES = {p.relative_to(ROOT).as_posix() for p in (ROOT / "docs" / "contribute").glob("*.md")}
"""These are followed in a scratch copy, see test_recipes.py."""

LANGUAGES = {"diff", "python", "console", "text", "json", "toml", "yaml", "wgsl", "javascript", "html", "css", ""}
PAGES = sorted(
    p.relative_to(ROOT).as_posix()
    for p in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "docs").rglob("*.md"),
    ]
    if p.exists()
)
RUN = [
    p
    for p in PAGES
    if p not in FRAGMENTS.keys() | RECIPES and any(b.language in ("python", "console") for b in blocks(ROOT / p))
]


@pytest.fixture(scope="module")
def outcome() -> dict[str, list[str]]:
    """What went wrong, by page. All pages run in one process and its forks: loading the engine for each takes longer."""
    done = subprocess.run([sys.executable, HERE / "blocks.py", *RUN], capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout[done.stdout.index("{") :])


@pytest.mark.parametrize("page", RUN)
def test_the_code_of_a_page_runs(page: str, outcome: dict[str, list[str]]):
    assert not outcome[page], "\n\n".join(outcome[page])


@pytest.mark.parametrize("page", PAGES)
def test_every_block_has_a_known_language_and_left_out_ones_a_reason(page: str):
    for block in blocks(ROOT / page):
        assert block.language in LANGUAGES, f"{page}:{block.line}: a block in {block.language!r}"
        if block.mark:
            assert len(block.mark.partition(": ")[2]) > 10, f"{page}:{block.line}: say why it is not run"


def test_python_that_is_not_run_is_python():
    for page in PAGES:
        for block in blocks(ROOT / page):
            if block.language == "python":
                compile(block.text, f"{page}:{block.line}", "exec")


def test_fragments_are_pages_that_are_there():
    assert set(FRAGMENTS) <= set(PAGES)


def test_a_wrong_page_is_found(tmp_path: Path):
    assert fits("a ... c", "a b c") and not fits("a ... c", "a b d")
    folder = ROOT / "docs"
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```python\n1 / 0\n```\n")
    first, output, second = blocks(page)
    assert (first.language, output.language, output.adjacent, second.line) == ("python", "text", True, 10)
    assert folder.exists()
