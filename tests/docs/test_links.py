"""The documentation's links lead to files and to headings that are there, and its navigation holds every page."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
ANCHOR = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)")
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_site_build", ROOT / "docs" / "site" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def markdown() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [ROOT / name for name in listed if (ROOT / name).exists()]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    titles = re.findall(r"(?m)^#+ (.+)$", text)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", re.sub(r"[`*_]", "", t)).strip().lower()) for t in titles}


def test_links_lead_to_files(site: ModuleType):
    broken = []
    for page in markdown():

        def look(text: str, page: Path = page) -> str:
            broken.extend(
                f"{page.relative_to(ROOT)}: {m[2]}"
                for m in site.LINK.finditer(text)
                if not (page.parent / m[2]).exists()
            )
            return text

        site.outside_code(page.read_text(encoding="utf-8"), look)
    assert not broken


def test_anchors_lead_to_headings():
    broken = []
    for page in markdown():
        for target, anchor in ANCHOR.findall(page.read_text(encoding="utf-8")):
            linked = (page.parent / target).resolve() if target else page
            if linked.suffix == ".md" and linked.exists() and anchor not in anchors(linked):
                broken.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    assert not broken


def test_every_picture_says_what_it_shows():
    for page in markdown():
        for words, _ in IMAGE.findall(page.read_text(encoding="utf-8")):
            assert len(words) > 8, f"{page}: a picture without a description"


def test_every_page_is_in_the_navigation(site: ModuleType):
    named = {p for chapter in site.NAVIGATION.values() for p in site._chapter(chapter)} | {ROOT / "docs" / "index.md"}
    assert set((ROOT / "docs").rglob("*.md")) <= named


def test_every_entry_of_the_navigation_is_a_page(site: ModuleType):
    for chapter in site.NAVIGATION.values():
        for entry in chapter:
            assert list(site._chapter((entry,))), f"{entry} is in the navigation, and there is no such page"


def test_staging_turns_links_to_the_copies(site: ModuleType, tmp_path: Path):
    site.stage(tmp_path / "site")
    pages = tmp_path / "site" / "pages"
    assert (pages / "index.md").exists() and (pages / "project" / "README.md").exists()
    for page in pages.rglob("*.md"):
        for match in site.LINK.finditer(re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text(encoding="utf-8"))):
            assert (page.parent / match[2]).exists(), f"{page.relative_to(pages)}: {match[2]}"


def test_requests_to_other_servers_are_found(site: ModuleType, tmp_path: Path):
    (tmp_path / "a.html").write_text('<a href="https://example.org">a link</a><script src="assets/x.js"></script>')
    assert site.foreign_requests(tmp_path) == []
    (tmp_path / "b.html").write_text('<link rel="stylesheet" href="https://fonts.example.org/x.css">')
    (tmp_path / "c.css").write_text("@import url(//fonts.example.org/x.css);")
    assert [f.partition(":")[0] for f in site.foreign_requests(tmp_path)] == ["b.html", "c.css"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does it."""
    if importlib.util.find_spec("material") is None:
        why = "the extra `docs` is not installed; `make test` and `make docs` install it"
        pytest.fail(why) if os.environ.get("CI") == "true" else pytest.skip(why)
    out = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run([sys.executable, ROOT / "docs" / "site" / "build.py", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_the_site_builds_without_a_warning(built: Path):
    assert (built / "index.html").exists() and (built / "search" / "search_index.json").exists()


HREF = re.compile(r"""<(?:a|link|img|script|object)\b[^>]*?\b(?:href|src|data)=["']?([^"'\s>]+)""")
IDS = re.compile(r"""\b(?:id|name)=["']?([^"'\s>]+)""")


def test_links_of_the_built_site_lead_somewhere(built: Path):
    """In whatever folder it is served: only relative addresses, to files that are there and anchors that they have."""
    pages = {p: p.read_text(encoding="utf-8") for p in built.rglob("*.html") if p.name != "404.html"}
    assert len(pages) > 60
    anchors = {p: set(IDS.findall(text)) for p, text in pages.items()}
    broken = []
    for page, text in pages.items():
        for address in HREF.findall(text):
            if re.match(r"(?:[a-z]+:|//)", address):
                continue
            path, _, anchor = unquote(address).partition("#")
            target = (page.parent / path).resolve() if path else page
            lost = bool(anchor) and anchor not in anchors.get(target, {anchor}) and not anchor.startswith("__")
            if path.startswith("/") or not target.exists() or lost:
                broken.append(f"{page.relative_to(built)}: {address}")
    assert not broken


def test_every_page_is_found_by_the_search(built: Path, site: ModuleType):
    index = json.loads((built / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    named = {p for chapter in site.NAVIGATION.values() for p in site._chapter(chapter)}
    addresses = {p: site.staged(p).removesuffix(".md").replace("README", "index") + ".html" for p in named}
    missing = [str(p) for p, address in addresses.items() if address not in found]
    assert not missing
