"""Replay capsules: one file, from the desktop or from the page, that opens by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tapescope.app.cli import main
from tapescope.app.web import client_build
from tapescope.app.web.capsule import capsule
from tapescope.app.web.recording import record, still

NOTEBOOK = """# %% [markdown]
# # Two lines </script><script>document.documentElement.dataset.hacked='yes'</script>

# %%
import torch
w = torch.ones(3, requires_grad=True)
loss = (w * 2).exp().sum()
loss.backward()
print("loss", loss.item())

# %%
1 / 0
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory, built_site: Path) -> Path:
    folder = tmp_path_factory.mktemp("capsule")
    path = folder / "two.py"
    path.write_text(NOTEBOOK)
    assert main(["export", str(path), "--html", "--device", "cpu"]) == 0
    return folder / "two.html"


@pytest.fixture
def open_file(browser: Any) -> Callable[..., Any]:
    """Opens a file with the network switched off."""

    def make(path: Path, **options: Any) -> Any:
        context = browser.new_context(offline=True, **options)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.asked = []
        page.broken = []
        context.on("request", lambda request: page.asked.append(request.url))
        page.on("pageerror", lambda error: page.broken.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    return make


def test_it_shows_the_run_offline(exported, open_file):
    page = open_file(exported)
    assert "loss 22.16" in page.locator(".cell").nth(1).inner_text()
    assert "ZeroDivisionError" in page.locator(".cell").nth(2).inner_text()
    assert page.locator("#panel-tape .row .op").all_inner_texts() == ["w", "mul", "exp", "sum"]
    page.locator("#panel-tape .row", has_text="exp").click()
    assert "loss = " in page.locator(".line-linked").inner_text()
    page.click('.segmented button:has-text("Picture"):visible')
    page.click("#tab-variables")
    assert "loss" in page.locator("#panel-variables").inner_text()
    assert page.get_attribute("html", "data-hacked") is None
    assert page.broken == [] and page.asked == [exported.as_uri()]


def test_on_a_phone_it_fits(exported, open_file):
    page = open_file(exported, viewport={"width": 390, "height": 800}, is_mobile=True, has_touch=True)
    assert page.evaluate_handle("document.documentElement.scrollWidth - innerWidth").json_value() <= 0
    page.locator(".cell").nth(1).wait_for()


def test_the_page_makes_the_same_kind_of_file(open_page, open_file, tmp_path):
    page = open_page()
    text = page.downloaded("Download as a replay")
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    replay = open_file(path)
    assert "test accuracy 0.981" in replay.locator(".cells").inner_text()
    assert replay.locator("svg.figure path.figure-line").count() >= 1
    assert replay.locator("#panel-tape .row").count() > 8
    assert replay.broken == []


def test_it_says_what_is_wrong(tmp_path, built_site, capsys):
    path = tmp_path / "a.py"
    path.write_text("# %%\n1\n")
    assert main(["export", str(tmp_path / "none.py")]) == 2
    assert "There is no file" in capsys.readouterr().err
    (tmp_path / "a.html").write_text("mine")
    assert main(["export", str(path), "--no-run"]) == 1
    assert (tmp_path / "a.html").read_text() == "mine" and "--force" in capsys.readouterr().err
    assert main(["export", str(path), "--no-run", "--force", "--live", "javascript:x"]) == 2
    assert main(["export", str(path), "--device", "tpu"]) == 2


def test_a_recording_is_plain_json_with_what_ran(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(NOTEBOOK)
    taken, result = record(path, device="cpu")
    assert result.status == "error"
    assert json.loads(json.dumps(taken)) == taken
    first, second = [c["id"] for c in taken["notebook"]["cells"] if c["cell_type"] == "code"]
    assert taken["runs"][first]["status"] == "ok" and taken["runs"][second]["status"] == "error"
    assert [n["op"] for n in taken["tapes"][first]["nodes"]] == ["leaf", "mul", "exp", "sum"]
    assert taken["costs"][first]["lines"]
    assert still(path)["runs"] == {}


def test_hostile_text_cannot_leave_its_place(tmp_path, built_site):
    path = tmp_path / "a.py"
    path.write_text("# %% [markdown]\n# # </title></script><!--<script>{{SCRIPT}}{{HASH}}\n")
    text = capsule(still(path))
    script = (client_build.STATIC / "capsule.js").read_text(encoding="utf-8")
    assert text.count("<script") == 2 + script.count("<script") and "{{HASH}}" in text
