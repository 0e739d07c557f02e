"""Cells in the page: Python in its worker, stopping it, restarting it, asking, and what a run shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def page(open_page: Callable):
    """One page with one kernel for the whole file; each test opens a document of its own in it."""
    return open_page().ready()


def test_a_recording_is_painted_and_the_same_numbers_come_from_this_page(page):
    recorded = [page.output(n) for n in range(page.page.locator(".cells > .cell").count())]
    assert "test accuracy 0.981" in "".join(recorded)
    page.run(1)
    page.done(1)  # the button works where the number of the recorded run stands
    page.page.click(".run-all")
    last = max(n for n, text in enumerate(recorded) if "accuracy" in text)
    page.done(last, timeout=120_000)
    live = [page.output(n) for n in range(len(recorded))]
    numbers = re.compile(r"-?\d+\.\d+")
    assert [numbers.sub("#", text) for text in live] == [numbers.sub("#", text) for text in recorded]
    for mine, native in zip(numbers.findall("".join(live)), numbers.findall("".join(recorded)), strict=True):
        assert float(mine) == pytest.approx(float(native), rel=2e-2, abs=2e-3)
    trained = next(n for n, text in enumerate(recorded) if "epoch" in text or "loss" in text)
    page.cell(trained).locator(".source").click()
    page.page.wait_for_selector("#panel-tape .row >> nth=8")


def test_print_result_display_and_warning(page):
    at = page.add(
        "import sys, warnings\nfrom IPython.display import HTML, Markdown, SVG, display\nprint('out')\n"
        "print('err', file=sys.stderr)\ndisplay(HTML('<b>bold</b>'), Markdown('*slanted*'))\n6 * 7"
    )
    text = page.run(at).done(at)
    for part in ("out", "err", "bold", "slanted", "42"):
        assert part in text
    assert page.cell(at).locator("em").inner_text() == "slanted"


def test_a_loop_that_never_ends_is_stopped_and_the_next_cell_runs(page):
    at = page.add("while True: pass", "print(1 + 1)")
    page.run(at)
    page.page.wait_for_selector('.cell[data-run="running"]')
    page.page.wait_for_timeout(300)
    page.page.click(".stop")
    assert "KeyboardInterrupt" in page.done(at, "interrupted")
    assert "2" in page.run(at + 1).done(at + 1)


@pytest.mark.parametrize(
    "code",
    ["import time\ntime.sleep(60)", "import asyncio\nawait asyncio.sleep(60)", "input('name? ')",
     "import torch\nx = torch.ones(50, 50, requires_grad=True)\nwhile True:\n    (x @ x).sum().backward()\n    x.grad = None",
     "class A:\n    def __del__(self):\n        for _ in range(10**8): pass\nA()\nwhile True: pass"],
    ids=["sleep", "await", "input", "train", "finaliser"],
)  # fmt: skip
def test_waiting_and_training_are_stopped(page, code):
    at = page.add(code)
    page.run(at)
    page.page.wait_for_selector('.cell[data-run="running"]')
    page.page.wait_for_timeout(700)
    page.page.click(".stop")
    assert "KeyboardInterrupt" in page.done(at, "interrupted", timeout=30_000)


def test_stopping_cancels_what_waits(page):
    at = page.add("import time\ntime.sleep(60)", "print('never')")
    page.run(at).run(at + 1)
    page.page.wait_for_selector('.cell[data-run="waiting"]')
    page.page.click(".stop")
    page.done(at, "interrupted")
    assert page.done(at + 1, "aborted") == ""


def test_text_is_shown_while_the_cell_goes_on(page):
    at = page.add("print('a'); print('b')\nfor _ in range(10**9): pass")
    page.run(at)
    page.cell(at).locator(".outputs", has_text="b").wait_for(timeout=10_000)
    page.page.click(".stop")
    page.done(at, "interrupted")


def test_input(page):
    at = page.add("name = input('name? ')\nprint('hello', name)")
    page.run(at)
    page.page.fill(".asking input", "Ada Lovelace äöü")
    page.page.press(".asking input", "Enter")
    assert "hello Ada Lovelace äöü" in page.done(at)


def test_an_error_names_its_line_and_links_to_it(page):
    at = page.add("def f():\n    return 1 / 0", "x = 1\nf()")
    page.run(at)
    page.done(at)
    text = page.run(at + 1).done(at + 1, "error")
    assert "ZeroDivisionError" in text
    assert re.search(r"Cell \[\d+\] line 2", text)  # by the number it ran as, however early the traceback is drawn
    link = page.cell(at + 1).locator("button.place", has_text="line 2").first
    assert page.cell(at + 1).locator(".line-error").count() == 1
    link.click()
    assert page.page.evaluate("document.activeElement.closest('.cell') !== null")


def test_progress_bars_and_display_updates_replace_themselves(page):
    at = page.add(
        "import time\nfrom IPython.display import clear_output, display\nfor i in range(5):\n    print(f'\\r{i} of 5', end='')\n"
        "handle = display('first', display_id=True)\nhandle.update('second')"
    )
    text = page.run(at).done(at)
    assert "4 of 5" in text and "3 of 5" not in text
    assert "second" in text and "first" not in text


def test_a_huge_output_is_cut_and_the_page_stays_usable(page):
    at = page.add("for i in range(200_000): print(i)")
    text = page.run(at).done(at, timeout=120_000)
    assert "199999" in text and "left out" in text and len(text) < 100_000


def test_restart_forgets_names_and_keeps_the_document(page):
    page.new("x = 5", "print(x)").run(0)
    page.done(0)
    page.load("data", "a file with the name of a folder")
    page.page.wait_for_selector(
        '.notice:has-text("a folder of the notebook has this name")'
    )  # and Python starts again below
    page.page.click(".status")
    page.page.click('.menu button:has-text("Restart Python")')
    page.page.wait_for_selector(".status[data-state=loading]")
    page.ready()
    assert "NameError" in page.run(1).done(1, "error")
    assert page.sources() == ["x = 5", "print(x)"]


def test_a_worker_that_is_lost_is_told_and_replaced(page):
    page.new("import os\nos._exit(3)", "print('alive')").run(0)
    page.page.wait_for_selector('.cell[data-run="died"], .cell[data-run="error"]', timeout=30_000)
    page.page.click(".status")
    page.page.click('.menu button:has-text("Restart"), .menu button:has-text("Start Python")')
    page.ready()
    assert "alive" in page.run(1).done(1)


def test_completion_comes_from_the_kernel(page):
    at = page.add("wonderful_name = 1", "")
    page.run(at)
    page.done(at)
    page.cell(at + 1).locator(".source").click()
    page.page.keyboard.type("wonderf")
    page.key("Control+Space")
    page.page.wait_for_selector('.cm-tooltip-autocomplete li:has-text("wonderful_name")')
    page.page.wait_for_timeout(200)  # a key right after the list appeared is taken for typing
    page.key("Enter")
    assert page.sources()[at + 1] == "wonderful_name"


def test_completion_knows_what_has_not_run(page):
    """Jedi reads the text: names of a function that was never called."""
    at = page.add("def never(path: str):\n    a_local_list = [path.upper()]\n    a_local_list.app")
    page.cell(at).locator(".source").click()
    page.key("Control+End", "Control+Space")
    page.page.wait_for_selector('.cm-tooltip-autocomplete li:has-text("append")')
    page.key("Escape", "Escape")


def test_files_go_in_and_come_out(page):
    page.load("data.csv", "a,b\n1,2\n")
    at = page.add("print(open('data.csv').read())\nopen('result.txt', 'w').write('from the cell')")
    assert "a,b" in page.run(at).done(at)
    page.load("data", "a file with the name of a folder")
    page.page.wait_for_selector(
        '.notice:has-text("a folder of the notebook has this name")'
    )  # and Python starts again below
    page.page.click("button[aria-label=Menu]")
    page.page.click('.menu button:has-text("Files")')
    with page.page.expect_download() as told:
        page.page.click('button[aria-label="Download result.txt"]')
    assert Path(told.value.path()).read_text() == "from the cell"
    page.key("Escape")


def test_a_figure_is_drawn_at_once_and_becomes_interactive(page):
    at = page.add("import plotly.graph_objects as go\ngo.Figure(go.Scatter(y=[1, 3, 2], name='loss'))")
    page.run(at)
    page.done(at, timeout=90_000)
    assert page.cell(at).locator("svg.figure path.figure-line").count() == 1
    page.cell(at).locator(".figure-button").dispatch_event("click")
    page.page.wait_for_selector(".js-plotly-plot .scatterlayer .trace", timeout=30_000, state="attached")


def test_no_request_left_the_site_and_nothing_broke(page):
    assert page.requests and all(url.startswith((page.address, "blob:", "data:")) for url in page.requests)
    assert page.errors == []
