"""The teaching notebooks give in the page what they give natively: what they print, and the values of their last lines.

Two of them in every run of the suite; with TAPESCOPE_EXAMPLES=all every one, which takes five minutes.

What "the same" means: the same words, whole numbers and shapes, line by line.  A number with a decimal point may differ by five percent or
by two units of its last printed digit: WebAssembly's sums are rounded elsewhere, and training makes more of that.  A character of a
drawing may be one step of its palette lighter or darker.  Times, rates and distances in ulp tell of the machine and are not compared.
Where a lesson draws text from a model that it has trained, one number at the edge gives another text: of those cells (`DRAWN`) the words are
not compared, only that there are as many lines, and counts such as "74 of 91" within six of a hundred.
The native run generates numpy programs, as the page does, since a lesson prints their text.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest
from conftest import ROOT

from tapescope.app.web.recording import record

NAMES = [p.stem for p in sorted((ROOT / "examples").glob("[0-9]*.py"))]
ALL = os.environ.get("TAPESCOPE_EXAMPLES") == "all"
CHOSEN = NAMES if ALL else ["02_backward", "08_kernels"]
NUMBER = re.compile(r"[-+]?\d+\.\d*(?:e[-+]?\d+)?")
TIMES = re.compile(r"\d[\d.,]*\s?(?:s|ms|us|µs|ns|MB/s|GB/s|GFLOP/s|x|ulp)\b")
DRAWN = {"06_transformer": (5, 6, 7)}
COUNT = re.compile(r"(\d+) of (\d+)$")
PALETTE = " .:-=+*#%@"
DRAWING = re.compile(rf"^[{re.escape(PALETTE)}]*[{re.escape(PALETTE[1:])}]{{2}}[{re.escape(PALETTE)}]*$")


def said(notebook: Any) -> list[list[str]]:
    """What each code cell printed and showed, line by line, without times."""
    found = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        lines: list[str] = []
        for output in cell["outputs"]:
            if output["output_type"] == "stream" and output["name"] == "stdout":
                lines += "".join(output["text"]).splitlines()
            elif output["output_type"] == "error":
                lines.append(f"{output['ename']}: {output['evalue']}")
            elif "data" in output:
                lines += [f"an output of the kinds {sorted(output['data'])}"]
                if "<" not in (text := "".join(output["data"].get("text/plain", ""))):  # else it names an address
                    lines += text.splitlines()
        found.append([TIMES.sub("TIME", line) for line in lines])
    return found


def alike(mine: str, theirs: str) -> bool:
    """Whether two lines say the same within the tolerance above."""
    if mine == theirs:
        return True
    if DRAWING.match(mine) and DRAWING.match(theirs):
        width = max(len(mine), len(theirs))
        pairs = zip(mine.ljust(width), theirs.ljust(width), strict=True)
        return all(abs(PALETTE.index(a) - PALETTE.index(b)) <= 1 for a, b in pairs)
    if NUMBER.sub("#", mine).split() != NUMBER.sub("#", theirs).split():
        return False
    for here, there in zip(NUMBER.findall(mine), NUMBER.findall(theirs), strict=True):
        digit = 10.0 ** -len(there.partition("e")[0].partition(".")[2]) * 10.0 ** float(there.partition("e")[2] or 0)
        if abs(float(here) - float(there)) > max(0.05 * abs(float(there)), 2.01 * digit):
            return False
    return True


def as_often(mine: str, theirs: str) -> bool:
    """Whether two lines of a cell that draws tell of the same share, where they tell of one."""
    here, there = COUNT.search(mine), COUNT.search(theirs)
    if here is None or there is None:
        return here is there
    return abs(int(here[1]) / int(here[2]) - int(there[1]) / int(there[2])) < 0.06


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", CHOSEN)
def test_an_example_gives_what_it_gives_natively(open_page, monkeypatch, name):
    monkeypatch.setenv("TAPESCOPE_CC", "")
    native, result = record(ROOT / "examples" / f"{name}.py", device="cpu")
    assert result.status == "ok"
    page = open_page(f"?device=cpu#example={name}").ready()
    page.page.click(".run-all")
    page.page.wait_for_selector(".status[data-state=busy]")
    page.page.wait_for_selector(".status[data-state=idle]", timeout=800_000)
    mine, theirs = said(page.notebook()), said(native["notebook"])
    assert len(mine) == len(theirs)
    different = [
        (number, here, there)
        for number, (ours, wanted) in enumerate(zip(mine, theirs, strict=True))
        for here, there in zip(ours, wanted, strict=False)
        if not (as_often if number in DRAWN.get(name, ()) else alike)(here, there)
    ]
    assert different == [], json.dumps(different[:10], indent=1, ensure_ascii=False)
    assert [len(cell) for cell in mine] == [len(cell) for cell in theirs]
    assert page.errors == []
    page.close()


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [("loss 0.601", "loss 0.620", True), ("loss 0.601", "loss 0.701", False), ("p 0.41", "p 0.39", True), ("3 digits", "4 digits", False),
     ("  ::##--  ", "  ::##==  ", True), ("  ::##    ", "  ::##==  ", False), ("1.5e-07", "1.6e-07", True), ("1.5e-07", "2.5e-07", False)],
)  # fmt: skip
def test_what_counts_as_the_same(mine, theirs, same):
    assert alike(mine, theirs) is same
