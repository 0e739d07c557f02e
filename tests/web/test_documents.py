"""Documents in the page: editing with Jupyter's keys, undo, formats, keeping, sharing. No Python is needed for it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import nbformat
import pytest

from tapescope.app.notebook import percent


@pytest.fixture(scope="module")
def page(open_page: Callable):
    return open_page()


def test_jupyters_keys_edit_the_list_of_cells(page):
    page.new("one", "two", "three")
    page.key("j", "x", "k", "v")
    assert page.sources() == ["one", "two", "three"]
    page.cell(0).click(position={"x": 20, "y": 5})
    page.key("Escape", "b", "Enter")
    page.page.keyboard.type("new")
    page.key("Escape", "d", "d", "z")
    assert page.sources() == ["one", "new", "two", "three"]
    page.key("Shift+J", "Shift+M")
    assert page.sources() == ["one", "new\ntwo", "three"]
    page.key("m")
    assert page.notebook()["cells"][1]["cell_type"] == "markdown"
    page.key("y", "Alt+ArrowUp")
    assert page.sources() == ["new\ntwo", "one", "three"]
    for _ in range(12):
        page.key("z")
    assert page.sources() == ["one", "two", "three"]


def test_splitting_at_the_cursor(page):
    page.new("first\nsecond")
    page.cell(0).locator(".source").click()
    page.key("Control+Home", "ArrowDown", "Control+Shift+-", "Escape")
    assert page.sources() == ["first", "second"]


def test_deleted_cells_come_back_from_the_notice(page):
    page.new("precious", "other")
    page.key("d", "d")
    assert page.sources() == ["other"]
    page.page.click('.notice button:has-text("Undo")')
    assert page.sources() == ["precious", "other"]


def test_a_cell_is_moved_by_dragging(page):
    page.new("a", "b", "c")
    page.cell(0).hover()
    page.cell(0).locator(".handle").drag_to(page.cell(2), target_position={"x": 60, "y": 30})
    assert sorted(page.sources()) == ["a", "b", "c"] and page.sources()[0] == "b"


def test_find_and_replace_in_all_cells_is_one_step_of_undo(page):
    page.new("alpha = 1\nalpha", "print(alpha)")
    page.key("f")
    page.page.fill('.find-bar input[aria-label="Find"]', "alpha")
    page.page.fill('.find-bar input[aria-label="Replace by"]', "beta")
    page.page.click('.find-bar button:has-text("Replace all")')
    page.key("Escape")
    assert page.sources() == ["beta = 1\nbeta", "print(beta)"]
    page.key("z")
    assert page.sources() == ["alpha = 1\nalpha", "print(alpha)"]


def test_ipynb_keeps_what_the_page_does_not_know(page):
    original = {
        "cells": [
            {"cell_type": "markdown", "id": "m1", "metadata": {"tags": ["a"]}, "source": ["# Title\n", "text"],
             "attachments": {"x.png": {"image/png": "AAAA"}}},
            {"cell_type": "code", "id": "c1", "metadata": {}, "source": [], "execution_count": 3, "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]},
                {"output_type": "display_data", "metadata": {"k": 1},
                 "data": {"text/plain": "x", "application/vnd.unknown+json": {"deep": [1, 2]}}}]},
        ],
        "metadata": {"kernelspec": {"display_name": "Mine", "name": "mine"}, "custom": {"kept": True}}, "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    page.load("some.ipynb", json.dumps(original))
    assert page.page.input_value("input.title") == "Title"
    saved = page.notebook()
    assert saved == original
    nbformat.validate(nbformat.from_dict(saved))


@pytest.mark.parametrize(
    "text",
    ["# %%\nx = 1\n\n# %% [markdown]\n# # Head\n#\n# text\n\n# %%\n# %matplotlib inline\nprint(2)\n",
     "# %% Title here\nif x:\n    pass\n\n# %% [raw]\n# raw\n",
     "# ---\n# jupyter: {}\n# ---\n\n# %%\na = '''\n# # %%\n'''\n"],
)  # fmt: skip
def test_percent_files_read_and_write_as_the_desktop_does(page, text):
    page.load("some.py", text)
    ours, native = page.notebook()["cells"], percent.reads(text).cells
    assert [(c["cell_type"], "".join(c["source"])) for c in ours] == [(c.cell_type, c.source) for c in native]
    written = page.downloaded("Download as .py")
    again = percent.reads(written).cells
    assert [(c.cell_type, c.source) for c in again] == [(c.cell_type, c.source) for c in native]


@pytest.mark.parametrize(
    "name, text, says",
    [("a.ipynb", "{", "neither"), ("b.ipynb", "[1]", "no list of cells"), ("c.ipynb", '{"cells": [], "nbformat": 3}', "format 3"),
     ("d.ipynb", '{"cells":' + "[" * 500 + "]" * 500 + "}", "200 levels")],
)  # fmt: skip
def test_files_that_are_no_notebooks_get_a_sentence(page, name, text, says):
    page.new("still here")
    page.load(name, text)
    page.page.wait_for_selector(f'.notice:has-text("{says}")')
    assert page.sources() == ["still here"]


def test_a_document_survives_a_reload_and_has_revisions(page):
    page.new("kept = 1")
    page.page.fill("input.title", "My notes")
    page.page.press("input.title", "Enter")
    page.page.wait_for_selector('.saved:has-text("kept in this browser")', state="attached")
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    assert page.page.input_value("input.title") == "My notes"
    assert page.sources() == ["kept = 1"]
    page.cell(0).locator(".source").click()
    page.key("Control+End")
    page.page.keyboard.type("  # and the last word")
    page.page.reload()  # at once, while nothing of it is kept yet
    page.page.wait_for_selector("html[data-ready]")
    assert page.sources() == ["kept = 1  # and the last word"]
    page.page.click("button.brand")
    page.page.locator(".dialog .doc", has_text="My notes").wait_for()
    page.key("Escape")


def test_an_edited_example_can_be_reset(page):
    page.page.click("button.brand")
    page.page.click('.dialog .doc:has-text("Reading handwritten digits")')
    page.page.wait_for_selector('.markdown h1:has-text("Reading handwritten digits")')
    before = page.sources()
    page.key("b")
    page.page.wait_for_selector('.saved:has-text("kept in this browser")', state="attached")
    assert len(page.sources()) == len(before) + 1
    page.page.click("button[aria-label=Menu]")
    page.page.click('.menu button:has-text("Reset to the shipped version")')
    page.page.click('.dialog button:has-text("Reset")')
    page.page.locator(".cells > .cell").nth(len(before)).wait_for(state="detached")
    assert page.sources() == before


def test_a_link_carries_a_document_to_a_fresh_profile_and_nothing_runs(page, open_page):
    page.new("print('from the link')")
    page.page.fill("input.title", "Lesson 1")
    page.page.press("input.title", "Enter")
    page.page.click("button[aria-label=Menu]")
    page.page.click('.menu button:has-text("Share by link")')
    link = page.page.input_value('.dialog input[aria-label="The link"]')
    page.key("Escape")
    assert len(link) < 1000
    other = open_page(f"?device=cpu{link[link.index('#') :]}")
    assert other.page.input_value("input.title") == "Lesson 1"
    other.page.wait_for_selector('.banner:has-text("nothing in it runs")')
    other.ready()
    assert other.output(0) == "" and other.cell(0).get_attribute("data-run") == "none"
    other.page.click('.banner button:has-text("Run all")')
    assert "from the link" in other.done(0)


def test_a_large_document_is_offered_as_a_file(page):
    page.new(f"x = '{random.Random(0).randbytes(12_000).hex()}'")
    page.page.click("button[aria-label=Menu]")
    page.page.click('.menu button:has-text("Share by link")')
    page.page.wait_for_selector('.dialog:has-text("too large for a link")')
    page.key("Escape")


def test_a_broken_link_gets_a_sentence(open_page):
    page = open_page("?device=cpu#doc=AAAA_not_a_document")
    page.page.wait_for_selector('.notice:has-text("cannot be read")')
    assert page.page.locator(".cells > .cell").count() > 0


def everything_kept(page) -> dict[str, list[dict]]:
    """What lies in the browser's store, by table."""
    return page.evaluate(
        """async () => {
            const wait = request => new Promise(done => { request.onsuccess = () => done(request.result); });
            const db = await wait(indexedDB.open("tapescope"));
            const all = table => wait(db.transaction(table).objectStore(table).getAll());
            const found = { documents: await all("documents"), revisions: await all("revisions") };
            db.close();
            return found;
        }"""
    )


