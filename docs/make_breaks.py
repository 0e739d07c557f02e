"""Writes docs/breaks.md, the page of graph breaks, from the registry in engine/compile/breaks.py.

python docs/make_breaks.py           # write it
python docs/make_breaks.py --check   # fail where it is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from tapescope.engine.compile.breaks import BREAKS

PAGE = Path(__file__).parent / "breaks.md"
CLASSES = {
    "data-dependent": "The graph needs a value that only running it gives",
    "side-effect": "Something must be seen outside at this very moment",
    "impure": "Another value at every call",
    "unknown": "Code that cannot be looked into",
    "unsupported": "Code that is not followed",
    "asked-for": "The program asks for it",
    "limit": "Limits",
    "exception": "Errors",
    "internal": "Inside the compiler",
}


def page() -> str:
    """The page as text."""
    lines = [
        "# Graph breaks",
        "",
        "Where `torch.compile` cannot go on with a graph, the graph ends before the instruction; Python does the instruction, and the next",
        "graph begins behind it. `torch.compiler.explain(f)(*args)` lists the breaks of a function with their source ranges,",
        "`fullgraph=True` makes each an error. This page is made from the registry (`docs/make_breaks.py`).",
    ]
    for name, title in CLASSES.items():
        entries = [b for b in BREAKS.values() if b.category == name]
        if not entries:
            continue
        lines += ["", f"## {title}", "", "| id | why | what to do |", "| --- | --- | --- |"]
        lines += [f"| `{b.id}` | {b.sentence.replace('{what}', '…')} | {b.hint} |" for b in entries]
    missing = {b.category for b in BREAKS.values()} - CLASSES.keys()
    if missing:
        raise SystemExit(f"no title for the class {sorted(missing)[0]!r}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            raise SystemExit("docs/breaks.md is not up to date: run python docs/make_breaks.py")
    else:
        PAGE.write_text(text, encoding="utf-8")
