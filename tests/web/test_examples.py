"""The teaching notebooks give in the page what they give natively.

One of them in every run of the suite; with TAPESCOPE_EXAMPLES=all every one, which takes ten minutes.
"""

from __future__ import annotations

import os
import re

import pytest
from conftest import ROOT

from tapescope.app.web.recording import record

NAMES = [p.stem for p in sorted((ROOT / "examples").glob("[0-9]*.py"))]
CHOSEN = NAMES if os.environ.get("TAPESCOPE_EXAMPLES") == "all" else [n for n in NAMES if n.startswith("02")]
NUMBER = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?")
TIMES = re.compile(r"\d[\d.,]*\s?(?:s|ms|us|µs|ns|MB/s|GB/s|GFLOP/s|x|ulp)\b")
"""What depends on the machine or on its mathematical library."""


def said(notebook) -> list[list[str]]:
    """What each code cell printed, line by line, without times."""
    found = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = "".join(
                "".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream" and o["name"] == "stdout"
            )
            errors = [o["ename"] for o in cell["outputs"] if o["output_type"] == "error"]
            found.append(TIMES.sub("TIME", text).splitlines() + errors)
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CHOSEN)
def test_an_example_prints_what_it_prints_natively(open_page, name):
    native, result = record(ROOT / "examples" / f"{name}.py", device="cpu")
    assert result.status == "ok"
    page = open_page(f"?device=cpu#example={name}").ready()
    page.page.click(".run-all")
    page.page.wait_for_selector(".status[data-state=busy]")
    page.page.wait_for_selector(".status[data-state=idle]", timeout=500_000)
    mine, theirs = said(page.notebook()), said(native["notebook"])
    assert [[NUMBER.sub("#", line) for line in cell] for cell in mine] == [
        [NUMBER.sub("#", line) for line in cell] for cell in theirs
    ]
    for cell, wanted in zip(mine, theirs, strict=True):
        for line, want in zip(cell, wanted, strict=True):
            assert [float(x) for x in NUMBER.findall(line)] == pytest.approx(
                [float(x) for x in NUMBER.findall(want)], rel=5e-2, abs=5e-3
            ), f"{line!r} instead of {want!r}"
    assert page.errors == []