def test_what_two_tabs_write_is_kept_and_erasing_a_run_asks_once(open_page: Callable):
    page = open_page()
    page.new("base = 1")
    page.page.wait_for_selector('.saved:has-text("kept in this browser")', state="attached")
    second = page.context.new_page()
    second.goto(page.address + "?device=cpu")
    second.wait_for_selector("html[data-ready]")
    for tab, text in ((page.page, "a = 1"), (second, "b = 2"), (page.page, "c = 3")):
        tab.bring_to_front()
        tab.locator(".cells > .cell .source").click()
        tab.keyboard.press("Control+End")
        tab.keyboard.type(f"\n{text}")
        tab.wait_for_function("document.querySelector('.saved').textContent === ''")
        tab.wait_for_selector('.saved:has-text("kept in this browser")', state="attached")
    kept = everything_kept(page.page)
    texts = ["".join(d["notebook"]["cells"][0]["source"]) for d in [*kept["documents"], *kept["revisions"]]]
    assert texts[0] == "base = 1\na = 1\nc = 3" and "base = 1\nb = 2" in texts
    page.run(0)
    page.page.click("button[aria-label=Menu]")
    page.page.click('.menu button:has-text("Erase my data")')
    with page.page.expect_navigation():
        page.page.click('.dialog button:has-text("Erase")')
    page.page.wait_for_selector("html[data-ready]")
    assert everything_kept(page.page) == {"documents": [], "revisions": []}
    assert page.errors == []


