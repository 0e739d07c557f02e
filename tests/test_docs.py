"""The documentation: its links lead somewhere, and what it says of the command line is so."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tapescope.app import cli

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def pages(root: Path) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    return [root / name for name in listed if (root / name).exists()]


def test_links_lead_to_files(root: Path):
    broken = [
        f"{page.relative_to(root)}: {target}"
        for page in pages(root)
        for target in LINK.findall(page.read_text())
        if not (page.parent / target).exists()
    ]
    assert not broken


def test_every_decision_is_listed(root: Path):
    folder = root / "docs" / "decisions"
    listed = set(LINK.findall((folder / "README.md").read_text()))
    assert {page.name for page in folder.glob("*.md")} - {"README.md"} <= listed


@pytest.mark.parametrize("word", cli.COMMANDS)
def test_every_command_is_documented(word: str, root: Path):
    assert f"`tapescope {word} " in (root / "docs" / "command-line.md").read_text().replace(f"{word}`", f"{word} `")


def test_every_make_target_is_in_its_help(root: Path):
    text = (root / "Makefile").read_text()
    targets = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split()) - {"help", "system"}
    shown = subprocess.run(["make", "-s", "help"], cwd=root, capture_output=True, text=True, check=True).stdout
    assert targets == set(re.findall(r"^make (\w+)", shown, re.MULTILINE))
