"""What the panel shows of a run in the page: graphs of compiled functions, and tapes that grow while somebody types."""

from __future__ import annotations

from collections.abc import Callable

import pytest

COMPILED = """
import torch
@torch.compile
def broken(x):
    y = (x * 2).relu()
    print("once")
    return y.sum()
@torch.compile
def again(x):
    return (x + 1).sum()
broken(torch.ones(8, 8)); again(torch.ones(4)); again(torch.ones(5))
"""

TRAIN = """
import torch
from torch import nn
net = nn.Sequential(*[nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(150)])
for i in range(100_000):
    net(torch.ones(4, 16)).sum().backward()
    if i == 2: print("it goes on")
"""


@pytest.fixture(scope="module")
def page(open_page: Callable):
    return open_page().ready()


def labels(page) -> list[str]:
    return page.page.locator("#panel-graph option").all_inner_texts()


def rows(page) -> list[str]:
    return page.page.locator("#panel-graph .row .op").all_inner_texts()


def test_segments_breaks_and_kernels_are_graphs_to_choose_from(page):
    at = page.add(COMPILED)
    page.run(at).done(at)
    page.page.click("#tab-graph")
    found = labels(page)
    assert any("broken: All of 2 segments, 1 break" in text for text in found)
    assert any("again: Segment 1 (captured again)" in text for text in found)
    page.page.select_option(".graph-picks select", "broken|whole")
    assert rows(page) == ["segment 0", "x", "mul", "relu", "break: print", "segment 1", "y", "sum"]
    page.page.select_option(".graph-picks select", "again|whole")
    assert [text for text in rows(page) if "segment" in text or "float32" in text] == [
        "segment 0", "x: float32 (4)", "segment 1, captured again",
    ]  # fmt: skip
    page.page.select_option(".graph-picks select", "broken|kernels")
    page.page.locator("#panel-graph .row.scope").first.click()
    details = page.page.inner_text("#panel-graph .details")
    assert "relu" in details and "numpy" in details
    page.page.click("#tab-kernels")
    told = page.page.locator("#panel-kernels summary").all_inner_texts()
    assert [("broken" in text, "again" in text) for text in told].count((False, True)) == 2 and len(told) == 4


def test_a_break_leads_to_its_place_in_the_graph(page):
    page.page.click("#tab-breaks")
    page.page.click('#panel-breaks button:has-text("in the graph")')
    assert "must appear at this moment" in page.page.inner_text("#panel-graph .details")
    assert page.page.locator(".line-linked").count() == 1
    page.page.click('#panel-graph .segmented button:has-text("Picture")')
    page.page.locator("#panel-graph canvas").first.focus()
    page.key("ArrowUp")
    assert page.page.inner_text("#panel-graph .details h3") == "relu"


def test_frames_stay_short_while_a_large_tape_grows(page):
    """A training step of 451 operators; no task of the page may take as long as reading its record at once would."""
    at = page.add(TRAIN, "")
    page.page.click("#tab-tape")
    page.page.click('#panel-tape .segmented button:has-text("Picture")')
    page.run(at)
    page.cell(at).locator(".outputs", has_text="it goes on").wait_for(timeout=60_000)
    page.page.evaluate(
        """() => { globalThis.long = []; new PerformanceObserver(list => long.push(...list.getEntries().map(e => e.duration)))
            .observe({ type: "longtask" }); }"""
    )
    page.cell(at + 1).locator(".source").click()
    page.page.keyboard.type("total = sum(losses)", delay=60)
    assert page.page.inner_text("#panel-tape .summary").startswith("live · 451 operators")
    tasks = page.page.evaluate("long")
    page.page.click(".stop")
    page.done(at, "interrupted")
    assert len(tasks) < 12, tasks  # a task longer than 50 ms for each snapshot would be more
    page.page.wait_for_selector("#panel-tape .summary:not(:has-text('live'))")


def test_a_size_is_marked_dynamic_before_its_calls(page):
    page.page.click("#tab-breaks")
    card = page.page.locator("#panel-breaks article", has_text="again").last
    card.locator('button:has-text("One graph for all sizes")').click()
    assert "mark_dynamic(resized, 0); again(resized)" in page.page.inner_text("dialog[open] pre")
    page.page.click('dialog[open] button:has-text("Write them")')
    page.page.wait_for_selector('.notice:has-text("Written")')
    at = next(i for i, text in enumerate(page.sources()) if "def again" in text)
    assert page.sources()[at].count("torch._dynamo.mark_dynamic(resized") == 2
    page.page.locator('.notice button:has-text("Undo")').click()
    assert "mark_dynamic" not in page.sources()[at]


def found(page, query: str, count: int) -> list[str]:
    page.page.fill("#panel-tape input[type=search]", query)
    page.page.wait_for_selector(f"#panel-tape .summary:text-is('{count} found')")
    return page.page.locator("#panel-tape .row.marked .op").all_inner_texts()


def test_the_search_knows_the_terms_of_the_views(open_page: Callable):
    page = open_page()
    page.page.wait_for_selector("#panel-tape .row")
    assert found(page, "[*,64]", 5) == ["hidden.weight", "t", "addmm", "relu", "scores.weight"]
    assert found(page, "op:relu", 1) == ["relu"]
    assert found(page, "name:bias", 2) == ["hidden.bias", "scores.bias"]
    assert found(page, "*x64 op:relu", 1) == ["relu"]
    assert found(page, "line:21", 2) == ["log_softmax", "nll_loss"]
    assert found(page, "before:relu op:add", 1) == ["addmm"]
    assert found(page, "path:relu..nll_loss", 4) == ["relu", "addmm", "log_softmax", "nll_loss"]
    found(page, "top:nothing", 0)
    found(page, "top:saved", 5)
    assert page.page.inner_text("#panel-tape .details h3") == "addmm"
