"""Builds the documentation as a web site: `python docs/site/build.py [OUT]` (default: build/site).

MkDocs wants all pages below one folder and a configuration beside it, but the pages of this project link to the README, to
notebooks and to sources as well. So the pages are copied to a staging folder, what they link to outside of docs/ is copied
along, links are turned to the copies, and the navigation is written from `NAVIGATION`. A lesson becomes a page to read, with its file
to download. The finished site asks no other
server for anything (no fonts, no scripts): `foreign_requests` looks at every file for that.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

NAVIGATION: dict[str, tuple[str, ...]] = {
    "Tutorial": ("tutorial/terminal.md", "tutorial/browser.md"),
    "Lessons": ("examples/[0-9]*.py",),
    "How-to": (
        "howto/own-data.md", "howto/save-and-load.md", "howto/move-a-project.md", "howto/share.md", "howto/gpu.md",
        "howto/jupyter.md", "howto/processes.md", "howto/onnx.md", "terminal-app.md", "serve.md", "playground.md",
    ),
    "Explanation": (
        "explanation/tape.md", "explanation/capture.md", "explanation/fusion.md", "explanation/webgpu.md", "views.md",
        "kernels.md", "numerics.md", "differences.md", "conformance.md", "performance.md",
    ),
    "Reference": (
        "command-line.md", "reference/options.md", "reference/operators.md", "breaks.md", "reference/keys.md", "reference/files.md",
        "reference/records.md", "reference/messages.md", "status.md", "CHANGELOG.md", "SECURITY.md",
    ),
    "Contribute": (
        "CONTRIBUTING.md", "contribute/operator.md", "contribute/kernel.md", "contribute/break.md", "contribute/view.md",
        "contribute/panel.md", "contribute/tests.md", "newcomer.md", "rooms/*", "decisions/*",
    ),
}  # fmt: skip
"""Pages in the order of the navigation, by path below docs/ or below the checkout. `*` takes a folder, its README first."""

LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)")
"""A link to a file in Markdown: what stands before the address, and the address without its anchor."""

CODE = re.compile(r"(?ms)^( *)(```+).*?^\1\2 *$")
"""A fenced block of code, in which nothing is a link."""

CONFIGURATION = """\
site_name: Tapescope
site_description: A visual notebook for building models
docs_dir: pages
use_directory_urls: false
theme:
  name: material
  font: false
  features: [navigation.tabs, navigation.sections, navigation.top, search.highlight, content.code.copy, toc.follow]
  palette:
    - {{media: "(prefers-color-scheme: light)", scheme: default, primary: teal, accent: teal,
       toggle: {{icon: material/weather-night, name: Dark}}}}
    - {{media: "(prefers-color-scheme: dark)", scheme: slate, primary: teal, accent: teal,
       toggle: {{icon: material/weather-sunny, name: Light}}}}
plugins: [search]
extra: {{generator: false}}
validation: {{links: {{anchors: warn, not_found: warn, unrecognized_links: warn, absolute_links: warn}}}}
markdown_extensions:
  - toc: {{permalink: true}}
  - tables
  - attr_list
  - md_in_html
  - pymdownx.highlight
  - pymdownx.superfences
nav:
{nav}
"""


def pages() -> list[Path]:
    """Every page of the site, as a path in the checkout, in the order of the navigation; those not named there come last."""
    named = [page for chapter in NAVIGATION.values() for page in _chapter(chapter)]
    rest = [p for p in sorted(DOCS.rglob("*.md")) if p not in named and p.relative_to(DOCS).as_posix() != "index.md"]
    return [DOCS / "index.md", *named, *rest]


def _chapter(entries: tuple[str, ...]) -> Iterator[Path]:
    for entry in entries:
        if entry.startswith("examples/"):
            yield from sorted(ROOT.glob(entry))
        elif entry.endswith("/*"):
            folder = DOCS / entry[:-2]
            yield from sorted(folder.glob("*.md"), key=lambda p: (p.name != "README.md", p.name))
        elif (path := DOCS / entry).exists() or (path := ROOT / entry).exists():
            yield path


def staged(path: Path) -> str:
    """Where a file of the checkout goes in the staging folder."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    if is_lesson(path):
        return f"lessons/{path.stem}.md"
    return f"project/{name}" if path.suffix == ".md" else f"source/{name}"


def is_lesson(path: Path) -> bool:
    """Whether it is one of the numbered notebooks."""
    return path.parent == ROOT / "examples" and path.suffix == ".py" and path.stem[:2].isdigit()