def test_nothing_broke(page):
    assert page.errors == []


def test_formulas_are_drawn_and_wrong_ones_stay_text(open_page: Callable):
    page = open_page()
    text = r"""Costs \$5 and $6, then $\frac{\partial L}{\partial w_{i j}}$ and `$code$`.

$$\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}$$

\[ \sum_i x_i \] and wrong: $\frac{1$ $\href{https://example.org}{x}$"""
    page.new("\n".join(f"# {line}" for line in text.splitlines()), kind="markdown")
    page.page.wait_for_selector(".formula math mfrac")
    assert page.page.locator(".formula math").count() == 3
    assert page.page.locator(".formula.display mtable").count() == 1
    shown = page.cell(0).inner_text()
    assert "Costs $5 and $6, then" in shown and "$code$" in shown and "\\frac{1" in shown
    assert page.page.locator(".formula a, .formula [href]").count() == 0
    assert page.errors == []


def test_the_documentation_opens_beside_the_notebook_and_is_kept(open_page: Callable):
    from playwright.sync_api import expect

    page = open_page()
    page.page.evaluate(
        """navigator.serviceWorker.ready.then(({ active }) => new Promise(done => {
            const look = () => active.state === "activated" && done();
            active.addEventListener("statechange", look);
            look();
        }))"""
    )
    page.key("h")
    with page.context.expect_page() as opened:
        page.page.click('dialog a:has-text("documentation")')
    manual = opened.value
    manual.wait_for_selector("#a:has-text('alive')")
    expect(manual).to_have_title("loaded")
    manual.reload()
    manual.wait_for_selector("#a:has-text('alive')")
    page.context.set_offline(True)
    manual.reload()
    manual.wait_for_selector("#a:has-text('alive')")
    page.context.set_offline(False)
    assert all(url.startswith((page.address, "data:", "blob:")) for url in page.requests)
