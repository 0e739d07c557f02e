"""Runs the blocks of code in Markdown pages, as a reader would who follows each page from top to bottom.

`python blocks.py PAGE ...` prints a JSON list of what went wrong. Each page runs in a process of its own (forked from this one,
which has the engine loaded), in a folder of its own with a copy of the examples in it:

- `python` blocks in order, in one namespace; `import torch` gives the engine;
- `console` blocks: each line that begins with `$` is run by a shell, with `tapescope` on its path;
- a `text` block directly behind one of these is what it prints, and so are the other lines of a `console` block; `...` stands
  for anything there;
- `json` and `toml` blocks are read, `text` and blocks of no language are left alone.

A comment `<!-- not run: REASON -->` before a block leaves it out. A block with a title (`title="train.py"`) is a file that is
written, and one whose title has a folder (`title="engine/ops/x.py"`) a part of that file, which the recipes' test uses.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import traceback
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BLOCK = re.compile(
    r"(?ms)(?:^<!-- (?P<mark>(?:not run|before)\b.*?) -->\n+)?^(?P<indent> *)```(?P<head>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$"
)


PRELUDES = {
    "docs/views.md": """
import sys
from tapescope import engine as torch
w = torch.ones(2, 3, requires_grad=True)
loss = (w * w).sum()
step = torch.compile(lambda x: (x * 2).relu().sum())
step(torch.ones(3))
try:
    w @ torch.ones(4)
except RuntimeError as error:
    sys.last_value = sys.last_exc = error
""",
}
"""What a reader of a page has already: a loss, a compiled function, an error."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, what stands behind that, its text, and its line in the page."""

    language: str
    title: str
    mark: str
    text: str
    line: int
    adjacent: bool
    """Whether nothing but empty lines stands between it and the block before."""


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found, end = [], 0
    for match in BLOCK.finditer(text):
        language, _, rest = match["head"].strip().partition(" ")
        title = re.search(r'title="([^"]*)"', rest)
        body = re.sub(rf"(?m)^{match['indent']}", "", match["text"]) if match["indent"] else match["text"]
        found.append(
            Block(language, title[1] if title else "", match["mark"] or "", body, text.count("\n", 0, match.start("text")) + 1,
                  not text[end : match.start()].strip())
        )  # fmt: skip
        end = match.end()
    return found


def fits(expected: str, printed: str) -> bool:
    """Whether `printed` is `expected`, whose `...` stand for anything; spaces at the ends of lines do not count."""
    parts = [re.escape(p) for p in "\n".join(line.rstrip() for line in expected.strip().splitlines()).split("...")]
    return (
        re.fullmatch(".*?".join(parts), "\n".join(line.rstrip() for line in printed.strip().splitlines()), re.DOTALL)
        is not None
    )


def run_page(page: Path) -> list[str]:
    """Run a page's blocks in the current process and folder; what went wrong, a sentence each."""
    space: dict[str, object] = {"__name__": "__main__"}
    problems, printed = [], ""
    exec(PRELUDES.get(page.relative_to(ROOT).as_posix(), ""), space)
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        try:
            if block.language == "text" and block.adjacent and printed is not None:
                if not fits(block.text, printed):
                    problems.append(f"{where}: printed\n{printed}\ninstead of\n{block.text}")
                continue
            printed = None
            if block.mark.startswith("not run") or "/" in block.title:
                continue
            if block.title:
                Path(block.title).write_text(block.text, encoding="utf-8")
                continue
            if block.language == "python":
                printed = run_python(block, f"<{where}>", space)
            elif block.language == "console":
                run_console(block)
            elif block.language == "json":
                for line in re.split(r"\n\n|\n(?=\{)", block.text.strip()):
                    json.loads(line)
            elif block.language == "toml":
                tomllib.loads(block.text)
        except AssertionError as error:
            problems.append(f"{where}: {error}")
        except BaseException as error:
            last = "".join(traceback.format_exception_only(error))
            line = next(
                (f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if where in f.filename), 0
            )
            problems.append(f"{where} (line {line} of the block): {last}")
    return problems


def run_python(block: Block, name: str, space: dict[str, object]) -> str:
    """Run a block; what it printed, and the value of its last expression as a notebook shows it."""
    tree = ast.parse(block.text, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(tree, name, "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), space)
            if value is not None:
                print(repr(value))
    return out.getvalue()


def run_console(block: Block) -> None:
    """Run the commands of a block; AssertionError where one fails or prints something else than the block says."""
    commands: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif commands:
            commands[-1][1].append(line)
    for command, expected in commands:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"},
        )  # fmt: skip
        assert done.returncode in (0, 141), f"`{command}` failed ({done.returncode}): {done.stderr[-800:]}"
        if expected:
            assert fits("\n".join(expected), done.stdout), (
                f"`{command}` printed\n{done.stdout}\ninstead of\n" + "\n".join(expected)
            )


def main(names: list[str]) -> int:
    """Run the pages and print the list of problems as JSON, by page."""
    import importlib

    importlib.import_module("tapescope.engine")
    torch_name = importlib.import_module("tapescope.app.kernel.torch_name")
    torch_name.install("tapescope")
    results: dict[str, list[str]] = {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="tapescope-page-") as folder:
            report = Path(folder, "report.json")
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    work = Path(folder, "work")
                    work.mkdir()
                    shutil.copytree(ROOT / "examples", work / "examples")
                    os.chdir(work)
                    sys.path.insert(0, str(work))
                    report.write_text(json.dumps(run_page(ROOT / name)), encoding="utf-8")
                    code = 0
                finally:
                    os._exit(code)
            _, status = os.waitpid(child, 0)
            results[name] = (
                json.loads(report.read_text()) if report.exists() else [f"the process ended with status {status}"]
            )
    json.dump(results, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