def lesson_page(path: Path, file: str) -> str:
    """A notebook in percent format as a page to read; `file` is the address of the notebook itself."""
    parts = []
    for cell in re.split(r"(?m)^# %%", path.read_text(encoding="utf-8"))[1:]:
        head, _, body = cell.partition("\n")
        if "[markdown]" in head:
            text = re.sub(r"(?m)^# ?", "", body)
            parts.append(text.replace("<details>", '<details markdown="1">').strip())
        else:
            parts.append(f"```python\n{body.strip()}\n```")
    note = (
        f"*A notebook: [download it]({file}), or make a copy of all of them with `tapescope tutorial`. The playground has it in its "
        "menu, with a recorded run.*"
    )
    return "\n\n".join([parts[0], note, *parts[1:]]) + "\n"


def stage(folder: Path) -> None:
    """Copy all pages, and what they link to, to `folder`/pages, and write `folder`/mkdocs.yml."""
    shutil.rmtree(folder, ignore_errors=True)
    target = folder / "pages"
    waiting, done = [*pages(), ROOT / "README.md"], set()
    while waiting:
        path = waiting.pop(0)
        if path in done:
            continue
        done.add(path)
        place = target / staged(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if is_lesson(path):
            file = target / "source" / path.relative_to(ROOT)
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, file)
            place.write_text(lesson_page(path, os.path.relpath(file, place.parent)), encoding="utf-8")
            continue
        if path.suffix != ".md":
            shutil.copy(path, place)
            continue

        def turned(match: re.Match[str], path: Path = path) -> str:
            linked = (path.parent / match[2]).resolve()
            if not linked.is_relative_to(ROOT) or not linked.exists():
                return match[0]  # mkdocs names it as broken
            if linked.is_dir():
                if not (linked / "README.md").exists():
                    raise SystemExit(f"{path}: {match[2]} is a folder; link to a file")
                linked /= "README.md"
            waiting.append(linked)
            return match[1] + os.path.relpath(staged(linked), Path(staged(path)).parent)

        place.write_text(
            outside_code(path.read_text(encoding="utf-8"), lambda t, f=turned: LINK.sub(f, t)), encoding="utf-8"
        )
    lines = ['  - "Start": index.md']
    for title, entries in NAVIGATION.items():
        lines.append(f'  - "{title}":')
        lines += [f'    - "{_title(p)}": {staged(p)}' for p in _chapter(entries)]
    (folder / "mkdocs.yml").write_text(CONFIGURATION.format(nav="\n".join(lines)), encoding="utf-8")


def outside_code(text: str, change) -> str:
    """`text` with `change` made to everything outside of its blocks of code."""
    out, at = [], 0
    for block in CODE.finditer(text):
        out += [change(text[at : block.start()]), block[0]]
        at = block.end()
    return "".join([*out, change(text[at:])])


def _title(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    found = re.search(r"(?m)^# # (.+)$" if is_lesson(page) else r"(?m)^# (.+)$", text)
    if found is None:
        raise SystemExit(f"{page} has no title (a line that begins with '# ')")
    number = f"{int(page.stem[:2])}. " if is_lesson(page) else ""
    return number + found[1].replace("`", "").replace('"', "'")


FOREIGN = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*?\bsrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b[^>]*?\brel=["']?(?:stylesheet|preload|preconnect|dns-prefetch|icon|manifest)\b[^>]*?href=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|@import\s+["']?(?:url\()?["']?(?:https?:)?//[^"')\s]+|url\(\s*["']?(?:https?:)?//[^"')\s]+""",
    re.IGNORECASE,
)
"""Markup and styles that make a browser ask another server as soon as the page is shown."""


def foreign_requests(site: Path) -> list[str]:
    """Every place in a built site that would ask another server when a page is shown."""
    return [
        f"{file.relative_to(site)}: {match[0][:120]}"
        for file in sorted(site.rglob("*"))
        if file.suffix in (".html", ".css", ".svg") and "source" not in file.relative_to(site).parts[:1]
        for match in FOREIGN.finditer(file.read_text(encoding="utf-8", errors="replace"))
    ]


def build(out: Path) -> None:
    """Make the site in `out`. Raises SystemExit where MkDocs finds anything wrong or a page asks another server."""
    staging = ROOT / "build" / "docs"
    stage(staging)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--clean", "--config-file", staging / "mkdocs.yml", "--site-dir", out],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.returncode)
    if foreign := foreign_requests(out):
        raise SystemExit("The site would ask other servers:\n" + "\n".join(foreign))


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()
    build(target)
    print(target / "index.html")
